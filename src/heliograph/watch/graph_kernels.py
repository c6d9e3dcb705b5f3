"""The evolving graph in kernels: edges found, added and removed, runs of a vertex's edges, windows, and bulk loads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, from_dtype, int32, int64

from heliograph.compiled.arrays import INT32S, INT64S, array, named, prefetch, rows
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import edge_hash
from heliograph.watch.layout import (
    ACCEPTED,
    AT,
    CLASSES,
    CLOCK,
    EDGE,
    EDGE_COLUMNS,
    EDGES,
    FREE_EDGE,
    FULL,
    HEAP,
    IDLE,
    IN,
    KEY,
    LAST,
    LENGTH,
    LINK,
    LIVE,
    NEED,
    NEIGHBOUR,
    NEXT_RUN,
    NO_TIME,
    NUMBER,
    OBJECT,
    OUT,
    PARTS,
    POOL,
    PREDICATE,
    PRESENT,
    QUEUE,
    QUEUE_FIRST,
    RUN_BITS,
    RUN_COLUMNS,
    RUNS,
    SEQ,
    SPAN,
    START,
    SUBJECT,
    TAKEN,
    VACANT,
    VERTEX,
    EdgeColumns,
    GraphArrays,
    Int32s,
    Int64s,
    Stamp,
    WindowArrays,
    fields_of,
)

# --- types -------------------------------------------------------------------------------------------------------

# Numba's types for the arrays of an evolving graph, and rows of edges for its kernels.

NEW_INT32S, NEW_INT64S, NEW_FLOATS = (array(dtype, writable=True) for dtype in (int32, int64, float64))
INT32_ROWS, INT64_ROWS = rows(int32, writable=True), rows(int64, writable=True)


def _typed(structure: type[tuple[Any, ...]], *, writable: bool) -> Any:
    """The type that kernels see of a structure of arrays."""
    kinds = [
        (rows if field.columns else array)(from_dtype(field.dtype), writable=writable) for field in fields_of(structure)
    ]
    return named(structure, *kinds)


GRAPH, WINDOW = _typed(GraphArrays, writable=True), _typed(WindowArrays, writable=True)
ROWS = _typed(EdgeColumns, writable=False)


# --- reading -----------------------------------------------------------------------------------------------------

# Reading an evolving graph: is an edge there, and which edges has a vertex?
#
# The law both tables rely on: an entry stands at its home or after it with no free place between (linear probing), so
# a search ends at the first free place. Homes follow the order of hashes: a table is made larger by one pass in
# order.

TAG_BITS = 31
EDGE_NUMBER = (1 << 32) - 1  # the part of a slot that holds 1 + an edge's number; its tag stands above
_ABOVE = 32
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_MIX = np.uint64(0xD6E8FEB86659FD93)
_32, _33 = np.uint64(32), np.uint64(64 - TAG_BITS)


# --- edges ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def edge_tag(subject: Any, predicate: Any, object: Any) -> Any:
    """What a slot says of an edge: the upper bits of its hash."""
    return np.int64(edge_hash(subject, predicate, object) >> _33)


@kernel(inline=True)
def home(tag: Any, size: Any) -> Any:
    """Where the search for a tag begins in a table of any size."""
    return (tag * size) >> TAG_BITS


@kernel(inline=True)
def slot_of(graph: GraphArrays, tag: Any, subject: Any, predicate: Any, object: Any) -> Any:
    """The slot of an edge, or the free one that it would take."""
    slots, edges = graph.slots, graph.edges
    place = home(tag, len(slots))
    while slots[place] != 0:
        if slots[place] >> _ABOVE == tag:
            edge = (slots[place] & EDGE_NUMBER) - 1
            if (
                edges[edge, SUBJECT] == subject
                and edges[edge, OBJECT] == object
                and edges[edge, PREDICATE] == predicate
            ):
                break
        place += 1
        if place == len(slots):
            place = 0
    return place


@kernel()
def find_edge(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge that is there or waited for, or -1."""
    place = slot_of(graph, edge_tag(subject, predicate, object), subject, predicate, object)
    return (graph.slots[place] & EDGE_NUMBER) - 1


@kernel(inline=True)
def is_present(graph: GraphArrays, edge: Any) -> Any:
    return (graph.edges[edge, LINK] & PRESENT) != 0


@kernel(inline=True)
def prefetch_edge(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for the memory in which the search for an edge begins, for callers that look a few updates ahead."""
    prefetch(graph.slots, home(edge_tag(subject, predicate, object), len(graph.slots)))


@kernel(inline=True)
def prefetch_row(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for what an edge's slot, asked for earlier, leads to: its row, if it is the first in its place."""
    entry = graph.slots[home(edge_tag(subject, predicate, object), len(graph.slots))]
    if entry != 0:
        prefetch(graph.edges, ((entry & EDGE_NUMBER) - 1) * graph.edges.shape[1])


# --- runs -------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def run_tag(vertex: Any, key: Any) -> Any:
    mixed = ((np.uint64(np.uint32(vertex)) << _32) | np.uint64(np.uint32(key))) * _ODD
    return np.int64(((mixed ^ (mixed >> _32)) * _MIX) >> _33)


@kernel(inline=True)
def head_entry(tag: Any, number: Any, bits: Any) -> Any:
    """What stands in `heads` for a run: above 1 + its number, as much as there is room for of its hash's lower bits.

    The upper bits choose the place; the lower ones spare a look at nearly all runs but the one that is sought.
    """
    return ((tag << bits) & ((1 << TAG_BITS) - 1)) | number


@kernel(inline=True)
def run_in(graph: GraphArrays, place: Any) -> Any:
    """The run that stands in a place of `heads`, or -1."""
    return (np.int64(graph.heads[place]) & ((1 << graph.counters[RUN_BITS]) - 1)) - 1


@kernel(inline=True)
def head_of(graph: GraphArrays, vertex: Any, key: Any) -> Any:
    """The place in `heads` of a run, or the free one that it would take."""
    heads, runs, tag, bits = graph.heads, graph.runs, run_tag(vertex, key), graph.counters[RUN_BITS]
    place = home(tag, len(heads))
    mark = head_entry(tag, 0, bits) >> bits
    while heads[place] != 0:
        if heads[place] >> bits == mark:
            run = run_in(graph, place)
            if runs[run, VERTEX] == vertex and runs[run, KEY] == key:
                break
        place += 1
        if place == len(heads):
            place = 0
    return place


@kernel()
def find_run(graph: GraphArrays, vertex: Any, key: Any) -> Any:
    """The run of a vertex's edges of one property in one direction, or -1 if there are none."""
    if len(graph.heads) == 0:
        return np.int64(-1)
    run = run_in(graph, head_of(graph, vertex, key))
    if run >= 0 and graph.runs[run, LENGTH] == 0:
        return np.int64(-1)
    return run


@kernel(inline=True)
def run_length(graph: GraphArrays, run: Any) -> Any:
    return np.int64(graph.runs[run, LENGTH]) if run >= 0 else np.int64(0)


@kernel(inline=True)
def first_run(graph: GraphArrays, vertex: Any) -> Any:
    """The first run of a vertex, empty or not, or -1; `next_run` is the one after it."""
    return np.int64(graph.first[vertex]) - 1


@kernel(inline=True)
def next_run(graph: GraphArrays, run: Any) -> Any:
    return np.int64(graph.runs[run, NEXT_RUN]) - 1


@kernel(inline=True)
def edge_at(graph: GraphArrays, run: Any, i: Any) -> Any:
    if graph.runs[run, LENGTH] == 1:
        return np.int64(graph.runs[run, START])
    return np.int64(graph.pool[graph.runs[run, START] + i, EDGE])


@kernel(inline=True)
def neighbour(graph: GraphArrays, run: Any, i: Any) -> Any:
    """The vertex at the other end of a run's edge."""
    if graph.runs[run, LENGTH] == 1:
        return other_end(graph, graph.runs[run, START], graph.runs[run, KEY] & 1)
    return np.int64(graph.pool[graph.runs[run, START] + i, NEIGHBOUR])


@kernel(inline=True)
def other_end(graph: GraphArrays, edge: Any, direction: Any) -> Any:
    return np.int64(graph.edges[edge, SUBJECT if direction == IN else OBJECT])


@kernel(inline=True)
def prefetch_ends(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for the memory in which the search for the runs of an edge's ends begins."""
    size = len(graph.heads)
    prefetch(graph.heads, home(run_tag(subject, 2 * predicate + OUT), size))
    prefetch(graph.heads, home(run_tag(object, 2 * predicate + IN), size))
    prefetch(graph.first, np.int64(subject))
    prefetch(graph.first, np.int64(object))


@kernel(inline=True)
def prefetch_runs(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for what that memory, asked for earlier, leads to: the runs, if each is the first in its place."""
    _prefetch_run(graph, subject, 2 * predicate + OUT)
    _prefetch_run(graph, object, 2 * predicate + IN)


@kernel(inline=True)
def _prefetch_run(graph: GraphArrays, vertex: Any, key: Any) -> None:
    run = run_in(graph, home(run_tag(vertex, key), len(graph.heads)))
    if run >= 0:
        prefetch(graph.runs, run * RUN_COLUMNS)


# --- blocks of places --------------------------------------------------------------------------------------------

# Blocks of places for the runs of an evolving graph, each of a power of two and at a multiple of its size.
#
# A block of 2^k has one buddy, with which it makes a block of 2^(k+1). The law: of two buddies that are free neither
# stays, they become one; so a run that shrinks gives its upper half back and, growing again, mostly finds it there,
# without a copy, and what any order of growing and shrinking leaves behind can be taken again.
#
# A free block says so in its first place, where a block in use has the number of an edge, which is never negative:
# EDGE is -1 - k there and NEIGHBOUR 1 + the next free block of its size. NEIGHBOUR of its second place is 1 + the one
# before.

_ONE = np.int64(1)


@kernel()
def take(graph: GraphArrays, k: Any) -> Any:
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
def _extend(graph: GraphArrays, k: Any) -> Any:
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
def give(graph: GraphArrays, block: Any, k: Any) -> None:
    """A block is free from now on, together with its buddy if that is free too."""
    while is_free(graph, block ^ (_ONE << k), k):
        buddy = block ^ (_ONE << k)
        _unlink(graph, buddy, k)
        block = min(block, buddy)
        k += 1
    _link(graph, block, k)


@kernel(inline=True)
def is_free(graph: GraphArrays, block: Any, k: Any) -> Any:
    return block < graph.counters[POOL] and graph.pool[block, EDGE] == -1 - k


@kernel()
def claim_buddy(graph: GraphArrays, block: Any, k: Any) -> Any:
    """Takes the block just above one, if both make a larger one and it is free; whether it did."""
    upper = block + (_ONE << k)
    if (block >> k) & 1 or not is_free(graph, upper, k):
        return False
    _unlink(graph, upper, k)
    return True


@kernel()
def _link(graph: GraphArrays, block: Any, k: Any) -> None:
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
def _unlink(graph: GraphArrays, block: Any, k: Any) -> None:
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


# --- runs --------------------------------------------------------------------------------------------------------

# The edges of each vertex by property and direction, kept as edges come and go.
#
# A run's block has room for the next power of two of its length, which therefore need not be stored. An edge goes out
# of a run by the last one taking its place, so both cost the same whatever the run's length; only a run that outgrows
# its block is copied, if the block above it is taken.


@kernel()
def join_runs(graph: GraphArrays, edge: Any) -> None:
    """An edge that has come stands in a run of each of its ends."""
    subject, key, object = graph.edges[edge, SUBJECT], 2 * graph.edges[edge, PREDICATE], graph.edges[edge, OBJECT]
    _join(graph, subject, key + OUT, edge)
    _join(graph, object, key + IN, edge)


@kernel()
def quit_runs(graph: GraphArrays, edge: Any) -> None:
    """An edge that goes leaves the runs of its ends."""
    subject, key, object = graph.edges[edge, SUBJECT], 2 * graph.edges[edge, PREDICATE], graph.edges[edge, OBJECT]
    _quit(graph, subject, key + OUT, edge)
    _quit(graph, object, key + IN, edge)


@kernel()
def _join(graph: GraphArrays, vertex: Any, key: Any, edge: Any) -> None:
    place = head_of(graph, vertex, key)
    if graph.heads[place] == 0:
        _begin(graph, vertex, key, place)
    run = run_in(graph, place)
    length = np.int64(graph.runs[run, LENGTH])
    if length == 0:
        graph.runs[run, START] = edge
        graph.counters[IDLE] -= 1
    else:
        if length & (length - 1) == 0:
            _widen(graph, run, length)
        last = graph.runs[run, START] + length
        graph.pool[last, NEIGHBOUR] = other_end(graph, edge, key & 1)
        graph.pool[last, EDGE] = edge
    graph.places[edge, key & 1] = length
    graph.runs[run, LENGTH] = length + 1
    if length & (length + 1) == 0:  # a full block: next time two runs may need one twice the size, one after a gap
        graph.counters[NEED] = max(graph.counters[NEED], 6 * (length + 1))


@kernel()
def _begin(graph: GraphArrays, vertex: Any, key: Any, place: Any) -> None:
    """A run without edges, in its place in `heads`."""
    run = graph.counters[RUNS]
    graph.runs[run, VERTEX], graph.runs[run, KEY] = vertex, key
    graph.runs[run, START], graph.runs[run, LENGTH] = 0, 0
    graph.runs[run, NEXT_RUN] = graph.first[vertex]
    graph.first[vertex] = run + 1
    graph.heads[place] = head_entry(run_tag(vertex, key), run + 1, graph.counters[RUN_BITS])
    graph.counters[RUNS] = run + 1
    graph.counters[IDLE] += 1


@kernel()
def _widen(graph: GraphArrays, run: Any, length: Any) -> None:
    """A full run, of a power of two, gets room for twice as many."""
    k, start = _logarithm(length), np.int64(graph.runs[run, START])
    if k == 0:
        block = take(graph, 1)
        graph.pool[block, NEIGHBOUR] = other_end(graph, start, graph.runs[run, KEY] & 1)
        graph.pool[block, EDGE] = start
        graph.runs[run, START] = block
    elif not claim_buddy(graph, start, k):
        block = take(graph, k + 1)
        for i in range(length):
            graph.pool[block + i, NEIGHBOUR] = graph.pool[start + i, NEIGHBOUR]
            graph.pool[block + i, EDGE] = graph.pool[start + i, EDGE]
        give(graph, start, k)
        graph.runs[run, START] = block


@kernel()
def _quit(graph: GraphArrays, vertex: Any, key: Any, edge: Any) -> None:
    run = run_in(graph, head_of(graph, vertex, key))
    length, start = np.int64(graph.runs[run, LENGTH]) - 1, np.int64(graph.runs[run, START])
    graph.runs[run, LENGTH] = length
    if length == 0:
        graph.counters[IDLE] += 1
        return
    place, last = graph.places[edge, key & 1], start + length
    if place != length:
        graph.pool[start + place, NEIGHBOUR] = graph.pool[last, NEIGHBOUR]
        graph.pool[start + place, EDGE] = graph.pool[last, EDGE]
        graph.places[graph.pool[last, EDGE], key & 1] = place
    if length & (length - 1) == 0:
        _narrow(graph, run, length)


@kernel()
def _narrow(graph: GraphArrays, run: Any, length: Any) -> None:
    """A run that fills half of its block gives the other half back; a single edge needs no block."""
    start = np.int64(graph.runs[run, START])
    if length == 1:
        graph.runs[run, START] = graph.pool[start, EDGE]
        give(graph, start, 1)
    else:
        give(graph, start + length, _logarithm(length))


@kernel()
def _logarithm(power: Any) -> Any:
    k = np.int64(0)
    while power > 1:
        power >>= 1
        k += 1
    return k


# --- changing ----------------------------------------------------------------------------------------------------

# Changing an evolving graph, one edge at a time.
#
# The laws: what `put` adds `drop` takes away, and the graph is as it was; an edge keeps its number for as long as it
# is there or a query waits for it. An entry that goes leaves no gap in the way of a search: those behind it that may
# stand nearer to their homes move up (backward-shift deletion), so that no table ever fills up with traces of what
# was there.


@kernel(inline=True)
def has_room(graph: GraphArrays) -> Any:
    """Whether one more edge can be put or entered, whatever it is."""
    counters = graph.counters
    return (
        (counters[FREE_EDGE] != 0 or counters[EDGES] < len(graph.edges))
        and (counters[TAKEN] + 1) * PARTS <= len(graph.slots) * FULL
        and (len(graph.runs) == 0 or runs_have_room(graph))
    )


@kernel(inline=True)
def runs_have_room(graph: GraphArrays) -> Any:
    """Whether one more edge can be listed with its ends."""
    runs = graph.counters[RUNS] + 2
    return (
        runs <= len(graph.runs)
        and runs * PARTS <= len(graph.heads) * FULL
        and graph.counters[POOL] + graph.counters[NEED] <= len(graph.pool)
    )


@kernel()
def put(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> Any:
    """Adds an edge that is not present, without a weight or times; its number. Needs room."""
    edge = enter(graph, subject, predicate, object)
    graph.edges[edge, LINK] |= PRESENT
    graph.counters[LIVE] += 1
    if len(graph.weights):
        graph.weights[edge] = np.nan
    if len(graph.times):
        graph.times[edge, AT] = graph.times[edge, SEQ] = graph.times[edge, NUMBER] = NO_TIME
    if len(graph.runs):
        join_runs(graph, edge)
    return edge


@kernel()
def drop(graph: GraphArrays, edge: Any) -> None:
    """Takes a present edge away; its number is free, unless a query waits for it."""
    if len(graph.runs):
        quit_runs(graph, edge)
    graph.edges[edge, LINK] &= ~PRESENT
    graph.counters[LIVE] -= 1
    if graph.edges[edge, LINK] == 0:
        _forget(graph, edge)


@kernel()
def enter(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge; one that is not there is entered as absent, for a query to wait for. Needs room."""
    tag = edge_tag(subject, predicate, object)
    place = slot_of(graph, tag, subject, predicate, object)
    if graph.slots[place] == 0:
        edge = _number(graph)
        graph.slots[place] = (tag << 32) | (edge + 1)
        graph.counters[TAKEN] += 1
        graph.edges[edge, SUBJECT], graph.edges[edge, OBJECT] = subject, object
        graph.edges[edge, PREDICATE], graph.edges[edge, LINK] = predicate, 0
    return (graph.slots[place] & EDGE_NUMBER) - 1


@kernel()
def leave(graph: GraphArrays, edge: Any) -> None:
    """No query waits for an edge any more: if it is absent, its entry goes."""
    graph.edges[edge, LINK] &= PRESENT
    if graph.edges[edge, LINK] == 0:
        _forget(graph, edge)


@kernel()
def _number(graph: GraphArrays) -> Any:
    """A number that no edge has."""
    edge = graph.counters[FREE_EDGE] - 1
    if edge >= 0:
        following = np.int64(graph.edges[edge, SUBJECT])
        graph.counters[FREE_EDGE] = following
        if following:  # it lies anywhere: by the time it is needed it will have come
            prefetch(graph.edges, (following - 1) * EDGE_COLUMNS)
        return edge
    edge = graph.counters[EDGES]
    graph.counters[EDGES] = edge + 1
    return edge


@kernel()
def _forget(graph: GraphArrays, edge: Any) -> None:
    """Takes an absent edge out of the slots and its number back."""
    slots = graph.slots
    place = home(
        edge_tag(graph.edges[edge, SUBJECT], graph.edges[edge, PREDICATE], graph.edges[edge, OBJECT]), len(slots)
    )
    while (slots[place] & EDGE_NUMBER) - 1 != edge:
        place = place + 1 if place + 1 < len(slots) else 0
    _vacate(slots, place)
    graph.counters[TAKEN] -= 1
    graph.edges[edge, SUBJECT] = graph.counters[FREE_EDGE]
    graph.counters[FREE_EDGE] = edge + 1


@kernel()
def _vacate(slots: Any, hole: Any) -> None:
    place = hole
    while True:
        place = place + 1 if place + 1 < len(slots) else 0
        if slots[place] == 0:
            break
        wanted = home(slots[place] >> 32, len(slots))
        if _distance(slots, wanted, place) >= _distance(slots, hole, place):  # the hole lies on its way from home
            slots[hole] = slots[place]
            hole = place
    slots[hole] = 0


@kernel(inline=True)
def _distance(slots: Any, start: Any, place: Any) -> Any:
    """Steps from one slot to another."""
    return place - start if place >= start else place - start + len(slots)


# --- windows -----------------------------------------------------------------------------------------------------

# Sliding windows in flat arrays: which edge is too old, and what an edge that is added again becomes.
#
# The laws are those of `plain.Window`: by time an edge goes when `at <= clock - span`, in order of (at, seq); by
# updates when `number <= accepted - last`. What was loaded without a time, or as no update, never goes by that
# measure. Every edge that can go has a promise by each measure that can take it; one that a renewal or a removal made
# void is noticed when it comes up, because the edge, if there is one of that number, does not have that time.
#
# Promises by number are made in the order of numbers, so they are a queue; those by time are a heap.

_EDGE = 2  # of the heap, after (at, seq); of the queue it is 1


@kernel(inline=True)
def tick(window: WindowArrays, at: Any) -> None:
    """One more update is accepted; the time is the latest so far."""
    window.clocks[ACCEPTED] += 1
    move(window, at)


@kernel(inline=True)
def move(window: WindowArrays, at: Any) -> None:
    window.clocks[CLOCK] = max(window.clocks[CLOCK], at)  # NO_TIME is below every time


@kernel(inline=True)
def window_has_room(window: WindowArrays) -> Any:
    """Whether one more edge can be noted."""
    clocks = window.clocks
    return (clocks[SPAN] == 0 or clocks[HEAP] < len(window.heap)) and (
        clocks[LAST] == 0 or clocks[QUEUE] < len(window.queue)
    )


# --- what is known of an edge -----------------------------------------------------------------------------------


@kernel()
def stamp_new(graph: GraphArrays, window: WindowArrays, edge: Any, stamp: Stamp) -> None:
    """A fresh edge takes the weight and the times it is given, and will go in its time."""
    if len(graph.weights):
        graph.weights[edge] = stamp.weight
    if len(graph.times):
        graph.times[edge, AT], graph.times[edge, SEQ], graph.times[edge, NUMBER] = (
            stamp.at,
            stamp.seq,
            stamp.number,
        )
        note(window, graph, edge)


@kernel()
def renew(graph: GraphArrays, window: WindowArrays, edge: Any, stamp: Stamp) -> None:
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
def note(window: WindowArrays, graph: GraphArrays, edge: Any) -> None:
    """Promises that an edge with its times will go, by each measure of the window."""
    if graph.times[edge, AT] != NO_TIME:
        _note_time(window, graph, edge)
    if graph.times[edge, NUMBER] != NO_TIME:
        _note_number(window, graph, edge)


@kernel()
def next_due(window: WindowArrays, graph: GraphArrays) -> Any:
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
def _note_time(window: WindowArrays, graph: GraphArrays, edge: Any) -> None:
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
def _note_number(window: WindowArrays, graph: GraphArrays, edge: Any) -> None:
    clocks = window.clocks
    if clocks[LAST] == 0:
        return
    place = (clocks[QUEUE_FIRST] + clocks[QUEUE]) & (len(window.queue) - 1)
    window.queue[place, 0], window.queue[place, 1] = graph.times[edge, NUMBER], edge
    clocks[QUEUE] += 1


@kernel()
def _pop(window: WindowArrays) -> None:
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
def _is_before(window: WindowArrays, at: Any, seq: Any, place: Any) -> Any:
    return at < window.heap[place, AT] or (at == window.heap[place, AT] and seq < window.heap[place, SEQ])


@kernel(inline=True)
def _copy(window: WindowArrays, source: Any, target: Any) -> None:
    for column in range(3):
        window.heap[target, column] = window.heap[source, column]


# --- many edges at once ------------------------------------------------------------------------------------------

# Many edges of an evolving graph at once, and what Python asks of single ones.
#
# Whatever may need room works row by row and returns the row at which there was none: the caller makes room and goes
# on.

_AHEAD = 12  # rows; the memory of their slots is asked for that much earlier


@kernel((GRAPH, int64, int64, int64))
def find(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of a present edge, or -1."""
    edge = find_edge(graph, subject, predicate, object)
    return edge if edge >= 0 and is_present(graph, edge) else -1


@kernel((GRAPH, WINDOW, ROWS, int64))
def load(graph: GraphArrays, window: WindowArrays, rows: EdgeColumns, first: Any) -> Any:
    """Adds edges as rows say, or renews them; the row at which there was no room."""
    for row in range(first, len(rows.subject)):
        if not has_room(graph) or not window_has_room(window):
            return row
        _look_ahead(graph, rows, row)
        stamp = Stamp(rows.weight[row], rows.at[row], rows.seq[row], rows.number[row])
        move(window, stamp.at)
        edge = find_edge(graph, rows.subject[row], rows.predicate[row], rows.object[row])
        if edge >= 0 and is_present(graph, edge):
            renew(graph, window, edge, stamp)
        else:
            edge = put(graph, rows.subject[row], rows.predicate[row], rows.object[row])
            stamp_new(graph, window, edge, stamp)
    return len(rows.subject)


@kernel(inline=True)
def _look_ahead(graph: GraphArrays, rows: EdgeColumns, row: Any) -> None:
    """Asks for memory that later rows will need."""
    far, near, last = row + _AHEAD, row + _AHEAD // 2, len(rows.subject)
    if far < last:
        prefetch_edge(graph, rows.subject[far], rows.predicate[far], rows.object[far])
    if len(graph.runs) and far < last:
        prefetch_ends(graph, rows.subject[far], rows.predicate[far], rows.object[far])
    if near < last:
        prefetch_row(graph, rows.subject[near], rows.predicate[near], rows.object[near])
    if len(graph.runs) and near < last:
        prefetch_runs(graph, rows.subject[near], rows.predicate[near], rows.object[near])


@kernel((GRAPH, WINDOW))
def expire(graph: GraphArrays, window: WindowArrays) -> None:
    """Takes away what is too old."""
    edge = next_due(window, graph)
    while edge >= 0:
        drop(graph, edge)
        edge = next_due(window, graph)


@kernel((GRAPH, INT32S, INT32S, INT32S, int64, NEW_INT64S))
def enter_all(graph: GraphArrays, subject: Int32s, predicate: Int32s, object: Int32s, first: Any, edges: Int64s) -> Any:
    """The numbers of edges, entered as absent where they are not there; the row at which there was no room."""
    for row in range(first, len(subject)):
        if not has_room(graph):
            return row
        edges[row] = enter(graph, subject[row], predicate[row], object[row])
    return len(subject)


@kernel((GRAPH, INT64S))
def leave_all(graph: GraphArrays, edges: Int64s) -> None:
    """No query waits for these edges any more."""
    for edge in edges:
        leave(graph, edge)


@kernel((GRAPH, INT64S))
def drop_all(graph: GraphArrays, edges: Int64s) -> None:
    """Takes present edges away."""
    for row in range(len(edges)):
        _look_ahead_of(graph, edges, row)
        drop(graph, edges[row])


@kernel(inline=True)
def _look_ahead_of(graph: GraphArrays, edges: Int64s, row: Any) -> None:
    """Asks for memory that edges which go later will need: their rows, then what those lead to."""
    far, near = row + 2 * _AHEAD, row + _AHEAD
    if far < len(edges):
        prefetch(graph.edges, edges[far] * EDGE_COLUMNS)
    if near < len(edges):
        ends = graph.edges[edges[near]]
        prefetch_edge(graph, ends[SUBJECT], ends[PREDICATE], ends[OBJECT])
        if len(graph.runs):
            prefetch(graph.places, edges[near] * 2)
            prefetch_ends(graph, ends[SUBJECT], ends[PREDICATE], ends[OBJECT])
            ends = graph.edges[edges[row + _AHEAD // 2]]
            prefetch_runs(graph, ends[SUBJECT], ends[PREDICATE], ends[OBJECT])


# --- arrays made anew -------------------------------------------------------------------------------------------


@kernel((GRAPH, int64))
def list_runs(graph: GraphArrays, first: Any) -> Any:
    """Lists the present edges in the runs of their ends; the edge at which there was no room."""
    for edge in range(first, graph.counters[EDGES]):
        if not runs_have_room(graph):
            return edge
        far, near = min(edge + _AHEAD, len(graph.edges) - 1), min(edge + _AHEAD // 2, len(graph.edges) - 1)
        prefetch_ends(graph, graph.edges[far, SUBJECT], graph.edges[far, PREDICATE], graph.edges[far, OBJECT])
        prefetch_runs(graph, graph.edges[near, SUBJECT], graph.edges[near, PREDICATE], graph.edges[near, OBJECT])
        if is_present(graph, edge):
            join_runs(graph, edge)
    return graph.counters[EDGES]


@kernel((NEW_INT64S, NEW_INT64S))
def rehash_slots(old: Int64s, slots: Int64s) -> None:
    """Moves all entries over to a table of another size, in the order of both."""
    for entry in old:
        if entry:
            place = home(entry >> 32, len(slots))
            while slots[place]:
                place = place + 1 if place + 1 < len(slots) else 0
            slots[place] = entry


@kernel((GRAPH, NEW_INT32S))
def rehash_heads(graph: GraphArrays, heads: Int32s) -> None:
    """Enters all runs into a table of another size."""
    for run in range(graph.counters[RUNS]):
        later = min(run + _AHEAD, graph.counters[RUNS] - 1)
        prefetch(heads, home(run_tag(graph.runs[later, VERTEX], graph.runs[later, KEY]), len(heads)))
        tag = run_tag(graph.runs[run, VERTEX], graph.runs[run, KEY])
        place = home(tag, len(heads))
        while heads[place]:
            place = place + 1 if place + 1 < len(heads) else 0
        heads[place] = head_entry(tag, run + 1, graph.counters[RUN_BITS])
