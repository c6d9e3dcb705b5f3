"""Engines of the protocol whose publishes are micro-batches: a file comes to a folder, and a stream that runs takes it.

Interests change between two micro-batches, as versions. What a stream knows beside them is in its checkpoint, from
which `test_streams` restarts one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, Notifications, Rejected
from heliograph.spark.frames import COUNTS
from tests.spark.engines import Rows, SparkEngine, outcome
from tests.spark.test_streams import put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 60  # seconds, for the measurements of a micro-batch whose rows are there


class StreamEngine(SparkEngine):
    """Each publish is a micro-batch of one stream, which begins with the first."""

    def __init__(self, spark: SparkSession, verb: Any, folder: Path) -> None:
        super().__init__(spark, verb)
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files = 0
        self._told = -1  # the last micro-batch that was read
        self._query: Any = None

    def _run(self, rows: Rows) -> Notifications:
        put(self.folder / "in", f"{self._files}.parquet", self.verb.to_arrow(rows))
        self._files += 1
        self._query = self._query or self._started()
        self._query.processAllAvailable()
        return self._read()

    def _started(self) -> Any:
        from heliograph.spark import write

        arrow = self.spark.createDataFrame(self.verb.to_arrow([])).schema
        frame = self.verb.run(self.spark.readStream.schema(arrow).parquet(str(self.folder / "in")))
        return write(frame, notifications=self._out("n"), rejected=self._out("r"), processingTime="0 seconds")

    def _out(self, name: str) -> str:
        return str(self.folder / name)

    def _read(self) -> Notifications:
        """What the micro-batches gave that nobody has read yet."""
        counts = self._counts()
        batches = [batch for batch in counts if batch > self._told]
        self._told = max(batches)
        notified, refused = (
            pa.concat_tables([schema.empty_table(), *(_tables(Path(self._out(name)), batches, schema))])
            for name, schema in (("n", NOTIFICATIONS_SCHEMA), ("r", REJECTED_SCHEMA))
        )
        sums = {name: sum(counts[batch][name] for batch in batches) for name in COUNTS}
        return outcome(notified, [Rejected(**entry) for entry in refused.to_pylist()], sums)

    def _counts(self) -> dict[int, dict[str, Any]]:
        """The measurements by micro-batch, up to the last that was committed: Spark tells them a moment later."""
        from heliograph.spark.frames import progress_table

        last = max(int(path.name.removeprefix("batch=")) for path in Path(self._out("n")).glob("batch=*"))
        for _ in range(PATIENCE * 100):
            counts = {row["batch"]: row for row in progress_table(self._query).to_pylist()}
            if last in counts:
                return counts
            time.sleep(0.01)
        raise AssertionError(f"no measurements of micro-batch {last}")

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._query = None


def _tables(folder: Path, batches: list[int], schema: pa.Schema) -> Iterator[pa.Table]:
    for batch in batches:
        for file in sorted(folder.glob(f"batch={batch}/*.parquet")):
            yield parquet.read_table(file, partitioning=None).cast(schema)
