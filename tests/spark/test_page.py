"""The code of docs/spark.md runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
BLOCKS = re.compile(r"^```py\n(.*?)^```\n```out\n(.*?)^```$", re.M | re.S)


def test_the_code_of_the_page_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    blocks = BLOCKS.findall(PAGE.read_text())
    assert len(blocks) == PAGE.read_text().count("```out\n") > 2
    for code, expected in blocks:
        for name in ("alerts", "refused", "stream", "friends"):  # paths of the JVM, which stands elsewhere
            code = code.replace(f'"{name}"', f'"{tmp_path / name}"')
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<docs>", "exec"), namespace)
        assert printed.getvalue() == expected
