"""Loading pattern tables in a process of its own: seconds, and memory that stays when the tables are gone.

The process first fills and asks a small engine, so that kernels and libraries are there. It then reads the tables from
Parquet files, times `subscribe` together with a first publish (so that nothing is put off), checks the answer, lets go
of everything but the engine, and compares its resident memory with what it was before.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from benchmarks.filter_workloads import Size, check, loaded
from heliograph.workloads.filter import generate_filter

FULL = Size()
ROOT = Path(__file__).resolve().parents[1]


class Loading(NamedTuple):
    """What loading took and what stayed."""

    seconds: float
    bytes_each: float


def measure_load(seed: int, size: Size = FULL) -> float:
    """Seconds for `subscribe` and a first publish."""
    return load(seed, size).seconds


def measure_memory(seed: int, size: Size = FULL) -> float:
    """Bytes of resident memory a subscription."""
    return load(seed, size).bytes_each


@lru_cache(maxsize=3)
def load(seed: int, size: Size) -> Loading:
    """Loads a workload in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in generate_filter(seed, **size.options()).items():
            parquet.write_table(table, Path(folder, f"{name}.parquet"))
        command = [sys.executable, "-m", "benchmarks.filter_size", folder]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    seconds, size_in_bytes = json.loads(done.stdout)
    return Loading(seconds, size_in_bytes / size.subscriptions)


# --- in the process of its own ----------------------------------------------------------------------------------


def main(folder: str) -> None:
    """Prints the seconds and the bytes."""
    warm = generate_filter(0, subscriptions=100, publications=10, matches=5)
    check(loaded(warm, "indexed").publish(warm["publications"]), warm["expected"])
    del warm
    before = resident()
    tables = {path.stem: parquet.read_table(path) for path in Path(folder).glob("*.parquet")}
    first = tables["publications"].slice(0, 1)
    started = time.perf_counter()
    engine = loaded(tables)
    engine.publish(first)
    took = time.perf_counter() - started
    check(engine.publish(tables["publications"]), tables["expected"])
    del tables, first
    after = resident()
    assert len(engine.stats()) > 0  # the engine is alive until here
    print(json.dumps([took, after - before]))


def resident() -> int:
    """Bytes of this process in memory, once everything that is free was given back. Linux only."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


if __name__ == "__main__":
    main(sys.argv[1])
