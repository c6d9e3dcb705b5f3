"""The numbers of names and words, and the snapshots that kernels search."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate import attributes as module
from heliograph.predicate.attributes import NameTable, json_column, scan_column, utf8
from heliograph.predicate.form import Path
from heliograph.predicate.layout import Names
from heliograph.vocabulary.columns import PRIME, hash_text
from tests.predicate.cell_cases import cell_rows

_PATHS = st.lists(st.lists(st.sampled_from("abcä"), min_size=1, max_size=3).map(tuple), min_size=1, max_size=12)
_WORDS = st.lists(st.tuples(st.integers(0, 11), st.text(max_size=9)), max_size=40)


def naive_find(names: Names, attribute: int, text: bytes) -> int:
    """The word of an attribute in a snapshot, or with attribute -1 the number of a name, slot after slot."""
    is_name = attribute < 0
    slots = names.name_slots if is_name else names.word_slots
    offsets, stored = (names.name_offsets, names.name_bytes) if is_name else (names.word_offsets, names.word_bytes)
    slot = hash_text(1 if is_name else attribute + 1, text, int(names.key)) % len(slots)
    while 0 <= (number := int(slots[slot])) < len(offsets) - 1:
        same = is_name or names.word_attributes[number] == attribute
        if same and stored[offsets[number] : offsets[number + 1]].tobytes() == text:
            return number
        slot = (slot + 1) % len(slots)
    return -1


def check_snapshot(names: Names, paths: list[Path], words: list[tuple[int, str]]) -> None:
    """Asserts that a snapshot knows these paths and words by their numbers, and half of its slots are free."""
    firsts = list(dict.fromkeys(path[0] for path in paths))
    for number, first in enumerate(firsts):
        assert naive_find(names, -1, utf8(first)) == number
        alone = paths.index((first,)) if (first,) in paths else -1
        assert names.name_attributes[number] == alone
        assert names.name_nested[number] == any(path[0] == first and len(path) > 1 for path in paths)
    for number, (attribute, text) in enumerate(words):
        assert naive_find(names, attribute, utf8(text)) == number
    assert len(names.word_attributes) == len(words)
    for slots, count in ((names.name_slots, len(firsts)), (names.word_slots, len(words))):
        assert len(slots).bit_count() == 1
        assert 2 * count <= len(slots)


@settings(max_examples=100, deadline=None)
@given(_PATHS, _WORDS)
def test_a_number_is_given_once_and_a_snapshot_stays(paths: list[Path], words: list[tuple[int, str]]) -> None:
    names = NameTable()
    known_paths: dict[Path, int] = {}
    known_words: dict[tuple[int, str], int] = {}
    taken: list[tuple[Names, list[Path], list[tuple[int, str]]]] = []
    for path in paths:
        assert names.attribute(path) == known_paths.setdefault(path, len(known_paths))
        taken.append((names.snapshot(), list(known_paths), list(known_words)))
        for attribute, text in words[:: len(known_paths)]:
            pair = attribute % len(known_paths), text
            assert names.word(*pair) == known_words.setdefault(pair, len(known_words))
        taken.append((names.snapshot(), list(known_paths), list(known_words)))
    assert names.paths == list(known_paths)
    assert names.word_count == len(known_words)
    for snapshot in taken:
        check_snapshot(*snapshot)


def test_snapshots_cannot_be_written_to() -> None:
    names = NameTable()
    names.word(names.attribute(("a",)), "x")
    for array in names.snapshot()[1:]:
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


def test_both_ways_of_hashing_give_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = []
    for by_kernel in (False, True):
        monkeypatch.setattr(module, "pays", lambda count, chosen=by_kernel: chosen)
        names = NameTable(key=12345)
        for number in range(300):
            names.word(names.attribute((f"a{number % 7}", "ö")), f"word {number} " * (number % 5))
        tables.append(names.snapshot())
    for one, other in zip(*tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_names_chosen_to_collide_without_the_key_do_not() -> None:
    """Texts that are equal modulo 2^64, modulo a short prime or in their first words have nothing in common here."""
    texts = [f"{'x' * 49}{number:04d}" for number in range(3_000)] + ["\0" * number for number in range(500)]
    names = NameTable()
    attribute = names.attribute(("a",))
    for text in texts:
        names.word(attribute, text)
    snapshot = names.snapshot()
    mask = len(snapshot.word_slots) - 1
    taken = np.flatnonzero(snapshot.word_slots >= 0)
    homes = [
        hash_text(attribute + 1, utf8(texts[snapshot.word_slots[slot]]), int(snapshot.key)) & mask for slot in taken
    ]
    assert ((taken - np.array(homes)) & mask).mean() < 1.5


def test_the_kernel_takes_words_and_names_that_came_later_for_unknown() -> None:
    """An older snapshot shares its slots with newer ones as long as the table has not grown."""
    names = NameTable(key=99)
    attribute = names.attribute(("a",))
    names.word(attribute, "old")
    before = names.snapshot()
    for text in ("new", "newer", "newest"):
        names.word(attribute, text)
    names.attribute(("b",))
    names.attribute(("a", "c"))
    after = names.snapshot()
    assert after.word_slots.base is before.word_slots.base
    column = json_column(pa.array(['{"a":"old","b":1}', '{"a":"newest","b":1}', '{"a":["newer"]}']))
    old, new = (scan_column(snapshot, column) for snapshot in (before, after))
    assert [[row.word for row in cell_rows(old[0], event)] for event in range(3)] == [[0], [-1], [-1, -1]]
    assert [[row.word for row in cell_rows(new[0], event)] for event in range(2)] == [[0, -1], [3, -1]]
    assert (old[1].tolist(), new[1].tolist()) == ([], [2])


def test_readers_take_snapshots_while_one_writes() -> None:
    names = NameTable()
    attributes = [names.attribute((name,)) for name in "abc"]
    words = [(attributes[number % 3], f"word{number}") for number in range(3_000)]
    taken: list[Names] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            taken.append(names.snapshot())

    reader = threading.Thread(target=read)
    reader.start()
    for attribute, text in words:
        names.word(attribute, text)
    done.set()
    reader.join()
    for snapshot in [*taken[:: max(1, len(taken) // 20)], names.snapshot()]:
        check_snapshot(snapshot, names.paths, words[: len(snapshot.word_attributes)])


def test_tables_are_keyed_at_random() -> None:
    keys = {int(NameTable().snapshot().key) for _ in range(20)}
    assert len(keys) == 20
    assert all(0 < key < PRIME for key in keys)
