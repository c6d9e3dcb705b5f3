"""The rows of Spark's speed table about subscriptions in shards: what the three partitionings cost, and memory."""

from __future__ import annotations

from functools import partial

from benchmarks import spark_memory, spark_partitionings
from benchmarks.check import Row
from benchmarks.spark_partitionings import PARTITIONS

_WORKLOAD = f"20,000 subscriptions in {spark_partitionings.SHARDS} shards"
_MILLION = "1,000,000 subscriptions by hash, two executors; all processes"


def _rows(partition: str) -> list[Row]:
    """What one partitioning costs."""
    parts = (
        ("one executor", "publications/s", partial(spark_partitionings.measure_throughput, workers=1)),
        ("two executors", "publications/s", partial(spark_partitionings.measure_throughput, workers=2)),
        ("front", "bytes a subscription", spark_partitionings.measure_front),
        ("shards", "bytes a subscription", spark_partitionings.measure_shards),
        ("shuffled", "bytes a publication", spark_partitionings.measure_shuffled),
        ("false positives", "of what shards get", spark_partitionings.measure_false_positives),
    )
    return [
        Row(f"{partition}: {name}", _WORKLOAD, unit, None, partial(measure, partition=partition), repeats=1)
        for name, unit, measure in parts
    ]


SHARDED = [
    *(row for partition in PARTITIONS for row in _rows(partition)),
    Row("memory, 4 shards", _MILLION, "GiB", 8, partial(spark_memory.measure_all, shards=4), repeats=1),
    Row("memory, 8 shards", _MILLION, "GiB", 8, partial(spark_memory.measure_all, shards=8), repeats=1),
    Row("worker, 4 shards", "the largest while compiling", "GiB", None, spark_memory.measure_worker, repeats=1),
    Row(
        "worker, 8 shards",
        "the same",
        "GiB",
        None,
        partial(spark_memory.measure_worker, shards=8),
        repeats=1,
    ),
    Row("memory of a shard", "one of 8 open, against one of 4", "×", 0.95, spark_memory.measure_falling, repeats=1),
]
