"""Blocks of places for the runs of an evolving graph, each of a power of two and at a multiple of its size.

A block of 2^k has one buddy, with which it makes a block of 2^(k+1). The law: of two buddies that are free neither
stays, they become one; so a run that shrinks gives its upper half back and, growing again, mostly finds it there,
without a copy, and what any order of growing and shrinking leaves behind can be taken again.

A free block says so in its first place, where a block in use has the number of an edge, which is never negative: EDGE
is -1 - k there and NEIGHBOUR 1 + the next free block of its size. NEIGHBOUR of its second place is 1 + the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import CLASSES, EDGE, NEIGHBOUR, POOL, VACANT, Graph

_ONE = np.int64(1)


@kernel()
def take(graph: Graph, k: Any) -> Any:
    """A block of 2^k places: a free one, a part of a larger free one, or a new one."""
    classes = graph.counters[CLASSES] >> k
    if classes == 0:
        return _extend(graph, k)
    found = k
    while classes & 1 == 0:
        classes >>= 1
        found += 1
    block = graph.free[found] - 1
    _unlink(graph, block, found)
    while found > k:
        found -= 1
        _link(graph, block + (_ONE << found), found)
    return block


@kernel()
def _extend(graph: Graph, k: Any) -> Any:
    """A block at the end of the pool; what is passed over for it to begin at a multiple of its size becomes free."""
    size, end = _ONE << k, graph.counters[POOL]
    while end & (size - 1):
        gap = np.int64(1)
        while end & (_ONE << gap) == 0:
            gap += 1
        graph.counters[POOL] = end + (_ONE << gap)
        give(graph, end, gap)
        end = graph.counters[POOL]
    graph.counters[POOL] = end + size
    return end


@kernel()
def give(graph: Graph, block: Any, k: Any) -> None:
    """A block is free from now on, together with its buddy if that is free too."""
    while is_free(graph, block ^ (_ONE << k), k):
        buddy = block ^ (_ONE << k)
        _unlink(graph, buddy, k)
        block = min(block, buddy)
        k += 1
    _link(graph, block, k)


@kernel(inline=True)
def is_free(graph: Graph, block: Any, k: Any) -> Any:
    return block < graph.counters[POOL] and graph.pool[block, EDGE] == -1 - k


@kernel()
def claim_buddy(graph: Graph, block: Any, k: Any) -> Any:
    """Takes the block just above one, if both make a larger one and it is free; whether it did."""
    upper = block + (_ONE << k)
    if (block >> k) & 1 or not is_free(graph, upper, k):
        return False
    _unlink(graph, upper, k)
    return True


@kernel()
def _link(graph: Graph, block: Any, k: Any) -> None:
    following = graph.free[k]
    graph.pool[block, NEIGHBOUR] = following
    graph.pool[block, EDGE] = -1 - k
    graph.pool[block + 1, NEIGHBOUR] = 0
    if following:
        graph.pool[following, NEIGHBOUR] = block + 1
    graph.free[k] = block + 1
    graph.counters[CLASSES] |= _ONE << k
    graph.counters[VACANT] += _ONE << k


@kernel()
def _unlink(graph: Graph, block: Any, k: Any) -> None:
    following, before = graph.pool[block, NEIGHBOUR], graph.pool[block + 1, NEIGHBOUR]
    if before:
        graph.pool[before - 1, NEIGHBOUR] = following
    else:
        graph.free[k] = following
    if following:
        graph.pool[following, NEIGHBOUR] = before
    graph.counters[VACANT] -= _ONE << k
    if graph.free[k] == 0:
        graph.counters[CLASSES] &= ~(_ONE << k)
