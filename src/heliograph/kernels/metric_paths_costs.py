"""Costs of paths: sums of weights in twice the precision of a float, then the number of edges.

The law: as long as the sums in play span less than 100 bits, from the last bit of the smallest weight to the first of
the largest sum, no addition rounds. So equal costs are equal however they were added up, the value of a distance is its
exact sum rounded once, and which paths are the shortest does not depend on the order of updates.

Source: the addition of unevaluated pairs of floats is that of Dekker (1971) in Knuth's form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import edge_at
from heliograph.kernels.metric_paths_layout import HIGH, HOPS, LOW
from heliograph.kernels.metric_paths_world import entries_of, sums_of


@kernel()
def add(high: Any, low: Any, more_high: Any, more_low: Any) -> Any:
    """The sum of two numbers of twice the precision; what is too large is infinite."""
    total = high + more_high
    if total == np.inf:
        return np.inf, 0.0
    part = total - high
    rest = (high - (total - part)) + (more_high - part)
    lows = low + more_low
    part = lows - low
    last = (low - (lows - part)) + (more_low - part)
    rest += lows
    upper = total + rest
    rest = (rest - (upper - total)) + last
    answer = upper + rest
    return answer, rest - (answer - upper)


@kernel(inline=True)
def compare(cost: Any, other: Any) -> Any:
    """Below 0, 0 or above 0, as one cost (high, low, hops) is less, equal or greater than another."""
    if cost[0] != other[0]:
        return -1 if cost[0] < other[0] else 1
    if cost[1] != other[1]:
        return -1 if cost[1] < other[1] else 1
    return cost[2] - other[2]


@kernel(inline=True)
def is_weighted(reach: Any) -> Any:
    return len(sums_of(reach)) > 0


@kernel(inline=True)
def cost_of(reach: Any, entry: Any) -> Any:
    hops = np.int64(entries_of(reach)[entry, HOPS])
    if is_weighted(reach):
        return sums_of(reach)[entry, HIGH], sums_of(reach)[entry, LOW], hops
    return 0.0, 0.0, hops


@kernel()
def step_cost(cost: Any, weight: Any) -> Any:
    """The cost after one more edge."""
    high, low = add(cost[0], cost[1], weight, 0.0)
    return high, low, cost[2] + 1


@kernel()
def both_costs(cost: Any, other: Any) -> Any:
    high, low = add(cost[0], cost[1], other[0], other[1])
    return high, low, cost[2] + other[2]


@kernel(inline=True)
def extent(reach: Any, cost: Any) -> Any:
    """A cost as a distance."""
    return cost[0] if is_weighted(reach) else np.float64(cost[2])


@kernel(inline=True)
def weight_of(weighted: Any, graph: Any, edge: Any) -> Any:
    """The weight of an edge: 1 if it has none; 0 where hops are counted."""
    if not weighted:
        return 0.0
    weight = graph.weights[edge]
    return 1.0 if np.isnan(weight) else weight


@kernel(inline=True)
def weight_at(weighted: Any, graph: Any, run: Any, i: Any) -> Any:
    """The weight of a run's edge."""
    return weight_of(weighted, graph, edge_at(graph, run, i)) if weighted else 0.0
