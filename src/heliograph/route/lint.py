"""What is odd about an exchange: rows that were refused, nodes nothing can reach, targeting that can never hold.

A publisher here is a node without incoming edges ([B] section 1); where there is none, every node may publish. What is
reported as unreachable or as never holding is so for every event. All of it is found in the arrays of a version; ids
and texts are looked up of what is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.io.schemas import TABLES
from heliograph.predicate import layout
from heliograph.predicate.evaluate import never_holds
from heliograph.predicate.form import spell_value
from heliograph.predicate.layout import NEVER, Int32s, Int64s, Programs
from heliograph.predicate.parser import parse_predicate, quoted_sides
from heliograph.route.exchange import Exchange, Version
from heliograph.route.layout import EDGE_EXPRESSION, EXPRESSION, FLAGS, LISTED_NODE, REFUSED, TARGET
from heliograph.route.numbering import rows_by, strings
from heliograph.route.read import read_edges, read_nodes

Flags = npt.NDArray[np.bool_]
Row = tuple[str | None, str, str, str | None]  # subject_id, code, message, related_id
_FEW = 32  # nodes whose edges are looked at one by one


def lint_route(nodes: Any, edges: Any) -> pa.Table:
    """The findings on an exchange: subject_id, code, message, related_id."""
    exchange = Exchange()
    some = read_nodes(nodes, exchange.targeting)
    exchange.put_nodes(some.rows)
    exchange.put_nodes(some.broken)
    links = read_edges(edges, exchange.targeting)
    exchange.put_edges(links.rows)
    refused = [*some.unread, *links.unread, *(refusal.rejected for refusal in (*some.refusals, *links.refusals))]
    rows: list[Row] = [(entry.item or "", entry.code, entry.message, None) for entry in refused]
    with exchange.reading() as version:
        rows += _View(version).findings()
    schema = TABLES["lint"].arrow
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


class _View:
    """A version laid open: its nodes in the order of reporting, its edges in the order of adding."""

    def __init__(self, version: Version) -> None:
        graph, never = version.graph, never_accepts(version)
        self.version = version
        self.nodes, self.edges = version.node_numbers(), version.edge_numbers()
        self.sources, self.targets = graph.sources[self.edges], graph.edges[self.edges, TARGET]
        self.shut: Flags = never[graph.edges[self.edges, EDGE_EXPRESSION]]  # edges that accept no event
        records = graph.records[version.records_of(self.nodes)]
        # By node number: whether it is listed, was refused, accepts no event, and has an edge that leads to it.
        self.listed, self.refused, self.closed, self.entered = (np.zeros(graph.node_count, np.bool_) for _ in range(4))
        self.listed[self.nodes] = records[:, FLAGS] & LISTED_NODE != 0
        self.refused[self.nodes] = records[:, FLAGS] & REFUSED != 0
        self.closed[self.nodes] = never[records[:, EXPRESSION]]
        self.entered[self.targets] = True

    def findings(self) -> Iterator[Row]:
        """All findings, kind by kind."""
        names, arrays = self.version.names, self.version.arrays
        closed = self._nodes(self.closed & ~self.refused)
        for id, text in zip(
            strings(names(closed)), strings(arrays.texts.take(self.version.records_of(closed))), strict=True
        ):
            yield id, "HG-702", f"the targeting can never hold: {text}", None
        shut = np.flatnonzero(self.shut)
        texts = strings(arrays.edge_texts.take(arrays.serials[self.edges[shut]]))
        for name, text, target in zip(self._edge_names(shut), texts, strings(names(self.targets[shut])), strict=True):
            yield name, "HG-702", f"the targeting can never hold: {text}", target
        yield from self._quoted()
        lost = self._nodes(self.entered & ~self._reached() & ~self.closed)
        first = np.full(len(self.entered), len(self.targets), np.int64)
        np.minimum.at(first, self.targets, np.arange(len(self.targets)))
        message = "no publisher (a node without incoming edges) can reach it, whatever the event"
        for id, source in zip(strings(names(lost)), strings(names(self.sources[first[lost]])), strict=True):
            yield id, "HG-701", message, source
        yield from self._loose()
        touched = self.entered.copy()
        touched[self.sources] = True
        for id in strings(names(self._nodes(self.listed & ~touched))):
            yield id, "HG-704", "no edge touches it, so no event passes it", None

    def _nodes(self, flags: Flags) -> Int32s:
        """The nodes with a flag, in the order of reporting."""
        return self.nodes[flags[self.nodes]]

    def _quoted(self) -> Iterator[Row]:
        """Targeting that compares with a name in double quotes, where a text was probably meant."""
        names, arrays, nodes = self.version.names, self.version.arrays, self._nodes(~self.refused)
        for texts, named in (
            (arrays.texts.take(self.version.records_of(nodes)), lambda rows: strings(names(nodes[rows]))),
            (arrays.edge_texts.take(arrays.serials[self.edges]), self._edge_names),
        ):
            quoting: Any = pc.match_substring(texts, '"')
            rows = np.flatnonzero(quoting.fill_null(False).to_numpy(zero_copy_only=False))
            for name, text in zip(named(rows), strings(texts.take(rows)), strict=True):
                for side in quoted_sides(text):
                    said = f"double quotes name an attribute; as text write {spell_value(side)}: {text}"
                    yield name, "HG-705", said, None

    def _loose(self) -> Iterator[Row]:
        """Edges with an end that is not among the nodes."""
        unknown = ~self.listed & ~self.refused
        lacks = np.stack((unknown[self.sources], unknown[self.targets] & (self.sources != self.targets)))
        rows = np.flatnonzero(lacks.any(axis=0))
        ends = (strings(self.version.names(side[rows])) for side in (self.sources, self.targets))
        for name, row, *pair in zip(self._edge_names(rows), rows.tolist(), *ends, strict=True):
            for end, lacking in zip(pair, lacks[:, row].tolist(), strict=True):
                if lacking:
                    yield name, "HG-703", f"{end} is not among the nodes, so it accepts every event", end

    def _edge_names(self, rows: Int64s) -> list[str]:
        """As `Edge` is spelled, of many at once."""
        names, arrays = self.version.names, self.version.arrays
        ids = arrays.edge_names.take(arrays.serials[self.edges[rows]])
        spelled = zip(
            *(part.to_pylist() for part in (names(self.sources[rows]), names(self.targets[rows]), ids)), strict=True
        )
        return [f"{source} → {target}" + (f" ({id})" if id is not None else "") for source, target, id in spelled]

    def _reached(self) -> Flags:
        """What publishers reach over nodes and edges that some event may pass.

        The rest lies behind what can never hold, or on cycles that no publisher leads into.
        """
        count = self.version.graph.node_count
        passable = np.flatnonzero(~self.shut & ~self.closed[self.targets])
        offsets, targets = rows_by(self.sources[passable], self.targets[passable], count)
        reached, left = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        publishers = self._nodes(~self.entered)
        frontier: list[int] = (publishers if len(publishers) else self.nodes).tolist()
        left[frontier] = True
        while frontier:
            if len(frontier) < _FEW:
                found = [target for node in frontier for target in targets[offsets[node] : offsets[node + 1]].tolist()]
            else:
                nodes = np.array(frontier)
                sizes = offsets[nodes + 1] - offsets[nodes]
                places = np.repeat(offsets[nodes] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
                found = targets[places].tolist()
            reached[found] = True
            frontier = [node for node in dict.fromkeys(found) if not left[node]]
            left[frontier] = True
        return reached


# --- which expressions of a version hold for no event at all ----------------------------------------------------------
#
# The law: what is named never holds; it is all that `never_holds` knows of. To parse a text again costs about 100 µs,
# so only texts whose code could be such a one are parsed: code that is FALSE; a test that nothing satisfies, or that
# only Python decides; an attribute that is asked for and against; IS NULL beside anything else. Whatever else is built
# of AND, OR and tests that some value satisfies holds for some event, as far as `never_holds` knows.


def never_accepts(version: Version) -> Flags:
    """For each expression whether no event satisfies it; the nodes of a version compare no labels."""
    graph, arrays, doubtful = version.graph, version.arrays, doubtful_expressions(version.programs)
    never = np.zeros(len(doubtful), np.bool_)
    records, edges = version.records_of(version.node_numbers()), version.edge_numbers()
    records = records[graph.records[records, FLAGS] & REFUSED == 0]
    for codes, column, numbers in (
        (graph.records[records, EXPRESSION], arrays.texts, records),
        (graph.edges[edges, EDGE_EXPRESSION], arrays.edge_texts, arrays.serials[edges]),
    ):
        chosen = np.flatnonzero(doubtful[codes])
        texts = column.take(numbers[chosen]).to_pylist()
        for expression, text in dict.fromkeys(zip(codes[chosen].tolist(), texts, strict=True)):
            never[expression] |= never_holds(parse_predicate(text))
    never[NEVER] = True
    return never


def doubtful_expressions(programs: Programs) -> Flags:
    """The expressions, other than FALSE, that may hold for no event."""
    words = programs.code.reshape(-1, 2)
    owners = np.repeat(np.arange(len(programs.starts) - 1), np.diff(programs.starts) // 2)
    ops, negative = words[:, 0] & (layout.NEGATIVE - 1), words[:, 0] & layout.NEGATIVE != 0
    doubts = (ops == layout.SLOW) | ((ops == layout.IS_NULL) & ~negative)
    ranges, sets = np.flatnonzero(ops == layout.NUMBER_BETWEEN), np.flatnonzero(ops == layout.WORD_IN)
    doubts[ranges] |= programs.numbers[words[ranges, 1]] > programs.numbers[words[ranges, 1] + 1]
    doubts[sets] |= programs.sets[words[sets, 1]] == 0
    attributes = (words[:, 0] >> layout.ATTRIBUTE_SHIFT).astype(np.int64)
    keys, tests = owners * (int(attributes.max(initial=0)) + 1) + attributes, ops > layout.OR
    doubts[tests & negative] |= np.isin(keys[tests & negative], keys[tests & ~negative])
    doubtful = np.zeros(len(programs.starts) - 1, np.bool_)
    doubtful[owners[doubts]] = True
    return doubtful
