"""Columns of event attributes to cells, whatever Arrow's layout, with errors and label sets."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import Place
from heliograph.predicate.attributes import (
    LABELS,
    NameTable,
    cells_of,
    encode,
    event_cells,
    float_below,
    take_cells,
)
from heliograph.predicate.layout import LIST, LISTED, STRING
from tests.predicate.cell_cases import (
    TREES,
    by_attribute,
    cell_rows,
    check_encoded,
    event_texts,
    make_names,
    naive_cells,
)

NAMES = make_names()
TEXTS = ['{"a":1}', None, '{"a":"größe","b":{"c":[1,"x"]}}', "", "  ", '{"a":"\\u00e4"}', "{", '{"b":true}', "[]"]


def _layouts(texts: list[str | None]) -> list[Any]:
    """The same column as Arrow may hold it."""
    plain = pa.array(texts, pa.string())
    framed = pa.concat_arrays([pa.array(["{", None]), plain, pa.array(['{"a":9}'])])
    half = len(texts) // 2
    return [
        plain,
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        framed.slice(2, len(texts)),
        plain.dictionary_encode(),
        pa.chunked_array([plain]),
        pa.chunked_array([plain.slice(0, half), plain.slice(half)]),
        pa.chunked_array([plain.slice(0, 0), plain], pa.string()),
    ]


def _all_rows(cells: Any) -> list[Any]:
    return [cell_rows(cells, event) for event in range(len(cells.offsets) - 1)]


@pytest.mark.parametrize("compiled", [True, False])
def test_every_layout_gives_the_same(compiled: bool) -> None:
    expected = check_encoded(NAMES, list(TEXTS), compiled=compiled)
    assert sorted(expected.errors) == [6, 8]
    for texts in _layouts(TEXTS):
        encoded = encode(NAMES, texts, compiled=compiled)
        assert _all_rows(encoded.cells) == _all_rows(expected.cells)
        assert {row: str(error) for row, error in encoded.errors.items()} == {
            row: str(error) for row, error in expected.errors.items()
        }


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("texts", [pa.array([], pa.string()), pa.chunked_array([], pa.string()), pa.nulls(3)])
def test_columns_without_anything(texts: Any, compiled: bool) -> None:
    encoded = encode(NAMES, texts, compiled=compiled)
    assert encoded.cells.offsets.tolist() == [0] * (len(texts) + 1)
    assert encoded.errors == {}


def test_nulls_that_hide_a_text_have_no_cells() -> None:
    _, offsets, data = pa.array(['{"a":1}', "{"]).buffers()
    assert offsets is not None
    assert data is not None
    hidden = pa.StringArray.from_buffers(2, offsets, data, pa.py_buffer(b"\x01"), 1)
    assert _all_rows(encode(NAMES, hidden, compiled=True).cells) == _all_rows(encode(NAMES, hidden).cells)
    assert encode(NAMES, hidden, compiled=True).errors == {}


@pytest.mark.parametrize("compiled", [True, False])
def test_errors_know_their_place(compiled: bool) -> None:
    texts = pa.array(['{"a":1}', "{", '{"a":NaN}', "[1]", '{"a":1e999}'])
    encoded = encode(NAMES, texts, place=lambda row: Place("events.csv", str(row + 10)), compiled=compiled)
    assert {row: (error.code, error.place.item) for row, error in encoded.errors.items()} == {
        row: ("HG-642", str(row + 10)) for row in (1, 2, 3, 4)
    }
    assert "NaN is no JSON number" in encoded.errors[2].message
    assert "no JSON object: [1]" in encoded.errors[3].message
    assert "too large for a number" in encoded.errors[4].message
    assert str(encode(NAMES, texts, compiled=compiled).errors[1].place) == ""


@settings(max_examples=50, deadline=None)
@given(st.lists(event_texts(), max_size=8), st.data())
def test_cells_of_some_events(texts: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, max(0, len(texts) - 1)), max_size=5 if texts else 0))
    encoded = encode(NAMES, pa.array(texts, pa.string()), compiled=True)
    taken = take_cells(encoded.cells, np.array(rows, np.int64))
    assert _all_rows(taken) == [cell_rows(encoded.cells, row) for row in rows]


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_the_plain_twin_is_what_lookup_says(tree: dict[str, Any]) -> None:
    rows = event_cells(NAMES, tree)
    assert by_attribute(rows) == naive_cells(NAMES, tree)
    assert cell_rows(cells_of([[], rows, []]), 1) == rows


@given(st.integers(-(2**1100), 2**1100) | st.integers(-(2**54), 2**54))
def test_the_float_below_an_integer(value: int) -> None:
    """Python compares an integer with a float exactly."""
    below = float_below(value)
    assert below <= value < math.nextafter(below, math.inf)


# --- label sets -------------------------------------------------------------------------------------------------


def _label_rows(text: str, names: NameTable) -> list[tuple[int, int, bytes]]:
    encoded = encode(names, pa.array([text]), labels=True, compiled=True)
    assert encoded.errors == {}
    return [(row.kind, row.word, row.text) for row in cell_rows(encoded.cells, 0) if row.attribute == 0]


def test_label_sets_are_lists_of_strings() -> None:
    names = NameTable()
    names.word(names.attribute(LABELS), "b")
    names.attribute(("labels",))
    marker = (LIST, -1, b"")
    listed = STRING | LISTED
    assert _label_rows('{"labels":["b","a","b"]}', names) == [marker, (listed, -1, b"a"), (listed, 0, b"b")]
    assert _label_rows('{"labels":"b"}', names) == [marker, (listed, 0, b"b")]
    for nothing in ("", "{}", '{"labels":null}', '{"labels":[]}', '{"":{"labels":["b"]}}'):
        assert _label_rows(nothing, names) == [marker]


def test_label_sets_beside_the_attribute_of_that_name() -> None:
    names = NameTable()
    attribute = names.attribute(("labels",))
    names.attribute(LABELS)
    encoded = encode(names, pa.array(['{"labels":"x"}']), labels=True)
    assert [row.kind for row in cell_rows(encoded.cells, 0) if row.attribute == attribute] == [STRING]
    assert len(cell_rows(encoded.cells, 0)) == 3
    assert len(cell_rows(encode(NameTable(), pa.array(['{"labels":"x"}']), labels=True).cells, 0)) == 0


# --- which way --------------------------------------------------------------------------------------------------


def test_small_work_does_not_import_numba() -> None:
    script = """
import sys, pyarrow as pa
from heliograph.predicate.attributes import encode
from heliograph.predicate.attributes import NameTable
names = NameTable()
names.word(names.attribute(("a",)), "x")
encode(names, pa.array(['{"a": "x"}'] * 50))
sys.exit("numba" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
