"""A program: a watch stream on a cluster of two executors, one of which may be killed in mid-stream.

    python -m tests.spark.small_cluster FOLDER MASTER [kill]

It takes the files of FOLDER/in one by one and leaves its notifications in FOLDER/n.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from tests.spark.test_streams import UPDATES
from tests.spark.test_watch import QUERIES


def main(folder: str, master: str, *how: str) -> None:
    from heliograph.spark import session, watch, write

    spark = session(master, {"spark.sql.shuffle.partitions": 2, "spark.executor.memory": "512m"})
    reader = spark.readStream.schema(UPDATES).option("maxFilesPerTrigger", 1)
    found = watch(reader.parquet(f"{folder}/in"), QUERIES, shards=2, folder=f"{folder}/engines")
    if "kill" in how:
        threading.Thread(target=kill_one, args=(Path(folder),), daemon=True).start()
    query = write(found, notifications=f"{folder}/n", availableNow=True)
    assert query is not None
    query.awaitTermination()
    spark.stop()


def kill_one(folder: Path) -> None:
    """Kills an executor as soon as the first micro-batch is written: the second is under way by then."""
    while not (folder / "n" / "batch=0" / "_SUCCESS").exists():
        time.sleep(0.05)
    victim = executors(os.getpid())[0]
    os.kill(victim, signal.SIGKILL)
    (folder / "killed").write_text(str(victim))


def executors(ancestor: int) -> list[int]:
    """The processes of executors among the descendants of a process."""
    parents = {int(path.name): path for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = []
    for pid, path in parents.items():
        try:
            is_executor = b"CoarseGrainedExecutorBackend" in (path / "cmdline").read_bytes()
        except OSError:
            continue
        if is_executor and ancestor in _line_of(pid):
            found.append(pid)
    return found


def _line_of(pid: int) -> list[int]:
    """The ancestors of a process."""
    line = []
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        line.append(pid)
    return line


if __name__ == "__main__":
    main(*sys.argv[1:])
