"""Processes that die in mid-stream: no notification is lost, and none comes twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from heliograph import Watch
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.spark.environment import find_java
from tests.spark.compare import expected, table
from tests.spark.conftest import NO_JAVA
from tests.spark.test_streams import put
from tests.spark.test_watch import QUERIES, drawn

ROOT = Path(__file__).resolve().parents[2]
FILES, EACH = 4, 40
PATIENCE = 840  # seconds; a machine of its own needs some thirty

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def wanted(tmp_path: Path) -> Counter[tuple[Any, ...]]:
    """Files of updates, and what is to come of them."""
    if find_java() is None:
        pytest.skip(NO_JAVA)
    rows = drawn(FILES * EACH)
    for number in range(FILES):
        put(tmp_path / "in", f"{number}.parquet", table("updates", rows[number * EACH : (number + 1) * EACH]))
    engine = Watch()
    engine.subscribe(QUERIES)
    return expected(engine.publish(table("updates", rows)))[0]


@contextmanager
def started(folder: Path, master: str, *how: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program, which is gone afterwards whatever happens."""
    arguments = [sys.executable, "-m", "tests.spark.small_cluster", str(folder), master, *how]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_WORKER_DIR": str(folder / "work")}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def run_to_its_end(folder: Path, master: str, *how: str) -> None:
    with started(folder, master, *how) as process:
        assert process.wait(PATIENCE) == 0, (folder / "log").read_text()[-3000:]


def found(folder: Path) -> Counter[tuple[Any, ...]]:
    rows = parquet.read_table(folder / "n").select(NOTIFICATIONS_SCHEMA.names).to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def test_an_executor_is_killed_in_mid_stream(tmp_path: Path, wanted: Counter[tuple[Any, ...]]) -> None:
    run_to_its_end(tmp_path, "local-cluster[2,1,1024]", "kill")
    assert (tmp_path / "killed").exists()
    assert found(tmp_path) == wanted


@pytest.mark.long
def test_the_driver_is_killed_in_mid_stream_and_started_again(tmp_path: Path, wanted: Counter[tuple[Any, ...]]) -> None:
    with started(tmp_path, "local[2]") as driver:
        while not (tmp_path / "n" / "batch=1" / "_SUCCESS").exists():
            assert driver.poll() is None, (tmp_path / "log").read_text()[-3000:]
            time.sleep(0.05)  # and then it is killed
    run_to_its_end(tmp_path, "local[2]")
    assert found(tmp_path) == wanted
