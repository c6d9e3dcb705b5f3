"""Scenes of the contract on Spark, and what holds there beside it: the embedded engines tell the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from heliograph.model import Engine, Notifications
from tests.contract.engine import EngineContract, Scene
from tests.contract.test_filter_contract import FilterScene
from tests.contract.test_route_contract import RouteScene
from tests.contract.test_watch_contract import WatchScene
from tests.spark.engines import FilterVerb, RouteVerb, SparkEngine, Verb, WatchVerb, versions_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> SparkSession:
    """The session with one partition for everything and without second thoughts: jobs of a few rows, one by one."""
    made = spark.newSession()
    made.conf.set("spark.sql.shuffle.partitions", 1)
    made.conf.set("spark.sql.adaptive.enabled", "false")
    return made


class OnSpark(Scene):
    """A scene whose engines run a verb on Spark, in a way that `make` knows."""

    twin: Scene
    """The same scene with embedded engines."""

    def __init__(self, make: Callable[[Verb, Path], SparkEngine], folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.made: list[Any] = []
        self._make = make

    def engine(self) -> Engine:
        return self._on(self._place() / "interests")

    def load(self, path: Path) -> Engine:
        return self._on(versions_at(path))

    def _on(self, folder: Path) -> Engine:
        self.made.append(self._make(self._verb(folder), self._place() / "stream"))
        return cast("Engine", self.made[-1])

    def _place(self) -> Path:
        return self.folder / f"engine {len(self.made)}"

    def _verb(self, folder: Path) -> Verb:
        raise NotImplementedError


class FilterOnSpark(OnSpark, FilterScene):
    twin = FilterScene()

    def _verb(self, folder: Path) -> Verb:
        return FilterVerb(folder, **self.options)


class RouteOnSpark(OnSpark, RouteScene):
    twin = RouteScene()

    def _verb(self, folder: Path) -> Verb:
        return RouteVerb(folder)


class WatchOnSpark(OnSpark, WatchScene):
    twin = WatchScene("auto")

    def _verb(self, folder: Path) -> Verb:
        return WatchVerb(folder, **self.options)


class AsEmbedded(EngineContract):
    """The law of Spark: the notifications and refusals are the embedded engine's."""

    publishes = 4  # each is a job

    def test_a_history_is_told_as_by_the_embedded_engine(self, scene: Scene) -> None:
        assert isinstance(scene, OnSpark)
        assert list(history(scene, scene.engine())) == list(history(scene, scene.twin.engine()))


def history(scene: Scene, engine: Engine) -> list[Any]:
    """What is told while interests come, are refused and go."""
    told: list[Any] = [engine.subscribe([scene.matching("a"), scene.refused("x"), scene.silent("b")]).accepted]
    told += tell(engine.publish([scene.publication(1), scene.refused_publication(), scene.publication(3)]))
    told.append(engine.unsubscribe(["b", "nobody"]).accepted)
    told.append(engine.subscribe([scene.matching("b"), scene.matching("c")]).accepted)
    told += tell(engine.publish([scene.refused_publication()]))
    told += tell(engine.publish([scene.publication(6), scene.publication(5)]))
    return told


def tell(found: Notifications) -> list[Any]:
    refused = [
        entry.code for entry in found.rejected
    ]  # an update without seq is named by its row, and Spark's have seqs
    notified = sorted(found, key=lambda each: (each.publication_id or "", each.subscription_id))
    return [notified, refused, found.stats.publications, found.stats.notifications, found.stats.rejected]
