"""The route on Spark tells what the embedded route tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from heliograph import Route
from heliograph.errors import UsageError
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
CHOICES: list[dict[str, Any]] = [{}, {"paths": True}, {"rank": "cost", "limit": 2}, {"subscribers_only": True}]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_the_notifications_are_the_embedded_ones(spark: SparkSession, choice: dict[str, Any]) -> None:
    from heliograph.spark import route

    wanted, refused = expected(Route(NODES, EDGES).publish(table("events", EVENTS), **choice))
    notified, rejected = told(route(frame(spark, "events", EVENTS), NODES, EDGES, **choice))
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
