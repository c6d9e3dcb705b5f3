"""Events through an exchange, up to 64 at a time: which nodes does each reach?

What it computes: for each lane the least set of nodes that holds every accepting target of an accepting edge from the
lane's publisher or from a member of the set. Nodes that lanes have come to are taken in ascending order of their
numbers, asked for all the new lanes at once, and left by their edges. Numbers follow the topological order of strongly
connected components, so outside of a component every node is asked and left once for all lanes. A component is swept
until nothing in it waits; an edge that leads further down, because of a live change, only takes the walk back. So the
numbering makes it fast and is never needed for the answer.

Results come in the order of reporting, event by event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean

from heliograph.kernels import exchange_layout as of
from heliograph.kernels.bitmaps import count_bits, drop, first_bit, following, put
from heliograph.kernels.cache import kernel
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.lanes import lay_out
from heliograph.kernels.quick import JOB, accepted
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.routing_layout import ASKED, COME, REACHED, STARTING, Batch, Walk
from heliograph.kernels.targeting_layout import ALWAYS, NEVER, Int32s, Int64s
from heliograph.kernels.targeting_types import GRAPH, INT32S, INT64S, NEW_INT64S, NEW_MASK_ROWS, NEW_MASKS
from heliograph.kernels.types import NEW_INT32S, named

_ONE, _NONE = np.uint64(1), np.uint64(0)
WALK: Any = named(
    Walk,
    NEW_MASK_ROWS,
    *[NEW_MASKS] * 5,
    NEW_INT32S,
    NEW_INT32S,
    NEW_MASKS,
    NEW_INT64S,
)
_FAR = np.int64(2**62)
_DENSE = 6  # results are written lane by lane where more than a sixth of them is there: about as fast at that share
BATCH: Any = named(Batch, INT32S, INT64S)
EVALUATED, HELD, TOUCHED, LOWEST = 0, 1, 2, 3  # `tally`: predicates evaluated, those that held; nodes asked; a cursor


@kernel((GRAPH, JOB, BATCH, WALK, boolean, NEW_INT64S, NEW_INT64S))
def route(graph: Graph, job: Job, batch: Batch, walk: Walk, ends_only: Any, offsets: Int64s, tally: Int64s) -> Any:
    """The nodes reached by each event, end to end; `offsets` gets where each event's begin.

    With `ends_only` nodes with outgoing edges are left out.
    """
    out = np.empty(1024, np.int32)
    size = 0
    for block in range(len(batch.cuts) - 1):
        first, last = batch.cuts[block], batch.cuts[block + 1]
        lay_out(job.events.cells, np.arange(first, last), job.board)
        _walk(graph, job, batch.starts[first:last], walk, tally)
        for node in batch.starts[first:last]:
            if node >= 0:
                walk.lanes[node, STARTING] = _NONE
        found = _collect(graph, job, walk, ends_only, tally)
        total = _total(walk, found)
        if size + total >= len(out):
            likely = (size + total) * (len(batch.cuts) - 1) // (block + 1)
            grown = np.empty(max(2 * len(out), size + total + 1, likely + likely // 8), np.int32)
            grown[:size] = out[:size]
            out = grown
        if total * _DENSE > found * (last - first):
            _report_dense(walk, found, out, offsets[first : last + 1], size)
        else:
            _report(walk, found, out, offsets[first : last + 1], size)
        size += total
    offsets[len(batch.starts)] = size
    return out[:size]


@kernel()
def _walk(graph: Graph, job: Job, starts: Int32s, walk: Walk, tally: Int64s) -> None:
    tally[TOUCHED] = 0
    for lane in range(len(starts)):
        if starts[lane] >= 0:
            walk.lanes[starts[lane], STARTING] |= _ONE << np.uint64(lane)
            put(walk.pending, walk.pending_summary, starts[lane])
    node, end = following(walk.pending, walk.pending_summary, 0), np.int64(-1)
    tally[LOWEST] = _FAR
    waiting = ~_NONE  # lanes that have not started
    while True:
        if node < 0 or node > end:  # the component is through, or waits for another sweep
            if tally[LOWEST] < _FAR:
                node = following(walk.pending, walk.pending_summary, tally[LOWEST])
                tally[LOWEST] = _FAR
            if node < 0:
                break
            end = max(node, np.int64(graph.nodes[node, of.COMPONENT_END]))
        drop(walk.pending, walk.pending_summary, node)
        starting = walk.lanes[node, STARTING]
        lanes = _enter(graph, job, node, walk, tally) & ~starting | starting & waiting
        waiting &= ~starting
        if lanes != _NONE:
            _leave(graph, job, node, lanes, walk, tally)
        node = following(walk.pending, walk.pending_summary, node + 1)


@kernel(inline=True)
def _enter(graph: Graph, job: Job, node: Any, walk: Walk, tally: Int64s) -> Any:
    """The new lanes that a node accepts."""
    lanes = walk.lanes[node, COME] & ~walk.lanes[node, ASKED]
    if lanes != _NONE:
        walk.lanes[node, ASKED] |= lanes
        lanes = ask(job, expression_of(graph, node), lanes, tally)
        walk.lanes[node, REACHED] |= lanes
    return lanes


@kernel(inline=True)
def _leave(graph: Graph, job: Job, node: Any, lanes: Any, walk: Walk, tally: Int64s) -> None:
    first, last, more = graph.nodes[node, of.OUT_BEGIN], graph.nodes[node, of.OUT_END], graph.nodes[node, of.OUT_MORE]
    while True:
        for edge in range(first, last):
            if graph.edges[edge, of.BORN] <= graph.version < graph.edges[edge, of.EDGE_DIED]:
                _follow(graph, job, node, edge, lanes, walk, tally)
        if more < 0:
            return
        first, last, more = graph.blocks[more, of.BEGIN], graph.blocks[more, of.END], graph.blocks[more, of.MORE]


@kernel(inline=True)
def _follow(graph: Graph, job: Job, node: Any, edge: Any, lanes: Any, walk: Walk, tally: Int64s) -> None:
    """Takes the lanes that an edge accepts to its target."""
    target = graph.edges[edge, of.TARGET]
    known = walk.lanes[target, COME]
    come = lanes & ~known
    if come == _NONE:
        return
    come = ask(job, graph.edges[edge, of.EDGE_EXPRESSION], come, tally)
    if come == _NONE:
        return
    if known == _NONE:
        walk.touched[tally[TOUCHED]] = target
        tally[TOUCHED] += 1
    walk.lanes[target, COME] = known | come
    if graph.nodes[target, of.OUT_BEGIN] < graph.nodes[target, of.OUT_END] or graph.nodes[target, of.OUT_MORE] >= 0:
        put(walk.pending, walk.pending_summary, target)
        if target <= node:
            tally[LOWEST] = min(tally[LOWEST], np.int64(target))


@kernel(inline=True)
def ask(job: Job, expression: Any, lanes: Any, tally: Int64s) -> Any:
    """The lanes that an expression accepts, counted; what accepts everything or nothing is not asked."""
    if expression <= NEVER:
        return lanes if expression == ALWAYS else _NONE
    held = accepted(job, expression, lanes)
    tally[EVALUATED] += count_bits(lanes)
    tally[HELD] += count_bits(held)
    return held


@kernel(inline=True)
def record_of(graph: Graph, node: Any) -> Any:
    """The record of a node in this version."""
    record = graph.nodes[node, of.RECORD]
    while graph.records[record, of.DIED] <= graph.version:
        record = graph.records[record, of.NEWER]
    return record


@kernel(inline=True)
def expression_of(graph: Graph, node: Any) -> Any:
    return graph.records[record_of(graph, node), of.EXPRESSION]


@kernel()
def is_end(graph: Graph, node: Any) -> Any:
    """Whether no edge leaves the node."""
    first, last, more = graph.nodes[node, of.OUT_BEGIN], graph.nodes[node, of.OUT_END], graph.nodes[node, of.OUT_MORE]
    while True:
        for edge in range(first, last):
            if graph.edges[edge, of.BORN] <= graph.version < graph.edges[edge, of.EDGE_DIED]:
                return False
        if more < 0:
            return True
        first, last, more = graph.blocks[more, of.BEGIN], graph.blocks[more, of.END], graph.blocks[more, of.MORE]


@kernel()
def _collect(graph: Graph, job: Job, walk: Walk, ends_only: Any, tally: Int64s) -> Any:
    """Lists the nodes reached in the order of reporting, each with its lanes; returns how many they are.

    Nodes without edges, which nothing waited for, are asked only now.
    """
    for number in range(tally[TOUCHED]):
        node = walk.touched[number]
        _enter(graph, job, node, walk, tally)
        lanes = walk.lanes[node, REACHED]
        walk.lanes[node, COME] = walk.lanes[node, ASKED] = walk.lanes[node, REACHED] = _NONE
        if lanes != _NONE and not (ends_only and not is_end(graph, node)):
            record = record_of(graph, node)
            listed = graph.records[record, of.FLAGS] & np.int32(of.LISTED_NODE) != 0
            place = np.int64(graph.records[record, of.PLACE]) + (0 if listed else graph.listed_count)
            put(walk.places, walk.places_summary, place)
            walk.place_lanes[place] = lanes
    found = 0
    place = following(walk.places, walk.places_summary, 0)
    while place >= 0:
        drop(walk.places, walk.places_summary, place)
        node = graph.listed[place] if place < graph.listed_count else graph.loose[place - graph.listed_count]
        walk.found[found], walk.found_lanes[found] = node, walk.place_lanes[place]
        found += 1
        place = following(walk.places, walk.places_summary, place + 1)
    return found


@kernel()
def _total(walk: Walk, found: Any) -> Any:
    total = 0
    for number in range(found):
        total += count_bits(walk.found_lanes[number])
    return total


@kernel()
def _report_dense(walk: Walk, found: Any, out: Int32s, offsets: Int64s, size: Any) -> None:
    """Writes each lane's nodes, lane after lane: every node is written, and the place moves on where it is reached."""
    for lane in range(len(offsets) - 1):
        offsets[lane] = size
        shift = np.uint64(lane)
        for number in range(found):
            out[size] = walk.found[number]
            size += np.int64(walk.found_lanes[number] >> shift & _ONE)


@kernel()
def _report(walk: Walk, found: Any, out: Int32s, offsets: Int64s, size: Any) -> None:
    """The same, bit by bit."""
    walk.counts[:] = 0
    for number in range(found):
        lanes = walk.found_lanes[number]
        while lanes != _NONE:
            walk.counts[first_bit(lanes)] += 1
            lanes &= lanes - _ONE
    for lane in range(len(offsets) - 1):
        offsets[lane] = size
        size += walk.counts[lane]
        walk.counts[lane] = offsets[lane]
    for number in range(found):
        lanes = walk.found_lanes[number]
        while lanes != _NONE:
            lane = first_bit(lanes)
            out[walk.counts[lane]] = walk.found[number]
            walk.counts[lane] += 1
            lanes &= lanes - _ONE
