"""An updates table made into columns of ids, every bad row set aside with its place.

The law: each row becomes an update or an error, by itself; which of the two does not depend on the rows beside it.
Only its seq depends on what came before: see `sequence`. A good row costs no Python of its own. Of a bad one the first
problem counts: its op, then its terms in the order of their columns, then its weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Several
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import PublicationError, TermError
from heliograph.kernels.evolution_layout import NO_TIME, Int8s, Int64s
from heliograph.tables.items import as_table
from heliograph.tables.reads import Read
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary
from heliograph.watch.encoding import ADD, NO_TERM, REMOVE, REMOVE_VERTEX, SET, SIGNS, Encoded, Encoding
from heliograph.watch.interned import Problem, Updates
from heliograph.watch.sequence import Flags, Sequence

Cells = Any  # an Arrow column; the stubs know no function of columns and scalars

_NO_OP = 255
_OPS = np.full(256, _NO_OP, np.uint8)  # by the byte of their sign
_OPS[[*b"+-="]] = (ADD, REMOVE, SET)


class Intake(NamedTuple):
    """What reading depends on beside the items; `timed` says that a window asks each update for its time."""

    vocabulary: Vocabulary
    prefixes: Mapping[str, str]
    sequence: Sequence
    timed: bool = False


def as_encoded(items: Any, intake: Intake) -> Encoding:
    """Whatever of the items is accepted, as the next updates of the stream. Items are all that `publish` takes."""
    if isinstance(items, Updates):
        updates = items.over(intake.vocabulary)
        encoded, late = updates.admit(intake.sequence, intake.timed)
        return Encoding(encoded, updates.refusals(late))
    updates = read_updates(as_table("updates", items), intake.vocabulary, intake.prefixes)
    encoded, late = updates.admit(intake.sequence, intake.timed, piece=isinstance(items, Read))
    return Encoding(encoded, [*updates.unread, *updates.refusals((*updates.problems, *late))])


def read_updates(read: Read, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Updates:
    """The rows of an updates table, their terms interned."""
    table = read.table
    terms = _Terms(table, vocabulary, prefixes)
    op = _operations(table)
    subject = terms.interned("subject", Position.SUBJECT)
    edges = op.column != REMOVE_VERTEX
    predicate, object = (
        terms.interned("property", Position.PROPERTY, edges),
        terms.interned("object", Position.OBJECT, edges),
    )
    weight = _weights(table["weight"])
    (seq, given), (at, _) = _numbers(table["seq"], 0), _numbers(table["at"], NO_TIME)
    first: dict[int, Problem] = {}
    for problem in chain.from_iterable(found.problems for found in (op, subject, predicate, object, weight)):
        first.setdefault(problem[0], problem)
    good = np.ones(len(given), np.bool_)
    good[list(first)] = False
    encoded = Encoded(seq, op.column, subject.column, predicate.column, object.column, weight.column, at)
    unread, problems = tuple(read.rejected), tuple(first.values())
    return Updates(vocabulary, encoded, given, good, read.rows, read.source, unread, problems)


class _Found(NamedTuple):
    """A column, and the rows that it speaks against."""

    column: npt.NDArray[Any]
    problems: Several[Problem] = ()


# --- operations ---------------------------------------------------------------------------------------------------


def _operations(table: pa.Table) -> _Found:
    """What each row does; `-` with neither property nor object removes a whole vertex."""
    cells = table["op"]
    ops = np.concatenate((np.empty(0, np.uint8), *map(_codes, cells.chunks)))
    problems = [(row, _unknown(cells[row].as_py())) for row in np.flatnonzero(ops == _NO_OP).tolist()]
    removals = ops == REMOVE
    if removals.any():
        no_property, no_object = _empty(table["property"]), _empty(table["object"])
        problems += [(row, _half()) for row in np.flatnonzero(removals & (no_property ^ no_object)).tolist()]
        ops[removals & no_property & no_object] = REMOVE_VERTEX
    return _Found(ops, problems)


def _codes(cells: Cells) -> Int8s:
    """The signs as numbers. Where all are one byte long, as good ones are, they are their own index."""
    if not len(cells) or cells.null_count or not pa.types.is_string(cells.type):
        return _looked_up(cells)
    _, offsets, data = cells.buffers()
    bounds = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    if data is None or (np.diff(bounds) != 1).any():
        return _looked_up(cells)
    return _OPS[np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]]


def _looked_up(cells: Cells) -> Int8s:
    found: Cells = pc.index_in(cells, value_set=pa.array(SIGNS[:REMOVE_VERTEX], pa.string()))
    codes: Int8s = found.fill_null(_NO_OP).to_numpy(zero_copy_only=False).astype(np.uint8)
    return codes


def _empty(cells: Cells) -> Flags:
    lengths: Cells = pc.binary_length(cells)
    empty: Flags = lengths.fill_null(0).to_numpy() == 0
    return empty


def _unknown(op: str | None) -> PublicationError:
    shown = f"the op {op[:20]!r}" if op else "an update without op"
    return PublicationError("HG-621", shown, fix="write + to add, - to remove, = to set")


def _half() -> PublicationError:
    return PublicationError(
        "HG-622",
        "a removal with only one of property and object",
        fix="give both to remove an edge, neither to remove the vertex",
    )


# --- terms and numbers --------------------------------------------------------------------------------------------


class _Terms(NamedTuple):
    """The columns of terms, and what their cells' meaning depends on."""

    table: pa.Table
    vocabulary: Vocabulary
    prefixes: Mapping[str, str]

    def interned(self, name: str, position: Position, rows: Flags | None = None) -> _Found:
        """A column's ids; where only some rows count, the others have no term and are not looked at."""
        cells = self.table[name]
        if rows is None or rows.all():
            ids, errors = self.vocabulary.intern_cells(cells, position, self.prefixes)
            return _Found(ids, [(row, _in_column(error, name)) for row, error in errors])
        places = np.flatnonzero(rows)
        some, errors = self.vocabulary.intern_cells(cells.filter(pa.array(rows)), position, self.prefixes)
        ids = np.full(len(rows), NO_TERM, np.int32)
        ids[places] = some
        return _Found(ids, [(int(places[row]), _in_column(error, name)) for row, error in errors])


def _in_column(error: TermError, name: str) -> TermError:
    return TermError(error.code, f"{error.message} in column {name!r}", fix=error.fix)


def _weights(cells: Cells) -> _Found:
    """Weights, NaN where there is none; one that is given must be a number."""
    if cells.null_count == len(cells):
        return _Found(np.full(len(cells), np.nan))
    weights = np.require(cells.to_numpy(), np.float64, ("C", "W"))
    bad = ~((weights >= 0) & (weights < np.inf))
    if cells.null_count:
        bad &= ~_nulls(cells)
    return _Found(weights, [(row, _weightless(weights[row])) for row in np.flatnonzero(bad).tolist()])


def _weightless(weight: np.float64) -> PublicationError:
    return PublicationError("HG-624", f"the weight {weight}", fix="a weight is a number, 0 or more")


def _numbers(cells: Cells, absent: int) -> tuple[Int64s, Flags]:
    """Whole numbers, or times in microseconds, `absent` where there is none; and where there is one."""
    if cells.null_count == len(cells):
        return np.full(len(cells), absent, np.int64), np.zeros(len(cells), np.bool_)
    given = ~_nulls(cells) if cells.null_count else np.ones(len(cells), np.bool_)
    return np.require(cells.cast(pa.int64()).fill_null(absent).to_numpy(), np.int64, ("C", "W")), given


def _nulls(cells: Cells) -> Flags:
    return np.asarray(cells.is_null())
