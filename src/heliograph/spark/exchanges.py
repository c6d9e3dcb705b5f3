"""The exchange of a route as versions in a folder: saved by the driver, opened once by each worker.

Each change writes a version; a stream that runs takes it up with its next micro-batch.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Self

from heliograph.model import Receipt, Rejections
from heliograph.route import Route
from heliograph.spark.frames import collected
from heliograph.spark.scratch import storage_folder
from heliograph.spark.versions import Pointer, Versions


class Exchanges:
    """The versions of an exchange. A folder that holds some already goes on from the latest."""

    def __init__(self, folder: str | Path, nodes: Any = None, edges: Any = None, *, match: str | None = None) -> None:
        self.versions = Versions.at(folder)
        self._lock = threading.Lock()
        numbers = self.versions.numbers()
        self._engine = Route.load(self.versions.path(numbers[-1])) if numbers else Route(match=match)
        self.rejected = Rejections()
        """What was refused of nodes and edges so far."""
        if nodes is not None or edges is not None or not numbers:
            self.change(nodes=nodes, edges=edges)

    @classmethod
    def of(cls, nodes: Any, edges: Any, match: str | None, folder: str | None) -> Self:
        """Exchanges as they are given, or new ones of these nodes and edges."""
        if isinstance(nodes, cls):
            return nodes
        if isinstance(nodes, (str, Path)) and edges is None:
            return cls(nodes)
        return cls(storage_folder(folder, "route"), nodes, edges, match=match)

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
            self.versions.add(self._engine.save)
        return Receipt(sum(receipt.accepted for receipt in receipts), rejected)

    def pointer(self, streaming: bool) -> Pointer:
        """What tells a task which version to open: a stream follows the versions, a batch has one."""
        return Pointer(self.versions, None if streaming else self.versions.latest())
