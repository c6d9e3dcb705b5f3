"""What a newcomer waits for: the help text, the first filter run and the demo, each in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PUBLICATIONS = """publication_id,subject,property,object
p1,Alice,knows,Bob
p1,Bob,age,42
p2,Carol,knows,Dan
"""
_SUBSCRIPTIONS = """subscription_id,query
s1,"ASK { :Alice :knows ?x . ?x :age ?a FILTER(?a > 40) }"
"""


def measure_help(_seed: int) -> float:
    """Seconds for `heliograph --help`."""
    return _timed(["--help"])


def measure_first_filter(_seed: int) -> float:
    """Seconds for `heliograph filter` on a small file with an empty kernel cache."""
    with tempfile.TemporaryDirectory() as folder:
        return _timed(_filter_arguments(Path(folder)), NUMBA_CACHE_DIR=str(Path(folder) / "cache"))


def measure_second_filter(_seed: int) -> float:
    """Seconds for the same command when everything is warm."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = _filter_arguments(Path(folder))
        _timed(arguments)
        return _timed(arguments)


def measure_demo(_seed: int) -> float:
    """Seconds for `heliograph demo`."""
    return _timed(["demo"])


def _filter_arguments(folder: Path) -> list[str]:
    (folder / "publications.csv").write_text(_PUBLICATIONS)
    (folder / "subscriptions.csv").write_text(_SUBSCRIPTIONS)
    return [
        "filter",
        f"--subscriptions={folder / 'subscriptions.csv'}",
        f"--publications={folder / 'publications.csv'}",
        f"--out={folder / 'notifications.ndjson'}",
    ]


def _timed(arguments: list[str], **environment: str) -> float:
    command = [sys.executable, "-m", "heliograph", *arguments]
    started = time.perf_counter_ns()
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
    return (time.perf_counter_ns() - started) / 1e9
