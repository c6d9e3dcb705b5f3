"""Throughput of a filter on Spark with so many tasks at once on this machine, by the clock ([R] figures 9(i) and 10).

Publications go from a Parquet file to Parquet files. Subscriptions are planned and everything is warm before the clock
starts; what comes out is compared before a figure is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from benchmarks.filter_workloads import Tables, WrongAnswer, repeated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from heliograph.spark import Plans

NOTES = (
    "On Spark: so many tasks at once on one machine, by the clock, from a Parquet file to Parquet files, everything "
    "warm; one task has all subscriptions in one index, more have as many shards."
)
WARM = 2  # runs before the clock: Java still compiles in the first
_PAIR = ["subscription_id", "publication_id"]


@contextmanager
def cluster(workers: int) -> Iterator[SparkSession]:
    """A session with so many tasks at once."""
    from heliograph.spark import session

    spark = session(f"local[{workers}]")
    try:
        yield spark
    finally:
        spark.stop()


class Job(NamedTuple):
    """Subscriptions and how they are divided, a file of publications, how many they are, and the answer."""

    tables: Tables
    scheme: Mapping[str, Any]
    publications: Path
    published: int
    expected: pa.Table


def job(tables: Tables, scheme: Mapping[str, Any], copies: int, folder: Path) -> Job:
    """A file with the publications so many times."""
    rows, expected = repeated(tables, copies, 0)
    path = folder / "publications.parquet"
    parquet.write_table(rows, path)
    return Job(tables, scheme, path, len(rows["publication_id"].unique()), expected)


def on_spark(spark: SparkSession, given: Job, repeats: int, folder: Path) -> Sequence[float]:
    """Publications a second in each repeat, once the answer was compared."""
    from heliograph.spark import Plans

    plans = Plans(folder / "plans", **given.scheme)
    plans.subscribe(patterns=given.tables["patterns"])
    for _ in range(WARM):
        _seconds(spark, given, plans, folder)
    _check(parquet.read_table(folder / "out", columns=_PAIR), given.expected)
    return [given.published / _seconds(spark, given, plans, folder) for _ in range(repeats)]


def _seconds(spark: SparkSession, given: Job, plans: Plans, folder: Path) -> float:
    from heliograph.spark import filter
    from heliograph.spark.frames import read

    found = filter(read(spark, "publications", str(given.publications)), plans)
    started = time.perf_counter()
    found.drop("rejected").write.mode("overwrite").parquet(str(folder / "out"))
    return time.perf_counter() - started


def _check(found: pa.Table, expected: pa.Table) -> None:
    keys: Any = [(name, "ascending") for name in _PAIR]
    if not found.sort_by(keys).cast(expected.schema).equals(expected.sort_by(keys)):
        raise WrongAnswer(f"{found.num_rows} notifications that are not the {expected.num_rows} expected")
