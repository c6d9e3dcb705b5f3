"""`hg:clustering`, `hg:transitivity` and `hg:averageClustering`, of the undirected simple projection, exactly.

How many of the pairs of a vertex's neighbours are joined themselves; of all such pairs in the graph; and on average
over its vertices. All three follow from the triangles through each vertex. The average is over the vertices that an
edge of the projection touches, and those that exist without one, which the caller counts: each has the coefficient 0.

The laws.

- The coefficient of a vertex is 2 t / d (d − 1), with t triangles through it and d neighbours; 0 where d < 2.
- A pair that comes or goes makes or breaks a triangle with each vertex that both its ends have for neighbour, and no
  other. The shorter list of neighbours is gone through; each of them is looked for in the longer one if that is short,
  else among the pairs.
- The sum of all coefficients is kept in two words, high + low / 2^60: every coefficient is cut off after 60 binary
  places and adding whole numbers forgets nothing, so the sum is a function of the graph, whatever came and went before.
- Only a pair's first and last edge count, and only what holds at the end of a step is reported. A change is begun only
  if there is room for all that it may do, and a step is closed only if there is room for all that it may report; so a
  kernel that returns for want of room goes on from the very place.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import float64, int32, int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.records import ADDRESS, Struct, array, number, part, run, view, wanted
from heliograph.watch.layout import Floats, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    ASKED,
    LENGTH,
    LOG,
    NEW_PAIR,
    MetricReport,
    SimpleGraph,
    add_edge,
    ask_for_lists,
    ask_for_pairs,
    ask_for_rows,
    can_report,
    drop_edge,
    has_room,
    is_asked,
    is_neighbour,
    is_reported,
    list_length,
    list_start,
    report_at,
    write_report,
)
from heliograph.watch.metrics.thresholds import (
    CAME,
    CHANGED,
    NO_THRESHOLDS,
    Log,
    Measure,
    Reported,
    Saved,
    ThresholdLists,
    WholeMeasure,
    count_steps,
    fixed_log,
)

TRIANGLES, MARK = range(2)  # of vertices: triangles through it; 1 if the step touched it
S_STEP, S_ALL, S_TRIPLES, S_HIGH, S_LOW, S_VERTICES = range(6)  # of series
_SERIES = 6
_PLACES = 60  # binary places of a coefficient in the sum
_UNIT = 2.0**_PLACES
_FRACTION = np.int64((1 << _PLACES) - 1)
_TOUCHED = 64  # vertices that a step may touch at first


class Triangles(Struct):
    """Triangles of a growing simple graph."""

    graph: SimpleGraph = part(SimpleGraph)
    vertices: Int64s = array(int64, "vertex", 2)
    touched: Int32s = array(int32, "touched")  # the vertices that the step touched and that somebody asks for
    before: Floats = array(float64, "touched")  # beside them, their coefficients before it
    touches: int = number()
    touches_wanted: int = wanted("touched")
    series: Int64s = array(int64, "step", _SERIES)  # what held at the end of each step; no rows: nobody wants to know
    ended: int = number()  # steps of the log that are over
    is_open: int = number()  # whether changes of a step wait for its end
    all: int = number()  # triangles
    triples: int = number()  # the sum of d (d − 1)
    is_summing: int = number()  # whether the sum of coefficients is kept
    high: int = number()
    low: int = number()

    def __init__(self, *, summing: bool) -> None:
        graph = SimpleGraph()
        super().__init__({"graph": graph}, vertex=graph.vertices, touched=first_room(_TOUCHED))
        self.is_summing = summing
        self._report = MetricReport()

    def follow(self, log: Log, asked: ThresholdLists) -> Reported:
        """Takes changes over; what is reported of vertices."""
        log = fixed_log(log)
        self.graph.cover_log(log)
        if self.graph.vertices > len(self.vertices):
            self.resize("vertex", self.graph.vertices)
        self.ended = 0
        run(follow_triangles, self, log, asked, self._report.begin())
        return self._report.reported()


triangles_at = view(Triangles)


# --- kernels ----------------------------------------------------------------------------------------------------


@kernel((ADDRESS, LOG, ASKED, ADDRESS))
def follow_triangles(address: Any, log: Log, asked: ThresholdLists, report_address: Any) -> Any:
    """Takes a log over, change by change; whether all of it is, or room is lacking."""
    state, report = triangles_at(address), report_at(report_address)
    graph = state.graph
    while True:
        row = report.row
        if state.is_open != 0 and (row == len(log.step) or log.step[row] != log.step[row - 1]):
            if not can_report(report, state.touches):
                return False
            _close_step(state, log.step[row - 1], asked, report)
        if row == len(log.step):
            return True
        subject, object, change = np.int64(log.subject[row]), np.int64(log.object[row]), log.change[row]
        lists = graph.undirected
        state.touches_wanted = state.touches + 3 + min(list_length(lists, subject), list_length(lists, object))
        if state.touches_wanted > len(state.touched) or not has_room(graph):
            return False
        ask_for_rows(graph, state.vertices, log, row)
        ask_for_lists(graph, log, row)
        if change == CAME:
            if add_edge(graph, subject, object) & NEW_PAIR:
                _turn_pair(state, asked, subject, object, np.int64(1))
        elif change != CHANGED and drop_edge(graph, subject, object) & NEW_PAIR:
            _turn_pair(state, asked, subject, object, np.int64(-1))
        report.row, state.is_open = row + 1, 1


@kernel()
def _turn_pair(state: Any, asked: ThresholdLists, one: Any, other: Any, by: Any) -> None:
    """A pair has come (by 1) or gone (by -1): lists of neighbours hold it or do not already, triangles are behind."""
    lists, vertices = state.graph.undirected, state.vertices
    degree, other_degree = list_length(lists, one), list_length(lists, other)
    _touch(state, asked, one, degree - by)
    _touch(state, asked, other, other_degree - by)
    state.triples += 2 * by * (degree + other_degree) - 2 * (1 + by)
    near, far = (one, other) if degree <= other_degree else (other, one)
    start, length, common = list_start(lists, near), list_length(lists, near), np.int64(0)
    ask_for_pairs(state.graph, start, length, far)
    for i in range(start, start + length):
        vertex = np.int64(lists.pool[i])
        if vertex != far and is_neighbour(state.graph, far, vertex):
            _touch(state, asked, vertex, list_length(lists, vertex))
            vertices[vertex, TRIANGLES] += by
            common += by
    if common != 0:
        vertices[one, TRIANGLES] += common
        vertices[other, TRIANGLES] += common
        state.all += common


@kernel(inline=True)
def _coefficient(triangles: Any, degree: Any) -> Any:
    return 0.0 if degree < 2 else np.float64(2 * triangles) / np.float64(degree * (degree - 1))


@kernel(inline=True)
def _touch(state: Triangles, asked: ThresholdLists, vertex: Any, degree: Any) -> None:
    """Remembers a vertex's coefficient before the step, the first time that the step touches it, if it matters."""
    if state.vertices[vertex, MARK] == 0 and (state.is_summing != 0 or is_asked(asked, vertex)):
        place = state.touches
        state.touched[place] = vertex
        state.before[place] = _coefficient(state.vertices[vertex, TRIANGLES], degree)
        state.vertices[vertex, MARK] = 1
        state.touches = place + 1


@kernel()
def _close_step(state: Any, step: Any, asked: ThresholdLists, report: MetricReport) -> None:
    """A step is over: reports what passed a threshold, for which there is room, and writes down what holds of all."""
    for i in range(state.touches):
        vertex, before = np.int64(state.touched[i]), state.before[i]
        after = _coefficient(state.vertices[vertex, TRIANGLES], list_length(state.graph.undirected, vertex))
        state.vertices[vertex, MARK] = 0
        if state.is_summing:
            low = state.low + np.int64(after * _UNIT) - np.int64(before * _UNIT)
            state.high += low >> _PLACES
            state.low = low & _FRACTION
        if is_reported(asked, vertex, before, after):
            write_report(report, step, vertex, after)
    state.touches = state.is_open = 0
    ended = state.ended
    state.ended = ended + 1
    if ended < len(state.series):
        row = state.series[ended]
        row[S_STEP], row[S_ALL], row[S_TRIPLES] = step, state.all, state.triples
        row[S_HIGH], row[S_LOW], row[S_VERTICES] = state.high, state.low, state.graph.touched


# --- measures ---------------------------------------------------------------------------------------------------


class Clustering(Measure):
    """Clustering coefficients of all vertices, over one projection."""

    def __init__(self) -> None:
        super().__init__()
        self._triangles = Triangles(summing=False)

    def follow(self, log: Log) -> Reported:
        return self._triangles.follow(log, self.thresholds.asked())

    def restore(self, log: Log, saved: Saved) -> None:
        self._triangles.follow(log, NO_THRESHOLDS)

    def value(self, instance: int) -> float:
        state = self._triangles
        if instance >= state.graph.vertices:
            return 0.0
        triangles = int(state.vertices[instance, TRIANGLES])
        degree = int(state.graph.undirected.heads[instance, LENGTH])
        return 2 * triangles / (degree * (degree - 1)) if triangles else 0.0


class GlobalClustering(WholeMeasure):
    """Transitivity or the average coefficient."""

    def __init__(self, kind: Literal["transitivity", "averageClustering"]) -> None:
        super().__init__()
        self._averages = kind == "averageClustering"
        self._triangles = Triangles(summing=self._averages)

    @property
    def total(self) -> float:
        """The sum of all coefficients; 0 where transitivity is kept."""
        return self._triangles.high + self._triangles.low / _UNIT

    def _now(self) -> Int64s:
        state = self._triangles
        return np.array([[0, state.all, state.triples, state.high, state.low, state.graph.touched]], np.int64)

    def _rows(self, log: Log) -> Int64s:
        self._triangles.series = series = np.empty((count_steps(log), _SERIES), np.int64)
        self._triangles.follow(log, NO_THRESHOLDS)
        self._triangles.series = np.empty((0, _SERIES), np.int64)
        return series

    def _values(self, rows: Int64s, vertices: Int64s) -> Floats:
        parts: npt.NDArray[Any] = 6 * rows[:, S_ALL]
        wholes = rows[:, S_TRIPLES]
        if self._averages:
            parts, wholes = rows[:, S_HIGH] + rows[:, S_LOW] / _UNIT, vertices
        shares: Floats = np.divide(parts, wholes, out=np.zeros(len(rows)), where=wholes != 0)
        return shares
