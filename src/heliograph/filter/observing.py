"""What publications tell a plan: which mergers said yes although none of their members matched, and what is published.

The laws: an answer of a merger is counted as false exactly if no subscription below it is among the matches; of a large
part some publications stand for all, since asking for the root of every match would take as long as matching. Nothing
here changes a notification: a merger that errs too often is decomposed between two versions.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heliograph.filter.reach import met
from heliograph.index.search import Batch, Hits
from heliograph.kernels.filter_layout import NUMBER_BITS, Int64s
from heliograph.partition.placement import MERGERS
from heliograph.partition.plan import Plan
from heliograph.publications import Publications, Triples

if TYPE_CHECKING:
    from heliograph.partition.merging import Merging

_LOG = logging.getLogger("heliograph")
_COUNTED = 16  # publications of a part whose answers are counted
_FALSE = 32  # false answers after which mergers are looked at again
_FIRST, _EVERY, _LEARNED = 256, 64, 32  # publications learned from: the first ones, then one of so many; of a part

_NUMBER = (1 << NUMBER_BITS) - 1


class Observer:
    """Counts for the mergers of one plan, and learns for them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._false = self._seen = 0
        self._failed = False

    def observe(self, part: Batch, first: int, front: Sequence[Hits], keys: Int64s) -> None:
        """A part whose first publication has this number, what its front found, and the keys of all its matches."""
        arrangement = None if self._failed else self._plan.merging()
        if arrangement is None:
            return
        try:
            false = self._count(arrangement, front, keys)
            with self._lock:
                self._false += false
            self._learn(arrangement, part.publications, first, keys)
            if self._false >= _FALSE:
                self._review(arrangement)
        except MemoryError:
            raise
        except Exception as error:  # it changes no notification, so neither does its failure
            self._failed = True
            _LOG.warning("mergers are not reviewed any more: %s, %s", type(error).__name__, error, exc_info=error)

    def _count(self, arrangement: Merging, front: Sequence[Hits], keys: Int64s) -> int:
        """Tells each merger how often it was right, and how often not; returns how often not."""
        seen: Counter[tuple[int, bool]] = Counter()
        answers = _answers(front)
        for row in _some(np.unique(answers >> NUMBER_BITS)):
            roots = self._plan.roots_of(_numbers(keys, row))
            seen.update((node, node in roots) for node in _numbers(answers, row))
        for (node, hit), times in seen.items():
            arrangement.observe(node, hit, times)
        return sum(times for (_, hit), times in seen.items() if not hit)

    def _learn(self, arrangement: Merging, publications: Publications, first: int, keys: Int64s) -> None:
        """Shows the arrangement some of the publications, unless others write."""
        count = len(publications.ids)
        with self._lock:
            begin, self._seen = self._seen, self._seen + count
        wanted = min(count, _LEARNED) if begin < _FIRST else count // _EVERY
        if not wanted:
            return
        matched = np.bincount((keys >> NUMBER_BITS) - first, minlength=count)[:wanted].tolist()
        last = int(publications.offsets[wanted])
        triples = Triples(*(column[:last] for column in publications.triples))
        some = publications._replace(
            ids=publications.ids[:wanted], offsets=publications.offsets[: wanted + 1], triples=triples
        )
        with self._plan.arranging() as follow:
            if follow is not None:
                arrangement.learn(some, matched)

    def _review(self, arrangement: Merging) -> None:
        with self._plan.arranging() as follow:
            if follow is not None:
                with self._lock:
                    self._false = 0
                follow(arrangement.review())


def _answers(front: Sequence[Hits]) -> Int64s:
    """Keys of the publications and the mergers that the front found, each once."""
    keys = [np.zeros(0, np.int64)]
    for each in front:
        rows, numbers = met(each)
        mergers = numbers >= MERGERS
        keys.append((rows[mergers].astype(np.int64) << NUMBER_BITS) | (numbers[mergers] - MERGERS))
    return np.unique(np.concatenate(keys))


def _numbers(keys: Int64s, row: int) -> list[int]:
    """The numbers of one publication among ascending keys."""
    first, last = np.searchsorted(keys, [row << NUMBER_BITS, (row + 1) << NUMBER_BITS])
    numbers: list[int] = (keys[first:last] & _NUMBER).tolist()
    return numbers


def _some(rows: Int64s) -> list[int]:
    """At most so many of these, evenly."""
    step = -(-len(rows) // _COUNTED)
    chosen: list[int] = rows[::step].tolist() if step else []
    return chosen
