"""The command line on a cluster of its own, and its end by a signal: programs as users start them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from heliograph.spark.environment import find_java
from tests.cli.conftest import here
from tests.cli.files import PUBLICATIONS, SUBSCRIPTIONS, save
from tests.spark.conftest import NO_JAVA

__all__ = ["here"]

SOURCES = Path(__file__).resolve().parents[2] / "src"
PATIENCE = 600  # seconds; a machine of its own needs some twenty
WANTED = {("friends", "p1"), ("adults", "p1"), ("adults", "p3")}

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture(autouse=True)
def inputs(here: Path) -> None:
    if find_java() is None:
        pytest.skip(NO_JAVA)
    (here / "in").mkdir()
    save(SUBSCRIPTIONS, "s.csv")
    save(PUBLICATIONS, "in/p.csv")


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **java_home(), "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}


def command(*more: str) -> list[str]:
    call = ["filter", "--subscriptions", "s.csv", "--publications", "in", "--engine", "spark", *more]
    return [sys.executable, "-m", "heliograph", *call]


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((row["subscription_id"], row["publication_id"]) for row in rows)


def test_the_same_call_on_a_standalone_cluster(here: Path) -> None:
    with standalone(here, environment()) as master:
        call = command("--master", master, "--shared", str(here / "shared"), "--conf", "spark.executor.memory=512m")
        done = subprocess.run(call, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert pairs([json.loads(line) for line in done.stdout.splitlines()]) == sorted(WANTED)


def wait_for(process: subprocess.Popen[str], path: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    assert path.exists()


def test_a_signal_ends_a_stream_which_goes_on_when_started_again(here: Path) -> None:
    """Ctrl-C reaches every process in front of a terminal, SIGTERM the one that it is sent to."""
    call = command("--master", "local[1]", "--follow", "--out", "out", "--stats", "stats.json")
    counted = []
    for turn, number in enumerate((signal.SIGINT, signal.SIGTERM)):
        started = subprocess.Popen(
            call, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        wait_for(started, here / "out" / f"batch={turn}")
        (os.killpg if number == signal.SIGINT else os.kill)(started.pid, number)
        assert started.communicate(timeout=PATIENCE) == ("", "")
        assert started.returncode == 130
        counted.append(json.loads((here / "stats.json").read_text())["publications"])
        save([{**row, "publication_id": f"q{row['publication_id']}"} for row in PUBLICATIONS], "in/q.csv")
    assert counted == [3, 3]
    again = {(subscription, f"q{publication}") for subscription, publication in WANTED}
    assert pairs(parquet.read_table("out").to_pylist()) == sorted(WANTED | again)


# --- a standalone cluster on loopback: one master and one worker of one processor, each a process of its own ------


PATIENCE = 300  # seconds for a process to begin; a machine of its own needs five
_PACKAGE = "org.apache.spark.deploy"


@contextmanager
def standalone(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The address of its master; both processes are gone afterwards, ended by their ids."""
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    quiet = ("--host", "127.0.0.1", "--webui-port", "0")
    with _started(folder, environment, f"{_PACKAGE}.master.Master", *quiet, "--port", str(port)):
        _wait_for(port)
        own = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), address)
        with _started(folder, environment, f"{_PACKAGE}.worker.Worker", *quiet, *own):
            yield address


@contextmanager
def _started(folder: Path, environment: Mapping[str, str], *arguments: str) -> Iterator[None]:
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    variables = {**environment, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    with (folder / "cluster.log").open("ab") as log:
        process = subprocess.Popen([str(program), *arguments], env=variables, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens at {port}")


def java_home() -> dict[str, str]:
    """Where the Java is that Spark's own programs are to use."""
    from heliograph.spark.environment import find_java

    found = find_java()
    return {} if found is None else {"JAVA_HOME": os.path.dirname(os.path.dirname(os.path.realpath(found[0])))}
