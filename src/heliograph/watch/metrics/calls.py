"""`hg:` functions as queries write them: which measure, of which vertices, compared with what.

The law: two calls have the same key exactly if one measure can answer both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite, isnan
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heliograph.sparql.evaluate import METRIC_TOLERANCE
from heliograph.sparql.query import And, Compare, Expression, Metric, Query, walk
from heliograph.terms import Position, Term, TermKind, Variable, literal, spell, value_of
from heliograph.values import NUMERIC, XSD_DOUBLE, XSD_INTEGER
from heliograph.watch.layout import Floats
from heliograph.watch.metrics.thresholds import points_at
from heliograph.watch.updates import Flags

# --- calls -----------------------------------------------------------------------------------------------------------

Intern: TypeAlias = Callable[[Term], int]

DEGREES = ("degree", "indegree", "outdegree")
_WHOLE_NUMBERS = frozenset({*DEGREES, "cliques", "steinerPoint"})
_OF_ONE_VERTEX = frozenset({*DEGREES, "clustering", "betweenness", "dense"})
_TERMINALS_FROM = {"steiner": 0, "steinerPoint": 1}
_FAR = frozenset({"distance", "steiner"})  # infinite where a vertex is absent


class Key(NamedTuple):
    """A measure: the function, its options, and the properties it looks at, or none for those that metrics see."""

    name: str
    options: tuple[str | int, ...] = ()
    properties: tuple[int, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.name in _WHOLE_NUMBERS

    @property
    def is_of_one_vertex(self) -> bool:
        """Whether each vertex is an instance, by its id."""
        return self.name in _OF_ONE_VERTEX or (self.name == "density" and bool(self.options))

    @property
    def counts_vertices(self) -> bool:
        """Whether it depends on how many vertices there are, those without edges too."""
        return self.name in ("averageClustering", "betweenness") or (self.name, self.options) == ("cliques", (1,))

    @property
    def has_interval(self) -> bool:
        """Whether a value may be an estimate or a bound, and shows between what the exact one lies."""
        return self.name in ("betweenness", "dense")

    @property
    def is_estimated(self) -> bool:
        """Whether values may be estimates now and exact later, or the other way round."""
        return self.name == "betweenness"

    @property
    def is_selected(self) -> bool:
        """Whether it looks at the vertices that a query's solutions bind."""
        return self.name == "density" and not self.options

    @property
    def absent(self) -> float:
        """The value of a vertex that is not there."""
        return float("inf") if self.name in _FAR else 0.0


class MetricCall(NamedTuple):
    """A measure asked for vertices: term ids, or ~column of a solution."""

    key: Key
    vertices: tuple[int, ...]

    def of(self, row: tuple[int, ...]) -> tuple[int, ...]:
        """The vertices for one solution; of terminals, whose order does not matter, each once and ascending."""
        vertices = tuple(row[~node] if node < 0 else node for node in self.vertices)
        first = _TERMINALS_FROM.get(self.key.name, len(vertices))
        return vertices[:first] + tuple(sorted(set(vertices[first:])))


def call_of(metric: Metric, columns: Mapping[Variable, int], intern: Intern) -> MetricCall:
    """A function of a query whose variables stand in these columns."""
    name, arguments = metric.name, metric.arguments
    via = [each for argument in arguments if isinstance(argument, Metric) for each in argument.arguments]
    plain: list[Expression] = [argument for argument in arguments if not isinstance(argument, Metric)]
    nodes, options, properties = _parted(name, plain)
    known = tuple(sorted({intern(each) for each in (*properties, *via) if isinstance(each, Term)}))
    vertices = tuple(~columns[node] if isinstance(node, Variable) else intern(node) for node in nodes)
    return MetricCall(Key(name, options, known), vertices)


def _parted(
    name: str, arguments: list[Expression]
) -> tuple[list[Term | Variable], tuple[str | int, ...], list[Expression]]:
    """The vertices, the options and the properties among the arguments of a function."""
    if name == "cliques":
        return [], (_whole(arguments[0]),), []
    if name == "density":
        return _nodes(arguments[:1]), tuple(_whole(each) for each in arguments[1:]), []
    if name in DEGREES:
        return _nodes(arguments[:1]), (), arguments[1:]
    if name == "distance":
        texts = [each for each in arguments[2:] if isinstance(each, Term) and each.kind is TermKind.LITERAL]
        options = tuple(sorted({each.value for each in texts}))
        return _nodes(arguments[:2]), options, [each for each in arguments[2:] if each not in texts]
    return _nodes(arguments), (), []


def _nodes(arguments: list[Expression]) -> list[Term | Variable]:
    return [each for each in arguments if isinstance(each, (Term, Variable))]


def _whole(argument: Expression) -> int:
    assert isinstance(argument, Term)
    return int(argument.value)


# --- comparisons, and values as terms and as evidence ----------------------------------------------------------------

_PLACES = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
_WHOLE = 2.0**53  # beyond it every number is whole
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class MetricComparison(NamedTuple):
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


def comparison(expression: Expression, hysteresis: float) -> tuple[Metric, MetricComparison] | None:
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
    return left, MetricComparison(operator, float(value.value), slack)  # type: ignore[arg-type]


def comparisons(filters: Sequence[Expression], hysteresis: float) -> list[tuple[Metric, MetricComparison]] | None:
    """What filters say of metrics, if each only compares one with a number. A hysteresis is of a single one."""
    found = [comparison(each, hysteresis if len(filters) == 1 else 0.0) for each in filters]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def threshold_of(query: Query, hysteresis: float) -> MetricComparison | None:
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


def asked_metrics(query: Query) -> tuple[Metric, ...]:
    """The functions that a query asks, each once."""
    return tuple(dict.fromkeys(metric for metric in query.metrics if metric.name != "via"))


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
