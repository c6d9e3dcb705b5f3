"""Where Spark runs: what it needs of a machine, its master, a session with what the verbs need, and its failures.

The laws: whatever is missing or unfit is reported in one sentence before anything of PySpark is imported; a master that
cannot be one, or where nobody listens, before a JVM starts; a failure of Spark by its innermost cause, without the
traces around it.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliograph.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# --- what Spark needs: Java, and three packages in versions that work together ------------------------------------

JAVA_NEEDED = 17
PACKAGES = {"pyspark": ((4, 3), (5,)), "pandas": ((2, 2), (3,)), "protobuf": ((6,), (99,))}
"""The first version that works, and the first that no longer does; pandas is what Spark's state goes through."""


def check_environment() -> None:
    """Raises where Spark cannot run."""
    for name, (first, beyond) in PACKAGES.items():
        lowest, bound = (".".join(map(str, version)) for version in (first, beyond))
        wanted = f"{name} {lowest} or later, below {bound}"
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError as error:
            fix = "pip install 'heliograph[spark]'"
            raise SetupError("HG-903", f"Spark needs {wanted}, and there is none", fix=fix) from error
        if not first <= tuple(int(number) for number in re.findall(r"\d+", found)[:3]) < beyond:
            fix = f"pip install '{name}>={lowest},<{bound}'"
            raise SetupError("HG-903", f"{name} {found} cannot work here: it needs {wanted}", fix=fix)
    if not _has_java():
        fix = "install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME; "
        fix += "the embedded engines need no Java"
        raise SetupError("HG-902", f"Spark needs Java {JAVA_NEEDED} or later, and there is none", fix=fix)


@cache
def _has_java() -> bool:
    return find_java() is not None


def find_java() -> tuple[str, int] | None:
    """The first Java that is new enough, where `tools/java.sh` looks too: JAVA_HOME, PATH, the system's folder."""
    home = os.environ.get("JAVA_HOME")
    found = [os.path.join(home, "bin", "java") if home else None, shutil.which("java")]
    for path in (*found, *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))):
        if path and os.access(path, os.X_OK):
            version = _java_version(path)
            if version is not None and version >= JAVA_NEEDED:
                return path, version
    return None


def _java_version(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        return None
    return int(match[2] or 0) if match[1] == "1" else int(match[1])  # Java 8 calls itself 1.8


# --- the master ---------------------------------------------------------------------------------------------------

_NUMBER = r"(?:\d+|\*)"
_MASTERS = re.compile(
    rf"local(?:\[{_NUMBER}(?:,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|spark://\S+:\d+|yarn|k8s://\S+"
)
_PATIENCE = 5.0  # seconds for a machine that does not answer; Spark itself tries for a minute


def _is_here(master: str) -> bool:
    """Whether driver and executors are on one machine, so that addresses of its own are enough."""
    return master.startswith("local") or re.match(r"spark://(?:127\.|localhost:|\[::1\])", master) is not None


def check_master(master: str) -> None:
    """Raises for what is no master, and for a standalone cluster of which no master can be reached."""
    if _MASTERS.fullmatch(master) is None:
        fix = "write local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or k8s://…"
        raise SetupError("HG-905", f"{master!r} is not a master of Spark", fix=fix)
    parts = master.removeprefix("spark://").split(",") if master.startswith("spark://") else []
    addresses = [(host.strip("[]"), port) for host, _, port in (part.rpartition(":") for part in parts)]
    if addresses and not any(port.isdigit() and _answers(host, int(port)) for host, port in addresses):
        fix = "start the master, or check its address and port"
        raise SetupError("HG-905", f"no master answers at {master}", fix=fix)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE):
            return True
    except (OSError, OverflowError):
        return False


# --- a session ----------------------------------------------------------------------------------------------------
#
# State in RocksDB, Arrow, the same Python, loopback alone, quiet. Nothing here is required: `filter` and `route` work
# in any session, a streaming `watch` in any that keeps its state in RocksDB. What the caller sets in `conf` stands.

PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()
_ALWAYS = {
    PROVIDER_KEY: PROVIDER,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",  # times are reported in UTC, whatever the machine's zone
    "spark.ui.showConsoleProgress": "false",
    # A long error of a Python worker overflows the usual stack of the driver; its logs are errors alone.
    "spark.driver.extraJavaOptions": f"-Xss8m -Dlog4j2.configurationFile={_LOGGING}",
}
_HERE = {  # where driver and executors are on one machine
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def session(
    master: str | None = None, conf: Mapping[str, Any] | None = None, *, app: str = "heliograph"
) -> SparkSession:
    """A session at `master`, by default all processors of this machine; one that is there already is taken."""
    check_environment()
    from pyspark.sql import SparkSession

    where = master or (conf or {}).get("spark.master") or os.environ.get("SPARK_MASTER") or "local[*]"
    check_master(where)
    found = find_java()
    if found is not None:  # Spark takes the Java, the Python of the workers and the address from the environment alone
        os.environ["JAVA_HOME"] = os.path.dirname(os.path.dirname(os.path.realpath(found[0])))
    if _is_here(where):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(where).appName(app)
    for name, value in settings(where, conf).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # whatever keeps a JVM from starting
        reason = reason_of(str(error)) or type(error).__name__
        fix = "check the master and --conf"
        raise SetupError("HG-905", f"no Spark session at {where}: {reason}", fix=fix) from error


def settings(master: str, conf: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What a session at this master is made with."""
    here = _HERE if _is_here(master) else {}
    tasks = {"spark.sql.shuffle.partitions": str(_cores(master))} if master.startswith("local") else {}
    return {**_ALWAYS, **here, **tasks, **{name: str(value) for name, value in (conf or {}).items()}}


def _cores(master: str) -> int:
    """How many tasks a local master runs at once."""
    counts = re.findall(r"\d+|\*", master)
    if not counts:
        return 1
    numbers = [(os.cpu_count() or 1) if count == "*" else int(count) for count in counts]
    return numbers[0] * numbers[1] if master.startswith("local-cluster") and len(numbers) > 1 else numbers[0]


# --- failures -----------------------------------------------------------------------------------------------------

_PYTHON = re.compile(r"^([A-Za-z_]\w*(?:Error|Exception|Interrupt)): ?(.*)$", re.M)
_CAUSE = re.compile(r"^(?:Caused by|): ([\w.$]+)(?:: ?(.*))?$", re.M)
_JAVA = re.compile(r"^(?:Exception in thread \S+ )?([a-z]\w*(?:\.[\w$]+)+(?:Error|Exception)): (.+)$", re.M)
_SENDER = re.compile(r"^An error occurred while calling [^\n]*\n?")
_LOST = re.compile(r"Python worker exited unexpectedly|ExecutorLostFailure|OutOfMemoryError|exit(?:ed with)? code 137")
_NOISE = ("WARNING: Using incubator modules", "Error occurred during initialization of VM", "Error: Could not create")
_LONGEST = 300


def reason_of(text: str) -> str:
    """The innermost cause that a failure names: an error of Python, else one of the JVM, else its first line."""
    python: list[tuple[str, str]] = _PYTHON.findall(text)
    if python:
        return ": ".join(filter(None, python[-1]))[:_LONGEST]
    java: list[tuple[str, str]] = _CAUSE.findall(text) or _JAVA.findall(text)
    if java:
        name, message = java[-1]
        return (message.strip() or name.rpartition(".")[2])[:_LONGEST]
    lines = [line.strip() for line in _SENDER.sub("", text).splitlines()]
    return next((line for line in lines if line and not line.startswith(_NOISE)), "")[:_LONGEST]


def is_loss(text: str) -> bool:
    """Whether a worker or an executor died, which most often is for lack of memory."""
    return _LOST.search(text) is not None
