"""What if: the deliveries that a change of nodes or edges would add or take away.

A change is a row of kind (node, edge), op and the new definition. `+` adds, and replaces as adding does; `=` replaces
what must be there already (an edge: every edge between the two nodes); `-` removes. The row is the whole definition, so
a null targeting accepts everything; only a node's labels, which the table has no column for, stay as they were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.baselines.exchange import Event, Exchange
from heliograph.baselines.route_walk import Acceptance, fewest_hops
from heliograph.errors import HeliographError, Place, PublicationError
from heliograph.model import Rejected, Rejections, Stats
from heliograph.route.events import Events
from heliograph.route.rows import read_edges, read_nodes
from heliograph.tables.items import as_table
from heliograph.tables.schemas import TABLES


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


def compare_versions(graph: Exchange, changes: Any, read: Events, match: str | None) -> WhatIf:
    """Routes every event before and after the changes."""
    rejected, errors = list(read.rejected), list(read.errors)
    changed = _changed(graph, changes, rejected, errors)
    rows: list[dict[str, object]] = []
    stats = Stats(publications=len(read))
    for event in read:
        if event.publisher in graph.nodes or event.publisher in changed.nodes:
            asked = Acceptance(event, match), Acceptance(event, match)
            rows += _differences((graph, changed), event, asked)
            stats += Stats(candidates=sum(one.candidates for one in asked), verified=sum(one.verified for one in asked))
        else:
            message = f"the publisher {event.publisher!r} is unknown before and after"
            fix = "add it to the nodes, or check its name"
            error = PublicationError("HG-643", message, place=Place(item=event.id), fix=fix)
            errors.append(error)
            rejected.append(Rejected.of(error, read.source, event.id))
    stats += Stats(subscriptions=len(graph.nodes), notifications=len(rows), rejected=len(rejected))
    return WhatIf(pa.Table.from_pylist(rows, schema=TABLES["what_if"].arrow), Rejections(rejected), errors, stats)


def _differences(
    versions: tuple[Exchange, Exchange], event: Event, asked: tuple[Acceptance, Acceptance]
) -> list[dict[str, object]]:
    """The nodes that only one version reaches, in the order of the version that has them, the present one first."""
    before, after = (dict.fromkeys(_reached(graph, event, one)) for graph, one in zip(versions, asked, strict=True))
    nodes = [*before, *(id for id in after if id not in before)]
    return [
        {"event_id": event.id, "node_id": id, "before": id in before, "after": id in after}
        for id in nodes
        if (id in before) != (id in after)
    ]


def _reached(graph: Exchange, event: Event, acceptance: Acceptance) -> list[str]:
    """The nodes that the event reaches in this version, in order of subscribing."""
    if event.publisher not in graph.nodes:
        return []
    arrivals = fewest_hops(graph, event.publisher, acceptance).values()
    return [arrival.node.id for arrival in sorted(arrivals, key=lambda arrival: graph.rank(arrival.node))]


def _changed(graph: Exchange, changes: Any, rejected: list[Rejected], errors: list[HeliographError]) -> Exchange:
    """A version of the exchange with the changes made, in their order."""
    read = as_table("changes", changes)
    rejected += read.rejected
    changed = graph.copy()
    rows = zip(*(read.table.column(name).to_pylist() for name in Change._fields), strict=True)
    for number, row in enumerate(rows):
        try:
            _apply(changed, Change(*row), read.place(number))
        except HeliographError as error:
            errors.append(error)
            rejected.append(Rejected.of(error, read.source, str(read.rows[number])))
    return changed


def _apply(graph: Exchange, change: Change, place: Place) -> None:
    if change.kind not in ("node", "edge") or change.op not in ("+", "-", "="):
        message = f"a change of kind {change.kind!r} and op {change.op!r}"
        raise PublicationError("HG-660", message, place=place, fix="kind is node or edge, op is +, - or =")
    if change.kind == "node":
        _apply_node(graph, change, place)
    else:
        _apply_edge(graph, change, place)


def _apply_node(graph: Exchange, change: Change, place: Place) -> None:
    known = graph.nodes.get(change.node_id or "")
    if known is None and change.op != "+":
        raise _unknown(f"node {change.node_id!r}", place)
    if change.op == "-" and known is not None:
        graph.drop_nodes([known.id])
        return
    read = read_nodes([{"node_id": change.node_id, "targeting": change.targeting, "cost": change.cost}])
    if read.refusals:
        raise _placed(read.refusals[0].error, place)
    graph.put_nodes(replace(node, labels=known.labels) if known else node for node in read.nodes)


def _apply_edge(graph: Exchange, change: Change, place: Place) -> None:
    known = graph.between(change.source or "", change.target or "")
    if not known and change.op != "+":
        raise _unknown(f"edge {change.source} → {change.target}", place)
    row = {"source": change.source, "target": change.target, "targeting": change.targeting, "cost": change.cost}
    read = read_edges([row])
    if read.refusals:
        raise _placed(read.refusals[0].error, place)
    if change.op in ("-", "="):
        graph.drop_edges(known)
    if change.op in ("+", "="):
        graph.put_edges(read.edges)


def _placed(error: HeliographError, place: Place) -> HeliographError:
    """The error of a row at the place of its change; a line and column of its text stay."""
    error.place = replace(place, line=error.line, column=error.column)
    return error


def _unknown(what: str, place: Place) -> PublicationError:
    fix = "write + to add it, or check its name"
    return PublicationError("HG-661", f"a change of the {what}, which is not there", place=place, fix=fix)
