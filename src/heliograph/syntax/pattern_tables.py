"""Pattern sets back to the tables of the contract. The law: what `tables_of` returns reads as the same queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.syntax.constraints import OPERATORS
from heliograph.syntax.patterns import PatternSet
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


class _Texts:
    """A column of text that grows by codes into further texts."""

    def __init__(self) -> None:
        self._texts: list[str | None] = []
        self._codes: list[_Codes] = []

    def add(self, texts: Iterable[str | None], codes: _Codes) -> None:
        self._codes.append(codes + len(self._texts))
        self._texts += texts

    def column(self) -> pa.ChunkedArray[Any]:
        texts = pa.array(self._texts, pa.string())
        codes = np.concatenate([np.zeros(0, np.int64), *self._codes])
        chunks = [texts.take(pa.array(codes[at : at + _CHUNK])) for at in range(0, len(codes), _CHUNK)]
        return pa.chunked_array(chunks, pa.string())


def tables_of(selections: Iterable[Selection]) -> PatternTables:
    """The rows of these subscriptions, those of one together and in order."""
    patterns, constraints = ([_Texts() for _ in TABLES[name].names] for name in PatternTables._fields)
    for selection in selections:
        _add_edges(selection, patterns)
        if len(selection.patterns.limits.value):
            _add_limits(selection, constraints)
    return PatternTables(_table("patterns", patterns), _table("constraints", constraints))


def _add_edges(selection: Selection, columns: list[_Texts]) -> None:
    names, *ends = columns
    patterns = selection.patterns
    rows = patterns.edge_rows(selection.numbers)
    names.add(selection.names, rows.owners)
    for column, codes, position in zip(ends, patterns.edges, Position):
        column.add(_cells(patterns, position), codes[rows.positions])


def _cells(patterns: PatternSet, position: Position) -> list[str]:
    return [spell(node, position) if isinstance(node, Term) else str(node) for node in patterns.nodes]


def _add_limits(selection: Selection, columns: list[_Texts]) -> None:
    patterns = selection.patterns
    rows = patterns.limit_rows(selection.numbers)
    cells = (selection.names, map(str, patterns.nodes), OPERATORS, patterns.values.to_pylist())
    codes = (rows.owners, *(column[rows.positions] for column in patterns.limits))
    for column, texts, of in zip(columns, cells, codes):
        column.add(texts, of)


def _table(name: str, columns: list[_Texts]) -> pa.Table:
    return pa.Table.from_arrays([column.column() for column in columns], schema=TABLES[name].arrow)
