"""Sliding windows in flat arrays: which edge is too old, and what an edge that is added again becomes.

The laws are those of watch.window: by time an edge goes when `at <= clock - span`, in order of (at, seq); by updates
when `number <= accepted - last`. What was loaded without a time, or as no update, never goes by that measure. Every
edge that can go has a promise by each measure that can take it; one that a renewal or a removal made void is noticed
when it comes up, because the edge, if there is one of that number, does not have that time.

Promises by number are made in the order of numbers, so they are a queue; those by time are a heap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import is_present
from heliograph.kernels.evolution_layout import (
    ACCEPTED,
    AT,
    CLOCK,
    HEAP,
    LAST,
    NO_TIME,
    NUMBER,
    QUEUE,
    QUEUE_FIRST,
    SEQ,
    SPAN,
    Graph,
    Stamp,
    Window,
)

_EDGE = 2  # of the heap, after (at, seq); of the queue it is 1


@kernel(inline=True)
def tick(window: Window, at: Any) -> None:
    """One more update is accepted; the time is the latest so far."""
    window.clocks[ACCEPTED] += 1
    move(window, at)


@kernel(inline=True)
def move(window: Window, at: Any) -> None:
    window.clocks[CLOCK] = max(window.clocks[CLOCK], at)  # NO_TIME is below every time


@kernel(inline=True)
def window_has_room(window: Window) -> Any:
    """Whether one more edge can be noted."""
    clocks = window.clocks
    return (clocks[SPAN] == 0 or clocks[HEAP] < len(window.heap)) and (
        clocks[LAST] == 0 or clocks[QUEUE] < len(window.queue)
    )


# --- what is known of an edge -----------------------------------------------------------------------------------


@kernel()
def settle_new(graph: Graph, window: Window, edge: Any, stamp: Stamp) -> None:
    """A fresh edge takes the weight and the times it is given, and will go in its time."""
    if len(graph.weights):
        graph.weights[edge] = stamp.weight
    if len(graph.times):
        graph.times[edge, AT], graph.times[edge, SEQ], graph.times[edge, NUMBER] = stamp.at, stamp.seq, stamp.number
        note(window, graph, edge)


@kernel()
def renew(graph: Graph, window: Window, edge: Any, stamp: Stamp) -> None:
    """A present edge that is added again: it takes a weight that is given, and in a window the later time.

    What has no time stays without: background does not begin to age by being mentioned.
    """
    if len(graph.weights) and not np.isnan(stamp.weight):
        graph.weights[edge] = stamp.weight
    if len(graph.times) == 0:
        return
    known = graph.times[edge, AT]
    if known != NO_TIME and stamp.at >= known and (stamp.at != known or stamp.seq != graph.times[edge, SEQ]):
        graph.times[edge, AT], graph.times[edge, SEQ] = stamp.at, stamp.seq
        _note_time(window, graph, edge)
    known = graph.times[edge, NUMBER]
    if known != NO_TIME and stamp.number != NO_TIME and stamp.number != known:
        graph.times[edge, NUMBER] = stamp.number
        _note_number(window, graph, edge)


# --- promises ---------------------------------------------------------------------------------------------------


@kernel()
def note(window: Window, graph: Graph, edge: Any) -> None:
    """Promises that an edge with its times will go, by each measure of the window."""
    if graph.times[edge, AT] != NO_TIME:
        _note_time(window, graph, edge)
    if graph.times[edge, NUMBER] != NO_TIME:
        _note_number(window, graph, edge)


@kernel()
def next_due(window: Window, graph: Graph) -> Any:
    """The next edge that is too old, or -1; the caller takes it away."""
    clocks = window.clocks
    while clocks[HEAP] and window.heap[0, AT] <= clocks[CLOCK] - clocks[SPAN]:
        at, seq, edge = window.heap[0, AT], window.heap[0, SEQ], window.heap[0, _EDGE]
        _pop(window)
        if is_present(graph, edge) and graph.times[edge, AT] == at and graph.times[edge, SEQ] == seq:
            return edge
    while clocks[QUEUE] and window.queue[clocks[QUEUE_FIRST], 0] <= clocks[ACCEPTED] - clocks[LAST]:
        number, edge = window.queue[clocks[QUEUE_FIRST], 0], window.queue[clocks[QUEUE_FIRST], 1]
        clocks[QUEUE_FIRST] = (clocks[QUEUE_FIRST] + 1) & (len(window.queue) - 1)
        clocks[QUEUE] -= 1
        if is_present(graph, edge) and graph.times[edge, NUMBER] == number:
            return edge
    return np.int64(-1)


@kernel()
def _note_time(window: Window, graph: Graph, edge: Any) -> None:
    if window.clocks[SPAN] == 0:
        return
    place = window.clocks[HEAP]
    window.clocks[HEAP] = place + 1
    at, seq = graph.times[edge, AT], graph.times[edge, SEQ]
    while place and _is_before(window, at, seq, (place - 1) >> 1):
        _copy(window, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    window.heap[place, AT], window.heap[place, SEQ], window.heap[place, _EDGE] = at, seq, edge


@kernel()
def _note_number(window: Window, graph: Graph, edge: Any) -> None:
    clocks = window.clocks
    if clocks[LAST] == 0:
        return
    place = (clocks[QUEUE_FIRST] + clocks[QUEUE]) & (len(window.queue) - 1)
    window.queue[place, 0], window.queue[place, 1] = graph.times[edge, NUMBER], edge
    clocks[QUEUE] += 1


@kernel()
def _pop(window: Window) -> None:
    """Takes the earliest promise out of the heap: the last one sinks from the top to where it belongs."""
    size = window.clocks[HEAP] - 1
    window.clocks[HEAP] = size
    at, seq, edge = window.heap[size, AT], window.heap[size, SEQ], window.heap[size, _EDGE]
    place, child = np.int64(0), np.int64(1)
    while child < size:
        if child + 1 < size and _is_before(window, window.heap[child + 1, AT], window.heap[child + 1, SEQ], child):
            child += 1
        if not (window.heap[child, AT] < at or (window.heap[child, AT] == at and window.heap[child, SEQ] < seq)):
            break
        _copy(window, child, place)
        place, child = child, 2 * child + 1
    window.heap[place, AT], window.heap[place, SEQ], window.heap[place, _EDGE] = at, seq, edge


@kernel(inline=True)
def _is_before(window: Window, at: Any, seq: Any, place: Any) -> Any:
    return at < window.heap[place, AT] or (at == window.heap[place, AT] and seq < window.heap[place, SEQ])


@kernel(inline=True)
def _copy(window: Window, source: Any, target: Any) -> None:
    for column in range(3):
        window.heap[target, column] = window.heap[source, column]
