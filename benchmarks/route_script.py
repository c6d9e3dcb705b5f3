"""Live changes to an exchange, each with an event that must see it, and what that event must reach.

Every other change merges or splits strongly connected components: an edge from an advertiser that the core reaches back
into the core, or such an edge taken away. The others add, replace and remove edges, nodes and the targeting of both, in
turns. The event starts where the change is made, and is drawn so that the change decides about its first step.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from benchmarks.filter_workloads import Tables
from benchmarks.route_model import Attributes, Model, accept, made
from heliograph.workloads.route import ATTRIBUTES, ExchangeSizes, draw_targeting, spell_targeting

TRIES = 50  # events that are drawn until one sees the change
LONE = 0.1  # share of removed nodes that are networks; the others are advertisers
TEXTS = 1_000

Decides = Callable[[Attributes], bool]


class Step(NamedTuple):
    """A call of the engine with one item; then an event, and the ids of what it must reach, sorted, as one text.

    One text, because the garbage collector must not go through the benchmark's own objects.
    """

    call: str
    item: Any
    event: dict[str, str]
    answer: str
    seen: bool  # the answer was another before
    components: bool  # components merge or split


class Change(NamedTuple):
    """A change to be made: where an event starts that sees it, and by what."""

    call: str
    item: Any
    start: str
    decides: Decides


class Script:
    """Draws changes one after the other, each to the exchange that those before it left."""

    def __init__(self, tables: Tables, size: ExchangeSizes, seed: int, selectivity: float) -> None:
        self.model = Model(tables)
        self._chance = random.Random(seed)
        self._texts = cycle(spell_targeting(draw_targeting(np.random.default_rng(seed), TEXTS, selectivity)))
        self._core = [f"net{number}" for number in range(size.core)]
        self._lone = [f"net{number}" for number in range(size.core + size.ring, size.networks)]
        self._back: list[tuple[str, str]] = []
        self._loose: list[tuple[str, str]] = []
        self._others = cycle(
            [self._retarget, self._attach, self._list, self._link, self._retarget_edge, self._cut, self._drop]
        )

    def steps(self, count: int) -> Iterator[Step]:
        """So many changes; the model goes through them as they are given."""
        for number in range(count):
            components = number % 2 == 0
            yield self._step(self._rejoin() if components else next(self._others)(), components)

    def _step(self, change: Change, components: bool) -> Step:
        attributes = self._event(change.decides)
        before = self.model.walk(change.start, attributes)
        self.model.apply(change.call, change.item)
        after = self.model.walk(change.start, attributes)
        event = {"event_id": "event", "publisher": change.start, "attributes": json.dumps(attributes)}
        return Step(change.call, change.item, event, "\n".join(sorted(after)), after != before, components)

    def _event(self, decides: Decides) -> Attributes:
        for _ in range(TRIES):
            attributes = {attribute.name: self._chance.choice(attribute.values) for attribute in ATTRIBUTES}
            if decides(attributes):
                break
        return attributes

    # --- components ---------------------------------------------------------------------------------------------

    def _rejoin(self) -> Change:
        """As many merges as splits, once there is something to split."""
        if self._back and self._chance.random() < 0.5:
            source, target = self._back.pop(self._chance.randrange(len(self._back)))
            return self._edge("remove_edges", source, target)
        source, target = self._leaf()[1], self._chance.choice(self._core)
        self._back.append((source, target))
        return self._edge("add_edges", source, target)

    def _leaf(self) -> tuple[str, str]:
        """A network of the core, and a node that it leads to and that leads nowhere."""
        while True:
            network = self._chance.choice(self._core)
            node = self._chance.choice(list(self.model.out[network]))
            if not self.model.out.get(node) and node not in self._core:
                return network, node

    # --- nodes --------------------------------------------------------------------------------------------------

    def _retarget(self) -> Change:
        return self._node(*self._leaf())

    def _list(self) -> Change:
        """A node that is known from an edge only gets a row of its own."""
        return self._node(*self._loose.pop())

    def _node(self, source: str, node: str) -> Change:
        text, old = next(self._texts), self.model.tests[node]
        new = made(text)
        item = {"node_id": node, "targeting": text}
        return Change("add_nodes", item, source, lambda attributes: old(attributes) != new(attributes))

    def _drop(self) -> Change:
        if self._lone and self._chance.random() < LONE:
            node = self._lone.pop(self._chance.randrange(len(self._lone)))
            source = next(iter(self.model.into[node]))
        else:
            source, node = self._leaf()
        return Change("remove_nodes", node, source, self.model.tests[node])

    # --- edges --------------------------------------------------------------------------------------------------

    def _attach(self) -> Change:
        """An edge to a node that was not known."""
        source, target = self._chance.choice(self._core), f"new{self._chance.getrandbits(48)}"
        self._loose.append((source, target))
        return self._edge("add_edges", source, target)

    def _link(self) -> Change:
        return self._edge("add_edges", self._chance.choice(self._core), self._leaf()[1])

    def _cut(self) -> Change:
        return self._edge("remove_edges", *self._leaf())

    def _edge(self, call: str, source: str, target: str) -> Change:
        return Change(call, {"source": source, "target": target}, source, self.model.tests.get(target, accept))

    def _retarget_edge(self) -> Change:
        source, target = self._leaf()
        text, old, accepts = next(self._texts), self.model.out[source][target], self.model.tests[target]
        new = made(text)
        item = {"source": source, "target": target, "targeting": text}
        return Change("add_edges", item, source, lambda event: accepts(event) and old(event) != new(event))
