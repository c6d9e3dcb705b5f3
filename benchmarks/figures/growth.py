"""How costs grow: time and memory of each verb over one axis at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from benchmarks.experiments import growth_filter, growth_route, growth_watch
from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth

# --- growth of the filter: time of a publication against the number of subscriptions ------------------------------


def measure_filter(run: Run) -> Iterator[Point]:
    """Once with as many matches at every number, once with a share of the subscriptions."""
    publications = run["publications"]
    for subscriptions in run["subscriptions"]:
        kinds = {f"{run['matches']} matches": run["matches"], "1 of 1,000 matches": max(1, subscriptions // 1_000)}
        for series, matches in kinds.items():
            options = {"subscriptions": subscriptions, "publications": publications, "matches": matches}
            yield growth_filter.timed(run, series, subscriptions, options)


EXPERIMENT_FILTER = growth(
    "filter",
    "filter: time against subscriptions",
    (Axis("subscriptions"), Axis("time a publication", "µs")),
    {
        Scale.SMALL: {
            "subscriptions": [1_000, 10_000, 100_000],
            "publications": 10,
            "matches": 50,
            "batch": 200,
            "repeats": 5,
        },
        Scale.PAPER: {
            "subscriptions": [1_000, 10_000, 100_000, 1_000_000],
            "publications": 10,
            "matches": 50,
            "batch": 1_000,
            "repeats": 5,
        },
    },
    measure_filter,
)


# --- growth of the filter: time of a publication against how many subscriptions match it --------------------------


def measure_filter_matches(run: Run) -> Iterator[Point]:
    for matches in run["matches"]:
        counts = {name: run[name] for name in ("subscriptions", "publications")}
        yield growth_filter.timed(run, "heliograph", matches, {**counts, "matches": matches})


_COUNTS_FILTER_MATCHES = {"publications": 10, "batch": 100, "repeats": 5}

EXPERIMENT_FILTER_MATCHES = growth(
    "filter-matches",
    "filter: time against matches",
    (Axis("matches of a publication"), Axis("time a publication", "µs")),
    {
        Scale.SMALL: {"matches": [1, 10, 100, 1_000], "subscriptions": 20_000, **_COUNTS_FILTER_MATCHES},
        Scale.PAPER: {"matches": [1, 10, 100, 1_000, 5_000], "subscriptions": 100_000, **_COUNTS_FILTER_MATCHES},
    },
    measure_filter_matches,
)


# --- growth of the filter: memory against the number of subscriptions ---------------------------------------------


def measure_filter_memory(run: Run) -> Iterator[Point]:
    for subscriptions in run["subscriptions"]:
        yield growth_filter.stayed(run, subscriptions)


EXPERIMENT_FILTER_MEMORY = growth(
    "filter-memory",
    "filter: memory against subscriptions",
    (Axis("subscriptions"), Axis("memory", "MB")),
    {
        Scale.SMALL: {"subscriptions": [1_000, 10_000, 100_000]},
        Scale.PAPER: {"subscriptions": [1_000, 10_000, 100_000, 1_000_000]},
    },
    measure_filter_memory,
    notes="Resident memory that a process of its own keeps, all text included, once the tables are gone; one sample.",
)


# --- growth of the filter: time of a publication against its size -------------------------------------------------


def measure_filter_size(run: Run) -> Iterator[Point]:
    """Three edges a node, as in the papers' workloads; as many matches at every size."""
    for edges in run["edges"]:
        shape = {"publication_nodes": edges // 3, "publication_edges": edges, "labels": run["labels"]}
        counts = {name: run[name] for name in ("subscriptions", "publications", "matches")}
        yield growth_filter.timed(run, "heliograph", edges, {**counts, **shape})


_COUNTS_FILTER_SIZE = {"publications": 10, "matches": 50, "labels": 5_000, "batch": 100, "repeats": 5}

EXPERIMENT_FILTER_SIZE = growth(
    "filter-size",
    "filter: time against the size of a publication",
    (Axis("edges of a publication"), Axis("time a publication", "µs")),
    {
        Scale.SMALL: {"edges": [30, 90, 300, 900, 3_000], "subscriptions": 20_000, **_COUNTS_FILTER_SIZE},
        Scale.PAPER: {"edges": [30, 90, 300, 900, 3_000, 9_000], "subscriptions": 100_000, **_COUNTS_FILTER_SIZE},
    },
    measure_filter_size,
)


# --- growth of the route: time of an event against the number of nodes --------------------------------------------


def measure_route(run: Run) -> Iterator[Point]:
    """Once exchanges side by side, so that the reach stays; once one exchange that grows, and its reach with it."""
    for copies in run["copies"]:
        point = growth_route.timed(run, "same reach", copies, {"copies": copies})
        yield point._replace(x=point.facts["nodes"])
    for scale in run["scales"]:
        point = growth_route.timed(run, "reach grows too", scale, {"scale": scale})
        yield point._replace(x=point.facts["nodes"])


EXPERIMENT_ROUTE = growth(
    "route",
    "route: time against nodes",
    (Axis("nodes"), Axis("time an event", "µs")),
    {
        Scale.SMALL: {
            "copies": [1, 3, 10, 30],
            "scales": [0.05, 0.15, 0.5, 1.5],
            "scale": 0.05,
            "events": 300,
            "repeats": 5,
        },
        Scale.PAPER: {
            "copies": [1, 3, 10, 15],
            "scales": [0.05, 0.15, 0.5, 1.0, 5.0],
            "scale": 1.0,
            "events": 1_000,
            "repeats": 5,
        },
    },
    measure_route,
)


# --- growth of the route: time of an event against how many nodes it reaches --------------------------------------


def measure_route_matches(run: Run) -> Iterator[Point]:
    """One exchange whose targeting accepts a growing share of the events."""
    for selectivity in run["selectivities"]:
        point = growth_route.timed(run, "heliograph", selectivity, {"selectivity": selectivity})
        yield point._replace(x=max(point.facts["reached"], 1e-3))


EXPERIMENT_ROUTE_MATCHES = growth(
    "route-matches",
    "route: time against nodes reached",
    (Axis("nodes reached by an event"), Axis("time an event", "µs")),
    {
        Scale.SMALL: {"selectivities": [1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9], "scale": 0.2, "events": 300, "repeats": 5},
        Scale.PAPER: {"selectivities": [1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9], "scale": 1.0, "events": 1_000, "repeats": 5},
    },
    measure_route_matches,
)


# --- growth of the route: memory against nodes --------------------------------------------------------------------


def measure_route_memory(run: Run) -> Iterator[Point]:
    for scale in run["scales"]:
        yield growth_route.stayed(run, scale)


EXPERIMENT_ROUTE_MEMORY = growth(
    "route-memory",
    "route: memory against nodes",
    (Axis("nodes"), Axis("memory", "MB")),
    {
        Scale.SMALL: {"scales": [0.015, 0.15, 0.7]},
        Scale.PAPER: {"scales": [0.015, 0.15, 1.0, 5.0]},
    },
    measure_route_memory,
    notes="Resident memory that a process of its own keeps, all text included, once the tables are gone; one sample.",
)


# --- growth of the route: time of an event against how many attributes it has -------------------------------------


def measure_route_size(run: Run) -> Iterator[Point]:
    """Six attributes that targeting asks for, and others."""
    for attributes in run["attributes"]:
        yield growth_route.timed(
            run, "heliograph", attributes, {}, partial(growth_route.with_attributes, count=attributes)
        )


EXPERIMENT_ROUTE_SIZE = growth(
    "route-size",
    "route: time against the size of an event",
    (Axis("attributes of an event"), Axis("time an event", "µs")),
    {
        Scale.SMALL: {"attributes": [6, 12, 24, 48, 96, 192], "scale": 0.1, "events": 500, "repeats": 5},
        Scale.PAPER: {"attributes": [6, 12, 24, 48, 96, 192, 384], "scale": 1.0, "events": 1_000, "repeats": 5},
    },
    measure_route_size,
    notes="Reading the JSON of the events is on the clock.",
)


# --- growth of the watch: time of an update against the number of queries -----------------------------------------


def measure_watch(run: Run) -> Iterator[Point]:
    """Concrete queries of which 5 % become true in the stream, and queries with variables."""
    for queries in run["queries"]:
        options = {"vertices": run["vertices"], "updates": run["updates"], "queries": queries}
        yield growth_watch.timed(run, "concrete queries", queries, options)
    for queries in run["pattern queries"]:
        yield growth_watch.with_patterns(run, "queries with variables", queries)


EXPERIMENT_WATCH = growth(
    "watch",
    "watch: time against queries",
    (Axis("queries"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {
            "queries": [100, 1_000, 10_000, 30_000],
            "pattern queries": [10, 100, 1_000],
            "vertices": 120_000,
            "updates": 100_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "queries": [1_000, 10_000, 100_000, 1_000_000],
            "pattern queries": [10, 100, 1_000, 10_000],
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "repeats": 3,
        },
    },
    measure_watch,
    notes="Of queries with variables DuckDB counts the matches of some at the end. Matches grow with the queries.",
)


# --- growth of the watch: time of an update against how many are published at once --------------------------------


def measure_watch_batch(run: Run) -> Iterator[Point]:
    """The same stream and queries, cut into batches of so many updates."""
    for batch in run["batches"]:
        options = {"vertices": run["vertices"], "updates": run["updates"], "queries": run["queries"]}
        cut = replace(run, parameters={**run.parameters, "batch": batch})
        yield growth_watch.timed(cut, "concrete queries", batch, options)


_SIZES = {"vertices": 60_000, "queries": 1_000, "repeats": 3}

EXPERIMENT_WATCH_BATCH = growth(
    "watch-batch",
    "watch: time against the size of a publication",
    (Axis("updates published at once"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {"batches": [1, 10, 100, 1_000], "updates": 4_000, **_SIZES},
        Scale.PAPER: {"batches": [1, 10, 100, 1_000, 10_000, 50_000], "updates": 50_000, **_SIZES},
    },
    measure_watch_batch,
    notes="What falls is the price of a call, shared by the updates of a batch.",
)


# --- growth of the watch: time of an update against the size of the stream and its graph --------------------------


def measure_watch_graph(run: Run) -> Iterator[Point]:
    """As many queries over streams from an empty graph; vertices grow with the updates."""
    for updates in run["edges"]:
        options = {"vertices": updates * 6 // 5, "updates": updates, "queries": run["queries"]}
        yield growth_watch.timed(run, "concrete queries", updates, options)


EXPERIMENT_WATCH_GRAPH = growth(
    "watch-graph",
    "watch: time against the size of the graph",
    (Axis("edges that come to the graph"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {"edges": [10_000, 30_000, 100_000, 300_000], "queries": 1_000, "repeats": 3},
        Scale.PAPER: {"edges": [10_000, 100_000, 1_000_000, 4_000_000], "queries": 1_000, "repeats": 3},
    },
    measure_watch_graph,
)


# --- growth of the watch: time of an update against the share of queries that become true -------------------------


def measure_watch_matches(run: Run) -> Iterator[Point]:
    """The x is the number of notifications that the stream must give."""
    for matching in run["matching"]:
        options = {name: run[name] for name in ("vertices", "updates", "queries")}
        point = growth_watch.timed(run, "concrete queries", matching, {**options, "matching": matching})
        yield point._replace(x=point.facts["notifications"])


EXPERIMENT_WATCH_MATCHES = growth(
    "watch-matches",
    "watch: time against matches",
    (Axis("notifications of the stream"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {
            "matching": [0.001, 0.01, 0.1, 1.0],
            "vertices": 120_000,
            "updates": 100_000,
            "queries": 10_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "matching": [0.001, 0.01, 0.1, 1.0],
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "queries": 50_000,
            "repeats": 3,
        },
    },
    measure_watch_matches,
)


# --- growth of the watch: memory against queries and edges --------------------------------------------------------


def measure_watch_memory(run: Run) -> Iterator[Point]:
    for queries in run["queries"]:
        yield growth_watch.stayed(run, queries)
    for edges in run["edges"]:
        yield growth_watch.graph_stayed(run, edges)


EXPERIMENT_WATCH_MEMORY = growth(
    "watch-memory",
    "watch: memory against queries and edges",
    (Axis("queries, or edges of the graph"), Axis("memory", "MB")),
    {
        Scale.SMALL: {
            "queries": [1_000, 10_000, 30_000],
            "edges": [30_000, 100_000, 300_000],
            "vertices": 60_000,
            "updates": 50_000,
        },
        Scale.PAPER: {
            "queries": [1_000, 10_000, 100_000, 1_000_000],
            "edges": [100_000, 1_000_000, 4_000_000],
            "vertices": 1_200_000,
            "updates": 1_000_000,
        },
    },
    measure_watch_memory,
    notes="Resident memory that a process of its own keeps, all text included, once the tables are gone; one sample.",
)
