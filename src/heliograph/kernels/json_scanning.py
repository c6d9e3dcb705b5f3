"""JSON objects to the cells of the attributes that are known, a whole column of them at a time.

The law: an event is either given the cells that its decoded tree has (`targeting.encoding` holds the twin in plain
Python), or none and the mark that Python has to decode it: because its text is no JSON, or in one of the rare shapes
that are not worth the lines here (a known name twice, one with longer paths that begins a list or an object, numbers
that `decimals` leaves to Python, more than 64 levels).

Positions are those of bytes in the column's data. -1 in place of one stands for giving up. Strings with escapes are
spelled out in spare bytes, which lie behind the column's data as far as the cells are concerned. All parts are copied
into the one kernel: an event of six attributes then takes 0.35 µs, and 1.1 µs when the arrays are handed from part to
part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.json_escapes import unescape
from heliograph.kernels.json_tokens import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    bare,
    skip_colon,
    skip_space,
    skip_value,
    string_end,
)
from heliograph.kernels.names import NAMES, find_name, find_word, same_bytes
from heliograph.kernels.targeting_layout import (
    LIST,
    LISTED,
    ODD,
    OTHER,
    STRING,
    Bytes,
    Cells,
    Int32s,
    Int64s,
    Names,
)
from heliograph.kernels.targeting_types import BYTES, INT64S, NEW_BYTES, NEW_FLOATS, NEW_INT32S, NEW_INT64S
from heliograph.kernels.types import named

ROW, COUNT, NEEDED, SPARED = 0, 1, 2, 3  # of the state


class Memory(NamedTuple):
    """What is kept from event to event: the last one that had each name, and the name at each place of the last one.

    Events of one source have their names in one order, so that comparing with the last name at a place finds most.
    `state` counts rows, cells and spare bytes.
    """

    stamps: Int64s
    places: Int32s
    spare: Bytes
    state: Int64s


class Job(NamedTuple):
    """Everything that the parts below read and write."""

    names: Names
    cells: Cells
    memory: Memory


_CELLS: Any = named(Cells, NEW_INT64S, NEW_INT32S, NEW_BYTES, NEW_FLOATS, NEW_INT32S, NEW_INT64S, NEW_INT32S, BYTES)
_MEMORY: Any = named(Memory, NEW_INT64S, NEW_INT32S, NEW_BYTES, NEW_INT64S)


@kernel((named(Job, NAMES, _CELLS, _MEMORY), INT64S, NEW_BYTES))
def scan(job: Job, offsets: Int64s, hard: Bytes) -> None:
    """The cells of the events from state[ROW] on, as far as there is room; marks those that Python has to decode.

    An event has at most half as many cells as bytes, and one: each takes a byte, and a comma or brackets. The spare
    bytes are as many as those of all the texts, or none if there is no escape.
    """
    cells, state = job.cells, job.memory.state
    row, count = state[ROW], state[COUNT]
    while row < len(offsets) - 1:
        begin, end = offsets[row], offsets[row + 1]
        state[NEEDED] = count + (end - begin) // 2 + 2
        if state[NEEDED] > len(cells.kind):
            break
        after = _event(job, row + 1, count, begin, end)
        hard[row] = after < 0
        count = max(count, after)
        row += 1
        cells.offsets[row] = count
    state[ROW], state[COUNT] = row, count


@kernel(inline=True)
def _event(job: Job, stamp: int, count: int, at: int, end: int) -> Any:
    """Writes one event's cells, from `count` on; returns where they end."""
    text, stamps = job.cells.text, job.memory.stamps
    at = skip_space(text, at, end)
    if at == end:
        return count  # blank: no attributes
    if text[at] != OPEN_OBJECT:
        return -1
    at = skip_space(text, at + 1, end)
    if at < end and text[at] == CLOSE_OBJECT:
        return count if skip_space(text, at + 1, end) == end else -1
    place = 0
    while True:
        name, at = _name(job, place, at, end)
        at = skip_colon(text, at, end)
        if at < 0:
            return -1
        if name < 0:
            at = skip_value(text, at, end)
        elif stamps[name] == stamp:
            return -1
        else:
            stamps[name] = stamp
            at, count = _value(job, name, count, at, end)
        if at < 0:
            return -1
        at = skip_space(text, at, end)
        if at == end:
            return -1
        if text[at] == CLOSE_OBJECT:
            return count if skip_space(text, at + 1, end) == end else -1
        if text[at] != COMMA:
            return -1
        at = skip_space(text, at + 1, end)
        place += 1


@kernel(inline=True)
def _name(job: Job, place: int, at: int, end: int) -> Any:
    """The number of the name that begins at `at`, or -1, and the position after its quote.

    A name that was found before as it is spelled has no byte that would end it or escape anything, so equal bytes are
    the name.
    """
    names, text, places = job.names, job.cells.text, job.memory.places
    if at == end or text[at] != QUOTE:
        return -1, -1
    at += 1
    last = places[place] if place < len(places) else -1
    if last >= 0:
        start = names.name_offsets[last]
        size = names.name_offsets[last + 1] - start
        if at + size < end and text[at + size] == QUOTE and same_bytes(text, at, names.name_bytes, start, size):
            return np.int64(last), at + size + 1
    close, plain = string_end(text, at, end)
    if close < 0:
        return -1, -1
    if not plain:
        spare, used = job.memory.spare, job.memory.state[SPARED]
        return find_name(names, spare, used, unescape(text, at, close, spare, used)), close + 1
    name = find_name(names, text, at, close)
    if place < len(places):
        places[place] = name
    return name, close + 1


@kernel(inline=True)
def _value(job: Job, name: int, count: int, at: int, end: int) -> Any:
    """Writes the cells of a known name's value; returns the position after it and where the cells end."""
    names, cells = job.names, job.cells
    attribute = names.name_attributes[name]
    if at == end:
        return -1, count
    opening = cells.text[at]
    if opening in (OPEN_OBJECT, OPEN_LIST):
        if names.name_nested[name]:
            return -1, count
        if opening == OPEN_LIST:
            return _list(job, attribute, count, at + 1, end)
    at = _single(job, count, at, end)
    if at >= 0 and attribute >= 0 and cells.kind[count]:
        _label(job, attribute, count)
        count += 1
    return at, count


@kernel(inline=True)
def _list(job: Job, attribute: Any, count: int, at: int, end: int) -> Any:
    """Writes the marker of a list and the cells of its elements; `at` is after its bracket."""
    cells, text = job.cells, job.cells.text
    _write(cells, count, LIST, 0.0)
    cells.attribute[count] = attribute
    count += 1
    at = skip_space(text, at, end)
    if at < end and text[at] == CLOSE_LIST:
        return at + 1, count
    while at < end:
        at = _single(job, count, at, end)
        if at < 0:
            return -1, count
        if cells.kind[count]:
            _label(job, attribute, count)
            cells.kind[count] |= np.uint8(LISTED)
            count += 1
        at = skip_space(text, at, end)
        if at == end:
            break
        if text[at] == CLOSE_LIST:
            return at + 1, count
        if text[at] != COMMA:
            break
        at = skip_space(text, at + 1, end)
    return -1, count


@kernel(inline=True)
def _write(cells: Cells, count: int, kind: int, number: float) -> None:
    """A cell without a text."""
    cells.kind[count] = kind
    cells.number[count] = number
    cells.word[count] = -1
    cells.begin[count] = 0
    cells.size[count] = 0


@kernel(inline=True)
def _label(job: Job, attribute: Any, count: int) -> None:
    """Gives a cell its attribute and, if it is a string, its word."""
    cells = job.cells
    cells.attribute[count] = attribute
    if cells.kind[count] == STRING:
        begin, size, spared = cells.begin[count], cells.size[count], len(cells.text)
        if begin < spared:
            cells.word[count] = find_word(job.names, attribute, cells.text, begin, begin + size)
        else:
            begin -= spared
            cells.word[count] = find_word(job.names, attribute, job.memory.spare, begin, begin + size)


@kernel(inline=True)
def _single(job: Job, count: int, at: int, end: int) -> Any:
    """Writes the cell of a value that is no list of its own, kind 0 for null; returns the position after it."""
    cells, text = job.cells, job.cells.text
    if text[at] == QUOTE:
        close, plain = string_end(text, at + 1, end)
        if close < 0:
            return -1
        _write(cells, count, STRING, 0.0)
        if plain:
            cells.begin[count], cells.size[count] = at + 1, close - at - 1
        else:
            used = job.memory.state[SPARED]
            finish = unescape(text, at + 1, close, job.memory.spare, used)
            cells.begin[count], cells.size[count] = len(text) + used, finish - used
            job.memory.state[SPARED] = finish
        return close + 1
    if text[at] == OPEN_OBJECT or text[at] == OPEN_LIST:
        _write(cells, count, OTHER, 0.0)
        return skip_value(text, at, end)
    finish, kind, number = bare(text, at, end)
    _write(cells, count, kind, number)
    if kind == ODD:
        cells.begin[count], cells.size[count] = at, finish - at
    return finish
