"""Changes of nodes in a ledger: each gives nodes new records, which hold from one version on.

The laws: adding replaces a node by its id and keeps its place in the order, unless a listed row takes over from the
end of an edge or the other way round; a refused row never replaces a good one; a node that goes leaves a record that
says so. Readers of earlier versions go on finding the record of their time.
"""

from __future__ import annotations

import numpy as np

from heliograph.exchange.growing import DEGREE
from heliograph.exchange.ledger import Ledger, newest
from heliograph.exchange.rows import NodeRows
from heliograph.kernels.exchange_layout import (
    DIED,
    EXPRESSION,
    FLAGS,
    IN_MORE,
    LISTED_NODE,
    NEVER_DIED,
    NEWER,
    OUT_MORE,
    PLACE,
    PRESENT,
    RECORD,
    REFUSED,
)
from heliograph.kernels.targeting_layout import NEVER, Int32s, Int64s
from heliograph.tables.columns import Array


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
    _describe(ledger, rows, kept, first)
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


def drop_nodes(ledger: Ledger, numbers: Int32s, now: int) -> None:
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
        drop_nodes(ledger, bare[flags & (PRESENT | LISTED_NODE | REFUSED) == PRESENT], now)


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


def _describe(ledger: Ledger, rows: NodeRows, kept: Int64s, first: int) -> None:
    """What kernels do not need to know of the new records."""
    every = len(kept) == len(rows)
    for column, values in ((ledger.texts, rows.texts), (ledger.labels, rows.labels)):
        column.extend(first, values if every or values is None else values.take(kept))
    ledger.arrays.record_costs[first : first + len(kept)] = rows.costs[kept]
    if rows.refused:
        codes = ((record, rows.refused.get(row)) for record, row in enumerate(kept.tolist(), first))
        ledger.refused.update((record, code) for record, code in codes if code)
