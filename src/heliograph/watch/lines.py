"""What a batch of updates tells, as columns: put in the order of the contract, guarded, and made into a table when it
is wanted.

The law: it is the table of what `reports.issue` would make update by update. Lines of one update, change and
subscription come in the order in which they were added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from heliograph.watch.ordering import places
from heliograph.watch.sequence import Flags
from heliograph.watch.updates import ADD, REMOVE

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
