"""`heliograph.spark.filter`: publications against subscriptions, on every worker.

The path of a publication, where subscriptions are divided among shards: its rows meet in one task → the front says
which shards it concerns → a shuffle takes it there, and nowhere else → the shard matches. Undivided, the task where its
rows meet matches it against all of them. The laws: the set of notifications and refusals is the embedded engine's,
however the rows are cut into tasks; all rows with one publication_id in a batch or micro-batch are one publication.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.filter import Filter
from heliograph.filter.reporting import check_limit
from heliograph.spark.assemblies import FrontOf, open_front, open_shard
from heliograph.spark.frames import check_frame, measured, plain
from heliograph.spark.metrics import finished
from heliograph.spark.parcels import PARCELS, Parcel, done, packed, unpacked
from heliograph.spark.plans import Division, Plans
from heliograph.spark.publications import intake, placed, publication_rows
from heliograph.spark.versions import Pointer, task_number
from heliograph.spark.workers import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pc: Any = pyarrow.compute

_TOGETHER = 4096  # publications matched in one call


class FilterOptions(Division, total=False):
    """What `filter` takes beside publications and subscriptions."""

    patterns: Any
    constraints: Any
    bindings: int
    folder: str | None


def filter(publications: DataFrame, subscriptions: Any = None, **options: Unpack[FilterOptions]) -> DataFrame:
    """The notifications of publications: a DataFrame of triples, or of documents (path, content).

    `subscriptions` are a DataFrame, a table, items, a folder of versions or `Plans`; or `patterns` with `constraints`.
    `shards`, `partition` and `merging` divide them as in `Filter`; `folder` is where workers find them.
    """
    check_frame(publications, "publications")
    tables = {name: options.pop(name, None) for name in ("patterns", "constraints")}  # type: ignore[misc]
    folder, bindings = options.pop("folder", None), check_limit(options.pop("bindings", 0))
    plans = Plans.of(subscriptions, tables, folder, options)
    task = Task(plans.pointer(publications.isStreaming), bindings, plans.shards or 0)
    rows = publication_rows(publications)
    if not task.shards:
        return finished(rows, partial(match_all, task), plans.rejected)
    routed = rows.mapInArrow(partial(look_up, task), PARCELS).repartitionById(task.shards, "shard")
    return finished(routed, partial(match_shards, task), plans.rejected)


class Task(NamedTuple):
    """What a task must know."""

    pointer: Pointer
    bindings: int
    shards: int


# --- in the workers ---------------------------------------------------------------------------------------------


def match_all(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Publications against all subscriptions."""
    taken = intake(batches)
    yield from taken.refusals()
    if taken.table.num_rows:
        path = task.pointer.path()
        engine = opened(("filter", path), partial(Filter.load, path))
        for part in taken.parts(_TOGETHER):
            yield from measured(engine.publish(placed(part), bindings=task.bindings))


def look_up(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Publications at the front: what it notifies itself, and a parcel for each shard that has to do with them."""
    taken = intake(batches)
    yield from done(taken.refusals(), task_number() % task.shards)
    if taken.table.num_rows:
        front = open_front(task.pointer.path())
        for part in taken.parts(_TOGETHER):
            yield from _looked_up(front, part, task)


def _looked_up(front: FrontOf, part: pa.Table, task: Task) -> Iterator[pa.RecordBatch]:
    found, here = front.front(placed(part), task.bindings), task_number() % task.shards
    yield from done(measured(found.notifications), here)
    for more in front.changed(placed(part), task.bindings):
        yield from done(measured(more, again=True), here)
    numbers = pc.index_in(part["publication_id"], value_set=pa.array(found.ids, pa.string()))
    rows = numbers.combine_chunks().fill_null(-1).to_numpy()  # of a publication that is refused nothing goes on
    version = task.pointer.resolved()
    for shard, wanted in enumerate(found.wanted):
        if len(wanted):
            goes = np.zeros(len(found.ids) + 1, np.bool_)
            goes[wanted] = True
            yield packed(Parcel(shard, version, plain(part.filter(pa.array(goes[rows])))))


def match_shards(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Parcels in their shards; what was done already is passed on."""
    for parcel in unpacked(batches):
        if isinstance(parcel, pa.RecordBatch):
            yield parcel
            continue
        path = task.pointer.versions.path(parcel.version)
        yield from measured(open_shard(path, parcel.shard).match(parcel.table, task.bindings), again=True)
