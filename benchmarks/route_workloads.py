"""The workloads of the route table: an exchange that is loaded, a batch of events, and whom they must reach.

Events are a table as a user has it, their attributes JSON; reading it is on the clock. An answer is what `publish`
returns, whose rows are made when they are wanted; every answer is checked, off the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.filter_workloads import Tables, WrongAnswer, check
from benchmarks.route_walks import Walk, texts
from heliograph import Route
from heliograph.workloads.route import draw_targeting, generate_route, spell_targeting

AT_LEAST = 0.03  # seconds that are timed at once; a batch that takes less is published several times


class Size(NamedTuple):
    """How large the workloads are; the defaults are the issue's."""

    scale: float = 1.0
    copies: int = 15  # of the exchange, for 1,066,455 nodes
    events: int = 1_000
    streamed: int = 200
    changes: int = 2_000
    warm: float = 0.1  # scale of the exchange that a fresh process loads before what is measured


class Case(NamedTuple):
    """A loaded engine, a batch of events, and what it must be answered."""

    engine: Route
    tables: Tables
    rounds: int = 1

    def seconds(self, with_table: bool = False) -> float:
        """How long an event takes."""
        took = 0.0
        for _ in range(self.rounds):
            started = time.process_time()
            found = self.engine.publish(self.tables["events"])
            if with_table:
                _ = found.table
            took += time.process_time() - started
            check(found, self.tables["expected"])
        return took / (self.rounds * self.tables["events"].num_rows)

    def seconds_each(self) -> float:
        """How long an event takes for each node that is reached."""
        return self.seconds() * self.tables["events"].num_rows / max(1, self.tables["expected"].num_rows)

    def running(self, algorithm: str) -> Case:
        """The same exchange and events with another algorithm."""
        return warmed(Case(loaded(self.tables, algorithm), self.tables))


def make(seed: int, size: Size, **options: Any) -> Case:
    """Draws, loads and publishes, so that kernels are compiled and the answer is known to be right."""
    load_kernels()
    tables = generate_route(seed, **{"scale": size.scale, "events": size.events, **options})
    return warmed(Case(loaded(tables), tables))


@cache
def load_kernels() -> None:
    """Compiled or not, they are there before anything is timed."""
    Route(edges=[("a", "b")], algorithm="lanes").route("a", {})


def warmed(case: Case) -> Case:
    """The case with as many rounds as it takes to be timed well."""
    case.seconds()
    return case._replace(rounds=math.ceil(AT_LEAST / (case.seconds() * max(1, case.tables["events"].num_rows))))


def loaded(tables: Tables, algorithm: str | None = None) -> Route:
    """An engine with the exchange of the tables."""
    options: dict[str, Any] = {"algorithm": algorithm} if algorithm else {}
    engine = Route(tables["nodes"], tables["edges"], **options)
    if engine.rejected:
        raise WrongAnswer(f"refused: {engine.rejected[0]}")
    return engine


def spelled_out(case: Case, seed: int) -> Case:
    """At selectivity 1: the same with targeting that always holds where there was none."""
    nodes = case.tables["nodes"]
    publishers = sum(id.startswith("pub") for id in texts(nodes, "node_id"))
    targeting = draw_targeting(np.random.default_rng(seed), nodes.num_rows - publishers, 1.0)
    column = pa.array([*[None] * publishers, *spell_targeting(targeting)], pa.string())
    tables = {**case.tables, "nodes": nodes.set_column(1, "targeting", column)}
    return warmed(Case(loaded(tables), tables))


# --- one event at a time ----------------------------------------------------------------------------------------


class Single(NamedTuple):
    """An event that reaches something, and the nodes it reaches."""

    item: dict[str, Any]
    nodes: frozenset[str]


def singles(tables: Tables, count: int) -> list[Single]:
    """The first events that reach something."""
    reached: dict[str, set[str]] = {}
    expected = tables["expected"]
    for event, node in zip(texts(expected, "publication_id"), texts(expected, "subscription_id"), strict=True):
        reached.setdefault(event, set()).add(node)
    items = {str(item["event_id"]): item for item in tables["events"].to_pylist()}
    return [Single(items[event], frozenset(nodes)) for event, nodes in list(reached.items())[:count]]


# --- the plain walk ---------------------------------------------------------------------------------------------


def checked(walk: Walk, tables: Tables) -> Walk:
    """Raises unless the walk reaches what it must."""
    events = texts(tables["events"], "event_id")
    found = [_rows(event, walk.ids, answer) for event, answer in zip(events, walk.answers(), strict=True)]
    columns = (texts(tables["expected"], name) for name in ("publication_id", "subscription_id"))
    if [row for rows in found for row in rows] != list(zip(*columns, strict=True)):
        raise WrongAnswer("the plain walk reaches other nodes")
    return walk


def _rows(event: str, ids: Sequence[str], answer: list[int]) -> Iterator[tuple[str, str]]:
    return ((event, ids[node]) for node in sorted(answer))
