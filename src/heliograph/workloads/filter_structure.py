"""[R] figure 9(b): one pattern for all subscriptions, and a range of its own for each.

All publications hold the pattern, each with another value, the values `GAP` apart. Why `expected` is exact: two-sided
ranges lie around one value or between two. One-sided ranges come in pairs with their ends between the same two values,
one upwards and one downwards, so each pair gives every publication exactly one match; the other one-sided ranges
begin beyond the last value or end before the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.workloads.filter_graphs import Flags, Graphs, Ints, Random, draw_graphs
from heliograph.workloads.filter_tables import Core, Pairs, Ranges, Tables

if TYPE_CHECKING:
    from heliograph.workloads.filter import FilterWorkload

GAP = 10**9  # so wide that no two ends of ranges coincide but by a rare chance


class _Drawn(NamedTuple):
    """Ranges with the publications that they hold the values of: from `first`, so many."""

    below: Flags  # whether there is a lower end
    above: Flags
    low: Ints
    high: Ints
    first: Ints
    held: Ints


def one_structure(rng: Random, workload: FilterWorkload, publications: Graphs, tables: Tables) -> dict[str, pa.Table]:
    """The tables of the workload."""
    core = draw_graphs(rng, 1, workload.subscription_shape, workload.universe)
    core = core._replace(labels=core.labels * 0 + workload.labels + np.arange(workload.subscription_nodes))
    drawn = _shuffled(rng, [_two_sided(rng, workload), _one_sided(rng, workload)])
    zeros = np.zeros(workload.subscriptions, np.int64)
    ranges = Ranges(drawn.below | drawn.above, zeros, drawn.low, drawn.high, drawn.below, drawn.above)
    graphs = core.take(zeros)
    stars = np.zeros(graphs.labels.shape, bool)
    stars[:, 2 : 2 + workload.variables] = True
    values = np.arange(workload.publications) * GAP
    return {
        "patterns": tables.patterns(graphs, stars, ranges),
        "constraints": tables.constraints(graphs, ranges, np.zeros_like(stars)),
        "publications": tables.publications(publications, None, Core(core, values)),
        "taxonomy": tables.taxonomy(),
        "expected": tables.expected(_pairs(drawn)),
    }


def one_sided_count(workload: FilterWorkload) -> int:
    """How many ranges are one-sided."""
    return round(workload.subscriptions * workload.one_sided)


def one_sided_matches(workload: FilterWorkload) -> int:
    """How many of a publication's matches have a one-sided range."""
    return round(workload.matches_each * workload.one_sided)


def _two_sided(rng: Random, workload: FilterWorkload) -> _Drawn:
    """Around the value of a publication, or between two."""
    count = workload.subscriptions - one_sided_count(workload)
    each = workload.matches_each - one_sided_matches(workload)
    owner = np.repeat(np.arange(workload.publications), each)
    matching = np.arange(count) < len(owner)
    between = rng.integers(0, max(1, workload.publications), count - len(owner)) * GAP + GAP // 2
    middle = np.concatenate([owner * GAP, between])
    low, high = (rng.integers(0, GAP // 4, count) for _ in range(2))
    first = np.concatenate([owner, np.zeros(count - len(owner), np.int64)])
    both = np.ones(count, bool)
    return _Drawn(both, both, middle - low, middle + high, first, matching.astype(np.int64))


def _one_sided(rng: Random, workload: FilterWorkload) -> _Drawn:
    """First the pairs, as many as a publication has matches here; then those that hold no value."""
    count, pairs, values = one_sided_count(workload), one_sided_matches(workload), workload.publications
    upward = np.arange(count) % 2 == 0
    cut = np.where(upward, values, 0)  # upwards: the values from number `cut` on; downwards: those before it
    cut[: 2 * pairs] = np.repeat(rng.integers(0, values + 1, pairs), 2)
    end = cut * GAP - GAP // 2 + rng.integers(-GAP // 4, GAP // 4, count)
    held = np.where(upward, values - cut, cut)
    return _Drawn(upward, ~upward, end, end, np.where(upward, cut, 0), held)


def _shuffled(rng: Random, parts: list[_Drawn]) -> _Drawn:
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = rng.permutation(len(joined[0]))
    return _Drawn(*(column[order] for column in joined))


def _pairs(drawn: _Drawn) -> Pairs:
    """Every subscription with every publication whose value it holds."""
    subscription = np.repeat(np.arange(len(drawn.first)), drawn.held)
    place = np.arange(len(subscription)) - np.repeat(np.cumsum(drawn.held) - drawn.held, drawn.held)
    return Pairs(subscription, drawn.first[subscription] + place)
