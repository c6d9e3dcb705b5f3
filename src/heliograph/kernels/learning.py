"""The facts of a board, all at once: see `quick_layout`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels import board_layout as at
from heliograph.kernels import quick_layout as of
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.quick_layout import Facts, Quick, Sorted
from heliograph.kernels.targeting_layout import STRING
from heliograph.kernels.targeting_types import FLOATS, INT32S, INT64S, NEW_INT32S, NEW_INT64S, NEW_MASKS
from heliograph.kernels.types import INT32S as _INT32S
from heliograph.kernels.types import ROWS, named

_NONE = np.uint64(0)
_KIND = np.uint8(0x7F)
QUICK: Any = named(Quick, INT64S, INT32S, FLOATS, INT32S, INT32S, INT32S, INT32S, INT32S, ROWS, _INT32S)
SORTED: Any = named(Sorted, INT32S, INT64S, INT32S, INT64S, int64)
FACTS: Any = named(Facts, NEW_MASKS, NEW_INT32S, NEW_INT32S, NEW_INT64S)


@kernel()
def learn(events: Events, quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """Finds out every fact that quick code may ask about the board."""
    for number in range(facts.head[of.TOUCHED]):
        facts.known[facts.touched[number]] = _NONE
    facts.head[of.TOUCHED] = 0
    for row in range(board.head[at.ROWS]):
        attribute = board.rows[row, at.ATTRIBUTE]
        if attribute < len(quick.attribute_facts) and quick.attribute_facts[attribute] >= 0:
            for kind in range(7):
                _put(facts, quick.attribute_facts[attribute] + kind, board.kinds[row, kind])
        for place in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
            cell = board.cells[place]
            if events.cells.kind[cell] & _KIND == STRING:
                _learn_word(events.cells.word[cell], quick, order, facts, board)
    _learn_bounds(quick, order, facts, board)
    _learn_sets(events, quick, order, facts, board)


@kernel(inline=True)
def _put(facts: Facts, fact: Any, lanes: Any) -> None:
    """More lanes for a fact."""
    if lanes != _NONE:
        if facts.known[fact] == _NONE:
            facts.touched[facts.head[of.TOUCHED]] = fact
            facts.head[of.TOUCHED] += 1
        facts.known[fact] |= lanes


@kernel()
def _learn_word(word: Any, quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """A word's own fact and those of the sets that hold it, once for all lanes that have it."""
    if word < 0 or word >= len(board.words) or word >= len(quick.word_facts) or quick.word_facts[word] < 0:
        return
    lanes = board.words[word]
    if facts.known[quick.word_facts[word]] != _NONE:
        return
    _put(facts, quick.word_facts[word], lanes)
    if word < len(order.set_ranges) - 1:
        for place in range(order.set_ranges[word], order.set_ranges[word + 1]):
            _put(facts, order.set_facts[place], lanes)


@kernel()
def _learn_bounds(quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """A bound's lanes from one pass over the row's sorted numbers; bounds that came later by themselves."""
    for attribute in range(len(order.ranges) - 1):
        row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
        if row >= 0 and board.rows[row, at.NUMBERS] < board.rows[row, at.NUMBERS_END]:
            _pass(quick, order, facts, board, attribute, row)
            facts.dirty[attribute] = 1
        elif facts.dirty[attribute] != 0:
            facts.dirty[attribute] = 0
            for number in range(order.ranges[attribute], order.ranges[attribute + 1]):
                _know(quick, facts, order.order[number], _NONE, _NONE)
    for bound in range(len(order.order), len(quick.bounds)):
        attribute = quick.bound_attributes[bound]
        row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
        if row >= 0:
            _learn_bound(quick, facts, board, bound, row)
            facts.dirty[attribute] = 1  # it may be among the sorted ones by the time of the next board
        else:
            _know(quick, facts, bound, _NONE, _NONE)


@kernel()
def _pass(quick: Quick, order: Sorted, facts: Facts, board: Board, attribute: Any, row: Any) -> None:
    place, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
    for number in range(order.ranges[attribute], order.ranges[attribute + 1]):
        bound = order.order[number]
        value = quick.bounds[bound]
        while place < last and board.keys[place] < value:
            place += 1
        below = board.marks[place + row]
        after = place
        while after < last and board.keys[after] == value:
            after += 1
        _know(quick, facts, bound, below, board.marks[after + row])


@kernel()
def _learn_bound(quick: Quick, facts: Facts, board: Board, bound: Any, row: Any) -> None:
    place, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
    value = quick.bounds[bound]
    while place < last and board.keys[place] < value:
        place += 1
    below = board.marks[place + row]
    while place < last and board.keys[place] == value:
        place += 1
    _know(quick, facts, bound, below, board.marks[place + row])


@kernel(inline=True)
def _know(quick: Quick, facts: Facts, bound: Any, below: Any, upto: Any) -> None:
    first = quick.bound_facts[bound]
    facts.known[first + of.BELOW], facts.known[first + of.UPTO] = below, upto
    if quick.equal_facts[bound] >= 0:
        facts.known[quick.equal_facts[bound]] = upto ^ below


@kernel()
def _learn_sets(events: Events, quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """Sets of words that came later, and all sets of bounds."""
    for number in range(order.set_count, len(quick.word_sets)):
        start = quick.word_sets[number, 0]
        for place in range(start + 1, start + 1 + events.programs.sets[start]):
            word = events.programs.sets[place]
            if word < len(board.words) and board.stamps[word] == board.head[at.STAMP]:
                _put(facts, quick.word_sets[number, 1], board.words[word])
    place = 0
    while place < len(quick.bound_sets):
        last = place + 2 + quick.bound_sets[place + 1]
        for member in range(place + 2, last):
            first = quick.bound_facts[quick.bound_sets[member]]
            _put(facts, quick.bound_sets[place], facts.known[first + of.BELOW] ^ facts.known[first + of.UPTO])
        place = last
