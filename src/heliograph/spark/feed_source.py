"""`spark.readStream.format("heliograph.feed")`: feeds as a stream of publications, ready for `filter`.

Options: `addresses`, one to a line or separated by blanks (http, https, or files); `spool`, a folder that driver and
workers share, where what was fetched waits until it is processed; `every`, the seconds between two requests to a feed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from heliograph.errors import UsageError
from heliograph.spark.polling import Poller
from heliograph.spark.reading import read_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "heliograph.feed"


def register_feeds(spark: SparkSession) -> None:
    """Makes the format known to a session."""
    spark.dataSource.register(FeedSource)


class FeedSource(DataSource):
    """Feeds by their addresses."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return read_schema("publications")

    def streamReader(self, schema: Any) -> FeedReader:  # noqa: N802
        return FeedReader(dict(self.options))


class FeedReader(DataSourceStreamReader):
    """Polls on the driver; an offset is the number of a spooled file, which workers read."""

    def __init__(self, options: dict[str, str]) -> None:
        addresses, spool = options.get("addresses", "").split(), options.get("spool")
        if not addresses or not spool:
            fix = 'give .option("addresses", "https://…").option("spool", "a folder")'
            raise UsageError("HG-084", "feeds without addresses or without a spool", fix=fix)
        self._given = (spool, addresses, float(options.get("every", "60")))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"file": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """What there is after one more poll. The files of an older run that were not processed are in it."""
        time.sleep(0.05)  # Spark asks again at once where nothing is due
        return {"file": max(start["file"], self._poller().poll())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        poller = self._poller()
        numbers = range(start["file"] + 1, end["file"] + 1)
        return [InputPartition(str(poller.path(number))) for number in numbers]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(partition.value) as file:
            yield from pa.ipc.open_file(file).read_all().to_batches()

    def commit(self, end: dict[str, int]) -> None:
        self._poller().forget(end["file"])

    def _poller(self) -> Poller:
        spool, addresses, every = self._given
        return Poller(spool, addresses, every)
