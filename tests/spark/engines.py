"""The three verbs on Spark as engines of the protocol, so that its contract runs over them, and their scenes.

`BatchEngine` runs a batch for each publish, without a session by hand; `StreamEngine` a micro-batch of one stream: a
file comes to a folder, and the stream takes it. Spark promises the set of notifications, so they are put into an order
here: by publication, then what was lost before what was gained, then by id.

What the protocol says and Spark says otherwise:
- A single subscription that is refused is reported like one of many; here it is raised.
- Interests are saved as they are: a folder of versions. One of a filter or a route is explained by the embedded engine.
- The graph of a watch is no part of them: a batch has none, and that of a stream is in its checkpoint. So a watch that
  is loaded begins with the first update, as a new stream with the same interests does.
"""

from __future__ import annotations

import json
import shutil
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyarrow import parquet

from heliograph import Filter, Route
from heliograph.errors import SubscriptionError
from heliograph.io.schemas import table_schema
from heliograph.io.tables import is_single
from heliograph.model import (
    NOTIFICATIONS_SCHEMA,
    REJECTED_SCHEMA,
    Engine,
    Explanation,
    Notifications,
    Receipt,
    Rejected,
    Stats,
)
from heliograph.spark.frames import COUNTS, batch_counts, progress_table
from heliograph.spark.versions import Versions
from heliograph.storage import is_save
from tests.contract.branches import PUBLISHER, branches
from tests.contract.engine import Scene
from tests.contract.test_filter_contract import FilterScene
from tests.contract.test_route_contract import RouteScene
from tests.contract.test_watch_contract import WatchScene
from tests.spark import by_hand
from tests.spark.compare import COLUMNS
from tests.spark.test_streams import put

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[Any, ...]]
PATIENCE = 60  # seconds, for the measurements of a micro-batch whose rows are there


def several(items: Any) -> list[Any]:
    return [items] if isinstance(items, (str, dict)) or is_single(items) else list(items)


# --- the verbs ----------------------------------------------------------------------------------------------------


class Verb(ABC):
    """Interests as Spark keeps them, and the call of the verb."""

    table: str
    interests: Any

    @abstractmethod
    def run(self, frame: DataFrame) -> DataFrame: ...

    @abstractmethod
    def by_hand(self, batches: by_hand.Batches) -> Iterator[pa.RecordBatch]:
        """What `run` does, without Spark."""

    @abstractmethod
    def rows(self, items: list[Any]) -> Rows:
        """Publications as rows of a table."""

    def subscribe(self, items: list[Any]) -> Receipt:
        receipt: Receipt = self.interests.subscribe(items)
        return receipt

    def unsubscribe(self, ids: list[str]) -> Receipt:
        receipt: Receipt = self.interests.unsubscribe(ids)
        return receipt

    @property
    def size(self) -> int:
        return int(self.interests.size)

    def explain(self, subscription: str, publication: Any) -> Explanation:
        raise NotImplementedError

    def latest(self) -> Path:
        versions: Versions = self.interests.versions
        return versions.path(versions.latest())

    def to_arrow(self, rows: Rows) -> pa.Table:
        names, arrow = COLUMNS[self.table], table_schema(self.table).arrow
        schema = pa.schema([arrow.field(name) for name in names])
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=schema)


class FilterVerb(Verb):
    table = "publications"

    def __init__(self, folder: Path, **sharding: Any) -> None:
        from heliograph.spark import Plans

        self.interests = Plans(folder, **sharding)
        if not self.interests.versions.numbers():
            self.interests.subscribe([])

    def run(self, frame: DataFrame) -> DataFrame:
        from heliograph.spark import filter

        return filter(frame, self.interests)

    def by_hand(self, batches: by_hand.Batches) -> Iterator[pa.RecordBatch]:
        return by_hand.filtered([batches], self.interests, 2)

    def rows(self, items: list[Any]) -> Rows:
        return [(id, *triple) for id, triples in items for triple in triples]

    def explain(self, subscription: str, publication: Any) -> Explanation:
        return Filter.load(self.latest()).explain(subscription, publication)


class RouteVerb(Verb):
    """Subscribers are nodes below one publisher, which is no subscriber itself."""

    table = "events"

    def __init__(self, folder: Path) -> None:
        from heliograph.spark import Exchanges

        known = bool(Versions.at(folder).numbers())
        self.interests = Exchanges(folder) if known else Exchanges(folder, [(PUBLISHER, None)])

    def subscribe(self, items: list[Any]) -> Receipt:
        receipt = self.interests.change(nodes=items, edges=branches(items))
        return Receipt(receipt.accepted - len(items), receipt.rejected)  # an edge of each was accepted too

    def unsubscribe(self, ids: list[str]) -> Receipt:
        receipt: Receipt = self.interests.change(without_nodes=ids)
        return receipt

    def run(self, frame: DataFrame) -> DataFrame:
        from heliograph.spark import route

        return route(frame, self.interests)

    def by_hand(self, batches: by_hand.Batches) -> Iterator[pa.RecordBatch]:
        return by_hand.routed([batches], self.interests, 2)

    def rows(self, items: list[Any]) -> Rows:
        return [(item["event_id"], item["publisher"], json.dumps(item["attributes"])) for item in items]

    @property
    def size(self) -> int:
        return super().size - 1

    def explain(self, subscription: str, publication: Any) -> Explanation:
        return Route.load(self.latest()).explain(subscription, publication)


class WatchVerb(Verb):
    table = "updates"

    def __init__(self, folder: Path, **options: Any) -> None:
        from heliograph.spark import Watchers

        self.interests = Watchers(folder, **options)
        self.seen = 0  # rows of the whole stream, which are numbered here as the embedded engine numbers them

    def run(self, frame: DataFrame) -> DataFrame:
        from heliograph.spark import watch

        self._write_first()
        return watch(frame, self.interests)

    def by_hand(self, batches: by_hand.Batches) -> Iterator[pa.RecordBatch]:
        self._write_first()
        return by_hand.watched([batches], self.interests)

    def _write_first(self) -> None:
        if not self.size:
            self.interests.subscribe([])  # else there may be no version

    def rows(self, items: list[Any]) -> Rows:
        rows = [(seq, *item) for seq, item in enumerate(items, self.seen + 1)]
        self.seen += len(rows)
        return rows


# --- the engines --------------------------------------------------------------------------------------------------


class SparkEngine(ABC):
    """A verb on Spark as an engine."""

    def __init__(self, spark: SparkSession | None, verb: Verb) -> None:
        self.spark, self.verb = spark, verb
        self._total = Stats()

    def subscribe(self, items: Any) -> Receipt:
        return _receipt(self.verb.subscribe(several(items)), is_single(items))

    def unsubscribe(self, ids: Any) -> Receipt:
        return _receipt(self.verb.unsubscribe(several(ids)), isinstance(ids, str))

    def publish(self, items: Any) -> Notifications:
        found = self._run(self.verb.rows(several(items)))
        self._total += found.stats
        return found

    @abstractmethod
    def _run(self, rows: Rows) -> Notifications: ...

    def explain(self, subscription: str, publication: Any) -> Explanation:
        return self.verb.explain(subscription, publication)

    def stats(self) -> Stats:
        return self._total + Stats(subscriptions=self.verb.size)

    def save(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.verb.latest().parent, path, ignore=shutil.ignore_patterns("pins"))


def _receipt(receipt: Receipt, single: bool) -> Receipt:
    if single and receipt.rejected:
        raise SubscriptionError(receipt.rejected[0].code, receipt.rejected[0].message)
    return receipt


class BatchEngine(SparkEngine):
    """Each publish is a batch."""

    def _run(self, rows: Rows) -> Notifications:
        if self.spark is None:
            batches = self.verb.by_hand(self.verb.to_arrow(rows).to_batches())
            notified, refusals, counts = by_hand.taken_apart(batches)
            return outcome(notified, [Rejected(**entry) for entry in refusals], counts)
        found = self.verb.run(self.spark.createDataFrame(self.verb.to_arrow(rows)))
        table = found.toArrow()
        entries: list[Any] = table["rejected"].drop_null().to_pylist()
        refused = [Rejected(**entry) for entry in entries]
        notified = table.filter(table["subscription_id"].is_valid()).drop_columns(["rejected"])
        assert len(notified) + len(refused) == len(table)
        return outcome(notified, without(refused, self.verb.interests.rejected), batch_counts(found))


class AgainEngine(BatchEngine):
    """Each publish is a batch of all updates so far, and reports what came of the newest.

    The law: what an update changes for a query depends on the updates before it and on no subscription, so it is the
    same whether the query was there from the first or came when the others were over. A top-k set is none of this: its
    members depend on each other, and no scene has one.
    """

    def __init__(self, spark: SparkSession | None, verb: Verb) -> None:
        super().__init__(spark, verb)
        self._rows: Rows = []

    def _run(self, rows: Rows) -> Notifications:
        self._rows += rows
        found, seqs = super()._run(self._rows), {str(row[0]) for row in rows}
        here = pa.array([seq in seqs for seq in found.table["publication_id"].to_pylist()], pa.bool_())
        refused = [entry for entry in found.rejected if entry.item in seqs]
        counts = {**found.stats, "notifications": here.true_count, "rejected": len(refused)}
        return outcome(found.table.filter(here), refused, {**counts, "publications": len(rows) - len(refused)})


class StreamEngine(SparkEngine):
    """Each publish is a micro-batch of one stream, which begins with the first. Interests change between two of them.
    What a stream knows beside them is in its checkpoint, from which `test_streams` restarts one."""

    spark: SparkSession

    def __init__(self, spark: SparkSession, verb: Verb, folder: Path) -> None:
        super().__init__(spark, verb)
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files = 0
        self._read = -1  # the last micro-batch that was read
        self._query: Any = None

    def _run(self, rows: Rows) -> Notifications:
        put(self.folder / "in", f"{self._files}.parquet", self.verb.to_arrow(rows))
        self._files += 1
        self._query = self._query or self._started()
        self._query.processAllAvailable()
        counts = self._counts()
        batches = [batch for batch in counts if batch > self._read]
        self._read = max(batches)
        notified, refused = (
            pa.concat_tables([schema.empty_table(), *_tables(self.folder / name, batches, schema)])
            for name, schema in (("n", NOTIFICATIONS_SCHEMA), ("r", REJECTED_SCHEMA))
        )
        sums = {name: sum(counts[batch][name] for batch in batches) for name in COUNTS}
        return outcome(notified, [Rejected(**entry) for entry in refused.to_pylist()], sums)

    def _started(self) -> Any:
        from heliograph.spark import write

        arrow = self.spark.createDataFrame(self.verb.to_arrow([])).schema
        frame = self.verb.run(self.spark.readStream.schema(arrow).parquet(str(self.folder / "in")))
        places = {"notifications": str(self.folder / "n"), "rejected": str(self.folder / "r")}
        return write(frame, **places, processingTime="0 seconds")

    def _counts(self) -> dict[int, dict[str, Any]]:
        """The measurements by micro-batch, up to the last that was committed: Spark reports them a moment later."""
        last = max(int(path.name.removeprefix("batch=")) for path in (self.folder / "n").glob("batch=*"))
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


def outcome(notified: pa.Table, refused: list[Rejected], counts: Mapping[str, Any]) -> Notifications:
    """What Spark reported, in the order of the contract. Ids of publications ascend in the tests, as numbers or with a
    letter before them."""
    table = notified.cast(NOTIFICATIONS_SCHEMA)

    def key(row: int) -> tuple[Any, ...]:
        names = ("publication_id", "change", "subscription_id", "evidence")
        publication, change, subscription, evidence = (table[name][row].as_py() for name in names)
        place = -1 if publication is None else int(publication.lstrip("de"))
        return place, change == "+", subscription, evidence or ""

    rows = table.take(pa.array(sorted(range(len(table)), key=key), pa.int64()))
    stats = Stats(**{name: counts.get(name, 0) for name in COUNTS}, complete=not counts["truncated"])
    return Notifications.of_columns(lambda: rows, len(rows), refused, stats)


def without(refused: list[Rejected], known: Iterable[Rejected]) -> list[Rejected]:
    """What was refused, but for what is known to be, all of which must be there."""
    kept, wanted = [], Counter((entry.item, entry.code) for entry in known)
    for entry in refused:
        if wanted[entry.item, entry.code] > 0:
            wanted[entry.item, entry.code] -= 1
        else:
            kept.append(entry)
    assert not wanted.total()
    return kept


# --- the scenes ---------------------------------------------------------------------------------------------------


class OnSpark(Scene):
    """A scene whose engines run a verb on Spark, in a way that `make` knows. A save that stands alone becomes the first
    version of its own folder."""

    twin: Scene
    """The same scene with embedded engines."""
    verb_of: Callable[..., Verb]

    def __init__(self, make: Callable[[Verb, Path], SparkEngine], folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.made: list[SparkEngine] = []
        self._make = make

    def engine(self) -> Engine:
        return self._on(self._place() / "interests")

    def load(self, path: Path) -> Engine:
        if is_save(path):
            folder = Path(mkdtemp(dir=path.parent))
            shutil.copytree(path, Versions.at(folder).path(1))
            path = folder
        Versions.at(path).latest()
        return self._on(path)

    def _on(self, folder: Path) -> Engine:
        self.made.append(self._make(type(self).verb_of(folder, **self.options), self._place() / "stream"))
        return cast("Engine", self.made[-1])

    def _place(self) -> Path:
        return self.folder / f"engine {len(self.made)}"


class FilterOnSpark(OnSpark, FilterScene):
    twin, verb_of = FilterScene(), FilterVerb


class RouteOnSpark(OnSpark, RouteScene):
    twin, verb_of = RouteScene(), RouteVerb


class WatchOnSpark(OnSpark, WatchScene):
    twin, verb_of = WatchScene("auto"), WatchVerb
