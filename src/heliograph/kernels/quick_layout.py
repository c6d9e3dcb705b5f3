"""The shape of quick code: what most expressions are compiled to a second time. Does not import Numba.

An expression of two levels, an OR of ANDs or an AND of ORs, becomes groups of pairs of *facts*: a test holds in the lanes
of its first fact that are not lanes of its second. A fact is the set of lanes for which something elementary is so: one
number is below a bound, the attribute is there. It is found out once for a board, however many expressions ask.
Every test has the same form, so there is nothing for a processor to mispredict. The law: where quick code exists, and no
lane has a list or an odd integer, it gives what the code of `Programs` gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.targeting_layout import Bytes, Floats, Int32s, Int64s, Masks

# A fact is kind << KIND_SHIFT | number. The number belongs to: nothing (the empty set, all lanes); a word; a bound (the
# lanes below it, not above it, equal to it); a place in `Programs.sets`, or in `sets` here; an attribute, eight facts
# each, in the order of the columns of `Board.kinds`.
NO_LANES, ALL_LANES, WORD, BELOW, UPTO, EQUAL, WORD_SET, BOUND_SET, ATTRIBUTE = 0, 1, 2, 3, 4, 5, 6, 7, 8
KINDS = 9
KIND_SHIFT = 27

OR_OF_ANDS, AND_OF_ORS = 0, 1


class Quick(NamedTuple):
    """Quick code of expression e begins at starts[e], or is none where that is -1: which form, how many groups, and for
    each group its size and its pairs of facts.
    """

    starts: Int64s
    code: Int32s
    bounds: Floats  # the numbers that attributes are compared with, each attribute's own
    bound_attributes: Int32s
    sets: Int32s  # bounds: their number, then they


# Columns of `Translation.sizes`: how much of each array is in use.
EXPRESSIONS, WORDS, BOUNDS, SETS = 0, 1, 2, 3


class Translation(NamedTuple):
    """Room for more quick code: the arrays of `Quick` with room to grow, and a hash table of the bounds."""

    sizes: Int64s
    quick: Quick
    slots: Int32s


class Facts(NamedTuple):
    """The facts that are known about a board: those with its stamp. Fact f is at bases[kind] + steps[kind] × number."""

    known: Masks
    stamps: Int64s
    bases: Int64s
    steps: Int64s


def make_facts(quick: Quick, words: int, sets: int, attributes: int) -> Facts:
    """Room for all that quick code may ask, with so many words, places in `Programs.sets` and attributes."""
    bounds = len(quick.bounds)
    sizes = np.array([1, 1, words, 3 * bounds, 0, 0, sets, len(quick.sets), 8 * attributes], np.int64)
    bases = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    bases[UPTO], bases[EQUAL] = bases[BELOW] + 1, bases[BELOW] + 2
    steps = np.array([1, 1, 1, 3, 3, 3, 1, 1, 1], np.int64)
    total = int(sizes.sum()) + 1
    return Facts(np.zeros(total, np.uint64), np.zeros(total, np.int64), bases, steps)


Flags = Bytes
