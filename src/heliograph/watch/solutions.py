"""From rows of a pattern to solutions of its query: VALUES joined, and the filters that no kernel could decide.

The law: a row of the pattern becomes exactly the solutions that extend it, each once, and two rows never become the
same one; so rows gained and lost are solutions gained and lost. Everything here is done for whole arrays of rows,
conditions once for each choice of terms that they look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import And, Compare, Expression, Query, TriplePattern, Values
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable
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
        self.is_of_no_pattern = not query.patterns
        self.doubtful = frozenset(self.variables) - _touched(query)  # what they bind need be no vertex
        self.vocabulary = vocabulary
        self._slots = [slots.index(variable) for variable in self.variables if variable in slots]
        self._bound = [column for column, variable in enumerate(self.variables) if variable in slots]
        self._blocks = [self._block(block) for block in query.values]
        tests = (Condition.of(part) for each in filters for part in _conjuncts(each))
        self._conditions = [(test, self._columns_of(test)) for test in tests]

    @property
    def free(self) -> list[int]:
        """The columns of variables that nothing binds: only metrics ask them."""
        given = {column for block in self._blocks for column in block.columns}
        return [column for column in range(len(self.variables)) if column not in self._bound and column not in given]

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

    def _columns_of(self, test: Condition) -> list[int]:
        return [column for column, variable in enumerate(self.variables) if variable in test.variables]

    def _holds(self, condition: Condition, columns: list[int], terms: Int32s) -> Flags:
        verdicts = np.zeros(len(terms), np.bool_)
        doubtful = np.ones(len(terms), np.bool_)
        if (differs := _says_different(condition.expression)) is not None and len(columns) == 2:
            one, other = terms[:, columns[0]], terms[:, columns[1]]
            doubtful = self._may_be_equal(one, other)
            verdicts = (one != other) == differs
        choices, inverse = _choices(terms[doubtful][:, columns])
        judged = [condition.holds(self._bindings(columns, choice)) for choice in choices.tolist()]
        verdicts[doubtful] = np.array(judged, np.bool_)[inverse]
        return verdicts

    def _may_be_equal(self, one: Int32s, other: Int32s) -> Flags:
        """Where two terms must be looked at to know whether they are equal: unbound ones, and literals."""
        met = np.unique(np.concatenate((one, other)))
        known = met[met != NO_TERM]
        odd = np.zeros(int(met[-1]) + 2 if len(met) else 1, np.bool_)
        odd[known] = self.vocabulary.typed(known).category == TermKind.LITERAL
        odd[NO_TERM] = True  # the last entry
        doubtful: Flags = (odd[one] & odd[other]) | (one == NO_TERM) | (other == NO_TERM)
        return doubtful

    def _bindings(self, columns: list[int], choice: list[int]) -> dict[Variable, Term]:
        pairs = zip(columns, choice, strict=True)
        return {self.variables[column]: self.vocabulary.term(id) for column, id in pairs if id != NO_TERM}


def _touched(query: Query) -> frozenset[Variable]:
    """The variables that nothing but vertices fill: at the ends of edges that only the graph has, no taxonomy."""
    edges = [each for each in query.patterns if isinstance(each, TriplePattern) and isinstance(each.predicate, Term)]
    plain = [each for each in edges if each.predicate not in (RDF_TYPE, RDFS_SUBCLASS_OF)]
    ends = (node for each in plain for node in (each.subject, each.object))
    return frozenset(node for node in ends if isinstance(node, Variable))


def _says_different(expression: Expression) -> bool | None:
    """True for `?x != ?y`, False for `?x = ?y`, None for everything else."""
    match expression:
        case Compare("=" | "!=" as operator, Variable(), Variable()):
            return operator == "!="
    return None


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    """A conjunction holds where each of its parts does."""
    if isinstance(expression, And):
        for operand in expression.operands:
            yield from _conjuncts(operand)
    else:
        yield expression


def _choices(terms: Int32s) -> tuple[Int32s, Int64s]:
    """The distinct rows, and which of them each row is; pairs are packed, which is several times as fast."""
    if terms.shape[1] == 2:
        packed = np.ascontiguousarray(terms).view(np.int64).ravel()
        pairs, inverse = np.unique(packed, return_inverse=True)
        return pairs.view(np.int32).reshape(-1, 2), inverse
    choices, inverse = np.unique(terms, axis=0, return_inverse=True)
    return choices, inverse.ravel()


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
