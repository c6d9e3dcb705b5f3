"""The exchange of a route as versions in a folder: saved by the driver, compiled, and mapped by each worker.

Each change writes a version; a stream that runs takes it up with its next micro-batch. With shards a version is written
whole, for whoever goes on from it, and in shares, which lie beside it and are there before it is.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Self

from heliograph.errors import UsageError
from heliograph.model import Receipt, Rejections
from heliograph.partition.scheme import MOST_SHARDS
from heliograph.route import Route
from heliograph.route.saving import save_exchange
from heliograph.route.sharing import share_of
from heliograph.spark.frames import collected
from heliograph.spark.scratch import own_folder
from heliograph.spark.versions import Pointer, Versions
from heliograph.storage import is_save


class Exchanges:
    """The versions of an exchange. A folder that holds some already goes on from the latest.

    `shards` divides the nodes without outgoing edges; see `heliograph.route.sharing`.
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
