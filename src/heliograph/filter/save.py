"""A filter on disk: its subscriptions as they were written, its taxonomy, its prefixes, and its index if it has one.

The law: what is loaded gives the same notifications in the same order as what was saved. An index is saved as one
segment of what is alive, a plan as one for each of its places, together with the vocabulary whose ids it holds; it is
mapped when it is opened, and neither built nor are queries compiled. Numbers of subscriptions count from 0 again.

A plan that is opened has every subscription in the same place, and nothing is arranged for it. A place that is not
asked for is not looked at, so a process may open the front alone, or one shard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.filter.layout import Int64s
from heliograph.filter.segment import Segment, check_arrays
from heliograph.filter.strategy import Matcher
from heliograph.io.schemas import TABLES
from heliograph.partition.plan import FRONT, MERGERS, Plan, Scheme, ShardRoute, merger
from heliograph.sparql.query import Query
from heliograph.storage import read_folder, write_folder
from heliograph.subscriptions import Accept, Subscription, Subscriptions
from heliograph.taxonomy import RELATION, Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.mapped import Packed

KIND, VERSION, PLANNED = "filter", 2, 3
_READ = {VERSION, PLANNED}  # PLANNED is a save with a plan
_TABLES = ("subscriptions", "patterns", "constraints", "taxonomy")
_TERMS = "vocabulary."
OPENED = MERGERS + MERGERS // 2  # numbers from here on are of mergers that were opened; no arrangement gives them
ROOTS = "roots"  # the table of them, and its schema
_ROOTS = pa.schema([("subscription_id", pa.string()), ("shards", pa.list_(pa.int32()))])

Arrays: TypeAlias = dict[str, "np.ndarray[Any, Any]"]


# --- writing ------------------------------------------------------------------------------------------------------


def packed(
    subscriptions: Subscriptions, taxonomy: Taxonomy, algorithm: str, vocabulary: Vocabulary, matcher: Matcher
) -> Callable[[str | Path], None]:
    """A filter as it is now, to be asked while nobody writes; what is returned writes it to a folder."""
    own = {name: iri for name, iri in subscriptions.prefixes.items() if PREFIXES.get(name) != iri}
    tables = {**subscriptions.tables(), "taxonomy": taxonomy.table()}
    meta: dict[str, Any] = {"prefixes": own, "algorithm": algorithm, "vocabulary": {}}
    plan, version = matcher.planned(), VERSION
    arrays: Arrays = {}
    if plan is None:
        segment = matcher.whole()
        if segment is not None:
            arrays = segment.pack()
    else:
        with plan.writing:
            arrays, roots, manifest = _pack_plan(plan)
        tables, meta, version = {**tables, ROOTS: roots}, {**meta, "plan": manifest}, PLANNED
    if arrays or plan is not None:
        terms = vocabulary.pack()
        arrays = {**{_TERMS + name: array for name, array in terms.arrays.items()}, **arrays}
        meta["vocabulary"] = terms.meta
    return lambda path: write_folder(path, KIND, version, arrays=arrays, tables=tables, meta=meta)


# --- a plan -----------------------------------------------------------------------------------------------------


class PlanFiles(NamedTuple):
    """The index of a plan as flat arrays, the table of its roots, and its manifest."""

    arrays: Arrays
    roots: pa.Table
    manifest: dict[str, Any]


def _pack_plan(plan: Plan) -> PlanFiles:
    """A plan as it is now, while nobody writes."""
    rows = np.array(sorted(plan.members), np.int64)
    segments = {place: plan.segments(place).whole() for place in range(FRONT, plan.scheme.shards)}
    arrays: Arrays = {}
    for place, segment in segments.items():
        if segment is not None:
            numbers = segment.index.numbers[segment.by_number]
            own = np.where(numbers < MERGERS, np.searchsorted(rows, numbers), -1)
            arrays |= {_name(place) + name: array for name, array in {**segment.pack(), "rows": own}.items()}
    front = segments[FRONT]
    roots = [] if front is None else list(front.owners)
    sizes = [0 if segment is None else len(segment) for segment in segments.values()]
    mergers = sum(root.number >= MERGERS for root in roots)
    counts = {"front": sizes[0], "mergers": mergers, "counts": sizes[1:]}
    return PlanFiles(arrays, _roots(plan, roots), {**plan.scheme.meta(), "version": plan.version.stamp, **counts})


def _roots(plan: Plan, roots: Sequence[Subscription]) -> pa.Table:
    """Each root at the front with its shards; a merger has no id."""
    stamp, routes = plan.version.stamp, plan.routes
    shards = [[n for n in range(plan.scheme.shards) if routes[r.number].shards(stamp) >> n & 1] for r in roots]
    names = [None if root.number >= MERGERS else root.id for root in roots]
    return pa.Table.from_arrays([pa.array(names, pa.string()), pa.array(shards, _ROOTS.field(1).type)], schema=_ROOTS)


def _name(place: int) -> str:
    return "front." if place == FRONT else f"shard-{place}."


def scheme_of(manifest: Any) -> Scheme:
    """What a manifest says of the partitioning; raises ValueError if that is nothing sensible."""
    if not isinstance(manifest, dict) or not isinstance(manifest.get("merging"), dict):
        raise ValueError("its manifest does not fit")
    try:
        scheme = Scheme.of(manifest.get("shards"), manifest.get("partition"), manifest["merging"])
    except HeliographError as error:
        raise ValueError(str(error)) from error
    if scheme is None:
        raise ValueError("its manifest names no partitioning")
    return scheme


def unpack_plan(
    plan: Plan, parts: PlanFiles, owners: Sequence[Subscription], places: Collection[int] | None = None
) -> None:
    """Fills an empty plan with what was packed, of these places or of all; raises ValueError where it does not fit."""
    every = range(FRONT, plan.scheme.shards)
    found = {place: _arrays(parts.arrays, place) for place in every if places is None or place in places}
    segments = {
        place: _segment(arrays, owners, plan.context.vocabulary.start) for place, arrays in found.items() if arrays
    }
    if places is None:
        _check_places(segments.values(), len(owners))
    front = segments.get(FRONT)
    routes = {} if front is None else _routes(front, parts.roots, plan.scheme.shards)
    plan.adopt(segments, routes, partial=places is not None)


def rows_of(parts: PlanFiles, place: int) -> Int64s:
    """The rows of the subscriptions that stand in a place, in order."""
    rows = parts.arrays.get(_name(place) + "rows", np.zeros(0, np.int64))
    return np.asarray(rows[rows >= 0], np.int64)


def _arrays(arrays: Mapping[str, Any], place: int) -> Arrays:
    prefix = _name(place)
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _segment(arrays: Arrays, owners: Sequence[Subscription], terms: int) -> Segment:
    """A segment whose members have the numbers of their owners; those of mergers are new."""
    rows = arrays.get("rows")
    if rows is None or rows.dtype != np.int64 or rows.ndim != 1:
        raise ValueError("the rows are missing")
    check_arrays(arrays, len(rows), terms)
    subscribed = int((rows >= 0).sum())
    ascending = (rows[:subscribed] >= 0).all() and (np.diff(rows[:subscribed]) > 0).all()
    if not ascending or (rows[subscribed:] != -1).any() or (rows >= len(owners)).any():
        raise ValueError("the rows do not fit")
    numbers = np.append(rows[:subscribed], OPENED + np.arange(len(rows) - subscribed))
    own = [owners[row] for row in rows[:subscribed].tolist()]
    mergers = [merger(number, Query(patterns=())) for number in numbers[subscribed:].tolist()]
    return Segment.unpack({**arrays, "index.numbers": numbers[arrays["index.numbers"]]}, [*own, *mergers])


def _check_places(segments: Collection[Segment], count: int) -> None:
    """Each subscription stands in one place."""
    numbers = np.concatenate([np.zeros(0, np.int64), *(segment.index.numbers for segment in segments)])
    if not np.array_equal(np.sort(numbers[numbers < MERGERS]), np.arange(count)):
        raise ValueError("its places do not fit")


def _routes(front: Segment, roots: pa.Table, shards: int) -> dict[int, ShardRoute]:
    if roots.schema != _ROOTS or roots.num_rows != len(front):
        raise ValueError("the roots do not fit")
    named: list[Any] = roots["shards"].to_pylist()
    if any(each is None or not all(shard in range(shards) for shard in each) for each in named):
        raise ValueError("the roots do not fit")
    numbers = front.index.numbers[front.by_number].tolist()
    return {number: ShardRoute(sum(1 << n for n in set(each))) for number, each in zip(numbers, named, strict=True)}


# --- reading ----------------------------------------------------------------------------------------------------


class SavedFilter(NamedTuple):
    """What a save holds, opened; without an index there are no arrays, and the vocabulary is empty."""

    path: str
    tables: Mapping[str, pa.Table]
    taxonomy: Taxonomy
    prefixes: Mapping[str, str]
    algorithm: str
    vocabulary: Vocabulary
    arrays: Arrays
    plan: PlanFiles | None = None
    scheme: Scheme | None = None

    def fill(self, subscriptions: Subscriptions, matcher: Matcher, accept: Accept) -> None:
        """Subscribes to what was saved; `accept` may refuse a subscription by raising."""
        try:
            if not self.arrays and self.plan is None:
                matcher.insert(subscriptions.restore(self.tables, accept))
                return
            owners = subscriptions.reopen(self.tables, accept)
        except HeliographError as error:
            raise _damaged(self.path, f"it holds a subscription that is refused: {error}") from error
        plan = matcher.planned()
        try:
            if plan is not None and self.plan is not None:
                unpack_plan(plan, self.plan, owners)
            else:
                check_arrays(self.arrays, len(owners), self.vocabulary.start)
                matcher.adopt(Segment.unpack(self.arrays, owners))
        except ValueError as error:
            raise _damaged(self.path, f"its index: {error}") from error


def read(path: str | Path) -> SavedFilter:
    opened = read_folder(path, KIND, _READ)
    tables = {name: table for name, table in opened.tables.items() if name in _TABLES}
    for name in _TABLES:
        own = [] if name not in tables else tables[name].schema.names
        if name == "taxonomy":
            own = [column for column in own if column != RELATION]  # only there where a row is one of both relations
        if own != list(TABLES[name].names):
            raise _damaged(path, f"its table {name} is missing or lacks a column")
    prefixes, algorithm, meta = (opened.meta.get(name) for name in ("prefixes", "algorithm", "vocabulary"))
    if not isinstance(prefixes, dict) or not isinstance(algorithm, str):
        raise _damaged(path, "its prefixes or its algorithm are missing")
    terms = {name.removeprefix(_TERMS): array for name, array in opened.arrays.items() if name.startswith(_TERMS)}
    arrays = {name: array for name, array in opened.arrays.items() if not name.startswith(_TERMS)}
    vocabulary = (
        Vocabulary.unpack(Packed(terms, cast("dict[str, Any]", meta)), str(path))
        if opened.arrays or meta
        else Vocabulary()
    )
    try:
        taxonomy = Taxonomy.of_table(tables["taxonomy"])
    except (ValueError, HeliographError) as error:
        raise _damaged(path, f"its taxonomy: {error}") from error
    saved = SavedFilter(str(path), tables, taxonomy, prefixes, algorithm, vocabulary, arrays)
    if opened.version != PLANNED:
        return saved
    manifest, roots = opened.meta.get("plan"), opened.tables.get(ROOTS)
    if roots is None:
        raise _damaged(path, "its table of roots is missing")
    try:
        return saved._replace(plan=PlanFiles(arrays, roots, manifest or {}), scheme=scheme_of(manifest))
    except ValueError as error:
        raise _damaged(path, f"its plan: {error}") from error


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-810", f"a damaged save of a filter: {why}", place=Place(str(path)), fix="save it again")
