"""Atomic predicates to instructions.

The law: the code of an atom holds where `predicate_truth.evaluate` gives True, the negative one where it gives False.
On a list an atom as a whole is two-valued, so x <> c is a test of its own and not the negation of x = c: a list can
satisfy both. An atom that no element can satisfy, such as x = NULL, is false on a list and often unknown elsewhere; its
negation needs `_is_list`: only a list is known to be none of no numbers and none of no strings.

What no combination of instructions decides is left to Python (SLOW): ILIKE; a range of texts, which one element of a
list has to satisfy whole; an integer constant that no float equals; x < c and x > c where odd integers, which lie
between floats, exist beside c.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from heliograph.kernels import targeting_layout as layout
from heliograph.syntax.predicate_form import (
    Atom,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Pair,
    Path,
    Scalar,
    Truth,
)
from heliograph.targeting.names import NameTable, utf8
from heliograph.targeting.normal_form import FAILS, Code, instruction, join
from heliograph.targeting.pools import Pool
from heliograph.targeting.slow import SlowTests

_DENSE = 2.0**53  # below it every integer is a float
_NUMBER_OPS = {
    "=": layout.NUMBER_EQ,
    "<>": layout.NUMBER_NE,
    "<": layout.NUMBER_LE,
    "<=": layout.NUMBER_LE,
    ">": layout.NUMBER_GE,
    ">=": layout.NUMBER_GE,
}
_TEXT_OPS = {"<": layout.TEXT_LT, "<=": layout.TEXT_LE, ">": layout.TEXT_GT, ">=": layout.TEXT_GE}
_PAIR_OPS = {
    "=": layout.PAIR_EQ,
    "<>": layout.PAIR_NE,
    "<": layout.PAIR_LT,
    "<=": layout.PAIR_LE,
    ">": layout.PAIR_GT,
    ">=": layout.PAIR_GE,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TOWARDS = {"<": -math.inf, ">": math.inf}


class Assembler:
    """Gives atoms their code; numbers, sets, texts and slow tests are kept once each."""

    def __init__(self, names: NameTable) -> None:
        self.names = names
        self.numbers = Pool(np.float64)
        self.sets = Pool(np.int32)
        self.texts = Pool(np.uint8)
        self.slow = SlowTests()

    def code(self, atom: Atom, negative: bool) -> Code:
        """The code that holds where the atom is true; `negative`: where it is false."""
        return _RULES[type(atom)](self, atom, negative)

    def words_within(self, path: Path, texts: Iterable[str]) -> Code:
        """Holds where every string of the attribute is one of these."""
        attribute = self.names.attribute(path)
        return instruction(layout.WORDS_WITHIN, attribute, self._word_set(attribute, texts))

    def words_in(self, path: Path, texts: Iterable[str], negative: bool = False) -> Code:
        """Some string of the attribute is one of these."""
        attribute, chosen = self.names.attribute(path), set(texts)
        if len(chosen) == 1:
            return instruction(layout.WORD_EQ, attribute, self.names.word(attribute, chosen.pop()), negative)
        return instruction(layout.WORD_IN, attribute, self._word_set(attribute, chosen), negative)

    def _word_set(self, attribute: int, texts: Iterable[str]) -> int:
        words = sorted({self.names.word(attribute, text) for text in texts})
        return self.sets.place(struct.pack(f"<{len(words) + 1}i", len(words), *words))

    def _numbers_in(self, path: Path, values: Iterable[float], negative: bool) -> Code:
        chosen = sorted(set(values))
        if len(chosen) == 1:
            return self._number(layout.NUMBER_EQ, path, chosen, negative)
        return self._number(layout.NUMBER_IN, path, (len(chosen), *chosen), negative)

    def _number(self, op: int, path: Path, constants: Sequence[float], negative: bool) -> Code:
        place = self.numbers.place(struct.pack(f"<{len(constants)}d", *constants))
        return instruction(op, self.names.attribute(path), place, negative)

    def _text(self, op: int, path: Path, text: bytes, negative: bool) -> Code:
        return instruction(op, self.names.attribute(path), self.texts.number(text), negative)

    def _slow(self, atom: Atom, negative: bool) -> Code:
        return instruction(layout.SLOW, 0, self.slow.number(atom), negative)

    def _is_list(self, path: Path) -> Code:
        return join(layout.AND, [self._numbers_in(path, (), True), self.words_in(path, (), True)])

    def _compare(self, atom: Comparison, negative: bool) -> Code:
        if atom.value is None:
            return self._is_list(atom.attribute) if negative else FAILS
        if isinstance(atom.value, str):
            return self._compare_text(atom.attribute, atom.operator, atom.value, negative)
        bounds = _exact((atom.value,))
        strict = atom.operator in _TOWARDS
        if bounds is None or (strict and abs(bounds[0]) >= _DENSE):
            return self._slow(atom, negative)
        if strict:
            bounds = [math.nextafter(bounds[0], _TOWARDS[atom.operator]) + 0.0]
        return self._number(_NUMBER_OPS[atom.operator], atom.attribute, bounds, negative)

    def _compare_text(self, path: Path, operator: str, text: str, negative: bool) -> Code:
        if operator in _TEXT_OPS:
            return self._text(_TEXT_OPS[operator], path, utf8(text), negative)
        if operator == "=":
            return self.words_in(path, (text,), negative)
        attribute = self.names.attribute(path)
        return instruction(layout.WORD_NE, attribute, self.names.word(attribute, text), negative)

    def _in(self, atom: In, negative: bool) -> Code:
        """On one value a constant of another kind makes NOT IN unknown, on a list it does not: an AND of both kinds'
        negations says just that."""
        texts = [value for value in atom.values if isinstance(value, str)]
        numbers = _exact(atom.values)
        if numbers is None or not atom.values:
            return self._slow(atom, negative)
        mixed = 0 < len(numbers) < len(atom.values) or 0 < len(texts) < len(atom.values)
        both = negative and (mixed or not (numbers or texts))
        parts = [self._numbers_in(atom.attribute, numbers, negative)] if numbers or both else []
        parts += [self.words_in(atom.attribute, texts, negative)] if texts or both else []
        return join(layout.AND if negative else layout.OR, parts)

    def _between(self, atom: Between, negative: bool) -> Code:
        low, high = atom.low, atom.high
        if isinstance(low, str) and isinstance(high, str):
            if low < high:
                return self._slow(atom, negative)
            return self.words_in(atom.attribute, (low,) if low == high else (), negative)
        bounds = _exact((low, high))
        if bounds is None:
            return self._slow(atom, negative)
        if len(bounds) == 2:
            return self._number(layout.NUMBER_BETWEEN, atom.attribute, bounds, negative)
        return self._between_kinds(atom) if negative else FAILS

    def _between_kinds(self, atom: Between) -> Code:
        """Where a range whose bounds are of two kinds is false: on lists, and beyond one bound."""
        beyond = [
            self._compare(Comparison(atom.attribute, operator, bound), True)
            for operator, bound in ((">=", atom.low), ("<=", atom.high))
            if bound is not None
        ]
        return join(layout.OR, [self._is_list(atom.attribute), *beyond])

    def _like(self, atom: Like, negative: bool) -> Code:
        if atom.pattern is None:
            return self._is_list(atom.attribute) if negative else FAILS
        if atom.fold:
            return self._slow(atom, negative)
        pattern = _pattern(atom.pattern, atom.escape)
        if isinstance(pattern, str):
            return self.words_in(atom.attribute, (pattern,), negative)
        return self._text(layout.TEXT_LIKE, atom.attribute, pattern, negative)

    def _truth(self, atom: Truth, negative: bool) -> Code:
        return instruction(layout.TRUTH, self.names.attribute(atom.attribute), int(atom.wanted), negative)

    def _is_null(self, atom: IsNull, negative: bool) -> Code:
        return instruction(layout.IS_NULL, self.names.attribute(atom.attribute), 0, negative)

    def _pair(self, atom: Pair, negative: bool) -> Code:
        """a < b and b > a are one test."""
        left, right = self.names.attribute(atom.left), self.names.attribute(atom.right)
        if left <= right:
            return instruction(_PAIR_OPS[atom.operator], left, right, negative)
        return instruction(_PAIR_OPS[_MIRRORED[atom.operator]], right, left, negative)


_RULES: dict[type, Callable[[Assembler, Any, bool], Code]] = {
    Comparison: Assembler._compare,
    In: Assembler._in,
    Between: Assembler._between,
    Like: Assembler._like,
    Truth: Assembler._truth,
    IsNull: Assembler._is_null,
    Pair: Assembler._pair,
}


def _exact(values: Iterable[Scalar]) -> list[float] | None:
    """The floats that equal the numbers among these, zero without a sign; None where one has no such float."""
    numbers = [value for value in values if isinstance(value, int | float)]
    try:
        floats = [float(number) + 0.0 for number in numbers]
    except OverflowError:
        return None
    return floats if floats == numbers else None


def _pattern(pattern: str, escape: str | None) -> bytes | str:
    """A LIKE pattern with its wildcards as bytes of their own; a text where it has none."""
    pieces: list[bytes] = []
    fixed: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character != escape and character in _WILD:
            pieces += [utf8("".join(fixed)), _WILD[character]]
            fixed.clear()
        else:
            fixed.append(next(characters, "") if character == escape else character)
    if not pieces:
        return "".join(fixed)
    return b"".join([*pieces, utf8("".join(fixed))])


_WILD = {"%": bytes([layout.ANY_TEXT]), "_": bytes([layout.ANY_CHARACTER])}
