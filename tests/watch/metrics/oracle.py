"""The contract's table of metrics by networkx, from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import networkx as nx

from heliograph.watch.metrics.calls import Key

Edges = Mapping[tuple[Any, Any, Any], float]  # (s, p, o) to weight, NaN for none

INFINITE = float("inf")


def directed(edges: Iterable[tuple[Any, Any, Any]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(end for s, _, o in edges for end in (s, o))
    graph.add_edges_from((s, o) for s, _, o in edges if s != o)
    return graph


def weighted(edges: Edges, undirected: bool, weights: bool) -> nx.Graph:
    graph = nx.Graph() if undirected else nx.DiGraph()
    graph.add_nodes_from(end for s, _, o in edges for end in (s, o))
    for (s, _, o), weight in edges.items():
        cost = 1.0 if weight != weight or not weights else weight
        known = graph.get_edge_data(s, o, {"weight": INFINITE})["weight"]
        graph.add_edge(s, o, weight=min(cost, known))
    return graph


def metric_value(key: Key, vertices: Sequence[Any], edges: Edges, count: int) -> float:
    """The value of a metric; `count` is that of the vertices there are, isolated ones included."""
    name, ends = key.name, list(vertices)
    if name in ("degree", "indegree", "outdegree"):
        went = sum(s == ends[0] for s, _, _ in edges)
        came = sum(o == ends[0] for _, _, o in edges)
        return float({"degree": went + came, "indegree": came, "outdegree": went}[name])
    if name in ("distance", "steiner", "steinerPoint"):
        return _path_value(key, ends, edges)
    graph = directed(edges)
    simple = nx.Graph(graph.to_undirected())
    if name == "clustering":
        return float(nx.clustering(simple, ends[0])) if ends[0] in simple else 0.0
    if name == "transitivity":
        return float(nx.transitivity(simple)) if len(simple) else 0.0
    if name == "averageClustering":
        return sum(nx.clustering(simple).values()) / count if count else 0.0
    if name == "cliques":
        return float(_cliques(simple, int(key.options[0]), count))
    if name == "betweenness":
        return _betweenness(graph, ends[0], count)
    return _density_value(key, ends, graph, simple)


def _path_value(key: Key, ends: list[Any], edges: Edges) -> float:
    if key.name == "distance":
        graph = weighted(edges, "undirected" in key.options, "weight" in key.options)
        if any(end not in graph for end in ends) or not nx.has_path(graph, *ends):
            return INFINITE
        return float(nx.shortest_path_length(graph, *ends, weight="weight"))
    graph = weighted(edges, undirected=True, weights=True)
    terminals = list(dict.fromkeys(ends))
    if any(each not in graph for each in terminals):
        return INFINITE
    closure = nx.Graph()
    closure.add_nodes_from(terminals)
    for one, other in combinations(terminals, 2):
        if not nx.has_path(graph, one, other):
            return INFINITE
        closure.add_edge(one, other, weight=nx.shortest_path_length(graph, one, other, weight="weight"))
    return float(sum(data["weight"] for _, _, data in nx.minimum_spanning_edges(closure, data=True)))


def _cliques(simple: nx.Graph, size: int, count: int) -> int:
    if size == 1:
        return count
    return sum(1 for each in nx.enumerate_all_cliques(simple) if len(each) == size)


def _betweenness(graph: nx.DiGraph, vertex: Any, count: int) -> float:
    if vertex not in graph or count < 3:
        return 0.0
    exact = float(nx.betweenness_centrality(graph, normalized=False)[vertex]) / ((count - 1) * (count - 2))
    return round(exact, 12)  # as far as it is told


def _density_value(key: Key, ends: list[Any], graph: nx.DiGraph, simple: nx.Graph) -> float:
    chosen = set(ends)
    if key.options:
        if ends[0] not in simple:
            return 0.0
        chosen = set(nx.single_source_shortest_path_length(simple, ends[0], cutoff=int(key.options[0])))
    inner = graph.subgraph(chosen).number_of_edges()
    return inner / (len(chosen) * (len(chosen) - 1)) if len(chosen) > 1 else 0.0
