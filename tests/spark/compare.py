"""What Spark reported beside what an embedded engine reports, as sets of plain rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from heliograph import Filter, Route, Watch
from heliograph.model import NOTIFICATIONS_SCHEMA, Notifications, Rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Counter[tuple[Any, ...]]

COLUMNS = {
    "publications": ("publication_id", "subject", "property", "object"),
    "updates": ("seq", "op", "subject", "property", "object"),
    "events": ("event_id", "publisher", "attributes"),
}


def table(name: str, rows: Sequence[Sequence[Any]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS[name], row, strict=True)) for row in rows])


def frame(spark: SparkSession, name: str, rows: Sequence[Sequence[Any]], parts: int = 3) -> DataFrame:
    """The rows as a DataFrame, scattered over partitions."""
    types = {"seq": "bigint"}
    schema = ", ".join(f"{column} {types.get(column, 'string')}" for column in COLUMNS[name])
    return spark.createDataFrame(list(map(tuple, rows)), schema).repartition(parts)


def told(frame: DataFrame) -> tuple[Rows, Rows]:
    """Notifications and refusals of a DataFrame that a verb returned."""
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    assert all((row["rejected"] is None) is not (row["subscription_id"] is None) for row in rows)
    notified = Counter(tuple(row.values())[: len(NOTIFICATIONS_SCHEMA)] for row in rows if row["rejected"] is None)
    refused = [row["rejected"] for row in rows if row["rejected"] is not None]
    return notified, Counter((entry["item"], entry["code"], entry["message"]) for entry in refused)


def expected(found: Notifications, *more: Iterable[Rejected]) -> tuple[Rows, Rows]:
    """What an embedded engine reported, in the same form. Spark's refusals name no rows, since a DataFrame has none."""
    notified = Counter(tuple(row.values()) for row in found.table.to_pylist())
    refused = [entry for entries in (found.rejected, *more) for entry in entries]
    return notified, Counter(map(named, refused))


def named(entry: Rejected) -> tuple[Any, ...]:
    is_nameless = entry.code == "HG-503" or entry.message.startswith(("no publication_id", "an event without event_id"))
    return None if is_nameless else entry.item, entry.code, unnumbered(entry.message)


def unnumbered(message: str) -> str:
    return re.sub(r" in row \d+| \(item \d+\)", "", message)


# --- one call for each verb ---------------------------------------------------------------------------------------


def embedded(verb: str, items: Any, interests: Any, options: dict[str, Any]) -> tuple[Rows, Rows]:
    """What an embedded engine reports. `interests` are those of `on_spark`, `options` as well, without shards."""
    given = dict(options)
    if verb == "route":
        return expected(Route(*interests).publish(items, **given))
    if verb == "filter":
        engine: Any = Filter(given.pop("taxonomy", None))
    else:
        graph = given.pop("graph", None)
        engine, given = Watch(**given), {}
        engine.load_graph(graph or [])
    receipt = engine.subscribe(**interests) if isinstance(interests, dict) else engine.subscribe(interests)
    return expected(engine.publish(items, **given), receipt.rejected)


def on_spark(verb: str, items: DataFrame, interests: Any, options: dict[str, Any]) -> tuple[Rows, Rows]:
    """What Spark reports of nodes and edges, of subscriptions, or of tables of them by name."""
    import heliograph.spark

    run = getattr(heliograph.spark, verb)
    if isinstance(interests, dict):
        return told(run(items, **interests, **options))
    return told(run(items, *(interests if verb == "route" else [interests]), **options))
