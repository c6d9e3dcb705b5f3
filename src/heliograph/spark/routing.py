"""`heliograph.spark.route`: events through an exchange that every worker has open.

The laws: events are independent, so they are spread over the workers; an event_id that comes twice in a batch or
micro-batch is refused the second time. With shares every event goes to all of them, and each tells what is its own; see
`heliograph.route.sharing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.model import Notifications
from heliograph.route import Route
from heliograph.route.options import Choices, Options
from heliograph.route.sharing import Share
from heliograph.spark.events import event_rows, parts_of, taken
from heliograph.spark.exchanges import Exchanges, share_path
from heliograph.spark.frames import check_frame, measured, parted, plain, refusals
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
    shards: int | None


def route(events: DataFrame, nodes: Any, edges: Any = None, **options: Unpack[RouteOptions]) -> DataFrame:
    """Which nodes each event reaches: a DataFrame (event_id, publisher, attributes) in, notifications out.

    `nodes` and `edges` are DataFrames, tables or items; or `nodes` alone is a folder of versions, or `Exchanges`.
    Options are those of `Route.publish`, `match`, `shards`, among which subscribers are divided, and `folder`, where
    workers find the exchange.
    """
    check_frame(events, "events")
    given: dict[str, Any] = dict(options)
    match, folder, shards = (given.pop(name, None) for name in ("match", "folder", "shards"))
    chosen = Options(**given)  # what is wrong with them is told here, not by a worker
    exchanges = Exchanges.of(nodes, edges, match=match, folder=folder, shards=shards)
    if exchanges.shards > 1 and chosen.limit is not None:
        raise UsageError("HG-085", "a limit with shards, each of which knows a part", fix="leave out limit, or shards")
    parts = parts_of(events, exchanges.shards)
    rows = event_rows(events, parts, exchanges.shards)
    task = Task(exchanges.pointer(events.isStreaming), given, exchanges.shards, parts)
    return finished(rows, partial(route_all, task), exchanges.rejected)


class Task(NamedTuple):
    """What a task must know."""

    pointer: Pointer
    options: dict[str, Any]
    shares: int
    parts: int  # of the events, for each share


def route_all(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of a task through the exchange, or through one share of it, in a worker."""
    came = taken(batches)
    if came is None:
        return
    share = came[0] // task.parts
    rows, rejected = parted(came[1])
    yield from refusals(rejected) if rejected and share == 0 else ()
    table = plain(rows)
    if table.num_rows:
        publish = open_route(task.pointer.path(), share, task.shares)
        for first in _starts(table):
            yield from measured(publish(table.slice(first, _TOGETHER), **task.options))


def _starts(table: pa.Table) -> range:
    """Where to cut; a table with an id that comes twice stays whole, so that the second is noticed."""
    unique = len(table["event_id"].unique()) == table.num_rows
    return range(0, table.num_rows, _TOGETHER if unique else table.num_rows)


def open_route(path: Path, share: int, shares: int) -> Callable[..., Notifications]:
    """What publishes to a share of an exchange; mapped by the first task of a worker that asks, and kept."""
    if shares == 1:
        return opened(("route", path), lambda: Route.load(path)).publish
    return opened(("route", path, share, shares), lambda: _load_share(path, share, shares)).publish


def _load_share(path: Path, share: int, shares: int) -> Share:
    return Share.of(Route.load(share_path(path, share, shares)), share, shares)
