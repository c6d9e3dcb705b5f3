"""The three partitionings of a filter on Spark, on one workload: throughput, bytes shuffled, index, false positives.

Subscriptions are compiled by a Spark job into the same number of shards whatever the partitioning, publications go from
a Parquet file to Parquet files. What comes out is compared with what the workload must give before a figure is told.
Throughput goes by the clock, on a cluster of executors with one processor each: it needs cores that nobody else uses.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.partition_filters import workload
from heliograph.spark.compile_job import FilterParts
from heliograph.spark.filter_job import OpenVersion, Plans
from heliograph.spark.frames import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = ("hash", "containment", "merging")
SAMPLES = 5
SHARDS = 4
MATCHES = 20
_PAIR = ["subscription_id", "publication_id"]


class Size(NamedTuple):
    """How large the workload is."""

    subscriptions: int = 20_000
    publications: int = 500
    times: int = 4  # that the publications come, under other ids


FULL = Size()


class Figures(NamedTuple):
    """What one partitioning costs: sizes are bytes a subscription, shuffled are bytes a publication."""

    front: float
    shards: float
    shuffled: float
    false_positives: float


# --- throughput -------------------------------------------------------------------------------------------------


def throughput(
    seed: int,
    subscriptions: int,
    publications: int,
    workers: int,
    partition: str,
    merging: Mapping[str, Any] | None = None,
) -> float:
    """Publications a second with so many executors of one processor, the median of several runs that are warm."""
    size = Size(subscriptions, publications)
    with TemporaryDirectory() as folder, cluster(workers) as spark:
        given = _input(seed, size, Path(folder))
        plans = compiled(spark, seed, size, Path(folder), partition, merging)
        _check(_notified(spark, given, plans), given.expected)
        taken = [_seconds(spark, given, plans, Path(folder)) for _ in range(SAMPLES + 1)][1:]
    return given.publications / statistics.median(taken)


def measure_two_executors(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """The throughput of two executors, as a multiple of that of one."""
    one, two = (throughput(seed, size.subscriptions, size.publications, count, partition) for count in (1, 2))
    return two / one


def measure_throughput(seed: int, size: Size = FULL, partition: str = "hash", workers: int = 1) -> float:
    """Publications a second."""
    return throughput(seed, size.subscriptions, size.publications, workers, partition)


@contextmanager
def cluster(workers: int, memory: int = 1024) -> Iterator[SparkSession]:
    """A session with so many executors of one processor on this machine."""
    from heliograph.spark import session

    with TemporaryDirectory() as work:
        os.environ["SPARK_WORKER_DIR"] = work
        spark = session(f"local-cluster[{workers},1,{memory}]", {"spark.executor.memory": f"{memory}m"})
        try:
            yield spark
        finally:
            spark.stop()


class Input(NamedTuple):
    """A file of publications, how many they are, and the answer."""

    path: Path
    publications: int
    expected: pa.Table


def _input(seed: int, size: Size, folder: Path) -> Input:
    tables = workload(seed, size.subscriptions, size.publications, _matches(size))
    parquet.write_table(_again(tables["publications"], size.times), folder / "publications.parquet")
    expected = _again(tables["expected"].select(_PAIR), size.times)
    return Input(folder / "publications.parquet", size.publications * size.times, expected)


def _matches(size: Size) -> int:
    """Matches of a publication: so many that half of the subscriptions match nothing, at most."""
    return max(1, min(MATCHES, size.subscriptions // (2 * size.publications)))


def _again(table: pa.Table, times: int) -> pa.Table:
    at = table.column_names.index("publication_id")
    ids: list[Any] = table["publication_id"].to_pylist()
    copies = [table.set_column(at, "publication_id", pa.array([f"{id} {n}" for id in ids])) for n in range(times)]
    return pa.concat_tables(copies)


def compiled(
    spark: SparkSession, seed: int, size: Size, folder: Path, partition: str, merging: Mapping[str, Any] | None = None
) -> Plans:
    """The subscriptions of the workload, compiled by a job."""
    tables = workload(seed, size.subscriptions, size.publications, _matches(size))
    parquet.write_table(tables["patterns"], folder / "patterns.parquet")
    plans = Plans(folder / f"plans-{partition}", shards=SHARDS, partition=partition, merging=merging)
    receipt = plans.subscribe(patterns=spark.read.parquet(str(folder / "patterns.parquet")))
    if receipt.rejected or plans.size != size.subscriptions:
        raise WrongAnswer(f"{plans.size} subscriptions were taken")
    return plans


def _seconds(spark: SparkSession, given: Input, plans: Plans, folder: Path) -> float:
    from heliograph.spark import filter, write

    found = filter(read(spark, "publications", str(given.path)), plans)
    started = time.perf_counter()
    write(found, notifications=str(folder / "out"))
    return time.perf_counter() - started


def _notified(spark: SparkSession, given: Input, plans: Plans) -> pa.Table:
    from heliograph.spark import filter

    return filter(read(spark, "publications", str(given.path)), plans).select(*_PAIR).toArrow()


def _check(found: pa.Table, expected: pa.Table) -> None:
    keys: Any = [(name, "ascending") for name in _PAIR]
    if not found.sort_by(keys).cast(expected.schema).equals(expected.sort_by(keys)):
        raise WrongAnswer(f"{found.num_rows} notifications that are not the {expected.num_rows} expected")


# --- figures ----------------------------------------------------------------------------------------------------


def measure_front(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """Bytes of the front's index on disk, a subscription."""
    return figures(seed, size, partition).front


def measure_shards(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """Bytes of all shards' indexes on disk, a subscription."""
    return figures(seed, size, partition).shards


def measure_shuffled(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """Bytes that go from the front to the shards, a publication."""
    return figures(seed, size, partition).shuffled


def measure_false_positives(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """The share of publications that reach a shard in which nothing matches them."""
    return figures(seed, size, partition).false_positives


@lru_cache(maxsize=8)
def figures(seed: int, size: Size, partition: str) -> Figures:
    from heliograph.spark import session

    with TemporaryDirectory() as folder:
        given = _input(seed, size, Path(folder))
        spark = session("local[2]")
        try:
            plans = compiled(spark, seed, size, Path(folder), partition)
            before = shuffled_bytes(spark)
            _check(_notified(spark, given, plans), given.expected)
            written = [size for size in shuffled_bytes(spark)[len(before) :] if size]
            shuffled = written[1]  # the first stage deals publications out, the second looks up the front
        finally:
            spark.stop()
        version = plans.versions.path(plans.versions.latest())
        sizes = _index_bytes(FilterParts.read(version))
        return Figures(
            sizes[0] / size.subscriptions,
            sum(sizes[1:]) / size.subscriptions,
            shuffled / given.publications,
            _false_positives(version, parquet.read_table(given.path)),
        )


def shuffled_bytes(spark: SparkSession) -> list[int]:
    """The bytes that each stage has written for the next, by number of the stage."""
    store: Any = spark.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, getattr(store, "stageList$default$4")(), None)
    every = sorted((stages.apply(n).stageId(), stages.apply(n).shuffleWriteBytes()) for n in range(stages.size()))
    return [size for _, size in every]


def _index_bytes(version: FilterParts) -> Sequence[int]:
    """Bytes of the parts on disk: the front, and each shard."""
    parts = [version.path(each.part) for each in (version.front, *version.shards) if each is not None]
    return [sum(file.stat().st_size for file in part.iterdir()) for part in parts]


def _false_positives(version: Path, publications: pa.Table) -> float:
    """Of the publications that the front sends to shards, the share that match nothing there."""
    opened = OpenVersion.at(version)
    found = opened.front(publications, 0)
    sent = hit = 0
    for shard, wanted in enumerate(found.wanted):
        ids = pa.array([found.ids[place] for place in wanted.tolist()], pa.string())
        rows = publications.filter(pa.compute.is_in(publications["publication_id"], value_set=ids))
        sent += len(ids)
        hit += len(opened.match(shard, rows, 0).table["publication_id"].unique())
    return 1 - hit / sent if sent else 0.0
