"""The route on Spark tells what the embedded route tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heliograph import Route
from heliograph.errors import UsageError
from heliograph.spark.route_job import Exchanges
from tests.cli.files import EDGES, NODES
from tests.spark.compare import expected, frame, table, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = [
    *((f"e{age}", "Pub", f'{{"topic": "{topic}", "age": {age}}}') for age, topic in enumerate(["Sports", "Arts"] * 30)),
    ("unknown", "Nobody", "{}"),
    ("no publisher", None, "{}"),
    ("no object", "Pub", "[1]"),
]
CHOICES: list[tuple[dict[str, Any], int | None]] = [
    ({}, None),
    ({"rank": "cost", "limit": 2}, None),
    ({"paths": True}, 3),
    ({"subscribers_only": True}, 2),
]


@pytest.mark.parametrize(("choice", "shards"), CHOICES, ids=str)
def test_the_notifications_are_the_embedded_ones(
    spark: SparkSession, choice: dict[str, Any], shards: int | None
) -> None:
    from heliograph.spark import route

    wanted, refused = expected(Route(NODES, EDGES).publish(table("events", EVENTS), **choice))
    notified, rejected = told(route(frame(spark, "events", EVENTS), NODES, EDGES, shards=shards, **choice))
    assert notified == wanted
    assert rejected == refused


def test_an_event_that_comes_twice_is_refused_once(spark: SparkSession) -> None:
    from heliograph.spark import route

    rows = [("e", "Pub", "{}"), ("e", "Pub", "{}"), ("f", "Pub", "{}")]
    notified, rejected = told(route(frame(spark, "events", rows), NODES, EDGES))
    assert {row[2] for row in notified} == {"e", "f"}
    assert [(item, code) for item, code, _ in rejected] == [("e", "HG-641")]


def test_the_exchange_comes_as_dataframes_and_what_is_refused_of_it_is_told(spark: SparkSession) -> None:
    from heliograph.spark import route

    nodes = spark.createDataFrame([("Pub", None), ("Bad", "age >")], "node_id string, targeting string")
    edges = spark.createDataFrame([("Pub", "Ad2")], "source string, target string")
    notified, rejected = told(route(frame(spark, "events", [("e", "Pub", "{}")]), nodes, edges))
    assert [row[0] for row in notified] == ["Ad2"]
    assert [(item, code[:4]) for item, code, _ in rejected] == [("Bad", "HG-4")]


def test_wrong_options_are_told_at_once(spark: SparkSession) -> None:
    from heliograph.spark import route

    with pytest.raises(UsageError, match="limit"):
        route(frame(spark, "events", [("e", "Pub", "{}")]), NODES, EDGES, limit=-1)
    with pytest.raises(UsageError, match="shards is 0"):
        route(frame(spark, "events", [("e", "Pub", "{}")]), NODES, EDGES, shards=0)
    with pytest.raises(UsageError, match="a limit with shards"):
        route(frame(spark, "events", [("e", "Pub", "{}")]), NODES, EDGES, shards=2, limit=1)


def test_a_folder_of_versions_is_divided_when_that_is_wanted(tmp_path: Path) -> None:
    first = Exchanges(tmp_path, NODES, EDGES)
    assert first.versions.numbers() == [1]
    assert Exchanges(tmp_path, shards=2).versions.numbers() == [1, 2]
    assert Exchanges(tmp_path, shards=2).versions.numbers() == [1, 2]
    assert sorted(path.name for path in tmp_path.glob("*-share-*")) == [
        "version-00000002-share-0-of-2",
        "version-00000002-share-1-of-2",
    ]
