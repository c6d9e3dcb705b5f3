"""Files together: a bad one is refused, the others come through, and every row knows its place."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heliograph.errors import UsageError
from heliograph.io.sources import Source, find_sources
from heliograph.io.tables import read_all, read_table
from heliograph.io.write import open_writer


def taxonomy(*rows: tuple[str, str]) -> pa.Table:
    return pa.table({"child": [child for child, _ in rows], "parent": [parent for _, parent in rows]})


def test_the_good_files_of_a_folder_come_through(tmp_path: Path) -> None:
    for name, child in (("a.parquet", "1"), ("c.csv", "2"), ("sub/e.ndjson", "3")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with open_writer("taxonomy", tmp_path / name) as writer:
            writer.write(taxonomy((child, "p")))
    (tmp_path / "b.parquet").write_bytes(b"PAR1 garbage PAR1")
    (tmp_path / "d.csv").write_text("kind,parent\nx,y\n")
    (tmp_path / "f.parquet").write_bytes(b"")
    whole = read_all("taxonomy", find_sources(tmp_path))
    assert whole.table["child"].to_pylist() == ["1", "2", "3"]
    assert [(entry.source, entry.item, entry.code) for entry in whole.rejected] == [
        ("b.parquet", None, "HG-201"),
        ("d.csv", None, "HG-202"),
        ("f.parquet", None, "HG-201"),
    ]
    assert [(whole.place(row).source, whole.place(row).item) for row in range(3)] == [
        ("a.parquet", "1"),
        ("c.csv", "1"),
        ("sub/e.ndjson", "1"),
    ]


def test_a_damaged_row_group_costs_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows = taxonomy(*[(f"child {number}", "p") for number in range(30)])
    pq.write_table(rows, path, row_group_size=10, compression="zstd")
    content = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
    start = chunk.dictionary_page_offset
    assert start is not None
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)
    whole = read_all("taxonomy", find_sources(path))
    assert whole.table["child"].to_pylist() == [f"child {number}" for number in (*range(10), *range(20, 30))]
    assert whole.place(10).item == "21"
    (rejected,) = whole.rejected
    assert (rejected.code, rejected.item) == ("HG-201", "11")
    assert "rows 11 to 20 are damaged" in rejected.message


def test_parquet_of_any_types_is_coerced(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table(
        {
            "extra": [{"x": 1}] * 3,
            "node_id": pa.array([1, 2, None], pa.int32()),
            "cost": pa.array(["1.5", "x", None]),
            "labels": pa.array([["a"], ["b"], None]),
        }
    )
    pq.write_table(table, path)
    whole = read_all("nodes", find_sources(path))
    assert whole.table.to_pylist() == [
        {"node_id": "1", "targeting": None, "cost": 1.5, "labels": ["a"]},
        {"node_id": None, "targeting": None, "cost": None, "labels": None},
    ]
    assert [entry.item for entry in whole.rejected] == ["2"]


def test_parquet_columns_may_not_stand_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["child", "parent", "child"])
    pq.write_table(table, path)
    assert [entry.code for entry in read_all("taxonomy", find_sources(path)).rejected] == ["HG-203"]


def test_large_tables_come_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(taxonomy(*[(str(number), "p") for number in range(150_000)]), path)
    reads = list(read_table("taxonomy", find_sources(path)))
    assert [(int(read.rows[0]), read.table.num_rows) for read in reads] == [(1, 131072), (131073, 18928)]
    whole = read_all("taxonomy", find_sources(path))
    assert all(
        whole.table["child"][row].as_py() == str(row) == str(int(whole.place(row).item or 0) - 1)
        for row in (0, 140_000, 149_999)
    )


def test_what_is_no_file_of_a_table_is_a_rejection(tmp_path: Path) -> None:
    """One that vanished, a folder, an unknown suffix."""
    os.mkdir(tmp_path / "folder.csv")
    (tmp_path / "x.txt").touch()
    names = ("gone.csv", "gone.ndjson", "gone.parquet", "folder.csv", "x.txt")
    whole = read_all("taxonomy", [Source(tmp_path / name, name) for name in names])
    assert [entry.code for entry in whole.rejected] == ["HG-201"] * 4 + ["HG-022"]


def test_an_unknown_table_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match="did you mean 'publications'"):
        read_all("publication", [])
    with pytest.raises(UsageError, match="the tables are"):
        read_all("zzz", [])


def test_no_sources_are_an_empty_table() -> None:
    whole = read_all("taxonomy", [])
    assert (whole.table.num_rows, whole.table.column_names) == (0, ["child", "parent"])
