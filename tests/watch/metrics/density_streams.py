"""Streams of edges that come and go in steps, and what is to be said by comparing values step by step."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from heliograph.watch.metrics.thresholds import CAME, WENT, Log, Measure, Points, Reported

Edge = tuple[int, int, int]
Step = list[tuple[int, Edge]]  # CAME or WENT, and which edge
Sayings = set[tuple[int, int, float]]


def toggles(vertices: int, most: int = 40) -> Any:
    """Steps of one to three edges between a few vertices, some of them loops or parallel to another."""
    ends = st.integers(0, vertices - 1)
    steps = st.lists(st.tuples(ends, st.integers(0, 1), ends), min_size=1, max_size=3)
    return st.lists(steps, max_size=most).map(toggled)


def toggled(steps: Iterable[Iterable[Edge]]) -> list[Step]:
    """An edge that is there goes, one that is not comes."""
    there: set[Edge] = set()
    changes: list[Step] = []
    for step in steps:
        changes.append([])
        for edge in step:
            changes[-1].append((WENT if edge in there else CAME, edge))
            there ^= {edge}
    return changes


def random_steps(seed: int, vertices: int, count: int, deletions: float = 0.4) -> list[Step]:
    """Edges that prefer vertices with many, and deletions among those there."""
    rng, there, ends = random.Random(seed), list[Edge](), list[int](range(vertices))
    steps: list[Step] = []
    while len(steps) < count:
        if there and rng.random() < deletions:
            number = rng.randrange(len(there))
            there[number], there[-1] = there[-1], there[number]
            steps.append([(WENT, there.pop())])
        else:
            edge = (rng.choice(ends), rng.randrange(2), rng.choice(ends))
            if edge not in there:
                there.append(edge)
                ends += edge[::2]
                steps.append([(CAME, edge)])
    return steps


def as_log(steps: Sequence[Step]) -> Log:
    """The steps from 0 on."""
    rows = [(number, change, *edge) for number, step in enumerate(steps) for change, edge in step]
    step, change, s, p, o = np.array(rows, np.int32).reshape(-1, 5).T
    return Log(step, change.astype(np.uint8), s, p, o, np.full(len(rows), np.nan))


def applied(there: set[Edge], step: Step) -> set[Edge]:
    for change, edge in step:
        (there.add if change == CAME else there.remove)(edge)
    return there


def arcs(there: Iterable[Edge]) -> Any:
    """The directed simple graph, without loops."""
    return nx.DiGraph([(s, o) for s, _, o in there if s != o])


def pairs(there: Iterable[Edge]) -> Any:
    """The undirected simple graph, without loops."""
    return nx.Graph([(s, o) for s, _, o in there if s != o])


# --- what is said -----------------------------------------------------------------------------------------------


def said_as_set(said: Reported, shift: int = 0) -> Sayings:
    return {
        (step + shift, instance, round(value, 12))
        for step, instance, value in zip(said.step.tolist(), said.instance.tolist(), said.value.tolist(), strict=True)
    }


def passes(points: Points, before: float, after: float) -> bool:
    if points is None:
        return before != after
    return bisect_right(sorted(points), before) != bisect_right(sorted(points), after)


def expected_sayings(
    steps: Sequence[Step], instances: Mapping[int, Points], value: Callable[[set[Edge], int], float]
) -> Sayings:
    """What is said of instances by computing all values after each step."""
    there: set[Edge] = set()
    last = dict.fromkeys(instances, 0.0)
    sayings: Sayings = set()
    for number, step in enumerate(steps):
        applied(there, step)
        for instance, points in instances.items():
            now = value(there, instance)
            if passes(points, last[instance], now):
                sayings.add((number, instance, round(now, 12)))
            last[instance] = now
    return sayings


def follow_in_batches(measure: Measure, steps: Sequence[Step], size: int) -> Sayings:
    """What is said of a stream that is cut after every so many steps."""
    sayings: Sayings = set()
    for first in range(0, len(steps), size):
        said = measure.follow(as_log(steps[first : first + size]))
        assert list(said.step) == sorted(said.step)
        sayings |= said_as_set(said, first)
    return sayings
