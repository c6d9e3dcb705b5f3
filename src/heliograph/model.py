"""What travels out of every engine: notifications, what was rejected, and the measurements of a call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from typing import Any, overload

import pyarrow as pa

from heliograph.errors import HeliographError

_NOTIFICATION_FIELDS: list[pa.Field[Any]] = [
    pa.field("subscription_id", pa.string()),
    pa.field("subscriber", pa.string()),
    pa.field("publication_id", pa.string()),
    pa.field("verb", pa.string()),
    pa.field("change", pa.string()),
    pa.field("at", pa.timestamp("us", tz="UTC")),
    pa.field("evidence", pa.string()),
]
NOTIFICATIONS_SCHEMA = pa.schema(_NOTIFICATION_FIELDS)
REJECTED_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in ("source", "item", "code", "message")])


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

    @property
    def proof(self) -> Any:
        """The evidence as Python values."""
        return None if self.evidence is None else json.loads(self.evidence)


@dataclass(frozen=True, slots=True)
class Rejected:
    """One input item that was refused: where it came from, which one it was, and what to do about it."""

    source: str | None
    item: str | None
    code: str
    message: str

    @classmethod
    def of(cls, error: HeliographError, source: str | None = None, item: str | None = None) -> Rejected:
        return cls(source or error.place.source, item or error.place.item, error.code, error.describe())


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
    def table(self) -> pa.Table:
        return pa.Table.from_pylist([_row(item) for item in self._items], schema=REJECTED_SCHEMA)


@dataclass(frozen=True, slots=True)
class Stats(Mapping[str, Any]):
    """What a call cost. Times are integer nanoseconds; `+` adds two calls up. Reads as a mapping too."""

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
        summed = {key: self[key] + other[key] for key in STATS_KEYS if key not in ("subscriptions", "complete")}
        return Stats(subscriptions=other.subscriptions, complete=self.complete and other.complete, **summed)


STATS_KEYS = tuple(entry.name for entry in fields(Stats))


@dataclass(frozen=True)
class Notifications(Sequence[Notification]):
    """The outcome of `publish`: notifications in order, what was rejected, and what it cost.

    `complete` is False when a limit or a guard cut anything.
    """

    items: tuple[Notification, ...] = ()
    rejected: Rejections = field(default_factory=Rejections)
    stats: Stats = field(default_factory=Stats)

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Notification]: ...
    def __getitem__(self, index: int | slice) -> Notification | Sequence[Notification]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def complete(self) -> bool:
        return self.stats.complete

    @cached_property
    def table(self) -> pa.Table:
        return pa.Table.from_pylist([_row(item) for item in self.items], schema=NOTIFICATIONS_SCHEMA)

    def __add__(self, other: Notifications) -> Notifications:
        return Notifications(self.items + other.items, self.rejected + other.rejected, self.stats + other.stats)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a subscription matched a publication, or why not.

    `summary` is one sentence. `evidence` is what a notification would carry (bindings, a value, a path), when it
    matched. `failed` names the first pattern edge, constraint, node or edge that failed; `held` the nearest that did
    hold, in order.
    """

    verb: str
    subscription_id: str
    publication_id: str | None
    matched: bool
    summary: str
    evidence: Any = None
    failed: str | None = None
    held: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  held    {step}" for step in self.held]
        lines += [f"  failed  {self.failed}"] if self.failed else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of `subscribe`, `unsubscribe` and the like: how many were taken, and what was rejected."""

    accepted: int = 0
    rejected: Rejections = field(default_factory=Rejections)


def _row(item: Any) -> dict[str, Any]:
    return {entry.name: getattr(item, entry.name) for entry in fields(item)}
