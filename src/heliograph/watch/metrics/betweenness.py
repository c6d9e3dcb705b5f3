"""`hg:betweenness(x)`: the share of shortest paths between others that lead through a vertex.

Up to a limit of vertices the value is exact (see betweenness_exact); above, it is estimated and carries its interval
(see sampling). The limit is passed upwards when there are more vertices at the end of a step, and downwards again when
fewer than three quarters are left, so that a graph about that size is not worked out anew again and again.

The law: whatever way values are kept, only sums are; a value is a sum times one factor for all vertices. A step that
changes the number of vertices changes every value, and costs one multiplication each. Values are rounded to 12
decimals: the sums of a graph differ in less by the order in which it came, and equal graphs are to have equal values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.kernels.metric_betweenness_layout import ARCS, NAMES, STATES, UNREACHED, Board
from heliograph.kernels.metric_layout import CAME, WENT, Log, Said
from heliograph.kernels.simple_graph_layout import BACKWARD, FORWARD, VERTICES, A, B, Simple
from heliograph.kernels.simple_graph_room import GrowingGraph, counted, enlarged, fixed_log
from heliograph.watch.metrics.betweenness_exact import ExactBetweenness
from heliograph.watch.metrics.cutting import Cutting
from heliograph.watch.metrics.measure import Order, Points
from heliograph.watch.metrics.sampling import Sampling

LIMIT = 4_000
_MANY = 16  # arcs, and a 32nd of the vertices: to change more in one step takes longer than to work all out anew


class Betweenness:
    """A Measure of one vertex. `limit` is the number of vertices up to which values are exact."""

    def __init__(
        self, *, limit: int = LIMIT, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0, order: Order = int
    ) -> None:
        if not 0 <= limit < UNREACHED:
            raise ValueError(f"a limit of {limit}: exact betweenness is kept for up to {UNREACHED - 1:,} vertices")
        self._limit, self._epsilon, self._delta, self._seed = limit, epsilon, delta, seed
        self._cutting, self._order = Cutting(), order
        self._forget()

    def _forget(self) -> None:
        self._graph = GrowingGraph(undirected=False, directed=True)
        self._board = _board(0)
        self._ceiling = self._limit  # lower than the limit where exact values failed
        self._exact: ExactBetweenness | None = ExactBetweenness(self._limit)
        self._sampling: Sampling | None = None
        self._isolated = 0  # vertices that no edge of the projection touches

    # --- who asks ---------------------------------------------------------------------------------------------------

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (instance,) = vertices
        self._cutting.watch(instance, points)
        return instance

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        self._cutting.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)

    # --- values -----------------------------------------------------------------------------------------------------

    @property
    def sampled(self) -> bool:
        """Whether values are estimates."""
        return self._sampling is not None

    @property
    def samples(self) -> int:
        """How many paths the estimates are from."""
        return 0 if self._sampling is None else len(self._sampling)

    def value(self, instance: int) -> float:
        return float(self._board.last[instance]) if instance < len(self._board.last) else 0.0

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """Of an estimate, the interval that holds the exact value with probability 1 − δ, for all vertices at once."""
        if not self.sampled:
            return {}
        return {"interval": [max(value - self._epsilon, 0.0), min(value + self._epsilon, 1.0)]}

    def _scale(self) -> float:
        """What a sum is multiplied by."""
        vertices = self._vertices
        total = vertices + self._isolated
        pairs = (total - 1) * (total - 2) if total > 2 else 1
        return vertices**2 / (self.samples * pairs) if self.sampled else 1 / pairs

    @property
    def _vertices(self) -> int:
        return counted(self._graph.arrays, VERTICES)

    # --- changes ----------------------------------------------------------------------------------------------------

    def follow(self, log: Log, existing: Int64s | None = None) -> Said:
        """Takes changes over, and tells what passed a cut.

        `existing` says how many vertices there are at the end of each step, those that no edge of the projection
        touches too; without it there are as many of these as before.
        """
        log = fixed_log(log)
        self._cover(log)
        said = [self._take(log, step, existing) for step in self._steps(log, existing)]
        return Said(*(np.concatenate(parts) for parts in zip(*said, strict=True))) if said else Said.nothing()

    def _steps(self, log: Log, existing: Int64s | None) -> list[int]:
        """The steps at whose ends values may be others."""
        steps = np.unique(log.step)
        if existing is not None:
            steps = np.union1d(steps, np.flatnonzero(np.diff(existing, prepend=self._vertices + self._isolated)))
        numbers: list[int] = steps.tolist()
        return numbers

    def _take(self, log: Log, step: int, existing: Int64s | None) -> Said:
        first, last = np.searchsorted(log.step, [step, step + 1])
        if first < last:
            self._change(log, int(first), int(last))
        if existing is not None:
            self._isolated = int(existing[step]) - self._vertices
        instances, values = self._tell(self._cutting)
        return Said(np.full(len(instances), step, np.int32), instances, values)

    def _change(self, log: Log, first: int, last: int) -> None:
        """One step: what comes, gates in the union of before and after, what goes, and the values."""
        came = self._apply(log, first, last, CAME)
        if self._sampling is not None:
            self._gate(self._sampling, log, (first, last), came)
        gone = self._apply(log, first, last, WENT)
        if self._exceeds():
            self._begin_sampling(0)
        elif self._sampling is not None and 4 * self._vertices < 3 * self._ceiling:
            self._begin_exact()
        elif self._sampling is not None:
            self._resample(self._sampling, np.unique([log.subject[first:last], log.object[first:last]]))
        elif self._exact is not None:
            self._change_exact(self._exact, came, gone)

    def _exceeds(self) -> bool:
        return self._sampling is None and self._vertices > self._ceiling

    def _apply(self, log: Log, first: int, last: int, change: int) -> Int32s:
        """The arcs that are new or gone."""
        from heliograph.kernels.metric_betweenness_steps import take_changes

        arcs = np.empty((last - first, 2), np.int32)
        state = np.array([first, last, change, 0], np.int64)
        while not take_changes(self._graph.arrays, log, state, arcs):
            self._graph.grow()
        return arcs[: state[ARCS]]

    def _tell(self, cutting: Cutting) -> tuple[Int32s, npt.NDArray[np.float64]]:
        """Who is told, ascending, and what."""
        from heliograph.kernels.metric_betweenness_steps import tell

        names = int(self._board.counters[NAMES])
        instances, values = np.empty(names, np.int32), np.empty(names)
        told = tell(self._board, cutting.asked(), self._scale(), instances, values)
        order = np.argsort(instances[:told])
        return instances[order], values[order]

    # --- exact ------------------------------------------------------------------------------------------------------

    def _change_exact(self, exact: ExactBetweenness, came: Int32s, gone: Int32s) -> None:
        come, go = ({(tail, head) for tail, head in arcs.tolist()} for arcs in (came, gone))
        changes = sorted(go - come), sorted(come - go)
        if sum(map(len, changes)) > _MANY + self._vertices // 32:
            self._begin_exact()
        elif exact.change(*changes, self._board):
            exact.post(self._board)
        else:
            self._give_up()

    def _begin_exact(self) -> None:
        """Works exact values out anew."""
        self._clear()
        exact = ExactBetweenness(self._limit)
        if exact.anew(_arcs(self._graph.arrays)):
            exact.post(self._board)
            self._exact, self._sampling, self._ceiling = exact, None, self._limit
        else:
            self._give_up()

    def _give_up(self) -> None:
        """More shortest paths than can be counted: sampled until a quarter of the vertices are gone."""
        self._ceiling = min(self._ceiling, self._vertices)
        self._begin_sampling(0)

    # --- sampled ----------------------------------------------------------------------------------------------------

    def _begin_sampling(self, count: int) -> None:
        """Draws samples anew, at least so many."""
        self._clear()
        self._exact, self._sampling = None, Sampling(self._seed, self._epsilon, self._delta, self._order)
        self._sampling.enlarge(self._graph.arrays, max(count, self._needed(self._sampling)))
        self._sampling.refresh(self._graph.arrays, self._board)

    def _needed(self, sampling: Sampling) -> int:
        return sampling.needed(self._vertices, self._ceiling * 3 // 4)

    def _gate(self, sampling: Sampling, log: Log, rows: tuple[int, int], came: Int32s) -> None:
        from heliograph.kernels.metric_betweenness_steps import foresee_gone

        arcs = np.empty((len(came) + rows[1] - rows[0], 2), np.int32)
        arcs[: len(came)] = came
        state = np.zeros(STATES, np.int64)
        state[:] = (*rows, WENT, len(came))
        foresee_gone(self._graph.arrays, log, state, arcs)
        sampling.gate(self._graph.arrays, arcs, int(state[ARCS]))

    def _resample(self, sampling: Sampling, ends: Int32s) -> None:
        sampling.repick(self._graph.arrays, ends)
        sampling.enlarge(self._graph.arrays, self._needed(sampling))
        sampling.refresh(self._graph.arrays, self._board)

    # --- saving -----------------------------------------------------------------------------------------------------

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        """Whether values are estimates, and from how many samples; samples themselves follow from the seed."""
        return {"sampling": np.array([self.samples, self._ceiling], np.int64)} if self.sampled else {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._forget()
        log = fixed_log(log)
        self._cover(log)
        self._graph.take_over(log)
        if "sampling" in saved:
            count, self._ceiling = self._read(saved["sampling"])
            self._begin_sampling(count)
        elif self._exceeds():
            self._begin_sampling(0)
        else:
            self._begin_exact()
        self._tell(Cutting())

    def _read(self, sampling: npt.NDArray[Any]) -> tuple[int, int]:
        """The number of samples and the ceiling that were saved; ValueError if nobody could have saved them."""
        count, ceiling = (int(each) for each in sampling.tolist())
        most = Sampling(self._seed, self._epsilon, self._delta).needed(1 << 31, 3)
        if not (0 < count <= most and 0 <= ceiling <= self._limit):
            raise ValueError(f"betweenness from {count} samples down from {ceiling} vertices")
        return count, ceiling

    # --- room -------------------------------------------------------------------------------------------------------

    def _cover(self, log: Log) -> None:
        self._graph.cover_log(log)
        if len(self._board.raw) < self._graph.vertices:
            parts = (enlarged(array, self._graph.vertices) for array in self._board[:-1])
            self._board = Board._make((*parts, self._board.counters))

    def _clear(self) -> None:
        """Takes all sums off the board."""
        self._board.raw[:] = 0.0


def _board(vertices: int) -> Board:
    raw, last = np.zeros(vertices), np.zeros(vertices)
    return Board(raw, last, np.zeros(vertices, np.uint8), np.zeros(vertices, np.int32), np.zeros(1, np.int64))


def _arcs(graph: Simple) -> Int32s:
    """The arcs of a graph, as rows (tail, head)."""
    pairs = graph.pairs[graph.numbers[graph.keys != 0]]
    pairs = pairs[pairs[:, A] != pairs[:, B]]
    there = pairs[pairs[:, FORWARD] > 0][:, [A, B]], pairs[pairs[:, BACKWARD] > 0][:, [B, A]]
    return np.concatenate(there)
