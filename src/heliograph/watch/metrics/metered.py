"""Metrics for whoever asks about a single solution: looked up in the measures that are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heliograph.syntax.query import Metric, Query
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.metrics.calls import call_of
from heliograph.watch.metrics.comparing import metric_term
from heliograph.watch.metrics.meter import Meter


class Metered:
    """Answers `hg:` functions that some query asks; see `baselines.watch_naive.Measuring`."""

    def __init__(self, meter: Meter, vocabulary: Vocabulary) -> None:
        self._meter, self._vocabulary = meter, vocabulary

    @property
    def vertices(self) -> Collection[Term]:
        if not self._meter.is_asked_everywhere:
            return ()
        return [self._vocabulary.term(id) for id in self._meter.every_vertex()]

    def selected(self, query: Query) -> frozenset[Term]:
        """Nothing: what solutions select is known to the measure, by query."""
        return frozenset()

    def term(self, metric: Metric, bindings: Mapping[Variable, Term], selected: frozenset[Term]) -> Term | None:
        """The value of a function of vertices; None of one that nobody asks, or where an argument is unbound."""
        names = tuple(bindings)
        asked = [each for each in metric.arguments if isinstance(each, Variable)]
        if any(each not in bindings for each in asked):
            return None
        intern = self._vocabulary.intern
        call = call_of(metric, {name: place for place, name in enumerate(names)}, intern)
        if call.key not in self._meter.kept or call.key.is_selected:
            return None
        vertices = call.of(tuple(intern(bindings[name]) for name in names))
        return metric_term(call.key, self._meter.look_up(call.key, vertices))
