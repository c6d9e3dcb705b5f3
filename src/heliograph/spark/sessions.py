"""A Spark session with what the three verbs need: state in RocksDB, Arrow, the same Python, loopback alone, quiet.

Nothing here is required: `filter` and `route` work in any session, a streaming `watch` in any that keeps its state in
RocksDB. What the caller sets in `conf` stands.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliograph.errors import SetupError
from heliograph.spark.environment import check_environment, find_java
from heliograph.spark.failures import reason_of
from heliograph.spark.masters import check_master, is_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()
_ALWAYS = {
    PROVIDER_KEY: PROVIDER,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",  # times are told in UTC, whatever the machine's zone
    "spark.ui.showConsoleProgress": "false",
}
_HERE = {  # where driver and executors are on one machine
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def session(
    master: str | None = None, conf: Mapping[str, Any] | None = None, *, app: str = "heliograph"
) -> SparkSession:
    """A session at `master`, this machine's processors unless told; one that is there already is taken."""
    check_environment()
    from pyspark.sql import SparkSession

    where = master or (conf or {}).get("spark.master") or os.environ.get("SPARK_MASTER") or "local[*]"
    check_master(where)
    _set_variables(where)
    builder = SparkSession.builder.master(where).appName(app)
    for name, value in settings(where, conf).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # whatever keeps a JVM from starting
        raise failed(error, where) from error


def settings(master: str, conf: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What a session at this master is made with."""
    # A long error of a Python worker overflows the usual stack of the driver; its logs are errors alone.
    java = {"spark.driver.extraJavaOptions": f"-Xss8m -Dlog4j2.configurationFile={_LOGGING}"}
    here = _HERE if is_here(master) else {}
    tasks = {"spark.sql.shuffle.partitions": str(_cores(master))} if master.startswith("local") else {}
    return {**_ALWAYS, **java, **here, **tasks, **{name: str(value) for name, value in (conf or {}).items()}}


def _cores(master: str) -> int:
    """How many tasks a local master runs at once."""
    counts = re.findall(r"\d+|\*", master)
    if not counts:
        return 1
    numbers = [(os.cpu_count() or 1) if count == "*" else int(count) for count in counts]
    return numbers[0] * numbers[1] if master.startswith("local-cluster") and len(numbers) > 1 else numbers[0]


def _set_variables(master: str) -> None:
    """What Spark takes from the environment alone: which Java, and here the Python of the workers and the address."""
    found = find_java()
    if found is not None:
        os.environ["JAVA_HOME"] = os.path.dirname(os.path.dirname(os.path.realpath(found[0])))
    if is_here(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def failed(error: Exception, master: str) -> SetupError:
    """A session that could not be had, without the trace of the JVM."""
    reason = reason_of(str(error)) or type(error).__name__
    return SetupError("HG-905", f"no Spark session at {master}: {reason}", fix="check the master and --conf")
