"""Covering paths: a query's edges as directed walks, each edge in one of them.

A walk is kept in two forms. Generic, with None for every variable, it is what queries share; and as the places of its
variables among the values of a walk through the graph: `subject, property, object, property, object, …`. The law: the
solutions of a query are the combinations of walks through the graph, one for each of its paths, that agree on every
variable, because every edge lies on a path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from heliograph.baselines.watch_algorithm import Edge, Values, Vertex, is_variable
from heliograph.terms import Variable


class Path(NamedTuple):
    """One walk of a query."""

    forms: tuple[Edge, ...]  # generic: None for a variable
    places: dict[Variable, int]  # where each of its variables stands first
    equal: tuple[tuple[int, int], ...]  # places that must have one value, because one variable stands in both

    def agrees(self, values: Values) -> bool:
        """Whether a walk gives every variable one value."""
        return all(values[one] == values[other] for one, other in self.equal)


def covering_paths(edges: Iterable[Edge]) -> list[Path]:
    """Paths that cover every edge once; they begin where nothing leads to, as long as there is such a vertex."""
    left = list(dict.fromkeys(edges))
    paths = []
    while left:
        entered = {object for _, _, object in left}
        walk = [next((edge for edge in left if edge[0] not in entered), left[0])]
        left.remove(walk[0])
        while (following := next((edge for edge in left if edge[0] == walk[-1][2]), None)) is not None:
            walk.append(following)
            left.remove(following)
        paths.append(_path(walk))
    return paths


def generic(edge: Edge) -> Edge:
    subject, predicate, object = (None if is_variable(part) else part for part in edge)
    return subject, predicate, object


def _path(walk: list[Edge]) -> Path:
    nodes: list[Vertex] = [walk[0][0], *(part for edge in walk for part in edge[1:])]
    places: dict[Variable, int] = {}
    equal = []
    for place, node in enumerate(nodes):
        if is_variable(node) and places.setdefault(node, place) != place:
            equal.append((places[node], place))
    return Path(tuple(map(generic, walk)), places, tuple(equal))
