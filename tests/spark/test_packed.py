"""The tool that packs a Python for executors: what it takes along, and where its kernels are found again."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heliograph.compiled.compile import compile_all

TOOL = Path(__file__).resolve().parents[2] / "tools" / "pack_environment.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("pack_environment", TOOL)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_what_heliograph_needs_and_nothing_of_spark(tool: Any) -> None:
    taken = tool.needed("heliograph", *tool.PACKAGES)
    assert {"numba", "llvmlite", "numpy", "pyarrow", "pandas", "protobuf"} <= taken
    assert not {"pyspark", "heliograph", "pytest"} & taken


_COUNT_MISSES = """
from heliograph.compiled.compile import compile_all
kernels = compile_all(["route"])
print(len(kernels), sum(sum(entry.dispatcher.stats.cache_misses.values()) for entry in kernels.values()))
"""


def test_kernels_are_found_under_the_path_where_they_lie(tool: Any, tmp_path: Path) -> None:
    """The package with its compiled kernels, moved elsewhere: nothing is compiled again."""
    compile_all(["route"])
    tool.copy_own(tmp_path)
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}  # Python runs its `sitecustomize` first
    variables.pop("NUMBA_CACHE_DIR", None)
    for _ in range(2):  # the second process leaves everything as it is
        command = [sys.executable, "-c", _COUNT_MISSES]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
        count, misses = map(int, done.stdout.split())
        assert count > 5
        assert misses == 0
