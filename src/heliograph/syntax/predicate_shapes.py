"""Bulk compilation: texts that differ in their constants only share one parse.

The constants are lifted out of each text; what is left, with the kind of each constant, is its shape. A shape is parsed
once into a template with numbered slots, and every further text of it only fills the slots. The law:
Shapes().compile(text) gives what parse_predicate(text) gives, errors included; a text that cannot be shared safely
(quoted names, comments, ESCAPE, tests on constants, any error) is parsed by itself. A template costs about three
parses, so it is made when a shape comes for the second time.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from heliograph.errors import PredicateError
from heliograph.syntax.predicate_form import ACCEPT, Predicate
from heliograph.syntax.predicate_lexer import Token, tokenize
from heliograph.syntax.predicates import Literal, Parser, parse_predicate

# A string, or a number that does not continue a name. It begins with a set of characters because such a pattern skips
# to its first candidate at once, which halves the time of finding the constants.
_LITERAL = re.compile(
    r"(['0-9.](?:(?<=')(?>[^']*(?:''[^']*)*)'"
    r"|(?<=[0-9.])(?<![\w.$][0-9.])(?:(?<=[0-9])(?>[0-9]*(?:\.[0-9]*)?)|(?<=\.)(?>[0-9]+))"
    r"(?>[eE][+-]?[0-9]+)?(?![\w.])))"
)
_ALONE = ('"', "`", "--", "/*")  # constants inside quoted names and comments are not constants

Fill = Callable[[list[Any]], Any]


def _unbuilt(_: list[Any]) -> Any:
    """Marks a shape met once."""


class Shapes:
    """The templates met so far."""

    def __init__(self) -> None:
        self._templates: dict[tuple[tuple[str, ...], str], Fill | None] = {}

    def compile(self, text: str | None) -> Predicate | PredicateError:
        """The compiled form of a text, or its error."""
        if text is None or not text.strip():
            return ACCEPT
        try:
            return self._shared(text) or parse_predicate(text)
        except PredicateError as error:
            return error

    def _shared(self, text: str) -> Predicate | None:
        if any(mark in text for mark in _ALONE):
            return None
        parts = _LITERAL.split(text)
        literals = parts[1::2]
        shape = tuple(parts[::2]), "".join([literal[0] if literal[0] == "'" else "0" for literal in literals])
        if shape not in self._templates:
            self._templates[shape] = _unbuilt
            return None
        fill = self._templates[shape]
        if fill is _unbuilt:
            fill = self._templates[shape] = _template(text, literals)
        values = None if fill is None else _values(literals)
        if fill is None or values is None:
            return None
        filled: Predicate = fill(values)
        return filled


class _Text(str):
    """A slot for a string; it reads as the constant's number."""


class _Number(int):
    """A slot for a number: the constant's number, and the sign before it."""

    sign: int


class _Unshareable(Exception):
    """The form depends on a constant's value."""


class _TemplateParser(Parser):
    """Parses a text with slots in place of its constants."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        super().__init__(text, tokens)
        places = [token.start for token in tokens if token.kind in ("number", "string")]
        self._slots = {start: number for number, start in enumerate(places)}

    def _number(self, token: Token, sign: int) -> int | float:
        slot = _Number(self._slots[token.start])
        slot.sign = sign
        return slot

    def _string(self, token: Token) -> str:
        return _Text(self._slots[token.start])

    def _fold(self, test: Predicate, literal: Literal) -> Predicate:
        raise _Unshareable

    def _escape(self, pattern: Literal) -> str | None:
        raise _Unshareable


def _template(text: str, literals: list[str]) -> Fill | None:
    """A function from constants to the form; None where the shape cannot be shared."""
    try:
        tokens = tokenize(text)
        if [token.text for token in tokens if token.kind in ("number", "string")] != literals:
            return None
        return _filler(_TemplateParser(text, tokens).parse())
    except (PredicateError, _Unshareable):
        return None


def _filler(part: Any) -> Fill:
    """A function that rebuilds a part of the template with the constants in their slots."""
    if isinstance(part, _Text):
        return operator.itemgetter(int(part))
    if isinstance(part, _Number):
        return operator.itemgetter(int(part)) if part.sign > 0 else _negated(int(part))
    if isinstance(part, tuple) and _has_slot(part):
        return _tuple_filler(part)
    if is_dataclass(part) and _has_slot(part):
        return _node_filler(part)
    return lambda _: part


def _has_slot(part: Any) -> bool:
    if isinstance(part, tuple):
        return any(map(_has_slot, part))
    if is_dataclass(part):
        return any(_has_slot(getattr(part, entry.name)) for entry in fields(part))
    return isinstance(part, _Text | _Number)


def _negated(number: int) -> Fill:
    return lambda values: -values[number]


def _tuple_filler(parts: tuple[Any, ...]) -> Fill:
    if len(parts) > 1 and all(isinstance(part, _Text) or getattr(part, "sign", -1) > 0 for part in parts):
        return operator.itemgetter(*map(int, parts))
    fillers = [_filler(part) for part in parts]
    return lambda values: tuple([fill(values) for fill in fillers])


def _node_filler(node: Any) -> Fill:
    """Most nodes have one part with slots: the last of a comparison, the second of IN, the only one of AND and OR."""
    kind = type(node)
    parts = [getattr(node, entry.name) for entry in fields(node)]
    fillers = [_filler(part) for part in parts]
    if [_has_slot(part) for part in parts] == [False, False, True]:
        first, second, fill = parts[0], parts[1], fillers[2]
        return lambda values: kind(first, second, fill(values))
    if [_has_slot(part) for part in parts] == [False, True]:
        first, fill = parts[0], fillers[1]
        return lambda values: kind(first, fill(values))
    if len(parts) == 1:
        fill = fillers[0]
        return lambda values: kind(fill(values))
    return lambda values: kind(*[fill(values) for fill in fillers])


def _values(literals: list[str]) -> list[str | int | float] | None:
    """The constants' values; None where one is too large to be a number."""
    try:
        values = [
            literal[1:-1].replace("''", "'")
            if literal[0] == "'"
            else (int(literal) if literal.isdigit() else float(literal))
            for literal in literals
        ]
    except ValueError:
        return None
    return None if math.inf in values else values
