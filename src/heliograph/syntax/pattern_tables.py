"""Pattern sets back to the tables of the contract. The law: what `tables_of` returns reads as the same queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.syntax.constraints import OPERATORS
from heliograph.syntax.patterns import PatternSet
from heliograph.syntax.query import Node
from heliograph.tables.schemas import TABLES
from heliograph.terms import Position, Term, spell

Numbers: TypeAlias = npt.NDArray[np.int64]
_Codes: TypeAlias = "npt.NDArray[np.integer[Any]]"
_CHUNK = 1 << 20  # rows of an Arrow chunk: the texts of one must stay below 2 GB


class Selection(NamedTuple):
    """Some subscriptions of a set, by number, and their names."""

    patterns: PatternSet
    numbers: Numbers
    names: Sequence[str]


class PatternTables(NamedTuple):
    patterns: pa.Table
    constraints: pa.Table


class _Column:
    """A column that grows by codes into further things; each distinct thing is spelled once."""

    def __init__(self, spelling: Callable[[Any], str | None]) -> None:
        self._spelling = spelling
        self._known: dict[Any, int] = {}
        self._codes: list[Numbers] = []

    def add(self, things: Iterable[Any], codes: _Codes) -> None:
        known = self._known
        numbers = np.array([known.setdefault(thing, len(known)) for thing in things], np.int64)
        self._codes.append(numbers[codes])

    def texts(self) -> pa.ChunkedArray[Any]:
        texts = pa.array([self._spelling(thing) for thing in self._known], pa.string())
        codes = np.concatenate([np.zeros(0, np.int64), *self._codes])
        chunks = [texts.take(codes[at : at + _CHUNK]) for at in range(0, len(codes), _CHUNK)]
        return pa.chunked_array(chunks, pa.string())


def _as_it_is(text: str | None) -> str | None:
    return text


def _cell(position: Position) -> Callable[[Node], str]:
    return lambda node: spell(node, position) if isinstance(node, Term) else str(node)


def tables_of(selections: Iterable[Selection]) -> PatternTables:
    """The rows of these subscriptions, those of one together and in order."""
    patterns = [_Column(_as_it_is), *(_Column(_cell(position)) for position in Position)]
    constraints = [_Column(_as_it_is), _Column(str), _Column(_as_it_is), _Column(_as_it_is)]
    for selection in selections:
        _add_edges(selection, patterns)
        if len(selection.patterns.values):
            _add_limits(selection, constraints)
    return PatternTables(_table("patterns", patterns), _table("constraints", constraints))


def _add_edges(selection: Selection, columns: Sequence[_Column]) -> None:
    names, *ends = columns
    patterns = selection.patterns
    rows = patterns.edge_rows(selection.numbers)
    names.add(selection.names, rows.owners)
    for column, codes in zip(ends, patterns.edges):
        column.add(patterns.nodes, codes[rows.positions])


def _add_limits(selection: Selection, columns: Sequence[_Column]) -> None:
    patterns = selection.patterns
    rows = patterns.limit_rows(selection.numbers)
    things = (selection.names, patterns.nodes, OPERATORS, patterns.values.to_pylist())
    codes = (rows.owners, *(column[rows.positions] for column in patterns.limits))
    for column, each, of in zip(columns, things, codes):
        column.add(each, of)


def _table(name: str, columns: Sequence[_Column]) -> pa.Table:
    return pa.Table.from_arrays([column.texts() for column in columns], schema=TABLES[name].arrow)
