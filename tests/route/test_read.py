"""Reading by columns against reading row by row: the same nodes and edges, refusals, codes, messages and places."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate.compile import Targeting
from heliograph.route.read import NO_LABELS, Edges, Nodes, read_edges, read_nodes
from tests import naive_rows

ids = st.sampled_from([None, "", "a", "b", "c", "d"])
texts = st.sampled_from([None, "", "  ", "x = 1", "x >", "y LIKE 'a%'", "x = ='"])
costs = st.sampled_from([None, 0, -0.0, 1.5, -1, float("nan"), float("inf"), 1e301, "dear"])
labels = st.sampled_from([None, [], ["A"], ["B", "A"], 5])
node_rows = st.fixed_dictionaries({"node_id": ids, "targeting": texts, "cost": costs, "labels": labels})
edge_rows = st.fixed_dictionaries(
    {"source": ids, "target": ids, "edge_id": st.sampled_from([None, "", "e", "f"]), "targeting": texts, "cost": costs}
)


def check_refusals(found: Nodes | Edges, expected: naive_rows.Nodes | naive_rows.Edges) -> None:
    assert [str(refusal.error) for refusal in found.refusals] == [str(refusal.error) for refusal in expected.refusals]
    assert [refusal.rejected for refusal in found.refusals] == [refusal.rejected for refusal in expected.refusals]
    assert found.unread == expected.unread


def column(values: Any, count: int) -> list[Any]:
    return [None] * count if values is None else values.to_pylist()


def check_nodes(items: Any, match: str | None) -> None:
    targeting = Targeting()
    found, expected = read_nodes(items, targeting, match), naive_rows.read_nodes(items)
    check_refusals(found, expected)
    rows, count = found.rows, len(expected.nodes)
    assert rows.ids.to_pylist() == [node.id for node in expected.nodes]
    assert column(rows.texts, count) == [node.text for node in expected.nodes]
    assert [str(cost) for cost in rows.costs.tolist()] == [str(float(node.cost)) for node in expected.nodes]
    assert [frozenset(some or NO_LABELS) for some in column(rows.labels, count)] == [n.labels for n in expected.nodes]
    assert found.broken.ids.to_pylist() == [node.id for node in expected.broken]
    assert list(found.broken.refused.values()) == [node.refused for node in expected.broken]
    assert rows.compiled is not None
    wanted = [targeting.add_labels(n.labels, match) if match else targeting.add(n.targeting) for n in expected.nodes]
    assert rows.compiled.numbers.tolist() == wanted


def check_edges(items: Any) -> None:
    targeting = Targeting()
    found, expected = read_edges(items, targeting), naive_rows.read_edges(items)
    check_refusals(found, expected)
    rows, count = found.rows, len(expected.edges)
    assert rows.sources.to_pylist() == [edge.source for edge in expected.edges]
    assert rows.targets.to_pylist() == [edge.target for edge in expected.edges]
    assert column(rows.ids, count) == [edge.id for edge in expected.edges]
    assert column(rows.texts, count) == [edge.text for edge in expected.edges]
    assert [str(cost) for cost in rows.costs.tolist()] == [str(float(edge.cost)) for edge in expected.edges]
    assert rows.compiled is not None
    assert rows.compiled.numbers.tolist() == [targeting.add(edge.targeting) for edge in expected.edges]


@given(st.lists(node_rows, max_size=12), st.sampled_from([None, "superset", "subset", "intersects"]))
def test_nodes(items: list[dict[str, Any]], match: str | None) -> None:
    check_nodes(items, match)


@given(st.lists(edge_rows, max_size=12))
def test_edges(items: list[dict[str, Any]]) -> None:
    check_edges(items)


@pytest.mark.parametrize("count", [0, 1, 100])
def test_tables_in_several_chunks(count: int) -> None:
    part = pa.table({"node_id": [f"n{row}" for row in range(count)], "targeting": ["x = 1"] * count})
    check_nodes(pa.concat_tables([part, part]), None)
    edges = pa.table(
        {"source": ["a"] * count, "target": ["b"] * count, "edge_id": ["", "e"] * (count // 2) + [""] * (count % 2)}
    )
    check_edges(pa.concat_tables([edges, edges]))


def test_a_row_after_a_refused_one_with_the_same_edge_id_is_accepted() -> None:
    rows = [("a", "b", "e", "x ="), ("a", "b", "e"), ("a", "b", "e", "x >"), (None, "b", "e")]
    found = read_edges(rows, Targeting())
    assert [refusal.error.code for refusal in found.refusals] == ["HG-451", "HG-656", "HG-655"]
    assert len(found.rows) == 1
