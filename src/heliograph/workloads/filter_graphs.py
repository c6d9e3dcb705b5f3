"""Drawing many small labelled graphs at once: rows of arrays, one graph a row, nodes by their position in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.errors import UsageError

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Random = np.random.Generator

_ROUNDS = 200  # redraws after which the parameters are blamed
_CHUNK = 8192  # rows for which scores of all edges are held at once


class Shape(NamedTuple):
    """Nodes and edges of a graph; extra edges join nodes at most `reach` apart on the path."""

    nodes: int
    edges: int
    reach: int


class Universe(NamedTuple):
    """How many node labels and properties there are to draw from."""

    labels: int
    properties: int

    def codes(self, source: Ints, property: Ints, target: Ints) -> Ints:
        """One number for each triple of labels."""
        return (source * self.properties + property) * self.labels + target


class Graphs(NamedTuple):
    """Each row a graph: the labels of its nodes, and its edges as (position, property, position)."""

    labels: Ints
    source: Ints
    property: Ints  # -1 where a graph has fewer edges than the array has columns
    target: Ints

    def codes(self, universe: Universe) -> Ints:
        """The triples' codes; -1 where there is no edge."""
        ends = (np.take_along_axis(self.labels, at, axis=1) for at in (self.source, self.target))
        codes = universe.codes(next(ends), self.property, next(ends))
        return np.where(self.property >= 0, codes, -1)

    def take(self, rows: Ints) -> Graphs:
        return Graphs(*(column[rows] for column in self))


class Occurrences(NamedTuple):
    """In how many publications each triple stands."""

    known: Ints
    times: Ints

    @classmethod
    def of(cls, codes: Ints) -> Occurrences:
        return cls(*np.unique(codes, return_counts=True))

    def number(self, codes: Ints) -> Ints:
        if not len(self.known):
            return np.zeros_like(codes)
        at = np.minimum(np.searchsorted(self.known, codes), len(self.known) - 1)
        return np.where(self.known[at] == codes, self.times[at], 0)


def draw_graphs(rng: Random, count: int, shape: Shape, universe: Universe) -> Graphs:
    """[G] section 5: a simple path through the nodes, then extra edges between pairs of them; all edges distinct."""
    path = np.broadcast_to(np.arange(shape.nodes - 1), (count, shape.nodes - 1))
    extra = (count, shape.edges - shape.nodes + 1)
    start = rng.integers(0, shape.nodes, extra)
    end = _ends(rng, start, shape)
    source, target = np.hstack([path, start]), np.hstack([path + 1, end])
    labels = _distinct_labels(rng, count, shape.nodes, universe.labels)
    return Graphs(labels, source, _properties(rng, source, target, shape.nodes, universe), target)


def _ends(rng: Random, start: Ints, shape: Shape) -> Ints:
    """Where extra edges end: anywhere else, or within reach."""
    if shape.reach >= shape.nodes - 1:
        return (start + rng.integers(1, shape.nodes, start.shape)) % shape.nodes
    step = rng.integers(1, shape.reach + 1, start.shape) * rng.choice(np.array([-1, 1]), start.shape)
    end = start + step
    turned: Ints = np.where((end < 0) | (end >= shape.nodes), start - step, end)  # at the ends of the path
    return turned


def _distinct_labels(rng: Random, count: int, nodes: int, labels: int) -> Ints:
    drawn = rng.integers(0, labels, (count, nodes))
    for _ in range(_ROUNDS * nodes):
        repeated = _repeated(drawn)
        if not repeated.any():
            return drawn
        drawn[repeated] = rng.integers(0, labels, int(repeated.sum()))
    raise _impossible(f"{nodes} distinct nodes out of {labels} labels", "labels")


def _properties(rng: Random, source: Ints, target: Ints, nodes: int, universe: Universe) -> Ints:
    """A property for each edge, such that no edge stands twice."""
    property = rng.integers(0, universe.properties, source.shape)
    for _ in range(_ROUNDS):
        repeated = _repeated((source * nodes + target) * universe.properties + property)
        if not repeated.any():
            return property
        property[repeated] = rng.integers(0, universe.properties, int(repeated.sum()))
    raise _impossible(f"distinct edges out of {universe.properties} properties", "properties")


def _repeated(rows: Ints) -> Flags:
    """Where a number stands in its row for the second time or later."""
    order = np.argsort(rows, axis=1, kind="stable")
    ranked = np.take_along_axis(rows, order, axis=1)
    again = np.zeros(rows.shape, bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    return again


def subgraphs(rng: Random, graphs: Graphs, owners: Ints, shape: Shape) -> tuple[Graphs, Ints]:
    """For each owner a connected subgraph: a stretch of its path with at most `shape.edges` of the edges within.

    Among the stretches those with enough edges are preferred. Also returns where each stretch begins.
    """
    dense = _stretches(graphs, shape)
    enough = np.where(
        (dense >= shape.edges).any(axis=1, keepdims=True), dense >= shape.edges, dense == dense.max(1)[:, None]
    )
    parts = [_cut(rng, graphs, owners[at : at + _CHUNK], enough, shape) for at in range(0, len(owners), _CHUNK)]
    parts = parts or [_cut(rng, graphs, owners, enough, shape)]
    columns = zip(*(part for part, _ in parts), strict=True)
    return Graphs(*(np.concatenate(column) for column in columns)), np.concatenate([start for _, start in parts])


def _stretches(graphs: Graphs, shape: Shape) -> Ints:
    """How many edges lie within each stretch of the path."""
    low, high = np.minimum(graphs.source, graphs.target), np.maximum(graphs.source, graphs.target)
    starts = np.arange(graphs.labels.shape[1] - shape.nodes + 1)
    return np.stack([((low >= at) & (high < at + shape.nodes)).sum(axis=1) for at in starts], axis=1)


def _cut(rng: Random, graphs: Graphs, owners: Ints, enough: Flags, shape: Shape) -> tuple[Graphs, Ints]:
    scores = np.where(enough[owners], rng.random((len(owners), enough.shape[1])), -1.0)
    start = scores.argmax(axis=1)
    source, target = (column[owners] - start[:, None] for column in (graphs.source, graphs.target))
    inside = (np.minimum(source, target) >= 0) & (np.maximum(source, target) < shape.nodes)
    on_path = np.arange(source.shape[1]) < graphs.labels.shape[1] - 1
    order = np.where(inside, np.where(on_path, 0.0, 1.0 + rng.random(source.shape)), 3.0)  # the path comes first
    chosen = np.argsort(order, axis=1)[:, : shape.edges]
    kept = np.take_along_axis(inside, chosen, axis=1)
    property = np.where(kept, np.take_along_axis(graphs.property[owners], chosen, axis=1), -1)
    ends = (np.where(kept, np.take_along_axis(column, chosen, axis=1), 0) for column in (source, target))
    labels = np.take_along_axis(graphs.labels[owners], start[:, None] + np.arange(shape.nodes), axis=1)
    return Graphs(labels, next(ends), property, next(ends)), start


def choose(rng: Random, allowed: Flags) -> Ints:
    """One allowed column of each row, at random; -1 where none is."""
    scores = np.where(allowed, rng.random(allowed.shape), -1.0)
    return np.where(allowed.any(axis=1), scores.argmax(axis=1), -1)


def _impossible(what: str, option: str) -> UsageError:
    return UsageError("HG-048", f"cannot draw {what}", fix=f"ask for more {option}, or for smaller graphs")
