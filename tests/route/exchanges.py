"""Generated exchanges, and the obvious answers that networkx gives about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from heliograph.model import Notifications

NAMES = tuple("abcdefg")
# Targeting over one attribute x that is 1, 2 or missing, with the events that it accepts.
TARGETING: dict[str | None, set[int | None]] = {
    None: {1, 2, None},
    "": {1, 2, None},
    "x = 1": {1},
    "x = 2": {2},
    "x >= 1": {1, 2},
    "x IS NULL": {None},
    "x <> 1 OR x IS NULL": {2, None},
    "FALSE": set(),
}
COSTS = (None, 0.0, 0.5, 1.0, 2.0)
Node = dict[str, Any]
Edge = dict[str, Any]


@dataclass(frozen=True)
class Case:
    nodes: list[Node]
    edges: list[Edge]

    def ends(self) -> set[str]:
        named = {node["node_id"] for node in self.nodes}
        return named | {edge[end] for edge in self.edges for end in ("source", "target")}


targetings = st.sampled_from(list(TARGETING))
node_rows = st.fixed_dictionaries(
    {"node_id": st.sampled_from(NAMES[:5]), "targeting": targetings, "cost": st.sampled_from(COSTS)}
)
edge_rows = st.fixed_dictionaries(
    {
        "source": st.sampled_from(NAMES),
        "target": st.sampled_from(NAMES),
        "targeting": targetings,
        "cost": st.sampled_from(COSTS),
    }
)
exchanges = st.builds(
    Case,
    st.lists(node_rows, max_size=5, unique_by=lambda node: node["node_id"]),
    st.lists(edge_rows, min_size=1, max_size=14),
)
values: st.SearchStrategy[int | None] = st.sampled_from([1, 2, None])


def cost(row: dict[str, Any] | None, default: float) -> float:
    value = None if row is None else row["cost"]
    return default if value is None else float(value)


def valid_graph(exchange: Case, start: str, x: int | None) -> Any:
    """The exchange with only what accepts the event; the start is doubled, so that leaving it and entering differ."""
    rows = {node["node_id"]: node for node in exchange.nodes}
    graph = nx.DiGraph()
    graph.add_node("start")
    for edge in exchange.edges:
        row = rows.get(edge["target"])
        if x not in TARGETING[edge["targeting"]] or (row and x not in TARGETING[row["targeting"]]):
            continue
        weight = cost(edge, 1.0) + cost(row, 0.0)
        for source in [edge["source"]] + (["start"] if edge["source"] == start else []):
            known = graph.get_edge_data(source, edge["target"], {"weight": float("inf")})["weight"]
            graph.add_edge(source, edge["target"], weight=min(weight, known))
    return graph


def reached(found: Notifications) -> list[str]:
    return [item.subscription_id for item in found]


def event(publisher: str, x: int | None, event_id: str = "e") -> dict[str, Any]:
    return {"event_id": event_id, "publisher": publisher, "attributes": {"x": x}}


def pairs(edges: Iterable[Edge]) -> set[tuple[str, str]]:
    return {(edge["source"], edge["target"]) for edge in edges}
