"""A standalone cluster on loopback: one master and one worker of one processor, each a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
