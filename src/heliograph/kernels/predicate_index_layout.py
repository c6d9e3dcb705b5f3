"""The shapes of the predicate index, shared by kernels and their callers. Does not import Numba.

A *row* is an id with its expression, a *place* the row's rank in the order of reporting. A *group* is an expression of
a segment with all rows that share it. What a true expression needs, one of a few literals, is indexed: strings by word,
everything else as an interval on an axis, whose values are rounded to the buckets between some chosen edges. Rounding
is monotone, so a value within an interval always falls within its buckets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.targeting_layout import Floats, Int32s, Int64s, Masks

# The axes of attribute a are 3 a + one of these. On TEXTS lies the number that a string's first 8 bytes spell; on
# PRESENCE every cell, a TRUE one at 1 and a FALSE one at 2.
NUMBERS, TEXTS, PRESENCE = 0, 1, 2
AXES = 3

# Columns of what `predicate_access.choose` gives: an axis with buckets, or a word with LOW = WORD, or nothing that
# could be indexed with LOW = OPEN; and the group.
KEY, LOW, HIGH, GROUP = 0, 1, 2, 3
ACCESS_COLUMNS = 4
WORD, OPEN = -1, -2
NOTHING = -1  # the axis of a literal that no cell is needed for
ALTERNATIVE = 4  # so many attributes of an alternative are looked at
LARGEST_REQUIRED = (1 << 15) - 1  # beyond it an attribute is not looked at

# Columns of `runs`: intervals of one axis that lie near each other, from BEGIN to END, and the hull of their buckets.
BEGIN, END, LOWEST, HIGHEST = 0, 1, 2, 3
RUN_SIZE = 32

NEVER_DIED = (1 << 63) - 1


class Axes(NamedTuple):
    """Axis x has the edges from offsets[x] to offsets[x + 1]; a value's bucket is the number of edges up to it."""

    offsets: Int64s
    edges: Floats


class Chances(NamedTuple):
    """What is known of events: how likely they have an attribute, and one of its words if they have it."""

    present: Floats
    word: Floats


class Room(NamedTuple):
    """Room for one expression: how likely each of its instructions is true, and which are still to be looked at."""

    costs: Floats
    stack: Int64s


class Segment(NamedTuple):
    """Groups and their index; group g has the rows members[offsets[g]:offsets[g + 1]]. `open` ones are always asked."""

    expressions: Int32s
    offsets: Int32s
    members: Int32s
    open: Int32s
    words: Int32s  # ascending
    word_offsets: Int32s
    word_groups: Int32s
    axes: Axes
    run_offsets: Int64s  # of each axis
    runs: Int32s  # rows
    lows: Int32s
    highs: Int32s
    interval_groups: Int32s
    required: npt.NDArray[np.int16]  # rows: the attributes, plus one, of each alternative, and zeros
    required_groups: Int32s


class Rows(NamedTuple):
    """The rows of an index. A reader of version v sees those with died > v."""

    expression: Int32s
    place: Int32s
    died: Int64s


CANDIDATES, FOUND, STAMP = 0, 1, 2  # `counts`: pairs asked, entries of the index met, the stamp of words looked up


class Scratch(NamedTuple):
    """Room for one block of events. Between blocks masks, touched, results and reported are zero."""

    masks: Masks  # the lanes for which each group is a candidate
    touched: Masks  # a bit for each group
    up_to: Masks  # the lanes with a value in this bucket or below it
    since: Masks  # … or above it
    stamps: Int64s  # of each word: when it was looked up last
    results: Masks  # the lanes that each place matches
    reported: Masks  # a bit for each place
    present: Masks  # the lanes that have each attribute, plus one
    lanes: Int64s  # how many results each lane has
    counts: Int64s
