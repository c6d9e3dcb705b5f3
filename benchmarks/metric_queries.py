"""The rows of the metrics table once more, as subscribers get them: `hg:` queries of a `Watch`; see `metric_stage`.

Who asks about vertices asks as in the rows of the measures: for the same vertices, at the same thresholds. Some of the
answers are held against networkx before a time counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import networkx as nx

from benchmarks import metric_density, metric_local, metric_paths
from benchmarks.metric_betweenness import EPSILON, begun
from benchmarks.metric_paths import nx_distance, nx_tree
from benchmarks.metric_stage import Asked, Stage, Vertices
from benchmarks.metric_streams import Size, Stream, choose, stream
from heliograph.watch.metrics.density import NeighbourhoodDensity

DEGREE, CLUSTERING = Asked("hg:degree({})", ">=", 10), Asked("hg:clustering({})", ">=", 0.1)
DISTANCE, STEINER = Asked("hg:distance({}, {})", "<=", 4), Asked("hg:steiner({}, {}, {}, {})", "<=", 10)
CLIQUES, DENSITY = Asked("hg:cliques(4)", ">=", 0), Asked("hg:density({}, 2)", ">=", 0)
DENSE, BETWEENNESS = Asked("hg:dense({})", ">=", 0), Asked("hg:betweenness({})", ">=", 0.01)
PATTERN = "SELECT * WHERE { ?x :p ?y . FILTER(hg:degree(?x) >= 30 && hg:clustering(?y) > 0.1) }"
COMPOSED, EXACT, SAMPLED = Size(20_000, 2_000), Size(4_000, 50), Size(10_000, 500)
PIVOTS = 100  # sources that networkx starts from where values are sampled
FEW = 500  # vertices that networkx can start from
CHECKED = 20  # of those who ask
Samples = Sequence[float]
Again = Callable[[Vertices], float]  # a value from scratch


# --- about some vertices ----------------------------------------------------------------------------------------


def measure_distances(seed: int, size: Size = metric_paths.DISTANCES) -> Samples:
    """Updates a second."""
    given = stream(seed, size)
    graph = given.graph
    asking = dict.fromkeys(choose(seed, size, 2), DISTANCE)
    return _rates(given, asking, lambda ends: nx_distance(graph, *ends))


def measure_trees(seed: int, size: Size = metric_paths.TREES) -> Samples:
    """Updates a second."""
    given = stream(seed, size)
    graph = given.graph.to_undirected()
    asking = dict.fromkeys(choose(seed, size, metric_paths.TERMINALS), STEINER)
    return _rates(given, asking, lambda vertices: nx_tree(graph, vertices))


def measure_density(seed: int, size: Size = metric_density.FULL) -> Samples:
    """Updates a second."""
    given, measure = stream(seed, size), NeighbourhoodDensity(metric_density.HOPS)
    measure.restore(given.before, {})
    arcs = given.graph
    pairs = nx.Graph(arcs)
    asking: dict[Vertices, Asked] = {
        (centre,): DENSITY._replace(limit=float(measure.value(centre)) * metric_density.NEAR)
        for (centre,) in choose(seed, size, 1)
    }
    return _rates(given, asking, lambda centre: metric_density.nx_density(arcs, pairs, *centre))


def measure_cliques(seed: int, size: Size = metric_local.ATTACHED) -> Samples:
    """Updates a second, for one limit: the number at the end. Only the value is checked."""
    given = stream(seed, size)
    graph = nx.Graph(given.after.tolist())
    count = metric_local.four_cliques(graph)
    return _rates(given, {(): CLIQUES._replace(limit=count)}, lambda _: count)


def _rates(given: Stream, asking: Mapping[Vertices, Asked], again: Again) -> Samples:
    """Updates a second where each of them has a subscription."""
    queries = {f"q{number}": asked.about(vertices) for number, (vertices, asked) in enumerate(asking.items())}
    stage = Stage(given.before, queries)
    rates = stage.publish(given)
    for id, (vertices, asked) in islice(zip(queries, asking.items(), strict=True), CHECKED):
        stage.check(id, asked, {vertices: again(vertices)})
    return rates


# --- about every vertex -----------------------------------------------------------------------------------------


def measure_local(seed: int, size: metric_local.Size = metric_local.FULL) -> Samples:
    """Updates a second of degrees and coefficients together, from an empty graph."""
    given = metric_local.paper_stream(seed, size)
    arcs = given.graph
    pairs = nx.Graph(arcs)
    stage = Stage(given.before, {"degree": DEGREE.everywhere, "clustering": CLUSTERING.everywhere})
    rates = stage.publish(given)
    some = _some(arcs)
    stage.check("degree", DEGREE, {(vertex,): arcs.degree(vertex) for vertex in some})
    stage.check("clustering", CLUSTERING, {(vertex,): nx.clustering(pairs, vertex) for vertex in some})
    return rates


def measure_composed(seed: int, size: Size = COMPOSED) -> Samples:
    """Updates a second of a pattern with a filter on two metrics; each update brings or takes a solution of it."""
    given = stream(seed, size)
    arcs = given.graph
    coefficients = nx.clustering(nx.Graph(arcs))
    stage = Stage(given.before, {"composed": PATTERN})
    rates = stage.publish(given)
    stage.check_solutions("composed", ((x, y) for x, y in arcs.edges if arcs.degree(x) >= 30 and coefficients[y] > 0.1))
    return rates


def measure_exact_betweenness(seed: int, size: Size = EXACT) -> Samples:
    """Updates a second."""
    given = stream(seed, size)
    return _betweenness(given, _exact_values(given), 1e-9)


def _exact_values(given: Stream) -> Mapping[int, float]:
    """By networkx, which takes minutes for thousands of vertices; for those by a measure from scratch."""
    graph = given.graph
    if len(graph) <= FEW:
        values: dict[int, float] = nx.betweenness_centrality(graph)
        return values
    fresh = begun(given.after, len(graph))
    return {vertex: fresh.value(vertex) for vertex in graph}


def measure_sampled_betweenness(seed: int, size: Size = SAMPLED) -> Samples:
    """Updates a second."""
    given = stream(seed, size)
    expected = nx.betweenness_centrality(given.graph, k=min(PIVOTS, len(given.graph)), seed=seed)
    # What networkx estimates is off by about as much. Most values are below that: only gross errors are seen here.
    return _betweenness(given, expected, 2 * EPSILON)


def _betweenness(given: Stream, values: Mapping[int, float], tolerance: float) -> Samples:
    stage = Stage(given.before, {"betweenness": BETWEENNESS.everywhere})
    rates = stage.publish(given)
    stage.check("betweenness", BETWEENNESS, {(vertex,): values[vertex] for vertex in _some(given.graph)}, tolerance)
    return rates


def _some(graph: Any) -> Iterable[int]:
    """Vertices with many edges, and others."""
    by_degree = sorted(graph, key=graph.degree, reverse=True)
    return [*by_degree[: CHECKED // 2], *by_degree[CHECKED // 2 :: len(by_degree) // CHECKED]]
