"""Encoded events through a version of the predicate index: 64 at a time, `gather → examine → report`.

A search borrows room for its masks, which is empty again when it ends well, so that a search of one event does not pay
for making room as large as the index.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.board_layout import LANES, Board, Events, make_board
from heliograph.kernels.predicate_index_layout import CANDIDATES, Scratch
from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.syntax.predicate_form import ACCEPT
from heliograph.syntax.predicate_truth import Attributes, accepts
from heliograph.syntax.predicates import compile_predicates
from heliograph.targeting.encoding import Encoded
from heliograph.targeting.index_rows import Version

_BUCKETS = 1 << 13  # more than any axis has


_NOTHING_SLOW = np.zeros((0, 0), np.int8)
_NOTHING_SLOW.flags.writeable = False
_FEW_ROWS, _FEW_PAIRS = 200, 20_000


class Found(NamedTuple):
    """Event e matched the places from offsets[e] to offsets[e + 1]; pairs whose expression was evaluated."""

    offsets: Int64s
    numbers: Int32s
    candidates: int


def is_small(version: Version, events: int) -> bool:
    """Whether plain Python is done before the kernels are there: some 5 µs a pair, 100 µs to read a predicate again."""
    if "heliograph.kernels.predicate_index" in sys.modules:
        return not events or not version.live
    return version.live <= _FEW_ROWS and version.live * events <= _FEW_PAIRS


def search_plainly(version: Version, encoded: Encoded, chosen: Int64s) -> Found:
    """The same answers, by asking every predicate."""
    rows = version.live_rows()
    forms = [
        form for form in compile_predicates([version.texts[row] for row in rows]) if not isinstance(form, Exception)
    ]
    places = version.rows.place[rows]
    offsets, numbers = [0], list[Int32s]()
    for event in chosen.tolist():
        attributes = Attributes(encoded.tree(event))
        numbers.append(places[[accepts(form, attributes) for form in forms]])
        offsets.append(offsets[-1] + len(numbers[-1]))
    asked = sum(form is not ACCEPT for form in forms)
    return Found(np.array(offsets), np.concatenate([*numbers, places[:0]]), asked * len(chosen))


class Searcher:
    """Searches, each with room of its own. Any number of threads may search at once."""

    def __init__(self) -> None:
        self._rooms: list[Scratch] = []

    def search(self, version: Version, encoded: Encoded, chosen: Int64s) -> Found:
        """Which places' expressions are true of each of the chosen events."""
        scratch = self._room(version)
        scratch.counts[CANDIDATES] = 0
        events = Events(version.compiled.programs, encoded.cells, _slow(version, encoded, chosen))
        found = _search(version, events, chosen, scratch)
        self._rooms.append(scratch)
        return found

    def _room(self, version: Version) -> Scratch:
        groups = max((len(segment.expressions) for segment in version.segments), default=0)
        words, places = len(version.compiled.names.word_attributes), len(version.ids)
        try:
            room = self._rooms.pop()
        except IndexError:
            return _make_room(groups, words, places)
        if len(room.masks) >= groups and len(room.stamps) >= words and len(room.results) >= places:
            return room
        return _make_room(2 * groups, 2 * words, 2 * places)


def _slow(version: Version, encoded: Encoded, chosen: Int64s) -> npt.NDArray[np.int8]:
    """What Python decides, for the chosen events."""
    targeting, count = version.compiled.targeting, len(encoded.cells.offsets) - 1
    if not targeting.slow:
        return _NOTHING_SLOW
    truths = targeting.slow_truth([encoded.tree(event) for event in chosen.tolist()])
    if len(chosen) == count:
        return truths
    wider = np.full((len(truths), count), -1, np.int8)
    wider[:, chosen] = truths
    wider.flags.writeable = False
    return wider


def _make_room(groups: int, words: int, places: int) -> Scratch:
    return Scratch(
        np.zeros(groups + 1, np.uint64),
        np.zeros(groups // 64 + 1, np.uint64),
        np.zeros(_BUCKETS, np.uint64),
        np.zeros(_BUCKETS, np.uint64),
        np.zeros(words + 1, np.int64),
        np.zeros(places + 1, np.uint64),
        np.zeros(places // 64 + 1, np.uint64),
        np.zeros(LANES, np.int64),
        np.zeros(4, np.int64),
    )


def _search(version: Version, events: Events, chosen: Int64s, scratch: Scratch) -> Found:
    from heliograph.kernels.lanes import gather
    from heliograph.kernels.predicate_index import examine

    board = make_board(version.compiled.names, events.cells)
    out = _Output(len(chosen))
    for first in range(0, len(chosen), LANES):
        gather(events.cells, chosen[first : first + LANES], board)
        for segment in version.segments:
            examine(events, board, segment, version.rows, version.number, scratch)
        out.take(board, scratch, first)
    return Found(out.offsets, out.numbers[: out.offsets[-1]], int(scratch.counts[CANDIDATES]))


class _Output:
    """Offsets and numbers as they are found; the room for numbers doubles."""

    def __init__(self, events: int) -> None:
        self.offsets: Int64s = np.zeros(events + 1, np.int64)
        self.numbers: Int32s = np.empty(max(1024, 64 * min(events, 1 << 14)), np.int32)

    def take(self, board: Board, scratch: Scratch, first: int) -> None:
        from heliograph.kernels.predicate_index import report

        end = int(report(board, scratch, self.offsets[first:], self.numbers))
        if end > len(self.numbers):
            wider = np.empty(2 * end, np.int32)
            wider[: self.offsets[first]] = self.numbers[: self.offsets[first]]
            self.numbers = wider
            report(board, scratch, self.offsets[first:], self.numbers)
