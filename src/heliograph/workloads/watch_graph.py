"""Edges with power-law degrees, and the shapes that queries cut out of them.

Vertices are drawn by rank r with a chance proportional to r^-0.75, for either end: degrees then follow a power law with
exponent 2.3, and a vertex with many edges coming in has many going out, so that chains go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Random = np.random.Generator
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_SKEW = 0.75
_PATIENCE = 30  # skewed rounds before the rest is drawn uniformly: small graphs run out of unused pairs of hubs


class Size(NamedTuple):
    vertices: int
    edges: int
    properties: int = 1
    cap: int = 0  # the largest degree, both ways together; 0 is none


class Edges(NamedTuple):
    """Distinct edges in the order in which they are added."""

    source: Ints
    property: Ints
    target: Ints

    def take(self, rows: Ints) -> Edges:
        return Edges(self.source[rows], self.property[rows], self.target[rows])

    def codes(self, size: Size) -> Ints:
        """One number for each edge; equal edges have equal numbers."""
        return (self.source * size.vertices + self.target) * size.properties + self.property


def draw_edges(rng: Random, size: Size) -> Edges:
    """So many distinct edges without loops."""
    labels = rng.permutation(size.vertices)  # a vertex's number says nothing of its degree
    drawn = Edges(*(np.empty(0, np.int64) for _ in Edges._fields))
    for patience in range(_PATIENCE, -10 * _PATIENCE, -1):
        missing = size.edges - len(drawn.source)
        if missing <= 0:
            break
        more = _draw(rng, size, missing + missing // 2 + 16, _SKEW if patience > 0 else 0.0)
        both = Edges(*(np.concatenate(pair) for pair in zip(drawn, more, strict=True)))
        drawn = _within(both.take(_firsts(both.codes(size))), size)
    kept = drawn.take(np.arange(min(size.edges, len(drawn.source))))
    return Edges(labels[kept.source], kept.property, labels[kept.target])


def _draw(rng: Random, size: Size, count: int, skew: float) -> Edges:
    source, target = (_ranks(rng, size.vertices, count, skew) for _ in range(2))
    apart = np.flatnonzero(source != target)
    return Edges(source, rng.integers(0, size.properties, count), target).take(apart)


def _ranks(rng: Random, vertices: int, count: int, skew: float) -> Ints:
    return np.minimum((vertices * rng.random(count) ** (1 / (1 - skew))).astype(np.int64), vertices - 1)


def _firsts(codes: Ints) -> Ints:
    """The rows whose code did not come before, in order."""
    return np.sort(np.unique(codes, return_index=True)[1])


def _within(edges: Edges, size: Size) -> Edges:
    """The edges that come before either end is full."""
    if not size.cap:
        return edges
    ends = np.column_stack([edges.source, edges.target]).ravel()
    return edges.take(np.flatnonzero((_occurrence(ends).reshape(-1, 2) < size.cap).all(axis=1)))


def _occurrence(values: Ints) -> Ints:
    """How often each value came before."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else np.empty(0, np.int64)
    lengths = np.diff(np.r_[starts, len(ranked)])
    counted = np.empty(len(values), np.int64)
    counted[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return counted


# --- shapes -----------------------------------------------------------------------------------------------------


class Adjacency(NamedTuple):
    """The edges by one of their ends: those of vertex v are rows[offsets[v]:offsets[v + 1]]."""

    offsets: Ints
    rows: Ints

    @classmethod
    def of(cls, ends: Ints, vertices: int) -> Adjacency:
        return cls(np.searchsorted(np.sort(ends), np.arange(vertices + 1)), np.argsort(ends, kind="stable"))

    def degree(self, vertex: Ints) -> Ints:
        return self.offsets[vertex + 1] - self.offsets[vertex]

    def pick(self, rng: Random, vertex: Ints) -> Ints:
        """A random edge of each vertex, -1 where it has none."""
        degree = self.degree(vertex)
        chosen = self.offsets[vertex] + (rng.random(len(vertex)) * degree).astype(np.int64)
        return np.where(degree > 0, self.rows[np.minimum(chosen, len(self.rows) - 1)], -1)


class Shapes:
    """Draws connected parts of a graph, as rows of edges: one row of edge numbers for each part."""

    def __init__(self, rng: Random, edges: Edges, vertices: int) -> None:
        self._rng = rng
        self._edges = edges
        self._leaving = Adjacency.of(edges.source, vertices)
        self._entering = Adjacency.of(edges.target, vertices)

    def draw(self, kind: str, count: int, length: int) -> list[Ints]:
        """So many parts of a kind; shorter ones where the graph has hardly any so long."""
        found: list[Ints] = []
        for _ in range(_PATIENCE):
            parts = getattr(self, f"_{kind}")(max(64, 2 * (count - len(found))), length)
            found += list(parts[_distinct(parts)])
            if len(found) >= count:
                return found[:count]
        return found + self.draw(kind, count - len(found), length - 1)

    def _starts(self, count: int) -> Ints:
        return self._rng.integers(0, len(self._edges.source), count)

    def _chain(self, count: int, length: int) -> Ints:
        """Each edge begins where the one before ended."""
        parts = [self._starts(count)]
        while len(parts) < length:
            parts.append(self._leaving.pick(self._rng, self._edges.target[parts[-1]]))
        return np.column_stack(parts)

    def _star(self, count: int, length: int) -> Ints:
        """Edges that leave one vertex: neighbours in its list, from a random one on."""
        centre = self._edges.source[self._starts(count)]
        degree, first = self._leaving.degree(centre), self._leaving.offsets[centre]
        begin = (self._rng.random(count) * degree).astype(np.int64)
        places = first[:, None] + (begin[:, None] + np.arange(length)) % degree[:, None]
        return self._leaving.rows[places]

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


def _distinct(parts: Ints) -> Flags:
    """The parts in which every edge was found and none comes twice."""
    ranked = np.sort(parts, axis=1)
    apart: Flags = (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
    return apart & (ranked[:, 0] >= 0)
