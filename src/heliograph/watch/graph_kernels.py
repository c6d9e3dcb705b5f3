"""The evolving graph in kernels: edges found, added and removed, runs of a vertex's edges, windows, and bulk loads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64

from heliograph.compiled.arrays import FLOATS, INT32S, INT64S, NEW_INT64S, named, prefetch
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import edge_hash
from heliograph.compiled.records import ADDRESS, Struct, array, number, view
from heliograph.watch.layout import (
    AT,
    EDGE,
    EDGE_COLUMNS,
    FULL,
    IN,
    KEY,
    LENGTH,
    LINK,
    NEIGHBOUR,
    NEXT_RUN,
    NO_TIME,
    NUMBER,
    OBJECT,
    OUT,
    PARTS,
    PREDICATE,
    PRESENT,
    RUN_COLUMNS,
    SEQ,
    START,
    SUBJECT,
    VERTEX,
    VIRTUALS,
    EdgeColumns,
    Floats,
    Int32s,
    Int64s,
    Stamp,
)

# --- the structure ----------------------------------------------------------------------------------------------


class GraphArrays(Struct):
    """Arrays with room to grow; numbers say how much of each is in use. Everything changes.

    Without adjacency, `places`, `heads`, `runs`, `first` and `pool` are empty: where only whole edges are asked for,
    none is needed. Without a window, or without weights, `times` and `weights` are empty.

    Of a window, `heap` and `queue` say which edges go when. Promises (when, edge) that a later renewal made void are
    noticed when they come up.
    """

    slots: Int64s = array(int64, "slot")  # open addressing: the upper half of an edge's hash (31 bits) and 1 + its
    # number; 0 is free
    edges: Int32s = array(int32, "edge", EDGE_COLUMNS)
    places: Int32s = array(int32, "place", 2)  # where an edge stands in its run of OUT and in its run of IN
    heads: Int32s = array(int32, "head")  # open addressing over (vertex, key): some bits of a run's hash and 1 + its
    # number; 0 is free
    runs: Int32s = array(int32, "run", RUN_COLUMNS)
    first: Int32s = array(int32, "vertex")  # 1 + its first run
    pool: Int32s = array(int32, "pool", 2)
    free: Int64s = array(int64, "size")  # by the logarithm of the size: 1 + the first place of the first free block
    weights: Floats = array(float64, "weight")  # by edge; NaN is none
    times: Int64s = array(int64, "time", 3)  # by edge; NO_TIME is none
    heap: Int64s = array(int64, "heap", 3)  # rows (at, seq, edge), a binary heap by (at, seq)
    queue: Int64s = array(int64, "queue", 2)  # rows (number, edge), a ring of a power of two

    numbered: int = number()  # numbers of edges given out
    free_edge: Any = number()  # 1 + the first free number, SUBJECT of it the next
    live: int = number()  # edges present
    taken: int = number()  # slots
    run_count: int = number()
    idle_runs: int = number()  # without edges
    run_bits: int = number()  # of a run's number in `heads`
    pool_end: Any = number()  # places given out
    pool_need: Any = number(6)  # places that the next edge might need; at first two blocks of two, one after a gap
    vacant: int = number()  # free places below `pool_end`
    free_sizes: int = number()  # a bit for each size of which there are free blocks
    first_virtual: int = number(-VIRTUALS)  # virtual properties have the VIRTUALS ids from here on

    span: int = number()  # the window's extent in time, and in updates; 0 is none by that measure
    last: int = number()
    clock: int = number(NO_TIME)
    accepted: int = number()  # updates so far
    heap_size: int = number()  # promises
    queue_size: int = number()
    queue_first: int = number()  # where the queue begins in its ring


graph_at = view(GraphArrays)
EDGE_ROWS = named(EdgeColumns, INT32S, INT32S, INT32S, FLOATS, INT64S, INT64S, INT64S)


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
    return (np.int64(graph.heads[place]) & ((1 << graph.run_bits) - 1)) - 1


@kernel(inline=True)
def head_of(graph: GraphArrays, vertex: Any, key: Any) -> Any:
    """The place in `heads` of a run, or the free one that it would take."""
    heads, runs, tag, bits = graph.heads, graph.runs, run_tag(vertex, key), graph.run_bits
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


@kernel(inline=True)
def prefetch_first(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for the memory that a change of an edge begins with."""
    prefetch_edge(graph, subject, predicate, object)
    if len(graph.runs):
        prefetch_ends(graph, subject, predicate, object)


@kernel(inline=True)
def prefetch_second(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for what that leads to."""
    prefetch_row(graph, subject, predicate, object)
    if len(graph.runs):
        prefetch_runs(graph, subject, predicate, object)


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
    classes = graph.free_sizes >> k
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
    size, end = _ONE << k, graph.pool_end
    while end & (size - 1):
        gap = np.int64(1)
        while end & (_ONE << gap) == 0:
            gap += 1
        graph.pool_end = end + (_ONE << gap)
        give(graph, end, gap)
        end = graph.pool_end
    graph.pool_end = end + size
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
    return block < graph.pool_end and graph.pool[block, EDGE] == -1 - k


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
    graph.free_sizes |= _ONE << k
    graph.vacant += _ONE << k


@kernel()
def _unlink(graph: GraphArrays, block: Any, k: Any) -> None:
    following, before = graph.pool[block, NEIGHBOUR], graph.pool[block + 1, NEIGHBOUR]
    if before:
        graph.pool[before - 1, NEIGHBOUR] = following
    else:
        graph.free[k] = following
    if following:
        graph.pool[following, NEIGHBOUR] = before
    graph.vacant -= _ONE << k
    if graph.free[k] == 0:
        graph.free_sizes &= ~(_ONE << k)


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
        graph.idle_runs -= 1
    else:
        if length & (length - 1) == 0:
            _widen(graph, run, length)
        last = graph.runs[run, START] + length
        graph.pool[last, NEIGHBOUR] = other_end(graph, edge, key & 1)
        graph.pool[last, EDGE] = edge
    graph.places[edge, key & 1] = length
    graph.runs[run, LENGTH] = length + 1
    if length & (length + 1) == 0:  # a full block: next time two runs may need one twice the size, one after a gap
        graph.pool_need = max(graph.pool_need, 6 * (length + 1))


@kernel()
def _begin(graph: GraphArrays, vertex: Any, key: Any, place: Any) -> None:
    """A run without edges, in its place in `heads`."""
    run = graph.run_count
    graph.runs[run, VERTEX], graph.runs[run, KEY] = vertex, key
    graph.runs[run, START], graph.runs[run, LENGTH] = 0, 0
    graph.runs[run, NEXT_RUN] = graph.first[vertex]
    graph.first[vertex] = run + 1
    graph.heads[place] = head_entry(run_tag(vertex, key), run + 1, graph.run_bits)
    graph.run_count = run + 1
    graph.idle_runs += 1


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
        graph.idle_runs += 1
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
    """Whether one more edge can be put or entered, whatever it is, and noted in the window."""
    return (
        (graph.free_edge != 0 or graph.numbered < len(graph.edges))
        and (graph.taken + 1) * PARTS <= len(graph.slots) * FULL
        and (len(graph.runs) == 0 or runs_have_room(graph))
        and (graph.span == 0 or graph.heap_size < len(graph.heap))
        and (graph.last == 0 or graph.queue_size < len(graph.queue))
    )


@kernel(inline=True)
def runs_have_room(graph: GraphArrays) -> Any:
    """Whether one more edge can be listed with its ends."""
    runs = graph.run_count + 2
    return (
        runs <= len(graph.runs)
        and runs * PARTS <= len(graph.heads) * FULL
        and graph.pool_end + graph.pool_need <= len(graph.pool)
    )


@kernel()
def put(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> Any:
    """Adds an edge that is not present, without a weight or times; its number. Needs room."""
    edge = enter(graph, subject, predicate, object)
    graph.edges[edge, LINK] |= PRESENT
    graph.live += 1
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
    graph.live -= 1
    if graph.edges[edge, LINK] == 0:
        _forget(graph, edge)


@kernel(inline=True)
def enter(graph: GraphArrays, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge; one that is not there is entered as absent, for a query to wait for. Needs room."""
    tag = edge_tag(subject, predicate, object)
    place = slot_of(graph, tag, subject, predicate, object)
    if graph.slots[place] == 0:
        edge = _number(graph)
        graph.slots[place] = (tag << 32) | (edge + 1)
        graph.taken += 1
        graph.edges[edge, SUBJECT], graph.edges[edge, OBJECT] = subject, object
        graph.edges[edge, PREDICATE], graph.edges[edge, LINK] = predicate, 0
    return (graph.slots[place] & EDGE_NUMBER) - 1


@kernel()
def leave(graph: GraphArrays, edge: Any) -> None:
    """No query waits for an edge any more: if it is absent, its entry goes."""
    graph.edges[edge, LINK] &= PRESENT
    if graph.edges[edge, LINK] == 0:
        _forget(graph, edge)


@kernel(inline=True)
def _number(graph: GraphArrays) -> Any:
    """A number that no edge has."""
    edge = graph.free_edge - 1
    if edge >= 0:
        following = np.int64(graph.edges[edge, SUBJECT])
        graph.free_edge = following
        if following:  # it lies anywhere: by the time it is needed it will have come
            prefetch(graph.edges, (following - 1) * EDGE_COLUMNS)
        return edge
    edge = graph.numbered
    graph.numbered = edge + 1
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
    graph.taken -= 1
    graph.edges[edge, SUBJECT] = graph.free_edge
    graph.free_edge = edge + 1


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
def tick(graph: GraphArrays, at: Any) -> None:
    """One more update is accepted; the time is the latest so far."""
    graph.accepted += 1
    move(graph, at)


@kernel(inline=True)
def move(graph: GraphArrays, at: Any) -> None:
    graph.clock = max(graph.clock, at)  # NO_TIME is below every time


# --- what is known of an edge -----------------------------------------------------------------------------------


@kernel()
def stamp_new(graph: GraphArrays, edge: Any, stamp: Stamp) -> None:
    """A fresh edge takes the weight and the times it is given, and will go in its time."""
    if len(graph.weights):
        graph.weights[edge] = stamp.weight
    if len(graph.times):
        graph.times[edge, AT], graph.times[edge, SEQ], graph.times[edge, NUMBER] = (
            stamp.at,
            stamp.seq,
            stamp.number,
        )
        note(graph, edge)


@kernel()
def renew(graph: GraphArrays, edge: Any, stamp: Stamp) -> None:
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
        _note_time(graph, edge)
    known = graph.times[edge, NUMBER]
    if known != NO_TIME and stamp.number != NO_TIME and stamp.number != known:
        graph.times[edge, NUMBER] = stamp.number
        _note_number(graph, edge)


# --- promises ---------------------------------------------------------------------------------------------------


@kernel()
def note(graph: GraphArrays, edge: Any) -> None:
    """Promises that an edge with its times will go, by each measure of the window."""
    if graph.times[edge, AT] != NO_TIME:
        _note_time(graph, edge)
    if graph.times[edge, NUMBER] != NO_TIME:
        _note_number(graph, edge)


@kernel()
def next_due(graph: GraphArrays) -> Any:
    """The next edge that is too old, or -1; the caller takes it away."""
    while graph.heap_size and graph.heap[0, AT] <= graph.clock - graph.span:
        at, seq, edge = graph.heap[0, AT], graph.heap[0, SEQ], graph.heap[0, _EDGE]
        _pop(graph)
        if is_present(graph, edge) and graph.times[edge, AT] == at and graph.times[edge, SEQ] == seq:
            return edge
    while graph.queue_size and graph.queue[graph.queue_first, 0] <= graph.accepted - graph.last:
        number, edge = graph.queue[graph.queue_first, 0], graph.queue[graph.queue_first, 1]
        graph.queue_first = (graph.queue_first + 1) & (len(graph.queue) - 1)
        graph.queue_size -= 1
        if is_present(graph, edge) and graph.times[edge, NUMBER] == number:
            return edge
    return np.int64(-1)


@kernel()
def _note_time(graph: GraphArrays, edge: Any) -> None:
    if graph.span == 0:
        return
    place = graph.heap_size
    graph.heap_size = place + 1
    at, seq = graph.times[edge, AT], graph.times[edge, SEQ]
    while place and _is_before(graph, at, seq, (place - 1) >> 1):
        _copy(graph, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    graph.heap[place, AT], graph.heap[place, SEQ], graph.heap[place, _EDGE] = at, seq, edge


@kernel()
def _note_number(graph: GraphArrays, edge: Any) -> None:
    if graph.last == 0:
        return
    place = (graph.queue_first + graph.queue_size) & (len(graph.queue) - 1)
    graph.queue[place, 0], graph.queue[place, 1] = graph.times[edge, NUMBER], edge
    graph.queue_size += 1


@kernel()
def _pop(graph: GraphArrays) -> None:
    """Takes the earliest promise out of the heap: the last one sinks from the top to where it belongs."""
    size = graph.heap_size - 1
    graph.heap_size = size
    at, seq, edge = graph.heap[size, AT], graph.heap[size, SEQ], graph.heap[size, _EDGE]
    place, child = np.int64(0), np.int64(1)
    while child < size:
        if child + 1 < size and _is_before(graph, graph.heap[child + 1, AT], graph.heap[child + 1, SEQ], child):
            child += 1
        if not (graph.heap[child, AT] < at or (graph.heap[child, AT] == at and graph.heap[child, SEQ] < seq)):
            break
        _copy(graph, child, place)
        place, child = child, 2 * child + 1
    graph.heap[place, AT], graph.heap[place, SEQ], graph.heap[place, _EDGE] = at, seq, edge


@kernel(inline=True)
def _is_before(graph: GraphArrays, at: Any, seq: Any, place: Any) -> Any:
    return at < graph.heap[place, AT] or (at == graph.heap[place, AT] and seq < graph.heap[place, SEQ])


@kernel(inline=True)
def _copy(graph: GraphArrays, source: Any, target: Any) -> None:
    for column in range(3):
        graph.heap[target, column] = graph.heap[source, column]


# --- many edges at once ------------------------------------------------------------------------------------------

# Many edges of an evolving graph at once, and what Python asks of single ones.
#
# Whatever may need room works row by row and returns the row at which there was none: the caller makes room and goes
# on.

_AHEAD = 12  # rows; the memory of their slots is asked for that much earlier


@kernel((ADDRESS, int64, int64, int64))
def find(address: int, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of a present edge, or -1."""
    graph = graph_at(address)
    edge = find_edge(graph, subject, predicate, object)
    return edge if edge >= 0 and is_present(graph, edge) else -1


@kernel((ADDRESS, EDGE_ROWS, int64))
def load(address: int, rows: EdgeColumns, first: Any) -> Any:
    """Adds edges as rows say, or renews them; the row at which there was no room."""
    graph = graph_at(address)
    for row in range(first, len(rows.subject)):
        if not has_room(graph):
            return row
        _look_ahead(graph, rows, row)
        stamp = Stamp(rows.weight[row], rows.at[row], rows.seq[row], rows.number[row])
        move(graph, stamp.at)
        edge = find_edge(graph, rows.subject[row], rows.predicate[row], rows.object[row])
        if edge >= 0 and is_present(graph, edge):
            renew(graph, edge, stamp)
        else:
            edge = put(graph, rows.subject[row], rows.predicate[row], rows.object[row])
            stamp_new(graph, edge, stamp)
    return len(rows.subject)


@kernel(inline=True)
def _look_ahead(graph: GraphArrays, rows: EdgeColumns, row: Any) -> None:
    """Asks for memory that later rows will need."""
    far, near, last = row + _AHEAD, row + _AHEAD // 2, len(rows.subject)
    if far < last:
        prefetch_first(graph, rows.subject[far], rows.predicate[far], rows.object[far])
    if near < last:
        prefetch_second(graph, rows.subject[near], rows.predicate[near], rows.object[near])


@kernel((ADDRESS,))
def expire(address: int) -> None:
    """Takes away what is too old."""
    graph = graph_at(address)
    edge = next_due(graph)
    while edge >= 0:
        drop(graph, edge)
        edge = next_due(graph)


@kernel((ADDRESS, INT32S, INT32S, INT32S, int64, NEW_INT64S))
def enter_all(address: int, subject: Int32s, predicate: Int32s, object: Int32s, first: Any, edges: Int64s) -> Any:
    """The numbers of edges, entered as absent where they are not there; the row at which there was no room."""
    graph = graph_at(address)
    for row in range(first, len(subject)):
        if not has_room(graph):
            return row
        edges[row] = enter(graph, subject[row], predicate[row], object[row])
    return len(subject)


@kernel((ADDRESS, INT64S))
def leave_all(address: int, edges: Int64s) -> None:
    """No query waits for these edges any more."""
    graph = graph_at(address)
    for edge in edges:
        leave(graph, edge)


@kernel((ADDRESS, INT64S))
def drop_all(address: int, edges: Int64s) -> None:
    """Takes present edges away."""
    graph = graph_at(address)
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


@kernel((ADDRESS, int64))
def list_runs(address: int, first: Any) -> Any:
    """Lists the present edges in the runs of their ends; the edge at which there was no room."""
    graph = graph_at(address)
    for edge in range(first, graph.numbered):
        if not runs_have_room(graph):
            return edge
        far, near = min(edge + _AHEAD, len(graph.edges) - 1), min(edge + _AHEAD // 2, len(graph.edges) - 1)
        prefetch_ends(graph, graph.edges[far, SUBJECT], graph.edges[far, PREDICATE], graph.edges[far, OBJECT])
        prefetch_runs(graph, graph.edges[near, SUBJECT], graph.edges[near, PREDICATE], graph.edges[near, OBJECT])
        if is_present(graph, edge):
            join_runs(graph, edge)
    return graph.numbered


@kernel((NEW_INT64S, NEW_INT64S))
def rehash_slots(old: Int64s, slots: Int64s) -> None:
    """Moves all entries over to a table of another size, in the order of both."""
    for entry in old:
        if entry:
            place = home(entry >> 32, len(slots))
            while slots[place]:
                place = place + 1 if place + 1 < len(slots) else 0
            slots[place] = entry


@kernel((ADDRESS,))
def rehash_heads(address: int) -> None:
    """Enters all runs into a table that is empty."""
    graph = graph_at(address)
    heads = graph.heads
    for run in range(graph.run_count):
        later = min(run + _AHEAD, graph.run_count - 1)
        prefetch(heads, home(run_tag(graph.runs[later, VERTEX], graph.runs[later, KEY]), len(heads)))
        tag = run_tag(graph.runs[run, VERTEX], graph.runs[run, KEY])
        place = home(tag, len(heads))
        while heads[place]:
            place = place + 1 if place + 1 < len(heads) else 0
        heads[place] = head_entry(tag, run + 1, graph.run_bits)
