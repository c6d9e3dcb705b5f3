"""Processes that die in mid-stream: no notification is lost, and none comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
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


def start(folder: Path, master: str, *how: str) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "tests.spark.small_cluster", str(folder), master, *how]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path}
    log = (folder / "log").open("ab")
    return subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=log, stderr=log)


def found(folder: Path) -> Counter[tuple[Any, ...]]:
    rows = parquet.read_table(folder / "n").select(NOTIFICATIONS_SCHEMA.names).to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def test_an_executor_is_killed_in_mid_stream(tmp_path: Path, wanted: Counter[tuple[Any, ...]]) -> None:
    assert start(tmp_path, "local-cluster[2,1,1024]", "kill").wait(280) == 0, (tmp_path / "log").read_text()[-3000:]
    assert (tmp_path / "killed").exists()
    assert found(tmp_path) == wanted


@pytest.mark.long
def test_the_driver_is_killed_in_mid_stream_and_started_again(tmp_path: Path, wanted: Counter[tuple[Any, ...]]) -> None:
    driver = start(tmp_path, "local[2]")
    while not (tmp_path / "n" / "batch=1" / "_SUCCESS").exists():
        assert driver.poll() is None, (tmp_path / "log").read_text()[-3000:]
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert start(tmp_path, "local[2]").wait(280) == 0, (tmp_path / "log").read_text()[-3000:]
    assert found(tmp_path) == wanted
