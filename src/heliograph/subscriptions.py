"""Standing SPARQL interests: read from items or tables, compiled, kept by id in order of subscribing.

The laws: an id stands for one subscription at a time; a bad subscription is refused by name and loses no other; what
`tables` returns subscribes to the same again. A single item that is refused raises, in a batch it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import HeliographError, Place, SubscriptionError, TableError, UsageError
from heliograph.io.schemas import TABLES
from heliograph.io.sources import collector_paused
from heliograph.io.tables import as_table, is_single
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.sparql.query import Query
from heliograph.sparql.tables import PatternSet, Reader, read_patterns, tables_of
from heliograph.sparql.templates import compile_sparql, parse_sparql
from heliograph.terms import PREFIXES

Compile = Callable[[str], Query]
MOST_SUBSCRIPTIONS = 1 << 35  # that an engine takes in its life; a loaded one counts from 0. Filter's keys hold so many


class Subscription:
    """A standing interest, from SPARQL text or from pattern tables. `number` gives the order of subscribing.

    Fields are read only. One that came from tables is number `row` of the set `origin`; its query is made when it is
    asked for, and kept: until then it takes a tenth of the memory. The query of a text may be let go once it has been
    indexed, and is made again when it is asked for: dozens of objects each would keep Python's collector busy.
    """

    __slots__ = ("_again", "_counted", "_query", "id", "number", "options", "origin", "row", "subscriber", "text")

    def __init__(
        self,
        id: str,
        subscriber: str | None,
        query: Query | Compile | tuple[PatternSet, int],
        number: int,
        options: str | None = None,
        text: str | None = None,
        compile_again: Compile | None = None,
    ) -> None:
        self.id = id
        self.subscriber = subscriber
        self.number = number
        self.options = options
        self.text = text
        self.origin: PatternSet | None
        self._query: Query | Compile | None
        self._counted: bool | None = None
        self._again = compile_again
        if isinstance(query, tuple):
            self._query, (self.origin, self.row) = None, query
        else:
            self._query, self.origin, self.row = query, None, 0

    @property
    def query(self) -> Query:
        found = self._query
        if found is None:
            assert self.origin is not None
            found = self._query = self.origin.query(self.row)
        elif not isinstance(found, Query):
            found = self._query = found(self.text or "")
        return found

    @property
    def counted(self) -> bool:
        """Whether the query counts; pattern tables cannot, so nothing is made to know it."""
        if self._counted is None:
            self._counted = self.origin is None and self.query.counted
        return self._counted

    def release(self) -> None:
        """Lets go of the query of a text."""
        if self.text and self._again is not None and isinstance(self._query, Query):
            self._counted, self._query = self._query.counted, self._again

    def __repr__(self) -> str:
        return f"Subscription(id={self.id!r}, subscriber={self.subscriber!r}, number={self.number}, text={self.text!r})"


class PatternBatch(NamedTuple):
    """Subscriptions that came with one pattern set, and their numbers in it."""

    patterns: PatternSet
    rows: npt.NDArray[np.int64]
    subscriptions: tuple[Subscription, ...]


class ByOrigin(NamedTuple):
    """Subscriptions by where they came from; `plain` ones from text."""

    batches: tuple[PatternBatch, ...]
    plain: tuple[Subscription, ...]


def by_origin(subscriptions: Iterable[Subscription]) -> ByOrigin:
    """Subscriptions by their pattern sets, so that whole columns are looked at and no query is made."""
    grouped: dict[PatternSet | None, list[Subscription]] = {}
    for origin, members in groupby(subscriptions, attrgetter("origin")):
        grouped.setdefault(origin, []).extend(members)
    plain = tuple(grouped.pop(None, ()))
    batches = [
        PatternBatch(origin, np.fromiter(map(attrgetter("row"), group), np.int64, len(group)), tuple(group))
        for origin, group in grouped.items()
        if origin is not None
    ]
    return ByOrigin(tuple(batches), plain)


class TakenSubscriptions(NamedTuple):
    """The subscriptions that a call took or removed, in order, and its receipt."""

    subscriptions: tuple[Subscription, ...]
    receipt: Receipt

    @property
    def parts(self) -> ByOrigin:
        return by_origin(self.subscriptions)


class _Draft(NamedTuple):
    id: str | None
    subscriber: str | None
    query: Query | Compile | tuple[PatternSet, int] | HeliographError
    options: str | None = None
    text: str | None = None
    source: str | None = None


Accept = Callable[[Subscription], None]
_ReadTexts = Callable[[Sequence[str]], Sequence[Query | Compile | HeliographError]]


class Subscriptions:
    """The subscriptions of one engine, by id."""

    def __init__(self, verb: str, prefixes: Mapping[str, str] | None = None) -> None:
        self.verb = verb
        self.prefixes: Mapping[str, str] = {**PREFIXES, **(prefixes or {})}
        self._by_id: dict[str, Subscription] = {}
        self._next = 0
        self._again = self._parse  # one object for all

    @cached_property
    def _reader(self) -> Reader:
        """What reads the cells of pattern tables; their terms are kept."""
        return Reader(self.prefixes)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self._by_id.values())

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __getitem__(self, id: str) -> Subscription:
        found = self._by_id.get(str(id))
        if found is None:
            raise unknown(str(id))
        return found

    def subscribe(
        self,
        items: Any = None,
        query: str | None = None,
        *,
        patterns: Any = None,
        constraints: Any = None,
        accept: Accept | None = None,
    ) -> TakenSubscriptions:
        """Takes what is given; `accept` may refuse a compiled subscription by raising."""
        if query is not None:
            items = (items, query)
        elif isinstance(items, Mapping) and not items.keys() & {"subscription_id", "query"}:  # {id: query, …}
            items = next(iter(items.items())) if len(items) == 1 else list(items.items())
        if items is None and patterns is None:
            raise UsageError("HG-040", "nothing to subscribe to", fix="give subscriptions, or patterns and constraints")
        if isinstance(items, str) and "{" in items:
            raise UsageError("HG-040", "a query without an id", fix='give it one: ("my-id", "SELECT …")')
        if patterns is None and holds_patterns(items):
            items, patterns = None, items
        rejected: list[Rejected] = []
        errors: list[HeliographError] = []
        taken: list[Subscription] = []
        with collector_paused():
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
        return TakenSubscriptions(tuple(taken), Receipt(len(taken), Rejections(rejected)))

    def unsubscribe(self, ids: Any) -> TakenSubscriptions:
        """Removes subscriptions by id: one id, or several."""
        single = isinstance(ids, str) or not isinstance(ids, Iterable)
        removed: list[Subscription] = []
        rejected: list[Rejected] = []
        given = [ids] if single else ids.to_pylist() if isinstance(ids, (pa.Array, pa.ChunkedArray)) else ids
        for id in map(str, given):
            try:
                removed.append(self[id])
                del self._by_id[id]
            except SubscriptionError as error:
                if single:
                    raise
                rejected.append(Rejected.of(error, item=id))
        return TakenSubscriptions(tuple(removed), Receipt(len(removed), Rejections(rejected)))

    def forget(self, subscriptions: Iterable[Subscription]) -> None:
        """Takes back subscriptions that the engine could not take."""
        for each in subscriptions:
            if self._by_id.get(each.id) is each:
                del self._by_id[each.id]

    # --- reading ---

    def _read_items(self, items: Any, rejected: list[Rejected]) -> list[_Draft]:
        read = as_table("subscriptions", items)
        rejected.extend(read.rejected)
        drafts = self._read_rows(read.table, {}, read.source or "subscriptions", self._compile)
        for row, draft in enumerate(drafts):
            if read.parts:
                drafts[row] = draft = draft._replace(source=read.place(row).source or draft.source)
            if not draft.id:
                message, fix = "a subscription without an id", "write one in subscription_id"
                nameless = SubscriptionError("HG-503", message, place=read.place(row), fix=fix)
                drafts[row] = draft._replace(query=nameless)
        return drafts

    def _read_patterns(self, patterns: Any, constraints: Any, rejected: list[Rejected]) -> list[_Draft]:
        """Drafts of pattern tables. A subscription of which a row was refused is left out: it would match too much."""
        read = as_table("patterns", patterns)
        limits = None if constraints is None else as_table("constraints", constraints)
        refused = (*read.rejected, *(() if limits is None else limits.rejected))
        rejected.extend(refused)
        spoilt = {row.item for row in refused}
        found = read_patterns(read.table, None if limits is None else limits.table, self._reader)
        drafts: list[_Draft] = []
        for row, name in enumerate(found.names):
            if name in spoilt:
                continue
            error, source = found.errors.get(row), read.source or "patterns"
            if error is not None and error.message.startswith("constraints"):
                source = (limits and limits.source) or "constraints"
            drafts.append(_Draft(name, None, error or (found, row), source=source))
        return drafts

    def _read_rows(
        self, table: pa.Table, compiled: Mapping[str, _Draft], source: str | None, read: _ReadTexts
    ) -> list[_Draft]:
        """Drafts of the rows of a subscriptions table; those that are compiled already have no text."""
        names = ("subscription_id", "subscriber", "options", "query")
        rows = list(zip(*(table[name].to_pylist() for name in names), strict=True))
        queries = iter(read([text or "" for id, _, _, text in rows if id not in compiled]))
        return [
            compiled.get(id) or _Draft(id, subscriber, next(queries), options, text, source)
            for id, subscriber, options, text in rows
        ]

    def _compile(self, texts: Sequence[str]) -> Sequence[Query | HeliographError]:
        return compile_sparql(texts, verb=self.verb, prefixes=self.prefixes)

    def _compile_later(self, texts: Sequence[str]) -> Sequence[Compile | Query | HeliographError]:
        return [self._again if text else self._compile([text])[0] for text in texts]

    def _parse(self, text: str) -> Query:
        return parse_sparql(text, verb=self.verb, prefixes=self.prefixes)

    def _take(self, draft: _Draft, accept: Accept | None) -> Subscription:
        id, subscriber, query, options, text, _ = draft
        if isinstance(query, HeliographError):
            raise query
        assert id
        if id in self._by_id:
            raise duplicate(id)
        if self._next >= MOST_SUBSCRIPTIONS:
            message = f"this engine has taken {MOST_SUBSCRIPTIONS} subscriptions, and can take no more"
            fix = "save it and load it: then it counts from 0 again"
            raise SubscriptionError("HG-542", message, place=Place(item=id), fix=fix)
        taken = Subscription(id, subscriber, query, self._next, options, text, self._again)
        if accept is not None:
            accept(taken)
        self._by_id[id] = taken
        self._next += 1
        return taken

    def release(self, subscriptions: Iterable[Subscription]) -> None:
        """Lets go of the queries of these, where their texts can be compiled again."""
        for each in subscriptions:
            each.release()

    # --- saving ---

    def tables(self) -> dict[str, pa.Table]:
        """Everything needed to subscribe to the same again, in the same order."""
        return written(tuple(self))

    def restore(self, tables: Mapping[str, pa.Table], accept: Accept | None = None) -> tuple[Subscription, ...]:
        """Subscribes to what `tables` of another registry returned."""
        return self._restore(tables, accept, self._compile)

    def reopen(self, tables: Mapping[str, pa.Table], accept: Accept | None = None) -> tuple[Subscription, ...]:
        """The same, but a text is compiled when its query is asked for: it did compile when it was subscribed."""
        return self._restore(tables, accept, self._compile_later)

    def _restore(
        self, tables: Mapping[str, pa.Table], accept: Accept | None, read: _ReadTexts
    ) -> tuple[Subscription, ...]:
        drafts = self._read_patterns(tables["patterns"], tables["constraints"], [])
        compiled = {str(draft.id): draft for draft in drafts}
        with collector_paused():
            drafts = self._read_rows(tables["subscriptions"], compiled, None, read)
            return tuple(self._take(draft, accept) for draft in drafts)


def written(subscriptions: Sequence[Subscription]) -> dict[str, pa.Table]:
    """Subscriptions as the tables that they can be read from."""
    schema = TABLES["subscriptions"].arrow
    columns = [list(map(attrgetter(name), subscriptions)) for name in ("id", "subscriber", "text", "options")]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    batches = by_origin(subscriptions).batches
    selections = [(found, rows, [each.id for each in members]) for found, rows, members in batches]
    return {"subscriptions": pa.Table.from_arrays(arrays, schema=schema), **tables_of(selections)}


def holds_patterns(items: Any) -> bool:
    """Whether a table that was given as subscriptions has the columns of patterns instead."""
    names = items.schema.names if isinstance(items, (pa.Table, pa.RecordBatch)) else ()
    return "query" not in names and {"subject", "property", "object"} <= set(names)


def duplicate(id: str) -> SubscriptionError:
    fix = "unsubscribe it first, or choose another id"
    return SubscriptionError("HG-501", f"the subscription {id!r} exists already", place=Place(item=id), fix=fix)


def unknown(id: str) -> SubscriptionError:
    fix = "check the id, or subscribe it first"
    return SubscriptionError("HG-502", f"there is no subscription {id!r}", place=Place(item=id), fix=fix)
