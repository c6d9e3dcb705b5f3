"""The speed table of Spark measures what it says, on small workloads, in a process with a session of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.spark_table import SHARDED
from benchmarks.tables import TABLES

from heliograph.spark.environment import find_java
from tests.spark.conftest import NO_JAVA

ROOT = Path(__file__).resolve().parents[2]
SMALL = "spark_speed.Size(subscriptions=200, publications=50, queries=200, updates=2_000, events=50, scale=0.01)"
PIPED = [row for row in TABLES["spark"] if row not in SHARDED]


def test_every_claim_has_a_row() -> None:
    claimed = {row.name for row in TABLES["spark"] if row.target is not None}
    assert claimed >= {"filter", "route", "watch", "executors", "micro-batch"}


@pytest.mark.long
@pytest.mark.parametrize("row", PIPED, ids=lambda row: row.name)
def test_a_row_is_measured(row: object) -> None:
    if find_java() is None:
        pytest.skip(NO_JAVA)
    name = getattr(row, "measure").__name__  # noqa: B009
    code = f"from benchmarks import spark_speed; print(min(spark_speed.{name}(1, {SMALL})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout.split()[-1]) > 0


@pytest.mark.long
@pytest.mark.parametrize(
    "asked",
    [
        "spark_partitionings.figures(1, spark_partitionings.Size(400, 20, 2), 'merging')",
        "[spark_partitionings.throughput(1, 400, 20, 1, 'containment')]",
        "spark_memory.memory(1, spark_memory.Size(400, 20), 3)",
    ],
)
def test_shards_are_measured(asked: str) -> None:
    if find_java() is None:
        pytest.skip(NO_JAVA)
    code = f"from benchmarks import spark_memory, spark_partitionings; print(max({asked}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout.split()[-1]) > 0
