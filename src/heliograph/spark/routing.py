"""`heliograph.spark.route`: events through an exchange that every worker has open.

The laws: events are independent, so they are spread over the workers as they come; an event_id that comes twice in a
batch or micro-batch is refused the second time, so events with one id meet in one task.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import pyarrow as pa

from heliograph.route import Route
from heliograph.route.options import Choices, Options
from heliograph.spark.exchanges import Exchanges
from heliograph.spark.frames import gathered, measured, parted, plain, refusals, shaped
from heliograph.spark.metrics import finished
from heliograph.spark.versions import Pointer
from heliograph.spark.workers import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOGETHER = 4096  # events routed in one call


class RouteOptions(Choices, total=False):
    """What `route` takes beside events and exchange."""

    match: str | None
    folder: str | None


def route(events: DataFrame, nodes: Any, edges: Any = None, **options: Unpack[RouteOptions]) -> DataFrame:
    """Which nodes each event reaches: a DataFrame (event_id, publisher, attributes) in, notifications out.

    `nodes` and `edges` are DataFrames, tables or items; or `nodes` alone is a folder of versions, or `Exchanges`.
    Options are those of `Route.publish`, `match`, and `folder`, where workers find the exchange.
    """
    given: dict[str, Any] = dict(options)
    match, folder = given.pop("match", None), given.pop("folder", None)
    Options(**given)  # what is wrong with them is told here, not by a worker
    exchanges = Exchanges.of(nodes, edges, match, folder)
    task = Task(exchanges.pointer(events.isStreaming), given)
    rows = shaped(events, "events").repartition("event_id")
    return finished(rows, partial(route_all, task), exchanges.rejected)


class Task(NamedTuple):
    """What a task must know."""

    pointer: Pointer
    options: dict[str, Any]


def route_all(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of a task through the exchange, in a worker."""
    rows, rejected = parted(gathered(batches, "events"))
    yield from refusals(rejected) if rejected else ()
    table = plain(rows)
    if table.num_rows:
        engine = open_route(task.pointer.path())
        for first in _starts(table):
            yield from measured(engine.publish(table.slice(first, _TOGETHER), **task.options))


def _starts(table: pa.Table) -> range:
    """Where to cut; a table with an id that comes twice stays whole, so that the second is noticed."""
    unique = len(table["event_id"].unique()) == table.num_rows
    return range(0, table.num_rows, _TOGETHER if unique else table.num_rows)


def open_route(path: Path) -> Route:
    return opened(("route", path), lambda: Route.load(path))
