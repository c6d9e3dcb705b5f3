"""The arrays that kernels of metrics and their callers share. Does not import Numba.

A metric sees the evolving graph as a *log*: every change of an edge in its projection, in order. Changes belong to
steps; a step is what one update does in one phase, and only what holds at its end counts. What a metric says of an
*instance* (a vertex, a pair, a set of terminals) is told when it passes one of the *cuts* that somebody set there.

The law of cuts: a condition on a metric changes its truth only where the value passes a cut, or where it was asked to
be told every change; so what lies between two cuts need not be told.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.evolution_layout import Floats, Int8s, Int32s

WENT, CAME, CHANGED = 0, 1, 2  # what became of an edge; CHANGED: another weight

SILENT, EVERY = -1, -2  # in place of a list of cuts: nobody asks, and every change is told


class Log(NamedTuple):
    """Changes of edges, in order. An edge is (subject, predicate, object): one that came was absent, one that went was
    present, and two edges may join the same vertices."""

    step: Int32s  # ascending, from 0; several changes may belong to one step
    change: Int8s
    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats  # after the change, or of an edge that went the one it had; NaN where it has none


class Cuts(NamedTuple):
    """Lists of values, each ascending: list n is points[firsts[n]:firsts[n + 1]]."""

    points: Floats
    firsts: Int32s


class Said(NamedTuple):
    """What was said of instances at the ends of steps: in order of step, an instance at most once in each."""

    step: Int32s
    instance: Int32s
    value: Floats

    @classmethod
    def nothing(cls) -> Said:
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float64))


STEP, INSTANCE = range(2)  # columns of a kernel's rows of sayings
SAID_COLUMNS = 2
