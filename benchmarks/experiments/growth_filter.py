"""Points of the filter's growth: a batch of publications, or memory in a fresh process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.experiments.experiment import Point, Run
from benchmarks.filter_size import load
from benchmarks.filter_workloads import Size, make


def timed(run: Run, series: str, x: float, options: Mapping[str, Any]) -> Point:
    """Microseconds a publication of a workload with these options."""
    run.tell(f"{series}, {x:,}")
    case = make(run.seed, run["batch"], options)
    samples = [case.seconds() * 1e6 for _ in range(run["repeats"])]
    found = case.engine.publish(case.batch)
    return Point(series, x, samples, {"matches": len(found), "candidates": found.stats.candidates})


def stayed(run: Run, subscriptions: int) -> Point:
    """Megabytes that stay once so many subscriptions are loaded."""
    run.tell(f"{subscriptions:,} subscriptions")
    size = Size(subscriptions=subscriptions, publications=10, matches=min(100, subscriptions // 20))
    return Point("heliograph", subscriptions, [load(run.seed, size).bytes_each * subscriptions / 1e6])
