"""Subscriptions compiled and planned by a Spark job: parts in a folder, and what was refused of them.

The path of a subscription: its rows meet in the task that the hash of its id names → it is read, and refused there if
it is wrong or its id is taken → by hash, that task is its shard's and saves it. By containment or merging it goes on to
the group of those it may have to do with, which is arranged in one task → roots meet in the task of the front, are
arranged once more if one may contain another, and are saved there → all others go to the task of their shard.

The laws: no process has all subscriptions, and the driver none. Of several with one id the first that is right stays,
in the order of the DataFrame's partitions and rows; those that were there before are before all of them. A task saves
under a name of its own, and what counts is what the task that Spark takes tells: one that is run again, or ran in vain,
leaves nothing that is used.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute

from heliograph.filter import save as saving
from heliograph.filter.encode import check_options
from heliograph.filter.shards import Ground, restored, save_front, save_shard
from heliograph.io.schemas import table_schema
from heliograph.io.tables import as_table
from heliograph.model import Rejected, Rejections
from heliograph.partition.merging import Root, arrange, arrange_roots, group_of, share_of
from heliograph.partition.plan import Scheme
from heliograph.spark import envelope as lots
from heliograph.spark.envelope import (
    GIVEN,
    INTERESTS,
    LOT,
    MERGERS,
    ORDER,
    QUERY,
    REFUSED,
    ROOT,
    ROWS,
    SHARDS,
    TOLD,
    Told,
)
from heliograph.spark.frames import REJECTED, parted, plain, shaped, unnumbered
from heliograph.sparql.query import from_text, to_text
from heliograph.subscriptions import Subscription, Subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


pc: Any = pyarrow.compute

_OLDER = "path string, removed array<string>"


class Job(NamedTuple):
    """What every task must know."""

    folder: str
    token: str
    scheme: Scheme
    ground: Ground

    @property
    def shards(self) -> int:
        return self.scheme.shards

    @property
    def front(self) -> int:
        """The number of the task that makes the front: the one after those of the shards."""
        return self.scheme.shards

    def part(self, what: str) -> str:
        """A name for a part, which nobody else has."""
        return f"{self.token}-{what}-{secrets.token_hex(4)}"

    def path(self, part: str) -> Path:
        return Path(self.folder, part)


class Older(NamedTuple):
    """A part that was there before, and the ids of those who are in it in vain."""

    path: str
    removed: frozenset[str] = frozenset()


class Made(NamedTuple):
    """The parts that a job made, and what it refused."""

    front: Told | None
    shards: tuple[Told | None, ...]
    rejected: Rejections


def run(spark: SparkSession, job: Job, frames: Mapping[str, DataFrame], older: Sequence[Older]) -> Made:
    """Compiles what older parts hold and what is new. What is left of tasks that failed is removed at the end."""
    Path(job.folder).mkdir(parents=True, exist_ok=True)
    rows = [_given(job, name, frame) for name, frame in frames.items()]
    if older:
        paths = spark.createDataFrame([(each.path, sorted(each.removed)) for each in older], _OLDER)
        rows.append(paths.repartition(len(older)).mapInArrow(partial(reread, job), ROWS))
    used: set[str] = set()
    try:
        made = _made(job, _stages(job, reduce(lambda left, right: left.union(right), rows)).collect())
        used = {each.part for each in (made.front, *made.shards) if each is not None}
        return made
    finally:
        _tidy(job, used)


def _given(job: Job, name: str, frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions

    rows = shaped(frame, name).withColumn(ORDER, functions.monotonically_increasing_id())
    return rows.mapInArrow(partial(lots.dealt, job.shards, GIVEN + name), ROWS)


def _stages(job: Job, rows: DataFrame) -> DataFrame:
    """From the rows of subscriptions to what the parts tell."""
    if job.scheme.partition == "hash":
        return _by_place(rows, job.shards).mapInArrow(partial(admit_and_save, job), ROWS)
    groups = _by_place(rows, job.shards).mapInArrow(partial(admit_and_group, job), ROWS)
    arranged = _by_place(groups, job.shards).mapInArrow(partial(arrange_group, job), ROWS)
    fronted = _by_place(arranged, job.shards + 1).mapInArrow(partial(make_front, job), ROWS)
    return _by_place(fronted, job.shards).mapInArrow(partial(save_rest, job), ROWS)


def _by_place(rows: DataFrame, places: int) -> DataFrame:
    return rows.repartitionById(places, "place")


def _made(job: Job, rows: Iterable[Any]) -> Made:
    found: dict[int, Told] = {}
    rejected: list[Rejected] = []
    for _, kind, table in lots.each_row(_batches(rows)):
        for entry in table.to_pylist():
            if kind == REFUSED:
                rejected.append(Rejected(**entry))
            else:
                found[entry["place"]] = Told(**entry)
    return Made(found.get(job.front), tuple(found.get(shard) for shard in range(job.shards)), Rejections(rejected))


def _batches(rows: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    for row in rows:
        yield pa.RecordBatch.from_pydict({name: [row[name]] for name in ("place", "kind", "payload")})


def _tidy(job: Job, used: set[str]) -> None:
    """Removes what tasks of this job left that do not count."""
    for path in Path(job.folder).glob(f"*{job.token}-*"):
        if path.name not in used:
            shutil.rmtree(path, ignore_errors=True)


# --- in the workers: who is accepted ----------------------------------------------------------------------------


def reread(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The subscriptions of older parts, except those that were removed."""
    for batch in batches:
        for path, removed in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            tables, gone = saving.read(path).tables, pa.array(removed, pa.string())
            for name in INTERESTS:
                kept = tables[name].filter(pc.invert(pc.is_in(tables[name]["subscription_id"], value_set=gone)))
                yield from lots.dealt_table(job.shards, LOT + name, kept)


def admitted(job: Job, batches: Iterable[pa.RecordBatch]) -> tuple[Subscriptions, list[Rejected]]:
    """The subscriptions of a task that stay, and what was refused of the new ones."""
    load, registry = lots.unloaded(batches), job.ground.registry()
    restored(registry, load.interests(LOT))
    given = {name: _read(name, table) for name, table in load.given().items()}
    if not given:
        return registry, []
    items, patterns, constraints = (given.get(name) for name in INTERESTS)
    if constraints is not None and patterns is None:
        patterns = as_table("patterns", table_schema("patterns").empty())
    taken = registry.subscribe(items, patterns=patterns, constraints=constraints, accept=check_options)
    return registry, [_unplaced(entry) for entry in taken.receipt.rejected]


def _unplaced(entry: Rejected) -> Rejected:
    """A refusal without the number of its row in this task; one without an id is named by nothing else."""
    return replace(unnumbered(entry), item=None) if entry.code == "HG-503" else unnumbered(entry)


def _read(name: str, table: pa.Table) -> Any:
    """A table as the embedded engine takes it, with what was refused of it when it was read from files."""
    if REJECTED not in table.column_names:
        return as_table(name, table)
    good, rejected = parted(table)
    read = as_table(name, plain(good))
    return read._replace(rejected=Rejections((*rejected, *read.rejected)))


def admit_and_save(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where the place of an id is its shard."""
    registry, rejected = admitted(job, batches)
    yield from lots.refused(rejected)
    yield from _saved(job, registry)


def _saved(job: Job, registry: Subscriptions) -> Iterator[pa.RecordBatch]:
    if len(registry):
        from heliograph.spark.versions import task_number

        part = job.part(f"shard-{task_number()}")
        save_shard(job.path(part), registry, job.ground)
        yield lots.told(Told(part, task_number(), len(registry)))


# --- in the workers: who stands where ---------------------------------------------------------------------------


def admit_and_group(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Accepted subscriptions, each for its group. There are as many groups as shards."""
    registry, rejected = admitted(job, batches)
    yield from lots.refused(rejected)
    groups: dict[int, list[Subscription]] = {}
    for each in registry:
        groups.setdefault(group_of(_query(each), job.shards), []).append(each)
    for group, people in groups.items():
        yield from lots.lots(group, people)


def _query(subscription: Subscription) -> Any:
    """A query that is made for this only, and not kept, if it comes from a pattern table."""
    return subscription.query if subscription.origin is None else subscription.origin.query(subscription.row)


def arrange_group(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A group's roots for the front, and all others for their shards."""
    load = lots.unloaded(batches)
    yield from _passed(load)
    people = restored(job.ground.registry(), load.interests(LOT))
    arranged = arrange(people, share_of(job.scheme, job.shards), job.ground.classes())
    for shard, others in arranged.shards.items():
        yield from lots.lots(shard, others)
    yield from lots.root_lots(job.front, _people(arranged.roots))
    mergers = [(to_text(head), shards) for head, shards in arranged.roots if not isinstance(head, Subscription)]
    if mergers:
        texts, shards = zip(*mergers, strict=True)
        yield lots.merger_row(job.front, texts, shards)


def _people(roots: Iterable[Root]) -> dict[Subscription, int]:
    return {head: shards for head, shards in roots if isinstance(head, Subscription)}


def _passed(load: lots.Load) -> Iterator[pa.RecordBatch]:
    """What earlier tasks told, on its way to the driver."""
    yield from (lots.row(0, kind, load.tables[kind]) for kind in (REFUSED, TOLD) if kind in load.tables)


def make_front(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The front of all groups' roots. Rows for shards are passed on as they are."""
    from heliograph.spark.versions import task_number

    if task_number() != job.front:
        yield from batches
        return
    load = lots.unloaded(batches)
    roots, demoted = _roots(job, load)
    for shard, people in demoted.items():
        yield from lots.lots(shard, people)
    if roots:
        part = job.part("front")
        save_front(job.path(part), roots, job.scheme, job.ground)
        mergers = sum(not isinstance(root.head, Subscription) for root in roots)
        yield lots.told(Told(part, job.front, len(roots), mergers))


def _roots(job: Job, load: lots.Load) -> tuple[list[Root], dict[int, list[Subscription]]]:
    tables = load.interests(ROOT)
    owners = restored(job.ground.registry(), {**tables, "subscriptions": _without_shards(tables["subscriptions"])})
    if SHARDS in tables["subscriptions"].column_names:
        people = dict(zip(owners, lots.bits_of(tables["subscriptions"][SHARDS]), strict=True))
    else:
        people = {}
    if job.scheme.partition == "containment":
        arranged = arrange_roots(people, job.scheme, job.ground.classes())
        return arranged.roots, arranged.shards
    return [*(Root(*each) for each in people.items()), *_mergers(load)], {}


def _without_shards(table: pa.Table) -> pa.Table:
    return table.drop_columns([SHARDS]) if SHARDS in table.column_names else table


def _mergers(load: lots.Load) -> Iterator[Root]:
    if MERGERS in load.tables:
        table = load.tables[MERGERS]
        texts: list[Any] = table[QUERY].to_pylist()
        for text, shards in zip(texts, lots.bits_of(table[SHARDS]), strict=True):
            yield Root(from_text(text), shards)


def save_rest(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Those that stand in a shard, saved by its task."""
    load, registry = lots.unloaded(batches), job.ground.registry()
    yield from _passed(load)
    restored(registry, load.interests(LOT))
    yield from _saved(job, registry)
