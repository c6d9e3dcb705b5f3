"""The filter's kernels: structures of interests, candidates by access edge, and verification of structures and their
members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from heliograph.compiled.arrays import (
    FLOAT_ROWS,
    FLOATS,
    INT8S,
    INT16S,
    INT32S,
    INT64S,
    NEW_COUNTS,
    NEW_FLOATS,
    NEW_HASHES,
    NEW_INT8S,
    NEW_INT16S,
    NEW_INT32S,
    NEW_INT64S,
    ROWS,
    named,
    prefetch,
)
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import FREE, OTHER, SAME, edge_hash, find_key, mask_of, mixed, pair_key
from heliograph.compiled.hashmap import search as table_search
from heliograph.filter import layout
from heliograph.filter.layout import (
    ALONE,
    ASKED,
    ATOM_FLAGS,
    COORDINATE,
    DOMAIN,
    DOMAIN_CODE,
    ENTRY_HIGH,
    ENTRY_LOW,
    FIRST_ATOM,
    FIRST_CONJUNCT,
    FIRST_ENTRY,
    FIRST_MEMBER,
    FIRST_STEP,
    FIRST_TABLE,
    FLAGS,
    GATE,
    HIGH,
    LOW,
    MEMBER,
    MEMBERS,
    MODE,
    MOST_ROWS,
    OBJECT,
    PREDICATE,
    REACH,
    ROUNDED_CODE,
    SCANNED,
    SINGLE,
    STEPS,
    SUBJECT,
    TABLE_DOMAIN,
    TABLE_VARIABLE,
    TABLES,
    VARIABLE,
    VARIABLES,
    AccessKeys,
    Closure,
    DocumentEdges,
    Floats,
    Hashes,
    Int8s,
    Int16s,
    Int32s,
    Int64s,
    Left,
    SearchOutput,
    SegmentArrays,
    TermPlaces,
    TextKeys,
)

# --- types ------------------------------------------------------------------------------------------------------------

EDGES = named(layout.DocumentEdges, INT64S, INT32S, INT32S, INT32S)
NEW_EDGES = named(layout.DocumentEdges, NEW_INT64S, NEW_INT32S, NEW_INT32S, NEW_INT32S)
KEYS = named(layout.AccessKeys, INT64S, INT32S, INT32S, INT32S, INT64S, INT32S, INT8S, INT32S)
LEFT = named(layout.Left, NEW_INT64S, int64)
INDEX = named(layout.SegmentArrays, ROWS, ROWS, ROWS, INT64S, NEW_INT64S, ROWS, FLOAT_ROWS, ROWS, FLOAT_ROWS)
VALUES = named(layout.TermPlaces, int64, FLOAT_ROWS, FLOAT_ROWS)
WORDS = named(layout.TextKeys, INT32S, INT64S, FLOATS)
CLOSURE = named(layout.Closure, INT64S, INT32S, INT64S, INT32S, INT64S, INT32S, INT64S, INT64S, int64, int64, int64)
FOUND = named(layout.SearchOutput, NEW_INT32S, NEW_INT64S, NEW_INT32S, NEW_INT32S)


# --- from interests to structures -------------------------------------------------------------------------------------
# From interests to structures: a form in which the names of variables and the order of edges no longer show, the order
# in which edges are verified, and the edge each structure is looked up by. The law: two interests get one form only if
# a renaming of variables turns the edges of one into those of the other. (The converse is not needed: a missed one
# costs space, not answers. Variables are told apart by what is around them.)

_ROUNDS = 3  # how far around a variable is looked at
_SEED = np.uint64(0x5851F42D4C957F2D)
_ONE, _TWO, _THREE, _32, _33 = (np.uint64(number) for number in (1, 2, 3, 32, 33))


@kernel((EDGES, NEW_INT64S))
def count_variables(edges: DocumentEdges, out: Int64s) -> None:
    """How many variables each graph has."""
    for graph in range(len(edges.offsets) - 1):
        most = -1
        for edge in range(edges.offsets[graph], edges.offsets[graph + 1]):
            most = max(most, ~edges.subject[edge], ~edges.predicate[edge], ~edges.object[edge])
        out[graph] = most + 1


@kernel()
def _colour(node: Any, colours: Any) -> Any:
    return mixed(_SEED, np.uint64(node)) if node >= 0 else colours[~node]


@kernel()
def _tint(colours: Any, node: Any, role: Any, one: Any, other: Any) -> None:
    if node < 0:
        colours[~node] += mixed(mixed(role, one), other)


@kernel(allocates=True)
def _look_around(edges: DocumentEdges, first: int, last: int, colours: Any) -> None:
    """Colours each variable by its edges, and those by their colours; the sum does not depend on their order."""
    before = np.zeros(len(colours), np.uint64)
    for _ in range(_ROUNDS):
        for variable in range(len(colours)):
            before[variable] = colours[variable]
        for edge in range(first, last):
            subject, predicate, object = edges.subject[edge], edges.predicate[edge], edges.object[edge]
            of_subject, of_predicate, of_object = (
                _colour(subject, before),
                _colour(predicate, before),
                _colour(object, before),
            )
            _tint(colours, subject, _ONE, of_predicate, of_object)
            _tint(colours, predicate, _TWO, of_subject, of_object)
            _tint(colours, object, _THREE, of_predicate, of_subject)


@kernel()
def _rank(colours: Hashes, names: Int16s) -> None:
    """Numbers variables by their colours, equal ones in the order they have."""
    for variable in range(len(colours)):
        rank = 0
        for other in range(len(colours)):
            before = colours[other] < colours[variable] or (colours[other] == colours[variable] and other < variable)
            rank += 1 if before else 0
        names[variable] = rank


@kernel()
def _renamed(node: Any, names: Any) -> Any:
    return node if node >= 0 else ~np.int32(names[~node])


@kernel()
def _after(edges: DocumentEdges, one: int, other: int) -> Any:
    if edges.subject[one] != edges.subject[other]:
        return edges.subject[one] > edges.subject[other]
    if edges.predicate[one] != edges.predicate[other]:
        return edges.predicate[one] > edges.predicate[other]
    return edges.object[one] > edges.object[other]


@kernel()
def _swap(edges: DocumentEdges, one: int, other: int) -> None:
    for column in (edges.subject, edges.predicate, edges.object):
        column[one], column[other] = column[other], column[one]


@kernel()
def _sort(edges: DocumentEdges, first: int, last: int) -> None:
    """Shell's sort: in place, and fast for the few edges of a pattern."""
    gap = 1
    while gap < (last - first) // 3:
        gap = 3 * gap + 1
    while gap:
        for start in range(first + gap, last):
            at = start
            while at - gap >= first and _after(edges, at - gap, at):
                _swap(edges, at - gap, at)
                at -= gap
        gap //= 3


@kernel()
def _distinct(edges: DocumentEdges, first: int, last: int) -> Any:
    """Drops repeated edges of a sorted graph; returns where it now ends."""
    end = first
    for edge in range(first, last):
        if end == first or _after(edges, edge, end - 1):
            edges.subject[end], edges.predicate[end], edges.object[end] = (
                edges.subject[edge],
                edges.predicate[edge],
                edges.object[edge],
            )
            end += 1
    return end


@kernel((EDGES, INT8S, INT64S, NEW_EDGES, NEW_INT16S, NEW_HASHES))
def canonicalise(
    edges: DocumentEdges, flags: Int8s, variables: Int64s, out: DocumentEdges, names: Int16s, hashes: Hashes
) -> None:
    """Writes each graph in its form: out.offsets[i] is where it ends, it begins where it began in `edges`; `names` are
    the new numbers of its variables from variables[i] on; `hashes` are of the form and the flags."""
    for graph in range(len(edges.offsets) - 1):
        first, last = edges.offsets[graph], edges.offsets[graph + 1]
        start, count = variables[graph], variables[graph + 1] - variables[graph]
        for edge in range(first, last):
            out.subject[edge], out.predicate[edge] = edges.subject[edge], edges.predicate[edge]
            out.object[edge] = edges.object[edge]
        _sort(out, first, last)
        end = _distinct(out, first, last)
        colours = np.ones(count, np.uint64)
        _look_around(out, first, end, colours)
        own = names[start : start + count]
        _rank(colours, own)
        for edge in range(first, end):
            out.subject[edge] = _renamed(out.subject[edge], own)
            out.predicate[edge] = _renamed(out.predicate[edge], own)
            out.object[edge] = _renamed(out.object[edge], own)
        _sort(out, first, end)
        out.offsets[graph] = end
        hashed = mixed(_SEED, np.uint64(flags[graph]))
        for edge in range(first, end):
            hashed = mixed(hashed, edge_hash(out.subject[edge], out.predicate[edge], out.object[edge]))
        hashes[graph] = hashed


@kernel()
def _same(edges: DocumentEdges, ends: Int64s, one: int, other: int) -> Any:
    first, second = edges.offsets[one], edges.offsets[other]
    size = ends[one] - first
    if ends[other] - second != size:
        return False
    for place in range(size):
        if (
            edges.subject[first + place] != edges.subject[second + place]
            or edges.predicate[first + place] != edges.predicate[second + place]
            or edges.object[first + place] != edges.object[second + place]
        ):
            return False
    return True


@kernel((EDGES, INT64S, INT8S, INT64S, NEW_INT32S))
def number_structures(edges: DocumentEdges, ends: Int64s, flags: Int8s, order: Int64s, out: Int32s) -> Any:
    """Numbers the forms along `order`, in which equal ones lie together; returns how many there are."""
    count = 0
    for place in range(len(order)):
        graph = order[place]
        if place == 0 or flags[graph] != flags[order[place - 1]] or not _same(edges, ends, graph, order[place - 1]):
            count += 1
        out[graph] = count - 1
    return count


# --- the order of verification ----------------------------------------------------------------------------------

# What it costs to take an edge of which these parts are known: nothing where all are, little along a list of
# neighbours by property, more along one of all neighbours, most where the whole publication is run through.
_COSTS = np.array([6, 4, 5, 1, 4, 2, 1, 0], np.int64)


@kernel()
def _known(node: Any, bound: Any) -> Any:
    return node >= 0 or bound[~node] != 0


@kernel()
def _mode(edges: DocumentEdges, edge: int, bound: Any) -> Any:
    return (
        (1 if _known(edges.subject[edge], bound) else 0)
        | (2 if _known(edges.predicate[edge], bound) else 0)
        | (4 if _known(edges.object[edge], bound) else 0)
    )


@kernel()
def _bind(node: Any, bound: Any) -> None:
    if node < 0:
        bound[~node] = 1


@kernel((NEW_EDGES, INT16S, NEW_INT8S))
def order_steps(edges: DocumentEdges, variables: Int16s, modes: Int8s) -> None:
    """Puts the edges of each structure in the order of verification: always the cheapest of those that are left."""
    for structure in range(len(variables)):
        first, last = edges.offsets[structure], edges.offsets[structure + 1]
        bound = np.zeros(variables[structure], np.uint8)
        for place in range(first, last):
            best, cheapest = place, 100
            for edge in range(place, last):
                cost = _COSTS[_mode(edges, edge, bound)]
                if cost < cheapest:
                    best, cheapest = edge, cost
                if cost == 0:
                    break
            modes[place] = _mode(edges, best, bound)
            _swap(edges, place, best)
            _bind(edges.subject[place], bound)
            _bind(edges.predicate[place], bound)
            _bind(edges.object[place], bound)


@kernel()
def _arrive(node: Any, known: Any, step: int, reached: Any) -> None:
    if node < 0 and not known:
        reached[~node] = step


@kernel((EDGES, INT8S, INT16S, INT64S, INT8S, INT64S, INT16S, NEW_INT32S, NEW_INT8S))
def find_gates(
    edges: DocumentEdges,
    modes: Int8s,
    variables: Int16s,
    members: Int64s,
    flags: Int8s,
    conjuncts: Int64s,
    asked: Int16s,
    gates: Int32s,
    marks: Int8s,
) -> None:
    """After how many steps all that members ask about is bound, and a mark for each step that binds some of it. An
    inexact member (flag 1) asks about everything."""
    most = np.int64(1)
    for structure in range(len(variables)):
        most = max(most, np.int64(variables[structure]))
    reached = np.zeros(most, np.int32)  # after how many steps each variable is bound
    for structure in range(len(variables)):
        before, gate = edges.offsets[structure] - 1, 0
        for edge in range(edges.offsets[structure], edges.offsets[structure + 1]):
            _arrive(edges.subject[edge], modes[edge] & 1, edge - before, reached)
            _arrive(edges.predicate[edge], modes[edge] & 2, edge - before, reached)
            _arrive(edges.object[edge], modes[edge] & 4, edge - before, reached)
        for member in range(members[structure], members[structure + 1]):
            if flags[member] & 1:
                gate = edges.offsets[structure + 1] - edges.offsets[structure]
                for variable in range(variables[structure]):
                    marks[before + reached[variable]] = 1
                break
            for conjunct in range(conjuncts[member], conjuncts[member + 1]):
                gate = max(gate, reached[asked[conjunct]])
                marks[before + reached[asked[conjunct]]] = 1
        gates[structure] = gate


# --- the way in -------------------------------------------------------------------------------------------------


@kernel((EDGES, NEW_COUNTS))
def count_edges(edges: DocumentEdges, counts: Any) -> None:
    """How often each edge, variables being unknown parts, occurs; by hash, so a count may be too large."""
    mask = np.uint64(len(counts) - 1)
    for edge in range(len(edges.subject)):
        hashed = edge_hash(max(edges.subject[edge], -1), max(edges.predicate[edge], -1), max(edges.object[edge], -1))
        counts[hashed & mask] += 1


@kernel()
def seen(hashed: Any, sketch: Any) -> Any:
    """How often publications held an edge, at most: the smaller of two counts by different bits of the hash."""
    half = np.uint64(len(sketch) // 2)
    one, other = sketch[hashed & (half - _ONE)], sketch[half + ((hashed >> _32) & (half - _ONE))]
    return min(one, other)


_CONSTANTS = np.array([0, 1, 1, 2, 1, 2, 2, 3], np.int64)  # known parts, by mask


@kernel((EDGES, NEW_COUNTS, NEW_COUNTS, NEW_INT64S))
def choose_access(edges: DocumentEdges, sketch: Any, counts: Any, chosen: Int64s) -> None:
    """The edge each structure is looked up by: the one seen least in publications, then the one with most constants,
    then the one that fewest structures share; -1 where there is none."""
    mask = np.uint64(len(counts) - 1)
    for structure in range(len(chosen)):
        best, least, most, fewest = -1, np.int64(0), np.int64(0), np.int64(0)
        for edge in range(edges.offsets[structure], edges.offsets[structure + 1]):
            subject, predicate, object = (
                max(edges.subject[edge], -1),
                max(edges.predicate[edge], -1),
                max(edges.object[edge], -1),
            )
            hashed = edge_hash(subject, predicate, object)
            live, sharing = np.int64(seen(hashed, sketch)), np.int64(counts[hashed & mask])
            constants = _CONSTANTS[mask_of(subject, predicate, object)]
            better = live < least or (live == least and (constants > most or (constants == most and sharing < fewest)))
            if best < 0 or better:
                best, least, most, fewest = edge, live, constants, sharing
        chosen[structure] = best


@kernel(inline=True)
def _compare_marks(slots: Any, place: Any, mark: Any) -> Any:
    if not slots[place]:
        return FREE
    return SAME if slots[place] >> 32 == mark else OTHER


_find_slot = table_search(_compare_marks)


@kernel((INT32S, INT32S, INT32S, NEW_INT64S, NEW_INT32S))
def number_keys(subject: Int32s, predicate: Int32s, object: Int32s, slots: Int64s, out: Int32s) -> Any:
    """Numbers distinct keys by first appearance and enters them into `slots`; returns how many there are.

    Keys of which all bits agree that a look-up compares are one: either of them then finds what both lead to."""
    count = 0
    for row in range(len(out)):
        hashed = edge_hash(subject[row], predicate[row], object[row])
        mark = np.int64(hashed >> _33)
        slot = _find_slot(slots, len(slots), hashed, mark)
        if not slots[slot]:
            count += 1
            slots[slot] = (mark << 32) | count
        out[row] = (slots[slot] & 0xFFFFFFFF) - 1
    return count


# --- one publication as a small graph ---------------------------------------------------------------------------------
# One publication as a small graph in a scratch array: is this edge there, and which edges have these parts? Every list
# of edges is a chain through a hash table; only the lists that an index asks for are made. It is all one array, made
# once for a batch and used for one publication after another: a kernel that hands dozens of arrays from function to
# function spends its time on that.
#
# The array holds six numbers, the edges as (subject, predicate, object), the heads of six tables, and their links.

WHOLE, BY_SP, BY_PO, BY_S, BY_O, BY_P = 0, 1, 2, 3, 4, 5
_TABLES = 6
SIZE, _SHIFT, _HEADS_AT, _SPACE, _LINKS_AT, _MOST = range(6)  # edges; 64 less the bits of a head; where the rest is
_EDGES_AT = 6
_ANY = np.int32(-1)

# Odd multipliers without pattern: the upper bits of the sum are a hash that costs three multiplications side by side.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_THIRD = np.uint64(0x165667B19E3779F9)


@kernel(allocates=True)
def make_graph(most: int) -> Any:
    """Room for a publication of so many edges."""
    space = 16
    while space < 2 * most:
        space *= 2
    graph = np.empty(_EDGES_AT + 3 * most + _TABLES * (space + most), np.int32)
    graph[SIZE], graph[_SHIFT], graph[_HEADS_AT] = 0, 0, _EDGES_AT + 3 * most
    graph[_SPACE], graph[_LINKS_AT], graph[_MOST] = space, _EDGES_AT + 3 * most + _TABLES * space, most
    return graph


@kernel()
def part(graph: Int32s, edge: int, number: int) -> Any:
    """The subject (0), predicate (1) or object (2) of an edge."""
    return graph[_EDGES_AT + 3 * edge + number]


@kernel()
def _head(graph: Int32s, table: int, subject: Any, predicate: Any, object: Any) -> Any:
    spread = np.uint64(subject) * _FIRST + np.uint64(predicate) * _SECOND + np.uint64(object) * _THIRD
    return graph[_HEADS_AT] + table * graph[_SPACE] + np.int64(spread >> np.uint64(graph[_SHIFT]))


@kernel()
def _link(graph: Int32s, table: int, edge: int, head: int) -> None:
    graph[graph[_LINKS_AT] + table * graph[_MOST] + edge] = graph[head]
    graph[head] = edge


@kernel()
def first(graph: Int32s, table: int, subject: Any, predicate: Any, object: Any) -> Any:
    """The first edge of a chain; parts that the table does not ask for are -1. Others may stand in it: compare."""
    return graph[_head(graph, table, subject, predicate, object)]


@kernel()
def following(graph: Int32s, table: int, edge: int) -> Any:
    return graph[graph[_LINKS_AT] + table * graph[_MOST] + edge]


@kernel()
def holds(graph: Int32s, subject: Any, predicate: Any, object: Any) -> Any:
    """Whether the publication has an edge."""
    edge = first(graph, WHOLE, subject, predicate, object)
    while edge >= 0:
        if part(graph, edge, 0) == subject and part(graph, edge, 1) == predicate and part(graph, edge, 2) == object:
            return True
        edge = following(graph, WHOLE, edge)
    return False


@kernel()
def _clear(graph: Int32s, edges: int, wanted: int) -> None:
    heads, bits = 16, 4
    while heads < 2 * edges:
        heads, bits = 2 * heads, bits + 1
    graph[SIZE], graph[_SHIFT] = 0, 64 - bits
    for table in range(_TABLES):
        if wanted >> table & 1:
            start = graph[_HEADS_AT] + table * graph[_SPACE]
            for head in range(start, start + heads):
                graph[head] = -1


@kernel()
def fill(graph: Int32s, edges: DocumentEdges, publication: int, wanted: int) -> None:
    """Makes the graph that of one publication, each edge once; `wanted` has a bit for each table that is needed."""
    start, stop = edges.offsets[publication], edges.offsets[publication + 1]
    _clear(graph, stop - start, wanted)
    for row in range(start, stop):
        subject, predicate, object = edges.subject[row], edges.predicate[row], edges.object[row]
        if not holds(graph, subject, predicate, object):
            edge = graph[SIZE]
            graph[SIZE] += 1
            place = _EDGES_AT + 3 * edge
            graph[place], graph[place + 1], graph[place + 2] = subject, predicate, object
            _enter(graph, edge, wanted)


@kernel()
def _enter(graph: Int32s, edge: int, wanted: int) -> None:
    subject, predicate, object = part(graph, edge, 0), part(graph, edge, 1), part(graph, edge, 2)
    _link(graph, WHOLE, edge, _head(graph, WHOLE, subject, predicate, object))
    if wanted >> BY_SP & 1:
        _link(graph, BY_SP, edge, _head(graph, BY_SP, subject, predicate, _ANY))
    if wanted >> BY_PO & 1:
        _link(graph, BY_PO, edge, _head(graph, BY_PO, _ANY, predicate, object))
    if wanted >> BY_S & 1:
        _link(graph, BY_S, edge, _head(graph, BY_S, subject, _ANY, _ANY))
    if wanted >> BY_O & 1:
        _link(graph, BY_O, edge, _head(graph, BY_O, _ANY, _ANY, object))
    if wanted >> BY_P & 1:
        _link(graph, BY_P, edge, _head(graph, BY_P, _ANY, predicate, _ANY))


# --- classes of a term ------------------------------------------------------------------------------------------------
# Classes of a term, from the taxonomy's closure and the publication's own types. The law: x is a C if some type
# row or `rdf:type` edge leads from x to C, or to a T from which sub-class rows or `rdfs:subClassOf` edges lead to C.
# The taxonomy's part is a look-up in the closure; only a publication with sub-classes of its own is walked.


class ClassWalk(NamedTuple):
    """Scratch for walking up: the terms reached, and for each term the walk that reached it last."""

    reached: Int32s
    stamps: Int64s  # a batch may take more than 2^31 walks
    state: Int64s  # terms reached, number of the walk, whether the publication has sub-classes of its own


WALK = named(ClassWalk, NEW_INT32S, NEW_INT64S, NEW_INT64S)


@kernel((NEW_INT64S, NEW_INT64S))
def fill_pairs(pairs: Int64s, slots: Int64s) -> None:
    """Enters pairs, as `pair_key` writes them, into an empty table."""
    for pair in pairs:
        slots[find_key(slots, pair)] = pair


@kernel(inline=True)
def _above(pairs: Int64s, low: Any, high: Any) -> Any:
    """Whether a table of the closure has `high` above `low`."""
    return pairs[find_key(pairs, pair_key(low, high))] != 0


@kernel()
def _visit(walk: ClassWalk, term: Any) -> None:
    if walk.stamps[term] != walk.state[1]:
        walk.stamps[term] = walk.state[1]
        walk.reached[walk.state[0]] = term
        walk.state[0] += 1


@kernel()
def _visit_edges(walk: ClassWalk, graph: Int32s, term: Any, predicate: Any) -> None:
    edge = first(graph, BY_SP, term, predicate, np.int32(-1))
    while edge >= 0:
        if part(graph, edge, 0) == term and part(graph, edge, 1) == predicate:
            _visit(walk, part(graph, edge, 2))
        edge = following(graph, BY_SP, edge)


@kernel()
def _visit_listed(walk: ClassWalk, offsets: Int64s, above: Int32s, term: Any) -> None:
    """What the taxonomy lists above a term: its types, its parents, or all its ancestors."""
    if term < len(offsets) - 1:
        for place in range(offsets[term], offsets[term + 1]):
            _visit(walk, above[place])


@kernel()
def _climb(walk: ClassWalk, closure: Closure, graph: Int32s) -> None:
    """Everything above the terms reached so far, along rows and the publication's own edges."""
    place = 0
    while place < walk.state[0]:
        term = walk.reached[place]
        _visit_listed(walk, closure.parent_offsets, closure.parents, term)
        _visit_edges(walk, graph, term, np.int32(closure.subclass_of))
        place += 1


@kernel()
def gather_types(closure: Closure, graph: Int32s, walk: ClassWalk, term: int, direct: int) -> None:
    """Writes into walk.reached the classes a term is an instance of: directly, or all of them."""
    walk.state[0] = 0
    walk.state[1] += 1
    _visit_listed(walk, closure.type_offsets, closure.types, np.int32(term))
    _visit_edges(walk, graph, np.int32(term), np.int32(closure.rdf_type))
    if not direct and walk.state[2]:
        _climb(walk, closure, graph)
    elif not direct:
        for place in range(walk.state[0]):
            _visit_listed(walk, closure.offsets, closure.ancestors, walk.reached[place])


@kernel()
def gather_superclasses(closure: Closure, graph: Int32s, walk: ClassWalk, term: int) -> None:
    """Writes into walk.reached everything above a term."""
    walk.state[0] = 0
    walk.state[1] += 1
    if walk.state[2]:
        _visit_listed(walk, closure.parent_offsets, closure.parents, np.int32(term))
        _visit_edges(walk, graph, np.int32(term), np.int32(closure.subclass_of))
        _climb(walk, closure, graph)
    else:
        _visit_listed(walk, closure.offsets, closure.ancestors, term)


@kernel()
def _reached(walk: ClassWalk, term: Any) -> Any:
    return walk.stamps[term] == walk.state[1]


@kernel(inline=True)
def is_a(closure: Closure, graph: Int32s, walk: ClassWalk, term: Any, kind: Any) -> Any:
    """Whether a term is an instance of a class or of one below it."""
    if walk.state[2]:
        gather_types(closure, graph, walk, term, 0)
        return _reached(walk, kind)
    if _above(closure.instances, term, kind):
        return True
    edge = first(graph, BY_SP, np.int32(term), np.int32(closure.rdf_type), np.int32(-1))
    while edge >= 0:
        own = part(graph, edge, 0) == term and part(graph, edge, 1) == closure.rdf_type
        if own and (part(graph, edge, 2) == kind or _above(closure.pairs, part(graph, edge, 2), kind)):
            return True
        edge = following(graph, BY_SP, edge)
    return False


@kernel()
def is_direct(closure: Closure, graph: Int32s, term: Any, kind: Any) -> Any:
    """Whether a type row or an `rdf:type` edge leads from a term to a class."""
    if term < len(closure.type_offsets) - 1:
        for place in range(closure.type_offsets[term], closure.type_offsets[term + 1]):
            if closure.types[place] == kind:
                return True
    return holds(graph, np.int32(term), np.int32(closure.rdf_type), np.int32(kind))


@kernel()
def is_below(closure: Closure, graph: Int32s, walk: ClassWalk, term: Any, kind: Any) -> Any:
    """Whether a term is a sub-class of a class, at any distance."""
    if walk.state[2]:
        gather_superclasses(closure, graph, walk, term)
        return _reached(walk, kind)
    return _above(closure.pairs, term, kind)


# --- the search for solutions -----------------------------------------------------------------------------------------
# The search for the solutions of one structure in one publication, as a machine that stops when somebody must decide. A
# structure's edges are taken in their order, each along the shortest list of the publication's edges that its known
# parts name. The law: when an edge cannot be taken, only a step that bound one of its variables can change that, so the
# search goes back there at once (conflict-directed backjumping); what lies between is not tried again.
#
# Everything the machine knows lies in one array, its *path*: a few numbers, then for each step the edge taken and the
# steps to blame for failures beyond it, then for each variable its value and the step that bound it.

EXHAUSTED, AT_GATE, COMPLETE, BOUND, TIRED = range(5)  # why the machine stopped; TIRED: it has done what it may

STEP, ENTERING, COST, _BUDGET, _MOST_STEPS, _MOST_VARIABLES = range(6)  # of a path
_CURSORS = 6
_BACK, _FORWARD, _THROUGH = range(3)  # ENTERING: try the next edge; try the first one; the gate has been passed

_LEVELS = 62  # steps with a bit of their own; all later ones share the next, and are gone back to one by one

# Which list to run through when these parts of an edge are known; -1: the whole publication.
_LISTS = np.array([-1, BY_S, BY_P, BY_SP, BY_O, BY_S, BY_PO, WHOLE], np.int64)


@kernel(allocates=True)
def make_path(steps: int, variables: int) -> Any:
    path = np.zeros(_CURSORS + 2 * steps + 2 * variables, np.int64)
    path[_MOST_STEPS], path[_MOST_VARIABLES] = steps, variables
    return path


@kernel()
def value(path: Int64s, variable: int) -> Any:
    """What a variable is bound to."""
    return np.int32(path[_CURSORS + 2 * path[_MOST_STEPS] + variable])


@kernel()
def level(path: Int64s, variable: int) -> Any:
    """The step that bound a variable."""
    return path[_CURSORS + 2 * path[_MOST_STEPS] + path[_MOST_VARIABLES] + variable]


@kernel()
def _bind_value(path: Int64s, node: Any, term: Any, step: int) -> None:
    place = _CURSORS + 2 * path[_MOST_STEPS] + ~node
    path[place], path[place + path[_MOST_VARIABLES]] = term, step


@kernel()
def _term(path: Int64s, node: Any) -> Any:
    return node if node >= 0 else value(path, ~node)


@kernel()
def _blame_at(path: Int64s, step: int) -> Any:
    return _CURSORS + path[_MOST_STEPS] + step


# --- one step ---------------------------------------------------------------------------------------------------


@kernel()
def _begin(steps: Int32s, row: int, graph: Int32s, path: Int64s) -> Any:
    """The first edge that may be taken for a step, or -1."""
    mode = steps[row, MODE] & 7
    if mode == 0:
        return np.int32(0 if graph[SIZE] else -1)
    if mode == 5:
        mode = np.int32(1)
    return first(
        graph,
        _LISTS[mode],
        _term(path, steps[row, SUBJECT]) if mode & 1 else _ANY,
        _term(path, steps[row, PREDICATE]) if mode & 2 else _ANY,
        _term(path, steps[row, OBJECT]) if mode & 4 else _ANY,
    )


@kernel()
def _next(mode: Any, graph: Int32s, edge: int) -> Any:
    if mode == 0:
        return np.int32(edge + 1 if edge + 1 < graph[SIZE] else -1)
    return following(graph, _LISTS[mode], edge)


@kernel()
def _take(steps: Int32s, row: int, step: int, graph: Int32s, edge: int, path: Int64s) -> Any:
    """Whether an edge agrees with a step; binds the step's new variables."""
    mode, subject, predicate = steps[row, MODE], steps[row, SUBJECT], steps[row, PREDICATE]
    object = steps[row, OBJECT]
    if mode & 1:
        if part(graph, edge, 0) != _term(path, subject):
            return False
    else:
        _bind_value(path, subject, part(graph, edge, 0), step)
    if mode & 2 or predicate == subject:
        if part(graph, edge, 1) != _term(path, predicate):
            return False
    else:
        _bind_value(path, predicate, part(graph, edge, 1), step)
    if mode & 4 or object in (subject, predicate):
        return part(graph, edge, 2) == _term(path, object)
    _bind_value(path, object, part(graph, edge, 2), step)
    return True


@kernel()
def _step(steps: Int32s, row: int, step: int, entering: int, graph: Int32s, path: Int64s) -> Any:
    """Takes the first, or the next, edge that agrees with a step; whether there is one."""
    mode = steps[row, MODE]
    path[COST] += 1
    mode &= 7
    if mode == 7:
        return entering != _BACK and holds(
            graph,
            _term(path, steps[row, SUBJECT]),
            _term(path, steps[row, PREDICATE]),
            _term(path, steps[row, OBJECT]),
        )
    edge = _next(mode, graph, path[_CURSORS + step]) if entering == _BACK else _begin(steps, row, graph, path)
    while edge >= 0:
        path[COST] += 1
        if _take(steps, row, step, graph, edge, path):
            path[_CURSORS + step] = edge
            return True
        edge = _next(mode, graph, edge)
    return False


# --- going back -------------------------------------------------------------------------------------------------


@kernel()
def _bit(step: int) -> Any:
    return np.int64(1) << min(step, _LEVELS)


@kernel()
def _blame(path: Int64s, node: Any, known: Any) -> Any:
    return _bit(level(path, ~node)) if known and node < 0 else np.int64(0)


@kernel()
def _back(steps: Int32s, row: int, step: int, path: Int64s) -> Any:
    """The step to go back to after one that cannot be taken (any more), or -1; it takes over the others' blame."""
    mode = steps[row, MODE]
    blamed = (
        path[_blame_at(path, step)]
        | _blame(path, steps[row, SUBJECT], mode & 1)
        | _blame(path, steps[row, PREDICATE], mode & 2)
        | _blame(path, steps[row, OBJECT], mode & 4)
    )
    target = step - 1
    while target >= 0 and not blamed & _bit(target):
        target -= 1
    if target >= 0:
        earlier = _bit(target) - 1 if target <= _LEVELS else np.int64(-1)
        path[_blame_at(path, target)] |= blamed & earlier
    return target


@kernel()
def retreat(structures: Int32s, structure: int, steps: Int32s, path: Int64s) -> None:
    """Goes back to before the gate. Members answer alike until something changes that they ask about: only the steps
    that bound such a thing can lead to other answers."""
    gate, begin = structures[structure, GATE], structures[structure, FIRST_STEP]
    for step in range(gate - 1):
        if steps[begin + step, MODE] & ASKED:
            path[_blame_at(path, gate - 1)] |= _bit(step)
    path[STEP], path[ENTERING] = gate - 1, _BACK


@kernel()
def start(path: Int64s, budget: int) -> None:
    """Begins a search that may look at so many edges."""
    path[STEP], path[ENTERING], path[COST], path[_BUDGET] = 0, _FORWARD, 0, budget


@kernel()
def forget(path: Int64s, variables: int) -> None:
    """No step has bound these variables yet: only where somebody asks what a step has bound must that be said."""
    begin = _CURSORS + 2 * path[_MOST_STEPS] + path[_MOST_VARIABLES]
    for variable in range(variables):
        path[begin + variable] = -1


@kernel()
def refuse(path: Int64s) -> None:
    """What the last step bound will not do."""
    path[STEP], path[ENTERING] = path[STEP] - 1, _BACK


@kernel()
def pass_gate(path: Int64s) -> None:
    path[ENTERING] = _THROUGH


@kernel()
def advance(structures: Int32s, structure: int, steps: Int32s, graph: Int32s, path: Int64s, stops: Any) -> Any:
    """Runs until a solution is complete or, if it `stops` on the way, until there is something to decide: the gate is
    reached or, in a structure with one member, something is bound that it asks about."""
    begin, length = structures[structure, FIRST_STEP], structures[structure, STEPS]
    gate = structures[structure, GATE] if stops else np.int32(0)
    single = stops and structures[structure, MEMBERS] == 1
    step, entering = path[STEP], path[ENTERING]
    event = EXHAUSTED
    while step >= 0:
        if entering == _FORWARD and step == gate and gate:
            event = AT_GATE
            break
        if step == length:
            event = COMPLETE
            break
        if path[COST] > path[_BUDGET]:
            event = TIRED
            break
        if entering != _BACK:
            path[_blame_at(path, step)] = 0
        if _step(steps, begin + step, step, entering, graph, path):
            step, entering = step + 1, np.int64(_FORWARD)
            if single and steps[begin + step - 1, MODE] & ASKED:
                event = BOUND
                break
        else:
            step, entering = _back(steps, begin + step, step, path), np.int64(_BACK)
    path[STEP], path[ENTERING] = step, entering
    return event


# --- conditions -------------------------------------------------------------------------------------------------------
# Whether a value satisfies what a member asks of a variable: no, surely, or perhaps. Perhaps: the value ties with the
# end of an interval and one of the two is rounded, or the value is an xsd:float, which is promoted differently against
# each kind of number. Then the query's own conditions decide, outside.

NO, SURE, PERHAPS = 0, 1, 2
FLOAT, IS_A, DIRECT, SUBCLASS_OF, SUPERCLASS_OF, WORD = 11, 16, 17, 18, 19, 20  # sparql.regions.Domain
LOW_OPEN, HIGH_OPEN, ROUNDED = 1, 2, 4  # index.interests


class SearchWorld(NamedTuple):
    """What conditions are asked of: one publication, the values of its terms and the taxonomy."""

    graph: Int32s
    values: TermPlaces
    words: TextKeys
    closure: Closure
    walk: ClassWalk


@kernel(inline=True)
def domain_of(values: TermPlaces, term: Any) -> Any:
    """The domain of a term, and ROUNDED_CODE if its coordinate is rounded."""
    if term < values.start:
        return np.int64(values.base[term, DOMAIN_CODE])
    return np.int64(values.own[term - values.start, DOMAIN_CODE])


@kernel(inline=True)
def coordinate_of(values: TermPlaces, term: Any) -> Any:
    if term < values.start:
        return values.base[term, COORDINATE]
    return values.own[term - values.start, COORDINATE]


@kernel(inline=True)
def _within(atoms: Floats, atom: int, values: TermPlaces, term: Any) -> Any:
    code = domain_of(values, term)
    if code % ROUNDED_CODE == FLOAT:
        return PERHAPS
    if code % ROUNDED_CODE != atoms[atom, DOMAIN]:
        return NO
    at, low, high = coordinate_of(values, term), atoms[atom, LOW], atoms[atom, HIGH]
    if at < low or at > high:
        return NO
    if at > low and at < high:
        return SURE
    flags = np.int64(atoms[atom, ATOM_FLAGS])
    if flags & ROUNDED or code >= ROUNDED_CODE:
        return PERHAPS
    excluded = (at == low and flags & LOW_OPEN) or (at == high and flags & HIGH_OPEN)
    return NO if excluded else SURE


@kernel(inline=True)
def _asked(atoms: Floats, atom: int, world: SearchWorld, term: Any) -> Any:
    """An atom about classes or text; what text holds is left to the query's own conditions."""
    domain, kind = np.int64(atoms[atom, DOMAIN]), np.int64(atoms[atom, LOW])
    if domain == IS_A:
        return SURE if is_a(world.closure, world.graph, world.walk, term, kind) else NO
    if domain == DIRECT:
        return SURE if is_direct(world.closure, world.graph, term, kind) else NO
    if domain == SUBCLASS_OF:
        return SURE if is_below(world.closure, world.graph, world.walk, term, kind) else NO
    if domain == SUPERCLASS_OF:
        return SURE if is_below(world.closure, world.graph, world.walk, kind, term) else NO
    return SURE


@kernel(inline=True)
def satisfies(index: SegmentArrays, conjunct: int, world: SearchWorld, term: Any) -> Any:
    """Whether a value lies in one of a conjunct's atoms."""
    answer = NO
    for atom in range(index.conjuncts[conjunct, FIRST_ATOM], index.conjuncts[conjunct + 1, FIRST_ATOM]):
        if index.atoms[atom, DOMAIN] < IS_A:
            found = _within(index.atoms, atom, world.values, term)
        else:
            found = _asked(index.atoms, atom, world, term)
        if found == SURE:
            return SURE
        answer = max(answer, found)
    return answer


@kernel()
def accepts(index: SegmentArrays, member: int, world: SearchWorld, path: Int64s) -> Any:
    """Whether a solution satisfies everything that a member asks."""
    answer = SURE
    for conjunct in range(index.members[member, FIRST_CONJUNCT], index.members[member + 1, FIRST_CONJUNCT]):
        found = satisfies(index, conjunct, world, value(path, index.conjuncts[conjunct, VARIABLE]))
        if found == NO:
            return NO
        answer = max(answer, found)
    return answer


# --- constraint tables ------------------------------------------------------------------------------------------------
# Constraint tables ([R] figure 4, two-sided): which members' intervals hold a coordinate? The entries of a table lie by
# their low ends. The middle entry of a part knows how far any interval of that part reaches, and so do the middles of
# both halves: a search leaves out every part that begins too late or ends too early, and takes about log n steps and a
# few more for each interval found, however many there are.

DEPTH = 128  # twice the depth of a table of 2^63 entries


@kernel((FLOATS, INT64S, NEW_FLOATS))
def reach_of(high: Floats, offsets: Int64s, reach: Floats) -> None:
    """For every entry of every table, the furthest end of the part that it is the middle of."""
    for table in range(len(offsets) - 1):
        _furthest(high, offsets[table], offsets[table + 1], reach)


@kernel(allocates=True)
def _furthest(high: Floats, first: int, last: int, reach: Floats) -> None:
    """Parts from the smallest to the whole: a part is closed when both of its halves have been."""
    begins, ends, closing = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.zeros(DEPTH, np.bool_)
    begins[0], ends[0], top = first, last, 1
    while top:
        begin, end = begins[top - 1], ends[top - 1]
        middle = (begin + end) // 2
        if begin >= end:
            top -= 1
        elif closing[top - 1]:
            furthest = high[middle]
            if begin < middle:
                furthest = max(furthest, reach[(begin + middle) // 2])
            if middle + 1 < end:
                furthest = max(furthest, reach[(middle + 1 + end) // 2])
            reach[middle] = furthest
            top -= 1
        else:
            closing[top - 1] = True
            begins[top], ends[top], closing[top] = begin, middle, False
            begins[top + 1], ends[top + 1], closing[top + 1] = middle + 1, end, False
            top += 2


@kernel()
def find(entries: Floats, at: float, stack: Int64s, top: int) -> Any:
    """Goes on with the parts on the stack until one entry is found that may hold the coordinate: the entry or -1, and
    the new height of the stack."""
    while top:
        begin, end = stack[top - 2], stack[top - 1]
        top -= 2
        middle = (begin + end) // 2
        if begin >= end or entries[middle, REACH] < at:
            continue
        stack[top], stack[top + 1] = begin, middle
        top += 2
        if entries[middle, ENTRY_LOW] <= at:
            stack[top], stack[top + 1] = middle + 1, end
            top += 2
            if entries[middle, ENTRY_HIGH] >= at:
                return middle, top
    return np.int64(-1), top


# --- candidates -------------------------------------------------------------------------------------------------------
# Candidates: the structures whose access edge a publication holds. Nothing else about a structure is looked at here.
# The law: a structure is found once for a publication if and only if some edge of the publication agrees with its
# access edge in every part that is a constant, or if it has no edge at all; hashes that happen to agree add some,
# seldom.

_FULL = np.uint32((1 << 32) - 1)


@kernel()
def _hash_known(edges: DocumentEdges, edge: int, mask: Any) -> Any:
    """The hash of an edge of which only some parts are known."""
    return edge_hash(
        edges.subject[edge] if mask & 1 else _ANY,
        edges.predicate[edge] if mask & 2 else _ANY,
        edges.object[edge] if mask & 4 else _ANY,
    )


@kernel()
def _offer(structure: int, emptied: Int64s, stamp: int, found: Int32s, count: int) -> Any:
    """Writes a structure of which somebody is left, if there is room; returns how many there are now."""
    if emptied[structure] <= stamp:
        return count
    if count < len(found):
        found[count] = structure
    return count + 1


@kernel()
def _post(keys: AccessKeys, edges: DocumentEdges, publication: int, met: Any, left: Left, found: Int32s) -> Any:
    """Writes the structures that one publication's edges lead to; returns how many, room or not."""
    count, emptied, stamp, slots = 0, left.emptied, left.stamp, keys.slots
    for structure in keys.always:
        count = _offer(structure, emptied, stamp, found, count)
    for mask in keys.masks:
        for edge in range(edges.offsets[publication], edges.offsets[publication + 1]):
            hashed = _hash_known(edges, edge, mask)  # some 48 bits decide: a mistake, once in 2^48, costs a candidate
            slot = _find_slot(slots, len(slots), hashed, np.int64(hashed >> _33))
            key = (slots[slot] & 0xFFFFFFFF) - 1
            if key >= 0 and met[key] != publication + 1:
                met[key] = publication + 1
                for place in range(keys.offsets[key], keys.offsets[key + 1]):
                    count = _offer(keys.postings[place], emptied, stamp, found, count)
    return count


@kernel((KEYS, EDGES, LEFT, int64, NEW_INT32S, NEW_INT32S, NEW_INT64S))
def look_up(
    keys: AccessKeys,
    edges: DocumentEdges,
    left: Left,
    begin: int,
    publications: Int32s,
    structures: Int32s,
    state: Int64s,
) -> None:
    """Candidates of the publications from `begin` on, as far as there is room.

    state[0] becomes the first publication that is not done, state[1] how many candidates were written, state[2] how
    many the publication that did not fit has.
    """
    last = len(edges.offsets) - 1
    met = np.zeros(len(keys.subject), np.int32)
    count = 0
    state[2] = 0
    for publication in range(begin, last):
        more = _post(keys, edges, publication, met, left, structures[count:])
        if count + more > len(structures):
            state[0], state[1], state[2] = publication, count, more
            return
        publications[count : count + more] = publication
        count += more
    state[0], state[1] = last, count


@kernel()
def _count(sketch: Any, cell: Any) -> None:
    """One more, up to the most that a cell holds: what is common must not look rare after 2^32 edges."""
    if sketch[cell] < _FULL:
        sketch[cell] += np.uint32(1)


@kernel((EDGES, int64, int64, NEW_COUNTS))
def sketch_edges(edges: DocumentEdges, begin: int, every: int, sketch: Any) -> None:
    """Counts the edges of every so-many-th publication, with every combination of known parts."""
    half = np.uint64(len(sketch) // 2)
    for publication in range(begin, len(edges.offsets) - 1, every):
        for edge in range(edges.offsets[publication], edges.offsets[publication + 1]):
            for mask in range(8):
                hashed = _hash_known(edges, edge, mask)
                _count(sketch, hashed & (half - _ONE))
                _count(sketch, half + ((hashed >> _32) & (half - _ONE)))


# --- trying members ---------------------------------------------------------------------------------------------------
# Trying members: which of those who share a structure accept what a search has bound. Those that stand in constraint
# tables are found there by the value; the others are asked one by one. The law: a member is a hit for a solution if and
# only if it is alive, not settled, and accepts everything it asks about.


class MemberTrial(NamedTuple):
    """What is kept while members are tried."""

    hits: Int32s  # members that accept the solution at the gate
    doubts: Int32s  # of each hit, SURE or PERHAPS
    reported: Int64s  # of each member, the candidate for which it was settled
    met: Int64s  # of each member, the solution for which it was tried; a batch may have more than 2^31
    stack: Int64s
    state: Int64s  # see below


HITS, SOLUTION, TAG, STAMP, SOLVED, SETTLED = range(6)


@kernel()
def attempt(index: SegmentArrays, member: int, world: SearchWorld, path: Int64s, trial: MemberTrial) -> None:
    """Makes a member a hit if it is alive, not settled, not tried under this solution, and accepts it."""
    state = trial.state
    settled = trial.reported[member] == state[TAG] or trial.met[member] == state[SOLUTION]
    if settled or index.died[member] <= state[STAMP]:
        return
    trial.met[member] = state[SOLUTION]
    found = accepts(index, member, world, path)
    if found != NO:
        trial.hits[state[HITS]] = member
        trial.doubts[state[HITS]] = found
        state[HITS] += 1


@kernel()
def _stab(index: SegmentArrays, table: int, at: float, world: SearchWorld, path: Int64s, trial: MemberTrial) -> None:
    """Tries the members of which an interval holds a coordinate; one that asks nothing else is a hit if it does."""
    entries, died, stack = index.entries, index.died, trial.stack
    reported, met, hits, doubts, state = trial.reported, trial.met, trial.hits, trial.doubts, trial.state
    stack[0], stack[1] = index.tables[table, FIRST_ENTRY], index.tables[table + 1, FIRST_ENTRY]
    entry, top = find(entries, at, stack, 2)
    while entry >= 0:
        member = int(entries[entry, MEMBER])
        if entries[entry, ALONE] and entries[entry, ENTRY_LOW] < at < entries[entry, ENTRY_HIGH]:
            settled = reported[member] == state[TAG] or met[member] == state[SOLUTION]
            if not settled and died[member] > state[STAMP]:
                met[member] = state[SOLUTION]
                hits[state[HITS]], doubts[state[HITS]] = member, SURE
                state[HITS] += 1
        else:
            attempt(index, member, world, path, trial)
        entry, top = find(entries, at, stack, top)


@kernel(allocates=True)
def _stab_classes(
    index: SegmentArrays, table: int, term: Any, world: SearchWorld, path: Int64s, trial: MemberTrial
) -> None:
    domain, walk = index.tables[table, TABLE_DOMAIN], world.walk
    if domain == SUBCLASS_OF:
        gather_superclasses(world.closure, world.graph, walk, term)
    else:
        gather_types(world.closure, world.graph, walk, term, 1 if domain == DIRECT else 0)
    classes = np.empty(walk.state[0], np.int32)  # trying a member may walk again
    for place in range(len(classes)):
        classes[place] = walk.reached[place]
    for place in range(len(classes)):
        _stab(index, table, np.float64(classes[place]), world, path, trial)


@kernel()
def _stab_words(
    index: SegmentArrays, table: int, term: Any, world: SearchWorld, path: Int64s, trial: MemberTrial
) -> None:
    words = world.words
    row = np.searchsorted(words.ids, term)
    if row < len(words.ids) and words.ids[row] == term:
        for place in range(words.offsets[row], words.offsets[row + 1]):
            _stab(index, table, words.keys[place], world, path, trial)


@kernel()
def _ask_table(index: SegmentArrays, table: int, world: SearchWorld, path: Int64s, trial: MemberTrial) -> None:
    term = value(path, index.tables[table, TABLE_VARIABLE])
    wanted, domain = index.tables[table, TABLE_DOMAIN], domain_of(world.values, term)
    if wanted == WORD:
        _stab_words(index, table, term, world, path, trial)
    elif wanted >= IS_A:
        _stab_classes(index, table, term, world, path, trial)
    elif domain % ROUNDED_CODE == FLOAT:
        for entry in range(index.tables[table, FIRST_ENTRY], index.tables[table + 1, FIRST_ENTRY]):
            attempt(index, int(index.entries[entry, MEMBER]), world, path, trial)
    elif domain % ROUNDED_CODE == wanted:
        _stab(index, table, coordinate_of(world.values, term), world, path, trial)


@kernel()
def gather(index: SegmentArrays, structure: int, world: SearchWorld, path: Int64s, trial: MemberTrial) -> Any:
    """The members that accept what is bound; returns how many."""
    trial.state[HITS] = 0
    trial.state[SOLUTION] += 1
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, SCANNED]):
        attempt(index, int(member), world, path, trial)
    begin = index.structures[structure, FIRST_TABLE]
    for table in range(begin, begin + index.structures[structure, TABLES]):
        _ask_table(index, table, world, path, trial)
    return trial.state[HITS]


@kernel()
def suits(index: SegmentArrays, structure: int, world: SearchWorld, path: Int64s) -> Any:
    """For a structure with one member: whether it can accept what the last step bound."""
    member, answer = index.structures[structure, FIRST_MEMBER], SURE
    for conjunct in range(index.members[member, FIRST_CONJUNCT], index.members[member + 1, FIRST_CONJUNCT]):
        variable = index.conjuncts[conjunct, VARIABLE]
        if level(path, variable) == path[STEP] - 1:
            found = satisfies(index, conjunct, world, value(path, variable))
            if found == NO:
                return NO
            answer = max(answer, found)
    return answer


# --- reporting hits ---------------------------------------------------------------------------------------------------
# Reporting hits: sure matches by number, doubtful ones with the solution that is to be judged. Where there are many
# solutions, or the edges do not say everything, the whole query decides: then none is written. A report that does not
# fit is taken back by its caller, who makes more room.

_COMPLEX = 2  # index.interests
_JUDGED = 64  # solutions of a structure in one publication that are written out; beyond, the whole query decides


@kernel()
def sure(found: SearchOutput, counts: Int64s, publication: int, number: int) -> Any:
    if counts[0] >= len(found.number):
        return False
    found.publication[counts[0]], found.number[counts[0]] = publication, number
    counts[0] += 1
    return True


@kernel()
def doubt(found: SearchOutput, counts: Int64s, publication: int, member: int, solution: int) -> Any:
    place = 3 * counts[1]
    if place + 3 > len(found.doubtful):
        return False
    found.doubtful[place], found.doubtful[place + 1], found.doubtful[place + 2] = publication, member, solution
    counts[1] += 1
    return True


@kernel()
def report(index: SegmentArrays, structure: int, publication: int, path: Int64s, trial: MemberTrial, out: Any) -> Any:
    """Reports the hits of one solution; whether there was room for them."""
    found, counts = out
    variables = index.structures[structure, VARIABLES]
    written: Any = np.int64(-1)
    for hit in range(trial.state[HITS]):
        member, tag = trial.hits[hit], trial.state[TAG]
        flags = index.members[member, FLAGS]
        certain = not flags and trial.doubts[hit] == SURE
        if certain or flags & _COMPLEX or trial.state[SOLVED] > _JUDGED:
            trial.reported[member] = tag
            trial.state[SETTLED] += 1
        if certain:
            fits = sure(found, counts, publication, index.numbers[member])
        elif trial.reported[member] == tag:
            fits = doubt(found, counts, publication, member, -1)
        else:
            if written < 0 and counts[2] + variables <= len(found.solutions):
                written = counts[2]
                for variable in range(variables):
                    found.solutions[written + variable] = value(path, variable)
                counts[2] += variables
            fits = written >= 0 and doubt(found, counts, publication, member, written)
        if not fits:
            return False
    return True


# --- verification -----------------------------------------------------------------------------------------------------
# Verification: does a publication hold a structure, and which of its members accept a solution? The laws: members ask
# about the variables that are bound at the gate, so after a solution the search goes on from the gate; a match is sure
# if no condition is in doubt, otherwise the solution is written out to be judged by the query's own conditions, or, if
# there are many, the whole query decides.

_AHEAD = 3  # candidates
_HASTE = 1_000  # edges looked at for a solution that nobody has been asked about
_PATIENCE = 100_000  # edges looked at for a structure with one member before the plain solver decides


class BatchArrays(NamedTuple):
    """What a batch of publications brings."""

    edges: DocumentEdges
    values: TermPlaces
    words: TextKeys
    closure: Closure


class CandidateArrays(NamedTuple):
    """Structures to verify, those of one publication together; `cost` counts the edges looked at for each, as far as it
    can (MOST_ROWS)."""

    publication: Int32s
    structure: Int32s
    cost: Int32s


BATCH = named(BatchArrays, EDGES, VALUES, WORDS, CLOSURE)
CANDIDATES = named(CandidateArrays, INT32S, INT32S, NEW_INT32S)


@kernel()
def _holds(index: SegmentArrays, structure: int, world: SearchWorld, path: Int64s) -> Any:
    """Whether the one member of a structure has a solution; PERHAPS as soon as a condition is in doubt."""
    forget(path, index.structures[structure, VARIABLES])
    event = advance(index.structures, structure, index.steps, world.graph, path, True)
    while event in (AT_GATE, BOUND):
        if event == AT_GATE:
            pass_gate(path)
        else:
            found = suits(index, structure, world, path)
            if found == PERHAPS:
                return PERHAPS
            if found == NO:
                refuse(path)
        event = advance(index.structures, structure, index.steps, world.graph, path, True)
    if event == TIRED:
        return PERHAPS
    return SURE if event == COMPLETE else NO


# --- one candidate ----------------------------------------------------------------------------------------------


@kernel()
def _decide(
    event: int,
    index: SegmentArrays,
    structure: int,
    publication: int,
    world: SearchWorld,
    path: Int64s,
    trial: MemberTrial,
    out: Any,
) -> Any:
    """What the search is told at a stop; whether there was room to report."""
    if event == BOUND:
        if suits(index, structure, world, path) == NO:
            refuse(path)
        return True
    if event == AT_GATE:
        if gather(index, structure, world, path, trial):
            pass_gate(path)
        else:
            retreat(index.structures, structure, index.steps, path)
    else:
        trial.state[SOLVED] += 1
        if not index.structures[structure, GATE]:
            gather(index, structure, world, path, trial)
        if not report(index, structure, publication, path, trial, out):
            return False
        retreat(index.structures, structure, index.steps, path)
        if trial.state[SETTLED] == index.structures[structure, MEMBERS]:  # no further solution tells anything
            path[STEP] = -1
    return True


@kernel()
def _pass_on(index: SegmentArrays, structure: int, publication: int, trial: MemberTrial, out: Any) -> Any:
    """Leaves it to the queries of those that are not settled; whether there was room to say so."""
    found, counts = out
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, MEMBERS]):
        left = trial.reported[member] != trial.state[TAG] and index.died[member] > trial.state[STAMP]
        if left and not doubt(found, counts, publication, member, -1):
            return False
    return True


@kernel()
def _budget(index: SegmentArrays, structure: int, edges: int) -> Any:
    """How many edges a search may look at: more than any but a pathological one needs. Beyond it the plain solver,
    which orders its steps anew for every publication, decides for each member."""
    return (_PATIENCE + 64 * edges) * min(int(index.structures[structure, MEMBERS]), 1000)


@kernel()
def _search(
    index: SegmentArrays,
    structure: int,
    publication: int,
    world: SearchWorld,
    path: Int64s,
    trial: MemberTrial,
    out: Any,
) -> Any:
    """Reports the members of a structure that the publication matches; whether there was room for them."""
    trial.state[SOLVED], trial.state[SETTLED] = 0, 0
    forget(path, index.structures[structure, VARIABLES])
    event = advance(index.structures, structure, index.steps, world.graph, path, True)
    while event != EXHAUSTED:
        if event == TIRED:
            return _pass_on(index, structure, publication, trial, out)
        if not _decide(event, index, structure, publication, world, path, trial, out):
            return False
        event = advance(index.structures, structure, index.steps, world.graph, path, True)
    return True


# --- a batch ----------------------------------------------------------------------------------------------------


@kernel()
def _is_walked(graph: Int32s, closure: Closure) -> Any:
    """Whether classes must be walked to: the publication has sub-classes of its own, or there is no closure."""
    walked = 1 - closure.complete
    for edge in range(graph[SIZE]):
        if part(graph, edge, 1) == closure.subclass_of:
            walked = 1
    return walked


@kernel(inline=True)
def _ask_ahead(index: SegmentArrays, wanted: Int32s, candidate: int) -> None:
    """Asks for the structure of a candidate further on, for the steps of a nearer one, for conditions of the next."""
    structures, last = index.structures, len(wanted) - 1
    prefetch(structures, np.int64(wanted[min(candidate + 3 * _AHEAD, last)]) * structures.shape[1])
    near = wanted[min(candidate + 2 * _AHEAD, last)]
    begin, member = np.int64(structures[near, FIRST_STEP]), np.int64(structures[near, FIRST_MEMBER])
    for line in range(3):
        prefetch(index.steps, begin * index.steps.shape[1] + 16 * line)
    prefetch(index.members, 2 * member)
    prefetch(index.died, member)
    prefetch(index.numbers, member)
    member = np.int64(structures[wanted[min(candidate + _AHEAD, last)], FIRST_MEMBER])
    prefetch(index.conjuncts, 2 * np.int64(index.members[member, FIRST_CONJUNCT]))


@kernel((INDEX, BATCH, CANDIDATES, NEW_INT64S, FOUND, NEW_INT64S))
def verify(
    index: SegmentArrays,
    batch: BatchArrays,
    candidates: CandidateArrays,
    settings: Int64s,
    found: SearchOutput,
    state: Int64s,
) -> None:
    """Verifies candidates from state[0] on, as far as there is room in `found`.

    settings: the version's stamp, which lists of edges are wanted, how many terms there are, whether any member asks
    for classes, the most steps and variables of a structure. state[0] becomes the first candidate that is not done;
    state[1:4] count the sure matches, the doubtful ones and the numbers of solutions.
    """
    structures, steps, numbers, died, stamp = index.structures, index.steps, index.numbers, index.died, settings[0]
    members, path, largest = len(numbers), make_path(settings[4], settings[5]), 1
    trial = MemberTrial(
        np.empty(members, np.int32),
        np.empty(members, np.int32),
        np.zeros(members, np.int64),
        np.zeros(members, np.int64),
        np.empty(2 * DEPTH, np.int64),
        np.array([0, 0, 0, stamp, 0, 0], np.int64),
    )
    for publication in range(len(batch.edges.offsets) - 1):
        largest = max(largest, batch.edges.offsets[publication + 1] - batch.edges.offsets[publication])
    graph, current = make_graph(largest), np.int32(-1)
    walked = settings[2] if settings[3] else 1
    walk = ClassWalk(np.empty(walked, np.int32), np.zeros(walked, np.int64), np.zeros(3, np.int64))
    world = SearchWorld(graph, batch.values, batch.words, batch.closure, walk)
    counts, before = np.zeros(3, np.int64), np.zeros(3, np.int64)
    for candidate in range(state[0], len(candidates.publication)):
        if candidates.publication[candidate] != current:
            current = candidates.publication[candidate]
            fill(graph, batch.edges, current, settings[1])
            walk.state[2] = _is_walked(graph, batch.closure) if settings[3] else 0
        _ask_ahead(index, candidates.structure, candidate)
        structure, fits, answer = candidates.structure[candidate], True, PERHAPS
        edges, asks = int(graph[SIZE]), structures[structure, GATE]
        start(path, _HASTE + 4 * edges if asks else _budget(index, structure, edges))
        if structures[structure, SINGLE]:  # nearly all of a varied load; most ask nothing, and touch no tuple
            member = structures[structure, FIRST_MEMBER]
            event = advance(structures, structure, steps, graph, path, False)
            answer = SURE if event == COMPLETE else (PERHAPS if event == TIRED else NO)
            if asks and event != EXHAUSTED:  # mostly the first solution is accepted; if not, another may be
                answer = accepts(index, member, world, path) if event == COMPLETE else NO
                if answer == NO:
                    start(path, _budget(index, structure, edges))
                    answer = _holds(index, structure, world, path)
            if answer == SURE and died[member] > stamp:
                fits = sure(found, counts, int(current), numbers[member])
        if answer == PERHAPS:
            start(path, _budget(index, structure, edges))
            before[:] = counts
            trial.state[TAG] = candidate + 1
            fits = _search(index, structure, int(current), world, path, trial, (found, counts))
            if not fits:
                counts[:] = before
        if not fits:
            break
        candidates.cost[candidate] = min(path[COST], MOST_ROWS)
        state[0] = candidate + 1
    state[1:] = counts
