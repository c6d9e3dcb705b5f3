"""Executors of a small cluster on this machine, the Python workers of each kept on one processor of its own.

The benchmark's doing, not the product's. A step that runs in a worker pins the daemon that it comes from, so that all
workers of that executor stay there; which processor is an executor's is settled by files that only one can make.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDS = 20


def pin_workers(spark: SparkSession, executors: int, folder: Path) -> None:
    """Pins the workers of all executors; raises where that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    processors = sorted(os.sched_getaffinity(0))[:executors]
    if len(processors) < executors:
        raise RuntimeError(f"{executors} executors on {len(processors)} processors")
    for _ in range(_ROUNDS):
        rows = spark.range(executors, numPartitions=executors)
        rows.mapInArrow(partial(_pin, str(folder), processors), "id bigint").collect()
        if len(list(folder.iterdir())) == executors:
            return
    raise RuntimeError("an executor never ran a task")


def _pin(folder: str, processors: list[int], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    daemon = os.getppid()
    executor = _parent(daemon)
    for processor in processors:
        if _claimed(Path(folder, str(processor)), executor):
            os.sched_setaffinity(daemon, {processor})
            os.sched_setaffinity(0, {processor})
            break
    time.sleep(0.3)  # so that the other executor has to take the other task
    yield from batches


def check_pinned(spark: SparkSession, executors: int) -> None:
    """Raises where a worker that takes a task now is not pinned."""
    rows = spark.range(executors, numPartitions=executors).mapInArrow(_count_processors, "id bigint").collect()
    if any(row.id != 1 for row in rows):
        raise RuntimeError("a worker was not pinned")


def _count_processors(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"id": [len(os.sched_getaffinity(0))]})


def _claimed(claim: Path, executor: int) -> bool:
    try:
        with claim.open("x") as file:
            file.write(str(executor))
    except FileExistsError:
        return claim.read_text() == str(executor)
    return True


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    """What Linux says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def driver_s(spark: SparkSession) -> float:
    """Processor time of the driver so far: this process and its JVM, in which a small cluster's master runs too."""
    context: Any = spark.sparkContext
    machine = _stat(context._gateway.proc.pid)
    return time.process_time() + (int(machine[11]) + int(machine[12])) / _TICKS
