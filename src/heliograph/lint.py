"""What is odd about subscriptions: unreadable ones, ids or queries that come twice, conditions that can never hold.

The law: what is reported as never holding holds for no publication. Bounds are compared only between numbers, where
`<` has one meaning; whatever cannot be judged is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import pyarrow as pa

from heliograph.errors import HeliographError
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import And, Call, Compare, Expression, In, Metric, Or, Query, walk
from heliograph.syntax.spelling import spell_expression
from heliograph.tables.schemas import TABLES
from heliograph.terms import Term, Variable, value_of
from heliograph.values import NUMERIC, Instant

UNREADABLE_ID, TWICE, SAME, NEVER = "HG-503", "HG-501", "HG-711", "HG-712"
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class Finding(NamedTuple):
    """One row of the lint table."""

    subject_id: str
    code: str
    message: str
    related_id: str | None = None


Compiled = tuple[str | None, Query | HeliographError]


def lint_subscriptions(subscriptions: Iterable[Compiled]) -> pa.Table:
    """The findings on compiled subscriptions, in their order."""
    rows = [finding._asdict() for finding in _findings(subscriptions)]
    return pa.Table.from_pylist(rows, schema=TABLES["lint"].arrow)


def _findings(subscriptions: Iterable[Compiled]) -> Iterator[Finding]:
    ids: set[str] = set()
    queries: dict[Query, str] = {}
    for id, query in subscriptions:
        if not id:
            yield Finding("", UNREADABLE_ID, "a subscription without an id")
            continue
        if id in ids:
            yield Finding(id, TWICE, "the id comes twice; the second subscription is refused", id)
        ids.add(id)
        if isinstance(query, HeliographError):
            yield Finding(id, query.code, query.describe())
            continue
        first = queries.setdefault(query, id)
        if first != id:
            yield Finding(id, SAME, f"the same query as {first}", first)
        yield from (Finding(id, NEVER, message) for message in never_holds(query))


def never_holds(query: Query) -> Iterator[str]:
    """Why no publication can match, as far as that is plain to see."""
    bound = {variable for variable in query.variables if not variable.hidden}
    conjuncts = list(_conjuncts(query.filters))
    yield from (f"FILTER({spell_expression(each)}) can never hold" for each in conjuncts if _is_false(each, bound))
    yield from (f"{variable} cannot be {said}" for variable, said in _contradictions(conjuncts))
    for block in query.values:
        if not block.rows:
            yield f"VALUES for {' '.join(map(str, block.variables))} has no rows"


def _conjuncts(filters: Iterable[Expression]) -> Iterator[Expression]:
    stack = list(reversed(list(filters)))
    while stack:
        node = stack.pop()
        if isinstance(node, And):
            stack.extend(reversed(node.operands))
        else:
            yield node


def _is_false(condition: Expression, bound: set[Variable]) -> bool:
    """False whatever the bindings: no variable in it, a variable nothing binds, or a term against itself."""
    nodes = list(walk(condition))
    if any(isinstance(node, Metric) for node in nodes):
        return False
    named = {node for node in nodes if isinstance(node, Variable)}
    if not named:
        return not Condition.of(condition).holds({})
    if isinstance(condition, (Compare, In)) and not any(isinstance(node, (Or, Call)) for node in nodes):
        return (
            bool(named - bound)
            or _is_self_comparison(condition)
            or (isinstance(condition, In) and _is_empty(condition))
        )
    return False


def _is_self_comparison(condition: Compare | In) -> bool:
    return (
        isinstance(condition, Compare) and condition.left == condition.right and condition.operator in ("<", ">", "!=")
    )


def _is_empty(condition: In) -> bool:
    return not condition.choices and not condition.negated


# --- bounds -----------------------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """A comparison of a variable with a number."""

    operator: str
    number: Fraction
    text: str


def _contradictions(conjuncts: Iterable[Expression]) -> Iterator[tuple[Variable, str]]:
    bounds: dict[Variable, list[Bound]] = {}
    for condition in conjuncts:
        found = _bound(condition)
        if found is not None:
            bounds.setdefault(found[0], []).append(found[1])
    for variable, several in bounds.items():
        clash = _clash(several)
        if clash is not None:
            yield variable, f"{clash[0].text} and {clash[1].text}"


def _bound(condition: Expression) -> tuple[Variable, Bound] | None:
    if not isinstance(condition, Compare) or condition.operator == "!=":
        return None
    left, right, operator = condition.left, condition.right, condition.operator
    if isinstance(right, Variable):
        left, right, operator = right, left, _MIRRORED[operator]
    number = _number(right)
    if not isinstance(left, Variable) or number is None:
        return None
    return left, Bound(operator, number, f"{operator} {right}")


def _number(node: Expression) -> Fraction | None:
    value = value_of(node) if isinstance(node, Term) else None
    if value is None or value.kind not in NUMERIC or isinstance(value.value, Instant):
        return None
    try:
        return Fraction(value.value)
    except (ValueError, OverflowError):  # NaN and the infinities
        return None


def _clash(bounds: list[Bound]) -> tuple[Bound, Bound] | None:
    """A lower and an upper bound that leave nothing between them."""
    lower = max((bound for bound in bounds if bound.operator in (">", ">=", "=")), key=_from_below, default=None)
    upper = min((bound for bound in bounds if bound.operator in ("<", "<=", "=")), key=_from_above, default=None)
    if lower is None or upper is None or _from_below(lower) <= _from_above(upper):
        return None
    return lower, upper


def _from_below(bound: Bound) -> tuple[Fraction, int]:
    """The order of lower bounds: `> 5` lies above `>= 5`."""
    return (bound.number, 1 if bound.operator == ">" else 0)


def _from_above(bound: Bound) -> tuple[Fraction, int]:
    """The order of upper bounds: `< 5` lies below `<= 5`."""
    return (bound.number, -1 if bound.operator == "<" else 0)
