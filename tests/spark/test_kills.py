"""Workers, executors and drivers that are killed while many small micro-batches go by: nothing is lost or told twice.

A watch with a window by time, one with a window by updates, and a filter run as streams of one session; files are put
into their folders a few at a time. Processes are killed at random moments, while micro-batches run and between them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from heliograph import Filter, Watch
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA
from heliograph.spark.environment import find_java
from tests.spark.compare import Rows, expected, unnumbered
from tests.spark.conftest import NO_JAVA
from tests.spark.test_shards import in_turn
from tests.spark.test_streams import put
from tests.spark.three_streams import FILTERED, GRAPH, QUERIES, STREAMS, WINDOWS, tables

ROOT = Path(__file__).resolve().parents[2]
FILES = 60
WITHIN = ("worker",) * 7 + ("executor",) * 3 + ("driver",)  # killed while a micro-batch runs
BETWEEN = ("worker",) * 4 + ("executor",) * 2 + ("driver",)  # killed while none does
VICTIMS = {"worker": b"pyspark.daemon", "executor": b"CoarseGrainedExecutorBackend", "driver": b""}  # by command line
PATIENCE = 600  # seconds for a few micro-batches or a start, on a machine that is busy


# --- processes --------------------------------------------------------------------------------------------------


def processes(session: int) -> dict[int, tuple[int, bytes]]:
    """Of each process of a session the parent and the command line."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                state, parent, _, number = (path / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(number) == session and state != "Z":
                    found[int(path.name)] = int(parent), (path / "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
    return found


def victims(kind: str, session: int) -> list[int]:
    """The processes of a kind, those of a driver together: one kill of it is one of its Python and its JVM."""
    running = processes(session)
    if kind == "driver":
        return [pid for pid, (parent, _) in running.items() if session in (pid, parent)]
    return sorted(pid for pid, (_, line) in running.items() if VICTIMS[kind] in line)


def kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Cluster:
    """The program with all its processes, which is started again when its driver was killed."""

    def __init__(self, folder: Path, executors: int, *streams: str) -> None:
        self.folder, self.streams = folder, streams
        self._master = f"local-cluster[{executors},1,1024]"
        self._sessions: list[int] = []
        self.start()

    def start(self) -> None:
        arguments = [sys.executable, "-m", "tests.spark.three_streams", str(self.folder), self._master, *self.streams]
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path, "SPARK_WORKER_DIR": str(self.folder / "work")}
        with (self.folder / "log").open("ab") as log:
            self.driver = subprocess.Popen(
                arguments, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self._sessions.append(self.driver.pid)

    def wait(self, until: Callable[[], Any]) -> None:
        """Waits until something is so; fails if the driver ends first, or if that takes too long."""
        begun = time.monotonic()
        while not until():
            assert self.driver.poll() is None, (self.folder / "log").read_text()[-3000:]
            assert time.monotonic() - begun < PATIENCE, (self.folder / "log").read_text()[-3000:]
            time.sleep(0.02)

    def finish(self, batches: int) -> None:
        """Waits until all streams have committed so many micro-batches, or more."""
        self.wait(lambda: all(self._count(name, "commits") >= batches for name in self.streams))

    def kill(self, kind: str, r: Random) -> None:
        """Kills one executor, some workers, or the driver, which is started again."""
        self.wait(lambda: victims(kind, self.driver.pid))
        found = victims(kind, self.driver.pid)
        kill(found if kind == "driver" else r.sample(found, r.randint(1, len(found)) if kind == "worker" else 1))
        if kind == "driver":
            self.driver.wait()
            self.start()

    def end(self) -> None:
        """Lets the driver come to its end."""
        (self.folder / "end").touch()
        assert self.driver.wait(PATIENCE) == 0, (self.folder / "log").read_text()[-3000:]

    def close(self) -> None:
        """Nothing of it goes on."""
        for session in self._sessions:
            kill(list(processes(session)))
        self.driver.wait()

    # --- micro-batches ------------------------------------------------------------------------------------------

    def is_running(self) -> bool:
        """Whether any stream has begun a micro-batch that is not committed."""
        return any(self._count(name, "offsets") > self._count(name, "commits") for name in self.streams)

    def _count(self, stream: str, what: str) -> int:
        """The number after that of the last micro-batch in a log: Spark removes the first ones."""
        folder = self.folder / stream / "_checkpoint" / what
        names = os.listdir(folder) if folder.exists() else []
        return max((int(name) + 1 for name in names if name.isdigit()), default=0)


@contextmanager
def started(folder: Path, executors: int, *streams: str) -> Iterator[Cluster]:
    if find_java() is None:
        pytest.skip(NO_JAVA)
    cluster = Cluster(folder, executors, *streams)
    try:
        yield cluster
    finally:
        cluster.close()


def put_files(folder: Path, files: dict[str, list[pa.Table]], numbers: Iterable[int]) -> None:
    for number in numbers:
        for name, content in files.items():
            put(folder / name, f"{number:03d}.parquet", content[number])


# --- answers ----------------------------------------------------------------------------------------------------


def wanted(engine: Any, files: list[pa.Table]) -> tuple[Rows, Rows]:
    """What an embedded engine makes of the files, one after the other."""
    notified, refused = Rows(), Rows()
    for each in files:
        told = expected(engine.publish(each))
        notified, refused = notified + told[0], refused + told[1]
    return notified, refused


def watch(algorithm: str, window: dict[str, Any]) -> Watch:
    engine = Watch(algorithm=algorithm, **window)
    engine.load_graph(GRAPH)
    engine.subscribe(QUERIES)
    return engine


def found(folder: Path) -> tuple[Rows, Rows]:
    notified = parquet.read_table(folder).select(NOTIFICATIONS_SCHEMA.names).to_pylist()
    refused = parquet.read_table(folder / "_rejected").select(REJECTED_SCHEMA.names).to_pylist()
    return (
        Counter(tuple(row.values()) for row in notified),
        Counter((row["item"], row["code"], unnumbered(row["message"])) for row in refused),
    )


def check(folder: Path, files: dict[str, list[pa.Table]], *streams: str) -> None:
    for name in streams:
        if name in WINDOWS:
            ordered = [in_turn([each]) for each in files["updates"]]
            plain, indexed = (wanted(watch(algorithm, WINDOWS[name]), ordered) for algorithm in ("plain", "indexed"))
            assert plain == indexed
            assert found(folder / name) == plain
        else:
            engine = Filter()
            engine.subscribe(FILTERED)
            assert found(folder / name) == wanted(engine, files["publications"])


@pytest.mark.timeout(900)
def test_an_executor_is_killed_in_mid_stream(tmp_path: Path) -> None:
    """The only one, so that another takes its place and the state with it."""
    files = tables(3, seed=2)
    put_files(tmp_path, files, range(3))
    with started(tmp_path, 1, "time") as cluster:
        cluster.finish(1)  # the second micro-batch is under way then
        cluster.kill("executor", Random(1))
        cluster.finish(3)
        cluster.end()
    check(tmp_path, files, "time")


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_kills_between_and_within_many_small_micro_batches(tmp_path: Path) -> None:
    files, r = tables(FILES, seed=1), Random(1)
    within, between = (r.sample(kinds, len(kinds)) for kinds in (WITHIN, BETWEEN))
    killed: Counter[tuple[str, str]] = Counter()
    put_files(tmp_path, files, range(1))
    with started(tmp_path, 2, *STREAMS) as cluster:
        cluster.finish(1)
        given, took = 1, 1.0
        while given < FILES:
            first, begun = given, time.monotonic()
            given = min(given + r.randint(1, 3), FILES)
            put_files(tmp_path, files, range(first, given))
            hit = bool(within) and r.random() < 0.7
            if hit:
                cluster.wait(cluster.is_running)
                time.sleep(r.random() * took)
                if cluster.is_running():
                    cluster.kill(within[-1], r)
                    killed[within.pop(), "within"] += 1
            cluster.finish(given)
            if not hit:
                took = time.monotonic() - begun
            if between and r.random() < 0.5:
                cluster.kill(between[-1], r)
                killed[between.pop(), "between"] += 1
        cluster.end()
    check(tmp_path, files, *STREAMS)
    assert killed.keys() == {(kind, when) for kind in VICTIMS for when in ("within", "between")}
