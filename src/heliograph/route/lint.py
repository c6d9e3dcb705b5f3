"""What is odd about an exchange: rows that were refused, nodes nothing can reach, targeting that can never hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.io.coerce import Array
from heliograph.io.schemas import TABLES
from heliograph.model import Rejected
from heliograph.predicate import layout
from heliograph.predicate.evaluate import never_holds
from heliograph.predicate.layout import NEVER, Int32s, Int64s, Programs
from heliograph.predicate.parser import parse_predicate
from heliograph.route.exchange import Exchange, Version
from heliograph.route.layout import EDGE_EXPRESSION, EXPRESSION, FLAGS, LISTED_NODE, REFUSED, TARGET
from heliograph.route.numbering import rows_by
from heliograph.route.read import read_edges, read_nodes

# --- which expressions of a version hold for no event at all ----------------------------------------------------------
#
# The law: what is named never holds; it is all that `predicate_never` knows of. To parse a text again costs about 100
# µs, so only texts whose code could be such a one are parsed: code that is FALSE; a test that nothing satisfies, or
# that only Python decides; an attribute that is asked for and against; IS NULL beside anything else. Whatever else is
# built of AND, OR and tests that some value satisfies holds for some event, as far as `predicate_never` knows.

Flags = npt.NDArray[np.bool_]
_OP = layout.NEGATIVE - 1


def never_accepts(version: Version) -> Flags:
    """For each expression whether no event satisfies it; the nodes of a version compare no labels."""
    never = np.zeros(len(version.programs.starts) - 1, np.bool_)
    doubtful = doubtful_expressions(version.programs)
    for expressions, texts in (_of_nodes(version, doubtful), _of_edges(version, doubtful)):
        for expression, text in dict.fromkeys(zip(expressions.tolist(), texts, strict=True)):
            never[expression] |= never_holds(parse_predicate(text))
    never[NEVER] = True
    return never


def _of_nodes(version: Version, doubtful: Flags) -> tuple[Int32s, list[str]]:
    records = version.records_of(version.node_numbers())
    rows = version.graph.records[records]
    chosen = np.flatnonzero(doubtful[rows[:, EXPRESSION]] & (rows[:, FLAGS] & REFUSED == 0))
    texts: Any = version.arrays.texts.take(records[chosen]).to_pylist()
    return rows[chosen, EXPRESSION], texts


def _of_edges(version: Version, doubtful: Flags) -> tuple[Int32s, list[str]]:
    numbers = version.edge_numbers()
    expressions: Int32s = version.graph.edges[numbers, EDGE_EXPRESSION]
    chosen = np.flatnonzero(doubtful[expressions])
    texts: Any = version.arrays.edge_texts.take(version.arrays.serials[numbers[chosen]]).to_pylist()
    return expressions[chosen], texts


def doubtful_expressions(programs: Programs) -> Flags:
    """The expressions, other than FALSE, that may hold for no event."""
    words = programs.code.reshape(-1, 2)
    owners = np.repeat(np.arange(len(programs.starts) - 1), np.diff(programs.starts) // 2)
    ops, negative = words[:, 0] & _OP, words[:, 0] & layout.NEGATIVE != 0
    tests = ops > layout.OR
    doubtful = np.zeros(len(programs.starts) - 1, np.bool_)
    doubtful[owners[_is_empty(programs, words, ops) | (ops == layout.SLOW)]] = True
    doubtful[owners[(ops == layout.IS_NULL) & ~negative]] = True
    attributes = (words[:, 0] >> layout.ATTRIBUTE_SHIFT).astype(np.int64)
    keys = owners * (int(attributes.max(initial=0)) + 1) + attributes
    both = np.isin(keys[tests & negative], keys[tests & ~negative])
    doubtful[owners[tests & negative][both]] = True
    return doubtful


def _is_empty(programs: Programs, words: Int32s, ops: Int32s) -> Flags:
    """Which instructions are ranges without numbers, or sets without strings."""
    empty = np.zeros(len(words), np.bool_)
    ranges: Int64s = np.flatnonzero(ops == layout.NUMBER_BETWEEN)
    places = words[ranges, 1]
    empty[ranges] = programs.numbers[places] > programs.numbers[places + 1]
    sets: Int64s = np.flatnonzero(ops == layout.WORD_IN)
    empty[sets] = programs.sets[words[sets, 1]] == 0
    return empty


# --- what is odd about an exchange: rows that were refused, nodes nothing can reach, targeting that can never hold ----
#
# A publisher here is a node without incoming edges ([B] section 1); where there is none, every node may publish. What
# is reported as unreachable or as never holding is so for every event.
#
# All of it is found in the arrays of a version; ids and texts are looked up of what is reported.

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
    ids, texts = view.version.names(some), view.version.arrays.texts.take(view.version.records_of(some))
    for id, text in zip(ids.to_pylist(), texts.to_pylist(), strict=True):
        yield Finding(id, "HG-702", f"the targeting can never hold: {text}")


def _never_edges(view: _View) -> Iterator[Finding]:
    rows, arrays = np.flatnonzero(view.shut), view.version.arrays
    targets = view.version.names(view.targets[rows]).to_pylist()
    texts = arrays.edge_texts.take(arrays.serials[view.edges[rows]]).to_pylist()
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
    version, arrays = view.version, view.version.arrays
    ids: Array = arrays.edge_names.take(arrays.serials[view.edges[rows]])
    ends = version.names(view.sources[rows]), version.names(view.targets[rows])
    spelled = zip(*(part.to_pylist() for part in (*ends, ids)), strict=True)
    return [f"{source} → {target}" + (f" ({id})" if id is not None else "") for source, target, id in spelled]
