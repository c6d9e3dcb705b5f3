"""Whether an expression is true of the events on a board: one walk over its code for all lanes at once.

The laws: the answer is a subset of the lanes that were asked about; a group is left as soon as no lane is open; lanes
do not influence each other. On a plain row a test of numbers is two binary searches among the lanes' sorted values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64

from heliograph.kernels import board_layout as at
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.rare_truth import rare
from heliograph.kernels.targeting_layout import Floats
from heliograph.kernels.targeting_types import BOARD, EVENTS

_NONE = np.uint64(0)
_OP = np.int32(0x7F)


@kernel(inline=True)
def holds(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    programs = events.programs
    place, finish = programs.starts[expression], programs.starts[expression + 1]
    kind: Any = code.AND
    depth, open_lanes, found = 0, asked, _NONE
    while True:
        while place == finish or open_lanes == _NONE:
            result = open_lanes if kind == code.AND else found
            if depth == 0:
                return result
            depth -= 1
            place, finish = finish, board.frames[2 * depth]
            kind = board.frames[2 * depth + 1]
            open_lanes, found = board.frame_masks[2 * depth], board.frame_masks[2 * depth + 1]
            if kind == code.AND:
                open_lanes = result
            else:
                found |= result
                open_lanes &= ~result
        word, operand = programs.code[place], programs.code[place + 1]
        place += 2
        if word & _OP <= code.OR:
            board.frames[2 * depth], board.frames[2 * depth + 1] = finish, kind
            board.frame_masks[2 * depth], board.frame_masks[2 * depth + 1] = open_lanes, found
            depth += 1
            kind, found, finish = np.int64(word & _OP), _NONE, place + operand
            continue
        result = _literal(events, board, word, operand, open_lanes)
        if kind == code.AND:
            open_lanes = result
        else:
            found |= result
            open_lanes &= ~result


@kernel(inline=True)
def _literal(events: Events, board: Board, word: Any, operand: Any, asked: Any) -> Any:
    """The lanes of `asked` for which one test holds."""
    op, negative = word & _OP, word & np.int32(code.NEGATIVE) != 0
    attribute = word >> np.int32(code.ATTRIBUTE_SHIFT)
    row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
    if op > code.IS_NULL or (op >= code.WORD_NE and op < code.TRUTH and op != code.WORD_IN):
        return rare(events, board, word, operand, asked)
    if row < 0:
        return asked if op == code.IS_NULL and not negative else _NONE
    if op <= code.NUMBER_IN:
        if board.rows[row, at.PLAIN] == 0:
            return rare(events, board, word, operand, asked)
        true = _numbers(board, events.programs.numbers, row, op, operand)
        known = board.kinds[row, at.ONE_NUMBER]
    elif op == code.TRUTH:
        true = board.kinds[row, at.TRUES if operand == 1 else at.FALSES]
        known = board.kinds[row, at.ONE_BOOLEAN] | board.kinds[row, at.LISTS]
    elif op == code.IS_NULL:
        true = ~board.kinds[row, at.ANY]
        known = ~_NONE
    else:
        true = _words(board, events.programs.sets, op, operand)
        known = board.kinds[row, at.ONE_STRING] | board.kinds[row, at.LISTS]
    return asked & known & ~true if negative else asked & true


@kernel(inline=True)
def _numbers(board: Board, numbers: Floats, row: Any, op: Any, operand: Any) -> Any:
    """The lanes whose single number passes; no lane has a list."""
    first, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
    all_lanes = board.kinds[row, at.ONE_NUMBER]
    if op == code.NUMBER_GE:
        return all_lanes ^ board.marks[_below(board.keys, first, last, numbers[operand]) + row]
    if op == code.NUMBER_LE:
        return board.marks[_upto(board.keys, first, last, numbers[operand]) + row]
    if op == code.NUMBER_BETWEEN:
        low = _below(board.keys, first, last, numbers[operand])
        high = _upto(board.keys, low, last, numbers[operand + 1])
        return board.marks[high + row] ^ board.marks[low + row]
    if op == code.NUMBER_IN:
        found = _NONE
        for place in range(operand + 1, operand + 1 + np.int64(numbers[operand])):
            found |= _equal(board, first, last, row, numbers[place])
        return found
    equal = _equal(board, first, last, row, numbers[operand])
    return equal if op == code.NUMBER_EQ else all_lanes ^ equal


@kernel(inline=True)
def _equal(board: Board, first: Any, last: Any, row: Any, number: Any) -> Any:
    low = _below(board.keys, first, last, number)
    high = low
    while high < last and board.keys[high] == number:
        high += 1
    return board.marks[high + row] ^ board.marks[low + row]


@kernel(inline=True)
def _below(keys: Floats, first: Any, last: Any, number: Any) -> Any:
    """The first place from `first` whose key is not below the number."""
    size = last - first
    while size > 0:
        half = size >> 1
        if keys[first + half] < number:
            first += half + 1
            size -= half + 1
        else:
            size = half
    return first


@kernel(inline=True)
def _upto(keys: Floats, first: Any, last: Any, number: Any) -> Any:
    """The first place from `first` whose key is above the number."""
    size = last - first
    while size > 0:
        half = size >> 1
        if keys[first + half] <= number:
            first += half + 1
            size -= half + 1
        else:
            size = half
    return first


@kernel(inline=True)
def _words(board: Board, sets: Any, op: Any, operand: Any) -> Any:
    """The lanes that are or hold one of these words."""
    if op == code.WORD_EQ:
        return _word(board, operand)
    found = _NONE
    for place in range(operand + 1, operand + 1 + sets[operand]):
        found |= _word(board, sets[place])
    return found


@kernel(inline=True)
def _word(board: Board, word: Any) -> Any:
    if word < len(board.words) and board.stamps[word] == board.head[at.STAMP]:
        return board.words[word]
    return _NONE


@kernel((EVENTS, BOARD, int64, uint64))
def ask(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    """`holds`, for Python."""
    return holds(events, board, expression, asked)
