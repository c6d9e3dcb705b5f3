"""The reading of updates, its slow twin: one row after the other, one cell after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from heliograph.errors import HeliographError, Place, PublicationError, TermError
from heliograph.io.tables import TableRows
from heliograph.model import Rejected
from heliograph.terms import PREFIXES, Position, Term, parse_cell
from heliograph.watch.updates import Update


@dataclass
class NaiveStream:
    """What the contract says of rows and seqs, word by word."""

    timed: bool = False
    prefixes: Mapping[str, str] = field(default_factory=lambda: PREFIXES)
    last: int | None = None
    seen: int = 0
    base: int = 0
    number: int = 0
    source: str | None = None
    accepted: list[Update] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def publish(self, read: TableRows, piece: bool) -> None:
        if not piece or read.source is None or read.source != self.source:
            self.base, self.number = self.seen, 0
        self.source = read.source if piece else None
        end = self.seen + len(read.rows) + len(read.rejected)
        self.rejected += read.rejected
        for number, cells in zip(read.rows.tolist(), rows_of(read.table), strict=True):
            self._see(number)
            try:
                self.accepted.append(self._admitted(cells))
            except HeliographError as error:
                place = Place(read.source, str(number))
                self.rejected.append(Rejected.of(type(error)(error.code, error.message, place=place, fix=error.fix)))
        self.seen = max(self.seen, end)

    def _see(self, number: int) -> None:
        if number <= self.number:
            self.base = self.seen
        self.number = number
        self.seen = self.base + number

    def _admitted(self, cells: Mapping[str, Any]) -> Update:
        update = read_row(cells, self.prefixes)
        if self.timed and update.at is None:
            raise PublicationError("HG-625", "an update without a time in a time window", fix="fill the column 'at'")
        return update._replace(seq=self._take(cells["seq"]))

    def _take(self, seq: int | None) -> int:
        if seq is None:
            seq = self.seen if self.last is None else max(self.seen, self.last + 1)
        if seq >= 2**63 or (self.last is not None and seq <= self.last):
            raise PublicationError(
                "HG-623",
                f"seq {seq} after {self.last}: a seq must be above every earlier one, and below 2^63",
                fix="give updates in ascending seq, each with its own",
            )
        self.last = seq
        return seq


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    at = table["at"].cast(pa.int64())
    return table.set_column(table.column_names.index("at"), "at", at).to_pylist()


def read_row(cells: Mapping[str, Any], prefixes: Mapping[str, str] = PREFIXES) -> Update:
    """The update of one row, its seq 0 where it gives none; raises what is wrong with it first."""
    op = cells["op"]
    if op not in ("+", "-", "="):
        shown = "an update without op" if not op else f"the op {op[:20]!r}"
        raise PublicationError("HG-621", shown, fix="write + to add, - to remove, = to set")
    empty = [not cells[name] for name in ("property", "object")]
    if op == "-" and empty[0] != empty[1]:
        raise PublicationError(
            "HG-622",
            "a removal with only one of property and object",
            fix="give both to remove an edge, neither to remove the vertex",
        )
    subject = _term(cells, "subject", Position.SUBJECT, prefixes)
    predicate = object = None
    if op != "-" or not all(empty):
        predicate = _term(cells, "property", Position.PROPERTY, prefixes)
        object = _term(cells, "object", Position.OBJECT, prefixes)
    weight = cells["weight"]
    if weight is not None and not 0 <= weight < float("inf"):
        raise PublicationError("HG-624", f"the weight {weight}", fix="a weight is a number, 0 or more")
    return Update(cells["seq"] or 0, op, subject, predicate, object, weight, cells["at"])


def _term(cells: Mapping[str, Any], name: str, position: Position, prefixes: Mapping[str, str]) -> Term:
    try:
        return parse_cell(cells[name], position, prefixes)
    except TermError as error:
        raise TermError(error.code, f"{error.message} in column {name!r}", fix=error.fix) from error
