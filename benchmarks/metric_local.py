"""Degrees, clustering coefficients and cliques kept up to date, beside plain Python sets and recomputation by networkx.

The paper-shaped stream: additions over vertices with power-law degrees, a third of all updates deletions. Cliques are
counted over the streams of `metric_streams`. Answers are compared before a time counts. Times are the processor's, of
rivals in turns; logs stand ready in arrays, for the rivals in lists.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import networkx as nx
import numpy as np

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_streams import NOTHING, Stream, stream
from benchmarks.metric_streams import Size as GraphSize
from benchmarks.watch_workloads import seconds
from heliograph.watch.metrics.cliques import CliquesCliques as Cliques
from heliograph.watch.metrics.clustering import Clustering
from heliograph.watch.metrics.degree import Degree
from heliograph.watch.metrics.simple_graph import CAME, WENT, Log, Said
from heliograph.workloads import Flags, Ints
from heliograph.workloads import watch as watch_graph
from heliograph.workloads.watch import draw_edges, draw_stream

DEGREE, COEFFICIENT = [10.0], [0.1]  # the thresholds, at every vertex


class Size(NamedTuple):
    """How large the workloads are; the defaults are the issue's."""

    vertices: int = 1_200_000
    additions: int = 1_000_000
    samples: int = 3


FULL = Size()
ATTACHED = GraphSize(100_000, 20_000)
CLIQUE = 4
Samples = Sequence[float]


class Turn(NamedTuple):
    """Seconds an update: of degrees, of coefficients, and of plain sets that know both."""

    degrees: float
    coefficients: float
    plain: float

    @property
    def ours(self) -> float:
        return self.degrees + self.coefficients


# --- streams ----------------------------------------------------------------------------------------------------


def as_log(subject: Ints, object: Ints, came: Flags) -> Log:
    """One step for each change."""
    steps, none = np.arange(len(subject), dtype=np.int32), np.full(len(subject), np.nan)
    kinds = np.where(came, CAME, WENT).astype(np.uint8)
    return Log(steps, kinds, subject.astype(np.int32), np.zeros_like(steps), object.astype(np.int32), none)


@lru_cache(maxsize=1)
def paper_log(seed: int, size: Size) -> Log:
    """Additions, and half as many deletions, each anywhere behind the addition of its edge."""
    rng = np.random.default_rng(seed)
    edges = draw_edges(rng, watch_graph.GraphSize(size.vertices, size.additions))
    stream = draw_stream(rng, size.additions, size.additions // 2, 0)
    return as_log(edges.source[stream.edge], edges.target[stream.edge], stream.added)


def paper_stream(seed: int, size: Size) -> Stream:
    """The same as one sample from an empty graph."""
    log = paper_log(seed, size)
    return Stream(NOTHING, [log], np.array(sorted(_left(log)), np.int32))


def _left(log: Log) -> set[tuple[int, int]]:
    """The edges at the end."""
    came, went = ({(s, o) for s, o, change in _columns(log) if change == kind} for kind in (CAME, WENT))
    return came - went


# --- degrees and coefficients -----------------------------------------------------------------------------------


def measure_plain(seed: int, size: Size = FULL) -> Samples:
    """How many times as long plain sets take as degrees and coefficients together."""
    return [turn.plain / turn.ours for turn in turns(seed, size)]


def measure_rate(seed: int, size: Size = FULL) -> Samples:
    """Updates a second of degrees and coefficients together."""
    return [1 / turn.ours for turn in turns(seed, size)]


def measure_degree_rate(seed: int, size: Size = FULL) -> Samples:
    return [1 / turn.degrees for turn in turns(seed, size)]


def measure_plain_rate(seed: int, size: Size = FULL) -> Samples:
    return [1 / turn.plain for turn in turns(seed, size)]


def measure_rerun(seed: int, size: Size = FULL) -> float:
    """How many times as long networkx takes to work all triangles out again, once, as an update takes us.

    Its coefficients take longer still: they look at all pairs of neighbours of a hub.
    """
    graph = nx.Graph(sorted(_left(paper_log(seed, size))))
    return seconds(lambda: nx.triangles(graph)) / statistics.median(turn.ours for turn in turns(seed, size))


@lru_cache(maxsize=1)
def turns(seed: int, size: Size) -> Sequence[Turn]:
    """Ours and plain sets, in turns."""
    log = paper_log(seed, size)
    _follow(Log._make(column[:100] for column in log))  # loads the kernels
    return [_turn(log) for _ in range(size.samples)]


def _turn(log: Log) -> Turn:
    degree, clustering, took = _follow(log)
    plain, columns = PlainSets(), _columns(log)
    plain_took = seconds(lambda: plain.follow(columns))
    degrees = _degrees(log)
    for vertex in plain.neighbours:
        if (degree.value(vertex), clustering.value(vertex)) != (degrees[vertex], plain.coefficient(vertex)):
            raise WrongAnswer(f"vertex {vertex} has other edges or triangles")
    return Turn(*(each / len(log.step) for each in (*took, plain_took)))


def _degrees(log: Log) -> list[float]:
    """What the changes at each vertex add up to."""
    ends, by = np.concatenate([log.subject, log.object]), np.where(log.change == CAME, 1.0, -1.0)
    degrees: list[float] = np.bincount(ends, np.concatenate([by, by])).tolist()
    return degrees


def _follow(log: Log) -> tuple[Degree, Clustering, tuple[float, float]]:
    """Both measures of every vertex, each with its threshold, and their seconds."""
    degree, clustering, told = Degree(), Clustering(), list[Said]()
    degree.watch_all(DEGREE)
    clustering.watch_all(COEFFICIENT)
    took = seconds(lambda: told.append(degree.follow(log))), seconds(lambda: told.append(clustering.follow(log)))
    return degree, clustering, took


Columns = list[tuple[int, int, int]]


def _columns(log: Log) -> Columns:
    return list(zip(log.subject.tolist(), log.object.tolist(), log.change.tolist(), strict=True))


class PlainSets:
    """The neighbours of each vertex as a set and its triangles as a number: what a careful hand writes in Python."""

    def __init__(self) -> None:
        self.neighbours: dict[int, set[int]] = {}
        self.triangles: dict[int, int] = {}
        self.both: set[tuple[int, int]] = set()

    def coefficient(self, vertex: int) -> float:
        degree = len(self.neighbours[vertex])
        return 2 * self.triangles[vertex] / (degree * (degree - 1)) if self.triangles[vertex] else 0.0

    def follow(self, changes: Columns) -> None:
        neighbours, triangles, both = self.neighbours, self.triangles, self.both
        for s, o, change in changes:
            one, other = neighbours.get(s), neighbours.get(o)
            if one is None:
                one, triangles[s] = neighbours.setdefault(s, set()), 0
            if other is None:
                other, triangles[o] = neighbours.setdefault(o, set()), 0
            if change == CAME:
                if o in one:
                    both.add((s, o) if s < o else (o, s))  # the edge the other way is there
                    continue
                by = 1
            else:
                pair = (s, o) if s < o else (o, s)
                if pair in both:
                    both.remove(pair)
                    continue
                one.remove(o)
                other.remove(s)
                by = -1
            if common := one & other:
                for vertex in common:
                    triangles[vertex] += by
                triangles[s] += by * len(common)
                triangles[o] += by * len(common)
            if change == CAME:
                one.add(o)
                other.add(s)


# --- cliques ----------------------------------------------------------------------------------------------------


def measure_cliques(seed: int, size: GraphSize = ATTACHED) -> Samples:
    """Updates a second of the number of cliques, every change of it told."""
    return cliques(seed, size)[0]


def measure_cliques_rerun(seed: int, size: GraphSize = ATTACHED) -> Samples:
    """How many times as long it takes to list all cliques of up to 4 again after each update."""
    rates, again = cliques(seed, size)
    return [rate * again for rate in rates]


@lru_cache(maxsize=1)
def cliques(seed: int, size: GraphSize) -> tuple[Samples, float]:
    """Updates a second, and the seconds of a rerun."""
    given, measure = stream(seed, size), Cliques(CLIQUE)
    measure.restore(given.before, {})
    instance = measure.watch([], None)
    measure.follow(NOTHING)  # loads the kernels
    rates = [len(part.step) / seconds(lambda part=part: measure.follow(part)) for part in given.parts]  # type: ignore[misc]
    graph, found = nx.Graph(given.after.tolist()), list[int]()
    again = seconds(lambda: found.append(four_cliques(graph)))
    if found != [measure.value(instance)]:
        raise WrongAnswer(f"{measure.value(instance)} cliques, and {found} by networkx")
    return rates, again


def four_cliques(graph: nx.Graph) -> int:
    """As networkx lists them, up to the first larger one."""
    count = 0
    for clique in nx.enumerate_all_cliques(graph):
        if len(clique) > CLIQUE:
            break
        count += len(clique) == CLIQUE
    return count
