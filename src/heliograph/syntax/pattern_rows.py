"""Pattern and constraint tables as codes, each distinct cell read once, their rows sorted by subscription.

The law: the rows of group i, `offsets[i]` to `offsets[i + 1]`, are those of the subscription `names[i]` in table order,
and names come in order of first appearance. A node's code counts from 0; a cell that spells no node has the code
`WRONG`, and a variable that no pattern has the code `UNBOUND`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.cells import Cells, Distinct, Text, distinct
from heliograph.errors import TermError
from heliograph.publications import Triples
from heliograph.syntax.constraints import OPERATORS, CellProblem, Constraints
from heliograph.syntax.pattern_cells import Reader
from heliograph.syntax.query import Node
from heliograph.terms import Position

Ints: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"
WRONG, UNBOUND = -1, -2
NO_OPERATOR = 255
_FEW = 64
_POSITIONS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_NUMBERS = {operator: number for number, operator in enumerate(OPERATORS)}


def _distinct(cells: Cells) -> Distinct:
    """As `distinct`; for a few rows without Arrow's kernels, which take 30 µs to begin."""
    if len(cells) > _FEW or not pa.types.is_string(cells.type):
        return distinct(cells)
    try:
        texts = cells.to_pylist()
    except UnicodeDecodeError:
        return distinct(cells)
    numbers: dict[Text, int] = {}
    codes = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in texts]
    return Distinct(np.array(codes, np.int32), list(numbers))


# --- rows by subscription ---------------------------------------------------------------------------------------


class Groups(NamedTuple):
    """Which rows belong to which subscription. `order` is the table row of each sorted one, None if they are alike."""

    names: list[str]
    owners: Ints  # of sorted rows: the group of each
    order: Ints | None
    offsets: npt.NDArray[np.int64]

    def sorted(self, column: Ints) -> Ints:
        return column if self.order is None else column[self.order]

    def row(self, position: int) -> int:
        """Where a sorted row stood."""
        return position if self.order is None else int(self.order[position])


def _group(names: list[str], owners: Ints) -> Groups:
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=len(names)), out=offsets[1:])
    if (owners[1:] >= owners[:-1]).all():
        return Groups(names, owners, None, offsets)
    order = np.argsort(owners, kind="stable")
    return Groups(names, owners[order], order, offsets)


def _owners(ids: pa.ChunkedArray[Any], numbers: dict[str, int]) -> Ints:
    """The group of each row; names that have none yet are given the next number."""
    codes, texts = _distinct(ids.cast(pa.string()) if pa.types.is_dictionary(ids.type) else ids)
    names = _decoded([*texts, None] if _has_nulls(codes) else texts)
    owners: Ints = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)[codes]
    return owners


def _decoded(texts: list[Text]) -> list[str]:
    """Names, where a null is an empty one."""
    if set(map(type, texts)) <= {str}:
        return cast(list[str], texts)
    return [text.decode(errors="replace") if isinstance(text, bytes) else text or "" for text in texts]


# --- patterns ---------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column with cells that spell no node: what is wrong with them by code, in table order."""

    name: str
    codes: Ints
    problems: Mapping[int, TermError]


class EdgeRows(NamedTuple):
    """Sorted pattern rows as codes of the distinct nodes, and the columns with wrong cells."""

    groups: Groups
    codes: Triples
    known: dict[Node, int]
    columns: Sequence[Column]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self.known)


def read_edges(table: pa.Table, reader: Reader) -> EdgeRows:
    numbers: dict[str, int] = {}
    owners = _owners(table["subscription_id"], numbers)
    groups = _group(list(numbers), owners)
    index: dict[Node, int] = {}
    columns = [_read_column(table[name], name, index, reader) for name in _POSITIONS]
    wrong = [column for column, _ in columns if column.problems]
    return EdgeRows(groups, Triples(*(groups.sorted(codes) for _, codes in columns)), index, wrong)


def _read_column(
    cells: Cells, name: str, index: dict[Node, int], reader: Reader
) -> tuple[Column, npt.NDArray[np.int32]]:
    codes, texts = _distinct(cells)
    position = _POSITIONS[name]
    known: list[int] = []
    problems: dict[int, TermError] = {}
    for code, text in enumerate([*texts, None] if _has_nulls(codes) else texts):
        try:
            known.append(index.setdefault(reader.node(text, position), len(index)))
        except TermError as error:
            known.append(WRONG)
            problems[code if code < len(texts) else -1] = error
    return Column(name, codes, problems), np.array(known, np.int32)[codes]


def _has_nulls(codes: Ints) -> bool:
    return bool(len(codes)) and bool(codes.min() < 0)


# --- constraints ------------------------------------------------------------------------------------------------


class LimitRows(NamedTuple):
    """Sorted constraint rows. `cells` are the columns as they were, in table order."""

    groups: Groups
    variable: npt.NDArray[np.int32]
    operator: npt.NDArray[np.uint8]
    value: npt.NDArray[np.int32]
    values: pa.Array[Any]
    cells: tuple[Distinct, Distinct, Distinct]
    reader: Constraints

    def row(self, row: int) -> tuple[str | None, str | None, str | None]:
        """The three cells of a table row."""
        return cast(
            "tuple[str | None, str | None, str | None]", tuple(texts[codes[row]] for codes, texts in self.cells)
        )


_NO_CELLS = Distinct(np.zeros(0, np.int32), [])
_NO_CODES, _NO_OPERATORS, _NO_VALUES = np.zeros(0, np.int32), np.zeros(0, np.uint8), pa.array([], pa.string())


def read_limits(table: pa.Table | None, edges: EdgeRows, reader: Reader) -> LimitRows:
    """The constraints of the same subscriptions; those of others follow as further groups."""
    names = edges.groups.names
    if table is None or not table.num_rows:
        groups = Groups(names, _NO_CODES, None, np.zeros(len(names) + 1, np.int64))
        none = (_NO_CELLS, _NO_CELLS, _NO_CELLS)
        return LimitRows(groups, _NO_CODES, _NO_OPERATORS, _NO_CODES, _NO_VALUES, none, reader.constraints)
    numbers = {name: number for number, name in enumerate(names)}
    owners = _owners(table["subscription_id"], numbers)
    groups = _group(list(numbers), owners)
    variables, operators, values = (_texts(table[name]) for name in ("variable", "operator", "value"))
    bound = [_variable(text, edges.known, reader.constraints) for text in variables.texts]
    known = [_NUMBERS.get(str(text), NO_OPERATOR) for text in operators.texts]
    return LimitRows(
        groups,
        np.array(bound, np.int32)[groups.sorted(variables.codes)],
        np.array(known, np.uint8)[groups.sorted(operators.codes)],
        groups.sorted(values.codes).astype(np.int32),
        pa.array(values.texts, pa.string()),
        (variables, operators, values),
        reader.constraints,
    )


def _texts(cells: Cells) -> Distinct:
    """As `distinct`, all of it text; a null is the last of the texts."""
    codes, texts = _distinct(cells)
    if not _has_nulls(codes):
        return Distinct(codes, [*_decoded(texts)])
    return Distinct(np.where(codes < 0, len(texts), codes), [*_decoded(texts), None])


def _variable(text: Text, index: Mapping[Node, int], reader: Constraints) -> int:
    assert not isinstance(text, bytes)
    try:
        return index.get(reader.variable(text), UNBOUND)
    except CellProblem:
        return WRONG
