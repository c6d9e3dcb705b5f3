"""What travels between the stages of the job that compiles subscriptions: tables as single cells, each for one place.

A row is a place, what kind of table this is, and the table as an Arrow stream. Kinds are tables of new subscriptions
as they were given (`GIVEN`), those of subscriptions that were accepted (`LOT`), those of roots with their shards
(`ROOT`), mergers, and what a part tells when it is done. The law: all rows of one subscription go to the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.model import Rejected
from heliograph.spark.frames import REJECTED, REJECTED_TYPE
from heliograph.spark.packing import encoded, from_bytes, larger, to_bytes
from heliograph.subscriptions import Subscription, written
from heliograph.tables.schemas import table_schema

pc: Any = pyarrow.compute

ROWS = "place int, kind string, payload binary"
_TYPES: dict[str, pa.DataType] = {"place": pa.int32(), "kind": pa.string(), "payload": pa.binary()}
INTERESTS = ("subscriptions", "patterns", "constraints")
GIVEN, LOT, ROOT = "given ", "lot ", "root "  # and the name of the table
MERGERS, TOLD, REFUSED = "mergers", "told", "refused"
ORDER, SHARDS, QUERY = "order", "shards", "query"  # columns beside those of the contract
_AT_ONCE = 1 << 18  # rows dealt together
_TOGETHER = 1 << 14  # subscriptions in one cell
_TEXTS = ("subject", "property", "object", "variable", "operator", "value")
_BITS = pa.large_binary()


class Told(NamedTuple):
    """A part that was saved: its name and place, how many are in it, and how many of these are mergers."""

    part: str
    place: int
    size: int
    mergers: int = 0


# --- packing ----------------------------------------------------------------------------------------------------


def row(place: int, kind: str, table: pa.Table) -> pa.RecordBatch:
    columns: list[Any] = [[place], [kind], [to_bytes(table)]]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _TYPES.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(_TYPES))


def dealt(places: int, kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a table of interests, each to the place that the hash of its subscription's id names."""
    for table in larger(batches, _AT_ONCE):
        yield from dealt_table(places, kind, table)


def dealt_table(places: int, kind: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
    place = _places(table, places)
    rows = encoded(table.take(np.argsort(place, kind="stable")), _TEXTS)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=places))]).tolist()
    for number, (first, last) in enumerate(pairwise(bounds)):
        for start in range(first, last, _AT_ONCE):
            yield row(number, kind, rows.slice(start, min(_AT_ONCE, last - start)))


def _places(table: pa.Table, places: int) -> Any:
    """The place of each row. A row that was refused when it was read goes with the rest of its subscription."""
    ids = table["subscription_id"].combine_chunks()
    if REJECTED in table.column_names:
        ids = pc.coalesce(ids, pc.struct_field(table[REJECTED].combine_chunks(), "item"))
    distinct = ids.dictionary_encode(null_encoding="encode")
    names: list[Any] = distinct.dictionary.to_pylist()
    return np.array([place_of(name, places) for name in names], np.int64)[distinct.indices.to_numpy()]


def place_of(id: str | None, places: int) -> int:
    return crc32((id or "").encode()) % places


def lots(place: int, people: Sequence[Subscription]) -> Iterator[pa.RecordBatch]:
    """Subscriptions that were accepted."""
    for first in range(0, len(people), _TOGETHER):
        for name, table in written(people[first : first + _TOGETHER]).items():
            if table.num_rows:
                yield row(place, LOT + name, encoded(table, _TEXTS))


def root_lots(place: int, people: Mapping[Subscription, int]) -> Iterator[pa.RecordBatch]:
    """Roots with their shards."""
    everybody = list(people)
    for first in range(0, len(everybody), _TOGETHER):
        some = everybody[first : first + _TOGETHER]
        tables = written(some)
        tables["subscriptions"] = tables["subscriptions"].append_column(SHARDS, _bits(people[each] for each in some))
        for name, table in tables.items():
            if table.num_rows:
                yield row(place, ROOT + name, encoded(table, _TEXTS))


def merger_row(place: int, texts: Sequence[str], shards: Iterable[int]) -> pa.RecordBatch:
    return row(place, MERGERS, pa.table({QUERY: pa.array(texts, pa.string()), SHARDS: _bits(shards)}))


def told(part: Told, place: int = 0) -> pa.RecordBatch:
    return row(place, TOLD, pa.Table.from_pylist([part._asdict()]))


def refused(rejected: Iterable[Rejected], place: int = 0) -> Iterator[pa.RecordBatch]:
    entries = [{name: getattr(entry, name) for name in REJECTED_TYPE.names} for entry in rejected]
    if entries:
        yield row(place, REFUSED, pa.Table.from_pylist(entries, schema=pa.schema(list(REJECTED_TYPE))))


def _bits(shards: Iterable[int]) -> pa.Array[Any]:
    """Sets of shards, of which there may be more than an integer of Arrow has bits."""
    return pa.array([each.to_bytes((each.bit_length() + 7) // 8, "little") for each in shards], _BITS)


def bits_of(column: pa.ChunkedArray[Any]) -> list[int]:
    found: list[Any] = column.to_pylist()
    return [int.from_bytes(each, "little") for each in found]


# --- unpacking --------------------------------------------------------------------------------------------------


class Load(NamedTuple):
    """The rows of a task by kind, each kind as one table."""

    tables: dict[str, pa.Table]

    def interests(self, kind: str) -> dict[str, pa.Table]:
        """The tables of subscriptions that were accepted, by id; empty ones where there are none.

        In an order that does not depend on which task came first: a task that is run again plans the same.
        """
        found = {name: self.tables.get(kind + name, table_schema(name).empty()) for name in INTERESTS}
        return {**found, "subscriptions": found["subscriptions"].sort_by("subscription_id")}

    def given(self) -> dict[str, pa.Table]:
        """What is new, each table in the order in which it was given."""
        found = {name: self.tables[GIVEN + name] for name in INTERESTS if GIVEN + name in self.tables}
        return {name: table.sort_by(ORDER).drop_columns([ORDER]) for name, table in found.items()}


def unloaded(batches: Iterable[pa.RecordBatch]) -> Load:
    """All rows of a task."""
    found: dict[str, list[pa.Table]] = {}
    for _, kind, table in each_row(batches):
        found.setdefault(kind, []).append(_plain(table))
    return Load({kind: pa.concat_tables(tables) for kind, tables in found.items()})


def each_row(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, str, pa.Table]]:
    for batch in batches:
        for place, kind, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield place, kind, from_bytes(payload)


def _plain(table: pa.Table) -> pa.Table:
    """With the texts themselves, where each stood once."""
    columns: list[Any] = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, table.column_names)
