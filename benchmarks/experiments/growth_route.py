"""Points of the route's growth: a batch of events through an exchange, or memory in a fresh process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from benchmarks.experiments.experiment import Point, Run
from benchmarks.filter_workloads import Tables
from benchmarks.route_size import build
from benchmarks.route_workloads import Case, Size, load_kernels, loaded, warmed
from heliograph.workloads.route import generate_route


def unchanged(tables: Tables) -> Tables:
    return tables


def timed(
    run: Run,
    series: str,
    x: float,
    options: dict[str, Any],
    changed: Callable[[Tables], Tables] = unchanged,
) -> Point:
    """Microseconds an event; `changed` may alter the tables that were drawn."""
    run.tell(f"{series}, {x:,}")
    load_kernels()
    tables = changed(generate_route(run.seed, **{"scale": run["scale"], "events": run["events"], **options}))
    case = warmed(Case(loaded(tables), tables))
    samples = [case.seconds() * 1e6 for _ in range(run["repeats"])]
    reached = tables["expected"].num_rows / tables["events"].num_rows
    return Point(series, x, samples, {"nodes": tables["nodes"].num_rows, "reached": reached})


def with_attributes(tables: Tables, count: int) -> Tables:
    """The same events with attributes that no targeting knows, so that each has `count`."""
    events = tables["events"]
    texts = [_padded(json.loads(str(text)), count) for text in events["attributes"].to_pylist()]
    return {**tables, "events": events.set_column(2, "attributes", pa.array(texts, pa.string()))}


def _padded(attributes: dict[str, Any], count: int) -> str:
    more = {f"other{number}": number for number in range(count - len(attributes))}
    return json.dumps({**attributes, **more})


def stayed(run: Run, scale: float) -> Point:
    """Megabytes that an exchange of a scale leaves in a fresh process, its text included."""
    run.tell(f"scale {scale:g}")
    nodes = generate_route(run.seed, scale=scale, events=1)["nodes"].num_rows
    return Point("heliograph", nodes, [build(run.seed, 1, Size(scale=scale)).stayed / 1e6])
