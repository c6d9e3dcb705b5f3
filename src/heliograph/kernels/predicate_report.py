"""From the lanes that each place matches to the places that each lane matches.

The law: each lane gets its places in ascending order, and the room is left empty. Where there are many, 64 places are
turned at once, like the rows and columns of a matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels import board_layout
from heliograph.kernels.bitmaps import count_bits, first_bit
from heliograph.kernels.board_layout import Board
from heliograph.kernels.cache import kernel
from heliograph.kernels.predicate_index import SCRATCH
from heliograph.kernels.predicate_index_layout import Scratch
from heliograph.kernels.targeting_layout import Int32s, Int64s, Masks
from heliograph.kernels.targeting_types import BOARD, NEW_INT32S, NEW_INT64S

_ONE, _NONE = np.uint64(1), np.uint64(0)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_MANY = 128  # results among 64 places from which on turning them is faster than looking at each by itself


@kernel((BOARD, SCRATCH, NEW_INT64S, NEW_INT32S))
def report(board: Board, scratch: Scratch, offsets: Int64s, numbers: Int32s) -> Any:
    """Writes each lane's places from offsets[0] on, and where they end behind it.

    Returns the place after the last; where `numbers` lacks the room for it, nothing else has happened.
    """
    total, used = _total(scratch)
    end = offsets[0] + total
    if end > len(numbers):
        return end
    turning = total > _MANY * used
    scratch.lanes[:] = 0
    for word in range(len(scratch.reported)):
        if scratch.reported[word] != _NONE:
            if turning:
                _turn_and_count(scratch, word)
            else:
                _count(scratch, word)
    _lay_out(board, scratch, offsets)
    for word in range(len(scratch.reported)):
        if scratch.reported[word] != _NONE:
            if turning:
                _write_turned(scratch, word, numbers)
            else:
                _write(scratch, word, numbers)
            scratch.reported[word] = _NONE
    return end


@kernel()
def _total(scratch: Scratch) -> Any:
    """How many results there are, and among how many words of 64 places."""
    total = used = 0
    for word in range(len(scratch.reported)):
        bits = scratch.reported[word]
        used += bits != _NONE
        while bits != _NONE:
            total += count_bits(scratch.results[np.int64(word << 6) + first_bit(bits)])
            bits &= bits - _ONE
    return total, used


@kernel()
def _lay_out(board: Board, scratch: Scratch, offsets: Int64s) -> None:
    """The lanes' counts to where their places begin."""
    begin = offsets[0]
    for lane in range(board.head[board_layout.SIZE]):
        count = scratch.lanes[lane]
        scratch.lanes[lane] = begin
        begin += count
        offsets[lane + 1] = begin


@kernel()
def _count(scratch: Scratch, word: Any) -> None:
    bits = scratch.reported[word]
    while bits != _NONE:
        mask = scratch.results[np.int64(word << 6) + first_bit(bits)]
        bits &= bits - _ONE
        while mask != _NONE:
            scratch.lanes[first_bit(mask)] += 1
            mask &= mask - _ONE


@kernel()
def _write(scratch: Scratch, word: Any, numbers: Int32s) -> None:
    bits = scratch.reported[word]
    while bits != _NONE:
        place = np.int64(word << 6) + first_bit(bits)
        bits &= bits - _ONE
        mask = scratch.results[place]
        scratch.results[place] = _NONE
        while mask != _NONE:
            lane = first_bit(mask)
            mask &= mask - _ONE
            numbers[scratch.lanes[lane]] = place
            scratch.lanes[lane] += 1


@kernel()
def _turn_and_count(scratch: Scratch, word: Any) -> None:
    first = np.int64(word) << 6
    turn(scratch.results, first)
    for lane in range(64):
        scratch.lanes[lane] += count_bits(scratch.results[first + lane])


@kernel()
def _write_turned(scratch: Scratch, word: Any, numbers: Int32s) -> None:
    first = np.int64(word) << 6
    for lane in range(64):
        bits = scratch.results[first + lane]
        scratch.results[first + lane] = _NONE
        to = scratch.lanes[lane]
        while bits != _NONE:
            numbers[to] = first + first_bit(bits)
            to += 1
            bits &= bits - _ONE
        scratch.lanes[lane] = to


@kernel()
def turn(masks: Masks, first: Any) -> None:
    """64 masks from `first` on as the rows of a matrix of bits, to its columns: quarters change places, then theirs."""
    width, chosen = 32, _LOW_HALF
    while width > 0:
        shift = np.uint64(width)
        row = 0
        while row < 64:
            one, other = masks[first + row], masks[first + row + width]
            change = ((one >> shift) ^ other) & chosen
            masks[first + row] = one ^ (change << shift)
            masks[first + row + width] = other ^ change
            row = (row + width + 1) & ~width
        width >>= 1
        chosen ^= chosen << np.uint64(width)
