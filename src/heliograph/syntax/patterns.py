"""Pattern tables to queries: the bulk way to subscribe, which skips text.

The rows of one subscription are ANDed, wherever they lie. A row that is wrong rejects its whole subscription, because
a pattern that lacks an edge would match too much; other subscriptions are not touched.

A `PatternSet` keeps whole tables as codes into their distinct nodes and values, some 20 bytes a row; the query of one
subscription is made when it is asked for. The law: it depends on the subscription's own rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import HeliographError
from heliograph.syntax.bulk import collector_paused
from heliograph.syntax.constraints import OPERATORS, Constraint
from heliograph.syntax.limits import MAX_CONSTRAINTS, MAX_PATTERNS
from heliograph.syntax.pattern_cells import Reader
from heliograph.syntax.pattern_faults import edge_faults, limit_faults, nameless, size_faults, without_patterns
from heliograph.syntax.pattern_rows import EdgeRows, Groups, LimitRows, read_edges, read_limits
from heliograph.syntax.query import Expression, Form, Node, Pattern, Query, TriplePattern
from heliograph.terms import PREFIXES, Variable

Offsets: TypeAlias = npt.NDArray[np.int64]
Texts: TypeAlias = "pa.Array[Any]"

# A pattern from its fields, without the wrapper that checks their number: half of its time.
_make = cast(Callable[[type, tuple[Any, ...]], TriplePattern], tuple.__new__)


def compile_patterns(
    patterns: pa.Table, constraints: pa.Table | None = None, prefixes: Mapping[str, str] = PREFIXES
) -> dict[str, Query | HeliographError]:
    """The query of every subscription, or what is wrong with it, in order of first appearance."""
    read = read_patterns(patterns, constraints, Reader(prefixes))
    with collector_paused():
        return {name: read.errors.get(row) or read.query(row) for row, name in enumerate(read.names)}


class Limits(NamedTuple):
    """Constraint rows: the code of their variable, their operator's number in `OPERATORS`, the code of their value."""

    variable: npt.NDArray[np.int32]
    operator: npt.NDArray[np.uint8]
    value: npt.NDArray[np.int32]


class Rows(NamedTuple):
    """The rows of some subscriptions, end to end: where each stands in its set, to which of them it belongs (counted
    from 0), and where the rows of each begin and end."""

    positions: Offsets
    owners: Offsets
    offsets: Offsets

    def of(self, one: int) -> list[int]:
        """Where the rows of one of them stand."""
        rows: list[int] = self.positions[self.offsets[one] : self.offsets[one + 1]].tolist()
        return rows


class PatternSet:
    """The subscriptions of pattern tables. Number i is called `names[i]`; if it is not in `errors`, it has the edges
    from edge_offsets[i] to edge_offsets[i + 1] and the limits from limit_offsets[i] to limit_offsets[i + 1].

    Edges and limits are codes: of `nodes`, and of `values` for the value of a limit.
    """

    __slots__ = (
        "_reader",
        "edge_offsets",
        "edges",
        "errors",
        "limit_offsets",
        "limits",
        "names",
        "nodes",
        "values",
    )

    def __init__(self, edges: EdgeRows, limits: LimitRows, errors: dict[int, HeliographError]) -> None:
        self.names: Sequence[str] = limits.groups.names
        self.nodes: Sequence[Node] = edges.nodes
        self.edges = edges.codes
        self.edge_offsets = _extended(edges.groups.offsets, len(self.names))
        self.limits = Limits(limits.variable, limits.operator, limits.value)
        self.limit_offsets = limits.groups.offsets
        self.values: Texts = limits.values
        self.errors: Mapping[int, HeliographError] = errors
        self._reader = limits.reader

    def __len__(self) -> int:
        return len(self.names)

    # --- one subscription ---------------------------------------------------------------------------------------

    def query(self, number: int) -> Query:
        """The query of one subscription, made anew."""
        rows = slice(*self.edge_offsets[number : number + 2].tolist())
        nodes = self.nodes
        ends = zip(*(column[rows].tolist() for column in self.edges))
        edges = [_make(TriplePattern, (nodes[s], nodes[p], nodes[o])) for s, p, o in ends]
        first, last = self.limit_offsets[number : number + 2].tolist()
        return _query(edges, [self.constraint(row) for row in range(first, last)])

    def constraint(self, row: int) -> Constraint:
        """What a limit of a subscription without errors means."""
        name = str(self.nodes[self.limits.variable[row]])
        value = self.values[int(self.limits.value[row])].as_py()
        found = self._reader.read((name, OPERATORS[self.limits.operator[row]], value))
        assert isinstance(found, Constraint)
        return found

    # --- many ---------------------------------------------------------------------------------------------------

    def edge_rows(self, numbers: Offsets) -> Rows:
        return _rows(self.edge_offsets, numbers)

    def limit_rows(self, numbers: Offsets) -> Rows:
        return _rows(self.limit_offsets, numbers)


def _rows(offsets: Offsets, numbers: Offsets) -> Rows:
    starts = offsets[numbers]
    counts = offsets[numbers + 1] - starts
    ends = np.cumsum(counts)
    shift = np.repeat(starts - ends + counts, counts)
    return Rows(shift + np.arange(len(shift)), np.repeat(np.arange(len(numbers)), counts), np.append(0, ends))


def read_patterns(patterns: pa.Table, constraints: pa.Table | None, reader: Reader) -> PatternSet:
    """A set from the tables of the contract. Constraints without patterns are errors, behind the subscriptions."""
    with collector_paused():
        edges = read_edges(patterns, reader)
        limits = read_limits(constraints, edges, reader)
        errors = limit_faults(limits, edges) | edge_faults(edges) | _name_faults(edges.groups, limits.groups)
        errors |= size_faults(edges.groups, "patterns", MAX_PATTERNS)
        errors |= size_faults(limits.groups, "constraints", MAX_CONSTRAINTS)
        return PatternSet(edges, limits, errors)


def _name_faults(patterns: Groups, all: Groups) -> dict[int, HeliographError]:
    """Rows without a name, and names that only constraints have."""
    first = len(patterns.names)
    strays = {row: without_patterns(name) for row, name in enumerate(all.names[first:], first)}
    return {**strays, **({patterns.names.index(""): nameless()} if "" in patterns.names else {})}


def _extended(offsets: Offsets, count: int) -> Offsets:
    """Offsets of `count` groups, the further ones empty."""
    return np.append(offsets, np.full(count + 1 - len(offsets), offsets[-1])) if len(offsets) <= count else offsets


def _query(edges: Sequence[TriplePattern], constraints: Iterable[Constraint]) -> Query:
    patterns: list[Pattern] = [*edges]
    filters: list[Expression] = []
    for constraint in constraints:
        if constraint.condition is not None:
            filters.append(constraint.condition)
        elif constraint.pattern is not None:
            patterns.append(constraint.pattern)
    variables = dict.fromkeys([node for node in chain.from_iterable(patterns) if type(node) is Variable])
    shown = [variable for variable in variables if variable.name[:2] != "_:"]
    return Query(Form.SELECT, tuple(patterns), tuple(filters), (), tuple(shown))
