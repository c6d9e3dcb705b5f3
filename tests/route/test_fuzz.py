"""Garbage in the tables of an exchange is refused with a code or read: no other exception, and nothing else is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.route import Route
from heliograph.route.lint import lint_route

pytestmark = pytest.mark.usefixtures("each_half")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
cells: st.SearchStrategy[Any] = json_values | st.text(max_size=12) | st.binary(max_size=4) | st.sampled_from(["p", "a"])
GOOD = {"event_id": "good", "publisher": "p", "attributes": {}}


@given(st.lists(st.fixed_dictionaries({"event_id": cells, "publisher": cells, "attributes": cells}), max_size=5))
def test_events(rows: list[dict[str, Any]]) -> None:
    found = Route(edges=[("p", "a")]).publish([GOOD, *rows])
    assert found.stats.publications + len(found.rejected) >= len(rows) + 1
    assert all(item.code.startswith("HG-") and item.message for item in found.rejected)
    assert found[0].publication_id == "good"


@given(st.text(max_size=30) | json_values.map(json.dumps))
def test_attributes_as_text(text: str) -> None:
    engine = Route([("a", "x.y > 1 OR x = 'a' OR NOT x IN (1, 2) OR x LIKE '%b%' OR x < y")], [("p", "a")])
    event = {"event_id": "e", "publisher": "p", "attributes": text}
    found = engine.publish([event])
    assert len(found.rejected) in (0, 1)
    if not found.rejected:
        assert engine.explain("a", event).matched == bool(found)


@given(
    st.lists(st.fixed_dictionaries({"node_id": cells, "targeting": cells, "cost": cells, "labels": cells}), max_size=4),
    st.lists(
        st.fixed_dictionaries({"source": cells, "target": cells, "edge_id": cells, "targeting": cells, "cost": cells}),
        max_size=4,
    ),
)
def test_nodes_and_edges(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    engine = Route(nodes, [*edges, ("good", "better")])
    assert all(item.code.startswith("HG-") and item.message for item in engine.rejected)
    found = {item.subscription_id for item in engine.route("good", {})}
    assert found >= {"better"} or any(node["node_id"] == "better" for node in nodes)
    assert lint_route(nodes, edges).num_rows >= len(engine.rejected)


@given(st.lists(st.fixed_dictionaries({"kind": cells, "op": cells, "node_id": cells, "targeting": cells}), max_size=4))
def test_changes(changes: list[dict[str, Any]]) -> None:
    compared = Route(edges=[("p", "a")]).compare(changes, GOOD)
    assert len(compared.rejected) <= len(changes)
    assert all(item.code.startswith("HG-") for item in compared.rejected)
