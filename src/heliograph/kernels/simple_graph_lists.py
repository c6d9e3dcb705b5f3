"""Lists of neighbours that grow and shrink, each in a block of a power of two.

Joining a list and leaving it cost the same whatever its length, but for the copy of a list that outgrows its block, or
fills a quarter of it and moves to one half the size: it has to double or halve between two copies. Blocks that were
left wait, whole, in a list of free ones of their size; so of each size there are never more than once were in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.simple_graph_layout import COLUMN, LENGTH, NEED, POOL, START, A, Lists

_ONE = np.int64(1)


@kernel(inline=True)
def list_start(lists: Lists, vertex: Any) -> Any:
    return np.int64(lists.heads[vertex, START])


@kernel(inline=True)
def list_length(lists: Lists, vertex: Any) -> Any:
    return np.int64(lists.heads[vertex, LENGTH])


@kernel()
def join_list(lists: Lists, pairs: Any, vertex: Any, neighbour: Any, pair: Any) -> None:
    """A neighbour stands at the end of a vertex's list; there is room."""
    length = np.int64(lists.heads[vertex, LENGTH])
    if length & (length - 1) == 0:
        _make_room(lists, vertex, length)
    place = lists.heads[vertex, START] + length
    lists.pool[place], lists.owners[place] = neighbour, pair
    lists.heads[vertex, LENGTH] = length + 1
    pairs[pair, place_column(lists, pairs, vertex, pair)] = length


@kernel(inline=True)
def place_column(lists: Lists, pairs: Any, vertex: Any, pair: Any) -> Any:
    """Which column says where in a vertex's list a pair stands."""
    return lists.counters[COLUMN] + (0 if pairs[pair, A] == vertex else 1)


@kernel()
def _make_room(lists: Lists, vertex: Any, length: Any) -> None:
    """A list, of a power of two or empty, gets a block twice the size if its own is full."""
    k = np.int64(lists.room[vertex])
    if k == 0 or length == _ONE << k:
        _move(lists, vertex, length, k + 1)
        lists.counters[NEED] = max(lists.counters[NEED], _ONE << (k + 3))  # two lists, each twice as large again


@kernel()
def _move(lists: Lists, vertex: Any, length: Any, k: Any) -> None:
    """Moves a list to a block of 2^k places."""
    block, start = _take(lists, k), np.int64(lists.heads[vertex, START])
    for i in range(length):
        lists.pool[block + i], lists.owners[block + i] = lists.pool[start + i], lists.owners[start + i]
    if lists.room[vertex] != 0:
        _give(lists, start, np.int64(lists.room[vertex]))
    lists.heads[vertex, START], lists.room[vertex] = block, k


@kernel()
def leave_list(lists: Lists, pairs: Any, vertex: Any, pair: Any) -> None:
    """A pair goes out of a vertex's list; the last one takes its place."""
    start, last = lists.heads[vertex, START], np.int64(lists.heads[vertex, LENGTH]) - 1
    place = pairs[pair, place_column(lists, pairs, vertex, pair)]
    if place != last:
        moved = lists.owners[start + last]
        lists.pool[start + place], lists.owners[start + place] = lists.pool[start + last], moved
        pairs[moved, place_column(lists, pairs, vertex, moved)] = place
    lists.heads[vertex, LENGTH] = last
    if last & (last - 1) == 0:
        _yield_room(lists, vertex, last)


@kernel()
def _yield_room(lists: Lists, vertex: Any, length: Any) -> None:
    """A list, of a power of two or empty, gives back what it does not need."""
    k = np.int64(lists.room[vertex])
    if length == 0:
        _give(lists, np.int64(lists.heads[vertex, START]), k)
        lists.room[vertex] = 0
    elif k > 1 and length << 2 <= _ONE << k:
        _move(lists, vertex, length, k - 1)


@kernel()
def _take(lists: Lists, k: Any) -> Any:
    """A block of 2^k places: a free one or a new one."""
    block = np.int64(lists.free[k]) - 1
    if block < 0:
        block = lists.counters[POOL]
        lists.counters[POOL] = block + (_ONE << k)
    else:
        lists.free[k] = lists.pool[block]
    return block


@kernel(inline=True)
def _give(lists: Lists, block: Any, k: Any) -> None:
    lists.pool[block] = lists.free[k]
    lists.free[k] = block + 1
