"""The statistics of [B] table 1, measured on any exchange by means that share no code with its generator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.workloads.route import Links

Ints = npt.NDArray[np.int64]
_AT_ONCE = 4_000  # publishers whose reach is in memory together
_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.int64)


def statistics_of(links: Links, nodes: int) -> Mapping[str, float]:
    """Every line of table 1. Publishers are nodes that no edge leads to, advertisers those that none leaves."""
    into, out = np.bincount(links.target, minlength=nodes), np.bincount(links.source, minlength=nodes)
    publishers, advertisers = np.flatnonzero(into == 0), np.flatnonzero((out == 0) & (into > 0))
    networks = np.flatnonzero((into > 0) & (out > 0))
    component = components(links, nodes)
    reach = reaches(links, publishers, nodes)
    return {
        "nodes": nodes,
        "edges": len(links.source),
        "publishers": len(publishers),
        "networks": len(networks),
        "advertisers": len(advertisers),
        "reachable nodes, average": float(reach.mean()),
        "reachable nodes, most": int(reach.max()),
        "reachable nodes, fewest": int(reach.min()),
        "components": int(component.max()) + 1,
        "largest component": int(np.bincount(component).max()),
        "edges out of a publisher": float(out[publishers].mean()),
        "edges into a network": float(into[networks].mean()),
        "edges out of a network": float(out[networks].mean()),
        "edges into an advertiser": float(into[advertisers].mean()),
        "cycles": short_cycles(links, networks),
    }


def components(links: Links, nodes: int) -> Ints:
    """The number of each node's strongly connected component."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(links.source), np.int8)
    graph = coo_array((ones, (links.source, links.target)), shape=(nodes, nodes))
    found: Ints = connected_components(graph, directed=True, connection="strong")[1]
    return found


# --- reach ------------------------------------------------------------------------------------------------------


def reaches(links: Links, publishers: Ints, nodes: int) -> Ints:
    """How many nodes each publisher reaches, itself not counted. Nobody leads back to a publisher."""
    others = np.setdiff1d(np.arange(nodes), publishers)
    place = np.full(nodes, -1)
    place[others] = np.arange(len(others))
    later = place[links.source] >= 0
    sets = closure(place[links.source[later]], place[links.target[later]], len(others))
    order = np.argsort(links.source[~later], kind="stable")
    source, target = links.source[~later][order], place[links.target[~later][order]]
    begins = np.searchsorted(source, np.unique(source))
    parts = np.array_split(np.arange(len(begins)), len(begins) // _AT_ONCE + 1)
    return np.concatenate([_counted(sets, target, begins, part) for part in parts])


def _counted(sets: npt.NDArray[np.uint8], target: Ints, begins: Ints, part: Ints) -> Ints:
    """The sizes of the unions of the sets of some publishers' targets."""
    first = begins[part[0]]
    end = begins[part[-1] + 1] if part[-1] + 1 < len(begins) else len(target)
    unions: Any = np.bitwise_or.reduceat(sets[target[first:end]], begins[part] - first, axis=0)
    counted: Ints = _BITS[unions].sum(axis=1)
    return counted


def closure(source: Ints, target: Ints, nodes: int) -> npt.NDArray[np.uint8]:
    """What each node reaches, itself included, as packed bits: a fixpoint over the nodes that have edges."""
    sets = np.packbits(np.eye(nodes, dtype=bool), axis=1)
    order = np.argsort(source, kind="stable")
    source, target = source[order], target[order]
    from_nodes, begins = np.unique(source, return_index=True)
    while len(from_nodes):
        grown: Any = np.bitwise_or.reduceat(sets[target], begins, axis=0) | sets[from_nodes]
        if np.array_equal(grown, sets[from_nodes]):
            break
        sets[from_nodes] = grown
    return sets


# --- cycles -----------------------------------------------------------------------------------------------------


def short_cycles(links: Links, networks: Ints) -> int:
    """The simple cycles of two to five edges, counted by closed walks; there are no loops.

    A closed walk of four edges that is no cycle is two cycles of two edges at a common vertex (or one, twice); one of
    five is a cycle of two and one of three at a common vertex. If these share two vertices, both give the same walk.
    """
    place = np.full(max(links.target.max(), links.source.max()) + 1, -1)
    place[networks] = np.arange(len(networks))
    inner = (place[links.source] >= 0) & (place[links.target] >= 0)
    step = np.zeros((len(networks), len(networks)), np.int64)
    step[place[links.source[inner]], place[links.target[inner]]] = 1
    both, two = step * step.T, step @ step
    three = two @ step
    pairs, triangles = np.diag(two), np.diag(three)
    backtracking = 2 * int((pairs * pairs).sum()) - int(pairs.sum())
    fours = int((two * two.T).sum()) - backtracking
    joined = int((pairs * triangles).sum()) - int((both * two.T).sum())
    fives = int((two * three.T).sum()) - 5 * joined
    return int(pairs.sum()) // 2 + int(triangles.sum()) // 3 + fours // 4 + fives // 5
