"""The watch on Spark tells what the embedded watch tells for the updates in ascending seq."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from heliograph import Watch
from heliograph.errors import UsageError
from tests.spark.compare import expected, frame, table, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES: list[dict[str, Any]] = [
    {"subscription_id": "triangle", "query": "SELECT * { ?x :knows ?y . ?y :knows ?z . ?z :knows ?x }"},
    {"subscription_id": "old", "query": "ASK { ?x :age ?a FILTER(?a > 50) }"},
    {"subscription_id": "many", "query": "SELECT (COUNT(*) AS ?n) WHERE { ?x :knows ?y } HAVING (COUNT(*) >= 20)"},
    {"subscription_id": "now", "query": "SELECT ?x { ?x :age ?a }", "options": '{"initial": true}'},
    *(
        {
            "subscription_id": f"top {who}",
            "query": f"SELECT ?y {{ :v{who} :knows ?y }}",
            "options": '{"top_k_of": {"set": "busy", "k": 2}}',
        }
        for who in range(5)
    ),
]
GRAPH = [("v1", "age", "40"), ("v2", "knows", "v3")]


def drawn(count: int, seed: int = 1) -> list[tuple[Any, ...]]:
    """So many updates among nine vertices, in order."""
    draw = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for seq in range(1, count + 1):
        who, whom = (f"v{draw.randrange(9)}" for _ in "ab")
        if seq % 7 == 0:
            rows.append((seq, "=", who, "age", str(draw.randrange(70))))
        else:
            rows.append((seq, draw.choice("++-"), who, "knows", whom))
    return rows


@pytest.mark.parametrize(
    ("shards", "options"), [(1, {}), (3, {"window_updates": 50, "mode": "change"})], ids=["plain", "window"]
)
def test_a_batch_tells_what_the_embedded_engine_tells(
    spark: SparkSession, shards: int, options: dict[str, Any]
) -> None:
    from heliograph.spark import watch

    rows = [*drawn(300), (301, "?", "a", "knows", "b"), (300, "+", "a", "knows", "b")]
    engine = Watch(**options)
    engine.load_graph(GRAPH)
    receipt = engine.subscribe([*QUERIES, ("bad", "SELECT")])
    wanted, refused = expected(engine.publish(table("updates", sorted(rows))), receipt.rejected)
    updates = frame(spark, "updates", rows)
    notified, rejected = told(watch(updates, [*QUERIES, ("bad", "SELECT")], graph=GRAPH, shards=shards, **options))
    assert notified == wanted
    assert rejected == refused


def test_what_holds_at_the_start_is_told_without_any_update(spark: SparkSession) -> None:
    from heliograph.spark import watch

    updates = frame(spark, "updates", []).drop("seq")
    notified, _ = told(watch(updates, QUERIES[3:4], graph=GRAPH))
    assert [row[:3] for row in notified] == [("now", None, None)]


def test_updates_without_seq_are_taken_in_their_order(spark: SparkSession) -> None:
    from heliograph.spark import watch

    rows = [("+", "a", "knows", "b"), ("-", "a", "knows", "b"), ("+", "c", "age", "60")]
    updates = spark.createDataFrame(rows, "op string, subject string, property string, object string")
    notified, _ = told(watch(updates, [("pair", "SELECT * { ?x :knows ?y }"), ("old", QUERIES[1]["query"])]))
    assert sorted(row[2] + row[4] + row[0] for row in notified) == ["1+pair", "2-pair", "3+old"]


def test_shards_are_a_number(spark: SparkSession) -> None:
    from heliograph.spark import watch

    with pytest.raises(UsageError, match="shards"):
        watch(frame(spark, "updates", drawn(3)), QUERIES, shards=0)
