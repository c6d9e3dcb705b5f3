"""The parts of the Spark layer that need no session: the environment, versions, pins, keys, envelopes, histories."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heliograph import Watch
from heliograph.cli.options import OutputOptions, SparkOptions
from heliograph.cli.spark import check_going_on, is_folder
from heliograph.errors import StorageError, UsageError
from heliograph.spark import filter, route, watch, write
from heliograph.spark.envelope import spark_hash, spreading_keys
from heliograph.spark.frames import measured
from heliograph.spark.versions import MOST, Pointer, Versions, opened, own_folder, storage_folder
from heliograph.spark.watch_job import Watchers, WatchTask, run_files
from heliograph.sparql.solve import QueryPlan
from heliograph.storage import write_folder
from tests.spark.test_verbs import QUERIES


class Framed:
    """What passes for a DataFrame until somebody looks at its rows."""

    __module__ = "pyspark.sql.made"
    isStreaming = False  # noqa: N815, as Spark spells it


FRAMED: Any = Framed()


def save(path: Path) -> None:
    write_folder(path, "test", 1)


def test_versions_are_numbered_and_a_batch_keeps_its_own(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path / "v"))
    with pytest.raises(StorageError, match="HG-801"):
        versions.latest()
    assert [versions.add(save), versions.add(save)] == [1, 2]
    (tmp_path / "v" / "version-00000009").mkdir()  # not finished
    assert versions.latest() == 2
    assert versions.pinned("query/1", 0) == 2
    versions.add(save)
    assert [versions.pinned("query/1", 0), versions.pinned("query/1", 1), versions.pinned("other", 0)] == [2, 3, 3]
    assert Pointer(versions, 1).path() == versions.path(1)


def test_only_the_latest_pins_are_kept(tmp_path: Path) -> None:
    versions = Versions(str(tmp_path))
    versions.add(save)
    for batch in range(130):
        versions.pinned("q", batch)
    assert len(list((tmp_path / "pins" / "q").iterdir())) == 100


def test_a_worker_keeps_what_it_opened_last() -> None:
    made: list[int] = []
    for number in [*range(MOST), 0, MOST, 0, 1]:
        opened(("test", number), lambda number=number: made.append(number))  # type: ignore[misc]
    assert made == [*range(MOST), MOST, 1]


def test_keys_spread_wherever_partitions_and_shards_divide_each_other() -> None:
    for shards, partitions in ((4, 4), (4, 2), (4, 12), (6, 3)):
        places = [spark_hash(key) % partitions for key in spreading_keys(shards)]
        assert len(set(places)) == min(shards, partitions)


def test_queries_of_one_set_stand_in_one_shard(tmp_path: Path) -> None:
    twice = [*QUERIES, {"subscription_id": "old", "query": "ASK { ?x ?y ?z }"}]
    watchers = Watchers(tmp_path, shards=4, fixed=True)
    watchers.subscribe(twice)
    assert [entry.code for entry in watchers.rejected] == ["HG-501"]
    engines = [watchers.shared.engine(shard, 1) for shard in range(4)]
    sizes = [engine.stats().subscriptions for engine in engines]
    assert sum(sizes) == len(QUERIES) == watchers.size
    assert max(sizes) >= 5
    with pytest.raises(UsageError, match="HG-089"):
        watchers.subscribe(("new", "ASK { ?x ?y ?z }"))
    again = Watchers(tmp_path, shards=3, fixed=True)
    again.subscribe(QUERIES)
    assert again.shared.mark != watchers.shared.mark


def test_files_without_seqs_are_numbered_by_their_rows(tmp_path: Path) -> None:
    header = "op,subject,property,object,at\n"
    (tmp_path / "1.csv").write_text(f"{header}+,a,p,b,\n?,a,p,b,\n+,c,p,d,\n+,e,p,f,never\n")
    (tmp_path / "2.csv").write_text(f"{header}+,g,p,h,noon\n+,i,p,j,\n-,a,p,b,\n")
    watchers = Watchers(tmp_path / "w", fixed=True)
    watchers.subscribe([("s", "SELECT * { ?x :p ?y }")])
    files = [{"path": str(tmp_path / name), "name": name} for name in ("1.csv", "2.csv")]
    task = WatchTask(watchers.shared, watchers.pointer(False), [0], False)
    found = pa.Table.from_batches(list(run_files(task, [pa.RecordBatch.from_pylist(files)])))
    engine = Watch()
    engine.subscribe([("s", "SELECT * { ?x :p ?y }")])
    outcomes = [engine.publish(str(tmp_path / name)) for name in ("1.csv", "2.csv")]
    wanted = [(each.publication_id, each.change) for outcome in outcomes for each in outcome]
    rows = found.filter(found["verb"].is_valid()).to_pylist()
    assert [(row["publication_id"], row["change"]) for row in rows] == wanted
    assert wanted == [("1", "+"), ("3", "+"), ("6", "+"), ("7", "-")]
    refused = [entry.code for outcome in outcomes for entry in outcome.rejected]
    told: list[Any] = found["rejected"].drop_null().to_pylist()
    assert sorted(row["code"] for row in told) == sorted(refused)


def test_only_the_first_shard_reports_refusals_and_each_its_own_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError("no luck")

    engine = Watch(algorithm="plain")
    engine.subscribe(("s", "SELECT * { ?x :knows ?y }"))
    right = engine.publish([("+", "a", "knows", "b"), ("?", "a", "knows", "b")])
    monkeypatch.setattr(QueryPlan, "solutions", failing)
    wrong = engine.publish([("+", "a", "knows", "c"), ("?", "a", "knows", "b")])
    cases: list[tuple[Any, bool, int, list[str]]] = [(right, False, 1, ["HG-621"]), (right, True, 1, [])]
    cases += [(wrong, False, 0, ["HG-621", "HG-540"]), (wrong, True, 0, ["HG-540"])]
    for found, again, notified, codes in cases:
        rows = pa.Table.from_batches(list(measured(found, again)))
        refused: list[Any] = rows["rejected"].drop_null().to_pylist()
        (stats,) = rows["stats"].drop_null().to_pylist()
        assert stats is not None
        assert [each["code"] for each in refused] == codes
        assert (stats["notifications"], stats["rejected"]) == (notified, len(codes))


def test_a_folder_is_taken_or_each_run_has_its_own(tmp_path: Path) -> None:
    assert storage_folder(tmp_path, "filter") == str(tmp_path)
    one, other = (Path(own_folder(tmp_path, "filter")) for _ in range(2))
    assert one != other
    assert one.is_dir()
    assert one.parent == other.parent == tmp_path


def test_one_folder_is_not_for_two_outputs() -> None:
    for folder in ("", "here", "here/"):
        with pytest.raises(UsageError, match="no folder for notifications alone"):
            write(FRAMED, notifications=folder, rejected=folder.rstrip("/"))


def test_a_file_does_not_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    cluster = SparkOptions(checkpoint=str(tmp_path))
    with pytest.raises(UsageError, match="goes on from a checkpoint"):
        check_going_on(OutputOptions(out="alerts.ndjson"), cluster)
    check_going_on(OutputOptions(out="alerts"), cluster)
    check_going_on(OutputOptions(out="alerts.ndjson"), SparkOptions(checkpoint=str(tmp_path / "new")))
    assert is_folder(OutputOptions(out="alerts"))


def test_who_comes_back_to_a_watch_may_ask_for_something_else(tmp_path: Path) -> None:
    watchers = Watchers(tmp_path, shards=3)
    watchers.subscribe([(id, f"SELECT * {{ ?x :{id} ?y }}") for id in "abc"])
    settled = next(id for id, shard in watchers._shard_of.items() if shard != 0)
    with watchers.together():
        watchers.unsubscribe([settled])
        watchers.subscribe([(settled, "SELECT * { ?x :other ?y }")])
    assert watchers._shard_of[settled] == 0  # the one that sees everything


def test_what_is_published_must_be_a_dataframe() -> None:
    verbs: list[Any] = [filter, watch, partial(route, nodes=[("a", None)])]
    for verb in verbs:
        with pytest.raises(UsageError, match="as list, which is no DataFrame"):
            verb([("d", "a", "p", "b")])


def test_a_route_needs_an_exchange(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without an exchange"):
        route(FRAMED, None)
    with pytest.raises(StorageError, match="no version in this folder"):
        route(FRAMED, str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("history", [-1, "x", True, 2.5])
def test_a_history_is_a_number_of_bytes(history: Any) -> None:
    with pytest.raises(UsageError, match="history is"):
        watch(FRAMED, [("q", "ASK { :a :p :b }")], history=history)
