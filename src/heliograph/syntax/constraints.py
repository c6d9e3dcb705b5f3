"""The constraints table: `variable operator value` to the filter or the is-a pattern that it means.

A row is read from its three cells alone, so equal rows are read once. Comparisons become FILTERs, the class operators
become patterns; `contains`, `starts-with` and `regex` look at the text of whatever the variable is bound to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, InterestError, TermError
from heliograph.syntax.query import (
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Expression,
    In,
    Node,
    Pattern,
    TriplePattern,
)
from heliograph.syntax.regex import regex_problem
from heliograph.terms import PREFIXES, RDF_TYPE, Position, Term, TermKind, Variable, literal, parse_cell, parse_node

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_REMEMBERED = 4096  # readings of rows that are kept: what is read again soon is read from memory
_MISSPELT = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">=", "isa": "is-a", "startswith": "starts-with"}


class Constraint(NamedTuple):
    """What a row means: a condition or a pattern, and the variables that the pattern rows must bind."""

    needs: tuple[Variable, ...]
    condition: Expression | None = None
    pattern: Pattern | None = None


class CellProblem(Exception):
    """An error and the column it is about; the caller knows the row."""

    def __init__(self, column: str, error: HeliographError) -> None:
        super().__init__(column)
        self.column = column
        self.error = error


class Constraints:
    """Reads constraint rows, and remembers some thousands of them."""

    def __init__(self, prefixes: Mapping[str, str] = PREFIXES) -> None:
        self.prefixes = prefixes
        self._read: dict[tuple[str | None, str | None, str | None], Constraint | CellProblem] = {}

    def read(self, row: tuple[str | None, str | None, str | None]) -> Constraint | CellProblem:
        """What a row (variable, operator, value) means, or what is wrong with it."""
        found = self._read.get(row)
        if found is None:
            try:
                found = self._constraint(*row)
            except CellProblem as problem:
                found = problem
            if len(self._read) >= _REMEMBERED:
                self._read = {}
            self._read[row] = found
        return found

    def _constraint(self, variable: str | None, operator: str | None, value: str | None) -> Constraint:
        name = self.variable(variable)
        reader = _READERS.get(operator or "")
        if reader is None:
            raise CellProblem("operator", _unknown_operator(operator))
        try:
            return reader(name, operator or "", value, self.prefixes)
        except HeliographError as error:
            raise CellProblem("value", error) from None

    def variable(self, text: str | None) -> Variable:
        """The variable of a cell, with or without its question mark."""
        name = (text or "").removeprefix("?")
        try:
            node = parse_node("?" + name)
        except TermError:
            node = None
        if not isinstance(node, Variable):
            fix = "write the variable's name, with or without the question mark"
            raise CellProblem("variable", InterestError("HG-441", f"{text!r} is no variable", fix=fix))
        return node


def _unknown_operator(operator: str | None) -> InterestError:
    close = _MISSPELT.get((operator or "").replace("_", "").lower()) or next(
        iter(get_close_matches((operator or "").strip().lower(), _READERS, n=1)), None
    )
    fix = f"did you mean {close}?" if close else f"the operators are {' '.join(_READERS)}"
    return InterestError("HG-442", f"no operator {operator!r}", fix=fix)


def _comparison(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    node = parse_node(value, Position.OBJECT, prefixes)
    if isinstance(node, Variable):
        return Constraint((name, node), Compare(operator, name, node))
    if node.kind is TermKind.BLANK:
        raise InterestError("HG-443", f"the blank node {value} as value", fix="compare with a variable, ?x")
    return Constraint((name,), Compare(operator, name, node))


def _membership(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    return Constraint((name,), In(name, tuple(_choices(value, prefixes))))


def _choices(value: str | None, prefixes: Mapping[str, str]) -> list[Expression]:
    fix = 'write a JSON array of terms, such as ["Alice", 5, "\\"text\\""]'
    try:
        cells = json.loads(value or "", parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InterestError("HG-443", f"{_short(value)} is no JSON array", fix=fix) from None
    if not isinstance(cells, list):
        raise InterestError("HG-443", f"{_short(value)} is no JSON array", fix=fix)
    return [_choice(cell, prefixes, fix) for cell in cells]


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _choice(cell: object, prefixes: Mapping[str, str], fix: str) -> Term:
    if isinstance(cell, bool):
        cell = "true" if cell else "false"
    if not isinstance(cell, str):
        raise InterestError("HG-443", f"{_short(json.dumps(cell))} in the array is no term", fix=fix)
    term = parse_cell(cell, Position.OBJECT, prefixes)
    if term.kind is TermKind.BLANK:
        raise InterestError("HG-443", f"the blank node {cell} in the array", fix="list IRIs, names and literals")
    return term


def _class(value: str | None, prefixes: Mapping[str, str]) -> Node:
    """A class: an IRI, a name or a variable."""
    node = parse_node(value, Position.SUBJECT, prefixes)
    if isinstance(node, Term) and node.kind is TermKind.BLANK:
        raise InterestError("HG-443", f"the blank node {value} as class", fix="name the class, or use a variable")
    return node


def _is_a(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    return Constraint((name,), pattern=ClassPattern(ClassRelation.IS_A, name, _class(value, prefixes)))


def _direct(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    return Constraint((name,), pattern=TriplePattern(name, RDF_TYPE, _class(value, prefixes)))


def _subclass(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    return Constraint((name,), pattern=ClassPattern(ClassRelation.SUBCLASS_OF, name, _class(value, prefixes)))


def _superclass(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    return Constraint((name,), pattern=ClassPattern(ClassRelation.SUBCLASS_OF, _class(value, prefixes), name))


_FUNCTIONS = {"contains": "CONTAINS", "starts-with": "STRSTARTS", "regex": "REGEX"}


def _textual(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    text = _text(value, prefixes)
    problem = regex_problem(text) if operator == "regex" else None
    if problem is not None:
        raise InterestError("HG-404", problem.message, fix=problem.fix)
    return Constraint((name,), Call(_FUNCTIONS[operator], (Call("STR", (name,)), literal(text))))


def _text(value: str | None, prefixes: Mapping[str, str]) -> str:
    """The text of a value: a quoted literal's, or the cell itself."""
    if not value:
        raise InterestError("HG-443", "an empty value", fix='write the text, or "" for the empty one')
    return parse_cell(value, Position.OBJECT, prefixes).value if value[0] == '"' else value


def _short(value: str | None, limit: int = 60) -> str:
    text = value or "nothing"
    return text if len(text) <= limit else text[:limit] + "…"


_Reader = Callable[[Variable, str, str | None, Mapping[str, str]], Constraint]
_READERS: dict[str, _Reader] = dict.fromkeys(["=", "!=", "<", "<=", ">", ">="], _comparison)
_READERS |= {"in": _membership, "is-a": _is_a, "direct-is-a": _direct, "subclass-of": _subclass}
_READERS |= {"superclass-of": _superclass, **dict.fromkeys(_FUNCTIONS, _textual)}
OPERATORS = tuple(_READERS)


def bare_integers(values: pa.Array[Any]) -> npt.NDArray[np.bool_]:
    """Which cells are integers that a float64 holds exactly. Any variable may be compared with one."""
    return np.asarray(pc.match_substring_regex(values, "^-?[0-9]{1,15}$").fill_null(False))
