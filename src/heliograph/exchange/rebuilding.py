"""A ledger made anew from one version: compact, numbered in topological order, without what is dead.

The law: the new ledger shows what the version shows; only numbers differ. Edges of a node lie in the order of adding,
and serials are counted from 0 again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.exchange.compiling import label_expressions, text_expressions
from heliograph.exchange.growing import DEGREE, Arrays, Room
from heliograph.exchange.ledger import Ledger
from heliograph.exchange.numbering import number_nodes
from heliograph.exchange.version import Version
from heliograph.kernels.exchange_layout import (
    BORN,
    COMPONENT_END,
    DIED,
    EDGE_DIED,
    EDGE_EXPRESSION,
    EXPRESSION,
    FLAGS,
    IN_BEGIN,
    IN_END,
    IN_MORE,
    NEVER_DIED,
    NEWER,
    OUT_BEGIN,
    OUT_END,
    OUT_MORE,
    PLACE,
    RECORD,
    REFUSED,
    TARGET,
)
from heliograph.kernels.targeting_layout import NEVER, Int32s
from heliograph.tables.columns import Array
from heliograph.targeting.store import Targeting

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
    _describe(ledger, version, plan, moved)
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


def _describe(ledger: Ledger, version: Version, plan: _Plan, moved: Int32s) -> None:
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
