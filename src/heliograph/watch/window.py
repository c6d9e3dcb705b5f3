"""Sliding windows: which edges are too old when the next update comes.

By time, the clock is the largest `at` so far and an edge goes when `at <= clock - span`. By updates, the clock is the
number of accepted updates, the coming one included, and an edge goes when `number <= clock - n`: after each update the
graph holds what the last n accepted updates added or renewed. An edge loaded without a time never goes.

Both kinds keep a queue of promises (due, edge); renewing an edge makes an older promise void, which is noticed when it
comes to the head. So a renewal costs a push, and expiry costs as much as there is to expire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from heapq import heappop, heappush
from typing import Any, NamedTuple

from heliograph.errors import UsageError
from heliograph.watch.updates import Triple

_SECOND = 1_000_000
_UNITS = {"s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND, "d": 86400 * _SECOND, "w": 604800 * _SECOND}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw]?)")


class Edge(NamedTuple):
    """What the evolving graph knows of a triple beside its being there.

    `at` (microseconds since 1970) and `seq` are those of the update that added or last renewed it, `number` says how
    many updates had been accepted by then. None: loaded as background, so it never expires by that clock.
    """

    weight: float | None = None
    at: int | None = None
    seq: int | None = None
    number: int | None = None


class Extent(NamedTuple):
    """How much a window holds: a span in microseconds, a number of updates, both, or neither."""

    span: int | None = None
    updates: int | None = None

    def __bool__(self) -> bool:
        return self.span is not None or self.updates is not None


def extent(window: str | float | timedelta | None = None, updates: int | None = None) -> Extent:
    """The extent that the options `window` and `window_updates` ask for."""
    if updates is not None and (isinstance(updates, bool) or not isinstance(updates, int) or updates < 1):
        raise UsageError("HG-071", f"window_updates is {updates!r}", fix="give a whole number of updates, 1 or more")
    return Extent(None if window is None else parse_span(window), updates)


def parse_span(window: Any) -> int:
    """A window's span in microseconds, from `7d`, `12h`, `30m`, `45s`, `2w`, seconds or a timedelta."""
    span = _span(window)
    if span is None or span <= 0 or span >= 1 << 62:
        raise UsageError(
            "HG-071", f"window is {window!r}", fix="write a span above zero such as 7d, 12h, 30m, 45s, 2w, or seconds"
        )
    return span


def _span(window: Any) -> int | None:
    if isinstance(window, timedelta):
        return window // timedelta(microseconds=1)
    text = str(window) if isinstance(window, (int, float)) and not isinstance(window, bool) else window
    match = _SPAN.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if match is None:
        return None
    number, unit = match.groups()
    return round(float(number) * _UNITS[unit or "s"]) if "." in number else int(number) * _UNITS[unit or "s"]


class Window:
    """The clocks of a window and the edges due next by each."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.clock: int | None = None
        self.number = 0
        self._by_time: list[tuple[int, int, Triple]] = []
        self._by_number: list[tuple[int, Triple]] = []

    def note(self, triple: Triple, edge: Edge) -> None:
        """Promise that an edge, just added or renewed, will go in its time."""
        if self.extent.span is not None and edge.at is not None:
            heappush(self._by_time, (edge.at, edge.seq or 0, triple))
        if self.extent.updates is not None and edge.number is not None:
            heappush(self._by_number, (edge.number, triple))

    def move(self, at: int | None) -> None:
        """Set the time clock on to `at`, if that is later."""
        if at is not None and (self.clock is None or at > self.clock):
            self.clock = at

    def expired(self, edge_of: Callable[[Triple], Edge | None]) -> Iterator[Triple]:
        """The edges that are too old by now: by time in order of (at, seq), then by number."""
        if self.extent.span is not None and self.clock is not None:
            yield from self._due_by_time(self.clock - self.extent.span, edge_of)
        if self.extent.updates is not None:
            yield from self._due_by_number(self.number - self.extent.updates, edge_of)

    def _due_by_time(self, limit: int, edge_of: Callable[[Triple], Edge | None]) -> Iterator[Triple]:
        while self._by_time and self._by_time[0][0] <= limit:
            at, seq, triple = heappop(self._by_time)
            edge = edge_of(triple)
            if edge is not None and edge.at == at and (edge.seq or 0) == seq:
                yield triple

    def _due_by_number(self, limit: int, edge_of: Callable[[Triple], Edge | None]) -> Iterator[Triple]:
        while self._by_number and self._by_number[0][0] <= limit:
            number, triple = heappop(self._by_number)
            edge = edge_of(triple)
            if edge is not None and edge.number == number:
                yield triple
