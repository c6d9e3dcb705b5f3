"""Rows from files and pipes, in batches, for what needs no grouping: updates and events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heliograph.cli.batches import Batch, Pace, cut
from heliograph.cli.run import Run
from heliograph.errors import Place, PublicationError
from heliograph.model import Rejected
from heliograph.tables.reader import read_table
from heliograph.tables.reads import Read
from heliograph.tables.sources import find_sources


def read_rows(option: str, table: str, spec: str, run: Run) -> Iterator[Batch]:
    """The rows of a table that needs no grouping (updates, events), some at a time; from a pipe as they arrive.

    A read with refused rows stays whole, so that they are counted where they stood.
    """
    for read in run.checked(option, read_table(table, find_sources(spec))):
        yield from cut(read, [0] if read.rejected else range(read.table.num_rows), run.pace)


def read_events(spec: str, run: Run) -> Iterator[Batch]:
    """The events of `--events`. In files an id stands for one event; on a pipe a later one is a new event."""
    batches = read_rows("--events", "events", spec, run)
    if find_sources(spec)[0].is_pipe:
        for batch in batches:
            yield from cut(batch.items, _repeats(batch.items), Pace(1))
        return
    seen: set[str | None] = set()
    for batch in batches:
        yield _first_of_each(batch.items, seen)


def _repeats(read: Read) -> list[int]:
    """Where to cut so that no id comes twice in a piece."""
    starts, seen = [0], set[str | None]()
    for row, id in enumerate(read.table["event_id"].to_pylist()):
        if id is not None and id in seen:
            starts.append(row)
            seen.clear()
        seen.add(id)
    return starts


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
