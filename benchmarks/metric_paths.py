"""Distances and Steiner trees kept up to date, beside recomputation by networkx.

A graph of Barabási and Albert's, 5 edges a vertex and no more than 500 at one, each edge in a direction drawn at
random. Most edges are there beforehand; the others come, and for every two that come one goes that is there. Each
change is a step of its own. Answers are compared with networkx before a time counts. Times are the processor's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.watch_workloads import seconds
from heliograph.kernels.metric_layout import CAME, WENT, Log
from heliograph.watch.metrics.distance import Distance
from heliograph.watch.metrics.steiner import Steiner

Ints = npt.NDArray[np.int32]
Samples = Sequence[float]


class Size(NamedTuple):
    """How large a workload is."""

    vertices: int
    changes: int  # of each sample
    instances: int = 100
    links: int = 5  # edges with which each vertex comes
    cap: int = 500
    samples: int = 3


DISTANCES, TREES = Size(100_000, 20_000), Size(20_000, 5_000)
WITHIN = 4.5  # a cut between 4 and 5
TERMINALS = 4
COST = 10.5  # of trees: a quarter to a half of those over 4 terminals cost less


# --- the stream -------------------------------------------------------------------------------------------------


class Stream(NamedTuple):
    """The edges that are there beforehand, changes for each sample, and the edges that are left."""

    before: Log
    parts: list[Log]
    after: Ints


def draw_pairs(size: Size, rng: np.random.Generator) -> Ints:
    """Each vertex is joined to some earlier ones, chosen by their degree, in a direction drawn at random."""
    degree, ends, pairs = [0] * size.vertices, list(range(size.links)), list[tuple[int, int]]()
    for vertex in range(size.links, size.vertices):
        chosen: set[int] = set()
        while len(chosen) < size.links:
            other = ends[int(rng.random() * len(ends))]
            if degree[other] < size.cap:
                chosen.add(other)
        for other in sorted(chosen):
            pairs.append((vertex, other) if rng.random() < 0.5 else (other, vertex))
            degree[vertex] += 1
            degree[other] += 1
            ends += (vertex, other)
    return np.array(pairs, np.int32)


def draw_stream(size: Size, rng: np.random.Generator) -> Stream:
    pairs, changes = draw_pairs(size, rng), size.changes * size.samples
    order, gone = rng.permutation(len(pairs)), changes // 3
    later, there = order[: changes - gone], order[changes - gone :]
    goes = np.zeros(changes, bool)
    goes[2 : 3 * gone : 3] = True
    numbers = np.empty(changes, np.int64)
    numbers[goes], numbers[~goes] = there[:gone], later
    log = log_of(pairs[numbers], np.where(goes, WENT, CAME))
    cuts = range(0, changes, size.changes)
    parts = [Log._make(column[cut : cut + size.changes] for column in log) for cut in cuts]
    return Stream(log_of(pairs[there], CAME), parts, pairs[np.concatenate([there[gone:], later])])


def log_of(pairs: Ints, change: Any) -> Log:
    """Each change a step of its own; one property, no weights."""
    count = len(pairs)
    return Log(
        np.arange(count, dtype=np.int32),
        np.full(count, change, np.uint8),
        pairs[:, 0].copy(),
        np.zeros(count, np.int32),
        pairs[:, 1].copy(),
        np.full(count, np.nan),
    )


# --- distances --------------------------------------------------------------------------------------------------


class Stage(NamedTuple):
    """A measure that has gone through a stream: updates a second in each sample, and who was watched."""

    rates: Samples
    values: dict[tuple[int, ...], float]
    graph: Any  # what is left, of networkx


def play(measure: Distance | Steiner, size: Size, terminals: int, cut: float, seed: int) -> Stage:
    rng = np.random.default_rng(seed)
    stream = draw_stream(size, rng)
    measure.restore(stream.before, {})
    watched = [tuple(rng.choice(size.vertices, terminals, replace=False).tolist()) for _ in range(size.instances)]
    instances = {vertices: measure.watch(vertices, (cut,)) for vertices in watched}
    measure.follow(log_of(np.zeros((0, 2), np.int32), CAME))  # loads the kernels
    rates = [len(part.step) / seconds(lambda part=part: measure.follow(part)) for part in stream.parts]  # type: ignore[misc]
    values = {vertices: measure.value(instance) for vertices, instance in instances.items()}
    return Stage(rates, values, nx.DiGraph(stream.after.tolist()))


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
