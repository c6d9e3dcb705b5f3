"""Changes of edges in a ledger: new ones are laid into blocks of their nodes, old ones die.

The laws: adding replaces an edge by its id or, without one, the edges between its two ends that have none either (but
not those of the same call, which are alternatives); an end that is no listed node is a node without targeting, and
goes with its last edge. The edges of a node, in whichever blocks, lie in the order of adding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.exchange import node_changes
from heliograph.exchange.blocks import INTO, OUT, attach, reserve, spanned
from heliograph.exchange.columns import strings
from heliograph.exchange.growing import DEGREE
from heliograph.exchange.ledger import Ledger
from heliograph.exchange.node_changes import forget_ends, put_ends
from heliograph.exchange.rows import EdgeRows
from heliograph.kernels.exchange_layout import (
    BORN,
    EDGE_COLUMNS,
    EDGE_DIED,
    EDGE_EXPRESSION,
    NEVER_DIED,
    TARGET,
)
from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.tables.columns import Array

_FEW = 64  # edges whose ends are looked at one by one
_BULK = 256  # edges whose twins are looked for among all edges at once


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
    node_changes.drop_nodes(ledger, numbers, now)


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
    twins = _twins_of_many if len(plain) > _BULK else _twins_of_few
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
