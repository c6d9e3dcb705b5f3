"""What a batch of updates tells, as columns: put in the order of the contract, guarded, and made into a table when it
is wanted.

The law: it is the table of what `reports.issue` would make update by update. Lines of one update, change and
subscription come in the order in which they were added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.kernels.evolution_layout import NO_TIME, Int64s
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.subscriptions import Subscription
from heliograph.watch.board import Interest
from heliograph.watch.encoding import Encoded
from heliograph.watch.evidence import Texts, evidence_text
from heliograph.watch.modes import Turn
from heliograph.watch.sequence import Flags
from heliograph.watch.updates import ADD, REMOVE

_CHANGES = pa.array([REMOVE, ADD])


class Part(NamedTuple):
    """Lines: the row of the update, whether it gained, the number of the subscription, and the evidence."""

    update: Int64s
    gained: Flags
    number: Int64s
    evidence: Texts

    def take(self, rows: Int64s) -> Part:
        return Part(self.update[rows], self.gained[rows], self.number[rows], self.evidence.take(rows))


class Told(NamedTuple):
    """Lines in order, of which some may have been cut, and those whom they tell."""

    lines: Part
    truncated: int
    pairs: int  # of an update and a subscription, before anything was cut
    updates: Encoded
    subscriptions: tuple[Subscription, ...]  # by number

    @property
    def size(self) -> int:
        return len(self.lines.update)

    def table(self) -> pa.Table:
        update, gained, number, evidence = self.lines
        numbers = np.array([each.number for each in self.subscriptions], np.int64)
        place = np.searchsorted(numbers, number)
        at = self.updates.at[update]
        columns: list[Any] = [
            pa.array([each.id for each in self.subscriptions], pa.string()).take(place),
            pa.array([each.subscriber for each in self.subscriptions], pa.string()).take(place),
            pa.array(self.updates.seq[update]).cast(pa.string()),
            pa.repeat("watch", len(update)),
            _CHANGES.take(gained.astype(np.int8)),
            pa.array(at, pa.int64(), mask=at == NO_TIME).cast(pa.timestamp("us", tz="UTC")),
            evidence,
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
        lines = _ordered(_joined([*self._parts, _part(self._single)]))
        kept = np.flatnonzero(self._kept(lines))
        cut = len(lines.update) - len(kept)
        subscriptions = tuple(self._interests[number].subscription for number in sorted(self._interests))
        return Told(lines.take(kept) if cut else lines, cut, pairs(lines), updates, subscriptions)

    def _kept(self, lines: Part) -> Flags:
        """The lines within the limit that a subscription sets for one update: its first ones."""
        limits = {number: each.options.limit for number, each in self._interests.items()}
        kept = np.ones(len(lines.update), np.bool_)
        for number, limit in limits.items():
            if limit is not None:
                rows = np.flatnonzero(lines.number == number)
                kept[rows] = _places(lines.update[rows]) < limit
        return kept


def pairs(lines: Part) -> int:
    """How many pairs of an update and a subscription are told."""
    return len(np.unique(np.column_stack((lines.update, lines.number)), axis=0)) if len(lines.update) else 0


def _part(rows: list[tuple[int, bool, int, str | None]]) -> Part:
    update, gained, number, evidence = zip(*rows, strict=True) if rows else ((), (), (), ())
    texts = pa.array(evidence, pa.string())
    return Part(np.array(update, np.int64), np.array(gained, np.bool_), np.array(number, np.int64), texts)


def _joined(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    update, gained, number, evidence = zip(*parts, strict=True)
    texts = pa.concat_arrays(evidence)
    return Part(np.concatenate(update), np.concatenate(gained), np.concatenate(number), texts)


def _ordered(lines: Part) -> Part:
    order = np.lexsort((lines.number, lines.gained, lines.update))
    return lines if (order[1:] > order[:-1]).all() else lines.take(order)


def _places(sorted_values: Int64s) -> Int64s:
    """The place of each among its equals."""
    places = np.arange(len(sorted_values))
    return places - np.searchsorted(sorted_values, sorted_values)
