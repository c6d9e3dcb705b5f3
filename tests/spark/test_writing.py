"""What workers write themselves: only what succeeded, each batch once, and readable as if Spark had written it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from heliograph import Filter
from heliograph.errors import StorageError
from heliograph.io.sources import Source
from heliograph.io.tables import read_encoded, read_table
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, Notification, Notifications, Rejected, Stats
from heliograph.spark import output as storing
from heliograph.spark.frames import measured
from heliograph.spark.output import STAGING, Staging, store
from tests.spark.compare import Rows, expected, frame, table
from tests.spark.test_streams import notified, put, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSED = Rejected("publications", "p9", "HG-104", "no term")


def found(count: int, *, refused: int = 0) -> Notifications:
    items = [Notification(f"s{number}", None, "p", "filter", "+") for number in range(count)]
    stats = Stats(publications=1, notifications=count, rejected=refused)
    return Notifications(items, [REFUSED] * refused, stats)


def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Two calls for each row that comes, the second with a refusal."""
    for _ in batches:
        yield from measured(found(2))
        yield from measured(found(1, refused=1))


def rows_of(batch: Path) -> list[str]:
    ids: list[Any] = parquet.read_table(batch)["subscription_id"].to_pylist()
    return sorted(ids)


def staged(staging: Staging, count: int) -> str:
    """The file of a task."""
    path = staging.draft(0)
    parquet.write_table(found(count).table, path)
    return path.name


# --- the committer ----------------------------------------------------------------------------------------------


def test_only_files_that_were_told_of_are_taken(tmp_path: Path) -> None:
    staging = Staging.begin(str(tmp_path))
    staged(staging, 5)  # of an attempt that died, or of a copy of the task
    staging.commit([staged(staging, 2)], NOTIFICATIONS_SCHEMA, 0)
    staging.clear()
    assert rows_of(tmp_path / "batch=0") == ["s0", "s1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch=0"]
    assert (tmp_path / "batch=0" / "_SUCCESS").exists()


def test_a_batch_that_is_run_again_replaces_what_it_left(tmp_path: Path) -> None:
    for count in (3, 1):
        staging = Staging.begin(str(tmp_path))
        staging.commit([staged(staging, count)], NOTIFICATIONS_SCHEMA, 0)
        staging.commit([staged(staging, 2)], NOTIFICATIONS_SCHEMA, 1)
    assert [rows_of(tmp_path / f"batch={number}") for number in (0, 1)] == [["s0"], ["s0", "s1"]]


@pytest.mark.parametrize("dies_at", range(1, 8))
def test_whenever_the_driver_dies_the_batch_can_be_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """The driver dies at each step of its second commit in turn; then a new one runs the batch again."""
    first = Staging.begin(str(tmp_path))
    first.commit([staged(first, 3)], NOTIFICATIONS_SCHEMA, 0)
    second = Staging.begin(str(tmp_path))
    files = [staged(second, 2), staged(second, 1)]
    with monkeypatch.context() as patched:
        dying(patched, dies_at)
        try:
            second.commit(files, NOTIFICATIONS_SCHEMA, 0)
        except KeyboardInterrupt:
            assert len(list(tmp_path.glob("batch=*"))) <= 1
    seen = rows_of(tmp_path / "batch=0") if (tmp_path / "batch=0").exists() else []
    assert seen in ([], ["s0", "s1", "s2"], ["s0", "s0", "s1"])  # nothing, the old one or the new one, never a part
    third = Staging.begin(str(tmp_path))
    third.commit([staged(third, 2)], NOTIFICATIONS_SCHEMA, 0)
    third.clear()
    assert rows_of(tmp_path / "batch=0") == ["s0", "s1"]
    assert [path.name for path in tmp_path.iterdir()] == ["batch=0"]


def dying(patched: pytest.MonkeyPatch, steps: int) -> None:
    """From its so many-th change of the file system on, the driver is dead."""
    import os

    left = [steps]

    def mortal(change: Any) -> Any:
        def changed(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] <= 0:
                raise KeyboardInterrupt
            return change(*args, **more)

        return changed

    for owner, name in ((os, "rename"), (Path, "mkdir"), (Path, "touch")):
        patched.setattr(owner, name, mortal(getattr(owner, name)))


def test_a_task_that_is_late_harms_nobody(tmp_path: Path) -> None:
    late = Staging.begin(str(tmp_path))
    now = Staging.begin(str(tmp_path))
    staged(late, 9)
    now.commit([staged(now, 1)], NOTIFICATIONS_SCHEMA, 0)
    now.clear()
    assert rows_of(tmp_path / "batch=0") == ["s0"]
    assert parquet.read_table(tmp_path).num_rows == 1
    Staging.begin(str(tmp_path))
    assert not (tmp_path / STAGING).exists()


def test_a_file_that_the_driver_does_not_see_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"HG-811: .*; give a path that leads to the same folder on all machines"):
        Staging.begin(str(tmp_path)).commit(["part-00000-far-away.parquet"], NOTIFICATIONS_SCHEMA, 0)


# --- the step ---------------------------------------------------------------------------------------------------


def test_a_task_tells_of_its_files_in_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "_GROUP", 2)
    places = [Staging.begin(str(tmp_path / name)) for name in ("n", "r")]
    (told,) = store(step, places, iter([pa.record_batch({"x": [1]})] * 2))
    (row,) = told.to_pylist()
    counts = {name: row["stats"][name] for name in ("publications", "notifications", "rejected")}
    assert counts == {"publications": 4, "notifications": 6, "rejected": 2}
    file = parquet.ParquetFile(places[0].folder / row["notifications"])
    assert (file.metadata.num_rows, file.num_row_groups) == (6, 4)  # of 2, 2 and 1 of those 3 that came next, and 1
    assert file.schema_arrow.remove_metadata() == NOTIFICATIONS_SCHEMA
    refused = parquet.read_table(places[1].folder / row["rejected"])
    assert refused.to_pylist() == [{name: getattr(REFUSED, name) for name in REJECTED_SCHEMA.names}] * 2
    (nothing,) = store(step, places, iter([]))
    assert nothing.to_pylist()[0]["notifications"] is None


def test_a_step_that_fails_tells_nothing(tmp_path: Path) -> None:
    def failing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from step(batches)
        raise ValueError("poison")

    places = [Staging.begin(str(tmp_path)), Staging.begin(str(tmp_path / "_rejected"))]
    with pytest.raises(ValueError, match="poison"):
        list(store(failing, places, iter([pa.record_batch({"x": [1]})])))
    places[0].commit([], NOTIFICATIONS_SCHEMA, 0)
    assert parquet.read_table(tmp_path / "batch=0").schema.remove_metadata() == NOTIFICATIONS_SCHEMA


# --- what comes in ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["texts", "numbers", "damaged", "not UTF-8"])
def test_encoded_reading_is_reading(tmp_path: Path, kind: str) -> None:
    cells: Any = [1, 2, 2, None] if kind == "numbers" else ["a", "b", "b", None]
    if kind == "not UTF-8":
        cells = pa.Array.from_buffers(pa.string(), 4, pa.array([b"a", b"\xff", b"b", b"c"]).buffers())
    names = ("publication_id", "subject", "property", "object")
    path = tmp_path / "p.parquet"
    parquet.write_table(pa.table({**dict.fromkeys(names, cells), "more": [1, 2, 3, 4]}), path, row_group_size=2)
    if kind == "damaged":
        bytes_ = bytearray(path.read_bytes())
        bytes_[4:60] = b"\xff" * 56
        path.write_bytes(bytes_)
    source = Source(path, "p.parquet")
    plain, encoded = list(read_table("publications", [source])), list(read_encoded("publications", source))
    assert values(encoded) == values(plain)
    assert [entry.code for read in encoded for entry in read.rejected] == [
        entry.code for read in plain for entry in read.rejected
    ]


def values(reads: Any) -> list[Any]:
    return [(int(row), cells) for read in reads for row, cells in zip(read.rows, read.table.to_pylist(), strict=True)]


# --- on Spark ---------------------------------------------------------------------------------------------------

ROWS = [("p1", "A", "knows", "B"), ("p2", "A", "likes", "C"), ("p2", "B", "knows", "A"), ("p3", "_", "yeer:", "")]
QUERIES = [("friends", "ASK { ?x :knows ?y }"), ("A's", "ASK { :A ?p ?o }"), ("bad", "ASK {")]


def embedded(rows: Sequence[tuple[str, ...]]) -> tuple[Rows, Rows]:
    engine = Filter()
    refused = engine.subscribe(QUERIES).rejected
    return expected(engine.publish(table("publications", rows)), refused)


def test_the_table_that_workers_write_is_the_embedded_engines(spark: SparkSession, tmp_path: Path) -> None:
    """As is the one that Spark writes, of a DataFrame that was changed or in another format."""
    from heliograph.spark import filter, write
    from heliograph.spark.frames import batch_counts

    wanted, unwanted = embedded(ROWS)
    result = filter(frame(spark, "publications", ROWS), QUERIES)
    for name, each in (("workers", result), ("spark", result.where("true"))):
        write(each, notifications=f"file:{tmp_path}/{name}/n", rejected=f"{tmp_path}/{name}/r")
        assert notified(spark, tmp_path / name) == wanted
        told = spark.read.parquet(f"{tmp_path}/{name}/r").collect()
        assert sorted(row.code for row in told) == sorted(code for _, code, _ in unwanted.elements())
    assert batch_counts(result)["notifications"] == sum(wanted.values())
    schemas = [spark.read.parquet(f"{tmp_path}/{name}/n").schema for name in ("workers", "spark")]
    assert schemas[0] == schemas[1]


def test_a_stream_is_written_by_its_workers(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import filter
    from heliograph.spark.frames import progress_table, read

    for number, rows in enumerate((ROWS[:1], ROWS[1:])):
        put(tmp_path / "in", f"{number}.parquet", table("publications", rows))
        query = run(filter(read(spark, "publications", str(tmp_path / "in"), follow=True), QUERIES), tmp_path)
        (counts,) = progress_table(query).to_pylist()
        assert (counts["batch"], counts["notifications"]) == (number, sum(embedded(rows)[0].values()))
    assert notified(spark, tmp_path) == embedded(ROWS)[0]
    files = [path.name for path in (tmp_path / "n" / "batch=1").iterdir()]
    assert not [name for name in files if name.endswith(".crc")]  # which Spark leaves beside its own
    assert not list(tmp_path.rglob(STAGING))
