"""Standing SPARQL interests: read from items or tables, compiled, kept by id in order of subscribing.

The laws: an id stands for one subscription at a time; a bad subscription is refused by name and loses no other; what
`tables` returns subscribes to the same again. A single item that is refused raises, in a batch it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, SubscriptionError, TableError, UsageError
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.syntax.patterns import compile_patterns
from heliograph.syntax.query import Query
from heliograph.syntax.sparql import compile_sparql
from heliograph.tables.items import as_table, is_single
from heliograph.tables.schemas import TABLES
from heliograph.terms import PREFIXES


class PatternTables(NamedTuple):
    """The tables that subscriptions without text came from, shared by all that came with them."""

    patterns: pa.Table
    constraints: pa.Table


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing interest, from SPARQL text or from pattern tables. `number` gives the order of subscribing."""

    id: str
    subscriber: str | None
    query: Query
    number: int
    options: str | None = None
    text: str | None = None
    origin: PatternTables | None = field(default=None, repr=False, compare=False)


class Taken(NamedTuple):
    """The subscriptions that a call took or removed, in order, and its receipt."""

    subscriptions: tuple[Subscription, ...]
    receipt: Receipt


class _Draft(NamedTuple):
    id: str | None
    subscriber: str | None
    query: Query | HeliographError
    options: str | None = None
    text: str | None = None
    origin: PatternTables | None = None
    source: str | None = None


Accept = Callable[[Subscription], None]


class Subscriptions:
    """The subscriptions of one engine, by id."""

    def __init__(self, verb: str, prefixes: Mapping[str, str] | None = None) -> None:
        self.verb = verb
        self.prefixes: Mapping[str, str] = {**PREFIXES, **(prefixes or {})}
        self._by_id: dict[str, Subscription] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self._by_id.values())

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __getitem__(self, id: str) -> Subscription:
        found = self._by_id.get(str(id))
        if found is None:
            raise _unknown(str(id))
        return found

    def subscribe(
        self, items: Any = None, *, patterns: Any = None, constraints: Any = None, accept: Accept | None = None
    ) -> Taken:
        """Takes what is given; `accept` may refuse a compiled subscription by raising."""
        if items is None and patterns is None:
            raise UsageError("HG-040", "nothing to subscribe to", fix="give subscriptions, or patterns and constraints")
        if isinstance(items, str) and "{" in items:
            raise UsageError("HG-040", "a query without an id", fix='give it one: ("my-id", "SELECT …")')
        if patterns is None and _holds_patterns(items):
            items, patterns = None, items
        rejected: list[Rejected] = []
        errors: list[HeliographError] = []
        taken: list[Subscription] = []
        drafts = [] if items is None else self._read_items(items, rejected)
        if patterns is not None:
            drafts += self._read_patterns(patterns, constraints, rejected)
        for draft in drafts:
            try:
                taken.append(self._take(draft, accept))
            except HeliographError as error:
                errors.append(error)
                rejected.append(Rejected.of(error, draft.source, draft.id))
        if rejected and patterns is None and is_single(items):
            raise errors[0] if errors else TableError(rejected[0].code, rejected[0].message)
        return Taken(tuple(taken), Receipt(len(taken), Rejections(rejected)))

    def unsubscribe(self, ids: Any) -> Taken:
        """Removes subscriptions by id: one id, or several."""
        single = isinstance(ids, str) or not isinstance(ids, Iterable)
        removed: list[Subscription] = []
        rejected: list[Rejected] = []
        for id in [str(ids)] if single else _each(ids):
            try:
                removed.append(self[id])
                del self._by_id[id]
            except SubscriptionError as error:
                if single:
                    raise
                rejected.append(Rejected.of(error, item=id))
        return Taken(tuple(removed), Receipt(len(removed), Rejections(rejected)))

    # --- reading ------------------------------------------------------------------------------------------------

    def _read_items(self, items: Any, rejected: list[Rejected]) -> list[_Draft]:
        read = as_table("subscriptions", items)
        rejected.extend(read.rejected)
        drafts = self._compile(read.table, {}, read.source or "subscriptions")
        return [
            draft if draft.id else draft._replace(query=_nameless(read.place(row))) for row, draft in enumerate(drafts)
        ]

    def _read_patterns(self, patterns: Any, constraints: Any, rejected: list[Rejected]) -> list[_Draft]:
        """Drafts of pattern tables. A subscription of which a row was refused is left out: it would match too much."""
        read, limits = (
            as_table("patterns", patterns),
            as_table("constraints", [] if constraints is None else constraints),
        )
        refused = (*read.rejected, *limits.rejected)
        rejected.extend(refused)
        spoilt = {row.item for row in refused}
        origin = PatternTables(read.table, limits.table)
        compiled = compile_patterns(origin.patterns, origin.constraints, self.prefixes)
        sources = read.source or "patterns", limits.source or "constraints"
        return [
            _Draft(id, None, query, origin=origin, source=sources[_of_constraints(query)])
            for id, query in compiled.items()
            if id not in spoilt
        ]

    def _compile(self, table: pa.Table, compiled: Mapping[str, _Draft], source: str | None) -> list[_Draft]:
        """Drafts of the rows of a subscriptions table; those that are compiled already have no text."""
        rows = table.select(["subscription_id", "subscriber", "query", "options"]).to_pylist()
        texts = [row["query"] or "" for row in rows if row["subscription_id"] not in compiled]
        queries = iter(compile_sparql(texts, verb=self.verb, prefixes=self.prefixes))
        return [
            compiled.get(row["subscription_id"])
            or _Draft(
                row["subscription_id"], row["subscriber"], next(queries), row["options"], row["query"], None, source
            )
            for row in rows
        ]

    def _take(self, draft: _Draft, accept: Accept | None) -> Subscription:
        if isinstance(draft.query, HeliographError):
            raise draft.query
        assert draft.id
        if draft.id in self._by_id:
            raise _duplicate(draft.id)
        taken = Subscription(
            draft.id, draft.subscriber, draft.query, self._next, draft.options, draft.text, draft.origin
        )
        if accept is not None:
            accept(taken)
        self._by_id[draft.id] = taken
        self._next += 1
        return taken

    # --- saving -------------------------------------------------------------------------------------------------

    def tables(self) -> dict[str, pa.Table]:
        """Everything needed to subscribe to the same again, in the same order."""
        rows = [
            {"subscription_id": each.id, "subscriber": each.subscriber, "query": each.text, "options": each.options}
            for each in self
        ]
        origins = [_live(origin, ids) for origin, ids in self._by_origin()]
        empty = PatternTables(TABLES["patterns"].empty(), TABLES["constraints"].empty())
        return {
            "subscriptions": pa.Table.from_pylist(rows, schema=TABLES["subscriptions"].arrow),
            "patterns": pa.concat_tables([empty.patterns, *(origin.patterns for origin in origins)]),
            "constraints": pa.concat_tables([empty.constraints, *(origin.constraints for origin in origins)]),
        }

    def restore(self, tables: Mapping[str, pa.Table], accept: Accept | None = None) -> tuple[Subscription, ...]:
        """Subscribes to what `tables` of another registry returned."""
        drafts = self._read_patterns(tables["patterns"], tables["constraints"], [])
        compiled = {str(draft.id): draft for draft in drafts}
        return tuple(self._take(draft, accept) for draft in self._compile(tables["subscriptions"], compiled, None))

    def _by_origin(self) -> list[tuple[PatternTables, list[str]]]:
        grouped: dict[int, tuple[PatternTables, list[str]]] = {}
        for each in self:
            if each.origin is not None:
                grouped.setdefault(id(each.origin), (each.origin, []))[1].append(each.id)
        return list(grouped.values())


def _of_constraints(query: Query | HeliographError) -> bool:
    """Whether what is wrong with a pattern stands in the constraints table."""
    return isinstance(query, HeliographError) and query.message.startswith("constraints")


def _live(origin: PatternTables, ids: list[str]) -> PatternTables:
    """The rows of these subscriptions alone."""
    wanted = pa.array(ids, pa.string())
    return PatternTables(*(table.filter(pc.is_in(table["subscription_id"], value_set=wanted)) for table in origin))


def _holds_patterns(items: Any) -> bool:
    """Whether a table that was given as subscriptions has the columns of patterns instead."""
    names = items.schema.names if isinstance(items, (pa.Table, pa.RecordBatch)) else ()
    return "query" not in names and {"subject", "property", "object"} <= set(names)


def _each(ids: Any) -> list[str]:
    if isinstance(ids, (pa.Array, pa.ChunkedArray)):
        return [str(id) for id in ids.to_pylist()]
    return [str(id) for id in ids]


def _nameless(place: Place) -> SubscriptionError:
    return SubscriptionError("HG-503", "a subscription without an id", place=place, fix="write one in subscription_id")


def _duplicate(id: str) -> SubscriptionError:
    return SubscriptionError(
        "HG-501",
        f"the subscription {id!r} exists already",
        place=Place(item=id),
        fix="unsubscribe it first, or choose another id",
    )


def _unknown(id: str) -> SubscriptionError:
    return SubscriptionError(
        "HG-502", f"there is no subscription {id!r}", place=Place(item=id), fix="check the id, or subscribe it first"
    )
