"""The one protocol that all three engines speak."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, Self

from heliograph.model import Explanation, Notifications, Receipt, Stats


class Engine(Protocol):
    """A matcher of publications against standing interests.

    Items are a single item, an iterable of items or an Arrow table. A single bad item given to `subscribe` or
    `unsubscribe` raises; in a batch it is reported in the receipt and the rest is taken. `publish` never raises
    for a bad item. Engines are thread-safe: publishes run concurrently, each against one version.
    """

    def subscribe(self, items: Any) -> Receipt: ...

    def unsubscribe(self, ids: Any) -> Receipt: ...

    def publish(self, items: Any) -> Notifications: ...

    def explain(self, subscription: str, publication: Any) -> Explanation: ...

    def stats(self) -> Stats: ...

    def save(self, path: str | Path) -> None: ...

    @classmethod
    def load(cls, path: str | Path) -> Self: ...
