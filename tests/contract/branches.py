"""A route as an engine of the protocol: whoever subscribes is a node below the one publisher, by an edge of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from heliograph import Route
from heliograph.model import Explanation, Notifications, Receipt, Stats

PUBLISHER = "Pub"


def branches(items: Any) -> list[tuple[str, str]]:
    """The edges of nodes (id, targeting), one or several."""
    return [(PUBLISHER, id) for id, _ in ([items] if isinstance(items, tuple) else items)]


class Branches:
    """A route whose nodes all stand below one publisher, which is no subscriber itself."""

    def __init__(self, engine: Route | None = None) -> None:
        self.engine = engine or Route([(PUBLISHER, None)])

    def subscribe(self, items: Any) -> Receipt:
        receipt = self.engine.add_nodes(items)
        self.engine.add_edges(branches(items))  # one to a refused node leads nowhere: such a node accepts nothing
        return receipt

    def unsubscribe(self, ids: Any) -> Receipt:
        return self.engine.remove_nodes(ids)

    def publish(self, items: Any) -> Notifications:
        return self.engine.publish(items)

    def explain(self, subscription: str, publication: Any) -> Explanation:
        return self.engine.explain(subscription, publication)

    def stats(self) -> Stats:
        total = self.engine.stats()
        return replace(total, subscriptions=total.subscriptions - 1)

    def save(self, path: str | Path) -> None:
        self.engine.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        return cls(Route.load(path))
