"""The shape of quick code: what most expressions are compiled to a second time. Does not import Numba.

An expression of two levels, an OR of ANDs or an AND of ORs, becomes groups of pairs of *facts*: a test holds in the
lanes of its first fact that are not lanes of its second. A fact is the set of lanes for which something elementary is
so: one number is below a bound, the attribute is there, the string is one of a set. All facts of a board are found out
at once, each attribute's bounds in one pass over its sorted numbers; then every test is two loads, and there is hardly
anything for a processor to mispredict. The law: where quick code exists, and no lane has a list or an odd integer, it
gives what the code of `Programs` gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.targeting_layout import Floats, Int32s, Int64s, Masks

NO_LANES, ALL_LANES, FIRST_FACT = 0, 1, 2  # facts that are always known
BELOW, UPTO = 0, 1  # the two facts of a bound; that lanes equal it is one of its own, where it is asked
KIND_FACTS = 8  # the facts of an attribute, in the order of the columns of `Board.kinds`

OR_OF_ANDS, AND_OF_ORS = 0, 1


class Quick(NamedTuple):
    """Quick code of expression e begins at starts[e], or is none where that is -1: which form and how many groups, then
    the number of facts of each group, then the facts, two a test.
    """

    starts: Int64s
    code: Int32s
    bounds: Floats  # the numbers that attributes are compared with, each attribute's own
    bound_attributes: Int32s
    bound_facts: Int32s  # the first of the two facts of each bound
    equal_facts: Int32s  # that lanes equal a bound, or -1
    word_facts: Int32s  # the fact of each word, or -1
    attribute_facts: Int32s  # the first fact of each attribute, or -1
    word_sets: Int32s  # rows: a place in `Programs.sets`, and the fact
    bound_sets: Int32s  # a fact, how many bounds, these; and so on


class Sorted(NamedTuple):
    """What was in order when it was last sorted; what came later is looked at one by one.

    Attribute a has the bounds order[ranges[a]] … order[ranges[a + 1] - 1], ascending. Word w is in the sets whose facts
    are set_facts[set_ranges[w]] … set_facts[set_ranges[w + 1] - 1].
    """

    order: Int32s
    ranges: Int64s
    set_facts: Int32s
    set_ranges: Int64s
    set_count: int


# Columns of `Translation.sizes`: how much of each array is in use, and how many facts there are.
EXPRESSIONS, WORDS, BOUNDS, WORD_SETS, BOUND_SETS, FACTS = 0, 1, 2, 3, 4, 5


class Translation(NamedTuple):
    """Room for more quick code: the arrays of `Quick` with room to grow, and tables of what has a fact already."""

    sizes: Int64s
    quick: Quick
    bound_slots: Int32s
    set_facts: Int32s  # of each place in `Programs.sets`, or -1


# `Facts.head`: how many are touched; the stamp of the board that they were learnt from; that of the board about which
# expressions were asked without them, and how many.
TOUCHED, LEARNT, ASKED_ABOUT, ASKED = 0, 1, 2, 3


class Facts(NamedTuple):
    """The lanes of each fact on the present board; `touched` are those to be emptied for the next one."""

    known: Masks
    touched: Int32s
    dirty: Int32s  # attributes whose bounds are not all empty
    head: Int64s


def make_facts(facts: int, attributes: int) -> Facts:
    """Room for so many facts."""
    known = np.zeros(facts + 1, np.uint64)
    known[ALL_LANES] = ~np.uint64(0)
    return Facts(known, np.zeros(facts + 1, np.int32), np.zeros(attributes + 1, np.int32), np.zeros(4, np.int64))


class Job(NamedTuple):
    """Events, with all that is needed to ask expressions about them."""

    events: Events
    quick: Quick
    order: Sorted
    facts: Facts
    board: Board
