"""`heliograph.spark.route`: events through an exchange that every worker has open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.model import Notifications, Receipt, Rejections
from heliograph.partition.plan import MOST_SHARDS
from heliograph.route import Route
from heliograph.route.save import save_exchange
from heliograph.route.shares import Share, share_of
from heliograph.route.strategy import Choices, Options
from heliograph.spark.frames import check_frame, collected, finished, measured, parted, plain, refusals
from heliograph.spark.inputs import event_rows, parts_of, taken
from heliograph.spark.versions import Pointer, Versions, opened, own_folder
from heliograph.storage import is_save

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# ----------------------------------------------------------------------------------------------------------------------
# The exchange of a route as versions in a folder: saved by the driver, compiled, and mapped by each worker.
#
# Each change writes a version; a stream that runs takes it up with its next micro-batch. With shards a version is
# written whole, for whoever goes on from it, and in shares, which lie beside it and are there before it is.
# ----------------------------------------------------------------------------------------------------------------------


class Exchanges:
    """The versions of an exchange. A folder that holds some already goes on from the latest.

    `shards` divides the nodes without outgoing edges; see `heliograph.route.shares`.
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
        self.versions, self.shards = Versions.at(folder), _checked(shards)
        self._lock = threading.Lock()
        numbers = self.versions.numbers()
        self._engine = Route.load(self.versions.path(numbers[-1])) if numbers else Route(match=match)
        self.rejected = Rejections()
        """What was refused of nodes and edges so far."""
        if nodes is not None or edges is not None or not numbers:
            self.change(nodes=nodes, edges=edges)
        elif not self._is_divided(numbers[-1]):
            self.versions.add(self._save)

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
            self.rejected += rejected
            self.versions.add(self._save)
        return Receipt(sum(receipt.accepted for receipt in receipts), rejected)

    def pointer(self, streaming: bool) -> Pointer:
        """What tells a task which version to open: a stream follows the versions, a batch has one."""
        return Pointer(self.versions, None if streaming else self.versions.latest())

    def _is_divided(self, number: int) -> bool:
        """Whether a version has the shares that are wanted."""
        path = self.versions.path(number)
        return self.shards == 1 or all(is_save(share_path(path, n, self.shards)) for n in range(self.shards))

    def _save(self, path: Path) -> None:
        with self._engine.reading() as version:
            for number in range(self.shards if self.shards > 1 else 0):
                with share_of(version, number, self.shards).reading() as share:
                    save_exchange(share_path(path, number, self.shards), share)
            save_exchange(path, version)


def share_path(path: Path, number: int, shares: int) -> Path:
    """Where one of so many shares of a version lies."""
    return path.with_name(f"{path.name}-share-{number}-of-{shares}")


def _checked(shards: int | None) -> int:
    if shards is not None and (
        isinstance(shards, bool) or not isinstance(shards, int) or not 0 < shards <= MOST_SHARDS
    ):
        raise UsageError("HG-051", f"shards is {shards!r}", fix=f"give how many, from 1 to {MOST_SHARDS}")
    return shards or 1


# ----------------------------------------------------------------------------------------------------------------------
# `heliograph.spark.route`: events through an exchange that every worker has open.
#
# The laws: events are independent, so they are spread over the workers; an event_id that comes twice in a batch or
# micro-batch is refused the second time. With shares every event goes to all of them, and each tells what is its own;
# see `heliograph.route.sharing`.
# ----------------------------------------------------------------------------------------------------------------------

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
