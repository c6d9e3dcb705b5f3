"""Streams: a restart goes on, versions change between two micro-batches, and poison goes to the rejected."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from heliograph import Watch
from heliograph.errors import HeliographError, UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA
from tests.cli.files import DOCUMENTS, EDGES, NODES
from tests.spark.compare import expected, table
from tests.spark.test_verbs import QUERIES, drawn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UPDATES = "seq bigint, op string, subject string, property string, object string"
EVENTS = "event_id string, publisher string, attributes string"


_TIMES = count(int(time.time()) - 10_000)


def put(folder: Path, name: str, content: pa.Table | str) -> None:
    """A file that appears whole, a second after the one before: Spark takes files by their time, in whole ms."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{name}"
    draft.write_text(content) if isinstance(content, str) else parquet.write_table(content, draft)
    os.utime(draft, (next(_TIMES),) * 2)
    os.rename(draft, folder / name)


def run(frame: DataFrame, out: Path) -> Any:
    """Takes all that is there, and ends."""
    from heliograph.spark import write

    query = write(frame, notifications=f"{out}/n", rejected=f"{out}/r", availableNow=True)
    assert query is not None
    query.awaitTermination()
    return query


def notified(spark: SparkSession, out: Path) -> Counter[tuple[Any, ...]]:
    rows = spark.read.parquet(f"{out}/n").select(*NOTIFICATIONS_SCHEMA.names).collect()
    return Counter(map(tuple, rows))


def test_a_watch_goes_on_after_a_restart_and_takes_up_subscriptions(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import Watchers, watch

    rows, folder = drawn(120), tmp_path / "in"
    new = [("v1's", "SELECT * { :v1 :knows ?y }"), ("anybody's", "ASK { ?x ?p :v2 . :v2 ?q ?y }")]
    engine, watchers = Watch(), Watchers(tmp_path / "watchers", shards=3)
    wanted: Counter[tuple[Any, ...]] = Counter()
    for each in (engine, watchers):
        each.subscribe(QUERIES)
    for number in range(2):
        some = rows[number * 60 : number * 60 + 60]
        wanted += expected(engine.publish(table("updates", some)))[0]
        put(folder, f"{number}.parquet", table("updates", some[::-1]))
        updates = spark.readStream.schema(UPDATES).parquet(str(folder))
        run(watch(updates, watchers if number else tmp_path / "watchers", history=1), tmp_path)
        for each in (engine, watchers):
            each.unsubscribe(["old"]) if number == 0 else None
            each.subscribe(new) if number == 0 else None
    assert notified(spark, tmp_path) == wanted


@pytest.mark.long
def test_a_watch_replays_its_updates_and_refuses_a_checkpoint_of_others(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import watch

    rows, folder = drawn(120), tmp_path / "in"
    engine = Watch()
    engine.subscribe(QUERIES)
    wanted, _ = expected(engine.publish(table("updates", rows)))
    for number in range(2):
        put(folder, f"{number}.parquet", table("updates", rows[number * 60 : number * 60 + 60][::-1]))
        run(watch(spark.readStream.schema(UPDATES).parquet(str(folder)), QUERIES, shards=2), tmp_path)
    assert notified(spark, tmp_path) == wanted
    other = watch(spark.readStream.schema(UPDATES).parquet(str(folder)), QUERIES[:2], shards=2)
    put(folder, "2.parquet", table("updates", [(121, "+", "v1", "knows", "v2"), (None, "+", "v1", "knows", "v2")]))
    with pytest.raises(Exception, match="HG-906"):
        run(other, tmp_path)


def test_a_stream_of_updates_needs_seqs(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import watch

    put(tmp_path, "u.parquet", table("updates", drawn(2)))
    updates = spark.readStream.schema(UPDATES).parquet(str(tmp_path))
    with pytest.raises(UsageError, match="HG-083"):
        watch(updates.drop("seq"), QUERIES)


def test_a_filter_takes_up_new_subscriptions_and_goes_on_after_poison(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import Plans, filter, read
    from heliograph.spark.frames import progress_table

    plans, folder = Plans(tmp_path / "plans", shards=2, partition="containment"), tmp_path / "in"
    queries = [("friends", "SELECT ?x ?y { ?x :knows ?y }"), ("Ann's", "ASK { :Ann :knows ?y }")]
    plans.subscribe(spark.createDataFrame(queries, "subscription_id string, query string"))  # by a job
    seen = []
    for number in range(2):
        put(folder, f"{number}.ttl", DOCUMENTS["ttl"])
        put(folder, f"bad {number}.ttl", "@prefix : <")
        query = run(filter(read(spark, "publications", str(folder), follow=True), plans), tmp_path)
        seen += progress_table(query).to_pylist()
        plans.subscribe([("new", "ASK { ?x :age ?a }")]) if number == 0 else None
    told = {(row[0], row[2]) for row in notified(spark, tmp_path)}
    first = {("friends", "0.ttl"), ("Ann's", "0.ttl")}
    assert told == {*first, ("friends", "1.ttl"), ("Ann's", "1.ttl"), ("new", "1.ttl")}
    refused = spark.read.parquet(f"{tmp_path}/r").collect()
    assert {(row.source, row.code[:4]) for row in refused} == {("bad 0.ttl", "HG-3"), ("bad 1.ttl", "HG-3")}
    assert [(row["publications"], row["notifications"]) for row in seen] == [(1, 2), (1, 3)]


def test_a_route_takes_up_a_new_exchange(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import Exchanges, route

    exchanges, folder = Exchanges(tmp_path / "exchange", NODES, EDGES, shards=2), tmp_path / "in"
    events = [[(f"e{number}", "Pub", "{}")] for number in range(2)]
    for number in range(2):
        put(folder, f"{number}.parquet", table("events", events[number]))
        run(route(spark.readStream.schema(EVENTS).parquet(str(folder)), exchanges), tmp_path)
        exchanges.change(nodes=[{"node_id": "Ad3"}], edges=[{"source": "Pub", "target": "Ad3"}])
    assert {(row[0], row[2]) for row in notified(spark, tmp_path)} == {("Ad2", "e0"), ("Ad2", "e1"), ("Ad3", "e1")}
    assert Exchanges(tmp_path / "exchange").size == exchanges.size


def test_a_batch_that_is_written_again_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import filter, write
    from tests.spark.compare import frame

    found = filter(frame(spark, "publications", [("p", "A", "knows", "B")]), [("s", "ASK { ?x ?y ?z }"), ("t", "ASK")])
    for _ in range(2):
        assert write(found, notifications=f"{tmp_path}/n", rejected=f"{tmp_path}/r") is None
    assert sum(notified(spark, tmp_path).values()) == 1
    assert [row.item for row in spark.read.parquet(f"{tmp_path}/r").collect()] == ["t"]
    with pytest.raises(HeliographError, match="HG-082"):
        write(found, notifications=f"{tmp_path}/n", format="xls")


# --- plans that change while a stream is busy: every micro-batch answers with one version, none lost, none doub ---


FILES, EACH = 10, 20
TRIPLES = "publication_id string, subject string, property string, object string"
Ids = frozenset[str]


def asked(id: str) -> tuple[str, str]:
    return id, "ASK { ?x :p ?y }"


def by_batch(spark: SparkSession, out: Path) -> list[dict[str, Ids]]:
    """By micro-batch who was notified of each publication; raises where somebody was notified twice."""
    rows = spark.read.parquet(str(out)).select("batch", "publication_id", "subscription_id").collect()
    assert max(Counter(map(tuple, rows)).values()) == 1
    batches: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        batches[row.batch][row.publication_id].add(row.subscription_id)
    return [{name: frozenset(ids) for name, ids in batches[batch].items()} for batch in sorted(batches)]


@pytest.mark.long
@pytest.mark.parametrize("partition", [None, "hash", "merging"])
def test_a_swap_under_load_loses_nothing(spark: SparkSession, tmp_path: Path, partition: str | None) -> None:
    from heliograph.spark import Plans, filter, write

    plans, versions = Plans(tmp_path / "plans", shards=2 if partition else None, partition=partition), list[Ids]()
    plans.subscribe([asked("kept")])
    versions.append(frozenset({"kept"}))
    for number in range(FILES):
        rows = [(f"{number}-{each}", f"s{each}", "p", "o") for each in range(EACH)]
        put(tmp_path / "in", f"{number}.parquet", table("publications", rows))
    stream = spark.readStream.schema(TRIPLES).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    query = write(filter(stream, plans), notifications=str(tmp_path / "out"), rejected=str(tmp_path / "refused"))
    assert query is not None
    try:
        while (query.lastProgress is None or query.lastProgress.batchId < FILES - 1) and query.isActive:
            name = f"guest {len(versions)}"
            if len(versions) % 3 == 0:
                gone = min(versions[-1] - {"kept"}, key=lambda guest: int(guest.split()[1]))  # so no set comes again
                versions.append(versions[-1] - {gone})
                plans.unsubscribe([gone])
            else:
                versions.append(versions[-1] | {name})
                plans.subscribe([asked(name)])
            time.sleep(0.2)
        query.processAllAvailable()
    finally:
        query.stop()
    batches = by_batch(spark, tmp_path / "out")
    assert sorted(name for batch in batches for name in batch) == sorted(
        f"{number}-{each}" for number in range(FILES) for each in range(EACH)
    )
    seen = [versions.index(next(iter(batch.values()))) for batch in batches]
    assert all(len(set(batch.values())) == 1 for batch in batches)  # one version for a micro-batch
    assert seen == sorted(seen)
    assert len(set(seen)) > 2  # swaps did come in between
