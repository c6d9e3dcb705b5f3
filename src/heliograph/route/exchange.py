"""The exchange: nodes and directed edges with their targeting, changed by one writer while many read, and compacted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.io.coerce import Array
from heliograph.predicate.compile import Targeting
from heliograph.predicate.layout import NEVER, Int32s, Int64s, Programs
from heliograph.route.layout import (
    BEGIN,
    BORN,
    COMPONENT_END,
    DIED,
    EDGE_COLUMNS,
    EDGE_DIED,
    EDGE_EXPRESSION,
    END,
    EXPRESSION,
    FLAGS,
    IN_BEGIN,
    IN_END,
    IN_MORE,
    LISTED_NODE,
    MORE,
    NEVER_DIED,
    NEWER,
    OUT_BEGIN,
    OUT_END,
    OUT_MORE,
    PLACE,
    PRESENT,
    RECORD,
    REFUSED,
    TARGET,
)
from heliograph.route.read import (
    LABELS_TYPE,
    Edge,
    EdgeRows,
    Expressions,
    Node,
    NodeRows,
    edge_expressions,
    label_expressions,
    node_expressions,
    text_expressions,
)
from heliograph.route.version import DEGREE, ROOM, Arrays, Ledger, Room, Version, newest, number_nodes, strings

# ----------------------------------------------------------------------------------------------------------------------
# Blocks: where the edges that a node gets later lie, and the entries that say which edges lead to it.
#
# The laws: a node's edges lie in the order of adding, first those from its beginning to its end, then those of its
# blocks; a block is at least twice as large as the one before, so a node of degree d has about log d of them. New
# places are reserved first, filled in, and only then attached: nobody comes upon them before.
# ----------------------------------------------------------------------------------------------------------------------

_BULK = 1024  # places that are reserved together without room to grow: they are settled soon


class Side(NamedTuple):
    """The columns of `nodes` that lead to a node's edges, or to its entries."""

    begin: int
    end: int
    more: int


OUT, INTO = Side(OUT_BEGIN, OUT_END, OUT_MORE), Side(IN_BEGIN, IN_END, IN_MORE)


class Reserved(NamedTuple):
    """Places for new edges, or entries. The other columns have a row for each node that gets some."""

    places: Int64s
    side: Side
    nodes: Int32s
    counts: Int64s
    tails: Int32s  # the last block so far, or -1
    begins: Int64s
    rooms: Int64s  # where its new block ends, or -1 if the last one has enough room


def reserve(arrays: Arrays, nodes: Int32s, side: Side) -> Reserved:
    """A place for each row, behind what its node has; rows of one node keep their order."""
    several, rows, counts = _grouped(nodes)
    tails = _tails(arrays, several, side)
    last = arrays.blocks[tails]  # where there is none, another one that is not looked at
    spare = np.where(tails >= 0, last[:, ROOM] - last[:, END], 0)
    doubled = 0 if len(nodes) >= _BULK else np.where(tails >= 0, 2 * (last[:, ROOM] - last[:, BEGIN]), counts + 1)
    sizes = np.where(spare >= counts, 0, np.maximum(counts, doubled))
    total = int(sizes.sum())
    fresh = arrays.take("edges" if side is OUT else "entries", total) + np.cumsum(sizes) - sizes
    begins = np.where(spare >= counts, last[:, END], fresh)
    rooms = np.where(spare >= counts, -1, fresh + sizes)
    return Reserved(begins[rows] + _ranks(rows, counts), side, several, counts, tails, begins, rooms)


def attach(arrays: Arrays, reserved: Reserved) -> None:
    """Shows the places, now that they are filled in."""
    new = np.flatnonzero(reserved.rooms >= 0)
    old = np.flatnonzero(reserved.rooms < 0)
    first = arrays.take("blocks", len(new))
    blocks = np.arange(first, first + len(new), dtype=np.int32)
    begins, counts, tails = reserved.begins[new], reserved.counts[new], reserved.tails[new]
    arrays.blocks[blocks, BEGIN], arrays.blocks[blocks, END] = begins, begins + counts
    arrays.blocks[blocks, ROOM], arrays.blocks[blocks, MORE] = reserved.rooms[new], -1
    arrays.blocks[tails[tails >= 0], MORE] = blocks[tails >= 0]
    arrays.nodes[reserved.nodes[new][tails < 0], reserved.side.more] = blocks[tails < 0]
    arrays.blocks[reserved.tails[old], END] = reserved.begins[old] + reserved.counts[old]


def spanned(arrays: Arrays, number: int, side: Side) -> Int64s:
    """The places of a node's edges or entries, block after block."""
    first, last, more = arrays.nodes[number, list(side)].tolist()
    spans = [np.arange(first, last)]
    while more >= 0:
        first, last, more = arrays.blocks[more, [BEGIN, END, MORE]].tolist()
        spans.append(np.arange(first, last))
    return np.concatenate(spans)


def _tails(arrays: Arrays, nodes: Int32s, side: Side) -> Int32s:
    """The last block of each node, or -1."""
    tails: Int32s = arrays.nodes[nodes, side.more]
    while True:
        following = np.where(tails >= 0, arrays.blocks[tails, MORE], np.int32(-1))
        if not (following >= 0).any():
            return tails
        tails = np.where(following >= 0, following, tails)


def _grouped(nodes: Int32s) -> tuple[Int32s, Int64s, Int64s]:
    """The different nodes, which of them each row has, and how many rows each has."""
    if len(nodes) == 1:
        return nodes, np.zeros(1, np.int64), np.ones(1, np.int64)
    return np.unique(nodes, return_inverse=True, return_counts=True)


def _ranks(rows: Int64s, counts: Int64s) -> Int64s:
    """The how-manieth of its node each row is."""
    if len(rows) == 1:
        return np.zeros(1, np.int64)
    order = np.argsort(rows, kind="stable")
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


# ----------------------------------------------------------------------------------------------------------------------
# Changes of nodes in a ledger: each gives nodes new records, which hold from one version on.
#
# The laws: adding replaces a node by its id and keeps its place in the order, unless a listed row takes over from the
# end of an edge or the other way round; a refused row never replaces a good one; a node that goes leaves a record
# that says so. Readers of earlier versions go on finding the record of their time.
# ----------------------------------------------------------------------------------------------------------------------


def put_nodes(ledger: Ledger, rows: NodeRows, expressions: Int32s, now: int) -> None:
    """Adds nodes, all with different ids, or replaces those of the same id."""
    numbers = ledger.ids.find_many(rows.ids)
    fresh = np.flatnonzero(numbers < 0)
    if len(fresh):
        numbers[fresh] = add_numbers(ledger, rows.ids if len(fresh) == len(rows) else rows.ids.take(fresh))
    flags = np.full(len(rows), PRESENT | LISTED_NODE if rows.listed else PRESENT, np.int32)
    flags[list(rows.refused)] = PRESENT | REFUSED
    before = _before(ledger, numbers)
    good = (before[:, FLAGS] & (PRESENT | LISTED_NODE)) == PRESENT | LISTED_NODE
    kept = np.flatnonzero(~(good & (flags & REFUSED != 0)))
    places = _places(ledger, numbers[kept], before[kept], flags[kept])
    table = np.zeros((len(kept), ledger.arrays.records.shape[1]), np.int32)
    table[:, EXPRESSION], table[:, FLAGS], table[:, PLACE] = expressions[kept], flags[kept], places
    first = _link(ledger, numbers[kept], table, now)
    _node_changes_describe(ledger, rows, kept, first)
    ledger.size += int(np.count_nonzero(before[kept, FLAGS] & PRESENT == 0))


def put_ends(ledger: Ledger, ids: Array, numbers: Int32s, now: int) -> Int32s:
    """The numbers of the ends of edges; those that are not there come as nodes without targeting."""
    fresh = np.flatnonzero(numbers < 0)
    if len(fresh):
        numbers = numbers.copy()
        numbers[fresh] = add_numbers(ledger, ids.take(fresh))
    lacking = numbers[_before(ledger, numbers)[:, FLAGS] & PRESENT == 0]
    if len(lacking):
        table = np.zeros((len(lacking), ledger.arrays.records.shape[1]), np.int32)
        table[:, EXPRESSION], table[:, FLAGS] = ledger.plain, PRESENT
        table[:, PLACE] = _new_places(ledger, lacking, listed=False)
        _link(ledger, lacking, table, now)
        ledger.size += len(lacking)
    return numbers


def node_changes_drop_nodes(ledger: Ledger, numbers: Int32s, now: int) -> None:
    """Removes nodes that no edge touches any more."""
    there = numbers[_before(ledger, numbers)[:, FLAGS] & PRESENT != 0]
    table = np.zeros((len(there), ledger.arrays.records.shape[1]), np.int32)
    table[:, EXPRESSION] = NEVER
    _link(ledger, there, table, now)
    ledger.size -= len(there)
    ledger.wear += len(there)


def forget_ends(ledger: Ledger, numbers: Int32s, now: int) -> None:
    """Removes, of nodes that lost an edge, those that nothing else makes known."""
    bare = numbers[ledger.arrays.nodes[numbers, DEGREE] == 0]
    if len(bare):
        flags = _before(ledger, bare)[:, FLAGS]
        node_changes_drop_nodes(ledger, bare[flags & (PRESENT | LISTED_NODE | REFUSED) == PRESENT], now)


def add_numbers(ledger: Ledger, ids: Array) -> Int32s:
    """Numbers for ids that had none."""
    count, arrays = len(ids), ledger.arrays
    first = arrays.take("nodes", count)
    numbers = np.arange(first, first + count, dtype=np.int32)
    arrays.nodes[first : first + count] = 0
    arrays.nodes[first : first + count, [RECORD, OUT_MORE, IN_MORE]] = -1
    ledger.names.extend(first, ids)
    ledger.ids.extend(ids, numbers)
    ledger.wear += count if first else 0
    return numbers


def _before(ledger: Ledger, numbers: Int32s) -> Int32s:
    """A copy of each node's last record; all zero where it has none."""
    arrays = ledger.arrays
    found: Int32s = np.zeros((len(numbers), arrays.records.shape[1]), np.int32)
    known = np.flatnonzero(arrays.nodes[numbers, RECORD] >= 0)
    found[known] = arrays.records[newest(arrays, numbers[known])]
    return found


def _places(ledger: Ledger, numbers: Int32s, before: Int32s, flags: Int32s) -> Int32s:
    """Where nodes stand in the order of reporting: where they stood, or behind all others of their kind."""
    places = before[:, PLACE].copy()
    kind = PRESENT | LISTED_NODE
    moved = before[:, FLAGS] & kind != flags & kind
    for listed in (True, False):
        some = np.flatnonzero(moved & ((flags & LISTED_NODE != 0) == listed))
        if len(some):
            places[some] = _new_places(ledger, numbers[some], listed)
    return places


def _new_places(ledger: Ledger, numbers: Int32s, listed: bool) -> Int32s:
    arrays, count = ledger.arrays, len(numbers)
    first = arrays.take("listed" if listed else "loose", count)
    order = arrays.listed if listed else arrays.loose
    order[first : first + count] = numbers
    return np.arange(first, first + count, dtype=np.int32)


def _link(ledger: Ledger, numbers: Int32s, table: Int32s, now: int) -> int:
    """Gives nodes new records, which hold from version `now`; returns the first of them."""
    arrays = ledger.arrays
    first = arrays.take("records", len(numbers))
    records = np.arange(first, first + len(numbers), dtype=np.int32)
    table[:, DIED], table[:, NEWER] = NEVER_DIED, -1
    arrays.records[first : first + len(numbers)] = table
    arrays.record_costs[first : first + len(numbers)] = 0.0
    known = arrays.nodes[numbers, RECORD] >= 0
    old = newest(arrays, numbers[known])
    arrays.records[old, NEWER] = records[known]  # first, because it is followed as soon as the old record is dead
    arrays.records[old, DIED] = now
    arrays.nodes[numbers[~known], RECORD] = records[~known]
    if len(old):
        ledger.history.append((now, numbers[known], records[known]))
        ledger.wear += len(old)
    return first


def _node_changes_describe(ledger: Ledger, rows: NodeRows, kept: Int64s, first: int) -> None:
    """What kernels do not need to know of the new records."""
    every = len(kept) == len(rows)
    for column, values in ((ledger.texts, rows.texts), (ledger.labels, rows.labels)):
        column.extend(first, values if every or values is None else values.take(kept))
    ledger.arrays.record_costs[first : first + len(kept)] = rows.costs[kept]
    if rows.refused:
        codes = ((record, rows.refused.get(row)) for record, row in enumerate(kept.tolist(), first))
        ledger.refused.update((record, code) for record, code in codes if code)


# ----------------------------------------------------------------------------------------------------------------------
# Changes of edges in a ledger: new ones are laid into blocks of their nodes, old ones die.
#
# The laws: adding replaces an edge by its id or, without one, the edges between its two ends that have none either
# (but not those of the same call, which are alternatives); an end that is no listed node is a node without targeting,
# and goes with its last edge. The edges of a node, in whichever blocks, lie in the order of adding.
# ----------------------------------------------------------------------------------------------------------------------

_FEW = 64  # edges whose ends are looked at one by one
_EDGE_CHANGES_BULK = 256  # edges whose twins are looked for among all edges at once


class Ends(NamedTuple):
    """The distinct ends of some edges in order of appearance, and which of them each edge has."""

    ids: Array
    sources: Int64s
    targets: Int64s


def put_edges(ledger: Ledger, rows: EdgeRows, expressions: Int32s, now: int) -> Int32s:
    """Adds edges; those that they replace go first. Returns the numbers of the new ones."""
    ends = _ends(rows)
    numbers = ledger.ids.find_many(ends.ids)
    drop_edges(ledger, _replaced(ledger, rows, numbers[ends.sources], numbers[ends.targets]), now)
    numbers = put_ends(ledger, ends.ids, numbers, now)
    sources, targets = numbers[ends.sources], numbers[ends.targets]
    table = np.empty((len(rows), EDGE_COLUMNS), np.int32)
    table[:, TARGET], table[:, EDGE_EXPRESSION] = targets, expressions
    table[:, BORN], table[:, EDGE_DIED] = now, NEVER_DIED
    ledger.edge_count += len(rows)
    ledger.wear += len(rows) + int(np.count_nonzero(targets <= sources))
    return _lay(ledger, table, sources, rows)


def drop_edges(ledger: Ledger, edges: Int32s, now: int) -> None:
    """Removes edges, all different, and the ends that nothing else makes known."""
    if not len(edges):
        return
    arrays = ledger.arrays
    arrays.edges[edges, EDGE_DIED] = now
    ends = np.concatenate((arrays.sources[edges], arrays.edges[edges, TARGET]))
    np.subtract.at(arrays.nodes[:, DEGREE], ends, 1)
    ledger.edge_count -= len(edges)
    ledger.wear += len(edges)
    forget_ends(ledger, np.unique(ends), now)


def drop_nodes(ledger: Ledger, numbers: Int32s, now: int) -> None:
    """Removes nodes with all their edges."""
    drop_edges(ledger, _touching(ledger, numbers), now)
    node_changes_drop_nodes(ledger, numbers, now)


def _touching(ledger: Ledger, numbers: Int32s) -> Int32s:
    """The edges that leave these nodes or lead to them, each once."""
    found = [spanned for number in numbers.tolist() for spanned in (_out(ledger, number), _into(ledger, number))]
    return np.unique(np.concatenate(found)).astype(np.int32) if found else np.zeros(0, np.int32)


def find_edge(ledger: Ledger, id: str) -> int:
    """The number of the edge that has an id now, or -1."""
    number = ledger.edge_ids.find(id)
    return number if number >= 0 and ledger.arrays.edges[number, EDGE_DIED] == NEVER_DIED else -1


# --- what is replaced -------------------------------------------------------------------------------------------------


def _ends(rows: EdgeRows) -> Ends:
    """Ends appear in the order source, target, source, target …"""
    count = len(rows)
    if count < _FEW:
        return _ends_of_few(rows)
    order = np.arange(2 * count).reshape(2, count).T.ravel()
    both = pa.concat_arrays([rows.sources, rows.targets]).take(order).dictionary_encode()
    codes = both.indices.to_numpy().astype(np.int64)
    return Ends(both.dictionary, codes[0::2], codes[1::2])


def _ends_of_few(rows: EdgeRows) -> Ends:
    codes: dict[str, int] = {}
    pairs = zip(strings(rows.sources), strings(rows.targets), strict=True)
    places = np.array([codes.setdefault(end, len(codes)) for pair in pairs for end in pair], np.int64)
    return Ends(pa.array(codes, pa.string()), places[0::2], places[1::2])


def _replaced(ledger: Ledger, rows: EdgeRows, sources: Int32s, targets: Int32s) -> Int32s:
    if not ledger.edge_count:
        return np.zeros(0, np.int32)
    named = np.zeros(len(rows), bool) if rows.ids is None else rows.ids.is_valid().to_numpy(zero_copy_only=False)
    found = [np.zeros(0, np.int32)]
    if rows.ids is not None and named.any():
        numbers = ledger.edge_ids.find_many(rows.ids.drop_null())
        numbers = numbers[numbers >= 0]
        found.append(numbers[ledger.arrays.edges[numbers, EDGE_DIED] == NEVER_DIED])
    plain = np.flatnonzero(~named & (sources >= 0) & (targets >= 0))
    twins = _twins_of_many if len(plain) > _EDGE_CHANGES_BULK else _twins_of_few
    found.append(twins(ledger, sources[plain], targets[plain]))
    return np.unique(np.concatenate(found)).astype(np.int32)


def _twins_of_few(ledger: Ledger, sources: Int32s, targets: Int32s) -> Int32s:
    """The edges without an id that have the same ends as one of these: looked for at the end with fewer edges."""
    arrays, found = ledger.arrays, [np.zeros(0, np.int32)]
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        if arrays.nodes[source, DEGREE] <= arrays.nodes[target, DEGREE]:
            near = _out(ledger, source)
            found.append(near[arrays.edges[near, TARGET] == target])
        else:
            near = _into(ledger, target)
            found.append(near[arrays.sources[near] == source])
    return _unnamed(ledger, np.concatenate(found))


def _twins_of_many(ledger: Ledger, sources: Int32s, targets: Int32s) -> Int32s:
    """The same in one pass over all edges."""
    arrays = ledger.arrays
    living = np.flatnonzero(arrays.edges[:, EDGE_DIED] == NEVER_DIED)
    living = living[arrays.edges[living, BORN] != NEVER_DIED]
    keys = arrays.sources[living].astype(np.int64) << 32 | arrays.edges[living, TARGET]
    wanted = sources.astype(np.int64) << 32 | targets
    return _unnamed(ledger, living[np.isin(keys, wanted)].astype(np.int32))


def _unnamed(ledger: Ledger, edges: Int32s) -> Int32s:
    if not len(edges) or ledger.edge_names.is_empty():
        return edges
    names = ledger.edge_names.take(ledger.arrays.serials[edges])
    plain: Int32s = edges[names.is_null().to_numpy(zero_copy_only=False)]
    return plain


# --- the edges of a node ----------------------------------------------------------------------------------------------


def _out(ledger: Ledger, number: int) -> Int32s:
    return _living(ledger, spanned(ledger.arrays, number, OUT))


def _into(ledger: Ledger, number: int) -> Int32s:
    places = spanned(ledger.arrays, number, INTO)
    return _living(ledger, ledger.arrays.entries[places])


def _living(ledger: Ledger, edges: Any) -> Int32s:
    some: Int32s = edges[ledger.arrays.edges[edges, EDGE_DIED] == NEVER_DIED].astype(np.int32)
    return some


# --- laying -----------------------------------------------------------------------------------------------------------


def _lay(ledger: Ledger, table: Int32s, sources: Int32s, rows: EdgeRows) -> Int32s:
    """Writes edges into new places, and their numbers among the entries of their targets."""
    arrays = ledger.arrays
    out, into = reserve(arrays, sources, OUT), reserve(arrays, table[:, TARGET], INTO)
    edges = out.places.astype(np.int32)
    first, count = ledger.next_serial, len(rows)
    ledger.next_serial += count
    arrays.sources[edges], arrays.edge_costs[edges] = sources, rows.costs
    arrays.serials[edges] = np.arange(first, first + count, dtype=np.int32)
    arrays.edges[edges] = table
    arrays.entries[into.places] = edges
    _describe(ledger, edges, rows, first)
    attach(arrays, out)
    attach(arrays, into)
    np.add.at(arrays.nodes[:, DEGREE], np.concatenate((sources, table[:, TARGET])), 1)
    return edges


def _describe(ledger: Ledger, edges: Int32s, rows: EdgeRows, first: int) -> None:
    """What kernels do not need to know of new edges."""
    ledger.edge_names.extend(first, rows.ids)
    ledger.edge_texts.extend(first, rows.texts)
    if rows.ids is not None:
        named = rows.ids.is_valid().to_numpy(zero_copy_only=False)
        ledger.edge_ids.extend(rows.ids.drop_null(), edges[named])


# ----------------------------------------------------------------------------------------------------------------------
# A ledger made anew from one version: compact, numbered in topological order, without what is dead.
#
# The law: the new ledger shows what the version shows; only numbers differ. Edges of a node lie in the order of
# adding, and serials are counted from 0 again.
# ----------------------------------------------------------------------------------------------------------------------

_SLACK = 8  # room for live changes: one part in so many
_SPARE = 1024  # dead expressions that are never worth compiling the others again


class Rebuilt(NamedTuple):
    """`edges` are the numbers of the version's edges in the new ledger, or -1."""

    ledger: Ledger
    edges: Int32s


class _Plan(NamedTuple):
    """What is taken over: nodes by their new numbers, edges in the order of adding."""

    nodes: Int32s  # their old numbers
    records: Int32s
    places: Int32s  # in the order of reporting
    listed: int
    edges: Int32s  # their old numbers
    sources: Int32s
    targets: Int32s
    component_ends: Int32s  # the last node of each one's component


def rebuild(version: Version) -> Rebuilt:
    """A ledger of its own for a version; expressions are compiled again if most of them are dead."""
    plan = _plan(version)
    targeting, nodes, edges = _expressions(version, plan)
    count, links = len(plan.nodes), len(plan.edges)
    rows = (count, count, links, links, 0, plan.listed, count - plan.listed)
    ledger = Ledger(targeting, version.match, version.ledger.writing, Room(*(some + some // _SLACK for some in rows)))
    ledger.arrays.used = Room(*rows)
    ledger.size, ledger.edge_count, ledger.next_serial, ledger.settled = count, links, links, count + links
    _lay_nodes(ledger, version, plan, nodes)
    moved = _lay_edges(ledger, version, plan, edges)
    _rebuilding_describe(ledger, version, plan, moved)
    numbers = np.full(len(version.graph.edges), -1, np.int32)
    numbers[plan.edges] = moved
    return Rebuilt(ledger, numbers)


def _plan(version: Version) -> _Plan:
    graph, reported, edges = version.graph, version.node_numbers(), version.edge_numbers()
    position = np.full(graph.node_count, -1, np.int32)
    position[reported] = np.arange(len(reported), dtype=np.int32)
    sources, targets = position[graph.sources[edges]], position[graph.edges[edges, TARGET]]
    components, order = number_nodes(len(reported), sources, targets)
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    nodes = reported[order]
    listed = version.listed_size()
    ends = (np.searchsorted(components[order], components[order], side="right") - 1).astype(np.int32)
    return _Plan(nodes, version.records_of(nodes), order, listed, edges, number[sources], number[targets], ends)


def _expressions(version: Version, plan: _Plan) -> tuple[Targeting, Int32s, Int32s]:
    """The expressions of nodes and edges, in the version's store or, without the dead ones, in a new one."""
    graph, targeting = version.graph, version.targeting
    nodes, edges = graph.records[plan.records, EXPRESSION], graph.edges[plan.edges, EDGE_EXPRESSION]
    living = len(np.unique(np.concatenate((nodes, edges))))
    return (targeting, nodes, edges) if len(targeting) <= 2 * living + _SPARE else _compile(version, plan)


def _compile(version: Version, plan: _Plan) -> tuple[Targeting, Int32s, Int32s]:
    targeting, ledger = Targeting(), version.ledger
    texts = ledger.edge_texts.take(ledger.arrays.serials[plan.edges])
    edges = text_expressions(texts, len(plan.edges), targeting)
    if version.match is None:
        nodes = text_expressions(ledger.texts.take(plan.records), len(plan.nodes), targeting)
    else:
        nodes = label_expressions(ledger.labels.take(plan.records).to_pylist(), targeting, version.match)
    nodes[version.graph.records[plan.records, FLAGS] & REFUSED != 0] = NEVER
    return targeting, nodes, edges


def _lay_nodes(ledger: Ledger, version: Version, plan: _Plan, expressions: Int32s) -> None:
    arrays, count, graph = ledger.arrays, len(plan.nodes), version.graph
    records = arrays.records[:count]
    records[:] = graph.records[plan.records]
    records[:, EXPRESSION], records[:, DIED], records[:, NEWER] = expressions, NEVER_DIED, -1
    records[:, PLACE] = np.where(plan.places < plan.listed, plan.places, plan.places - plan.listed)
    arrays.record_costs[:count] = graph.record_costs[plan.records]
    reported = np.argsort(plan.places)
    arrays.listed[: plan.listed], arrays.loose[: count - plan.listed] = reported[: plan.listed], reported[plan.listed :]
    arrays.nodes[:count, RECORD] = np.arange(count)
    arrays.nodes[:count, [OUT_MORE, IN_MORE]] = -1
    arrays.nodes[:count, COMPONENT_END] = plan.component_ends
    ledger.names.extend(0, version.names(plan.nodes))
    ledger.ids.extend(version.names(plan.nodes), np.arange(count, dtype=np.int32))


def _lay_edges(ledger: Ledger, version: Version, plan: _Plan, expressions: Int32s) -> Int32s:
    """Edges by their sources, and entries by their targets; returns the new numbers of the edges."""
    arrays, links = ledger.arrays, len(plan.edges)
    order = np.argsort(plan.sources, kind="stable")
    table = arrays.edges[:links]
    table[:, TARGET], table[:, EDGE_EXPRESSION] = plan.targets[order], expressions[order]
    table[:, BORN], table[:, EDGE_DIED] = 0, NEVER_DIED
    arrays.sources[:links], arrays.serials[:links] = plan.sources[order], order
    arrays.edge_costs[:links] = version.graph.edge_costs[plan.edges[order]]
    moved = np.empty(links, np.int32)
    moved[order] = np.arange(links, dtype=np.int32)
    arrays.entries[:links] = moved[np.argsort(plan.targets, kind="stable")]
    _set_spans(arrays, len(plan.nodes), plan)
    return moved


def _set_spans(arrays: Arrays, count: int, plan: _Plan) -> None:
    for ends, begin, end in ((plan.sources, OUT_BEGIN, OUT_END), (plan.targets, IN_BEGIN, IN_END)):
        sizes = np.bincount(ends, minlength=count)
        arrays.nodes[:count, end] = np.cumsum(sizes)
        arrays.nodes[:count, begin] = arrays.nodes[:count, end] - sizes
        arrays.nodes[:count, DEGREE] += sizes.astype(np.int32)


def _rebuilding_describe(ledger: Ledger, version: Version, plan: _Plan, moved: Int32s) -> None:
    """The texts, labels and ids."""
    old, serials = version.ledger, version.ledger.arrays.serials[plan.edges]
    pairs = (
        (ledger.texts, old.texts, plan.records),
        (ledger.labels, old.labels, plan.records),
        (ledger.edge_names, old.edge_names, serials),
        (ledger.edge_texts, old.edge_texts, serials),
    )
    for new, known, numbers in pairs:
        new.extend(0, None if known.is_empty() else _compact(known.take(numbers)))
    if not ledger.edge_names.is_empty():
        names = ledger.edge_names.whole(len(plan.edges))
        ledger.edge_ids.extend(names.drop_null(), moved[names.is_valid().to_numpy(zero_copy_only=False)])
    refused = np.flatnonzero(ledger.arrays.records[: len(plan.nodes), FLAGS] & REFUSED)
    ledger.refused.update((row, old.refused[int(plan.records[row])]) for row in refused.tolist())


def _compact(values: Array) -> Array | None:
    return None if values.null_count == len(values) else values


# ----------------------------------------------------------------------------------------------------------------------
# Clearing away what live changes leave behind: the dead, what lies apart, and edges that lead to lower numbers.
#
# The laws: settling changes nothing that is seen but numbers; readers of older versions keep their ledger; events
# never wait for it. A new ledger is made from one version while changes go on; they are noted, made again in the new
# ledger, the last few of them under the lock, and then it takes the place of the old one.
#
# A rebuild costs what the exchange holds, and comes when changes have touched a share of that: so much per change.
# ----------------------------------------------------------------------------------------------------------------------

LEAST = 1024  # changes that are never worth a rebuild
OLD = 1 << 30  # versions of one ledger, after which a rebuild counts from 0 again: arrays hold less than 2**31 - 1
_SHARE = 4  # a rebuild comes when changes are more than this part of what there was at the last one
_SMALL = 4096  # nodes and edges that are rebuilt at once


class Settling:
    """The rebuilds of one exchange, one at a time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._running = threading.Lock()
        self._log: list[tuple[str, tuple[Any, ...]]] | None = None  # changes since a rebuild began
        self._thread: threading.Thread | None = None
        self._wear = 0  # of the ledger after the change before

    def note(self, ledger: Ledger, kind: str, *what: Any) -> None:
        """Notes a change of the exchange; the caller holds `writing`."""
        added, self._wear = ledger.wear - self._wear, ledger.wear
        if self._log is not None:
            self._log.append((kind, what))
            return
        least = max(LEAST, ledger.settled // _SHARE)
        if ledger.wear <= least and self._exchange.age < OLD:
            return
        if ledger.size + ledger.edge_count <= _SMALL or 2 * added > least:  # bulk is as much work as the rebuild
            self._run_at_once()
        else:
            self._start()

    def run(self) -> None:
        """Rebuilds now."""
        with self._running:
            self._settle()

    def wait(self) -> None:
        """Waits until no rebuild is running in the background."""
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()

    def _run_at_once(self) -> None:
        """Rebuilds unless another thread does: that one may be waiting for the lock that we hold."""
        if self._running.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._running.release()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self.run, name="heliograph-settle")
            self._thread.start()

    def _settle(self) -> None:
        exchange = self._exchange
        with exchange.writing:
            version = exchange.hold()
            log = self._log = []
        try:
            replay = Replay(rebuild(version), version.targeting)
            done = 0
            while len(log) - done > _FEW:
                done += replay.repeat(log[done:])
            with exchange.writing:
                replay.repeat(log[done:])
                exchange.swap(replay.ledger)
                self._wear, self._log = replay.ledger.wear, None
        finally:
            self._log = None
            exchange.release(version)


class Replay:
    """Changes made again in a new ledger, which nobody reads yet: all in version 0."""

    def __init__(self, rebuilt: Rebuilt, compiled_for: Targeting) -> None:
        self.ledger = rebuilt.ledger
        self._compiled_for = compiled_for
        self._moved = rebuilt.edges
        self._added: dict[int, int] = {}  # the new numbers of edges that came later

    def repeat(self, changes: list[tuple[str, tuple[Any, ...]]]) -> int:
        """Makes the changes; returns how many they were."""
        for kind, what in changes:
            getattr(self, kind)(*what)
        self.ledger.relink(0)
        return len(changes)

    def put_nodes(self, rows: NodeRows, expressions: Int32s) -> None:
        rows = replace(rows, compiled=Expressions(self._compiled_for, expressions))
        expressions = node_expressions(rows, self.ledger.targeting, self.ledger.match)
        put_nodes(self.ledger, rows, expressions, 0)

    def put_edges(self, rows: EdgeRows, expressions: Int32s, numbers: Int32s) -> None:
        rows = replace(rows, compiled=Expressions(self._compiled_for, expressions))
        expressions = edge_expressions(rows, self.ledger.targeting)
        new = put_edges(self.ledger, rows, expressions, 0)
        self._added.update(zip(numbers.tolist(), new.tolist(), strict=True))

    def close(self, expressions: list[int]) -> None:
        if self.ledger.targeting is self._compiled_for:  # where it was compiled anew, it fails once more
            self.ledger.close(expressions)

    def drop_nodes(self, ids: Collection[str]) -> None:
        numbers = [self.ledger.ids.find(id) for id in ids]
        drop_nodes(self.ledger, np.unique([number for number in numbers if number >= 0]), 0)

    def drop_edges(self, numbers: Int32s) -> None:
        new = [self._added[edge] if edge in self._added else int(self._moved[edge]) for edge in numbers.tolist()]
        drop_edges(self.ledger, np.array(new, np.int32), 0)


# ----------------------------------------------------------------------------------------------------------------------
# The exchange: nodes and directed edges with their targeting, changed by one writer while many read.
#
# The laws: adding replaces, a node by its id, an edge by its edge_id or, without one, by its two ends (edges of one
# call that share both ends and have no id are alternatives and all stay); an end of an edge that is no listed node is
# a node without targeting, and vanishes with its last edge; a node whose row was refused accepts nothing until a good
# row comes, because taking it for a node without targeting would deliver what its owner may have forbidden.
#
# A change costs what it touches, not what the exchange holds. Readers hold a version and no lock: see `kernels.
# exchange_layout`. What changes leave behind is cleared away in the background: see `settling`.
# ----------------------------------------------------------------------------------------------------------------------


class Exchange:
    """One exchange. Whoever changes it, or compiles for it, holds `writing`; whoever reads it uses `reading`.

    Numbers of nodes and edges are those of one version: after a change they may be others.
    """

    def __init__(self, match: str | None = None) -> None:
        self._begin(Ledger(Targeting(), match, threading.RLock()))

    def _begin(self, ledger: Ledger) -> None:
        self.writing = ledger.writing
        self._registry = threading.Lock()
        self._readers: dict[int, int] = {}  # how many read each version
        self._ledger = ledger
        self._version = 0
        self._programs: tuple[int, Programs] = len(ledger.targeting), ledger.targeting.snapshot()
        self._settling = Settling(self)
        self._publish()

    @classmethod
    def of_version(cls, version: Version) -> Exchange:
        """An exchange of its own that begins as a version. Both compile for one store, so they share `writing`."""
        return cls.of_ledger(rebuild(version).ledger)

    @classmethod
    def of_ledger(cls, ledger: Ledger) -> Exchange:
        """An exchange that begins with a ledger."""
        made = cls.__new__(cls)
        made._begin(ledger)
        return made

    @property
    def match(self) -> str | None:
        return self._ledger.match

    @property
    def targeting(self) -> Targeting:
        return self._ledger.targeting

    @property
    def age(self) -> int:
        """How many versions there were since the ledger was made. BORN and DIED hold less than 2**31 - 1."""
        return self._version

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def current(self) -> Version:
        """The latest version; without `reading` it is valid only while `writing` is held."""
        return self._current

    @contextmanager
    def reading(self) -> Iterator[Version]:
        """The latest version, which stays as it is until it is released."""
        version = self.hold()
        try:
            yield version
        finally:
            self.release(version)

    def hold(self) -> Version:
        """Registers a reader of the latest version."""
        with self._registry:
            version = self._current
            number = version.graph.version
            self._readers[number] = self._readers.get(number, 0) + 1
        return version

    def release(self, version: Version) -> None:
        number = version.graph.version
        with self._registry:
            self._readers[number] -= 1
            if not self._readers[number]:
                del self._readers[number]
        if self._ledger.history and self.writing.acquire(blocking=False):  # else the writer sees to it
            try:
                self._relink()
            finally:
                self.writing.release()

    def _relink(self) -> None:
        """Drops the history that nobody reads."""
        with self._registry:
            oldest = min(self._readers, default=self._version)
        self._ledger.relink(oldest)

    # --- changes ------------------------------------------------------------------------------------------------

    def put_nodes(self, nodes: NodeRows | Iterable[Node]) -> None:
        """Adds nodes or replaces those of the same id; a refused one never replaces a good one."""
        parts = [nodes] if isinstance(nodes, NodeRows) else _columns(list(nodes))
        with self.writing:
            for rows in parts:
                for part in _runs(rows):
                    self._put_nodes(part)

    def _put_nodes(self, rows: NodeRows) -> None:
        expressions = node_expressions(rows, self.targeting, self.match)
        self._change(lambda ledger, now: put_nodes(ledger, rows, expressions, now))
        self._settling.note(self._ledger, "put_nodes", rows, expressions)

    def put_edges(self, edges: EdgeRows | Sequence[Edge]) -> None:
        """Adds edges; those that they replace go first."""
        rows = edges if isinstance(edges, EdgeRows) else EdgeRows.of(edges)
        if not len(rows):
            return
        with self.writing:
            expressions = edge_expressions(rows, self.targeting)
            numbers = self._change(lambda ledger, now: put_edges(ledger, rows, expressions, now))
            self._settling.note(self._ledger, "put_edges", rows, expressions, numbers)

    def drop_nodes(self, ids: Collection[str]) -> None:
        """Removes nodes with all their edges; ids of no node are passed over."""
        with self.writing:
            numbers = np.unique(self._current.numbers(pa.array(list(ids), pa.string())))
            numbers = numbers[numbers >= 0]
            if len(numbers):
                self._change(lambda ledger, now: drop_nodes(ledger, numbers, now))
                self._settling.note(self._ledger, "drop_nodes", ids)

    def drop_edges(self, edges: Iterable[Edge | int]) -> None:
        """Removes edges of the latest version, and the ends that nothing else makes known."""
        several = [edge.number if isinstance(edge, Edge) else edge for edge in edges]
        if not several:
            return
        with self.writing:
            numbers = np.unique(np.array(several, np.int32))
            self._change(lambda ledger, now: drop_edges(ledger, numbers, now))
            self._settling.note(self._ledger, "drop_edges", numbers)

    def put_aside(
        self, version: Version, expressions: Collection[int]
    ) -> tuple[list[tuple[Node, int]], list[tuple[Edge, int]]]:
        """Nodes and edges whose targeting is one of these of a version accept nothing from now on, until they are
        replaced. Returns them, each with the expression it had.
        """
        with self.writing:
            if self.targeting is not version.targeting:  # compiled anew meanwhile
                return [], []
            graph, wanted = self._current.graph, list(expressions)
            nodes, edges = self._current.node_numbers(), self._current.edge_numbers()
            records = self._current.records_of(nodes)
            nodes, records = (some[np.isin(graph.records[records, EXPRESSION], wanted)] for some in (nodes, records))
            edges = edges[np.isin(graph.edges[edges, EDGE_EXPRESSION], wanted)]
            named = [
                (self._current.node(int(node)), int(graph.records[record, EXPRESSION]))
                for node, record in zip(nodes, records, strict=True)
            ]
            linked = [(self._current.edge(int(edge)), int(graph.edges[edge, EDGE_EXPRESSION])) for edge in edges]

            if named or linked:
                self._change(lambda ledger, _: ledger.close(wanted))
                self._settling.note(self._ledger, "close", wanted)
            return named, linked

    def edge_number(self, id: str) -> int:
        """The number of the edge that has an edge_id in the latest version, or -1."""
        return find_edge(self._ledger, id)

    def find_edges(self, source: str | None, target: str | None, id: str | None) -> list[int]:
        """The edges of the latest version with this id, or these ends, or both where both are given."""
        version = self._current
        if id is None:
            return version.between_numbers(version.number(source or ""), version.number(target or ""))
        number = self.edge_number(id)
        if number < 0:
            return []
        edge = version.edge(number)
        return [number] if source in (None, edge.source) and target in (None, edge.target) else []

    def _change(self, change: Callable[[Ledger, int], Any]) -> Any:
        """Makes the next version."""
        self._ledger.arrays.own()
        result = change(self._ledger, self._version + 1)
        self._version += 1
        self._publish()
        return result

    def _publish(self) -> None:
        ledger = self._ledger
        if self._programs[0] != len(ledger.targeting):
            self._programs = len(ledger.targeting), ledger.targeting.snapshot()
        version = Version(ledger, ledger.arrays.graph(self._version), self._programs[1], ledger.size)
        with self._registry:
            self._current = version
        self._relink()

    # --- settling -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Clears away what changes left behind, now. Not to be called while holding `writing`."""
        self._settling.run()

    def wait(self) -> None:
        """Waits until nothing is being cleared away in the background."""
        self._settling.wait()

    def swap(self, ledger: Ledger) -> None:
        """Goes on with another ledger that shows the same. For `settling`, which holds `writing`."""
        self._ledger = ledger
        self._programs = len(ledger.targeting), ledger.targeting.snapshot()
        self._version = 0  # who reads the other ledger has versions of its own, and at most delays `relink`
        self._publish()


def _columns(nodes: Sequence[Node]) -> list[NodeRows]:
    """Nodes as columns, in parts that are all listed or all not."""
    parts: list[list[Node]] = []
    for node in nodes:
        if not parts or parts[-1][-1].listed != node.listed:
            parts.append([])
        parts[-1].append(node)
    return [NodeRows.of(part) for part in parts]


def _runs(rows: NodeRows) -> Iterator[NodeRows]:
    """The rows in parts in which no id comes twice."""
    if not len(rows):
        return
    if len(rows) == 1 or len(rows) == len(rows.ids.unique()):
        yield rows
        return
    first = 0
    seen: set[str] = set()
    for row, id in enumerate(strings(rows.ids)):
        if id in seen:
            yield rows.slice(first, row)
            first, seen = row, set()
        seen.add(id)
    yield rows.slice(first, len(rows))


# ----------------------------------------------------------------------------------------------------------------------
# The exchange of two tables: its nodes in the order of reporting, its edges in the order of adding.
#
# The law: it shows what the tables show. Saves of the first version hold such tables.
# ----------------------------------------------------------------------------------------------------------------------

_NODE_COLUMNS: dict[str, pa.DataType] = {
    "node_id": pa.string(),
    "targeting": pa.string(),
    "cost": pa.float64(),
    "labels": LABELS_TYPE,
    "refused": pa.string(),
    "listed": pa.bool_(),
}
_EDGE_COLUMNS: dict[str, pa.DataType] = {
    "source": pa.string(),
    "target": pa.string(),
    "edge_id": pa.string(),
    "targeting": pa.string(),
    "cost": pa.float64(),
}
NODES, EDGES = pa.schema(_NODE_COLUMNS), pa.schema(_EDGE_COLUMNS)
pc: Any = pyarrow.compute


def exchange_of(nodes: pa.Table, edges: pa.Table, match: str | None = None) -> Exchange:
    """The exchange of such tables. Raises PredicateError for a targeting that cannot be read."""
    exchange = Exchange(match)
    for listed in (True, False):
        some = nodes.filter(pc.equal(nodes.column("listed"), listed))
        exchange.put_nodes(_node_rows(some, listed))
    parts = (_column(edges, name) for name in ("source", "target", "edge_id", "targeting"))
    sources, targets, ids, texts = parts
    costs = _column(edges, "cost").to_numpy(zero_copy_only=False)
    exchange.put_edges(EdgeRows(sources, targets, _some(ids), _some(texts), costs))
    return exchange


def _node_rows(table: pa.Table, listed: bool) -> NodeRows:
    ids, texts, labels = (_column(table, name) for name in ("node_id", "targeting", "labels"))
    codes = _column(table, "refused")
    refused = {row: codes[row].as_py() for row in np.flatnonzero(codes.is_valid()).tolist()}
    costs = _column(table, "cost").to_numpy(zero_copy_only=False)
    return NodeRows(ids, _some(texts), costs, _some(labels), refused, listed)


def _column(table: pa.Table, name: str) -> Array:
    found: Any = table.column(name).combine_chunks()
    return found  # type: ignore[no-any-return]


def _some(values: Array) -> Array | None:
    return None if values.null_count == len(values) else values
