"""Pattern tables to queries: the bulk way to subscribe, which skips text.

The rows of one subscription are ANDed, wherever they lie. Each distinct cell is read once, and patterns are made of
whole columns. A row that is wrong rejects its whole subscription, because a pattern that lacks an edge would match too
much; other subscriptions are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.cells import distinct
from heliograph.errors import HeliographError, InterestError, Place, TermError
from heliograph.syntax.bulk import collector_paused
from heliograph.syntax.constraints import CellProblem, Constraint, Constraints
from heliograph.syntax.query import Expression, Form, Node, Pattern, Query, TriplePattern
from heliograph.terms import PLAIN, PREFIXES, Position, Term, TermKind, Variable, iri, parse_node

_Ints: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"
_POSITIONS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_CELLS = ("variable", "operator", "value")

# A pattern from its fields, without the wrapper that checks their number: half of its time.
_make = cast(Callable[[type, tuple[Any, ...]], TriplePattern], tuple.__new__)


def compile_patterns(
    patterns: pa.Table, constraints: pa.Table | None = None, prefixes: Mapping[str, str] = PREFIXES
) -> dict[str, Query | HeliographError]:
    """The query of every subscription, or what is wrong with it, in order of first appearance."""
    with collector_paused():
        edges = _read_patterns(patterns, prefixes)
        conditions = {} if constraints is None else _read_constraints(constraints, prefixes)
        compiled = {name: _compile(name, rows, conditions.pop(name, ())) for name, rows in edges.items()}
    return compiled | {name: _without_patterns(name) for name in conditions}


# --- rows by subscription ---------------------------------------------------------------------------------------


class _Groups(NamedTuple):
    """The rows of a table by subscription: its name, and its rows as `order[bounds[i]:bounds[i + 1]]`."""

    names: list[str]
    order: _Ints
    bounds: list[int]

    def slices(self) -> Iterator[tuple[str, int, int]]:
        return zip(self.names, self.bounds, self.bounds[1:])


def _group(table: pa.Table) -> _Groups:
    """Subscriptions in order of first appearance, the rows of each in table order."""
    ids = table["subscription_id"]
    codes, texts = distinct(ids.cast(pa.string()) if pa.types.is_dictionary(ids.type) else ids)
    order = np.argsort(codes, kind="stable")
    changes = np.flatnonzero(np.diff(codes[order], prepend=-2))
    names = [_name(texts[code]) if code >= 0 else "" for code in codes[order[changes]].tolist()]
    return _Groups(names, order, [*changes.tolist(), len(order)])


def _name(text: str | bytes | None) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text or ""


# --- pattern rows -----------------------------------------------------------------------------------------------


class _Edges(NamedTuple):
    """The pattern rows of one subscription, or what is wrong with the first wrong one."""

    patterns: tuple[TriplePattern, ...]
    error: HeliographError | None


class _Column(NamedTuple):
    """A column as codes into its distinct nodes; `problems` by code. The code -1 is a null cell."""

    name: str
    codes: _Ints
    nodes: list[Node | None]
    problems: dict[int, TermError]

    def ordered(self, order: _Ints) -> list[Node | None]:
        nodes = self.nodes
        return [nodes[code] for code in self.codes[order].tolist()]

    def wrong_rows(self) -> list[int]:
        return np.flatnonzero(np.isin(self.codes, list(self.problems))).tolist()


def _read_patterns(table: pa.Table, prefixes: Mapping[str, str]) -> dict[str, _Edges]:
    columns = [_read_column(table[name], name, prefixes) for name in _POSITIONS]
    groups = _group(table)
    ends = [column.ordered(groups.order) for column in columns]
    patterns = list(map(_make, repeat(TriplePattern), zip(*ends)))
    errors = _row_errors(columns)
    edges = {name: _Edges(tuple(patterns[start:stop]), None) for name, start, stop in groups.slices()}
    if errors:
        for name, start, stop in groups.slices():
            wrong = next((row for row in groups.order[start:stop].tolist() if row in errors), None)
            edges[name] = edges[name] if wrong is None else _Edges((), errors[wrong])
    return edges


def _read_column(cells: pa.ChunkedArray[Any], name: str, prefixes: Mapping[str, str]) -> _Column:
    codes, texts = distinct(cells)
    nodes: list[Node | None] = []
    problems: dict[int, TermError] = {}
    for code, text in enumerate([*texts, None]):
        try:
            nodes.append(_read_cell(text, _POSITIONS[name], prefixes))
        except TermError as error:
            nodes.append(None)
            problems[code if code < len(texts) else -1] = error
    return _Column(name, codes, nodes, problems)


_NOT_NAMES = frozenset({"a", "true", "false"})


def _read_cell(text: str | bytes | None, position: Position, prefixes: Mapping[str, str]) -> Node:
    if isinstance(text, str) and text.isidentifier() and text.isascii() and text not in _NOT_NAMES:
        return iri(PLAIN + text)  # what parse_node would say of so simple a name, in a third of its time
    if isinstance(text, bytes):
        raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="save the table as UTF-8")
    node = parse_node(text, position, prefixes)
    return Variable(f"_:{node.value}") if isinstance(node, Term) and node.kind is TermKind.BLANK else node


def _row_errors(columns: list[_Column]) -> dict[int, HeliographError]:
    """What is wrong with each wrong row: its first wrong cell."""
    errors: dict[int, HeliographError] = {}
    for column in columns:
        if column.problems:
            for row in column.wrong_rows():
                errors.setdefault(row, _at(column.problems[int(column.codes[row])], "patterns", row, column.name))
    return errors


# --- constraint rows --------------------------------------------------------------------------------------------

_Conditions = tuple[tuple[int, Constraint | CellProblem], ...]


def _read_constraints(table: pa.Table, prefixes: Mapping[str, str]) -> dict[str, _Conditions]:
    """The constraints of each subscription, with their rows."""
    reader = Constraints(prefixes)
    groups = _group(table)
    columns = [_texts(table[name]) for name in _CELLS]
    found = [reader.read(row) for row in zip(*columns)]
    order = groups.order.tolist()
    return {name: tuple((row, found[row]) for row in order[start:stop]) for name, start, stop in groups.slices()}


def _texts(cells: pa.ChunkedArray[Any]) -> list[str | None]:
    codes, texts = distinct(cells)
    decoded = [*(None if text is None else _name(text) for text in texts), None]
    return [decoded[code] for code in codes.tolist()]


# --- one subscription -------------------------------------------------------------------------------------------


def _compile(name: str, edges: _Edges, conditions: _Conditions) -> Query | HeliographError:
    if not name:
        return InterestError("HG-440", "pattern rows without subscription_id", fix="give every row its subscription")
    if edges.error is not None:
        return edges.error
    variables = _variables(edges.patterns)
    return _error(variables, conditions) or _query(edges, conditions, variables)


def _variables(patterns: tuple[Pattern, ...]) -> dict[Variable, None]:
    """The variables of patterns in order of appearance."""
    return dict.fromkeys([node for node in chain.from_iterable(patterns) if type(node) is Variable])


def _query(edges: _Edges, conditions: _Conditions, variables: dict[Variable, None]) -> Query:
    patterns: tuple[Pattern, ...] = edges.patterns
    filters: list[Expression] = []
    for _, constraint in conditions:
        if isinstance(constraint, Constraint) and constraint.condition is not None:
            filters.append(constraint.condition)
        elif isinstance(constraint, Constraint) and constraint.pattern is not None:
            patterns += (constraint.pattern,)
    if len(patterns) > len(edges.patterns):
        variables = _variables(patterns)
    shown = [variable for variable in variables if variable.name[:2] != "_:"]
    return Query(Form.SELECT, patterns, tuple(filters), (), tuple(shown))


def _error(variables: dict[Variable, None], conditions: _Conditions) -> HeliographError | None:
    """What is wrong with the first wrong constraint."""
    for row, constraint in conditions:
        if isinstance(constraint, CellProblem):
            return _at(constraint.error, "constraints", row, constraint.column)
        for variable in constraint.needs:
            if variable not in variables:
                fix = f"write {variable} in a pattern row of this subscription"
                error = InterestError("HG-444", f"no pattern row has {variable}", fix=fix)
                return _at(error, "constraints", row, "variable" if variable == constraint.needs[0] else "value")
    return None


def _without_patterns(name: str) -> InterestError:
    fix = "write its pattern rows too, or drop its constraints"
    return InterestError("HG-445", f"constraints for {name!r}, which has no patterns", place=Place(item=name), fix=fix)


def _at(error: HeliographError, table: str, row: int, column: str) -> HeliographError:
    """The same error, saying where it stands; rows count from 1."""
    message = f"{table} row {row + 1}, column {column}: {error.message}"
    return type(error)(error.code, message, fix=error.fix)
