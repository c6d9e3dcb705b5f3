"""Edges with power-law degrees.

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
PATIENCE = 30  # skewed rounds before the rest is drawn uniformly: small graphs run out of unused pairs of hubs


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
    for patience in range(PATIENCE, -10 * PATIENCE, -1):
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
