"""Up to 64 events onto a board: their cells by attribute, numbers sorted, words marked with the lanes that hold them.

The law: a board depends on the chosen events alone; whatever an earlier filling left is overwritten or out of date.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels import board_layout as at
from heliograph.kernels.board_layout import Board
from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import FALSE, LIST, LISTED, NUMBER, ODD, STRING, TRUE, Cells, Int64s
from heliograph.kernels.targeting_types import BOARD, CELLS, INT64S

_ONE, _NONE = np.uint64(1), np.uint64(0)
_KIND = np.uint8(0x7F)


@kernel((CELLS, INT64S, BOARD))
def gather(cells: Cells, chosen: Int64s, board: Board) -> None:
    """Lays the chosen events out, each in the lane of its place in `chosen`."""
    lay_out(cells, chosen, board)


@kernel()
def lay_out(cells: Cells, chosen: Int64s, board: Board) -> None:
    """`gather`, as a part of other kernels."""
    board.head[at.STAMP] += 1
    board.head[at.SIZE] = len(chosen)
    board.head[at.ALL_PLAIN] = 1
    for row in range(board.head[at.ROWS]):
        board.slots[board.rows[row, at.ATTRIBUTE]] = -1
    board.head[at.ROWS] = 0
    for event in chosen:
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            _count(cells, cell, board)
    _lay_rows(board)
    for lane in range(len(chosen)):
        event = chosen[lane]
        board.events[lane] = event
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            _place(cells, cell, lane, board)
    for row in range(board.head[at.ROWS]):
        _mark(board, row)


@kernel()
def _count(cells: Cells, cell: Any, board: Board) -> None:
    attribute = cells.attribute[cell]
    row = board.slots[attribute]
    if row < 0:
        row = board.head[at.ROWS]
        board.head[at.ROWS] = row + 1
        board.slots[attribute] = row
        board.rows[row, at.ATTRIBUTE] = attribute
        board.rows[row, at.NUMBERS_END] = board.rows[row, at.CELLS_END] = 0
        board.rows[row, at.PLAIN] = 1
        for kind in range(7):
            board.kinds[row, kind] = _NONE
    board.rows[row, at.CELLS_END] += 1
    if cells.kind[cell] == NUMBER:
        board.rows[row, at.NUMBERS_END] += 1


@kernel()
def _lay_rows(board: Board) -> None:
    """Counts to beginnings; the ends move up again as cells are placed."""
    numbers = placed = 0
    for row in range(board.head[at.ROWS]):
        count, size = board.rows[row, at.NUMBERS_END], board.rows[row, at.CELLS_END]
        board.rows[row, at.NUMBERS] = board.rows[row, at.NUMBERS_END] = numbers
        board.rows[row, at.CELLS] = board.rows[row, at.CELLS_END] = placed
        numbers += count
        placed += size


@kernel()
def _place(cells: Cells, cell: Any, lane: Any, board: Board) -> None:
    row = board.slots[cells.attribute[cell]]
    bit = _ONE << np.uint64(lane)
    end = board.rows[row, at.CELLS_END]
    board.cells[end], board.lanes[end] = cell, lane
    board.rows[row, at.CELLS_END] = end + 1
    board.kinds[row, at.ANY] |= bit
    kind = cells.kind[cell]
    if kind == NUMBER:
        board.kinds[row, at.ONE_NUMBER] |= bit
        _insert(board, row, cells.number[cell], bit)
    elif kind & _KIND == STRING:
        if kind == STRING:
            board.kinds[row, at.ONE_STRING] |= bit
        _hold(board, cells.word[cell], bit)
    elif kind == LIST:
        board.kinds[row, at.LISTS] |= bit
        board.rows[row, at.PLAIN] = board.head[at.ALL_PLAIN] = 0
    elif kind == ODD:
        board.kinds[row, at.ONE_NUMBER] |= bit
        board.rows[row, at.PLAIN] = board.head[at.ALL_PLAIN] = 0
    elif kind & _KIND == TRUE or kind & _KIND == FALSE:
        if kind & np.uint8(LISTED) == 0:
            board.kinds[row, at.ONE_BOOLEAN] |= bit
        board.kinds[row, at.TRUES if kind & _KIND == TRUE else at.FALSES] |= bit


@kernel()
def _insert(board: Board, row: Any, number: Any, bit: Any) -> None:
    """Into the row's sorted numbers; `marks` holds each number's own lane for now."""
    first, place = board.rows[row, at.NUMBERS], board.rows[row, at.NUMBERS_END]
    board.rows[row, at.NUMBERS_END] = place + 1
    while place > first and board.keys[place - 1] > number:
        board.keys[place] = board.keys[place - 1]
        board.marks[place + row] = board.marks[place + row - 1]
        place -= 1
    board.keys[place] = number
    board.marks[place + row] = bit


@kernel()
def _hold(board: Board, word: Any, bit: Any) -> None:
    if 0 <= word < len(board.words):
        if board.stamps[word] != board.head[at.STAMP]:
            board.stamps[word] = board.head[at.STAMP]
            board.words[word] = _NONE
        board.words[word] |= bit


@kernel()
def _mark(board: Board, row: Any) -> None:
    """Each number's own lane to the lanes of all smaller ones."""
    below = _NONE
    for place in range(board.rows[row, at.NUMBERS] + row, board.rows[row, at.NUMBERS_END] + row):
        own = board.marks[place]
        board.marks[place] = below
        below |= own
    board.marks[board.rows[row, at.NUMBERS_END] + row] = below
