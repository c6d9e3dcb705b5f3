"""What the predicates of an index are compiled with, for as long as it is not cleaned up, and room to search in.

A search borrows room for its masks, which is empty again when it ends well, so that a search of one event does not pay
for making room as large as the index.
"""

from __future__ import annotations

import operator
import threading
from typing import NamedTuple

import numpy as np

from heliograph.kernels.board_layout import LANES
from heliograph.kernels.predicate_index_layout import Scratch
from heliograph.kernels.quick_layout import Facts, make_facts
from heliograph.kernels.targeting_layout import Names, Programs
from heliograph.targeting.access import Known
from heliograph.targeting.quick import QuickCode, Snapshot
from heliograph.targeting.store import Targeting

_BUCKETS = 1 << 13  # more than any axis has


class Compiled(NamedTuple):
    """The expressions and names that a version's rows are written in."""

    source: Source
    programs: Programs
    names: Names
    attributes: int

    @property
    def known(self) -> Known:
        return Known(self.names.word_attributes, self.attributes)


class Sizes(NamedTuple):
    """How many a search needs room for."""

    groups: int
    words: int
    places: int
    facts: int
    attributes: int


class Room(NamedTuple):
    sizes: Sizes
    scratch: Scratch
    facts: Facts

    def suffices(self, sizes: Sizes) -> bool:
        return all(map(operator.ge, self.sizes, sizes))


class Source:
    """One store of expressions, its quick code, and rooms that were left empty."""

    def __init__(self) -> None:
        self.targeting = Targeting()
        self._quick = QuickCode()
        self._last: Snapshot | None = None
        self._lock = threading.Lock()
        self._rooms: list[Room] = []

    def compiled(self) -> Compiled:
        """What there is now. Only the writer asks."""
        programs, names = self.targeting.snapshot(), self.targeting.names
        return Compiled(self, programs, names.snapshot(), len(names.paths))

    def quick(self, compiled: Compiled) -> Snapshot:
        """Quick code of at least these expressions; it is made when a search first needs it."""
        with self._lock:
            if self._last is None or len(self._last.quick.starts) < len(compiled.programs.starts) - 1:
                self._last = self._quick.snapshot(compiled.programs, compiled.names, compiled.attributes)
            return self._last

    def borrow(self, sizes: Sizes) -> Room:
        """Room that nobody else uses."""
        try:
            room = self._rooms.pop()
        except IndexError:
            return _make_room(sizes)
        return room if room.suffices(sizes) else _make_room(Sizes(*(size + size // 2 for size in sizes)))

    def give_back(self, room: Room) -> None:
        """Takes room back that is as empty as it was."""
        self._rooms.append(room)


def _make_room(sizes: Sizes) -> Room:
    groups, places = sizes.groups // 64 + 1, sizes.places // 64 + 1  # in words of 64
    scratch = Scratch(
        np.zeros(groups * 64, np.uint64),
        np.zeros(groups, np.uint64),
        np.zeros(_BUCKETS, np.uint64),
        np.zeros(_BUCKETS, np.uint64),
        np.zeros(sizes.words + 1, np.int64),
        np.zeros(places * 64, np.uint64),
        np.zeros(places, np.uint64),
        np.zeros(LANES, np.int64),
        np.zeros(4, np.int64),
    )
    return Room(sizes, scratch, make_facts(sizes.facts, sizes.attributes))
