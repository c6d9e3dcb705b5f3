"""The stream of updates, and when a set of concrete edges is there as a whole.

Why `moments` is exact: an update is effective when it changes whether its edge is there; a query is true while as many
of its distinct edges are there as it has. Both are counted over the events themselves, without any graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.workloads.watch_graph import Flags, Ints, Random


class Stream(NamedTuple):
    """Updates in order: the edge of each, and whether it is added or removed. The seq is the place, from 1."""

    edge: Ints
    added: Flags


class Moments(NamedTuple):
    """When which part becomes true (gained) or false, in the order of notifications."""

    part: Ints
    seq: Ints
    gained: Flags


def draw_stream(rng: Random, edges: int, removals: int, repeats: int) -> Stream:
    """Every edge once, some of them removed later, some added again later."""
    first = np.sort(rng.random(edges))
    gone, again = rng.permutation(edges)[:removals], rng.integers(0, max(edges, 1), repeats)
    later = [first[chosen] + (1 - first[chosen]) * rng.random(len(chosen)) for chosen in (gone, again)]
    order = np.argsort(np.concatenate([first, *later]), kind="stable")
    edge = np.concatenate([np.arange(edges), gone, again])[order]
    added = np.concatenate([np.ones(edges, bool), np.zeros(removals, bool), np.ones(repeats, bool)])[order]
    return Stream(edge, added)


def moments(stream: Stream, parts: list[Ints]) -> Moments:
    """When each part, a row of distinct edges, is there as a whole and when no longer."""
    sizes = np.array([len(part) for part in parts], np.int64)
    owner = np.repeat(np.arange(len(parts)), sizes)
    edge = np.concatenate([*parts, np.empty(0, np.int64)])
    part, seq, added = _events(stream, owner, edge)
    order = np.lexsort((seq, part))
    part, seq, added = part[order], seq[order], added[order]
    there = _running(np.where(added, 1, -1), part)
    full = np.where(added, there, there + 1) == sizes[part] if len(part) else np.empty(0, bool)
    found = Moments(part[full], seq[full], added[full])
    ranked = np.lexsort((found.part, found.gained, found.seq))
    return Moments(*(column[ranked] for column in found))  # type: ignore[arg-type]


def _events(stream: Stream, owner: Ints, edge: Ints) -> tuple[Ints, Ints, Flags]:
    """The effective updates of each part's edges: (part, seq, added)."""
    seq = np.arange(1, len(stream.edge) + 1)
    order = np.lexsort((seq, stream.edge))
    edges, added = stream.edge[order], stream.added[order]
    fresh = np.r_[True, edges[1:] != edges[:-1]] if len(edges) else np.empty(0, bool)
    effective = order[fresh | np.r_[True, added[1:] != added[:-1]]] if len(edges) else order
    edges = stream.edge[effective]
    begin, end = np.searchsorted(edges, edge), np.searchsorted(edges, edge, side="right")
    counts = end - begin
    rows = np.repeat(begin - np.r_[0, np.cumsum(counts)[:-1]], counts) + np.arange(counts.sum())
    chosen = effective[rows]
    return np.repeat(owner, counts), seq[chosen], stream.added[chosen]


def _running(steps: Ints, group: Ints) -> Ints:
    """Sums of the steps so far within each group of neighbours."""
    total = np.cumsum(steps)
    if not len(group):
        return total
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    before = np.r_[0, total[starts[1:] - 1]]
    inner: Ints = total - np.repeat(before, np.diff(np.r_[starts, len(group)]))
    return inner
