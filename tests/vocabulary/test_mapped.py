"""Saved vocabularies: the same terms under the same ids, used from mapped arrays, refused when damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import StorageError
from heliograph.storage import read_folder, write_folder
from heliograph.terms import Position, Term, blank, literal, plain_name
from heliograph.values import XSD
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary import mapped as flat
from heliograph.vocabulary import mapped as hashtable
from tests import term_strategies as hostile
from tests.vocabulary.columns import same

OBJECT = Position.OBJECT
TERMS = st.lists(hostile.objects, max_size=12)


@settings(max_examples=40, deadline=None)
@given(TERMS, TERMS, TERMS)
def test_a_packed_vocabulary_is_the_same_and_grows_on(old: list[Term], later: list[Term], others: list[Term]) -> None:
    vocabulary = Vocabulary()
    vocabulary.intern_many(old)
    for new in (later, others):  # the second round packs a vocabulary that was itself unpacked
        again = Vocabulary.unpack(vocabulary.pack())
        assert len(again) == len(vocabulary)
        assert [again.term(id) for id in range(len(again))] == [vocabulary.term(id) for id in range(len(again))]
        assert again.find_many(new) == vocabulary.find_many(new)
        assert same(again.typed(), vocabulary.typed())
        assert again.intern_many(new) == vocabulary.intern_many(new)
        assert same(again.typed(), vocabulary.typed())
        vocabulary = again


def test_save_and_load(tmp_path: Path) -> None:
    vocabulary = Vocabulary()
    texts = ["a", "5", '"chat"@fr', '"2026-11-15"^^xsd:date', "_:b", '"x"^^<urn:t>', '""', '"é\\n"']
    vocabulary.intern_cells(pa.array(texts), OBJECT)
    vocabulary.save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert loaded.spell(range(len(texts))).to_pylist() == texts
    assert loaded.intern_cells(pa.array([*texts, "new"]), OBJECT).ids.tolist() == list(range(len(texts) + 1))
    assert loaded.typed(np.array([8, 1, 8], np.int32)).number.tolist()[1] == 5.0
    loaded.save(tmp_path / "v")
    assert Vocabulary.load(str(tmp_path / "v")).find(plain_name("new")) == len(texts)
    assert loaded.term(2) == literal("chat", language="fr")


def test_an_overlay_is_saved_with_its_base(tmp_path: Path) -> None:
    base = Vocabulary()
    base.intern(plain_name("a"))
    base.save(tmp_path / "base")
    overlay = Vocabulary.load(tmp_path / "base").overlay()
    overlay.intern(literal("b"))
    overlay.save(tmp_path / "v")
    assert Vocabulary.load(tmp_path / "v").spell([0, 1]).to_pylist() == ["a", '"b"']


def test_an_empty_vocabulary(tmp_path: Path) -> None:
    Vocabulary().save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert len(loaded) == 0
    assert loaded.intern(plain_name("a")) == 0


def test_a_loaded_vocabulary_holds_no_dictionary_of_its_terms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(flat, "_REMEMBERED", 8)
    vocabulary = Vocabulary()
    vocabulary.intern_many([plain_name(f"n{number}") for number in range(100)])
    vocabulary.save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert [loaded.find(loaded.term(id)) for id in range(100)] == list(range(100))
    assert len(loaded._ids) == 0
    below = loaded._below
    assert isinstance(below, flat.SavedTerms)
    assert len(below._decoded) <= 8


def test_large_batches_find_the_same_by_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary()
    known = [plain_name(f"n{number}") for number in range(300)] + [literal(str(n), XSD + "integer") for n in range(300)]
    vocabulary.intern_many(known)
    unknown = [literal("n1"), literal("5"), literal("5", "urn:unknown"), literal("x", language="de"), blank("n1")]
    monkeypatch.setattr(flat, "pays", lambda count: True)
    monkeypatch.setattr(hashtable, "pays", lambda count: True)
    stored = Vocabulary.unpack(vocabulary.pack())
    assert stored.find_many([*unknown, *known]) == [-1] * len(unknown) + list(range(len(known)))


def _damage(saved: dict[str, Any], meta: dict[str, Any], how: str) -> None:
    arrays = {name: array.copy() for name, array in saved.items()}
    match how:
        case "no heads":
            del arrays["heads"]
        case "wrong type":
            arrays["heads"] = arrays["heads"].astype(np.int64)
        case "heads beyond the qualifiers":
            arrays["heads"][0] = 400
        case "heads of no kind":
            arrays["heads"][0] = 3
        case "offsets that run back":
            arrays["offsets"][1] = 99
        case "offsets of another length":
            arrays["offsets"] = arrays["offsets"][:-1]
        case "data cut off":
            arrays["data"] = arrays["data"][:-1]
        case "slots all taken":
            arrays["slots"][:] = 0
        case "slots beyond the terms":
            arrays["slots"][arrays["slots"] == 0] = 77
        case "slots of no power of two":
            arrays["slots"], arrays["marks"] = arrays["slots"][:-1], arrays["marks"][:-1]
        case "typed columns too short":
            arrays["number"] = arrays["number"][:-1]
        case "no key":
            del meta["key"]
        case "qualifiers that are no pairs":
            meta["qualifiers"] = [1]
    saved.clear()
    saved.update(arrays)


@pytest.mark.parametrize(
    "how",
    [
        *("no heads", "wrong type", "heads beyond the qualifiers", "heads of no kind", "offsets that run back"),
        *("offsets of another length", "data cut off", "slots all taken", "slots beyond the terms"),
        *("slots of no power of two", "typed columns too short", "no key", "qualifiers that are no pairs"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path: Path, how: str) -> None:
    vocabulary = Vocabulary()
    vocabulary.intern_many([plain_name("a"), literal("b")])
    arrays, meta = vocabulary.pack()
    _damage(arrays, meta, how)
    write_folder(tmp_path / "v", "vocabulary", 1, arrays=arrays, meta=meta)
    with pytest.raises(StorageError) as caught:
        Vocabulary.load(tmp_path / "v")
    assert caught.value.code == "HG-805"
    assert str(tmp_path) in str(caught.value)


def test_a_term_that_is_not_utf8_is_a_storage_error() -> None:
    vocabulary = Vocabulary()
    vocabulary.intern(plain_name("a"))
    packed = vocabulary.pack()
    packed.arrays["data"] = np.full_like(packed.arrays["data"], 0xFF)
    with pytest.raises(StorageError) as caught:
        Vocabulary.unpack(packed).term(0)
    assert caught.value.code == "HG-805"


def test_a_save_of_another_version_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "v", "vocabulary", 99)
    with pytest.raises(StorageError) as caught:
        Vocabulary.load(tmp_path / "v")
    assert caught.value.code == "HG-804"
    assert read_folder(tmp_path / "v", "vocabulary", {99}).version == 99


@pytest.mark.parametrize("column", ["kind", "category"])
def test_values_of_an_unknown_kind_are_refused(column: str) -> None:
    vocabulary = Vocabulary()
    vocabulary.intern(literal("b"))
    packed = vocabulary.pack()
    packed.arrays[column] = np.full_like(packed.arrays[column], 128)
    with pytest.raises(StorageError) as caught:
        Vocabulary.unpack(packed)
    assert caught.value.code == "HG-805"
