"""An updates table made into updates: cells interned by column, every bad row set aside with its place.

The law: each row becomes an update or an error, by itself; which of the two does not depend on the rows beside it.
Only its seq depends on what came before: see `Sequence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, PublicationError, TermError, UsageError
from heliograph.tables.reads import Read
from heliograph.terms import Position, Term
from heliograph.vocabulary import Vocabulary
from heliograph.watch.updates import OPERATIONS, REMOVE, Update

Problems = Iterator[tuple[int, HeliographError]]  # row of the table, what is wrong with it
Flags = npt.NDArray[np.bool_]

_COLUMNS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}


_LAST = 2**63 - 1  # the largest seq that its column can hold


class Row(NamedTuple):
    """One row of an updates table: its number in the source, the seq it gives, and what it says or lacks."""

    number: int
    seq: int | None
    outcome: Update | HeliographError
    source: str | None = None

    @property
    def place(self) -> Place:
        return Place(self.source, str(self.number))


def read_rows(read: Read, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Iterator[Row]:
    """The rows of a table in order. An update's seq is the one given, 0 where there is none."""
    table = read.table
    cells = {name: vocabulary.intern_cells(table[name], position, prefixes) for name, position in _COLUMNS.items()}
    vertex = _removes_vertex(table)
    problems: dict[int, HeliographError] = {}
    for index, error in _operation_problems(table):
        problems.setdefault(index, error)
    for name, (_, refused) in cells.items():
        for index, error in refused:
            if name == "subject" or not vertex[index]:
                problems.setdefault(index, TermError(error.code, f"{error.message} in column {name!r}", fix=error.fix))
    for index, error in _weight_problems(table):
        problems.setdefault(index, error)
    terms = [[vocabulary.term(id) if id >= 0 else None for id in ids.tolist()] for ids, _ in cells.values()]
    return _rows(read, terms, problems)


def _rows(read: Read, terms: list[list[Term | None]], problems: Mapping[int, HeliographError]) -> Iterator[Row]:
    table = read.table
    seqs, ops, weights = (table[name].to_pylist() for name in ("seq", "op", "weight"))
    times = table["at"].cast(pa.int64()).to_pylist()
    columns = zip(read.rows.tolist(), seqs, ops, *terms, weights, times, strict=True)
    for index, (number, seq, op, subject, predicate, object, weight, at) in enumerate(columns):
        error = problems.get(index)
        if error is None:
            assert subject is not None
            yield Row(number, seq, Update(seq or 0, op, subject, predicate, object, weight, at), read.source)
        else:
            yield Row(number, seq, _placed(error, read.place(index)), read.source)


def _placed(error: HeliographError, place: Place) -> HeliographError:
    """The same error, with its place."""
    return type(error)(error.code, error.message, place=place, fix=error.fix)


def _removes_vertex(table: pa.Table) -> Flags:
    """The rows that remove a whole vertex: `-` with neither property nor object."""
    return _is(table, "op", REMOVE) & _empty(table, "property") & _empty(table, "object")


def _empty(table: pa.Table, name: str) -> Flags:
    null: Flags = np.asarray(table[name].is_null())
    return _is(table, name, "") | null


def _is(table: pa.Table, name: str, text: str) -> Flags:
    return np.asarray(pc.is_in(table[name], value_set=pa.array([text], pa.string())))


def _operation_problems(table: pa.Table) -> Problems:
    for index, op in enumerate(table["op"].to_pylist()):
        if op not in OPERATIONS:
            shown = "an update without op" if not op else f"the op {op[:20]!r}"
            yield index, PublicationError("HG-621", shown, fix="write + to add, - to remove, = to set")
    halves = _is(table, "op", REMOVE) & (_empty(table, "property") ^ _empty(table, "object"))
    for index in np.flatnonzero(halves).tolist():
        yield (
            index,
            PublicationError(
                "HG-622",
                "a removal with only one of property and object",
                fix="give both to remove an edge, neither to remove the vertex",
            ),
        )


def _weight_problems(table: pa.Table) -> Problems:
    for index, weight in enumerate(table["weight"].to_pylist()):
        if weight is not None and not 0 <= weight < float("inf"):
            yield index, PublicationError("HG-624", f"the weight {weight}", fix="a weight is a number, 0 or more")


class Sequence:
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
        self._end = seen  # position after the last row of the table

    def meta(self) -> dict[str, Any]:
        """Where the stream stands, as plain values."""
        return {"last": self.last, "seen": self.seen, "base": self._base, "row": self._row, "source": self._source}

    @classmethod
    def restored(cls, meta: Mapping[str, Any]) -> Sequence:
        sequence = cls(meta["last"], meta["seen"])
        sequence._base, sequence._row, sequence._source = meta["base"], meta["row"], meta["source"]
        return sequence

    def begin(self, read: Read, piece: bool) -> None:
        """A table begins; `piece` says that it may go on with the source of the one before."""
        if not piece or read.source is None or read.source != self._source:
            self._base, self._row = self.seen, 0
        self._source = read.source if piece else None
        self._end = self.seen + len(read.rows) + len(read.rejected)

    def see(self, row: Row) -> None:
        """A row comes; row numbers that start again mean that another source begins."""
        if row.number <= self._row:
            self._base = self.seen
        self._row = row.number
        self.seen = self._base + row.number

    def end(self) -> None:
        self.seen = max(self.seen, self._end)

    def take(self, row: Row) -> int:
        """The seq of a row, which is the last one from now on; raises where it is not above every earlier one."""
        seq = row.seq
        if seq is None:
            seq = self.seen if self.last is None else max(self.seen, self.last + 1)
        if seq > _LAST or (self.last is not None and seq <= self.last):
            raise PublicationError(
                "HG-623",
                f"seq {seq} after {self.last}: a seq must be above every earlier one, and below 2^63",
                place=row.place,
                fix="give updates in ascending seq, each with its own",
            )
        self.last = seq
        return seq

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
