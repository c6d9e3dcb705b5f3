"""The entries of one ball in order of cost: a binary heap that knows where each stands, so that costs may fall."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_paths_costs import compare, cost_of
from heliograph.kernels.metric_paths_layout import HEAPED, PLACE
from heliograph.kernels.metric_paths_world import counters_of, entries_of, heap_of


@kernel()
def push(reach: Any, entry: Any) -> None:
    """Puts an entry into the heap, or nearer to its top after its cost was lowered."""
    place = np.int64(entries_of(reach)[entry, PLACE]) - 1
    if place < 0:
        place = counters_of(reach)[HEAPED]
        counters_of(reach)[HEAPED] = place + 1
    _rise(reach, entry, place)


@kernel()
def _rise(reach: Any, entry: Any, place: Any) -> None:
    cost = cost_of(reach, entry)
    while place > 0:
        above = (place - 1) >> 1
        other = np.int64(heap_of(reach)[above])
        if compare(cost_of(reach, other), cost) <= 0:
            break
        _stand(reach, other, place)
        place = above
    _stand(reach, entry, place)


@kernel(inline=True)
def _stand(reach: Any, entry: Any, place: Any) -> None:
    heap_of(reach)[place] = entry
    entries_of(reach)[entry, PLACE] = place + 1


@kernel()
def pop(reach: Any) -> Any:
    """Takes the entry of the least cost out of a heap that has one."""
    top = np.int64(heap_of(reach)[0])
    entries_of(reach)[top, PLACE] = 0
    size = counters_of(reach)[HEAPED] - 1
    counters_of(reach)[HEAPED] = size
    if size:
        _sink(reach, np.int64(heap_of(reach)[size]), size)
    return top


@kernel()
def _sink(reach: Any, entry: Any, size: Any) -> None:
    """Finds the place of an entry that is to stand at the top or below."""
    cost, place = cost_of(reach, entry), np.int64(0)
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = np.int64(heap_of(reach)[below])
        if below + 1 < size and compare(cost_of(reach, np.int64(heap_of(reach)[below + 1])), cost_of(reach, other)) < 0:
            below += 1
            other = np.int64(heap_of(reach)[below])
        if compare(cost, cost_of(reach, other)) <= 0:
            break
        _stand(reach, other, place)
        place = below
    _stand(reach, entry, place)


@kernel()
def clear_heap(reach: Any) -> None:
    for place in range(counters_of(reach)[HEAPED]):
        entries_of(reach)[heap_of(reach)[place], PLACE] = 0
    counters_of(reach)[HEAPED] = 0
