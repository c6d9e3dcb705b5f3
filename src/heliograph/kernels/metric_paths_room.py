"""Arrays for shortest paths between terminals: empty ones and larger ones. Does not import Numba.

The law: numbers of entries, balls, pairs and groups outlive every growth. Arrays double, so what is copied again and
again costs no more than what stands in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int64s
from heliograph.kernels.metric_paths_layout import (
    BALL_COLUMNS,
    COUNTERS,
    ENTRY_COLUMNS,
    GROUP_COLUMNS,
    HIGH,
    HOPS,
    LIMITS,
    MEET_HOPS,
    NOTE_COLUMNS,
    NOWHERE,
    PAIR_COLUMNS,
    SCRATCH_SIZES,
    UNDIRECTED,
    Reach,
    Scratch,
)
from heliograph.kernels.sizes import room

_LEAST = 16  # rows of a new array; a power of two
_SLOTS = 2  # of the open addressing, for each entry there may be
_ENTRIES = ("entries", "sums", "heap", "stack")
_BY_VERTEX = ("first", "touching", "centred")


def empty_reach(*, undirected: bool) -> Reach:
    """No balls yet, and hops are counted."""
    counters, rows = np.zeros(COUNTERS, np.int64), room(_LEAST)
    counters[UNDIRECTED] = undirected
    return Reach(
        slots=np.zeros(rows * _SLOTS, np.int32),
        entries=np.zeros((rows, ENTRY_COLUMNS), np.int32),
        sums=np.zeros((0, 2)),
        heap=np.zeros(rows, np.int32),
        stack=np.zeros(rows, np.int32),
        first=np.zeros(0, np.int32),
        touching=np.zeros(0, np.int32),
        centred=np.zeros(0, np.int32),
        balls=np.zeros((rows, BALL_COLUMNS), np.int32),
        radii=np.zeros(rows),
        pairs=np.zeros((rows, PAIR_COLUMNS), np.int32),
        meets=np.zeros((0, 2)),
        groups=np.zeros((rows, GROUP_COLUMNS), np.int32),
        bounds=np.zeros(rows),
        told=np.zeros(rows),
        queue=np.zeros(rows, np.int32),
        limits=np.zeros(LIMITS),
        counters=counters,
    )


def weighted(reach: Reach) -> Reach:
    """The same where costs have sums of weights, all of which were 1 so far."""
    sums, meets = (np.zeros((len(rows), 2)) for rows in (reach.entries, reach.pairs))
    sums[:, HIGH] = reach.entries[:, HOPS]
    hops = reach.pairs[:, MEET_HOPS]
    meets[:, HIGH] = np.where(hops == NOWHERE, np.inf, hops)
    return reach._replace(sums=sums, meets=meets)


def empty_scratch(vertices: int, terminals: int, *, weighted: bool) -> Scratch:
    """Room for a search among so many vertices, and for the tree of so many terminals."""
    totals = np.zeros((vertices if weighted else 0, 4))
    totals[:, ::2] = np.inf
    return Scratch(
        hops=np.full((vertices, 2), NOWHERE, np.int32),
        totals=totals,
        places=np.zeros((vertices, 2), np.int32),
        heaps=np.zeros((vertices, 2), np.int32),
        seen=np.zeros((vertices, 2), np.int32),
        sizes=np.zeros(SCRATCH_SIZES, np.int64),
        tree=np.zeros((terminals, 2), np.int32),
        notes=np.zeros((terminals * (terminals - 1) // 2, NOTE_COLUMNS)),
    )


def addresses(arrays: Reach | Scratch) -> Int64s:
    """The addresses and lengths of arrays, which the caller keeps while a kernel works on them."""
    return np.array([number for array in arrays for number in (array.ctypes.data, len(array))], np.int64)


def covering(reach: Reach, vertices: int) -> Reach:
    """The same with room for so many vertices."""
    rows = max(vertices, room(2 * len(reach.first)))
    return reach if vertices <= len(reach.first) else _resized(reach, _BY_VERTEX, rows)


def with_entries(reach: Reach) -> Reach:
    """The same with room for twice as many members of balls. Imports Numba."""
    from heliograph.kernels.metric_paths_entries import rehash_entries

    reach = _resized(reach, _ENTRIES, 2 * len(reach.entries))
    slots = np.zeros(_SLOTS * len(reach.entries), np.int32)
    rehash_entries(addresses(reach), slots)
    return reach._replace(slots=slots)


def with_balls(reach: Reach, balls: int) -> Reach:
    return reach if balls <= len(reach.balls) else _resized(reach, ("balls", "radii"), room(2 * balls, balls))


def with_pairs(reach: Reach, pairs: int) -> Reach:
    return reach if pairs <= len(reach.pairs) else _resized(reach, ("pairs", "meets"), room(2 * pairs, pairs))


def with_groups(reach: Reach, groups: int) -> Reach:
    """The same with room for so many groups. Nothing stands in the queue."""
    if groups <= len(reach.groups):
        return reach
    return _resized(reach, ("groups", "bounds", "told", "queue"), room(2 * groups, groups))


def _resized(reach: Reach, names: tuple[str, ...], rows: int) -> Reach:
    return reach._replace(**{name: _enlarged(getattr(reach, name), rows) for name in names})


def _enlarged(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The same rows and then zeros; an array without columns of interest, of hops, stays empty."""
    if array.ndim == 2 and array.dtype == np.float64 and not len(array):
        return array
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
