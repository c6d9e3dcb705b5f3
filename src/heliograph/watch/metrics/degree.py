"""`hg:degree`, `hg:indegree` and `hg:outdegree`: how many edges touch a vertex, come to it, or leave it.

Edges are counted as triples: two of different properties between the same vertices are two, and a loop counts once in
and once out. A change costs one addition at each end, and where a vertex is watched two binary searches in its
thresholds.

The law: only what a step adds up to counts. What it adds is collected beside the degree; at its end the ends of its
edges are gone through once more, and a vertex that was met has nothing left to collect.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numba import int32, int64

from heliograph.compiled.arrays import prefetch, rows
from heliograph.compiled.compile import kernel
from heliograph.compiled.records import ADDRESS, enlarged, more, run
from heliograph.watch.metrics.simple_graph import (
    ASKED,
    LOG,
    MetricReport,
    can_report,
    is_reported,
    report_at,
    step_end,
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
    fixed_log,
)

NOW, PENDING = range(2)  # of the rows of vertices
OUT, IN = 1, 2  # which ends count: bits
_ENDS = {"outdegree": OUT, "indegree": IN, "degree": OUT | IN}
_AHEAD = 16  # changes; the ends of edges lie anywhere, so their rows are asked for before they are needed


@kernel((rows(int32, writable=True), int64, LOG, ASKED, ADDRESS))
def follow_degrees(degrees: Any, ends: Any, log: Log, asked: ThresholdLists, address: Any) -> Any:
    """Takes a log over, step by step; whether all of it is, or room for reports is lacking."""
    report = report_at(address)
    while report.row < len(log.step):
        row, step = report.row, log.step[report.row]
        end = step_end(log, row)
        if not can_report(report, 2 * (end - row)):
            return False
        for i in range(row, end):
            if i + _AHEAD < len(log.step):
                prefetch(degrees, 2 * np.int64(log.subject[i + _AHEAD]))
                prefetch(degrees, 2 * np.int64(log.object[i + _AHEAD]))
            if log.change[i] != CHANGED:
                by = 1 if log.change[i] == CAME else -1
                if ends & OUT:
                    degrees[log.subject[i], PENDING] += by
                if ends & IN:
                    degrees[log.object[i], PENDING] += by
        for i in range(row, end):
            if ends & OUT:
                _add_pending(degrees, log.subject[i], step, asked, report)
            if ends & IN:
                _add_pending(degrees, log.object[i], step, asked, report)
        report.row = end
    return True


@kernel(inline=True)
def _add_pending(degrees: Any, vertex: Any, step: Any, asked: ThresholdLists, report: MetricReport) -> None:
    """What a vertex collected is added to its degree, and reported if it passes a threshold."""
    by, before = degrees[vertex, PENDING], degrees[vertex, NOW]
    if by == 0:
        return
    degrees[vertex, NOW], degrees[vertex, PENDING] = before + by, 0
    if is_reported(asked, vertex, np.float64(before), np.float64(before + by)):
        write_report(report, step, vertex, np.float64(before + by))


class Degree(Measure):
    """Degrees of all vertices, over one projection."""

    def __init__(self, kind: Literal["degree", "indegree", "outdegree"] = "degree") -> None:
        super().__init__()
        self._ends, self._degrees, self._report = _ENDS[kind], np.zeros((0, 2), np.int32), MetricReport()

    def follow(self, log: Log) -> Reported:
        return self._take_over(log, self.thresholds.asked())

    def restore(self, log: Log, saved: Saved) -> None:
        self._take_over(log, NO_THRESHOLDS)

    def value(self, instance: int) -> float:
        return float(self._degrees[instance, NOW]) if instance < len(self._degrees) else 0.0

    def _take_over(self, log: Log, asked: ThresholdLists) -> Reported:
        log = fixed_log(log)
        vertices = 1 + int(max(log.subject.max(), log.object.max())) if len(log.step) else 0
        if vertices > len(self._degrees):
            self._degrees = enlarged(self._degrees, max(vertices, more(len(self._degrees))))
        run(follow_degrees, self._degrees, self._ends, log, asked, self._report.begin())
        return self._report.reported()
