"""The query network in kernels. The path of an update, from the end of this file to its beginning: `run` takes the next
update and changes the graph edge by edge; `react` joins the cores that a changed edge stands in (the join), and lets
messages carry the change on from vertex to vertex; both lead to solutions of a core, which let components hold or not,
and touch queries; at the end of a phase the touched queries write events.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, from_dtype, int32, int64, uint8, uint64

from heliograph.compiled.arrays import NEW_INT32S, rows
from heliograph.compiled.arrays import array as array_type
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import FREE, OTHER, find_row, find_value, pair_key, search, spread
from heliograph.compiled.hashmap import SAME as SAME_KEY
from heliograph.compiled.records import ADDRESS, Anything, Struct, array, number, view, wanted
from heliograph.compiled.records import part as structure
from heliograph.filter.layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.watch import layout
from heliograph.watch.graph_kernels import (
    EDGE_NUMBER,
    GraphArrays,
    drop,
    edge_at,
    edge_tag,
    find_edge,
    find_run,
    first_run,
    has_room,
    is_present,
    neighbour,
    next_due,
    next_run,
    prefetch_edge,
    prefetch_first,
    prefetch_row,
    prefetch_second,
    put,
    renew,
    run_length,
    slot_of,
    stamp_new,
    tick,
)
from heliograph.watch.layout import (
    ADD_EDGE,
    AMONG_NODE,
    ANY_NODE,
    COUNT,
    DONE,
    EACH_EDGE,
    FILLED,
    FILLINGS,
    FLAT,
    GIVEN,
    IN,
    IS_NODE,
    J_CHANGE,
    J_OBJECT,
    J_PHASE,
    J_PREDICATE,
    J_SUBJECT,
    J_UPDATE,
    KEY,
    LAST_STAMP,
    LINK,
    MOST_LEVELS,
    NEED_ADJACENCY,
    NEED_DERIVED,
    NEED_EVENTS,
    NEED_GRAPH,
    NEED_ROOM,
    NEED_STATES,
    NO_LIMIT,
    NONE,
    OBJECT,
    OUT,
    PART_FILLS,
    PART_HEARS,
    PART_TEST,
    PAUSED,
    PREDICATE,
    PRESENT,
    Q_COUNT,
    REMOVE_EDGE,
    ROWS,
    SAME,
    SET_EDGE,
    SITE_DRIVER,
    SITE_MESSAGE,
    SUBJECT,
    USER_NODE,
    V_COUNT,
    V_ROW,
    V_TRUTH,
    VIRTUALS,
    Floats,
    Int8s,
    Int32s,
    Int64s,
    Masks,
    Stamp,
)
from heliograph.watch.metrics.thresholds import CAME, CHANGED, WENT

# --- the world --------------------------------------------------------------------------------------------------


class Progress(Struct):
    """Where a run stands: the update, its stage, the changes that it makes and the one that is under way, the stage of
    that, where a chain of sites was left, and the edge that was taken up and is not done, or -1: a run that stops must
    not take up another in its place."""

    update: int = number()
    stage: int = number()
    changes: int = number()
    change: int = number()
    reaction: int = number()
    head: int = number()
    site: int = number(-2)
    edge: int = number(-1)
    subject: int = number()  # of the edge that was changed, from which others may be derived
    predicate: int = number()
    object: int = number()
    sign: int = number()


def _each(row: Any, dimension: str) -> Any:
    """An array of rows as `layout` names their columns."""
    return array(from_dtype(row), dimension)


class NetworkArrays(Struct):
    """Everything that these kernels work on.

    Of the network there are rows of every kind, each with room to grow; all lists are chains of rows, so that
    subscribing costs what it adds. `network.QueryNetwork` fills them. The rest is the runner's.
    """

    graph: GraphArrays = structure(GraphArrays)
    progress: Progress = structure(Progress)

    messages: Anything = _each(layout.MESSAGE, "messages")
    nodes: Anything = _each(layout.NODE, "nodes")
    ones: Masks = array(uint64, "ones")  # by node: the tags in use
    parts: Anything = _each(layout.PART, "parts")
    maps: Int8s = array(uint8, "maps")  # of a part, for each tag of its node the tag of the part
    users: Anything = _each(layout.USER, "users")
    sites: Anything = _each(layout.SITE, "sites")
    site_slots: Int32s = array(int32, "site_slots")  # open addressing over (vertex, key): 1 + the number of a head
    site_heads: Anything = _each(layout.SITE_HEAD, "site_heads")
    anchors: Int64s = array(int64, "anchors", 2)  # open addressing over (set, constant): rows (`pair_key`, bit)
    groups: Anything = _each(layout.GROUP, "groups")
    core_edges: Anything = _each(layout.CORE_EDGE, "core_edges")
    steps: Anything = _each(layout.STEP, "steps")
    starts: Anything = _each(layout.JOIN_START, "starts")
    constants: Anything = _each(layout.CONSTANT, "constants")
    # open addressing over (group, constant): rows (`pair_key`, row); and over (FILLED + hole, term): its filling.
    # Several fillings are found one by one: (group, first) leads to a number from PREFIX on, that with the second to
    # another, and with the last one to the row. So are chains, from a step's `chains` on by what fills its `given`: the
    # last one leads to a hole of its own, which is filled by what stands beside those in a row.
    constant_slots: Int64s = array(int64, "constant_slots", 2)
    holes: Anything = _each(layout.HOLE, "holes")
    fillings: Anything = _each(layout.FILLING, "fillings")
    components: Anything = _each(layout.COMPONENT, "components")
    bits: Int8s = array(uint8, "bits")
    values: Int64s = array(int64, "values")  # by component: in how many places it holds, or its count
    queries: Anything = _each(layout.QUERY, "queries")
    links: Anything = _each(layout.LINK_ROW, "links")
    limits: Anything = _each(layout.LIMITS, "limits")  # by query
    tests: Int32s = array(int32, "tests")  # where the atoms of a test begin; the last entry is the end
    atoms: Floats = array(float64, "atoms", 4)  # rows (domain, low, high, flags) of tests; see `filter.layout`
    banks: Int32s = array(int32, "banks", 64)  # rows of 64 tests, -1 where there is none
    domains: Floats = array(float64, "domains", 2)  # by term: rows (coordinate, domain code)
    verdicts: Int64s = array(int64, "verdicts", 2)  # open addressing over (test, term) for terms in doubt

    # Messages by (message, vertex); a message that is not there is 0. Most messages say nothing at most vertices. So
    # each vertex has a mark for every 64th message that was ever said there: without it there is no need to look.
    entries: Masks = array(uint64, "state", 2)  # open addressing: rows (`pair_key`, value)
    state_count: int = number()
    marks: Masks = array(uint64, "term")

    # What is still to be done for one change: messages that a vertex may hear anew, by level, lowest first.
    items: Anything = _each(layout.ITEM, "item")
    payloads: Masks = array(uint64, "item")  # bits to gain, bits in danger, or a count to add
    items_wanted: int = wanted("item")
    items_used: int = number()
    free_item: Any = number(-1)
    levels: Int32s = array(int32, "level", fill=-1)  # the first item, or -1
    lowest_level: Any = number(MOST_LEVELS + 1)  # with work; there are MOST_LEVELS + 1
    plans: Int64s = array(int64, "message", 2)  # rows (message, run): where the item under way will be carried on to
    sayings: Masks = array(uint64, "message")  # and what

    # What the updates of a batch changed, in order.
    events: Anything = _each(layout.EVENT, "event")
    event_count: int = number()
    most_events: int = number()  # after so many a run stops, once its update is done
    solutions: Int32s = array(int32, "solution")  # of ROWS groups: the terms of their slots, but for holes
    value_count: int = number()
    needed: int = number()  # events, or terms of a solution, for which there was no room
    touched: Int32s = array(int32, "query")  # in this phase
    touched_count: int = number()
    stamp: int = number(1)
    candidates: int = number()
    update: int = number()
    phase: int = number()
    only_fresh: int = number()
    too_many: int = number()  # somewhere a count passed 2^63, so counts may be wrong

    # One join: the terms of the slots, what the parts of the group hear there, and where each step stands.
    path: Int32s = array(int32, "slot")
    masks: Masks = array(uint64, "slot")
    cursors: Anything = _each(layout.CURSOR, "slot")
    depth: Any = number(-1)  # of the step at which a join lacked room for a solution, or -1

    # The budget of joins: the round; what the group under way tried in it; after how much it is looked what pays, every
    # 2^check_bits; how much may be tried beside EACH_EDGE for each edge, or NO_LIMIT; how often it was too much.
    round: int = number()
    tried: Any = number()
    check: int = number()
    check_bits: int = number()
    most_tried: int = number()
    given_up: int = number()

    # Updates, accepted and in order; see `updates.UpdateColumns`. Others are derived from edges with a predicate in
    # `deriving`.
    batch_seq: Int64s = array(int64, "update")
    batch_op: Int8s = array(uint8, "update")
    batch_subject: Int32s = array(int32, "update")
    batch_predicate: Int32s = array(int32, "update")
    batch_object: Int32s = array(int32, "update")
    batch_weight: Floats = array(float64, "update")
    batch_at: Int64s = array(int64, "update")
    deriving: Int32s = array(int32, "predicate")
    changes: Int32s = array(int32, "change")  # the edges that an update removes
    changes_wanted: int = wanted("change")

    journal: Int32s = array(int32, "journal", 6)  # what became of edges, in order; for metrics
    journal_weights: Floats = array(float64, "journal")
    journal_wanted: int = wanted("journal")
    journal_count: int = number()
    keeps_journal: int = number()


world_at = view(NetworkArrays)
_0, _1 = np.uint64(0), np.uint64(1)


@kernel(inline=True)
def is_virtual(world: NetworkArrays, predicate: Any) -> Any:
    first = world.graph.first_virtual
    return first <= predicate < first + VIRTUALS


# --- tests of terms ----------------------------------------------------------------------------------------------

# Whether a term passes a test: an interval, or several, of its domain.
#
# A term in doubt (its coordinate is rounded and ties with an end, or it is an xsd:float, which is promoted
# differently against each kind of number) was checked outside, exactly, and what was found stands in a table.

_FLOAT = 11  # sparql.regions.Domain.FLOAT
_LOW_OPEN, _HIGH_OPEN, _ROUNDED = 1, 2, 4  # flags of filter.layout's atoms


@kernel()
def _within(world: NetworkArrays, atom: Any, at: Any) -> Any:
    """Whether a coordinate lies in an interval of its domain: 0 no, 1 yes, 2 by a tie with a rounded end."""
    low, high = world.atoms[atom, LOW], world.atoms[atom, HIGH]
    if at < low or at > high:
        return 0
    if at > low and at < high:
        return 1
    flags = np.int64(world.atoms[atom, ATOM_FLAGS])
    if flags & _ROUNDED:
        return 2
    return 0 if (at == low and flags & _LOW_OPEN) or (at == high and flags & _HIGH_OPEN) else 1


@kernel()
def passes(world: NetworkArrays, test: Any, term: Any) -> Any:
    """Whether a term passes a test."""
    code = np.int64(world.domains[term, DOMAIN_CODE])
    at = world.domains[term, COORDINATE]
    doubtful = code >= ROUNDED_CODE or code == _FLOAT
    for atom in range(world.tests[test], world.tests[test + 1]):
        if np.int64(world.atoms[atom, DOMAIN]) == code % ROUNDED_CODE:
            found = _within(world, atom, at)
            if found == 1 and not doubtful:
                return True
            doubtful = doubtful or found == 2
    return doubtful and find_value(world.verdicts, pair_key(test, term)) == 1  # what was found outside


@kernel()
def banked(world: NetworkArrays, bank: Any, term: Any) -> Any:
    """Which tests of a bank a term passes, a bit each."""
    answer = np.uint64(0)
    for place in range(64):
        test = world.banks[bank, place]
        if test < 0:
            break
        if passes(world, test, term):
            answer |= _1 << np.uint64(place)
    return answer


# --- messages and nodes ------------------------------------------------------------------------------------------

# What a vertex hears, and what a node says there: masks of tags, or counts modulo 2^64.
#
# The law: a node's mask at a vertex is the AND of what its parts hear, each translated into the node's tags; its
# count is their product. A sum or product that wraps around is right modulo 2^64, so a count is exact as long as the
# whole of it is below 2^63, whatever lies between.

MOST = 2.0**62  # half of what a count may be: sums of what is below it are noticed in time


@kernel(inline=True)
def state_slot(world: NetworkArrays, message: Any, vertex: Any) -> Any:
    """Where a message to a vertex stands, or the free place where it would."""
    return find_row(world.entries, np.uint64(pair_key(message, vertex)))


@kernel(inline=True)
def heard(world: NetworkArrays, message: Any, vertex: Any) -> Any:
    """The value of a message at a vertex."""
    if not world.marks[vertex] >> np.uint64(message & 63) & _1:
        return _0
    return world.entries[state_slot(world, message, vertex), 1]


@kernel(inline=True)
def set_heard(world: NetworkArrays, message: Any, vertex: Any, value: Any) -> None:
    """Sets the value of a message at a vertex; there is room for one more."""
    slot = state_slot(world, message, vertex)
    if world.entries[slot, 0] == _0:
        world.entries[slot, 0] = np.uint64(pair_key(message, vertex))
        world.state_count += 1
        world.marks[vertex] |= _1 << np.uint64(message & 63)
    world.entries[slot, 1] = value


# --- nodes ------------------------------------------------------------------------------------------------------


@kernel()
def part_mask(world: NetworkArrays, part: Any, vertex: Any) -> Any:
    """What a part hears at a vertex, in tags of its own; a test has the one tag 0."""
    kind, ref = world.parts[part].kind, np.int64(world.parts[part].ref)
    if kind == PART_HEARS:
        return heard(world, ref, vertex)
    if kind == PART_TEST:
        return _1 if passes(world, ref, vertex) else _0
    if kind == PART_FILLS:
        found = find_value(world.constant_slots, pair_key(np.int64(FILLED) + ref, vertex))
        return _1 if found >= 0 else _0
    return banked(world, ref, vertex)


@kernel()
def mapped(world: NetworkArrays, part: Any, mask: Any, tags: Any) -> Any:
    """What a part hears, in the tags of its node."""
    how = world.parts[part].map
    if how == SAME:
        return mask & tags
    if how == FLAT:
        return tags if mask else _0
    answer, bit = _0, _1
    for tag in range(64):
        if tags & bit and (mask >> np.uint64(world.maps[how + tag])) & _1:
            answer |= bit
        bit <<= _1
    return answer


@kernel()
def node_bits(world: NetworkArrays, node: Any, vertex: Any, skipped: Any, bits: Any) -> Any:
    """What a node says at a vertex; of the part `skipped` (or -1) only these bits are taken."""
    tags = world.ones[node]
    answer = tags if skipped < 0 else mapped(world, skipped, bits, tags)
    first = np.int64(world.nodes[node].first)
    for part in range(first, first + world.nodes[node].parts):
        if answer == _0:
            break
        if part != skipped:
            answer &= mapped(world, part, part_mask(world, part, vertex), tags)
    return answer


@kernel(inline=True)
def note_size(world: NetworkArrays, size: Any) -> None:
    """Remembers that a product was too large to be reported."""
    if size >= MOST or size <= -MOST:
        world.too_many = 1


@kernel()
def node_count(world: NetworkArrays, node: Any, vertex: Any, skipped: Any, count: Any) -> Any:
    """How often a node can be completed at a vertex; in place of the part `skipped` (or -1) stands `count`."""
    answer = _1 if skipped < 0 else count
    first, size = np.int64(world.nodes[node].first), np.float64(np.int64(answer))
    for part in range(first, first + world.nodes[node].parts):
        if answer == _0 and size == 0.0:
            break
        if part != skipped:
            factor = part_mask(world, part, vertex)
            answer, size = answer * factor, size * np.float64(np.int64(factor))
    note_size(world, size)
    return answer


@kernel()
def node_value(world: NetworkArrays, message: Any, vertex: Any, skipped: Any, value: Any) -> Any:
    """What the node of a message says, by the message's kind."""
    node = np.int64(world.messages[message].node)
    if world.messages[message].kind == COUNT:
        return node_count(world, node, vertex, skipped, value)
    return node_bits(world, node, vertex, skipped, value)


@kernel()
def spoken(world: NetworkArrays, message: Any, hearer: Any, speaker: Any) -> Any:
    """What one edge, from the vertex that hears to the one that speaks, adds to a message."""
    node = world.messages[message].node
    if node >= 0:
        return node_value(world, message, speaker, np.int64(-1), _0)
    if node == ANY_NODE:
        return _1
    ref = world.messages[message].ref
    if node == IS_NODE:
        return _1 if speaker == ref else _0
    if node == AMONG_NODE:
        bit = find_value(world.anchors, pair_key(ref, speaker))
        return _0 if bit < 0 else _1 << np.uint64(bit)
    return _1 if speaker == hearer else _0


# --- the journal -------------------------------------------------------------------------------------------------

# What became of edges, written down for the metrics of the graph.
#
# The law: while a journal is kept, every change of an edge that is no derived one stands in it once, in order. Room
# is asked for before anything is done, so a run that lacks it can go on from where it stands.


@kernel(inline=True)
def has_journal_room(world: NetworkArrays) -> Any:
    """Whether another change can be written down, if it has to be."""
    if not world.keeps_journal or world.journal_count < len(world.journal):
        return True
    world.journal_wanted = world.journal_count + 1
    return False


@kernel()
def write_down(world: NetworkArrays, update: Any, phase: Any, change: Any, edge: Any) -> None:
    """Writes down what became of an edge, unless it is a derived one; there is room."""
    known = world.graph.edges[edge]
    if is_virtual(world, known[PREDICATE]):
        return
    row = world.journal[world.journal_count]
    row[J_UPDATE], row[J_PHASE], row[J_CHANGE] = update, phase, change
    row[J_SUBJECT], row[J_PREDICATE], row[J_OBJECT] = known[SUBJECT], known[PREDICATE], known[OBJECT]
    world.journal_weights[world.journal_count] = world.graph.weights[edge] if len(world.graph.weights) else np.nan
    world.journal_count += 1


@kernel()
def write_down_weight(world: NetworkArrays, update: Any, phase: Any, edge: Any, weight: Any) -> None:
    """The same for a present edge that is given a weight; the edge has not taken it yet."""
    if np.isnan(weight) or len(world.graph.weights) == 0:
        return
    if weight != world.graph.weights[edge]:
        write_down(world, update, phase, CHANGED, edge)
        world.journal_weights[world.journal_count - 1] = weight


# --- queries that a change touches -------------------------------------------------------------------------------

# Queries that a change touches, and what is reported of them once the change is done.
#
# A query is touched when one of its components begins or ceases to hold, or when a count in it changes. What it was
# before is remembered at the first touch of a phase, so that what comes and goes within the phase is never reported.


@kernel()
def touch(world: NetworkArrays, query: Any) -> None:
    """Notes a query that is about to change, once a phase, with whether it holds."""
    if world.queries[query].stamp == world.stamp:
        return
    world.queries[query].stamp = world.stamp
    world.queries[query].before = world.queries[query].missing == 0
    world.touched[world.touched_count] = query
    world.touched_count += 1
    world.candidates += 1


@kernel()
def touch_queries(world: NetworkArrays, link: Any, missing: Any) -> None:
    """Adds to the number of missing components of all queries in a chain of links."""
    while link >= 0:
        query = np.int64(world.links[link].item)
        touch(world, query)
        world.queries[query].missing += missing
        link = np.int64(world.links[link].next)


@kernel()
def hold_more(world: NetworkArrays, component: Any, sign: Any) -> None:
    """A component holds in one place more or less."""
    before = world.values[component]
    world.values[component] = before + sign
    if sign > 0 and before == 0:
        touch_queries(world, np.int64(world.components[component].postings), np.int64(-1))
    elif sign < 0 and before == 1:
        touch_queries(world, np.int64(world.components[component].postings), np.int64(1))


@kernel()
def count_more(world: NetworkArrays, component: Any, count: Any) -> None:
    """A component is counted higher or lower."""
    world.values[component] += np.int64(count)
    note_size(world, np.float64(world.values[component]))
    touch_queries(world, np.int64(world.components[component].postings), np.int64(0))


# --- at the end of a phase --------------------------------------------------------------------------------------


@kernel()
def counted(world: NetworkArrays, query: Any) -> Any:
    """The count of a query: the product of its components, if all its concrete edges are there."""
    if world.queries[query].missing > 0:
        return np.int64(0)
    total, size, link = np.int64(1), 1.0, world.queries[query].factors
    while link >= 0:
        total *= world.values[world.links[link].item]
        size *= np.float64(world.values[world.links[link].item])
        link = world.links[link].next
    note_size(world, size)
    return total


@kernel()
def _write(world: NetworkArrays, update: Any, phase: Any, kind: Any, ref: Any, sign: Any, value: Any) -> None:
    event = world.events[world.event_count]
    event.update, event.phase, event.kind = update, phase, kind
    event.ref, event.sign, event.value = ref, sign, value
    world.event_count += 1


@kernel()
def _report_count(world: NetworkArrays, query: Any, update: Any, phase: Any) -> None:
    known, count = world.limits[query], counted(world, query)
    if world.queries[query].watch:
        if count != known.latest:
            _write(world, update, phase, V_COUNT, query, 0, count)
    else:
        holds = known.enter_low <= count <= known.enter_high
        holds = holds or (known.held != 0 and known.stay_low <= count <= known.stay_high)
        if holds != (known.held != 0):
            known.held = holds
            _write(world, update, phase, V_COUNT, query, 1 if holds else -1, count)
    known.latest = count


@kernel()
def flush(world: NetworkArrays, update: Any, phase: Any) -> Any:
    """Tells what has changed in a phase and begins another; False, with nothing done, if there is no room for it."""
    if world.event_count + world.touched_count > len(world.events):
        world.needed = world.touched_count
        return False
    for place in range(world.touched_count):
        query = np.int64(world.touched[place])
        if world.queries[query].kind == Q_COUNT:
            _report_count(world, query, update, phase)
        else:
            holds = world.queries[query].missing == 0
            if holds != (world.queries[query].before != 0):
                _write(world, update, phase, V_TRUTH, query, 1 if holds else -1, 0)
    world.touched_count = 0
    world.stamp += 1  # no query has it; as `Runner.forget`
    if world.stamp > LAST_STAMP:
        for row in range(len(world.queries)):
            world.queries[row].stamp = 0
        world.stamp = 1
    return True


# --- solutions of a core -----------------------------------------------------------------------------------------

# What becomes of a solution of a group's core: components gain or lose a place, counts change, or it is listed.

_NO_BIT = 255


class Start(NamedTuple):
    """Where a join starts from: a part that hears `value` anew, a changed edge in a place of the core, or a driving
    constant; -1 where there is none."""

    group: Any
    part: Any
    value: Any
    edge: Any
    place: Any
    constant: Any
    sign: Any


@kernel()
def note_solution(world: NetworkArrays, start: Start) -> Any:
    """Takes note of a solution for all components, or for the driving constants that it leads to; False if it was to be
    listed and there was no room."""
    group, change = world.groups[start.group], start.sign
    if group.kind == ROWS:
        return _list(world, start)
    if group.kind == COUNT:
        # A solution of the core changes a count by what its parts hear multiplied. Of the changed part that is what it
        # changed by; of a changed edge the sign says it.
        total, size = _1, 1.0
        for part in range(group.parts):
            total, size = total * world.masks[part], size * np.float64(np.int64(world.masks[part]))
        note_size(world, size)
        change = np.int64(total) if start.part >= 0 else start.sign * np.int64(total)
    key = np.int64(group.driver_key)
    if start.constant >= 0 or key < 0:
        constant = start.constant if start.constant >= 0 else np.int64(group.first_constant)
        _note_constant(world, start, constant, change)
        return True
    vertex = np.int64(world.path[group.driver_slot])
    run = find_run(world.graph, vertex, key)
    if run_length(world.graph, run) <= group.constants:  # constants among the neighbours of the driver's vertex
        for place in range(run_length(world.graph, run)):
            found = pair_key(start.group, neighbour(world.graph, run, place))
            _note_constant(world, start, np.int64(find_value(world.constant_slots, found)), change)
        return True
    constant = np.int64(group.first_constant)
    while constant >= 0:  # the same, where there are fewer constants than neighbours
        other = np.int64(world.constants[constant].constant)
        s, o = (other, vertex) if key & 1 else (vertex, other)
        edge = find_edge(world.graph, s, key >> 1, o)
        if edge >= 0 and is_present(world.graph, edge):
            _note_constant(world, start, constant, change)
        constant = np.int64(world.constants[constant].next)
    return True


@kernel()
def _note_constant(world: NetworkArrays, start: Start, constant: Any, change: Any) -> None:
    """Every component of a constant all of whose tags are heard holds in one place more, or less; a count changes."""
    if constant < 0:
        return
    fresh, counted = world.only_fresh, world.groups[start.group].kind == COUNT
    component = np.int64(world.constants[constant].first)
    while component >= 0:
        if not fresh or world.components[component].fresh:
            if counted:
                count_more(world, component, change)
            elif _is_heard(world, start.group, world.components[component].bits):
                hold_more(world, component, change)
        component = np.int64(world.components[component].next)


@kernel()
def _is_heard(world: NetworkArrays, group: Any, bits: Any) -> Any:
    for part in range(world.groups[group].parts):
        bit = world.bits[bits + part]
        if bit != _NO_BIT and not (world.masks[part] >> np.uint64(bit)) & _1:
            return False
    return True


# --- rows -------------------------------------------------------------------------------------------------------


@kernel()
def _filled(world: NetworkArrays, group: Any) -> Any:
    """The row that is named by what fills the holes of a group, or -1."""
    count = world.groups[group].holes
    if count == 0:
        return np.int64(world.groups[group].first_constant)
    first, found = world.groups[group].slots - count, np.int64(group)
    for hole in range(count):
        found = find_value(world.constant_slots, pair_key(found, np.int64(world.path[first + hole])))
        if found < 0:
            break
    return found


@kernel()
def _list(world: NetworkArrays, start: Start) -> Any:
    """Lists a solution for every component that its holes and tests name."""
    constant = _filled(world, start.group)
    count, component = 0, np.int64(world.constants[constant].first) if constant >= 0 else np.int64(-1)
    while component >= 0:
        count += _is_heard(world, start.group, world.components[component].bits)
        component = np.int64(world.components[component].next)
    if count == 0:
        return True
    shown = world.groups[start.group].slots - world.groups[start.group].holes
    if world.event_count + count > len(world.events) or world.value_count + shown > len(world.solutions):
        world.needed = max(count, shown)
        return False
    component = np.int64(world.constants[constant].first)
    while component >= 0:
        if _is_heard(world, start.group, world.components[component].bits):
            _write(world, world.update, world.phase, V_ROW, component, start.sign, world.value_count)
            touch_queries(world, np.int64(world.components[component].postings), np.int64(0))
        component = np.int64(world.components[component].next)
    for slot in range(shown):
        world.solutions[world.value_count + slot] = world.path[slot]
    world.value_count += shown
    world.tried += count + shown
    return True


# --- the budget of a join ----------------------------------------------------------------------------------------

# How much a join may try for one changed edge, so that no query holds up the others.
#
# What is tried are combinations: each way that a step is opened with counts one, and so does each term of a solution
# that is listed. The first step of a join counts if there is a way through it: a join that ends there looks at each
# edge once. A group counts what its joins try in one round: for one changed edge, or when queries are entered. The
# law: a query that tries more than MOST_TRIED and EACH_EDGE for each edge of the graph is given up, in whatever batch
# the update comes and wherever a kernel stops for room.
#
# Queries that differ in constants share joins. So what is tried has a payer: the row of constants that a join has come
# to, or the group as long as that may be any. What stands there is looked at every 2^CHECK_BITS combinations, and pays
# for all since then. A row that is given up leaves the others of its group as they are.


@kernel()
def _begin_round(world: NetworkArrays) -> None:
    """Nothing was tried yet; as `Runner.begin_round`."""
    world.round += 1
    if world.round > LAST_STAMP:
        for group in range(len(world.groups)):
            world.groups[group].round = 0
        for constant in range(len(world.constants)):
            world.constants[constant].round = 0
        world.round = 1


@kernel()
def _begin_tally(world: NetworkArrays, group: Any) -> Any:
    """A join of a group begins, with what TRIED says, or goes on; False if the group was given up."""
    row = world.groups[group]
    if row.round != world.round:
        if row.round == GIVEN:
            return False
        row.round, row.tried, row.shared = world.round, 0, 0
    world.check = ((row.tried >> world.check_bits) + 1) << world.check_bits
    world.tried += row.tried
    return True


@kernel()
def _payer(world: NetworkArrays, start: Start, first: Any, count: Any, bound: Any) -> Any:
    """The row of constants for which alone a join goes on once so many of its steps are bound; -1 if there is none."""
    if start.constant >= 0:
        return start.constant
    holes = world.groups[start.group].holes
    if holes == 0:
        return np.int64(-1)
    first_hole = world.groups[start.group].slots - holes
    for step in range(first + bound, first + count):
        nodes, known = world.core_edges[world.steps[step].edge], world.steps[step].known
        if not known & 1 and ~nodes.subject >= first_hole:
            return np.int64(-1)
        if not known & 2 and ~nodes.predicate >= first_hole:
            return np.int64(-1)
        if not known & 4 and ~nodes.object >= first_hole:
            return np.int64(-1)
    return _filled(world, start.group)


@kernel()
def _is_given_up(world: NetworkArrays, row: Any) -> Any:
    return row >= 0 and world.constants[row].round == GIVEN


@kernel()
def _is_too_much(world: NetworkArrays, group: Any, row: Any) -> Any:
    """Lets a row, or the group if that is -1, pay for what was tried since the last look. Whether it is given up."""
    bits, looked = world.check_bits, world.check
    world.check = ((world.tried >> bits) + 1) << bits
    if world.most_tried == NO_LIMIT:
        return False
    paid, most = world.check - looked, world.most_tried + EACH_EDGE * world.graph.live
    if row < 0:
        paid += world.groups[group].shared
        world.groups[group].shared = min(paid, LAST_STAMP)
    else:
        if _is_given_up(world, row):
            return True
        if world.constants[row].round != world.round:
            world.constants[row].round, world.constants[row].tried = world.round, 0
        paid += world.constants[row].tried
        world.constants[row].tried = min(paid, LAST_STAMP)
    if paid <= min(most, LAST_STAMP):
        return False
    world.given_up += 1
    if row < 0:
        world.groups[group].round = GIVEN
    else:
        world.constants[row].round = GIVEN
    return True


# --- the join ----------------------------------------------------------------------------------------------------

# The core of a group, joined from a changed edge or from a vertex that hears something new.
#
# The law: every solution of the core that holds a changed edge is met exactly once, at the first of the core edges
# that the changed edge stands for: earlier ones must be another edge. A solution is followed only as long as every
# part of a slot hears something at its vertex, so where trees hang from the core only such vertices are met as
# complete them.
#
# A join that tries too much is given up: what it met until then is not to be reported.
#
# Steps are core edges in a fixed order. Where a later step could bind the same slot, the one with fewer neighbours is
# walked through and the other one is looked up. Where a hole is bound, what fills it beside the holes that are filled
# already may be fewer still.

NOTHING = -2  # in place of a hole: no row has what fills the others


@kernel(inline=True)
def _term(terms: Any, node: Any) -> Any:
    """The term that a core edge's node stands for, once it is known."""
    return node if node >= 0 else terms[~node]


# --- slots ------------------------------------------------------------------------------------------------------


@kernel()
def _hears(world: NetworkArrays, start: Start, slot: Any) -> Any:
    """Whether every part of a slot hears something at its vertex; what they hear is kept."""
    group = start.group
    first, vertex = np.int64(world.groups[group].first_part), np.int64(world.path[slot])
    for part in range(first, first + world.groups[group].parts):
        if world.parts[part].slot != slot:
            continue
        mask = start.value if part == start.part else part_mask(world, part, vertex)
        if mask == _0:
            return False
        world.masks[part - first] = mask
    return True


@kernel()
def _bind(world: NetworkArrays, start: Start, node: Any, known: Any, term: Any) -> Any:
    """Gives a node of an edge its term, unless it is known: then it must be that."""
    if known:
        return _term(world.path, node) == term
    world.path[~node] = term
    return _hears(world, start, np.int64(~node))


@kernel()
def _unify(world: NetworkArrays, start: Start, edge: Any, known: Any, triple: Any) -> Any:
    """Binds what is unknown of a core edge to a triple; a variable that stands in it twice must agree."""
    nodes = world.core_edges[edge]
    if not _bind(world, start, nodes.subject, known & 1 != 0, triple[0]):
        return False
    again = not known & 1 and nodes.predicate == nodes.subject
    if not _bind(world, start, nodes.predicate, known & 2 != 0 or again, triple[1]):
        return False
    again = not known & 1 and nodes.object == nodes.subject
    again = again or (not known & 2 and nodes.object == nodes.predicate)
    if again:
        return world.path[~nodes.object] == triple[2]
    return _bind(world, start, nodes.object, known & 4 != 0, triple[2])


# --- steps ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _is_hidden(world: NetworkArrays, start: Start, edge: Any, number: Any) -> Any:
    """Whether a core edge must not be this edge of the graph: it is the changed one, and met at an earlier place."""
    return number == start.edge and edge - world.groups[start.group].first_edge < start.place


@kernel()
def _run_of(world: NetworkArrays, edge: Any, known: Any) -> Any:
    """The run that a step walks through, where one end and the predicate are known; else -1."""
    nodes, terms = world.core_edges[edge], world.path
    key = 2 * np.int64(_term(terms, nodes.predicate))
    if known & 1:
        return find_run(world.graph, np.int64(_term(terms, nodes.subject)), key + OUT)
    return find_run(world.graph, np.int64(_term(terms, nodes.object)), key + IN)


@kernel()
def _found(world: NetworkArrays, start: Start, edge: Any) -> Any:
    """Whether a core edge, all of it known, is there."""
    nodes, terms = world.core_edges[edge], world.path
    s, p, o = (_term(terms, nodes.subject), _term(terms, nodes.predicate), _term(terms, nodes.object))
    number = find_edge(world.graph, s, p, o)
    return number >= 0 and is_present(world.graph, number) and not _is_hidden(world, start, edge, number)


@kernel()
def _hole_of(world: NetworkArrays, group: Any, step: Any) -> Any:
    """The hole that a step binds, or -1; where others are filled already, what stands beside those in some row."""
    given, found = world.steps[step].given, np.int64(world.steps[step].chains)
    if found < 0:
        return np.int64(world.steps[step].hole)
    first, hole = world.groups[group].slots - world.groups[group].holes, 0
    while given >> hole:
        if given >> hole & 1:
            found = find_value(world.constant_slots, pair_key(found, np.int64(world.path[first + hole])))
            if found < 0:
                return np.int64(NOTHING)
        hole += 1
    return found


@kernel()
def _open_run(world: NetworkArrays, group: Any, step: Any, cursor: Any) -> Any:
    """Begins a step that walks through neighbours: its own, those of another step, or all that fill a hole. How many
    ways there are."""
    edge, known = np.int64(world.steps[step].edge), np.int64(world.steps[step].known)
    other, hole = world.steps[step].other, _hole_of(world, group, step)
    run = _run_of(world, edge, known)
    if other >= 0 and run >= 0:
        another = np.int64(world.steps[other].edge)
        # What the other step knows is all but the slot that this one binds.
        slot = world.core_edges[edge].object if known == 3 else world.core_edges[edge].subject
        its = np.int64(6 if world.core_edges[another].subject == slot else 3)
        candidate = _run_of(world, another, its)
        if run_length(world.graph, candidate) < run_length(world.graph, run):
            run = candidate
            cursor.other = another
    cursor.run = run
    ways = np.int64(run_length(world.graph, run))
    if hole == NOTHING:
        cursor.run, cursor.place = FILLINGS, NONE
        return np.int64(0)
    if hole >= 0 and ways > world.holes[hole].count:
        cursor.run, cursor.place = FILLINGS, world.holes[hole].first
        return np.int64(world.holes[hole].count)
    return ways


@kernel()
def _open(world: NetworkArrays, group: Any, step: Any, depth: Any) -> None:
    """Begins a step. Its ways count as tried: all of them are looked at, unless the join is given up."""
    cursor, ways = world.cursors[depth], np.int64(0)
    edge, known = np.int64(world.steps[step].edge), np.int64(world.steps[step].known)
    cursor.place, cursor.other, cursor.run = 0, -1, -1
    if known == 3 or known == 6:
        ways = _open_run(world, group, step, cursor)
    elif known == 1 or known == 5:
        cursor.run = first_run(world.graph, _term(world.path, world.core_edges[edge].subject))
    elif known == 4:
        cursor.run = first_run(world.graph, _term(world.path, world.core_edges[edge].object))
    elif known != 7:
        ways = np.int64(world.graph.numbered)
    world.tried += 1 + ways


@kernel()
def _next_in_run(world: NetworkArrays, start: Start, step: Any, depth: Any) -> Any:
    """The next neighbour of a step's run that fits."""
    cursor = world.cursors[depth]
    edge, known = np.int64(world.steps[step].edge), world.steps[step].known
    run, walked = cursor.run, edge if cursor.other < 0 else cursor.other
    node = world.core_edges[edge].object if known == 3 else world.core_edges[edge].subject
    if run == FILLINGS:
        while cursor.place >= 0:  # the next term that fills the step's hole and that its edge leads to
            filling = world.fillings[cursor.place]
            cursor.place = filling.next
            world.path[~node] = filling.term
            if _found(world, start, edge):
                return True
        return False
    while cursor.place < run_length(world.graph, run):
        place = cursor.place
        cursor.place += 1
        if start.edge >= 0 and _is_hidden(world, start, walked, edge_at(world.graph, run, place)):
            continue
        world.path[~node] = neighbour(world.graph, run, place)
        if walked != edge and not _found(world, start, edge):
            continue
        if _hears(world, start, np.int64(~node)):
            return True
    return False


@kernel()
def _fits(world: NetworkArrays, start: Start, step: Any, number: Any) -> Any:
    """Whether an edge of the graph fits a step; its unknown parts are bound on the way."""
    edge = np.int64(world.steps[step].edge)
    if _is_hidden(world, start, edge, number):
        return False
    row = world.graph.edges[number]
    known = np.int64(world.steps[step].known)
    return _unify(world, start, edge, known, (row[SUBJECT], row[PREDICATE], row[OBJECT]))


@kernel()
def _next_of_vertex(world: NetworkArrays, start: Start, step: Any, depth: Any) -> Any:
    """The next edge of a vertex, whatever its property, that fits; no variable stands for a virtual property."""
    cursor = world.cursors[depth]
    direction = OUT if world.steps[step].known & 1 else IN
    while cursor.run >= 0:
        run = cursor.run
        key = world.graph.runs[run, KEY]
        wanted = key & 1 == direction and not is_virtual(world, key >> 1)
        while wanted and cursor.place < run_length(world.graph, run):
            place = cursor.place
            cursor.place += 1
            if _fits(world, start, step, edge_at(world.graph, run, place)):
                return True
        if run_length(world.graph, run):  # how many empty ones there are depends on when they were packed
            world.tried += 1 + cursor.place
        cursor.run, cursor.place = next_run(world.graph, run), 0
    return False


@kernel()
def _next_of_all(world: NetworkArrays, start: Start, step: Any, depth: Any) -> Any:
    """The next edge of the whole graph that fits."""
    cursor, known = world.cursors[depth], world.steps[step].known
    while cursor.place < world.graph.numbered:
        number = cursor.place
        cursor.place += 1
        predicate = world.graph.edges[number, PREDICATE]
        visible = is_present(world.graph, number) and (known & 2 or not is_virtual(world, predicate))
        if visible and _fits(world, start, step, number):
            return True
    return False


@kernel()
def _next(world: NetworkArrays, start: Start, step: Any, depth: Any) -> Any:
    """Takes the next way through a step, if there is another."""
    known, cursor = world.steps[step].known, world.cursors[depth]
    if known == 7:
        cursor.place += 1
        return cursor.place == 1 and _found(world, start, np.int64(world.steps[step].edge))
    if known == 3 or known == 6:
        return _next_in_run(world, start, step, depth)
    if known & 5:
        return _next_of_vertex(world, start, step, depth)
    return _next_of_all(world, start, step, depth)


# --- the whole --------------------------------------------------------------------------------------------------


@kernel()
def _join(world: NetworkArrays, start: Start, which: Any) -> Any:
    """Meets all solutions of the core by the steps of a start, or gives it up; False if there was no room to list one
    of them: called again, it goes on with that."""
    row = world.groups[start.group].starts + which
    first, count = np.int64(world.starts[row].steps), world.starts[row].count
    if count == 0:
        return note_solution(world, start)
    depth = world.depth
    world.depth, world.tried = -1, 0
    if depth < 0:
        depth = np.int64(0)
        _open(world, start.group, first, depth)
        if not _next(world, start, first, depth):  # as most joins do, it ends before it is worth counting
            return True
    if not _begin_tally(world, start.group):
        return True
    taken = True
    while depth >= 0:
        if not taken:
            if not _next(world, start, first + depth, depth):
                depth -= 1
                continue
            if world.given_up and _is_given_up(world, _payer(world, start, first, count, depth + 1)):
                continue
        taken = False
        solved = depth + 1 == count
        if solved:
            if not note_solution(world, start):
                world.depth = depth
                break
        else:
            depth += 1
            _open(world, start.group, first + depth, depth)
        if world.tried >= world.check:
            row = _payer(world, start, first, count, depth + 1 if solved else depth)
            if _is_too_much(world, start.group, row):
                if row < 0 or start.constant >= 0:
                    return True
                if not solved:  # nothing else asks for what lies beyond
                    depth -= 1
    world.groups[start.group].tried = min(world.tried, LAST_STAMP)
    return world.depth < 0


@kernel()
def join_from_slot(
    world: NetworkArrays, group: Any, slot: Any, vertex: Any, part: Any, value: Any, constant: Any, edge: Any, sign: Any
) -> None:
    """A slot stands for a vertex at which a part of it hears `value` anew, or no longer; or of which the edge to a
    driving constant came or went; -1 stands for none of it, and for an edge that was there all the time.

    The driver counts as the last place of the core: where the edge stands for a core edge too, that comes first.
    """
    last = np.int64(world.groups[group].edges)
    start = Start(np.int64(group), np.int64(part), value, np.int64(edge), last, np.int64(constant), np.int64(sign))
    world.path[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_driver(world: NetworkArrays, constant: Any, vertex: Any, edge: Any, sign: Any) -> None:
    group = np.int64(world.constants[constant].group)
    slot = np.int64(world.groups[group].driver_slot)
    join_from_slot(world, group, slot, vertex, np.int64(-1), _0, constant, edge, sign)


@kernel()
def join_from_edge(world: NetworkArrays, group: Any, place: Any, number: Any, sign: Any) -> Any:
    """A changed edge of the graph stands for a core edge; False if there was no room to list what it completes."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(number), np.int64(place), np.int64(-1), np.int64(sign))
    edge = np.int64(world.groups[group].first_edge) + place
    row, nodes = world.graph.edges[number], world.core_edges[edge]
    known = np.int64(1 if nodes.subject >= 0 else 0) | np.int64(2 if nodes.predicate >= 0 else 0)
    known |= np.int64(4 if nodes.object >= 0 else 0)
    triple = (row[SUBJECT], row[PREDICATE], row[OBJECT])
    if not known & 2 and is_virtual(world, row[PREDICATE]):
        return True
    if not _unify(world, start, edge, known, triple):
        return True
    return _join(world, start, np.int64(world.groups[group].slots) + place)


# --- messages carried on -----------------------------------------------------------------------------------------

# What one changed edge makes vertices hear, carried on from message to message.
#
# An item of work says that a vertex may hear something new: bits to gain, bits in danger, or a count to add. Items
# are taken lowest level first. Bits in danger are then asked for again among the neighbours that are left: what is
# below is done by that time, so what none of them says is lost. Each change is applied when its item is taken, and
# what hears it looks at everything else as it stands: so gains and losses add up, however many parts of a node
# change at once.
#
# The graph is changed before any of this; what the changed edge itself added to, or takes from, a message was worked
# out with the messages as they stood.


@kernel()
def push(world: NetworkArrays, message: Any, vertex: Any, payload: Any) -> None:
    """Another item; there is room for it."""
    level = np.int64(world.messages[message].level)
    item = world.free_item
    if item >= 0:
        world.free_item = world.items[item].next
    else:
        item = world.items_used
        world.items_used += 1
    world.items[item].message, world.items[item].vertex = message, vertex
    world.items[item].next = world.levels[level]
    world.levels[level] = item
    world.payloads[item] = payload
    world.lowest_level = min(world.lowest_level, level)


@kernel()
def has_items(world: NetworkArrays, wanted: Any) -> Any:
    """Whether there is room for so many items."""
    if world.items_used + wanted <= len(world.items):
        return True
    spare, item = len(world.items) - world.items_used, world.free_item
    while item >= 0 and spare < wanted:
        spare, item = spare + 1, np.int64(world.items[item].next)
    if spare < wanted:
        world.items_wanted = len(world.items) + wanted
    return spare >= wanted


@kernel()
def has_work(world: NetworkArrays) -> Any:
    """Whether there is an item; the lowest level is looked up on the way."""
    level = world.lowest_level
    while level < len(world.levels) and world.levels[level] < 0:
        level += 1
    world.lowest_level = level
    return level < len(world.levels)


@kernel()
def _pop(world: NetworkArrays) -> None:
    """Takes the next item out; its row is free."""
    level = world.lowest_level
    item = np.int64(world.levels[level])
    world.levels[level] = world.items[item].next
    world.items[item].next = world.free_item
    world.free_item = item


# --- one edge ---------------------------------------------------------------------------------------------------


@kernel()
def seed(world: NetworkArrays, site: Any, hearer: Any, speaker: Any, sign: Any) -> None:
    """Work for all messages that a changed edge carries from one end to the other."""
    while site >= 0:
        if world.sites[site].kind == SITE_MESSAGE:
            message = np.int64(world.sites[site].ref)
            value = spoken(world, message, hearer, speaker)
            if value != _0:
                if world.messages[message].kind == COUNT:
                    push(world, message, hearer, value if sign > 0 else _0 - value)
                else:
                    known = heard(world, message, hearer)
                    value &= ~known if sign > 0 else known
                    if value != _0:
                        push(world, message, hearer, value)
        site = np.int64(world.sites[site].next)


# --- items ------------------------------------------------------------------------------------------------------


@kernel()
def _still_said(world: NetworkArrays, message: Any, vertex: Any, wanted: Any) -> Any:
    """Which of these bits some neighbour still says."""
    run = find_run(world.graph, vertex, np.int64(world.messages[message].key))
    said = _0
    for place in range(run_length(world.graph, run)):
        said |= spoken(world, message, vertex, neighbour(world.graph, run, place)) & wanted
        if said == wanted:
            break
    return said


@kernel()
def _difference(world: NetworkArrays, message: Any, vertex: Any, payload: Any, sign: Any) -> Any:
    """The bits or the count by which an item changes a message."""
    if world.messages[message].kind == COUNT:
        return payload
    known = heard(world, message, vertex)
    if sign > 0:
        return payload & ~known
    payload &= known
    return _0 if payload == _0 else payload & ~_still_said(world, message, vertex, payload)


@kernel()
def _plan(world: NetworkArrays, message: Any, vertex: Any, changed: Any) -> Any:
    """Finds out where a change is carried on to: (how many plans, how many items they may lead to)."""
    count, total = 0, 0
    user = np.int64(world.messages[message].users)
    while user >= 0:
        if world.users[user].kind == USER_NODE:
            above = np.int64(world.nodes[world.users[user].ref].messages)
            part = np.int64(world.users[user].part)
            value = node_value(world, above, vertex, part, changed) if above >= 0 else _0
            while above >= 0 and value != _0:
                run = find_run(world.graph, vertex, np.int64(world.messages[above].key) ^ 1)
                if run >= 0:
                    world.plans[count, 0], world.plans[count, 1] = above, run
                    world.sayings[count] = value
                    count, total = count + 1, total + run_length(world.graph, run)
                above = np.int64(world.messages[above].next)
        user = np.int64(world.users[user].next)
    return count, total


@kernel()
def _join_groups(world: NetworkArrays, message: Any, vertex: Any, changed: Any, sign: Any) -> None:
    """Tells the groups that hear a message."""
    user = np.int64(world.messages[message].users)
    while user >= 0:
        if world.users[user].kind != USER_NODE:
            group, part = np.int64(world.users[user].ref), np.int64(world.users[user].part)
            slot = np.int64(world.parts[part].slot)
            join_from_slot(world, group, slot, vertex, part, changed, np.int64(-1), np.int64(-1), sign)
        user = np.int64(world.users[user].next)


@kernel()
def take(world: NetworkArrays, sign: Any) -> Any:
    """Takes one item and does it; there is room for a state. False, with nothing done, if there is none for what
    follows."""
    item = np.int64(world.levels[world.lowest_level])
    message, vertex = np.int64(world.items[item].message), np.int64(world.items[item].vertex)
    changed = _difference(world, message, vertex, world.payloads[item], sign)
    if changed == _0:
        _pop(world)
        return True
    count, total = _plan(world, message, vertex, changed)
    if not has_items(world, total):
        return False
    _pop(world)
    known = heard(world, message, vertex)
    if world.messages[message].kind == COUNT:
        note_size(world, np.float64(np.int64(known + changed)))
        set_heard(world, message, vertex, known + changed)
    else:
        set_heard(world, message, vertex, known | changed if sign > 0 else known & ~changed)
    for plan in range(count):  # work for vertices that may hear something anew, or no longer
        above, run, value = world.plans[plan, 0], world.plans[plan, 1], world.sayings[plan]
        counted = world.messages[above].kind == COUNT
        for place in range(run_length(world.graph, run)):
            hearer = neighbour(world.graph, run, place)
            bits = value
            if not counted:
                said = heard(world, above, hearer)
                bits = value & (~said if sign > 0 else said)
            if counted or bits != _0:
                push(world, above, hearer, bits)
    _join_groups(world, message, vertex, changed, sign)
    return True


# --- sites -------------------------------------------------------------------------------------------------------

# Whom a changed edge concerns: the sites under the seven keys that an edge can be asked by.
#
# For a core edge the whole core is joined from the changed edge, for a driving constant from the vertex at the other
# end. Both look at the graph with the edge in it and at messages as they were before: so they come first when an edge
# was added, and when one is removed they come while it is still there.

HEADS = 7


@kernel(inline=True)
def _compare_sites(world: NetworkArrays, place: Any, key: Any) -> Any:
    head = world.site_slots[place] - 1
    if head < 0:
        return FREE
    row = world.site_heads[head]
    return SAME_KEY if row.vertex == key[0] and row.key == key[1] else OTHER


_find_site = search(_compare_sites)


@kernel()
def first_site(world: NetworkArrays, vertex: Any, key: Any) -> Any:
    """The first site under a key, or -1. The hash is that of (vertex + 1, key + 4), as in `network.Sites`."""
    hashed = spread(pair_key(np.int64(vertex) + 1, np.int64(key) + 4))
    head = world.site_slots[_find_site(world, len(world.site_slots), hashed, (vertex, key))] - 1
    return np.int64(world.site_heads[head].first) if head >= 0 else np.int64(-1)


@kernel()
def _head(world: NetworkArrays, head: Any, row: Any) -> Any:
    """The first site under the n-th key that an edge is asked by."""
    key = 2 * np.int64(row[PREDICATE])
    if head == 0:
        return first_site(world, np.int64(-1), key)
    if head == 1:
        return first_site(world, np.int64(-1), key + 1)
    if head == 2:
        return first_site(world, np.int64(row[SUBJECT]), key)
    if head == 3:
        return first_site(world, np.int64(row[OBJECT]), key + 1)
    if head == 4:
        return first_site(world, np.int64(row[SUBJECT]), np.int64(-2))
    if head == 5:
        return first_site(world, np.int64(row[OBJECT]), np.int64(-3))
    return first_site(world, np.int64(-1), np.int64(-1))


@kernel()
def visit_sites(world: NetworkArrays, progress: Progress, edge: Any, sign: Any) -> Any:
    """Joins from every core edge and driving constant that an edge stands for; False where room was lacking: the next
    call goes on from there."""
    row = world.graph.edges[edge]
    while progress.head < HEADS:
        head = progress.head
        site = _head(world, head, row) if progress.site == -2 else progress.site
        far = np.int64(row[OBJECT] if head == 2 else row[SUBJECT])  # the end that a driving constant is not
        while site >= 0 and world.sites[site].kind != SITE_MESSAGE:  # joins stand before messages
            progress.site = site
            ref = np.int64(world.sites[site].ref)
            if world.sites[site].kind == SITE_DRIVER:
                join_from_driver(world, ref, far, edge, sign)
            elif not join_from_edge(world, ref, np.int64(world.sites[site].place), edge, sign):
                return False
            site = np.int64(world.sites[site].next)
        progress.head, progress.site = head + 1, -2
    return True


@kernel()
def seed_messages(world: NetworkArrays, edge: Any, sign: Any) -> None:
    """Work for every message that an edge carries, either way."""
    row = world.graph.edges[edge]
    subject, object = np.int64(row[SUBJECT]), np.int64(row[OBJECT])
    key = 2 * np.int64(row[PREDICATE])
    anywhere = np.int64(-1)
    seed(world, first_site(world, anywhere, key), subject, object, sign)
    seed(world, first_site(world, anywhere, key + 1), object, subject, sign)
    seed(world, first_site(world, subject, key), object, subject, sign)
    seed(world, first_site(world, object, key + 1), subject, object, sign)


# --- new parts of the network ------------------------------------------------------------------------------------

# What new parts of the network hear in the graph as it is, silently.
#
# The law: afterwards every message and component stands as if it had been there from the beginning. New messages are
# filled level by level, so what they are made of is there; of a message that was there before only new tags are
# filled. Then the places where new components hold are counted.

MASKS, MASK_ROWS = array_type(uint64, writable=True), rows(uint64, writable=True)
INT64_ROWS = rows(int64, writable=True)


@kernel()
def _hear(world: NetworkArrays, fresh: Any, bits: Any, place: Any, hearer: Any, speaker: Any) -> None:
    """Every fresh message of one key, of which this is the first place, takes in what an edge carries."""
    if place < 0:
        return
    key = world.messages[fresh[place]].key
    while place < len(fresh) and world.messages[fresh[place]].key == key:
        message = np.int64(fresh[place])
        value = spoken(world, message, hearer, speaker)
        if world.messages[message].kind == COUNT:
            if value != _0:
                set_heard(world, message, hearer, heard(world, message, hearer) + value)
        elif value & bits[place]:
            set_heard(world, message, hearer, heard(world, message, hearer) | (value & bits[place]))
        place += 1


@kernel((ADDRESS, NEW_INT32S, MASKS, INT64_ROWS, int64))
def populate(address: int, fresh: Any, bits: Any, places: Any, first: Any) -> Any:
    """Fills messages of one level, in order of their keys, each with its bits, from an edge on; the edge at which there
    was no room. `places` is a table from pairs (0, key) to where the messages of a key begin."""
    world = world_at(address)
    for edge in range(first, world.graph.numbered):
        if 2 * (world.state_count + 2 * len(fresh)) > len(world.entries):
            return edge
        if is_present(world.graph, edge):
            row = world.graph.edges[edge]
            subject, object, key = np.int64(row[SUBJECT]), np.int64(row[OBJECT]), 2 * np.int64(row[PREDICATE])
            _hear(world, fresh, bits, find_value(places, pair_key(0, key)), subject, object)
            _hear(world, fresh, bits, find_value(places, pair_key(0, key + 1)), object, subject)
    return world.graph.numbered


# --- components -------------------------------------------------------------------------------------------------


@kernel((ADDRESS, NEW_INT32S, NEW_INT32S))
def survey(address: int, firsts: Any, groups: Any) -> None:
    """Counts the places of fresh components of groups of one slot: wherever their first message is heard.

    `groups[firsts[m]:firsts[m + 1]]` are those whose first message is m.
    """
    world, none = world_at(address), np.int64(-1)
    for slot in range(len(world.entries)):
        if world.entries[slot, 1] != _0:
            key = np.int64(world.entries[slot, 0]) - 1
            message, vertex = key >> 32, key & 0xFFFFFFFF
            for place in range(firsts[message], firsts[message + 1]):
                join_from_slot(world, np.int64(groups[place]), np.int64(0), vertex, none, _0, none, none, np.int64(1))


@kernel((ADDRESS, NEW_INT32S))
def drive(address: int, driving: Any) -> None:
    """Counts the places of fresh components of driving constants."""
    world = world_at(address)
    for constant in driving:
        group = np.int64(world.constants[constant].group)
        key = np.int64(world.groups[group].driver_key) ^ 1
        run = find_run(world.graph, np.int64(world.constants[constant].constant), key)
        for place in range(run_length(world.graph, run)):
            vertex = neighbour(world.graph, run, place)
            join_from_driver(world, np.int64(constant), vertex, np.int64(-1), np.int64(1))


@kernel((ADDRESS, int64))
def list_all(address: int, group: int) -> Any:
    """Meets all solutions of a group: they are listed, or counted for its fresh components. Its holes are filled."""
    world, none = world_at(address), np.int64(-1)
    start = Start(np.int64(group), none, _0, none, none, none, np.int64(1))
    row = world.groups[group]
    return DONE if _join(world, start, np.int64(row.slots) + row.edges) else NEED_EVENTS


@kernel((MASK_ROWS, ADDRESS))
def rehash(old: Any, address: int) -> None:
    """Moves what is heard into a larger, empty table, the world's."""
    world = world_at(address)
    world.state_count = 0
    for slot in range(len(old)):
        if old[slot, 1] != _0:
            key = np.int64(old[slot, 0]) - 1
            set_heard(world, key >> 32, key & 0xFFFFFFFF, old[slot, 1])


# --- a batch of updates ------------------------------------------------------------------------------------------

# A batch of updates, one after the other: the graph is changed, and what that changes for the queries is reported.
#
# A run can stop wherever room may be lacking and be called again when there is more: `progress` says where it
# stands. It goes on from there as if it had never stopped, so a batch is nothing but its updates in order.

_BEGIN, _EXPIRE, _EXPAND, _REMOVE, _ADD, _END = range(6)  # stages of an update
_FIRST, _SITES, _SEEDS, _WORK, _DERIVED = range(5)  # stages of a reaction to one changed edge
_AHEAD = 12  # updates for which memory is asked for ahead


# --- one changed edge -------------------------------------------------------------------------------------------


@kernel()
def _begin_reaction(world: NetworkArrays, progress: Progress, edge: Any, sign: Any) -> None:
    """Writes the change down, and touches the queries that wait for just this edge."""
    row = world.graph.edges[edge]
    progress.subject, progress.predicate, progress.object = row[SUBJECT], row[PREDICATE], row[OBJECT]
    progress.sign = sign
    if world.keeps_journal:
        write_down(world, world.update, world.phase, CAME if sign > 0 else WENT, edge)
    _begin_round(world)
    link = np.int64(row[LINK] >> 1)
    if link:
        touch_queries(world, link - 1, -sign)
    progress.reaction, progress.head, progress.site = _SITES, 0, -2


@kernel()
def react(world: NetworkArrays, progress: Progress, edge: Any, sign: Any) -> Any:
    """Everything that an edge brings that was just added, or takes that is about to be removed (and then is)."""
    if progress.reaction == _FIRST:
        if not has_journal_room(world):
            return NEED_ROOM
        _begin_reaction(world, progress, edge, sign)
    if len(world.site_slots) > 1:
        if progress.reaction == _SITES:
            if not visit_sites(world, progress, edge, sign):
                return NEED_EVENTS
            progress.reaction = _SEEDS
        if progress.reaction == _SEEDS:
            if not has_items(world, len(world.messages)):
                return NEED_ROOM
            seed_messages(world, edge, sign)
    if progress.reaction < _WORK:
        if sign < 0:
            drop(world.graph, edge)
        progress.reaction = _WORK
    while has_work(world):
        if 2 * (world.state_count + 1) > len(world.entries):
            return NEED_STATES
        if not take(world, sign):
            return NEED_ROOM
    return DONE


@kernel()
def _follow(world: NetworkArrays, progress: Progress, edge: Any, sign: Any) -> Any:
    """Reacts to a changed edge, and stops once if others are derived from it."""
    if progress.reaction != _DERIVED:
        reason = react(world, progress, edge, sign)
        if reason != DONE:
            return reason
        for predicate in world.deriving:
            if predicate == progress.predicate:
                progress.reaction = _DERIVED
                return NEED_DERIVED
    progress.reaction = _FIRST
    return DONE


# --- one update -------------------------------------------------------------------------------------------------


@kernel()
def _flush(world: NetworkArrays, phase: Any) -> Any:
    """Ends a phase of an update, if anything was touched in it."""
    if world.touched_count and not flush(world, world.update, phase):
        return False
    world.phase = phase + 1
    return True


@kernel()
def _expire(world: NetworkArrays, progress: Progress) -> Any:
    while True:
        if progress.edge < 0:  # else it was taken out of the window before the run stopped
            progress.edge = next_due(world.graph)
            if progress.edge < 0:
                return DONE if _flush(world, 0) else NEED_EVENTS
        reason = _follow(world, progress, progress.edge, -1)
        if reason != DONE:
            return reason
        progress.edge = -1


@kernel()
def _others(world: NetworkArrays, run: Any, object: Any, changes: Any) -> Any:
    """The edges of a run that lead elsewhere; returns how many, room or not."""
    count = 0
    for place in range(run_length(world.graph, run)):
        edge = edge_at(world.graph, run, place)
        if world.graph.edges[edge, OBJECT] != object:
            if count < len(changes):
                changes[count] = edge
            count += 1
    return count


@kernel()
def _touching(world: NetworkArrays, vertex: Any, changes: Any) -> Any:
    """The edges that touch a vertex, each once, but for virtual ones; returns how many, room or not."""
    count, run = 0, first_run(world.graph, vertex)
    virtual = world.graph.first_virtual
    while run >= 0:
        key = world.graph.runs[run, KEY]
        if not virtual <= key >> 1 < virtual + VIRTUALS:
            for place in range(run_length(world.graph, run)):
                edge = edge_at(world.graph, run, place)
                if not key & 1 or world.graph.edges[edge, SUBJECT] != vertex:  # a loop stands in two runs
                    if count < len(changes):
                        changes[count] = edge
                    count += 1
        run = next_run(world.graph, run)
    return count


@kernel()
def _expand(world: NetworkArrays, row: Any) -> Any:
    """Finds the edges that an update removes; returns how many, room or not, or -1 if adjacency is needed for it."""
    op = world.batch_op[row]
    subject, predicate, object = world.batch_subject[row], world.batch_predicate[row], world.batch_object[row]
    changes = world.changes
    if op == ADD_EDGE:
        return 0
    if op == REMOVE_EDGE:
        edge = find_edge(world.graph, subject, predicate, object)
        changes[0] = edge
        return 1 if edge >= 0 and is_present(world.graph, edge) else 0
    if len(world.graph.runs) == 0:
        return -1
    if op == SET_EDGE:
        return _others(world, find_run(world.graph, np.int64(subject), 2 * np.int64(predicate)), object, changes)
    return _touching(world, subject, changes)


@kernel()
def _add(world: NetworkArrays, progress: Progress) -> Any:
    """Adds the edge of an update, or renews it."""
    row = progress.update
    if world.batch_op[row] != ADD_EDGE and world.batch_op[row] != SET_EDGE:
        return DONE
    if progress.edge < 0:
        subject, predicate, object = world.batch_subject[row], world.batch_predicate[row], world.batch_object[row]
        edge = find_edge(world.graph, subject, predicate, object)
        known = Stamp(world.batch_weight[row], world.batch_at[row], world.batch_seq[row], world.graph.accepted)
        if edge >= 0 and is_present(world.graph, edge):
            if not has_journal_room(world):
                return NEED_ROOM
            if world.keeps_journal:
                write_down_weight(world, row, world.phase, edge, known.weight)
            renew(world.graph, edge, known)
            return DONE
        progress.edge = put(world.graph, subject, predicate, object)
        stamp_new(world.graph, progress.edge, known)
    reason = _follow(world, progress, progress.edge, 1)
    if reason == DONE:
        progress.edge = -1
    return reason


@kernel()
def _update(world: NetworkArrays, progress: Progress) -> Any:
    """One update, from wherever it stands to its end; or the reason why it cannot go on."""
    row = progress.update
    if progress.stage == _BEGIN:
        if not has_room(world.graph):
            return NEED_GRAPH
        tick(world.graph, world.batch_at[row])
        world.update, world.phase = row, 0
        progress.stage = _EXPIRE
    if progress.stage == _EXPIRE:
        reason = _expire(world, progress)
        if reason != DONE:
            return reason
        progress.stage = _EXPAND
    if progress.stage == _EXPAND:
        count = _expand(world, row)
        if count < 0:
            return NEED_ADJACENCY
        if count > len(world.changes):
            world.changes_wanted = count
            return NEED_ROOM
        progress.changes, progress.change, progress.stage = count, 0, _REMOVE
    if progress.stage == _REMOVE:
        while progress.change < progress.changes:
            reason = _follow(world, progress, np.int64(world.changes[progress.change]), -1)
            if reason != DONE:
                return reason
            progress.change += 1
        progress.stage = _ADD
    if progress.stage == _ADD:
        reason = _add(world, progress)
        if reason != DONE:
            return reason
        progress.stage = _END
    if not _flush(world, 1):
        return NEED_EVENTS
    progress.stage = _BEGIN
    return DONE


@kernel()
def _alter(world: NetworkArrays, progress: Progress) -> Any:
    """Adds or removes one derived edge, the one that the run names, in the midst of an update."""
    sign = progress.sign
    if progress.edge < 0:
        subject, predicate, object = (
            np.int32(progress.subject),
            np.int32(progress.predicate),
            np.int32(progress.object),
        )
        edge = find_edge(world.graph, subject, predicate, object)
        if (edge >= 0 and is_present(world.graph, edge)) == (sign > 0):
            return DONE
        if not has_room(world.graph):
            return NEED_GRAPH
        if sign > 0:
            edge = put(world.graph, subject, predicate, object)
        progress.edge = edge
    reason = react(world, progress, progress.edge, sign)
    if reason == DONE:
        progress.reaction = _FIRST
    return reason


@kernel((ADDRESS, int64))
def run(address: int, begins: Any) -> Any:
    """Applies updates, from the first if it `begins`, else from where it stands; DONE after the last one, else what is
    lacking.

    After an update that leaves much to report, or in which a join was given up, it pauses.

    A run that stands before the first update only changes the derived edge that it names.
    """
    world = world_at(address)
    progress, graph, count = world.progress, world.graph, len(world.batch_op)
    subjects, predicates, objects = world.batch_subject, world.batch_predicate, world.batch_object
    if begins:
        _begin_run(world, progress)
    if progress.update < 0:
        return _alter(world, progress)
    while progress.update < count:
        far, near = progress.update + _AHEAD, progress.update + _AHEAD // 2
        if far < count:
            prefetch_first(graph, subjects[far], predicates[far], objects[far])
            prefetch_second(graph, subjects[near], predicates[near], objects[near])
        reason = _update(world, progress)
        if reason != DONE:
            return reason
        progress.update += 1
        if world.event_count >= world.most_events or world.given_up:
            return PAUSED
    return DONE


@kernel()
def _begin_run(world: NetworkArrays, progress: Progress) -> None:
    """A run stands at the beginning of a batch."""
    progress.update = progress.stage = progress.reaction = progress.head = 0
    progress.edge, progress.site = -1, -2
    world.candidates = 0


# --- a batch without variables -----------------------------------------------------------------------------------

# Updates where no query asks for more than whole edges: no adjacency, no window, no weights, no variables.
#
# The same as `run`, without everything that is not needed then: an update costs one look-up.

_QUICK_AHEAD = 16  # updates for which memory is asked for ahead


@kernel(inline=True)
def _quick_add(world: NetworkArrays, graph: GraphArrays, row: Any, subject: Any, predicate: Any, object: Any) -> None:
    tag = edge_tag(subject, predicate, object)
    place = slot_of(graph, tag, subject, predicate, object)
    edge = (graph.slots[place] & EDGE_NUMBER) - 1
    if edge < 0:
        edge = graph.free_edge - 1
        if edge >= 0:
            graph.free_edge = graph.edges[edge, SUBJECT]
        else:
            edge = graph.numbered
            graph.numbered = edge + 1
        graph.slots[place] = (tag << 32) | (edge + 1)
        graph.taken += 1
        graph.edges[edge, SUBJECT], graph.edges[edge, PREDICATE] = subject, predicate
        graph.edges[edge, OBJECT], graph.edges[edge, LINK] = object, PRESENT
        graph.live += 1
    elif not graph.edges[edge, LINK] & PRESENT:
        graph.edges[edge, LINK] |= PRESENT
        graph.live += 1
        touch_queries(world, np.int64(graph.edges[edge, LINK] >> 1) - 1, np.int64(-1))
    else:
        return
    if world.keeps_journal:
        write_down(world, row, 1, CAME, edge)


@kernel(inline=True)
def _quick_remove(
    world: NetworkArrays, graph: GraphArrays, row: Any, subject: Any, predicate: Any, object: Any
) -> None:
    place = slot_of(graph, edge_tag(subject, predicate, object), subject, predicate, object)
    edge = (graph.slots[place] & EDGE_NUMBER) - 1
    if edge >= 0 and graph.edges[edge, LINK] & PRESENT:
        touch_queries(world, np.int64(graph.edges[edge, LINK] >> 1) - 1, np.int64(1))
        if world.keeps_journal:
            write_down(world, row, 1, WENT, edge)
        drop(graph, edge)


@kernel((ADDRESS, int64))
def run_quick(address: int, begins: Any) -> Any:
    """Applies updates as `run` does; NEED_ADJACENCY at one that asks for more than an edge."""
    world = world_at(address)
    graph, progress, ops = world.graph, world.progress, world.batch_op
    subjects, predicates, objects = world.batch_subject, world.batch_predicate, world.batch_object
    if begins:
        _begin_run(world, progress)
    for row in range(progress.update, len(ops)):
        progress.update = row
        far, near = row + _QUICK_AHEAD, row + _QUICK_AHEAD // 2
        if far < len(ops):
            prefetch_edge(graph, subjects[far], predicates[far], objects[far])
            prefetch_row(graph, subjects[near], predicates[near], objects[near])
        if progress.stage == 0:
            if not has_room(graph):
                return NEED_GRAPH
            if ops[row] > REMOVE_EDGE:
                return NEED_ADJACENCY
            if not has_journal_room(world):
                return NEED_ROOM
            tick(graph, world.batch_at[row])
            if ops[row] == ADD_EDGE:
                _quick_add(world, graph, row, subjects[row], predicates[row], objects[row])
            else:
                _quick_remove(world, graph, row, subjects[row], predicates[row], objects[row])
        if world.touched_count:
            progress.stage = 1
            if not flush(world, row, np.int64(1)):
                return NEED_EVENTS
            progress.stage = 0
    progress.update = len(ops)
    return DONE
