"""Updates of an evolving graph: rows read and checked, their seqs, and columns of ids for every strategy.

The path of a row: `UpdateReader.read` takes what `publish` takes. A single dict with plain cells goes straight to one
row of ids; everything else becomes a table, its cells are interned as whole columns (`read_updates`, an `Updates`), its
seqs are given out (`Updates.admit`), and what was accepted is an `UpdateColumns`. `background` reads what `load_graph`
takes: no seq but the one that it brings, and no window asks for its time.

The laws. Each row becomes an update or an error, by itself; which of the two does not depend on the rows beside it.
Only its seq, and its time in a window, depend on what came before. Of a bad row the first problem counts: its op, then
its terms in the order of their columns, then its weight. `UpdateColumns.updates` gives back row by row what was
accepted, in order and with the same seqs, so a strategy may work on columns or on rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, PublicationError, TermError, UsageError
from heliograph.io.publications import Publications
from heliograph.io.schemas import TABLES
from heliograph.io.sources import DOCUMENT_SUFFIXES, TABLE_SUFFIXES, Source, given_sources
from heliograph.io.tables import TableRows, as_table, is_single, numbered, read_all, warn_of_mixed_table, with_texts
from heliograph.model import MessageLimit, Rejected, Rejections
from heliograph.terms import Position, Term, TermKind, parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import (
    ADD_EDGE,
    NO_TIME,
    REMOVE_EDGE,
    REMOVE_VERTEX,
    SET_EDGE,
    Floats,
    Int8s,
    Int32s,
    Int64s,
)

Triple = tuple[Term, Term, Term]
Flags: TypeAlias = "npt.NDArray[np.bool_]"
Problem = tuple[int, HeliographError]  # a row of the table, what is wrong with it
Cells = Any  # an Arrow column; the stubs know no function of columns and scalars

ADD, REMOVE, SET = "+", "-", "="
SIGNS = (ADD, REMOVE, SET, REMOVE)  # how each op is written, by its number
NO_TERM = -1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Update(NamedTuple):
    """One accepted row of an updates table. Without predicate and object a removal takes the whole vertex.

    `at` is in microseconds since 1970, UTC.
    """

    seq: int
    op: str
    subject: Term
    predicate: Term | None
    object: Term | None
    weight: float | None = None
    at: int | None = None

    @property
    def triple(self) -> Triple:
        assert self.predicate is not None
        assert self.object is not None
        return (self.subject, self.predicate, self.object)


# --- the extent of a window -------------------------------------------------------------------------------------

_SECOND = 1_000_000
_UNITS = {
    "": _SECOND,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
    "d": 86400 * _SECOND,
    "w": 604800 * _SECOND,
}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw]?)")


class WindowExtent(NamedTuple):
    """How much a window holds: a span in microseconds, a number of updates, both, or neither."""

    span: int | None = None
    updates: int | None = None

    def __bool__(self) -> bool:
        return self.span is not None or self.updates is not None


def extent(window: str | float | timedelta | None = None, updates: int | None = None) -> WindowExtent:
    """The extent that the options `window` and `window_updates` ask for."""
    if updates is not None and (isinstance(updates, bool) or not isinstance(updates, int) or updates < 1):
        raise UsageError("HG-071", f"window_updates is {updates!r}", fix="give a whole number of updates, 1 or more")
    return WindowExtent(None if window is None else parse_span(window), updates)


def parse_span(window: Any) -> int:
    """A window's span in microseconds, from `7d`, `12h`, `30m`, `45s`, `2w`, seconds or a timedelta."""
    if isinstance(window, timedelta):
        span = window // timedelta(microseconds=1)
    else:
        text = str(window) if isinstance(window, (int, float)) and not isinstance(window, bool) else window
        match = _SPAN.fullmatch(text.strip().lower()) if isinstance(text, str) else None
        number, unit = ("0", "") if match is None else match.groups()
        each = _UNITS[unit or "s"]
        span = round(float(number) * each) if "." in number else int(number) * each
    if not 0 < span < 1 << 62:
        raise UsageError(
            "HG-071", f"window is {window!r}", fix="write a span above zero such as 7d, 12h, 30m, 45s, 2w, or seconds"
        )
    return span


# --- seqs -------------------------------------------------------------------------------------------------------

# The laws: each seq is above every earlier one, and how the stream is cut into tables changes no seq. Row by row, the
# last seq L follows from a row's own x: a given seq makes it max(x, L), and the row is refused unless x > L; a row
# without one makes it max(x, L + 1), x being its position. Subtract the number of rows without a seq so far, and both
# are a plain maximum: so a whole column is one accumulated maximum.

_LAST = 2**63 - 1  # the largest seq that its column can hold
_FAR = 2**62  # seqs beyond are taken one by one, where counting on from them could overflow


class SeqStream:
    """The seqs of a stream, each above every earlier one.

    A row without a seq takes its position in the whole stream, refused rows counted, or the number after the last seq
    where that is higher. So a stream without seqs is numbered from 1, in whatever batches it comes.
    """

    def __init__(self, last: int | None = None, seen: int = 0) -> None:
        self.last = last
        self.seen = seen  # rows of the stream so far
        self._base = seen  # position before the first row of the source
        self._row = 0  # number of the latest row in its source
        self._source: str | None = None

    def meta(self) -> dict[str, Any]:
        """Where the stream stands, as plain values."""
        return {"last": self.last, "seen": self.seen, "base": self._base, "row": self._row, "source": self._source}

    @classmethod
    def restored(cls, meta: Mapping[str, Any]) -> SeqStream:
        sequence = cls(meta["last"], meta["seen"])
        sequence._base, sequence._row, sequence._source = meta["base"], meta["row"], meta["source"]
        return sequence

    def take_one(self, seq: int | None) -> int | None:
        """The seq of a table of one row, its own or the next; None, with nothing done, where it needs a closer look."""
        last, position = self.last, self.seen + 1
        if last is None:
            taken = position if seq is None else seq
        elif seq is None:
            taken = position if position > last else last + 1
        else:
            taken = seq if seq > last else _LAST
        if not -_FAR < taken < _FAR:
            return None
        self._base, self._row, self._source, self.seen, self.last = self.seen, 1, None, position, taken
        return taken

    def take(self, updates: Updates, admitted: Flags, piece: bool) -> tuple[Int64s, list[Problem]]:
        """The seqs of a table's rows, and the rows that cannot have theirs with what speaks against it, in order.

        All rows are seen; those that are `admitted` take a seq, if they can. `piece` says that the table may go on with
        the source of the one before.
        """
        if not piece or updates.source is None or updates.source != self._source:
            self._base, self._row = self.seen, 0
        self._source = updates.source if piece else None
        end = self.seen + len(updates.numbers) + len(updates.unread)
        positions, columns = self._see(updates.numbers), updates.encoded
        if admitted.all():
            seqs, refused = self._take(columns.seq, updates.given, positions)
        else:
            rows, seqs = np.flatnonzero(admitted), np.zeros(len(admitted), np.int64)
            seqs[rows], refused = self._take(columns.seq[rows], updates.given[rows], positions[rows])
            refused = [(int(rows[place]), error) for place, error in refused]
        self.seen = max(self.seen, end)
        return seqs, refused

    def _see(self, numbers: Int64s) -> Int64s:
        """The position of each row in the stream; numbers that start again mean that another source begins."""
        if not len(numbers):
            return numbers
        starts = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
        if numbers[0] <= self._row:
            self._base = self.seen
        positions = numbers + self._base
        if len(starts):
            steps = np.zeros(len(numbers), np.int64)
            steps[starts] = numbers[starts - 1]
            positions += np.cumsum(steps)
        self._row, self.seen = int(numbers[-1]), int(positions[-1])
        self._base = self.seen - self._row
        return positions

    def _take(self, seqs: Int64s, given: Flags, positions: Int64s) -> tuple[Int64s, list[Problem]]:
        if not len(seqs):
            return seqs, []
        before, absent = self.last, np.cumsum(~given)
        if absent[-1] == len(seqs) == positions[-1] - positions[0] + 1 and abs(before or 0) < _FAR:
            first = int(positions[0]) if before is None else max(int(positions[0]), before + 1)
            self.last = first + len(seqs) - 1  # the commonest case: none is given, and none left out between them
            return np.arange(first, first + len(seqs), dtype=np.int64), []
        if abs(before or 0) > _FAR or seqs.max() > _FAR or seqs.min() < -_FAR:
            return self._one_by_one(seqs, given, positions)
        lasts = np.where(given, seqs, positions) - absent
        if before is not None:
            lasts[0] = max(int(lasts[0]), before)
        np.maximum.accumulate(lasts, out=lasts)
        lasts += absent
        late = given.copy()
        late[1:] &= seqs[1:] <= lasts[:-1]
        late[0] &= before is not None and bool(seqs[0] <= before)
        self.last = int(lasts[-1])
        refused = np.flatnonzero(late).tolist()
        return lasts, [(row, _refusal(int(seqs[row]), int(lasts[row - 1]) if row else before)) for row in refused]

    def _one_by_one(self, seqs: Int64s, given: Flags, positions: Int64s) -> tuple[Int64s, list[Problem]]:
        """The same, without an end to whole numbers."""
        taken, refused = np.zeros(len(seqs), np.int64), list[Problem]()
        rows = zip(seqs.tolist(), given.tolist(), positions.tolist(), strict=True)
        for row, (seq, is_given, position) in enumerate(rows):
            if not is_given:
                seq = position if self.last is None else max(position, self.last + 1)
            if seq > _LAST or (self.last is not None and seq <= self.last):
                refused.append((row, _refusal(seq, self.last)))
            else:
                taken[row] = self.last = seq
        return taken, refused

    def reached(self, seq: int | str | None) -> str | None:
        """The last seq as an id, if the graph stands where it stood after `seq`."""
        try:
            wanted = self.last if seq is None else int(seq)
        except (TypeError, ValueError) as error:
            raise UsageError("HG-073", f"{seq!r} is no seq", fix="give the whole number of an update") from error
        if wanted is not None and self.last is not None and wanted < self.last:
            raise UsageError(
                "HG-074",
                f"the graph stands at seq {self.last}, past {wanted}",
                fix=f"replay the updates up to {wanted}",
            )
        return None if wanted is None else str(wanted)


def _refusal(seq: int, last: int | None) -> PublicationError:
    return PublicationError(
        "HG-623",
        f"seq {seq} after {last}: a seq must be above every earlier one, and below 2^63",
        fix="give updates in ascending seq, each with its own",
    )


# --- accepted updates ---------------------------------------------------------------------------------------------

Rows: TypeAlias = "slice | npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]"


@dataclass(frozen=True, slots=True)
class UpdateColumns:
    """Updates as parallel columns; `len` is the number of updates. Nobody writes into them.

    `predicate` and `object` are NO_TERM in the removal of a vertex; `weight` is NaN and `at` (microseconds since 1970,
    UTC) is NO_TIME where there is none.
    """

    seq: Int64s
    op: Int8s
    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.seq, self.op, self.subject, self.predicate, self.object, self.weight, self.at)

    def take(self, rows: Rows) -> UpdateColumns:
        """Some of the updates: a slice is a view, an index or a mask makes copies."""
        return UpdateColumns(*(column[rows] for column in self.columns))

    @classmethod
    def of(cls, seq: int, op: int, subject: int, predicate: int, object: int) -> UpdateColumns:
        """A single update without a weight and a time."""
        ids = np.array((subject, predicate, object), np.int32)
        numbers = np.array((seq, NO_TIME), np.int64)
        ops, weights = np.array((op,), np.uint8), np.array((np.nan,), np.float64)
        return cls(numbers[:1], ops, ids[:1], ids[1:2], ids[2:], weights, numbers[1:])

    def updates(self, vocabulary: Vocabulary) -> Iterator[Update]:
        """The updates one by one, in terms of the vocabulary whose ids these are."""
        terms: dict[int, Term | None] = {NO_TERM: None}
        for column in (self.subject, self.predicate, self.object):
            terms |= {id: vocabulary.term(id) for id in set(column.tolist()) - terms.keys()}
        for seq, op, s, p, o, weight, at in zip(*(column.tolist() for column in self.columns), strict=True):
            subject = terms[s]
            assert subject is not None
            yield Update(
                seq,
                SIGNS[op],
                subject,
                terms[p],
                terms[o],
                None if weight != weight else weight,
                None if at == NO_TIME else at,
            )


# --- a batch without text ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Updates:
    """Updates as ids of `vocabulary`: what `Watch.encode` gives, or `Updates.of` from arrays of ids.

    They are read once and published as often as wanted. The law: publishing what `Watch.encode` made of some items
    notifies as publishing the items does, then and there. What is wrong with a row by itself was found when it was
    read; its seq, and its time in a window, are checked when it is published, because they depend on the stream.

    All rows of a table are here. `encoded.seq` counts where it is `given`, and a row counts where it is `good`.
    """

    vocabulary: Vocabulary
    encoded: UpdateColumns
    given: Flags
    good: Flags
    numbers: Int64s  # of the rows in their source
    source: str | None = None
    unread: tuple[Rejected, ...] = ()  # rows of the source that are not even rows of the table
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        """How many updates there are, refused rows not counted."""
        return int(np.count_nonzero(self.good))

    @property
    def rejected(self) -> Rejections:
        """What was refused when the batch was read."""
        return Rejections((*self.unread, *self.refusals(self.problems)))

    def refusals(self, problems: Iterable[Problem]) -> list[Rejected]:
        """Rows that are refused, in order, each with its place."""
        in_order, limit = sorted(problems, key=lambda problem: problem[0]), MessageLimit()
        return [
            Rejected.of(
                type(error)(error.code, error.message, place=Place(self.source, str(self.numbers[row])), fix=error.fix)
            )
            if limit.allows(error.code)
            else Rejected(self.source, str(self.numbers[row]), error.code, "")
            for row, error in in_order
        ]

    # --- from ids -----------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        triples: tuple[Any, Any, Any],
        op: Any = ADD_EDGE,
        *,
        seq: Any = None,
        weight: Any = None,
        at: Any = None,
    ) -> Self:
        """Updates from three arrays (NumPy, Arrow) of ids that the vocabulary of the engine gave out.

        `op` is one number or an array of them (0 add, 1 remove, 2 set, 3 remove a vertex, of which only the subject
        counts). `seq`, `weight` (NaN where there is none) and `at` (microseconds since 1970, UTC) may be left out.
        """
        subject, predicate, object = (_whole(column, np.int32, NO_TERM) for column in triples)
        size = len(subject)
        encoded = UpdateColumns(
            np.zeros(size, np.int64) if seq is None else _whole(seq, np.int64),
            np.repeat(_whole(op, np.uint8), size) if np.ndim(op) == 0 else _whole(op, np.uint8),
            subject,
            predicate,
            object,
            np.full(size, np.nan) if weight is None else _given_weights(weight),
            np.full(size, NO_TIME) if at is None else _whole(at, np.int64, NO_TIME),
        )
        encoded = _checked(encoded, vocabulary)
        given = np.full(size, seq is not None)
        return cls(vocabulary, encoded, given, np.ones(size, np.bool_), np.arange(1, size + 1, dtype=np.int64))

    # --- publishing ---------------------------------------------------------------------------------------------

    def over(self, vocabulary: Vocabulary) -> Updates:
        """The same updates as ids of another vocabulary."""
        if vocabulary is self.vocabulary:
            return self
        columns = (self.encoded.subject, self.encoded.predicate, self.encoded.object)
        subject, predicate, object = translated(columns, self.vocabulary, vocabulary)
        encoded = replace(self.encoded, subject=subject, predicate=predicate, object=object)
        return replace(self, vocabulary=vocabulary, encoded=encoded)

    def admit(self, sequence: SeqStream, timed: bool, piece: bool = False) -> tuple[UpdateColumns, list[Problem]]:
        """What is accepted now, with its seqs, and the rows that are refused; `timed` asks every update for its time,
        `piece` is for `SeqStream.take`."""
        good, problems = self.good, list[Problem]()
        if timed:
            untimed = good & (self.encoded.at == NO_TIME)
            error = PublicationError("HG-625", "an update without a time in a time window", fix="fill the column 'at'")
            problems += [(row, error) for row in np.flatnonzero(untimed).tolist()]
            good = good & ~untimed
        seqs, late = sequence.take(self, good, piece)
        encoded = replace(self.encoded, seq=seqs)
        if late:
            good = good.copy()
            good[[row for row, _ in late]] = False
        return encoded if good.all() else encoded.take(good), [*problems, *late]

    def accepted(self) -> UpdateColumns:
        """The good rows with the seqs that they bring."""
        return self.encoded if self.good.all() else self.encoded.take(self.good)


def translated(columns: Iterable[Int32s], own: Vocabulary, other: Vocabulary) -> list[Int32s]:
    """Ids of one vocabulary as those of another; NO_TERM stays."""
    given = list(columns)
    met = np.unique(np.concatenate(given))
    met = met[met >= 0]
    places = np.full(len(own) + 1, NO_TERM, np.int32)  # NO_TERM is the last entry
    places[met] = other.intern_many([own.term(id) for id in met.tolist()])
    return [places[column] for column in given]


# --- checks of ids ------------------------------------------------------------------------------------------------


def _unfit(problem: str, fix: str) -> UsageError:
    return UsageError("HG-078", f"updates from ids: {problem}", fix=fix)


def _whole(values: Any, kind: type[Any], absent: int = 0) -> npt.NDArray[Any]:
    """Whole numbers as a column of this kind; a null of Arrow's is `absent`."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)) and values.null_count:
        try:
            filling = [values.cast(pa.int64()), pa.scalar(absent, pa.int64())]
        except pa.ArrowInvalid:
            raise _unfit(f"{values.type} with nulls", "give whole numbers that fit") from None
        values = pc.call_function("coalesce", filling)
    column, info = np.asarray(values), np.iinfo(kind)
    if column.size == 0:
        return np.empty(0, kind)
    if column.dtype.kind not in "iu" or column.min() < info.min or column.max() > info.max:
        raise _unfit(f"{column.dtype} that is no {np.dtype(kind)}", "give whole numbers that fit")
    return np.array(column, kind)  # a copy: ids that were checked must not change


def _given_weights(values: Any) -> Floats:
    weights = np.array(values, np.float64)
    if (weights < 0).any() or np.isinf(weights).any():
        raise _unfit("a weight that is negative or infinite", "a weight is a number, 0 or more; NaN for none")
    return weights


def _checked(encoded: UpdateColumns, vocabulary: Vocabulary) -> UpdateColumns:
    """The same; raises unless the columns fit each other, ops are ops, and each id is that of a term in its place."""
    if {column.shape for column in encoded.columns} != {(len(encoded),)}:
        raise _unfit("columns of different lengths", "give each update one entry in each column")
    if (encoded.op > REMOVE_VERTEX).any():
        raise _unfit("an unknown op", "write 0 to add, 1 to remove, 2 to set, 3 to remove a vertex")
    edges = encoded.op < REMOVE_VERTEX
    _check_terms(vocabulary, encoded.subject, {TermKind.IRI, TermKind.BLANK})
    _check_terms(vocabulary, encoded.predicate[edges], {TermKind.IRI})
    _check_terms(vocabulary, encoded.object[edges], set(TermKind))
    if edges.all():
        return encoded
    predicate, object = (np.where(edges, column, np.int32(NO_TERM)) for column in (encoded.predicate, encoded.object))
    return replace(encoded, predicate=predicate, object=object)


def _check_terms(vocabulary: Vocabulary, ids: Int32s, kinds: set[TermKind]) -> None:
    met = np.unique(ids)
    if len(met) and (met[0] < 0 or met[-1] >= len(vocabulary)):
        raise _unfit("an id without a term", "give ids of the vocabulary of the engine")
    if not set(np.unique(vocabulary.typed(met).category).tolist()) <= kinds:
        raise _unfit("a literal or a blank node where none may stand", "a property is an IRI, a subject no literal")


# --- reading ----------------------------------------------------------------------------------------------------

_NO_OP = 255
_SIGNS = pa.array(SIGNS[:REMOVE_VERTEX], pa.string())

_OP_OF = {ADD: ADD_EDGE, REMOVE: REMOVE_EDGE, SET: SET_EDGE}
_NAMES = frozenset(field.name for field in TABLES["updates"].arrow)
_REMEMBERED = 1 << 14  # texts of single cells; forgotten all at once when there are more
_CELLS = (("subject", Position.SUBJECT), ("property", Position.PROPERTY), ("object", Position.OBJECT))


class UpdateReader:
    """Whatever `publish` takes, as the next updates of one stream; `timed` says that a window asks each update for its
    time."""

    def __init__(
        self, vocabulary: Vocabulary, prefixes: Mapping[str, str], sequence: SeqStream, timed: bool = False
    ) -> None:
        self._vocabulary, self._prefixes, self._sequence, self._timed = vocabulary, prefixes, sequence, timed
        self._known: tuple[dict[str, int], ...] = ({}, {}, {})  # ids of texts, by place

    def read(self, items: Any, format: str | None = None, texts: bool = False) -> tuple[UpdateColumns, list[Rejected]]:
        """The updates that are accepted, and what was refused, in the order of their rows."""
        one = items[0] if items.__class__ is list and len(items) == 1 else items
        if one.__class__ is dict and not texts and (encoded := self._read_one(one)) is not None:
            return encoded, []
        if isinstance(items, Updates):
            updates = items.over(self._vocabulary)
            encoded, late = updates.admit(self._sequence, self._timed)
            return encoded, updates.refusals(late)
        sources = _sources(items, format)
        read = as_table("updates", items) if sources is None else read_sources(sources)
        if texts:
            read = read._replace(table=with_texts(read.table, self._prefixes))
        elif read.table.num_rows > 1:
            warn_of_mixed_table(read.table)
        updates = read_updates(read, self._vocabulary, self._prefixes)
        encoded, late = updates.admit(self._sequence, self._timed, piece=isinstance(items, TableRows))
        return encoded, [*updates.unread, *updates.refusals((*updates.problems, *late))]

    def _read_one(self, item: dict[Any, Any]) -> UpdateColumns | None:
        """A single update of an edge whose cells are plain texts; None, with nothing done, where more must be looked
        at: then it is read as a table of one row."""
        get = item.get
        seq, sign = get("seq"), get("op")
        op = _OP_OF.get(sign) if sign.__class__ is str else None
        if op is None or self._timed or not item.keys() <= _NAMES or not (seq is None or seq.__class__ is int):
            return None
        if get("weight") is not None or get("at") is not None:
            return None
        ids = [NO_TERM, NO_TERM, NO_TERM]
        for place, (name, position) in enumerate(_CELLS):
            text, known = get(name), self._known[place]
            if text.__class__ is not str:
                return None
            id = known.get(text)
            if id is None:
                try:
                    id = self._vocabulary.intern(parse_cell(text, position, self._prefixes))
                except TermError:
                    return None
                if len(known) >= _REMEMBERED:
                    known.clear()
                known[text] = id
            ids[place] = id
        taken = self._sequence.take_one(seq)
        return None if taken is None else UpdateColumns.of(taken, op, *ids)


def read_updates(read: TableRows, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Updates:
    """The rows of an updates table, their terms interned. A good row costs no Python of its own."""
    table, problems = read.table, list[Problem]()
    ops = _operations(table, problems)
    edges, ids = ops != REMOVE_VERTEX, []
    for name, position in _CELLS:
        cells = table[name]
        if name == "subject" or edges.all():
            found, errors = vocabulary.intern_cells(cells, position, prefixes)
        else:  # where a vertex is removed there is no term, and no cell is looked at
            places = np.flatnonzero(edges)
            some, wrong = vocabulary.intern_cells(cells.filter(pa.array(edges)), position, prefixes)
            found = np.full(len(edges), NO_TERM, np.int32)
            found[places] = some
            errors = [(int(places[row]), error) for row, error in wrong]
        ids.append(found)
        problems += [
            (row, TermError(error.code, f"{error.message} in column {name!r}", fix=error.fix)) for row, error in errors
        ]
    weight = _weights(table["weight"], problems)
    (seq, given), (at, _) = _numbers(table["seq"], 0), _numbers(table["at"], NO_TIME)
    first: dict[int, Problem] = {}
    for problem in problems:
        first.setdefault(problem[0], problem)
    good = np.ones(len(given), np.bool_)
    good[list(first)] = False
    encoded = UpdateColumns(seq, ops, ids[0], ids[1], ids[2], weight, at)
    return Updates(
        vocabulary, encoded, given, good, read.rows, read.source, tuple(read.rejected), tuple(first.values())
    )


def _operations(table: pa.Table, problems: list[Problem]) -> Int8s:
    """What each row does; `-` with neither property nor object removes a whole vertex."""
    cells: Cells = table["op"]
    found: Cells = pc.index_in(cells, value_set=_SIGNS)
    ops: Int8s = found.fill_null(_NO_OP).to_numpy().astype(np.uint8)
    for row in np.flatnonzero(ops == _NO_OP).tolist():
        op = cells[row].as_py()
        shown = f"the op {op[:20]!r}" if op else "an update without op"
        problems.append((row, PublicationError("HG-621", shown, fix="write + to add, - to remove, = to set")))
    removals = ops == REMOVE_EDGE
    if removals.any():
        lengths: list[Cells] = [pc.binary_length(table[name]) for name in ("property", "object")]
        no_property, no_object = (each.fill_null(0).to_numpy() == 0 for each in lengths)
        half = PublicationError(
            "HG-622",
            "a removal with only one of property and object",
            fix="give both to remove an edge, neither to remove the vertex",
        )
        problems += [(row, half) for row in np.flatnonzero(removals & (no_property ^ no_object)).tolist()]
        ops[removals & no_property & no_object] = REMOVE_VERTEX
    return ops


def _weights(cells: Cells, problems: list[Problem]) -> Floats:
    """Weights, NaN where there is none; one that is given must be a number."""
    if cells.null_count == len(cells):
        return np.full(len(cells), np.nan)
    weights: Floats = np.require(cells.to_numpy(), np.float64, ("C", "W"))
    bad = ~((weights >= 0) & (weights < np.inf))
    if cells.null_count:
        bad &= ~np.asarray(cells.is_null())
    for row in np.flatnonzero(bad).tolist():
        error = PublicationError("HG-624", f"the weight {weights[row]}", fix="a weight is a number, 0 or more")
        problems.append((row, error))
    return weights


def _numbers(cells: Cells, absent: int) -> tuple[Int64s, Flags]:
    """Whole numbers, or times in microseconds, `absent` where there is none; and where there is one."""
    if cells.null_count == len(cells):
        return np.full(len(cells), absent, np.int64), np.zeros(len(cells), np.bool_)
    given = ~np.asarray(cells.is_null()) if cells.null_count else np.ones(len(cells), np.bool_)
    return np.require(cells.cast(pa.int64()).fill_null(absent).to_numpy(), np.int64, ("C", "W")), given


# --- what a graph may start from --------------------------------------------------------------------------------


def background(
    items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str], format: str | None = None, texts: bool = False
) -> tuple[UpdateColumns, list[Rejected]]:
    """The updates that add these triples; an updates table is applied as it stands, row by row."""
    if isinstance(items, Publications):
        return _published(items, vocabulary), []
    if isinstance(items, Updates):
        return items.over(vocabulary).accepted(), []
    sources = _sources(items, format) or []
    documents = [source for source in sources if source.suffix in DOCUMENT_SUFFIXES]
    if sources:
        tables = read_all("graph", [source for source in sources if source not in documents])
        read = tables._replace(table=_as_updates(tables.table))
    else:
        read = _read(items)
    if texts:
        read = read._replace(table=with_texts(read.table, prefixes))
    updates = read_updates(read, vocabulary, prefixes)
    encoded, rejected = updates.accepted(), list(updates.rejected)
    if documents:
        from heliograph.io.documents import read_graph

        found = read_graph(documents, vocabulary)
        parts = (_published(found.publications, vocabulary).columns, encoded.columns)
        encoded = UpdateColumns(*map(np.concatenate, zip(*parts, strict=True)))
        rejected += found.rejected
    return encoded, rejected


def _sources(items: Any, format: str | None) -> list[Source] | None:
    """The files and documents that were given; None where rows were given."""
    one = items[0] if items.__class__ is list and items else items
    is_source = isinstance(one, (str, bytes, bytearray, memoryview, os.PathLike)) or hasattr(one, "serialize")
    if format is None and not is_source:
        return None
    return given_sources(items, TABLE_SUFFIXES + DOCUMENT_SUFFIXES, format=format)


def read_sources(sources: list[Source]) -> TableRows:
    """The updates of files: those that add the triples of RDF documents, then the rows of tables."""
    documents = [source for source in sources if source.suffix in DOCUMENT_SUFFIXES]
    rest = read_all("updates", [source for source in sources if source not in documents])
    if not documents:
        return rest._replace(source=sources[0].name)
    from heliograph.io.documents import read_graph

    found = read_graph(documents, Vocabulary())
    vocabulary, triples = found.publications.vocabulary, found.publications.triples
    cells = {
        "subject": vocabulary.spell(triples.subject),
        "property": vocabulary.spell(triples.predicate, Position.PROPERTY),
        "object": vocabulary.spell(triples.object),
    }
    table = pa.concat_tables([_as_updates(pa.table(cells)), rest.table])
    rejected = Rejections((*found.rejected, *rest.rejected))
    return TableRows(documents[0].name, table, rejected, numbered(1, table.num_rows))


def _published(publications: Publications, vocabulary: Vocabulary) -> UpdateColumns:
    """The triples of publications, each of which is a set of them."""
    number = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
    columns = dict(zip("nspo", (number, *publications.triples), strict=True))
    sets = pa.table({**columns, "row": np.arange(len(number))}).group_by([*columns]).aggregate([("row", "min")])
    rows = np.sort(sets["row_min"].to_numpy())
    ids = [column[rows] for column in publications.triples]
    if publications.vocabulary is not vocabulary:
        ids = translated(ids, publications.vocabulary, vocabulary)
    subject, predicate, object = ids
    seq, op = np.zeros(len(rows), np.int64), np.full(len(rows), ADD_EDGE, np.uint8)
    return UpdateColumns(seq, op, subject, predicate, object, np.full(len(rows), np.nan), np.full(len(rows), NO_TIME))


def _read(items: Any) -> TableRows:
    if isinstance(items, TableRows) or hasattr(items, "__arrow_c_stream__"):
        read = as_table("graph", items)
        return read._replace(table=_as_updates(read.table))
    if not isinstance(items, Iterable):
        return as_table("updates", items)  # which says what is taken
    updates: list[Any] = []
    each: Iterable[Any] = [items] if is_single(items) else items
    for item in each:
        pair = isinstance(item, (tuple, list)) and len(item) == 2  # a publication `(id, [(s, p, o), …])`, or nothing
        is_several = pair and isinstance(item[1], (tuple, list, set, frozenset))
        updates += map(_as_update, item[1] if is_several else (item,))
    return as_table("updates", updates)


def _as_updates(table: pa.Table) -> pa.Table:
    """The columns of an updates table; a row without an op adds its triple."""
    columns: dict[str, Any] = {field.name: pa.nulls(len(table), field.type) for field in TABLES["updates"].arrow}
    columns |= {name: table[name] for name in columns if name in table.column_names}
    op = columns["op"].fill_null("")
    columns["op"] = pc.call_function("if_else", [pc.equal(op, pa.scalar("")), pa.scalar(ADD), op])
    return pa.table(columns)


def _as_update(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {"op": ADD, **item}
    return (ADD, *item) if isinstance(item, (tuple, list)) and len(item) == 3 else item
