"""The predicate index: which of many SQL conditions are true of an event, without a graph.

What it computes: for each event the ids whose predicate is true (unknown is not), in the order of adding. The laws:
adding, replacing and removing are seen by the next call, and by no call that has begun; any history of changes gives
what an index made afresh of the same predicates gives; an id that is replaced keeps its place in the order, one that is
removed and added again goes to the end.

The path of a batch: `read → encode → search`; see `index_search`, and `kernels.predicate_access` for what is indexed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

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
from heliograph.kernels.targeting_layout import NEVER
from heliograph.model import Explanation, Receipt, Rejected, Rejections, Stats, told
from heliograph.storage import read_folder, write_folder
from heliograph.syntax.predicate_blame import blame
from heliograph.syntax.predicate_form import to_sql
from heliograph.syntax.predicate_truth import Attributes, accepts
from heliograph.syntax.predicates import parse_predicate
from heliograph.tables.items import as_table, is_single
from heliograph.targeting.encoding import Encoded, encode
from heliograph.targeting.index_events import read_texts
from heliograph.targeting.index_matches import Matches
from heliograph.targeting.index_rows import RowStore, Version
from heliograph.targeting.index_search import Found, search
from heliograph.targeting.index_source import Source
from heliograph.targeting.slow import TargetingFailed

KIND, VERSION = "predicates", 1
_SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("predicate", pa.string())])
_WASTE = 1024  # rows and expressions that nothing uses any more, beside as many as are in use, are worth a clean-up


class PredicateIndex:
    """Conditions by id, and which of them are true of an event. Thread-safe: one writer, any number of matches."""

    def __init__(self, items: Any = None) -> None:
        self._lock = threading.Lock()
        self._source, self._rows = Source(), RowStore()
        self._version = self._rows.version(self._source.writing())
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
        self._version = self._rows.version(self._source.writing())

    def _clean_up(self) -> None:
        """Starts afresh with what is there; calls that have begun keep what they hold."""
        ids, texts = self._rows.listing()
        self._source, self._rows = Source(), RowStore()
        numbers = self._source.targeting.add_many(texts)
        rows = zip(ids, texts, numbers, strict=True)
        self._rows.put([(id, text, number) for id, text, number in rows if isinstance(number, int)])

    # --- events -------------------------------------------------------------------------------------------------

    def match(self, events: Any) -> Matches:
        """The ids of the predicates that are true of each event.

        Events are attributes: one mapping, several, JSON texts, an Arrow column of these or a table with `attributes`.
        """
        started = time.perf_counter_ns()
        texts, refused = read_texts(events)
        failed: list[Rejected] = []
        while True:
            version = self._version
            encoded = encode(version.writing.source.targeting.names, texts, place=_position)
            parsed = time.perf_counter_ns()
            refused |= {row: Rejected.of(error) for row, error in encoded.errors.items()}
            try:
                found = _search(version, encoded, refused.keys())
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
        rejected = told([*(refused[row] for row in sorted(refused)), *failed])
        return Matches(found.offsets, found.numbers, version.ids, rejected, stats)

    def _put_aside(self, version: Version, failure: TargetingFailed) -> list[Rejected]:
        """Predicates that raised are true of nothing from now on, until they are replaced. Tells of each."""
        with self._lock:
            if version.writing.source is not self._source:  # cleaned up meanwhile
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
        encoded = encode(version.writing.source.targeting.names, texts, place=_position)
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


def _search(version: Version, encoded: Encoded, refused: Collection[int]) -> Found:
    """Searches for the events that were not refused; the others find nothing."""
    count = len(encoded.cells.offsets) - 1
    chosen = np.delete(np.arange(count), list(refused))
    chosen.flags.writeable = False
    found = search(version, encoded, chosen)
    if not refused:
        return found
    sizes = np.zeros(count, np.int64)
    sizes[chosen] = np.diff(found.offsets)
    return found._replace(offsets=np.concatenate(([0], np.cumsum(sizes))))


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
