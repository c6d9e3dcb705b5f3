"""Quick code: made from the code of `Programs`, and asked about a board. `quick_layout` says what it is."""

from __future__ import annotations

from typing import Any

import numpy as np


from heliograph.kernels import board_layout as at
from heliograph.kernels import quick_layout as of
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.quick_layout import Facts, Quick
from heliograph.kernels.targeting_types import FLOATS, INT32S, INT64S, NEW_INT64S, NEW_MASKS
from heliograph.kernels.truth import holds
from heliograph.kernels.types import named

_NONE, _ALL = np.uint64(0), ~np.uint64(0)
_NUMBER = np.int32((1 << of.KIND_SHIFT) - 1)
QUICK: Any = named(Quick, INT64S, INT32S, FLOATS, INT32S, INT32S)
FACTS: Any = named(Facts, NEW_MASKS, NEW_INT64S, NEW_INT64S, NEW_INT64S)


@kernel(inline=True)
def accepted(events: Events, quick: Quick, facts: Facts, board: Board, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    start = quick.starts[expression]
    if start < 0 or board.head[at.ALL_PLAIN] == 0:
        return _slowly(events, board, expression, asked)
    groups = quick.code[start + 1]
    place = start + 2
    if quick.code[start] == of.OR_OF_ANDS:
        found = _NONE
        for _ in range(groups):
            end = place + 1 + 2 * quick.code[place]
            lanes = asked
            for test in range(place + 1, end, 2):
                lanes &= _fact(events, quick, facts, board, quick.code[test])
                lanes &= ~_fact(events, quick, facts, board, quick.code[test + 1])
            found |= lanes
            place = end
        return found
    for _ in range(groups):
        end = place + 1 + 2 * quick.code[place]
        found = _NONE
        for test in range(place + 1, end, 2):
            holding = _fact(events, quick, facts, board, quick.code[test])
            found |= holding & ~_fact(events, quick, facts, board, quick.code[test + 1])
        asked &= found
        place = end
    return asked


@kernel()
def _slowly(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    return holds(events, board, expression, asked)


@kernel(inline=True)
def _fact(events: Events, quick: Quick, facts: Facts, board: Board, fact: Any) -> Any:
    kind, number = fact >> np.int32(of.KIND_SHIFT), fact & _NUMBER
    place = facts.bases[kind] + facts.steps[kind] * number
    if facts.stamps[place] != board.head[at.STAMP]:
        facts.stamps[place] = board.head[at.STAMP]
        facts.known[place] = _find_out(events, quick, facts, board, kind, number)
    return facts.known[place]


@kernel()
def _find_out(events: Events, quick: Quick, facts: Facts, board: Board, kind: Any, number: Any) -> Any:
    if kind == of.WORD:
        return _word(board, number)
    if kind == of.ATTRIBUTE:
        row = _row(board, number >> np.int32(3))
        return _NONE if row < 0 else board.kinds[row, number & np.int32(7)]
    if kind == of.WORD_SET:
        found = _NONE
        for place in range(number + 1, number + 1 + events.programs.sets[number]):
            found |= _word(board, events.programs.sets[place])
        return found
    if kind == of.BOUND_SET:
        found = _NONE
        for place in range(number + 1, number + 1 + quick.sets[number]):
            found |= _about(quick, board, of.EQUAL, quick.sets[place])
        return found
    if kind == of.ALL_LANES:
        return _ALL
    return _NONE if kind == of.NO_LANES else _about(quick, board, kind, number)


@kernel()
def _word(board: Board, word: Any) -> Any:
    if word < len(board.words) and board.stamps[word] == board.head[at.STAMP]:
        return board.words[word]
    return _NONE


@kernel()
def _row(board: Board, attribute: Any) -> Any:
    return board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)


@kernel()
def _about(quick: Quick, board: Board, kind: Any, bound: Any) -> Any:
    """How single numbers lie about a bound, by binary search; the row is plain."""
    row = _row(board, quick.bound_attributes[bound])
    if row < 0:
        return _NONE
    number = quick.bounds[bound]
    place, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
    size = last - place
    while size > 0:
        half = size >> 1
        if board.keys[place + half] < number:
            place += half + 1
            size -= half + 1
        else:
            size = half
    below = board.marks[place + row]
    if kind == of.BELOW:
        return below
    while place < last and board.keys[place] == number:
        place += 1
    upto = board.marks[place + row]
    return upto if kind == of.UPTO else upto ^ below


