"""The contract's table of metrics by networkx, from scratch; and a measure that does nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from heliograph.watch.metrics.calls import Key
from heliograph.watch.metrics.thresholds import CAME, WENT, Log, Points, Reported

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


class Recomputed:
    """A measure that works out everything anew at the end of every step."""

    def __init__(self, key: Key, order: Any = None) -> None:
        self._key = key
        self._edges: dict[tuple[int, int, int], float] = {}
        self._instances: list[tuple[int, ...]] = []
        self._points: dict[int, list[Points]] = {}
        self._all: list[Points] = []
        self._told: dict[int, float] = {}
        self._existing = 0
        self._selected: list[Counter[int]] = []

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        wanted = tuple(vertices)
        if self._key.is_of_one_vertex:
            instance = wanted[0]
        elif self._key.is_selected:
            self._selected.append(Counter())
            instance = len(self._selected) - 1
        else:
            if wanted not in self._instances:
                self._instances.append(wanted)
            instance = self._instances.index(wanted)
        self._points.setdefault(instance, []).append(points)
        self._told[instance] = self.value(instance)
        return instance

    def unwatch(self, instance: int, points: Points) -> None:
        self._points[instance].remove(points)

    def watch_all(self, points: Points) -> None:
        self._all.append(points)
        self._told |= {vertex: self.value(vertex) for vertex in self._ends()}

    def unwatch_all(self, points: Points) -> None:
        self._all.remove(points)

    def _ends(self) -> set[int]:
        return {end for s, _, o in self._edges for end in (s, o)}

    def select(self, instance: int, added: Sequence[int], removed: Sequence[int]) -> None:
        self._selected[instance].update(added)
        self._selected[instance].subtract(removed)
        self._told[instance] = self.value(instance)  # whoever selects looks at the value

    def follow(self, log: Log, existing: Any = None) -> Reported:
        said: list[tuple[int, int, float]] = []
        steps = np.unique(log.step).tolist() if existing is None else range(len(existing))
        for step in steps:
            before = self._ends()
            self._existing = self._existing if existing is None else int(existing[step])
            for row in np.flatnonzero(log.step == step).tolist():
                edge = int(log.subject[row]), int(log.predicate[row]), int(log.object[row])
                assert (edge in self._edges) == (log.change[row] != CAME)
                if log.change[row] == WENT:
                    del self._edges[edge]
                else:
                    self._edges[edge] = float(log.weight[row])
            concerned = set(self._points) | (before | self._ends() if self._all else set())
            said += [(step, each, self.value(each)) for each in sorted(concerned) if self._passed(each)]
            self._told |= {each: value for _, each, value in said}
        steps, instances, values = zip(*said, strict=True) if said else ((), (), ())
        return Reported(np.array(steps, np.int32), np.array(instances, np.int32), np.array(values, np.float64))

    def _passed(self, instance: int) -> bool:
        before, after = self._told.get(instance, self._key.absent), self.value(instance)
        asked = [*self._points.get(instance, ()), *self._all]
        if any(points is None for points in asked) and before != after:
            return True
        every = [point for points in asked for point in points or ()]
        return any((point <= before) != (point <= after) for point in every)

    def value(self, instance: int) -> float:
        if self._key.is_selected:
            vertices = tuple(vertex for vertex, times in self._selected[instance].items() if times)
        else:
            vertices = (instance,) if self._key.is_of_one_vertex else self._instances[instance]
        return metric_value(self._key, vertices, self._edges, self._existing)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, Any]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, Any]) -> None:
        self.follow(log)
