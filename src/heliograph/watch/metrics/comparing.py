"""What filters say of metrics, as far as it is a comparison with a number; and values as terms and as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.evolution_layout import Floats
from heliograph.semantics.expressions import METRIC_TOLERANCE
from heliograph.syntax.query import And, Compare, Expression, Metric, Query, walk
from heliograph.terms import Position, Term, Variable, literal, spell, value_of
from heliograph.values import NUMERIC, XSD_DOUBLE, XSD_INTEGER
from heliograph.watch.metrics.calls import Key
from heliograph.watch.metrics.listeners import points_at
from heliograph.watch.sequence import Flags

_PLACES = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
_WHOLE = 2.0**53  # beyond it every number is whole
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class Comparison(NamedTuple):
    """A metric against a number, the metric standing left; `slack` is how far it may fall back before it ceases."""

    operator: str
    limit: float
    slack: float

    def holds(self, value: float, held: bool) -> bool:
        """Whether a value satisfies it; one that is not known (NaN) does not."""
        if isnan(value):
            return False
        return self._compare(value, self.limit) or (
            held and self.slack != 0 and self._compare(value, self.limit - self.slack)
        )

    def _compare(self, value: float, limit: float) -> bool:
        if value == limit or abs(value - limit) <= METRIC_TOLERANCE:
            return self.operator in ("<=", ">=", "=")
        return {"<": value < limit, "<=": value < limit, ">": value > limit, ">=": value > limit}.get(
            self.operator, self.operator == "!="
        )

    def holding(self, values: Floats) -> Flags:
        """The same of many values at once, none of which held before."""
        near = np.isclose(values, self.limit, rtol=0.0, atol=METRIC_TOLERANCE)
        beyond = {"<": np.less, "<=": np.less, ">": np.greater, ">=": np.greater, "!=": np.not_equal}
        compare = beyond.get(self.operator)
        held: Flags = np.zeros(len(values), np.bool_) if compare is None else compare(values, self.limit) & ~near
        return held | near if self.operator in ("<=", ">=", "=") else held

    @property
    def end(self) -> str:
        """How a value that holds it ceases to."""
        how = {">=": "falls below", ">": "falls to", "<=": "rises above", "<": "rises to"}[self.operator]
        return f"{how} {shown_value(self.limit - self.slack)}"

    @property
    def is_endless(self) -> bool:
        """Whether what holds it once holds it for good: counts and metrics are 0 or more."""
        last = self.limit - self.slack
        return (self.operator == ">=" and last <= 0) or (self.operator == ">" and last < 0)

    @property
    def points(self) -> tuple[float, ...]:
        return points_at({self.limit, self.limit - self.slack})


def comparison(expression: Expression, hysteresis: float) -> tuple[Metric, Comparison] | None:
    """What a filter says of one metric, if it only compares it with a number."""
    if not isinstance(expression, Compare):
        return None
    left, right, operator = expression.left, expression.right, expression.operator
    if isinstance(right, Metric):
        left, right, operator = right, left, _FLIPPED[operator]
    value = value_of(right) if isinstance(right, Term) else None
    if not isinstance(left, Metric) or value is None or value.kind not in NUMERIC or not isfinite(value.value):  # type: ignore[arg-type]
        return None
    slack = hysteresis if operator in (">", ">=") else -hysteresis if operator in ("<", "<=") else 0.0
    return left, Comparison(operator, float(value.value), slack)  # type: ignore[arg-type]


def comparisons(filters: Sequence[Expression], hysteresis: float) -> list[tuple[Metric, Comparison]] | None:
    """What filters say of metrics, if each only compares one with a number. A hysteresis is of a single one."""
    found = [comparison(each, hysteresis if len(filters) == 1 else 0.0) for each in filters]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def threshold_of(query: Query, hysteresis: float) -> Comparison | None:
    """The one comparison that a query's filters make of metrics, if they say nothing else of any."""
    asked, _ = metric_filters(query.filters)
    found = comparison(asked[0], hysteresis) if len(asked) == 1 else None
    return None if found is None or found[1].operator in ("=", "!=") else found[1]


def relaxed(query: Query, hysteresis: float) -> Query:
    """The same query with its threshold moved by the hysteresis."""
    asked, others = metric_filters(query.filters)
    found = comparison(asked[0], hysteresis)
    assert found is not None
    metric, known = found
    limit = literal(repr(known.limit - known.slack), XSD_DOUBLE)
    return replace(query, filters=(*others, Compare(known.operator, metric, limit)))


def metric_term(key: Key, value: float) -> Term:
    """A value as filters compare it."""
    if key.is_whole:
        return literal(str(int(value)), XSD_INTEGER)
    return literal("INF" if value == float("inf") else repr(value), XSD_DOUBLE)


def metric_filters(filters: Iterable[Expression]) -> tuple[list[Expression], list[Expression]]:
    """The conjuncts of filters that ask metrics, and the others."""
    asking: list[Expression] = []
    others: list[Expression] = []
    stack = list(filters)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, And):
            stack.extend(reversed(node.operands))
        else:
            (asking if any(isinstance(each, Metric) for each in walk(node)) else others).append(node)
    return asking, others


def ranging(query: Query) -> frozenset[Variable]:
    """The variables that neither a triple nor VALUES binds."""
    bound = Query(patterns=query.patterns, values=query.values).variables
    return frozenset(query.variables).difference(bound)


def parted_filters(
    filters: Iterable[Expression], ranging: frozenset[Variable]
) -> tuple[list[Expression], list[Expression]]:
    """The conjuncts that must wait for metrics, or for variables that range over all vertices, and the others."""
    asking, others = metric_filters(filters)
    waiting = [
        each for each in others if not ranging.isdisjoint(node for node in walk(each) if isinstance(node, Variable))
    ]
    return [*asking, *waiting], [each for each in others if each not in waiting]


def shown_more(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What metrics show beside their values, together: all edges; and the intervals, in the order of the values where
    there are several, null for what is exact."""
    edges = [edge for each in found for edge in each.get("edges", ())]
    intervals = [[shown_value(end) for end in each["interval"]] if "interval" in each else None for each in found]
    shown: dict[str, Any] = {"edges": edges} if edges else {}
    if any(intervals):
        shown["interval"] = intervals[0] if len(intervals) == 1 else intervals
    return shown


def shown_value(value: float) -> int | float | str | None:
    """A value as evidence shows it: to 12 digits, for the last ones depend on the order of summing. NaN is none."""
    if isnan(value):
        return None
    if value == float("inf"):
        return "INF"
    rounded = float(f"{value:.12g}")
    return int(rounded) if abs(rounded) < _WHOLE and rounded == int(rounded) else rounded


def spelled_edge(edge: Iterable[Term]) -> list[str]:
    return [spell(term, place) for term, place in zip(edge, _PLACES, strict=True)]
