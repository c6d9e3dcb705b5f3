"""Events and their cells as a reader of the rules would write them down: the slow obvious twin of the encoding."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from heliograph.predicate.attributes import Encoded, NameTable, encode
from heliograph.predicate.evaluate import lookup
from heliograph.predicate.form import Path
from heliograph.predicate.layout import FALSE, LIST, LISTED, NUMBER, ODD, OTHER, STRING, TRUE, Cells

Row = tuple[int, int, float, int, bytes]
PATHS: tuple[Path, ...] = (
    ("a",),
    ("b",),
    ("b", "c"),
    ("d", "e"),
    ("d", "e", "f"),
    ("größe",),
    ('q"\\\n',),
    ("lang" * 9,),
)
WORDS = ("x", "y", "größe", "😀", 'q"\\\n', "", "\ud800", "word" * 10)


class CellRow(NamedTuple):
    """One cell, as `attributes.event_cells` gives it."""

    attribute: int
    kind: int
    number: float = 0.0
    word: int = -1
    text: bytes = b""


def cell_rows(cells: Cells, event: int) -> list[CellRow]:
    """The cells of one event out of the arrays."""
    rows = []
    for cell in range(cells.offsets[event], cells.offsets[event + 1]):
        attribute, kind, number, word, begin, size = (part[cell].item() for part in cells[1:-1])
        rows.append(CellRow(attribute, kind, number, word, cells.text[begin : begin + size].tobytes()))
    return rows


def make_names(paths: Iterable[Path] = PATHS, words: Iterable[str] = WORDS, key: int | None = None) -> NameTable:
    """A table that knows every word for every second attribute."""
    names = NameTable(key)
    for path in paths:
        attribute = names.attribute(path)
        for word in words if attribute % 2 == 0 else ():
            names.word(attribute, word)
    return names


def naive_cells(names: NameTable, tree: Mapping[str, Any]) -> list[Row]:
    """The cells of a decoded event by attribute, as `lookup` and the list of kinds have it."""
    rows: list[Row] = []
    for attribute, path in enumerate(names.paths):
        value = lookup(tree, path)
        if isinstance(value, list):
            rows.append((attribute, LIST, 0.0, -1, b""))
            rows += [_naive_cell(names, attribute, one, LISTED) for one in value if one is not None]
        elif value is not None:
            rows.append(_naive_cell(names, attribute, value, 0))
    return rows


def _naive_cell(names: NameTable, attribute: int, value: Any, listed: int) -> Row:
    if isinstance(value, str):
        word = names.words_of[attribute].get(value, -1)
        return attribute, STRING | listed, 0.0, word, value.encode("utf-8", "surrogatepass")
    if isinstance(value, bool):
        return attribute, (TRUE if value else FALSE) | listed, 0.0, -1, b""
    if isinstance(value, int | float):
        kind, number = naive_number(value)
        return attribute, kind | listed, number, -1, str(value).encode() if kind == ODD else b""
    return attribute, OTHER | listed, 0.0, -1, b""


def naive_number(value: int | float) -> tuple[int, float]:
    """An exact number and its kind: halving the gap between floats finds the one just below an odd integer."""
    if isinstance(value, float):
        return NUMBER, 0.0 if value == 0 else value
    low, high = -math.inf, math.inf
    candidates = [low, -1.7976931348623157e308, 1.7976931348623157e308]
    with contextlib.suppress(OverflowError):
        candidates += [float(value), math.nextafter(float(value), -math.inf)]
    below = max(number for number in candidates if number == low or Fraction(number) <= value)
    assert below < high
    return (NUMBER if below == value else ODD), below


def by_attribute(rows: Iterable[tuple[Any, ...]]) -> list[Row]:
    """Attributes in order; the cells of each stay as they are."""
    return sorted((tuple(row) for row in rows), key=lambda row: row[0])


def naive_event(names: NameTable, text: str) -> list[Row] | None:
    """The cells of an event's text, or None if it is refused."""
    if not text.strip():
        return []
    try:
        tree = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return naive_cells(names, tree) if isinstance(tree, dict) else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError(text)
    return float(text)


def check_encoded(names: NameTable, texts: list[str | None], *, compiled: bool) -> Encoded:
    """Encodes the texts and asserts that every row has the cells, or the error, that it should have."""
    encoded = encode(names, pa.array(texts, pa.string()), compiled=compiled)
    for row, text in enumerate(texts):
        expected = naive_event(names, text or "")
        found = by_attribute(cell_rows(encoded.cells, row))
        assert found == (expected or []), text
        assert (row in encoded.errors) == (expected is None), text
    return encoded


# --- events to draw ---------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-(10**21), 10**21),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 10**18 - 1, 10**400, -(10**400), 0.1, -0.0, 5e-324, 1.5e308]),
)
_TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=12), st.text(st.characters(codec=None), max_size=4))
_SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, _TEXTS)
_KEYS = st.one_of(st.sampled_from([name for path in PATHS for name in path]), st.text(max_size=6))
_VALUES: Any = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=8
)
TREES: Any = st.dictionaries(_KEYS, _VALUES, max_size=7)


@st.composite
def event_texts(draw: Any) -> str:
    """A good event, spelled in one of several ways."""
    tree = draw(TREES)
    separators = draw(st.sampled_from([None, (",", ":"), (" ,\t", "\n: "), (", \r\n", ":")]))
    text = json.dumps(tree, ensure_ascii=draw(st.booleans()), separators=separators)
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    before, after = draw(st.sampled_from(["", " ", "\n\t"])), draw(st.sampled_from(["", " ", "\r\n"]))
    return f"{before}{text}{after}"


@st.composite
def broken_texts(draw: Any) -> str:
    """An event with something cut off, put in, doubled or exchanged."""
    text = draw(event_texts())
    first, last = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    sign = draw(
        st.sampled_from([*'{}[]":,\\/eE.+-0179 tfnu', "\0", "\x1f", "\u00a0", "\ufeff", "NaN", "1e999", "\\u12"])
    )
    made: str = draw(
        st.sampled_from(
            [
                text[:first],
                text[first:],
                text[:first] + text[last:],
                text[:first] + sign + text[first:],
                text[:first] + sign + text[first + 1 :],
                text[:last] + text[first:],
            ]
        )
    )
    return made
