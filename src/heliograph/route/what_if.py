"""What if: the deliveries that a change of nodes or edges would add or take away.

A change is a row of kind (node, edge), op and the new definition. `+` adds, and replaces as adding does; `=` replaces
what must be there already; `-` removes. An edge is the one that has its edge_id or, without one, every edge between the
two nodes. The row is the whole definition, so a null targeting accepts everything; only a node's labels, where it names
none, and the ends of a named edge that `=` replaces, where they are not given, stay as they were.

The law: what is foretold is what happens once the changes are made for real.

The changes are made in a copy of the version, so that both can be routed by the same evaluator. Nodes have other
numbers in the copy, so its results are translated to the version's before they are compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, PublicationError
from heliograph.io.coerce import Array
from heliograph.io.schemas import TABLES
from heliograph.io.tables import as_table
from heliograph.model import Rejected, Rejections, Stats, rejection_report
from heliograph.predicate.layout import Int32s
from heliograph.route.exchange import Exchange, Version
from heliograph.route.read import Events, read_edges, read_nodes, unknown_publisher
from heliograph.route.strategy import Reached, Strategy


class WhatIf(NamedTuple):
    """`table` has the rows (event_id, node_id, before, after) where delivery differs; `stats` count both versions."""

    table: pa.Table
    rejected: Rejections
    errors: list[HeliographError]
    stats: Stats


class Change(NamedTuple):
    kind: str | None
    op: str | None
    node_id: str | None
    source: str | None
    target: str | None
    targeting: str | None
    cost: float | None
    edge_id: str | None = None
    labels: list[str] | None = None


class _Problems(NamedTuple):
    rejected: list[Rejected]
    errors: list[HeliographError]

    def add(self, error: HeliographError, source: str | None, item: str) -> None:
        self.errors.append(error)
        self.rejected.append(Rejected.of(error, source, item))


def compare_versions(
    version: Version, changes: Any, events: Events, strategy: Strategy, subscribers_only: bool
) -> WhatIf:
    """Routes every event before and after the changes."""
    problems = _Problems(list(events.rejected), list(events.errors))
    with version.arrays.writing:  # the copy compiles into the same store
        changed = _changed(version, changes, problems)
    before = strategy.reach(version, events, subscribers_only)
    with changed.reading() as other:
        after = strategy.reach(other, events, subscribers_only)
        table = _differences(version, other, events.ids, before, after)
        unknown = (events.starts(version) < 0) & (events.starts(other) < 0)
    for row in np.flatnonzero(unknown).tolist():
        id, publisher = events.ids[row].as_py(), events.publishers[row].as_py()
        problems.add(unknown_publisher(id, publisher, "unknown before and after"), events.source, id)
    stats = Stats(
        subscriptions=len(version),
        publications=len(events),
        notifications=table.num_rows,
        candidates=before.candidates + after.candidates,
        verified=before.verified + after.verified,
        rejected=len(problems.rejected),
    )
    return WhatIf(table, rejection_report(problems.rejected), problems.errors, stats)


# --- comparing --------------------------------------------------------------------------------------------------------


def _differences(version: Version, other: Version, ids: Array, before: Reached, after: Reached) -> pa.Table:
    """The nodes that only one version reaches, event by event, those lost first, in the order of reporting."""
    numbers = version.numbers(other.ids)  # of the other version's nodes
    marks = np.zeros(version.graph.node_count + 1, np.int64)  # -1, a node that is not there, has the last one
    lost: list[Int32s] = [np.zeros(0, np.int32)]
    gained: list[Int32s] = [np.zeros(0, np.int32)]
    for event in range(len(ids)):
        one, two = (found.nodes[slice(*found.offsets[event : event + 2])] for found in (before, after))
        translated = numbers[two]
        for kept, some, others, nodes in ((lost, translated, one, one), (gained, one, translated, two)):
            mark = len(lost) + len(gained)  # a new one each time empties the set of marked nodes
            marks[some] = mark
            marks[-1] = 0
            kept.append(nodes[marks[others] != mark])
    sizes = np.array([len(part) for pair in zip(lost[1:], gained[1:], strict=True) for part in pair], np.int64)
    was = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
    names: Any = pa.concat_arrays([version.names(np.concatenate(lost)), other.names(np.concatenate(gained))])
    places = np.empty(len(was), np.int64)
    places[np.argsort(~was, kind="stable")] = np.arange(len(was))  # of what is lost everywhere, then of what is gained
    events = np.repeat(np.arange(len(sizes)) // 2, sizes)
    columns: list[Any] = [ids.take(events), names.take(pa.array(places)), pa.array(was), pa.array(~was)]
    return pa.Table.from_arrays(columns, schema=TABLES["what_if"].arrow)


# --- changing ---------------------------------------------------------------------------------------------------------


def _changed(version: Version, changes: Any, problems: _Problems) -> Exchange:
    """A copy of the exchange with the changes made, in their order."""
    read = as_table("changes", changes)
    problems.rejected.extend(read.rejected)
    exchange = Exchange.of_version(version)
    rows = zip(*(read.table.column(name).to_pylist() for name in Change._fields), strict=True)
    for number, row in enumerate(rows):
        try:
            _apply(exchange, Change(*row), read.place(number))
        except HeliographError as error:
            problems.add(error, read.source, str(read.rows[number]))
    return exchange


def _apply(exchange: Exchange, change: Change, place: Place) -> None:
    if change.kind not in ("node", "edge") or change.op not in ("+", "-", "="):
        message = f"a change of kind {change.kind!r} and op {change.op!r}"
        raise PublicationError("HG-660", message, place=place, fix="kind is node or edge, op is +, - or =")
    if change.kind == "node":
        _apply_node(exchange, change, place)
    else:
        _apply_edge(exchange, change, place)


def _apply_node(exchange: Exchange, change: Change, place: Place) -> None:
    number = exchange.current.number(change.node_id or "")
    if number < 0 and change.op != "+":
        raise _unknown(f"node {change.node_id!r}", place)
    if change.op == "-":
        exchange.drop_nodes([str(change.node_id)])
        return
    row = {"node_id": change.node_id, "targeting": change.targeting, "cost": change.cost}
    labels = change.labels
    if labels is None:
        labels = sorted(exchange.current.node(number).labels) if number >= 0 else []
    read = read_nodes([{**row, "labels": labels}], exchange.targeting, exchange.match)
    exchange.put_nodes(read.broken)  # as the engine does: a new node whose row is refused accepts nothing
    if read.refusals:
        raise _placed(read.refusals[0].error, place)
    exchange.put_nodes(read.rows)


def _apply_edge(exchange: Exchange, change: Change, place: Place) -> None:
    known = [] if change.op == "+" else _known_edges(exchange, change, place)
    if change.op == "-":
        exchange.drop_edges(known)
        return
    row = {name: getattr(change, name) for name in ("source", "target", "edge_id", "targeting", "cost")}
    if known:
        edge = exchange.current.edge(known[0])
        row.update(source=change.source or edge.source, target=change.target or edge.target)
    read = read_edges([row], exchange.targeting)
    if read.refusals:
        raise _placed(read.refusals[0].error, place)
    exchange.drop_edges(known)
    exchange.put_edges(read.rows)


def _known_edges(exchange: Exchange, change: Change, place: Place) -> list[int]:
    """The edges that go: the named one, whose ends `=` may change, or all between two nodes."""
    ends = (None, None) if change.op == "=" and change.edge_id else (change.source, change.target)
    known = exchange.find_edges(*ends, change.edge_id or None)
    if not known:
        name = f"{change.source} → {change.target}" if any(ends) or not change.edge_id else ""
        raise _unknown(" ".join(filter(None, ("edge", name, change.edge_id and f"({change.edge_id})"))), place)
    return known


def _placed(error: HeliographError, place: Place) -> HeliographError:
    """The error of a row at the place of its change; a line and column of its text stay."""
    error.place = replace(place, line=error.line, column=error.column)
    return error


def _unknown(what: str, place: Place) -> PublicationError:
    fix = "write + to add it, or check its name"
    return PublicationError("HG-661", f"a change of the {what}, which is not there", place=place, fix=fix)
