"""Writers: whole files or none, pipes that may close, and wrong calls that say what to do."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heliograph.errors import TableError, UsageError
from heliograph.io.write import StreamWriter, open_writer

PAIR = pa.table({"child": ["a"], "parent": ["b"]})


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".ndjson"])
def test_a_file_appears_when_it_is_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_text("before")
    with open_writer("taxonomy", path) as writer:
        writer.write(PAIR)
        assert path.read_text() == "before"
    assert path.read_bytes() != b"before"
    assert os.listdir(tmp_path) == [path.name]


def _write_and_raise(path: Path, error: BaseException) -> None:
    with open_writer("taxonomy", path) as writer:
        writer.write(PAIR)
        raise error


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".ndjson"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_text("before")
    with pytest.raises(RuntimeError):
        _write_and_raise(path, RuntimeError())
    assert (path.read_text(), os.listdir(tmp_path)) == ("before", [path.name])


def test_an_interrupt_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    with pytest.raises(KeyboardInterrupt):
        _write_and_raise(path, KeyboardInterrupt())
    assert pq.read_table(path).num_rows == 1


def test_a_link_stays_a_link_and_the_mask_is_kept(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with open_writer("taxonomy", tmp_path / "link.csv") as writer:
        writer.write(PAIR)
    assert (tmp_path / "link.csv").is_symlink()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o666 & ~mask


def test_columns_are_brought_into_order_and_type(tmp_path: Path) -> None:
    with open_writer("nodes", tmp_path / "x.parquet") as writer:
        writer.write(pa.table({"cost": [2], "node_id": ["n"], "extra": [1]}).to_batches()[0])
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == [
        {"node_id": "n", "targeting": None, "cost": 2.0, "labels": None}
    ]


def test_a_table_that_lacks_a_column_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="without 'parent'"), open_writer("taxonomy", tmp_path / "x.csv") as writer:
        writer.write(PAIR.select(["child"]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "code", "found"),
    [
        ("out.txt", "HG-022", ".parquet .csv .ndjson .jsonl"),
        ("out", "HG-022", "no suffix"),
        ("folder.csv", "HG-025", "is a folder"),
        ("nowhere/out.csv", "HG-025", "mkdir -p nowhere"),
    ],
)
def test_a_path_that_cannot_be_written_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, code: str, found: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder.csv")
    with pytest.raises(UsageError) as caught:
        open_writer("taxonomy", path)
    assert caught.value.code == code
    assert found in str(caught.value)


def test_a_name_too_long_is_a_table_error(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        open_writer("taxonomy", tmp_path / ("x" * 300 + ".csv"))
    assert caught.value.code == "HG-209"


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".ndjson"])
def test_a_full_disk_is_a_table_error(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(TableError, match="No space left"), open_writer("taxonomy", tmp_path / f"x{suffix}") as writer:
        writer.write(PAIR)
    assert os.listdir(tmp_path) == []


def test_a_stream_that_cannot_be_written_is_a_table_error() -> None:
    with open("/dev/full", "wb") as full, StreamWriter("taxonomy", full) as writer:
        with pytest.raises(TableError, match="No space left"):
            writer.write(PAIR)
        assert writer.write(PAIR)


def test_a_device_takes_ndjson() -> None:
    with open_writer("taxonomy", os.devnull) as writer:
        assert writer.write(PAIR)


def test_a_reader_that_left_ends_the_writing_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with StreamWriter("taxonomy", os.fdopen(writing, "wb"), close=True) as writer:
        assert not writer.write(PAIR)
        assert not writer.write(PAIR)


def test_standard_output_is_flushed_with_each_table(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_writer("taxonomy", "-") as writer:
        writer.write(PAIR)
        assert capfdbinary.readouterr().out == b'{"child":"a","parent":"b"}\n'
        writer.write(PAIR.slice(0, 0))
    assert capfdbinary.readouterr().out == b""
    assert not sys.stdout.closed
