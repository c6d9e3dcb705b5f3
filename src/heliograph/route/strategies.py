"""How events are routed: in plain Python while there is little to do, by the kernels as soon as they pay.

A small job ends in milliseconds and loads no kernel. The law: all ways give the same answers in the same order; of
paths that are as short, or as cheap, they may give different ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from heliograph.baselines.route_walk import Acceptance, Arrival, arrivals, cheapest, fewest_hops
from heliograph.errors import UsageError
from heliograph.exchange.version import Version
from heliograph.kernels.cache import announce, is_warm
from heliograph.kernels.seed_layout import EDGE_TESTED, HELD, TESTED
from heliograph.kernels.targeting_layout import Cells, Int32s
from heliograph.route.alone import Asked, Delivery, Journey, Walker
from heliograph.route.events import Events
from heliograph.route.options import Options
from heliograph.route.reaching import Evaluator, Reached, in_order, joined, reported, slow_truth
from heliograph.targeting.cell_arrays import take_cells
from heliograph.targeting.room import Room

if TYPE_CHECKING:
    from heliograph.baselines.route_seed import SeedExchange

_KERNEL = "heliograph.kernels.routing"

# How long the plain walk may take in an engine's life before the kernels are loaded, which takes about a second, or
# compiled, which takes about a minute.
WARM_NS, COLD_NS = 300_000_000, 8_000_000_000
FEW = 2_000  # nodes; for more of them, kernels that need no compiling are loaded at once

_SEVERAL = 4  # events that are worth a call of the kernel that encodes them

SEEDS = ("dag", "dag-skip", "general", "scc-skip", "index-bfs", "bfs")
ALGORITHMS = ("auto", "lanes", "walk", *SEEDS)


class Batch:
    """The events of one call, each with the number of the node that it starts from, or -1.

    With `encoded` they are encoded at once, in the one pass over their texts that also finds out which are good.
    """

    def __init__(self, version: Version, events: Events, encoded: bool) -> None:
        self.version = version
        self.events = events
        if encoded:
            self.cells  # noqa: B018
        self.starts: Int32s = _starts(version, events)

    @cached_property
    def cells(self) -> Cells:
        return self.events.encode(self.version.targeting.names, compiled=self.events.given >= _SEVERAL)

    def __len__(self) -> int:
        return len(self.starts)


def _starts(version: Version, events: Events) -> Int32s:
    if len(events) != 1:
        return version.numbers(events.publishers)
    return np.array([version.number(events.publishers[0].as_py())], np.int32)


class Strategy(Protocol):
    """A way to route. `encodes` tells that it will want the events encoded."""

    def encodes(self, version: Version) -> bool: ...

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        """The nodes that each event reaches, in the order of reporting."""

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        """The deliveries of one event with their paths, in no particular order unless they are ranked."""

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        """The nodes that one event reaches, as they are found."""


class Plain:
    """Walks over the exchange's nodes and edges in Python."""

    def encodes(self, version: Version) -> bool:
        return False

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        return joined([self.reach_one(batch, row, ends_only) for row in range(len(batch))])

    def reach_one(self, batch: Batch, row: int, ends_only: bool) -> Reached:
        asked = self.walk(batch, row, Options(subscribers_only=ends_only))
        nodes = in_order(batch.version, [delivery.node for delivery in asked.deliveries])
        return Reached(np.array([0, len(nodes)]), nodes, asked.candidates, asked.verified)

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        version, start = batch.version, int(batch.starts[row])
        if start < 0:
            return Asked([], 0, 0)
        acceptance = Acceptance(version, batch.events.event(row), version.match)
        by = cheapest if options.rank else fewest_hops
        found = _wanted(version, by(version, start, acceptance, options.hops).values(), options)
        deliveries = [Delivery(arrival.node, arrival.cost, arrival.numbers) for arrival in found]
        return Asked(deliveries, acceptance.candidates, acceptance.verified)

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        version = batch.version
        acceptance = Acceptance(version, batch.events.event(row), version.match)
        found = arrivals(version, int(batch.starts[row]), acceptance, options.hops)
        return (arrival.node for arrival in _wanted(version, found, options))


def _wanted(version: Version, found: Iterable[Arrival], options: Options) -> Iterator[Arrival]:
    return (each for each in found if not options.subscribers_only or not version.out_numbers(each.node))


class Lanes:
    """The kernels: batches 64 at a time, single events for their paths."""

    def encodes(self, version: Version) -> bool:
        return True

    def __init__(self) -> None:
        self._evaluator, self._walker = Evaluator(), Walker()

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        return self._evaluator.reach(batch.version, batch.events, batch.cells, batch.starts, ends_only)

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        if batch.starts[row] < 0:
            return Asked([], 0, 0)
        journey = _journey(batch, row, options)
        return self._walker.cheapest(journey, options.limit) if options.rank else self._walker.fewest_hops(journey)

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        return self._walker.stream(_journey(batch, row, options)) if batch.starts[row] >= 0 else iter(())


def _journey(batch: Batch, row: int, options: Options) -> Journey:
    start = int(batch.starts[row])
    return Journey(batch.version, batch.events, batch.cells, row, start, options.hops, options.subscribers_only)


class Seed:
    """One of the seed's algorithms, on structures built for one version; paths as `Lanes` finds them."""

    def encodes(self, version: Version) -> bool:
        return True

    def __init__(self, name: str) -> None:
        self._name = name
        self._lanes = Lanes()
        self._built: tuple[Version, SeedExchange] | None = None

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        version, known = batch.version, np.flatnonzero(batch.starts >= 0)
        slow = slow_truth(version, batch.events, known)
        compiled = version.targeting.compiled(version.programs)
        job = Room().job(version.targeting, compiled, take_cells(batch.cells, known), slow)
        announce("seed_routing.route_events")
        routed = self._exchange(version).route(job, batch.starts[known], self._name)
        sizes = np.zeros(len(batch), np.int64)
        sizes[known] = np.diff(routed.offsets)
        tested = int(routed.counters[:, [TESTED, EDGE_TESTED]].sum())
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        return reported(version, Reached(offsets, routed.nodes, tested, int(routed.counters[:, HELD].sum())), ends_only)

    def _exchange(self, version: Version) -> SeedExchange:
        """The seed's structures for a version, kept until another one is routed."""
        from heliograph.baselines.route_seed import SeedExchange

        built = self._built
        if built is None or built[0] is not version:
            built = self._built = version, SeedExchange.of_version(version)
        return built[1]

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        return self._lanes.walk(batch, row, options)

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        return self._lanes.stream(batch, row, options)


class Auto:
    """Plain, until it has taken as long as loading the kernels does."""

    def __init__(self) -> None:
        self._plain, self._lanes = Plain(), Lanes()
        self._spent_ns = 0

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        parts: list[Reached] = []
        for row in range(len(batch)):
            if self._pays(batch.version):
                break
            began = time.perf_counter_ns()
            parts.append(self._plain.reach_one(batch, row, ends_only))
            self._spent_ns += time.perf_counter_ns() - began
        if len(parts) < len(batch):
            parts = [self._lanes.reach(batch, ends_only)]
        return joined(parts)

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        if self._pays(batch.version):
            return self._lanes.walk(batch, row, options)
        began = time.perf_counter_ns()
        asked = self._plain.walk(batch, row, options)
        self._spent_ns += time.perf_counter_ns() - began
        return asked

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        return (self._lanes if self._pays(batch.version) else self._plain).stream(batch, row, options)

    def encodes(self, version: Version) -> bool:
        return self._pays(version)

    def _pays(self, version: Version) -> bool:
        if _KERNEL in sys.modules:
            return True
        if self._spent_ns < WARM_NS and version.graph.node_count <= FEW:
            return False
        return self._spent_ns >= COLD_NS or self._is_warm

    @cached_property
    def _is_warm(self) -> bool:
        return is_warm("routing.route")


def strategy(name: str) -> Strategy:
    """A way to route, by name."""
    if name in SEEDS:
        return Seed(name)
    known: dict[str, type[Auto] | type[Lanes] | type[Plain]] = {"auto": Auto, "lanes": Lanes, "walk": Plain}
    if name not in known:
        raise UsageError("HG-045", f"no algorithm is called {name!r}", fix=f"write one of {', '.join(ALGORITHMS)}")
    return known[name]()
