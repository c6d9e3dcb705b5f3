"""From rows of a pattern to solutions of its query: VALUES joined, and the filters that no kernel could decide.

The law: a row of the pattern becomes exactly the solutions that extend it, each once, and two rows never become the
same one; so rows gained and lost are solutions gained and lost. Everything here is done for whole arrays of rows,
conditions once for each choice of terms that they look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Expression, Query, Values
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.encoding import NO_TERM
from heliograph.watch.modes import Solution, by_name

Flags: TypeAlias = "npt.NDArray[np.bool_]"


class Completed(NamedTuple):
    """Solutions as rows of term ids, NO_TERM where a variable is unbound; and which row each of them extends."""

    origins: Int64s
    terms: Int32s


class _Block(NamedTuple):
    """A VALUES block: the columns of its variables, and its rows of ids, NO_TERM for UNDEF."""

    columns: tuple[int, ...]
    rows: Int32s


class Completion:
    """What is left to be done to a query's rows. Columns of solutions are `variables`: see `modes.by_name`."""

    def __init__(
        self, query: Query, slots: Sequence[Variable], vocabulary: Vocabulary, filters: Sequence[Expression]
    ) -> None:
        self.variables = by_name(query)
        self.vocabulary = vocabulary
        self._slots = [slots.index(variable) for variable in self.variables if variable in slots]
        self._bound = [column for column, variable in enumerate(self.variables) if variable in slots]
        self._blocks = [self._block(block) for block in query.values]
        self._conditions = [(Condition.of(each), self._columns_of(each)) for each in filters]

    def __call__(self, rows: Int32s) -> Completed:
        """The solutions that extend these rows, in the order of the rows."""
        terms = np.full((len(rows), len(self.variables)), NO_TERM, np.int32)
        terms[:, self._bound] = rows[:, self._slots]
        found = Completed(np.arange(len(rows), dtype=np.int64), terms)
        for block in self._blocks:
            found = _joined(found, block)
        if self._blocks:
            found = _distinct(found)
        for condition, columns in self._conditions:
            kept = self._holds(condition, columns, found.terms)
            found = Completed(found.origins[kept], found.terms[kept])
        return found

    def solution(self, row: Sequence[int]) -> Solution:
        """A row of ids as bindings."""
        pairs = zip(self.variables, row, strict=True)
        return {variable: self.vocabulary.term(id) for variable, id in pairs if id != NO_TERM}

    def _block(self, block: Values) -> _Block:
        rows = [[NO_TERM if term is None else self.vocabulary.intern(term) for term in row] for row in block.rows]
        columns = tuple(self.variables.index(variable) for variable in block.variables)
        return _Block(columns, np.array(rows, np.int32).reshape(len(rows), len(columns)))

    def _columns_of(self, expression: Expression) -> list[int]:
        used = Condition.of(expression).variables
        return [column for column, variable in enumerate(self.variables) if variable in used]

    def _holds(self, condition: Condition, columns: list[int], terms: Int32s) -> Flags:
        choices, inverse = np.unique(terms[:, columns], axis=0, return_inverse=True)
        verdicts = [condition.holds(self._bindings(columns, choice)) for choice in choices.tolist()]
        return np.array(verdicts, np.bool_)[inverse.ravel()]

    def _bindings(self, columns: list[int], choice: list[int]) -> dict[Variable, Term]:
        pairs = zip(columns, choice, strict=True)
        return {self.variables[column]: self.vocabulary.term(id) for column, id in pairs if id != NO_TERM}


def _joined(found: Completed, block: _Block) -> Completed:
    """Every solution with every row of a block that it agrees with; UNDEF agrees with anything and binds nothing."""
    origins, terms = [found.origins[:0]], [found.terms[:0]]
    for row in block.rows.tolist():
        given = [(column, id) for column, id in zip(block.columns, row, strict=True) if id != NO_TERM]
        agrees = np.ones(len(found.terms), np.bool_)
        for column, id in given:
            agrees &= (found.terms[:, column] == id) | (found.terms[:, column] == NO_TERM)
        extended = found.terms[agrees]
        for column, id in given:
            extended[:, column] = id
        origins.append(found.origins[agrees])
        terms.append(extended)
    return Completed(np.concatenate(origins), np.concatenate(terms))


def _distinct(found: Completed) -> Completed:
    unique = np.unique(np.column_stack((found.origins, found.terms.astype(np.int64))), axis=0)
    return Completed(unique[:, 0], unique[:, 1:].astype(np.int32))
