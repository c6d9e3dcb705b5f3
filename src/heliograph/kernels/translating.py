"""The code of `Programs` to quick code, expression by expression, as far as it fits the form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heliograph.kernels import board_layout as at
from heliograph.kernels import quick_layout as of
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.cache import kernel
from heliograph.kernels.quick_layout import Quick, Translation
from heliograph.kernels.targeting_layout import Programs
from heliograph.kernels.targeting_types import NEW_FLOATS, NEW_INT32S, NEW_INT64S, PROGRAMS
from heliograph.kernels.types import named

_OP = np.int32(0x7F)
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_32 = np.uint64(32)
_WHOLE = 2.0**53  # makes an integer of any float's fraction
_NEW_QUICK: Any = named(Quick, NEW_INT64S, NEW_INT32S, NEW_FLOATS, NEW_INT32S, NEW_INT32S)
TRANSLATION: Any = named(Translation, NEW_INT64S, _NEW_QUICK, NEW_INT32S)


@kernel((PROGRAMS, TRANSLATION))
def translate(programs: Programs, into: Translation) -> None:
    """Adds the quick code of the expressions that have none yet; there has to be room for it."""
    for expression in range(into.sizes[of.EXPRESSIONS], len(programs.starts) - 1):
        before = into.sizes[of.WORDS]
        begin, end = programs.starts[expression], programs.starts[expression + 1]
        into.quick.starts[expression] = before
        if not _expression(programs, begin, end, into):
            into.quick.starts[expression] = -1
            into.sizes[of.WORDS] = before
    into.sizes[of.EXPRESSIONS] = len(programs.starts) - 1


@kernel()
def _emit(into: Translation, word: Any) -> None:
    into.quick.code[into.sizes[of.WORDS]] = word
    into.sizes[of.WORDS] += 1


@kernel()
def _expression(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Whether it fits; its code is then written."""
    if begin == end:
        return False
    top = programs.code[begin] & _OP
    grouped = top == code.AND or top == code.OR
    if grouped and begin + 2 + programs.code[begin + 1] != end:
        return False
    if not grouped or _is_flat(programs, begin + 2, end):
        _emit(into, of.AND_OF_ORS if top == code.OR else of.OR_OF_ANDS)
        _emit(into, 1)
        return _group(programs, begin + 2 if grouped else begin, end, into)
    _emit(into, of.OR_OF_ANDS if top == code.OR else of.AND_OF_ORS)
    counter = into.sizes[of.WORDS]
    _emit(into, 0)
    place = begin + 2
    while place < end:
        inner = programs.code[place] & _OP
        size = programs.code[place + 1] + 2 if inner <= code.OR else 2
        first = place + 2 if inner <= code.OR else place
        if inner == top or not _group(programs, first, place + size, into):
            return False
        into.quick.code[counter] += 1
        place += size
    return True


@kernel()
def _is_flat(programs: Programs, begin: Any, end: Any) -> Any:
    flat = True
    for place in range(begin, end, 2):
        flat &= programs.code[place] & _OP > code.OR
    return flat


@kernel()
def _group(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Writes the tests between two places; an empty group and one with groups in it do not fit."""
    if begin == end or not _is_flat(programs, begin, end):
        return False
    _emit(into, (end - begin) // 2)
    fits = True
    for place in range(begin, end, 2):
        fits = fits and _test(programs, programs.code[place], programs.code[place + 1], into)
    return fits


@kernel()
def _test(programs: Programs, word: Any, operand: Any, into: Translation) -> Any:
    """Writes the two facts of a test, if it has such."""
    op, negative = word & _OP, word & np.int32(code.NEGATIVE) != 0
    attribute = np.int32(word >> np.int32(code.ATTRIBUTE_SHIFT))
    if attribute >= 1 << of.KIND_SHIFT - 3:
        return False
    if op <= code.NUMBER_IN:
        return _number(programs, op, negative, attribute, operand, into)
    if op == code.WORD_EQ or op == code.WORD_IN:
        holding = _fact(of.WORD if op == code.WORD_EQ else of.WORD_SET, operand)
        return _pair(into, negative, holding, _of(attribute, at.ONE_STRING))
    if op == code.WORD_NE and not negative:
        return _pair(into, True, _fact(of.WORD, operand), _of(attribute, at.ONE_STRING))
    if op == code.TRUTH:
        holding = _of(attribute, at.TRUES if operand == 1 else at.FALSES)
        return _pair(into, negative, holding, _of(attribute, at.ONE_BOOLEAN))
    return op == code.IS_NULL and _pair(into, not negative, _of(attribute, at.ANY), _fact(of.ALL_LANES, 0))


@kernel()
def _number(programs: Programs, op: Any, negative: Any, attribute: Any, operand: Any, into: Translation) -> Any:
    """A test of numbers; NOT BETWEEN has no such form."""
    single = _of(attribute, at.ONE_NUMBER)
    if op == code.NUMBER_IN:
        return _pair(into, negative, _fact(of.BOUND_SET, _bound_set(programs, attribute, operand, into)), single)
    bound = _bound(programs.numbers[operand], attribute, into)
    if op == code.NUMBER_GE:
        return _pair(into, not negative, _fact(of.BELOW, bound), single)
    if op == code.NUMBER_LE:
        return _pair(into, negative, _fact(of.UPTO, bound), single)
    if op == code.NUMBER_BETWEEN:
        if negative:
            return False
        _emit(into, _fact(of.UPTO, _bound(programs.numbers[operand + 1], attribute, into)))
        _emit(into, _fact(of.BELOW, bound))
        return True
    return _pair(into, negative == (op == code.NUMBER_EQ), _fact(of.EQUAL, bound), single)


@kernel()
def _pair(into: Translation, negative: Any, holding: Any, known: Any) -> Any:
    """The lanes of `holding`; negated, the other lanes of `known`."""
    _emit(into, known if negative else holding)
    _emit(into, holding if negative else _fact(of.NO_LANES, 0))
    return True


@kernel()
def _fact(kind: Any, number: Any) -> Any:
    return np.int32(kind << of.KIND_SHIFT | number)


@kernel()
def _of(attribute: Any, column: Any) -> Any:
    return _fact(of.ATTRIBUTE, attribute << 3 | column)


@kernel()
def _bound_set(programs: Programs, attribute: Any, operand: Any, into: Translation) -> Any:
    place = into.sizes[of.SETS]
    count = np.int64(programs.numbers[operand])
    into.quick.sets[place] = count
    for number in range(count):
        into.quick.sets[place + 1 + number] = _bound(programs.numbers[operand + 1 + number], attribute, into)
    into.sizes[of.SETS] = place + 1 + count
    return place


@kernel()
def _bound(number: Any, attribute: Any, into: Translation) -> Any:
    """The bound of this attribute, found or made."""
    slot = _slot(number, attribute, into)
    if into.slots[slot] < 0:
        bound = into.sizes[of.BOUNDS]
        into.slots[slot] = bound
        into.quick.bounds[bound], into.quick.bound_attributes[bound] = number, attribute
        into.sizes[of.BOUNDS] = bound + 1
    return np.int64(into.slots[slot])


@kernel()
def _slot(number: Any, attribute: Any, into: Translation) -> Any:
    """Where a bound is, or would be."""
    mask = np.int64(len(into.slots) - 1)
    fraction, exponent = math.frexp(number)
    mixed = np.uint64(np.int64(fraction * _WHOLE) + exponent) * _FIRST ^ np.uint64(attribute + 1) * _SECOND
    slot = np.int64(mixed >> _32) & mask
    while True:
        known = into.slots[slot]
        if known < 0 or (into.quick.bounds[known] == number and into.quick.bound_attributes[known] == attribute):
            return slot
        slot = (slot + 1) & mask


@kernel((TRANSLATION,))
def enter(into: Translation) -> None:
    """Enters the bounds into a table that is empty."""
    for bound in range(into.sizes[of.BOUNDS]):
        into.slots[_slot(into.quick.bounds[bound], into.quick.bound_attributes[bound], into)] = bound
