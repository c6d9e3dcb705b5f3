"""The kernels of an interner table against plain Python: which cells are simple, what is entered, what is found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed
from heliograph.errors import TermError
from heliograph.terms import Position, TermKind, parse_cell, spell
from heliograph.vocabulary import columns as layout
from heliograph.vocabulary import kernels
from heliograph.vocabulary.columns import (
    PRIME,
    InternerTable,
    Others,
    Strings,
    entries,
    find_spelled,
    find_spelling,
    hash_text,
    no_rows,
    strings,
    strings_of,
)
from tests import naive
from tests import term_strategies as hostile

KEYS = st.one_of(st.integers(1, PRIME - 1), st.sampled_from([1, 2, PRIME - 1, 2**31, 2**60]))
NEAR = st.text("aeEx_5.-~+:<>%tru fals", max_size=9)
CELLS = st.one_of(hostile.texts, NEAR, hostile.objects.map(spell), NEAR.map(lambda text: f"<{text}>"))
TEXTS = st.one_of(st.text(min_size=1, max_size=30), st.text("ab", min_size=1, max_size=20))
KEY = 2**60 + 987_654_321_987_654_321
NO_NULLS = fixed(np.zeros(0, np.uint8))


def _read(texts: list[str], position: Position, key: int = 7) -> tuple[list[int], list[int], int]:
    hashes, ids = np.zeros(len(texts), np.uint32), np.zeros(len(texts), np.int32)
    keyed = np.uint64(key)
    others = kernels.read(strings(texts), NO_NULLS, int(position is Position.PROPERTY), keyed, hashes, ids)
    return hashes.tolist(), ids.tolist(), others


def _may_be_simple(text: str, position: Position) -> bool:
    """Whether a cell is ASCII and the one spelling of an IRI."""
    try:
        term = parse_cell(text, position)
    except TermError:
        return False
    return text.isascii() and term.kind is TermKind.IRI and spell(term) == text == spell(term, position)


@settings(max_examples=200, deadline=None)
@given(st.lists(CELLS, max_size=20), st.sampled_from(Position))
def test_what_is_simple_is_the_spelling_of_an_iri(texts: list[str], position: Position) -> None:
    _, ids, others = _read(texts, position)
    simple = [id != layout.OTHER for id in ids]
    assert others == simple.count(False)
    assert not [text for text, found in zip(texts, simple) if found and not _may_be_simple(text, position)]


@pytest.mark.parametrize(
    "text",
    [
        "v1",
        "_",
        "a",
        "5G",
        "2001-01-01T",
        "-x",
        "true1",
        "True",
        "falsetto",
        "e_5",
        "urn",
        "<a:>",
        "<http://e.org/x?y=z#é>",
    ],
)
def test_names_and_iris_that_are_common_are_simple(text: str) -> None:
    expected = [layout.OTHER if not text.isascii() else layout.UNSEEN]
    assert _read([text], Position.SUBJECT)[1] == expected


@pytest.mark.parametrize(
    "text", ["", "true", "false", "5", "-2.5", "1e5", ".", "é", "x y", "a:b", '"a"', "_:b", "?x", "<x>"]
)
def test_what_means_something_else_is_left_to_python(text: str) -> None:
    assert _read([text], Position.OBJECT)[1] == [layout.OTHER]


def test_the_word_for_rdf_type_is_left_to_python_among_properties() -> None:
    assert _read(["a", "ab"], Position.PROPERTY)[1] == [layout.OTHER, layout.UNSEEN]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.from_regex(r"[a-z][A-Za-z0-9_]{0,30}", fullmatch=True), max_size=8), KEYS)
def test_hashes_are_those_of_the_twin(texts: list[str], key: int) -> None:
    hashes, ids, _ = _read(texts, Position.OBJECT, key)
    expected = [naive.polynomial_hash(layout.HEAD, text.encode(), key) >> 29 for text in texts]
    assert [hashed for hashed, id in zip(hashes, ids) if id != layout.OTHER] == [
        wanted for wanted, id in zip(expected, ids) if id != layout.OTHER
    ]
    assert [hash_text(layout.HEAD, text.encode(), key) >> 29 for text in texts] == expected


def test_cells_at_the_end_of_a_buffer_are_read_to_the_byte() -> None:
    whole = b"v1234567890"
    for size in range(1, len(whole)):
        data = fixed(np.frombuffer(whole[:size], np.uint8))
        ids, hashes = np.zeros(1, np.int32), np.zeros(1, np.uint32)
        cells = Strings(fixed(np.array([0, size], np.int64)), data)
        kernels.read(cells, NO_NULLS, 0, np.uint64(99), hashes, ids)
        assert hashes[0] == hash_text(layout.HEAD, whole[:size], 99) >> 29


# --- entering and finding ---------------------------------------------------------------------------------------


def _enter(into: InternerTable, texts: list[str]) -> list[int]:
    """Enters texts as cells that Python read."""
    codes = fixed(np.arange(len(texts), dtype=np.int32))
    known, kinds = np.full(len(texts), layout.UNSEEN, np.int32), fixed(np.zeros(len(texts), np.uint8))
    ids, cells = np.full(len(texts), layout.OTHER, np.int32), strings([None] * len(texts))
    rows = into.enter(cells, np.zeros(len(texts), np.uint32), Others(codes, known, kinds, strings(texts)), ids)
    into.publish(rows)
    numbers: list[int] = ids.tolist()
    return numbers


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(TEXTS, max_size=12), max_size=5), st.lists(TEXTS, max_size=5))
def test_texts_are_numbered_in_order_of_first_appearance(batches: list[list[str]], others: list[str]) -> None:
    ours, order = InternerTable(), list[str]()
    for batch in batches:
        order = list(dict.fromkeys([*order, *batch]))
        assert _enter(ours, batch) == [order.index(text) for text in batch]
    wanted = [*order, *others]
    expected = [order.index(text) if text in order else -1 for text in wanted]
    assert find_spelled(ours.state[0], wanted) == expected
    assert [find_spelling(ours.state[0], text) for text in wanted] == expected
    assert ours.spelled().to_pylist() == order


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=8), st.lists(TEXTS, max_size=8), st.lists(TEXTS, max_size=12))
def test_a_table_over_another_sees_it_as_it_was(old: list[str], later: list[str], own: list[str]) -> None:
    base = InternerTable()
    _enter(base, old)
    size = base.end
    _enter(base, [*later, *(f"{number}" for number in range(3000))])  # its table is another one by now
    over = InternerTable(base.state[0]._replace(size=size))
    order = list(dict.fromkeys([*old, *own]))
    assert _enter(over, own) == [order.index(text) for text in own]
    assert (over.first, over.end) == (size, len(order))


def test_an_earlier_state_finds_what_it_found() -> None:
    ours = InternerTable()
    _enter(ours, [f"a{number}" for number in range(500)])
    before = ours.state[0]
    _enter(ours, [f"b{number}" for number in range(400)])
    texts = [*(f"a{number}" for number in range(500)), *(f"b{number}" for number in range(400))]
    assert find_spelled(before, texts) == [*range(500), *[-1] * 400]
    assert [find_spelling(before, text) for text in texts] == [*range(500), *[-1] * 400]


def test_a_search_goes_round_the_end_of_the_table() -> None:
    """Texts that hash to the last slot of a small table: found by both twins."""
    rows = no_rows(KEY)._replace(slots=np.zeros(4, np.uint64))
    last = [text for text in (f"v{number}" for number in range(100)) if _slot(text, KEY, 4) == 3][:3]
    for number, text in enumerate(last):
        _append(rows, number, text, (3 + number) % 4)
    rows = rows._replace(size=3)
    assert find_spelled(rows, [*last, "w"]) == [find_spelling(rows, text) for text in [*last, "w"]] == [0, 1, 2, -1]
    larger = rows._replace(slots=np.zeros(8, np.uint64))
    assert kernels.refill(rows, larger) == 3
    assert find_spelled(larger, last) == [0, 1, 2]
    assert kernels.refill(rows._replace(size=2), rows._replace(slots=np.zeros(3, np.uint64))) == 2


def _slot(text: str, key: int, size: int) -> int:
    return (hash_text(layout.HEAD, text.encode(), key) >> 29) * size >> 32


def _append(rows: Any, number: int, text: str, slot: int) -> None:
    start, hashed = int(rows.offsets[number]), hash_text(layout.HEAD, text.encode(), int(rows.key)) >> 29
    rows.data.resize(64, refcheck=False)
    rows.data[start : start + len(text)] = list(text.encode())
    rows.offsets[number + 1] = start + len(text)
    rows.slots[slot] = hashed << 32 | number + 1


def test_terms_that_others_hold_are_not_counted_as_the_tables_own() -> None:
    ours = InternerTable()
    ours.add(entries([parse_cell(text) for text in ("a", '"text"', "5", "_:b", '"chat"@fr')]))
    assert ours.state[1] == 0
    assert ours.kinds(0, 9).tolist() == [layout.IRI, layout.TEXT, layout.LITERAL, layout.BLANK, layout.TEXT]
    _enter(ours, ["v", "a"])
    assert ours.state[1] == 1


def test_offsets_may_be_short_or_long_and_a_column_a_slice() -> None:
    column = pa.array(["x", "abc", None, "de"])
    for whole in (column, column.cast(pa.large_string())):
        offsets, data = strings_of(whole.slice(1, 3))
        assert [bytes(data[begin:end]) for begin, end in pairwise(offsets)] == [b"abc", b"", b"de"]
