"""Memory of a million subscriptions in shards on Spark: all processes together, and a worker with one shard.

A fresh process, which never has the subscriptions, lets a job compile them from a Parquet file by hash and matches
publications; meanwhile the memory of it and of all its descendants (the driver's JVM, two executors, their Python
workers) is looked at twice a second, each page that several share counted once. Then one shard is opened alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pyarrow import parquet

from benchmarks.filter_workloads import WrongAnswer
from heliograph.workloads.filter import generate_filter

ROOT = Path(__file__).resolve().parents[1]
GIB = 1 << 30
_EVERY = 0.5  # seconds between two looks


class Size(NamedTuple):
    """How large the workload is."""

    subscriptions: int = 1_000_000
    publications: int = 1_000


FULL = Size()


class Memory(NamedTuple):
    """Bytes at the worst moment: of all processes while compiling and while matching, of the largest Python worker
    while compiling, and of one process with one shard."""

    compiling: int
    matching: int
    worker: int
    shard: int


def measure_all(seed: int, size: Size = FULL, shards: int = 4) -> float:
    """GiB of all processes together at the worst moment."""
    used = memory(seed, size, shards)
    return max(used.compiling, used.matching) / GIB


def measure_worker(seed: int, size: Size = FULL, shards: int = 4) -> float:
    """GiB of the largest Python worker while it compiles."""
    return memory(seed, size, shards).worker / GIB


def measure_falling(seed: int, size: Size = FULL) -> float:
    """A process with one of eight shards open, against one with one of four."""
    return memory(seed, size, 8).shard / memory(seed, size, 4).shard


@lru_cache(maxsize=2)
def memory(seed: int, size: Size, shards: int) -> Memory:
    with tempfile.TemporaryDirectory() as folder:
        tables = generate_filter(seed, subscriptions=size.subscriptions, publications=size.publications, matches=20)
        for name in ("patterns", "publications", "expected"):
            parquet.write_table(tables.pop(name), Path(folder, f"{name}.parquet"))
        del tables
        found = _run("job", folder, str(shards))
        return Memory(**found, shard=_run("shard", folder)["shard"])


def _run(*arguments: str) -> dict[str, int]:
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_WORKER_DIR": str(Path(arguments[1], "work"))}
    command = [sys.executable, "-m", "benchmarks.spark_memory", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- in a process of its own ------------------------------------------------------------------------------------


def job(folder: Path, shards: int) -> dict[str, int]:
    """Compiles and matches."""
    from heliograph.spark import Plans, filter, session, write
    from heliograph.spark.frames import read

    conf = {"spark.executor.memory": "1g", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 2}
    spark = session("local-cluster[2,1,1024]", conf)
    with Watcher() as compiling:
        plans = Plans(folder / "plans", shards=shards, partition="hash")
        plans.subscribe(patterns=spark.read.parquet(str(folder / "patterns.parquet")))
    with Watcher() as matching:
        write(
            filter(read(spark, "publications", str(folder / "publications.parquet")), plans),
            notifications=str(folder / "out"),
        )
    told, wanted = spark.read.parquet(str(folder / "out")).count(), parquet.read_metadata(folder / "expected.parquet")
    spark.stop()
    if told != wanted.num_rows:
        raise WrongAnswer(f"{told} notifications instead of {wanted.num_rows}")
    return {"compiling": compiling.all, "matching": matching.all, "worker": compiling.largest}


def shard(folder: Path) -> dict[str, int]:
    """Opens one shard and matches."""
    from heliograph.spark.filter_job import OpenVersion
    from heliograph.spark.versions import Versions

    versions = Versions.at(folder / "plans")
    opened = OpenVersion.at(versions.path(versions.latest()))
    opened.match(0, parquet.read_table(folder / "publications.parquet"), 0)
    return {"shard": _proportional(os.getpid())}


class Watcher:
    """Looks at this process and its descendants from time to time, and keeps what was most."""

    def __init__(self) -> None:
        self.all = self.largest = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY):
            sizes = {pid: _proportional(pid) for pid in _descendants(os.getpid())}
            workers = [size for pid, size in sizes.items() if pid != os.getpid() and _is_worker(pid)]
            self.all, self.largest = max(self.all, sum(sizes.values())), max([self.largest, *workers])


def _descendants(ancestor: int) -> list[int]:
    parents = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            text = _text(path / "stat")
            parents[int(path.name)] = int(text.rpartition(")")[2].split()[1]) if text else 0
    found, new = [ancestor], [ancestor]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


def _is_worker(pid: int) -> bool:
    return "pyspark.daemon" in _text(Path(f"/proc/{pid}/cmdline"))


def _proportional(pid: int) -> int:
    """The resident bytes of a process; of what it shares with others, its part."""
    lines = _text(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""


if __name__ == "__main__":
    what, where, *more = sys.argv[1:]
    print(json.dumps(job(Path(where), int(more[0])) if what == "job" else shard(Path(where))))
