"""The predicate index at work on one board: candidates from the index, their truth, and what each event matched.

The laws: a group is a candidate for every lane in which it holds; the order in which segments are examined changes
nothing. Where more than a share of all groups would be candidates, all of them are asked, in a way that pays only then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int16, int64

from heliograph.kernels import board_layout
from heliograph.kernels import predicate_index_layout as at
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.bitmaps import count_bits, first_bit
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.predicate_access import AXES_TYPE, bucket, text_key
from heliograph.kernels.predicate_index_layout import Rows, Scratch, Segment
from heliograph.kernels.predicate_presence import is_sparse, lay_presence
from heliograph.kernels.quick import JOB, accepted
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.targeting_layout import Int32s
from heliograph.kernels.targeting_types import (
    INT32_ROWS,
    INT32S,
    INT64S,
    NEW_INT64S,
    NEW_MASKS,
)
from heliograph.kernels.types import named
from heliograph.kernels.types import rows as rows_of

_ONE, _NONE = np.uint64(1), np.uint64(0)
_6, _63 = np.uint64(6), np.uint64(63)
_KIND = np.uint8(0x7F)
# A candidate costs a few times as much as a group among all, and more than a look at what a group requires.
_SHARE, _SPARSE_SHARE = 2, 16

SEGMENT: Any = named(Segment, *(INT32S,) * 7, AXES_TYPE, INT64S, INT32_ROWS, *(INT32S,) * 3, rows_of(int16), INT32S)
ROWS: Any = named(Rows, INT32S, INT32S, INT64S)
SCRATCH: Any = named(Scratch, *(NEW_MASKS,) * 4, NEW_INT64S, *(NEW_MASKS,) * 3, NEW_INT64S, NEW_INT64S)


@kernel((JOB, SEGMENT, ROWS, int64, SCRATCH))
def examine(job: Job, segment: Segment, rows: Rows, version: Any, scratch: Scratch) -> None:
    """Adds the places of this segment that match to the results, lane by lane."""
    sparse = is_sparse(job.board, segment)
    if not _seek(job.events, job.board, segment, sparse, scratch):
        _touch_many(job.board, segment, sparse, scratch)
    for word in range((len(segment.expressions) + 63) >> 6):
        bits = scratch.touched[word]
        scratch.touched[word] = _NONE
        while bits != _NONE:
            group = np.int64(word << 6) + first_bit(bits)
            bits &= bits - _ONE
            mask = scratch.masks[group]
            scratch.masks[group] = _NONE
            expression = segment.expressions[group]
            if expression != code.ALWAYS and _lives(segment, rows, version, group):
                scratch.counts[at.CANDIDATES] += count_bits(mask)
                mask = accepted(job, expression, mask)
            if mask != _NONE:
                _settle(segment, rows, version, group, mask, scratch)


@kernel(inline=True)
def _touch_many(board: Board, segment: Segment, sparse: Any, scratch: Scratch) -> None:
    """All groups, or those whose attributes some lane has."""
    groups = len(segment.expressions)
    if not sparse:
        scratch.masks[:groups] = _everything(board)
        scratch.touched[: groups >> 6] = ~_NONE
        if groups & 63:
            scratch.touched[groups >> 6] = ~_NONE >> np.uint64(64 - (groups & 63))
        return
    scratch.masks[:groups] = _NONE
    scratch.touched[: (groups + 63) >> 6] = _NONE
    lay_presence(board, scratch.present)
    present, required = scratch.present, segment.required
    for number in range(len(segment.required_groups)):
        mask = present[required[number, 0]] & present[required[number, 1]]
        mask &= present[required[number, 2]] & present[required[number, 3]]
        if mask != _NONE:
            _touch(scratch, segment.required_groups[number], mask)


@kernel(inline=True)
def _everything(board: Board) -> Any:
    return ~_NONE >> np.uint64(64 - board.head[board_layout.SIZE])


@kernel(inline=True)
def _seek(events: Events, board: Board, segment: Segment, sparse: Any, scratch: Scratch) -> Any:
    """Finds the candidates; False where they are so many that asking all groups by quick code costs less.

    Quick code says nothing of lists and odd integers: with these the candidates are looked at however many they are.
    """
    limit = np.int64(len(segment.expressions) // (_SPARSE_SHARE if sparse else _SHARE))
    if board.head[board_layout.ALL_PLAIN] == 0:
        limit = np.int64(1) << 62
    scratch.counts[at.FOUND] = len(segment.open)
    _seek_words(events, board, segment, limit, scratch)
    for row in range(board.head[board_layout.ROWS]):
        if scratch.counts[at.FOUND] > limit:
            return False
        _seek_intervals(events, board, segment, row, scratch)
    for group in segment.open:
        _touch(scratch, group, _everything(board))
    return scratch.counts[at.FOUND] <= limit


@kernel(inline=True)
def _lives(segment: Segment, rows: Rows, version: Any, group: Any) -> Any:
    """Whether a row of the group is there in this version."""
    for member in range(segment.offsets[group], segment.offsets[group + 1]):
        if rows.died[segment.members[member]] > version:
            return True
    return False


@kernel(inline=True)
def _settle(segment: Segment, rows: Rows, version: Any, group: Any, mask: Any, scratch: Scratch) -> None:
    for member in range(segment.offsets[group], segment.offsets[group + 1]):
        row = segment.members[member]
        if rows.died[row] > version:
            place = np.uint64(rows.place[row])
            scratch.results[place] = mask
            scratch.reported[place >> _6] |= _ONE << (place & _63)


@kernel(inline=True)
def _touch(scratch: Scratch, group: Any, mask: Any) -> None:
    scratch.masks[group] |= mask
    number = np.uint64(group)
    scratch.touched[number >> _6] |= _ONE << (number & _63)


@kernel(inline=True)
def _seek_words(events: Events, board: Board, segment: Segment, limit: Any, scratch: Scratch) -> None:
    """Each word on the board once, with all lanes that hold it, until there are too many candidates."""
    if len(segment.words) == 0:
        return
    cells = events.cells
    scratch.counts[at.STAMP] += 1
    for lane in range(board.head[board_layout.SIZE]):
        event = board.events[lane]
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            word = cells.word[cell]
            if cells.kind[cell] & _KIND != code.STRING or word < 0 or word >= len(scratch.stamps):
                continue
            if scratch.stamps[word] == scratch.counts[at.STAMP]:
                continue
            scratch.stamps[word] = scratch.counts[at.STAMP]
            place = _find(segment.words, word)
            if place < 0:
                continue
            if scratch.counts[at.FOUND] > limit:
                return
            mask = board.words[word]
            scratch.counts[at.FOUND] += segment.word_offsets[place + 1] - segment.word_offsets[place]
            for entry in range(segment.word_offsets[place], segment.word_offsets[place + 1]):
                _touch(scratch, segment.word_groups[entry], mask)


@kernel()
def _find(words: Int32s, word: Any) -> Any:
    """The place of a word among ascending ones, or -1."""
    begin, end = 0, len(words)
    while begin < end:
        middle = (begin + end) >> 1
        if words[middle] < word:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < len(words) and words[begin] == word else -1


@kernel(inline=True)
def _seek_intervals(events: Events, board: Board, segment: Segment, row: Any, scratch: Scratch) -> None:
    """The intervals on the axes of a board's row in which some lane has a value."""
    first = np.int64(board.rows[row, board_layout.ATTRIBUTE]) * at.AXES
    if first + at.AXES >= len(segment.run_offsets):
        return
    for axis in range(first, first + at.AXES):
        if segment.run_offsets[axis] == segment.run_offsets[axis + 1]:
            continue
        if not _spread(events, board, segment, row, axis, scratch):
            continue
        for run in range(segment.run_offsets[axis], segment.run_offsets[axis + 1]):
            low, high = segment.runs[run, at.LOWEST], segment.runs[run, at.HIGHEST]
            if scratch.up_to[high] & scratch.since[low] == _NONE:
                continue
            scratch.counts[at.FOUND] += segment.runs[run, at.END] - segment.runs[run, at.BEGIN]
            for entry in range(segment.runs[run, at.BEGIN], segment.runs[run, at.END]):
                mask = scratch.up_to[segment.highs[entry]] & scratch.since[segment.lows[entry]]
                if mask != _NONE:
                    _touch(scratch, segment.interval_groups[entry], mask)


@kernel(inline=True)
def _spread(events: Events, board: Board, segment: Segment, row: Any, axis: Any, scratch: Scratch) -> Any:
    """Lays a row's values out over the buckets of an axis: whether there are any.

    A lane has a value within buckets low to high only if it has one up to high and one since low; where it has one
    value only, that is the same thing.
    """
    begin, end = segment.axes.offsets[axis], segment.axes.offsets[axis + 1]
    buckets = end - begin + 1
    scratch.up_to[:buckets] = _NONE
    found = False
    for place in range(board.rows[row, board_layout.CELLS], board.rows[row, board_layout.CELLS_END]):
        cell = board.cells[place]
        kind = events.cells.kind[cell] & _KIND
        if axis % at.AXES == at.NUMBERS:
            if kind != code.NUMBER and kind != code.ODD:
                continue
            value = events.cells.number[cell]
        elif axis % at.AXES == at.TEXTS:
            if kind != code.STRING:
                continue
            text = events.cells.begin[cell]
            value = text_key(events.cells.text, text, text + events.cells.size[cell], 0)
        else:
            value = 1.0 if kind == code.TRUE else (2.0 if kind == code.FALSE else 0.0)
        found = True
        scratch.up_to[bucket(segment.axes.edges, begin, end, value)] |= _ONE << np.uint64(board.lanes[place])
    if found:
        _accumulate(scratch, buckets)
    return found


@kernel(inline=True)
def _accumulate(scratch: Scratch, buckets: Any) -> None:
    lanes = _NONE
    for number in range(buckets - 1, -1, -1):
        lanes |= scratch.up_to[number]
        scratch.since[number] = lanes
    lanes = _NONE
    for number in range(buckets):
        lanes |= scratch.up_to[number]
        scratch.up_to[number] = lanes
