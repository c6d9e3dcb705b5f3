"""What the predicates of an index are compiled with, for as long as it is not cleaned up, and room to search in.

A search borrows room for its masks, which is empty again when it ends well, so that a search of one event does not pay
for making room as large as the index.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np

from heliograph.kernels.board_layout import LANES
from heliograph.kernels.predicate_index_layout import Scratch
from heliograph.kernels.targeting_layout import Names, Programs
from heliograph.targeting.access import Known
from heliograph.targeting.room import Room
from heliograph.targeting.store import Targeting

_BUCKETS = 1 << 13  # more than any axis has


class Writing(NamedTuple):
    """The expressions and names that a version's rows are written in."""

    source: Source
    programs: Programs
    names: Names
    attributes: int

    @property
    def known(self) -> Known:
        return Known(self.names.word_attributes, self.attributes)


class Sizes(NamedTuple):
    """How many a search needs masks for."""

    groups: int
    words: int
    places: int
    attributes: int


class Borrowed(NamedTuple):
    sizes: Sizes
    room: Room
    scratch: Scratch


class Source:
    """One store of expressions, and rooms that were left empty."""

    def __init__(self) -> None:
        self.targeting = Targeting()
        self._rooms: list[Borrowed] = []

    def writing(self) -> Writing:
        """What there is now. Only the writer asks."""
        programs, names = self.targeting.snapshot(), self.targeting.names
        return Writing(self, programs, names.snapshot(), len(names.paths))

    def borrow(self, sizes: Sizes) -> Borrowed:
        """Room that nobody else uses."""
        try:
            known = self._rooms.pop()
        except IndexError:
            return Borrowed(sizes, Room(), _make_scratch(sizes))
        if all(map(operator.ge, known.sizes, sizes)):
            return known
        larger = Sizes(*(size + size // 2 for size in sizes))
        return Borrowed(larger, known.room, _make_scratch(larger))

    def give_back(self, borrowed: Borrowed) -> None:
        """Takes room back that is as empty as it was."""
        self._rooms.append(borrowed)


def _make_scratch(sizes: Sizes) -> Scratch:
    groups, places = sizes.groups // 64 + 1, sizes.places // 64 + 1  # in words of 64
    return Scratch(
        np.zeros(groups * 64, np.uint64),
        np.zeros(groups, np.uint64),
        np.zeros(_BUCKETS, np.uint64),
        np.zeros(_BUCKETS, np.uint64),
        np.zeros(sizes.words + 1, np.int64),
        np.zeros(places * 64, np.uint64),
        np.zeros(places, np.uint64),
        np.zeros(sizes.attributes + 2, np.uint64),
        np.zeros(LANES, np.int64),
        np.zeros(4, np.int64),
    )
