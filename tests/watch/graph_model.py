"""The slow twin of a flat graph, and what must be true of its arrays whatever was done to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from heliograph.watch.graph import FlatGraph
from heliograph.watch.graph_kernels import GraphArrays
from heliograph.watch.layout import EDGE, FULL, LENGTH, LINK, NEIGHBOUR, OBJECT, PARTS, START, SUBJECT
from tests.watch.graph_steps import count_runs, read_run

Edge = tuple[int, int, int]
VERTICES, PROPERTIES = 5, 2


@dataclass
class Model:
    """A flat graph beside a set of edges and a set of those that somebody waits for."""

    flat: FlatGraph = field(default_factory=FlatGraph)
    edges: set[Edge] = field(default_factory=set)
    waiting: dict[Edge, int] = field(default_factory=dict)  # with their numbers

    def put(self, edge: Edge) -> None:
        number = self.flat.put(*edge)
        assert tuple(self.flat.arrays.edges[number, :LINK].tolist()) == edge
        self.edges.add(edge)

    def drop(self, edge: Edge) -> None:
        assert self.flat.drop(*edge) == (edge in self.edges)
        self.edges.discard(edge)

    def enter(self, edge: Edge) -> None:
        number = int(self.flat.enter_edges(*(np.array([part]) for part in edge))[0])
        assert self.waiting.setdefault(edge, number) == number
        self.flat.arrays.edges[number, LINK] |= 2 * (1 + number)

    def leave(self, edge: Edge) -> None:
        """Nobody waits any more for it, or else for the first that somebody waits for."""
        edge = edge if edge in self.waiting else min(self.waiting, default=edge)
        if self.waiting:
            self.flat.leave_edges(np.array([self.waiting.pop(edge)]))

    def remove(self, edge: Edge) -> None:
        """Takes away what touches its subject."""
        touching = self.flat.touching(edge[0])
        gone = {each for each in self.edges if edge[0] in (each[0], each[2])}
        assert edges_of(self.flat, touching) == sorted(gone)
        self.flat.drop_edges(touching)
        self.edges -= gone

    def list(self, edge: Edge) -> None:
        self.flat.keep_adjacency()

    def grow(self, edge: Edge) -> None:
        self.flat.reserve(edges=edge[0] * 4, vertices=edge[2] * 4)
        self.flat.grow()

    def check(self) -> None:
        graph = self.flat.arrays
        assert len(self.flat) == len(self.edges) == graph.live
        assert edges_of(self.flat, self.flat.edge_numbers()) == sorted(self.edges)
        for edge, number in self.waiting.items():
            assert tuple(graph.edges[number, :LINK].tolist()) == edge
            assert graph.edges[number, LINK] == 2 * (1 + number) + (edge in self.edges)
        check_slots(graph, self.edges | set(self.waiting))
        if len(graph.runs):
            self.check_runs()
            check_pool(graph)

    def check_runs(self) -> None:
        """Every vertex has the edges it should have, each in the place that it says."""
        graph, listed = self.flat.arrays, 0
        for vertex in {end for edge in self.edges for end in (edge[0], edge[2])}:
            listed += count_runs(graph.address, vertex)[1]
            for property in {edge[1] for edge in self.edges}:
                out = {o for s, p, o in self.edges if (s, p) == (vertex, property)}
                into = {s for s, p, o in self.edges if (p, o) == (property, vertex)}
                check_run(graph, vertex, 2 * property, out)
                check_run(graph, vertex, 2 * property + 1, into)
        assert listed == 2 * len(self.edges)


def edges_of(flat: FlatGraph, numbers: np.ndarray) -> list[Edge]:
    return sorted((s, p, o) for s, p, o in flat.arrays.edges[numbers, :LINK].tolist())


def check_run(graph: GraphArrays, vertex: int, key: int, ends: set[int]) -> None:
    found = np.zeros((len(ends) + 1, 2), np.int64)
    assert read_run(graph.address, vertex, key, found) == len(ends)
    assert set(found[: len(ends), 0].tolist()) == ends
    for place, (end, edge) in enumerate(found[: len(ends)].tolist()):
        near, far = (SUBJECT, OBJECT) if key & 1 == 0 else (OBJECT, SUBJECT)
        assert graph.edges[edge, near] == vertex
        assert graph.edges[edge, far] == end
        assert graph.places[edge, key & 1] == place


def check_slots(graph: GraphArrays, entered: set[Edge]) -> None:
    """Each edge has one slot, the table has room, and every number that is not in use is in the chain of free ones."""
    taken = np.flatnonzero(graph.slots)
    assert len(entered) == len(taken) == graph.taken
    assert len(taken) * PARTS <= len(graph.slots) * FULL
    numbers = {(int(graph.slots[place]) & 0xFFFFFFFF) - 1 for place in taken}
    assert {tuple(graph.edges[number, :LINK].tolist()) for number in numbers} == entered
    free, number = set(), graph.free_edge - 1
    while number >= 0:
        assert number not in free
        free.add(number)
        number = int(graph.edges[number, SUBJECT]) - 1
    assert free | numbers == set(range(graph.numbered))
    assert not free & numbers


def check_pool(graph: GraphArrays) -> None:
    """Blocks in use and free ones lie side by side, each at a multiple of its size, and no two free buddies stay."""
    lengths = graph.runs[: graph.run_count, LENGTH].tolist()
    starts = graph.runs[: graph.run_count, START].tolist()
    used = [(s, 1 << (n - 1).bit_length()) for s, n in zip(starts, lengths, strict=True) if n > 1]
    free = [(block, 1 << k) for k in range(len(graph.free)) for block in free_blocks(graph, k)]
    end = 0
    for start, size in sorted(used + free):
        assert start == end
        assert start % size == 0
        end = start + size
    assert end == graph.pool_end <= len(graph.pool)
    assert graph.idle_runs == lengths.count(0)
    assert graph.vacant == sum(size for _, size in free)
    assert graph.free_sizes == sum({size for _, size in free})
    assert not {(start ^ size, size) for start, size in free} & set(free)


def free_blocks(graph: GraphArrays, k: int) -> list[int]:
    blocks: list[int] = []
    block = int(graph.free[k]) - 1
    while block >= 0:
        assert graph.pool[block, EDGE] == -1 - k
        assert graph.pool[block + 1, NEIGHBOUR] == (blocks[-1] + 1 if blocks else 0)
        blocks.append(block)
        block = int(graph.pool[block, NEIGHBOUR]) - 1
    return blocks
