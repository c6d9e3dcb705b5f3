"""Clearing away what live changes leave behind: the dead, what lies apart, and edges that lead to lower numbers.

The laws: settling changes nothing that is seen but numbers; readers of older versions keep their ledger; events never
wait for it. A new ledger is made from one version while changes go on; they are noted, made again in the new ledger,
the last few of them under the lock, and then it takes the place of the old one.

A rebuild costs what the exchange holds, and comes when changes have touched a share of that: so much per change.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from heliograph.exchange import edge_changes, node_changes
from heliograph.exchange.compiling import edge_expressions, node_expressions
from heliograph.exchange.ledger import Ledger
from heliograph.exchange.rebuilding import Rebuilt, rebuild
from heliograph.exchange.rows import EdgeRows, Expressions, NodeRows
from heliograph.kernels.targeting_layout import Int32s
from heliograph.targeting.store import Targeting

if TYPE_CHECKING:
    from collections.abc import Collection

    from heliograph.exchange.store import Exchange

LEAST = 1024  # changes that are never worth a rebuild
OLD = 1 << 30  # versions of one ledger, after which a rebuild counts from 0 again: arrays hold less than 2**31 - 1
_SHARE = 4  # a rebuild comes when changes are more than this part of what there was at the last one
_SMALL = 4096  # nodes and edges that are rebuilt at once
_FEW = 64  # changes that are made again under the lock


class Settling:
    """The rebuilds of one exchange, one at a time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._running = threading.Lock()
        self._log: list[tuple[str, tuple[Any, ...]]] | None = None  # changes since a rebuild began
        self._thread: threading.Thread | None = None
        self._wear = 0  # of the ledger after the change before

    def note(self, ledger: Ledger, kind: str, *what: Any) -> None:
        """Notes a change of the exchange; the caller holds `writing`."""
        added, self._wear = ledger.wear - self._wear, ledger.wear
        if self._log is not None:
            self._log.append((kind, what))
            return
        least = max(LEAST, ledger.settled // _SHARE)
        if ledger.wear <= least and self._exchange.age < OLD:
            return
        if ledger.size + ledger.edge_count <= _SMALL or 2 * added > least:  # bulk is as much work as the rebuild
            self._run_at_once()
        else:
            self._start()

    def run(self) -> None:
        """Rebuilds now."""
        with self._running:
            self._settle()

    def wait(self) -> None:
        """Waits until no rebuild is running in the background."""
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()

    def _run_at_once(self) -> None:
        """Rebuilds unless another thread does: that one may be waiting for the lock that we hold."""
        if self._running.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._running.release()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self.run, name="heliograph-settle")
            self._thread.start()

    def _settle(self) -> None:
        exchange = self._exchange
        with exchange.writing:
            version = exchange.hold()
            log = self._log = []
        try:
            replay = Replay(rebuild(version), version.targeting)
            done = 0
            while len(log) - done > _FEW:
                done += replay.repeat(log[done:])
            with exchange.writing:
                replay.repeat(log[done:])
                exchange.swap(replay.ledger)
                self._wear, self._log = replay.ledger.wear, None
        finally:
            self._log = None
            exchange.release(version)


class Replay:
    """Changes made again in a new ledger, which nobody reads yet: all in version 0."""

    def __init__(self, rebuilt: Rebuilt, compiled_for: Targeting) -> None:
        self.ledger = rebuilt.ledger
        self._compiled_for = compiled_for
        self._moved = rebuilt.edges
        self._added: dict[int, int] = {}  # the new numbers of edges that came later

    def repeat(self, changes: list[tuple[str, tuple[Any, ...]]]) -> int:
        """Makes the changes; returns how many they were."""
        for kind, what in changes:
            getattr(self, kind)(*what)
        self.ledger.relink(0)
        return len(changes)

    def put_nodes(self, rows: NodeRows, expressions: Int32s) -> None:
        rows = replace(rows, compiled=Expressions(self._compiled_for, expressions))
        expressions = node_expressions(rows, self.ledger.targeting, self.ledger.match)
        node_changes.put_nodes(self.ledger, rows, expressions, 0)

    def put_edges(self, rows: EdgeRows, expressions: Int32s, numbers: Int32s) -> None:
        rows = replace(rows, compiled=Expressions(self._compiled_for, expressions))
        expressions = edge_expressions(rows, self.ledger.targeting)
        new = edge_changes.put_edges(self.ledger, rows, expressions, 0)
        self._added.update(zip(numbers.tolist(), new.tolist(), strict=True))

    def close(self, expressions: list[int]) -> None:
        if self.ledger.targeting is self._compiled_for:  # where it was compiled anew, it fails once more
            self.ledger.close(expressions)

    def drop_nodes(self, ids: Collection[str]) -> None:
        numbers = [self.ledger.ids.find(id) for id in ids]
        edge_changes.drop_nodes(self.ledger, np.unique([number for number in numbers if number >= 0]), 0)

    def drop_edges(self, numbers: Int32s) -> None:
        new = [self._added[edge] if edge in self._added else int(self._moved[edge]) for edge in numbers.tolist()]
        edge_changes.drop_edges(self.ledger, np.array(new, np.int32), 0)
