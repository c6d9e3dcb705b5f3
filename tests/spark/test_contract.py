"""The contract of the engines holds on Spark, where every publish is a batch, or a micro-batch of a stream.

Every day the steps of the workers run by hand, and a history with everything in it on Spark; streams are long tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heliograph.model import Engine, Notifications
from tests.contract.engine import EngineContract, Explains, ExplainsItsOwn, RefusesDuplicates, Replaces, Saves, Scene
from tests.spark.engines import (
    AgainEngine,
    BatchEngine,
    FilterOnSpark,
    OnSpark,
    RouteOnSpark,
    SparkEngine,
    StreamEngine,
    Verb,
    WatchOnSpark,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONG = pytest.mark.long


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> SparkSession:
    """The session with one partition for everything and without second thoughts: jobs of a few rows, one by one."""
    made = spark.newSession()
    made.conf.set("spark.sql.shuffle.partitions", 1)
    made.conf.set("spark.sql.adaptive.enabled", "false")
    return made


class AsEmbedded(EngineContract):
    """The law of Spark: the notifications and refusals are the embedded engine's."""

    publishes = 4  # each may be a job
    on_spark: type[OnSpark]
    batch_engine: type[BatchEngine] = BatchEngine

    @pytest.fixture
    def sharding(self) -> dict[str, Any]:
        return {}

    @pytest.fixture(params=["by hand", pytest.param("stream", marks=LONG)])
    def scene(self, tmp_path: Path, request: pytest.FixtureRequest, sharding: dict[str, Any]) -> Iterator[Scene]:
        yield from self.made(request, request.param, tmp_path, sharding)

    @pytest.fixture(params=["batch", pytest.param("stream", marks=LONG)])
    def spark_scene(self, tmp_path: Path, request: pytest.FixtureRequest, sharding: dict[str, Any]) -> Iterator[Scene]:
        yield from self.made(request, request.param, tmp_path, sharding)

    def made(
        self, request: pytest.FixtureRequest, way: str, folder: Path, sharding: dict[str, Any]
    ) -> Iterator[OnSpark]:
        spark: Any = None if way == "by hand" else request.getfixturevalue("small")

        def make(verb: Verb, folder: Path) -> SparkEngine:
            return StreamEngine(spark, verb, folder) if way == "stream" else self.batch_engine(spark, verb)

        scene = self.on_spark(make, folder, **sharding)
        yield scene
        for engine in scene.made:
            if isinstance(engine, StreamEngine):
                engine.stop()

    def test_a_history_is_reported_as_by_the_embedded_engine(self, spark_scene: OnSpark) -> None:
        assert history(spark_scene, spark_scene.engine()) == history(spark_scene, spark_scene.twin.engine())


def history(scene: Scene, engine: Engine) -> list[Any]:
    """What is reported while interests come, are refused and go."""
    seen: list[Any] = [engine.subscribe([scene.matching("a"), scene.refused("x"), scene.silent("b")]).accepted]
    seen += shown(engine.publish([scene.publication(1), scene.refused_publication(), scene.publication(3)]))
    seen.append(engine.unsubscribe(["b", "nobody"]).accepted)
    seen.append(engine.subscribe([scene.matching("b"), scene.matching("c")]).accepted)
    seen += shown(engine.publish([scene.refused_publication()]))
    seen += shown(engine.publish([scene.publication(6), scene.publication(5)]))
    return seen


def shown(found: Notifications) -> list[Any]:
    refused = [entry.code for entry in found.rejected]  # without items: an update without seq is named by its row
    notified = sorted(found, key=lambda each: (each.publication_id or "", each.subscription_id))
    return [notified, refused, found.stats.publications, found.stats.notifications, found.stats.rejected]


class TestFilter(AsEmbedded, RefusesDuplicates, ExplainsItsOwn, Saves):
    on_spark = FilterOnSpark

    @pytest.fixture(params=[{}, {"shards": 2, "partition": "hash"}], ids=["whole", "shards"])
    def sharding(self, request: pytest.FixtureRequest) -> dict[str, Any]:
        given: dict[str, Any] = request.param
        return given


class TestRoute(AsEmbedded, Replaces, Explains, Saves):
    on_spark = RouteOnSpark


class TestWatch(AsEmbedded, RefusesDuplicates, Saves):
    on_spark, batch_engine = WatchOnSpark, AgainEngine

    @pytest.fixture
    def sharding(self) -> dict[str, Any]:
        return {"shards": 2}
