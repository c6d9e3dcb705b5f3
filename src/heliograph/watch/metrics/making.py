"""Which measure answers which function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heliograph.watch.metrics.calls import DEGREES, Key
from heliograph.watch.metrics.measure import Measure, Order


def make_measure(key: Key, order: Order) -> Measure:
    """The measure of a key, over an empty graph. Of paths and trees that are equally good, that is shown whose terms
    come first in an `order` of their ids."""
    measure: Measure = _MAKERS[key.name](key, order)
    return measure


def _degree(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.degree import Degree

    return Degree(key.name)  # type: ignore[arg-type]


def _clustering(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.clustering import Clustering

    return Clustering()


def _global_clustering(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.clustering import GlobalClustering

    return GlobalClustering(key.name)  # type: ignore[arg-type]


def _cliques(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.cliques import Cliques

    return Cliques(int(key.options[0]))


def _distance(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.distance import Distance

    return Distance(undirected="undirected" in key.options, weighted="weight" in key.options, order=order)


def _density(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.density import NeighbourhoodDensity
    from heliograph.watch.metrics.selection import SelectionDensity

    return NeighbourhoodDensity(int(key.options[0])) if key.options else SelectionDensity()


def _betweenness(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.betweenness import Betweenness

    return Betweenness(order=order)


def _dense(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.dense import Dense

    return Dense()


def _steiner(key: Key, order: Order) -> Any:
    from heliograph.watch.metrics.steiner import Steiner, SteinerPoint

    return Steiner(order) if key.name == "steiner" else SteinerPoint(order)


_MAKERS: dict[str, Callable[[Key, Order], Any]] = {
    **dict.fromkeys(DEGREES, _degree),
    "clustering": _clustering,
    "transitivity": _global_clustering,
    "averageClustering": _global_clustering,
    "distance": _distance,
    "cliques": _cliques,
    "density": _density,
    "betweenness": _betweenness,
    "dense": _dense,
    "steiner": _steiner,
    "steinerPoint": _steiner,
}
