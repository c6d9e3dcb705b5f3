"""What more edges and what more nodes do, from subscriptions of several sizes ([G] figures 9(d) and (e))."""

from __future__ import annotations

import math
from ast import literal_eval
from itertools import pairwise
from statistics import geometric_mean
from typing import NamedTuple

from benchmarks.experiments.experiment import Outcome


class Steps(NamedTuple):
    """How many times as much: for twice the edges on as many nodes, and for more nodes with as many edges."""

    doubled: float
    nodes: float


def touched(outcome: Outcome, series: str) -> Steps:
    """The same of the subscriptions that were looked at."""
    line = [point._replace(samples=[point.facts["candidates"]]) for point in outcome.line(series)]
    return steps(Outcome(tuple(line)), series)


def steps(outcome: Outcome, series: str) -> Steps:
    """The mean over all neighbours on the axis that differ in one of the two only."""
    doubled, nodes = [], []
    for before, after in pairwise(outcome.line(series)):
        (few_nodes, few_edges), (many_nodes, many_edges) = (literal_eval(str(each.x)) for each in (before, after))
        ratio = after.median / before.median
        if few_nodes == many_nodes:
            doubled.append(ratio ** (math.log(2) / math.log(many_edges / few_edges)))
        elif few_edges == many_edges:
            nodes.append(ratio)
    return Steps(geometric_mean(doubled), geometric_mean(nodes))
