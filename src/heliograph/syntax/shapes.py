"""Sharing parses: texts that differ only in constants and variables have one shape, which is parsed once.

The shape of a text is what remains when its constants are lifted out. Parsing the first text of a shape records which
constants the parser looked at (they are pinned: only texts that agree on them share the parse) and which it merely
passed on in a role (they are slots). A later text is then a matter of reading its constants, role by role, and putting
them into the slots. The law: for every text the outcome equals that of a parse of its own; whatever does not fit (a
constant that may not stand in its role, a count named like a variable) falls back to just that parse.

A shape is learnt when it is met again, so that texts which share nothing cost no more than their parse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from heliograph.syntax.cursor import Record
from heliograph.syntax.nodes import IGNORED, Problem, Scope
from heliograph.syntax.query import Query
from heliograph.syntax.sparql_parser import finish, parse
from heliograph.syntax.templates import Template, make_template, row_of
from heliograph.syntax.tokens import LIFT, check_characters, tokenize

MOST_TEMPLATES = 4096  # about 5 kB each; beyond that, texts are parsed one by one


class _Family(NamedTuple):
    """The templates of one shape whose parses looked at the same constants, by the texts of those."""

    pinned: Callable[[list[str]], Any]
    templates: dict[Any, Template]


class Shapes:
    """The shapes met so far."""

    def __init__(self, verb: str, prefixes: Mapping[str, str]) -> None:
        self._verb = verb
        self._scope = Scope(prefixes)
        self._scopes: dict[tuple[Any, ...], Scope] = {}
        self._families: dict[tuple[str, ...], dict[tuple[int, ...], _Family]] = {}
        self._met: set[int] = set()  # hashes of shapes; two shapes with one hash are merely learnt a little early
        self.learnt = 0

    def compile(self, text: str) -> Query:
        """The query of a text; raises `SparqlError`."""
        check_characters(text)
        parts = LIFT.split(text)
        shape, constants = tuple(parts[0::2]), parts[1::2]
        template = self._known(shape, constants) or self._meet(shape, text, parts)
        if template is None:
            return parse_alone(text, self._scope, self._verb)
        try:
            return template.fill(constants)
        except Problem:
            return parse_alone(text, self._scope, self._verb)

    def _known(self, shape: tuple[str, ...], constants: list[str]) -> Template | None:
        for family in self._families.get(shape, _NONE).values():
            template = family.templates.get(family.pinned(constants))
            if template is not None:
                return template
        return None

    def _meet(self, shape: tuple[str, ...], text: str, parts: list[str]) -> Template | None:
        """The template of a shape that is met again; None the first time."""
        mark = hash(shape)
        if mark in self._met and self.learnt < MOST_TEMPLATES:
            return self._learn(text, parts)
        self._met.add(mark)
        return None

    def _learn(self, text: str, parts: list[str]) -> Template:
        constants = parts[1::2]
        record = Record([match.start(1) for match in LIFT.finditer(text)])
        draft, scope = parse(tokenize(text), self._scope, self._verb, record)
        scope = self._scopes.setdefault((scope.base, *sorted(scope.prefixes.items())), scope)
        template = make_template(draft, record, scope, constants)
        behind_signs = {number for _, number in record.signed}
        pinned = tuple(
            number for number, table in enumerate(template.tables) if table is IGNORED and number not in behind_signs
        )
        self.learnt += 1
        families = self._families.setdefault(tuple(parts[0::2]), {})
        family = families.setdefault(pinned, _Family(row_of(list(pinned)), {}))
        family.templates[family.pinned(constants)] = template
        return template


_NONE: dict[tuple[int, ...], _Family] = {}


def parse_alone(text: str, scope: Scope, verb: str) -> Query:
    """The query of a text by a parse of its own."""
    draft, _ = parse(tokenize(text), scope, verb)
    return finish(draft)
