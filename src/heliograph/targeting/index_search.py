"""Encoded events through a version of the predicate index: 64 at a time, `gather → examine → report`."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.board_layout import LANES, Board
from heliograph.kernels.cache import announce
from heliograph.kernels.predicate_index_layout import CANDIDATES, Scratch
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.targeting_layout import NEVER, Int32s, Int64s
from heliograph.syntax.predicate_form import ACCEPT, Predicate
from heliograph.syntax.predicate_truth import Attributes, accepts
from heliograph.syntax.predicates import compile_predicates
from heliograph.targeting.encoding import Encoded
from heliograph.targeting.index_rows import Version
from heliograph.targeting.index_source import Sizes
from heliograph.targeting.room import NOTHING_SLOW
from heliograph.targeting.slow import TargetingFailed

_FEW_ROWS, _FEW_PAIRS = 200, 20_000


class Found(NamedTuple):
    """Event e matched the places from offsets[e] to offsets[e + 1]; pairs whose expression was evaluated."""

    offsets: Int64s
    numbers: Int32s
    candidates: int


def search(version: Version, encoded: Encoded, chosen: Int64s) -> Found:
    """Which places' expressions are true of each of the chosen events."""
    return (_search_plainly if _is_small(version, len(chosen)) else _search)(version, encoded, chosen)


# --- in plain Python --------------------------------------------------------------------------------------------


def _is_small(version: Version, events: int) -> bool:
    """Whether plain Python is done before the kernels are there: some 5 µs a pair, 100 µs to read a predicate again."""
    if "heliograph.kernels.predicate_index" in sys.modules:
        return not events or not version.live
    return version.live <= _FEW_ROWS and version.live * events <= _FEW_PAIRS


def _search_plainly(version: Version, encoded: Encoded, chosen: Int64s) -> Found:
    """The same answers, by asking every predicate."""
    rows = version.live_rows()
    rows = rows[version.rows.expression[rows] != NEVER]  # also those that were put aside
    compiled = compile_predicates([version.texts[row] for row in rows])
    forms = [form for form in compiled if not isinstance(form, Exception)]
    places, expressions = version.rows.place[rows], version.rows.expression[rows].tolist()
    numbers = []
    for event in chosen.tolist():
        attributes = Attributes(encoded.tree(event))
        asked = zip(forms, expressions, strict=True)
        numbers.append(places[np.array([_accepts(form, attributes, number) for form, number in asked], bool)])
    count = sum(form is not ACCEPT for form in forms)
    offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
    return Found(offsets, np.concatenate([*numbers, places[:0]]), count * len(chosen))


def _accepts(form: Predicate, attributes: Attributes, expression: int) -> bool:
    try:
        return accepts(form, attributes)
    except MemoryError:
        raise
    except Exception as error:
        raise TargetingFailed({expression: error}) from error


# --- by kernels -------------------------------------------------------------------------------------------------


def _search(version: Version, encoded: Encoded, chosen: Int64s) -> Found:
    source = version.writing.source
    borrowed = source.borrow(_sizes(version))
    borrowed.scratch.counts[CANDIDATES] = 0
    compiled = source.targeting.compiled(version.writing.programs)
    job = borrowed.room.job(source.targeting, compiled, encoded.cells, _slow(version, encoded, chosen))
    found = _examine(version, job, chosen, borrowed.scratch)
    source.give_back(borrowed)
    return found


def _sizes(version: Version) -> Sizes:
    groups = max((len(segment.expressions) for segment in version.segments), default=0)
    return Sizes(groups, len(version.writing.names.word_attributes), len(version.ids.named), version.writing.attributes)


def _slow(version: Version, encoded: Encoded, chosen: Int64s) -> npt.NDArray[np.int8]:
    """What Python decides, for the chosen events."""
    targeting, count = version.writing.source.targeting, len(encoded.cells.offsets) - 1
    if not targeting.slow:
        return NOTHING_SLOW
    truths = targeting.slow_truth([encoded.tree(event) for event in chosen.tolist()])
    if len(chosen) == count:
        return truths
    wider = np.full((len(truths), count), -1, np.int8)
    wider[:, chosen] = truths
    wider.flags.writeable = False
    return wider


def _examine(version: Version, job: Job, chosen: Int64s, scratch: Scratch) -> Found:
    announce("predicate_index.examine")
    from heliograph.kernels.lanes import gather
    from heliograph.kernels.predicate_index import examine

    out = _Output(len(chosen))
    for first in range(0, len(chosen), LANES):
        gather(job.events.cells, chosen[first : first + LANES], job.board)
        for segment in version.segments:
            examine(job, segment, version.rows, version.number, scratch)
        out.take(job.board, scratch, first)
    return Found(out.offsets, out.numbers[: out.offsets[-1]], int(scratch.counts[CANDIDATES]))


class _Output:
    """Offsets and numbers as they are found; the room for numbers doubles."""

    def __init__(self, events: int) -> None:
        self.offsets: Int64s = np.zeros(events + 1, np.int64)
        self.numbers: Int32s = np.empty(max(1024, 64 * min(events, 1 << 14)), np.int32)

    def take(self, board: Board, scratch: Scratch, first: int) -> None:
        from heliograph.kernels.predicate_report import report

        end = int(report(board, scratch, self.offsets[first:], self.numbers))
        if end > len(self.numbers):
            wider = np.empty(2 * end, np.int32)
            wider[: self.offsets[first]] = self.numbers[: self.offsets[first]]
            self.numbers = wider
            report(board, scratch, self.offsets[first:], self.numbers)
