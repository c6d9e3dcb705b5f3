"""Plans that change while a stream is busy: every micro-batch answers with one version, none lost, none doubled."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.compare import table
from tests.spark.test_streams import put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES, EACH = 10, 20
TRIPLES = "publication_id string, subject string, property string, object string"
Ids = frozenset[str]


def asked(id: str) -> tuple[str, str]:
    return id, "ASK { ?x :p ?y }"


def told(spark: SparkSession, out: Path) -> list[dict[str, Ids]]:
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
    batches = told(spark, tmp_path / "out")
    assert sorted(name for batch in batches for name in batch) == sorted(
        f"{number}-{each}" for number in range(FILES) for each in range(EACH)
    )
    seen = [versions.index(next(iter(batch.values()))) for batch in batches]
    assert all(len(set(batch.values())) == 1 for batch in batches)  # one version for a micro-batch
    assert seen == sorted(seen)
    assert len(set(seen)) > 2  # swaps did come in between
