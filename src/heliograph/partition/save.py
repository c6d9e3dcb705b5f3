"""A plan on disk: the front and each shard as a segment, and a manifest of the roots and their shards.

The laws: what is opened routes and matches as what was saved, with every subscription in the same place, and nothing is
built or arranged for it; a place that is not asked for is not looked at, so a process may open the front alone, or one
shard. Numbers of subscriptions are their rows in the table of subscriptions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.filter.layout import Int64s
from heliograph.filter.segment import Segment, check_arrays
from heliograph.partition.plan import FRONT, MERGERS, Context, Plan, Scheme, ShardRoute, merger
from heliograph.sparql.query import Query
from heliograph.storage import read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions, written
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position, spell
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.mapped import Packed

KIND, VERSION = "plan", 1
ROOTS = "roots"  # the table of them
OPENED = MERGERS + MERGERS // 2  # numbers from here on are of mergers that were opened; no arrangement gives them

_TERMS = "vocabulary."
_ROOTS = pa.schema([("subscription_id", pa.string()), ("shards", pa.list_(pa.int32()))])

Arrays: TypeAlias = dict[str, "np.ndarray[Any, Any]"]


class PlanFiles(NamedTuple):
    """The index of a plan as flat arrays, the table of its roots, and its manifest."""

    arrays: Arrays
    roots: pa.Table
    manifest: dict[str, Any]


# --- packing ----------------------------------------------------------------------------------------------------


def pack(plan: Plan) -> PlanFiles:
    """A plan as it is now."""
    with plan.writing:
        return _packed(plan)


def _packed(plan: Plan) -> PlanFiles:
    rows = np.array(sorted(plan.members), np.int64)
    segments = {place: plan.tier(place).whole() for place in range(FRONT, plan.scheme.shards)}
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


# --- unpacking --------------------------------------------------------------------------------------------------


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


def unpack(plan: Plan, parts: PlanFiles, owners: Sequence[Subscription], places: Collection[int] | None = None) -> None:
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


# --- files ------------------------------------------------------------------------------------------------------


def save(plan: Plan, folder: str | Path) -> None:
    """Saves a plan with its subscriptions, taxonomy and terms, so that it can be run elsewhere."""
    with plan.writing:
        parts, terms = pack(plan), plan.context.vocabulary.pack()
        subscribed = [plan.members[number] for number in sorted(plan.members)]
    tables = {**written(subscribed), "taxonomy": taxonomy_table(plan.context.taxonomy), ROOTS: parts.roots}
    arrays = {**parts.arrays, **{_TERMS + name: array for name, array in terms.arrays.items()}}
    meta = {"plan": parts.manifest, "vocabulary": terms.meta, "prefixes": dict(plan.context.prefixes)}
    write_folder(folder, KIND, VERSION, arrays=arrays, tables=tables, meta=meta)


def load(folder: str | Path, places: Collection[int] | None = None) -> Plan:
    """Opens a plan, or some places of it: -1 is the front, any other a shard. Only a whole one can be changed."""
    opened = read_folder(folder, KIND, {VERSION})
    try:
        terms = {name.removeprefix(_TERMS): array for name, array in opened.arrays.items() if name.startswith(_TERMS)}
        vocabulary = Vocabulary.unpack(Packed(terms, opened.meta["vocabulary"]), str(folder))
        subscriptions = Subscriptions("filter", opened.meta["prefixes"])
        context = Context(vocabulary, Taxonomy.read(opened.tables["taxonomy"]), subscriptions.prefixes)
        plan = Plan(scheme_of(opened.meta["plan"]), context)
        parts = PlanFiles(opened.arrays, opened.tables[ROOTS], opened.meta["plan"])
        unpack(plan, parts, subscriptions.reopen(opened.tables), places)
    except (KeyError, TypeError, ValueError, HeliographError) as error:
        raise damaged(folder, str(error)) from error
    return plan


def taxonomy_table(taxonomy: Taxonomy) -> pa.Table:
    """The rows of a taxonomy as the table that they can be read from."""
    columns = [[spell(term, Position.SUBJECT) for term in column] for column in zip(*taxonomy.rows, strict=True)]
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns or [[], []]], ["child", "parent"])


def damaged(folder: str | Path, why: str) -> StorageError:
    return StorageError("HG-810", f"a damaged save of a plan: {why}", place=Place(str(folder)), fix="save it again")
