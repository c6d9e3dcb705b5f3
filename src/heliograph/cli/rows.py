"""Rows from files and pipes, in batches, for what needs no grouping: updates and events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heliograph.cli.publications import BATCH
from heliograph.cli.run import Batch, Run
from heliograph.errors import Place, PublicationError
from heliograph.model import Rejected, Rejections
from heliograph.tables.reader import read_table
from heliograph.tables.reads import Read
from heliograph.tables.sources import find_sources


def read_rows(option: str, table: str, spec: str, run: Run, size: int = BATCH) -> Iterator[Batch]:
    """The rows of a table that needs no grouping (updates, events), so many at a time; from a pipe as they arrive."""
    for read in run.checked(option, read_table(table, find_sources(spec))):
        for piece in _cut(read, size):
            yield Batch(piece, piece.table.num_rows)


def read_events(spec: str, run: Run, size: int = BATCH) -> Iterator[Batch]:
    """The events of `--events`. In files an id stands for one event; on a pipe a later one is a new event."""
    sources = find_sources(spec)
    batches = read_rows("--events", "events", spec, run, size)
    if sources[0].is_pipe:
        for batch in batches:
            yield from (Batch(piece, piece.table.num_rows) for piece in _without_repeats(batch.items))
        return
    seen: set[str | None] = set()
    for batch in batches:
        yield _first_of_each(batch.items, seen)


def _without_repeats(read: Read) -> Iterator[Read]:
    """Pieces in which no id comes twice."""
    first, seen = 0, set[str | None]()
    for row, id in enumerate(read.table["event_id"].to_pylist()):
        if id is not None and id in seen:
            yield _piece(read, first, row)
            first, seen = row, set()
        seen.add(id)
    yield _piece(read, first, read.table.num_rows)


def _first_of_each(read: Read, seen: set[str | None]) -> Batch:
    """The events whose ids were not met before; those within one read are the engine's to refuse."""
    ids = read.table["event_id"].to_pylist()
    fresh = np.array([id is None or id not in seen for id in ids], bool)
    seen.update(ids)
    repeated = [Rejected.of(_repeated(ids[row], read.place(row))) for row in np.flatnonzero(~fresh).tolist()]
    kept = read if fresh.all() else read._replace(table=read.table.filter(pa.array(fresh)), rows=read.rows[fresh])
    return Batch(kept, kept.table.num_rows, repeated)


def _repeated(id: str | None, place: Place) -> PublicationError:
    message = f"the event {id!r} comes twice in one call"
    return PublicationError("HG-641", message, place=Place(place.source, id), fix="give each event its own event_id")


def _piece(read: Read, first: int, last: int) -> Read:
    rejected = read.rejected if first == 0 else Rejections()
    return read._replace(table=read.table.slice(first, last - first), rows=read.rows[first:last], rejected=rejected)


def _cut(read: Read, size: int) -> Iterator[Read]:
    """Pieces of a read. One with refused rows stays whole, so that they are counted where they stood."""
    rows = read.table.num_rows
    if read.rejected or rows <= size:
        yield read
        return
    for first in range(0, rows, size):
        numbers = read.rows[first : first + size]
        yield Read(read.source, read.table.slice(first, size), int(numbers[0]), read.rejected, numbers)
