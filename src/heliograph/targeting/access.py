"""Which literals of each expression the index is made of, and the buckets that its intervals are rounded to.

Edges of buckets are quantiles of the constants themselves, so that a bucket is a share of what expressions ask for.
How likely a literal is true is guessed from these: an interval by the share of the buckets that it takes, a word by the
number of words of its attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.predicate_index_layout import ACCESS_COLUMNS, AXES, Axes, Chances, Room
from heliograph.kernels.targeting_layout import Int32s, Programs
from heliograph.targeting.growing import fixed

_SAMPLE = 1 << 18  # constants that edges are chosen from: sorting more would take longer than all the rest
_FEWEST_EDGES, _MOST_EDGES = 64, 4096
_CONSTANTS_PER_EDGE = 8  # every block of events pays for each edge, and each interval for rounding that is too coarse


class Access(NamedTuple):
    """The axes, and a row of `predicate_index_layout` for each word or interval."""

    axes: Axes
    entries: Int32s


class Known(NamedTuple):
    """What the expressions' names were when they were compiled: the attribute of each word, and how many there are."""

    word_attributes: Int32s
    attributes: int


def choose_access(programs: Programs, expressions: Int32s, known: Known) -> Access:
    """The literals under which each of these expressions is found; the group of an entry is its place among them."""
    from heliograph.kernels.predicate_access import choose

    axes = _axes(programs, expressions, known.attributes)
    longest = int(np.diff(programs.starts)[expressions].max(initial=0)) // 2 + 1
    room = Room(np.empty(longest), np.empty(longest, np.int64))
    chances = _chances(known)

    def fill(entries: Int32s) -> int:
        return int(choose(programs, expressions, axes, chances, room, entries))

    entries = np.empty((fill(np.empty((0, ACCESS_COLUMNS), np.int32)), ACCESS_COLUMNS), np.int32)
    fill(entries)
    return Access(axes, entries)


def _chances(known: Known) -> Chances:
    words = np.bincount(known.word_attributes, minlength=known.attributes)
    return fixed(Chances(np.ones(known.attributes), 1 / (words + 1.0)))


def _axes(programs: Programs, expressions: Int32s, attributes: int) -> Axes:
    axis, values = _constants(programs, expressions)
    if len(axis) > _SAMPLE:
        step = -(-len(axis) // _SAMPLE)
        axis, values = axis[::step], values[::step]
    order = np.lexsort((values, axis))
    axis, values = axis[order], values[order]
    fresh = np.ones(len(axis), bool)
    fresh[1:] = (axis[1:] != axis[:-1]) | (values[1:] != values[:-1])
    count = np.bincount(axis, minlength=attributes * AXES)
    return _quantiles(axis[fresh], values[fresh], np.clip(count // _CONSTANTS_PER_EDGE, _FEWEST_EDGES, _MOST_EDGES))


def _constants(programs: Programs, expressions: Int32s) -> tuple[Int32s, npt.NDArray[np.float64]]:
    from heliograph.kernels.predicate_access import collect

    count = int(collect(programs, expressions, np.empty(0, np.int32), np.empty(0)))
    axis, values = np.empty(count, np.int32), np.empty(count)
    collect(programs, expressions, axis, values)
    return axis, values


def _quantiles(axis: Int32s, values: npt.NDArray[np.float64], most: npt.NDArray[np.int64]) -> Axes:
    """Of the distinct values of each axis, in order, evenly spread ones."""
    distinct = np.bincount(axis, minlength=len(most))
    kept = np.minimum(distinct, most)
    offsets = np.concatenate(([0], np.cumsum(kept)))
    first = np.cumsum(distinct) - distinct
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept)
    chosen = np.repeat(first, kept) + place * np.repeat(distinct, kept) // np.maximum(1, np.repeat(kept, kept))
    return fixed(Axes(offsets.astype(np.int64), values[chosen]))
