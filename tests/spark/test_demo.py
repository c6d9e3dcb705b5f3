"""The demo's story on Spark: the notifications are the embedded ones; without Java it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Run, here, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["here", "run"]


def test_the_story_tells_the_same(spark: SparkSession, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    found = run("demo", "spark")
    assert (found.code, found.err) == (0, "")
    assert "5 notifications on Spark, 5 of the embedded engine: the same." in found.out
    assert max(map(len, found.out.splitlines())) <= 100


def test_without_java_it_is_not_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.spark.environment._has_java", lambda: False)
    found = run("demo", "spark")
    assert (found.code, "Not shown here: Spark needs Java 17" in found.out) == (0, True)
