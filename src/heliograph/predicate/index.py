"""The predicate index: which of many SQL conditions are true of an event, without a graph."""

from __future__ import annotations

import operator
import os
import sys
import threading
import time
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.compiled.growing import Growing, Pool, fixed
from heliograph.errors import (
    HeliographError,
    Place,
    PredicateError,
    StorageError,
    SubscriptionError,
    TableError,
    UsageError,
    own_failure,
)
from heliograph.io.coerce import coerce_array, coerce_values
from heliograph.io.schemas import CellKind
from heliograph.io.tables import as_table, is_single
from heliograph.model import Explanation, Receipt, Rejected, Rejections, Stats, rejection_report
from heliograph.predicate import layout as at
from heliograph.predicate.attributes import Encoded, encode
from heliograph.predicate.compile import NOTHING_SLOW, Room, Targeting, TargetingFailed
from heliograph.predicate.evaluate import Attributes, accepts, blame
from heliograph.predicate.form import ACCEPT, Predicate, to_sql
from heliograph.predicate.layout import (
    ACCESS_COLUMNS,
    AXES,
    CANDIDATES,
    LANES,
    NEVER,
    NEVER_DIED,
    Axes,
    Bytes,
    Chances,
    ChoiceRoom,
    Int32s,
    Int64s,
    PredicateRows,
    PredicateSegment,
    Programs,
    SearchRoom,
    zeros,
)
from heliograph.predicate.parser import compile_predicates, parse_predicate
from heliograph.storage import read_folder, write_folder

# --- segments: what is known of some rows, in flat arrays that never change -------------------------------------------
#
# The law: a segment of rows gives the candidates that any division of the same rows into segments would give, or
# fewer false ones. The newest rows are a segment that is not indexed: all of it is asked.
#
# The edges of buckets, which intervals are rounded to, are quantiles of the constants themselves, so that a bucket is
# a share of what expressions ask for. How likely a literal is true is guessed from these: an interval by the share of
# the buckets that it takes, a word by the number of words of its attribute.

_SAMPLE = 1 << 18  # constants that edges are chosen from: sorting more would take longer than all the rest
_FEWEST_EDGES, _MOST_EDGES = 64, 4096
_CONSTANTS_PER_EDGE = 8  # every block of events pays for each edge, and each interval for rounding that is too coarse
_MANY_ATTRIBUTES = 32

Ints = npt.NDArray[np.integer[Any]]


class PredicateVocabulary(NamedTuple):
    """The expressions and names that a version's rows are written in."""

    source: PredicateSource
    programs: Programs
    word_attributes: Int32s  # the attribute of each word
    attributes: int  # how many there are


def build_segment(written: PredicateVocabulary, rows: PredicateRows, chosen: Int32s) -> PredicateSegment:
    """The segment of the chosen rows; those that share an expression are one group."""
    found, group = np.unique(rows.expression[chosen], return_inverse=True)
    expressions: Int32s = _fixed(found, np.int32)
    axes, entries = choose_access(written, expressions)
    members = chosen[np.argsort(group, kind="stable")]
    offsets = _offsets(np.bincount(group, minlength=len(expressions)))
    opens = entries[entries[:, at.LOW] == at.OPEN, at.GROUP]
    groups = (_fixed(part, np.int32) for part in (offsets, members, opens))
    of_words = entries[entries[:, at.LOW] == at.WORD]
    words, counts = np.unique(of_words[:, at.KEY], return_counts=True)
    word_groups = of_words[np.argsort(of_words[:, at.KEY], kind="stable"), at.GROUP]
    by_word = (_fixed(part, np.int32) for part in (words, _offsets(counts), word_groups))
    # Intervals by axis, then by width, then from left to right, so that those of a run lie near each other.
    of_axes = entries[entries[:, at.LOW] >= 0]
    doublings = np.frexp(np.maximum(of_axes[:, at.HIGH] - of_axes[:, at.LOW], 0))[1]
    of_axes = of_axes[np.lexsort((of_axes[:, at.LOW], doublings, of_axes[:, at.KEY]))]
    intervals = (_fixed(of_axes[:, column], np.int32) for column in (at.LOW, at.HIGH, at.GROUP))
    runs = _runs(of_axes, len(axes.offsets) - 1)
    parts: list[Any] = [*groups, *by_word, axes, *runs, *intervals, *_required(written, expressions)]
    return PredicateSegment(expressions, *parts)


def choose_access(written: PredicateVocabulary, expressions: Int32s) -> tuple[Axes, Int32s]:
    """The axes, and the words and intervals under which each of these expressions is found, by its place among them."""
    from heliograph.predicate.index_kernels import choose

    programs, attributes = written.programs, written.attributes
    axes = _axes(programs, expressions, attributes)
    longest = int(np.diff(programs.starts)[expressions].max(initial=0)) // 2 + 1
    room = ChoiceRoom(np.empty(longest), np.empty(longest, np.int64))
    words = np.bincount(written.word_attributes, minlength=attributes)
    chances = fixed(Chances(np.ones(attributes), 1 / (words + 1.0)))
    entries = np.empty((0, ACCESS_COLUMNS), np.int32)
    while (count := int(choose(programs, expressions, axes, chances, room, entries))) > len(entries):
        entries = np.empty((count, ACCESS_COLUMNS), np.int32)
    return axes, entries


def _axes(programs: Programs, expressions: Int32s, attributes: int) -> Axes:
    """Of the distinct constants of each axis, in order, evenly spread ones."""
    from heliograph.predicate.index_kernels import collect

    axis, values = np.empty(0, np.int32), np.empty(0)
    while (count := int(collect(programs, expressions, axis, values))) > len(axis):
        axis, values = np.empty(count, np.int32), np.empty(count)
    if count > _SAMPLE:
        axis, values = axis[:: -(-count // _SAMPLE)], values[:: -(-count // _SAMPLE)]
    most = np.bincount(axis, minlength=attributes * AXES) // _CONSTANTS_PER_EDGE
    order = np.lexsort((values, axis))
    axis, values = axis[order], values[order]
    fresh = np.ones(len(axis), bool)
    fresh[1:] = (axis[1:] != axis[:-1]) | (values[1:] != values[:-1])
    distinct = np.bincount(axis[fresh], minlength=len(most))
    kept = np.minimum(distinct, np.clip(most, _FEWEST_EDGES, _MOST_EDGES))
    offsets = _offsets(kept)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept)
    chosen = np.repeat(_offsets(distinct)[:-1], kept)
    chosen = chosen + place * np.repeat(distinct, kept) // np.maximum(1, np.repeat(kept, kept))
    return fixed(Axes(offsets.astype(np.int64), values[fresh][chosen]))


def _required(written: PredicateVocabulary, expressions: Int32s) -> tuple[Any, Any]:
    """The attributes that each expression requires; nothing where there are so few that events may well have them."""
    from heliograph.predicate.index_kernels import require

    found = np.empty((0, at.ALTERNATIVE + 1), np.int32)
    if written.attributes >= _MANY_ATTRIBUTES:
        while (count := int(require(written.programs, expressions, found))) > len(found):
            found = np.empty((count, at.ALTERNATIVE + 1), np.int32)
    return _fixed(found[:, : at.ALTERNATIVE], np.int16), _fixed(found[:, at.ALTERNATIVE], np.int32)


def _runs(entries: Ints, axes: int) -> tuple[Any, Any]:
    """Up to RUN_SIZE intervals of an axis each, with the hull of their buckets; and where the runs of an axis begin."""
    counts = np.bincount(entries[:, at.KEY], minlength=axes)
    per_axis = -(-counts // at.RUN_SIZE)
    run_offsets = _offsets(per_axis)
    number = np.arange(run_offsets[-1]) - np.repeat(run_offsets[:-1], per_axis)
    begin = np.repeat(_offsets(counts)[:-1], per_axis) + number * at.RUN_SIZE
    runs = np.zeros((len(begin), 4), np.int32)
    if len(begin):
        runs[:, at.BEGIN], runs[:, at.END] = begin, np.append(begin[1:], len(entries))
        runs[:, at.LOWEST] = np.minimum.reduceat(entries[:, at.LOW], begin)
        runs[:, at.HIGHEST] = np.maximum.reduceat(entries[:, at.HIGH], begin)
    return _fixed(run_offsets, np.int64), _fixed(runs, np.int32)


_NO_AXES: Axes = fixed(Axes(np.zeros(1, np.int64), np.zeros(0)))
_NO_OFFSETS, _NO_RUNS = fixed(np.zeros(1, np.int64)), fixed(np.zeros((0, 4), np.int32))
_NO_ALTERNATIVES = fixed(np.zeros((0, at.ALTERNATIVE), np.int16))


def tail_segment(rows: PredicateRows, begin: int, numbers: Int32s) -> PredicateSegment:
    """The rows from `begin` on, each a group of its own that is always asked; `numbers` counts from 0 up."""
    count, none = len(rows.expression) - begin, numbers[:0]
    groups = rows.expression[begin:], numbers[: count + 1], numbers[begin : begin + count], numbers[:count]
    words, intervals = (none, numbers[:1], none), (_NO_AXES, _NO_OFFSETS, _NO_RUNS, none, none, none)
    nothing: list[Any] = [*words, *intervals, _NO_ALTERNATIVES, none]
    return PredicateSegment(*groups, *nothing)


def _offsets(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts)))


def _fixed(values: Any, dtype: Any) -> Any:
    """As a contiguous array of this type that cannot be written to."""
    return fixed(np.asarray(values, dtype))


# --- what the predicates are compiled with, for as long as the index is not cleaned up, and room to search in ---------
#
# A search borrows room for its masks, which is empty again when it ends well, so that a search of one event does not
# pay for making room as large as the index.

_BUCKETS = 1 << 13  # more than any axis has


class SearchSizes(NamedTuple):
    """How many a search needs masks for."""

    groups: int
    words: int
    places: int
    attributes: int


class Borrowed(NamedTuple):
    sizes: SearchSizes
    room: Room
    scratch: SearchRoom


class PredicateSource:
    """One store of expressions, and rooms that were left empty."""

    def __init__(self) -> None:
        self.targeting = Targeting()
        self._rooms: list[Borrowed] = []

    def vocabulary(self) -> PredicateVocabulary:
        """What there is now. Only the writer asks."""
        programs, names = self.targeting.snapshot(), self.targeting.names
        return PredicateVocabulary(self, programs, names.snapshot().word_attributes, len(names.paths))

    def borrow(self, sizes: SearchSizes) -> Borrowed:
        """Room that nobody else uses."""
        try:
            known = self._rooms.pop()
        except IndexError:
            return Borrowed(sizes, Room(), _make_room(sizes))
        if all(map(operator.ge, known.sizes, sizes)):
            return known
        larger = SearchSizes(*(size + size // 2 for size in sizes))
        return Borrowed(larger, known.room, _make_room(larger))

    def give_back(self, borrowed: Borrowed) -> None:
        """Takes room back that is as empty as it was."""
        self._rooms.append(borrowed)


def _make_room(sizes: SearchSizes) -> SearchRoom:
    groups, places = sizes.groups // 64 + 1, sizes.places // 64 + 1  # in words of 64
    results = places * 64, places, sizes.attributes + 2, LANES, 4
    return zeros(SearchRoom, groups * 64, groups, _BUCKETS, _BUCKETS, sizes.words + 1, *results)


# --- the rows of a predicate index, growing, and the segments that they lie in ----------------------------------------
#
# A row is an id with one expression; replacing an expression adds a row and ends the old one, in the same place of
# the order. Many versions live in the same arrays: a reader of version v sees the rows that die after v, and the one
# writer only appends and gives death in versions that nobody reads yet, so that readers need no lock.
#
# The newest rows wait in a tail that is not indexed. When it has grown it becomes a segment, and segments of about
# the same size become one, so that each row is indexed again only a logarithm of times.

TAIL = 1024  # rows asked one by one cost as much as rounding up some blocks; indexing fewer is not worth a segment
_RATIO = 4  # a segment is merged with the one before it unless that is so many times as large


class IdColumn(NamedTuple):
    """Ids by number as flat texts, and the number of the id at each place."""

    named: Int32s
    offsets: Int64s
    data: Bytes

    @property
    def column(self) -> Any:
        """The id of each number as an Arrow array, which takes no memory of its own."""
        parts: tuple[Any, ...] = self.offsets, self.data
        return pa.Array.from_buffers(pa.large_string(), len(self.offsets) - 1, [None, *map(pa.py_buffer, parts)])

    def texts(self, places: Int32s) -> list[str]:
        listed: list[str] = self.at(places).to_pylist()
        return listed

    def at(self, places: Int32s) -> Any:
        """The ids at these places as an Arrow array."""
        return self.column.take(pa.array(self.named[places]))

    def number(self, id: str) -> int:
        """The number of an id, or -1."""
        return int(pc.index(self.column, pa.scalar(id, pa.large_string())).as_py())


class IndexVersion(NamedTuple):
    """What one call sees. `texts` may have grown since, behind what the rows refer to."""

    number: int
    written: PredicateVocabulary
    rows: PredicateRows
    segments: tuple[PredicateSegment, ...]
    ids: IdColumn
    texts: Sequence[str | None]  # of each row
    live: int

    def live_rows(self) -> Int32s:
        """The rows that are there, in order of their places."""
        alive = np.flatnonzero(self.rows.died > self.number)
        return alive[np.argsort(self.rows.place[alive], kind="stable")].astype(np.int32)

    def listing(self) -> tuple[list[str], list[str | None]]:
        """The ids that are there and their texts, in order."""
        rows = self.live_rows()
        return self.ids.texts(self.rows.place[rows]), [self.texts[row] for row in rows.tolist()]

    def find(self, id: str) -> int | None:
        """The row of an id, or None. Looks at every one."""
        found = np.flatnonzero(self.ids.named[self.rows.place] == self.ids.number(id))
        alive = found[self.rows.died[found] > self.number]
        return int(alive[0]) if len(alive) else None


class RowStore:
    """The one writer's side."""

    def __init__(self) -> None:
        self._expression, self._place = Growing(np.int32), Growing(np.int32)
        self._died: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._ids, self._named = Pool(np.uint8), Growing(np.int32)
        self._texts: list[str | None] = []
        self._current = array("i")  # the row of each id, or -1
        self._live = 0
        self._segments: list[PredicateSegment] = []
        self._indexed = 0  # rows before this one lie in segments
        self._number = 0
        self._counting: Int32s = _counting(2 * TAIL)

    def __len__(self) -> int:
        return self._live

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._find(id) >= 0

    @property
    def dead(self) -> int:
        return len(self._texts) - self._live

    def _find(self, id: str) -> int:
        """The row of an id, or -1."""
        number = self._ids.find(id.encode())
        return self._current[number] if number >= 0 else -1

    def put(self, added: Sequence[tuple[str, str | None, int]]) -> None:
        """Adds ids with their texts and expressions, in order; an id that is there already keeps its place."""
        first = len(self._texts)
        self._make_room(first + len(added))
        places, named, before = list[int](), list[int](), len(self._named)
        for row, (id, text, _) in enumerate(added, first):
            self._texts.append(text)
            number = self._ids.number(id.encode())
            if number == len(self._current):
                self._current.append(-1)
            known = self._current[number]
            if known < 0:
                places.append(before + len(named))
                named.append(number)
            else:
                places.append(places[known - first] if known >= first else int(self._place.view()[known]))
                self._died[known] = self._number + 1
            self._current[number] = row
        self._live += len(named)
        self._named.extend(named)
        self._expression.extend([expression for _, _, expression in added])
        self._place.extend(places)

    def drop(self, ids: Sequence[str]) -> None:
        """Ends the rows of these ids, which are there."""
        for id in ids:
            number = self._ids.find(id.encode())
            self._died[self._current[number]] = self._number + 1
            self._current[number] = -1
        self._live -= len(ids)

    def listing(self) -> tuple[list[str], list[str | None]]:
        """The ids that are there now and their texts, in order."""
        places, named = self._place.view(), self._named.view()
        rows = sorted((row for row in self._current if row >= 0), key=places.__getitem__)
        return [self._ids.content(named[places[row]]).decode() for row in rows], [self._texts[row] for row in rows]

    def version(self, written: PredicateVocabulary) -> IndexVersion:
        """The next version: everything done since the last one, at once."""
        self._number += 1
        if len(self._texts) - self._indexed >= TAIL:
            self._fold(written)
        rows = self._rows()
        tail = [tail_segment(rows, self._indexed, self._counting)] if self._indexed < len(self._texts) else []
        segments = (*self._segments, *tail)
        ids = IdColumn(self._named.view(), self._ids.offsets(), self._ids.data())
        return IndexVersion(self._number, written, rows, segments, ids, self._texts, self._live)

    def _rows(self) -> PredicateRows:
        died = self._died[: len(self._texts)]
        died.flags.writeable = False
        return PredicateRows(self._expression.view(), self._place.view(), died)

    def _fold(self, written: PredicateVocabulary) -> None:
        """The tail as a segment, together with the segments that are not much larger."""
        rows = self._rows()
        chosen = [np.arange(self._indexed, len(self._texts), dtype=np.int32)]
        size = len(chosen[0])
        while self._segments and len(self._segments[-1].members) < _RATIO * size:
            chosen.append(self._segments.pop().members)
            size += len(chosen[-1])
        together = np.sort(np.concatenate(chosen))
        alive = together[rows.died[together] > self._number]
        self._segments.append(build_segment(written, rows, alive))
        self._indexed = len(self._texts)

    def _make_room(self, size: int) -> None:
        if size > len(self._died):
            room = np.full(max(size, 2 * len(self._died)), NEVER_DIED, np.int64)
            room[: len(self._died)] = self._died
            self._died = room
            self._counting = _counting(len(room) + 1)


def _counting(size: int) -> Any:
    numbers = np.arange(size, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers


# --- the events that a predicate index is asked about, as one column of JSON texts ------------------------------------
#
# Attributes come as mappings, as JSON texts, or as an Arrow column; one mapping or one text is one event.

_COLUMN = "attributes"
_FIX = "give a mapping of attributes, JSON texts, several of these, or an Arrow column"


def read_texts(events: Any) -> tuple[pa.Array[Any], dict[int, Rejected]]:
    """A text for each event, in order; one that cannot be written as JSON is null, and refused by its position."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        if _COLUMN not in events.schema.names:
            raise TableError("HG-202", f"events without {_COLUMN!r}", fix=f"add the column {_COLUMN!r}")
        events = events.column(_COLUMN)
    if isinstance(events, pa.ChunkedArray):
        events = events.combine_chunks()
    if isinstance(events, pa.Array):
        if pa.types.is_string(events.type) or pa.types.is_large_string(events.type):
            return events, {}
        coerced: Any = coerce_array(CellKind.JSON, events)
    else:
        if isinstance(events, Mapping | str):
            events = [events]
        if not isinstance(events, Iterable) or isinstance(events, bytes | os.PathLike):
            raise UsageError("HG-024", f"{type(events).__name__} given as events", fix=_FIX)
        coerced = coerce_values(CellKind.JSON, list(events))
    refused = {}
    for bad in coerced.bad:
        place = _position(bad.row)
        error = TableError("HG-204", f"{str(bad.value)[:60]} as event", place=place, fix=bad.expected)
        refused[bad.row] = Rejected.of(error, item=place.item)
    return coerced.array, refused


# --- what events matched, as numbers; ids are made into texts when they are looked at ---------------------------------
#
# The laws: `len` is the number of events given, also of those that were refused, which match nothing; an event's ids
# are in the order of adding.


class PredicateMatches(Sequence[tuple[str, ...]]):
    """For each event the ids of the predicates that are true of it.

    Event e matched the ids of the numbers from offsets[e] to offsets[e + 1].
    """

    def __init__(self, offsets: Int64s, numbers: Int32s, ids: IdColumn, rejected: Rejections, stats: Stats) -> None:
        self.offsets = offsets
        self.numbers = numbers
        self.rejected = rejected
        self.stats = stats
        self._ids = ids

    @property
    def complete(self) -> bool:
        return self.stats.complete

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | list[tuple[str, ...]]:
        wanted = range(len(self))[index]
        return [self._event(event) for event in wanted] if isinstance(wanted, range) else self._event(wanted)

    def _event(self, event: int) -> tuple[str, ...]:
        return tuple(self._ids.texts(self.numbers[self.offsets[event] : self.offsets[event + 1]]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Matches({len(self)} events, {len(self.numbers)} matches, {self.rejected.total} rejected)"

    @cached_property
    def table(self) -> pa.Table:
        """The columns event (its number, from 0) and id."""
        event = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return pa.table({"event": pa.array(event, pa.int64()), "id": self._ids.at(self.numbers).cast(pa.string())})


# --- encoded events through a version of the predicate index: 64 at a time, `gather → examine → report` ---------------

_FEW_ROWS, _FEW_PAIRS = 200, 20_000


class IndexFound(NamedTuple):
    """Event e matched the places from offsets[e] to offsets[e + 1]; pairs whose expression was evaluated."""

    offsets: Int64s
    numbers: Int32s
    candidates: int


def search(version: IndexVersion, encoded: Encoded, refused: Collection[int]) -> IndexFound:
    """Which places' expressions are true of each event; refused events find nothing."""
    count = len(encoded.cells.offsets) - 1
    chosen = np.delete(np.arange(count), list(refused))
    chosen.flags.writeable = False
    found = (_search_plainly if _is_small(version, len(chosen)) else _search)(version, encoded, chosen)
    if not refused:
        return found
    sizes = np.zeros(count, np.int64)
    sizes[chosen] = np.diff(found.offsets)
    return found._replace(offsets=_offsets(sizes).astype(np.int64))


# --- in plain Python --------------------------------------------------------------------------------------------


def _is_small(version: IndexVersion, events: int) -> bool:
    """Whether plain Python is done before the kernels are there: some 5 µs a pair, 100 µs to read a predicate again."""
    if "heliograph.predicate.index_kernels" in sys.modules:
        return not events or not version.live
    return version.live <= _FEW_ROWS and version.live * events <= _FEW_PAIRS


def _search_plainly(version: IndexVersion, encoded: Encoded, chosen: Int64s) -> IndexFound:
    """The same answers, by asking every predicate."""
    rows = version.live_rows()
    rows = rows[version.rows.expression[rows] != NEVER]  # also those that were put aside
    compiled = compile_predicates([version.texts[row] for row in rows])
    forms = [form for form in compiled if not isinstance(form, Exception)]
    places, expressions = version.rows.place[rows], version.rows.expression[rows].tolist()
    numbers = []
    for event in chosen.tolist():
        attributes = Attributes(encoded.tree(event))
        asked = zip(forms, expressions, strict=True)
        numbers.append(places[np.array([_accepts(form, attributes, number) for form, number in asked], bool)])
    count = sum(form is not ACCEPT for form in forms)
    offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
    return IndexFound(offsets, np.concatenate([*numbers, places[:0]]), count * len(chosen))


def _accepts(form: Predicate, attributes: Attributes, expression: int) -> bool:
    try:
        return accepts(form, attributes)
    except MemoryError:
        raise
    except Exception as error:
        raise TargetingFailed({expression: error}) from error


# --- by kernels -------------------------------------------------------------------------------------------------


def _search(version: IndexVersion, encoded: Encoded, chosen: Int64s) -> IndexFound:
    from heliograph.predicate.index_kernels import examine, report
    from heliograph.predicate.kernels import gather

    written, source = version.written, version.written.source
    groups = max((len(segment.expressions) for segment in version.segments), default=0)
    sizes = SearchSizes(groups, len(written.word_attributes), len(version.ids.named), written.attributes)
    borrowed = source.borrow(sizes)
    scratch = borrowed.scratch
    scratch.counts[CANDIDATES] = 0
    compiled = source.targeting.compiled(written.programs)
    job = borrowed.room.job(source.targeting, compiled, encoded.cells, _slow(version, encoded, chosen))
    offsets = np.zeros(len(chosen) + 1, np.int64)
    numbers = np.empty(max(1024, 64 * min(len(chosen), 1 << 14)), np.int32)
    for first in range(0, len(chosen), LANES):
        gather(job.events.cells, chosen[first : first + LANES], job.board)
        for segment in version.segments:
            examine(job, segment, version.rows, version.number, scratch)
        while (end := int(report(job.board, scratch, offsets[first:], numbers))) > len(numbers):
            wider = np.empty(2 * end, np.int32)
            wider[: offsets[first]] = numbers[: offsets[first]]
            numbers = wider
    source.give_back(borrowed)
    return IndexFound(offsets, numbers[: offsets[-1]], int(scratch.counts[CANDIDATES]))


def _slow(version: IndexVersion, encoded: Encoded, chosen: Int64s) -> npt.NDArray[np.int8]:
    """What Python decides, for the chosen events."""
    targeting, count = version.written.source.targeting, len(encoded.cells.offsets) - 1
    if not targeting.slow:
        return NOTHING_SLOW
    found = targeting.slow_truth([encoded.tree(event) for event in chosen.tolist()])
    truths = np.full((len(found), count), -1, np.int8)
    truths[:, chosen] = found
    truths.flags.writeable = False
    return truths


# --- the predicate index: which of many SQL conditions are true of an event, without a graph --------------------------
#
# What it computes: for each event the ids whose predicate is true (unknown is not), in the order of adding. The laws:
# adding, replacing and removing are seen by the next call, and by no call that has begun; any history of changes
# gives what an index made afresh of the same predicates gives; an id that is replaced keeps its place in the order,
# one that is removed and added again goes to the end.
#
# The path of a batch: `read → encode → search`; see `search`, and `index_kernels.choose` for what is indexed.

KIND, VERSION = "predicates", 1
_SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("predicate", pa.string())])
_WASTE = 1024  # rows and expressions that nothing uses any more, beside as many as are in use, are worth a clean-up


class PredicateIndex:
    """Conditions by id, and which of them are true of an event. Thread-safe: one writer, any number of matches."""

    def __init__(self, items: Any = None) -> None:
        self._lock = threading.Lock()
        self._source, self._rows = PredicateSource(), RowStore()
        self._version = self._rows.version(self._source.vocabulary())
        self.rejected = Rejections()
        """What was refused of the items given to the constructor."""
        if items is not None:
            self.rejected = self.add([items] if is_single(items) else items).rejected

    def __len__(self) -> int:
        return self._version.live

    def __contains__(self, id: object) -> bool:
        return id in self._rows

    # --- changes ------------------------------------------------------------------------------------------------

    def add(self, items: Any) -> Receipt:
        """Adds predicates, or replaces those of the same id: (id, text) pairs, dicts or a table with id and predicate.

        A single bad item raises; among several it is reported in the receipt. Null or blank text is true of everything.
        """
        read = as_table("predicates", items)
        ids, texts = (read.table.column(name).to_pylist() for name in ("id", "predicate"))
        with self._lock:
            numbers = self._source.targeting.add_many(texts)
            rows = list(zip(ids, texts, numbers, strict=True))
            good = [(id, text, number) for id, text, number in rows if id and not isinstance(number, PredicateError)]
            self._rows.put(good)
            self._publish()
        faults = [_fault(read.place(row), id, number) for row, (id, _, number) in enumerate(rows)]
        errors = [fault for fault in faults if fault is not None]
        return _receipt(is_single(items), len(good), list(read.rejected), errors)

    def remove(self, ids: Any) -> Receipt:
        """Removes predicates by id, one or several."""
        names = dict.fromkeys(_names(ids))
        with self._lock:
            known = [id for id in names if id in self._rows]
            self._rows.drop(known)
            self._publish()
        errors = [_unknown(id) for id in names.keys() - set(known)]
        return _receipt(isinstance(ids, str), len(known), [], errors)

    def _publish(self) -> None:
        if self._rows.dead > len(self._rows) + _WASTE:
            self._clean_up()
        self._version = self._rows.version(self._source.vocabulary())

    def _clean_up(self) -> None:
        """Starts afresh with what is there; calls that have begun keep what they hold."""
        ids, texts = self._rows.listing()
        self._source, self._rows = PredicateSource(), RowStore()
        numbers = self._source.targeting.add_many(texts)
        rows = zip(ids, texts, numbers, strict=True)
        self._rows.put([(id, text, number) for id, text, number in rows if isinstance(number, int)])

    # --- events -------------------------------------------------------------------------------------------------

    def match(self, events: Any) -> PredicateMatches:
        """The ids of the predicates that are true of each event.

        Events are attributes: one mapping, several, JSON texts, an Arrow column of these or a table with `attributes`.
        """
        started = time.perf_counter_ns()
        texts, refused = read_texts(events)
        failed: list[Rejected] = []
        while True:
            version = self._version
            encoded = encode(version.written.source.targeting.names, texts, place=_position)
            parsed = time.perf_counter_ns()
            refused |= {row: Rejected.of(error) for row, error in encoded.errors.items()}
            try:
                found = search(version, encoded, refused.keys())
                break
            except TargetingFailed as failure:  # what raised is put aside, and the others are asked again
                failed += self._put_aside(version, failure)
        stats = Stats(
            subscriptions=version.live,
            publications=len(texts) - len(refused),
            notifications=len(found.numbers),
            candidates=found.candidates,
            verified=len(found.numbers),
            rejected=len(refused) + len(failed),
            parse_ns=parsed - started,
            match_ns=time.perf_counter_ns() - parsed,
        )
        rejected = rejection_report([*(refused[row] for row in sorted(refused)), *failed])
        return PredicateMatches(found.offsets, found.numbers, version.ids, rejected, stats)

    def _put_aside(self, version: IndexVersion, failure: TargetingFailed) -> list[Rejected]:
        """Predicates that raised are true of nothing from now on, until they are replaced. Reports each."""
        with self._lock:
            if version.written.source is not self._source:  # cleaned up meanwhile
                return []
            now = self._version
            rows = now.live_rows()
            rows = rows[np.isin(now.rows.expression[rows], list(failure.failures))]
            ids, errors = now.ids.texts(now.rows.place[rows]), now.rows.expression[rows].tolist()
            self._rows.put([(id, now.texts[row], NEVER) for id, row in zip(ids, rows.tolist(), strict=True)])
            self._publish()
        if ids:
            failure.log()
        return [
            Rejected.of(_failed(id, failure.failures[number]), item=id) for id, number in zip(ids, errors, strict=True)
        ]

    def explain(self, id: str, event: Any) -> Explanation:
        """Why a predicate is true of an event, or what of it is not."""
        version = self._version
        row = version.find(id)
        if row is None:
            raise _unknown(id)
        texts, refused = read_texts(event)
        encoded = encode(version.written.source.targeting.names, texts, place=_position)
        if len(texts) != 1 or refused:
            raise UsageError("HG-047", f"{len(texts)} events given to explain", fix="give one mapping of attributes")
        if encoded.errors:
            raise encoded.errors[0]
        return _explanation(id, version.texts[row], Attributes(encoded.tree(0)))

    # --- storage ------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Saves the predicates in order; see `storage`."""
        ids, texts = self._version.listing()
        table = pa.table([pa.array(ids, pa.string()), pa.array(texts, pa.string())], schema=_SCHEMA)
        write_folder(path, KIND, VERSION, tables={"predicates": table})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Opens saved predicates."""
        table = read_folder(path, KIND, (VERSION,)).tables.get("predicates")
        if table is None or not table.schema.equals(_SCHEMA):
            raise _damaged(path, "the table predicates is missing or has other columns")
        index = cls(table)
        if index.rejected:
            raise _damaged(path, f"a predicate cannot be read: {index.rejected[0].message}")
        return index


def _position(row: int) -> Place:
    """Where an event stands among those of its call, from 1."""
    return Place(item=str(row + 1))


def _explanation(id: str, text: str | None, event: Attributes) -> Explanation:
    if text is None or not text.strip():
        return Explanation("match", id, None, True, f"{id!r} has no condition and is true of every event")
    form = parse_predicate(text)
    if accepts(form, event):
        return Explanation("match", id, None, True, f"{id!r} is true of the event", held=(to_sql(form),))
    return Explanation("match", id, None, False, f"{id!r} is not true of the event", failed=blame(form, event))


def _fault(place: Place, id: str | None, number: int | PredicateError) -> HeliographError | None:
    """What is wrong with a row. Equal texts share one error, so that the one with a place is a copy."""
    if not id:
        return SubscriptionError("HG-503", "a predicate without an id", place=place, fix="write one in id")
    if not isinstance(number, PredicateError):
        return None
    where = replace(number.place, source=place.source, item=id)
    return PredicateError(number.code, number.message, place=where, fix=number.fix, snippet=number.snippet)


def _failed(id: str, error: Exception) -> SubscriptionError:
    return own_failure(f"predicate {id!r}", error, inside="match", until="replaced or removed")


def _unknown(id: str) -> SubscriptionError:
    return SubscriptionError("HG-502", f"there is no predicate {id!r}", place=Place(item=id), fix="check its id")


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-805", f"a damaged save: {why}", place=Place(str(path)), fix="save it again")


def _names(ids: Any) -> list[str]:
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        ids = ids.to_pylist()
    several = ids if isinstance(ids, Iterable) and not isinstance(ids, str) else [ids]
    return [str(id) for id in several]


def _receipt(single: bool, accepted: int, unread: list[Rejected], errors: Sequence[HeliographError]) -> Receipt:
    """A single item that was refused raises; in a batch it is reported."""
    if single and (unread or errors):
        raise errors[0] if errors else TableError(unread[0].code, unread[0].message)
    return Receipt(accepted, Rejections([*unread, *map(Rejected.of, errors)]))
