"""What travels between the stages of a job: whole tables as single cells, addressed to a shard or a part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.io.schemas import table_schema
from heliograph.io.tables import as_table
from heliograph.model import Rejected
from heliograph.spark.frames import REJECTED, REJECTED_TYPE
from heliograph.spark.visibility import TICK, Numbers, Switchboard
from heliograph.subscriptions import Subscription
from heliograph.subscriptions import written as subscriptions_written
from heliograph.terms import spell
from heliograph.vocabulary.columns import encode
from heliograph.watch.updates import read_updates

# ----------------------------------------------------------------------------------------------------------------------
# Tables as single cells: Arrow streams, with each text once where that is worth it.
#
# A worker that only packs or unpacks needs no engine, so none is imported here: they take a second or two.
# ----------------------------------------------------------------------------------------------------------------------

FOR_SHARDS = "shard int, payload binary"
_TYPES: dict[str, pa.DataType] = {"shard": pa.int32(), "payload": pa.binary()}


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream, as plain as it is."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_all()


def encoded(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The same with each distinct text of these columns, and of those that are encoded already, once."""
    columns = [
        _encoded(column) if name in names or pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, table.column_names)


def _encoded(column: pa.ChunkedArray[Any]) -> Any:
    """A column as numbers of its distinct texts: only those that occur, and numbers no wider than it takes."""
    codes, dictionary = encode(column)
    narrow = next(width for width in (np.int8, np.int16, np.int32) if len(dictionary) <= np.iinfo(width).max)
    return pa.DictionaryArray.from_arrays(codes.astype(narrow), dictionary, from_pandas=True)


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of encoded tables; a column that one of them lacks is null there."""
    return pa.concat_tables(map(_widened, tables), promote_options="default").unify_dictionaries()


def _widened(table: pa.Table) -> pa.Table:
    """Numbers of texts so wide that those of other tables go in as well."""
    kinds = [
        pa.dictionary(pa.int32(), kind.value_type) if pa.types.is_dictionary(kind) else kind
        for kind in table.schema.types
    ]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def larger(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """So many batches together that what a call costs by itself is little."""
    for tables in larger_tables((pa.Table.from_batches([batch]) for batch in batches), rows):
        yield pa.concat_tables(tables)


def larger_tables(tables: Iterable[pa.Table], rows: int) -> Iterator[list[pa.Table]]:
    """The same of tables, which need not have the same columns."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(each.num_rows for each in held) >= rows:
            yield held
            held = []
    if held:
        yield held


def parcel(part: int, table: pa.Table) -> pa.RecordBatch:
    """A table for one part."""
    columns: list[Any] = [pa.array([part], pa.int32()), pa.array([to_bytes(table)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(_TYPES))


def pack_for_all(keys: list[int], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a task as one parcel for each key."""
    some = [batch for batch in batches if batch.num_rows]
    if some:
        payload = to_bytes(pa.Table.from_batches(some))
        columns: list[Any] = [pa.array(keys, pa.int32()), pa.array([payload] * len(keys), pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(_TYPES))


def unpack_found(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of parcels."""
    for batch in batches:
        payloads: list[Any] = batch["payload"].to_pylist()
        for payload in payloads:
            yield from from_bytes(payload).to_batches()


# ----------------------------------------------------------------------------------------------------------------------
# What goes through the shuffle between front and shards: whole tables as single cells, one row for each shard.
#
# A row of Spark costs the same whatever it holds, and a shuffle cuts batches into rows; so the triples for a shard
# travel as one Arrow stream. What the front has already found out travels the same way.
# ----------------------------------------------------------------------------------------------------------------------

PARCELS = "shard int, version bigint, payload binary"
_PARCELS_TYPES: dict[str, pa.DataType] = {"shard": pa.int32(), "version": pa.int64(), "payload": pa.binary()}
_SCHEMA = pa.schema(_PARCELS_TYPES)
_TERMS = ("subject", "property", "object")
_DONE = -1  # the version of what needs no more work


class Parcel(NamedTuple):
    """Publications for a shard of a version."""

    shard: int
    version: int
    table: pa.Table


def packed(parcel: Parcel) -> pa.RecordBatch:
    return _row(parcel.shard, parcel.version, to_bytes(encoded(parcel.table, _TERMS)))


def done(batches: Iterable[pa.RecordBatch], shard: int) -> Iterator[pa.RecordBatch]:
    """Rows that are ready, to be passed on by this shard's task."""
    ready = [batch for batch in batches if batch.num_rows]
    if ready:
        yield _row(shard, _DONE, to_bytes(pa.Table.from_batches(ready)))


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[Parcel | pa.RecordBatch]:
    for batch in batches:
        for shard, version, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            table = from_bytes(payload)
            if version == _DONE:
                yield from table.to_batches()
            else:
                yield Parcel(shard, version, table)


def _row(shard: int, version: int, payload: bytes) -> pa.RecordBatch:
    columns: list[Any] = [
        pa.array([shard], pa.int32()),
        pa.array([version], pa.int64()),
        pa.array([payload], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


# ----------------------------------------------------------------------------------------------------------------------
# Updates on their way to the shards: what a task writes to each of them, and what a shard makes of all it got.
#
# A letter holds rows of updates as one Arrow stream, and beside them what all shards must know of a task's updates.
# The first shard counts and refuses: it is told every row, those that none of its queries sees as ticks, which change
# nothing but seq and clock. In a window the clock is everybody's, so there every shard is told all rows, as they are
# or as ticks.
#
# The laws: of several rows with one seq all shards take the same, that of the first letter, whether they see it or
# not; every shard knows the largest seq so far, so it refuses what comes too late; a row is refused once, by shard 0.
# ----------------------------------------------------------------------------------------------------------------------

pc: Any = pyarrow.compute
Flags = npt.NDArray[np.bool_]

_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")  # ticks are nearly nothing then
_FIRST = -(2**63)  # before every seq


class Habits(NamedTuple):
    """How a watch takes its updates: from a stream or a batch, with a window, by time."""

    shards: int
    streaming: bool
    windowed: bool
    timed: bool


class Facts(NamedTuple):
    """What everybody is told of the updates in a letter, whoever sees them."""

    task: int
    number: int
    version: int
    runs: Numbers  # first and last of each run of seqs, one after the other
    rejected: tuple[Rejected, ...] = ()

    @property
    def last(self) -> int | None:
        return int(self.runs[-1]) if len(self.runs) else None

    def knows(self, seqs: Numbers) -> Flags:
        """Which of these seqs are among those of the letter."""
        if not len(self.runs):
            return np.zeros(len(seqs), np.bool_)
        places = np.searchsorted(self.runs[::2], seqs, side="right") - 1
        found: Flags = (places >= 0) & (seqs <= self.runs[1::2][np.maximum(places, 0)])
        return found


def pressed(table: pa.Table) -> bytes:
    """A table as a compressed Arrow stream, which `from_bytes` reads."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_LZ4) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


class Letter(NamedTuple):
    """Updates for one shard."""

    facts: Facts
    updates: pa.Table

    def pack(self) -> bytes:
        told = {**self.facts._asdict(), "rejected": [asdict(entry) for entry in self.facts.rejected]}
        runs = told.pop("runs").tobytes()
        table = self.updates.replace_schema_metadata({"facts": json.dumps(told), "runs": runs})
        return pressed(table)

    @classmethod
    def open(cls, payload: bytes) -> Letter:
        table = from_bytes(payload)
        metadata = table.schema.metadata or {}
        told = json.loads(metadata[b"facts"])
        told["rejected"] = tuple(Rejected(**entry) for entry in told["rejected"])
        runs = np.frombuffer(metadata[b"runs"], np.int64)
        return cls(Facts(**told, runs=runs), table.replace_schema_metadata(None))


# --- writing ----------------------------------------------------------------------------------------------------


def written(updates: pa.Table, facts: Facts, habits: Habits, board: Switchboard, prefixes: Any) -> Iterator[Letter]:
    """The letters of some updates, one for each shard in turn."""
    table, refused = ascending(updates, habits.streaming)
    facts = facts._replace(rejected=(*facts.rejected, *refused))
    if habits.shards == 1:
        yield Letter(facts, table)
        return
    vocabulary = board.vocabulary.overlay()
    read = read_updates(as_table("updates", table), vocabulary, prefixes)
    counting = _counting(read.good, table["seq"], table["at"] if habits.timed else None)
    seen = board.seen(read.encoded.take(np.flatnonzero(counting)), vocabulary)
    facts = facts._replace(runs=_runs(table["seq"].filter(pa.array(counting)).to_numpy()))
    places, unnumbered = np.flatnonzero(counting), np.asarray(table["seq"].is_null())
    for shard in range(habits.shards):
        whole = unnumbered if shard else ~counting  # which is whatever will be refused, and what has no number
        whole = whole.copy()
        whole[places[seen.of(shard)]] = True
        told = _told(table, whole, counting & ~whole) if not shard or habits.windowed else table.filter(pa.array(whole))
        yield Letter(facts if not shard else facts._replace(rejected=()), told)


def ascending(updates: pa.Table, streaming: bool) -> tuple[pa.Table, list[Rejected]]:
    """The updates in ascending seq, those without one first; in a stream those are refused, having no order."""
    read = as_table("updates", updates)
    table, refused = read.table, list(read.rejected)
    missing = table["seq"].null_count
    if missing and streaming:
        table = table.filter(table["seq"].is_valid())
        message = "an update of a stream without seq; number the updates, since the rows of a stream have no order"
        refused += [Rejected("updates", None, "HG-626", message)] * missing
    return in_order(table), refused


def in_order(table: pa.Table) -> pa.Table:
    """The rows in ascending seq, those without one first and as they are; of equal seqs always the same comes first."""
    ordered = _merged(table)
    seqs = ordered["seq"].drop_null().to_numpy()
    if not (seqs[1:] == seqs[:-1]).any():
        return ordered
    unnumbered = ordered.num_rows - len(seqs)
    rest: Any = ordered.slice(unnumbered)
    return pa.concat_tables(
        [ordered.slice(0, unnumbered), rest.sort_by([(name, "ascending") for name in table.column_names])]
    )


def _counting(good: Flags, seq: Any, at: Any) -> Flags:
    """Which rows are accepted unless they come too late: good, numbered, and the first of their seq."""
    counting: Flags = good & np.asarray(seq.is_valid())
    if at is not None:
        counting &= np.asarray(at.is_valid())
    rows = np.flatnonzero(counting)
    seqs = seq.filter(pa.array(counting)).to_numpy()
    counting[rows[1:][seqs[1:] == seqs[:-1]]] = False
    return counting


def _runs(seqs: Numbers) -> Numbers:
    """Ascending numbers as runs of consecutive ones."""
    if not len(seqs):
        return np.empty(0, np.int64)
    cuts = np.flatnonzero(seqs[1:] - 1 != seqs[:-1])
    return np.stack([seqs[np.append(0, cuts + 1)], seqs[np.append(cuts, len(seqs) - 1)]], axis=1).ravel()


def _told(table: pa.Table, whole: Flags, ticked: Flags) -> pa.Table:
    """Rows as they are, and others as ticks in their places."""
    some = table.filter(pa.array(whole | ticked))
    ticks = pa.array(ticked[whole | ticked])
    if not ticked.any():
        return some
    columns: dict[str, Any] = {name: some[name] for name in some.column_names}
    for name, cell in _tick().items():
        columns[name] = pc.if_else(ticks, pa.scalar(cell, columns[name].type), columns[name])
    return pa.table(columns, schema=some.schema)


def _tick() -> dict[str, Any]:
    name = spell(TICK)
    return {"op": "-", "subject": name, "property": name, "object": name, "weight": None}


# --- reading ----------------------------------------------------------------------------------------------------


class Delivery(NamedTuple):
    """What a shard has got: updates in order, what was refused on the way, and the version that is meant."""

    updates: pa.Table
    rejected: list[Rejected]
    version: int


def delivered(payloads: Iterable[bytes], shard: int, habits: Habits) -> Delivery:
    """All letters of a batch or micro-batch to one shard."""
    letters = sorted((Letter.open(payload) for payload in payloads), key=lambda letter: letter.facts[:2])
    facts = [letter.facts for letter in letters]
    tables = [letter.updates for letter in letters] if shard == 0 else list(_winning(letters))
    table = _merged(pa.concat_tables(tables))
    if shard and not habits.windowed:
        table = pa.concat_tables([table, _closing(facts)])
    return Delivery(table, [entry for fact in facts for entry in fact.rejected], facts[0].version)


def _winning(letters: Sequence[Letter]) -> Iterator[pa.Table]:
    """The updates of letters, without those whose seq an earlier letter has."""
    overlapping = _overlap([letter.facts.runs for letter in letters])
    for number, letter in enumerate(letters):
        table = letter.updates
        if overlapping and number and table.num_rows:
            seqs = pc.fill_null(table["seq"], _FIRST).to_numpy()
            lost = np.logical_or.reduce([earlier.facts.knows(seqs) for earlier in letters[:number]])
            table = table.filter(pa.array(~lost | (seqs == _FIRST)))
        yield table


def _overlap(runs: Sequence[Numbers]) -> bool:
    both = np.concatenate(runs).reshape(-1, 2)
    both = both[np.argsort(both[:, 0], kind="stable")]
    return bool((both[1:, 0] <= both[:-1, 1]).any())


def _merged(table: pa.Table) -> pa.Table:
    """In ascending seq; of equal seqs, those without one included, what is first remains first."""
    seqs = pc.fill_null(table["seq"], _FIRST).to_numpy()
    return table if (seqs[1:] >= seqs[:-1]).all() else table.take(np.argsort(seqs, kind="stable"))


def _closing(facts: Sequence[Facts]) -> pa.Table:
    """A tick with the largest seq that anybody got."""
    lasts = [fact.last for fact in facts if fact.last is not None]
    ticks = [{"seq": max(lasts), **_tick()}] if lasts else []
    return pa.Table.from_pylist(ticks, schema=table_schema("updates").arrow)


def pieces(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    """A table in pieces of so many rows, one at least."""
    bounds = [*range(0, table.num_rows, rows), table.num_rows]
    yield from (table.slice(first, last - first) for first, last in pairwise(bounds if len(bounds) > 1 else [0, 0]))


# ----------------------------------------------------------------------------------------------------------------------
# What travels between the stages of the job that compiles subscriptions: tables as single cells, each for one place.
#
# A row is a place, what kind of table this is, and the table as an Arrow stream. Kinds are tables of new
# subscriptions as they were given (`GIVEN`), those of subscriptions that were accepted (`LOT`), those of roots with
# their shards (`ROOT`), mergers, and what a part tells when it is done. The law: all rows of one subscription go to
# the same place.
# ----------------------------------------------------------------------------------------------------------------------

ROWS = "place int, kind string, payload binary"
_LOTS_TYPES: dict[str, pa.DataType] = {"place": pa.int32(), "kind": pa.string(), "payload": pa.binary()}
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
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _LOTS_TYPES.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(_LOTS_TYPES))


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
        for name, table in subscriptions_written(people[first : first + _TOGETHER]).items():
            if table.num_rows:
                yield row(place, LOT + name, encoded(table, _TEXTS))


def root_lots(place: int, people: Mapping[Subscription, int]) -> Iterator[pa.RecordBatch]:
    """Roots with their shards."""
    everybody = list(people)
    for first in range(0, len(everybody), _TOGETHER):
        some = everybody[first : first + _TOGETHER]
        tables = subscriptions_written(some)
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


# ----------------------------------------------------------------------------------------------------------------------
# Keys that Spark spreads evenly: its hash of an integer, so that shards can be named after where they come to lie.
# ----------------------------------------------------------------------------------------------------------------------

_MASK = 0xFFFFFFFF
_SEED = 42  # Spark's


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
    mixed = _SEED ^ _mixed(value & _MASK)
    mixed = (_rotated(mixed, 13) * 5 + 0xE6546B64) & _MASK
    mixed ^= 4  # its length in bytes
    mixed = ((mixed ^ mixed >> 16) * 0x85EBCA6B) & _MASK
    mixed = ((mixed ^ mixed >> 13) * 0xC2B2AE35) & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _mixed(word: int) -> int:
    return (_rotated((word * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK
