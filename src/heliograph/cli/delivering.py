"""What Spark found on its way to the outputs of a command: a file or a pipe that the driver writes, or a folder.

A folder is written by the workers, a part for each batch; anything else is brought to the driver batch by batch. Where
driver and workers are on one machine a batch comes in files that the workers write, not as rows of the JVM.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from heliograph.cli.options import Cluster, Output
from heliograph.cli.progress import Bar
from heliograph.cli.run import Run
from heliograph.cli.stopping import STOPPING
from heliograph.errors import UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, Rejected, Stats
from heliograph.spark.metrics import batch_counts, progress_table
from heliograph.spark.writing import REFUSED, write
from heliograph.tables.sources import PIPE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PATIENCE = 0.5  # seconds between two looks at a stream


def is_folder(output: Output) -> bool:
    """Whether the workers write the notifications themselves."""
    return output.out != PIPE and not Path(output.out).suffix


def check_going_on(output: Output, cluster: Cluster) -> None:
    """A file is written anew by each start, so a stream that goes on from a checkpoint would lose what it had."""
    begun = cluster.checkpoint is not None and Path(cluster.checkpoint, "offsets").exists()
    if begun and output.out != PIPE and not is_folder(output):
        fix = "give --out a folder, or -, or another --checkpoint"
        raise UsageError("HG-037", f"--out {output.out} is a file, and the stream goes on from a checkpoint", fix=fix)


def without_files(output: Output) -> Output:
    """The output of a command whose notifications go to a folder: what is left for the driver to write there is which
    interests were refused, as the batch before the first."""
    if output.rejected is not None and Path(output.rejected).suffix:
        fix = "give --rejected a folder as well"
        raise UsageError("HG-037", f"--out {output.out} is a folder, --rejected {output.rejected} a file", fix=fix)
    if output.rejected is None:
        return replace(output, out=PIPE)
    refused = Path(output.rejected, "batch=-1")
    refused.mkdir(parents=True, exist_ok=True)
    return replace(output, out=PIPE, rejected=str(refused / "interests.parquet"))


def deliver(found: DataFrame, run: Run, output: Output, cluster: Cluster) -> None:
    """Writes what a verb gave; of a stream, until it ends or is interrupted."""
    if found.isStreaming:
        _follow(found, run, output, cluster)
        return
    if is_folder(output):
        write(found, **_folders(output))
    elif str(found.sparkSession.sparkContext.master).startswith("local"):
        _take_files(found, run)
    else:
        take(found, run)
    counts = batch_counts(found)
    run.refused_elsewhere(counts["rejected"] if is_folder(output) else 0)
    _add(counts, run)


def _folders(output: Output) -> dict[str, Any]:
    """Where the workers write, by absolute paths: they stand elsewhere. Refusals lie beside unless told otherwise."""
    refused = output.rejected or os.path.join(output.out, REFUSED)
    return {"notifications": os.path.abspath(output.out), "rejected": os.path.abspath(refused)}


def _take_files(found: DataFrame, run: Run) -> None:
    """A batch to the outputs of the driver, through files of this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        notified, refused = Path(scratch, "notified"), Path(scratch, "refused")
        write(found, notifications=f"file:{notified}", rejected=f"file:{refused}")
        for path in sorted(refused.glob("*/*.parquet")):
            entries: list[Any] = parquet.read_table(path, schema=REJECTED_SCHEMA, partitioning=None).to_pylist()
            run.reject(Rejected(**entry) for entry in entries)
        for path in sorted(notified.glob("*/*.parquet")):
            run.write(parquet.read_table(path, schema=NOTIFICATIONS_SCHEMA, partitioning=None))


def take(frame: DataFrame, run: Run) -> None:
    """One batch to the outputs of the driver."""
    table = frame.toArrow()
    refused: list[Any] = table["rejected"].drop_null().to_pylist()
    notified = table.filter(table["rejected"].is_null()).select(NOTIFICATIONS_SCHEMA.names)
    run.reject(Rejected(**entry) for entry in refused)
    run.write(notified.cast(NOTIFICATIONS_SCHEMA))


def _follow(found: DataFrame, run: Run, output: Output, cluster: Cluster) -> None:
    trigger: dict[str, Any] = {"availableNow": True} if cluster.once else {}
    with tempfile.TemporaryDirectory() as scratch:
        place = (cluster.checkpoint and os.path.abspath(cluster.checkpoint)) or (None if is_folder(output) else scratch)
        if is_folder(output):
            query: Any = write(found, **_folders(output), checkpoint=place, **trigger)
        else:
            writer = found.writeStream.foreachBatch(lambda frame, batch: take(frame, run))
            writer = writer.option("checkpointLocation", str(place))
            query = (writer.trigger(**trigger) if trigger else writer).start()
        _wait(query, run)
    run.refused_elsewhere(sum(row["rejected"] for row in run.details["batches"]) if is_folder(output) else 0)


def _wait(query: Any, run: Run) -> None:
    """Until the stream ends or is interrupted; its measurements are the command's."""
    told, begun = -1, None
    try:
        with STOPPING.gently(), Bar("micro-batches") as bar:
            while not query.awaitTermination(_PATIENCE):
                last = query.lastProgress
                if last is not None and last.batchId > told:
                    bar.advance(last.batchId - told)
                    told = last.batchId
                if STOPPING.asked:
                    begun = told if begun is None else begun
                    if told > begun or not query.status["isTriggerActive"]:  # the micro-batch under way is done
                        run.interrupted()
                        break
    finally:
        query.stop()
    _count(progress_table(query), run)


def _count(table: pa.Table, run: Run) -> None:
    rows: list[dict[str, Any]] = table.drop_columns(["batch"]).to_pylist()
    for row in rows:
        _add(row, run)
    run.details["batches"] = table.to_pylist()


def _add(counts: Mapping[str, Any], run: Run) -> None:
    run.stats += Stats(subscriptions=run.stats.subscriptions, complete=not counts["truncated"], **counts)
