"""The speed table of metrics: updates a second, beside plain sets or recomputation by networkx in the same run.

Barabási and Albert's graph, 5 edges a vertex, no degree above 500, a third of the updates deletions; degrees and
coefficients over the paper-shaped stream. “watched” is the same as subscribers of a `Watch` get it: from interned
updates to notifications. As in the other tables a row takes its samples from one workload, that of the seed.
"""

from __future__ import annotations

from functools import partial

from benchmarks import metric_betweenness, metric_density, metric_local, metric_paths, metric_queries
from benchmarks.check import Row

_least = partial(Row, at_least=True, repeats=1)
_beside = partial(Row, target=None, repeats=1)

_RATE = "updates/s"
_WATCHED = "the same, subscriptions of a Watch"
_RERUN = "the same, against a rerun of networkx an update"

_LOCAL = [
    _least("degree, clustering", "every vertex, against plain sets in Python", "×", 3, metric_local.measure_plain),
    _beside("degree, clustering, rate", "the same, ours", _RATE, measure=metric_local.measure_rate),
    _beside("degree, rate", "degrees alone", _RATE, measure=metric_local.measure_degree_rate),
    _beside("plain sets, rate", "of the first row", _RATE, measure=metric_local.measure_plain_rate),
    _beside("degree, clustering, rerun", "against triangles by networkx", "×", measure=metric_local.measure_rerun),
    _beside("degree, clustering, watch", _WATCHED, _RATE, measure=metric_queries.measure_local),
]

# Rows that share a stream stand together, so that it is drawn once.
_LARGE = [
    _least(
        "distance ≤ 4",
        "100 pairs, 100,000 vertices, 500,000 edges",
        _RATE,
        50_000,
        metric_paths.measure_distances,
    ),
    _beside("distance ≤ 4, rerun", _RERUN, "×", measure=metric_paths.measure_distances_rerun),
    _least("distance ≤ 4, watched", _WATCHED, _RATE, 50_000, metric_queries.measure_distances),
    _beside(
        "distance ≤ 4, undirected",
        "100 pairs, edges both ways",
        _RATE,
        measure=partial(metric_paths.measure_distances, undirected=True),
    ),
    _least("4-cliques", "the same graph, every change told", _RATE, 20_000, metric_local.measure_cliques),
    _beside("4-cliques, rerun", _RERUN, "×", measure=metric_local.measure_cliques_rerun),
    _least("4-cliques, watched", "one limit, a subscription", _RATE, 20_000, metric_queries.measure_cliques),
    _least("density, 2 hops", "1,000 centres, the same graph", _RATE, 20_000, metric_density.measure_density),
    _beside("density, 2 hops, rerun", _RERUN, "×", measure=metric_density.measure_density_rerun),
    _least("density, 2 hops, watched", _WATCHED, _RATE, 20_000, metric_queries.measure_density),
    _beside("dense", "every vertex, the same graph", _RATE, measure=metric_density.measure_dense),
    _beside("dense, rerun", "against core numbers by networkx", "×", measure=metric_density.measure_dense_rerun),
]

_BETWEENNESS = [
    _least(
        "betweenness",
        "exact, 4,000 vertices",
        _RATE,
        20,
        metric_betweenness.measure_exact,
    ),
    _beside("betweenness, rerun", _RERUN, "×", measure=metric_betweenness.measure_exact_ratio),
    _least("betweenness, watched", _WATCHED, _RATE, 20, metric_queries.measure_exact_betweenness),
    _least(
        "betweenness, sampled",
        "10,000 vertices, ε = 0.05, δ = 0.1",
        _RATE,
        160,
        metric_betweenness.measure_sampled,
    ),
    _least(
        "betweenness, batched",
        "the same, 500 a step",
        _RATE,
        1_200,
        metric_betweenness.measure_batched,
    ),
    _least(
        "betweenness, sampled, w.",
        "the same, watched, each update told",
        _RATE,
        1_200,
        metric_queries.measure_sampled_betweenness,
    ),
]

_TREES = [
    _least("Steiner trees", "100 of 4 terminals, 20,000 vertices", _RATE, 5_000, metric_paths.measure_trees),
    _beside("Steiner trees, rerun", _RERUN, "×", measure=metric_paths.measure_trees_rerun),
    _least("Steiner trees, watched", _WATCHED, _RATE, 5_000, metric_queries.measure_trees),
]

_COMPOSED = [
    _beside("composed", "?x :p ?y, two metrics, 20,000 vertices", _RATE, measure=metric_queries.measure_composed),
]

METRICS = [*_LOCAL, *_LARGE, *_BETWEENNESS, *_TREES, *_COMPOSED]
