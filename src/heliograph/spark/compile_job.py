"""Subscriptions compiled and planned by a Spark job into parts in a folder, and a version that consists of parts.

The path of a subscription: its rows meet in the task that the hash of its id names → it is read there, and refused if
it is wrong or its id is taken → by hash, that task is its shard's and saves it. By containment or merging it goes on to
a group of those it may have to do with, which is arranged in one task → roots meet in the task of the front, are
arranged once more if one may contain another, and are saved there → all others go to the task of their shard.

The laws:
- No process has all subscriptions, and the driver none. Of several with one id the first that is right stays, in the
  order of the DataFrame's partitions and rows; those that were there before are before all of them.
- A task saves under a name of its own, and what counts is what the task that Spark takes reports: a task that is run
  again, or ran in vain, leaves nothing that is used.
- A part never changes, and versions share parts, so a small change costs what it is, and a worker keeps the shards that
  it has open. Subscriptions that were added since the parts were made are looked up with the front; those that were
  removed are taken out of what is found.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute

from heliograph.errors import Place, StorageError
from heliograph.filter import save as saving
from heliograph.filter.engine import check_options
from heliograph.filter.save import scheme_of
from heliograph.filter.shards import ShardGround, restored, save_front, save_shard
from heliograph.io.schemas import table_schema
from heliograph.io.tables import as_table
from heliograph.model import Rejected, Rejections
from heliograph.partition.merging import Root, arrange, arrange_roots, group_of, share_of
from heliograph.partition.plan import Outline, Scheme
from heliograph.spark.envelope import ENVELOPES, TERMS, interned, larger_batches, pack, split, unpack
from heliograph.spark.frames import REJECTED, own_columns, parted, plain, spelled, unnumbered
from heliograph.spark.versions import task_number
from heliograph.sparql.query import from_text, to_text
from heliograph.storage import kind_of, read_folder, read_table, write_folder
from heliograph.subscriptions import Subscription, Subscriptions, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pc: Any = pyarrow.compute

# --- a version that consists of parts -----------------------------------------------------------------------------

PARTS = "parts"  # the folder of them, beside the versions
_KIND, _FORMAT = "assembly", 1
_IDS = pa.schema([("subscription_id", pa.string())])


class SavedPart(NamedTuple):
    """A part: its name, the task that saved it, how many are in it, and how many of these are mergers."""

    part: str
    place: int
    size: int
    mergers: int = 0


class FilterParts(NamedTuple):
    """The parts of a version. `added` is how many are in the part `changes`; `removed` are ids of other parts."""

    folder: str
    scheme: Scheme
    front: SavedPart
    shards: tuple[SavedPart | None, ...]
    changes: str | None = None
    added: int = 0
    removed: frozenset[str] = frozenset()

    @classmethod
    def at(cls, path: Path) -> Self | None:
        """The parts of a version; None if the version is a saved filter."""
        return cls.read(path) if kind_of(path) == _KIND else None

    @property
    def base(self) -> int:
        """How many subscriptions the parts hold, without the change."""
        return self.front.size - self.front.mergers + sum(each.size for each in self.shards if each is not None)

    def path(self, part: str) -> Path:
        return Path(self.folder, part)

    def paths(self) -> list[str]:
        """All parts with subscriptions in them, without the change."""
        return [str(self.path(each.part)) for each in (self.front, *self.shards) if each is not None and each.size]

    def outline(self, version: int) -> Outline:
        sizes = tuple(0 if each is None else each.size for each in self.shards)
        return Outline(self.scheme.partition, version, self.front.size + self.added, self.front.mergers, sizes)

    def held(self, ids: Iterable[str]) -> set[str]:
        """Which of these the parts hold and nobody removed. It reads the columns of ids and keeps nothing."""
        asked = pa.array(sorted(set(ids) - self.removed), pa.string())
        found: set[str] = set()
        for path in self.paths() if len(asked) else ():
            column: Any = read_table(path, "subscriptions")["subscription_id"].combine_chunks()
            found.update(column.filter(pc.is_in(column, value_set=asked)).to_pylist())
        return found

    def write(self, path: str | Path) -> None:
        meta = {**self.scheme.meta(), "front": self.front, "parts": self.shards}
        ids = pa.Table.from_arrays([pa.array(sorted(self.removed), pa.string())], schema=_IDS)
        meta |= {"changes": self.changes, "added": self.added}
        write_folder(path, _KIND, _FORMAT, tables={"removed": ids}, meta=meta)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        saved = read_folder(path, _KIND, {_FORMAT})
        meta = saved.meta
        try:
            shards = tuple(None if each is None else SavedPart(*each) for each in meta["parts"])
            removed: list[Any] = saved.tables["removed"]["subscription_id"].to_pylist()
            folder = str(Path(path).absolute().parent / PARTS)
            changes = meta["changes"], int(meta["added"]), frozenset(removed)
            return cls(folder, scheme_of(meta), SavedPart(*meta["front"]), shards, *changes)
        except (KeyError, TypeError, ValueError) as error:
            message = f"a damaged version of a filter: {error}"
            raise StorageError("HG-810", message, place=Place(str(path)), fix="make it again") from error


# --- the job ------------------------------------------------------------------------------------------------------

_INTERESTS = ("subscriptions", "patterns", "constraints")
GIVEN, ACCEPTED, ROOT = "given ", "accepted ", "root "  # kinds of envelopes, and the name of the table
_MERGERS, _SAVED, _REFUSED = "mergers", "saved", "refused"  # further kinds
ORDER, _SHARDS, _QUERY = "order", "shards", "query"  # columns beside those of the contract
_AT_ONCE = 1 << 18  # rows in one envelope
_TOGETHER = 1 << 14  # subscriptions in one envelope
_TEXTS = (*TERMS, "variable", "operator", "value")
_NUMBERS: dict[str, pa.DataType] = dict.fromkeys(("place", "size", "mergers"), pa.int64())
_SAVED_SCHEMA = pa.schema({"part": pa.string(), **_NUMBERS})


class CompileJob(NamedTuple):
    """What every task must know."""

    folder: str
    token: str
    scheme: Scheme
    ground: ShardGround

    @property
    def shards(self) -> int:
        return self.scheme.shards

    @property
    def front(self) -> int:
        """The number of the task that makes the front: the one after those of the shards."""
        return self.scheme.shards

    def new_part(self, what: str) -> tuple[str, Path]:
        """A name for a part, which no other part has, and its path."""
        name = f"{self.token}-{what}-{secrets.token_hex(4)}"
        return name, Path(self.folder, name)


def compile_parts(
    spark: SparkSession, job: CompileJob, frames: Mapping[str, DataFrame], older: Mapping[str, Collection[str]]
) -> tuple[FilterParts, Rejections]:
    """Compiles what older parts hold and what is new: the parts, and what was refused. `older` are paths of parts, with
    the ids that were removed from each. What failed tasks left is removed at the end."""
    from pyspark.sql import functions

    Path(job.folder).mkdir(parents=True, exist_ok=True)
    rows = []
    for name, frame in frames.items():
        numbered = frame.withColumn(ORDER, functions.monotonically_increasing_id())
        own = numbered.select(*own_columns(frame, name), ORDER)
        rows.append(own.mapInArrow(partial(send_given, job.shards, name), ENVELOPES))
    if older:
        schema = "path string, removed array<string>"
        paths = spark.createDataFrame([(path, sorted(removed)) for path, removed in older.items()], schema)
        rows.append(paths.repartition(len(older)).mapInArrow(partial(send_older, job.shards), ENVELOPES))
    used: set[str] = set()
    try:
        found: dict[int, SavedPart] = {}
        rejected: list[Rejected] = []
        done = _stages(job, reduce(lambda left, right: left.union(right), rows)).toArrow()
        for envelope in unpack(done.to_batches()):
            entries: list[dict[str, Any]] = envelope.table.to_pylist()
            if envelope.kind == _REFUSED:
                rejected += [Rejected(**entry) for entry in entries]
            else:
                found |= {entry["place"]: SavedPart(**entry) for entry in entries}
        if job.front not in found:  # a front of nothing still refuses what is wrong with publications
            name, path = job.new_part("front")
            save_front(path, (), job.scheme, job.ground)
            found[job.front] = SavedPart(name, job.front, 0)
        used = {each.part for each in found.values()}
        shards = tuple(found.get(shard) for shard in range(job.shards))
        return FilterParts(job.folder, job.scheme, found[job.front], shards), Rejections(rejected)
    finally:
        for path in Path(job.folder).glob(f"*{job.token}-*"):
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)


def _stages(job: CompileJob, rows: DataFrame) -> DataFrame:
    """From the rows of subscriptions to what the tasks report of their parts."""
    steps: tuple[Any, ...] = (admit_and_save,)
    if job.scheme.partition != "hash":
        steps = (admit_and_group, arrange_group, make_front, save_rest)
    for step in steps:
        tasks = job.shards + (step is make_front)
        rows = rows.repartitionById(tasks, "shard").mapInArrow(partial(step, job), ENVELOPES)
    return rows


# --- in the workers: which subscriptions are accepted -------------------------------------------------------------


def send_given(shards: int, name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """New rows, to the task of their subscription's id. A row that was refused when it was read goes with the rest of
    its subscription."""
    for given in larger_batches(batches, _AT_ONCE):
        table = spelled(name, given)
        ids = [table["subscription_id"], pc.struct_field(table[REJECTED], "item")]
        yield from _send(shards, GIVEN + name, table, pc.coalesce(*(each.combine_chunks() for each in ids)))


def send_older(shards: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The subscriptions of older parts, except those that were removed."""
    for batch in batches:
        for path, removed in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            tables, gone = saving.read(path).tables, pa.array(removed, pa.string())
            for name in _INTERESTS:
                kept = tables[name].filter(pc.invert(pc.is_in(tables[name]["subscription_id"], value_set=gone)))
                yield from _send(shards, ACCEPTED + name, kept, kept["subscription_id"])


def _send(shards: int, kind: str, table: pa.Table, ids: Any) -> Iterator[pa.RecordBatch]:
    for shard, rows in split(interned(table, _TEXTS), ids, shards):
        for start in range(0, rows.num_rows, _AT_ONCE):
            yield pack(shard, rows.slice(start, _AT_ONCE), kind)


class TaskTables(NamedTuple):
    """The envelopes of a task by kind, each kind as one table with its texts."""

    tables: dict[str, pa.Table]

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> Self:
        found: dict[str, list[pa.Table]] = {}
        for envelope in unpack(batches):
            columns: list[Any] = [
                each.cast(each.type.value_type) if pa.types.is_dictionary(each.type) else each
                for each in envelope.table.columns
            ]
            table = pa.Table.from_arrays(columns, envelope.table.column_names)
            found.setdefault(envelope.kind, []).append(table)
        return cls({kind: pa.concat_tables(tables) for kind, tables in found.items()})

    def interests(self, kind: str) -> dict[str, pa.Table]:
        """The tables of subscriptions of a kind, by id; empty ones where there are none.

        In an order that does not depend on which task came first: a task that is run again plans the same.
        """
        found = {name: self.tables.get(kind + name, table_schema(name).empty()) for name in _INTERESTS}
        return {**found, "subscriptions": found["subscriptions"].sort_by("subscription_id")}

    def passed_on(self) -> Iterator[pa.RecordBatch]:
        """What earlier tasks reported, on its way to the driver."""
        return (pack(0, self.tables[kind], kind) for kind in (_REFUSED, _SAVED) if kind in self.tables)


def admitted(job: CompileJob, batches: Iterable[pa.RecordBatch]) -> tuple[Subscriptions, list[Rejected]]:
    """The subscriptions of a task that stay, and what was refused of the new ones."""
    load, registry = TaskTables.of(batches), job.ground.registry()
    restored(registry, load.interests(ACCEPTED))
    given: dict[str, Any] = {}
    for name in _INTERESTS:
        if GIVEN + name in load.tables:
            good, rejected = parted(load.tables[GIVEN + name].sort_by(ORDER).drop_columns([ORDER]))
            read = as_table(name, plain(good))
            given[name] = read._replace(rejected=Rejections((*rejected, *read.rejected)))
    if not given:
        return registry, []
    items, patterns, constraints = (given.get(name) for name in _INTERESTS)
    if constraints is not None and patterns is None:
        patterns = as_table("patterns", table_schema("patterns").empty())
    receipt = registry.subscribe(items, patterns=patterns, constraints=constraints, accept=check_options).receipt
    # A row has no number here, so a subscription without an id (HG-503) has no name either.
    refused = [replace(each, item=None) if each.code == "HG-503" else each for each in receipt.rejected]
    return registry, [unnumbered(each) for each in refused]


def _refused(rejected: Sequence[Rejected]) -> Iterator[pa.RecordBatch]:
    if rejected:
        yield pack(0, Rejections(rejected).table, _REFUSED)


def _saved(part: SavedPart) -> pa.RecordBatch:
    return pack(0, pa.Table.from_pylist([part._asdict()], schema=_SAVED_SCHEMA), _SAVED)


def _save_shard(job: CompileJob, registry: Subscriptions) -> Iterator[pa.RecordBatch]:
    if len(registry):
        name, path = job.new_part(f"shard-{task_number()}")
        save_shard(path, registry, job.ground)
        yield _saved(SavedPart(name, task_number(), len(registry)))


def admit_and_save(job: CompileJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """By hash, where the task of an id is its shard's."""
    registry, rejected = admitted(job, batches)
    yield from _refused(rejected)
    yield from _save_shard(job, registry)


# --- in the workers: which subscription stands where --------------------------------------------------------------


def admit_and_group(job: CompileJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Accepted subscriptions, each for its group. There are as many groups as shards."""
    registry, rejected = admitted(job, batches)
    yield from _refused(rejected)
    groups: dict[int, list[Subscription]] = {}
    for each in registry:  # a query of a pattern table is made for this only, and not kept
        query = each.query if each.origin is None else each.origin.query(each.row)
        groups.setdefault(group_of(query, job.shards), []).append(each)
    for group, members in groups.items():
        yield from _accepted(group, members)


def _accepted(
    shard: int, members: Sequence[Subscription], below: Mapping[Subscription, int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Subscriptions that were accepted; roots come with the shards `below` them."""
    for first in range(0, len(members), _TOGETHER):
        some = members[first : first + _TOGETHER]
        tables = written(some)
        if below is not None:
            shards = _bits(below[each] for each in some)
            tables["subscriptions"] = tables["subscriptions"].append_column(_SHARDS, shards)
        for name, table in tables.items():
            if table.num_rows:
                yield pack(shard, table, (ACCEPTED if below is None else ROOT) + name, texts=_TEXTS)


def _bits(shards: Iterable[int]) -> pa.Array[Any]:
    """Sets of shards, of which there may be more than an integer of Arrow has bits."""
    return pa.array([each.to_bytes((each.bit_length() + 7) // 8, "little") for each in shards], pa.large_binary())


def _from_bits(column: pa.ChunkedArray[Any]) -> list[int]:
    found: list[Any] = column.to_pylist()
    return [int.from_bytes(each, "little") for each in found]


def arrange_group(job: CompileJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A group's roots for the front, and all others for their shards."""
    load = TaskTables.of(batches)
    yield from load.passed_on()
    members = restored(job.ground.registry(), load.interests(ACCEPTED))
    arranged = arrange(members, share_of(job.scheme, job.shards), job.ground.classes())
    for shard, others in arranged.shards.items():
        yield from _accepted(shard, others)
    roots = {head: shards for head, shards in arranged.roots if isinstance(head, Subscription)}
    yield from _accepted(job.front, list(roots), roots)
    mergers = [(to_text(head), shards) for head, shards in arranged.roots if not isinstance(head, Subscription)]
    if mergers:
        texts, shards = zip(*mergers, strict=True)
        yield pack(job.front, pa.table({_QUERY: pa.array(texts, pa.string()), _SHARDS: _bits(shards)}), _MERGERS)


def make_front(job: CompileJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The front of all groups' roots. Rows for shards are passed on as they are."""
    if task_number() != job.front:
        yield from batches
        return
    load = TaskTables.of(batches)
    tables, shards = load.interests(ROOT), []
    if _SHARDS in tables["subscriptions"].column_names:
        shards = _from_bits(tables["subscriptions"][_SHARDS])
        tables["subscriptions"] = tables["subscriptions"].drop_columns([_SHARDS])
    owners = dict(zip(restored(job.ground.registry(), tables), shards, strict=True))
    if job.scheme.partition == "containment":
        arranged = arrange_roots(owners, job.scheme, job.ground.classes())
        for shard, members in arranged.shards.items():
            yield from _accepted(shard, members)
        roots = arranged.roots
    else:
        roots = [Root(*each) for each in owners.items()]
        if _MERGERS in load.tables:
            texts: list[Any] = load.tables[_MERGERS][_QUERY].to_pylist()
            below = _from_bits(load.tables[_MERGERS][_SHARDS])
            roots += [Root(from_text(text), bits) for text, bits in zip(texts, below, strict=True)]
    if roots:
        name, path = job.new_part("front")
        save_front(path, roots, job.scheme, job.ground)
        mergers = sum(not isinstance(root.head, Subscription) for root in roots)
        yield _saved(SavedPart(name, job.front, len(roots), mergers))


def save_rest(job: CompileJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Those that stand in a shard, saved by its task."""
    load, registry = TaskTables.of(batches), job.ground.registry()
    yield from load.passed_on()
    restored(registry, load.interests(ACCEPTED))
    yield from _save_shard(job, registry)
