"""Tests that look at cells one by one: on lists and odd integers, on order and patterns of texts, between attributes.

On a list a test is two-valued: it is true if one element passes, else false. A test of one value is unknown where the
value is of another kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels import board_layout as at
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import Floats, Int32s
from heliograph.kernels.text_order import compare_texts, is_like

_ONE, _NONE = np.uint64(1), np.uint64(0)
_OP = np.int32(0x7F)
_KIND = np.uint8(0x7F)


@kernel()
def rare(events: Events, board: Board, word: Any, operand: Any, asked: Any) -> Any:
    """The lanes of `asked` for which one test holds."""
    op, negative = word & _OP, word & np.int32(code.NEGATIVE) != 0
    if op == code.SLOW:
        return _slow(events, board, operand, asked, 0 if negative else 1)
    attribute = word >> np.int32(code.ATTRIBUTE_SHIFT)
    row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
    if op >= code.PAIR_EQ:
        other = board.slots[operand] if operand < len(board.slots) else np.int32(-1)
        return _pairs(events, board, row, other, op, asked, negative)
    if row < 0:
        return _NONE
    single = at.ONE_NUMBER if op <= code.NUMBER_IN else at.ONE_STRING
    known = board.kinds[row, single] | board.kinds[row, at.LISTS]
    true = _passing(events, board, row, op, operand)
    if op == code.WORDS_WITHIN:
        true = known & ~true
    return asked & known & ~true if negative else asked & true


@kernel()
def _slow(events: Events, board: Board, operand: Any, asked: Any, wanted: Any) -> Any:
    """What Python decided: 1 true, 0 false."""
    found = _NONE
    for lane in range(board.head[at.SIZE]):
        if events.slow[operand, board.events[lane]] == wanted:
            found |= _ONE << np.uint64(lane)
    return found & asked


@kernel()
def _passing(events: Events, board: Board, row: Any, op: Any, operand: Any) -> Any:
    """The lanes with a cell that passes; for WORDS_WITHIN those with a string outside the set."""
    found = _NONE
    for place in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
        if _passes(events, board.cells[place], op, operand):
            found |= _ONE << np.uint64(board.lanes[place])
    return found


@kernel()
def _passes(events: Events, cell: Any, op: Any, operand: Any) -> Any:
    kind = events.cells.kind[cell] & _KIND
    if op <= code.NUMBER_IN:
        if kind == code.NUMBER:
            return _number(events.programs.numbers, op, operand, events.cells.number[cell])
        return kind == code.ODD and _odd(events.programs.numbers, op, operand, events.cells.number[cell])
    if kind != code.STRING:
        return False
    if op == code.WORD_NE:
        return events.cells.word[cell] != operand
    if op == code.WORDS_WITHIN:
        return not _contains(events.programs.sets, operand, events.cells.word[cell])
    return _text(events, cell, op, operand)


@kernel()
def _number(numbers: Floats, op: Any, operand: Any, value: Any) -> Any:
    if op == code.NUMBER_IN:
        found = False
        for place in range(operand + 1, operand + 1 + np.int64(numbers[operand])):
            found |= numbers[place] == value
        return found
    if op == code.NUMBER_EQ:
        return value == numbers[operand]
    if op == code.NUMBER_NE:
        return value != numbers[operand]
    if op == code.NUMBER_LE:
        return value <= numbers[operand]
    return value >= numbers[operand] and (op == code.NUMBER_GE or value <= numbers[operand + 1])


@kernel()
def _odd(numbers: Floats, op: Any, operand: Any, below: Any) -> Any:
    """An integer strictly between `below` and the next float, against floats."""
    if op == code.NUMBER_NE:
        return True
    if op == code.NUMBER_LE:
        return below < numbers[operand]
    if op == code.NUMBER_GE:
        return below >= numbers[operand]
    return op == code.NUMBER_BETWEEN and below >= numbers[operand] and below < numbers[operand + 1]


@kernel()
def _contains(sets: Int32s, operand: Any, word: Any) -> Any:
    found = False
    for place in range(operand + 1, operand + 1 + sets[operand]):
        found |= sets[place] == word
    return found


@kernel()
def _text(events: Events, cell: Any, op: Any, operand: Any) -> Any:
    programs = events.programs
    first = events.cells.begin[cell]
    last = first + events.cells.size[cell]
    begin, end = programs.text_offsets[operand], programs.text_offsets[operand + 1]
    if op == code.TEXT_LIKE:
        return is_like(events.cells.text, first, last, programs.texts, begin, end)
    order = compare_texts(events.cells.text, first, last, programs.texts, begin, end)
    if op == code.TEXT_GE:
        return order >= 0
    if op == code.TEXT_GT:
        return order > 0
    return order <= 0 if op == code.TEXT_LE else order < 0


@kernel()
def _pairs(events: Events, board: Board, row: Any, other: Any, op: Any, asked: Any, negative: Any) -> Any:
    """Attribute against attribute: of lists one pair of elements has to pass, of single values the two."""
    found = _NONE
    for lane in range(board.head[at.SIZE]):
        bit = _ONE << np.uint64(lane)
        if asked & bit == _NONE:
            continue
        truth = _pair(events, board, row, other, op, bit)
        if truth == (0 if negative else 1):
            found |= bit
    return found


@kernel()
def _pair(events: Events, board: Board, row: Any, other: Any, op: Any, bit: Any) -> Any:
    """1 true, 0 false, -1 unknown, in one lane."""
    lists = (row >= 0 and board.kinds[row, at.LISTS] & bit != _NONE) or (
        other >= 0 and board.kinds[other, at.LISTS] & bit != _NONE
    )
    truth = 0 if lists else -1
    if row < 0 or other < 0:
        return truth
    for left in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
        if _ONE << np.uint64(board.lanes[left]) != bit:
            continue
        for right in range(board.rows[other, at.CELLS], board.rows[other, at.CELLS_END]):
            if _ONE << np.uint64(board.lanes[right]) != bit:
                continue
            order = _order(events, board.cells[left], board.cells[right])
            if order != _UNKNOWN:
                if _fits(op, order):
                    return 1
                truth = 0
    return truth


_UNKNOWN = 2


@kernel()
def _order(events: Events, left: Any, right: Any) -> Any:
    """-1, 0 or 1; 2 where two cells cannot be compared."""
    cells = events.cells
    one, two = cells.kind[left] & _KIND, cells.kind[right] & _KIND
    if (one == code.NUMBER or one == code.ODD) and (two == code.NUMBER or two == code.ODD):
        a, b = cells.number[left], cells.number[right]
        if a != b or (one == code.NUMBER and two == code.NUMBER):
            return -1 if a < b else np.int64(a > b)
        if one != two:
            return 1 if one == code.ODD else -1
        return _order_digits(events, left, right)
    if one == code.STRING and two == code.STRING:
        first, other = cells.begin[left], cells.begin[right]
        return compare_texts(cells.text, first, first + cells.size[left], cells.text, other, other + cells.size[right])
    truths = one == code.TRUE or one == code.FALSE
    if truths and (two == code.TRUE or two == code.FALSE):
        return np.int64(two) - np.int64(one)  # TRUE is the smaller kind and the larger value
    return _UNKNOWN


@kernel()
def _order_digits(events: Events, left: Any, right: Any) -> Any:
    """Two odd integers above the same float, by their digits."""
    cells = events.cells
    first, other = cells.begin[left], cells.begin[right]
    order = compare_texts(cells.text, first, first + cells.size[left], cells.text, other, other + cells.size[right])
    if cells.size[left] != cells.size[right]:
        order = -1 if cells.size[left] < cells.size[right] else 1
    return order if cells.number[left] > 0 else -order


@kernel()
def _fits(op: Any, order: Any) -> Any:
    if op == code.PAIR_EQ:
        return order == 0
    if op == code.PAIR_NE:
        return order != 0
    if op == code.PAIR_LT:
        return order < 0
    if op == code.PAIR_LE:
        return order <= 0
    return order > 0 if op == code.PAIR_GT else order >= 0
