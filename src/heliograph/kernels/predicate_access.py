"""What an expression that is true must have true: the few literals under which the index finds it.

The law: an expression that is true has one of its chosen literals true. Of an AND one member's literals do, and the
least likely are taken; of an OR those of every member are needed. The tree stays the tree it is, so this is linear in
its size, however many conjunctions it stands for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64

from heliograph.kernels import predicate_index_layout as at
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.cache import kernel
from heliograph.kernels.predicate_index_layout import Axes, Chances, Room
from heliograph.kernels.targeting_layout import Bytes, Floats, Int32s, Programs
from heliograph.kernels.targeting_types import (
    FLOATS,
    INT32S,
    INT64S,
    NEW_FLOATS,
    NEW_INT32_ROWS,
    NEW_INT32S,
    NEW_INT64S,
    PROGRAMS,
)
from heliograph.kernels.types import named

_OP = np.int32(0x7F)
_WORDS = -2  # the axis of a literal on words
_WORDS_FOR_ONE = 64  # a list of words this long takes so much room that it counts as always true
AXES_TYPE: Any = named(Axes, INT64S, FLOATS)
CHANCES: Any = named(Chances, FLOATS, FLOATS)
ROOM: Any = named(Room, NEW_FLOATS, NEW_INT64S)


@kernel((PROGRAMS, INT32S, NEW_INT32S, NEW_FLOATS))
def collect(programs: Programs, expressions: Int32s, axes: Int32s, values: Floats) -> Any:
    """The ends of the intervals of these expressions, each with its axis: as many as there is room for; how many."""
    count = 0
    for expression in expressions:
        for place in range(programs.starts[expression], programs.starts[expression + 1], 2):
            word, operand = programs.code[place], programs.code[place + 1]
            if word & _OP <= code.OR:
                continue
            axis = axis_of(word)
            if axis < 0 or axis % at.AXES == at.PRESENCE:
                continue
            for number in range(_parts(programs, word, operand)):
                low, high = _interval(programs, word, operand, number)
                for value in (low, np.nextafter(high, np.inf)):
                    if -np.inf < value < np.inf:
                        if count < len(axes):
                            axes[count], values[count] = axis, value
                        count += 1
    return count


@kernel((PROGRAMS, INT32S, AXES_TYPE, CHANCES, ROOM, NEW_INT32_ROWS))
def choose(programs: Programs, expressions: Int32s, axes: Axes, chances: Chances, room: Room, out: Int32s) -> Any:
    """The literals under which each expression is indexed: as many as there is room for; how many."""
    count, costs, stack = 0, room.costs, room.stack
    for group in range(len(expressions)):
        start, finish = programs.starts[expressions[group]], programs.starts[expressions[group] + 1]
        for place in range(finish - 2, start - 2, -2):
            costs[(place - start) >> 1] = _cost(programs, axes, chances, place, start, costs)
        picked = _cheapest(programs, costs, start, start, finish)
        if picked < 0 or costs[(picked - start) >> 1] == np.inf:
            count = _emit(out, count, at.NOTHING, at.OPEN, 0, group)
            continue
        stack[0], depth = picked, 1
        while depth > 0:
            depth -= 1
            place = stack[depth]
            word, operand = programs.code[place], programs.code[place + 1]
            if word & _OP == code.AND:
                stack[depth] = _cheapest(programs, costs, start, place + 2, place + 2 + operand)
                depth += 1
            elif word & _OP == code.OR:
                member = place + 2
                while member < place + 2 + operand:
                    stack[depth] = member
                    depth += 1
                    member = _next(programs, member)
            else:
                count = _literal(programs, axes, word, operand, group, out, count)
    return count


@kernel()
def _cost(programs: Programs, axes: Axes, chances: Chances, place: Any, start: Any, costs: Floats) -> Any:
    """How likely a member is true, as far as an index can tell; infinite where it cannot."""
    word, operand = programs.code[place], programs.code[place + 1]
    if word & _OP == code.AND:
        picked = _cheapest(programs, costs, start, place + 2, place + 2 + operand)
        return np.inf if picked < 0 else costs[(picked - start) >> 1]
    if word & _OP == code.OR:
        total, member = 0.0, place + 2
        while member < place + 2 + operand:
            total += costs[(member - start) >> 1]
            member = _next(programs, member)
        return total
    axis = axis_of(word)
    if axis == at.NOTHING:
        return np.inf
    attribute = word >> np.int32(code.ATTRIBUTE_SHIFT)
    if axis == _WORDS:
        words = _parts(programs, word, operand)
        return chances.present[attribute] * chances.word[attribute] * words + words / _WORDS_FOR_ONE
    if axis % at.AXES == at.PRESENCE:
        return chances.present[attribute] * (0.5 if _tests_truth(word) else 1.0)
    total = 0.0
    for number in range(_parts(programs, word, operand)):
        low, high = _interval(programs, word, operand, number)
        begin, end = axes.offsets[axis], axes.offsets[axis + 1]
        width = bucket(axes.edges, begin, end, high) - bucket(axes.edges, begin, end, low) + 1
        total += max(0, width) / (end - begin + 1)
    return chances.present[attribute] * total


@kernel()
def _cheapest(programs: Programs, costs: Floats, start: Any, place: Any, finish: Any) -> Any:
    """The least likely of the members from `place` to `finish`, or -1 if there are none."""
    best, least = np.int64(-1), np.inf
    while place < finish:
        if best < 0 or costs[(place - start) >> 1] < least:
            best, least = place, costs[(place - start) >> 1]
        place = _next(programs, place)
    return best


@kernel()
def _next(programs: Programs, place: Any) -> Any:
    """The member after the one at `place`."""
    return place + 2 + (programs.code[place + 1] if programs.code[place] & _OP <= code.OR else 0)


@kernel()
def _literal(programs: Programs, axes: Axes, word: Any, operand: Any, group: Any, out: Int32s, count: Any) -> Any:
    axis = axis_of(word)
    if axis == _WORDS:
        if word & _OP == code.WORD_EQ:
            return _emit(out, count, operand, at.WORD, 0, group)
        for place in range(operand + 1, operand + 1 + programs.sets[operand]):
            count = _emit(out, count, programs.sets[place], at.WORD, 0, group)
        return count
    begin, end = axes.offsets[axis], axes.offsets[axis + 1]
    for number in range(_parts(programs, word, operand)):
        low, high = _interval(programs, word, operand, number)
        lowest, highest = bucket(axes.edges, begin, end, low), bucket(axes.edges, begin, end, high)
        count = _emit(out, count, axis, lowest, highest, group)
    return count


@kernel()
def _emit(out: Int32s, count: Any, key: Any, low: Any, high: Any, group: Any) -> Any:
    if count < len(out):
        out[count, at.KEY], out[count, at.LOW], out[count, at.HIGH], out[count, at.GROUP] = key, low, high, group
    return count + 1


@kernel()
def axis_of(word: Any) -> Any:
    """The axis on which a cell has to lie for the literal to hold. A literal that is no interval needs some cell.

    NOT (a < b) holds between a list and nothing, so it needs no cell of one certain attribute.
    """
    op, negative = word & _OP, word & np.int32(code.NEGATIVE) != 0
    first = np.int64(word >> np.int32(code.ATTRIBUTE_SHIFT)) * at.AXES
    if op == code.SLOW or (op == code.IS_NULL and not negative) or (op >= code.PAIR_EQ and negative):
        return np.int64(at.NOTHING)
    if negative:
        return first + at.PRESENCE
    if op == code.WORD_EQ or op == code.WORD_IN:
        return np.int64(_WORDS)
    if op <= code.NUMBER_IN:
        return first + at.NUMBERS
    return first + (at.TEXTS if code.TEXT_GE <= op <= code.TEXT_LIKE else at.PRESENCE)


@kernel()
def _parts(programs: Programs, word: Any, operand: Any) -> Any:
    """How many words or intervals a literal stands for."""
    if word & np.int32(code.NEGATIVE) == 0:
        if word & _OP == code.NUMBER_IN:
            return np.int64(programs.numbers[operand])
        if word & _OP == code.WORD_IN:
            return np.int64(programs.sets[operand])
    return np.int64(1)


@kernel()
def _tests_truth(word: Any) -> Any:
    return word & np.int32(code.NEGATIVE) == 0 and word & _OP == code.TRUTH


@kernel()
def _interval(programs: Programs, word: Any, operand: Any, number: Any) -> Any:
    """The smallest and the largest value, on its axis, with which a literal can hold."""
    op = word & _OP
    if word & np.int32(code.NEGATIVE) != 0 or op == code.NUMBER_NE or op > code.TRUTH:
        return -np.inf, np.inf
    if op == code.WORD_NE or op == code.WORDS_WITHIN:
        return -np.inf, np.inf
    if op == code.TRUTH:
        return (1.0, 1.0) if operand == 1 else (2.0, 2.0)
    if op >= code.TEXT_GE:
        return _text_interval(programs, op, operand)
    if op == code.NUMBER_BETWEEN:
        return programs.numbers[operand], programs.numbers[operand + 1]
    bound = programs.numbers[operand + 1 + number if op == code.NUMBER_IN else operand]
    return -np.inf if op == code.NUMBER_LE else bound, np.inf if op == code.NUMBER_GE else bound


@kernel()
def _text_interval(programs: Programs, op: Any, operand: Any) -> Any:
    begin, end = programs.text_offsets[operand], programs.text_offsets[operand + 1]
    if op == code.TEXT_LIKE:
        stop = begin
        while stop < end and programs.texts[stop] < code.ANY_CHARACTER:
            stop += 1
        return text_key(programs.texts, begin, stop, 0x00), text_key(programs.texts, begin, stop, 0xFF)
    key = text_key(programs.texts, begin, end, 0x00)
    return (key, np.inf) if op == code.TEXT_GE or op == code.TEXT_GT else (-np.inf, key)


@kernel()
def text_key(text: Bytes, begin: Any, end: Any, padding: Any) -> Any:
    """The number that the first 8 bytes spell. A float holds it roughly, but keeps the order of texts."""
    key = np.uint64(0)
    for place in range(begin, begin + 8):
        byte = text[place] if place < end else np.uint8(padding)
        key = (key << np.uint64(8)) | np.uint64(byte)
    return float64(key)


@kernel()
def bucket(edges: Floats, begin: Any, end: Any, value: Any) -> Any:
    """How many of the edges from `begin` to `end` are not above the value."""
    first = begin
    while begin < end:
        middle = (begin + end) >> 1
        if edges[middle] <= value:
            begin = middle + 1
        else:
            end = middle
    return begin - first
