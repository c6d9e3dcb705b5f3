"""Streams of edges that come and go in steps, and what a naive recompute-and-compare reports of them."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from heliograph.watch.metrics.thresholds import CAME, WENT, Log, Measure, Points, Reported

Edge = tuple[int, int, int]
Step = Sequence[tuple[int, Edge]]  # changes
Asking = tuple[int | None, Points]  # a vertex, or None for all of them (or for the whole graph), and points
Saying = tuple[int, int, float]
VERTICES = 7

edge_lists = st.lists(
    st.tuples(st.integers(0, VERTICES - 1), st.integers(0, 1), st.integers(0, VERTICES - 1)), max_size=4
)
edge_steps = st.lists(edge_lists, max_size=30)
borders = st.lists(st.integers(0, 30), max_size=4)


def askings(points: st.SearchStrategy[float]) -> st.SearchStrategy[list[Asking]]:
    """Who asks for which vertices, some of them never there, at points or for every change."""
    asked = st.none() | st.lists(points, max_size=4)
    return st.lists(st.tuples(st.none() | st.integers(0, VERTICES + 2), asked), max_size=4)


def toggled(drawn: Iterable[Iterable[Edge]]) -> list[Step]:
    """Changes, step by step: an edge that is there goes, one that is not comes."""
    there: set[Edge] = set()
    steps: list[Step] = []
    for edges in drawn:
        step = []
        for edge in edges:
            step.append((WENT if edge in there else CAME, edge))
            there ^= {edge}
        steps.append(step)
    return steps


def as_log(steps: Sequence[Step]) -> Log:
    """A log; steps without changes have no rows in it."""
    rows = [(number, change, *edge) for number, step in enumerate(steps) for change, edge in step]
    columns = np.array(rows, np.int32).reshape(-1, 5)
    step, change, subject, predicate, object = (columns[:, column].copy() for column in range(5))
    return Log(step, change.astype(np.uint8), subject, predicate, object, np.full(len(rows), np.nan))


def at_ends(steps: Sequence[Step]) -> Iterator[set[Edge]]:
    """The edges that are there at the end of each step."""
    there: set[Edge] = set()
    for step in steps:
        for change, edge in step:
            there = there | {edge} if change == CAME else there - {edge} if change == WENT else there
        yield there


def random_steps(seed: int, vertices: int, count: int, deletions: float = 0.4) -> list[Step]:
    """Steps of one edge each: edges that prefer vertices with many, and deletions among those there."""
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


def directed(edges: Iterable[Edge]) -> Any:
    """The directed simple graph, without loops."""
    return nx.DiGraph([(s, o) for s, _, o in edges if s != o])


def undirected(edges: Iterable[Edge]) -> Any:
    """The undirected simple projection; a loop makes its vertex exist, and is left out."""
    graph = nx.Graph((s, o) for s, _, o in edges)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def passes(points: Points, before: float, after: float) -> bool:
    """Whether a point lies in (before, after] or (after, before]; with points None, whether anything changed."""
    if points is None:
        return before != after
    return bisect_right(sorted(points), before) != bisect_right(sorted(points), after)


def ask(measure: Measure, asked: Iterable[Asking]) -> None:
    for vertex, points in asked:
        if vertex is None:
            measure.watch_all(points)
        else:
            assert measure.watch([vertex], points) == vertex


def follow_in_parts(measure: Measure, steps: Sequence[Step], cuts: Iterable[int]) -> list[Saying]:
    """What is told, with numbers of steps of the whole stream, if it comes in several logs."""
    ends = sorted({0, len(steps), *(cut for cut in cuts if cut <= len(steps))})
    sayings: list[Saying] = []
    for first, last in pairwise(ends):
        said = measure.follow(as_log(steps[first:last]))
        sayings += [(first + step, instance, value) for step, instance, value in listed(said)]
    return sayings


def listed(said: Reported) -> list[Saying]:
    """Sayings as tuples, in the order of steps that is promised, and within a step by instance."""
    rows = list(zip(said.step.tolist(), said.instance.tolist(), said.value.tolist(), strict=True))
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert len({row[:2] for row in rows}) == len(rows)
    return sorted(rows)


def expected_sayings(
    steps: Sequence[Step], asked: Sequence[Asking], values: Callable[[set[Edge]], dict[int, float]]
) -> list[Saying]:
    """Every value recomputed at the end of every step, and compared with the one before."""
    sayings, before = [], dict[int, float]()
    for number, edges in enumerate(at_ends(steps)):
        after = values(edges)
        for vertex in range(VERTICES + 3):
            earlier, later = before.get(vertex, 0.0), after.get(vertex, 0.0)
            if any(passes(points, earlier, later) for who, points in asked if who in (None, vertex)):
                sayings.append((number, vertex, later))
        before = after
    return sayings


def whole_sayings(values: Sequence[float], points: Points) -> list[Saying]:
    """What is to be told of successive values of the whole graph, the first of which holds before the first step."""
    told = enumerate(pairwise(values))
    return [(step, 0, after) for step, (before, after) in told if passes(points, before, after)]


def check_close(sayings: Sequence[Saying], expected: Sequence[Saying]) -> None:
    """The same sayings, with values that may differ in the last places."""
    assert [saying[:2] for saying in sayings] == [saying[:2] for saying in expected]
    assert all(math.isclose(a[2], b[2], abs_tol=1e-12) for a, b in zip(sayings, expected, strict=True))
