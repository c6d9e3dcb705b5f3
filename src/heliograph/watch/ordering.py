"""Events and solutions put in order.

Events are rows as kernels write them (`network_layout`); solutions are rows of term ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.kernels.network_layout import W_PHASE, W_SIGN, W_UPDATE
from heliograph.watch.deltas import Changes
from heliograph.watch.evidence import Book


def sort_events(events: Int64s, columns: tuple[int, ...]) -> Int64s:
    """By these columns, the last of them first."""
    return events[np.lexsort([events[:, column] for column in columns])]


def spans(events: Int64s, columns: tuple[int, ...]) -> Iterator[slice]:
    """Runs of events that agree in these columns."""
    if len(events):
        keys = events[:, columns]
        cuts = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
        yield from (slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(events)]))


def net(events: Int64s, terms: Int32s) -> tuple[Int64s, Int32s]:
    """Events and the solutions that they list, without those that came and went within a phase."""
    phases = 2 * events[:, W_UPDATE] + events[:, W_PHASE]
    mixed = np.isin(phases, phases[events[:, W_SIGN] > 0]) & np.isin(phases, phases[events[:, W_SIGN] < 0])
    if not mixed.any():
        return events, terms
    keys = np.column_stack((phases, terms))
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(inverse.ravel(), weights=events[:, W_SIGN])
    kept = np.sort(first[total != 0])
    settled = events[kept]
    settled[:, W_SIGN] = total[inverse.ravel()[kept]]
    return settled, terms[kept]


def in_order(changes: Changes, shown: int, book: Book) -> Int64s:
    """By update and change, then by what is shown; only where there are several is it looked at."""
    key, terms = 2 * changes.update + changes.gained, changes.terms
    _, inverse, sizes = np.unique(key, return_inverse=True, return_counts=True)
    several = sizes[inverse] > 1
    if not several.any():
        return np.arange(len(key))
    ranks = np.zeros(terms.shape, np.int64)
    ranks[several] = book.ranks(terms[several])
    return np.lexsort([*ranks[:, shown:].T[::-1], changes.phase, *ranks[:, :shown].T[::-1], key])


def places(sorted_values: Int64s) -> Int64s:
    """The place of each among its equals."""
    numbers = np.arange(len(sorted_values))
    return numbers - np.searchsorted(sorted_values, sorted_values)
