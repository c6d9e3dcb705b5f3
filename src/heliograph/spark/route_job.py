"""`heliograph.spark.route`: events through an exchange that every worker has open.

The driver compiles the exchange and saves versions of it; each worker maps them. The path of an event: it goes to the
part that its id names → the task of that part routes it → its notifications are written or returned. With shards the
nodes without outgoing edges are divided among shares; every event goes to all shares, and each reports what is its own
(see `heliograph.route.engine`).

The laws: events are independent, so they are spread over the workers; an event_id that comes twice in a batch or
micro-batch is refused the second time. A version with shares is written whole, to go on from, and in shares, which lie
beside it and are there before it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.model import Notifications, Receipt, Rejections
from heliograph.route import Route
from heliograph.route.engine import Share, share_of
from heliograph.route.save import save_exchange
from heliograph.route.strategy import Choices, RouteOptions
from heliograph.spark.envelope import event_rows, task_count, unpack
from heliograph.spark.frames import check_frame, collected, finished, measured, parted, plain, refusals
from heliograph.spark.versions import Pointer, VersionedInterests, Versions, check_shards, opened, own_folder
from heliograph.storage import is_save

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOGETHER = 4096  # events routed in one call


class Exchanges(VersionedInterests):
    """The versions of an exchange. A folder that holds some already goes on from the latest.

    `shards` divides the nodes without outgoing edges; see `heliograph.route.engine`. `rejected` is what was refused of
    nodes and edges so far.
    """

    def __init__(
        self,
        folder: str | Path,
        nodes: Any = None,
        edges: Any = None,
        *,
        match: str | None = None,
        shards: int | None = None,
    ) -> None:
        super().__init__(folder)
        self.shards = check_shards(shards)
        numbers = self.versions.numbers()
        self._engine = Route.load(self.versions.path(numbers[-1])) if numbers else Route(match=match)
        if nodes is not None or edges is not None or not numbers:
            self.change(nodes=nodes, edges=edges)
        elif not all(map(is_save, self._share_paths(self.versions.path(numbers[-1])))):
            self._write()

    @classmethod
    def of(cls, nodes: Any, edges: Any, *, match: str | None, folder: str | None, shards: int | None) -> Self:
        """Exchanges as they are given, or new ones of these nodes and edges."""
        if isinstance(nodes, cls):
            return nodes
        if nodes is None and edges is None:
            fix = "give nodes and edges, a folder of versions, or Exchanges"
            raise UsageError("HG-088", "a route without an exchange", fix=fix)
        if isinstance(nodes, (str, Path)) and edges is None and not Path(nodes).is_file():
            Versions.at(nodes).latest()  # a folder without any is refused, not filled
            return cls(nodes, shards=shards)
        return cls(own_folder(folder, "route"), nodes, edges, match=match, shards=shards)

    @property
    def size(self) -> int:
        """How many nodes there are now."""
        return self._engine.stats().subscriptions

    def change(
        self, *, nodes: Any = None, edges: Any = None, without_nodes: Any = None, without_edges: Any = None
    ) -> Receipt:
        """Removes and adds (or replaces) nodes and edges, and writes one version with all of it."""
        steps = (
            (self._engine.remove_edges, without_edges),
            (self._engine.remove_nodes, without_nodes),
            (self._engine.add_nodes, collected(nodes, "nodes")),
            (self._engine.add_edges, collected(edges, "edges")),
        )
        with self._lock:
            receipts = [step(items) for step, items in steps if items is not None]
            rejected = Rejections(entry for receipt in receipts for entry in receipt.rejected)
            return self._changed(Receipt(sum(receipt.accepted for receipt in receipts), rejected))

    def _write(self) -> None:
        self.versions.add(self._save)

    def _save(self, path: Path) -> None:
        with self._engine.reading() as version:
            for number, place in enumerate(self._share_paths(path)):
                with share_of(version, number, self.shards).reading() as share:
                    save_exchange(place, share)
            save_exchange(path, version)

    def _share_paths(self, path: Path) -> list[Path]:
        return [_share_path(path, n, self.shards) for n in range(self.shards)] if self.shards > 1 else []


def _share_path(path: Path, number: int, shares: int) -> Path:
    """Where one of so many shares of a version lies."""
    return path.with_name(f"{path.name}-share-{number}-of-{shares}")


class SparkRouteOptions(Choices, total=False):
    """What `route` takes beside events and exchange."""

    match: str | None
    folder: str | None
    shards: int | None


def route(events: DataFrame, nodes: Any, edges: Any = None, **options: Unpack[SparkRouteOptions]) -> DataFrame:
    """Which nodes each event reaches: a DataFrame (event_id, publisher, attributes) in, notifications out.

    `nodes` and `edges` are DataFrames, tables or items; or `nodes` alone is a folder of versions, or `Exchanges`.
    Options are those of `Route.publish`, `match`, `shards`, among which subscribers are divided, and `folder`, where
    workers find the exchange.
    """
    check_frame(events, "events")
    given: dict[str, Any] = dict(options)
    match, folder, shards = (given.pop(name, None) for name in ("match", "folder", "shards"))
    chosen = RouteOptions(**given)  # what is wrong with them is reported here, not by a worker
    exchanges = Exchanges.of(nodes, edges, match=match, folder=folder, shards=shards)
    shares = exchanges.shards
    if shares > 1 and chosen.limit is not None:
        raise UsageError("HG-085", "a limit with shards, each of which knows a part", fix="leave out limit, or shards")
    parts = max(1, task_count(events) // shares)  # parts and shares together are as many tasks as a shuffle has
    task = RouteTask(exchanges.pointer(events.isStreaming), given, shares, parts)
    return finished(event_rows(events, parts, shares), partial(route_all, task), exchanges.rejected)


# --- in the workers -----------------------------------------------------------------------------------------------


class RouteTask(NamedTuple):
    """What a task must know."""

    pointer: Pointer
    options: dict[str, Any]
    shares: int
    parts: int  # of the events, for each share


def route_all(task: RouteTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of a task through the exchange, or through one share of it."""
    envelopes = list(unpack(batches))
    if not envelopes:
        return
    share = envelopes[0].shard // task.parts
    rows, rejected = parted(pa.concat_tables([envelope.table for envelope in envelopes]))
    if share == 0:
        yield from refusals(rejected)
    table = plain(rows)
    if not table.num_rows:
        return
    publish = _open_exchange(task.pointer.path(), share, task.shares)
    # A table with an id that comes twice stays whole, so that the second is noticed.
    is_unique = len(table["event_id"].unique()) == table.num_rows
    for first in range(0, table.num_rows, _TOGETHER if is_unique else table.num_rows):
        yield from measured(publish(table.slice(first, _TOGETHER if is_unique else None), **task.options))


def _open_exchange(path: Path, share: int, shares: int) -> Callable[..., Notifications]:
    """What publishes to a share of an exchange; mapped by the first task of a worker that asks, and kept."""
    if shares == 1:
        return opened(("route", path), lambda: Route.load(path)).publish

    def load() -> Share:
        return Share.of(Route.load(_share_path(path, share, shares)), share, shares)

    return opened(("route", path, share, shares), load).publish
