"""The graph of the metrics table and what becomes of it: Barabási and Albert's, a third of the updates deletions.

Each vertex comes with edges to earlier ones, chosen by their degrees up to a cap, in a direction drawn at random. Most
edges are there beforehand; the others come, and for every two that come one goes that is there. Each update is a step
of its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from heliograph.watch.metrics.thresholds import CAME, WENT, Log

Ints = npt.NDArray[np.int32]


class Size(NamedTuple):
    """How large a workload is."""

    vertices: int
    changes: int  # of each sample
    instances: int = 100  # who asks
    links: int = 5  # edges with which each vertex comes
    cap: int = 500
    samples: int = 3


class Stream(NamedTuple):
    """The edges that are there beforehand, changes for each sample, and the edges that are left."""

    before: Log
    parts: list[Log]
    after: Ints

    @property
    def graph(self) -> Any:
        """What is left, for networkx; a vertex without edges is not there."""
        return nx.DiGraph(self.after.tolist())


def draw_pairs(size: Size, rng: np.random.Generator) -> Ints:
    """All edges the graph will ever have."""
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
    what = np.where(goes, WENT, CAME)
    cuts = [slice(first, first + size.changes) for first in range(0, changes, size.changes)]
    parts = [log_of(pairs[numbers[cut]], what[cut]) for cut in cuts]
    return Stream(log_of(pairs[there], CAME), parts, pairs[np.concatenate([there[gone:], later])])


def stream(seed: int, size: Size) -> Stream:
    """The same for all rows that stand together, however many ask."""
    return _stream(seed, size._replace(instances=0))


@lru_cache(maxsize=1)
def _stream(seed: int, size: Size) -> Stream:
    return draw_stream(size, np.random.default_rng(seed))


def choose(seed: int, size: Size, vertices: int) -> list[tuple[int, ...]]:
    """So many vertices for everybody who asks."""
    rng = np.random.default_rng((seed, size.instances))
    return [tuple(rng.choice(size.vertices, vertices, replace=False).tolist()) for _ in range(size.instances)]


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


NOTHING = log_of(np.zeros((0, 2), np.int32), CAME)  # to be followed where kernels are to be loaded
