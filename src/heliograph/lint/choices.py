"""Where a query leaves finitely many values to choose from, each is tried: VALUES, `=` and `IN` with texts and names.

The law: a text or a name equals itself alone, so a condition `x = "a"` puts that very term in the place of x, and a
demand about nothing else is decided by evaluating it. A choice of which every alternative fails a demand is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from heliograph.index.comparing import Lines
from heliograph.index.domains import place_of
from heliograph.lint.demands import Demand, replaced
from heliograph.lint.opposites import TEXTS
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Compare, Expression, In, Or, Values, walk
from heliograph.terms import Term, Variable

Alternative = Mapping[Expression, Term]  # an expression and the very term that it gives

_MANY = 10_000  # alternatives beyond which they are not tried


def no_choice(demands: Sequence[Demand]) -> bool:
    """Whether some choice has no alternative that the demands leave."""
    for demand in demands:
        choice = _choice(demand)
        if choice is not None and len(choice) <= _MANY and not any(_stands(each, demands) for each in choice):
            return True
    return False


def _choice(demand: Demand) -> list[Alternative] | None:
    if demand.values is not None:
        return list(_rows(demand.values))
    return None if demand.condition is None else alternatives(demand.condition)


def alternatives(condition: Expression) -> list[Alternative] | None:
    """The alternatives that a condition leaves; None where it leaves more than can be named."""
    match condition:
        case Compare("=", subject, Term() as constant) | Compare("=", Term() as constant, subject):
            return _named(subject, (constant,))
        case In(subject, choices, negated=False):
            return _named(subject, choices)
        case Or(operands):
            parts = [alternatives(operand) for operand in operands]
            return None if None in parts else [each for part in parts if part is not None for each in part]
    return None


def _named(subject: Expression, constants: Sequence[Expression]) -> list[Alternative] | None:
    terms = [constant for constant in constants if isinstance(constant, Term)]
    if len(terms) < len(constants) or isinstance(subject, Term):
        return None
    return [{subject: term} for term in terms] if all(map(_equals_itself_alone, terms)) else None


def _equals_itself_alone(term: Term) -> bool:
    return not term.is_literal or term.datatype in TEXTS


def _rows(block: Values) -> Iterator[Alternative]:
    for row in block.rows:
        yield {name: term for name, term in zip(block.variables, row, strict=True) if term is not None}


# --- trying -----------------------------------------------------------------------------------------------------


def _stands(alternative: Alternative, demands: Sequence[Demand]) -> bool:
    return all(_agrees(alternative, demand) for demand in demands)


def _agrees(alternative: Alternative, demand: Demand) -> bool:
    """Whether the demand is satisfied, or cannot be decided from this alternative."""
    if demand.condition is not None:
        return _may_hold(demand.condition, alternative)
    if demand.place is not None:
        term = alternative.get(demand.place.variable)
        return term is None or _lies(term, demand.place.lines)
    assert demand.values is not None
    return any(all(row.get(name, term) == term for name, term in alternative.items()) for row in _rows(demand.values))


def _may_hold(condition: Expression, alternative: Alternative) -> bool:
    known = replaced(condition, alternative)
    if any(isinstance(node, Variable) for node in walk(known)):
        return True
    return Condition.of(known).holds({})


def _lies(term: Term, lines: Lines) -> bool:
    """Whether a term lies in a place that takes whole domains."""
    return place_of(term, lambda _: 0).domain in lines
