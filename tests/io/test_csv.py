"""CSV: nothing is guessed, Excel's quoting is understood, a broken record does not take the next one with it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.io import csv as csvs
from heliograph.io.csv import read_records, whole_records
from heliograph.io.sources import find_sources
from heliograph.io.tables import TableRows, read_all
from tests.io.strategies import TEXT

HEADER = "child,parent\n"


def read(path: Path, content: bytes | str, name: str = "taxonomy") -> TableRows:
    path = path / "in.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_all(name, find_sources(path))


def pairs(whole: TableRows) -> list[tuple[Any, Any]]:
    return [(row["child"], row["parent"]) for row in whole.table.to_pylist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("007,true\n", [("007", "true")]),
        ("1e5,NULL\n", [("1e5", "NULL")]),
        ("NA,nan\n", [("NA", "nan")]),
        ('"a ""b"", c","x\ny"\n', [('a "b", c', "x\ny")]),
        ('"x\r\ny",b\r\n', [("x\r\ny", "b")]),
        (",\n", [(None, None)]),
        ('"",b\n', [(None, "b")]),
        (" a ,b \n", [(" a ", "b ")]),
        ('5" pipe,b\n', [('5" pipe', "b")]),
        ('a,b"c"\nd,e\n', [("a", 'b"c"'), ("d", "e")]),
        ("a,b\n\n\r\nc,d", [("a", "b"), ("c", "d")]),
        ("a,b\rc,d\r", [("a", "b"), ("c", "d")]),
        ('"a\rb",c\r', [("a\rb", "c")]),
        ("é,😀\n", [("é", "😀")]),
        ("a\0b,c\n", [("a\0b", "c")]),
    ],
)
def test_fields_are_text(tmp_path: Path, text: str, expected: list[tuple[Any, Any]]) -> None:
    whole = read(tmp_path, HEADER + text)
    assert list(whole.rejected) == []
    assert pairs(whole) == expected


@pytest.mark.parametrize(
    ("bad", "code", "found"),
    [
        (b"x", "HG-206", "1 fields where the header has 2"),
        (b"x,y,z", "HG-206", "3 fields where the header has 2"),
        (b'"x,y', "HG-206", "a quote that is not closed"),
        (b'x,"y', "HG-206", "a quote that is not closed"),
        (b'"x"y,z', "HG-206", "text behind a closing quote"),
        (b"x,\xff", "HG-207", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("before", [b"a,b\n", b'a,"b\nb"\n', b'a,5"\n'])
def test_a_broken_record_is_refused_and_the_others_come_through(
    tmp_path: Path, bad: bytes, code: str, found: str, before: bytes
) -> None:
    whole = read(tmp_path, HEADER.encode() + before + bad + b"\nc,d\n" + b"e,f\n")
    (rejected,) = whole.rejected
    assert [child for child, _ in pairs(whole)] == ["a", "c", "e"]
    assert (rejected.code, rejected.item) == (code, "2")
    assert f"line {2 + len(before.splitlines())}" in rejected.message
    assert found in rejected.message
    assert [whole.place(index).item for index in range(3)] == ["1", "3", "4"]


def test_two_open_quotes_lose_only_their_lines(tmp_path: Path) -> None:
    whole = read(tmp_path, HEADER + 'a,b\n"x,y\nc,d\n"z,w\ne,f\n')
    assert pairs(whole) == [("a", "b"), ("c", "d"), ("e", "f")]
    assert [rejected.item for rejected in whole.rejected] == ["2", "4"]


def test_bad_cells_are_refused_by_column(tmp_path: Path) -> None:
    text = (
        "seq,op,subject,property,object,weight,at\n1,+,a,p,b,,\nx,+,a,p,b,,\n3,+,a,p,b,y,\n4,+,a,p,b,2.5,2026-11-15\n"
    )
    whole = read(tmp_path, text, "updates")
    assert whole.table["seq"].to_pylist() == [1, 4]
    assert [(entry.item, entry.code) for entry in whole.rejected] == [("2", "HG-204"), ("3", "HG-204")]


def test_a_refused_row_is_named_by_its_id(tmp_path: Path) -> None:
    whole = read(tmp_path, "node_id,cost\nn1,1\nn2,x\n", "nodes")
    (rejected,) = whole.rejected
    assert rejected.item == "n2"
    assert "item 2" in rejected.message


@pytest.mark.parametrize(
    ("text", "code", "found"),
    [
        ("", "HG-202", "there is nothing"),
        ("child,parnt\na,b\n", "HG-202", "rename 'parnt' to 'parent'"),
        ("child;parent\na;b\n", "HG-202", "separate the fields with commas, not ';'"),
        ("child,other\na,b\n", "HG-202", "there is 'child', 'other'"),
        ("child,parent,child\na,b,c\n", "HG-203", "'child' stands twice"),
        ('child,"parent\na,b\n', "HG-206", "not closed"),
    ],
)
def test_a_header_that_does_not_serve_refuses_the_file(tmp_path: Path, text: str, code: str, found: str) -> None:
    whole = read(tmp_path, text)
    (rejected,) = whole.rejected
    assert (rejected.code, whole.table.num_rows) == (code, 0)
    assert found in rejected.message
    assert "in.csv" in rejected.message


def test_a_header_in_latin_1_is_refused(tmp_path: Path) -> None:
    assert read(tmp_path, b"child,parent,\xe9\na,b,c\n").rejected[0].code == "HG-207"


def test_headers_may_have_spaces_blank_lines_marks_and_more_columns(tmp_path: Path) -> None:
    whole = read(tmp_path, b'\xef\xbb\xbf\n"child", parent ,,x,x\na,b,,1,2\n')
    assert pairs(whole) == [("a", "b")]


def test_a_file_of_one_header_is_empty(tmp_path: Path) -> None:
    for text in (HEADER, HEADER.strip(), HEADER + "\n\n"):
        whole = read(tmp_path, text)
        assert (whole.table.num_rows, len(whole.rejected)) == (0, 0)


def test_a_field_may_be_larger_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.io.sources.PIECE", 100)
    text = "line, one\n" * 500
    whole = read(tmp_path, f'{HEADER}a,"{text}"\n' + "b,c\n" * 200 + "d\n" + "e,f\n")
    assert pairs(whole)[0] == ("a", text)
    assert (whole.table.num_rows, whole.place(201).item) == (202, "203")
    assert "line 703" in whole.rejected[0].message
    assert whole.rejected[0].item == "202"


def test_broken_quotes_stay_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these lines opens a quote that the next one closes and opens again, up to the end."""
    monkeypatch.setattr("heliograph.io.csv._LOOK_AHEAD", 1000)
    lines = [b'y",a"b,"\n'] * 3000
    taken = 0

    def counted() -> Any:
        nonlocal taken
        for line in lines:
            taken += 1
            yield line

    assert all(record.fields is None for record in read_records(counted()))
    assert taken == 3000


_FIELDS = st.lists(st.lists(TEXT, min_size=2, max_size=2), max_size=5)


@settings(max_examples=60, deadline=None)
@given(rows=_FIELDS, style=st.sampled_from([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, "\n")]))
def test_what_pythons_writer_writes_is_read(rows: list[list[str]], style: tuple[Any, str]) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=style[0], lineterminator=style[1]).writerows(rows)
    records = list(read_records([stream.getvalue().encode()]))
    assert [record.fields for record in records] == [[field.encode() for field in row] for row in rows]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "a", "b,c", '"a"', '"x,y"']), max_size=14).map("".join))
@example('"a"\n"b"",c\n')
@example('a,"b\n"')
def test_arrow_reads_what_records_reads(text: str) -> None:
    """The fast path, where it is taken, changes nothing; whole records joined are the text."""
    block = text.encode()
    cut = whole_records(block)
    if cut is None:
        return
    fast, slow = (csvs._CsvFile("in", 2, {"child": 0, "parent": 1}, 1) for _ in range(2))
    got = [_comparable(raw) for raw in fast.read(iter([block[:cut]]))]
    expected = [_comparable(raw) for raw in slow._one_by_one([block[:cut]])]
    assert [row for part in got for row in part] == [row for part in expected for row in part]
    assert fast._row == slow._row
    records = [*read_records([block[:cut]]), *read_records([block[cut:]])]
    assert [record.fields for record in records] == [record.fields for record in read_records([block])]


def _comparable(raw: Any) -> list[Any]:
    columns = [cells if isinstance(cells, list) else cells.to_pylist() for cells in raw.columns.values()]
    rows = list(zip(raw.rows.tolist(), *columns, strict=True))
    return sorted([*rows, *((row, rejected.code) for row, rejected in raw.refused)], key=lambda row: row[0])
