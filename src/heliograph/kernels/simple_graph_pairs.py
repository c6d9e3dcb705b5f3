"""The pairs of a simple graph by their ends: open addressing with linear probing.

The law: between the place where a key belongs and the one where it stands no place is free. A key that goes is
followed by those that it kept away, so that nothing is left behind and what is absent is found absent at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.simple_graph_layout import BACKWARD, FORWARD, Simple

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_32, _20 = np.uint64(32), np.uint64(20)


@kernel(inline=True)
def pair_key(one: Any, other: Any) -> Any:
    """What stands for an unordered pair of vertices in a table where 0 is free."""
    low, high = min(one, other), max(one, other)
    return ((np.int64(low) << 32) | np.int64(high)) + 1


@kernel(inline=True)
def key_home(key: Any, mask: Any) -> Any:
    """Where a key belongs, in a table of mask + 1 places."""
    hashed = np.uint64(key) * _ODD
    return np.int64((hashed ^ (hashed >> _32)) * _ODD >> _20) & mask


@kernel(inline=True)
def pair_slot(graph: Simple, key: Any) -> Any:
    """Where a key stands, or the free place where it would."""
    mask = np.int64(len(graph.keys) - 1)
    slot = key_home(key, mask)
    while graph.keys[slot] != 0 and graph.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel(inline=True)
def find_pair(graph: Simple, one: Any, other: Any) -> Any:
    """The number of a pair that is there (a loop's too), or -1."""
    slot = pair_slot(graph, pair_key(one, other))
    return np.int64(graph.numbers[slot]) if graph.keys[slot] != 0 else np.int64(-1)


@kernel(inline=True)
def are_joined(graph: Simple, one: Any, other: Any) -> Any:
    """Whether an edge leads from one vertex to the other, either way. Touches nothing but the keys."""
    return graph.keys[pair_slot(graph, pair_key(one, other))] != 0


@kernel(inline=True)
def count_edges(graph: Simple, subject: Any, object: Any) -> Any:
    """How many edges lead from one vertex to another."""
    pair = find_pair(graph, subject, object)
    if pair < 0:
        return np.int64(0)
    return np.int64(graph.pairs[pair, FORWARD if subject <= object else BACKWARD])


@kernel()
def vacate(graph: Simple, hole: Any) -> None:
    """Frees a place; keys that stand further on because of it move up."""
    mask = np.int64(len(graph.keys) - 1)
    slot = (hole + 1) & mask
    while graph.keys[slot] != 0:
        away = (slot - key_home(graph.keys[slot], mask)) & mask
        if away >= (slot - hole) & mask:
            graph.keys[hole], graph.numbers[hole] = graph.keys[slot], graph.numbers[slot]
            hole = slot
        slot = (slot + 1) & mask
    graph.keys[hole] = 0
