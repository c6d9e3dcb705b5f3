"""Cells of any type mean on Spark what they mean to the embedded engines."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from heliograph import Filter
from heliograph.spark.frames import parted, spell_rows
from tests.cli.files import EDGES, NODES
from tests.spark.compare import embedded, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 600_000)
CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "doubles": (pa.float64(), [5.0, 1e300, float("nan"), float("inf"), -0.0, 0.1, 1e7, None]),
    "floats": (pa.float32(), [0.1, 5.5, None]),
    "whole numbers": (pa.int8(), [5, -3, None]),
    "decimals": (pa.decimal128(10, 2), [Decimal("1.50"), None]),
    "truth values": (pa.bool_(), [True, False, None]),
    "dates": (pa.date32(), [date(2026, 1, 2), date(1, 1, 1), None]),
    "times": (pa.timestamp("us", tz="UTC"), [MOMENT.replace(tzinfo=UTC), None]),
    "times without zone": (pa.timestamp("us"), [MOMENT, None]),
    "lists": (pa.list_(pa.string()), [["a"], [], None]),
    "structs": (pa.struct([("a", pa.string())]), [{"a": "x"}, None]),
}
QUERIES = [("all", "SELECT ?z { ?x :age ?z }"), ("more", "ASK { ?x :age ?a FILTER(?a > 5) }")]


def publications(kind: str) -> pa.Table:
    """A publication for each cell of a kind."""
    type, cells = CELLS[kind]
    rows = {"publication_id": [f"p{number}" for number in range(len(cells))], "object": pa.array(cells, type)}
    return pa.table({**rows, "subject": ["s"] * len(cells), "property": ["age"] * len(cells)})


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", sorted(CELLS.keys() - {"times without zone"})
)  # which Spark gives the zone of its session
def test_objects_of_publications(spark: SparkSession, kind: str) -> None:
    given: tuple[Any, ...] = (QUERIES, {"bindings": 1})
    found = on_spark("filter", spark.createDataFrame(publications(kind)), *given)
    assert found == embedded("filter", publications(kind), *given)


def test_attributes_that_are_structs(spark: SparkSession) -> None:
    type = pa.struct([("topic", pa.string()), ("age", pa.float64())])
    attributes = pa.array([{"topic": "Sports", "age": 35.0}, {"topic": "Sports", "age": 20.0}, None], type)
    table = pa.table({"event_id": ["a", "b", "c"], "publisher": ["Pub"] * 3, "attributes": attributes})
    wanted = embedded("route", table, (NODES, EDGES), {})
    assert on_spark("route", spark.createDataFrame(table), (NODES, EDGES), {}) == wanted
    assert len(wanted[0]) == 5


@pytest.mark.long
def test_updates_with_seqs_that_are_doubles_and_times_that_are_dates(spark: SparkSession) -> None:
    whole = {"op": ["+"] * 3, "subject": ["a"] * 3, "property": ["age"] * 3, "object": pa.array([5.0, 6.0, 7.0])}
    table = pa.table({"seq": [1.0, 2.0, 3.0], **whole, "at": pa.array([date(2026, 1, day) for day in (1, 2, 3)])})
    assert on_spark("watch", spark.createDataFrame(table), QUERIES, {}) == embedded("watch", table, QUERIES, {})


@pytest.mark.parametrize("kind", CELLS)
def test_rows_are_read_or_refused_as_the_embedded_reader_does(kind: str) -> None:
    """In the worker alone, so that it needs no Java."""
    table = publications(kind)
    rows, refused = parted(pa.Table.from_batches(list(spell_rows("publications", table.to_batches()))))
    engine = Filter()
    engine.subscribe(QUERIES)
    direct, read = engine.publish(table, bindings=1), engine.publish(rows, bindings=1)
    assert list(read) == list(direct)
    assert len(read.rejected) + len(refused) == len(direct.rejected)
