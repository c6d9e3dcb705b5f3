"""Peers of a metric: the betweenness of every vertex after each added edge.

Only additions: NetworKit's dynamic algorithm knows no deletions. Vertices are there from the beginning; values are
shares of all ordered pairs of other vertices, which is what networkx calls normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_betweenness import Ints, Size, attached, begun, load_kernels, log_of
from benchmarks.watch_workloads import seconds
from heliograph.watch.metrics.thresholds import CAME

Values = Mapping[int, float]
TOLERANCE = 1e-9


class Growing(NamedTuple):
    """Edges that are there, and those that come one by one."""

    vertices: int
    edges: Ints
    coming: Ints

    @classmethod
    def of(cls, seed: int, vertices: int, count: int) -> Growing:
        rng = np.random.default_rng(seed)
        arcs = rng.permutation(attached(rng, vertices, Size()))
        return cls(vertices, arcs[:-count], arcs[-count:])

    @property
    def pairs(self) -> int:
        return (self.vertices - 1) * (self.vertices - 2)


class Timed(NamedTuple):
    """Seconds an added edge, and the values in the end."""

    seconds: float
    values: Values


def heliograph(given: Growing) -> Timed:
    load_kernels()
    measure = begun(given.edges, given.vertices)
    came = np.column_stack([np.full(len(given.coming), CAME, np.int32), given.coming])
    took = seconds(lambda: measure.follow(log_of(came, 1)))
    return Timed(took / len(given.coming), {vertex: measure.value(vertex) for vertex in _touched(given)})


def networkx(given: Growing) -> Timed:
    graph: Any = nx.DiGraph(given.edges.tolist())
    graph.add_nodes_from(range(given.vertices))
    return _rerun(given, graph.add_edge, lambda: nx.betweenness_centrality(graph))


def networkit(given: Growing) -> Timed:
    import networkit as nk

    graph = _graph(given)

    def again() -> Values:
        return _shares(given, nk.centrality.Betweenness(graph).run().scores())

    return _rerun(given, graph.addEdge, again)


def networkit_dynamic(given: Growing) -> Timed:
    import networkit as nk

    graph = _graph(given)
    dynamic = nk.centrality.DynBetweenness(graph)
    dynamic.run()

    def follow() -> None:
        for tail, head in given.coming.tolist():
            graph.addEdge(tail, head)
            dynamic.update(nk.dynamics.GraphEvent(nk.dynamics.GraphEventType.EDGE_ADDITION, tail, head, 1.0))

    took = seconds(follow)
    return Timed(took / len(given.coming), _shares(given, dynamic.scores()))


def check(one: Values, other: Values) -> None:
    """Raises unless both say the same of the vertices that the first knows."""
    off = max(abs(one[vertex] - other[vertex]) for vertex in one)
    if off > TOLERANCE:
        raise WrongAnswer(f"values differ by {off}")


def _rerun(given: Growing, add: Callable[[int, int], Any], again: Callable[[], Values]) -> Timed:
    """Everything worked out anew after the first added edge, on the clock, and after the last, to be compared."""
    (tail, head), *others = given.coming.tolist()

    def once() -> None:
        add(tail, head)
        again()

    took = seconds(once)
    for pair in others:
        add(*pair)
    return Timed(took, again())


def _touched(given: Growing) -> list[int]:
    """Vertices that have an edge."""
    return [int(vertex) for vertex in np.unique(np.concatenate([given.edges, given.coming]))]


def _graph(given: Growing) -> Any:
    import networkit as nk

    nk.setNumberOfThreads(1)
    graph = nk.Graph(given.vertices, directed=True)
    for tail, head in given.edges.tolist():
        graph.addEdge(tail, head)
    return graph


def _shares(given: Growing, scores: list[float]) -> Values:
    return {vertex: score / given.pairs for vertex, score in enumerate(scores)}
