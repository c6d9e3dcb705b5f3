"""Loading an exchange in a process of its own: seconds, and memory that stays when the tables are gone.

The process first loads and asks a small exchange, so that kernels and libraries are there. It then reads the tables
from Parquet files, times `Route(nodes, edges)` together with a first publish (so that nothing is put off), checks the
answer, lets go of everything but the engine, and compares its resident memory with what it was before. The limit is 200
bytes a node, 40 an edge and 400 an expression, text aside: the bytes of the node ids and of the targeting, each
counted once, are taken off what stayed; `measure_memory_with_text` leaves them in.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from benchmarks.filter_size import ROOT, resident
from benchmarks.filter_workloads import Tables, check
from benchmarks.route_workloads import Size, load_kernels, loaded
from heliograph.workloads.route import generate_route

FULL = Size()
NODE, EDGE, EXPRESSION = 200, 40, 400  # bytes allowed


class Built(NamedTuple):
    """What loading took and what stayed, beside what may stay."""

    seconds: float
    stayed: int
    text: int
    limit: int


def measure_build(seed: int, copies: int = 1, size: Size = FULL) -> float:
    """Seconds for `Route(nodes, edges)` and a first publish, predicates compiled."""
    return build(seed, copies, size).seconds


def measure_memory(seed: int, copies: int = 1, size: Size = FULL) -> float:
    """What stayed in memory, text aside, as a share of the limit."""
    built = build(seed, copies, size)
    return (built.stayed - built.text) / built.limit


def measure_memory_with_text(seed: int, copies: int = 1, size: Size = FULL) -> float:
    """What stayed in memory, as a share of the same limit."""
    built = build(seed, copies, size)
    return built.stayed / built.limit


@lru_cache(maxsize=3)
def build(seed: int, copies: int, size: Size) -> Built:
    """Loads a workload in a fresh process."""
    tables = generate_route(seed, scale=size.scale, copies=copies)
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            parquet.write_table(table, Path(folder, f"{name}.parquet"))
        command = [sys.executable, "-m", "benchmarks.route_size", folder, str(size.warm)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    seconds, stayed = json.loads(done.stdout)
    return Built(seconds, stayed, text_bytes(tables["nodes"]), limit(tables))


def limit(tables: Tables) -> int:
    """The bytes that may stay."""
    nodes, edges = tables["nodes"], tables["edges"]
    return NODE * nodes.num_rows + EDGE * edges.num_rows + EXPRESSION * (nodes.num_rows - nodes["targeting"].null_count)


def text_bytes(nodes: pa.Table) -> int:
    """The bytes of the ids and the targeting."""
    return sum(pc.sum(pc.binary_length(nodes[name])).as_py() or 0 for name in ("node_id", "targeting"))


# --- in the process of its own ----------------------------------------------------------------------------------


def main(folder: str, scale: str) -> None:
    """Prints the seconds and the bytes."""
    load_kernels()
    warm = generate_route(0, scale=float(scale))
    check(loaded(warm).publish(warm["events"]), warm["expected"])
    for path in Path(folder).glob("*.parquet"):  # so that what reading takes once is not counted
        parquet.read_table(path)
    del warm
    before = resident()
    tables = {path.stem: parquet.read_table(path) for path in Path(folder).glob("*.parquet")}
    first = tables["events"].slice(0, 1)
    started = time.perf_counter()
    engine = loaded(tables)
    engine.publish(first)
    took = time.perf_counter() - started
    check(engine.publish(tables["events"]), tables["expected"])
    del tables, first
    after = resident()
    assert engine.stats().publications > 0  # the engine is alive until here
    print(json.dumps([took, after - before]))


if __name__ == "__main__":
    main(*sys.argv[1:])
