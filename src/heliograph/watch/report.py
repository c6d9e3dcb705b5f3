"""Reports made into notifications: their order, their columns, their guard, and one call of `publish` as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.model import NOTIFICATIONS_SCHEMA, Notification, Notifications, Rejected, Rejections, Stats
from heliograph.subscriptions import Subscription
from heliograph.watch.evidence import Book, Texts, evidence_text
from heliograph.watch.layout import NO_TIME, W_PHASE, W_SIGN, W_UPDATE, Int32s, Int64s
from heliograph.watch.modes import Match, Turn
from heliograph.watch.solutions import Changes
from heliograph.watch.state import Fail, Interest, Report, raised
from heliograph.watch.updates import ADD, REMOVE, Encoded, Flags, Update

# ----------------------------------------------------------------------------------------------------------------------
# Events and solutions put in order.
#
# Events are rows as kernels write them (`network_layout`); solutions are rows of term ids.
# ----------------------------------------------------------------------------------------------------------------------


def sort_events(events: Int64s, columns: tuple[int, ...]) -> Int64s:
    """By these columns, the last of them first."""
    return events[np.lexsort([events[:, column] for column in columns])]


def spans(events: Int64s, columns: tuple[int, ...]) -> Iterator[slice]:
    """Runs of events that agree in these columns."""
    if len(events):
        keys = events[:, columns]
        cuts = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
        yield from (slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(events)]))


def net(events: Int64s, terms: Int32s) -> tuple[Int64s, Int32s]:
    """Events and the solutions that they list, without those that came and went within a phase."""
    phases = 2 * events[:, W_UPDATE] + events[:, W_PHASE]
    mixed = np.isin(phases, phases[events[:, W_SIGN] > 0]) & np.isin(phases, phases[events[:, W_SIGN] < 0])
    if not mixed.any():
        return events, terms
    keys = np.column_stack((phases, terms))
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(inverse.ravel(), weights=events[:, W_SIGN])
    kept = np.sort(first[total != 0])
    settled = events[kept]
    settled[:, W_SIGN] = total[inverse.ravel()[kept]]
    return settled, terms[kept]


def in_order(changes: Changes, shown: int, book: Book) -> Int64s:
    """By update and change, then by what is shown; only where there are several is it looked at."""
    key, terms = 2 * changes.update + changes.gained, changes.terms
    _, inverse, sizes = np.unique(key, return_inverse=True, return_counts=True)
    several = sizes[inverse] > 1
    if not several.any():
        return np.arange(len(key))
    ranks = np.zeros(terms.shape, np.int64)
    ranks[several] = book.ranks(terms[several])
    return np.lexsort([*ranks[:, shown:].T[::-1], changes.phase, *ranks[:, :shown].T[::-1], key])


def places(sorted_values: Int64s) -> Int64s:
    """The place of each among its equals."""
    numbers = np.arange(len(sorted_values))
    return numbers - np.searchsorted(sorted_values, sorted_values)


# ----------------------------------------------------------------------------------------------------------------------
# Reports made into notifications: their order, their evidence, and the guard on their number.
#
# The order within an update: what was lost before what was gained, then by order of subscribing, then by bindings.
# ----------------------------------------------------------------------------------------------------------------------


class Issue(NamedTuple):
    """The notifications of one update, and how many a guard cut off."""

    notifications: tuple[Notification, ...] = ()
    truncated: int = 0


def issue(reports: Iterable[Report], update: Update | None, witness: bool, fail: Fail = raised) -> Issue:
    """The notifications of an update, or of what stood at first where there is none; `fail` hears whose failed."""
    lost, gained, truncated = list[Notification](), list[Notification](), 0
    for report in reports:
        try:
            kept, cut = guard(report)
            lines = [
                list(_lines(kept, change, matches, update, witness))
                for change, matches in zip((REMOVE, ADD), kept.turn, strict=True)
            ]
        except Exception as error:
            fail(report.watched.subscription, error)
        else:
            lost += lines[0]
            gained += lines[1]
            truncated += cut
    return Issue((*lost, *gained), truncated)


def guard(report: Report) -> tuple[Report, int]:
    """At most `max_matches_per_update` notifications of a report, the first in order, and the number cut."""
    limit = report.watched.options.limit
    lost, gained = report.turn
    if len(lost) + len(gained) <= limit:
        return report, 0
    kept = Turn(lost[:limit], gained[: max(0, limit - len(lost))])
    return report._replace(turn=kept), len(lost) + len(gained) - limit


def _lines(
    report: Report, change: str, matches: Iterable[Match], update: Update | None, witness: bool
) -> Iterator[Notification]:
    subscription = report.watched.subscription
    seq, at = (None, None) if update is None else (str(update.seq), update.time)
    for match in matches:
        shown = evidence_text(subscription.query, match, witness)
        yield Notification(subscription.id, subscription.subscriber, seq, "watch", change, at, shown)


# ----------------------------------------------------------------------------------------------------------------------
# What a batch of updates tells, as columns: put in the order of the contract, guarded, and made into a table when it
# is wanted.
#
# The law: it is the table of what `reports.issue` would make update by update. Lines of one update, change and
# subscription come in the order in which they were added.
# ----------------------------------------------------------------------------------------------------------------------

_CHANGES = pa.array([REMOVE, ADD])


class Part(NamedTuple):
    """Lines: the row of the update, whether it gained, the number of the subscription, and the evidence.

    Evidence may be made when the table is wanted: ids of terms never change their meaning.
    """

    update: Int64s
    gained: Flags
    number: Int64s
    evidence: Texts | Callable[[], Texts]


class Told(NamedTuple):
    """Lines in order, of which some may have been cut, and those whom they tell."""

    update: Int64s
    gained: Flags
    number: Int64s
    rows: Int64s  # of `evidence`, one after the other
    evidence: tuple[Texts | Callable[[], Texts], ...]
    truncated: int
    pairs: int  # of an update and a subscription, before anything was cut
    updates: Encoded
    subscriptions: tuple[Subscription, ...]  # by number

    @property
    def size(self) -> int:
        return len(self.update)

    def table(self) -> pa.Table:
        numbers = np.array([each.number for each in self.subscriptions], np.int64)
        place = np.searchsorted(numbers, self.number)
        at = self.updates.at[self.update]
        columns: list[Any] = [
            pa.array([each.id for each in self.subscriptions], pa.string()).take(place),
            pa.array([each.subscriber for each in self.subscriptions], pa.string()).take(place),
            pa.array(self.updates.seq[self.update]).cast(pa.string()),
            pa.repeat("watch", self.size),
            _CHANGES.take(self.gained.astype(np.int8)),
            pa.array(at, pa.int64(), mask=at == NO_TIME).cast(pa.timestamp("us", tz="UTC")),
            pa.concat_arrays([each() if callable(each) else each for each in self.evidence]).take(self.rows),
        ]
        return pa.Table.from_arrays(columns, schema=NOTIFICATIONS_SCHEMA)


class Lines:
    """Collects what is told of a batch, in any order of updates and subscriptions."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._interests: dict[int, Interest] = {}
        self._single: list[tuple[int, bool, int, str | None]] = []

    @property
    def is_empty(self) -> bool:
        return not self._parts and not self._single

    def add(self, part: Part, interests: Iterable[Interest]) -> None:
        """Adds lines that tell these, or some of these."""
        if len(part.update):
            self._parts.append(part)
            self._interests.update((each.subscription.number, each) for each in interests)

    def add_turn(self, update: int, interest: Interest, turn: Turn, witness: bool) -> None:
        """Adds what one update changes for one subscription."""
        query, number = interest.subscription.query, interest.subscription.number
        self._interests[number] = interest
        for gained, matches in enumerate(turn):
            shown = (evidence_text(query, match, witness) for match in matches)
            self._single += [(update, bool(gained), number, text) for text in shown]

    def told(self, updates: Encoded) -> Told:
        """Everything, in order: by update, what is lost before what is gained, then by subscription."""
        parts = [*self._parts, _part(self._single)]
        update, gained, number = (np.concatenate(columns) for columns in list(zip(*parts, strict=True))[:3])
        rows = np.lexsort((number, gained, update))
        kept = rows[self._within_limits(update[rows], number[rows])]
        return Told(
            update[kept],
            gained[kept],
            number[kept],
            kept,
            tuple(part.evidence for part in parts),
            len(rows) - len(kept),
            _pairs(update, number),
            updates,
            tuple(self._interests[each].subscription for each in sorted(self._interests)),
        )

    def _within_limits(self, update: Int64s, number: Int64s) -> Flags:
        """The lines within the limit that a subscription sets for one update: its first ones."""
        kept = np.ones(len(update), np.bool_)
        limits = {each: interest.options.limit for each, interest in self._interests.items()}
        if len(update) <= min(limits.values(), default=0):
            return kept
        order = np.lexsort((update, number))
        numbers, inverse = np.unique(number, return_inverse=True)
        most = np.array([min(limits[each], len(update)) for each in numbers.tolist()], np.int64)
        kept[order] = places(inverse[order] * (int(update[-1]) + 1) + update[order]) < most[inverse[order]]
        return kept


def _pairs(update: Int64s, number: Int64s) -> int:
    """How many pairs of an update and a subscription there are."""
    return len(np.unique(update << 32 | number))


def _part(rows: list[tuple[int, bool, int, str | None]]) -> Part:
    update, gained, number, evidence = zip(*rows, strict=True) if rows else ((), (), (), ())
    texts = pa.array(evidence, pa.string())
    return Part(np.array(update, np.int64), np.array(gained, np.bool_), np.array(number, np.int64), texts)


# ----------------------------------------------------------------------------------------------------------------------
# One call of `publish` as it goes: notifications and refusals so far, and what they cost.
#
# Notifications come one by one or as columns, whose table is made when it is wanted.
# ----------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    witness: bool
    accepted: int = 0
    begun: bool = False  # whether any update may have been applied
    candidates: int = 0
    verified: int = 0
    truncated: int = 0
    load_ns: int = 0
    parts: list[list[Notification] | Told] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _started: int = field(default_factory=time.perf_counter_ns)

    def loaded(self) -> None:
        """Everything so far was reading; what follows is matching."""
        now = time.perf_counter_ns()
        self.load_ns, self._started = now - self._started, now

    def take(self, issue: Issue) -> None:
        if not self.parts or isinstance(self.parts[-1], Told):
            self.parts.append([])
        latest = self.parts[-1]
        assert isinstance(latest, list)
        latest.extend(issue.notifications)
        self.truncated += issue.truncated

    def tell(self, told: Told) -> None:
        if told.size:
            self.parts.append(told)
        self.truncated += told.truncated
        self.verified += told.pairs

    def outcome(self, subscriptions: int) -> Notifications:
        size = sum(part.size if isinstance(part, Told) else len(part) for part in self.parts)
        stats = Stats(
            subscriptions=subscriptions,
            publications=self.accepted,
            notifications=size,
            candidates=self.candidates,
            verified=self.verified,
            rejected=len(self.rejected),
            complete=self.truncated == 0,
            truncated=self.truncated,
            load_ns=self.load_ns,
            match_ns=time.perf_counter_ns() - self._started,
        )
        parts, rejected = tuple(self.parts), Rejections(self.rejected)
        if any(isinstance(part, Told) for part in parts):
            return Notifications.of_columns(lambda: _table(parts), size, rejected, stats)
        return Notifications((each for part in parts if isinstance(part, list) for each in part), rejected, stats)


def _table(parts: tuple[list[Notification] | Told, ...]) -> pa.Table:
    return pa.concat_tables(
        [part.table() if isinstance(part, Told) else Notifications(part).table for part in parts if part]
    )
