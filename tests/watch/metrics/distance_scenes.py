"""Graphs that change, for the tests of distances and Steiner trees: what happens, and what networkx says of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from heliograph.watch.metrics.thresholds import CAME, CHANGED, WENT, Log, Points

Edge = tuple[int, int, int]
Row = tuple[int, int, int, int, int, float]  # as a log has them
Edges = dict[Edge, float]

VERTICES, PREDICATES = 9, 2
WEIGHTS = (math.nan, 0.0, 0.125, 0.25, 0.375, 1.0, 2.5, math.inf)  # sums of these are exact in networkx too
DECIMALS = (math.nan, 0.0, 0.1, 0.2, 0.3, 0.7, 1e-7, 12345.678)
CUTS: tuple[Points, ...] = (None, (1.5,), (2.5,), (3.5, 1.0), (0.35,), (math.inf,), (6.5,), ())

vertices = st.integers(0, VERTICES - 1)
triples = st.tuples(vertices, st.integers(0, PREDICATES - 1), vertices)


def scenes(weights: Sequence[float]) -> st.SearchStrategy[list[list[tuple[Edge, float, bool]]]]:
    changes = st.tuples(triples, st.sampled_from(weights), st.booleans())
    return st.lists(st.lists(changes, min_size=1, max_size=5), max_size=40)


steps, decimal_steps = scenes(WEIGHTS), scenes(DECIMALS)


def rows_of(scene: Iterable[Sequence[tuple[Edge, float, bool]]], *, weighted: bool) -> list[Row]:
    """A scene as changes of a set of edges: what is there goes, or gets another weight; what is not comes."""
    there: Edges = {}
    rows: list[Row] = []
    for step, wanted in enumerate(scene):
        for edge, weight, stays in wanted:
            weight = weight if weighted else math.nan
            if edge not in there:
                there[edge] = weight
                rows.append((step, CAME, *edge, weight))
            elif stays and weighted:
                there[edge] = weight
                rows.append((step, CHANGED, *edge, weight))
            else:
                rows.append((step, WENT, *edge, there.pop(edge)))
    return rows


def log_of(rows: Sequence[Row]) -> Log:
    kinds = (np.int32, np.uint8, np.int32, np.int32, np.int32, np.float64)
    columns: Any = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return Log._make(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))


def by_step(rows: Sequence[Row]) -> list[list[Row]]:
    return [list(part) for _, part in groupby(rows, key=lambda row: row[0])]


def apply_rows(edges: Edges, rows: Iterable[Row]) -> None:
    for _, change, s, p, o, weight in rows:
        if change == WENT:
            del edges[s, p, o]
        else:
            edges[s, p, o] = weight


def weight_of(weight: float) -> float:
    return 1.0 if math.isnan(weight) else weight


def simple_graph(edges: Mapping[Edge, float], *, undirected: bool) -> Any:
    """The graph as networkx has it: of parallel edges the least weight counts, an infinite one is none."""
    graph: Any = nx.Graph() if undirected else nx.DiGraph()
    for (s, _, o), weight in edges.items():
        graph.add_nodes_from((s, o))
        known = graph.get_edge_data(s, o, {"weight": math.inf})["weight"]
        if weight_of(weight) < known:
            graph.add_edge(s, o, weight=weight_of(weight))
    return graph


def nx_distance(edges: Mapping[Edge, float], a: int, b: int, *, undirected: bool, weighted: bool) -> float:
    graph = simple_graph(edges if weighted else dict.fromkeys(edges, 1.0), undirected=undirected)
    try:
        return float(nx.dijkstra_path_length(graph, a, b))
    except (nx.NodeNotFound, nx.NetworkXNoPath):
        return math.inf


def nx_steiner(edges: Mapping[Edge, float], terminals: Sequence[int]) -> float:
    """The weight of a minimum spanning tree over the terminals' distances."""
    closure: Any = nx.Graph()
    closure.add_nodes_from(terminals)
    for a in set(terminals):
        for b in set(terminals):
            if a <= b:
                distance = nx_distance(edges, a, b, undirected=True, weighted=True)
                if distance == math.inf:
                    return math.inf
                closure.add_edge(a, b, weight=distance)
    return float(nx.minimum_spanning_tree(closure).size(weight="weight"))


def side(points: Points, value: float) -> object:
    """On which side of all cuts a value lies."""
    return value if points is None else sum(point <= value for point in points)
