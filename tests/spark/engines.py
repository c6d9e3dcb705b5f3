"""The three verbs on Spark as engines of the protocol, so that its contract runs over them: a publish is a Spark job.

What a verb needs of Spark stands here, whichever way the rows come; `BatchEngine` runs a batch for each publish, and
`stream_engines` a micro-batch. Spark promises the set of notifications, so they are put into an order here: by
publication, then what was lost before what was gained, then by id.

What the protocol says and Spark says otherwise:
- A single subscription that is refused is reported like one of many; here it is raised.
- Interests are saved as they are: a folder of versions. One of a filter or a route is explained by the embedded engine.
- The graph of a watch is no part of them: a batch has none, and that of a stream is in its checkpoint. So a watch that
  is loaded begins with the first update, as a new stream with the same interests does.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from heliograph import Filter, Route
from heliograph.errors import SubscriptionError
from heliograph.io.schemas import table_schema
from heliograph.io.tables import is_single
from heliograph.model import NOTIFICATIONS_SCHEMA, Explanation, Notifications, Receipt, Rejected, Stats
from heliograph.spark.frames import COUNTS
from heliograph.spark.versions import Versions
from heliograph.storage import is_save
from tests.contract.branches import PUBLISHER, branches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[Any, ...]]


def several(items: Any) -> list[Any]:
    return [items] if isinstance(items, (str, dict)) or is_single(items) else list(items)


class Verb(ABC):
    """Interests as Spark keeps them, and the call of the verb."""

    name: str
    table: str
    columns: tuple[str, ...]

    @abstractmethod
    def subscribe(self, items: list[Any]) -> Receipt: ...

    @abstractmethod
    def unsubscribe(self, ids: list[str]) -> Receipt: ...

    @abstractmethod
    def run(self, frame: DataFrame) -> DataFrame: ...

    @abstractmethod
    def rows(self, items: list[Any]) -> Rows:
        """Publications as rows of a table."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many are subscribed."""

    @property
    @abstractmethod
    def refused(self) -> Iterable[Rejected]:
        """What a run refuses of the interests, beside what it refuses of the publications."""

    def to_arrow(self, rows: Rows) -> pa.Table:
        arrow = table_schema(self.table).arrow
        return pa.Table.from_pylist(
            [dict(zip(self.columns, row, strict=True)) for row in rows],
            schema=pa.schema([arrow.field(name) for name in self.columns]),
        )


class Versioned(Verb):
    """Interests as versions in a folder."""

    @property
    @abstractmethod
    def versions(self) -> Versions: ...

    def save(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.versions.folder, path, ignore=shutil.ignore_patterns("pins"))


def versions_at(path: Path) -> Path:
    """A folder of versions; a save that stands alone becomes the first of its own. Raises where there is neither."""
    if is_save(path):
        folder = Path(mkdtemp(dir=path.parent))
        shutil.copytree(path, Versions.at(folder).path(1))
        path = folder
    Versions.at(path).latest()
    return path


class FilterVerb(Versioned):
    name, table = "filter", "publications"
    columns = ("publication_id", "subject", "property", "object")

    def __init__(self, folder: Path, **division: Any) -> None:
        from heliograph.spark import Plans

        self.plans = Plans(folder, **division)
        if not self.versions.numbers():
            self.plans.subscribe([])

    @property
    def versions(self) -> Versions:
        return self.plans.versions

    def subscribe(self, items: list[Any]) -> Receipt:
        return self.plans.subscribe(items)

    def unsubscribe(self, ids: list[str]) -> Receipt:
        return self.plans.unsubscribe(ids)

    def run(self, frame: DataFrame) -> DataFrame:
        from heliograph.spark import filter

        return filter(frame, self.plans)

    def rows(self, items: list[Any]) -> Rows:
        return [(id, *triple) for id, triples in items for triple in triples]

    @property
    def size(self) -> int:
        return self.plans.size

    @property
    def refused(self) -> Iterable[Rejected]:
        return self.plans.rejected

    def explain(self, subscription: str, publication: Any) -> Explanation:
        return Filter.load(self.versions.path(self.versions.latest())).explain(subscription, publication)


class RouteVerb(Versioned):
    """Subscribers are nodes below one publisher."""

    name, table = "route", "events"
    columns = ("event_id", "publisher", "attributes")

    def __init__(self, folder: Path) -> None:
        from heliograph.spark import Exchanges

        known = bool(Versions.at(folder).numbers())
        self.exchanges = Exchanges(folder) if known else Exchanges(folder, [(PUBLISHER, None)])

    @property
    def versions(self) -> Versions:
        return self.exchanges.versions

    def subscribe(self, items: list[Any]) -> Receipt:
        receipt = self.exchanges.change(nodes=items, edges=branches(items))
        return Receipt(receipt.accepted - len(items), receipt.rejected)  # an edge of each was accepted too

    def unsubscribe(self, ids: list[str]) -> Receipt:
        return self.exchanges.change(without_nodes=ids)

    def run(self, frame: DataFrame) -> DataFrame:
        from heliograph.spark import route

        return route(frame, self.exchanges)

    def rows(self, items: list[Any]) -> Rows:
        return [(item["event_id"], item["publisher"], json.dumps(item["attributes"])) for item in items]

    @property
    def size(self) -> int:
        return self.exchanges.size - 1  # the publisher is no subscriber

    @property
    def refused(self) -> Iterable[Rejected]:
        return self.exchanges.rejected

    def explain(self, subscription: str, publication: Any) -> Explanation:
        return Route.load(self.versions.path(self.versions.latest())).explain(subscription, publication)


class WatchVerb(Versioned):
    name, table = "watch", "updates"
    columns = ("seq", "op", "subject", "property", "object")

    def __init__(self, folder: Path, **options: Any) -> None:
        from heliograph.spark import Watchers

        self.watchers = Watchers(folder, **options)
        self.seen = 0  # rows of the whole stream, which are numbered here as the embedded engine numbers them

    @property
    def versions(self) -> Versions:
        return self.watchers.versions

    def subscribe(self, items: list[Any]) -> Receipt:
        return self.watchers.subscribe(items)

    def unsubscribe(self, ids: list[str]) -> Receipt:
        return self.watchers.unsubscribe(ids)

    def run(self, frame: DataFrame) -> DataFrame:
        from heliograph.spark import watch

        if not self.size:
            self.watchers.subscribe([])  # else there may be no version
        return watch(frame, self.watchers)

    def rows(self, items: list[Any]) -> Rows:
        rows = [(seq, *item) for seq, item in enumerate(items, self.seen + 1)]
        self.seen += len(rows)
        return rows

    @property
    def size(self) -> int:
        return self.watchers.size

    @property
    def refused(self) -> Iterable[Rejected]:
        return self.watchers.rejected


class SparkEngine(ABC):
    """A verb on Spark as an engine."""

    def __init__(self, spark: SparkSession, verb: Any) -> None:
        self.spark = spark
        self.verb = verb
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
        explained: Explanation = self.verb.explain(subscription, publication)
        return explained

    def stats(self) -> Stats:
        return self._total + Stats(subscriptions=self.verb.size)

    def save(self, path: Path) -> None:
        self.verb.save(path)


def _receipt(receipt: Receipt, single: bool) -> Receipt:
    if single and receipt.rejected:
        raise SubscriptionError(receipt.rejected[0].code, receipt.rejected[0].message)
    return receipt


class BatchEngine(SparkEngine):
    """Each publish is a batch."""

    def _run(self, rows: Rows) -> Notifications:
        from heliograph.spark.frames import batch_counts

        found = self.verb.run(self.spark.createDataFrame(self.verb.to_arrow(rows)))
        table = found.toArrow()
        refused = [Rejected(**entry) for entry in table["rejected"].drop_null().to_pylist()]
        notified = table.filter(table["subscription_id"].is_valid()).drop_columns(["rejected"])
        assert len(notified) + len(refused) == len(table)
        return outcome(notified, without(refused, self.verb.refused), batch_counts(found))


class AgainEngine(BatchEngine):
    """Each publish is a batch of all updates so far, and tells what came of the newest.

    The law: what an update changes for a query depends on the updates before it and on nobody's subscribing, so it is
    the same whether the query was there from the first or came when the others were over. A top-k set is none of this:
    who is in it depends on the others, and no scene has one.
    """

    def __init__(self, spark: SparkSession, verb: Any) -> None:
        super().__init__(spark, verb)
        self._rows: Rows = []

    def _run(self, rows: Rows) -> Notifications:
        self._rows += rows
        return newest(super()._run(self._rows), rows)


def newest(found: Notifications, rows: Rows) -> Notifications:
    """What came of these updates, where more was told."""
    seqs = {str(row[0]) for row in rows}
    here = pa.array([seq in seqs for seq in found.table["publication_id"].to_pylist()], pa.bool_())
    refused = [entry for entry in found.rejected if entry.item in seqs]
    counts = {**found.stats, "notifications": here.true_count, "rejected": len(refused)}
    counts["publications"] = len(rows) - len(refused)
    return outcome(found.table.filter(here), refused, counts)


def outcome(notified: pa.Table, refused: list[Rejected], counts: Mapping[str, Any]) -> Notifications:
    """What Spark told, in the order of the contract."""
    table = notified.cast(NOTIFICATIONS_SCHEMA)
    keys = zip(
        *(table[name].to_pylist() for name in ("publication_id", "change", "subscription_id", "evidence")), strict=True
    )
    order = sorted(enumerate(keys), key=lambda pair: _key(*pair[1]))
    rows = table.take(pa.array([number for number, _ in order], pa.int64()))
    stats = Stats(**{name: counts.get(name, 0) for name in COUNTS}, complete=not counts["truncated"])
    return Notifications.of_columns(lambda: rows, len(rows), refused, stats)


def _key(publication: str | None, change: str, subscription: str, evidence: str | None) -> tuple[Any, ...]:
    """Ids of publications ascend in the tests, as numbers or with one letter before them."""
    place = -1 if publication is None else int(publication.lstrip("de"))
    return place, change == "+", subscription, evidence or ""


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
