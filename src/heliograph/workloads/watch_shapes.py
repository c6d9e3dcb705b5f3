"""The shapes that queries cut out of a graph: connected parts of it, drawn at random.

A chain or a star has distinct vertices. A graph is anything connected, hence mostly a tree: in a sparse graph hardly
any of its parts is closed by chance. `cyclic` are those that have a cycle of three or more vertices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.workloads.watch_graph import PATIENCE, Edges, Flags, Ints, Random

KINDS = ("chain", "star", "graph", "cyclic")
_LEAST_CYCLE = 3


class Adjacency(NamedTuple):
    """The edges by one of their ends: those of vertex v are rows[offsets[v]:offsets[v + 1]]."""

    offsets: Ints
    rows: Ints

    @classmethod
    def of(cls, ends: Ints, vertices: int) -> Adjacency:
        rows = np.argsort(ends, kind="stable")
        return cls(np.searchsorted(ends[rows], np.arange(vertices + 1)), rows)

    def degree(self, vertex: Ints) -> Ints:
        return self.offsets[vertex + 1] - self.offsets[vertex]

    def pick(self, rng: Random, vertex: Ints) -> Ints:
        """A random edge of each vertex, -1 where it has none."""
        degree = self.degree(vertex)
        chosen = self.offsets[vertex] + (rng.random(len(vertex)) * degree).astype(np.int64)
        return np.where(degree > 0, self.rows[np.minimum(chosen, len(self.rows) - 1)], -1)


class Pairs(NamedTuple):
    """The edges by both of their ends."""

    codes: Ints  # ascending
    rows: Ints
    vertices: int

    @classmethod
    def of(cls, edges: Edges, vertices: int) -> Pairs:
        codes = edges.source * vertices + edges.target
        rows = np.argsort(codes, kind="stable")
        return cls(codes[rows], rows, vertices)

    def find(self, source: Ints, target: Ints) -> Ints:
        """An edge from each source to its target, -1 where there is none."""
        wanted = source * self.vertices + target
        place = np.minimum(np.searchsorted(self.codes, wanted), len(self.codes) - 1)
        return np.where(self.codes[place] == wanted, self.rows[place], -1)


class Shapes:
    """Draws connected parts of a graph, as rows of edges: one row of edge numbers for each part."""

    def __init__(self, rng: Random, edges: Edges, vertices: int) -> None:
        self._rng = rng
        self._edges = edges
        self._leaving = Adjacency.of(edges.source, vertices)
        self._entering = Adjacency.of(edges.target, vertices)
        self._pairs = Pairs.of(edges, vertices)

    def draw(self, kind: str, count: int, length: int) -> list[Ints]:
        """So many parts of a kind; shorter ones where the graph has hardly any so long."""
        found: list[Ints] = []
        for _ in range(PATIENCE):
            if len(found) >= count:
                return found[:count]
            parts = getattr(self, f"_{kind}")(max(64, 2 * (count - len(found))), length)
            found += list(parts[_distinct(parts)])
        return found[:count] + self.draw(kind, max(0, count - len(found)), length - 1)

    def _starts(self, count: int) -> Ints:
        return self._rng.integers(0, len(self._edges.source), count)

    def _chain(self, count: int, length: int) -> Ints:
        """Each edge begins where the one before ended."""
        parts = [self._starts(count)]
        while len(parts) < length:
            parts.append(self._leaving.pick(self._rng, self._edges.target[parts[-1]]))
        return self._trees(np.column_stack(parts))

    def _star(self, count: int, length: int) -> Ints:
        """Edges that leave one vertex: neighbours in its list, from a random one on."""
        centre = self._edges.source[self._starts(count)]
        degree, first = self._leaving.degree(centre), self._leaving.offsets[centre]
        begin = (self._rng.random(count) * degree).astype(np.int64)
        places = first[:, None] + (begin[:, None] + np.arange(length)) % degree[:, None]
        return self._trees(self._leaving.rows[places])

    def _cyclic(self, count: int, length: int) -> Ints:
        """Too short for a cycle, it is a graph like others."""
        if length < _LEAST_CYCLE:
            return self._graph(count, length)
        parts = self._graph(count, length - 1)
        return np.column_stack([parts, self._closing(parts)])

    def _graph(self, count: int, length: int) -> Ints:
        """Grown edge by edge from any vertex so far, in either direction."""
        parts = [self._starts(count)]
        while len(parts) < length:
            drawn = np.column_stack(parts)
            edge = drawn[np.arange(count), self._rng.integers(0, len(parts), count)]
            coins = self._rng.random((2, count)) < 0.5
            vertex = np.where(coins[0], self._edges.source[edge], self._edges.target[edge])
            leaving, entering = (side.pick(self._rng, vertex) for side in (self._leaving, self._entering))
            parts.append(np.where(coins[1], leaving, entering))
        return np.column_stack(parts)

    def _trees(self, parts: Ints) -> Ints:
        """The parts as they are, but none (-1) where a vertex comes again."""
        ends = np.sort(np.column_stack([self._edges.source[parts], self._edges.target[parts]]), axis=1)
        vertices = 1 + (ends[:, 1:] != ends[:, :-1]).sum(axis=1)
        return np.where((vertices == parts.shape[1] + 1)[:, None], parts, -1)

    def _closing(self, parts: Ints) -> Ints:
        """For each part an edge between two of its vertices that no edge of it joins, -1 where there is none."""
        source, target = self._edges.source[parts], self._edges.target[parts]
        ends = np.column_stack([source, target])
        pairs = [(ends[:, one], ends[:, other]) for one in range(ends.shape[1]) for other in range(ends.shape[1])]
        found = np.full(len(parts), -1)
        for place in self._rng.permutation(len(pairs)).tolist():
            one, other = pairs[place]
            joined = (source == one[:, None]) & (target == other[:, None])
            joined |= (source == other[:, None]) & (target == one[:, None])
            edge = self._pairs.find(one, other)
            found = np.where((found < 0) & (edge >= 0) & ~joined.any(axis=1), edge, found)
        return found


def _distinct(parts: Ints) -> Flags:
    """The parts in which every edge was found and none comes twice."""
    ranked = np.sort(parts, axis=1)
    apart: Flags = (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
    return apart & (ranked[:, 0] >= 0)
