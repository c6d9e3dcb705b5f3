"""Envelopes: what travels between the stages of a job, whole tables as single cells, each addressed to a shard.

A row of Spark costs the same whatever it holds, and a shuffle cuts batches into rows. So a table travels as one Arrow
stream in one cell, beside the number of its shard, a kind for the reader, and notes in the metadata of the stream.
Publications, events, updates, subscriptions that are being compiled, and results that only pass through: all of them go
in this one format, by `pack` and `unpack`.

The laws: each distinct text of a column travels once per envelope where the sender asks for it. The rows of one id go
to one shard, which depends on the id and the number of shards alone. A worker that only packs or unpacks needs no
engine, so none is imported here: they take a second or two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.io.publications import group_rows
from heliograph.io.schemas import table_schema
from heliograph.io.sources import Source
from heliograph.io.tables import TableRows
from heliograph.model import Rejected, Rejections
from heliograph.spark.frames import (
    REJECTED,
    ROW,
    SOURCE,
    document_rows,
    files_of,
    is_read,
    parted,
    plain,
    read_tables,
    run_step,
)
from heliograph.vocabulary.columns import encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pc: Any = pyarrow.compute

ENVELOPES = "shard int, kind string, payload binary"
FOUND = "found"  # the kind of rows that are ready, and only passed on
_TYPES: dict[str, pa.DataType] = {"shard": pa.int32(), "kind": pa.string(), "payload": pa.binary()}
_SCHEMA = pa.schema(_TYPES)
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")


class Envelope(NamedTuple):
    """A table for a shard, with what the sender noted beside it."""

    shard: int
    kind: str
    table: pa.Table
    notes: Mapping[str, bytes]


# --- packing ------------------------------------------------------------------------------------------------------


def pack(
    shard: int,
    table: pa.Table,
    kind: str = "",
    *,
    texts: Collection[str] = (),
    notes: dict[str, bytes] | None = None,
    compressed: bool = False,
) -> pa.RecordBatch:
    """A table on its way to a shard. Distinct texts of the columns `texts`, and of interned ones, travel once."""
    payload = to_bytes(interned(table, texts).replace_schema_metadata(notes), compressed)
    cells: list[Any] = [[shard], [kind], [payload]]
    arrays = [pa.array(cell, type) for cell, type in zip(cells, _TYPES.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def pack_found(shard: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows that are ready, if there are any, to be passed on by the task of this shard."""
    ready = [batch for batch in batches if batch.num_rows]
    if ready:
        yield pack(shard, pa.Table.from_batches(ready), FOUND)


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[Envelope]:
    """The envelopes of a task."""
    for batch in batches:
        for shard, kind, payload in zip(*(batch[name].to_pylist() for name in _TYPES), strict=True):
            table = from_bytes(payload)
            notes = {name.decode(): note for name, note in (table.schema.metadata or {}).items()}
            yield Envelope(shard, kind, table.replace_schema_metadata(None), notes)


def unpack_found(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of envelopes that are only passed on."""
    for envelope in unpack(batches):
        yield from envelope.table.to_batches()


def to_bytes(table: pa.Table, compressed: bool = False) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_LZ4 if compressed else None) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_all()


# --- interned texts -----------------------------------------------------------------------------------------------


def interned(table: pa.Table, texts: Collection[str]) -> pa.Table:
    """The same with each distinct text of these columns, and of those that are interned already, once: only texts that
    occur, and numbers no wider than it takes."""
    columns = [
        _interned(column) if name in texts or pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, table.column_names)


def _interned(column: pa.ChunkedArray[Any]) -> Any:
    codes, distinct = encode(column)
    narrow = next(width for width in (np.int8, np.int16, np.int32) if len(distinct) <= np.iinfo(width).max)
    return pa.DictionaryArray.from_arrays(codes.astype(narrow), distinct, from_pandas=True)


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of interned tables, their numbers so wide that all texts can be counted; a column that one of them lacks
    is null there."""

    def widened(table: pa.Table) -> pa.Table:
        types = [
            pa.dictionary(pa.int32(), type.value_type) if isinstance(type, pa.DictionaryType) else type
            for type in table.schema.types
        ]
        return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))

    return pa.concat_tables(map(widened, tables), promote_options="default").unify_dictionaries()


def larger(tables: Iterable[pa.Table], rows: int) -> Iterator[list[pa.Table]]:
    """So many tables together that what a call costs by itself is little."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(each.num_rows for each in held) >= rows:
            yield held
            held = []
    if held:
        yield held


def larger_batches(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same of batches that have the same columns."""
    return map(pa.concat_tables, larger((pa.Table.from_batches([batch]) for batch in batches), rows))


# --- sharding by id -----------------------------------------------------------------------------------------------

_AT_ONCE = 1 << 18  # rows sharded together


def split(table: pa.Table, ids: Any, shards: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each shard that has any, in their order; the CRC of its id says where a row goes, a null id too."""
    if shards == 1:
        yield from [(0, table)] if table.num_rows else []
        return
    codes, distinct = encode(ids)
    names: list[Any] = [*distinct.to_pylist(), None]  # the code of a null is -1, the last
    numbers = np.array([crc32((name or "").encode()) % shards for name in names], np.int64)[codes]
    ordered = table.take(np.argsort(numbers, kind="stable"))
    bounds = np.cumsum(np.bincount(numbers, minlength=shards)).tolist()
    for shard, (first, last) in enumerate(pairwise([0, *bounds])):
        if first < last:
            yield shard, ordered.slice(first, last - first)


def task_count(frame: DataFrame) -> int:
    """How many tasks a shuffle has in the session of a DataFrame."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)


# --- publications: triples, or documents and feeds that are parsed where they lie ---------------------------------
#
# The laws are the embedded reader's: all rows with one publication_id are one publication, so they meet in one task;
# documents share no blank nodes, so where one publication has parts in several, the nodes of each are named anew;
# items of feeds are never merged.

_DOCUMENTS = {"path", "content"}
TERMS = ("subject", "property", "object")
_TEXTS = ("publication_id", *TERMS, SOURCE)


def publication_rows(frame: DataFrame) -> DataFrame:
    """Triples in envelopes, each publication's in one partition."""
    shards, files = task_count(frame), files_of(frame)
    if files is not None:
        packed = files.mapInArrow(partial(read_publications, shards), ENVELOPES)
    elif set(frame.columns) >= _DOCUMENTS and not is_read(frame):
        packed = frame.select("path", "content").mapInArrow(partial(parse_publications, shards), ENVELOPES)
    else:
        packed = run_step(frame, "publications", partial(shard_publications, shards), ENVELOPES)
    return packed.repartitionById(shards, "shard")


def read_publications(shards: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: files of publications."""
    for tables in larger(read_tables("publications", batches), _AT_ONCE):
        yield from _packed(
            shards, tables[0] if len(tables) == 1 else together([interned(table, _TEXTS) for table in tables])
        )


def parse_publications(shards: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: documents and feeds."""
    documents = (row for batch in batches for row in batch.to_pylist())
    sources = (Source(Path(row["path"]), row["path"], row["content"] or b"") for row in documents)
    return shard_publications(shards, (rows for source in sources for rows in document_rows(source)))


def shard_publications(shards: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: triples."""
    for table in larger_batches(batches, _AT_ONCE):
        yield from _packed(shards, table)


def _packed(shards: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows for their shards, without what need not travel: refusals where there are none, and the upper halves of row
    numbers."""
    if REJECTED in table.column_names and table[REJECTED].null_count == table.num_rows:
        table = table.drop_columns([REJECTED])
    if ROW in table.column_names and (pc.max(table[ROW]).as_py() or 0) <= np.iinfo(np.int32).max:
        table = table.set_column(table.column_names.index(ROW), ROW, table[ROW].cast(pa.int32()))
    if shards > 1:
        table = interned(table, _TEXTS)  # numbers are sooner put in order than texts
    for shard, rows in split(table, table["publication_id"], shards):
        yield pack(shard, rows, texts=_TEXTS)


class TaskPublications(NamedTuple):
    """The publications of a task, their rows in no order, and what was refused before they came here."""

    table: pa.Table
    rejected: list[Rejected]

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> TaskPublications:
        tables = [envelope.table for envelope in unpack(batches)]
        if not tables:
            return cls(table_schema("publications").empty(), [])
        table, rejected = parted(together(tables))
        return cls(_blank_nodes_apart(_items_apart(table)) if SOURCE in table.column_names else table, rejected)

    def parts(self, size: int) -> Iterator[pa.Table]:
        """The rows of so many publications at a time."""
        groups = group_rows(self.table, "publication_id")
        if len(groups.ids) <= size:
            yield self.table
            return
        is_ordered = bool((groups.permutation[1:] > groups.permutation[:-1]).all())
        ordered = self.table if is_ordered else self.table.take(groups.permutation)
        for first, last in pairwise([*groups.offsets[:-1:size].tolist(), len(groups.permutation)]):
            yield ordered.slice(first, last - first)


def _items_apart(table: pa.Table) -> pa.Table:
    """Items of feeds are never merged: of those with one id the later files' become `id#2`, `id#3`, in the order of the
    files' names, unless they say the same. All rows with one id are in this task."""
    numbers: Any = pc.fill_null(table[ROW].combine_chunks(), 0)
    if not len(table) or pc.min(numbers).as_py() >= 0:
        return table
    sources: Any = table[SOURCE].combine_chunks()
    is_item = pc.less(numbers, 0)
    places = {"file": pc.if_else(is_item, sources.indices, -1), ROW: pc.if_else(is_item, numbers, 0)}
    keys = pa.table({"publication_id": table["publication_id"].cast(pa.string()), **places})
    readings = keys.group_by(["publication_id", "file", ROW]).aggregate([]).group_by("publication_id")
    counts = readings.aggregate([([], "count_all")])
    shared = counts.filter(pc.greater(counts["count_all"], 1))["publication_id"]
    if not len(shared):
        return table
    found: dict[str, dict[tuple[str, int], list[int]]] = {}
    names = sources.dictionary.to_pylist()
    crowded = np.flatnonzero(pc.is_in(keys["publication_id"], value_set=shared).to_numpy())
    columns = (column.to_pylist() for column in keys.take(crowded).columns)
    for row, id, file, number in zip(crowded.tolist(), *columns, strict=True):
        found.setdefault(id, {}).setdefault((names[file] if file >= 0 else "", -number), []).append(row)
    ids, taken = keys["publication_id"].to_pylist(), set(counts["publication_id"].to_pylist())
    is_kept = np.ones(len(table), np.bool_)
    for id, parts in found.items():
        met: set[frozenset[tuple[Any, ...]]] = set()
        for _, rows in sorted(parts.items()):
            says = _says(table.select(TERMS).take(rows))
            if says in met:
                is_kept[rows] = False
            elif met:
                free = next(name for times in count(2) if (name := f"{id}#{times}") not in taken)
                taken.add(free)
                for row in rows:
                    ids[row] = free
            met.add(says)
    place = table.column_names.index("publication_id")
    return table.set_column(place, "publication_id", pa.array(ids, pa.string())).filter(pa.array(is_kept))


def _says(rows: pa.Table) -> frozenset[tuple[Any, ...]]:
    """Triples with their blank nodes numbered in the order in which they are met."""
    triples = list(zip(*(rows[name].to_pylist() for name in TERMS), strict=True))
    blanks: dict[str, int] = {}
    for subject, _, value in triples:
        for term in (subject, value):
            if term.startswith("_:"):
                blanks.setdefault(term, len(blanks))
    return frozenset((blanks.get(s, s), p, blanks.get(o, o)) for s, p, o in triples)


def _blank_nodes_apart(table: pa.Table) -> pa.Table:
    """Blank nodes of documents named anew where a publication has parts in several files."""
    sources: Any = table[SOURCE].combine_chunks()
    if len(sources.dictionary) == 1:
        return table
    keys = pa.table({"publication_id": table["publication_id"], SOURCE: sources.indices})
    pairs = keys.group_by(["publication_id", SOURCE]).aggregate([])
    if len(pairs) == len(pc.unique(pairs["publication_id"])):
        return table
    suffix = pc.binary_join_element_wise("", pc.cast(sources.indices, pa.string()), "-d")
    of_document = pc.is_null(table[ROW].combine_chunks())
    for name in ("subject", "object"):
        cells = table[name].cast(pa.string()).combine_chunks()
        where = pc.and_(of_document, pc.fill_null(pc.starts_with(cells, "_:"), False))
        renamed = pc.binary_join_element_wise(cells, suffix, "")
        table = table.set_column(table.column_names.index(name), name, pc.if_else(where, renamed, cells))
    return table


def placed(table: pa.Table) -> pa.Table | TableRows:
    """The rows with their places, where they are known, so that a refusal can name file and row."""
    if SOURCE not in table.column_names:
        return table
    names: Any = table[SOURCE].combine_chunks()
    codes = names.indices.to_numpy(zero_copy_only=False)
    rows = table if len(names.dictionary) == 1 else table.take(np.argsort(codes, kind="stable"))
    ends = np.cumsum(np.bincount(codes, minlength=len(names.dictionary))).tolist()
    numbers, terms = np.maximum(pc.fill_null(rows[ROW], 0).to_numpy(), 0), plain(rows)
    parts = []
    for name, (first, last) in zip(names.dictionary.to_pylist(), pairwise([0, *ends]), strict=True):
        parts.append(TableRows(name, terms.slice(first, last - first), Rejections(), numbers[first:last]))
    return TableRows(None, terms, Rejections(), numbers, tuple(parts), tuple(ends))


# --- events: sharded by event_id into parts, each part for every share of the exchange ----------------------------
#
# The law: events with one id meet in one part, so that a second one is refused. Which part an event is in changes
# nothing else.


def event_rows(frame: DataFrame, parts: int, shares: int) -> DataFrame:
    """The events in envelopes."""
    packed = run_step(frame, "events", partial(shard_events, parts, shares), ENVELOPES)
    return packed.repartitionById(parts * shares, "shard")


def shard_events(parts: int, shares: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: an envelope for each part and share, without places in files; the first share is numbered first."""
    for table in larger_batches(batches, _AT_ONCE // 2):
        rows = table.drop_columns([name for name in (SOURCE, ROW) if name in table.column_names])
        for part, some in split(rows, rows["event_id"], parts):
            yield from (pack(share * parts + part, some) for share in range(shares))


# --- keys that Spark spreads evenly -------------------------------------------------------------------------------

_MASK = 0xFFFFFFFF


def spreading_keys(count: int) -> list[int]:
    """So many keys, each in another partition wherever the number of partitions is a multiple or a divisor of theirs.

    They depend on nothing else: a state that is found by its key is found again under another configuration.
    """
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < count:
        keys.setdefault(spark_hash(key) % count, key)
        key += 1
    return [keys[place] for place in range(count)]


def spark_hash(value: int) -> int:
    """Spark's `hash` of an int: Murmur3 with 32 bits, signed."""

    def rotated(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (32 - bits))) & _MASK

    word = (rotated((value & _MASK) * 0xCC9E2D51 & _MASK, 15) * 0x1B873593) & _MASK
    mixed = (rotated(42 ^ word, 13) * 5 + 0xE6546B64) & _MASK  # 42 is Spark's seed
    mixed ^= 4  # its length in bytes
    mixed = ((mixed ^ mixed >> 16) * 0x85EBCA6B) & _MASK
    mixed = ((mixed ^ mixed >> 13) * 0xC2B2AE35) & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed
