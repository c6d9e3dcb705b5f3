"""Evaluating an expression over bindings, by SPARQL 1.1's rules; None stands for an error.

The laws: an expression is a function of its variables' bindings alone, so a condition may be tested as soon as they
are all bound; errors follow the truth tables (`error || true` is true, `error && false` is false); an unbound
variable is an error everywhere except under BOUND.

An expression is flattened once into postfix order and run on a stack, so that depth costs no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from heliograph.semantics.arithmetic import calculate, negate
from heliograph.semantics.comparison import compare, effective_boolean, equal
from heliograph.semantics.functions import call, truth
from heliograph.syntax.query import (
    And,
    Arithmetic,
    Call,
    Compare,
    Count,
    Expression,
    In,
    Metric,
    Negate,
    Not,
    Or,
    children,
    walk,
)
from heliograph.terms import Term, Variable, literal
from heliograph.values import XSD_INTEGER

Bindings = Mapping[Variable, Term]
Metrics = Callable[[Metric, Bindings], Term | None]  # the value of an `hg:` function under bindings

METRIC_TOLERANCE = 1e-9  # how far apart two floats may lie and still be equal, where a metric is compared


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression made ready to be evaluated many times."""

    expression: Expression
    variables: frozenset[Variable]
    _steps: tuple[tuple[Expression, int, float], ...] = field(repr=False)  # node, operands, tolerance; postfix

    @classmethod
    def of(cls, expression: Expression) -> Condition:
        names = frozenset(node for node in walk(expression) if isinstance(node, Variable))
        return cls(expression, names, _postfix(expression))

    def value(self, bindings: Bindings, metrics: Metrics | None = None, count: int | None = None) -> Term | None:
        stack: list[Term | None] = []
        for node, operands, tolerance in self._steps:
            if operands or not isinstance(node, (Term, Variable, Metric, Count)):
                taken = [stack.pop() for _ in range(operands)]
                stack.append(_apply(node, taken, tolerance))
            else:
                stack.append(_leaf(node, bindings, metrics, count))
        return stack[0]

    def holds(self, bindings: Bindings, metrics: Metrics | None = None, count: int | None = None) -> bool:
        """Whether the effective boolean value is true; an error is not."""
        result = self.value(bindings, metrics, count)
        return result is not None and effective_boolean(result) is True


def evaluate(
    expression: Expression, bindings: Bindings, *, metrics: Metrics | None = None, count: int | None = None
) -> Term | None:
    """The value of an expression; `metrics` answers `hg:` functions, `count` is COUNT(*)."""
    return Condition.of(expression).value(bindings, metrics, count)


def holds(
    expression: Expression, bindings: Bindings, *, metrics: Metrics | None = None, count: int | None = None
) -> bool:
    """Whether the expression's effective boolean value is true; an error is not."""
    return Condition.of(expression).holds(bindings, metrics, count)


def _postfix(expression: Expression) -> tuple[tuple[Expression, int, float], ...]:
    """The nodes such that operands stand before their operator and the first operand is taken from the stack first."""
    ordered: list[tuple[Expression, int, float]] = []
    stack = [expression]
    while stack:
        node = stack.pop()
        below = () if isinstance(node, Metric) else children(node)
        ordered.append((node, len(below), _tolerance(node)))
        stack.extend(reversed(below))
    return tuple(reversed(ordered))


def _tolerance(node: Expression) -> float:
    touched = isinstance(node, (Compare, In)) and any(isinstance(below, Metric) for below in walk(node))
    return METRIC_TOLERANCE if touched else 0.0


def _leaf(node: Expression, bindings: Bindings, metrics: Metrics | None, count: int | None) -> Term | None:
    if isinstance(node, Variable):
        return bindings.get(node)
    if isinstance(node, Metric):
        return metrics(node, bindings) if metrics else None
    if isinstance(node, Count):
        return None if count is None else literal(str(count), XSD_INTEGER)
    assert isinstance(node, Term)
    return node


def _apply(node: Expression, operands: list[Term | None], tolerance: float) -> Term | None:
    match node:
        case Call(name):
            return call(name, operands)
        case And():
            return truth(_all(_truths(operands)))
        case Or():
            return truth(_negated(_all(_negated(value) for value in _truths(operands))))
        case In(negated=negated):
            found = _among(operands, tolerance)
            return truth(_negated(found) if negated else found)
        case Not():
            return truth(_negated(next(_truths(operands))))
    known = [operand for operand in operands if operand is not None]
    return _strict(node, known, tolerance) if len(known) == len(operands) else None


def _strict(node: Expression, operands: list[Term], tolerance: float) -> Term | None:
    """Operators for which an error in an operand is an error of the whole."""
    match node:
        case Compare(symbol):
            return truth(compare(symbol, operands[0], operands[1], tolerance))
        case Arithmetic(symbol):
            return calculate(symbol, operands[0], operands[1])
        case _:
            assert isinstance(node, Negate)
            return negate(operands[0])


def _truths(operands: Iterable[Term | None]) -> Iterator[bool | None]:
    return (None if operand is None else effective_boolean(operand) for operand in operands)


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: Iterable[bool | None]) -> bool | None:
    """Three-valued AND: false wins over an error."""
    seen = set(values)
    if False in seen:
        return False
    return None if None in seen else True


def _among(operands: list[Term | None], tolerance: float) -> bool | None:
    """`x IN (a, b, …)` is `x = a || x = b || …`; an empty list is false whatever x is, unless x is an error."""
    sought, *choices = operands
    if sought is None:
        return None
    same = (None if choice is None else equal(sought, choice, tolerance) for choice in choices)
    return _negated(_all(_negated(value) for value in same))
