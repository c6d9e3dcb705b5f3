"""NDJSON: rows stand on their own, Arrow and Python read the same, broken lines are refused by their number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.io import ndjson
from heliograph.io.schemas import TABLES
from heliograph.io.sources import find_sources
from heliograph.io.tables import RawColumns, TableRows, coerce_rows, numbered, read_all
from tests.io.strategies import TEXT


def read(path: Path, content: bytes | str, name: str = "updates") -> TableRows:
    path = path / "in.ndjson"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_all(name, find_sources(path))


def columns(whole: TableRows, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in whole.table.to_pylist()]


def test_numbers_and_truth_values_are_terms_by_their_text(tmp_path: Path) -> None:
    objects = ["5", "2.5", "1e5", "1E+5", "-0", "5.0", "true", '"x"', "12345678901234567890123", "1e400"]
    lines = "".join(f'{{"op":"+","subject":"a","property":"p","object":{text}}}\n' for text in objects)
    found = [text for (text,) in columns(read(tmp_path, lines), "object")]
    assert found == "5 2.5 1e5 1E+5 0 5.0 true x 12345678901234567890123 1e400".split()


def test_ids_are_text(tmp_path: Path) -> None:
    lines = [{"source": 1, "target": 2.0}, {"source": True, "target": "007"}, {"source": 10**30, "target": 2.5}]
    found = read(tmp_path, "\n".join(map(json.dumps, lines)), "edges")
    assert columns(found, "source", "target") == [("1", "2"), ("true", "007"), (str(10**30), "2.5")]


def test_nested_values_become_text(tmp_path: Path) -> None:
    events = read(tmp_path, '{"event_id":1,"publisher":"p","attributes":{"a": [1, 2.50], "b": null}}', "events")
    assert columns(events, "attributes") == [('{"a":[1,2.5],"b":null}',)]
    line = '{"subscription_id":"q","variable":"x","operator":"in","value":["a", 1, 2.50, true]}'
    assert columns(read(tmp_path, line, "constraints"), "value") == [('["a","1","2.50","true"]',)]
    line = '{"subscription_id":"q","query":"ASK {}","options":{"mode":"change"}}'
    assert columns(read(tmp_path, line, "subscriptions"), "options") == [('{"mode":"change"}',)]
    assert columns(read(tmp_path, '{"node_id":"n","labels":["a", 1]}', "nodes"), "labels") == [(["a", "1"],)]


def test_rows_may_leave_out_what_is_optional_or_sparse(tmp_path: Path) -> None:
    found = read(tmp_path, '{"op":"-","subject":"a"}\n{"op":"+","subject":"a","property":"p","object":"b","extra":1}\n')
    assert columns(found, "property", "object", "seq") == [(None, None, None), ("p", "b", None)]
    assert len(found.rejected) == 0


BROKEN: list[tuple[bytes, str, str]] = [
    (b'{"op":"+"', "HG-205", "line 3, column 10"),
    (b'{"op":"+"} {"op":"+"}', "HG-205", "extra data"),
    (b"[1]", "HG-205", "no object"),
    (b"null", "HG-205", "no object"),
    (b"garbage", "HG-205", "line 3, column 1"),
    (b'{"op":"+\xff"}', "HG-207", "UTF-8"),
    (b"[" * 100_000, "HG-205", "nested too deeply"),
    (b'{"seq":' + b"9" * 5000 + b"}", "HG-205", "line 3"),
    (b'{"op":"+","subjet":"a","property":"p","object":"o"}', "HG-202", "rename 'subjet' to 'subject'"),
    (b'{"op":"+","subject":"a","property":"p","object":"o","seq":"abc"}', "HG-204", "'abc' in column 'seq'"),
    (b'{"op":"+","subject":"a","property":"p","object":"o","weight":{}}', "HG-204", "{} in column 'weight'"),
    (b'{"op":"+","subject":"a","property":"p","object":"o","at":"noon"}', "HG-204", "ISO 8601"),
    (b'{"op":"+","subject":"a","property":"p","object":"\\ud800"}', "HG-204", "surrogate"),
    (b'{"op":"+","subject":"a","property":"p","object":{"x":1}}', "HG-204", "write a term"),
]  # fmt: skip


@pytest.mark.parametrize("small", [0, 1 << 15])
@pytest.mark.parametrize(("line", "code", "found"), BROKEN, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_broken_line_is_refused_and_the_others_come_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, code: str, found: str, end: bytes, small: int
) -> None:
    monkeypatch.setattr(ndjson, "_SMALL", small)
    good = b'{"op":"+","subject":"a","property":"p","object":"o"}'
    whole = read(tmp_path, end.join([good, b"", line, good, good]))
    assert whole.table.num_rows == 3
    (rejected,) = whole.rejected
    assert (rejected.code, rejected.item) == (code, "2")
    assert rejected.source is not None
    assert found in rejected.message
    assert [whole.place(index).item for index in range(3)] == ["1", "3", "4"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"  \n\t\n"])
def test_nothing_is_an_empty_table(tmp_path: Path, content: bytes) -> None:
    whole = read(tmp_path, content)
    assert (whole.table.num_rows, len(whole.rejected)) == (0, 0)
    assert whole.table.schema == TABLES["updates"].arrow


def test_utf16_is_refused_by_name(tmp_path: Path) -> None:
    (rejected,) = read(tmp_path, '{"child":"a","parent":"b"}'.encode("utf-16"), "taxonomy").rejected
    assert (rejected.code, "UTF-16 (" in rejected.message) == ("HG-207", True)  # and names the file


def test_a_huge_line_is_a_row(tmp_path: Path) -> None:
    text = "x" * 9_000_000
    found = read(tmp_path, f'{{"child":"{text}","parent":"b"}}\n{{"child":"a","parent":"b"}}\n', "taxonomy")
    assert [len(child) for (child,) in columns(found, "child")] == [9_000_000, 1]


def test_rows_are_numbered_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.io.sources.PIECE", 64)
    lines = [f'{{"child":"c{number}","parent":"p"}}' for number in range(1, 30)]
    lines[20] = "broken"
    whole = read(tmp_path, "\n".join(lines), "taxonomy")
    assert len(whole.parts) > 5
    assert [whole.table["child"][index].as_py() for index in range(28)] == [
        f"c{whole.place(index).item}" for index in range(28)
    ]
    assert (whole.rejected[0].item, "line 21" in whole.rejected[0].message) == ("21", True)


_CELL = (
    st.none() | TEXT | st.integers(-3, 3) | st.integers() | st.floats() | st.booleans() | st.lists(TEXT, max_size=2)
    | st.dictionaries(TEXT, st.integers(), max_size=2) | st.sampled_from(["2026-11-15", "2026-11-15T08:00:00Z", "5"])
)  # fmt: skip


@pytest.mark.parametrize("name", ["updates", "nodes", "events", "constraints"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_arrow_reads_what_python_reads(name: str, data: st.DataObject) -> None:
    """The fast path, where it is taken, changes nothing."""
    schema = TABLES[name]
    kinds = data.draw(
        st.fixed_dictionaries({column: st.sampled_from([TEXT, st.integers(-9, 9), _CELL]) for column in schema.names})
    )
    rest = {key: cell for key, cell in kinds.items() if key not in schema.row_required} | {"extra": _CELL}
    row = st.fixed_dictionaries({key: kinds[key] for key in schema.row_required}, optional=rest)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    block = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    slow = ndjson._by_line(schema, "in", block, 1, 1)
    columns = ndjson._by_arrow(schema, block)
    fast = slow if columns is None else RawColumns("in", columns, numbered(1, len(rows)))
    one, two = coerce_rows(schema, fast), coerce_rows(schema, slow)
    assert repr(one.table.to_pylist()) == repr(two.table.to_pylist())
    assert list(one.rejected) == list(two.rejected)
    assert one.rows.tolist() == two.rows.tolist()


def test_the_fast_path_is_taken_where_it_can_be() -> None:
    schema = TABLES["publications"]
    line = b'{"publication_id":%d,"subject":"a","property":"p","object":"\\u00e9"}\n'
    assert ndjson._by_arrow(schema, line % 1 + line % 2) is not None
    for block in (
        b'{"publication_id":"d","subject":"a","property":"p","object":"b"}{"publication_id":"e"}\n',
        b'{"publication_id":"d","subject":"a","property":"p","object":"NaN"}\n',
        b'{"publication_id":"d","subject":"a","property":"p","object":2.5}\n',
        b'{"publication_id":"d","subject":"a","property":"p"}\n',
        b'{"publication_id":"d","subject":"a","property":"p","object":null}\n',
        line % 1 + b"\n" + line % 2,
        b'{"a":"\xff"}\n',
        b"[]\n",
        b"{]}\n",
    ):
        assert ndjson._by_arrow(schema, block) is None


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"event_id":"e","publisher":"p","attributes":{"a":1},"publisher":"q"}', "publisher"),
        ('{"event_id":"e","publisher":"p","attributes":{"a":1,"a":2}}', "a"),
        ('{"event_id":"e","publisher" :"p","attributes":{},"publisher" :"p"}', "publisher"),
        ('{"event_id":"e","publisher":"p","attributes":{"a":[{"b":{"c":1,"c":1}}]}}', "c"),
        ('{"event_id":"e","publisher":"p","attributes":{"a\\u0062":1,"ab":2}}', "ab"),
        ('{"event_id":"\\":","publisher":"p","attributes":{"a": {"x" \t: 1, "x": 2}}}', "x"),
    ],
)
def test_a_key_that_stands_twice_is_refused_by_name(tmp_path: Path, line: str, key: str) -> None:
    good = '{"event_id":"good","publisher":"p","attributes":{"a":":","b" : "\\":"}}'
    whole = read(tmp_path, f"{good}\n{line}\n{good}\n", "events")
    assert columns(whole, "event_id") == [("good",), ("good",)]
    [refused] = whole.rejected
    assert (refused.code, refused.item) == ("HG-220", "2")
    assert f"the key {key!r} stands twice" in refused.message


def test_arrow_leaves_it_to_python_to_refuse_a_column_that_stands_twice(tmp_path: Path) -> None:
    """In a block that is large enough for Arrow; a column that is not the table's may stand twice in both."""
    good = '{"op":"+","subject":"a","property":"p","object":"o","note":1,"note":2}\n'
    twice = '{"op":"+","subject":"a","property":"p","object":"o","object":"p"}\n'
    assert len(good) * 2000 > ndjson._SMALL
    assert not read(tmp_path, good * 2000).rejected
    assert not read(tmp_path, good).rejected
    whole = read(tmp_path, good * 2000 + twice + good)
    assert [(refused.item, refused.code) for refused in whole.rejected] == [("2001", "HG-220")]
    assert whole.table.num_rows == 2001
