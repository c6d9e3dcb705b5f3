"""The internal form of a filter or watch interest: what SPARQL text and pattern tables both compile to.

Everything here is immutable and hashable, so queries can be shared, compared and used as keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from heliograph.terms import Term, Variable

Node = Term | Variable


class TriplePattern(NamedTuple):  # a million of them in a bulk load: half the time of a dataclass to make and to hash
    """One edge of the pattern. A constant predicate rdf:type is the direct is-a form (taxonomy rows count);
    a constant predicate rdfs:member also matches every rdf:_n."""

    subject: Node
    predicate: Node
    object: Node


class ClassRelation(StrEnum):
    """`is-a` is `a/rdfs:subClassOf*`; `subclass-of` is `rdfs:subClassOf+` (its ends swapped: super-class of)."""

    IS_A = "is-a"
    SUBCLASS_OF = "subclass-of"


class ClassPattern(NamedTuple):
    """`subject relation object`, answered from the closure of taxonomy and document."""

    relation: ClassRelation
    subject: Node
    object: Node


Pattern = TriplePattern | ClassPattern


# --- expressions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str  # = != < <= > >=
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class In:
    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: str  # + - * /
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negate:
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in by its upper-case name: BOUND STR LANG DATATYPE ISIRI ISLITERAL CONTAINS STRSTARTS STRENDS REGEX."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """An `hg:` function by its local name (`degree`, `distance`, …); watch only."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT(*), in HAVING only."""


Expression = Term | Variable | Not | And | Or | Compare | In | Arithmetic | Negate | Call | Metric | Count


# --- the query --------------------------------------------------------------------------------------------------


class Form(StrEnum):
    SELECT = "select"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Values:
    """A VALUES block; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled interest.

    `projection` holds the named variables that SELECT lists (all of them for `*` and for pattern tables), in that
    order, and is empty for ASK and for counts. `filters` are ANDed. `variables` are all variables of the pattern in
    order of first appearance, hidden ones (blank nodes) included.
    """

    form: Form = Form.SELECT
    patterns: tuple[Pattern, ...] = ()
    filters: tuple[Expression, ...] = ()
    values: tuple[Values, ...] = ()
    projection: tuple[Variable, ...] = ()
    distinct: bool = False
    counted: bool = False  # SELECT (COUNT(*) AS ?n), or anything with GROUP BY or HAVING
    group_by: tuple[Variable, ...] = ()
    having: Expression | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(dict.fromkeys(_pattern_variables(self)))

    @property
    def named_variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if not variable.hidden)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every `hg:` function in the query, in order of appearance."""
        roots = (*self.filters, *((self.having,) if self.having is not None else ()))
        return tuple(node for root in roots for node in walk(root) if isinstance(node, Metric))


def _pattern_variables(query: Query) -> Iterator[Variable]:
    yield from [node for pattern in query.patterns for node in pattern if isinstance(node, Variable)]
    for block in query.values:
        yield from block.variables
    for metric in query.metrics:
        yield from (node for node in walk(metric) if isinstance(node, Variable))


def constants(query: Query) -> Iterator[Term]:
    """Every term that a query names in its pattern, its VALUES and its filters, in order of appearance."""
    yield from [node for pattern in query.patterns for node in pattern if isinstance(node, Term)]
    yield from [term for block in query.values for row in block.rows for term in row if term is not None]
    yield from [node for each in query.filters for node in walk(each) if isinstance(node, Term)]


def children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Not(operand) | Negate(operand):
            return (operand,)
        case And(operands) | Or(operands) | Call(_, operands) | Metric(_, operands):
            return operands
        case Compare(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case In(operand, choices):
            return (operand, *choices)
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, parents first, without recursion."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))
