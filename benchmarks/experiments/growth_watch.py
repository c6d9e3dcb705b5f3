"""Points of the watch's growth: a stream through engines with concrete queries, or through one with variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.experiments.experiment import Point, Run
from benchmarks.filter_workloads import Tables, check
from benchmarks.watch_size import stay
from benchmarks.watch_stage import Stage
from benchmarks.watch_workloads import Size, load_kernels, seconds, settled, subscribed, with_variables
from heliograph.model import Notifications
from heliograph.workloads.watch import generate_watch


def timed(run: Run, series: str, x: float, options: Mapping[str, Any]) -> Point:
    """Microseconds an update of a stream over concrete queries; each repeat has an engine of its own."""
    run.tell(f"{series}, {x:,}")
    load_kernels()
    tables = generate_watch(run.seed, **options)
    samples = [_stream(tables, run.parameters.get("batch")) * 1e6 for _ in range(run["repeats"])]
    return Point(series, x, samples, {"notifications": tables["expected"].num_rows})


def _stream(tables: Tables, batch: int | None) -> float:
    """Seconds an update; interned before, published in batches or at once."""
    engine, updates = settled(subscribed(tables["subscriptions"])), tables["updates"]
    size = batch or updates.num_rows
    parts = [engine.encode(updates.slice(first, size)) for first in range(0, updates.num_rows, size)]
    found: list[Notifications] = []
    took = seconds(lambda: found.extend(map(engine.publish, parts)))
    first = 0
    for each in found:
        check(each, tables["expected"].slice(first, len(each)))
        first += len(each)
    assert first == tables["expected"].num_rows
    return took / updates.num_rows


def with_patterns(run: Run, series: str, queries: int) -> Point:
    """Microseconds an update over queries with variables, where most of the graph is there; DuckDB checks some."""
    run.tell(f"{series}, {queries:,}")
    load_kernels()
    size = Size(run["vertices"], run["updates"], max(run["pattern queries"]), batch=run["updates"] // 20, asked=6)
    stage, rng = Stage(with_variables(run.seed, size), queries, size), np.random.default_rng(run.seed)
    taken = stage.publish((stage.additions(size.batch) for _ in range(run["repeats"])), size.patience)
    stage.check(size.asked, rng)
    return Point(series, queries, [each * 1e6 for each in taken])


def stayed(run: Run, queries: int) -> Point:
    """Megabytes that the concrete queries leave in a fresh process, the graph aside."""
    run.tell(f"{queries:,} queries")
    size = Size(vertices=run["vertices"], updates=run["updates"], queries=queries)
    return Point("concrete queries", queries, [stay(run.seed, "concrete", size).queries / 1e6])


def graph_stayed(run: Run, edges: int) -> Point:
    """Megabytes that so many edges leave, the queries aside."""
    run.tell(f"{edges:,} edges")
    size = Size(vertices=max(3, edges * 6 // 5), updates=edges, queries=100)
    return Point("graph", edges, [stay(run.seed, "concrete", size).graph / 1e6])
