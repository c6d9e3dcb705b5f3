"""`spark.readStream.format("heliograph.feed")`: feeds as a stream of publications, ready for `filter`.

Feeds are asked again and again with conditional requests. Options: `addresses`, one to a line or separated by blanks
(http, https, or files); `spool`, a folder that driver and workers share, where what was fetched waits until it is
processed; `every`, the seconds between two requests to a feed.

The laws: what a poll found is on disk before it is reported, so what was read once can be read again the same. A
publication is passed on if it was not met before with the same triples. A feed that fails is asked after twice as long
each time, up to a day, and is reported when it begins to fail.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from heliograph.errors import DocumentError, Place, UsageError
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, Source
from heliograph.model import Rejected
from heliograph.spark.frames import document_rows, read_schema, refused_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pc: Any = pyarrow.compute

_LONGEST = 86_400.0  # seconds that a failing feed is left alone at most
_LARGEST = 64 << 20  # bytes of a feed
_PATIENCE = 30.0  # seconds that an answer may take
_REMEMBERED = 10_000  # publications of a feed


@dataclass(slots=True)
class FeedStatus:
    """What is known of one feed: its validators, when it is due, how often it failed, and what was met in it."""

    etag: str | None = None
    modified: str | None = None
    due: float = 0.0
    failures: int = 0
    seen: list[str] = field(default_factory=list)


class FeedAnswer(NamedTuple):
    """What a feed said; without content it has not changed."""

    content: bytes | None
    etag: str | None = None
    modified: str | None = None


# --- polling ------------------------------------------------------------------------------------------------------


class Poller:
    """Asks feeds, and spools what is new into numbered files."""

    def __init__(
        self, folder: str | Path, addresses: Sequence[str], every: float = 60.0, now: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._addresses, self._every, self._now = Path(folder), list(addresses), every, now
        self._folder.mkdir(parents=True, exist_ok=True)
        self._notes = self._folder / "standings.json"
        known = json.loads(self._notes.read_text() if self._notes.exists() else '{"number": 0, "feeds": {}}')
        self._number = int(known["number"])
        self._feeds = {name: FeedStatus(**each) for name, each in known["feeds"].items()}

    def poll(self) -> int:
        """Asks all feeds that are due; the number of the latest file, 0 if there never was one."""
        found = [batch for address in self._addresses for batch in self._asked(address) if batch.num_rows]
        number = max([self._number, *(int(path.stem) for path in self._folder.glob("*.arrow"))])
        if found:
            number += 1
            draft = self.path(number).with_suffix(".draft")
            table = pa.Table.from_batches(found)
            numbers = pc.if_else(pc.less(table["row"], 0), -number, table["row"])  # what an item became is not merged
            table = table.set_column(table.column_names.index("row"), "row", numbers)
            with pa.ipc.new_file(str(draft), table.schema) as writer:
                writer.write_table(table)
            os.replace(draft, self.path(number))
        draft = self._notes.with_suffix(".draft")
        feeds = {name: asdict(each) for name, each in self._feeds.items()}
        draft.write_text(json.dumps({"number": number, "feeds": feeds}))
        os.replace(draft, self._notes)
        self._number = number
        return number

    def path(self, number: int) -> Path:
        return self._folder / f"{number:010d}.arrow"

    def forget(self, number: int) -> None:
        """Lets go of the files up to a number."""
        for path in self._folder.glob("*.arrow"):
            if int(path.stem) <= number:
                path.unlink(missing_ok=True)

    def _asked(self, address: str) -> Iterator[pa.RecordBatch]:
        status = self._feeds.setdefault(address, FeedStatus())
        if status.due > self._now():
            return
        try:
            answer = _fetch(address, status)
        except (OSError, ValueError, DocumentError) as error:
            wait = min(self._every * 2**status.failures, _LONGEST)
            status.due = self._now() + max(wait, _retry_after(error))
            status.failures += 1
            if status.failures == 1:
                reason = getattr(error, "message", None) or getattr(error, "reason", None) or error
                fix = "check the address; it is asked again, less and less often"
                problem = DocumentError("HG-301", f"cannot be read: {reason}", place=Place(address), fix=fix)
                yield from refused_rows("publications", [Rejected.of(problem, address)])
            return
        status.failures, status.due = 0, self._now() + self._every
        if answer.content is not None:
            status.etag, status.modified = answer.etag, answer.modified
            yield from _new_publications(address, answer.content, status)


def _fetch(address: str, status: FeedStatus) -> FeedAnswer:
    """The feed, unless it says that it has not changed."""
    scheme = urlsplit(address).scheme
    if scheme in ("", "file"):
        path = Path(urlsplit(address).path if scheme else address)
        modified = str(path.stat().st_mtime_ns)
        return FeedAnswer(None) if modified == status.modified else FeedAnswer(path.read_bytes(), None, modified)
    if scheme not in ("http", "https"):
        raise ValueError(f"an address that begins with {scheme}:")
    validators = {"If-None-Match": status.etag, "If-Modified-Since": status.modified}
    headers = {name: value for name, value in validators.items() if value}
    request = urllib.request.Request(address, headers={"User-Agent": "heliograph", **headers})
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as response:
            content = response.read(_LARGEST + 1)
            if len(content) > _LARGEST:
                raise ValueError(f"more than {_LARGEST >> 20} MiB")
            return FeedAnswer(content, response.headers.get("ETag"), response.headers.get("Last-Modified"))
    except urllib.error.HTTPError as error:
        if error.code == 304:
            return FeedAnswer(None)
        raise


def _retry_after(error: Exception) -> float:
    """The seconds that a server asks to be left alone for."""
    text = error.headers.get("Retry-After") if isinstance(error, urllib.error.HTTPError) else None
    if not text:
        return 0.0
    try:
        seconds = float(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError):
        return 0.0
    return min(max(seconds, 0.0), _LONGEST)


def _new_publications(address: str, content: bytes, status: FeedStatus) -> Iterator[pa.RecordBatch]:
    """The publications of a feed that were not met before."""
    suffix = os.path.splitext(urlsplit(address).path)[1].lower()
    name = f"feed{suffix if suffix in DOCUMENT_SUFFIXES + FEED_SUFFIXES else '.xml'}"
    table = pa.Table.from_batches(list(document_rows(Source(Path(name), address, content))))
    known, digests = set(status.seen), _digests(table)
    wanted = [id for id, digest in digests.items() if digest not in known]
    status.seen = [*status.seen, *(digests[id] for id in wanted)][-_REMEMBERED:]
    new = pc.is_in(table["publication_id"], value_set=pa.array(wanted, pa.string()))
    yield from table.filter(pc.or_(new, pc.is_valid(table["rejected"]))).to_batches()


def _digests(table: pa.Table) -> dict[str, str]:
    """A digest of each publication, whatever the order of its triples."""
    rows: dict[str, list[str]] = {}
    columns = [table[name].to_pylist() for name in ("publication_id", "subject", "property", "object")]
    for id, *terms in zip(*columns, strict=True):
        if id is not None:
            rows.setdefault(str(id), []).append("\0".join(map(str, terms)))
    return {id: hashlib.sha1("\1".join([id, *sorted(lines)]).encode()).hexdigest() for id, lines in rows.items()}


# --- the format ---------------------------------------------------------------------------------------------------


def register_feeds(spark: SparkSession) -> None:
    """Makes the format known to a session."""
    spark.dataSource.register(FeedSource)


class FeedSource(DataSource):
    """Feeds by their addresses."""

    @classmethod
    def name(cls) -> str:
        return "heliograph.feed"

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
        return {"file": max(start["file"], Poller(*self._given).poll())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        poller = Poller(*self._given)
        numbers = range(start["file"] + 1, end["file"] + 1)
        return [InputPartition(str(poller.path(number))) for number in numbers]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(partition.value) as file:
            yield from pa.ipc.open_file(file).read_all().to_batches()

    def commit(self, end: dict[str, int]) -> None:
        Poller(*self._given).forget(end["file"])
