"""Binding tables and their natural join: which values the stars of a subscription can take together.

A table has a column for each end of an edge ([G] algorithm Insert: newTable(E.v, E.w)) and a row for each publication
edge that the edge matches. The law: the bindings of a subscription are the rows of the natural join of its edges'
tables ([G] section 4.2, figure 8), and a condition on one column may be tested before or after any join.

Mend (SEED_NOTES, filter 2): printed, all tables are joined before anything is checked, and a fork of n equal edges
has |table| ** n rows. Only truth is asked here, so a column that no table still to come shares is checked and dropped,
equal rows are kept once, and parts that share no column are joined apart: their product is empty only if one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from heliograph.baselines.gm_constraints import check_constraints
from heliograph.baselines.gm_subscription import Edge, Star, SubscriptionGraph, Vertex
from heliograph.taxonomy import Classes
from heliograph.terms import Term

Row = tuple[Term, ...]
Accept = Callable[[Vertex, Term], bool]


class BindingTable(NamedTuple):
    """Rows of values under the vertices they are values of."""

    columns: tuple[Vertex, ...]
    rows: Sequence[Row]


def natural_join(left: BindingTable, right: BindingTable) -> BindingTable:
    """The rows of both that agree on all common columns: the right one is hashed on them."""
    common = [column for column in right.columns if column in left.columns]
    added = [column for column in right.columns if column not in left.columns]
    key, keyed, rest = (_picker(*pair) for pair in ((left, common), (right, common), (right, added)))
    hashed: dict[Row, list[Row]] = {}
    for row in right.rows:
        hashed.setdefault(keyed(row), []).append(rest(row))
    rows = [row + more for row in left.rows for more in hashed.get(key(row), ())]
    return BindingTable((*left.columns, *added), rows)


def star_table(edge: Edge, rows: Sequence[Row]) -> BindingTable:
    """An edge's table without its constant ends, which bind nothing; a star at both ends takes one value."""
    columns = [end for end in (edge.source, edge.target) if isinstance(end, Star)]
    if len(columns) == 2 and columns[0] == columns[1]:
        return BindingTable((edge.source,), [(source,) for source, target in rows if source == target])
    return project(BindingTable((edge.source, edge.target), rows), columns)


def project(table: BindingTable, columns: Sequence[Vertex]) -> BindingTable:
    """Some of a table's columns, each row once."""
    if tuple(columns) == table.columns:
        return table
    return BindingTable(tuple(columns), list(dict.fromkeys(map(_picker(table, columns), table.rows))))


def joins(graph: SubscriptionGraph, tables: Iterable[BindingTable], classes: Classes) -> bool:
    """Whether the star tables of a subscription's edges join in a row that satisfies its constraints."""

    def accept(vertex: Vertex, value: Term) -> bool:
        return check_constraints(graph.constraints_of(vertex), value, classes)

    return joinable(tables, accept)


def joinable(tables: Iterable[BindingTable], accept: Accept) -> bool:
    """Whether the natural join of the tables has a row each of whose values is accepted."""
    waiting = sorted(tables, key=lambda table: len(table.rows))  # the smallest first
    if waiting and not waiting[0].rows:
        return False
    waiting = [table for table in waiting if table.columns]
    while waiting:
        joined = _settle(waiting.pop(0), waiting, accept)
        while joined.rows and (position := _next(joined, waiting)) is not None:
            table = waiting.pop(position)
            joined = _settle(natural_join(joined, table), waiting, accept)
        if not joined.rows:
            return False
    return True


def _next(joined: BindingTable, waiting: Sequence[BindingTable]) -> int | None:
    """The first table that shares a column."""
    shares = (number for number, table in enumerate(waiting) if any(each in joined.columns for each in table.columns))
    return next(shares, None)


def _settle(table: BindingTable, waiting: Sequence[BindingTable], accept: Accept) -> BindingTable:
    """Drops the columns that no waiting table has, with the rows whose values there are not accepted."""
    needed = set(chain.from_iterable(other.columns for other in waiting))
    final = [column for column in table.columns if column not in needed]
    rows = table.rows
    for column in final:
        at = table.columns.index(column)
        good = {value for value in {row[at] for row in rows} if accept(column, value)}
        rows = [row for row in rows if row[at] in good]
    kept = [column for column in table.columns if column in needed]
    return project(BindingTable(table.columns, rows), kept)


def _picker(table: BindingTable, columns: Sequence[Vertex]) -> Callable[[Row], Row]:
    places = [table.columns.index(column) for column in columns]
    return lambda row: tuple([row[place] for place in places])
