"""What `explain` needs: one subscription and one publication among many; where one is missing, names that come near."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.cli.batches import Batch
from heliograph.cli.interests import Subscriber
from heliograph.cli.publications import some
from heliograph.cli.run import Run
from heliograph.errors import UsageError
from heliograph.model import Notification, Receipt
from heliograph.publications import Publications
from heliograph.tables.reads import Read
from heliograph.watch import Watch

_LOOKED_AT = 20_000  # names that are compared with a missing one


class Asked:
    """Stands before an engine and remembers the ids it is given; with `alone`, passes on only the one asked about."""

    def __init__(self, wanted: str, *, alone: bool) -> None:
        self._wanted, self._alone = wanted, alone
        self._ids: dict[str | None, None] = {}

    def before(self, engine: Subscriber) -> Self:
        self._engine = engine
        return self

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        if patterns is not None:
            return self._engine.subscribe(
                patterns=self._chosen(patterns), constraints=constraints and self._chosen(constraints)
            )
        if isinstance(items, Read):
            return self._engine.subscribe(self._chosen(items))
        self._ids.update((id, None) for id, _ in items)
        return self._engine.subscribe([item for item in items if not self._alone or item[0] == self._wanted])

    def _chosen(self, read: Read) -> Read:
        ids = read.table["subscription_id"].to_pylist()
        self._ids.update(dict.fromkeys(ids))
        if not self._alone:
            return read
        return _rows(read, np.array([row for row, id in enumerate(ids) if id == self._wanted], np.int64))

    def check(self, run: Run) -> None:
        """Raises unless the subscription asked about is there."""
        refused = run.refused.get(self._wanted)
        if refused is not None:
            raise UsageError(
                "HG-034", f"the subscription {self._wanted!r} was rejected: {refused.code}: {refused.message}"
            )
        if self._wanted not in self._ids:
            raise missing("subscription", self._wanted, self._ids)


def missing(what: str, wanted: str, names: Iterable[str | None]) -> UsageError:
    """The error for a name that is not there, with those that come near."""
    known = [name for name in names if name][:_LOOKED_AT]
    near = difflib.get_close_matches(wanted, known, 3, 0.5)
    if near:
        fix = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        fix = (
            f"there are {', '.join(map(repr, known[:5]))}{' …' if known[5:] else ''}"
            if known
            else "there is none at all"
        )
    return UsageError("HG-034", f"there is no {what} {wanted!r}", fix=fix)


def find_publication(batches: Iterable[Batch], wanted: str, what: str) -> Publications | Read:
    """The publication or event with this id."""
    names: list[str | None] = []
    for batch in batches:
        found = _one(batch.items, wanted, names)
        if found is not None:
            return found
    raise missing(what, wanted, names)


def _one(items: Publications | Read, wanted: str, names: list[str | None]) -> Publications | Read | None:
    if isinstance(items, Publications):
        names += items.ids
        number = items.ids.index(wanted) if wanted in items.ids else -1
        return some(items, number, number + 1) if number >= 0 else None
    ids = items.table.column(0).to_pylist()
    names += dict.fromkeys(ids)
    chosen = np.array([row for row, id in enumerate(ids) if id == wanted], np.int64)
    return _rows(items, chosen) if len(chosen) else None


def _rows(read: Read, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Read:
    return read._replace(table=read.table.take(pa.array(rows)), rows=read.rows[rows])


# --- watch ------------------------------------------------------------------------------------------------------


def replay(engine: Watch, batches: Iterable[Batch], seq: str | None, run: Run) -> list[Notification]:
    """Brings the graph to where it stood after an update; what that update reported."""
    wanted = _read_seq(seq)
    last: list[Notification] = []
    for items in _pieces(engine, batches, wanted):
        outcome = engine.publish(items, witness=True)
        run.reject(outcome.rejected)
        last = list(outcome) or last
        if wanted is not None and (engine.seq or 0) >= wanted:
            break
    if wanted is not None and engine.seq != wanted:
        stands = "there is no update" if engine.seq is None else f"the updates around it end at {engine.seq}"
        raise UsageError(
            "HG-034", f"there is no update {wanted}", fix=f"{stands}; give the seq of one that was accepted"
        )
    return [notification for notification in last if notification.publication_id == str(engine.seq)]


def _read_seq(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError as error:
        raise UsageError("HG-034", f"--publication {text} is no seq", fix="give the number of an update") from error


def _pieces(engine: Watch, batches: Iterable[Batch], wanted: int | None) -> Iterator[Any]:
    """The batches as long as they stay before the wanted update, then row by row."""
    met = 0
    for batch in batches:
        met += batch.size
        if wanted is None or not isinstance(batch.items, Read) or _highest(engine, batch.items, met) < wanted:
            yield batch.items
            continue
        yield from (_rows(batch.items, np.array([row])) for row in range(batch.size))


def _highest(engine: Watch, read: Read, met: int) -> int:
    """A bound on the seqs of these rows: those given, their positions, or the numbers after the last."""
    given = pc.max(read.table["seq"]).as_py() or 0
    return max(given, met + len(read.rejected), int(read.rows.max(initial=0)), (engine.seq or 0) + read.table.num_rows)
