"""Degrees, clustering coefficients and cliques kept up to date, beside plain Python sets and recomputation by networkx.

The paper-shaped stream: additions over vertices with power-law degrees, a third of all updates deletions. Cliques are
counted in a graph of Barabási and Albert's, 5 edges a vertex and no more than 500 at one; four fifths of its edges are
there beforehand. Answers are compared before a time counts. Times are the processor's, of rivals in turns; logs stand
ready in arrays, for the rivals in lists.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import networkx as nx
import numpy as np

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.watch_workloads import seconds
from heliograph.kernels.metric_layout import CAME, WENT, Log, Said
from heliograph.watch.metrics.cliques import Cliques
from heliograph.watch.metrics.clustering import Clustering
from heliograph.watch.metrics.degree import Degree
from heliograph.workloads.watch_graph import Flags, Ints, Random, draw_edges
from heliograph.workloads.watch_graph import Size as GraphSize
from heliograph.workloads.watch_stream import draw_stream

DEGREE, COEFFICIENT = [10.0], [0.1]  # the thresholds, at every vertex


class Size(NamedTuple):
    """How large the workloads are; the defaults are the issue's."""

    vertices: int = 1_200_000
    additions: int = 1_000_000
    attached: int = 100_000  # vertices of the graph whose cliques are counted
    links: int = 5  # edges with which each of them comes
    cap: int = 500
    samples: int = 3


FULL = Size()
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
    edges = draw_edges(rng, GraphSize(size.vertices, size.additions))
    stream = draw_stream(rng, size.additions, size.additions // 2, 0)
    return as_log(edges.source[stream.edge], edges.target[stream.edge], stream.added)


def attach(rng: Random, size: Size) -> Ints:
    """The edges of a graph in which each vertex comes with links to others, drawn by their degrees up to the cap."""
    ends, degrees = list(range(size.links)), np.zeros(size.attached, np.int64)
    edges: list[tuple[int, int]] = []
    for vertex in range(size.links, size.attached):
        chosen: set[int] = set()
        while len(chosen) < size.links:
            other = ends[rng.integers(len(ends))]
            if degrees[other] < size.cap:
                chosen.add(other)
        edges += [(vertex, other) for other in sorted(chosen)]
        ends += [*chosen, *[vertex] * size.links]
        degrees[list(chosen)] += 1
        degrees[vertex] = size.links
    return np.array(edges)


class Attached(NamedTuple):
    """Edges that are there beforehand, changes a third of which are deletions, and the edges that are there then."""

    before: Log
    changes: Log
    after: Ints


def make_attached(seed: int, size: Size) -> Attached:
    rng = np.random.default_rng(seed)
    edges = rng.permutation(attach(rng, size))
    loaded = 4 * len(edges) // 5
    added = len(edges) - loaded
    gone = rng.permutation(loaded)[: added // 2]
    rows, came = np.r_[loaded : len(edges), gone], np.r_[np.ones(added, bool), np.zeros(len(gone), bool)]
    order = rng.permutation(len(rows))
    changed = edges[rows[order]]
    before = as_log(edges[:loaded, 0], edges[:loaded, 1], np.ones(loaded, bool))
    after = np.delete(edges, gone, axis=0)
    return Attached(_in_one_step(before), as_log(changed[:, 0], changed[:, 1], came[order]), after)


attached = lru_cache(maxsize=1)(make_attached)


def _in_one_step(log: Log) -> Log:
    return log._replace(step=np.zeros(len(log.step), np.int32))


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
    log = paper_log(seed, size)
    left = {(s, o) for s, o, change in _columns(log) if change == CAME}
    left -= {(s, o) for s, o, change in _columns(log) if change == WENT}
    graph = nx.Graph(sorted(left))
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


def measure_cliques(seed: int, size: Size = FULL, clique: int = 4) -> Samples:
    """Updates a second of the number of cliques."""
    _counted(clique, make_attached(seed, Size(attached=20)))  # loads the kernels
    stage = attached(seed, size)
    counts, rates = set(), []
    for _ in range(size.samples):
        cliques, took = _counted(clique, stage)
        counts.add(cliques)
        rates.append(len(stage.changes.step) / took)
    fresh = Cliques(clique)
    fresh.restore(_in_one_step(as_log(stage.after[:, 0], stage.after[:, 1], np.ones(len(stage.after), bool))), {})
    if counts != {fresh.value(0)}:
        raise WrongAnswer(f"{counts} cliques, and {fresh.value(0)} from scratch")
    return rates


def measure_cliques_rerun(seed: int, size: Size = FULL) -> float:
    """How many times as long networkx takes to list all cliques of up to 4 again, once, as an update takes us."""
    graph, rate = nx.Graph(attached(seed, size).after.tolist()), statistics.median(measure_cliques(seed, size))
    found: list[int] = []
    took = seconds(lambda: found.append(four_cliques(graph)))
    counted, _ = _counted(4, attached(seed, size))
    if found != [counted]:
        raise WrongAnswer(f"{counted} cliques, and {found} by networkx")
    return took * rate


def four_cliques(graph: nx.Graph) -> int:
    """As networkx lists them, up to the first larger one."""
    count = 0
    for clique in nx.enumerate_all_cliques(graph):
        if len(clique) > 4:
            break
        count += len(clique) == 4
    return count


def _counted(clique: int, stage: Attached) -> tuple[float, float]:
    """The number of cliques after the changes, every change of it asked for, and the seconds that these took."""
    measure = Cliques(clique)
    measure.restore(stage.before, {})
    measure.watch([], None)
    took = seconds(lambda: measure.follow(stage.changes))
    return measure.value(0), took
