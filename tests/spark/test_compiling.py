"""Subscriptions that a Spark job compiles: the same notifications and refusals as one embedded engine's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from heliograph import Filter
from heliograph.filter.shards import ShardGround, save_shard
from heliograph.model import Rejected
from heliograph.partition.plan import Scheme
from heliograph.spark import filter_job
from heliograph.spark.compile_job import ORDER, PARTS, CompileJob, FilterParts, SavedPart, admitted, send_given
from heliograph.spark.filter_job import OpenVersion, Plans
from heliograph.spark.frames import refused_rows
from heliograph.taxonomy import Taxonomy
from heliograph.workloads.filter import generate_filter
from tests.filter.schemes import SCHEMES
from tests.spark.compare import embedded, expected, frame, on_spark, table
from tests.spark.test_verbs import CASES, PUBLICATIONS, TAXONOMY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Beside the cases: an id three times, of which the first is wrong, an id and a query that are missing, wrong options.
QUERIES: list[tuple[Any, ...]] = [
    ("twice", None, "ASK { ?x", None),
    *((str(number), "Ann", case.subscription, None) for number, case in enumerate(CASES)),
    ("twice", None, "ASK { ?x :knows ?y }", None),
    ("twice", None, "ASK { ?x ?y ?z }", None),
    (None, None, "ASK { ?x ?y ?z }", None),
    ("empty", None, None, None),
    ("options", None, "ASK { ?x ?y ?z }", "{"),
]
COLUMNS = ("subscription_id", "subscriber", "query", "options")
ANY = "ASK { ?x ?y ?z }"


@pytest.mark.parametrize(
    "scheme", [pytest.param(name, marks=[] if name == "merging" else pytest.mark.long) for name in SCHEMES]
)
def test_a_job_says_what_the_embedded_engine_says(spark: SparkSession, scheme: str) -> None:
    options: dict[str, Any] = {"taxonomy": TAXONOMY, "bindings": 2}
    subscriptions = pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in QUERIES])
    wanted = embedded("filter", table("publications", PUBLICATIONS), subscriptions, options)
    in_order = spark.sparkContext.parallelize(QUERIES, 3)
    queries = spark.createDataFrame(in_order, ", ".join(f"{name} string" for name in COLUMNS))
    publications = frame(spark, "publications", PUBLICATIONS)
    assert on_spark("filter", publications, queries, {**options, **SCHEMES[scheme]}) == wanted


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_changes_on_top_of_parts_are_one_with_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """Pattern tables by a job, a small change, another job on top of both, and then so many that a job follows."""
    tables = generate_filter(5, subscriptions=300, publications=10, constraints=0.4)
    publications = spark.createDataFrame(tables["publications"])
    whole, made = Filter(), Plans(tmp_path, **SCHEMES[scheme])

    def check(plans: Plans) -> None:
        notified, _ = on_spark("filter", publications, plans, {})
        assert notified == expected(whole.publish(tables["publications"]))[0]

    frames = {name: spark.createDataFrame(tables[name]).repartition(3) for name in ("patterns", "constraints")}
    assert made.subscribe(**frames).accepted == 300
    whole.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])
    matched: list[Any] = tables["expected"]["subscription_id"].to_pylist()
    for engine in (whole, made):
        assert [entry.code for entry in engine.unsubscribe([matched[0], matched[2], "nobody"]).rejected] == ["HG-502"]
        again = engine.subscribe([(matched[0], ANY), (matched[1], ANY), ("new", ANY)])
        assert [entry.item for entry in again.rejected] == [matched[1]]
    check(made)
    assert Plans(tmp_path).size == made.size == 300
    more = spark.createDataFrame([("late", ANY), ("new", "ASK")], "subscription_id string, query string")
    assert [entry.item for entry in made.subscribe(more).rejected] == ["new"]
    whole.subscribe([("late", ANY)])
    check(Plans(tmp_path))
    assert made.versions.numbers() == [1, 2, 3, 4]
    monkeypatch.setattr(filter_job, "_FEW", 0)
    many = Plans(tmp_path)
    many.subscribe([(f"many {number}", ANY) for number in range(30)])
    outline = many.outline()
    assert outline is not None
    assert outline.front + sum(outline.shards) - outline.mergers == many.size == Plans(tmp_path).size == 331


@pytest.mark.long
def test_a_large_table_is_compiled_by_a_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_job, "_MANY", 100)
    made = Plans(tmp_path, shards=2)
    made.subscribe([("first", ANY)])
    assert made.subscribe(generate_filter(6, subscriptions=100, publications=5)["patterns"]).accepted == 100
    assert [FilterParts.at(made.versions.path(version)) is not None for version in (1, 2)] == [False, True]
    assert made.size == 101


def test_a_task_opens_its_own_shard_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = ShardGround.of(Taxonomy(), {})
    for number in range(3):
        registry = ground.registry()
        registry.subscribe([(f"s{number}", ANY)])
        save_shard(tmp_path / PARTS / f"part-{number}", registry, ground)
    shards = tuple(SavedPart(f"part-{number}", number, 1) for number in range(3))
    parts = FilterParts(str(tmp_path / PARTS), Scheme("hash", 3), SavedPart("none", 3, 0), shards)
    parts.write(tmp_path / "version")
    assert (FilterParts.at(tmp_path / "version"), parts.held(["s0", "s2", "s3"])) == (parts, {"s0", "s2"})
    opened: list[Path] = []
    load = Filter.load

    def noted(path: Path) -> Filter:
        opened.append(path)
        return load(path)

    monkeypatch.setattr(Filter, "load", noted)
    for _ in range(2):
        found = OpenVersion.at(tmp_path / "version").match(1, table("publications", [("p", "a", "b", "c")]), 0)
        assert [each.subscription_id for each in found] == ["s1"]
    assert [path.name for path in opened] == ["part-1"]


def test_a_subscription_with_a_row_that_could_not_be_read_is_left_out() -> None:
    (refused,) = refused_rows("patterns", [Rejected("f.csv", "s1", "HG-204", "no term")])
    edges = [{"subscription_id": id, "subject": "?x", "property": "knows", "object": "?y"} for id in ("s1", "s2", "s3")]
    rows = pa.concat_tables([pa.Table.from_pylist(edges, schema=refused.schema), pa.Table.from_batches([refused])])
    rows = rows.append_column(ORDER, pa.array(range(len(rows)), pa.int64()))
    job = CompileJob("", "", Scheme("hash", 2), ShardGround.of(Taxonomy(), {}))
    sent = list(send_given(job.shards, "patterns", rows.to_batches()))
    found = [admitted(job, [each for each in sent if each["shard"][0].as_py() == n]) for n in (0, 1)]
    assert sorted(each.id for registry, _ in found for each in registry) == ["s2", "s3"]
    assert [(entry.source, entry.item) for _, rejected in found for entry in rejected] == [("f.csv", "s1")]
