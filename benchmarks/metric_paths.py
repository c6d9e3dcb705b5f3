"""Distances and Steiner trees kept up to date, beside recomputation by networkx.

Over the streams of `metric_streams`. Answers are compared with networkx before a time counts. Times are the
processor's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import networkx as nx

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_streams import NOTHING, Size, choose, stream
from benchmarks.watch_workloads import seconds
from heliograph.watch.metrics.distance import Distance, Steiner

Samples = Sequence[float]


DISTANCES, TREES = Size(100_000, 20_000), Size(20_000, 5_000)
WITHIN = 4.5  # a cut between 4 and 5
TERMINALS = 4
COST = 10.5  # of trees: a quarter to a half of those over 4 terminals cost less


# --- distances --------------------------------------------------------------------------------------------------


class Stage(NamedTuple):
    """A measure that has gone through a stream: updates a second in each sample, and who was watched."""

    rates: Samples
    values: dict[tuple[int, ...], float]
    graph: Any  # what is left, of networkx


def play(measure: Distance | Steiner, size: Size, terminals: int, cut: float, seed: int) -> Stage:
    given = stream(seed, size)
    measure.restore(given.before, {})
    instances = {vertices: measure.watch(vertices, (cut,)) for vertices in choose(seed, size, terminals)}
    measure.follow(NOTHING)  # loads the kernels
    rates = [len(part.step) / seconds(lambda part=part: measure.follow(part)) for part in given.parts]  # type: ignore[misc]
    values = {vertices: measure.value(instance) for vertices, instance in instances.items()}
    return Stage(rates, values, given.graph)


def nx_distance(graph: Any, start: int, end: int) -> float:
    try:
        return float(len(nx.bidirectional_shortest_path(graph, start, end)) - 1)
    except (nx.NodeNotFound, nx.NetworkXNoPath):
        return math.inf


def nx_tree(graph: Any, vertices: Sequence[int]) -> float:
    """The weight of a minimum spanning tree over distances."""
    closure: Any = nx.Graph()
    closure.add_weighted_edges_from((a, b, nx_distance(graph, a, b)) for a, b in combinations(vertices, 2))
    return float(nx.minimum_spanning_tree(closure).size(weight="weight"))


def rerun_seconds(values: dict[tuple[int, ...], float], again: Callable[[tuple[int, ...]], float]) -> float:
    """What it takes to recompute all instances once, and that the answers are the same."""
    found: dict[tuple[int, ...], float] = {}
    took = seconds(lambda: found.update({vertices: again(vertices) for vertices in values}))
    if found != values:
        raise WrongAnswer(f"{sum(found[one] != values[one] for one in values)} of {len(values)} differ from networkx")
    return took


@lru_cache(maxsize=1)
def distances(seed: int, undirected: bool, size: Size) -> tuple[Stage, float]:
    """A stage, and the seconds of a rerun."""
    stage = play(Distance(undirected=undirected), size, 2, WITHIN, seed)
    graph = stage.graph.to_undirected() if undirected else stage.graph
    return stage, rerun_seconds(stage.values, lambda ends: nx_distance(graph, *ends))


def measure_distances(seed: int, undirected: bool = False, size: Size = DISTANCES) -> Samples:
    """Updates a second."""
    return distances(seed, undirected, size)[0].rates


def measure_distances_rerun(seed: int, undirected: bool = False, size: Size = DISTANCES) -> Samples:
    """How many times as long it takes to recompute after each update."""
    stage, again = distances(seed, undirected, size)
    return [rate * again for rate in stage.rates]


# --- Steiner trees ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def trees(seed: int, size: Size) -> tuple[Stage, float]:
    stage = play(Steiner(), size, TERMINALS, COST, seed)
    graph = stage.graph.to_undirected()
    return stage, rerun_seconds(stage.values, lambda vertices: nx_tree(graph, vertices))


def measure_trees(seed: int, size: Size = TREES) -> Samples:
    """Updates a second."""
    return trees(seed, size)[0].rates


def measure_trees_rerun(seed: int, size: Size = TREES) -> Samples:
    """How many times as long it takes to recompute after each update."""
    stage, again = trees(seed, size)
    return [rate * again for rate in stage.rates]
