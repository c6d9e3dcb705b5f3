"""An exchange as dicts of Python lambdas that live changes are made to: the obvious twin of the engine under change."""

from __future__ import annotations

from typing import Any

from benchmarks.filter_workloads import Tables
from benchmarks.route_walks import Test, compiled, texts

Attributes = dict[str, Any]


class Model:
    """Which nodes there are and what they accept, and which edges lead where."""

    def __init__(self, tables: Tables) -> None:
        nodes, edges = tables["nodes"], tables["edges"]
        targeting = zip(texts(nodes, "node_id"), nodes["targeting"].to_pylist(), strict=True)
        self.tests: dict[str, Test] = {id: made(text) for id, text in targeting}
        self.out: dict[str, dict[str, Test]] = {}
        self.into: dict[str, dict[str, None]] = {}
        for source, target in zip(texts(edges, "source"), texts(edges, "target"), strict=True):
            self._link(source, target, None)

    def apply(self, call: str, item: Any) -> None:
        """Does what this call of the engine does."""
        if call == "add_nodes":
            self.tests[item["node_id"]] = made(item["targeting"])
        elif call == "add_edges":
            self._link(item["source"], item["target"], item.get("targeting"))
        elif call == "remove_edges":
            self._unlink(item["source"], item["target"])
        else:
            self._drop(item)

    def walk(self, start: str, attributes: Attributes) -> set[str]:
        """Every node that an event reaches."""
        met = [start]
        tested: dict[str, bool] = {}
        for node in met:
            for target, accepts in self.out.get(node, {}).items():
                if target not in tested and accepts(attributes):
                    tested[target] = self.tests[target](attributes)
                    if tested[target]:
                        met.append(target)
        return set(met[1:])

    def _link(self, source: str, target: str, targeting: str | None) -> None:
        """An end that is not known is a node without targeting."""
        self.out.setdefault(source, {})[target] = made(targeting)
        self.into.setdefault(target, {})[source] = None
        for end in (source, target):
            self.tests.setdefault(end, accept)

    def _unlink(self, source: str, target: str) -> None:
        del self.out[source][target]
        del self.into[target][source]

    def _drop(self, node: str) -> None:
        for source in list(self.into.get(node, ())):
            self._unlink(source, node)
        for target in list(self.out.get(node, ())):
            self._unlink(node, target)
        del self.tests[node]


def accept(attributes: Attributes) -> bool:
    """What a node or edge without targeting says."""
    return True


def made(text: str | None) -> Test:
    """The test of a targeting."""
    return compiled("lambda event: {}", text, lambda name: f"event[{name!r}]") if text else accept
