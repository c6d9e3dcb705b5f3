"""A watching engine in a process of its own: memory that stays when queries and updates are in and the tables gone.

The process first takes a small workload, so that kernels and libraries are there. It then reads concrete queries from a
Parquet file and subscribes, publishes one update (so that nothing is put off), reads and publishes the others; or it
loads the graph first, and queries with variables come to it. Its resident memory is compared with what it was before
each. The limit is 100 bytes an edge of the graph and 300 an edge
of a query, all text and every vertex included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from benchmarks.filter_size import ROOT, resident
from benchmarks.filter_workloads import Tables, check
from benchmarks.watch_workloads import (
    Size,
    accepted,
    concrete,
    empty,
    load_kernels,
    query_edges,
    settled,
    subscribed,
    with_variables,
)
from heliograph import Watch
from heliograph.workloads.watch import generate_watch

FULL = Size()
EDGE, QUERY_EDGE = 100, 300  # bytes allowed


class Stayed(NamedTuple):
    """Bytes that stayed, and the edges that they are for."""

    queries: int
    graph: int
    query_edges: int
    edges: int

    @property
    def share(self) -> float:
        return (self.queries + self.graph) / (EDGE * self.edges + QUERY_EDGE * self.query_edges)


def measure_memory(seed: int, kind: str, size: Size = FULL) -> float:
    """What stayed in memory, as a share of the limit; the kind is `concrete` or `variables`."""
    return stay(seed, kind, size).share


def measure_edge(seed: int, kind: str, size: Size = FULL) -> float:
    """Bytes an edge of the graph: what publishing, or loading, left."""
    stayed = stay(seed, kind, size)
    return stayed.graph / stayed.edges


def measure_query_edge(seed: int, kind: str, size: Size = FULL) -> float:
    """Bytes an edge of a query: what subscribing left."""
    stayed = stay(seed, kind, size)
    return stayed.queries / stayed.query_edges


@lru_cache(maxsize=2)
def stay(seed: int, kind: str, size: Size) -> Stayed:
    """Takes a workload in a fresh process."""
    tables = concrete(seed, size) if kind == "concrete" else with_variables(seed, size)
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            parquet.write_table(table, Path(folder, f"{name}.parquet"))
        command = [sys.executable, "-m", "benchmarks.watch_size", folder, str(size.warm)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    edges = tables["updates"].num_rows + (tables["graph"].num_rows if "graph" in tables else 0)
    sizes = json.loads(done.stdout)
    queries, graph = sizes["queries"], sizes["graph"]
    return Stayed(queries, graph, query_edges(tables["subscriptions"]), edges)


# --- in the process of its own ----------------------------------------------------------------------------------


def main(folder: str, warm: str) -> None:
    """Prints the bytes of the queries and of the graph, as JSON."""
    load_kernels()
    _take(generate_watch(0, vertices=int(warm), updates=int(warm), queries=int(warm) // 10))
    for path in Path(folder).glob("*.parquet"):  # so that what reading takes once is not counted
        parquet.read_table(path)
    engine = empty()
    is_loaded = Path(folder, "graph.parquet").exists()
    steps = {"graph": _load, "queries": _subscribe} if is_loaded else {"queries": _subscribe, "graph": _publish}
    grown = {name: _growth(step, engine, folder) for name, step in steps.items()}
    assert engine.stats().publications > 0  # the engine is alive until here
    print(json.dumps(grown))


def _growth(step: Callable[[Watch, str], None], engine: Watch, folder: str) -> int:
    """Bytes that a step leaves."""
    before = resident()
    step(engine, folder)
    return resident() - before


def _take(tables: Tables) -> None:
    check(settled(subscribed(tables["subscriptions"])).publish(tables["updates"]), tables["expected"])


def _subscribe(engine: Watch, folder: str) -> None:
    accepted(engine.subscribe(_read(folder, "subscriptions")))
    settled(engine)


def _publish(engine: Watch, folder: str) -> None:
    check(engine.publish(_read(folder, "updates")), _read(folder, "expected"))


def _load(engine: Watch, folder: str) -> None:
    for name in ("graph", "updates"):
        accepted(engine.load_graph(_read(folder, name)))


def _read(folder: str, name: str) -> pa.Table:
    return parquet.read_table(Path(folder, f"{name}.parquet"))


if __name__ == "__main__":
    main(*sys.argv[1:])
