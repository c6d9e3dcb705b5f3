"""Keeping densities up to date: updates a second on one core, beside recomputing by networkx on the same stream.

Barabási–Albert, 5 edges a vertex, degrees capped at 500; a third of the updates are deletions of edges that are there,
the others join vertices that are chosen by their degree. Each update is a step of its own. Values are held against
networkx's, at the end of the stream, before a time counts; times are the processor's.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from benchmarks.check import Row, run
from heliograph.kernels.metric_layout import CAME, WENT, Log
from heliograph.watch.metrics.dense import Dense
from heliograph.watch.metrics.density import NeighbourhoodDensity
from heliograph.watch.metrics.measure import Measure

HOPS = 2
_CAP = 500
_SAMPLE = 20  # centres that are held against networkx, and recomputed by it

Edge = tuple[int, int]


class Size(NamedTuple):
    vertices: int = 100_000
    edges: int = 5  # a vertex
    centres: int = 1_000
    updates: int = 100_000


FULL = Size()


class Stream(NamedTuple):
    """The edges beforehand, the updates, and the edges in the end."""

    before: Log
    updates: Log
    after: Sequence[Edge]


class WrongValue(Exception):
    """A measure and networkx disagree."""


# --- the stream -------------------------------------------------------------------------------------------------


class _Growing:
    """Edges with ends chosen by degree."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.edges: list[Edge] = []
        self._there: set[Edge] = set()
        self._ends: list[int] = []  # as often as edges were added to a vertex
        self._degrees: dict[int, int] = {}

    def join(self, one: int, other: int) -> bool:
        if one == other or (one, other) in self._there or (other, one) in self._there:
            return False
        if max(self._degrees.get(one, 0), self._degrees.get(other, 0)) >= _CAP:
            return False
        self.edges.append((one, other))
        self._there.add((one, other))
        self._ends += one, other
        for end in (one, other):
            self._degrees[end] = self._degrees.get(end, 0) + 1
        return True

    def any_end(self) -> int:
        return self.rng.choice(self._ends)

    def part(self) -> Edge:
        """Takes any edge away."""
        number = self.rng.randrange(len(self.edges))
        self.edges[number], self.edges[-1] = self.edges[-1], self.edges[number]
        edge = self.edges.pop()
        self._there.remove(edge)
        for end in edge:
            self._degrees[end] -= 1
        return edge


@lru_cache(maxsize=1)
def stream(seed: int, size: Size) -> Stream:
    growing = _Growing(seed)
    for vertex in range(1, size.vertices):
        joined = 0
        for _ in range(4 * size.edges):
            joined += growing.join(vertex, growing.any_end() if growing.edges else 0)
            if joined == min(size.edges, vertex):
                break
    before = _log([(CAME, edge) for edge in growing.edges])
    changes: list[tuple[int, Edge]] = []
    while len(changes) < size.updates:
        if growing.rng.random() < 1 / 3:
            changes.append((WENT, growing.part()))
        elif growing.join(growing.any_end(), growing.any_end()):
            changes.append((CAME, growing.edges[-1]))
    return Stream(before, _log(changes), growing.edges)


def _log(changes: Sequence[tuple[int, Edge]]) -> Log:
    kinds, ends = [change for change, _ in changes], np.array([edge for _, edge in changes], np.int32).reshape(-1, 2)
    steps, properties = np.arange(len(changes), dtype=np.int32), np.zeros(len(changes), np.int32)
    columns = (np.ascontiguousarray(ends[:, 0]), properties, np.ascontiguousarray(ends[:, 1]))
    return Log(steps, np.array(kinds, np.uint8), *columns, np.full(len(changes), np.nan))


# --- densities of neighbourhoods --------------------------------------------------------------------------------


def measure_density(seed: int, size: Size = FULL) -> float:
    """Updates a second, each centre asking for one threshold near its value."""
    made, measure, centres = stream(seed, size), NeighbourhoodDensity(HOPS), _centres(seed, size)
    measure.restore(made.before, {})
    for centre in centres:
        measure.watch([centre], [measure.value(centre) * 1.01])
    rate = _rate(measure, made.updates)
    arcs = nx.DiGraph(list(made.after))
    pairs = nx.Graph(arcs)
    for centre in centres[:_SAMPLE]:
        _check(measure.value(centre), _recomputed_density(arcs, pairs, centre))
    return rate


def measure_density_networkx(seed: int, size: Size = FULL) -> float:
    """Updates a second if each has all centres recomputed: what a few of them take, times their number."""
    arcs, centres = nx.DiGraph(list(stream(seed, size).after)), _centres(seed, size)
    pairs = nx.Graph(arcs)
    started = time.process_time()
    for centre in centres[:_SAMPLE]:
        _recomputed_density(arcs, pairs, centre)
    return _SAMPLE / size.centres / (time.process_time() - started)


def _centres(seed: int, size: Size) -> list[int]:
    return random.Random(seed).sample(range(size.vertices), size.centres)


def _recomputed_density(arcs: Any, pairs: Any, centre: int) -> float:
    held = nx.single_source_shortest_path_length(pairs, centre, cutoff=HOPS) if centre in pairs else ()
    return float(nx.density(arcs.subgraph(held)))


# --- dense subgraphs --------------------------------------------------------------------------------------------


def measure_dense(seed: int, size: Size = FULL) -> float:
    """Updates a second, every vertex watched for one threshold a little above the largest value."""
    made, measure = stream(seed, size), Dense()
    measure.restore(made.before, {})
    largest = max(measure.value(vertex) for vertex in _centres(seed, size))
    measure.watch_all([largest * 1.01])
    rate = _rate(measure, made.updates)
    graph = nx.Graph(list(made.after))
    cores, densities = nx.core_number(graph), _core_densities(graph)
    for vertex in _centres(seed, size)[:_SAMPLE]:
        near = [cores[other] for other in graph[vertex]] if vertex in graph else []
        _check(measure.value(vertex), _recomputed_dense(cores.get(vertex, 0), near, densities))
    return rate


def measure_dense_networkx(seed: int, size: Size = FULL) -> float:
    """Updates a second if each has core numbers found from scratch."""
    graph = nx.Graph(list(stream(seed, size).after))
    started = time.process_time()
    nx.core_number(graph)
    return 1 / (time.process_time() - started)


def _core_densities(graph: Any) -> dict[int, tuple[int, int]]:
    """By k the edges and vertices of the k-core."""
    cores = nx.core_number(graph)
    parts = {k: nx.k_core(graph, k, cores) for k in set(cores.values()) - {0}}
    return {k: (part.number_of_edges(), part.number_of_nodes()) for k, part in parts.items()}


def _recomputed_dense(core: int, near: Sequence[int], parts: dict[int, tuple[int, int]]) -> float:
    """The best of each core and a vertex together, from the core numbers of its neighbours."""
    values = [
        edges / vertices if k <= core else (edges + sum(other >= k for other in near)) / (vertices + 1)
        for k, (edges, vertices) in parts.items()
    ]
    return max(values) if core else 0.0


# --- rates ------------------------------------------------------------------------------------------------------


def _rate(measure: Measure, updates: Log) -> float:
    measure.follow(_log(()))  # loads the kernel
    started = time.process_time()
    measure.follow(updates)
    return len(updates.step) / (time.process_time() - started)


def _check(found: float, expected: float) -> None:
    if abs(found - expected) > 1e-9:
        raise WrongValue(f"{found} instead of {expected}")


_least = partial(Row, at_least=True, repeats=1)
_GRAPH = "Barabási–Albert, 100,000 vertices, 500,000 edges"
DENSITY = [
    _least("density, 2 hops", f"1,000 centres; {_GRAPH}", "updates/s", 20_000, measure_density),
    _least("density, networkx", "the same, recomputed", "updates/s", None, measure_density_networkx),
    _least("dense, every vertex", _GRAPH, "updates/s", None, measure_dense),
    _least("dense, networkx", "the same, core numbers from scratch", "updates/s", None, measure_dense_networkx),
]


def main(seed: int = 1) -> None:
    for outcome in run(DENSITY, seed):
        row = outcome.row
        print(f"{row.name:24} {outcome.measured:14,.2f} {row.unit:10} {row.target_text:22} {row.workload}")


if __name__ == "__main__":
    main()
