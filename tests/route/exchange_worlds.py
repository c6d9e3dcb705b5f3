"""Random changes of an exchange, made in the store and in its obvious twin, and what can be seen of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from heliograph.predicate.form import ACCEPT, to_sql
from heliograph.predicate.layout import ALWAYS, NEVER
from heliograph.predicate.parser import parse_predicate
from heliograph.route import exchange as store
from heliograph.route import read as rows
from heliograph.route.exchange import Version
from heliograph.route.layout import EDGE_EXPRESSION, EXPRESSION, REFUSED
from tests import naive_exchange as naive

NAMES = tuple("abcdef")
TEXTS = (None, "", "x = 1", "x > 2 OR y = 'a'", "FALSE", "z IS NULL")
IDS = (None, None, "e1", "e2")

names = st.sampled_from(NAMES)
texts = st.sampled_from(TEXTS)
costs = st.sampled_from([0.0, 0.5, 1.0, 2.0])
labels = st.sampled_from([frozenset[str](), frozenset("A"), frozenset("AB")])
good_nodes = st.builds(lambda id, text, cost, some: ("good", id, text, cost, some), names, texts, costs, labels)
bad_nodes = st.builds(lambda id: ("bad", id, None, 0.0, frozenset[str]()), names)
edge_lists = st.lists(
    st.tuples(names, names, st.sampled_from(IDS), texts, costs),
    min_size=1,
    max_size=4,
    unique_by=lambda row: row[2] or object(),
)
changes: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("put_nodes"), st.lists(good_nodes | good_nodes | bad_nodes, min_size=1, max_size=3)),
    st.tuples(st.just("put_edges"), edge_lists),
    st.tuples(st.just("put_edges"), edge_lists),
    st.tuples(st.just("drop_nodes"), st.lists(names, min_size=1, max_size=2, unique=True)),
    st.tuples(st.just("drop_between"), st.tuples(names, names)),
    st.tuples(st.just("drop_named"), st.sampled_from(["e1", "e2"])),
    st.tuples(st.just("compact"), st.none()),
)


class Exchange(store.Exchange):
    """An exchange that takes nodes and edges as objects too."""

    def put_nodes(self, nodes: rows.NodeRows | Sequence[rows.Node]) -> None:
        for part in [nodes] if isinstance(nodes, rows.NodeRows) else node_parts(nodes):
            super().put_nodes(part)

    def put_edges(self, edges: rows.EdgeRows | Sequence[rows.Edge]) -> None:
        super().put_edges(edges if isinstance(edges, rows.EdgeRows) else edge_rows(edges))


def node_parts(nodes: Sequence[rows.Node]) -> Iterator[rows.NodeRows]:
    """Nodes as columns, in parts that are all listed or all not."""
    for listed, group in groupby(nodes, lambda node: node.listed):
        part = list(group)
        ids, texts = (pa.array(column, pa.string()) for column in ([node.id for node in part], map(_text, part)))
        labels = pa.array([sorted(node.labels) or None for node in part], rows.LABELS_TYPE)
        refused = {row: node.refused for row, node in enumerate(part) if node.refused}
        costs = np.array([node.cost for node in part], np.float64)
        yield rows.NodeRows(ids, rows.some(texts), costs, rows.some(labels), refused, listed)


def edge_rows(edges: Sequence[rows.Edge]) -> rows.EdgeRows:
    """Edges as columns."""
    columns = [[getattr(edge, name) for edge in edges] for name in ("source", "target", "id")]
    one, two, ids, texts = (pa.array(column, pa.string()) for column in (*columns, map(_text, edges)))
    costs = np.array([edge.cost for edge in edges], np.float64)
    return rows.EdgeRows(one, two, rows.some(ids), rows.some(texts), costs)


def _text(row: rows.Node | rows.Edge) -> str | None:
    if row.text is not None or row.targeting == ACCEPT or getattr(row, "refused", None):
        return row.text
    return to_sql(row.targeting)


class World:
    """The store and its twin, changed alike."""

    def __init__(self, match: str | None = None) -> None:
        self.store: store.Exchange = Exchange(match)
        self.twin = naive.Exchange()

    def change(self, kind: str, what: Any) -> None:
        getattr(self, kind)(what)

    def put_nodes(self, items: Sequence[tuple[str, str, str | None, float, frozenset[str]]]) -> None:
        for part in node_parts([_node(rows, *item) for item in items]):
            self.store.put_nodes(part)
        self.twin.put_nodes([_node(naive, *item) for item in items])

    def put_edges(self, items: Sequence[tuple[str, str, str | None, str | None, float]]) -> None:
        self.store.put_edges(edge_rows([_edge(rows, *item) for item in items]))
        self.twin.put_edges([_edge(naive, *item) for item in items])

    def drop_nodes(self, ids: list[str]) -> None:
        self.store.drop_nodes(ids)
        self.twin.drop_nodes([id for id in ids if id in self.twin.nodes])

    def drop_between(self, ends: tuple[str, str]) -> None:
        version = self.store.current
        self.store.drop_edges(version.between_numbers(version.number(ends[0]), version.number(ends[1])))
        self.twin.drop_edges(self.twin.between(*ends))

    def drop_named(self, id: str) -> None:
        number = self.store.edge_number(id)
        self.store.drop_edges([number] if number >= 0 else [])
        self.twin.drop_edges([self.twin.by_id[id]] if id in self.twin.by_id else [])

    def compact(self, _: None = None) -> None:
        self.store.compact()


def _node(module: Any, kind: str, id: str, text: str | None, cost: float, some: frozenset[str]) -> Any:
    if kind == "bad":
        return module.refused_node(id, "HG-451")
    return module.Node(id, parse_predicate(text), text, cost, some)


def _edge(module: Any, source: str, target: str, id: str | None, text: str | None, cost: float) -> Any:
    return module.Edge(source, target, id, parse_predicate(text), text, cost)


class Seen(NamedTuple):
    """All that can be seen of a version."""

    nodes: list[Any]  # in the order of reporting
    edges: list[Any]  # in the order of adding
    out: dict[str, list[Any]]


def seen_in_twin(twin: naive.Exchange) -> Seen:
    nodes = sorted(twin.nodes.values(), key=twin.rank)
    out = {node.id: [_shown_edge(edge) for edge in twin.out.get(node.id, ())] for node in nodes}
    return Seen([_shown_node(node) for node in nodes], [_shown_edge(edge) for edge in twin.edges], out)


def seen_in(version: Version) -> Seen:
    numbers = version.node_numbers().tolist()
    nodes = [version.node(number) for number in numbers]
    out = {node.id: [_shown_edge(version.edge(edge)) for edge in version.out_numbers(node.number)] for node in nodes}
    return Seen([_shown_node(node) for node in nodes], [_shown_edge(edge) for edge in version.edges()], out)


def _shown_node(node: Any) -> Any:
    return node.id, node.targeting, node.text, node.cost, node.labels, node.refused, node.listed


def _shown_edge(edge: Any) -> Any:
    return edge.source, edge.target, edge.id, edge.targeting, edge.text, edge.cost


def check_inside(version: Version) -> None:
    """Numbers, ranks, flags and expressions agree with the objects."""
    numbers = version.node_numbers().tolist()
    assert len(version) == len(numbers)
    places = version.places_of(_array(numbers)).tolist()
    assert sorted(places) == places
    assert [version.number(version.node(number).id) for number in numbers] == numbers
    assert [version.ids[number].as_py() for number in numbers] == [version.node(number).id for number in numbers]
    for number in numbers:
        record = version.graph.records[version.records_of(_array([number]))[0]]
        assert bool(record[3] & REFUSED) == (version.node(number).refused is not None)
        check_expression(version, int(record[EXPRESSION]), version.node(number))
        for edge in map(version.edge, version.out_numbers(number)):
            check_expression(version, int(version.graph.edges[edge.number, EDGE_EXPRESSION]), edge)


def check_expression(version: Version, expression: int, owner: Any) -> None:
    """The expression is the one that the store of targeting gives for the owner's text or labels."""
    if getattr(owner, "refused", None):
        assert expression == NEVER
    elif version.match is not None and isinstance(owner, rows.Node):
        assert expression == version.targeting.add_labels(owner.labels, version.match)
    else:
        assert expression == version.targeting.add_many([owner.text])[0]
        assert (expression == ALWAYS) == (not owner.text)


def _array(numbers: list[int]) -> Any:
    return np.array(numbers, np.int32)
