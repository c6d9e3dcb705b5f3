"""Metrics for whoever asks about a single solution: looked up in the measures that are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from heliograph.syntax.query import Metric, Query
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.metrics.calls import Call, call_of
from heliograph.watch.metrics.comparing import metric_term, spelled_edge
from heliograph.watch.metrics.meter import Meter
from heliograph.watch.modes import Solution

Selected: TypeAlias = Callable[[Query], frozenset[Term]]


class Metered:
    """Answers `hg:` functions that some query asks; see `baselines.watch_naive.Measuring`."""

    def __init__(self, meter: Meter, vocabulary: Vocabulary, selected: Selected) -> None:
        self._meter, self._vocabulary, self._selected = meter, vocabulary, selected

    @property
    def vertices(self) -> Collection[Term]:
        if not self._meter.is_asked_everywhere:
            return ()
        return [self._vocabulary.term(id) for id in self._meter.every_vertex()]

    def selected(self, query: Query) -> frozenset[Term]:
        """The vertices that solutions of a query bind, if it asks for them."""
        return self._selected(query)

    def term(self, metric: Metric, bindings: Solution, selected: frozenset[Term]) -> Term | None:
        """The value of a function; None of one that nobody asks, or where an argument is unbound."""
        call = self._call(metric, bindings)
        return None if call is None else metric_term(call.key, self._value(call, selected))

    def shown(self, metric: Metric, bindings: Solution) -> Mapping[str, Any]:
        """What a function of vertices shows beside its value, edges as texts."""
        call = self._call(metric, bindings)
        if call is None or call.key.is_selected:
            return {}
        shown = self._meter.evidence(call.key, call.vertices, self._value(call, frozenset()))
        return {name: [*map(self._edge, what)] if name == "edges" else what for name, what in shown.items()}

    def _call(self, metric: Metric, bindings: Solution) -> Call | None:
        """A function with its vertices, each of them known."""
        names = tuple(bindings)
        asked = [each for each in metric.arguments if isinstance(each, Variable)]
        if any(each not in bindings for each in asked):
            return None
        intern = self._vocabulary.intern
        call = call_of(metric, {name: place for place, name in enumerate(names)}, intern)
        if call.key not in self._meter.kept:
            return None
        return call._replace(vertices=call.of(tuple(intern(bindings[name]) for name in names)))

    def _value(self, call: Call, selected: frozenset[Term]) -> float:
        """Of what is selected, the value of a set with the same vertices."""
        vertices = tuple(map(self._vocabulary.intern, selected)) if call.key.is_selected else call.vertices
        return self._meter.look_up(call.key, vertices)

    def _edge(self, edge: Iterable[int]) -> list[str]:
        return spelled_edge(map(self._vocabulary.term, edge))
