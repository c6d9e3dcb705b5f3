"""The vocabulary: dense ids that never change, whatever the columns' layout and the overlays."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import vocabulary_speed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.errors import TermError, UsageError
from heliograph.terms import PREFIXES, RDF_TYPE, Position, Term, blank, iri, literal, parse_cell, plain_name, spell
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary import columns as memo
from heliograph.vocabulary.columns import typed_of
from tests import term_strategies as hostile
from tests.vocabulary.columns import interned_singly, same, shown, through_tables

OBJECT, PROPERTY, SUBJECT = Position.OBJECT, Position.PROPERTY, Position.SUBJECT
TERMS = st.lists(hostile.objects, max_size=12)
CELLS = st.lists(st.none() | hostile.texts, max_size=20)


# --- single terms -----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(TERMS)
def test_ids_are_dense_and_terms_come_back(terms: list[Term]) -> None:
    vocabulary = Vocabulary()
    ids = [vocabulary.intern(term) for term in terms]
    order = list(dict.fromkeys(terms))
    assert ids == [order.index(term) for term in terms]
    assert len(vocabulary) == len(order)
    assert [vocabulary.term(id) for id in ids] == terms
    assert vocabulary.intern_many(terms) == vocabulary.find_many(terms) == ids
    assert [vocabulary.find(term) for term in terms] == ids


def test_what_is_unknown_has_no_id() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.find(plain_name("a")) == -1
    assert plain_name("a") not in vocabulary
    vocabulary.intern(plain_name("a"))
    assert plain_name("a") in vocabulary
    assert vocabulary.find_many([literal("a"), plain_name("a")]) == [-1, 0]


@pytest.mark.parametrize("id", [-1, 1])
def test_an_id_out_of_range(id: int) -> None:
    vocabulary = Vocabulary()
    vocabulary.intern(blank("b"))
    for one in (vocabulary, vocabulary.overlay()):
        with pytest.raises(IndexError):
            one.term(id)


@pytest.mark.parametrize("term", [literal("\ud800"), iri("urn:\udfff"), literal("x", "urn:\ud800")])
def test_lone_surrogates_are_refused(term: Term) -> None:
    vocabulary = Vocabulary()
    with pytest.raises(TermError) as caught:
        vocabulary.intern(term)
    assert caught.value.code == "HG-108"
    assert len(vocabulary) == 0


# --- columns ----------------------------------------------------------------------------------------------------


def _layouts(texts: list[str | None]) -> dict[str, Any]:
    array = pa.array(texts, pa.string())
    middle = len(texts) // 2
    encoded = array.dictionary_encode()
    padded = pa.array(["not this", *texts, None], pa.string())
    return {
        "string": array,
        "large_string": array.cast(pa.large_string()),
        "string_view": array.cast(pa.string_view()),
        "slice": padded.slice(1, len(texts)),
        "slice of large": padded.cast(pa.large_string()).slice(1, len(texts)),
        "dictionary": encoded,
        "dictionary of bytes": encoded.cast(pa.dictionary(pa.uint8(), pa.string())),
        "dictionary of large": encoded.cast(pa.dictionary(pa.int64(), pa.large_string())),
        "slice of a dictionary": padded.dictionary_encode().slice(1, len(texts)),
        "dictionary with a null entry": pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), pa.int32()), array),
        "dictionary of views": pa.DictionaryArray.from_arrays(
            pa.array(range(len(texts)), pa.int32()), array.cast(pa.string_view())
        ),
        "chunks": pa.chunked_array([array[:middle], array[:0], array[middle:]], pa.string()),
        "chunks of dictionaries": pa.chunked_array(
            [array[:middle].dictionary_encode(), array[middle:].dictionary_encode()]
        ),
        "no chunks": pa.chunked_array([], pa.string()) if not texts else array,
    }


@pytest.fixture(params=["cell by cell", "through a table"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "through a table":
        through_tables(monkeypatch)


@pytest.mark.usefixtures("either_way")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CELLS, st.sampled_from(Position))
def test_every_layout_of_a_column_is_interned_alike(texts: list[str | None], position: Position) -> None:
    expected = interned_singly(Vocabulary(), texts, position)
    for name, column in _layouts(texts).items():
        vocabulary = Vocabulary()
        assert shown(vocabulary.intern_cells(column, position)) == expected, name
        assert shown(vocabulary.intern_cells(column, position)) == expected, name  # from memory
        assert len(vocabulary) == max(expected[0], default=-1) + 1, name


@pytest.mark.usefixtures("either_way")
def test_a_column_of_nulls() -> None:
    result = Vocabulary().intern_cells(pa.nulls(2), SUBJECT)
    assert shown(result) == ([-1, -1], [(0, "HG-101"), (1, "HG-101")])
    assert shown(Vocabulary().intern_cells(pa.array([], pa.string()), OBJECT)) == ([], [])


def test_an_error_names_its_row_and_the_rest_is_taken() -> None:
    vocabulary = Vocabulary()
    ids, errors = vocabulary.intern_cells(pa.array(["a", "zz:x", "b", "zz:x", None]), SUBJECT)
    assert ids.tolist() == [0, -1, 1, -1, -1]
    assert [row for row, _ in errors] == [1, 3, 4]
    assert all("prefix" in str(error) for _, error in errors[:2])
    assert "empty subject" in str(errors[2][1])


def test_the_same_text_means_different_things_in_different_columns() -> None:
    vocabulary = Vocabulary()
    column = pa.array(["a"])
    other = {**PREFIXES, "": "http://example.org/"}
    assert vocabulary.term(vocabulary.intern_cells(column, PROPERTY).ids[0]) == RDF_TYPE
    assert vocabulary.term(vocabulary.intern_cells(column, OBJECT).ids[0]) == plain_name("a")
    for prefixes, expected in (
        (PREFIXES, "urn:heliograph:a"),
        (other, "http://example.org/a"),
        (PREFIXES, "urn:heliograph:a"),
    ):
        ids = vocabulary.intern_cells(pa.array([":a"]), OBJECT, prefixes).ids
        assert vocabulary.term(int(ids[0])) == iri(expected)


@pytest.mark.usefixtures("either_way")
def test_unused_dictionary_entries_are_not_interned() -> None:
    vocabulary = Vocabulary()
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 1]), pa.array(["unused", "used", "zz:bad"]))
    assert shown(vocabulary.intern_cells(column, OBJECT)) == ([0, -1, 0], [(1, "HG-101")])
    assert len(vocabulary) == 1


@pytest.mark.usefixtures("either_way")
def test_bytes_that_are_not_utf8_are_refused_alone() -> None:
    offsets, data = pa.py_buffer(np.array([0, 1, 3, 4, 4], np.int32).tobytes()), pa.py_buffer(b"a\xff\xfeb")
    column = pa.StringArray.from_buffers(4, offsets, data, pa.py_buffer(b"\x07"))
    assert shown(Vocabulary().intern_cells(column, OBJECT)) == ([0, -1, 1, -1], [(1, "HG-108"), (3, "HG-101")])
    encoded = pa.DictionaryArray.from_arrays(pa.array([3, 1, 0]), column)
    assert shown(Vocabulary().intern_cells(encoded, OBJECT)) == ([-1, -1, 0], [(0, "HG-101"), (1, "HG-108")])


def test_other_columns_are_a_usage_error() -> None:
    for column in (pa.array([1, 2]), pa.array([1, 2]).dictionary_encode(), pa.chunked_array([[1.5]])):
        with pytest.raises(UsageError, match="as terms") as caught:
            Vocabulary().intern_cells(column, OBJECT)
        assert caught.value.code == "HG-061"


def test_memory_of_cells_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_REMEMBERED", 10)
    vocabulary = Vocabulary()
    for start in range(0, 40, 4):
        texts = [f"n{number}" for number in range(start, start + 4)]
        ids = vocabulary.intern_cells(pa.array([*texts, "x" * 300]), OBJECT).ids
        assert [vocabulary.term(id) for id in ids[:4].tolist()] == [plain_name(text) for text in texts]
    (known,) = vocabulary._memo._known.values()
    assert 0 < len(known) <= 10
    assert "x" * 300 not in known


@settings(max_examples=60, deadline=None)
@given(TERMS)
def test_spelling_many(terms: list[Term]) -> None:
    vocabulary = Vocabulary()
    ids = [*vocabulary.intern_many(terms), -1, *vocabulary.intern_many(terms)]
    spelled = vocabulary.spell(ids)
    assert spelled.type == pa.string()
    assert spelled.to_pylist() == [*map(spell, terms), None, *map(spell, terms)]
    assert vocabulary.spell(np.array([], np.int32)).to_pylist() == []


def test_spelling_by_position() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.spell([vocabulary.intern(plain_name("a"))], PROPERTY).to_pylist() == ["<urn:heliograph:a>"]


# --- overlays ---------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(TERMS, TERMS, TERMS)
def test_an_overlay_sees_its_base_as_it_was_and_leaves_it_alone(
    old: list[Term], later: list[Term], own: list[Term]
) -> None:
    base = Vocabulary()
    base.intern_many(old)
    size = len(base)
    overlay = base.overlay()
    base.intern_many(later)
    grown = len(base)
    ids = overlay.intern_many(own)
    order = list(dict.fromkeys([*old, *own]))
    assert ids == [order.index(term) for term in own]
    assert [overlay.term(id) for id in range(len(overlay))] == order
    assert len(base) == grown
    assert overlay.find_many(old) == base.find_many(old)
    assert all(overlay.find(term) == -1 for term in later if term not in order)
    assert same(overlay.typed(), typed_of(order))
    assert size <= len(overlay)


def test_an_overlay_over_an_overlay() -> None:
    base = Vocabulary()
    base.intern(plain_name("a"))
    first = base.overlay()
    first.intern(plain_name("b"))
    second = first.overlay()
    assert second.intern_cells(pa.array(["c", "b", "a"]), OBJECT).ids.tolist() == [2, 1, 0]
    assert first.intern(plain_name("d")) == 2
    assert [str(second.term(id)) for id in range(3)] == ["a", "b", "c"]
    assert (len(base), len(first), len(second)) == (1, 2 + 1, 3)


def test_cells_met_in_an_overlay_are_remembered_in_the_base_if_they_are_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = Vocabulary()
    base.intern(plain_name("a"))
    column = pa.array(["a", "b"])
    base.overlay().intern_cells(column, OBJECT)
    read: list[str | None] = []

    def reading(text: str | None, *rest: Any) -> Term:
        read.append(text)
        return parse_cell(text, *rest)

    monkeypatch.setattr(memo, "parse_cell", reading)
    assert base.overlay().intern_cells(column, OBJECT).ids.tolist() == [0, 1]
    assert [text for text in read if text is not None] == ["b"]
    base.intern_cells(pa.array(["z", "b"]), OBJECT)
    late = base.overlay()
    base.intern_cells(pa.array(["y"]), OBJECT)
    assert late.intern_cells(pa.array(["y", "b"]), OBJECT).ids.tolist() == [3, 2]
    assert late.term(3) == plain_name("y")


# --- threads ----------------------------------------------------------------------------------------------------


def test_an_interrupted_append_is_overwritten() -> None:
    vocabulary = Vocabulary()
    vocabulary.intern(plain_name("a"))
    vocabulary._terms.append(plain_name("interrupted before its id was entered"))
    assert len(vocabulary) == 1
    assert vocabulary.intern_many([plain_name("b"), plain_name("c")]) == [1, 2]
    assert [str(vocabulary.term(id)) for id in range(3)] == ["a", "b", "c"]
    assert len(vocabulary.typed().kind) == 3


def test_interning_leaves_nothing_to_the_collector() -> None:
    vocabulary, column = Vocabulary(), pa.array(["a", "b:c", None, "5"])
    gc.collect()
    gc.disable()
    try:
        assert len(vocabulary.overlay().intern_cells(column, Position.OBJECT).errors) == 2
        assert gc.collect() == 0
    finally:
        gc.enable()


# --- the benchmark ----------------------------------------------------------------------------------------------


def test_the_benchmark_measures() -> None:
    assert vocabulary_speed.measure(seed=1, rows=1000) > 0
    assert vocabulary_speed.measure_names(seed=1, rows=1000) > 0
