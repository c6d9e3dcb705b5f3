"""From changes to notifications: their order, their limit for each update, their columns, and the sums of one call.

Both strategies add what updates changed to a `Report`, as deltas of one subscription or as columns of many lines, in
any order. The order of the contract is made here: by update, what was lost before what was gained, then by order of
subscribing, then by bindings, which is the order in which the lines of one subscription were added. Of each
subscription the first `max_matches_per_update` lines of an update are kept, and the rest is counted as truncated.

Few lines become notifications at once. Many are kept as columns, whose table is made when it is first wanted; ids of
terms never change their meaning, so their evidence is made then too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.model import NOTIFICATIONS_SCHEMA, Notification, Notifications, Rejected, Rejections, Stats
from heliograph.subscriptions import Subscription
from heliograph.watch.changes import MatchDelta, after
from heliograph.watch.evidence import Texts, WitnessEdges, as_list, evidence_text
from heliograph.watch.layout import NO_TIME, Int64s
from heliograph.watch.updates import ADD, EPOCH, REMOVE, Flags, UpdateColumns

if TYPE_CHECKING:
    from heliograph.terms import Variable
    from heliograph.watch.options import Subscribed

_CHANGES = pa.array([REMOVE, ADD])
_KINDS: Any = (np.int64, np.bool_, np.int64)  # of the columns of lines
_FEW = 64  # lines that are sooner made into notifications than into columns


class ReportLines(NamedTuple):
    """Lines as columns: the row of the update, whether it gained, the number of the subscription, and the evidence."""

    update: Int64s
    gained: Flags
    number: Int64s
    evidence: Texts | Callable[[], Texts]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Lines in order, as a table to be made."""

    lines: ReportLines
    rows: Int64s  # of the evidence, one part after the other
    evidence: tuple[Texts | Callable[[], Texts], ...]
    updates: UpdateColumns
    subscriptions: tuple[Subscription, ...]  # by number

    def __len__(self) -> int:
        return len(self.rows)

    def make(self) -> pa.Table:
        numbers = np.array([each.number for each in self.subscriptions], np.int64)
        place = np.searchsorted(numbers, self.lines.number)
        at = self.updates.at[self.lines.update]
        texts = [pa.array(each() if callable(each) else each, pa.string()) for each in self.evidence]
        columns: list[Any] = [
            pa.array([each.id for each in self.subscriptions], pa.string()).take(place),
            pa.array([each.subscriber for each in self.subscriptions], pa.string()).take(place),
            pa.array(self.updates.seq[self.lines.update]).cast(pa.string()),
            pa.repeat("watch", len(self)),
            _CHANGES.take(self.lines.gained.astype(np.int8)),
            pa.array(at, pa.int64(), mask=at == NO_TIME).cast(pa.timestamp("us", tz="UTC")),
            pa.concat_arrays(texts).take(self.rows),
        ]
        return pa.Table.from_arrays(columns, schema=NOTIFICATIONS_SCHEMA)


class Report:
    """What a batch of updates changed; `updates` is None for what holds before the first one, the initial matches."""

    def __init__(self, updates: UpdateColumns | None, witness: WitnessEdges | None = None) -> None:
        self._updates, self._witness = updates, witness
        self._parts: list[ReportLines] = []
        self._few: list[tuple[int, bool, int, str | None]] = []
        self._subscribed: dict[int, Subscribed] = {}  # by number

    def add_lines(self, lines: ReportLines, subscribed: Iterable[Subscribed]) -> None:
        """Adds lines of these subscriptions, or of some of them."""
        size = len(lines.update)
        if not size:
            return
        self._subscribed.update((each.subscription.number, each) for each in subscribed)
        if size > _FEW:
            self._parts.append(lines)
            return
        evidence = lines.evidence() if callable(lines.evidence) else lines.evidence
        columns = lines.update.tolist(), lines.gained.tolist(), lines.number.tolist(), as_list(evidence)
        self._few += zip(*columns, strict=True)

    def add_deltas(
        self, subscribed: Subscribed, shown: tuple[Variable, ...], deltas: Iterable[tuple[int, MatchDelta]]
    ) -> None:
        """Adds what updates change for one subscription, in order; deltas of the same update count as one."""
        joined: dict[int, MatchDelta] = {}
        for update, delta in deltas:
            before = joined.get(update)
            joined[update] = delta if before is None else after(before, delta, shown)
        number, query = subscribed.subscription.number, subscribed.subscription.query
        self._few += [
            (update, bool(gained), number, evidence_text(query, match, self._witness, is_lost=not gained))
            for update, delta in joined.items()
            for gained, matches in enumerate(delta)
            for match in matches
        ]
        self._subscribed[number] = subscribed

    def add_direct(self, gained: bool, lines: Mapping[int, tuple[Subscribed, str]]) -> None:
        """Adds one line of the first update for each of these subscriptions, by number, with its evidence."""
        self._few += [(0, gained, number, text) for number, (_, text) in lines.items()]
        self._subscribed |= {number: subscribed for number, (subscribed, _) in lines.items()}

    def finish(self, run: PublishRun) -> None:
        """Adds everything to a call, in order."""
        if self._updates is not None and (self._parts or len(self._few) > 16 * _FEW):
            self._finish_columns(self._updates, run)
        elif self._few:
            self._finish_few(run)

    def _finish_few(self, run: PublishRun) -> None:
        met: dict[tuple[int, int], int] = {}
        made: list[Notification] = []
        for update, gained, number, text in sorted(self._few, key=itemgetter(0, 1, 2)):
            subscription, options = self._subscribed[number]
            count = met[update, number] = met[update, number] + 1 if (update, number) in met else 1
            if count > options.limit:
                run.truncated += 1
                continue
            seq, at = None, None
            if self._updates is not None:
                seq, moment = str(self._updates.seq[update]), int(self._updates.at[update])
                at = None if moment == NO_TIME else EPOCH + timedelta(microseconds=moment)
            change, subscriber = ADD if gained else REMOVE, subscription.subscriber
            made += (Notification(subscription.id, subscriber, seq, "watch", change, at, text),)
        run.add(made)
        if self._updates is not None:
            run.verified += len(met)

    def _finish_columns(self, updates: UpdateColumns, run: PublishRun) -> None:
        single: Any = list(zip(*self._few, strict=True)) or [()] * 4
        update, gained, number = map(np.array, single[:3], _KINDS)
        parts = [*self._parts, ReportLines(update, gained, number, list(single[3]))]
        columns = [np.concatenate(column) for column in list(zip(*parts, strict=True))[:3]]
        rows = np.lexsort(columns[::-1])
        rows = rows[self._within_limits(columns[0][rows], columns[2][rows])]
        run.truncated += len(columns[0]) - len(rows)
        update, gained, number = (column[rows] for column in columns)
        kept = ReportLines(update, gained, number, [])
        subscriptions = tuple(self._subscribed[each].subscription for each in sorted(self._subscribed))
        run.verified += len(np.unique(columns[0] << 32 | columns[2]))
        evidence = tuple(part.evidence for part in parts)
        run.parts.append(ReportTable(kept, rows, evidence, updates, subscriptions))

    def _within_limits(self, update: Int64s, number: Int64s) -> Flags:
        """The lines within the limit that a subscription sets for one update: its first ones."""
        kept = np.ones(len(update), np.bool_)
        limits = {each: options.limit for each, (_, options) in self._subscribed.items()}
        if len(update) <= min(limits.values(), default=0):
            return kept
        order = np.lexsort((update, number))
        numbers, inverse = np.unique(number, return_inverse=True)
        most = np.array([min(limits[each], len(update)) for each in numbers.tolist()], np.int64)
        kept[order] = places(inverse[order] * (int(update[-1]) + 1) + update[order]) < most[inverse[order]]
        return kept


def places(sorted_values: Int64s) -> Int64s:
    """The place of each among its equals."""
    return np.arange(len(sorted_values)) - np.searchsorted(sorted_values, sorted_values)


@dataclass(slots=True)
class PublishRun:
    """One call of `publish` as it goes: notifications and refusals so far, and what they cost."""

    witness: bool
    accepted: int = 0
    begun: bool = False  # whether any update may have been applied
    candidates: int = 0
    verified: int = 0
    truncated: int = 0
    load_ns: int = 0
    parts: list[list[Notification] | ReportTable] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _started: int = field(default_factory=time.perf_counter_ns)

    def loaded(self) -> None:
        """Everything so far was reading; what follows is matching."""
        now = time.perf_counter_ns()
        self.load_ns, self._started = now - self._started, now

    def add(self, notifications: list[Notification]) -> None:
        if not self.parts or isinstance(self.parts[-1], ReportTable):
            self.parts.append([])
        self.parts[-1].extend(notifications)  # type: ignore[union-attr]

    def outcome(self, subscriptions: int) -> Notifications:
        parts, rejected = self.parts, Rejections(self.rejected)
        size = sum(map(len, parts))
        stats = Stats(
            subscriptions=subscriptions,
            publications=self.accepted,
            notifications=size,
            candidates=self.candidates,
            verified=self.verified,
            rejected=len(rejected),
            complete=self.truncated == 0,
            truncated=self.truncated,
            load_ns=self.load_ns,
            match_ns=time.perf_counter_ns() - self._started,
        )
        if not parts:
            return Notifications((), rejected, stats)
        if len(parts) == 1 and isinstance(parts[0], list):
            return Notifications(parts[0], rejected, stats)
        return Notifications.of_columns(lambda: _table(parts), size, rejected, stats)


def _table(parts: list[list[Notification] | ReportTable]) -> pa.Table:
    return pa.concat_tables(
        [part.make() if isinstance(part, ReportTable) else Notifications(part).table for part in parts if part]
    )
