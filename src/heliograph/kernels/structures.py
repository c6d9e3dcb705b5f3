"""From interests to structures: a form in which the names of variables and the order of edges no longer show, the order
in which edges are verified, and the edge each structure is looked up by.

The law: two interests get one form only if a renaming of variables turns the edges of one into those of the other. (The
converse is not needed: a missed one costs space, not answers. Variables are told apart by what is around them.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.edges import edge_hash, mask_of, mixed
from heliograph.kernels.filter_layout import Edges, Hashes, Int8s, Int16s, Int32s, Int64s
from heliograph.kernels.types import (
    EDGES,
    INT8S,
    INT16S,
    INT32S,
    INT64S,
    NEW_COUNTS,
    NEW_EDGES,
    NEW_HASHES,
    NEW_INT8S,
    NEW_INT16S,
    NEW_INT32S,
    NEW_INT64S,
)

_ROUNDS = 3  # how far around a variable is looked at
_SEED = np.uint64(0x5851F42D4C957F2D)
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel((EDGES, NEW_INT64S))
def count_variables(edges: Edges, out: Int64s) -> None:
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
def _look_around(edges: Edges, first: int, last: int, colours: Any) -> None:
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
def _after(edges: Edges, one: int, other: int) -> Any:
    if edges.subject[one] != edges.subject[other]:
        return edges.subject[one] > edges.subject[other]
    if edges.predicate[one] != edges.predicate[other]:
        return edges.predicate[one] > edges.predicate[other]
    return edges.object[one] > edges.object[other]


@kernel()
def _swap(edges: Edges, one: int, other: int) -> None:
    for column in (edges.subject, edges.predicate, edges.object):
        column[one], column[other] = column[other], column[one]


@kernel()
def _sort(edges: Edges, first: int, last: int) -> None:
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
def _distinct(edges: Edges, first: int, last: int) -> Any:
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
def canonicalise(edges: Edges, flags: Int8s, variables: Int64s, out: Edges, names: Int16s, hashes: Hashes) -> None:
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
def _same(edges: Edges, ends: Int64s, one: int, other: int) -> Any:
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
def number_structures(edges: Edges, ends: Int64s, flags: Int8s, order: Int64s, out: Int32s) -> Any:
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
def _mode(edges: Edges, edge: int, bound: Any) -> Any:
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
def order_steps(edges: Edges, variables: Int16s, modes: Int8s) -> None:
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
def _arrive(node: Any, step: int, reached: Any) -> None:
    if node < 0 and reached[~node] < 0:
        reached[~node] = step


@kernel()
def _reach(edges: Edges, structure: int, variables: int, reached: Any) -> None:
    """After how many steps each variable is bound."""
    for variable in range(variables):
        reached[variable] = -1
    for edge in range(edges.offsets[structure], edges.offsets[structure + 1]):
        step = edge - edges.offsets[structure] + 1
        _arrive(edges.subject[edge], step, reached)
        _arrive(edges.predicate[edge], step, reached)
        _arrive(edges.object[edge], step, reached)


@kernel((EDGES, INT16S, INT64S, INT8S, INT64S, INT16S, NEW_INT32S))
def find_gates(
    edges: Edges, variables: Int16s, members: Int64s, flags: Int8s, conjuncts: Int64s, asked: Int16s, gates: Int32s
) -> None:
    """After how many steps all that members ask about is bound; with an inexact member (flag 1) that is everything."""
    most = np.int64(1)
    for structure in range(len(variables)):
        most = max(most, np.int64(variables[structure]))
    reached = np.zeros(most, np.int32)
    for structure in range(len(variables)):
        _reach(edges, structure, variables[structure], reached)
        gate = 0
        for member in range(members[structure], members[structure + 1]):
            if flags[member] & 1:
                gate = edges.offsets[structure + 1] - edges.offsets[structure]
                break
            for conjunct in range(conjuncts[member], conjuncts[member + 1]):
                gate = max(gate, reached[asked[conjunct]])
        gates[structure] = gate


@kernel((EDGES, INT16S, INT64S, INT8S, INT64S, INT16S, NEW_INT8S))
def find_asked(
    edges: Edges, variables: Int16s, members: Int64s, flags: Int8s, conjuncts: Int64s, asked: Int16s, out: Int8s
) -> None:
    """Marks the steps that bind a variable about which a member asks; an inexact member (flag 1) asks about all."""
    most = 1
    for structure in range(len(variables)):
        most = max(most, int(variables[structure]))
    reached = np.zeros(most, np.int32)
    for structure in range(len(variables)):
        before = edges.offsets[structure] - 1
        _reach(edges, structure, int(variables[structure]), reached)
        for member in range(members[structure], members[structure + 1]):
            if flags[member] & 1:
                for variable in range(variables[structure]):
                    out[before + reached[variable]] = 1
                break
            for conjunct in range(conjuncts[member], conjuncts[member + 1]):
                out[before + reached[asked[conjunct]]] = 1


# --- the way in -------------------------------------------------------------------------------------------------


@kernel((EDGES, NEW_COUNTS))
def count_edges(edges: Edges, counts: Any) -> None:
    """How often each edge, variables being unknown parts, occurs; by hash, so a count may be too large."""
    mask = np.uint64(len(counts) - 1)
    for edge in range(len(edges.subject)):
        hashed = edge_hash(max(edges.subject[edge], -1), max(edges.predicate[edge], -1), max(edges.object[edge], -1))
        counts[hashed & mask] += 1


@kernel()
def seen(hashed: Any, sketch: Any) -> Any:
    """How often publications held an edge, at most: the smaller of two counts by different bits of the hash."""
    half = np.uint64(len(sketch) // 2)
    one, other = sketch[hashed & (half - _ONE)], sketch[half + ((hashed >> np.uint64(32)) & (half - _ONE))]
    return min(one, other)


@kernel()
def _constants(mask: Any) -> Any:
    return (mask & 1) + ((mask >> 1) & 1) + ((mask >> 2) & 1)


@kernel((EDGES, NEW_COUNTS, NEW_COUNTS, NEW_INT64S))
def choose_access(edges: Edges, sketch: Any, counts: Any, chosen: Int64s) -> None:
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
            constants = np.int64(_constants(mask_of(subject, predicate, object)))
            better = live < least or (live == least and (constants > most or (constants == most and sharing < fewest)))
            if best < 0 or better:
                best, least, most, fewest = edge, live, constants, sharing
        chosen[structure] = best


@kernel((INT32S, INT32S, INT32S, NEW_INT64S, NEW_INT32S))
def number_keys(subject: Int32s, predicate: Int32s, object: Int32s, slots: Int64s, out: Int32s) -> Any:
    """Numbers distinct keys by first appearance and enters them into `slots`; returns how many there are.

    Keys of which all bits agree that a look-up compares are one: whoever asks for either finds what both lead to."""
    mask = np.uint64(len(slots) - 1)
    count = 0
    for row in range(len(out)):
        hashed = edge_hash(subject[row], predicate[row], object[row])
        mark = np.int64(hashed >> np.uint64(33))
        slot = hashed & mask
        while slots[slot] and slots[slot] >> 32 != mark:
            slot = (slot + _ONE) & mask
        if not slots[slot]:
            count += 1
            slots[slot] = (mark << 32) | count
        out[row] = (slots[slot] & 0xFFFFFFFF) - 1
    return count
