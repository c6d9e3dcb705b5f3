"""Events through an exchange, up to 64 at a time: which nodes does each reach?

What it computes: for each lane the least set of nodes that holds every accepting target of an accepting edge from the
lane's publisher or from a member of the set. A node is asked once for a lane, and once for all lanes that come to it
together. Nodes that still have to be left are taken in ascending order of their numbers. Numbers follow the
topological order of strongly connected components, so outside of a component every node is left once for all
lanes; an edge that leads down, within a component or because of a live change, only takes the walk back. So the
numbering makes it fast and is never needed for the answer.

Results come in the order of reporting, event by event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, int64

from heliograph.kernels import exchange_layout as of
from heliograph.kernels.bitmaps import count_bits, drop, first_bit, following, put
from heliograph.kernels.board_layout import LANES, Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.lanes import gather
from heliograph.kernels.routing_layout import ACCEPTED, ASKED, PENDING, REACHED, Walk
from heliograph.kernels.targeting_layout import ALWAYS, Int32s, Int64s
from heliograph.kernels.targeting_types import BOARD, EVENTS, GRAPH, INT32S, NEW_INT64S, NEW_MASK_ROWS, NEW_MASKS
from heliograph.kernels.truth import holds
from heliograph.kernels.types import NEW_INT32S, named

_ONE, _NONE = np.uint64(1), np.uint64(0)
WALK: Any = named(Walk, NEW_MASK_ROWS, NEW_MASKS, NEW_MASKS, NEW_MASKS, NEW_MASKS, NEW_INT32S, NEW_INT64S)
EVALUATED, HELD, TOUCHED, LOWEST = 0, 1, 2, 3  # `tally`: predicates evaluated, those that held; nodes asked; a cursor


@kernel((GRAPH, EVENTS, BOARD, INT32S, WALK, boolean, NEW_INT64S, NEW_INT64S))
def route(
    graph: Graph, events: Events, board: Board, starts: Int32s, walk: Walk, ends_only: Any, offsets: Int64s, tally: Int64s
) -> Any:
    """The nodes reached by each event, end to end; `offsets` gets where each event's begin.

    `starts` are the publishers, -1 for an event that is not routed. With `ends_only` nodes with outgoing edges are left
    out.
    """
    out = np.empty(1024, np.int32)
    size = 0
    for first in range(0, len(starts), LANES):
        last = min(first + LANES, len(starts))
        gather(events.cells, np.arange(first, last), board)
        _walk(graph, events, board, starts[first:last], walk, tally)
        total = _sort(graph, walk, ends_only, tally)
        if size + total > len(out):
            grown = np.empty(max(2 * len(out), size + total), np.int32)
            grown[:size] = out[:size]
            out = grown
        for lane in range(last - first):
            offsets[first + lane] = size
            walk.counts[LANES + lane] = size
            size += walk.counts[lane]
        _report(graph, walk, out)
        _clear(walk, tally)
    offsets[len(starts)] = size
    return out[:size]


@kernel()
def _walk(graph: Graph, events: Events, board: Board, starts: Int32s, walk: Walk, tally: Int64s) -> None:
    tally[TOUCHED] = 0
    for lane in range(len(starts)):
        if starts[lane] >= 0:
            walk.lanes[starts[lane], PENDING] |= _ONE << np.uint64(lane)
            put(walk.pending, walk.pending_summary, starts[lane])
    node = following(walk.pending, walk.pending_summary, 0)
    while node >= 0:
        drop(walk.pending, walk.pending_summary, node)
        lanes = walk.lanes[node, PENDING]
        walk.lanes[node, PENDING] = _NONE
        tally[LOWEST] = node + 1
        first, last, more = graph.nodes[node, of.OUT_BEGIN], graph.nodes[node, of.OUT_END], graph.nodes[node, of.OUT_MORE]
        while True:
            for edge in range(first, last):
                if graph.edges[edge, of.BORN] <= graph.version < graph.edges[edge, of.EDGE_DIED]:
                    _follow(graph, events, board, edge, lanes, walk, tally)
            if more < 0:
                break
            first, last, more = graph.blocks[more, of.BEGIN], graph.blocks[more, of.END], graph.blocks[more, of.MORE]
        node = following(walk.pending, walk.pending_summary, tally[LOWEST])


@kernel(inline=True)
def _follow(graph: Graph, events: Events, board: Board, edge: Any, lanes: Any, walk: Walk, tally: Int64s) -> None:
    """Takes lanes along an edge, those that its target and the edge accept."""
    target = graph.edges[edge, of.TARGET]
    come = lanes & ~walk.lanes[target, REACHED]
    unasked = come & ~walk.lanes[target, ASKED]
    if unasked != _NONE:
        if walk.lanes[target, ASKED] == _NONE:
            walk.touched[tally[TOUCHED]] = target
            tally[TOUCHED] += 1
        walk.lanes[target, ASKED] |= unasked
        walk.lanes[target, ACCEPTED] |= ask(events, board, expression_of(graph, target), unasked, tally)
    come &= walk.lanes[target, ACCEPTED]
    if come == _NONE:
        return
    come = ask(events, board, graph.edges[edge, of.EDGE_EXPRESSION], come, tally)
    if come != _NONE:
        walk.lanes[target, REACHED] |= come
        if graph.nodes[target, of.OUT_BEGIN] < graph.nodes[target, of.OUT_END] or graph.nodes[target, of.OUT_MORE] >= 0:
            walk.lanes[target, PENDING] |= come
            put(walk.pending, walk.pending_summary, target)
            tally[LOWEST] = min(tally[LOWEST], np.int64(target))


@kernel(inline=True)
def ask(events: Events, board: Board, expression: Any, lanes: Any, tally: Int64s) -> Any:
    """The lanes that an expression accepts, counted; what accepts everything is not asked."""
    if expression == ALWAYS:
        return lanes
    held = holds(events, board, expression, lanes)
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
def _sort(graph: Graph, walk: Walk, ends_only: Any, tally: Int64s) -> Any:
    """Puts the nodes reached into the order of reporting and counts each lane's; returns how many there are in all."""
    walk.counts[:LANES] = 0
    total = 0
    for number in range(tally[TOUCHED]):
        node = walk.touched[number]
        lanes = walk.lanes[node, REACHED]
        if lanes == _NONE or (ends_only and not is_end(graph, node)):
            continue
        record = record_of(graph, node)
        listed = graph.records[record, of.FLAGS] & np.int32(of.LISTED_NODE) != 0
        put(walk.places, walk.places_summary, graph.records[record, of.PLACE] + (0 if listed else graph.listed_count))
        total += count_bits(lanes)
        while lanes != _NONE:
            walk.counts[first_bit(lanes)] += 1
            lanes &= lanes - _ONE
    return total


@kernel()
def _report(graph: Graph, walk: Walk, out: Int32s) -> None:
    """Writes each lane's nodes from counts[LANES + lane] on."""
    place = following(walk.places, walk.places_summary, 0)
    while place >= 0:
        drop(walk.places, walk.places_summary, place)
        node = graph.listed[place] if place < graph.listed_count else graph.loose[place - graph.listed_count]
        lanes = walk.lanes[node, REACHED]
        while lanes != _NONE:
            lane = LANES + first_bit(lanes)
            out[walk.counts[lane]] = node
            walk.counts[lane] += 1
            lanes &= lanes - _ONE
        place = following(walk.places, walk.places_summary, place + 1)


@kernel()
def _clear(walk: Walk, tally: Int64s) -> None:
    for number in range(tally[TOUCHED]):
        node = walk.touched[number]
        walk.lanes[node, ASKED] = walk.lanes[node, ACCEPTED] = walk.lanes[node, REACHED] = _NONE
