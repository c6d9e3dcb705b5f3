"""An exchange of [B] section 4 with a batch of events, and every algorithm on it: what figures 12 to 16 and tables 2
and 3 are measured on.

All of them start from the same batch, whose events have been read and encoded, and end with the nodes that each event
reaches; what they reach is compared with the workload's own answer before a time counts. Those of the paper run in
kernels, on compiled predicates, as Heliograph does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.experiments.b_kernel import DRAIN, MATCH, ask
from benchmarks.filter_workloads import Tables, WrongAnswer
from benchmarks.route_walks import Walk, from_dicts, texts
from heliograph.compiled.growing import fixed
from heliograph.papers.route import ALGORITHMS, COUNTERS, RETURNED, Lists, SeedExchange, Task, make_sets
from heliograph.predicate.compile import Room
from heliograph.route.exchange import Exchange, Version
from heliograph.route.read import read_edges, read_events, read_nodes
from heliograph.route.strategy import RouteOptions, slow_truth, strategy
from heliograph.workloads.route import generate_route

OURS, WALK, INDEX, TESTS = "heliograph", "plain walk", "index alone", "tests alone"
PAPER = ("general", "scc-skip", "index-bfs", "bfs")  # dag and dag-skip need an exchange without cycles
SETS = ("N_V", "N_R", "N_R ∩ N_V", "out(N_R ∩ N_V)")

Ints = npt.NDArray[np.int64]
Samples = Sequence[float]


class Setting(NamedTuple):
    """An exchange so many times as large as the paper's, with events."""

    seed: int
    scale: float
    selectivity: float
    events: int
    repeats: int


class Mean(NamedTuple):
    """An average over events, and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Ints) -> Mean:
        return cls(float(values.mean()), float(values.std() / max(1, len(values)) ** 0.5))


class Measured(NamedTuple):
    """Milliseconds an event and milliseconds to the first node, all repeats; sizes of sets; events that reach some."""

    times: Mapping[str, Samples]
    first: Mapping[str, Samples]
    sets: Mapping[str, Mean]
    reaching: int


@lru_cache(maxsize=32)
def measured(given: Setting) -> Measured:
    """Everything at once: building the exchange takes longer than what is measured on it."""
    return Ground(given).measure()


class Ground:
    """An exchange that is loaded, and its events."""

    def __init__(self, given: Setting) -> None:
        self.given = given
        self.tables: Tables = generate_route(
            given.seed, scale=given.scale, events=given.events, selectivity=given.selectivity
        )
        self.version = _opened(self.tables)
        self.events = read_events(self.tables["events"], False)
        self.cells, self.starts = self.events.cells(self.version), self.events.starts(self.version)
        self.seed = SeedExchange.of_version(self.version)
        self.reached = self._expected()
        self.met = [self._targets(start, nodes) for start, nodes in zip(self.starts, self.reached, strict=True)]
        self._walk = from_dicts(self.tables)

    def measure(self) -> Measured:
        reaching = np.flatnonzero([len(nodes) for nodes in self.reached])
        ways: dict[str, Callable[[], float]] = {name: self._way(name) for name in PAPER}
        ways |= {WALK: self._by_walk, OURS: self._way("lanes"), INDEX: self._index, TESTS: self._tests}
        firsts = self._firsts(reaching) if len(reaching) else {}
        repeats, sets = self.given.repeats, self._sets()  # which calls the kernel, so that it is compiled
        return Measured(_turns(ways, repeats), _turns(firsts, repeats), sets, len(reaching))

    # --- answers ------------------------------------------------------------------------------------------------

    def _expected(self) -> list[Ints]:
        """The numbers of the nodes that each event must reach, ascending."""
        expected = self.tables["expected"]
        events = {id: row for row, id in enumerate(texts(self.tables["events"], "event_id"))}
        rows = np.array([events[id] for id in texts(expected, "publication_id")], np.int64)
        numbers = self.version.numbers(expected["subscription_id"].combine_chunks()).astype(np.int64)
        order = np.lexsort((numbers, rows))
        ends = np.searchsorted(rows[order], np.arange(len(events) + 1))
        return [numbers[order][begin:end] for begin, end in pairwise(ends.tolist())]

    def _check(self, offsets: Ints, nodes: Any) -> None:
        for row, wanted in enumerate(self.reached):
            if not np.array_equal(np.sort(nodes[offsets[row] : offsets[row + 1]]), wanted):
                raise WrongAnswer(f"event {row} does not reach the {len(wanted)} nodes expected")

    def _targets(self, start: int, nodes: Ints) -> Ints:
        """N_R: the targets of the start and of the nodes reached, each once."""
        numbers = [int(start), *nodes.tolist()]
        graph, ids = self.seed.numbered.graph, self.seed.numbered.ids[numbers]
        parts = [graph.targets[graph.offsets[id] : graph.offsets[id + 1]] for id in ids.tolist()]
        return np.unique(np.concatenate(parts)).astype(np.int64)

    def _sets(self) -> Mapping[str, Mean]:
        """The columns of tables 2 and 3; edges of the start are not among those of the nodes reached."""
        graph, ids = self.seed.numbered.graph, self.seed.numbered.ids
        degrees = np.diff(graph.offsets)
        found = [
            self._asked(DRAIN, np.arange(len(self.events)), self.met).counts[:, RETURNED],
            np.array([len(nodes) for nodes in self.met]),
            np.array([len(nodes) for nodes in self.reached]),
            np.array([degrees[ids[nodes]].sum() for nodes in self.reached]),
        ]
        return {name: Mean.of(values) for name, values in zip(SETS, found, strict=True)}

    # --- whole answers ------------------------------------------------------------------------------------------

    def _way(self, algorithm: str) -> Callable[[], float]:
        """Seconds an event by one of the engine's algorithms, the batch in one call."""
        chosen = strategy(algorithm)
        chosen.reach(self.version, self.events, False)  # what is built for the exchange is there before a time is taken

        def way() -> float:
            started = time.process_time()
            found = chosen.reach(self.version, self.events, False)
            took = time.process_time() - started
            self._check(found.offsets, found.nodes)
            return took / len(self.events)

        return way

    def _by_walk(self) -> float:
        started = time.process_time()
        found = self._walk.answers()
        took = time.process_time() - started
        numbers = self._of_walk[np.concatenate([np.array(nodes, np.int64) for nodes in found])]
        self._check(np.cumsum([0, *map(len, found)]), numbers)
        return took / len(found)

    @cached_property
    def _of_walk(self) -> Ints:
        """The exchange's numbers of the walk's."""
        return self.version.numbers(pa.array(self._walk.ids, pa.string())).astype(np.int64)

    def _index(self) -> float:
        return self._asked(DRAIN, np.arange(len(self.events)), self.met).seconds

    def _tests(self) -> float:
        return self._asked(MATCH, np.arange(len(self.events)), self.met).seconds

    # --- first results ------------------------------------------------------------------------------------------

    def _firsts(self, rows: Ints) -> dict[str, Callable[[], float]]:
        """Every algorithm, on events that reach somebody."""
        ways = {name: self._first_way(name, rows) for name in PAPER}
        return ways | {WALK: lambda: self._first_by_walk(rows), OURS: self._first_ours(rows)}

    def _first_way(self, algorithm: str, rows: Ints) -> Callable[[], float]:
        """Seconds to the first node by one of the paper's algorithms, all events in one call."""
        graph, ids = self.seed.numbered.graph, self.seed.numbered.ids
        starts = ids[self.starts[rows]].tolist()
        targets = [graph.targets[graph.offsets[id] : graph.offsets[id + 1]].astype(np.int64) for id in starts]

        def way() -> float:
            answer = self._asked(ALGORITHMS[algorithm], rows, targets)
            self._check_first(rows, self.seed.numbered.numbers[answer.first].tolist())
            return answer.seconds

        return way

    def _first_ours(self, rows: Ints) -> Callable[[], float]:
        """Seconds to the first node of a stream, a call for each event."""
        lanes = strategy("lanes")
        next(lanes.stream(self.version, self.events, int(rows[0]), RouteOptions()), -1)

        def way() -> float:
            started = time.process_time()
            first = [next(lanes.stream(self.version, self.events, row, RouteOptions())) for row in rows.tolist()]
            took = time.process_time() - started
            self._check_first(rows, first)
            return took / len(rows)

        return way

    def _first_by_walk(self, rows: Ints) -> float:
        events = [self._walk.events[row] for row in rows.tolist()]
        started = time.process_time()
        first = [next(_walked(self._walk, start, event)) for start, event in events]
        took = time.process_time() - started
        self._check_first(rows, self._of_walk[first].tolist())
        return took / len(rows)

    def _check_first(self, rows: Ints, first: Sequence[int]) -> None:
        for row, node in zip(rows.tolist(), first, strict=True):
            if node not in self.reached[row]:
                raise WrongAnswer(f"the first node of event {row} is none that it reaches")

    # --- the kernel ---------------------------------------------------------------------------------------------

    @cached_property
    def _task(self) -> Task:
        version, events = self.version, self.events
        slow = slow_truth(version, events, np.arange(len(self.events)))
        job = Room().job(version.targeting, version.targeting.compiled(version.programs), self.cells, slow)
        return Task(self.seed.numbered.graph, self.seed.index, job, make_sets(len(self.seed.numbered.ids)))

    def _asked(self, question: int, rows: Ints, ids: Sequence[Ints]) -> Answer:
        """A question of `b_kernel` about some events, each with a list of ids."""
        offsets = np.cumsum([0, *map(len, ids)])
        given = fixed(Lists(offsets, np.concatenate(ids).astype(np.int32)))
        first, counts = np.empty(len(rows), np.int32), np.zeros((len(rows), COUNTERS), np.int64)
        events, task = fixed(rows.astype(np.int64)), self._task
        started = time.process_time()
        ask(task, question, events, given, first, counts)
        return Answer((time.process_time() - started) / len(rows), first, counts)


class Answer(NamedTuple):
    """Seconds an event, first results, and counters."""

    seconds: float
    first: Any
    counts: Ints


def _opened(tables: Tables) -> Version:
    """The exchange as the engine keeps it."""
    exchange = Exchange(None)
    with exchange.writing:
        nodes = read_nodes(tables["nodes"], exchange.targeting, None)
        exchange.put_nodes(nodes.rows)
        edges = read_edges(tables["edges"], exchange.targeting)
        exchange.put_edges(edges.rows)
    if nodes.refusals or edges.refusals:
        raise WrongAnswer("nodes or edges are refused")
    return exchange.current


def _walked(walk: Walk, start: int, event: Any) -> Iterator[int]:
    """The plain walk of `route_walks`, node by node."""
    targets, tests = walk.targets, walk.tests
    seen = bytearray(len(targets))
    met = [start]
    for node in met:
        for target in targets[node]:
            if not seen[target]:
                seen[target] = 1
                if tests[target](event):
                    met.append(target)
                    yield target


def _turns(ways: Mapping[str, Callable[[], float]], repeats: int) -> Mapping[str, Samples]:
    """Milliseconds of each, taken in turns."""
    turns = [{name: way() * 1e3 for name, way in ways.items()} for _ in range(repeats)]
    return {name: [turn[name] for turn in turns] for name in ways}
