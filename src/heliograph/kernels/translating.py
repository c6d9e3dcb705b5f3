"""The code of `Programs` to quick code, expression by expression, as far as it fits the form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import int32

from heliograph.kernels import board_layout as at
from heliograph.kernels import quick_layout as of
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.cache import kernel
from heliograph.kernels.quick_layout import Quick, Translation
from heliograph.kernels.targeting_layout import Programs
from heliograph.kernels.targeting_types import NEW_FLOATS, NEW_INT32S, NEW_INT64S, PROGRAMS
from heliograph.kernels.types import named, rows

_OP = np.int32(0x7F)
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_32 = np.uint64(32)
_WHOLE = 2.0**53  # makes an integer of any float's fraction
_NEW_ROWS: Any = rows(int32, writable=True)
_NEW_QUICK: Any = named(
    Quick,
    NEW_INT64S,
    NEW_INT32S,
    NEW_FLOATS,
    NEW_INT32S,
    NEW_INT32S,
    NEW_INT32S,
    NEW_INT32S,
    NEW_INT32S,
    _NEW_ROWS,
    NEW_INT32S,
)
TRANSLATION: Any = named(Translation, NEW_INT64S, _NEW_QUICK, NEW_INT32S, NEW_INT32S)


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
    start = into.sizes[of.WORDS]
    if not grouped or _is_flat(programs, begin + 2, end):
        first = begin + 2 if grouped else begin
        _emit(into, of.AND_OF_ORS if top == code.OR else of.OR_OF_ANDS)
        _emit(into, 1)
        _emit(into, end - first)
        return first < end and _tests(programs, first, end, into)
    _emit(into, of.OR_OF_ANDS if top == code.OR else of.AND_OF_ORS)
    _emit(into, 0)
    return _sizes(programs, begin + 2, end, into, start) and _members(programs, begin + 2, end, into)


@kernel()
def _sizes(programs: Programs, begin: Any, end: Any, into: Translation, start: Any) -> Any:
    """Writes how many facts each group has; an empty group and one with groups in it do not fit."""
    place = begin
    while place < end:
        inner = programs.code[place] & _OP <= code.OR
        size = np.int64(programs.code[place + 1]) if inner else np.int64(2)
        if size == 0 or (inner and not _is_flat(programs, place + 2, place + 2 + size)):
            return False
        _emit(into, size)
        into.quick.code[start + 1] += 1
        place += size + 2 if inner else 2
    return True


@kernel()
def _members(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    fits = True
    place = begin
    while place < end and fits:
        inner = programs.code[place] & _OP <= code.OR
        size = np.int64(programs.code[place + 1]) if inner else np.int64(0)
        first = place + 2 if inner else place
        place += size + 2
        fits = _tests(programs, first, place, into)
    return fits


@kernel()
def _is_flat(programs: Programs, begin: Any, end: Any) -> Any:
    flat = True
    for place in range(begin, end, 2):
        flat &= programs.code[place] & _OP > code.OR
    return flat


@kernel()
def _tests(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Writes the facts of the tests between two places, if all of them have such."""
    fits = True
    for place in range(begin, end, 2):
        fits = fits and _test(programs, programs.code[place], programs.code[place + 1], into)
    return fits


@kernel()
def _test(programs: Programs, word: Any, operand: Any, into: Translation) -> Any:
    """Writes the two facts of a test, if it has such."""
    op, negative = word & _OP, word & np.int32(code.NEGATIVE) != 0
    attribute = np.int64(word >> np.int32(code.ATTRIBUTE_SHIFT))
    if op <= code.NUMBER_IN:
        return _number(programs, op, negative, attribute, operand, into)
    if op == code.WORD_EQ or op == code.WORD_IN:
        holding = _word(operand, into) if op == code.WORD_EQ else _word_set(programs, operand, into)
        return _pair(into, negative, holding, _of(attribute, at.ONE_STRING, into))
    if op == code.WORD_NE and not negative:
        return _pair(into, True, _word(operand, into), _of(attribute, at.ONE_STRING, into))
    if op == code.TRUTH:
        holding = _of(attribute, at.TRUES if operand == 1 else at.FALSES, into)
        return _pair(into, negative, holding, _of(attribute, at.ONE_BOOLEAN, into))
    return op == code.IS_NULL and _pair(into, not negative, _of(attribute, at.ANY, into), np.int64(of.ALL_LANES))


@kernel()
def _number(programs: Programs, op: Any, negative: Any, attribute: Any, operand: Any, into: Translation) -> Any:
    """A test of numbers; NOT BETWEEN has no such form."""
    single = _of(attribute, at.ONE_NUMBER, into)
    if op == code.NUMBER_IN:
        return _pair(into, negative, _bound_set(programs, attribute, operand, into), single)
    facts = _bound(programs.numbers[operand], attribute, into)
    if op == code.NUMBER_GE:
        return _pair(into, not negative, facts + of.BELOW, single)
    if op == code.NUMBER_LE:
        return _pair(into, negative, facts + of.UPTO, single)
    if op == code.NUMBER_BETWEEN:
        if negative:
            return False
        _emit(into, _bound(programs.numbers[operand + 1], attribute, into) + of.UPTO)
        _emit(into, facts + of.BELOW)
        return True
    return _pair(into, negative == (op == code.NUMBER_EQ), _equal(programs.numbers[operand], attribute, into), single)


@kernel()
def _pair(into: Translation, negative: Any, holding: Any, known: Any) -> Any:
    """The lanes of `holding`; negated, the other lanes of `known`."""
    _emit(into, known if negative else holding)
    _emit(into, holding if negative else np.int64(of.NO_LANES))
    return True


@kernel()
def _new_facts(into: Translation, count: Any) -> Any:
    first = into.sizes[of.FACTS]
    into.sizes[of.FACTS] = first + count
    return first


@kernel()
def _of(attribute: Any, kind: Any, into: Translation) -> Any:
    if into.quick.attribute_facts[attribute] < 0:
        into.quick.attribute_facts[attribute] = _new_facts(into, of.KIND_FACTS)
    return np.int64(into.quick.attribute_facts[attribute]) + kind


@kernel()
def _word(word: Any, into: Translation) -> Any:
    if into.quick.word_facts[word] < 0:
        into.quick.word_facts[word] = _new_facts(into, 1)
    return np.int64(into.quick.word_facts[word])


@kernel()
def _word_set(programs: Programs, operand: Any, into: Translation) -> Any:
    """The fact of a set. Its words have facts too, by which is seen what was learnt about them already."""
    if into.set_facts[operand] < 0:
        for place in range(operand + 1, operand + 1 + programs.sets[operand]):
            _word(programs.sets[place], into)
        into.set_facts[operand] = _new_facts(into, 1)
        number = into.sizes[of.WORD_SETS]
        into.quick.word_sets[number, 0], into.quick.word_sets[number, 1] = operand, into.set_facts[operand]
        into.sizes[of.WORD_SETS] = number + 1
    return np.int64(into.set_facts[operand])


@kernel()
def _bound_set(programs: Programs, attribute: Any, operand: Any, into: Translation) -> Any:
    place = into.sizes[of.BOUND_SETS]
    count = np.int64(programs.numbers[operand])
    fact = _new_facts(into, 1)
    into.quick.bound_sets[place], into.quick.bound_sets[place + 1] = fact, count
    for number in range(count):
        _bound(programs.numbers[operand + 1 + number], attribute, into)
        slot = _slot(programs.numbers[operand + 1 + number], attribute, into)
        into.quick.bound_sets[place + 2 + number] = into.bound_slots[slot]
    into.sizes[of.BOUND_SETS] = place + 2 + count
    return fact


@kernel()
def _bound(number: Any, attribute: Any, into: Translation) -> Any:
    """The facts of this attribute's bound, found or made."""
    slot = _slot(number, attribute, into)
    if into.bound_slots[slot] < 0:
        bound = into.sizes[of.BOUNDS]
        into.bound_slots[slot] = bound
        into.quick.bounds[bound], into.quick.bound_attributes[bound] = number, attribute
        into.quick.bound_facts[bound], into.quick.equal_facts[bound] = _new_facts(into, 2), -1
        into.sizes[of.BOUNDS] = bound + 1
    return np.int64(into.quick.bound_facts[into.bound_slots[slot]])


@kernel()
def _equal(number: Any, attribute: Any, into: Translation) -> Any:
    """The fact that lanes equal a bound, which is there already."""
    bound = into.bound_slots[_slot(number, attribute, into)]
    if into.quick.equal_facts[bound] < 0:
        into.quick.equal_facts[bound] = _new_facts(into, 1)
    return np.int64(into.quick.equal_facts[bound])


@kernel()
def _slot(number: Any, attribute: Any, into: Translation) -> Any:
    """Where a bound is, or would be."""
    mask = np.int64(len(into.bound_slots) - 1)
    fraction, exponent = math.frexp(number)
    mixed = np.uint64(np.int64(fraction * _WHOLE) + exponent) * _FIRST ^ np.uint64(attribute + 1) * _SECOND
    slot = np.int64(mixed >> _32) & mask
    while True:
        known = into.bound_slots[slot]
        if known < 0 or (into.quick.bounds[known] == number and into.quick.bound_attributes[known] == attribute):
            return slot
        slot = (slot + 1) & mask


@kernel((TRANSLATION,))
def enter(into: Translation) -> None:
    """Enters the bounds into a table that is empty."""
    for bound in range(into.sizes[of.BOUNDS]):
        into.bound_slots[_slot(into.quick.bounds[bound], into.quick.bound_attributes[bound], into)] = bound
