"""The contract of the engines holds in streams on Spark: every publish is a micro-batch there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.engine import Explains, ExplainsItsOwn, RefusesDuplicates, Replaces, Saves, Scene
from tests.spark.scenes import AsEmbedded, FilterOnSpark, OnSpark, RouteOnSpark, WatchOnSpark, small
from tests.spark.stream_engines import StreamEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["small"]
pytestmark = pytest.mark.long


def until_done(scene: OnSpark) -> Iterator[Scene]:
    """A scene whose streams are stopped when it is over."""
    yield scene
    for engine in scene.made:
        engine.stop()


class TestFilter(AsEmbedded, RefusesDuplicates, ExplainsItsOwn, Saves):
    @pytest.fixture(params=[{}, {"shards": 2, "partition": "hash"}], ids=["whole", "shards"])
    def scene(self, small: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
        make = FilterOnSpark(lambda verb, place: StreamEngine(small, verb, place), tmp_path, **request.param)
        yield from until_done(make)


class TestRoute(AsEmbedded, Replaces, Explains, Saves):
    @pytest.fixture
    def scene(self, small: SparkSession, tmp_path: Path) -> Iterator[Scene]:
        yield from until_done(RouteOnSpark(lambda verb, place: StreamEngine(small, verb, place), tmp_path))


class TestWatch(AsEmbedded, RefusesDuplicates, Saves):
    @pytest.fixture
    def scene(self, small: SparkSession, tmp_path: Path) -> Iterator[Scene]:
        yield from until_done(WatchOnSpark(lambda verb, place: StreamEngine(small, verb, place), tmp_path, shards=2))
