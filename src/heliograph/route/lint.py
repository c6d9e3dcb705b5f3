"""What is odd about an exchange: rows that were refused, nodes nothing can reach, targeting that can never hold.

A publisher here is a node without incoming edges ([B] section 1); where there is none, every node may publish. What is
reported as unreachable or as never holding is so for every event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.baselines.exchange import Edge, Exchange, Node
from heliograph.model import Rejected
from heliograph.route.rows import read_edges, read_nodes
from heliograph.syntax.predicate_never import never_holds
from heliograph.tables.schemas import TABLES


class Finding(NamedTuple):
    subject_id: str | None
    code: str
    message: str
    related_id: str | None = None


def lint_route(nodes: Any, edges: Any) -> pa.Table:
    """The findings on an exchange: subject_id, code, message, related_id."""
    some, links = read_nodes(nodes), read_edges(edges)
    graph = Exchange()
    graph.put_nodes([*some.nodes, *some.broken])
    graph.put_edges(links.edges)
    refused = [*some.unread, *links.unread, *(refusal.rejected for refusal in (*some.refusals, *links.refusals))]
    findings = [*map(_refused, refused), *_never(graph), *_unreachable(graph), *_loose(graph)]
    return pa.Table.from_pylist([finding._asdict() for finding in findings], schema=TABLES["lint"].arrow)


def _refused(rejected: Rejected) -> Finding:
    return Finding(rejected.item or "", rejected.code, rejected.message)


def _never(graph: Exchange) -> Iterator[Finding]:
    for node in graph.nodes.values():
        if not node.refused and never_holds(node.targeting):
            yield Finding(node.id, "HG-702", f"the targeting can never hold: {node.text}")
    for edge in graph.edges:
        if never_holds(edge.targeting):
            yield Finding(str(edge), "HG-702", f"the targeting can never hold: {edge.text}", edge.target)


def _unreachable(graph: Exchange) -> Iterator[Finding]:
    """Nodes behind those that can never hold, or on cycles that no publisher leads into."""
    publishers = [id for id in graph.nodes if id not in graph.into] or list(graph.nodes)
    reached = _reach(graph, publishers)
    for node in graph.nodes.values():
        if node.id not in reached and node.id in graph.into and _can_hold(node):
            message = "no publisher (a node without incoming edges) can reach it, whatever the event"
            yield Finding(node.id, "HG-701", message, graph.into[node.id][0].source)


def _reach(graph: Exchange, publishers: list[str]) -> set[str]:
    """What the publishers reach over nodes and edges that some event may pass."""
    reached: set[str] = set()
    frontier = deque(publishers)
    while frontier:
        for edge in graph.out.get(frontier.popleft(), ()):
            if edge.target not in reached and _passable(graph, edge):
                reached.add(edge.target)
                frontier.append(edge.target)
    return reached


def _passable(graph: Exchange, edge: Edge) -> bool:
    return not never_holds(edge.targeting) and _can_hold(graph.nodes[edge.target])


def _can_hold(node: Node) -> bool:
    return not node.refused and not never_holds(node.targeting)


def _loose(graph: Exchange) -> Iterator[Finding]:
    for edge in graph.edges:
        for end in dict.fromkeys((edge.source, edge.target)):
            node = graph.nodes[end]
            if not node.listed and not node.refused:
                yield Finding(str(edge), "HG-703", f"{end} is not among the nodes, so it accepts every event", end)
    for node in graph.nodes.values():
        if node.listed and node.id not in graph.out and node.id not in graph.into:
            yield Finding(node.id, "HG-704", "no edge touches it, so no event passes it")
