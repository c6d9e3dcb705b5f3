"""The shape of a board: up to 64 events laid out attribute by attribute, a lane each. Does not import Numba.

A set of lanes is a mask of 64 bits. Each attribute that some lane defines has a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.targeting_layout import Cells, Floats, Int32s, Int64s, Masks, Names, Programs

LANES = 64
MAX_FRAMES = 160  # groups within groups: the parser bounds parentheses at 64, and each may open an AND in an OR

# `head`: the number of this board's filling, its rows, its lanes, and whether all of its rows are plain
STAMP, ROWS, SIZE, ALL_PLAIN = 0, 1, 2, 3

# Columns of `rows`. Of the row's numbers the single ones stand in `keys` in ascending order; marks[first + i], with
# first = NUMBERS + the row, are the lanes of the i smallest. A row is PLAIN if no lane has a list or an odd integer.
NUMBERS, NUMBERS_END, CELLS, CELLS_END, PLAIN, ATTRIBUTE = 0, 1, 2, 3, 4, 5
# Columns of `kinds`: the lanes where the attribute is there; is one number, string, boolean; is or holds true, false;
# is a list.
ANY, ONE_NUMBER, ONE_STRING, ONE_BOOLEAN, TRUES, FALSES, LISTS = 0, 1, 2, 3, 4, 5, 6


class Board(NamedTuple):
    head: Int64s
    slots: Int32s  # the row of each attribute, or -1
    rows: Int32s
    kinds: Masks
    keys: Floats
    marks: Masks
    cells: Int64s  # the cells of each row, in order of lanes
    lanes: npt.NDArray[np.uint8]  # the lane of each of these
    words: Masks  # the lanes that hold a word, where stamps has this board's stamp
    stamps: Int64s
    events: Int64s  # the event in each lane
    frames: Int64s  # room for `truth.holds`
    frame_masks: Masks


class Events(NamedTuple):
    """All that expressions are asked about: the events, what Python decided for them, and the programs to ask with.

    `slow` has a row for each slow test and a column for each event: 1 true, 0 false, -1 unknown.
    """

    programs: Programs
    cells: Cells
    slow: npt.NDArray[np.int8]


class Sizes(NamedTuple):
    """How much room a board needs: for attributes, rows, cells and words."""

    attributes: int
    rows: int
    cells: int
    words: int


def board_sizes(names: Names, cells: Cells) -> Sizes:
    """What any 64 of these events need, no one twice, which were encoded with these names."""
    most = min(len(cells.attribute), LANES * int(np.diff(cells.offsets).max(initial=0)))
    attributes = int(cells.attribute.max(initial=-1)) + 1
    return Sizes(attributes + 1, min(attributes, most) + 1, most + 1, len(names.word_attributes) + 1)


def make_board(names: Names, cells: Cells) -> Board:
    """Room for any 64 of these events, no one twice, which were encoded with these names."""
    attributes, rows, most, words = board_sizes(names, cells)
    return Board(
        np.zeros(4, np.int64),
        np.full(attributes, -1, np.int32),
        np.zeros((rows, 6), np.int32),
        np.zeros((rows, 7), np.uint64),
        np.zeros(most, np.float64),
        np.zeros(most + rows, np.uint64),
        np.zeros(most, np.int64),
        np.zeros(most, np.uint8),
        np.zeros(words, np.uint64),
        np.zeros(words, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(2 * MAX_FRAMES, np.int64),
        np.zeros(2 * MAX_FRAMES, np.uint64),
    )
