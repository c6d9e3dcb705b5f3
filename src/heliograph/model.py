"""What travels out of every engine: notifications, rejected items and measurements; and the protocol that all three
engines speak.

The law: notifications are the same whether they were made one by one or as columns. As columns they cost nothing until
they are asked for: the table is made once, when it is first wanted, and the objects a page at a time.
"""

from __future__ import annotations

import json
import logging
import math
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import HeliographError, UsageError
from heliograph.terms import (
    PREFIXES,
    Position,
    Term,
    blank,
    iri,
    literal,
    parse_cell,
    python_value,
    shorten,
    sparql_value,
)
from heliograph.values import XSD_STRING

pc: Any = pyarrow.compute
_LOG = logging.getLogger("heliograph")

_UTC = pa.timestamp("us", tz="UTC")
NOTIFICATIONS_SCHEMA = pa.schema(
    [
        pa.field(name, _UTC if name == "at" else pa.string())
        for name in ("subscription_id", "subscriber", "publication_id", "verb", "change", "at", "evidence")
    ]
)
REJECTED_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in ("source", "item", "code", "message")])


FORMS = ("terms", "plain", "sparql")


class Spelling(NamedTuple):
    """How the terms of evidence are written: as in tables, with prefixes; as plain JSON values; or as in the W3C's JSON
    form of SPARQL results."""

    form: str = "terms"
    prefixes: Mapping[str, str] = dict(PREFIXES)  # one that can be pickled

    @classmethod
    def of(cls, form: str, prefixes: Mapping[str, str]) -> Spelling:
        if form not in FORMS:
            raise UsageError("HG-055", f"evidence={form!r}", fix=f"choose one of {', '.join(FORMS)}")
        return cls(form, prefixes)

    def write(self, text: str) -> str:
        """Evidence whose IRIs stand in angle brackets, in this form."""
        if self.form == "terms" and "<" not in text:
            return text
        found = json.loads(text)

        def cell(text: str, position: Position = Position.OBJECT) -> Any:
            if self.form == "terms":
                return shorten(text, self.prefixes) if text.startswith("<") else text
            term = parse_cell(text, position)
            return sparql_value(term) if self.form == "sparql" else _plain_json(term)

        def row(cells: Mapping[str, str]) -> dict[str, Any]:
            return {name: cell(text) for name, text in cells.items()}

        if "bindings" in found:
            given = found["bindings"]
            found["bindings"] = [row(each) for each in given] if isinstance(given, list) else row(given)
        if "edges" in found:
            found["edges"] = [[cell(text, at) for text, at in zip(edge, Position)] for edge in found["edges"]]
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def python_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of bindings as Python values."""
        if self.form == "plain":
            return dict(row)
        if self.form == "sparql":
            return {name: python_value(_of_sparql(value)) for name, value in row.items()}
        return {name: python_value(parse_cell(cell, Position.OBJECT, self.prefixes)) for name, cell in row.items()}


TERMS = Spelling()


@dataclass(frozen=True, slots=True)
class Notification:
    """A subscription and a publication that matched. `evidence` is JSON text, or None where none was asked for."""

    subscription_id: str
    subscriber: str | None
    publication_id: str | None
    verb: str
    change: str
    at: datetime | None = None
    evidence: str | None = None
    spelling: Spelling = field(default=TERMS, repr=False, compare=False)
    """How terms are written in `evidence`."""

    @property
    def proof(self) -> Any:
        """The evidence as JSON has it."""
        return None if self.evidence is None else json.loads(self.evidence)

    @property
    def bindings(self) -> Any:
        """What variables are bound to, as Python values: rows of a filter, one row of a watch; None where not shown."""
        found = None if self.evidence is None else self.proof.get("bindings")
        if isinstance(found, list):
            return [self.spelling.python_row(row) for row in found]
        return None if found is None else self.spelling.python_row(found)


def _of_sparql(value: Mapping[str, str]) -> Term:
    if value["type"] == "literal":
        return literal(value["value"], value.get("datatype", XSD_STRING), value.get("xml:lang", ""))
    return iri(value["value"]) if value["type"] == "uri" else blank(value["value"])


def _plain_json(term: Term) -> Any:
    value = python_value(term)
    if isinstance(value, Decimal):
        return float(value) if value % 1 else int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return term.value
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class Rejected:
    """One input item that was refused: where it came from, which one it was, and what to do about it.

    Inside a call one beyond the first thousand of its source and code may have no message: see `rejection_report`.
    """

    source: str | None
    item: str | None
    code: str
    message: str
    count: int = 1
    """How many items this row stands for."""

    @classmethod
    def of(cls, error: HeliographError, source: str | None = None, item: str | None = None) -> Rejected:
        return cls(source or error.place.source, item or error.place.item, error.code, error.describe())


MOST_REPORTED = 1000  # refused items of one source and code that are reported one by one in a call


class MessageLimit:
    """Which refused items of one source get a message: of each code the first so many. A message takes 30 µs."""

    def __init__(self) -> None:
        self._met: dict[str, int] = {}

    def allows(self, code: str) -> bool:
        """Counts an item, and says whether it is to be described."""
        met = self._met[code] = self._met.get(code, 0) + 1
        return met <= MOST_REPORTED

    def is_reached(self, code: str) -> bool:
        """Whether the next one will not be described."""
        return self._met.get(code, 0) >= MOST_REPORTED


def rejection_report(rejected: Iterable[Rejected]) -> Rejections:
    """Of each source and code the first thousand items, then one row that says how many more there are."""
    items = rejected if isinstance(rejected, Rejections) else Rejections(rejected)
    if len(items) <= MOST_REPORTED and all(entry.message for entry in items):
        return items
    shown: list[Rejected] = []
    met: dict[tuple[str | None, str], int] = {}
    rest: dict[tuple[str | None, str], tuple[int, int]] = {}  # where its row stands, and for how many
    for entry in items:
        key = entry.source, entry.code
        met[key] = met.get(key, 0) + 1
        if entry.message and entry.count == 1 and met[key] <= MOST_REPORTED:
            shown.append(entry)
            continue
        if key not in rest:
            rest[key] = len(shown), 0
            shown.append(entry)
        place, count = rest[key]
        rest[key] = place, count + entry.count
    for (source, code), (place, count) in rest.items():
        where = f" ({source})" if source else ""
        message = f"{count:,} more items with this code{where}; mend those that are reported one by one, and try again"
        shown[place] = Rejected(source, None, code, message, count)
    return Rejections(shown)


def warn_if_nothing(accepted: int, rejected: Sequence[Rejected], what: str) -> None:
    """Logs a warning where all that a call was given was refused: a script may never look at `rejected`."""
    if rejected and not accepted:
        first, total = rejected[0], sum(entry.count for entry in rejected)
        _LOG.warning("no %s were taken: %s rejected, the first with %s: %s", what, total, first.code, first.message)


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in "1 node", "2 nodes"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Rejections(Sequence[Rejected]):
    """The refused items of a call, in the order in which they were met."""

    def __init__(self, items: Iterable[Rejected] = ()) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> Rejected: ...
    @overload
    def __getitem__(self, index: slice) -> Rejections: ...
    def __getitem__(self, index: int | slice) -> Rejected | Rejections:
        return Rejections(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __add__(self, other: Iterable[Rejected]) -> Rejections:
        return Rejections((*self._items, *other))

    def __repr__(self) -> str:
        return f"Rejections({list(self._items)!r})"

    @property
    def total(self) -> int:
        """How many items were refused: a row may stand for many."""
        return sum(entry.count for entry in self._items)

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_pylist([_row(item) for item in self._items], schema=REJECTED_SCHEMA)


@dataclass(frozen=True, slots=True)
class Stats(Mapping[str, Any]):
    """What a call cost. Times are integer nanoseconds; `+` adds two calls up. Reads as a mapping too.

    The last three are parts of `match_ns`: finding candidates, verifying them, and laying out what is notified.
    """

    subscriptions: int = 0
    publications: int = 0
    notifications: int = 0
    candidates: int = 0
    verified: int = 0
    rejected: int = 0
    complete: bool = True
    truncated: int = 0
    load_ns: int = 0
    parse_ns: int = 0
    match_ns: int = 0
    lookup_ns: int = 0
    verify_ns: int = 0
    report_ns: int = 0

    def __getitem__(self, key: str) -> Any:
        if key not in STATS_KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(STATS_KEYS)

    def __len__(self) -> int:
        return len(STATS_KEYS)

    def __add__(self, other: Stats) -> Stats:
        """Counts and times add up; `subscriptions` is a level, the later call's; complete only if both are."""
        summed = Stats(*map(operator.add, _VALUES(self), _VALUES(other)))
        complete = self.complete and other.complete
        object.__setattr__(summed, "subscriptions", other.subscriptions)
        object.__setattr__(summed, "complete", complete)
        return summed


STATS_KEYS = tuple(entry.name for entry in fields(Stats))
_VALUES = operator.attrgetter(*STATS_KEYS)


class SubscriptionCost(NamedTuple):
    """What a subscription cost: the publications that it was verified for, and the steps that this took."""

    subscription_id: str
    publications: int
    steps: int


def slowest(entries: Iterable[SubscriptionCost]) -> tuple[SubscriptionCost, ...]:
    """The most expensive subscriptions first, each once with its sums; at most ten."""
    sums: dict[str, SubscriptionCost] = {}
    for entry in entries:
        id, publications, steps = entry
        known = sums.get(id, SubscriptionCost(id, 0, 0))
        sums[id] = SubscriptionCost(id, known.publications + publications, known.steps + steps)
    return tuple(sorted(sums.values(), key=lambda entry: (-entry.steps, entry.subscription_id))[:10])


Texts: TypeAlias = "Sequence[str | None] | pa.Array[Any]"  # an array is half the time


MOST_BYTES = (1 << 31) - 1  # of the texts of one Arrow array of strings


class Columns(NamedTuple):
    """Notifications as numbers: each is a subscription and a publication, by their places in these lists."""

    subscription: npt.NDArray[np.integer[Any]]
    publication: npt.NDArray[np.integer[Any]]
    subscription_ids: Texts
    subscribers: Texts
    publication_ids: Texts
    verb: str
    evidence: Texts | None = None

    def table(self) -> pa.Table:
        """The table; in so many pieces that the texts of none are longer than Arrow's offsets of 32 bits can say."""
        names = [
            pa.array(each, pa.string()) for each in (self.subscription_ids, self.subscribers, self.publication_ids)
        ]
        size = len(self.subscription)
        if size * max(len(self.verb), *(each.nbytes for each in names)) <= MOST_BYTES:  # no need to look closer
            return self._piece(names, 0, size)
        longest = max(len(self.verb), *(pc.max(pc.binary_length(each)).as_py() or 0 for each in names))
        rows = max(1, MOST_BYTES // longest)
        return pa.concat_tables([self._piece(names, first, min(first + rows, size)) for first in range(0, size, rows)])

    def _piece(self, names: Sequence[Any], first: int, last: int) -> pa.Table:
        size, text = last - first, pa.string()
        subscription, publication = self.subscription[first:last], self.publication[first:last]
        columns: list[Any] = [
            names[0].take(subscription),
            names[1].take(subscription),
            names[2].take(publication),
            pa.repeat(self.verb, size),
            pa.repeat("+", size),
            pa.nulls(size, _UTC),
            pa.nulls(size, text) if self.evidence is None else pa.array(self.evidence[first:last], text),
        ]
        return pa.Table.from_arrays(columns, schema=NOTIFICATIONS_SCHEMA)


Made = TypeVar("Made")
_PAGE = 1024  # notifications made into objects at a time


class _Once(Generic[Made]):
    """Something that is made when it is first wanted, once, whichever threads want it."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make: list[Callable[[], Made]] = [make]
        self._made: list[Made] = []
        self._lock = threading.Lock()

    def __call__(self) -> Made:
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make[0]())
                    self._make.clear()  # and with it what it was made of
        return self._made[0]


class Notifications(Sequence[Notification]):
    """The outcome of `publish`: notifications in order, what was rejected, and what it cost.

    `slow` names the most expensive subscriptions of the call, where the engine counts their steps.
    """

    def __init__(
        self,
        items: Iterable[Notification] = (),
        rejected: Iterable[Rejected] = (),
        stats: Stats | None = None,
        slow: Iterable[SubscriptionCost] | Callable[[], Iterable[SubscriptionCost]] = (),
    ) -> None:
        made = tuple(items)
        self._spelling = TERMS
        self._items: tuple[Notification, ...] | None = made
        self._size = len(made)
        self._table = _Once(lambda: pa.Table.from_pylist([_row(item) for item in made], schema=NOTIFICATIONS_SCHEMA))
        self._pages: dict[int, tuple[Notification, ...]] = {}
        self._refused = rejected if isinstance(rejected, Rejections) else Rejections(rejected)
        self._reported: Rejections | None = None
        self._stats = stats or Stats()
        self._slow = _Once(lambda: slowest(slow() if callable(slow) else slow))

    @classmethod
    def of_columns(
        cls,
        columns: Columns | Callable[[], pa.Table],
        size: int,
        rejected: Iterable[Rejected] = (),
        stats: Stats | None = None,
        slow: Iterable[SubscriptionCost] | Callable[[], Iterable[SubscriptionCost]] = (),
    ) -> Notifications:
        """So many notifications, whose table is made when it is first wanted."""
        made = cls((), rejected, stats, slow)
        made._items, made._size = None, size
        made._table = _Once(columns.table if isinstance(columns, Columns) else columns)
        return made

    def spelled(self, spelling: Spelling) -> Notifications:
        """The same notifications, the terms of their evidence written in some way; they are to be spelled once only."""
        if self._items is not None:
            if spelling.form == "terms":
                for item in self._items:
                    if item.evidence is not None and "<" in item.evidence:
                        break
                else:
                    return self
            made = [
                item
                if item.evidence is None
                else replace(item, evidence=spelling.write(item.evidence), spelling=spelling)
                for item in self._items
            ]
            return Notifications(made, self._refused, self._stats, lambda: self.slow)

        def table() -> pa.Table:
            column = self.table["evidence"]
            if spelling.form == "terms" and not pc.any(pc.match_substring(column, "<")).as_py():
                return self.table
            texts = [None if text is None else spelling.write(text) for text in column.to_pylist()]
            place = self.table.column_names.index("evidence")
            return self.table.set_column(place, "evidence", pa.array(texts, pa.string()))

        spelled = Notifications.of_columns(table, len(self), self._refused, self._stats, lambda: self.slow)
        spelled._spelling = spelling
        return spelled

    def to_pandas(self) -> Any:
        """A pandas frame: the columns of the table, and one for each variable, with a row for each row of bindings.

        A variable that is called as a column of the table has a question mark before its name.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for item in self:
            found = item.bindings
            given = _row(item)
            extra = (
                {}
                if item.evidence is None
                else {name: value for name, value in item.proof.items() if name in ("value", "cost", "path")}
            )
            for row in found if isinstance(found, list) and found else [found or {}]:
                shown = {f"?{name}" if name in given or name in extra else name: value for name, value in row.items()}
                rows.append({**given, **extra, **shown})
        names = dict.fromkeys([*NOTIFICATIONS_SCHEMA.names, *(name for row in rows for name in row)])
        return pd.DataFrame.from_records(rows, columns=list(names))

    @property
    def items(self) -> tuple[Notification, ...]:
        return tuple(self) if self._items is None else self._items

    @property
    def rejected(self) -> Rejections:
        """What was refused: of each source and code the first thousand, then how many more."""
        if self._reported is None:
            self._reported = rejection_report(self._refused)
        return self._reported

    @property
    def refused(self) -> Rejections:
        """Every refused item; those that `rejected` only counts may have no message."""
        return self._refused

    @property
    def stats(self) -> Stats:
        return self._stats

    @property
    def complete(self) -> bool:
        """False when a limit or a guard cut anything."""
        return self._stats.complete

    @property
    def slow(self) -> tuple[SubscriptionCost, ...]:
        return self._slow()

    @property
    def table(self) -> pa.Table:
        return self._table()

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Notification]: ...
    def __getitem__(self, index: int | slice) -> Notification | Sequence[Notification]:
        if self._items is not None:
            return self._items[index]
        wanted = range(self._size)[index]
        return tuple(map(self._item, wanted)) if isinstance(wanted, range) else self._item(wanted)

    def _item(self, number: int) -> Notification:
        page, row = divmod(number, _PAGE)
        return self._page(page)[row]

    def _page(self, number: int) -> tuple[Notification, ...]:
        page = self._pages.get(number)
        if page is None:
            rows = self.table.slice(number * _PAGE, _PAGE)
            page = tuple(map(Notification, *map(_cells, rows.columns), repeat(self._spelling)))
            self._pages[number] = page
        return page

    def __iter__(self) -> Iterator[Notification]:
        if self._items is not None:
            return iter(self._items)
        return chain.from_iterable(map(self._page, range(-(-self._size // _PAGE))))

    def __len__(self) -> int:
        return self._size

    def __add__(self, other: Notifications) -> Notifications:
        rejected, stats = self.refused + other.refused, self.stats + other.stats

        def slow() -> Iterable[SubscriptionCost]:
            return self.slow + other.slow

        if self._items is not None and other._items is not None:
            return Notifications(self._items + other._items, rejected, stats, slow)

        def table() -> pa.Table:
            return pa.concat_tables([self.table, other.table])

        return Notifications.of_columns(table, len(self) + len(other), rejected, stats, slow)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3])) + (", …" if len(self) > 3 else "")
        return f"Notifications([{shown}], {len(self)} in all, {self.refused.total} rejected)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Notifications, (self.items, self.refused, self.stats, self.slow)


def _cells(column: pa.ChunkedArray[Any]) -> list[Any]:
    """A column's values; times in the zone that they have when they are made one by one."""
    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()
    times: list[Any] = column.cast(pa.timestamp("us")).to_pylist()
    return [None if each is None else each.replace(tzinfo=UTC) for each in times]


_REASONS = 20  # members of a cut that are printed


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a subscription matched a publication, or why not.

    `summary` is one sentence. `evidence` is what a notification would carry (bindings, a value, a path), when it
    matched; of a route that did not, the cut that blocks it. `failed` names the first pattern edge, constraint, node or
    edge that failed; `held` the nearest that did hold, in order. `index` says what the engine's index did about the
    pair, where it has one.
    """

    verb: str
    subscription_id: str
    publication_id: str | None
    matched: bool
    summary: str
    evidence: Any = None
    failed: str | None = None
    held: tuple[str, ...] = ()
    index: tuple[str, ...] = ()

    def spelled(self, prefixes: Mapping[str, str]) -> Explanation:
        """The same with prefixes in its sentences."""
        return replace(
            self,
            summary=shorten(self.summary, prefixes),
            failed=self.failed and shorten(self.failed, prefixes),
            held=tuple(shorten(step, prefixes) for step in self.held),
            index=tuple(shorten(step, prefixes) for step in self.index),
        )

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  held    {step}" for step in self.held]
        lines += [f"  failed  {reason}" for reason in self._reasons()]
        lines += [f"  index   {step}" for step in self.index]
        return "\n".join(lines)

    def _reasons(self) -> list[str]:
        """What failed; of a cut, whose first member that is, the other members too, a line each up to a limit."""
        if not self.failed:
            return []
        found = self.evidence if isinstance(self.evidence, dict) else {}
        cut = found.get("cut", [])
        hidden = len(cut[_REASONS:]) + found.get("more", 0)
        return [self.failed, *map(_spell_member, cut[1:_REASONS]), *([f"and {hidden} more"] if hidden else [])]


def _spell_member(member: dict[str, Any]) -> str:
    if "node" in member:
        return f"node {member['node']}: {member['failed']}"
    source, target, id = member["edge"]
    return f"edge {source} → {target}{f' ({id})' if id is not None else ''}: {member['failed']}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of `subscribe`, `unsubscribe` and the like: how many were taken, and what was rejected."""

    accepted: int = 0
    rejected: Rejections = field(default_factory=Rejections)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rejected", rejection_report(self.rejected))


def _row(item: Any) -> dict[str, Any]:
    return {entry.name: getattr(item, entry.name) for entry in fields(item) if entry.name != "spelling"}


# --- the protocol of engines ---


class Engine(Protocol):
    """A matcher of publications against standing interests.

    Items are a single item, an iterable of items or an Arrow table. A single bad item given to `subscribe` or
    `unsubscribe` raises; in a batch it is reported in the receipt and the rest is taken. `publish` never raises
    for a bad item. Engines are thread-safe: publishes run concurrently, each against one version.
    """

    def subscribe(self, items: Any) -> Receipt: ...

    def unsubscribe(self, ids: Any) -> Receipt: ...

    def publish(self, items: Any) -> Notifications: ...

    def explain(self, subscription: str, publication: Any) -> Explanation: ...

    def stats(self) -> Stats: ...

    def save(self, path: str | Path) -> None: ...

    @classmethod
    def load(cls, path: str | Path) -> Self: ...
