"""The slow, obvious twins of compiled targeting: an interpreter of code words, and an encoder of events.

Both are written from the docstrings of `kernels.targeting_layout`. The interpreter keeps three truth values for each
test and looks at one event at a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heliograph.predicate import layout
from heliograph.predicate.attributes import NameTable
from heliograph.predicate.evaluate import lookup
from heliograph.predicate.layout import Cells, Programs

_NAMES = list(vars(layout))
OPS = {
    getattr(layout, name): name for name in _NAMES[_NAMES.index("AND") : _NAMES.index("SLOW") + 1] if "ANY" not in name
}
Truths = Sequence[Sequence[int]] | Any


class Interpreter:
    """One event's cells under some programs; `slow` has a row for each slow test and a column for each event."""

    def __init__(self, programs: Programs, cells: Cells, event: int, slow: Truths) -> None:
        self.programs, self.cells, self.event, self.slow = programs, cells, event, slow
        self.found: dict[int, list[int]] = {}
        for cell in range(int(cells.offsets[event]), int(cells.offsets[event + 1])):
            self.found.setdefault(int(cells.attribute[cell]), []).append(cell)

    def holds(self, expression: int) -> bool:
        first, last = (int(place) for place in self.programs.starts[expression : expression + 2])
        results = self._results(first, last)
        assert len(results) <= 1
        return all(results)

    def _results(self, place: int, end: int) -> list[bool]:
        """Of each instruction or group from `place` to `end`, whether it holds."""
        results = []
        while place < end:
            word, operand = (int(part) for part in self.programs.code[place : place + 2])
            place += 2
            op = OPS[word & ~layout.NEGATIVE & 0xFF]
            if op in ("AND", "OR"):
                members = self._results(place, place + operand)
                place += operand
                results.append(all(members) if op == "AND" else any(members))
            else:
                truth = self._truth(op, word >> layout.ATTRIBUTE_SHIFT, operand)
                results.append(truth is (not word & layout.NEGATIVE))
        assert place == end
        return results

    def _truth(self, op: str, attribute: int, operand: int) -> bool | None:
        if op == "SLOW":
            return {1: True, 0: False, -1: None}[int(self.slow[operand][self.event])]
        cells = self.found.get(attribute, [])
        if op == "IS_NULL":
            return not cells
        if op.startswith("PAIR"):
            return self._pair(op, cells, self.found.get(operand, []))
        if not cells:
            return None
        if op == "WORDS_WITHIN":
            return self._within(cells, operand)
        truths = [self._one(op, self._value(cell), int(self.cells.word[cell]), operand) for cell in cells]
        return any(truth is True for truth in truths) if self._is_list(cells) else truths[0]

    def _is_list(self, cells: list[int]) -> bool:
        return any(self.cells.kind[cell] == layout.LIST for cell in cells)

    def _within(self, cells: list[int], operand: int) -> bool | None:
        strings = [cell for cell in cells if isinstance(self._value(cell), bytes)]
        if not self._is_list(cells) and not strings:
            return None
        return all(int(self.cells.word[cell]) in self._set(operand) for cell in strings)

    def _value(self, cell: int) -> Any:
        """A number, bytes of a string, a truth value; None for what has no order, such as an object."""
        kind = int(self.cells.kind[cell]) & ~layout.LISTED
        begin = int(self.cells.begin[cell])
        text = self.cells.text[begin : begin + int(self.cells.size[cell])].tobytes()
        if kind == layout.ODD:
            return int(text)
        if kind == layout.NUMBER:
            return float(self.cells.number[cell])
        return text if kind == layout.STRING else {layout.TRUE: True, layout.FALSE: False}.get(kind)

    def _set(self, place: int) -> list[int]:
        size = int(self.programs.sets[place])
        return [int(member) for member in self.programs.sets[place + 1 : place + 1 + size]]

    def _numbers(self, place: int, size: int) -> list[float]:
        return [float(number) for number in self.programs.numbers[place : place + size]]

    def _one(self, op: str, value: Any, word: int, operand: int) -> bool | None:
        if op == "TRUTH":
            return value is bool(operand) if isinstance(value, bool) else None
        if op.startswith("NUMBER"):
            return self._number(op, value, operand) if type(value) in (int, float) else None
        if not isinstance(value, bytes):
            return None
        if op == "WORD_IN":
            return word in self._set(operand)
        if op in ("WORD_EQ", "WORD_NE"):
            return (word == operand) is (op == "WORD_EQ")
        first, last = (int(place) for place in self.programs.text_offsets[operand : operand + 2])
        text = self.programs.texts[first:last].tobytes()
        return is_like(value, text) if op == "TEXT_LIKE" else _fits(op[-2:], value, text)

    def _number(self, op: str, value: Any, operand: int) -> bool:
        if op == "NUMBER_IN":
            (size,) = self._numbers(operand, 1)
            return value in self._numbers(operand + 1, int(size))
        if op == "NUMBER_BETWEEN":
            low, high = self._numbers(operand, 2)
            return bool(low <= value <= high)
        return _fits(op[-2:], value, *self._numbers(operand, 1))

    def _pair(self, op: str, lefts: list[int], rights: list[int]) -> bool | None:
        pairs = [(self._value(left), self._value(right)) for left in lefts for right in rights]
        truths = [_fits(op[-2:], left, right) for left, right in pairs if _comparable(left, right)]
        if self._is_list(lefts) or self._is_list(rights):
            return any(truths)
        return truths[0] if truths else None


def _comparable(left: Any, right: Any) -> bool:
    kinds = [float if type(value) is int else type(value) for value in (left, right)]
    return left is not None and kinds[0] is kinds[1]


def _fits(sign: str, left: Any, right: Any) -> bool:
    below, same = bool(left < right), bool(left == right)
    return {"EQ": same, "NE": not same, "LT": below, "LE": below or same, "GT": not (below or same), "GE": not below}[
        sign
    ]


def is_like(text: bytes, pattern: bytes) -> bool:
    """By trying every end of each wildcard."""
    if not pattern:
        return not text
    if pattern[0] == layout.ANY_TEXT:
        return is_like(text, pattern[1:]) or (bool(text) and is_like(text[_width(text) :], pattern))
    if pattern[0] == layout.ANY_CHARACTER:
        return bool(text) and is_like(text[_width(text) :], pattern[1:])
    return text[:1] == pattern[:1] and is_like(text[1:], pattern[1:])


def _width(text: bytes) -> int:
    """The bytes of the first character, or of what is left of one."""
    size = 1
    while size < len(text) and text[size] & 0xC0 == 0x80:
        size += 1
    return size


def encode(names: NameTable, trees: Sequence[Mapping[str, Any]]) -> Cells:
    """The cells of events, attribute by attribute."""
    offsets, rows, texts = [0], [], b""
    for tree in trees:
        for attribute, path in enumerate(names.paths):
            for kind, number, value in _cells(lookup(tree, path)):
                text = value.encode("utf-8", "surrogatepass")
                word = names.words_of[attribute].get(value, -1) if kind & ~layout.LISTED == layout.STRING else -1
                rows.append((attribute, kind, number, word, len(texts), len(text)))
                texts += text
        offsets.append(len(rows))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    types = (np.int32, np.uint8, np.float64, np.int32, np.int64, np.int32)
    arrays = [np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)]
    parts = [np.array(offsets, np.int64), *arrays, np.frombuffer(texts, np.uint8)]
    for part in parts:
        part.flags.writeable = False
    return Cells(*parts)


def _cells(value: Any) -> list[tuple[int, float, str]]:
    """The kind, number and text of each cell of an attribute."""
    if value is None:
        return []
    if isinstance(value, list):
        inner = [_cell(element) for element in value if element is not None]
        return [(layout.LIST, 0.0, ""), *((kind | layout.LISTED, number, text) for kind, number, text in inner)]
    return [_cell(value)]


def _cell(value: Any) -> tuple[int, float, str]:
    if isinstance(value, bool):
        return (layout.TRUE if value else layout.FALSE), 0.0, ""
    if isinstance(value, str):
        return layout.STRING, 0.0, value
    if isinstance(value, float):
        return layout.NUMBER, value, ""
    if not isinstance(value, int):
        return layout.OTHER, 0.0, ""
    below = _floor(value)
    return (layout.NUMBER, below, "") if below == value else (layout.ODD, below, str(value))


def _floor(value: int) -> float:
    """The largest float that is not above an integer."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    return number if number <= value else math.nextafter(number, -math.inf)
