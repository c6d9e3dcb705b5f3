"""Events through an exchange in kernels: up to 64 at a time, one breadth first, one in order of cost; and the
numbering of nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, int64

from heliograph.compiled.arrays import count_bits, drop, first_bit, following, put
from heliograph.compiled.compile import kernel
from heliograph.predicate.kernels import INT32S, INT64S, JOB, NEW_INT32S, NEW_INT64S, accepted, lay_out, numba_type
from heliograph.predicate.layout import ALWAYS, NEVER, Int32s, Int64s, Job
from heliograph.route import layout as at
from heliograph.route.layout import ExchangeGraph, Ranks, Trail, Walk

_GRAPH, _TRAIL = numba_type(ExchangeGraph), numba_type(Trail, True)
_ONE, _NONE = np.uint64(1), np.uint64(0)

# --- events through an exchange, up to 64 at a time: which nodes does each reach? -------------------------------------
#
# What it computes: for each lane the least set of nodes that holds every accepting target of an accepting edge from
# the lane's publisher or from a member of the set. Nodes that lanes have come to are taken in ascending order of
# their numbers, asked for all the new lanes at once, and left by their edges. Numbers follow the topological order of
# strongly connected components, so outside of a component every node is asked and left once for all lanes. A
# component is swept until nothing in it waits; an edge that leads further down, because of a live change, only takes
# the walk back. So the numbering makes it fast and is never needed for the answer.
#
# Results come in the order of reporting, event by event.

_FAR = np.int64(2**62)
_DENSE = 6  # results are written lane by lane where more than a sixth of them is there: about as fast at that share
EVALUATED, HELD, TOUCHED, LOWEST = 0, 1, 2, 3  # `tally`: predicates evaluated, those that held; nodes asked; a cursor


@kernel((_GRAPH, JOB, INT32S, INT64S, numba_type(Walk, True), boolean, NEW_INT64S, NEW_INT64S))
def route(
    graph: ExchangeGraph,
    job: Job,
    starts: Int32s,
    cuts: Int64s,
    walk: Walk,
    ends_only: Any,
    offsets: Int64s,
    tally: Int64s,
) -> Any:
    """The nodes reached by each event, end to end; `offsets` gets where each event's begin.

    Event e starts from node starts[e], or nowhere if that is -1; `cuts` are where blocks of at most 64 events begin.
    With `ends_only` nodes with outgoing edges are left out.
    """
    out = np.empty(1024, np.int32)
    size = 0
    for block in range(len(cuts) - 1):
        first, last = cuts[block], cuts[block + 1]
        lay_out(job.events.cells, np.arange(first, last), job.board)
        _walk(graph, job, starts[first:last], walk, tally)
        for node in starts[first:last]:
            if node >= 0:
                walk.lanes[node, at.STARTING] = _NONE
        found = _collect(graph, job, walk, ends_only, tally)
        total = _total(walk, found)
        if size + total >= len(out):
            likely = (size + total) * (len(cuts) - 1) // (block + 1)
            grown = np.empty(max(2 * len(out), size + total + 1, likely + likely // 8), np.int32)
            grown[:size] = out[:size]
            out = grown
        if total * _DENSE > found * (last - first):
            _report_dense(walk, found, out, offsets[first : last + 1], size)
        else:
            _report(walk, found, out, offsets[first : last + 1], size)
        size += total
    offsets[len(starts)] = size
    return out[:size]


@kernel()
def _walk(graph: ExchangeGraph, job: Job, starts: Int32s, walk: Walk, tally: Int64s) -> None:
    tally[TOUCHED] = 0
    for lane in range(len(starts)):
        if starts[lane] >= 0:
            walk.lanes[starts[lane], at.STARTING] |= _ONE << np.uint64(lane)
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
            end = max(node, np.int64(graph.nodes[node, at.COMPONENT_END]))
        drop(walk.pending, walk.pending_summary, node)
        starting = walk.lanes[node, at.STARTING]
        lanes = _enter(graph, job, node, walk, tally) & ~starting | starting & waiting
        waiting &= ~starting
        if lanes != _NONE:
            _leave_together(graph, job, node, lanes, walk, tally)
        node = following(walk.pending, walk.pending_summary, node + 1)


@kernel(inline=True)
def _enter(graph: ExchangeGraph, job: Job, node: Any, walk: Walk, tally: Int64s) -> Any:
    """The new lanes that a node accepts."""
    lanes = walk.lanes[node, at.COME] & ~walk.lanes[node, at.ASKED]
    if lanes != _NONE:
        walk.lanes[node, at.ASKED] |= lanes
        lanes = ask(job, expression_of(graph, node), lanes, tally)
        walk.lanes[node, at.REACHED] |= lanes
    return lanes


@kernel(inline=True)
def _leave_together(graph: ExchangeGraph, job: Job, node: Any, lanes: Any, walk: Walk, tally: Int64s) -> None:
    first, last, more = _span(graph, node)
    while True:
        for edge in range(first, last):
            if _is_there(graph, edge):
                _follow_together(graph, job, node, edge, lanes, walk, tally)
        if more < 0:
            return
        first, last, more = _block(graph, more)


@kernel(inline=True)
def _follow_together(
    graph: ExchangeGraph, job: Job, node: Any, edge: Any, lanes: Any, walk: Walk, tally: Int64s
) -> None:
    """Takes the lanes that an edge accepts to its target."""
    target = graph.edges[edge, at.TARGET]
    known = walk.lanes[target, at.COME]
    come = lanes & ~known
    if come == _NONE:
        return
    come = ask(job, graph.edges[edge, at.EDGE_EXPRESSION], come, tally)
    if come == _NONE:
        return
    if known == _NONE:
        walk.touched[tally[TOUCHED]] = target
        tally[TOUCHED] += 1
    walk.lanes[target, at.COME] = known | come
    if graph.nodes[target, at.OUT_BEGIN] < graph.nodes[target, at.OUT_END] or graph.nodes[target, at.OUT_MORE] >= 0:
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
def _span(graph: ExchangeGraph, node: Any) -> Any:
    """Where a node's edges lie, and its first block of further ones, or -1."""
    return graph.nodes[node, at.OUT_BEGIN], graph.nodes[node, at.OUT_END], graph.nodes[node, at.OUT_MORE]


@kernel(inline=True)
def _block(graph: ExchangeGraph, block: Any) -> Any:
    """The same of a block."""
    return graph.blocks[block, at.BEGIN], graph.blocks[block, at.END], graph.blocks[block, at.MORE]


@kernel(inline=True)
def _is_there(graph: ExchangeGraph, edge: Any) -> Any:
    """Whether an edge is there in this version."""
    return graph.edges[edge, at.BORN] <= graph.version < graph.edges[edge, at.EDGE_DIED]


@kernel(inline=True)
def record_of(graph: ExchangeGraph, node: Any) -> Any:
    """The record of a node in this version."""
    record = graph.nodes[node, at.RECORD]
    while graph.records[record, at.DIED] <= graph.version:
        record = graph.records[record, at.NEWER]
    return record


@kernel(inline=True)
def expression_of(graph: ExchangeGraph, node: Any) -> Any:
    return graph.records[record_of(graph, node), at.EXPRESSION]


@kernel()
def is_end(graph: ExchangeGraph, node: Any) -> Any:
    """Whether no edge leaves the node."""
    first, last, more = _span(graph, node)
    while True:
        for edge in range(first, last):
            if _is_there(graph, edge):
                return False
        if more < 0:
            return True
        first, last, more = _block(graph, more)


@kernel()
def _collect(graph: ExchangeGraph, job: Job, walk: Walk, ends_only: Any, tally: Int64s) -> Any:
    """Lists the nodes reached in the order of reporting, each with its lanes; returns how many they are.

    Nodes without edges, which nothing waited for, are asked only now.
    """
    for number in range(tally[TOUCHED]):
        node = walk.touched[number]
        _enter(graph, job, node, walk, tally)
        lanes = walk.lanes[node, at.REACHED]
        walk.lanes[node, at.COME] = walk.lanes[node, at.ASKED] = walk.lanes[node, at.REACHED] = _NONE
        if lanes != _NONE and not (ends_only and not is_end(graph, node)):
            record = record_of(graph, node)
            listed = graph.records[record, at.FLAGS] & np.int32(at.LISTED_NODE) != 0
            place = np.int64(graph.records[record, at.PLACE]) + (0 if listed else graph.listed_count)
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


# --- one event, breadth first: each node reached by as few edges as possible, in order of discovery -------------------
#
# The walk can be stopped after any edge and taken up again, so that the first results are there before the others.


@kernel((_GRAPH, JOB, _TRAIL, int64))
def advance(graph: ExchangeGraph, job: Job, trail: Trail, wanted: Any) -> Any:
    """Walks on until the queue holds as many as wanted; returns whether there may be more."""
    head = trail.head
    while head[at.TAIL] < wanted:
        if head[at.EDGE] < head[at.EDGE_END]:
            edge = head[at.EDGE]
            head[at.EDGE] += 1
            if _is_there(graph, edge):
                _follow(graph, job, trail, edge)
        elif head[at.BLOCK] >= 0:
            head[at.EDGE], head[at.EDGE_END], head[at.BLOCK] = _block(graph, head[at.BLOCK])
        elif head[at.HEAD] == head[at.TAIL] or trail.hops[head[at.HEAD]] >= head[at.MOST_HOPS]:
            return False
        else:
            node = trail.queue[head[at.HEAD]]
            head[at.HEAD] += 1
            if head[at.HEAD] == 1 or node != trail.queue[0]:  # the start is left once, also where it is reached again
                head[at.EDGE], head[at.EDGE_END], head[at.BLOCK] = _span(graph, node)
    return True


@kernel(inline=True)
def _follow(graph: ExchangeGraph, job: Job, trail: Trail, edge: Any) -> None:
    """Enters the edge's target, if both accept the event."""
    head = trail.head
    target = graph.edges[edge, at.TARGET]
    if is_willing(graph, job, trail, target) and ask_alone(job, trail, graph.edges[edge, at.EDGE_EXPRESSION]):
        trail.seen[target] = head[at.MARK] + at.ENTERED
        tail = head[at.TAIL]
        trail.queue[tail], trail.before[tail], trail.by_edge[tail] = target, head[at.HEAD] - 1, edge
        trail.hops[tail] = trail.hops[head[at.HEAD] - 1] + 1
        head[at.TAIL] = tail + 1


@kernel(inline=True)
def is_willing(graph: ExchangeGraph, job: Job, trail: Trail, node: Any) -> Any:
    """Whether a node that was not entered yet accepts the event; it is asked once."""
    mark = trail.head[at.MARK]
    if trail.seen[node] < mark:
        held = ask_alone(job, trail, expression_of(graph, node))
        trail.seen[node] = mark + (at.WILLING if held else at.UNWILLING)
    return trail.seen[node] == mark + at.WILLING


@kernel(inline=True)
def ask_alone(job: Job, trail: Trail, expression: Any) -> Any:
    """Whether an expression accepts the one event on the board, counted; see `ask`."""
    if expression <= NEVER:
        return expression == ALWAYS
    held = accepted(job, expression, _ONE) != _NONE
    trail.head[at.EVALUATED] += 1
    trail.head[at.HELD] += held
    return held


# --- one event through an exchange in order of cost: each node reached by a cheapest path, the cheapest first ---------
#
# Paths are followed in order of cost, then of the number of their edges. A node's first path is its cheapest. Of its
# later ones only one with fewer edges than all before it can matter, and only because it may go on further where
# their number is limited; nor can a path that came back to the start. So the K cheapest results are known when K
# nodes are settled, and the paths that tie with the last.


@kernel((_GRAPH, JOB, _TRAIL, numba_type(Ranks, True), int64, boolean))
def rank(graph: ExchangeGraph, job: Job, trail: Trail, ranks: Ranks, limit: Any, ends_only: Any) -> Any:
    """Fills `found` with the labels of the results in order of cost; false where there is no room for more labels.

    The start is trail.queue[0]. With a limit (-1: none) the results are at least those of the first `limit` places,
    ties included, and one more where there is one.
    """
    sizes = ranks.sizes
    sizes[at.LABELS] = sizes[at.FOUND] = sizes[at.HEAPED] = 0
    _push(ranks, trail.queue[0], -1, -1, 0, 0.0)
    while sizes[at.HEAPED] > 0:
        label = _pop(ranks)
        if limit >= 0 and _is_enough(ranks, limit, ranks.costs[label]):
            return True
        if label > 0 and not _is_next(graph, ranks, trail, label, ends_only):
            continue
        if ranks.labels[label, at.HOPS] < trail.head[at.MOST_HOPS] and not _leave(graph, job, trail, ranks, label):
            return False
    return True


@kernel()
def _is_enough(ranks: Ranks, limit: Any, cost: Any) -> Any:
    """Whether no path of this cost or a higher one can be among the first `limit`, and one too many is known."""
    found = ranks.sizes[at.FOUND]
    return found > limit and (limit == 0 or cost > ranks.costs[ranks.found[limit - 1]])


@kernel()
def _is_next(graph: ExchangeGraph, ranks: Ranks, trail: Trail, label: Any, ends_only: Any) -> Any:
    """Whether a path is to be gone on with; a node's first one is a result."""
    node, hops = ranks.labels[label, at.NODE], ranks.labels[label, at.HOPS]
    entered = trail.head[at.MARK] + at.ENTERED
    if trail.seen[node] == entered:
        if trail.head[at.MOST_HOPS] == at.NO_LIMIT or hops >= trail.hops[node]:
            return False
    else:
        trail.seen[node] = entered
        if not (ends_only and not is_end(graph, node)):
            ranks.found[ranks.sizes[at.FOUND]] = label
            ranks.sizes[at.FOUND] += 1
    trail.hops[node] = hops
    return node != trail.queue[0]


@kernel()
def _leave(graph: ExchangeGraph, job: Job, trail: Trail, ranks: Ranks, label: Any) -> Any:
    """Makes the paths that are one edge longer; false where there is no room for them."""
    node = ranks.labels[label, at.NODE]
    first, last, more = _span(graph, node)
    while True:
        if ranks.sizes[at.LABELS] + last - first > len(ranks.costs):
            return False
        for edge in range(first, last):
            if _is_there(graph, edge):
                _lengthen(graph, job, trail, ranks, label, edge)
        if more < 0:
            return True
        first, last, more = _block(graph, more)


@kernel(inline=True)
def _lengthen(graph: ExchangeGraph, job: Job, trail: Trail, ranks: Ranks, label: Any, edge: Any) -> None:
    target = graph.edges[edge, at.TARGET]
    hops = ranks.labels[label, at.HOPS] + 1
    if trail.seen[target] == trail.head[at.MARK] + at.ENTERED:
        if trail.head[at.MOST_HOPS] == at.NO_LIMIT or hops >= trail.hops[target]:
            return
    elif not is_willing(graph, job, trail, target):
        return
    if _passes(graph, job, trail, ranks, edge):
        cost = ranks.costs[label] + graph.edge_costs[edge] + graph.record_costs[record_of(graph, target)]
        _push(ranks, target, label, edge, hops, cost)


@kernel(inline=True)
def _passes(graph: ExchangeGraph, job: Job, trail: Trail, ranks: Ranks, edge: Any) -> Any:
    """Whether an edge accepts the event; where a node may be left several times, that is remembered."""
    if len(ranks.edges) == 0:
        return ask_alone(job, trail, graph.edges[edge, at.EDGE_EXPRESSION])
    if ranks.edges[edge] == 0:
        held = ask_alone(job, trail, graph.edges[edge, at.EDGE_EXPRESSION])
        ranks.edges[edge] = at.WILLING if held else at.UNWILLING
    return ranks.edges[edge] == at.WILLING


@kernel()
def _push(ranks: Ranks, node: Any, before: Any, edge: Any, hops: Any, cost: Any) -> None:
    label = ranks.sizes[at.LABELS]
    ranks.labels[label, at.NODE], ranks.labels[label, at.BEFORE] = node, before
    ranks.labels[label, at.BY_EDGE], ranks.labels[label, at.HOPS] = edge, hops
    ranks.costs[label] = cost
    ranks.sizes[at.LABELS] = label + 1
    place = ranks.sizes[at.HEAPED]
    ranks.sizes[at.HEAPED] = place + 1
    while place > 0 and _precedes(ranks, label, ranks.heap[(place - 1) >> 1]):
        ranks.heap[place] = ranks.heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    ranks.heap[place] = label


@kernel()
def _pop(ranks: Ranks) -> Any:
    first = ranks.heap[0]
    size = ranks.sizes[at.HEAPED] - 1
    ranks.sizes[at.HEAPED] = size
    moved = ranks.heap[size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _precedes(ranks, ranks.heap[child + 1], ranks.heap[child]):
            child += 1
        if not _precedes(ranks, ranks.heap[child], moved):
            break
        ranks.heap[place] = ranks.heap[child]
        place = child
    ranks.heap[place] = moved
    return first


@kernel(inline=True)
def _precedes(ranks: Ranks, one: Any, other: Any) -> Any:
    """By cost, then by edges, then by age."""
    if ranks.costs[one] != ranks.costs[other]:
        return ranks.costs[one] < ranks.costs[other]
    if ranks.labels[one, at.HOPS] != ranks.labels[other, at.HOPS]:
        return ranks.labels[one, at.HOPS] < ranks.labels[other, at.HOPS]
    return one < other


# --- strongly connected components, and numbers for nodes that follow their topological order -------------------------
#
# What it computes: an order of the nodes in which every edge leads upwards, except inside a component, whose nodes
# are consecutive. Tarjan's algorithm finishes components in reverse topological order, those that were met together
# next to each other, so numbers given from the last one down also keep what is reached together close in memory.
# Within a component nodes come in the order of a breadth-first walk from the one that was met first ([B] 3.2.2).
#
# `route.numbering` holds the plain twin.


@kernel((INT64S, INT32S, INT32S, NEW_INT32S, NEW_INT32S))
def number_nodes(offsets: Int64s, targets: Int32s, roots: Int32s, components: Int32s, order: Int32s) -> None:
    """`components` gets the number of each node's component, in topological order; `order` the nodes in their order.

    `roots` are all nodes in the order in which walks begin.
    """
    count = len(offsets) - 1
    finished = np.empty(count, np.int32)  # the nodes, component after component as they are finished
    total = _components(offsets, targets, roots, components, finished)
    for node in range(count):
        components[node] = total - 1 - components[node]
    _lay_out(offsets, targets, components, finished, order)


@kernel(allocates=True)
def _components(offsets: Int64s, targets: Int32s, roots: Int32s, components: Int32s, finished: Int32s) -> int:
    """Components in the order of finishing; each one's nodes lie in `finished`, the one met first as its last."""
    count = len(offsets) - 1
    index, low = np.full(count, -1, np.int32), np.empty(count, np.int32)
    cursor = np.empty(count, np.int64)
    path, open_nodes = np.empty(count, np.int32), np.empty(count, np.int32)
    components[:] = -1
    depth, opened, met, done, total = 0, 0, 0, 0, 0
    for root in roots:
        if index[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            node = path[depth - 1]
            if index[node] < 0:
                index[node] = low[node] = met
                met += 1
                cursor[node] = offsets[node]
                open_nodes[opened] = node
                opened += 1
            advanced = False
            while cursor[node] < offsets[node + 1]:
                target = targets[cursor[node]]
                if index[target] < 0:
                    path[depth] = target
                    depth += 1
                    advanced = True
                    break
                cursor[node] += 1
                if components[target] < 0:
                    low[node] = min(low[node], low[target])
            if advanced:
                continue
            depth -= 1
            if low[node] == index[node]:
                member = np.int32(-1)
                while member != node:
                    opened -= 1
                    member = open_nodes[opened]
                    components[member] = total
                    finished[done] = member
                    done += 1
                total += 1
    return total


@kernel(allocates=True)
def _lay_out(offsets: Int64s, targets: Int32s, components: Int32s, finished: Int32s, order: Int32s) -> None:
    """From the last component finished to the first, each from its first node by breadth."""
    seen = np.zeros(len(finished), np.uint8)
    tail = 0
    for place in range(len(finished) - 1, -1, -1):
        start = finished[place]
        if seen[start]:
            continue
        seen[start] = 1
        head = tail
        order[tail] = start
        tail += 1
        while head < tail:
            node = order[head]
            head += 1
            for edge in range(offsets[node], offsets[node + 1]):
                target = targets[edge]
                if components[target] == components[node] and not seen[target]:
                    seen[target] = 1
                    order[tail] = target
                    tail += 1
