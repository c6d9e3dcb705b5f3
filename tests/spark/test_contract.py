"""The contract of the engines holds on Spark: every publish is a batch there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.engine import Explains, ExplainsItsOwn, RefusesDuplicates, Replaces, Saves, Scene
from tests.spark.engines import AgainEngine, BatchEngine
from tests.spark.scenes import AsEmbedded, FilterOnSpark, RouteOnSpark, WatchOnSpark, small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["small"]


class TestFilter(AsEmbedded, RefusesDuplicates, ExplainsItsOwn, Saves):
    @pytest.fixture(params=[{}, {"shards": 2, "partition": "hash"}], ids=["whole", "shards"])
    def scene(self, small: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Scene:
        return FilterOnSpark(lambda verb, _: BatchEngine(small, verb), tmp_path, **request.param)


class TestRoute(AsEmbedded, Replaces, Explains, Saves):
    @pytest.fixture
    def scene(self, small: SparkSession, tmp_path: Path) -> Scene:
        return RouteOnSpark(lambda verb, _: BatchEngine(small, verb), tmp_path)


class TestWatch(AsEmbedded, RefusesDuplicates, Saves):
    @pytest.fixture
    def scene(self, small: SparkSession, tmp_path: Path) -> Scene:
        return WatchOnSpark(lambda verb, _: AgainEngine(small, verb), tmp_path, shards=2)
