"""Segments of the predicate index: what is known of some rows, in flat arrays that never change.

The law: a segment of rows gives the candidates that any division of the same rows into segments would give, or fewer
false ones. The newest rows are a segment that is not indexed: all of it is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels import predicate_index_layout as at
from heliograph.kernels.predicate_index_layout import Axes, Rows, Segment
from heliograph.kernels.targeting_layout import Int32s, Programs
from heliograph.targeting.access import Access, Known, choose_access

_MANY_ATTRIBUTES = 32

Ints = npt.NDArray[np.integer[Any]]


def build_segment(programs: Programs, known: Known, rows: Rows, chosen: Int32s) -> Segment:
    """The segment of the chosen rows; those that share an expression are one group."""
    expressions, group = np.unique(rows.expression[chosen], return_inverse=True)
    fixed = _fixed(expressions, np.int32)
    access = choose_access(programs, fixed, known)
    members = chosen[np.argsort(group, kind="stable")]
    offsets = _offsets(np.bincount(group, minlength=len(expressions)))
    groups = fixed, _fixed(offsets, np.int32), _fixed(members, np.int32), _opens(access)
    parts: list[Any] = [*groups, *_words(access), *_intervals(access), *_required(programs, fixed, known)]
    return Segment(*parts)


def _opens(access: Access) -> Int32s:
    entries = access.entries
    opens: Int32s = _fixed(entries[entries[:, at.LOW] == at.OPEN, at.GROUP], np.int32)
    return opens


def _words(access: Access) -> tuple[Int32s, Int32s, Int32s]:
    entries = access.entries[access.entries[:, at.LOW] == at.WORD]
    order = np.argsort(entries[:, at.KEY], kind="stable")
    words, counts = np.unique(entries[:, at.KEY], return_counts=True)
    groups = entries[order, at.GROUP]
    return _fixed(words, np.int32), _fixed(_offsets(counts), np.int32), _fixed(groups, np.int32)


def _intervals(access: Access) -> tuple[Any, ...]:
    """Intervals by axis, then by width, then from left to right, so that those of a run lie near each other."""
    entries = access.entries[access.entries[:, at.LOW] >= 0]
    width = np.maximum(entries[:, at.HIGH] - entries[:, at.LOW], 0)
    doublings = np.frexp(width)[1]
    sorted_ = entries[np.lexsort((entries[:, at.LOW], doublings, entries[:, at.KEY]))]
    run_offsets, runs = _runs(sorted_, len(access.axes.offsets) - 1)
    columns = (_fixed(sorted_[:, column], np.int32) for column in (at.LOW, at.HIGH, at.GROUP))
    return access.axes, run_offsets, runs, *columns


def _required(programs: Programs, expressions: Int32s, known: Known) -> tuple[Any, Any]:
    """The attributes that each expression requires; nothing where there are so few that events may well have them."""
    from heliograph.kernels.predicate_presence import require

    columns = at.ALTERNATIVE + 1
    if known.attributes < _MANY_ATTRIBUTES:
        return _fixed(np.zeros((0, at.ALTERNATIVE)), np.int16), _fixed([], np.int32)
    found = np.empty((int(require(programs, expressions, np.empty((0, columns), np.int32))), columns), np.int32)
    require(programs, expressions, found)
    return _fixed(found[:, : at.ALTERNATIVE], np.int16), _fixed(found[:, at.ALTERNATIVE], np.int32)


def _runs(entries: Ints, axes: int) -> tuple[Any, Int32s]:
    """Up to RUN_SIZE intervals of an axis each, with the hull of their buckets."""
    counts = np.bincount(entries[:, at.KEY], minlength=axes)
    per_axis = -(-counts // at.RUN_SIZE)
    run_offsets = _offsets(per_axis)
    number = np.arange(run_offsets[-1]) - np.repeat(run_offsets[:-1], per_axis)
    begin = np.repeat(_offsets(counts)[:-1], per_axis) + number * at.RUN_SIZE
    end = np.append(begin[1:], len(entries))[: len(begin)]
    runs = np.zeros((len(begin), 4), np.int32)
    runs[:, at.BEGIN], runs[:, at.END] = begin, end
    if len(begin):
        runs[:, at.LOWEST] = np.minimum.reduceat(entries[:, at.LOW], begin)
        runs[:, at.HIGHEST] = np.maximum.reduceat(entries[:, at.HIGH], begin)
    return _fixed(run_offsets, np.int64), _fixed(runs, np.int32)


def tail_segment(rows: Rows, begin: int, numbers: Int32s) -> Segment:
    """The rows from `begin` on, each a group of its own that is always asked; `numbers` counts from 0 up."""
    count = len(rows.expression) - begin
    none, no_edges = numbers[:0], Axes(_fixed([0], np.int64), _fixed([], np.float64))
    return Segment(
        rows.expression[begin:],
        numbers[: count + 1],
        numbers[begin : begin + count],
        numbers[:count],
        none,
        numbers[:1],
        none,
        no_edges,
        _fixed([0], np.int64),
        _fixed(np.zeros((0, 4)), np.int32),
        none,
        none,
        none,
        _fixed(np.zeros((0, at.ALTERNATIVE)), np.int16),
        none,
    )


def _offsets(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts)))


def _fixed(values: Any, dtype: Any) -> Any:
    """As a contiguous array of this type that cannot be written to."""
    array = np.ascontiguousarray(values, dtype).view()
    array.flags.writeable = False
    return array
