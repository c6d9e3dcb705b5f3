"""Small exchanges in the arrays of `exchange_layout`, with the answers known: node and edge targeting by event number.

Event e has the attribute x = e, and whatever accepts some events has the expression x IN (those events).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import numpy.typing as npt

from heliograph.baselines.route_seed import SeedExchange
from heliograph.kernels import exchange_layout as layout
from heliograph.kernels import seed_layout
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.board_layout import Events
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.targeting_layout import Cells, Programs
from heliograph.targeting.names import NameTable
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

    def arrays(self) -> tuple[Graph, Programs]:
        """The exchange as one fresh version, and its expressions."""
        sets = sorted({tuple(sorted(one)) for one in self._targeting() if one is not EVERY})
        numbers = {events: number for number, events in enumerate(sets, start=2)}
        return self._graph(numbers), _programs(sets)

    def seed(self, order: str = "numbered") -> SeedExchange:
        graph, programs = self.arrays()
        return SeedExchange(graph, programs, NameTable().snapshot(), order)

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

    def _graph(self, numbers: dict[tuple[int, ...], int]) -> Graph:
        def number(accepts: frozenset[int] | None) -> int:
            return code.ALWAYS if accepts is EVERY else numbers[tuple(sorted(accepts))]

        count, arcs = len(self.accepts), sorted(self.arcs, key=lambda arc: arc.source)
        sources = np.array([arc.source for arc in arcs], np.int32)
        nodes = np.full((count, layout.NODE_COLUMNS), -1, np.int32)
        nodes[:, layout.RECORD] = np.arange(count)
        nodes[:, layout.OUT_BEGIN] = np.searchsorted(sources, np.arange(count))
        nodes[:, layout.OUT_END] = np.searchsorted(sources, np.arange(1, count + 1))
        records = np.zeros((count, layout.RECORD_COLUMNS), np.int32)
        records[:, layout.EXPRESSION] = [number(one) for one in self.accepts]
        records[:, layout.DIED] = layout.NEVER_DIED
        records[:, layout.FLAGS] = layout.PRESENT
        edges = np.zeros((len(arcs), layout.EDGE_COLUMNS), np.int32)
        edges[:, layout.TARGET] = [arc.target for arc in arcs]
        edges[:, layout.EDGE_EXPRESSION] = [number(arc.accepts) for arc in arcs]
        edges[:, layout.EDGE_DIED] = layout.NEVER_DIED
        none, blocks = np.empty(0, np.int32), np.empty((0, 3), np.int32)
        return Graph(
            0, count, 0, nodes, records, np.zeros(count), edges, sources, np.ones(len(arcs)), none, blocks, none, none
        )


def accepts(accepted: Collection[int] | None, event: int) -> bool:
    return accepted is EVERY or event in accepted


def _programs(sets: list[tuple[int, ...]]) -> Programs:
    """TRUE, FALSE, then x IN each of the sets."""
    numbers: list[float] = []
    words: list[int] = [code.OR, 0]
    starts = [0, 0, 2]
    for events in sets:
        words += [code.NUMBER_IN, len(numbers)]
        numbers += [len(events), *events]
        starts.append(len(words))
    return Programs(
        np.array(starts, np.int64),
        np.array(words, np.int32),
        np.array(numbers, np.float64),
        np.empty(0, np.int32),
        np.zeros(1, np.int64),
        np.empty(0, np.uint8),
    )


def numbered_events(programs: Programs, count: int) -> Events:
    """Event e is {"x": e}."""
    cells = Cells(
        np.arange(count + 1, dtype=np.int64),
        np.zeros(count, np.int32),
        np.full(count, code.NUMBER, np.uint8),
        np.arange(count, dtype=np.float64),
        np.full(count, -1, np.int32),
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        np.empty(0, np.uint8),
    )
    return Events(programs, cells, np.empty((0, count), np.int8))


def check_like_twin(
    exchange: Exchange, name: str, starts: Sequence[int], *, results: Sequence[list[int]], order: str = "numbered"
) -> npt.NDArray[np.int64]:
    """Asserts that an algorithm gives these results, and works as its twin does; returns its counters."""
    seed = exchange.seed(order)
    events = numbered_events(exchange.arrays()[1], len(starts))
    found = seed.route(events, np.array(starts, np.int32), name)
    assert [found.of(event).tolist() for event in range(len(starts))] == list(results)
    for event, start in enumerate(starts):
        run = naive_route.ALGORITHMS[name](exchange.case(seed, event), int(seed.numbered.ids[start]))
        assert {int(seed.numbered.numbers[id]) for id in run.result} == set(results[event])
        assert {column: found.counters[event, place] for column, place in TWIN.items()} == {
            column: getattr(run, column) for column in TWIN
        }
    return found.counters
