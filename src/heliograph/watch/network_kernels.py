"""The query network in kernels. The path of an update, from the end of this file to its beginning: `run` takes the next
update and changes the graph edge by edge; `react` joins the cores that a changed edge stands in (the join), and lets
messages carry the change on from vertex to vertex; both lead to solutions of a core, which let components hold or not,
and touch queries; at the end of a phase the touched queries write events.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, int32, int64, uint64

from heliograph.compiled.arrays import array, array_at, rows
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import FREE, OTHER, find_row, find_value, pair_key, search, spread
from heliograph.compiled.hashmap import SAME as SAME_KEY
from heliograph.filter.layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.watch import graph_kernels
from heliograph.watch.graph_kernels import EDGE_NUMBER, edge_tag, prefetch_edge, prefetch_row, slot_of
from heliograph.watch.layout import (
    ACCEPTED,
    ADD_EDGE,
    AMONG_NODE,
    ANY_NODE,
    B_COUNT,
    B_STEPS,
    C_CONSTANT,
    C_FIRST,
    C_GROUP,
    C_NEXT,
    C_ROUND,
    C_TRIED,
    CANDIDATES,
    CHECK,
    CHECK_BITS,
    CLOCK,
    COUNT,
    CURSOR_OTHER,
    CURSOR_PLACE,
    CURSOR_RUN,
    DEPTH,
    DONE,
    E_OBJECT,
    E_PREDICATE,
    E_SUBJECT,
    EACH_EDGE,
    EDGES,
    ENTER_HIGH,
    ENTER_LOW,
    EVENTS,
    F_NEXT,
    F_TERM,
    FILLED,
    FILLINGS,
    FLAT,
    FREE_EDGE,
    FREE_ITEM,
    FULL,
    G_CONSTANTS,
    G_DRIVER_KEY,
    G_DRIVER_SLOT,
    G_EDGES,
    G_FIRST_CONSTANT,
    G_FIRST_EDGE,
    G_FIRST_PART,
    G_HOLES,
    G_KIND,
    G_PARTS,
    G_ROUND,
    G_SHARED,
    G_SLOTS,
    G_STARTS,
    G_TRIED,
    GIVEN,
    GIVEN_UP,
    H_FIRST,
    H_KEY,
    H_VERTEX,
    HEAP,
    HELD,
    IDLE_LEVEL,
    IN,
    IS_NODE,
    J_CHANGE,
    J_OBJECT,
    J_PHASE,
    J_PREDICATE,
    J_SUBJECT,
    J_UPDATE,
    JOURNALLED,
    K_BITS,
    K_FRESH,
    K_NEXT,
    K_POSTINGS,
    KEPT,
    KEY,
    L_ITEM,
    L_NEXT,
    LAST_STAMP,
    LATEST,
    LENGTH,
    LINK,
    LIVE,
    LOWEST,
    M_KEY,
    M_KIND,
    M_LEVEL,
    M_NEXT,
    M_NODE,
    M_REF,
    M_USERS,
    MOST_EVENTS,
    MOST_TRIED,
    N_FIRST,
    N_MESSAGES,
    N_PARTS,
    NEED_ADJACENCY,
    NEED_CHANGES,
    NEED_DERIVED,
    NEED_GRAPH,
    NEED_JOURNAL,
    NEED_REPORTS,
    NEED_STATES,
    NEED_WORK,
    NEEDED,
    NO_LIMIT,
    NONE,
    O_COUNT,
    O_FIRST,
    OBJECT,
    ONLY_FRESH,
    OUT,
    P_CHANGE,
    P_CHANGES,
    P_EDGE,
    P_HEAD,
    P_KIND,
    P_MAP,
    P_OBJECT,
    P_PREDICATE,
    P_REACTION,
    P_REF,
    P_SIGN,
    P_SITE,
    P_SLOT,
    P_STAGE,
    P_SUBJECT,
    P_UPDATE,
    PART_FILLS,
    PART_HEARS,
    PART_TEST,
    PARTS,
    PAUSED,
    PHASE,
    PREDICATE,
    PRESENT,
    Q_BEFORE,
    Q_COUNT,
    Q_FACTORS,
    Q_KIND,
    Q_MISSING,
    Q_STAMP,
    Q_WATCH,
    QUEUE,
    REMOVE_EDGE,
    ROUND,
    ROWS,
    S_KIND,
    S_NEXT,
    S_PLACE,
    S_REF,
    SAME,
    SET_EDGE,
    SITE_CORE,
    SITE_DRIVER,
    SITE_MESSAGE,
    STAMP,
    STAY_HIGH,
    STAY_LOW,
    STRUCTURES,
    SUBJECT,
    T_CHAINS,
    T_EDGE,
    T_GIVEN,
    T_HOLE,
    T_KNOWN,
    T_OTHER,
    TAKEN,
    TOO_MANY,
    TOUCHED,
    TRIED,
    U_KIND,
    U_NEXT,
    U_PART,
    U_REF,
    UPDATE,
    USED,
    USER_NODE,
    V_COUNT,
    V_ROW,
    V_TRUTH,
    VALUES,
    VIRTUAL,
    VIRTUALS,
    W_KIND,
    W_PHASE,
    W_REF,
    W_SIGN,
    W_UPDATE,
    W_VALUE,
    EventArrays,
    GraphArrays,
    JoinArrays,
    JournalArrays,
    NetworkArrays,
    RunArrays,
    Stamp,
    StateArrays,
    UpdateArrays,
    WindowArrays,
    WorkArrays,
    fields_of,
)
from heliograph.watch.metrics.thresholds import CAME, CHANGED, WENT

# --- the world --------------------------------------------------------------------------------------------------

# Everything that these kernels work on is one table of addresses and lengths: `world`. What is taken from it by name is
# an array again, at the cost of loading its address.

WORLD = array(int64)
_0, _1 = np.uint64(0), np.uint64(1)

_PLACES = [(each, field) for each in STRUCTURES for field in fields_of(each)]


def _at(structure: type[tuple[Any, ...]], *names: str) -> Any:
    """Functions that take arrays of a structure, as it declares them, out of the world."""
    found = [
        array_at(2 * place, from_dtype(field.dtype), field.columns)
        for name in names
        for place, (each, field) in enumerate(_PLACES)
        if each is structure and field.name == name
    ]
    return found[0] if len(found) == 1 else found


messages, nodes, ones, parts, maps = _at(NetworkArrays, "messages", "nodes", "ones", "parts", "maps")
users, sites, site_slots, site_heads = _at(NetworkArrays, "users", "sites", "site_slots", "site_heads")
anchors, groups, core_edges, steps, starts = _at(NetworkArrays, "anchors", "groups", "edges", "steps", "starts")
constants, constant_slots, holes, fillings = _at(NetworkArrays, "constants", "constant_slots", "holes", "fillings")
components, tag_bits, values, queries = _at(NetworkArrays, "components", "bits", "values", "queries")
links, limits, tests, atoms, banks = _at(NetworkArrays, "links", "limits", "tests", "atoms", "banks")
domains, verdicts = _at(NetworkArrays, "domains", "verdicts")
entries, marks, state_counts = _at(StateArrays, "entries", "marks", "counts")
items, payloads, levels, plans, sayings, work_state = _at(WorkArrays, *WorkArrays._fields)
events, solutions, touched, report_state = _at(EventArrays, "events", "rows", "touched", "state")
path, masks, cursors = _at(JoinArrays, "path", "masks", "cursors")
batch_seq, batch_op, batch_subject, batch_predicate = _at(UpdateArrays, "seq", "op", "subject", "predicate")
batch_object, batch_weight, batch_at, deriving = _at(UpdateArrays, "object", "weight", "at", "deriving")
run_progress, run_changes = _at(RunArrays, "progress", "changes")
journal, journal_weights, journal_state = _at(JournalArrays, "rows", "weights", "state")
_slots, edges, _places, _heads, runs, first_runs = _at(
    GraphArrays, "slots", "edges", "places", "heads", "runs", "first"
)
_pool, _free, edge_weights, _times, counters = _at(GraphArrays, "pool", "free", "weights", "times", "counters")
_heap, _queue, clocks = _at(WindowArrays, "heap", "queue", "clocks")


@kernel(inline=True)
def graph_of(world: Any) -> Any:
    """Only what its user looks at is loaded."""
    return GraphArrays(
        _slots(world),
        edges(world),
        _places(world),
        _heads(world),
        runs(world),
        first_runs(world),
        _pool(world),
        _free(world),
        edge_weights(world),
        _times(world),
        counters(world),
    )


@kernel(inline=True)
def _window(world: Any) -> Any:
    return WindowArrays(_heap(world), _queue(world), clocks(world))


@kernel()
def find_edge(world: Any, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge that is there or waited for, or -1."""
    graph, tag = graph_of(world), graph_kernels.edge_tag(subject, predicate, object)
    place = graph_kernels.slot_of(graph, tag, subject, predicate, object)
    return (graph.slots[place] & EDGE_NUMBER) - 1


@kernel(inline=True)
def is_present(world: Any, edge: Any) -> Any:
    return graph_kernels.is_present(graph_of(world), edge)


@kernel()
def find_run(world: Any, vertex: Any, key: Any) -> Any:
    """The run of a vertex's edges of one property in one direction, or -1 if there are none."""
    graph = graph_of(world)
    run = graph_kernels.run_in(graph, graph_kernels.head_of(graph, vertex, key))
    return run if run < 0 or graph.runs[run, LENGTH] else np.int64(-1)


@kernel(inline=True)
def run_length(world: Any, run: Any) -> Any:
    return graph_kernels.run_length(graph_of(world), run)


@kernel(inline=True)
def neighbour(world: Any, run: Any, place: Any) -> Any:
    return graph_kernels.neighbour(graph_of(world), run, place)


@kernel(inline=True)
def edge_at(world: Any, run: Any, place: Any) -> Any:
    return graph_kernels.edge_at(graph_of(world), run, place)


@kernel(inline=True)
def first_run(world: Any, vertex: Any) -> Any:
    return graph_kernels.first_run(graph_of(world), vertex)


@kernel(inline=True)
def next_run(world: Any, run: Any) -> Any:
    return graph_kernels.next_run(graph_of(world), run)


@kernel(inline=True)
def prefetch_first(world: Any, row: Any) -> None:
    """Asks for the memory that an update to come begins with."""
    subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
    graph_kernels.prefetch_edge(graph_of(world), subject, predicate, object)
    if len(_heads(world)):
        graph_kernels.prefetch_ends(graph_of(world), subject, predicate, object)


@kernel(inline=True)
def prefetch_second(world: Any, row: Any) -> None:
    """Asks for what that leads to."""
    subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
    graph_kernels.prefetch_row(graph_of(world), subject, predicate, object)
    if len(_heads(world)):
        graph_kernels.prefetch_runs(graph_of(world), subject, predicate, object)


@kernel()
def put(world: Any, subject: Any, predicate: Any, object: Any) -> Any:
    """Adds an edge that is not there; its number."""
    return graph_kernels.put(graph_of(world), subject, predicate, object)


@kernel()
def drop(world: Any, edge: Any) -> None:
    """Takes an edge away."""
    graph_kernels.drop(graph_of(world), edge)


@kernel(inline=True)
def has_room(world: Any) -> Any:
    """Whether another edge can be added, and noted in the window."""
    return graph_kernels.has_room(graph_of(world)) and graph_kernels.window_has_room(_window(world))


@kernel(inline=True)
def tick(world: Any, at: Any) -> None:
    graph_kernels.tick(_window(world), at)


@kernel()
def next_due(world: Any) -> Any:
    """The next edge that is too old, or -1."""
    if clocks(world)[HEAP] == 0 and clocks(world)[QUEUE] == 0:
        return np.int64(-1)
    return graph_kernels.next_due(_window(world), graph_of(world))


@kernel()
def stamp_new(world: Any, edge: Any, stamp: Stamp) -> None:
    """A fresh edge takes the weight and the times it is given."""
    if len(edge_weights(world)) or len(_times(world)):
        graph_kernels.stamp_new(graph_of(world), _window(world), edge, stamp)


@kernel()
def renew(world: Any, edge: Any, stamp: Stamp) -> None:
    """A present edge takes the weight and the times it is given."""
    if len(edge_weights(world)) or len(_times(world)):
        graph_kernels.renew(graph_of(world), _window(world), edge, stamp)


# --- tests of terms ----------------------------------------------------------------------------------------------

# Whether a term passes a test: an interval, or several, of its domain.
#
# A term in doubt (its coordinate is rounded and ties with an end, or it is an xsd:float, which is promoted
# differently against each kind of number) was checked outside, exactly, and what was found stands in a table.

_FLOAT = 11  # sparql.regions.Domain.FLOAT
_LOW_OPEN, _HIGH_OPEN, _ROUNDED = 1, 2, 4  # flags of filter.layout's atoms


@kernel()
def _verdict(world: Any, test: Any, term: Any) -> Any:
    """What was found outside; -1 where nothing was."""
    return find_value(verdicts(world), pair_key(test, term))


@kernel()
def _within(world: Any, atom: Any, at: Any) -> Any:
    """Whether a coordinate lies in an interval of its domain: 0 no, 1 yes, 2 by a tie with a rounded end."""
    low, high = atoms(world)[atom, LOW], atoms(world)[atom, HIGH]
    if at < low or at > high:
        return 0
    if at > low and at < high:
        return 1
    flags = np.int64(atoms(world)[atom, ATOM_FLAGS])
    if flags & _ROUNDED:
        return 2
    return 0 if (at == low and flags & _LOW_OPEN) or (at == high and flags & _HIGH_OPEN) else 1


@kernel()
def passes(world: Any, test: Any, term: Any) -> Any:
    """Whether a term passes a test."""
    code = np.int64(domains(world)[term, DOMAIN_CODE])
    at = domains(world)[term, COORDINATE]
    doubtful = code >= ROUNDED_CODE or code == _FLOAT
    for atom in range(tests(world)[test], tests(world)[test + 1]):
        if np.int64(atoms(world)[atom, DOMAIN]) == code % ROUNDED_CODE:
            found = _within(world, atom, at)
            if found == 1 and not doubtful:
                return True
            doubtful = doubtful or found == 2
    return doubtful and _verdict(world, test, term) == 1


@kernel()
def banked(world: Any, bank: Any, term: Any) -> Any:
    """Which tests of a bank a term passes, a bit each."""
    answer = np.uint64(0)
    for place in range(64):
        test = banks(world)[bank, place]
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


# --- messages ---------------------------------------------------------------------------------------------------


@kernel(inline=True)
def state_slot(world: Any, message: Any, vertex: Any) -> Any:
    """Where a message to a vertex stands, or the free place where it would."""
    return find_row(entries(world), np.uint64(pair_key(message, vertex)))


@kernel(inline=True)
def heard(world: Any, message: Any, vertex: Any) -> Any:
    """The value of a message at a vertex."""
    if not marks(world)[vertex] >> np.uint64(message & 63) & _1:
        return _0
    return entries(world)[state_slot(world, message, vertex), 1]


@kernel(inline=True)
def set_heard(world: Any, message: Any, vertex: Any, value: Any) -> None:
    """Sets the value of a message at a vertex; there is room for one more."""
    slot = state_slot(world, message, vertex)
    if entries(world)[slot, 0] == _0:
        entries(world)[slot, 0] = np.uint64(pair_key(message, vertex))
        state_counts(world)[0] += 1
        marks(world)[vertex] |= _1 << np.uint64(message & 63)
    entries(world)[slot, 1] = value


# --- nodes ------------------------------------------------------------------------------------------------------


@kernel()
def part_mask(world: Any, part: Any, vertex: Any) -> Any:
    """What a part hears at a vertex, in tags of its own; a test has the one tag 0."""
    kind, ref = parts(world)[part, P_KIND], np.int64(parts(world)[part, P_REF])
    if kind == PART_HEARS:
        return heard(world, ref, vertex)
    if kind == PART_TEST:
        return _1 if passes(world, ref, vertex) else _0
    if kind == PART_FILLS:
        found = find_value(constant_slots(world), pair_key(np.int64(FILLED) + ref, vertex))
        return _1 if found >= 0 else _0
    return banked(world, ref, vertex)


@kernel()
def mapped(world: Any, part: Any, mask: Any, tags: Any) -> Any:
    """What a part hears, in the tags of its node."""
    how = parts(world)[part, P_MAP]
    if how == SAME:
        return mask & tags
    if how == FLAT:
        return tags if mask else _0
    answer, bit = _0, _1
    for tag in range(64):
        if tags & bit and (mask >> np.uint64(maps(world)[how + tag])) & _1:
            answer |= bit
        bit <<= _1
    return answer


@kernel()
def node_bits(world: Any, node: Any, vertex: Any, skipped: Any, bits: Any) -> Any:
    """What a node says at a vertex; of the part `skipped` (or -1) only these bits are taken."""
    tags = ones(world)[node]
    answer = tags if skipped < 0 else mapped(world, skipped, bits, tags)
    first = np.int64(nodes(world)[node, N_FIRST])
    for part in range(first, first + nodes(world)[node, N_PARTS]):
        if answer == _0:
            break
        if part != skipped:
            answer &= mapped(world, part, part_mask(world, part, vertex), tags)
    return answer


@kernel(inline=True)
def note_size(world: Any, size: Any) -> None:
    """Remembers that a product was too large to be reported."""
    if size >= MOST or size <= -MOST:
        report_state(world)[TOO_MANY] = 1


@kernel()
def node_count(world: Any, node: Any, vertex: Any, skipped: Any, count: Any) -> Any:
    """How often a node can be completed at a vertex; in place of the part `skipped` (or -1) stands `count`."""
    answer = _1 if skipped < 0 else count
    first, size = np.int64(nodes(world)[node, N_FIRST]), np.float64(np.int64(answer))
    for part in range(first, first + nodes(world)[node, N_PARTS]):
        if answer == _0 and size == 0.0:
            break
        if part != skipped:
            factor = part_mask(world, part, vertex)
            answer, size = answer * factor, size * np.float64(np.int64(factor))
    note_size(world, size)
    return answer


@kernel()
def node_value(world: Any, message: Any, vertex: Any, skipped: Any, value: Any) -> Any:
    """What the node of a message says, by the message's kind."""
    node = np.int64(messages(world)[message, M_NODE])
    if messages(world)[message, M_KIND] == COUNT:
        return node_count(world, node, vertex, skipped, value)
    return node_bits(world, node, vertex, skipped, value)


@kernel()
def spoken(world: Any, message: Any, hearer: Any, speaker: Any) -> Any:
    """What one edge, from the vertex that hears to the one that speaks, adds to a message."""
    node = messages(world)[message, M_NODE]
    if node >= 0:
        return node_value(world, message, speaker, np.int64(-1), _0)
    if node == ANY_NODE:
        return _1
    ref = messages(world)[message, M_REF]
    if node == IS_NODE:
        return _1 if speaker == ref else _0
    if node == AMONG_NODE:
        bit = find_value(anchors(world), pair_key(ref, speaker))
        return _0 if bit < 0 else _1 << np.uint64(bit)
    return _1 if speaker == hearer else _0


# --- the journal -------------------------------------------------------------------------------------------------

# What became of edges, written down for the metrics of the graph.
#
# The law: while a journal is kept, every change of an edge that is no derived one stands in it once, in order. Room
# is asked for before anything is done, so a run that lacks it can go on from where it stands.


@kernel(inline=True)
def keeps_journal(world: Any) -> Any:
    return journal_state(world)[KEPT] != 0


@kernel(inline=True)
def has_journal_room(world: Any) -> Any:
    """Whether another change can be written down, if it has to be."""
    return not keeps_journal(world) or journal_state(world)[JOURNALLED] < len(journal(world))


@kernel()
def write_down(world: Any, update: Any, phase: Any, change: Any, edge: Any) -> None:
    """Writes down what became of an edge, unless it is a derived one; there is room."""
    state, known = journal_state(world), edges(world)[edge]
    derived = counters(world)[VIRTUAL] <= known[PREDICATE] < counters(world)[VIRTUAL] + VIRTUALS
    if derived:
        return
    row = journal(world)[state[JOURNALLED]]
    row[J_UPDATE], row[J_PHASE], row[J_CHANGE] = update, phase, change
    row[J_SUBJECT], row[J_PREDICATE], row[J_OBJECT] = known[SUBJECT], known[PREDICATE], known[OBJECT]
    journal_weights(world)[state[JOURNALLED]] = edge_weights(world)[edge] if len(edge_weights(world)) else np.nan
    state[JOURNALLED] += 1


@kernel()
def write_down_weight(world: Any, update: Any, phase: Any, edge: Any, weight: Any) -> None:
    """The same for a present edge that is given a weight; the edge has not taken it yet."""
    if np.isnan(weight) or len(edge_weights(world)) == 0:
        return
    if weight != edge_weights(world)[edge]:
        write_down(world, update, phase, CHANGED, edge)
        journal_weights(world)[journal_state(world)[JOURNALLED] - 1] = weight


# --- queries that a change touches -------------------------------------------------------------------------------

# Queries that a change touches, and what is reported of them once the change is done.
#
# A query is touched when one of its components begins or ceases to hold, or when a count in it changes. What it was
# before is remembered at the first touch of a phase, so that what comes and goes within the phase is never reported.


@kernel()
def touch(world: Any, query: Any) -> None:
    """Notes a query that is about to change, once a phase, with whether it holds."""
    if queries(world)[query, Q_STAMP] == report_state(world)[STAMP]:
        return
    queries(world)[query, Q_STAMP] = report_state(world)[STAMP]
    queries(world)[query, Q_BEFORE] = queries(world)[query, Q_MISSING] == 0
    touched(world)[report_state(world)[TOUCHED]] = query
    report_state(world)[TOUCHED] += 1
    report_state(world)[CANDIDATES] += 1


@kernel()
def touch_queries(world: Any, link: Any, missing: Any) -> None:
    """Adds to the number of missing components of all queries in a chain of links."""
    while link >= 0:
        query = np.int64(links(world)[link, L_ITEM])
        touch(world, query)
        queries(world)[query, Q_MISSING] += missing
        link = np.int64(links(world)[link, L_NEXT])


@kernel()
def hold_more(world: Any, component: Any, sign: Any) -> None:
    """A component holds in one place more or less."""
    before = values(world)[component]
    values(world)[component] = before + sign
    if sign > 0 and before == 0:
        touch_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(-1))
    elif sign < 0 and before == 1:
        touch_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(1))


@kernel()
def count_more(world: Any, component: Any, count: Any) -> None:
    """A component is counted higher or lower."""
    values(world)[component] += np.int64(count)
    note_size(world, np.float64(values(world)[component]))
    touch_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(0))


# --- at the end of a phase --------------------------------------------------------------------------------------


@kernel()
def counted(world: Any, query: Any) -> Any:
    """The count of a query: the product of its components, if all its concrete edges are there."""
    if queries(world)[query, Q_MISSING] > 0:
        return np.int64(0)
    total, size, link = np.int64(1), 1.0, queries(world)[query, Q_FACTORS]
    while link >= 0:
        total *= values(world)[links(world)[link, L_ITEM]]
        size *= np.float64(values(world)[links(world)[link, L_ITEM]])
        link = links(world)[link, L_NEXT]
    note_size(world, size)
    return total


@kernel()
def _write(world: Any, update: Any, phase: Any, kind: Any, ref: Any, sign: Any, value: Any) -> None:
    event = events(world)[report_state(world)[EVENTS]]
    event[W_UPDATE], event[W_PHASE], event[W_KIND] = update, phase, kind
    event[W_REF], event[W_SIGN], event[W_VALUE] = ref, sign, value
    report_state(world)[EVENTS] += 1


@kernel()
def _report_count(world: Any, query: Any, update: Any, phase: Any) -> None:
    known, count = limits(world)[query], counted(world, query)
    if queries(world)[query, Q_WATCH]:
        if count != known[LATEST]:
            _write(world, update, phase, V_COUNT, query, 0, count)
    else:
        holds = known[ENTER_LOW] <= count <= known[ENTER_HIGH]
        holds = holds or (known[HELD] != 0 and known[STAY_LOW] <= count <= known[STAY_HIGH])
        if holds != (known[HELD] != 0):
            known[HELD] = holds
            _write(world, update, phase, V_COUNT, query, 1 if holds else -1, count)
    known[LATEST] = count


@kernel()
def flush(world: Any, update: Any, phase: Any) -> Any:
    """Tells what has changed in a phase and begins another; False, with nothing done, if there is no room for it."""
    state = report_state(world)
    if state[EVENTS] + state[TOUCHED] > len(events(world)):
        return False
    for place in range(state[TOUCHED]):
        query = np.int64(touched(world)[place])
        if queries(world)[query, Q_KIND] == Q_COUNT:
            _report_count(world, query, update, phase)
        else:
            holds = queries(world)[query, Q_MISSING] == 0
            if holds != (queries(world)[query, Q_BEFORE] != 0):
                _write(world, update, phase, V_TRUTH, query, 1 if holds else -1, 0)
    state[TOUCHED] = 0
    _begin_phase(world)
    return True


@kernel()
def _begin_phase(world: Any) -> None:
    """No query has the next stamp; as `Runner.forget`."""
    state = report_state(world)
    state[STAMP] += 1
    if state[STAMP] > LAST_STAMP:
        for query in range(len(queries(world))):
            queries(world)[query, Q_STAMP] = 0
        state[STAMP] = 1


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
def note_solution(world: Any, start: Start) -> Any:
    """Takes note of a solution; False if it was to be listed and there was no room."""
    kind = groups(world)[start.group, G_KIND]
    if kind == ROWS:
        return _list(world, start)
    _note_components(world, start, _change(world, start) if kind == COUNT else start.sign)
    return True


# --- masks and counts -------------------------------------------------------------------------------------------


@kernel()
def _change(world: Any, start: Start) -> Any:
    """By how much a solution of the core changes a count: what its parts hear multiplied. Of the changed part that is
    what it changed by; of a changed edge the sign says it."""
    total, size = _1, 1.0
    for part in range(groups(world)[start.group, G_PARTS]):
        total, size = total * masks(world)[part], size * np.float64(np.int64(masks(world)[part]))
    note_size(world, size)
    return np.int64(total) if start.part >= 0 else start.sign * np.int64(total)


@kernel()
def _note_components(world: Any, start: Start, change: Any) -> None:
    """Finds what a solution of the core concerns: all components, or the driving constants that it leads to."""
    group = start.group
    key = np.int64(groups(world)[group, G_DRIVER_KEY])
    if start.constant >= 0:
        _note_constant(world, start, start.constant, change)
    elif key < 0:
        _note_constant(world, start, np.int64(groups(world)[group, G_FIRST_CONSTANT]), change)
    else:
        vertex = np.int64(path(world)[groups(world)[group, G_DRIVER_SLOT]])
        run = find_run(world, vertex, key)
        if run_length(world, run) <= groups(world)[group, G_CONSTANTS]:
            _note_neighbours(world, start, run, change)
        else:
            _note_constants(world, start, vertex, key, change)


@kernel()
def _note_neighbours(world: Any, start: Start, run: Any, change: Any) -> None:
    """Components of the driving constants among the neighbours of the driver's vertex."""
    for place in range(run_length(world, run)):
        key = pair_key(start.group, neighbour(world, run, place))
        constant = find_value(constant_slots(world), key)
        if constant >= 0:
            _note_constant(world, start, constant, change)


@kernel()
def _note_constants(world: Any, start: Start, vertex: Any, key: Any, change: Any) -> None:
    """The same, where there are fewer constants than neighbours."""
    constant = np.int64(groups(world)[start.group, G_FIRST_CONSTANT])
    while constant >= 0:
        other = np.int64(constants(world)[constant, C_CONSTANT])
        s, o = (other, vertex) if key & 1 else (vertex, other)
        edge = find_edge(world, s, key >> 1, o)
        if edge >= 0 and is_present(world, edge):
            _note_constant(world, start, constant, change)
        constant = np.int64(constants(world)[constant, C_NEXT])


@kernel()
def _note_constant(world: Any, start: Start, constant: Any, change: Any) -> None:
    """Every component of a constant all of whose tags are heard holds in one place more, or less; a count changes."""
    if constant < 0:
        return
    fresh, counted = report_state(world)[ONLY_FRESH], groups(world)[start.group, G_KIND] == COUNT
    component = np.int64(constants(world)[constant, C_FIRST])
    while component >= 0:
        if not fresh or components(world)[component, K_FRESH]:
            if counted:
                count_more(world, component, change)
            elif _is_heard(world, start.group, components(world)[component, K_BITS]):
                hold_more(world, component, change)
        component = np.int64(components(world)[component, K_NEXT])


@kernel()
def _is_heard(world: Any, group: Any, bits: Any) -> Any:
    for part in range(groups(world)[group, G_PARTS]):
        bit = tag_bits(world)[bits + part]
        if bit != _NO_BIT and not (masks(world)[part] >> np.uint64(bit)) & _1:
            return False
    return True


# --- rows -------------------------------------------------------------------------------------------------------


@kernel()
def _filled(world: Any, group: Any) -> Any:
    """The row that is named by what fills the holes of a group, or -1."""
    count = groups(world)[group, G_HOLES]
    if count == 0:
        return np.int64(groups(world)[group, G_FIRST_CONSTANT])
    first, found = groups(world)[group, G_SLOTS] - count, np.int64(group)
    for hole in range(count):
        found = find_value(constant_slots(world), pair_key(found, np.int64(path(world)[first + hole])))
        if found < 0:
            break
    return found


@kernel()
def _askers(world: Any, group: Any, constant: Any) -> Any:
    """How many components of a row are asked for this solution."""
    count, component = 0, np.int64(constants(world)[constant, C_FIRST])
    while component >= 0:
        count += _is_heard(world, group, components(world)[component, K_BITS])
        component = np.int64(components(world)[component, K_NEXT])
    return count


@kernel()
def _list(world: Any, start: Start) -> Any:
    """Lists a solution for every component that its holes and tests name."""
    constant = _filled(world, start.group)
    count = _askers(world, start.group, constant) if constant >= 0 else 0
    if count == 0:
        return True
    shown = groups(world)[start.group, G_SLOTS] - groups(world)[start.group, G_HOLES]
    state = report_state(world)
    if state[EVENTS] + count > len(events(world)) or state[VALUES] + shown > len(solutions(world)):
        state[NEEDED] = max(count, shown)
        return False
    component = np.int64(constants(world)[constant, C_FIRST])
    while component >= 0:
        if _is_heard(world, start.group, components(world)[component, K_BITS]):
            _report_row(world, component, start.sign)
        component = np.int64(components(world)[component, K_NEXT])
    for slot in range(shown):
        solutions(world)[state[VALUES] + slot] = path(world)[slot]
    state[VALUES] += shown
    state[TRIED] += count + shown
    return True


@kernel()
def _report_row(world: Any, component: Any, sign: Any) -> None:
    """Tells a component of the solution that is about to be written."""
    state = report_state(world)
    event = events(world)[state[EVENTS]]
    event[W_UPDATE], event[W_PHASE], event[W_KIND] = state[UPDATE], state[PHASE], V_ROW
    event[W_REF], event[W_SIGN], event[W_VALUE] = component, sign, state[VALUES]
    state[EVENTS] += 1
    touch_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(0))


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
def _begin_round(world: Any) -> None:
    """Nothing was tried yet; as `Runner.begin_round`."""
    state = report_state(world)
    state[ROUND] += 1
    if state[ROUND] > LAST_STAMP:
        groups(world)[:, G_ROUND] = 0
        constants(world)[:, C_ROUND] = 0
        state[ROUND] = 1


@kernel()
def _begin_tally(world: Any, group: Any) -> Any:
    """A join of a group begins, with what TRIED says, or goes on; False if the group was given up."""
    state, row = report_state(world), groups(world)[group]
    if row[G_ROUND] != state[ROUND]:
        if row[G_ROUND] == GIVEN:
            return False
        row[G_ROUND], row[G_TRIED], row[G_SHARED] = state[ROUND], 0, 0
    state[CHECK] = ((row[G_TRIED] >> state[CHECK_BITS]) + 1) << state[CHECK_BITS]
    state[TRIED] += row[G_TRIED]
    return True


@kernel(inline=True)
def _end_tally(world: Any, group: Any) -> None:
    """A join is done, or stops for room."""
    groups(world)[group, G_TRIED] = min(report_state(world)[TRIED], LAST_STAMP)


@kernel()
def _payer(world: Any, start: Start, first: Any, count: Any, bound: Any) -> Any:
    """The row of constants for which alone a join goes on once so many of its steps are bound; -1 if there is none."""
    if start.constant >= 0:
        return start.constant
    holes = groups(world)[start.group, G_HOLES]
    if holes == 0:
        return np.int64(-1)
    first_hole = groups(world)[start.group, G_SLOTS] - holes
    for step in range(first + bound, first + count):
        nodes, known = core_edges(world)[steps(world)[step, T_EDGE]], steps(world)[step, T_KNOWN]
        if not known & 1 and ~nodes[E_SUBJECT] >= first_hole:
            return np.int64(-1)
        if not known & 2 and ~nodes[E_PREDICATE] >= first_hole:
            return np.int64(-1)
        if not known & 4 and ~nodes[E_OBJECT] >= first_hole:
            return np.int64(-1)
    return _filled(world, start.group)


@kernel()
def _is_given_up(world: Any, row: Any) -> Any:
    return row >= 0 and constants(world)[row, C_ROUND] == GIVEN


@kernel()
def _is_too_much(world: Any, group: Any, row: Any) -> Any:
    """Lets a row, or the group if that is -1, pay for what was tried since the last look. Whether it is given up."""
    state = report_state(world)
    bits, looked = state[CHECK_BITS], state[CHECK]
    state[CHECK] = ((state[TRIED] >> bits) + 1) << bits
    if state[MOST_TRIED] == NO_LIMIT:
        return False
    paid, most = state[CHECK] - looked, state[MOST_TRIED] + EACH_EDGE * counters(world)[LIVE]
    if row < 0:
        paid += groups(world)[group, G_SHARED]
        groups(world)[group, G_SHARED] = min(paid, LAST_STAMP)
    else:
        if _is_given_up(world, row):
            return True
        if constants(world)[row, C_ROUND] != state[ROUND]:
            constants(world)[row, C_ROUND], constants(world)[row, C_TRIED] = state[ROUND], 0
        paid += constants(world)[row, C_TRIED]
        constants(world)[row, C_TRIED] = min(paid, LAST_STAMP)
    if paid <= min(most, LAST_STAMP):
        return False
    state[GIVEN_UP] += 1
    if row < 0:
        groups(world)[group, G_ROUND] = GIVEN
    else:
        constants(world)[row, C_ROUND] = GIVEN
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
def _hears(world: Any, start: Start, slot: Any) -> Any:
    """Whether every part of a slot hears something at its vertex; what they hear is kept."""
    group = start.group
    first, vertex = np.int64(groups(world)[group, G_FIRST_PART]), np.int64(path(world)[slot])
    for part in range(first, first + groups(world)[group, G_PARTS]):
        if parts(world)[part, P_SLOT] != slot:
            continue
        mask = start.value if part == start.part else part_mask(world, part, vertex)
        if mask == _0:
            return False
        masks(world)[part - first] = mask
    return True


@kernel()
def _bind(world: Any, start: Start, node: Any, known: Any, term: Any) -> Any:
    """Gives a node of an edge its term, unless it is known: then it must be that."""
    if known:
        return _term(path(world), node) == term
    path(world)[~node] = term
    return _hears(world, start, np.int64(~node))


@kernel()
def _unify(world: Any, start: Start, edge: Any, known: Any, triple: Any) -> Any:
    """Binds what is unknown of a core edge to a triple; a variable that stands in it twice must agree."""
    nodes = core_edges(world)[edge]
    if not _bind(world, start, nodes[E_SUBJECT], known & 1 != 0, triple[0]):
        return False
    again = not known & 1 and nodes[E_PREDICATE] == nodes[E_SUBJECT]
    if not _bind(world, start, nodes[E_PREDICATE], known & 2 != 0 or again, triple[1]):
        return False
    again = not known & 1 and nodes[E_OBJECT] == nodes[E_SUBJECT]
    again = again or (not known & 2 and nodes[E_OBJECT] == nodes[E_PREDICATE])
    if again:
        return path(world)[~nodes[E_OBJECT]] == triple[2]
    return _bind(world, start, nodes[E_OBJECT], known & 4 != 0, triple[2])


# --- steps ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _is_hidden(world: Any, start: Start, edge: Any, number: Any) -> Any:
    """Whether a core edge must not be this edge of the graph: it is the changed one, and met at an earlier place."""
    return number == start.edge and edge - groups(world)[start.group, G_FIRST_EDGE] < start.place


@kernel()
def _run_of(world: Any, edge: Any, known: Any) -> Any:
    """The run that a step walks through, where one end and the predicate are known; else -1."""
    nodes, terms = core_edges(world)[edge], path(world)
    key = 2 * np.int64(_term(terms, nodes[E_PREDICATE]))
    if known & 1:
        return find_run(world, np.int64(_term(terms, nodes[E_SUBJECT])), key + OUT)
    return find_run(world, np.int64(_term(terms, nodes[E_OBJECT])), key + IN)


@kernel()
def _found(world: Any, start: Start, edge: Any) -> Any:
    """Whether a core edge, all of it known, is there."""
    nodes, terms = core_edges(world)[edge], path(world)
    s, p, o = (_term(terms, nodes[E_SUBJECT]), _term(terms, nodes[E_PREDICATE]), _term(terms, nodes[E_OBJECT]))
    number = find_edge(world, s, p, o)
    return number >= 0 and is_present(world, number) and not _is_hidden(world, start, edge, number)


@kernel()
def _hole_of(world: Any, group: Any, step: Any) -> Any:
    """The hole that a step binds, or -1; where others are filled already, what stands beside those in some row."""
    given, found = steps(world)[step, T_GIVEN], np.int64(steps(world)[step, T_CHAINS])
    if found < 0:
        return np.int64(steps(world)[step, T_HOLE])
    first, hole = groups(world)[group, G_SLOTS] - groups(world)[group, G_HOLES], 0
    while given >> hole:
        if given >> hole & 1:
            found = find_value(constant_slots(world), pair_key(found, np.int64(path(world)[first + hole])))
            if found < 0:
                return np.int64(NOTHING)
        hole += 1
    return found


@kernel()
def _open_run(world: Any, group: Any, step: Any, cursor: Any) -> Any:
    """Begins a step that walks through neighbours: its own, those of another step, or all that fill a hole. How many
    ways there are."""
    edge, known = np.int64(steps(world)[step, T_EDGE]), np.int64(steps(world)[step, T_KNOWN])
    other, hole = steps(world)[step, T_OTHER], _hole_of(world, group, step)
    run = _run_of(world, edge, known)
    if other >= 0 and run >= 0:
        another = np.int64(steps(world)[other, T_EDGE])
        # What the other step knows is all but the slot that this one binds.
        slot = core_edges(world)[edge, E_OBJECT] if known == 3 else core_edges(world)[edge, E_SUBJECT]
        its = np.int64(6 if core_edges(world)[another, E_SUBJECT] == slot else 3)
        candidate = _run_of(world, another, its)
        if run_length(world, candidate) < run_length(world, run):
            run = candidate
            cursor[CURSOR_OTHER] = another
    cursor[CURSOR_RUN] = run
    ways = np.int64(run_length(world, run))
    if hole == NOTHING:
        cursor[CURSOR_RUN], cursor[CURSOR_PLACE] = FILLINGS, NONE
        return np.int64(0)
    if hole >= 0 and ways > holes(world)[hole, O_COUNT]:
        cursor[CURSOR_RUN], cursor[CURSOR_PLACE] = FILLINGS, holes(world)[hole, O_FIRST]
        return np.int64(holes(world)[hole, O_COUNT])
    return ways


@kernel()
def _open(world: Any, group: Any, step: Any, depth: Any) -> None:
    """Begins a step. Its ways count as tried: all of them are looked at, unless the join is given up."""
    cursor, ways = cursors(world)[depth], np.int64(0)
    edge, known = np.int64(steps(world)[step, T_EDGE]), np.int64(steps(world)[step, T_KNOWN])
    cursor[CURSOR_PLACE], cursor[CURSOR_OTHER], cursor[CURSOR_RUN] = 0, -1, -1
    if known == 3 or known == 6:
        ways = _open_run(world, group, step, cursor)
    elif known == 1 or known == 5:
        cursor[CURSOR_RUN] = first_run(world, _term(path(world), core_edges(world)[edge, E_SUBJECT]))
    elif known == 4:
        cursor[CURSOR_RUN] = first_run(world, _term(path(world), core_edges(world)[edge, E_OBJECT]))
    elif known != 7:
        ways = np.int64(counters(world)[EDGES])
    report_state(world)[TRIED] += 1 + ways


@kernel()
def _next_filling(world: Any, start: Start, edge: Any, node: Any, cursor: Any) -> Any:
    """The next term that fills a step's hole and that its edge leads to."""
    while cursor[CURSOR_PLACE] >= 0:
        filling = fillings(world)[cursor[CURSOR_PLACE]]
        cursor[CURSOR_PLACE] = filling[F_NEXT]
        path(world)[~node] = filling[F_TERM]
        if _found(world, start, edge):
            return True
    return False


@kernel()
def _next_in_run(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """The next neighbour of a step's run that fits."""
    cursor = cursors(world)[depth]
    edge, known = np.int64(steps(world)[step, T_EDGE]), steps(world)[step, T_KNOWN]
    run, walked = cursor[CURSOR_RUN], edge if cursor[CURSOR_OTHER] < 0 else cursor[CURSOR_OTHER]
    node = core_edges(world)[edge, E_OBJECT] if known == 3 else core_edges(world)[edge, E_SUBJECT]
    if run == FILLINGS:
        return _next_filling(world, start, edge, node, cursor)
    while cursor[CURSOR_PLACE] < run_length(world, run):
        place = cursor[CURSOR_PLACE]
        cursor[CURSOR_PLACE] += 1
        if start.edge >= 0 and _is_hidden(world, start, walked, edge_at(world, run, place)):
            continue
        path(world)[~node] = neighbour(world, run, place)
        if walked != edge and not _found(world, start, edge):
            continue
        if _hears(world, start, np.int64(~node)):
            return True
    return False


@kernel()
def _fits(world: Any, start: Start, step: Any, number: Any) -> Any:
    """Whether an edge of the graph fits a step; its unknown parts are bound on the way."""
    edge = np.int64(steps(world)[step, T_EDGE])
    if _is_hidden(world, start, edge, number):
        return False
    row = edges(world)[number]
    known = np.int64(steps(world)[step, T_KNOWN])
    return _unify(world, start, edge, known, (row[SUBJECT], row[PREDICATE], row[OBJECT]))


@kernel(inline=True)
def _is_virtual(world: Any, predicate: Any) -> Any:
    first = counters(world)[VIRTUAL]
    return first <= predicate < first + VIRTUALS


@kernel()
def _next_of_vertex(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """The next edge of a vertex, whatever its property, that fits; no variable stands for a virtual property."""
    cursor = cursors(world)[depth]
    direction = OUT if steps(world)[step, T_KNOWN] & 1 else IN
    while cursor[CURSOR_RUN] >= 0:
        run = cursor[CURSOR_RUN]
        key = runs(world)[run, KEY]
        wanted = key & 1 == direction and not _is_virtual(world, key >> 1)
        while wanted and cursor[CURSOR_PLACE] < run_length(world, run):
            place = cursor[CURSOR_PLACE]
            cursor[CURSOR_PLACE] += 1
            if _fits(world, start, step, edge_at(world, run, place)):
                return True
        if run_length(world, run):  # how many empty ones there are depends on when they were packed
            report_state(world)[TRIED] += 1 + cursor[CURSOR_PLACE]
        cursor[CURSOR_RUN], cursor[CURSOR_PLACE] = next_run(world, run), 0
    return False


@kernel()
def _next_of_all(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """The next edge of the whole graph that fits."""
    cursor, known = cursors(world)[depth], steps(world)[step, T_KNOWN]
    while cursor[CURSOR_PLACE] < counters(world)[EDGES]:
        number = cursor[CURSOR_PLACE]
        cursor[CURSOR_PLACE] += 1
        visible = is_present(world, number) and (known & 2 or not _is_virtual(world, edges(world)[number, PREDICATE]))
        if visible and _fits(world, start, step, number):
            return True
    return False


@kernel()
def _next(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """Takes the next way through a step, if there is another."""
    known, cursor = steps(world)[step, T_KNOWN], cursors(world)[depth]
    if known == 7:
        cursor[CURSOR_PLACE] += 1
        return cursor[CURSOR_PLACE] == 1 and _found(world, start, np.int64(steps(world)[step, T_EDGE]))
    if known == 3 or known == 6:
        return _next_in_run(world, start, step, depth)
    if known & 5:
        return _next_of_vertex(world, start, step, depth)
    return _next_of_all(world, start, step, depth)


# --- the whole --------------------------------------------------------------------------------------------------


@kernel()
def _join(world: Any, start: Start, which: Any) -> Any:
    """Meets all solutions of the core by the steps of a start, or gives it up; False if there was no room to list one
    of them: called again, it goes on with that."""
    row, state = groups(world)[start.group, G_STARTS] + which, report_state(world)
    first, count = np.int64(starts(world)[row, B_STEPS]), starts(world)[row, B_COUNT]
    if count == 0:
        return note_solution(world, start)
    depth = state[DEPTH]
    state[DEPTH], state[TRIED] = -1, 0
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
            if state[GIVEN_UP] and _is_given_up(world, _payer(world, start, first, count, depth + 1)):
                continue
        taken = False
        solved = depth + 1 == count
        if solved:
            if not note_solution(world, start):
                state[DEPTH] = depth
                break
        else:
            depth += 1
            _open(world, start.group, first + depth, depth)
        if state[TRIED] >= state[CHECK]:
            row = _payer(world, start, first, count, depth + 1 if solved else depth)
            if _is_too_much(world, start.group, row):
                if row < 0 or start.constant >= 0:
                    return True
                if not solved:  # nothing else asks for what lies beyond
                    depth -= 1
    _end_tally(world, start.group)
    return state[DEPTH] < 0


@kernel()
def join_from_slot(world: Any, group: Any, slot: Any, vertex: Any, part: Any, value: Any, sign: Any) -> None:
    """A part of a slot hears `value` anew, or no longer, at a vertex."""
    start = Start(np.int64(group), np.int64(part), value, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(sign))
    path(world)[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_driver(world: Any, constant: Any, vertex: Any, edge: Any, sign: Any) -> None:
    """The edge from a slot's vertex to a driving constant came or went; -1 if it was there all the time.

    The driver counts as the last place of the core: where the edge stands for a core edge too, that comes first.
    """
    group = np.int64(constants(world)[constant, C_GROUP])
    slot, last = np.int64(groups(world)[group, G_DRIVER_SLOT]), np.int64(groups(world)[group, G_EDGES])
    start = Start(group, np.int64(-1), _0, edge, last, constant, sign)
    path(world)[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_vertex(world: Any, group: Any, slot: Any, vertex: Any) -> None:
    """All that a slot's vertex takes part in."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(1))
    path(world)[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_edge(world: Any, group: Any, place: Any, number: Any, sign: Any) -> Any:
    """A changed edge of the graph stands for a core edge; False if there was no room to list what it completes."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(number), np.int64(place), np.int64(-1), np.int64(sign))
    edge = np.int64(groups(world)[group, G_FIRST_EDGE]) + place
    row, nodes = edges(world)[number], core_edges(world)[edge]
    known = np.int64(1 if nodes[E_SUBJECT] >= 0 else 0) | np.int64(2 if nodes[E_PREDICATE] >= 0 else 0)
    known |= np.int64(4 if nodes[E_OBJECT] >= 0 else 0)
    triple = (row[SUBJECT], row[PREDICATE], row[OBJECT])
    if not known & 2 and _is_virtual(world, row[PREDICATE]):
        return True
    if not _unify(world, start, edge, known, triple):
        return True
    return _join(world, start, np.int64(groups(world)[group, G_SLOTS]) + place)


@kernel()
def join_from_nothing(world: Any, group: Any, edges: Any, sign: Any) -> Any:
    """All solutions of a group's core; `edges` is the number of its core edges. Its holes are filled already."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(sign))
    return _join(world, start, np.int64(groups(world)[group, G_SLOTS]) + edges)


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

_MESSAGE, _VERTEX, _NEXT = range(3)  # of items


@kernel()
def push(world: Any, message: Any, vertex: Any, payload: Any) -> None:
    """Another item; there is room for it."""
    level = np.int64(messages(world)[message, M_LEVEL])
    item = work_state(world)[FREE_ITEM]
    if item >= 0:
        work_state(world)[FREE_ITEM] = items(world)[item, _NEXT]
    else:
        item = work_state(world)[USED]
        work_state(world)[USED] += 1
    items(world)[item, _MESSAGE], items(world)[item, _VERTEX] = message, vertex
    items(world)[item, _NEXT] = levels(world)[level]
    levels(world)[level] = item
    payloads(world)[item] = payload
    work_state(world)[LOWEST] = min(work_state(world)[LOWEST], level)


@kernel()
def has_items(world: Any, wanted: Any) -> Any:
    """Whether there is room for so many items."""
    if work_state(world)[USED] + wanted <= len(items(world)):
        return True
    spare, item = len(items(world)) - work_state(world)[USED], work_state(world)[FREE_ITEM]
    while item >= 0 and spare < wanted:
        spare, item = spare + 1, np.int64(items(world)[item, _NEXT])
    if spare < wanted:
        report_state(world)[NEEDED] = wanted
    return spare >= wanted


@kernel()
def has_work(world: Any) -> Any:
    """Whether there is an item; the lowest level is looked up on the way."""
    level = work_state(world)[LOWEST]
    while level < len(levels(world)) and levels(world)[level] < 0:
        level += 1
    work_state(world)[LOWEST] = level if level < len(levels(world)) else IDLE_LEVEL
    return level < len(levels(world))


@kernel()
def _pop(world: Any) -> None:
    """Takes the next item out; its row is free."""
    level = work_state(world)[LOWEST]
    item = np.int64(levels(world)[level])
    levels(world)[level] = items(world)[item, _NEXT]
    items(world)[item, _NEXT] = work_state(world)[FREE_ITEM]
    work_state(world)[FREE_ITEM] = item


# --- one edge ---------------------------------------------------------------------------------------------------


@kernel()
def seed(world: Any, site: Any, hearer: Any, speaker: Any, sign: Any) -> None:
    """Work for all messages that a changed edge carries from one end to the other."""
    while site >= 0:
        if sites(world)[site, S_KIND] == SITE_MESSAGE:
            message = np.int64(sites(world)[site, S_REF])
            value = spoken(world, message, hearer, speaker)
            if value != _0:
                if messages(world)[message, M_KIND] == COUNT:
                    push(world, message, hearer, value if sign > 0 else _0 - value)
                else:
                    known = heard(world, message, hearer)
                    value &= ~known if sign > 0 else known
                    if value != _0:
                        push(world, message, hearer, value)
        site = np.int64(sites(world)[site, S_NEXT])


# --- items ------------------------------------------------------------------------------------------------------


@kernel()
def _still_said(world: Any, message: Any, vertex: Any, wanted: Any) -> Any:
    """Which of these bits some neighbour still says."""
    run = find_run(world, vertex, np.int64(messages(world)[message, M_KEY]))
    said = _0
    for place in range(run_length(world, run)):
        said |= spoken(world, message, vertex, neighbour(world, run, place)) & wanted
        if said == wanted:
            break
    return said


@kernel()
def _difference(world: Any, message: Any, vertex: Any, payload: Any, sign: Any) -> Any:
    """The bits or the count by which an item changes a message."""
    if messages(world)[message, M_KIND] == COUNT:
        return payload
    known = heard(world, message, vertex)
    if sign > 0:
        return payload & ~known
    payload &= known
    return _0 if payload == _0 else payload & ~_still_said(world, message, vertex, payload)


@kernel()
def _plan(world: Any, message: Any, vertex: Any, changed: Any) -> Any:
    """Finds out where a change is carried on to: (how many plans, how many items they may lead to)."""
    count, total = 0, 0
    user = np.int64(messages(world)[message, M_USERS])
    while user >= 0:
        if users(world)[user, U_KIND] == USER_NODE:
            above = np.int64(nodes(world)[users(world)[user, U_REF], N_MESSAGES])
            part = np.int64(users(world)[user, U_PART])
            value = node_value(world, above, vertex, part, changed) if above >= 0 else _0
            while above >= 0 and value != _0:
                run = find_run(world, vertex, np.int64(messages(world)[above, M_KEY]) ^ 1)
                if run >= 0:
                    plans(world)[count, 0], plans(world)[count, 1] = above, run
                    sayings(world)[count] = value
                    count, total = count + 1, total + run_length(world, run)
                above = np.int64(messages(world)[above, M_NEXT])
        user = np.int64(users(world)[user, U_NEXT])
    return count, total


@kernel()
def _carry(world: Any, plan: Any, sign: Any) -> None:
    """Work for vertices that may hear something anew, or no longer."""
    message, run, value = plans(world)[plan, 0], plans(world)[plan, 1], sayings(world)[plan]
    counted = messages(world)[message, M_KIND] == COUNT
    for place in range(run_length(world, run)):
        hearer = neighbour(world, run, place)
        if counted:
            push(world, message, hearer, value)
        else:
            known = heard(world, message, hearer)
            bits = value & (~known if sign > 0 else known)
            if bits != _0:
                push(world, message, hearer, bits)


@kernel()
def _join_groups(world: Any, message: Any, vertex: Any, changed: Any, sign: Any) -> None:
    """Tells the groups that hear a message."""
    user = np.int64(messages(world)[message, M_USERS])
    while user >= 0:
        if users(world)[user, U_KIND] != USER_NODE:
            part = np.int64(users(world)[user, U_PART])
            slot = np.int64(parts(world)[part, P_SLOT])
            join_from_slot(world, np.int64(users(world)[user, U_REF]), slot, vertex, part, changed, sign)
        user = np.int64(users(world)[user, U_NEXT])


@kernel()
def take(world: Any, sign: Any) -> Any:
    """Takes one item and does it; there is room for a state. False, with nothing done, if there is none for what
    follows."""
    item = np.int64(levels(world)[work_state(world)[LOWEST]])
    message, vertex = np.int64(items(world)[item, _MESSAGE]), np.int64(items(world)[item, _VERTEX])
    changed = _difference(world, message, vertex, payloads(world)[item], sign)
    if changed == _0:
        _pop(world)
        return True
    count, total = _plan(world, message, vertex, changed)
    if not has_items(world, total):
        return False
    _pop(world)
    known = heard(world, message, vertex)
    if messages(world)[message, M_KIND] == COUNT:
        note_size(world, np.float64(np.int64(known + changed)))
        set_heard(world, message, vertex, known + changed)
    else:
        set_heard(world, message, vertex, known | changed if sign > 0 else known & ~changed)
    for plan in range(count):
        _carry(world, plan, sign)
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
def _compare_sites(world: Any, place: Any, key: Any) -> Any:
    head = site_slots(world)[place] - 1
    if head < 0:
        return FREE
    row = site_heads(world)[head]
    return SAME_KEY if row[H_VERTEX] == key[0] and row[H_KEY] == key[1] else OTHER


_find_site = search(_compare_sites)


@kernel()
def first_site(world: Any, vertex: Any, key: Any) -> Any:
    """The first site under a key, or -1. The hash is that of (vertex + 1, key + 4), as in `network.Sites`."""
    hashed = spread(pair_key(np.int64(vertex) + 1, np.int64(key) + 4))
    head = site_slots(world)[_find_site(world, len(site_slots(world)), hashed, (vertex, key))] - 1
    return np.int64(site_heads(world)[head, H_FIRST]) if head >= 0 else np.int64(-1)


@kernel()
def _head(world: Any, head: Any, row: Any) -> Any:
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
def _visit(world: Any, site: Any, edge: Any, far: Any, sign: Any) -> Any:
    """Joins from one site; `far` is the end of the edge that a constant is not. False if there was no room: the next
    call goes on from there."""
    kind, ref = sites(world)[site, S_KIND], np.int64(sites(world)[site, S_REF])
    if kind == SITE_DRIVER:
        join_from_driver(world, ref, far, edge, sign)
    elif kind == SITE_CORE:
        return join_from_edge(world, ref, np.int64(sites(world)[site, S_PLACE]), edge, sign)
    return True


@kernel()
def visit_sites(world: Any, progress: Any, edge: Any, sign: Any) -> Any:
    """Joins from every core edge and driving constant that an edge stands for; False where room was lacking: the next
    call goes on from there."""
    row = edges(world)[edge]
    while progress[P_HEAD] < HEADS:
        head = progress[P_HEAD]
        site = _head(world, head, row) if progress[P_SITE] == -2 else progress[P_SITE]
        far = np.int64(row[OBJECT] if head == 2 else row[SUBJECT])
        while site >= 0 and sites(world)[site, S_KIND] != SITE_MESSAGE:  # joins stand before messages
            progress[P_SITE] = site
            if not _visit(world, site, edge, far, sign):
                return False
            site = np.int64(sites(world)[site, S_NEXT])
        progress[P_HEAD], progress[P_SITE] = head + 1, -2
    return True


@kernel()
def seed_messages(world: Any, edge: Any, sign: Any) -> None:
    """Work for every message that an edge carries, either way."""
    row = edges(world)[edge]
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

INT32S, INT64S, MASKS = (array(dtype, writable=True) for dtype in (int32, int64, uint64))
MASK_ROWS = rows(uint64, writable=True)


@kernel()
def _begin(world: Any, fresh: Any, slots: Any, key: Any) -> Any:
    """Where the fresh messages of a key begin, or the end of them all."""
    mask = np.uint64(len(slots) - 1)
    slot = spread(key + 1) & mask
    while slots[slot] != 0:
        if messages(world)[fresh[slots[slot] - 1], M_KEY] == key:
            return np.int64(slots[slot] - 1)
        slot = (slot + _1) & mask
    return np.int64(len(fresh))


@kernel()
def _index(world: Any, fresh: Any, slots: Any) -> None:
    """Enters the first message of each key; `fresh` is in order of keys.

    This is done again as long as there is no room for the first edge.
    """
    slots[:] = 0
    mask = np.uint64(len(slots) - 1)
    for place in range(len(fresh)):
        key = np.int64(messages(world)[fresh[place], M_KEY])
        if place == 0 or messages(world)[fresh[place - 1], M_KEY] != key:
            slot = spread(key + 1) & mask
            while slots[slot] != 0:
                slot = (slot + _1) & mask
            slots[slot] = place + 1


@kernel()
def _hear(world: Any, fresh: Any, bits: Any, begin: Any, hearer: Any, speaker: Any) -> None:
    """Every fresh message of one key takes in what an edge carries."""
    place = begin
    while place < len(fresh) and messages(world)[fresh[place], M_KEY] == messages(world)[fresh[begin], M_KEY]:
        message = np.int64(fresh[place])
        value = spoken(world, message, hearer, speaker)
        if messages(world)[message, M_KIND] == COUNT:
            if value != _0:
                set_heard(world, message, hearer, heard(world, message, hearer) + value)
        elif value & bits[place]:
            set_heard(world, message, hearer, heard(world, message, hearer) | (value & bits[place]))
        place += 1


@kernel((WORLD, INT32S, MASKS, INT32S, INT64S))
def populate(world: Any, fresh: Any, bits: Any, slots: Any, progress: Any) -> Any:
    """Fills messages of one level, in order of their keys, each with its bits; `slots` is an empty table for them.

    progress[0] is the first edge that is not done.
    """
    if progress[0] == 0:
        _index(world, fresh, slots)
    while progress[0] < counters(world)[EDGES]:
        edge = progress[0]
        if 2 * (state_counts(world)[0] + 2 * len(fresh)) > len(entries(world)):
            return NEED_STATES
        progress[0] += 1
        if is_present(world, edge):
            row = edges(world)[edge]
            key = 2 * np.int64(row[PREDICATE])
            _hear(world, fresh, bits, _begin(world, fresh, slots, key), np.int64(row[SUBJECT]), np.int64(row[OBJECT]))
            _hear(
                world, fresh, bits, _begin(world, fresh, slots, key + 1), np.int64(row[OBJECT]), np.int64(row[SUBJECT])
            )
    return DONE


# --- components -------------------------------------------------------------------------------------------------


@kernel((WORLD, INT32S, INT32S))
def survey(world: Any, firsts: Any, groups: Any) -> None:
    """Counts the places of fresh components of groups of one slot: wherever their first message is heard.

    `groups[firsts[m]:firsts[m + 1]]` are those whose first message is m.
    """
    table = entries(world)
    for slot in range(len(table)):
        if table[slot, 1] != _0:
            key = np.int64(table[slot, 0]) - 1
            message, vertex = key >> 32, key & 0xFFFFFFFF
            for place in range(firsts[message], firsts[message + 1]):
                join_from_vertex(world, np.int64(groups[place]), np.int64(0), vertex)


@kernel((WORLD, INT32S))
def drive(world: Any, driving: Any) -> None:
    """Counts the places of fresh components of driving constants."""
    for constant in driving:
        group = np.int64(constants(world)[constant, C_GROUP])
        key = np.int64(groups(world)[group, G_DRIVER_KEY]) ^ 1
        run = find_run(world, np.int64(constants(world)[constant, C_CONSTANT]), key)
        for place in range(run_length(world, run)):
            vertex = neighbour(world, run, place)
            join_from_driver(world, np.int64(constant), vertex, np.int64(-1), np.int64(1))


@kernel((WORLD, int64))
def list_all(world: Any, group: int) -> Any:
    """Meets all solutions of a group: they are listed, or counted for its fresh components. Its holes are filled."""
    met = join_from_nothing(world, group, np.int64(groups(world)[group, G_EDGES]), np.int64(1))
    return DONE if met else NEED_REPORTS


@kernel((MASK_ROWS, WORLD))
def rehash(old: Any, world: Any) -> None:
    """Moves what is heard into a larger, empty table, the world's."""
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
def _drain(world: Any, sign: Any) -> Any:
    while has_work(world):
        if 2 * (state_counts(world)[0] + 1) > len(entries(world)):
            return NEED_STATES
        if not take(world, sign):
            return NEED_WORK
    return DONE


@kernel()
def _begin_reaction(world: Any, progress: Any, edge: Any, sign: Any) -> None:
    """Writes the change down, and touches the queries that wait for just this edge."""
    row = edges(world)[edge]
    progress[P_SUBJECT], progress[P_PREDICATE], progress[P_OBJECT] = row[SUBJECT], row[PREDICATE], row[OBJECT]
    progress[P_SIGN] = sign
    state = report_state(world)
    if keeps_journal(world):
        write_down(world, state[UPDATE], state[PHASE], CAME if sign > 0 else WENT, edge)
    _begin_round(world)
    link = np.int64(row[LINK] >> 1)
    if link:
        touch_queries(world, link - 1, -sign)
    progress[P_REACTION], progress[P_HEAD], progress[P_SITE] = _SITES, 0, -2


@kernel()
def react(world: Any, progress: Any, edge: Any, sign: Any) -> Any:
    """Everything that an edge brings that was just added, or takes that is about to be removed (and then is)."""
    if progress[P_REACTION] == _FIRST:
        if not has_journal_room(world):
            return NEED_JOURNAL
        _begin_reaction(world, progress, edge, sign)
    if len(site_slots(world)) > 1:
        if progress[P_REACTION] == _SITES:
            if not visit_sites(world, progress, edge, sign):
                return NEED_REPORTS
            progress[P_REACTION] = _SEEDS
        if progress[P_REACTION] == _SEEDS:
            if not has_items(world, len(messages(world))):
                return NEED_WORK
            seed_messages(world, edge, sign)
    if progress[P_REACTION] < _WORK:
        if sign < 0:
            drop(world, edge)
        progress[P_REACTION] = _WORK
    return _drain(world, sign)


@kernel()
def _follow(world: Any, progress: Any, edge: Any, sign: Any) -> Any:
    """Reacts to a changed edge, and stops once if others are derived from it."""
    if progress[P_REACTION] != _DERIVED:
        reason = react(world, progress, edge, sign)
        if reason != DONE:
            return reason
        for predicate in deriving(world):
            if predicate == progress[P_PREDICATE]:
                progress[P_REACTION] = _DERIVED
                return NEED_DERIVED
    progress[P_REACTION] = _FIRST
    return DONE


# --- one update -------------------------------------------------------------------------------------------------


@kernel()
def _flush(world: Any, phase: Any) -> Any:
    """Ends a phase of an update, if anything was touched in it."""
    state = report_state(world)
    if state[TOUCHED] and not flush(world, state[UPDATE], phase):
        state[NEEDED] = state[TOUCHED]
        return False
    state[PHASE] = phase + 1
    return True


@kernel()
def _expire(world: Any, progress: Any) -> Any:
    while True:
        if progress[P_EDGE] < 0:  # else it was taken out of the window before the run stopped
            progress[P_EDGE] = next_due(world)
            if progress[P_EDGE] < 0:
                return DONE if _flush(world, 0) else NEED_REPORTS
        reason = _follow(world, progress, progress[P_EDGE], -1)
        if reason != DONE:
            return reason
        progress[P_EDGE] = -1


@kernel()
def _others(world: Any, run: Any, object: Any, changes: Any) -> Any:
    """The edges of a run that lead elsewhere; returns how many, room or not."""
    count = 0
    for place in range(run_length(world, run)):
        edge = edge_at(world, run, place)
        if edges(world)[edge, OBJECT] != object:
            if count < len(changes):
                changes[count] = edge
            count += 1
    return count


@kernel()
def _touching(world: Any, vertex: Any, changes: Any) -> Any:
    """The edges that touch a vertex, each once, but for virtual ones; returns how many, room or not."""
    count, run = 0, first_run(world, vertex)
    virtual = counters(world)[VIRTUAL]
    while run >= 0:
        key = runs(world)[run, KEY]
        if not virtual <= key >> 1 < virtual + VIRTUALS:
            for place in range(run_length(world, run)):
                edge = edge_at(world, run, place)
                if not key & 1 or edges(world)[edge, SUBJECT] != vertex:  # a loop stands in two runs
                    if count < len(changes):
                        changes[count] = edge
                    count += 1
        run = next_run(world, run)
    return count


@kernel()
def _expand(world: Any, row: Any, changes: Any) -> Any:
    """Finds the edges that an update removes; returns how many, room or not, or -1 if adjacency is needed for it."""
    op = batch_op(world)[row]
    subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
    if op == ADD_EDGE:
        return 0
    if op == REMOVE_EDGE:
        edge = find_edge(world, subject, predicate, object)
        changes[0] = edge
        return 1 if edge >= 0 and is_present(world, edge) else 0
    if len(runs(world)) == 0:
        return -1
    if op == SET_EDGE:
        return _others(world, find_run(world, np.int64(subject), 2 * np.int64(predicate)), object, changes)
    return _touching(world, subject, changes)


@kernel()
def _remove(world: Any, progress: Any, changes: Any) -> Any:
    while progress[P_CHANGE] < progress[P_CHANGES]:
        reason = _follow(world, progress, np.int64(changes[progress[P_CHANGE]]), -1)
        if reason != DONE:
            return reason
        progress[P_CHANGE] += 1
    return DONE


@kernel()
def _add(world: Any, progress: Any) -> Any:
    """Adds the edge of an update, or renews it."""
    row = progress[P_UPDATE]
    if batch_op(world)[row] != ADD_EDGE and batch_op(world)[row] != SET_EDGE:
        return DONE
    if progress[P_EDGE] < 0:
        subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
        edge = find_edge(world, subject, predicate, object)
        known = Stamp(batch_weight(world)[row], batch_at(world)[row], batch_seq(world)[row], clocks(world)[ACCEPTED])
        if edge >= 0 and is_present(world, edge):
            if not has_journal_room(world):
                return NEED_JOURNAL
            if keeps_journal(world):
                write_down_weight(world, row, report_state(world)[PHASE], edge, known.weight)
            renew(world, edge, known)
            return DONE
        progress[P_EDGE] = put(world, subject, predicate, object)
        stamp_new(world, progress[P_EDGE], known)
    reason = _follow(world, progress, progress[P_EDGE], 1)
    if reason == DONE:
        progress[P_EDGE] = -1
    return reason


@kernel()
def _update(world: Any, progress: Any, changes: Any) -> Any:
    """One update, from wherever it stands to its end; or the reason why it cannot go on."""
    row, state = progress[P_UPDATE], report_state(world)
    if progress[P_STAGE] == _BEGIN:
        if not has_room(world):
            return NEED_GRAPH
        tick(world, batch_at(world)[row])
        state[UPDATE], state[PHASE] = row, 0
        progress[P_STAGE] = _EXPIRE
    if progress[P_STAGE] == _EXPIRE:
        reason = _expire(world, progress)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _EXPAND
    if progress[P_STAGE] == _EXPAND:
        count = _expand(world, row, changes)
        if count < 0:
            return NEED_ADJACENCY
        if count > len(changes):
            state[NEEDED] = count
            return NEED_CHANGES
        progress[P_CHANGES], progress[P_CHANGE], progress[P_STAGE] = count, 0, _REMOVE
    if progress[P_STAGE] == _REMOVE:
        reason = _remove(world, progress, changes)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _ADD
    if progress[P_STAGE] == _ADD:
        reason = _add(world, progress)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _END
    if not _flush(world, 1):
        return NEED_REPORTS
    progress[P_STAGE] = _BEGIN
    return DONE


@kernel()
def _alter(world: Any, progress: Any) -> Any:
    """Adds or removes one derived edge, the one that the run names, in the midst of an update."""
    sign = progress[P_SIGN]
    if progress[P_EDGE] < 0:
        subject, predicate, object = (
            np.int32(progress[P_SUBJECT]),
            np.int32(progress[P_PREDICATE]),
            np.int32(progress[P_OBJECT]),
        )
        edge = find_edge(world, subject, predicate, object)
        if (edge >= 0 and is_present(world, edge)) == (sign > 0):
            return DONE
        if not has_room(world):
            return NEED_GRAPH
        if sign > 0:
            edge = put(world, subject, predicate, object)
        progress[P_EDGE] = edge
    reason = react(world, progress, progress[P_EDGE], sign)
    if reason == DONE:
        progress[P_REACTION] = _FIRST
    return reason


@kernel((WORLD,))
def run(world: Any) -> Any:
    """Applies updates from where the run stands; DONE after the last one, else what is lacking.

    After an update that leaves much to report, or in which a join was given up, it pauses.

    A run that stands before the first update only changes the derived edge that it names.
    """
    rows, progress, changes = len(batch_op(world)), run_progress(world), run_changes(world)
    if progress[P_UPDATE] < 0:
        return _alter(world, progress)
    while progress[P_UPDATE] < rows:
        ahead = progress[P_UPDATE] + _AHEAD
        if ahead < rows:
            prefetch_first(world, ahead)
            prefetch_second(world, ahead - _AHEAD // 2)
        reason = _update(world, progress, changes)
        if reason != DONE:
            return reason
        progress[P_UPDATE] += 1
        if report_state(world)[EVENTS] >= report_state(world)[MOST_EVENTS] or report_state(world)[GIVEN_UP]:
            return PAUSED
    return DONE


# --- a batch without variables -----------------------------------------------------------------------------------

# Updates where no query asks for more than whole edges: no adjacency, no window, no weights, no variables.
#
# The same as `run`, without everything that is not needed then: an update costs one look-up.

_QUICK_AHEAD = 16  # updates for which memory is asked for ahead


@kernel(inline=True)
def _lacks_room(graph: Any) -> Any:
    counters = graph.counters
    return (counters[FREE_EDGE] == 0 and counters[EDGES] >= len(graph.edges)) or (counters[TAKEN] + 1) * PARTS > len(
        graph.slots
    ) * FULL


@kernel()
def _quick_flush(world: Any, row: Any) -> Any:
    """Tells what an update changed; False if there is no room for it."""
    state = report_state(world)
    if flush(world, row, np.int64(1)):
        return True
    state[NEEDED] = state[TOUCHED]
    return False


@kernel(inline=True)
def _quick_add(world: Any, graph: Any, row: Any, subject: Any, predicate: Any, object: Any) -> None:
    tag = edge_tag(subject, predicate, object)
    place = slot_of(graph, tag, subject, predicate, object)
    edge = (graph.slots[place] & EDGE_NUMBER) - 1
    if edge < 0:
        edge = graph.counters[FREE_EDGE] - 1
        if edge >= 0:
            graph.counters[FREE_EDGE] = graph.edges[edge, SUBJECT]
        else:
            edge = graph.counters[EDGES]
            graph.counters[EDGES] = edge + 1
        graph.slots[place] = (tag << 32) | (edge + 1)
        graph.counters[TAKEN] += 1
        graph.edges[edge, SUBJECT], graph.edges[edge, PREDICATE] = subject, predicate
        graph.edges[edge, OBJECT], graph.edges[edge, LINK] = object, PRESENT
        graph.counters[LIVE] += 1
    elif not graph.edges[edge, LINK] & PRESENT:
        graph.edges[edge, LINK] |= PRESENT
        graph.counters[LIVE] += 1
        touch_queries(world, np.int64(graph.edges[edge, LINK] >> 1) - 1, np.int64(-1))
    else:
        return
    if keeps_journal(world):
        write_down(world, row, 1, CAME, edge)


@kernel(inline=True)
def _quick_remove(world: Any, graph: Any, row: Any, subject: Any, predicate: Any, object: Any) -> None:
    place = slot_of(graph, edge_tag(subject, predicate, object), subject, predicate, object)
    edge = (graph.slots[place] & EDGE_NUMBER) - 1
    if edge >= 0 and graph.edges[edge, LINK] & PRESENT:
        touch_queries(world, np.int64(graph.edges[edge, LINK] >> 1) - 1, np.int64(1))
        if keeps_journal(world):
            write_down(world, row, 1, WENT, edge)
        graph_kernels.drop(graph, edge)


@kernel((WORLD,))
def run_quick(world: Any) -> Any:
    """Applies updates from where the run stands; NEED_ADJACENCY at one that asks for more than an edge."""
    graph, progress, state = graph_of(world), run_progress(world), report_state(world)
    ops, subjects, predicates = batch_op(world), batch_subject(world), batch_predicate(world)
    objects, times, clock = batch_object(world), batch_at(world), clocks(world)
    for row in range(progress[P_UPDATE], len(ops)):
        progress[P_UPDATE] = row
        ahead = row + _QUICK_AHEAD
        if ahead < len(ops):
            prefetch_edge(graph, subjects[ahead], predicates[ahead], objects[ahead])
            ahead -= _QUICK_AHEAD // 2
            prefetch_row(graph, subjects[ahead], predicates[ahead], objects[ahead])
        if progress[P_STAGE] == 0:
            if _lacks_room(graph):
                return NEED_GRAPH
            if ops[row] > REMOVE_EDGE:
                return NEED_ADJACENCY
            if not has_journal_room(world):
                return NEED_JOURNAL
            clock[ACCEPTED] += 1
            clock[CLOCK] = max(clock[CLOCK], times[row])
            if ops[row] == ADD_EDGE:
                _quick_add(world, graph, row, subjects[row], predicates[row], objects[row])
            else:
                _quick_remove(world, graph, row, subjects[row], predicates[row], objects[row])
        if state[TOUCHED]:
            progress[P_STAGE] = 1
            if not _quick_flush(world, row):
                return NEED_REPORTS
            progress[P_STAGE] = 0
    progress[P_UPDATE] = len(ops)
    return DONE
