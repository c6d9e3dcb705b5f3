"""What is wrong with the subscriptions of pattern tables: for each the first wrong row, and in it the first wrong cell.

Rows that are surely right are told apart whole columns at a time; of the others each distinct one is read once.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.errors import HeliographError, InterestError, Place
from heliograph.syntax.constraints import COMPARISONS, OPERATORS, CellProblem, Constraint, bare_integers
from heliograph.syntax.pattern_rows import UNBOUND, WRONG, EdgeRows, Groups, Ints, LimitRows
from heliograph.terms import Variable

_Flags: TypeAlias = npt.NDArray[np.bool_]
_FEW = 64  # rows up to which reading them is faster than finding out which need not be read
_ANY = -3  # stands for a variable that need not be bound
_IS_COMPARISON = np.array([operator in COMPARISONS for operator in OPERATORS] + [False] * (256 - len(OPERATORS)))


def nameless() -> InterestError:
    return InterestError("HG-440", "pattern rows without subscription_id", fix="give every row its subscription")


def without_patterns(name: str) -> InterestError:
    fix = "write its pattern rows too, or drop its constraints"
    return InterestError("HG-445", f"constraints for {name!r}, which has no patterns", place=Place(item=name), fix=fix)


def _at(error: HeliographError, table: str, row: int, column: str) -> HeliographError:
    """The same error, saying where it stands; rows count from 1."""
    message = f"{table} row {row + 1}, column {column}: {error.message}"
    return type(error)(error.code, message, fix=error.fix)


def _first(groups: Groups, wrong: _Flags) -> list[tuple[int, int]]:
    """The groups that have wrong rows, and the first of them as it was sorted."""
    positions = np.flatnonzero(wrong)
    if not len(positions):
        return []
    owners, first = np.unique(groups.owners[positions], return_index=True)
    return list(zip(owners.tolist(), positions[first].tolist()))


def size_faults(groups: Groups, table: str, most: int) -> dict[int, HeliographError]:
    """The subscriptions that have too many rows of a table."""
    counts = np.diff(groups.offsets)
    fix = "split it into several subscriptions"
    return {
        row: InterestError(
            "HG-436",
            f"{table}: {counts[row]:,} rows of one subscription, of at most {most:,}",
            place=Place(item=groups.names[row]),
            fix=fix,
        )
        for row in np.flatnonzero(counts > most).tolist()
    }


# --- patterns ---------------------------------------------------------------------------------------------------


def edge_faults(edges: EdgeRows) -> dict[int, HeliographError]:
    """What is wrong with each wrong subscription's patterns."""
    if not edges.columns:
        return {}
    wrong = np.logical_or.reduce([codes < 0 for codes in edges.codes])
    return {owner: _edge_fault(edges, position) for owner, position in _first(edges.groups, wrong)}


def _edge_fault(edges: EdgeRows, position: int) -> HeliographError:
    row = edges.groups.row(position)
    for column in edges.columns:
        problem = column.problems.get(int(column.codes[row]))
        if problem is not None:
            return _at(problem, "patterns", row, column.name)
    raise AssertionError(row)


# --- constraints ------------------------------------------------------------------------------------------------


class _Readings(NamedTuple):
    """For each sorted row the number of its reading, or -1 where it is surely right; what each reading was."""

    numbers: Ints
    found: list[Constraint | CellProblem]


def limit_faults(limits: LimitRows, edges: EdgeRows) -> dict[int, HeliographError]:
    """What is wrong with each wrong subscription's constraints."""
    if not len(limits.variable):
        return {}
    readings = _read(limits)
    lacking = ~_bound(edges, limits.groups.owners, _needs(limits, edges, readings))
    wrong = _first(limits.groups, lacking[0] | lacking[1])
    return {owner: _limit_fault(limits, readings, position, bool(lacking[0, position])) for owner, position in wrong}


def _read(limits: LimitRows) -> _Readings:
    """Reads every distinct row except variables compared with bare integers: nothing can be wrong with those."""
    sure = _IS_COMPARISON[limits.operator] & (limits.variable != WRONG)
    if len(sure) > _FEW:
        sure &= bare_integers(limits.values)[limits.value]
    else:
        sure[:] = False
    positions = np.flatnonzero(~sure)
    numbers = np.full(len(sure), -1, np.int64)
    if not len(positions):
        return _Readings(numbers, [])
    keys = np.zeros(len(positions), np.int64)
    for cell in limits.cells:
        keys = keys * len(cell.texts) + limits.groups.sorted(cell.codes)[positions]
    _, first, numbers[positions] = np.unique(keys, return_index=True, return_inverse=True)
    rows = [limits.groups.row(position) for position in positions[first].tolist()]
    return _Readings(numbers, [limits.reader.read(limits.row(row)) for row in rows])


def _needs(limits: LimitRows, edges: EdgeRows, readings: _Readings) -> Ints:
    """For each row the variables that must be bound, as two columns of codes; a wrong row has an unbound one."""
    read = [[_need(each, place, edges) for each in readings.found] + [_ANY] for place in (0, 1)]
    needs: Ints = np.array(read, np.int64)[:, readings.numbers]
    needs[0] = np.where(readings.numbers < 0, limits.variable, needs[0])
    return needs


def _need(reading: Constraint | CellProblem, place: int, edges: EdgeRows) -> int:
    if isinstance(reading, CellProblem):
        return UNBOUND
    return edges.known.get(reading.needs[place], UNBOUND) if place < len(reading.needs) else _ANY


def _bound(edges: EdgeRows, owners: Ints, needs: Ints) -> _Flags:
    """Whether a subscription's own patterns have the variable that it needs."""
    width = len(edges.known) + 1
    wanted = owners.astype(np.int64) * width + needs
    is_variable = np.array([type(node) is Variable for node in edges.known] + [False])
    rows = [np.flatnonzero(is_variable[codes]) for codes in edges.codes]
    known = [edges.groups.owners[at].astype(np.int64) * width + codes[at] for at, codes in zip(rows, edges.codes)]
    bound: _Flags = (needs == _ANY) | (needs >= 0) & _is_in(wanted, np.concatenate(known))
    return bound


def _is_in(wanted: Ints, known: Ints) -> _Flags:
    """As np.isin, in a fraction of its time: a few are compared with all, many are looked up among the sorted."""
    found: _Flags
    if wanted.size * known.size <= _FEW**2:
        found = (wanted[..., None] == known).any(axis=-1)
    else:
        known = np.sort(known)
        found = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted
    return found


def _limit_fault(limits: LimitRows, readings: _Readings, position: int, at_first: bool) -> HeliographError:
    """What is wrong with a row: a cell, or else the first or the second variable that it needs."""
    row, number = limits.groups.row(position), int(readings.numbers[position])
    found = readings.found[number] if number >= 0 else limits.reader.read(limits.row(row))
    if isinstance(found, CellProblem):
        return _at(found.error, "constraints", row, found.column)
    variable = found.needs[0 if at_first else 1]
    fix = f"write {variable} in a pattern row of this subscription"
    error = InterestError("HG-444", f"no pattern row has {variable}", fix=fix)
    return _at(error, "constraints", row, "variable" if at_first else "value")
