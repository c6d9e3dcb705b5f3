"""Peers of the route: whom each event reaches through nodes that accept it, by what Python users have at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from benchmarks.filter_workloads import Tables, WrongAnswer
from benchmarks.route_walks import Walk, from_dicts, texts
from benchmarks.route_workloads import checked
from benchmarks.watch_workloads import seconds

Reached = Mapping[str, frozenset[str]]


def expected(tables: Tables) -> Reached:
    found: dict[str, set[str]] = {event: set() for event in texts(tables["events"], "event_id")}
    columns = (texts(tables["expected"], name) for name in ("publication_id", "subscription_id"))
    for event, node in zip(*columns, strict=True):
        found[event].add(node)
    return {event: frozenset(nodes) for event, nodes in found.items()}


def plain_walk(tables: Tables) -> float:
    """Seconds an event of a breadth-first walk that calls a compiled lambda for each node met."""
    return checked(from_dicts(tables), tables).seconds()


def networkx(tables: Tables) -> float:
    """The same lambdas as the filter of a view of the graph, walked by networkx's breadth-first search."""
    walk, events = from_dicts(tables), texts(tables["events"], "event_id")
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(len(walk.ids)))
    graph.add_edges_from((source, target) for source, targets in enumerate(walk.targets) for target in targets)
    found: dict[str, frozenset[str]] = {}

    def route() -> None:
        for event, (start, attributes) in zip(events, walk.events, strict=True):
            found[event] = _reached(graph, walk, start, attributes)

    took = seconds(route)
    if found != expected(tables):
        raise WrongAnswer("networkx reaches other nodes")
    return took / len(events)


def _reached(graph: Any, walk: Walk, start: int, attributes: Any) -> frozenset[str]:
    """The start itself counts only where an accepted path leads back to it."""
    tests = walk.tests
    view = nx.subgraph_view(graph, filter_node=lambda node: node == start or tests[node](attributes))
    nodes = {target for _, target in nx.bfs_edges(view, start)}
    if tests[start](attributes) and any(start in graph[node] for node in (*nodes, start)):
        nodes.add(start)
    return frozenset(walk.ids[node] for node in nodes)
