"""Densities kept up to date: updates a second on one core, beside recomputation by networkx on the same stream.

Over the streams of `metric_streams`. Values are held against networkx's at the end of the stream before a time counts.
Times are the processor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import networkx as nx

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_streams import NOTHING, Size, Stream, choose, stream
from benchmarks.watch_workloads import seconds
from heliograph.watch.metrics.dense import Dense
from heliograph.watch.metrics.density import NeighbourhoodDensity
from heliograph.watch.metrics.thresholds import Measure

FULL = Size(100_000, 20_000, instances=1_000)
HOPS = 2
NEAR = 1.01  # thresholds, as multiples of the values beforehand
SAMPLE = 20  # centres that are held against networkx, and recomputed by it
Samples = Sequence[float]


# --- densities of neighbourhoods --------------------------------------------------------------------------------


def measure_density(seed: int, size: Size = FULL) -> Samples:
    """Updates a second, each centre asking for one threshold near its value."""
    return densities(seed, size)[0]


def measure_density_rerun(seed: int, size: Size = FULL) -> Samples:
    """How many times as long it takes to recompute all centres after each update."""
    rates, again = densities(seed, size)
    return [rate * again for rate in rates]


@lru_cache(maxsize=1)
def densities(seed: int, size: Size) -> tuple[Samples, float]:
    """Updates a second, and the seconds of a rerun: what a few centres take, times their number."""
    given, measure = stream(seed, size), NeighbourhoodDensity(HOPS)
    centres = [centre for (centre,) in choose(seed, size, 1)]
    measure.restore(given.before, {})
    for centre in centres:
        measure.watch([centre], [measure.value(centre) * NEAR])
    rates = _rates(measure, given)
    arcs = given.graph
    pairs, found = nx.Graph(arcs), list[float]()
    sample = centres[:SAMPLE]
    took = seconds(lambda: found.extend(nx_density(arcs, pairs, centre) for centre in sample))
    for centre, expected in zip(sample, found, strict=True):
        _check(measure.value(centre), expected)
    return rates, took / len(sample) * len(centres)


def nx_density(arcs: Any, pairs: Any, centre: int) -> float:
    held = nx.single_source_shortest_path_length(pairs, centre, cutoff=HOPS) if centre in pairs else ()
    return float(nx.density(arcs.subgraph(held)))


# --- dense subgraphs --------------------------------------------------------------------------------------------


def measure_dense(seed: int, size: Size = FULL) -> Samples:
    """Updates a second, every vertex watched for one threshold a little above the largest value."""
    return dense(seed, size)[0]


def measure_dense_rerun(seed: int, size: Size = FULL) -> Samples:
    """How many times as long it takes to find core numbers from scratch after each update."""
    rates, again = dense(seed, size)
    return [rate * again for rate in rates]


@lru_cache(maxsize=1)
def dense(seed: int, size: Size) -> tuple[Samples, float]:
    """Updates a second, and the seconds of a rerun."""
    given, measure = stream(seed, size), Dense()
    measure.restore(given.before, {})
    vertices = [vertex for (vertex,) in choose(seed, size, 1)]
    measure.watch_all([max(map(measure.value, vertices)) * NEAR])
    rates = _rates(measure, given)
    graph = nx.Graph(given.after.tolist())
    again = seconds(lambda: nx.core_number(graph))
    cores, parts = nx.core_number(graph), _core_densities(graph)
    for vertex in vertices[:SAMPLE]:
        near = [cores[other] for other in graph[vertex]] if vertex in graph else []
        _check(measure.value(vertex), _recomputed_dense(cores.get(vertex, 0), near, parts))
    return rates, again


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


def _rates(measure: Measure, given: Stream) -> Samples:
    measure.follow(NOTHING)  # loads the kernels
    return [len(part.step) / seconds(lambda part=part: measure.follow(part)) for part in given.parts]  # type: ignore[misc]


def _check(found: float, expected: float) -> None:
    if abs(found - expected) > 1e-9:
        raise WrongAnswer(f"{found} instead of {expected}")
