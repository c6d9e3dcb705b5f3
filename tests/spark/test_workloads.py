"""Generated workloads, their rows scattered over partitions: Spark tells what the embedded engines tell."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from heliograph import Filter, Route, Watch
from heliograph.workloads.filter import generate_filter
from heliograph.workloads.route import generate_route
from heliograph.workloads.watch import generate_watch
from tests.cli.files import EDGES, NODES
from tests.filter.schemes import SCHEMES
from tests.spark.compare import expected, frame, table, told
from tests.spark.odd import ODD_CELLS, ODD_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.long
SEEDS = (2, 7)
MANY = {"shards": 40, "partition": "hash"}  # more shards than subscriptions


def scattered(spark: SparkSession, rows: pa.Table, seed: int) -> DataFrame:
    places = list(range(len(rows)))
    random.Random(seed).shuffle(places)
    return spark.createDataFrame(rows.take(pa.array(places, pa.int64()))).repartition(5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scheme", [None, *SCHEMES])
def test_filter(spark: SparkSession, scheme: str | None, seed: int) -> None:
    from heliograph.spark import filter

    tables = generate_filter(seed, subscriptions=300, publications=60)
    interests: dict[str, Any] = {name: tables[name] for name in ("patterns", "constraints")}
    engine, division = Filter(), dict[str, Any](SCHEMES.get(scheme or "", {}))
    engine.subscribe(**interests)
    wanted = expected(engine.publish(tables["publications"], bindings=3))
    found = filter(scattered(spark, tables["publications"], seed), bindings=3, **interests, **division)
    assert told(found) == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_route(spark: SparkSession, seed: int) -> None:
    from heliograph.spark import route

    tables = generate_route(seed, scale=0.01, events=60)
    wanted = expected(Route(tables["nodes"], tables["edges"]).publish(tables["events"], paths=True))
    exchange = [spark.createDataFrame(tables[name]) for name in ("nodes", "edges")]
    assert told(route(scattered(spark, tables["events"], seed), *exchange, paths=True)) == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_watch(spark: SparkSession, seed: int) -> None:
    from heliograph.spark import watch

    tables = generate_watch(seed, queries=60, updates=400)
    engine = Watch()
    engine.subscribe(tables["subscriptions"])
    wanted = expected(engine.publish(tables["updates"]))
    updates = scattered(spark, tables["updates"], seed)
    assert told(watch(updates, spark.createDataFrame(tables["subscriptions"]), shards=3)) == wanted


@pytest.mark.parametrize("division", [{}, MANY], ids=["whole", "many shards"])
def test_odd_cells_of_publications(spark: SparkSession, division: dict[str, Any]) -> None:
    from heliograph.spark import filter

    queries = [("all", "SELECT * { ?x ?y ?z }"), ("known", "ASK { ?x :knows :o }"), ("bad", "ASK")]
    usual = ("s", "knows", "o")
    rows = [
        (f"{number} {place}", *usual[:place], cell, *usual[place + 1 :])
        for number, cell in enumerate(ODD_CELLS)
        for place in range(3)
    ]
    engine = Filter()
    receipt = engine.subscribe(queries)
    wanted = expected(engine.publish(table("publications", rows), bindings=1), receipt.rejected)
    assert told(filter(frame(spark, "publications", rows), queries, bindings=1, **division)) == wanted


def test_odd_events(spark: SparkSession) -> None:
    from heliograph.spark import route

    named = [event for event in ODD_EVENTS if event[0]]
    wanted = expected(Route(NODES, EDGES).publish(table("events", named)))
    assert told(route(frame(spark, "events", named), NODES, EDGES)) == wanted


@pytest.mark.parametrize("shards", [1, 3])
def test_odd_cells_of_updates(spark: SparkSession, shards: int) -> None:
    from heliograph.spark import watch

    queries = [("all", "SELECT * { ?x :knows ?y }"), ("one", "ASK { :s :knows :o }"), ("bad", "ASK")]
    usual = ("+", "s", "knows", "o")
    cells = [(*usual[:place], cell, *usual[place + 1 :]) for cell in ODD_CELLS for place in range(4)]
    rows = [(seq, *cell) for seq, cell in enumerate(cells, 1)]
    engine = Watch()
    receipt = engine.subscribe(queries)
    wanted = expected(engine.publish(table("updates", rows)), receipt.rejected)
    assert told(watch(frame(spark, "updates", rows), queries, shards=shards)) == wanted
