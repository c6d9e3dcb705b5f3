"""`spark.readStream.format("heliograph.feed")`: feeds polled with conditional requests, each publication once."""

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
from heliograph.spark.inputs import document_rows, read_schema, refused_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# ----------------------------------------------------------------------------------------------------------------------
# Feeds that are asked again and again: conditional requests, back-off, and each publication once.
#
# The laws: what a poll found is on disk before anybody is told of it, so what was read once can be read again the
# same; a publication is passed on if it was not met before with the same triples. A feed that fails is asked after
# twice as long each time, up to a day, and is reported when it begins to fail.
# ----------------------------------------------------------------------------------------------------------------------

LONGEST = 86_400.0  # seconds that a failing feed is left alone at most
LARGEST = 64 << 20  # bytes of a feed
PATIENCE = 30.0  # seconds that an answer may take
_REMEMBERED = 10_000  # publications of a feed

pc: Any = pyarrow.compute


@dataclass(slots=True)
class Standing:
    """What is known of one feed: its validators, when it is due, how often it failed, and what was met in it."""

    etag: str | None = None
    modified: str | None = None
    due: float = 0.0
    failures: int = 0
    seen: list[str] = field(default_factory=list)


class Answer(NamedTuple):
    """What a feed said; without content it has not changed."""

    content: bytes | None
    etag: str | None = None
    modified: str | None = None


class Poller:
    """Asks feeds, and spools what is new into numbered files."""

    def __init__(
        self, folder: str | Path, addresses: Sequence[str], every: float = 60.0, now: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._addresses, self._every, self._now = Path(folder), list(addresses), every, now
        self._folder.mkdir(parents=True, exist_ok=True)
        self._standings = _load(self._folder / "standings.json")

    def poll(self) -> int:
        """Asks all feeds that are due; the number of the latest file, 0 if there never was one."""
        found = [batch for address in self._addresses for batch in self._asked(address) if batch.num_rows]
        number = self.latest()
        if found:
            number += 1
            _write(self.path(number), found)
        _save(self._folder / "standings.json", self._standings, number)
        return number

    def latest(self) -> int:
        spooled = [int(path.stem) for path in self._folder.glob("*.arrow")]
        return max([*spooled, _number(self._folder / "standings.json")])

    def path(self, number: int) -> Path:
        return self._folder / f"{number:010d}.arrow"

    def forget(self, number: int) -> None:
        """Lets go of the files up to a number."""
        for path in self._folder.glob("*.arrow"):
            if int(path.stem) <= number:
                path.unlink(missing_ok=True)

    def _asked(self, address: str) -> Iterator[pa.RecordBatch]:
        standing = self._standings.setdefault(address, Standing())
        if standing.due > self._now():
            return
        try:
            answer = fetch(address, standing)
        except (OSError, ValueError, DocumentError) as error:
            yield from self._failed(address, standing, error)
            return
        standing.failures, standing.due = 0, self._now() + self._every
        if answer.content is not None:
            standing.etag, standing.modified = answer.etag, answer.modified
            yield from _fresh(address, answer.content, standing)

    def _failed(self, address: str, standing: Standing, error: Exception) -> Iterator[pa.RecordBatch]:
        wait = min(self._every * 2**standing.failures, LONGEST)
        standing.due = self._now() + max(wait, _retry_after(error))
        standing.failures += 1
        if standing.failures == 1:
            reason = getattr(error, "message", None) or getattr(error, "reason", None) or error
            fix = "check the address; it is asked again, less and less often"
            problem = DocumentError("HG-301", f"cannot be read: {reason}", place=Place(address), fix=fix)
            yield from refused_rows("publications", [Rejected.of(problem, address)])


# --- asking -----------------------------------------------------------------------------------------------------


def fetch(address: str, standing: Standing) -> Answer:
    """The feed, unless it says that it has not changed."""
    scheme = urlsplit(address).scheme
    if scheme in ("http", "https"):
        return _fetch_web(address, standing)
    if scheme not in ("", "file"):
        raise ValueError(f"an address that begins with {scheme}:")
    path = Path(urlsplit(address).path if scheme else address)
    modified = str(path.stat().st_mtime_ns)
    return Answer(None) if modified == standing.modified else Answer(path.read_bytes(), None, modified)


def _fetch_web(address: str, standing: Standing) -> Answer:
    validators = {"If-None-Match": standing.etag, "If-Modified-Since": standing.modified}
    headers = {name: value for name, value in validators.items() if value}
    request = urllib.request.Request(address, headers={"User-Agent": "heliograph", **headers})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            content = response.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise ValueError(f"more than {LARGEST >> 20} MiB")
            return Answer(content, response.headers.get("ETag"), response.headers.get("Last-Modified"))
    except urllib.error.HTTPError as error:
        if error.code == 304:
            return Answer(None)
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
    return min(max(seconds, 0.0), LONGEST)


# --- what is new ------------------------------------------------------------------------------------------------


def _fresh(address: str, content: bytes, standing: Standing) -> Iterator[pa.RecordBatch]:
    """The publications of a feed that were not met before."""
    suffix = os.path.splitext(urlsplit(address).path)[1].lower()
    name = f"feed{suffix if suffix in DOCUMENT_SUFFIXES + FEED_SUFFIXES else '.xml'}"
    table = pa.Table.from_batches(list(document_rows(Source(Path(name), address, content))))
    known, prints = set(standing.seen), _prints(table)
    wanted = [id for id, print in prints.items() if print not in known]
    standing.seen = [*standing.seen, *(prints[id] for id in wanted)][-_REMEMBERED:]
    new = pc.is_in(table["publication_id"], value_set=pa.array(wanted, pa.string()))
    yield from table.filter(pc.or_(new, pc.is_valid(table["rejected"]))).to_batches()


def _prints(table: pa.Table) -> dict[str, str]:
    """A digest of each publication, whatever the order of its triples."""
    rows: dict[str, list[str]] = {}
    columns = [table[name].to_pylist() for name in ("publication_id", "subject", "property", "object")]
    for id, *terms in zip(*columns, strict=True):
        if id is not None:
            rows.setdefault(str(id), []).append("\0".join(map(str, terms)))
    return {id: hashlib.sha1("\1".join([id, *sorted(lines)]).encode()).hexdigest() for id, lines in rows.items()}


# --- files ------------------------------------------------------------------------------------------------------


def _write(path: Path, batches: list[pa.RecordBatch]) -> None:
    draft = path.with_suffix(".draft")
    with pa.ipc.new_file(str(draft), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    os.replace(draft, path)


def _save(path: Path, standings: dict[str, Standing], number: int) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"number": number, "feeds": {name: asdict(each) for name, each in standings.items()}}))
    os.replace(draft, path)


def _load(path: Path) -> dict[str, Standing]:
    if not path.exists():
        return {}
    return {name: Standing(**each) for name, each in json.loads(path.read_text())["feeds"].items()}


def _number(path: Path) -> int:
    return int(json.loads(path.read_text())["number"]) if path.exists() else 0


# ----------------------------------------------------------------------------------------------------------------------
# `spark.readStream.format("heliograph.feed")`: feeds as a stream of publications, ready for `filter`.
#
# Options: `addresses`, one to a line or separated by blanks (http, https, or files); `spool`, a folder that driver
# and workers share, where what was fetched waits until it is processed; `every`, the seconds between two requests to
# a feed.
# ----------------------------------------------------------------------------------------------------------------------

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
