"""Where Spark runs: what is missing or unfit is reported in one sentence, a failure by its innermost cause."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib import metadata

import pytest

from heliograph.cli.main import hushed
from heliograph.cli.spark import translated
from heliograph.errors import SetupError
from heliograph.spark import environment
from heliograph.spark.environment import check_master, reason_of, settings


def test_importing_the_layer_does_not_import_pyspark() -> None:
    code = "import sys, heliograph.spark; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_java_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_has_java", lambda: False)
    with pytest.raises(SetupError, match="HG-902: Spark needs Java 17 or later, and there is none; install one"):
        environment.check_environment()


def test_a_package_that_is_missing_or_too_new_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "3.0.1" if name == "pandas" else "7.0")
    monkeypatch.setitem(environment.PACKAGES, "pyspark", ((4, 3), (99,)))
    with pytest.raises(SetupError, match=r"HG-903: pandas 3\.0\.1 cannot work here"):
        environment.check_environment()

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(SetupError, match=r"Spark needs pyspark 4\.3 or later"):
        environment.check_environment()


def test_a_local_session_binds_to_loopback_and_the_callers_settings_stand() -> None:
    here = settings("local[3]", {"spark.ui.enabled": True})
    assert (here["spark.driver.bindAddress"], here["spark.sql.shuffle.partitions"]) == ("127.0.0.1", "3")
    assert here["spark.ui.enabled"] == "True"
    assert settings("local-cluster[2,2,1024]")["spark.sql.shuffle.partitions"] == "4"
    assert settings("local")["spark.sql.shuffle.partitions"] == "1"
    assert "spark.driver.host" not in settings("spark://host:7077")


# --- failures -----------------------------------------------------------------------------------------------------

CALLED = "An error occurred while calling o1135.save.\n"
ABORTED = f"{CALLED}: org.apache.spark.SparkException: Job aborted.\n\tat org.apache.spark.Writer.run(Writer.scala:1)\n"
WORKER = "Traceback (most recent call last):\n  File worker.py, line 1\nMemoryError: Unable to allocate 5.00 GiB\n"


CAUSES = {
    f"{ABORTED}Caused by: java.io.IOException: Mkdirs failed: file:/x\n\tat A.b(C)\n": "Mkdirs failed: file:/x",
    f"{ABORTED}Caused by: java.io.EOFException\n\tat A.b(C)\n": "EOFException",
    ABORTED: "Job aborted.",
    f"{ABORTED}Caused by: org.x.PythonException: {WORKER}": "MemoryError: Unable to allocate 5.00 GiB",
    CALLED: "",
    "Path does not exist\n\nJVM stacktrace: …": "Path does not exist",
    'WARNING: Using incubator modules\nException in thread "main" org.x.SparkException: No master\n\tat A': "No master",
    "Invalid heap size: -Xmxlots\nError: Could not create the Java Virtual Machine.": "Invalid heap size: -Xmxlots",
}


@pytest.mark.parametrize(("text", "reason"), CAUSES.items())
def test_the_innermost_cause(text: str, reason: str) -> None:
    assert reason_of(text) == reason


def test_an_error_of_ours_keeps_its_code_and_a_death_its_likely_reason() -> None:
    ours = translated(RuntimeError(f"{ABORTED}heliograph.errors.StorageError: HG-801: no version in this folder\n"))
    assert (ours.code, ours.message) == ("HG-801", "no version in this folder")
    dead = translated(RuntimeError(f"{CALLED}: SparkException: Python worker exited unexpectedly (crashed)\n"))
    assert (dead.code, "lack of memory" in dead.message) == ("HG-909", True)
    other = translated(RuntimeError(f"{ABORTED}Caused by: java.io.IOException: No space left on device\n"))
    assert (other.code, other.message) == ("HG-908", "Spark gave up: No space left on device")


@pytest.mark.parametrize(
    "master", ["nonsense", "local[x]", "local[", "spark://here", "local-cluster[2]", "yarn-client"]
)
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(SetupError, match="is not a master of Spark"):
        check_master(master)


def test_a_master_that_nobody_is_at() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"no master answers at spark://127.0.0.1:{port}"):
            check_master(f"spark://127.0.0.1:{port}")
        taken.listen()
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")
        asked, _ = taken.accept()
        asked.close()
        assert asked.fileno() == -1


def test_a_jvm_that_does_not_start_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    def start() -> None:
        with hushed(aloud=False):
            os.write(1, b"Error occurred during initialization of VM\nToo small maximum heap\n")
            os.write(2, b"WARNING: Using incubator modules\n")
            raise SetupError("HG-905", "no Spark session at local[1]: [JAVA_GATEWAY_EXITED] It exited.")

    with pytest.raises(SetupError, match=r"^HG-905: no Spark session at local\[1\]: Too small maximum heap$"):
        start()
    assert capfd.readouterr() == ("", "")
