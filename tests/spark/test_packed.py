"""The tool that packs a Python for executors: what it takes along, and where its kernels are found again."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

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


def test_kernels_are_entered_under_the_path_where_they_lie(tool: Any, tmp_path: Path) -> None:
    kernels = tmp_path / "heliograph" / "kernels"
    cache = kernels / "__pycache__" / "kernels-0123"
    (cache / "kernels_of_another_path").mkdir(parents=True)
    (cache / "kernels_of_another_path" / "f.nbi").write_text("compiled")
    (tmp_path / "sitecustomize.py").write_text(tool._CUSTOM)
    for _ in range(2):  # whoever comes second leaves it as it is
        subprocess.run([sys.executable, str(tmp_path / "sitecustomize.py")], check=True)
    entered = cache / f"kernels_{sha1(str(kernels).encode()).hexdigest()}"
    assert (entered / "f.nbi").read_text() == "compiled"
    assert len(list(cache.iterdir())) == 2
