"""Metrics for the plain strategy: worked out from scratch, each at most once as long as the graph stays the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from heliograph.baselines.solve import Graph, Plan, world
from heliograph.baselines.watch_metrics import Weighted, naive_evidence, naive_value
from heliograph.syntax.query import Metric, Query
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, TermKind, Variable
from heliograph.watch.metrics.calls import Key
from heliograph.watch.metrics.comparing import metric_filters, metric_term, shown_more, shown_value, spelled_edge
from heliograph.watch.modes import Match, Solution, Turn

Called = tuple[str, tuple[Term | Metric, ...]]


class Plainly:
    """The `hg:` functions over a graph, which is read when one of them is asked."""

    def __init__(self, read: Callable[[], Weighted], taxonomy: Taxonomy | None) -> None:
        self._read, self._taxonomy = read, taxonomy
        self.forget()

    def forget(self) -> None:
        """The graph has changed."""
        self._known: Weighted | None = None
        self._vertices: set[Term] | None = None
        self._values: dict[tuple[Called, Collection[Term]], float] = {}

    @property
    def _graph(self) -> Weighted:
        if self._known is None:
            self._known = self._read()
        return self._known

    @property
    def vertices(self) -> set[Term]:
        """Whoever an edge touches, or an attribute is set on."""
        if self._vertices is None:
            objects = {o for _, _, o in self._graph if o.kind is not TermKind.LITERAL}
            self._vertices = {s for s, _, _ in self._graph} | objects
        return self._vertices

    def selected(self, query: Query) -> frozenset[Term]:
        """The vertices that solutions of a query bind, whatever it asks of metrics; for `hg:density()`."""
        if not any(metric.name == "density" and not metric.arguments for metric in query.metrics):
            return frozenset()
        _, others = metric_filters(query.filters)
        bare = Query(patterns=query.patterns, filters=tuple(others), values=query.values)
        found = Plan.of(bare).solutions(world(Graph(self._graph), self._taxonomy))
        return frozenset(term for each in found for term in each.values() if term in self.vertices)

    def value(self, metric: Metric, bindings: Solution, selected: frozenset[Term]) -> float | None:
        """The value of a function; None where an argument is unbound."""
        called = _called(metric, bindings)
        if called is None:
            return None
        if (called, selected) not in self._values:
            self._values[called, selected] = naive_value(*called, self._graph, selected)
        return self._values[called, selected]

    def term(self, metric: Metric, bindings: Solution, selected: frozenset[Term]) -> Term | None:
        value = self.value(metric, bindings, selected)
        return None if value is None else metric_term(Key(metric.name), value)

    # --- beside matches -----------------------------------------------------------------------------------------

    def valued(self, query: Query, turn: Turn, witness: bool) -> Turn:
        """What a turn tells, with what the metrics of its query say now."""
        selected = self.selected(query)
        lost, gained = (tuple(self._valued(query, each, selected, witness) for each in some) for some in turn)
        return Turn(lost, gained)

    def _valued(self, query: Query, match: Match, selected: frozenset[Term], witness: bool) -> Match:
        metrics = tuple(dict.fromkeys(metric for metric in query.metrics if metric.name != "via"))
        known = match.witness if match.witness is not None else {} if not query.variables else None
        if match.value is not None or known is None:
            return match
        values = [self.value(metric, known, selected) for metric in metrics]
        shown = [None if value is None else shown_value(value) for value in values]
        more = self._more(metrics, known, witness)
        return match._replace(value=shown[0] if len(shown) == 1 else shown, more=more or None)

    def _more(self, metrics: Iterable[Metric], known: Solution, witness: bool) -> Mapping[str, Any]:
        asked = ((metric, witness or Key(metric.name).has_interval) for metric in metrics)
        return shown_more([self.shown(metric, known) if is_asked else {} for metric, is_asked in asked])

    def shown(self, metric: Metric, bindings: Solution) -> Mapping[str, Any]:
        """What a function shows beside its value, edges as texts."""
        called = _called(metric, bindings)
        shown = {} if called is None else naive_evidence(*called, self._graph)
        return {name: [*map(spelled_edge, what)] if name == "edges" else what for name, what in shown.items()}


def _called(metric: Metric, bindings: Solution) -> Called | None:
    arguments = tuple(bindings.get(each) if isinstance(each, Variable) else each for each in metric.arguments)
    if any(each is None for each in arguments):
        return None
    return metric.name, arguments  # type: ignore[return-value]
