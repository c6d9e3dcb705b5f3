"""What every match of a query must satisfy, part by part: conditions, VALUES, and the places where variables stand.

The laws: a solution satisfies all demands of its query, so demands that contradict each other rule out every
publication. A subject is never a literal and a property is an IRI, in documents and in taxonomies. Conditions with
`hg:` functions are left out: what a graph measures is nobody's to say beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from heliograph.index.comparing import NAMES, Lines
from heliograph.index.domains import Domain
from heliograph.index.lines import WHOLE
from heliograph.syntax.query import (
    And,
    Arithmetic,
    Call,
    Compare,
    Expression,
    In,
    Metric,
    Negate,
    Not,
    Or,
    Query,
    TriplePattern,
    Values,
    walk,
)
from heliograph.syntax.spelling import spell_expression
from heliograph.terms import Variable

_LONGEST = 200  # characters of a condition that a message quotes
_IRIS: Lines = {Domain.IRI: WHOLE}
_TEXTS: Lines = {Domain.TEXT: WHOLE}
_RESULTS = {"STR": _TEXTS, "LANG": _TEXTS, "DATATYPE": _IRIS}


class Place(NamedTuple):
    """Where the value of a variable must lie."""

    variable: Variable
    lines: Lines


class Demand(NamedTuple):
    """One thing that a match must satisfy: a condition, a VALUES block, or where a variable stands."""

    condition: Expression | None = None
    settled: bool = False  # every variable of the condition is bound in every solution
    lost: tuple[Variable, ...] = ()  # variables that nothing binds, without which the condition is an error
    values: Values | None = None
    place: Place | None = None

    @property
    def text(self) -> str:
        if self.condition is not None:
            return shortened(spell_expression(self.condition))
        if self.values is not None:
            return f"VALUES {' '.join(map(str, self.values.variables))}"
        assert self.place is not None
        said = "a property (always an IRI)" if self.place.lines is _IRIS else "a subject (never a literal)"
        return f"{self.place.variable} being {said}"


def demands_of(query: Query) -> list[Demand]:
    """The demands of a query, conditions first."""
    known = set(query.variables)
    doubtful = _doubtful(query)
    demands = [_condition(each, known, doubtful) for each in conjuncts(query.filters) if not _measures(each)]
    demands += [Demand(values=block) for block in query.values]
    return demands + [Demand(place=place) for place in _places(query)]


def conjuncts(filters: Iterable[Expression]) -> Iterator[Expression]:
    """What filters demand, one by one."""
    stack = list(filters)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, And):
            stack.extend(reversed(node.operands))
        else:
            yield node


def names_in(expression: Expression) -> set[Variable]:
    return {node for node in walk(expression) if isinstance(node, Variable)}


def _measures(expression: Expression) -> bool:
    return any(isinstance(node, Metric) for node in walk(expression))


def _doubtful(query: Query) -> set[Variable]:
    """Variables that some solutions may leave unbound: no pattern has them, and VALUES says UNDEF."""
    bound = set(Query(patterns=query.patterns).variables)
    columns = ((name, {row[at] for row in block.rows}) for block in query.values for at, name in _numbered(block))
    return {name for name, terms in columns if None in terms} - bound


def _numbered(block: Values) -> Iterable[tuple[int, Variable]]:
    return enumerate(block.variables)


def _condition(expression: Expression, known: set[Variable], doubtful: set[Variable]) -> Demand:
    names = names_in(expression)
    unbound = names - known
    lost = tuple(sorted(unbound)) if unbound and _is_lost(expression, unbound) else ()
    return Demand(expression, names <= known - doubtful, lost)


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _is_lost(expression: Expression, unbound: set[Variable]) -> bool:
    """Whether it is an error whatever else is bound: an error passes through everything but AND, OR, IN and BOUND."""
    match expression:
        case Variable():
            return expression in unbound
        case Or(operands):
            return all(_is_lost(operand, unbound) for operand in operands)
        case Compare(_, left, right) | Arithmetic(_, left, right):
            return _is_lost(left, unbound) or _is_lost(right, unbound)
        case Not(operand) | Negate(operand) | In(operand):
            return _is_lost(operand, unbound)
        case Call(name, arguments) if name != "BOUND":
            return any(_is_lost(argument, unbound) for argument in arguments)
    return False


# --- places -----------------------------------------------------------------------------------------------------


def _places(query: Query) -> Iterator[Place]:
    subjects = dict.fromkeys([pattern.subject for pattern in query.patterns])
    properties = dict.fromkeys([pattern[1] for pattern in query.patterns if isinstance(pattern, TriplePattern)])
    for nodes, lines in ((subjects, NAMES), (properties, _IRIS)):
        yield from [Place(node, lines) for node in nodes if isinstance(node, Variable)]


# --- what functions give ----------------------------------------------------------------------------------------


class Abstract(NamedTuple):
    """A condition in which calls that give text or an IRI are variables, and where these must lie."""

    condition: Expression
    places: list[Place]


def abstracted(condition: Expression) -> Abstract | None:
    """The condition about the results of its functions; None if it has none.

    Where a call is an error, so is everything that an unbound variable in its stead would be; as a value it lies in its
    place. So a condition that no such value satisfies is never true.
    """
    calls = {node: node.name for node in walk(condition) if isinstance(node, Call) and node.name in _RESULTS}
    if not calls:
        return None
    stand_ins: dict[Expression, Expression] = {node: Variable(spell_expression(node)) for node in calls}
    places = [Place(Variable(spell_expression(node)), _RESULTS[name]) for node, name in calls.items()]
    return Abstract(replaced(condition, stand_ins), places)


def replaced(expression: Expression, instead: Mapping[Expression, Expression]) -> Expression:
    """The expression with others in the place of some parts; SPARQL's depth is limited, so this may recurse."""
    found = instead.get(expression)
    if found is not None:
        return found
    match expression:
        case Not(operand):
            return Not(replaced(operand, instead))
        case Negate(operand):
            return Negate(replaced(operand, instead))
        case And(operands):
            return And(tuple(replaced(each, instead) for each in operands))
        case Or(operands):
            return Or(tuple(replaced(each, instead) for each in operands))
        case Call(name, arguments):
            return Call(name, tuple(replaced(each, instead) for each in arguments))
        case Compare(operator, left, right):
            return Compare(operator, replaced(left, instead), replaced(right, instead))
        case Arithmetic(operator, left, right):
            return Arithmetic(operator, replaced(left, instead), replaced(right, instead))
        case In(operand, choices, negated):
            return In(replaced(operand, instead), tuple(replaced(each, instead) for each in choices), negated)
    return expression
