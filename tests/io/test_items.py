"""Python items give the tables that files give; a bad one is refused by its position."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import TableError, UsageError
from heliograph.io import tables
from heliograph.io.schemas import TABLES
from heliograph.io.sources import find_sources
from heliograph.io.tables import as_table, is_single, read_all
from heliograph.io.write import open_writer
from heliograph.terms import Variable, iri, literal, plain_name
from tests.io.strategies import TEXT, comparable

AT = datetime(2026, 11, 15, tzinfo=UTC)


def rows(name: str, items: Any) -> list[dict[str, Any]]:
    """The rows without their nulls."""
    read = as_table(name, items)
    assert list(read.rejected) == []
    assert read.table.schema == TABLES[name].arrow
    return [{key: cell for key, cell in row.items() if cell is not None} for row in read.table.to_pylist()]


def edge(**more: Any) -> dict[str, Any]:
    return {"op": "+", "subject": "a", "property": "p", "object": "b", **more}


@pytest.mark.parametrize(
    ("name", "item", "row"),
    [
        ("subscriptions", ("q", "ASK {}"), {"subscription_id": "q", "query": "ASK {}"}),
        ("subscriptions", ("q", "me", "ASK {}"), {"subscription_id": "q", "subscriber": "me", "query": "ASK {}"}),
        (
            "subscriptions",
            (7, "me", "ASK {}", {"mode": "each"}),
            {"subscription_id": "7", "subscriber": "me", "query": "ASK {}", "options": '{"mode":"each"}'},
        ),
        ("subscriptions", {"subscription_id": 7, "query": "", "x": 1}, {"subscription_id": "7", "query": ""}),
        (
            "patterns",
            ("q", Variable("x"), "a", plain_name("Person")),
            {"subscription_id": "q", "subject": "?x", "property": "a", "object": "Person"},
        ),
        (
            "constraints",
            ("q", "x", "in", ["a", 1]),
            {"subscription_id": "q", "variable": "x", "operator": "in", "value": '["a","1"]'},
        ),
        ("publications", ("d", "a", "p", 5), {"publication_id": "d", "subject": "a", "property": "p", "object": "5"}),
        ("updates", ("-", "a"), {"op": "-", "subject": "a"}),
        ("updates", (7, "-", "a"), {"seq": 7, "op": "-", "subject": "a"}),
        ("updates", ("+", "a", "p", "b"), edge()),
        ("updates", ("+", "a", "p", "b", 2, "2026-11-15"), edge(weight=2.0, at=AT)),
        ("updates", (1, "+", "a", "p", "b", 2.5), edge(seq=1, weight=2.5)),
        ("updates", (None, "+", "a", "p", "b", None, AT), edge(at=AT)),
        ("events", ("e", "p", {"age": 30}), {"event_id": "e", "publisher": "p", "attributes": '{"age":30}'}),
        ("nodes", ("n",), {"node_id": "n"}),
        ("nodes", ("n", "x", 2, {"b", "a"}), {"node_id": "n", "targeting": "x", "cost": 2.0, "labels": ["a", "b"]}),
        ("edges", ("a", "b"), {"source": "a", "target": "b"}),
        ("edges", ["a", "b", None, "x", 3], {"source": "a", "target": "b", "targeting": "x", "cost": 3.0}),
        ("taxonomy", ("Cat", "Animal"), {"child": "Cat", "parent": "Animal"}),
        ("changes", {"kind": "node", "op": "remove", "node_id": 5}, {"kind": "node", "op": "remove", "node_id": "5"}),
    ],
)
def test_items_are_rows(name: str, item: Any, row: dict[str, Any]) -> None:
    assert rows(name, [item]) == [row]
    if not isinstance(item, list):
        assert is_single(item)
        assert rows(name, item) == [row]


def test_a_publication_is_a_row_for_each_triple() -> None:
    triples = [("a", "p", 5), (iri("http://x/"), plain_name("a"), literal("t")), ["s", "p", "o"]]
    assert rows("publications", ("d", triples)) == [
        {"publication_id": "d", "subject": "a", "property": "p", "object": "5"},
        {"publication_id": "d", "subject": "<http://x/>", "property": "<urn:heliograph:a>", "object": '"t"'},
        {"publication_id": "d", "subject": "s", "property": "p", "object": "o"},
    ]
    read = as_table("publications", [("d1", {("a", "p", "b")}), ("d2", iter([("a", "p", "b")] * 2)), ("d3", [])])
    assert read.rows.tolist() == [1, 2, 2]


def test_many_items_come_in_any_iterable() -> None:
    pairs = [("a", "b"), ("c", "d")]
    for items in (pairs, tuple(pairs), iter(pairs), dict(pairs).items(), (pair for pair in pairs)):
        assert len(rows("taxonomy", items)) == 2
    assert rows("nodes", ["a", "b"]) == [{"node_id": "a"}, {"node_id": "b"}]
    assert rows("taxonomy", []) == rows("taxonomy", ()) == []


def test_what_is_one_item() -> None:
    assert is_single({"a": 1})
    assert is_single(("q", "ASK {}"))
    assert is_single((plain_name("a"), "b"))
    assert not is_single([("a", "b")])
    assert not is_single((("a", "b"), ("c", "d")))
    assert not is_single(({"a": 1},))
    assert not is_single(())
    assert not is_single("text")


@pytest.mark.parametrize(
    ("name", "item", "code", "found"),
    [
        ("taxonomy", 5, "HG-208", "give {'child': …, 'parent': …} or (child, parent)"),
        ("taxonomy", ("a",), "HG-208", "('a',)"),
        ("taxonomy", "a", "HG-208", "no item of taxonomy"),
        ("taxonomy", plain_name("a"), "HG-208", "no item of taxonomy"),
        ("taxonomy", {"child": "a", "parnt": "b"}, "HG-202", "rename 'parnt' to 'parent'"),
        ("taxonomy", {"child": "a"}, "HG-202", "without 'parent'"),
        ("taxonomy", ("a", ["b"]), "HG-204", "['b'] in column 'parent'"),
        ("publications", ("d", "text"), "HG-208", "(id, [(s, p, o), …])"),
        ("publications", ("d", [("a", "p")]), "HG-208", "('a', 'p')"),
        ("publications", ("d", [plain_name("a")]), "HG-208", "no item of publications"),
        ("publications", ("d", 5), "HG-208", "no item of publications"),
        ("subscriptions", ("q",), "HG-208", "(id, query)"),
        ("updates", (1, 2), "HG-208", "no item of updates"),
        ("updates", ("+", "a", "k"), "HG-208", "or (op, subject) or (op, subject, property, object)"),
        ("updates", ("+", "x" * 500, "p"), "HG-208", "…"),
        ("nodes", (["n"], "t"), "HG-204", "write text"),
        pytest.param("edges", ("a", "b", 1, "", 10**5000), "HG-204", "a int in column 'cost'", id="huge"),
    ],
)
def test_a_bad_item_is_refused_by_its_position(name: str, item: Any, code: str, found: str) -> None:
    good = {column.name: "{}" for column in TABLES[name].columns if column.required}
    read = as_table(name, [good, item, good])
    (rejected,) = read.rejected
    assert (rejected.code, rejected.item, read.rows.tolist()) == (code, "2", [1, 3])
    assert found in rejected.message


def test_arrow_tables_go_straight_through() -> None:
    table = pa.table({"parent": ["b", "d"], "child": [1, 2], "x": [1, 2]})
    expected = [{"child": "1", "parent": "b"}, {"child": "2", "parent": "d"}]
    assert rows("taxonomy", table) == expected
    assert rows("taxonomy", table.to_batches()[0]) == expected
    assert rows("taxonomy", table.to_reader()) == expected
    assert rows("taxonomy", table.slice(0, 0)) == []
    assert as_table("taxonomy", pa.concat_tables([table, table])).rows.tolist() == [1, 2, 3, 4]


def test_other_frames_come_through_arrow() -> None:
    class Frame:
        """As polars and others offer themselves."""

        def __init__(self, table: pa.Table) -> None:
            self._table = table

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            table: Any = self._table
            return table.__arrow_c_stream__(requested_schema)

    class Interchange:
        def __init__(self, table: pa.Table) -> None:
            self._table = table

        def __dataframe__(self, **options: bool) -> object:
            return self._table.__dataframe__(**options)

    table = pa.table({"parent": ["b"], "child": ["a"]})
    for frame in (Frame(table), Interchange(table)):
        assert rows("taxonomy", frame) == [{"child": "a", "parent": "b"}]


def test_pandas_frames() -> None:
    pd = importlib.import_module("pandas")
    frame = pd.DataFrame({"node_id": ["a", "b"], "cost": [1.5, None], "labels": [["x"], None]}, index=["i", "j"])
    assert rows("nodes", frame) == [{"node_id": "a", "cost": 1.5, "labels": ["x"]}, {"node_id": "b"}]
    mixed = pd.DataFrame(
        {"op": ["+"] * 3, "subject": ["a"] * 3, "property": ["p"] * 3, "object": ["b", 5, float("nan")]}
    )
    assert [row.get("object") for row in rows("updates", mixed)] == ["b", "5", None]


def test_a_table_without_a_column_is_a_wrong_call() -> None:
    with pytest.raises(TableError, match="there is 'kid', 'parent'"):
        as_table("taxonomy", pa.table({"kid": ["a"], "parent": ["b"]}))


def test_a_path_is_read(tmp_path: Path) -> None:
    with open_writer("taxonomy", tmp_path / "x.csv") as writer:
        writer.write(pa.table({"child": ["a"], "parent": ["b"]}))
    with open_writer("taxonomy", tmp_path / "y.csv"):
        pass
    assert rows("taxonomy", tmp_path / "x.csv") == rows("taxonomy", str(tmp_path)) == [{"child": "a", "parent": "b"}]
    assert rows("taxonomy", tmp_path / "y.csv") == []


def test_what_was_read_passes_through(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("child,parent\na,b\nbroken\nc,d\n")
    whole = read_all("taxonomy", find_sources(tmp_path))
    for read in (as_table("taxonomy", whole), as_table("taxonomy", whole.parts[0])):
        assert read.table.equals(whole.table)
        assert (read.rows.tolist(), len(read.rejected)) == ([1, 3], 1)
    assert not is_single(whole)
    assert not is_single(whole.parts[0])


@pytest.mark.parametrize("items", [None, 5, 2.5, object()])
def test_what_is_no_items_at_all_is_a_wrong_call(items: Any) -> None:
    with pytest.raises(UsageError, match="given as taxonomy"):
        as_table("taxonomy", items)


_VALUES = st.one_of(
    st.none(),
    TEXT,
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)),
    st.dates(),
    st.binary(max_size=3),
    st.sampled_from(["\ud800", "5", "2026-11-15", "[]", iri("http://e/"), Variable("x"), literal("a"), object()]),
    st.sampled_from([np.int64(5), np.float32(0.1), np.datetime64("2026-11-15"), np.array(["a"]), np.bool_(True)]),
    st.lists(TEXT, max_size=2),
    st.dictionaries(TEXT, st.integers(), max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(TABLES)), st.data())
def test_a_few_rows_are_coerced_as_columns_are(name: str, data: st.DataObject) -> None:
    """What few items become one by one is what many become by column: the same cells, the same rejections."""
    row = st.fixed_dictionaries(dict.fromkeys(TABLES[name].names, _VALUES))
    items = data.draw(st.lists(row, min_size=1, max_size=3))
    few = as_table(name, items)
    with patch.object(tables, "_SMALL", 0):
        many = as_table(name, items)
    assert comparable(few.table) == comparable(many.table)
    assert few.table.schema == many.table.schema
    assert (list(few.rejected), few.rows.tolist()) == (list(many.rejected), many.rows.tolist())
