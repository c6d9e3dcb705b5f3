"""The contract of the engines holds on Spark: every publish is a batch there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from heliograph.engine import Engine
from tests.contract.engine import Explains, ExplainsItsOwn, RefusesDuplicates, Replaces, Saves, Scene
from tests.contract.test_filter_contract import FilterScene
from tests.contract.test_route_contract import RouteScene
from tests.contract.test_watch_contract import WatchScene
from tests.spark.engines import AgainEngine, BatchEngine, FilterVerb, RouteVerb, WatchVerb, versions_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 4  # publishes beside a writer, each of which is a job


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> SparkSession:
    """The session with one partition for everything: a task is as good as many."""
    made = spark.newSession()
    made.conf.set("spark.sql.shuffle.partitions", 1)
    made.conf.set("spark.sql.adaptive.enabled", "false")
    return made


class OnSpark(Scene):
    """A scene whose engines are Spark's."""

    def __init__(self, spark: SparkSession, folder: Path, **options: Any) -> None:
        self.spark, self.folder, self.options = spark, folder, options
        self._made = 0

    def new_folder(self) -> Path:
        self._made += 1
        return self.folder / f"engine {self._made}"


class FilterBatches(OnSpark, FilterScene):
    def engine(self) -> Engine:
        return self._on(self.new_folder())

    def load(self, path: Path) -> Engine:
        return self._on(versions_at(path))

    def _on(self, folder: Path) -> Engine:
        return cast("Engine", BatchEngine(self.spark, FilterVerb(folder, **self.options)))


class RouteBatches(OnSpark, RouteScene):
    def engine(self) -> Engine:
        return self._on(self.new_folder())

    def load(self, path: Path) -> Engine:
        return self._on(versions_at(path))

    def _on(self, folder: Path) -> Engine:
        return cast("Engine", BatchEngine(self.spark, RouteVerb(folder)))


class WatchBatches(OnSpark, WatchScene):
    def engine(self) -> Engine:
        return cast("Engine", AgainEngine(self.spark, WatchVerb(**self.options)))


class TestFilter(RefusesDuplicates, ExplainsItsOwn, Saves):
    publishes = FEW

    @pytest.fixture(params=[{}, {"shards": 2, "partition": "hash"}], ids=["whole", "shards"])
    def scene(self, small: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Scene:
        return FilterBatches(small, tmp_path, **request.param)


class TestRoute(Replaces, Explains, Saves):
    publishes = FEW

    @pytest.fixture
    def scene(self, small: SparkSession, tmp_path: Path) -> Scene:
        return RouteBatches(small, tmp_path)


class TestWatch(RefusesDuplicates):
    publishes = FEW

    @pytest.fixture
    def scene(self, small: SparkSession, tmp_path: Path) -> Scene:
        return WatchBatches(small, tmp_path, shards=2)
