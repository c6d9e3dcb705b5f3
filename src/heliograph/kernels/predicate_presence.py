"""Which attributes an event must have for an expression to be true, and which lanes of a board have them.

The law: an expression that is true has all attributes of one of its alternatives, that is of one member of the OR at
its top, or of itself. Where events define few of many attributes this rules most expressions out at the cost of a few
loads from a small table. All alternatives have the same form, because a loop over varying numbers of attributes takes
ten times as long: a processor cannot tell when it ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels import board_layout
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.bitmaps import count_bits
from heliograph.kernels.board_layout import Board
from heliograph.kernels.cache import kernel
from heliograph.kernels.predicate_access import axis_of
from heliograph.kernels.predicate_index_layout import ALTERNATIVE, AXES, LARGEST_REQUIRED, NOTHING, Segment
from heliograph.kernels.targeting_layout import Int32s, Masks, Programs
from heliograph.kernels.targeting_types import INT32S, NEW_INT32_ROWS, PROGRAMS

_NONE = np.uint64(0)
_OP = np.int32(0x7F)
_SPARSE = 2  # events that define less than one in so many attributes are worth looking at what is required


@kernel((PROGRAMS, INT32S, NEW_INT32_ROWS))
def require(programs: Programs, expressions: Int32s, out: Int32s) -> Any:
    """The alternatives of each expression: up to four attributes plus one, and the group; as many as there is room for.

    Zero stands for an attribute that every event has. Returns how many there are.
    """
    count = np.int64(0)
    for group in range(len(expressions)):
        place, end = programs.starts[expressions[group]], programs.starts[expressions[group] + 1]
        if _next(programs, place, end) < end or place == end or programs.code[place] & _OP != code.OR:
            count = _alternative(programs, place, end, group, out, count)
            continue
        place += 2
        while place < end:
            after = _next(programs, place, end)
            count = _alternative(programs, place, after, group, out, count)
            place = after
    return count


@kernel()
def _next(programs: Programs, place: Any, end: Any) -> Any:
    """The member after the one at `place`, if that is before the end."""
    if place == end:
        return end
    return place + 2 + (programs.code[place + 1] if programs.code[place] & _OP <= code.OR else 0)


@kernel()
def _alternative(programs: Programs, begin: Any, end: Any, group: Any, out: Int32s, count: Any) -> Any:
    """The attributes that the members of an AND require, or a literal alone; a group among them is looked past."""
    if count >= len(out):
        return count + 1
    out[count, :] = 0
    out[count, ALTERNATIVE] = group
    opened = begin < end and programs.code[begin] & _OP == code.AND and _next(programs, begin, end) == end
    known, place = 0, begin + 2 if opened else begin
    while place < end and known < ALTERNATIVE:
        word = programs.code[place]
        attribute = word >> np.int32(code.ATTRIBUTE_SHIFT)
        if word & _OP <= code.OR:
            place += programs.code[place + 1]
        elif axis_of(word) != NOTHING and attribute < LARGEST_REQUIRED:
            out[count, known] = attribute + 1
            known += 1
        place += 2
    return count + 1


@kernel(inline=True)
def is_sparse(board: Board, segment: Segment) -> Any:
    """Whether the events have so few of the segment's attributes that it pays to look at what is required."""
    attributes = (len(segment.run_offsets) - 1) // AXES
    total = np.int64(0)
    for row in range(board.head[board_layout.ROWS]):
        total += count_bits(board.kinds[row, board_layout.ANY])
    return len(segment.required_groups) > 0 and total * _SPARSE < attributes * board.head[board_layout.SIZE]


@kernel(inline=True)
def lay_presence(board: Board, present: Masks) -> None:
    """The lanes that have each attribute, plus one; all lanes have the one that zero stands for."""
    present[:] = _NONE
    present[0] = ~_NONE >> np.uint64(64 - board.head[board_layout.SIZE])
    for row in range(board.head[board_layout.ROWS]):
        attribute = np.int64(board.rows[row, board_layout.ATTRIBUTE]) + 1
        if attribute < len(present):
            present[attribute] = board.kinds[row, board_layout.ANY]
