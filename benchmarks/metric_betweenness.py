"""Betweenness kept up to date, beside recomputation by networkx in the same run.

The graph is Barabási and Albert's: 5 edges with each vertex and no more than 500 at one, each edge led one way or the
other by a coin, so that almost everybody reaches almost everybody. A few edges are held back and come as
updates; every third update takes one away. Values are compared before a time counts: exact ones with those worked out
from scratch, or on small graphs by networkx; sampled ones with what networkx estimates from some of the sources. Times
are the processor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.watch_workloads import seconds
from heliograph.watch.metrics.betweenness import Betweenness
from heliograph.watch.metrics.thresholds import CAME, WENT, Log

Ints = npt.NDArray[np.int32]
EPSILON, DELTA = 0.05, 0.1
THRESHOLD = [0.01]  # at every vertex
PIVOTS = 100  # sources that networkx starts from, where a value is checked


class Size(NamedTuple):
    """How large the workloads are; the defaults are the issue's."""

    exact: int = 4_000
    sampled: int = 10_000
    links: int = 5
    cap: int = 500
    exact_updates: int = 150
    updates: int = 1_500
    batch: int = 500
    samples: int = 3


FULL = Size()
Samples = Sequence[float]


class Stream(NamedTuple):
    """Edges that are there beforehand, and changes (rows: what, tail, head)."""

    edges: Ints
    changes: Ints


# --- workloads --------------------------------------------------------------------------------------------------


def attached(rng: np.random.Generator, vertices: int, size: Size) -> Ints:
    """Arcs of a graph in which each vertex comes with links to earlier ones, preferably those that have many."""
    ends, degrees, arcs = list(range(size.links)), np.zeros(vertices, int), list[tuple[int, int]]()
    for vertex in range(size.links, vertices):
        chosen = set[int]()
        while len(chosen) < size.links:
            other = ends[rng.integers(len(ends))]
            if degrees[other] < size.cap:
                chosen.add(other)
        for other in sorted(chosen):
            arcs.append((vertex, other) if rng.random() < 0.5 else (other, vertex))
            degrees[[vertex, other]] += 1
            ends += (vertex, other)
    return np.array(arcs, np.int32)


def stream(seed: int, vertices: int, updates: int, size: Size) -> Stream:
    """The last updates of a graph's growth in a random order, a third of them deletions."""
    rng = np.random.default_rng(seed)
    arcs = rng.permutation(attached(rng, vertices, size))
    first = len(arcs) - updates
    held, there, changes = list(map(tuple, arcs[first:])), list(map(tuple, arcs[:first])), list[tuple[int, int, int]]()
    for number in range(updates):
        if number % 3 == 2:
            changes.append((WENT, *there.pop(rng.integers(len(there)))))
        else:
            there.append(held.pop())
            changes.append((CAME, *there[-1]))
    return Stream(arcs[:first], np.array(changes, np.int32))


def log_of(changes: Ints, batch: int) -> Log:
    """Changes as a log, `batch` of them a step."""
    count = len(changes)
    step, zeros = np.arange(count, dtype=np.int32) // batch, np.zeros(count, np.int32)
    return Log(step, changes[:, 0].astype(np.uint8), changes[:, 1], zeros, changes[:, 2], np.full(count, np.nan))


@lru_cache(maxsize=1)
def load_kernels() -> None:
    """Compiles or loads what is measured, off the clock."""
    given = stream(0, 40, 30, Size())
    for limit, batch in ((0, 1), (0, 10), (100, 1)):
        begun(given.edges, limit).follow(log_of(given.changes, batch))


def begun(edges: Ints, limit: int) -> Betweenness:
    """A measure over a graph, every vertex watched."""
    measure = Betweenness(limit=limit, epsilon=EPSILON, delta=DELTA)
    measure.watch_all(THRESHOLD)
    came = np.column_stack([np.full(len(edges), CAME, np.int32), edges])
    measure.restore(log_of(came, len(came)), {})
    return measure


def after(given: Stream) -> nx.DiGraph:
    """The graph at the end of a stream, by networkx."""
    graph = nx.DiGraph(given.edges.tolist())
    for change, tail, head in given.changes.tolist():
        (graph.add_edge if change == CAME else graph.remove_edge)(tail, head)
    graph.remove_nodes_from([vertex for vertex, degree in list(graph.degree) if not degree])
    return graph


# --- measures ---------------------------------------------------------------------------------------------------


def measure_exact(seed: int, size: Size = FULL) -> Samples:
    """Updates a second, one a step."""
    return [size.exact_updates / taken for taken in _exact_runs(seed, size)]


@lru_cache(maxsize=1)
def _exact_runs(seed: int, size: Size) -> Samples:
    load_kernels()
    given = stream(seed, size.exact, size.exact_updates, size)
    runs = []
    for _ in range(size.samples):
        measure, log = begun(given.edges, size.exact), log_of(given.changes, 1)
        runs.append(seconds(lambda measure=measure, log=log: measure.follow(log)))  # type: ignore[misc]
    _check(measure, given, 1e-9)
    return runs


def measure_exact_ratio(seed: int, size: Size = FULL) -> Samples:
    """How many times as long networkx takes to work the values out once, from an eighth of the sources."""
    given = stream(seed, size.exact, size.exact_updates, size)
    graph = after(given)
    once = 8 * seconds(lambda: nx.betweenness_centrality(graph, k=max(len(graph) // 8, 1), seed=seed))
    return [once * size.exact_updates / taken for taken in _exact_runs(seed, size)]


def measure_sampled(seed: int, size: Size = FULL) -> Samples:
    """Updates a second, one a step."""
    return _sampled(seed, 1, size)


def measure_batched(seed: int, size: Size = FULL) -> Samples:
    """Updates a second, many a step."""
    return _sampled(seed, size.batch, size)


def _sampled(seed: int, batch: int, size: Size) -> Samples:
    load_kernels()
    given = stream(seed, size.sampled, size.updates, size)
    rates = []
    for _ in range(size.samples):
        measure, log = begun(given.edges, size.exact), log_of(given.changes, batch)
        if not measure.sampled:
            raise WrongAnswer("values are not sampled")
        rates.append(size.updates / seconds(lambda measure=measure, log=log: measure.follow(log)))  # type: ignore[misc]
    _check(measure, given, EPSILON)
    return rates


def _check(measure: Betweenness, given: Stream, tolerance: float) -> None:
    """Compares with networkx, from some of the sources where all take too long, or with a measure from scratch."""
    graph = after(given)
    if measure.sampled:
        pivots = min(PIVOTS, len(graph))
        expected = nx.betweenness_centrality(graph, k=pivots, seed=1)
        tolerance += tolerance if pivots < len(graph) else 0.0  # their error is about as large
    elif len(graph) <= PIVOTS:
        expected = nx.betweenness_centrality(graph)
    else:
        other = begun(np.array(graph.edges, np.int32), len(graph))
        expected = {vertex: other.value(vertex) for vertex in graph}
    off = max(abs(measure.value(vertex) - value) for vertex, value in expected.items())
    if off > tolerance:
        raise WrongAnswer(f"a value is off by {off}, more than {tolerance}")
