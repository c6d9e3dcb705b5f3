"""Many SQL conditions to code at once: atoms and the skeletons around them are each parsed once.

A condition is split into its atoms, such as `age BETWEEN 20 AND 30`, and the rest: its skeleton of AND, OR, NOT and
parentheses. Conditions that people and programs write in bulk have few skeletons, and atoms that come again and again;
shapes of whole conditions hardly ever repeat (of 20,000 drawn for [B] section 4.2, 26 did). So the code of an atom is
remembered by its text, and a skeleton is a function from the codes of its atoms to that of the whole.

The law: compile(text) gives the code of parse_predicate(text), or its error. The pattern of atoms only proposes. What
it finds is parsed by itself; the rest has to be made of AND, OR, NOT, parentheses and white space, and the skeleton has
to parse with a plain name in place of each atom. Since these tokens never run into one another, the parser then reads
the whole as it read the parts. Whatever falls short of this is parsed as one, and so is a text whose skeleton comes
for the first time, because to take it apart costs two parses.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from heliograph.errors import PredicateError
from heliograph.syntax.predicate_form import And, Not, Or, Predicate, Truth
from heliograph.syntax.predicate_lexer import NUMBER, STRING
from heliograph.syntax.predicate_shapes import Shapes
from heliograph.syntax.predicates import parse_predicate
from heliograph.targeting.assembling import Assembler
from heliograph.targeting.normal_form import HOLDS, Code, group_kind, join, normal

_LONGEST = 10_000  # characters; a pattern that proposes may look at a text more often than once
_MOST_ATOMS = 100_000  # remembered

_NAME = r'(?:[^\W\d][\w$]*+|"(?>[^"]*(?:""[^"]*)*)")'
_PATH = rf"{_NAME}(?:\.{_NAME})*+"
_SIGN = r"\s*+(?:<>|!=|<=|>=|[=<>])\s*+"
_CONSTANT = rf"(?:[+-]?{NUMBER}|{STRING}|(?:NULL|TRUE|FALSE)(?![\w$]))"
_ATOM = re.compile(
    rf"((?<![\w$])(?:[+-]?{NUMBER}{_SIGN}{_PATH}"
    rf"|(?!(?:AND|OR|NOT)(?![\w$])){_PATH}"
    rf"(?:{_SIGN}(?:{_CONSTANT}|{_PATH})"
    rf"|\s++(?:NOT\s++)?IN\s*+\(\s*+{_CONSTANT}(?:\s*+,\s*+{_CONSTANT})*+\s*+\)"
    rf"|\s++(?:NOT\s++)?BETWEEN\s++{_CONSTANT}\s++AND\s++{_CONSTANT}"
    rf"|\s++(?:NOT\s++)?I?LIKE\s*+{STRING}(?:\s*+ESCAPE\s*+{STRING})?"
    r"|\s++IS\s++(?:NOT\s++)?NULL(?![\w$]))?))",
    re.IGNORECASE,
)
_BETWEEN_ATOMS = re.compile(r"(?:\s|[()]|(?:AND|OR|NOT)(?![\w$]))*", re.IGNORECASE)

Fill = Callable[[list[Code]], Code]


class _Skeleton:
    """`signs` tells which atoms stand negated; `fill` makes the whole of their codes."""

    __slots__ = ("fill", "signs")

    def __init__(self, form: Predicate, atoms: int) -> None:
        self.signs = [False] * atoms
        self.fill = self._filler(form, False)

    def _filler(self, form: Predicate, negative: bool) -> Fill:
        if isinstance(form, Not):
            return self._filler(form.operand, not negative)
        if isinstance(form, And | Or):
            return _joiner(group_kind(form, negative), [self._filler(part, negative) for part in form.operands])
        assert isinstance(form, Truth)
        number = int(form.attribute[0])
        self.signs[number] = negative
        return operator.itemgetter(number)


def _joiner(kind: int, fillers: list[Fill]) -> Fill:
    return lambda codes: join(kind, [fill(codes) for fill in fillers])


class Skeletons:
    """The skeletons and atoms met so far."""

    def __init__(self, assembler: Assembler) -> None:
        self._code = assembler.code
        self._shapes = Shapes()
        self._skeletons: dict[tuple[str, ...], _Skeleton | None] = {}
        self._met: set[tuple[str, ...]] = set()  # once
        self._positive: dict[str, Code] = {}
        self._negative: dict[str, Code] = {}

    def __len__(self) -> int:
        """How much is remembered."""
        return len(self._met) + len(self._skeletons) + len(self._positive) + len(self._negative)

    def compile(self, text: str | None) -> Code | PredicateError:
        """The code of a condition, or its error."""
        if text is None or not text.strip():
            return HOLDS
        try:
            code = self._composed(text) if len(text) <= _LONGEST else None
            return normal(parse_predicate(text), self._code) if code is None else code
        except PredicateError as error:
            return error

    def _composed(self, text: str) -> Code | None:
        parts = _ATOM.split(text)
        between, atoms = tuple(parts[::2]), parts[1::2]
        skeleton = self._skeleton(between)
        codes = None if skeleton is None else self._codes(atoms, skeleton.signs)
        return None if skeleton is None or codes is None else skeleton.fill(codes)

    def _skeleton(self, between: tuple[str, ...]) -> _Skeleton | None:
        if between not in self._skeletons:
            if between not in self._met:
                self._met.add(between)
                return None
            self._met.remove(between)
            self._skeletons[between] = _skeleton(between)
        return self._skeletons[between]

    def _codes(self, atoms: Sequence[str], signs: list[bool]) -> list[Code] | None:
        codes: list[Code] = []
        for atom, negative in zip(atoms, signs, strict=True):
            known = self._negative if negative else self._positive
            code = known.get(atom)
            if code is None:
                form = self._shapes.compile(atom)
                if isinstance(form, PredicateError):
                    return None
                code = normal(form, self._code, negative)
                if len(known) >= _MOST_ATOMS:
                    known.clear()
                known[atom] = code
            codes.append(code)
        return codes


def _skeleton(between: tuple[str, ...]) -> _Skeleton | None:
    """None where what lies between the atoms cannot be read by itself."""
    if not all(map(_BETWEEN_ATOMS.fullmatch, between)):
        return None
    spelled = "".join(f'{rest} "{number}" ' for number, rest in enumerate(between[:-1])) + between[-1]
    try:
        return _Skeleton(parse_predicate(spelled), len(between) - 1)
    except PredicateError:
        return None
