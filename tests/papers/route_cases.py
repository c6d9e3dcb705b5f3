"""Small exchanges in the arrays of `exchange_layout`, with the answers known: node and edge targeting by event number.

Event e has the attribute x = e, and whatever accepts some events has the expression x IN (those events).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.papers import route as seed_layout
from heliograph.papers.route import SeedExchange
from heliograph.predicate.attributes import encode
from heliograph.predicate.compile import NOTHING_SLOW, Compiled, Room, Targeting
from heliograph.predicate.layout import Int32s, Job
from heliograph.route import layout
from heliograph.route.layout import ExchangeGraph
from tests import naive_route
from tests.naive_route import Case, Link

EVERY = None  # accepts every event
TWIN = {
    "calls": seed_layout.CALLS,
    "returned": seed_layout.RETURNED,
    "skipped": seed_layout.SKIPPED,
    "edges": seed_layout.EDGES,
    "updates": seed_layout.UPDATES,
    "recursive": seed_layout.RECURSIVE,
    "first": seed_layout.FIRST,
}


@dataclass(frozen=True)
class Arc:
    source: int
    target: int
    accepts: frozenset[int] | None = EVERY


@dataclass(frozen=True)
class Exchange:
    """Nodes 0 … n − 1 with the events that each accepts, and edges."""

    accepts: Sequence[frozenset[int] | None]
    arcs: Sequence[Arc]
    events: int = 1

    def reached(self, event: int, start: int) -> list[int]:
        """The answer by networkx: the start is doubled, so that leaving it and entering it differ."""
        valid = nx.DiGraph([(-1, -1)])
        for arc in self.arcs:
            if accepts(arc.accepts, event) and accepts(self.accepts[arc.target], event):
                valid.add_edge(arc.source, arc.target)
                if arc.source == start:
                    valid.add_edge(-1, arc.target)
        return sorted(nx.descendants(valid, -1))

    def compile(self) -> tuple[ExchangeGraph, Targeting, Compiled]:
        """The exchange as one fresh version, and its expressions."""
        targeting = Targeting()
        numbers = targeting.add_many([_text(accepted) for accepted in self._targeting()])
        graph = self._graph(np.array(numbers, np.int32))
        return graph, targeting, targeting.compiled(targeting.snapshot())

    def seed(self, order: str = "numbered") -> SeedExchange:
        graph, _, compiled = self.compile()
        return SeedExchange(graph, compiled, order)

    def case(self, seed: SeedExchange, event: int) -> Case:
        """What the plain twin works on: the graph under the seed's ids."""
        ids = seed.numbered.ids
        links: list[list[Link]] = [[] for _ in self.accepts]
        for arc in self.arcs:
            links[ids[arc.source]].append(Link(int(ids[arc.target]), accepts(arc.accepts, event)))
        entered = {arc.target for arc in self.arcs}
        valid = {int(ids[node]) for node in entered if accepts(self.accepts[node], event)}
        return Case(links, valid, seed.numbered.graph.components.tolist())

    def _targeting(self) -> Iterable[frozenset[int] | None]:
        yield from self.accepts
        yield from (arc.accepts for arc in self.arcs)

    def _graph(self, numbers: Int32s) -> ExchangeGraph:
        count = len(self.accepts)
        order = sorted(range(len(self.arcs)), key=lambda place: self.arcs[place].source)
        arcs = [self.arcs[place] for place in order]
        sources = np.array([arc.source for arc in arcs], np.int32)
        nodes = np.full((count, 9), -1, np.int32)
        nodes[:, layout.RECORD] = np.arange(count)
        nodes[:, layout.OUT_BEGIN] = np.searchsorted(sources, np.arange(count))
        nodes[:, layout.OUT_END] = np.searchsorted(sources, np.arange(1, count + 1))
        records = np.zeros((count, 6), np.int32)
        records[:, layout.EXPRESSION] = numbers[:count]
        records[:, layout.DIED] = layout.NEVER_DIED
        records[:, layout.FLAGS] = layout.PRESENT
        edges = np.zeros((len(arcs), 4), np.int32)
        edges[:, layout.TARGET] = [arc.target for arc in arcs]
        edges[:, layout.EDGE_EXPRESSION] = numbers[count:][order]
        edges[:, layout.EDGE_DIED] = layout.NEVER_DIED
        none, blocks = np.empty(0, np.int32), np.empty((0, 3), np.int32)
        return ExchangeGraph(
            0, count, 0, nodes, records, np.zeros(count), edges, sources, np.ones(len(arcs)), none, blocks, none, none
        )


def _text(accepted: frozenset[int] | None) -> str | None:
    if accepted is EVERY:
        return None
    return f"x IN ({', '.join(map(str, sorted(accepted)))})" if accepted else "FALSE"


def accepts(accepted: Collection[int] | None, event: int) -> bool:
    return accepted is EVERY or event in accepted


def numbered_events(targeting: Targeting, compiled: Compiled, count: int) -> Job:
    """Event e is {"x": e}."""
    texts = pa.array([json.dumps({"x": event}) for event in range(count)], pa.string())
    return Room().job(targeting, compiled, encode(targeting.names, texts).cells, NOTHING_SLOW)


def check_like_twin(
    exchange: Exchange, name: str, starts: Sequence[int], *, results: Sequence[list[int]], order: str = "numbered"
) -> npt.NDArray[np.int64]:
    """Asserts that an algorithm gives these results, and works as its twin does; returns its counters."""
    graph, targeting, compiled = exchange.compile()
    seed = SeedExchange(graph, compiled, order)
    found = seed.route(numbered_events(targeting, compiled, len(starts)), np.array(starts, np.int32), name)
    assert [found.of(event).tolist() for event in range(len(starts))] == list(results)
    for event, start in enumerate(starts):
        run = naive_route.ALGORITHMS[name](exchange.case(seed, event), int(seed.numbered.ids[start]))
        assert {int(seed.numbered.numbers[id]) for id in run.result} == set(results[event])
        assert {column: found.counters[event, place] for column, place in TWIN.items()} == {
            column: getattr(run, column) for column in TWIN
        }
    return found.counters
