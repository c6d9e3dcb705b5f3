"""How long plain answers to `hg:` functions will take, foretold from the queries and the number of edges.

Worked out from scratch, a metric reads the edges at least once for each choice of its vertices, betweenness once more
for each vertex. So one update may take hours where a graph has grown before anybody looked at a clock: whoever chooses
between strategies asks first. It is a forecast, 0.4 to 13 times what was measured where there are three edges a vertex;
answers do not depend on it.
"""

from __future__ import annotations

from collections import Counter

from heliograph.syntax.query import Metric, Query
from heliograph.terms import Variable

# ns for each edge and vertex that one value reads, from graphs of 90 to 600 edges; transitivity and averageClustering,
# which were not measured, are taken to be like cliques.
_READ_NS = {
    **dict.fromkeys(("degree", "indegree", "outdegree", "betweenness"), 300),
    **dict.fromkeys(("clustering", "density"), 1_500),
    **dict.fromkeys(("transitivity", "averageClustering", "cliques", "dense", "distance"), 5_000),
}
_TERMINAL_NS = 12_000  # of Steiner trees, for each argument


class Effort:
    """The metrics that are asked, each once for whoever asks it, as terms of a polynomial of the number of edges."""

    def __init__(self) -> None:
        self._askers: Counter[Metric] = Counter()
        self._terms: Counter[int] = Counter()  # ns, by the power of the number of edges

    def add(self, query: Query) -> None:
        for metric in _metrics(query):
            self._askers[metric] += 1
            if self._askers[metric] == 1:
                self._terms[_power(metric)] += _reading_ns(metric)

    def remove(self, query: Query) -> None:
        for metric in _metrics(query):
            self._askers[metric] -= 1
            if not self._askers[metric]:
                del self._askers[metric]
                self._terms[_power(metric)] -= _reading_ns(metric)

    def foreseen_ns(self, edges: int) -> int:
        """About how long one update takes. There are taken to be as many vertices as edges."""
        return sum(2 * ns * edges**power for power, ns in self._terms.items())


def _metrics(query: Query) -> set[Metric]:
    return {metric for metric in query.metrics if metric.name != "via"}


def _power(metric: Metric) -> int:
    chosen = {argument for argument in metric.arguments if isinstance(argument, Variable)}
    return 1 + len(chosen) + (metric.name == "betweenness")


def _reading_ns(metric: Metric) -> int:
    return _READ_NS.get(metric.name, _TERMINAL_NS * len(metric.arguments))
