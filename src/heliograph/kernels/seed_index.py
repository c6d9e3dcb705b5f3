"""The seed's index: getNextEntity(Q, n) over Boolean expressions ([B] section 2, after its [12] and [22]).

Each expression stands in the lists of a *necessary set* of its tests: an expression that is true has one of them true.
An event marks the ids in the lists that its cells lead to. The law: every valid node is marked, or is a candidate of
every event. `next_entity` finds the next candidate by words and verifies it; what is skipped is never verified.

`kernels.seed_listing` chooses the sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.bitmaps import first_bit
from heliograph.kernels.cache import kernel
from heliograph.kernels.quick import accepted
from heliograph.kernels.seed_layout import CALLS, HELD, RETURNED, TESTED, Lists, SeedIndex, Set, Task
from heliograph.kernels.seed_sets import add
from heliograph.kernels.targeting_layout import ALWAYS, LISTED, NUMBER, ODD, STRING, Cells, Int64s

_NONE, _63, _ALL = np.uint64(0), np.uint64(63), ~np.uint64(0)
_KIND = np.uint8(0xFF ^ LISTED)


@kernel()
def mark(index: SeedIndex, cells: Cells, event: Any, marked: Set) -> None:
    """Marks the ids in the lists of one event's cells."""
    known = len(index.sizes)
    last = -1
    for cell in range(cells.offsets[event], cells.offsets[event + 1]):
        attribute = cells.attribute[cell]
        if attribute >= known:
            continue
        if attribute != last:
            last = attribute
            _mark_list(index.present, attribute, marked)
        kind = cells.kind[cell] & _KIND
        if kind == STRING:
            if 0 <= cells.word[cell] < len(index.words.offsets) - 1:
                _mark_list(index.words, cells.word[cell], marked)
        elif kind in (NUMBER, ODD):
            _mark_stretch(index, attribute, cells.number[cell], marked)


@kernel(inline=True)
def _mark_list(lists: Lists, number: Any, marked: Set) -> None:
    for place in range(lists.offsets[number], lists.offsets[number + 1]):
        add(marked, lists.ids[place])


@kernel()
def _mark_stretch(index: SeedIndex, attribute: Any, number: Any, marked: Set) -> None:
    """The ranges that a number lies in. An ODD integer is a little above its number: no range that holds it but not
    the number begins there, since bounds are floats."""
    size = index.sizes[attribute]
    if size == 0:
        return
    cuts = index.bounds[index.cuts[attribute] : index.cuts[attribute + 1]]
    leaf = size + np.searchsorted(cuts, number, side="right")
    while leaf >= 1:
        _mark_list(index.stretches, index.trees[attribute] + leaf, marked)
        leaf >>= 1


@kernel(inline=True)
def next_entity(task: Task, least: Any, counts: Int64s) -> Any:
    """getNextEntity(Q, n): the next valid node with an id not below n, or -1 (printed: 0, which is a node's id too)."""
    counts[CALLS] += 1
    id = _next_candidate(task.lookup.always, task.sets.marked, np.int64(least))
    while id >= 0:
        if is_valid(task, id, counts):
            counts[RETURNED] += 1
            return id
        id = _next_candidate(task.lookup.always, task.sets.marked, id + 1)
    return id


@kernel(inline=True)
def is_valid(task: Task, id: Any, counts: Int64s) -> Any:
    """match(Q, Ln)."""
    expression = task.graph.expressions[id]
    if expression == ALWAYS:
        return True
    counts[TESTED] += 1
    if accepted(task.job, expression, task.sets.lane[0]) == _NONE:
        return False
    counts[HELD] += 1
    return True


@kernel(inline=True)
def _next_candidate(always: Set, marked: Set, id: Any) -> Any:
    """The least id that is not below and in one of the sets, or -1."""
    place = id >> 6
    if place >= len(always.words):
        return np.int64(-1)
    word = (always.words[place] | marked.words[place]) & (_ALL << (np.uint64(id) & _63))
    if word == _NONE:
        place += 1
        upper, kept = place >> 6, _ALL << (np.uint64(place) & _63)
        while upper < len(always.summary) and (always.summary[upper] | marked.summary[upper]) & kept == _NONE:
            upper, kept = upper + 1, _ALL
        if upper >= len(always.summary):
            return np.int64(-1)
        place = upper << 6 | first_bit((always.summary[upper] | marked.summary[upper]) & kept)
        word = always.words[place] | marked.words[place]
    return place << 6 | first_bit(word)
