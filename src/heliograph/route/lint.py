"""What is odd about an exchange: rows that were refused, nodes nothing can reach, targeting that can never hold.

A publisher here is a node without incoming edges ([B] section 1); where there is none, every node may publish. What is
reported as unreachable or as never holding is so for every event.

All of it is found in the arrays of a version; ids and texts are looked up of what is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.exchange.numbering import rows_by
from heliograph.exchange.reading import read_edges, read_nodes
from heliograph.exchange.store import Exchange
from heliograph.exchange.version import Version
from heliograph.kernels.exchange_layout import EDGE_EXPRESSION, EXPRESSION, FLAGS, LISTED_NODE, REFUSED, TARGET
from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.model import Rejected
from heliograph.route.never import never_accepts
from heliograph.tables.columns import Array
from heliograph.tables.schemas import TABLES

Flags = npt.NDArray[np.bool_]
_FEW = 32  # nodes whose edges are looked at one by one


class Finding(NamedTuple):
    subject_id: str | None
    code: str
    message: str
    related_id: str | None = None


class _View(NamedTuple):
    """A version laid open: its nodes in the order of reporting, its edges in the order of adding."""

    version: Version
    nodes: Int32s
    listed: Flags  # by node number, like the next two
    refused: Flags
    closed: Flags  # nodes that accept no event
    edges: Int32s
    sources: Int32s
    targets: Int32s
    shut: Flags  # edges that accept no event


def lint_route(nodes: Any, edges: Any) -> pa.Table:
    """The findings on an exchange: subject_id, code, message, related_id."""
    exchange = Exchange()
    some = read_nodes(nodes, exchange.targeting)
    exchange.put_nodes(some.rows)
    exchange.put_nodes(some.broken)
    links = read_edges(edges, exchange.targeting)
    exchange.put_edges(links.rows)
    refused = [*some.unread, *links.unread, *(refusal.rejected for refusal in (*some.refusals, *links.refusals))]
    with exchange.reading() as version:
        findings = [*map(_refused, refused), *findings_on(version)]
    columns = zip(*findings, strict=True) if findings else ([],) * len(Finding._fields)
    schema = TABLES["lint"].arrow
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def findings_on(version: Version) -> Iterator[Finding]:
    """The findings on a version, kind by kind."""
    view = _laid_open(version)
    yield from _never_nodes(view)
    yield from _never_edges(view)
    yield from _unreachable(view)
    yield from _loose(view)
    yield from _lonely(view)


def _refused(rejected: Rejected) -> Finding:
    return Finding(rejected.item or "", rejected.code, rejected.message)


def _laid_open(version: Version) -> _View:
    graph, nodes, edges = version.graph, version.node_numbers(), version.edge_numbers()
    never = never_accepts(version)
    records = graph.records[version.records_of(nodes)]
    listed, refused, closed = (np.zeros(graph.node_count, np.bool_) for _ in range(3))
    listed[nodes], refused[nodes] = records[:, FLAGS] & LISTED_NODE != 0, records[:, FLAGS] & REFUSED != 0
    closed[nodes] = never[records[:, EXPRESSION]]
    sources, targets = graph.sources[edges], graph.edges[edges, TARGET]
    return _View(
        version, nodes, listed, refused, closed, edges, sources, targets, never[graph.edges[edges, EDGE_EXPRESSION]]
    )


# --- targeting that never holds (HG-702) ------------------------------------------------------------------------------


def _never_nodes(view: _View) -> Iterator[Finding]:
    some = view.nodes[(view.closed & ~view.refused)[view.nodes]]
    ids, texts = view.version.names(some), view.version.ledger.texts.take(view.version.records_of(some))
    for id, text in zip(ids.to_pylist(), texts.to_pylist(), strict=True):
        yield Finding(id, "HG-702", f"the targeting can never hold: {text}")


def _never_edges(view: _View) -> Iterator[Finding]:
    rows, ledger = np.flatnonzero(view.shut), view.version.ledger
    targets = view.version.names(view.targets[rows]).to_pylist()
    texts = ledger.edge_texts.take(ledger.arrays.serials[view.edges[rows]]).to_pylist()
    for name, text, target in zip(_edge_names(view, rows), texts, targets, strict=True):
        yield Finding(name, "HG-702", f"the targeting can never hold: {text}", target)


# --- nodes that nothing reaches (HG-701) ------------------------------------------------------------------------------


def _unreachable(view: _View) -> Iterator[Finding]:
    """Nodes behind those that can never hold, or on cycles that no publisher leads into."""
    entered = np.zeros(view.version.graph.node_count, np.bool_)
    entered[view.targets] = True
    publishers = view.nodes[~entered[view.nodes]]
    reached = _reach(view, publishers if len(publishers) else view.nodes)
    some = view.nodes[(entered & ~reached & ~view.closed)[view.nodes]]
    first = np.full(len(entered), len(view.targets), np.int64)
    np.minimum.at(first, view.targets, np.arange(len(view.targets)))
    ids, sources = view.version.names(some), view.version.names(view.sources[first[some]])
    message = "no publisher (a node without incoming edges) can reach it, whatever the event"
    for id, source in zip(ids.to_pylist(), sources.to_pylist(), strict=True):
        yield Finding(id, "HG-701", message, source)


def _reach(view: _View, starts: Int32s) -> Flags:
    """What these nodes reach over nodes and edges that some event may pass."""
    count = view.version.graph.node_count
    passable = np.flatnonzero(~view.shut & ~view.closed[view.targets])
    offsets, targets = rows_by(view.sources[passable], view.targets[passable], count)
    reached, left = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    frontier: list[int] = starts.tolist()
    left[starts] = True
    while frontier:
        if len(frontier) < _FEW:
            found = [target for node in frontier for target in targets[offsets[node] : offsets[node + 1]].tolist()]
        else:
            found = _behind(np.array(frontier), offsets, targets).tolist()
        reached[found] = True
        frontier = [node for node in dict.fromkeys(found) if not left[node]]
        left[frontier] = True
    return reached


def _behind(nodes: Int64s, offsets: Int64s, targets: Int32s) -> Int32s:
    """The targets of all edges that leave these nodes."""
    sizes = offsets[nodes + 1] - offsets[nodes]
    places = np.repeat(offsets[nodes] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    return targets[places]


# --- nodes and edges that look forgotten (HG-703, HG-704) -------------------------------------------------------------


def _loose(view: _View) -> Iterator[Finding]:
    """Edges with an end that is not among the nodes."""
    unknown = ~view.listed & ~view.refused
    at_source, at_target = unknown[view.sources], unknown[view.targets] & (view.sources != view.targets)
    rows = np.flatnonzero(at_source | at_target)
    ends = (view.version.names(side[rows]).to_pylist() for side in (view.sources, view.targets))
    for name, is_source, is_target, *pair in zip(
        _edge_names(view, rows), at_source[rows].tolist(), at_target[rows].tolist(), *ends, strict=True
    ):
        for end in [end for end, lacks in zip(pair, (is_source, is_target), strict=True) if lacks]:
            yield Finding(name, "HG-703", f"{end} is not among the nodes, so it accepts every event", end)


def _lonely(view: _View) -> Iterator[Finding]:
    """Listed nodes that no edge touches."""
    touched = np.zeros(view.version.graph.node_count, np.bool_)
    touched[view.sources] = touched[view.targets] = True
    some = view.nodes[(view.listed & ~touched)[view.nodes]]
    for id in view.version.names(some).to_pylist():
        yield Finding(id, "HG-704", "no edge touches it, so no event passes it")


def _edge_names(view: _View, rows: Int64s) -> list[str]:
    """As `Edge` is spelled, of many at once."""
    version, ledger = view.version, view.version.ledger
    ids: Array = ledger.edge_names.take(ledger.arrays.serials[view.edges[rows]])
    ends = version.names(view.sources[rows]), version.names(view.targets[rows])
    spelled = zip(*(part.to_pylist() for part in (*ends, ids)), strict=True)
    return [f"{source} → {target}" + (f" ({id})" if id is not None else "") for source, target, id in spelled]
