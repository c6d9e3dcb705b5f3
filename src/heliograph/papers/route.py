"""The route algorithms of [B], graph constraints in content-based publish/subscribe, section 3, as printed.

What they compute, all the same: the valid nodes that are reachable from the publisher through valid nodes. An index of
the nodes' expressions gives valid nodes in the order of their ids; a graph gives children; the evaluator intersects.

| name | in [B] | how |
| --- | --- | --- |
| `dag` | figure 3 | ids in topological order: when the index returns a node, it is known whether it is reachable |
| `dag-skip` | figure 5 | and the index goes on with the next reachable id |
| `general` | figure 6 | any graph: valid nodes are kept until something reaches them (updatePath) |
| `scc-skip` | figure 8 | ids component.node: the index goes on with the next reachable component |
| `index-bfs` | 3.4 | all valid nodes first, then breadth first among them |
| `bfs` | 3.4 | breadth first, match called for each reachable node |

Mends, where the figures as printed do not give the answer that the text promises:

1. `while (n = getNextEntity(…))` ends at the node with id 0. Here -1 ends it.
2. min and minMoreThan of a set without such a member (figure 5 lines 2 and 8, figure 8 lines 6 and 16) are undefined:
   then nothing more can be reached, and the evaluation ends. The paper's lemma 2 says "at least as big as n" where line
   8 needs "greater than n"; line 8 is right, since n has been returned.
3. updatePath recurses, as deep as the longest path. Here it has a stack; the set it makes is the same.
4. updatePath leaves a child that is valid already out of the reachable set (figure 6 line 6, figure 8 line 7), although
   the table of figure 7 has node 1 there. Here it is added; nothing else changes.
5. A start that a path leads back to is a node like any other: it is returned if it is valid. Its edges, though, were
   examined at the beginning (line 1) and are not again; printed, theorem 3's "at most once" fails for them. The bounds
   of section 3.4 leave out the start's own edges: |N_V| + out(N_R ∩ N_V) + out(s).
6. Figure 3 begins after the start: right, since in a topological order nothing before it is reachable. An exchange with
   a cycle has no such order, and a self-loop is one: figures 3 and 5 refuse it (HG-066).
7. Edge targeting: [B] splits the edge and gives the new node the targeting. Here an edge is tested where it is
   examined, once at most, and not if its target is known to be reachable.
8. Nodes that no edge leads to are not in the index, as in [B] table 2.
9. After an update that merges components [B] goes on without skipping. Here the structures belong to one version of the
   exchange, and are built again for the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import int64

from heliograph.compiled.arrays import first_bit, following, put
from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import fixed
from heliograph.errors import UsageError
from heliograph.predicate import layout as code
from heliograph.predicate.compile import Compiled
from heliograph.predicate.kernels import (
    FLOATS,
    INT32S,
    INT64S,
    JOB,
    NEW_BYTES,
    NEW_FLOATS,
    NEW_INT32S,
    PROGRAMS,
    accepted,
    lay_out,
    numba_type,
)
from heliograph.predicate.layout import (
    ALWAYS,
    AND,
    LANES,
    LISTED,
    NEVER,
    NUMBER,
    ODD,
    OR,
    STRING,
    Bytes,
    Cells,
    Floats,
    Int32s,
    Int64s,
    Job,
    Masks,
    Programs,
)
from heliograph.route import layout
from heliograph.route.exchange import Version, strong_components, visible
from heliograph.route.layout import ExchangeGraph

Int64Rows = np.ndarray[tuple[int, int], np.dtype[np.int64]]
_ONE, _NONE, _63, _ALL = np.uint64(1), np.uint64(0), np.uint64(63), ~np.uint64(0)

# --- The shapes that the seed's route algorithms work on, shared by kernels and their callers. Does not import Numba
#
# Nodes have the seed's ids: components in topological order, the nodes of one component consecutive ([B] 3.2.1).

DAG, DAG_SKIP, GENERAL, SCC_SKIP, INDEX_BFS, BFS = 0, 1, 2, 3, 4, 5

# Columns of the counters. SKIPPED are the ids that a skip jumped over; TESTED and EDGE_TESTED the predicates of nodes
# and edges that were evaluated, HELD those of both that were true; EDGES the edges examined; RECURSIVE the calls of
# updatePath by itself; FIRST the calls of the index before the first result, or -1.
CALLS, RETURNED, SKIPPED, TESTED, EDGE_TESTED, HELD, EDGES, UPDATES, RECURSIVE, FIRST = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
COUNTERS = 10


class SeedGraph(NamedTuple):
    """Node n has the edges from offsets[n] to offsets[n + 1], component c the ids from begins[c] to begins[c + 1]."""

    offsets: Int64s
    targets: Int32s
    edge_expressions: Int32s
    expressions: Int32s
    components: Int32s
    begins: Int32s


class Lists(NamedTuple):
    """Lists of ids end to end: list k holds those from offsets[k] to offsets[k + 1], in ascending order."""

    offsets: Int64s
    ids: Int32s


class Set(NamedTuple):
    """A set of ids as a bitmap of two levels."""

    words: Masks
    summary: Masks


class SeedIndex(NamedTuple):
    """An inverted index of the nodes' expressions.

    Lists by word, by attribute that has to be there, and by stretch of numbers: attribute a cuts the numbers at
    bounds[cuts[a]] … bounds[cuts[a + 1] - 1], and the stretches between are the leaves of a tree of 2 × sizes[a] lists
    that begin with trees[a]. `always` are the candidates of every event.
    """

    always: Set
    words: Lists
    present: Lists
    cuts: Int64s
    bounds: Floats
    trees: Int64s
    sizes: Int64s
    stretches: Lists


class Sets(NamedTuple):
    """The sets of one evaluation, empty between two, room for a stack or a queue of ids, and the event's lane.

    64 events share a board: an event is evaluated by itself, but what is learnt from a board serves all of them.
    """

    reachable: Set
    valid: Set
    result: Set
    marked: Set  # the candidates that the index has found for the event
    stack: Int32s
    lane: Masks


class Task(NamedTuple):
    """What the algorithms see of an exchange and of the events."""

    graph: SeedGraph
    lookup: SeedIndex
    job: Job
    sets: Sets


class Routed(NamedTuple):
    """Event e reached nodes[offsets[e] : offsets[e + 1]], ascending, and has a row of counters: CALLS and the rest."""

    offsets: Int64s
    nodes: Int32s
    counters: Int64Rows

    def of(self, event: int) -> Int32s:
        """The nodes that one event reached."""
        return self.nodes[self.offsets[event] : self.offsets[event + 1]]

    @property
    def tested(self) -> int:
        """How many predicates of nodes and edges were evaluated."""
        return int(self.counters[:, [TESTED, EDGE_TESTED]].sum())

    @property
    def held(self) -> int:
        """How many of them accepted their event."""
        return int(self.counters[:, HELD].sum())


def make_sets(nodes: int) -> Sets:
    """Empty sets of ids below `nodes`."""
    reachable, valid, result, marked = (_make_set(nodes) for _ in range(4))
    return Sets(reachable, valid, result, marked, np.empty(nodes + 1, np.int32), np.zeros(1, np.uint64))


def _make_set(nodes: int) -> Set:
    words = nodes // 64 + 1
    return Set(np.zeros(words, np.uint64), np.zeros(words // 64 + 1, np.uint64))


# --- The sets of the seed's figures in `compiled.arrays`: add, contains, minMoreThan, nodes()
#
# The law: a bit of the summary is set if and only if its word is not empty, so that emptying a set and listing it
# cost its summary and the words in use.


@kernel(inline=True)
def add(members: Set, id: Any) -> None:
    put(members.words, members.summary, id)


@kernel(inline=True)
def has(members: Set, id: Any) -> Any:
    return members.words[id >> 6] & (_ONE << (np.uint64(id) & _63)) != _NONE


@kernel(inline=True)
def least_from(members: Set, id: Any) -> Any:
    """The least member that is not below an id, or -1: min, and minMoreThan of the id before."""
    return following(members.words, members.summary, id)


@kernel()
def empty(members: Set) -> None:
    for upper in range(len(members.summary)):
        used = members.summary[upper]
        members.summary[upper] = _NONE
        while used != _NONE:
            members.words[upper << 6 | first_bit(used)] = _NONE
            used &= used - _ONE


@kernel()
def list_members(members: Set, out: Any) -> Any:
    """Writes the members in ascending order, as far as there is room; returns how many there are."""
    count = 0
    for upper in range(len(members.summary)):
        used = members.summary[upper]
        while used != _NONE:
            place = upper << 6 | first_bit(used)
            used &= used - _ONE
            word = members.words[place]
            while word != _NONE:
                if count < len(out):
                    out[count] = place << 6 | first_bit(word)
                count += 1
                word &= word - _ONE
    return count


# --- the seed's index: getNextEntity(Q, n) over Boolean expressions ([B] section 2, after its [12] and [22]) ----------
#
# Each expression stands in the lists of a *necessary set* of its tests: an expression that is true has one of them
# true. An event marks the ids in the lists that its cells lead to. The law: every valid node is marked, or is a
# candidate of every event. `next_entity` finds the next candidate by words and verifies it; what is skipped is never
# verified.

_KIND = np.uint8(0xFF ^ LISTED)


@kernel()
def mark(index: SeedIndex, cells: Cells, event: Any, marked: Set) -> None:
    """Marks the ids in the lists of one event's cells."""
    known = len(index.sizes)
    last = -1
    for cell in range(cells.offsets[event], cells.offsets[event + 1]):
        attribute = cells.attribute[cell]
        if attribute >= known:
            continue
        if attribute != last:
            last = attribute
            _mark_list(index.present, attribute, marked)
        kind = cells.kind[cell] & _KIND
        if kind == STRING:
            if 0 <= cells.word[cell] < len(index.words.offsets) - 1:
                _mark_list(index.words, cells.word[cell], marked)
        elif kind in (NUMBER, ODD):
            _mark_stretch(index, attribute, cells.number[cell], marked)


@kernel(inline=True)
def _mark_list(lists: Lists, number: Any, marked: Set) -> None:
    for place in range(lists.offsets[number], lists.offsets[number + 1]):
        add(marked, lists.ids[place])


@kernel()
def _mark_stretch(index: SeedIndex, attribute: Any, number: Any, marked: Set) -> None:
    """The ranges that a number lies in. An ODD integer is a little above its number: no range that holds it but not
    the number begins there, since bounds are floats."""
    size = index.sizes[attribute]
    if size == 0:
        return
    cuts = index.bounds[index.cuts[attribute] : index.cuts[attribute + 1]]
    leaf = size + np.searchsorted(cuts, number, side="right")
    while leaf >= 1:
        _mark_list(index.stretches, index.trees[attribute] + leaf, marked)
        leaf >>= 1


@kernel(inline=True)
def next_entity(task: Task, least: Any, counts: Int64s) -> Any:
    """getNextEntity(Q, n): the next valid node with an id not below n, or -1 (printed: 0, which is a node's id too)."""
    counts[CALLS] += 1
    id = _next_candidate(task.lookup.always, task.sets.marked, np.int64(least))
    while id >= 0:
        if is_valid(task, id, counts):
            counts[RETURNED] += 1
            return id
        id = _next_candidate(task.lookup.always, task.sets.marked, id + 1)
    return id


@kernel(inline=True)
def is_valid(task: Task, id: Any, counts: Int64s) -> Any:
    """match(Q, Ln)."""
    return _accepts(task, task.graph.expressions[id], TESTED, counts)


@kernel(inline=True)
def _accepts(task: Task, expression: Any, counter: Any, counts: Int64s) -> Any:
    """Whether an expression of a node or an edge accepts the event."""
    if expression == ALWAYS:
        return True
    counts[counter] += 1
    if accepted(task.job, expression, task.sets.lane[0]) == _NONE:
        return False
    counts[HELD] += 1
    return True


@kernel(inline=True)
def _next_candidate(always: Set, marked: Set, id: Any) -> Any:
    """The least id that is not below and in one of the sets, or -1."""
    place = id >> 6
    if place >= len(always.words):
        return np.int64(-1)
    word = (always.words[place] | marked.words[place]) & (_ALL << (np.uint64(id) & _63))
    if word == _NONE:
        place += 1
        upper, kept = place >> 6, _ALL << (np.uint64(place) & _63)
        while upper < len(always.summary) and (always.summary[upper] | marked.summary[upper]) & kept == _NONE:
            upper, kept = upper + 1, _ALL
        if upper >= len(always.summary):
            return np.int64(-1)
        place = upper << 6 | first_bit((always.summary[upper] | marked.summary[upper]) & kept)
        word = always.words[place] | marked.words[place]
    return place << 6 | first_bit(word)


# --- under which tests each expression is listed in the seed's index, and where ranges are listed ---------------------
#
# The law of a necessary set: an expression that is true has one of its chosen tests true. An AND is listed under the
# tests of its cheapest member, an OR under those of all members: no disjunctive normal form is made, nothing
# explodes.

_OP = np.int32(0x7F)


@kernel((PROGRAMS, FLOATS, NEW_FLOATS, NEW_BYTES, NEW_FLOATS))
def choose(programs: Programs, weights: Floats, costs: Floats, chosen: Bytes, totals: Floats) -> None:
    """chosen[i] says whether instruction i, whose test has weights[i], is in its expression's necessary set.

    costs[i] becomes what listing under instruction i costs, from the last to the first; then each group hands its
    choice down. totals[e] is the cost of expression e: infinite where some test of the set cannot be listed.
    """
    starts, code = programs.starts, programs.code
    for place in range(len(weights) - 1, -1, -1):
        op, size = code[2 * place] & _OP, code[2 * place + 1] >> 1
        costs[place] = _cost(code, costs, op, place + 1, place + 1 + size) if op <= OR else weights[place]
    for expression in range(len(starts) - 1):
        begin, end = starts[expression] >> 1, starts[expression + 1] >> 1
        totals[expression] = _cost(code, costs, AND, begin, end)
        _hand_down(code, costs, AND, begin, end, chosen)
        for place in range(begin, end):
            op, size = code[2 * place] & _OP, code[2 * place + 1] >> 1
            if chosen[place] and op <= OR:
                chosen[place] = 0
                _hand_down(code, costs, op, place + 1, place + 1 + size, chosen)


@kernel()
def _member_size(code: Int32s, place: Any) -> Any:
    """How many instructions a member has, its own members included."""
    return 1 + (code[2 * place + 1] >> 1) if code[2 * place] & _OP <= OR else 1


@kernel()
def _cost(code: Int32s, costs: Floats, op: Any, place: Any, end: Any) -> Any:
    """Of the members from `place` to `end`: all of an OR's, the least of an AND's."""
    total, least = 0.0, np.inf
    while place < end:
        total += costs[place]
        least = min(least, costs[place])
        place += _member_size(code, place)
    return total if op == OR else least


@kernel()
def _hand_down(code: Int32s, costs: Floats, op: Any, place: Any, end: Any, chosen: Bytes) -> None:
    best = place
    while place < end:
        if op == OR:
            chosen[place] = 1
        elif costs[place] < costs[best]:
            best = place
        place += _member_size(code, place)
    if op == AND and best < end:
        chosen[best] = 1


@kernel((INT64S, INT64S, INT64S, NEW_INT32S, NEW_INT32S))
def cover(first: Int64s, last: Int64s, size: Int64s, nodes: Int32s, ranges: Int32s) -> Any:
    """The nodes of a tree over `size` leaves, numbered as a heap, that cover the leaves from `first` to `last`.

    Writes a node and its range for each, as far as there is room; returns how many there are.
    """
    count = 0
    for entry in range(len(first)):
        left, right = size[entry] + first[entry], size[entry] + last[entry] + 1
        while left < right:
            for node, used in ((left, left & 1), (right - 1, right & 1)):
                if used:
                    if count < len(nodes):
                        nodes[count], ranges[count] = node, entry
                    count += 1
            left, right = (left + 1) >> 1, right >> 1
    return count


# --- the seed's route algorithms ([B] figures 3, 5, 6 and 8, section 3.4), one event at a time ------------------------
#
# What they compute: the valid nodes that are reachable from the start through valid nodes, by edges that accept the
# event. The code keeps the figures' own names.

_TASK = numba_type(Task, job=JOB, sets=numba_type(Sets, True))


@kernel((_TASK, int64, INT64S, INT32S, numba_type(Routed, True)))
def route_events(task: Task, algorithm: int, events: Int64s, starts: Int32s, out: Routed) -> Any:
    """Routes events, each from the start beside it (-1: nowhere), while there is room; returns how many were done."""
    filled = 0
    for place in range(len(events)):
        counts = out.counters[place]
        counts[:] = 0
        counts[FIRST] = -1
        if place % LANES == 0:
            lay_out(task.job.events.cells, events[place : place + LANES], task.job.board)
        task.sets.lane[0] = _ONE << np.uint64(place % LANES)
        if starts[place] >= 0:
            if algorithm != BFS:
                mark(task.lookup, task.job.events.cells, events[place], task.sets.marked)
            _evaluate(task, algorithm, np.int64(starts[place]), counts)
            filled += list_members(task.sets.result, out.nodes[filled:])
            empty(task.sets.reachable)
            empty(task.sets.valid)
            empty(task.sets.result)
            empty(task.sets.marked)
        if filled > len(out.nodes):
            return place
        out.offsets[place + 1] = filled
    return len(events)


@kernel(inline=True)
def _evaluate(task: Task, algorithm: Any, start: Any, counts: Int64s) -> None:
    if algorithm in (DAG, DAG_SKIP):
        _dag(task, start, algorithm == DAG_SKIP, counts)
    elif algorithm == GENERAL:
        _general(task, start, counts)
    elif algorithm == SCC_SKIP:
        _scc_skip(task, start, counts)
    else:
        if algorithm == INDEX_BFS:
            _take_valid(task, counts)
        _search(task, start, algorithm == INDEX_BFS, counts)


@kernel()
def _dag(task: Task, start: Any, skipping: Any, counts: Int64s) -> None:
    """Figure 3; with skipping, figure 5."""
    nodes = len(task.graph.expressions)
    _reach_children(task, start, counts)
    skip = start + 1
    if skipping:
        skip = _jump(nodes, skip, least_from(task.sets.reachable, skip), counts)
    while skip >= 0:
        node = next_entity(task, skip, counts)
        if node < 0:
            return
        if has(task.sets.reachable, node):
            _emit(task.sets.result, node, counts)
            _reach_children(task, node, counts)
        skip = node + 1
        if skipping:
            skip = _jump(nodes, skip, least_from(task.sets.reachable, skip), counts)


@kernel()
def _general(task: Task, start: Any, counts: Int64s) -> None:
    """Figure 6."""
    _reach_children(task, start, counts)
    node = next_entity(task, np.int64(0), counts)
    while node >= 0:
        add(task.sets.valid, node)
        if has(task.sets.reachable, node):
            _update_path(task, node, start, counts)
        node = next_entity(task, node + 1, counts)


@kernel()
def _scc_skip(task: Task, start: Any, counts: Int64s) -> None:
    """Figure 8. reachableSCCs is read off the reachable set: a component is in it if one of its ids is there."""
    graph, reachable = task.graph, task.sets.reachable
    nodes = len(graph.expressions)
    _reach_children(task, start, counts)
    skip = _jump(nodes, np.int64(0), _first_beside(graph, least_from(reachable, np.int64(0))), counts)
    while skip >= 0:
        node = next_entity(task, skip, counts)
        if node < 0:
            return
        component = graph.components[node]
        least = least_from(reachable, graph.begins[component])
        skip = node + 1
        if 0 <= least < graph.begins[component + 1]:
            add(task.sets.valid, node)
            if has(reachable, node):
                _update_path(task, node, start, counts)
        else:
            skip = _jump(nodes, skip, _first_beside(graph, least), counts)


@kernel(inline=True)
def _first_beside(graph: SeedGraph, node: Any) -> Any:
    """The first id of a node's component: where figure 8 has the component's number for an id."""
    return node if node < 0 else np.int64(graph.begins[graph.components[node]])


@kernel(inline=True)
def _update_path(task: Task, node: Any, start: Any, counts: Int64s) -> None:
    """updatePath, with a stack of its own. The start's edges were examined before all others, and are not again."""
    graph, sets = task.graph, task.sets
    _emit(sets.result, node, counts)
    counts[UPDATES] += 1
    sets.stack[0] = node
    top = 1
    while top > 0:
        top -= 1
        node = np.int64(sets.stack[top])
        if node == start:
            continue
        counts[EDGES] += graph.offsets[node + 1] - graph.offsets[node]
        for edge in range(graph.offsets[node], graph.offsets[node + 1]):
            child = graph.targets[edge]
            if _reach(task, edge, child, counts) and has(sets.valid, child):
                _emit(sets.result, child, counts)
                counts[UPDATES] += 1
                counts[RECURSIVE] += 1
                sets.stack[top] = child
                top += 1


@kernel()
def _take_valid(task: Task, counts: Int64s) -> None:
    """The first half of the index baseline: all valid nodes."""
    node = next_entity(task, np.int64(0), counts)
    while node >= 0:
        add(task.sets.valid, node)
        node = next_entity(task, node + 1, counts)


@kernel()
def _search(task: Task, start: Any, known: Any, counts: Int64s) -> None:
    """Breadth first. Where validity is not known, match is called once for each reachable node."""
    graph, sets = task.graph, task.sets
    sets.stack[0] = start
    begin, end = 0, 1
    while begin < end:
        node = sets.stack[begin]
        begin += 1
        counts[EDGES] += graph.offsets[node + 1] - graph.offsets[node]
        for edge in range(graph.offsets[node], graph.offsets[node + 1]):
            child = np.int64(graph.targets[edge])
            if not _reach(task, edge, child, counts):
                continue
            if has(sets.valid, child) if known else is_valid(task, child, counts):
                _emit(sets.result, child, counts)
                if child != start:
                    sets.stack[end] = child
                    end += 1


@kernel(inline=True)
def _reach_children(task: Task, node: Any, counts: Int64s) -> None:
    graph = task.graph
    counts[EDGES] += graph.offsets[node + 1] - graph.offsets[node]
    for edge in range(graph.offsets[node], graph.offsets[node + 1]):
        _reach(task, edge, graph.targets[edge], counts)


@kernel(inline=True)
def _reach(task: Task, edge: Any, child: Any, counts: Int64s) -> Any:
    """Adds a child to what is reachable; whether it is new there.

    Figures 6 and 8 ask whether the child is a result. One that is reachable and valid is a result already, so asking
    whether it is reachable leaves out the same ones, and those for which nothing would change.
    """
    if has(task.sets.reachable, child):
        return False
    if not _accepts(task, task.graph.edge_expressions[edge], EDGE_TESTED, counts):
        return False
    add(task.sets.reachable, child)
    return True


@kernel(inline=True)
def _emit(result: Set, node: Any, counts: Int64s) -> None:
    add(result, node)
    if counts[FIRST] < 0:
        counts[FIRST] = counts[CALLS]


@kernel(inline=True)
def _jump(nodes: Any, after: Any, to: Any, counts: Int64s) -> Any:
    """Where the index goes on, or -1: nothing more is reachable. Counts the ids in between."""
    counts[SKIPPED] += (nodes if to < 0 else to) - after
    return to


# --- an exchange under the seed's ids, as its figures want it: read off one version's arrays, once --------------------
#
# The law ([B] 3.2.1, invariant 2): an edge leads to a higher component or stays within one, and the nodes of a
# component have consecutive ids. Within a component the order is free; 3.2.2 shows that it decides how early the
# first result comes. `numbered` keeps the exchange's own order; `breadth-first` searches the component from the node
# that most edges enter, since no order is best for every event.

ORDERS = ("numbered", "breadth-first")


class Numbered(NamedTuple):
    """`numbers` leads from ids to the exchange's numbers, `ids` back; `entered` are the nodes that edges lead to."""

    graph: SeedGraph
    numbers: Int64s
    ids: Int64s
    entered: npt.NDArray[np.bool_]

    @property
    def same(self) -> bool:
        """Whether ids are the exchange's own numbers."""
        return bool((self.numbers[1:] > self.numbers[:-1]).all())

    @property
    def cyclic(self) -> bool:
        graph = self.graph
        loops = graph.targets == np.repeat(np.arange(len(graph.expressions)), np.diff(graph.offsets))
        return len(graph.begins) - 1 < len(graph.expressions) or bool(loops.any())


class _Edges(NamedTuple):
    source: Int64s
    target: Int64s
    expression: Int32s


def number_nodes(graph: ExchangeGraph, order: str = ORDERS[0]) -> Numbered:
    """The visible part of one version under the seed's ids."""
    if order not in ORDERS:
        raise UsageError("HG-031", f"the order within components is {order!r}", fix=f"write one of {', '.join(ORDERS)}")
    edges, count = _edges(graph), graph.node_count
    components = _as_numbered(strong_components(graph), edges)
    rank = np.arange(count) if order == ORDERS[0] else _breadth_first(count, edges, components)
    numbers = np.lexsort((rank, components))
    ids = np.empty(count, np.int64)
    ids[numbers] = np.arange(count)
    source, target = ids[edges.source], ids[edges.target]
    by_source = np.argsort(source, kind="stable")
    component = np.unique(components[numbers], return_inverse=True)[1]
    seed = SeedGraph(
        np.searchsorted(source[by_source], np.arange(count + 1)).astype(np.int64),
        target[by_source].astype(np.int32),
        edges.expression[by_source],
        _expressions(graph)[numbers],
        component.astype(np.int32),
        np.searchsorted(component, np.arange(component.max(initial=-1) + 2)).astype(np.int32),
    )
    return Numbered(seed, numbers, ids, np.bincount(target, minlength=count) > 0)


def _as_numbered(components: Int32s, edges: _Edges) -> Int32s:
    """The components in the order of the exchange's own numbers where that is topological, as it is after a build."""
    here = np.flatnonzero(np.diff(components, prepend=-1))  # where one ends and the next begins
    if len(np.unique(components)) < len(here):
        return components
    own = np.empty(len(here), np.int32)
    own[components[here]] = np.arange(len(here))
    mine: Int32s = own[components]
    return mine if (mine[edges.source] <= mine[edges.target]).all() else components


def _edges(graph: ExchangeGraph) -> _Edges:
    seen = visible(graph)
    chosen = graph.edges[seen]
    source, target = graph.sources[seen].astype(np.int64), chosen[:, layout.TARGET].astype(np.int64)
    return _Edges(source, target, chosen[:, layout.EDGE_EXPRESSION])


def _expressions(graph: ExchangeGraph) -> Int32s:
    """What each node accepts in this version; one that is not there, or whose row was refused, accepts nothing."""
    record = graph.nodes[: graph.node_count, layout.RECORD].copy()
    while len(old := np.flatnonzero(graph.records[record, layout.DIED] <= graph.version)):
        record[old] = graph.records[record[old], layout.NEWER]
    flags = graph.records[record, layout.FLAGS]
    there = (flags & layout.PRESENT != 0) & (flags & layout.REFUSED == 0)
    return np.where(there, graph.records[record, layout.EXPRESSION], np.int32(NEVER)).astype(np.int32)


def _breadth_first(count: int, edges: _Edges, components: Int32s) -> Int64s:
    """Ranks of nodes; within a component from the node that most edges enter from outside."""
    inner = components[edges.source] == components[edges.target]
    entries = np.bincount(edges.target[~inner], minlength=count)
    members = np.flatnonzero(np.bincount(np.concatenate([edges.source[inner], edges.target[inner]]), minlength=count))
    order = np.argsort(edges.source[inner], kind="stable")
    targets = edges.target[inner][order].tolist()
    offsets = np.searchsorted(edges.source[inner][order], np.arange(count + 1)).tolist()
    rank = np.zeros(count, np.int64)
    met: set[int] = set()
    for first in members[np.argsort(-entries[members], kind="stable")].tolist():
        if first not in met:
            queue = [first]
            met.add(first)
            for place, node in enumerate(queue):
                rank[node] = place
                fresh = dict.fromkeys(child for child in targets[offsets[node] : offsets[node + 1]] if child not in met)
                queue += fresh
                met.update(fresh)
    return rank


# --- the seed's index, built once for an exchange: which lists each node's expression stands in -----------------------
#
# [B] takes any index for Boolean expressions that gives the next valid node ([B] section 2, its [12] and [22]). This
# one is inverted: each expression stands in the lists of a necessary set of its tests (`choose`), words
# in a list each, ranges of numbers in a segment tree for each attribute, other tests under the attribute that has to
# be there. What cannot be listed at all (IS NULL, tests that Python decides) is a candidate of every event.
#
# A node that no edge leads to can only publish, and is not indexed: [B] table 2 has 11,086 valid nodes where all
# 71,097 accept everything, which are the networks and the advertisers.

Bools = npt.NDArray[np.bool_]
_NO_LIST, _WORDS, _RANGES, _PRESENT = 0, 1, 2, 3
_OWN_WEIGHTS = np.array([np.inf, 0.0, 0.0, 1.0])  # of each kind, besides those of its words or ranges
_PAIR_OPS = tuple(range(code.PAIR_EQ, code.PAIR_GE + 1))
_RANGE_OPS = (code.NUMBER_EQ, code.NUMBER_GE, code.NUMBER_LE, code.NUMBER_BETWEEN, code.NUMBER_IN)


class _Tests(NamedTuple):
    """The instructions of all expressions as columns, and where each can be listed."""

    op: Int32s
    negative: Bools
    attribute: Int32s
    operand: Int32s
    kind: npt.NDArray[np.int8]


class _Ranges(NamedTuple):
    """The ranges that tests ask for, from `low` to just below `high`."""

    test: Int64s
    low: Floats
    high: Floats


class _Cuts(NamedTuple):
    """Attribute a cuts the numbers at bounds[offsets[a] : offsets[a + 1]], the ends of all its ranges, into
    stretches[a] stretches: stretch k lies behind the first k cuts."""

    offsets: Int64s
    bounds: Floats
    stretches: Int64s


def build_index(programs: Programs, word_attributes: Int32s, expressions: Int32s, entered: Bools) -> SeedIndex:
    """The index of nodes that have these expressions; `entered` are those that some edge leads to."""
    tests = _read_tests(programs)
    asking, word = _find_words(programs, tests)
    ranges = _find_ranges(programs, tests)
    cuts = _cut_numbers(tests, ranges)
    first, last = _stretches(tests, ranges, cuts)
    # Which share of its attribute's words or stretches a test asks for: about the share of events that will find it.
    known = np.bincount(word_attributes, minlength=int(tests.attribute.max(initial=0)) + 1)
    words_share = 1 / np.maximum(1, known[tests.attribute[asking]])
    ranges_share = (last - first + 1) / cuts.stretches[tests.attribute[ranges.test]]
    weights = _OWN_WEIGHTS[tests.kind]
    for test, share in ((asking, words_share), (ranges.test, ranges_share)):
        weights = weights + np.bincount(test, share, len(tests.op))
    chosen, listed = _choose(programs, weights)
    nodes = _Nodes(programs, expressions, entered & listed[expressions])
    present = np.flatnonzero(chosen & (tests.kind == _PRESENT))
    kept = chosen[ranges.test]
    sizes, trees, stretches = _grow_trees(tests, ranges.test[kept], first[kept], last[kept], cuts, nodes)
    return SeedIndex(
        _bitmap(entered & ~listed[expressions] & (expressions != code.NEVER)),
        nodes.lists(word[chosen[asking]], asking[chosen[asking]], len(word_attributes)),
        nodes.lists(tests.attribute[present].astype(np.int64), present, len(sizes)),
        cuts.offsets,
        cuts.bounds,
        trees,
        sizes,
        stretches,
    )


class _Nodes:
    """Leads from tests to the nodes whose expression they belong to."""

    def __init__(self, programs: Programs, expressions: Int32s, wanted: Bools) -> None:
        ids = np.flatnonzero(wanted)
        self._ids = ids[np.argsort(expressions[ids], kind="stable")]
        self._offsets = np.searchsorted(expressions[self._ids], np.arange(len(programs.starts)))
        self._starts = programs.starts >> 1

    def lists(self, keys: Int64s, tests: Int64s, count: int) -> Lists:
        """For each of `count` keys the list of nodes that have a test beside it."""
        expression = np.searchsorted(self._starts, tests, side="right") - 1
        begin, size = self._offsets[expression], np.diff(self._offsets)[expression]
        key = np.repeat(keys, size)
        ids = self._ids[np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(len(key))]
        order = np.lexsort((ids, key))
        offsets = np.searchsorted(key[order], np.arange(count + 1))
        return Lists(offsets.astype(np.int64), ids[order].astype(np.int32))


def _read_tests(programs: Programs) -> _Tests:
    used = programs.code[: programs.starts[-1]]  # a snapshot may hold code whose start came later
    word, operand = used[0::2], used[1::2]
    op, negative = word & 0x7F, word & code.NEGATIVE != 0
    kind = np.full(len(op), _PRESENT, np.int8)
    kind[np.isin(op, _RANGE_OPS) & ~negative] = _RANGES
    kind[np.isin(op, (code.WORD_EQ, code.WORD_IN)) & ~negative] = _WORDS
    kind[np.isin(op, (code.AND, code.OR, code.WORDS_WITHIN, code.SLOW))] = _NO_LIST
    kind[(op == code.IS_NULL) & ~negative] = _NO_LIST
    kind[np.isin(op, _PAIR_OPS) & negative] = _NO_LIST  # an empty list makes it false without the other attribute
    return _Tests(op, negative, word >> code.ATTRIBUTE_SHIFT, operand, kind)


def _find_words(programs: Programs, tests: _Tests) -> tuple[Int64s, Int64s]:
    """The words that tests ask for: tests, and a word beside each."""
    single = np.flatnonzero((tests.kind == _WORDS) & (tests.op == code.WORD_EQ))
    many = np.flatnonzero((tests.kind == _WORDS) & (tests.op == code.WORD_IN))
    test, place = _members(many, tests.operand[many], programs.sets)
    word = np.concatenate([tests.operand[single], programs.sets[place]]).astype(np.int64)
    return np.concatenate([single, test]), word


def _find_ranges(programs: Programs, tests: _Tests) -> _Ranges:
    numbers = programs.numbers
    plain = np.flatnonzero((tests.kind == _RANGES) & (tests.op != code.NUMBER_IN))
    many = np.flatnonzero((tests.kind == _RANGES) & (tests.op == code.NUMBER_IN))
    test, place = _members(many, tests.operand[many], numbers)
    op, operand = tests.op[plain], tests.operand[plain]
    last = np.where(op == code.NUMBER_BETWEEN, operand + 1, operand)
    low = np.where(op == code.NUMBER_LE, -np.inf, numbers[operand])
    high = np.where(op == code.NUMBER_GE, np.inf, np.nextafter(numbers[last], np.inf))
    low = np.concatenate([low, numbers[place]])
    high = np.concatenate([high, np.nextafter(numbers[place], np.inf)])
    return _Ranges(np.concatenate([plain, test]), low, high)


def _members(tests: Int64s, operands: Int32s, values: npt.NDArray[np.generic]) -> tuple[Int64s, Int64s]:
    """The places of the values of sets, which stand behind their size, and the test of each."""
    size = values[operands].astype(np.int64)
    first = np.cumsum(size) - size
    return np.repeat(tests, size), np.repeat(operands + 1 - first, size) + np.arange(int(size.sum()))


def _cut_numbers(tests: _Tests, ranges: _Ranges) -> _Cuts:
    attribute, ends = tests.attribute[ranges.test], []
    for number in range(int(tests.attribute.max(initial=-1)) + 1):
        own = attribute == number
        both = np.unique(np.concatenate([ranges.low[own], ranges.high[own]]))
        ends.append(both[np.isfinite(both)])
    sizes = np.array([*map(len, ends)], np.int64)
    return _Cuts(np.append(0, np.cumsum(sizes)), np.concatenate([*ends, np.empty(0)]), sizes + 1)


def _stretches(tests: _Tests, ranges: _Ranges, cuts: _Cuts) -> tuple[Int64s, Int64s]:
    """The first and the last stretch of each range."""
    first, last = np.zeros(len(ranges.test), np.int64), np.zeros(len(ranges.test), np.int64)
    attribute = tests.attribute[ranges.test]
    for number in np.unique(attribute).tolist():
        own, bounds = attribute == number, cuts.bounds[cuts.offsets[number] : cuts.offsets[number + 1]]
        first[own] = np.searchsorted(bounds, ranges.low[own], side="right")
        last[own] = np.searchsorted(bounds, ranges.high[own], side="left")
    return first, last


def _choose(programs: Programs, weights: Floats) -> tuple[Bools, Bools]:
    """Which tests are in the necessary set of their expression, and which expressions can be listed."""
    chosen = np.zeros(len(weights), np.uint8)
    totals = np.empty(len(programs.starts) - 1)
    choose(fixed(programs), fixed(weights), np.empty(len(weights)), chosen, totals)
    return chosen.astype(bool), np.isfinite(totals)


def _grow_trees(
    tests: _Tests, ranges: Int64s, first: Int64s, last: Int64s, cuts: _Cuts, nodes: _Nodes
) -> tuple[Int64s, Int64s, Lists]:
    """For each attribute its leaves and the first list of its tree, and the lists of all trees: ranges are given by
    their tests, and the first and the last stretch of each."""
    leaves = 1 << np.ceil(np.log2(cuts.stretches)).astype(np.int64)
    sizes = np.where(cuts.stretches > 1, leaves, 0)
    trees = np.cumsum(2 * sizes) - 2 * sizes
    attribute = tests.attribute[ranges]
    covering = fixed(first), fixed(last), fixed(sizes[attribute])
    none = np.empty(0, np.int32)
    count = cover(*covering, none, none)
    node, entry = np.empty(count, np.int32), np.empty(count, np.int32)
    cover(*covering, node, entry)
    return sizes, trees, nodes.lists(trees[attribute[entry]] + node, ranges[entry], int(2 * sizes.sum()))


def _bitmap(members: Bools) -> Set:
    levels = []
    for _ in range(2):
        padded = np.zeros(64 * (len(members) // 64 + 1), bool)
        padded[: len(members)] = members
        levels.append(np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64))
        members = levels[0] != 0
    return Set(*levels)


# --- an exchange as the seed keeps it, and the algorithms by name -----------------------------------------------------

ALGORITHMS: Mapping[str, int] = {
    "dag": DAG,
    "dag-skip": DAG_SKIP,
    "general": GENERAL,
    "scc-skip": SCC_SKIP,
    "index-bfs": INDEX_BFS,
    "bfs": BFS,
}
_RESULTS_AT_ONCE = 1 << 20


class SeedExchange:
    """One version of an exchange as the seed keeps it, built before any event comes."""

    def __init__(self, graph: ExchangeGraph, compiled: Compiled, order: str = ORDERS[0]) -> None:
        self.numbered: Numbered = fixed(number_nodes(graph, order))
        expressions, entered = self.numbered.graph.expressions, self.numbered.entered
        self.cyclic = self.numbered.cyclic
        self._same = self.numbered.same
        words = compiled.names.word_attributes
        self.index: SeedIndex = fixed(build_index(compiled.programs, words, expressions, entered))

    @classmethod
    def of_version(cls, version: Version, order: str = ORDERS[0]) -> SeedExchange:
        return cls(version.graph, version.targeting.compiled(version.programs), order)

    def route(self, job: Job, starts: Int32s, algorithm: str) -> Routed:
        """Routes every event of a job from the node beside it; -1 routes it nowhere."""
        chosen = ALGORITHMS.get(algorithm)
        if chosen is None:
            fix = f"write one of {', '.join(ALGORITHMS)}"
            raise UsageError("HG-045", f"no algorithm is called {algorithm!r}", fix=fix)
        if chosen in (DAG, DAG_SKIP) and self.cyclic:
            message = f"the exchange has cycles, and {algorithm} needs its nodes in topological order"
            raise UsageError("HG-066", message, fix="use general or scc-skip")
        ids = np.where(starts < 0, -1, self.numbered.ids[starts]).astype(np.int32)
        sets = make_sets(len(self.numbered.ids))
        found = _run(Task(self.numbered.graph, self.index, job, sets), chosen, fixed(ids))
        if self._same:
            return found
        numbers = self.numbered.numbers[found.nodes]
        event = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
        return found._replace(nodes=numbers[np.lexsort((numbers, event))].astype(np.int32))


def _run(task: Task, algorithm: int, starts: Int32s) -> Routed:
    """As many events at a time as there is room for the results of."""
    events = fixed(np.arange(len(starts)))
    room = np.empty(max(len(task.graph.expressions), _RESULTS_AT_ONCE), np.int32)
    offsets, counters = np.zeros(len(starts) + 1, np.int64), np.empty((len(starts), COUNTERS), np.int64)
    parts, done = [room[:0]], 0
    while done < len(starts):
        part = Routed(np.zeros(len(starts) - done + 1, np.int64), room, counters[done:])
        count = route_events(task, algorithm, events[done:], starts[done:], part)
        parts.append(room[: part.offsets[count]].copy())
        offsets[done + 1 : done + count + 1] = offsets[done] + part.offsets[1 : count + 1]
        done += count
    return Routed(offsets, np.concatenate(parts), counters)
