"""Columns are coerced as their cells are, whatever Arrow type holds them."""

from __future__ import annotations

import json
import math
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.io.coerce import CELLS, Bad, BadCell, Coerced, JsonFloat, coerce_array, coerce_values, target_type
from heliograph.io.schemas import CellKind
from heliograph.terms import Variable, blank, iri, literal, parse_cell, plain_name
from tests.io.strategies import TEXT

NUMBERISH = st.from_regex(r"\A ?[+-]?[0-9]{0,20}\.?[0-9]{0,3}([eE][+-]?[0-9]{1,4})? ?\Z") | st.sampled_from(
    ["", " ", "5\n", *"nan NaN inf -Infinity 0x10 1_000 007 ٣ 1e400 9223372036854775808 true".split()]
)
TIMEISH = st.from_regex(
    r"\A(0000|0001|1969|2026|9999)-(0[0-9]|1[0-3])-[0-3][0-9]([T ][0-2][0-9](:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?)?"
    r"([Zz]|[+-][0-2][0-9]:?[0-9]{2}|[+-][0-9]{2})?)?\Z"
) | st.sampled_from(["", " ", "now", "2026-11-15T08:30:00 Z", "20261115", "2026-W46-7", " 2026-11-15 "])
JSONISH = st.sampled_from(
    ["", " ", "[]", '["a","b"]', "[1, true, 2.5]", "[null]", "[[1]]", "{}", "a", '["\\ud800"]', "[" * 3000]
)

ARRAYS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "text": (TEXT | NUMBERISH | TIMEISH | JSONISH, pa.string()),
    "numbers": (NUMBERISH, pa.string()),
    "times": (TIMEISH, pa.string()),
    "labels": (JSONISH, pa.string()),
    "large": (TEXT, pa.large_string()),
    "view": (TEXT, pa.string_view()),
    "int8": (st.integers(-128, 127), pa.int8()),
    "int64": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "uint64": (st.integers(0, 2**64 - 1), pa.uint64()),
    "double": (st.floats() | st.integers(-5, 5).map(float), pa.float64()),
    "bool": (st.booleans(), pa.bool_()),
    "decimal": (st.decimals(-1000, 1000, places=2), pa.decimal128(10, 2)),
    "date": (st.dates(), pa.date32()),
    "seconds": (st.datetimes(), pa.timestamp("s")),
    "zoned": (st.datetimes(timezones=st.just(UTC)), pa.timestamp("us", tz="Europe/Berlin")),
    "binary": (TEXT.map(str.encode), pa.binary()),
    "list": (st.lists(st.none() | TEXT, max_size=3), pa.list_(pa.string())),
    "numbers list": (st.lists(st.integers(0, 9), max_size=3), pa.large_list(pa.int32())),
    "struct": (
        st.fixed_dictionaries({"a": st.none() | TEXT, "b": st.floats()}),
        pa.struct([("a", pa.string()), ("b", pa.float64())]),
    ),
    "null": (st.none(), pa.null()),
}


def _assert_same(one: Coerced, two: Coerced) -> None:
    assert one.array.type == two.array.type
    assert repr(one.array.to_pylist()) == repr(two.array.to_pylist())
    assert [(bad.row, bad.expected) for bad in one.bad] == [(bad.row, bad.expected) for bad in two.bad]


@pytest.mark.parametrize("source", ARRAYS)
@pytest.mark.parametrize("kind", CellKind)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_column_is_coerced_as_its_values_are(kind: CellKind, source: str, data: st.DataObject) -> None:
    values, arrow = ARRAYS[source]
    array: Any = pa.array(data.draw(st.lists(st.none() | values, max_size=5)), arrow)
    _assert_same(coerce_array(kind, array), _by_cell(kind, array.to_pylist()))
    if not (pa.types.is_binary(arrow)):
        _assert_same(coerce_values(kind, array.to_pylist()), _by_cell(kind, array.to_pylist()))


def _by_cell(kind: CellKind, values: list[Any]) -> Coerced:
    """The law itself: value by value."""
    cells: list[Any] = []
    bad: list[Bad] = []
    for row, value in enumerate(values):
        try:
            cells.append(CELLS[kind](value))
            pa.array(cells[-1:], target_type(kind))
        except UnicodeEncodeError:
            cells[-1] = None
            bad.append(Bad(row, value, "write whole characters, not half of a surrogate pair"))
        except BadCell as error:
            cells.append(None)
            bad.append(Bad(row, value, str(error)))
    return Coerced(pa.array(cells, target_type(kind)), bad)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | TIMEISH, max_size=4))
@example(["2026-11-15T24:00:00Z", "2026-02-30", "0000-01-01", "2026-11-15T08:30:00.1234567Z"])
def test_times_in_text_do_not_depend_on_their_neighbours(texts: list[str | None]) -> None:
    _assert_same(coerce_array(CellKind.TIME, pa.array(texts, pa.string())), _by_cell(CellKind.TIME, list(texts)))


def _cell(kind: CellKind, value: Any) -> Any:
    coerced = coerce_values(kind, [value])
    if coerced.bad:
        raise BadCell(coerced.bad[0].expected)
    return coerced.array[0].as_py()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("007", "007"),
        (7, "7"),
        (3.0, "3"),
        (3.5, "3.5"),
        (1e300, "1e+300"),
        (math.nan, None),
        (math.inf, "inf"),
        (True, "true"),
        (Decimal("3.10"), "3.10"),
        (b"x", "x"),
        (np.int32(7), "7"),
        (np.float64(7), "7"),
        (np.str_("a"), "a"),
        (date(2026, 11, 15), "2026-11-15"),
        (np.datetime64("2026-11-15T08:00:00", "ns"), "2026-11-15T08:00:00"),
        (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (Variable("x"), "?x"),
    ],
)
def test_ids_are_text(value: Any, text: str | None) -> None:
    assert _cell(CellKind.TEXT, value) == text


def test_an_integer_of_any_length_is_text() -> None:
    assert _cell(CellKind.TEXT, 10**5000) == "1" + "0" * 5000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (-0.0, "0.0E0"),
        (5.0, "5.0E0"),
        (2.5, "2.5E0"),
        (math.nan, '"NaN"^^xsd:double'),
        (math.inf, '"INF"^^xsd:double'),
        (JsonFloat("2.5"), "2.5"),
        (JsonFloat("1E5"), "1E5"),
        (True, "true"),
        (Decimal("2.50"), "2.5"),
        (Decimal(5), "5.0"),
        (date(2026, 11, 15), '"2026-11-15"^^xsd:date'),
        (datetime(2026, 11, 15, 8), '"2026-11-15T08:00:00"^^xsd:dateTime'),
        (datetime(2026, 11, 15, 8, tzinfo=UTC), '"2026-11-15T08:00:00Z"^^xsd:dateTime'),
        (datetime(2026, 11, 15, 8, tzinfo=timezone(timedelta(hours=2))), '"2026-11-15T08:00:00+02:00"^^xsd:dateTime'),
        (plain_name("RSS Filter"), "RSS Filter"),
        (iri("http://x/"), "<http://x/>"),
        (literal("a", language="fr"), '"a"@fr'),
        (blank("b"), "_:b"),
        (np.bool_(True), "true"),
    ],
)
def test_terms_are_spelled(value: Any, text: str) -> None:
    assert _cell(CellKind.TERM, value) == text
    assert parse_cell(text)


def test_the_name_a_is_no_type_in_the_property_column() -> None:
    assert _cell(CellKind.PROPERTY, plain_name("a")) == "<urn:heliograph:a>"
    assert _cell(CellKind.PROPERTY, "a") == "a"


def test_single_precision_is_an_xsd_float() -> None:
    array = pa.array([0.1, None, math.nan], pa.float32())
    expected = ['"1.0E-1"^^xsd:float', None, '"NaN"^^xsd:float']
    assert coerce_array(CellKind.TERM, array).array.to_pylist() == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, 2.5, "Alice", True], '["1","2.5E0","Alice","true"]'),
        ((JsonFloat("2.5"),), '["2.5"]'),
        ({"b", "a"}, '["a","b"]'),
        ([], "[]"),
        ('["x"]', '["x"]'),
        (plain_name("x"), "x"),
        (7, "7"),
    ],
)
def test_a_constraint_takes_a_list_of_terms(value: Any, text: str) -> None:
    assert _cell(CellKind.VALUE, value) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (CellKind.TEXT, ["a"]),
        (CellKind.TEXT, object()),
        (CellKind.TEXT, b"\xff"),
        (CellKind.TEXT, "\ud800"),
        (CellKind.TERM, {"a": 1}),
        (CellKind.TERM, Decimal("NaN")),
        (CellKind.VALUE, [[1]]),
        (CellKind.INTEGER, "abc"),
        (CellKind.INTEGER, True),
        (CellKind.INTEGER, 2**63),
        (CellKind.INTEGER, 1.5),
        (CellKind.INTEGER, math.nan),
        (CellKind.INTEGER, "9" * 40),
        (CellKind.NUMBER, "x"),
        (CellKind.NUMBER, "1_0"),
        (CellKind.NUMBER, True),
        (CellKind.NUMBER, 10**400),
        (CellKind.NUMBER, [1]),
        (CellKind.TIME, "yesterday"),
        (CellKind.TIME, "2026-02-30"),
        (CellKind.TIME, "2026-11-15T08.5"),
        (CellKind.TIME, "2026-11-15T08:00:00+25:00"),
        (CellKind.TIME, "9999-12-31T23:59:59-01:00"),
        (CellKind.TIME, 1_700_000_000),
        (CellKind.JSON, {"a": math.nan}),
        (CellKind.JSON, {"a": object()}),
        (CellKind.JSON, {(1, 2): 3}),
        (CellKind.JSON, b"\xff"),
        (CellKind.LABELS, "Sports"),
        (CellKind.LABELS, "[1"),
        (CellKind.LABELS, 5),
        (CellKind.LABELS, [None]),
        (CellKind.LABELS, [["a"]]),
        (CellKind.LABELS, ["\ud800"]),
        (CellKind.TRUTH, "yes"),
        (CellKind.TRUTH, 1),
    ],
)
def test_what_cannot_stand_in_its_column_says_what_can(kind: CellKind, value: Any) -> None:
    coerced = coerce_values(kind, [None, value])
    assert [bad.row for bad in coerced.bad] == [1]
    assert "write" in coerced.bad[0].expected
    assert coerced.array.to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, None], "é": "😀"}, '{"a":[1,2.5,null],"é":"😀"}'),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
        ({"a": Decimal("2.5"), "b": Decimal(2), "c": date(2026, 1, 1)}, '{"a":2.5,"b":2,"c":"2026-01-01"}'),
        ({"a": np.int64(5), "b": np.array([1, 2]), "c": {"x"}}, '{"a":5,"b":[1,2],"c":["x"]}'),
        (MappingProxyType({"a": MappingProxyType({})}), '{"a":{}}'),
        (5, "5"),
        (b"{}", "{}"),
        ("{", "{"),
    ],
)
def test_json_columns_hold_json_text(value: Any, text: str) -> None:
    assert _cell(CellKind.JSON, value) == text


def test_structs_and_maps_become_json() -> None:
    struct = pa.array([{"a": 1, "b": {"c": [1, None]}}, None])
    assert coerce_array(CellKind.JSON, struct).array.to_pylist() == ['{"a":1,"b":{"c":[1,null]}}', None]
    mapping = pa.array([[("topic", "Sports"), ("x", None)]], pa.map_(pa.string(), pa.string()))
    assert json.loads(coerce_array(CellKind.JSON, mapping).array[0].as_py()) == {"topic": "Sports", "x": None}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+02:00", "America/New_York"])
def test_times_of_any_unit_and_zone_are_utc(unit: Any, zone: Any) -> None:
    moment = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
    array = pa.array([moment, None], pa.timestamp(unit, tz=zone))
    assert coerce_array(CellKind.TIME, array).array.to_pylist() == [moment, None]


def test_nanoseconds_are_cut_off() -> None:
    array = pa.array([1_999], pa.timestamp("ns"))
    assert coerce_array(CellKind.TIME, array).array.cast(pa.int64()).to_pylist() == [1]
    assert coerce_array(CellKind.TERM, array).array.to_pylist() == ['"1970-01-01T00:00:00.000001"^^xsd:dateTime']


@pytest.mark.parametrize("unit", ["s", "us"])
def test_years_beyond_the_calendar_are_refused(unit: Any) -> None:
    array = pa.array([0, 2**62], pa.timestamp(unit))
    coerced = coerce_array(CellKind.TIME, array)
    assert [(bad.row, repr(bad.value)) for bad in coerced.bad] == [(1, "a value out of range")]
    assert coerced.array.to_pylist() == [datetime(1970, 1, 1, tzinfo=UTC), None]


def test_encodings_of_a_column_do_not_matter() -> None:
    texts = pa.array(["a", "b", "a", None])
    encodings: tuple[Any, ...] = (
        texts.dictionary_encode(),
        texts.cast(pa.binary()),
        texts.cast(pa.large_binary()),
        pa.array([b"a", b"b", b"a", None], pa.binary(1)),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), texts),
        pa.ExtensionArray.from_storage(pa.json_(), texts),
    )
    for array in encodings:
        assert coerce_array(CellKind.TEXT, array).array.to_pylist() == ["a", "b", "a", None]


def test_uuids_are_text() -> None:
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"\0" * 16], pa.binary(16)))
    assert coerce_array(CellKind.TEXT, array).array.to_pylist() == ["00000000-0000-0000-0000-000000000000"]


def test_text_that_is_not_utf8_is_refused_by_the_cell() -> None:
    array = pa.array([b"good", b"\xff", b"good"], pa.binary())
    mislabelled = pa.Array.from_buffers(pa.string(), 3, array.buffers())
    for column in (array, mislabelled):
        coerced = coerce_array(CellKind.TERM, column)
        assert [bad.row for bad in coerced.bad] == [1]
        assert coerced.array.to_pylist() == ["good", None, "good"]


def test_labels_from_lists() -> None:
    assert coerce_array(CellKind.LABELS, pa.array([["a"], None, []])).array.to_pylist() == [["a"], None, []]
    assert [bad.row for bad in coerce_array(CellKind.LABELS, pa.array([["a", None], ["b"]])).bad] == [0]
    assert coerce_array(CellKind.LABELS, pa.array([[2.5, 3.0]])).array.to_pylist() == [["2.5", "3"]]
    assert _cell(CellKind.LABELS, {"b", "a"}) == ["a", "b"]
