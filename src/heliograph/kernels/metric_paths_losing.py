"""Balls as edges go: whose cost rested on an edge, and what the others offer instead. See metric_paths_balls."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import first_run, neighbour, next_run, run_length
from heliograph.kernels.metric_paths_balls import is_open, leads, set_cost
from heliograph.kernels.metric_paths_costs import compare, cost_of, is_weighted, step_cost, weight_at
from heliograph.kernels.metric_paths_entries import drop_entry, find_entry
from heliograph.kernels.metric_paths_heap import pop, push
from heliograph.kernels.metric_paths_layout import (
    ALERTS,
    BALL,
    HEAPED,
    LOST,
    OPEN,
    PLACE,
    TIGHT,
    VERTEX,
    WAY,
)
from heliograph.kernels.metric_paths_pairs import alert, gain, lose
from heliograph.kernels.metric_paths_world import balls_of, counters_of, entries_of, stack_of


@kernel()
def unreach_head(graph: Any, reach: Any, entry: Any, head: Any, weight: Any) -> None:
    """An edge has gone that led from an expanded member to a vertex."""
    other = find_entry(reach, head, np.int64(entries_of(reach)[entry, BALL]))
    if other < 0 or compare(step_cost(cost_of(reach, entry), weight), cost_of(reach, other)) != 0:
        return
    count = _loosen(reach, other, np.int64(0))
    if count:
        count = _find_lost(graph, reach, count)
        _offer_all(graph, reach, count)
        _settle(graph, reach)
        _drop_lost(reach, count)


@kernel()
def _loosen(reach: Any, entry: Any, count: Any) -> Any:
    """One edge less offers an entry its cost; how many entries on the stack have lost theirs."""
    entries_of(reach)[entry, TIGHT] -= 1
    ball = np.int64(entries_of(reach)[entry, BALL])
    if entries_of(reach)[entry, TIGHT]:
        if balls_of(reach)[ball, ALERTS]:
            alert(reach, entry)
        return count
    lose(reach, entry)
    balls_of(reach)[ball, OPEN] -= is_open(reach, ball, cost_of(reach, entry))
    entries_of(reach)[entry, PLACE] = LOST
    stack_of(reach)[count] = entry
    return count + 1


@kernel()
def _find_lost(graph: Any, reach: Any, count: Any) -> Any:
    """Follows lost costs to those that rested on them; how many lost theirs in all."""
    at = 0
    while at < count:
        entry = np.int64(stack_of(reach)[at])
        at += 1
        if not is_open(reach, np.int64(entries_of(reach)[entry, BALL]), cost_of(reach, entry)):
            count = _loosen_heads(graph, reach, entry, count)
    return count


@kernel()
def _loosen_heads(graph: Any, reach: Any, entry: Any, count: Any) -> Any:
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, way):
            for i in range(run_length(graph, run)):
                other = find_entry(reach, neighbour(graph, run, i), ball)
                if other >= 0 and entries_of(reach)[other, PLACE] != LOST:
                    offered = step_cost(cost_of(reach, entry), weight_at(weighted, graph, run, i))
                    if compare(offered, cost_of(reach, other)) == 0:
                        count = _loosen(reach, other, count)
        run = next_run(graph, run)
    return count


# --- what the others offer --------------------------------------------------------------------------------------


@kernel()
def _offer_all(graph: Any, reach: Any, count: Any) -> None:
    """Offers each that lost its cost what those offer that have theirs.

    In hops, a new cost is larger than the one that was lost; beyond the outermost there is none.
    """
    for at in range(count):
        entry = np.int64(stack_of(reach)[at])
        ball = np.int64(entries_of(reach)[entry, BALL])
        if is_weighted(reach) or not is_open(reach, ball, cost_of(reach, entry)):
            _collect(graph, reach, entry)
    for at in range(count):
        entry = np.int64(stack_of(reach)[at])
        if entries_of(reach)[entry, TIGHT]:
            push(reach, entry)


@kernel()
def _collect(graph: Any, reach: Any, entry: Any) -> None:
    """Sets the best cost that members which have theirs offer, if there is any."""
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, 1 - way):
            for i in range(run_length(graph, run)):
                other = find_entry(reach, neighbour(graph, run, i), ball)
                if other >= 0 and entries_of(reach)[other, PLACE] != LOST:
                    cost = cost_of(reach, other)
                    if not is_open(reach, ball, cost):
                        _take(reach, entry, step_cost(cost, weight_at(weighted, graph, run, i)))
        run = next_run(graph, run)


@kernel()
def _take(reach: Any, entry: Any, cost: Any) -> Any:
    """One of those that lost their cost is offered another; whether it is the best so far."""
    if cost[0] == np.inf:
        return False
    order = compare(cost, cost_of(reach, entry)) if entries_of(reach)[entry, TIGHT] else -1
    if order < 0:
        set_cost(reach, entry, cost)
        return True
    if order == 0:
        entries_of(reach)[entry, TIGHT] += 1
    return False


@kernel()
def _settle(graph: Any, reach: Any) -> None:
    """The nearest of those that were offered a cost has it for good, and offers others theirs."""
    while counters_of(reach)[HEAPED]:
        entry = pop(reach)
        ball, cost = np.int64(entries_of(reach)[entry, BALL]), cost_of(reach, entry)
        gain(reach, entry)
        if is_open(reach, ball, cost):
            balls_of(reach)[ball, OPEN] += 1
        else:
            _offer_heads(graph, reach, entry)


@kernel()
def _offer_heads(graph: Any, reach: Any, entry: Any) -> None:
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, way):
            for i in range(run_length(graph, run)):
                other = find_entry(reach, neighbour(graph, run, i), ball)
                if other >= 0 and entries_of(reach)[other, PLACE] != 0:
                    cost = step_cost(cost_of(reach, entry), weight_at(weighted, graph, run, i))
                    if _take(reach, other, cost):
                        push(reach, other)
        run = next_run(graph, run)


@kernel()
def _drop_lost(reach: Any, count: Any) -> None:
    """Whoever was offered nothing leaves the ball."""
    for at in range(count):
        entry = np.int64(stack_of(reach)[at])
        if entries_of(reach)[entry, PLACE] == LOST:
            drop_entry(reach, entry)
