"""Memory that subscriptions take with one algorithm: how far a process that loads them grows.

A fresh process makes everything ready, so that kernels and libraries are there, and forks one process for each
workload. That one draws the workload, loads it, checks an answer, lets go of everything but the engine, and compares
its resident memory with what it was before, without pages of files: a forked process meets those again one by one. The
union graph of G-ToPSS alone is counted by Python's own allocator.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.experiments.experiment import Point, Run, X
from benchmarks.experiments.filter_options import ALGORITHMS, Options, options
from benchmarks.filter_size import ROOT, resident
from benchmarks.filter_workloads import check, loaded
from heliograph.papers.filter import Entry, UnionGraph
from heliograph.workloads.filter import generate_filter

MATRIX = "G-ToPSS, matrix"  # [G] figure 9(c): the union graph without the subscriptions themselves
NOTES = "Memory is how far a process grows that loads the subscriptions, pages of files left out; once for each point."
MIB = 2**20

Job = tuple[str, int, Mapping[str, Any]]


def points(run: Run, names: Iterable[str], varied: Iterable[tuple[X, dict[str, Any]]]) -> Iterator[Point]:
    """Mebibytes of each algorithm, for each x and what is varied there."""
    places = [(name, x, options(run, **changes)) for x, changes in varied for name in names]
    run.tell(f"{len(places)} loadings")
    found = grown(run.seed, tuple((name, given) for name, _, given in places))
    for (name, x, given), size in zip(places, found, strict=True):
        yield Point(name, x, [size / MIB], {"bytes a subscription": round(size / dict(given)["subscriptions"])})


@lru_cache(maxsize=8)
def grown(seed: int, asked: tuple[tuple[str, Options], ...]) -> Sequence[int]:
    """Bytes for each algorithm and workload."""
    jobs = [(name, seed, dict(given)) for name, given in asked]
    helper = _helper()
    assert helper.stdin is not None
    assert helper.stdout is not None  # both are pipes
    print(json.dumps(jobs), file=helper.stdin, flush=True)
    answer = helper.stdout.readline()
    if not answer:
        raise RuntimeError(f"the process that measures memory ended with {helper.wait()}")
    sizes: list[int] = json.loads(answer)
    return sizes


@lru_cache(maxsize=1)
def _helper() -> subprocess.Popen[str]:
    """The process of its own, which takes a line of jobs at a time until nobody writes any more."""
    pipe = subprocess.PIPE
    helper = subprocess.Popen([sys.executable, "-m", __name__], cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    atexit.register(helper.communicate)
    return helper


# --- in the process of its own ----------------------------------------------------------------------------------


def main() -> None:
    """Prints a line with the bytes of each job for each line of jobs."""
    warm = generate_filter(0, subscriptions=100, publications=10, matches=5)
    check(loaded(warm, "indexed").publish(warm["publications"]), warm["expected"])
    del warm
    for line in sys.stdin:
        with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
            print(json.dumps(pool.map(_bytes, json.loads(line), chunksize=1)), flush=True)


def _bytes(job: Job) -> int:
    name, seed, given = job
    return _matrix(seed, given) if name == MATRIX else _engine(ALGORITHMS[name], seed, given)


def _engine(algorithm: str, seed: int, given: Mapping[str, Any]) -> int:
    before = _own()
    tables = generate_filter(seed, **given)
    engine = loaded(tables, algorithm)
    check(engine.publish(tables["publications"]), tables["expected"])
    del tables
    after = _own()
    assert engine.stats().subscriptions == given["subscriptions"]  # the engine is alive until here
    return after - before


def _own() -> int:
    """Bytes of this process in memory that are of no file. Linux only."""
    whole = resident()
    return whole - int(Path("/proc/self/statm").read_text().split()[2]) * os.sysconf("SC_PAGESIZE")


def _matrix(seed: int, given: Mapping[str, Any]) -> int:
    engine = loaded(generate_filter(seed, **given), "naive")
    entries = [Entry(subscription, 0) for subscription in engine._subscriptions]
    tracemalloc.start()
    union = UnionGraph()
    for entry in entries:
        union.insert(entry)
    size, _ = tracemalloc.get_traced_memory()
    assert len(union.overlaps[entries[0]]) > 0  # it is alive until here
    return size


if __name__ == "__main__":
    main()
