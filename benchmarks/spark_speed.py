"""The verbs on Spark with one worker, against the embedded engine: Parquet file in, Parquet file out, both.

Interests are loaded and everything is warm before the clock starts; Spark's start is not counted. What came out is
compared before a figure is told. By the clock, since a pipeline is several processes: these rows need cores that nobody
else uses. Inputs are so large that the work counts, not the price that a job of Spark has of its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from benchmarks.experiments.machine import ROOT
from benchmarks.spark_executors import check_pinned, driver_s, pin_workers
from heliograph import Filter, Route, Watch
from heliograph.spark.frames import read
from heliograph.workloads.filter import generate_filter
from heliograph.workloads.route import generate_route
from heliograph.workloads.watch import generate_watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLES = 5
ONE_WORKER = "local[1]"
SMALL = 1_000  # publications of a micro-batch
MANY, FILES = 3, 6  # for two executors: so many times the publications, in so many files
WARM = 10  # micro-batches before those that count: until then the JVM compiles


class Size(NamedTuple):
    """How large the workloads are."""

    subscriptions: int = 100_000
    publications: int = 5_000
    queries: int = 50_000
    updates: int = 500_000
    events: int = 60_000
    scale: float = 1.0
    times: int = 10  # that the publications come again under other ids: a job of Spark has a price of its own


FULL = Size()


class Case(NamedTuple):
    """One input file, what the embedded engine makes of it, and what Spark makes of it."""

    table: str
    input: Path
    embedded: Callable[[pa.Table], pa.Table]
    on_spark: Callable[[DataFrame], DataFrame]


@contextmanager
def cluster(master: str) -> Iterator[SparkSession]:
    """A session, ended afterwards; executors keep their files where they are removed with this process."""
    from heliograph.spark import session

    if "SPARK_WORKER_DIR" not in os.environ:
        os.environ["SPARK_WORKER_DIR"] = tempfile.mkdtemp(prefix="executors-")
        atexit.register(shutil.rmtree, os.environ["SPARK_WORKER_DIR"], ignore_errors=True)
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(ROOT) not in known:  # executors import what pins them
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), *known]))
    spark = session(master, {"spark.driver.memory": "4g", "spark.executor.memory": "1g"})
    try:
        yield spark
    finally:
        spark.stop()


# --- ratios -----------------------------------------------------------------------------------------------------


def measure_filter(seed: int, size: Size = FULL) -> Sequence[float]:
    """The throughput of the filter on Spark, as a share of the embedded one's."""
    with TemporaryDirectory() as folder:
        return _shares(_filter_case(seed, size, Path(folder)), Path(folder))


def measure_route(seed: int, size: Size = FULL) -> Sequence[float]:
    """The same of the route."""
    with TemporaryDirectory() as folder:
        tables = generate_route(seed, scale=size.scale, events=size.events)
        engine = Route(tables["nodes"], tables["edges"])
        from heliograph.spark import Exchanges, route

        exchanges = Exchanges(Path(folder, "exchange"), tables["nodes"], tables["edges"])
        path = _written(tables["events"], Path(folder))
        case = Case("events", path, lambda table: engine.publish(table).table, lambda frame: route(frame, exchanges))
        return _shares(case, Path(folder))


def measure_watch(seed: int, size: Size = FULL) -> Sequence[float]:
    """The same of the watch; an engine that has seen the updates is of no use again, so each run begins anew."""
    with TemporaryDirectory() as folder:
        tables = generate_watch(seed, queries=size.queries, updates=size.updates)
        saved = Path(folder, "engine")
        first = Watch()
        first.subscribe(tables["subscriptions"])
        first.save(saved)
        from heliograph.spark import watch

        path = _written(tables["updates"], Path(folder))
        case = Case(
            "updates",
            path,
            lambda table: Watch.load(saved).publish(table).table,
            lambda frame: watch(frame, tables["subscriptions"]),
        )
        return _shares(case, Path(folder))


def _filter_case(seed: int, size: Size, folder: Path) -> Case:
    from heliograph.spark import Plans, filter

    tables = generate_filter(seed, subscriptions=size.subscriptions, publications=size.publications)
    interests: Any = {"patterns": tables["patterns"], "constraints": tables["constraints"]}
    engine, plans = Filter(), Plans(folder / "plans")
    engine.subscribe(**interests)
    plans.subscribe(**interests)
    path = _written(_again(tables["publications"], size.times), folder)
    return Case("publications", path, lambda table: engine.publish(table).table, lambda frame: filter(frame, plans))


def _shares(case: Case, folder: Path) -> Sequence[float]:
    with cluster(ONE_WORKER) as spark:
        _check(spark, case, folder)
        return [_embedded_s(case, folder) / _on_spark_s(spark, case, folder) for _ in range(SAMPLES)]


def _embedded_s(case: Case, folder: Path) -> float:
    started = time.perf_counter()
    parquet.write_table(case.embedded(parquet.read_table(case.input)), folder / "embedded.parquet")
    return time.perf_counter() - started


def _on_spark_s(spark: SparkSession, case: Case, folder: Path) -> float:
    from heliograph.spark import write

    frame = case.on_spark(read(spark, case.table, str(case.input)))
    started = time.perf_counter()
    write(frame, notifications=str(folder / "spark"), rejected=str(folder / "refused"))
    return time.perf_counter() - started


def _check(spark: SparkSession, case: Case, folder: Path) -> None:
    """Both say the same; this also warms the workers."""
    _embedded_s(case, folder)
    _on_spark_s(spark, case, folder)
    names = ["subscription_id", "publication_id", "change"]
    told, wanted = (
        Counter(zip(*(parquet.read_table(folder / name)[column].to_pylist() for column in names), strict=True))
        for name in ("spark", "embedded.parquet")
    )
    if told != wanted:
        raise AssertionError(f"Spark told {told.total()}, the embedded engine {wanted.total()} notifications")


def _again(publications: pa.Table, times: int) -> pa.Table:
    """The same publications so many times, each time under other ids."""
    ids = publications["publication_id"].to_pylist()
    copies = [[f"{id} {number}" for id in ids] for number in range(times)]
    return pa.concat_tables([publications.set_column(0, "publication_id", pa.array(copy)) for copy in copies])


def _written(table: pa.Table, folder: Path) -> Path:
    parquet.write_table(table, folder / "input.parquet")
    return folder / "input.parquet"


# --- executors --------------------------------------------------------------------------------------------------


class Scaling(NamedTuple):
    """What a second executor brings, and what the driver takes meanwhile."""

    gains: Sequence[float]
    driver_shares: Sequence[float]  # processors that the driver used, of two executors


def measure_executors(seed: int, size: Size = FULL) -> Sequence[float]:
    """The throughput of the filter with two executors, as a multiple of that with one."""
    return _scaling(seed, size).gains


def measure_driver(seed: int, size: Size = FULL) -> Sequence[float]:
    """How many processors the driver of the two executors used on the average."""
    return _scaling(seed, size).driver_shares


@cache
def _scaling(seed: int, size: Size) -> Scaling:
    with TemporaryDirectory() as folder:
        case = _divided(_filter_case(seed, size._replace(times=MANY * size.times), Path(folder)), Path(folder))
        alone, _ = _pinned_runs(case, 1, Path(folder))
        both, shares = _pinned_runs(case, 2, Path(folder))
        return Scaling([one / two for one, two in zip(alone, both, strict=True)], shares)


def _divided(case: Case, folder: Path) -> Case:
    """The same input as several files, so that both executors can read."""
    (folder / "parts").mkdir()
    rows = parquet.read_table(case.input)
    each = -(-rows.num_rows // FILES)
    for number in range(FILES):
        parquet.write_table(rows.slice(number * each, each), folder / "parts" / f"{number}.parquet")
    return case._replace(input=folder / "parts")


def _pinned_runs(case: Case, executors: int, folder: Path) -> tuple[list[float], list[float]]:
    """The times of some runs, each executor's Python workers on a processor of their own; what the driver used."""
    times, shares = [], []
    with cluster(f"local-cluster[{executors},1,1024]") as spark:
        pin_workers(spark, executors, folder / f"pins of {executors}")
        _check(spark, case, folder)
        for _ in range(SAMPLES):
            before = driver_s(spark)
            times.append(_on_spark_s(spark, case, folder))
            shares.append((driver_s(spark) - before) / times[-1])
        check_pinned(spark, executors)
    return times, shares


# --- micro-batches ----------------------------------------------------------------------------------------------


def measure_micro_batch(seed: int, size: Size = FULL) -> Sequence[float]:
    """What a micro-batch of 1,000 publications takes beyond the matching itself, in seconds, once all is warm."""
    with TemporaryDirectory() as folder:
        case = _filter_case(seed, size._replace(publications=SMALL, times=1), Path(folder))
        with cluster(ONE_WORKER) as spark:
            return _micro_batches(spark, case, Path(folder))


def _micro_batches(spark: SparkSession, case: Case, folder: Path) -> list[float]:
    from heliograph.spark import write
    from heliograph.spark.frames import progress_table

    rows = parquet.read_table(case.input)
    (folder / "in").mkdir()
    for number in range(WARM + SAMPLES):
        parquet.write_table(rows, folder / "in" / f"{number}.parquet")
    schema = spark.read.parquet(str(case.input)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    query = write(case.on_spark(stream), notifications=str(folder / "out"), availableNow=True)
    assert query is not None
    query.awaitTermination()
    matched = {row["batch"]: row["parse_ns"] + row["match_ns"] for row in progress_table(query).to_pylist()}
    taken = {each.batchId: each.durationMs["triggerExecution"] for each in query.recentProgress}
    return [taken[batch] / 1e3 - matched[batch] / 1e9 for batch in sorted(matched)[WARM:]]
