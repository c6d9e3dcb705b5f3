"""The hashing kernels against their twins: plain Python in the package, and the naive one here."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.compiled import compile as cache
from heliograph.vocabulary import mapped as hashtable
from heliograph.vocabulary.columns import PRIME, hash_text
from heliograph.vocabulary.mapped import Table, Texts, find_text, find_texts, make_table
from tests import naive

Entry = tuple[int, bytes]
_HEADS = st.integers(0, 2**31 - 1)
_KEYS = st.one_of(st.integers(1, PRIME - 1), st.sampled_from([1, 2, PRIME - 1, 2**31, 2**60]))
_BYTES = st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode), st.binary(max_size=3))
_ENTRIES = st.lists(st.tuples(st.one_of(_HEADS, st.integers(0, 2)), _BYTES), unique=True, max_size=30)


def _texts(entries: list[Entry]) -> Texts:
    offsets = np.cumsum([0, *(len(text) for _, text in entries)], dtype=np.int64)
    data = np.frombuffer(b"".join(text for _, text in entries), np.uint8)
    return Texts(np.array([head for head, _ in entries], np.int32), offsets, data)


@settings(max_examples=200, deadline=None)
@given(_ENTRIES, _KEYS)
def test_hashes_are_those_of_the_naive_twin(entries: list[Entry], key: int) -> None:
    assert [hash_text(*entry, key) for entry in entries] == [naive.polynomial_hash(*entry, key) for entry in entries]


_LARGEST = [(2**31 - 1, b"\xff" * 70), (0, b""), (0, b"\0"), (0, b"\0\0"), (1, b"")]


@settings(max_examples=100, deadline=None)
@given(_ENTRIES, _ENTRIES, _KEYS)
@example(_LARGEST, [], PRIME - 1)
@example(_LARGEST, [], 2**61 - 2**31)
@example(_LARGEST, [], 2**60 + 1)
def test_both_ways_make_one_table_and_find_the_same(stored: list[Entry], others: list[Entry], key: int) -> None:
    wanted = [*stored, *others]
    expected = naive.find(wanted, stored)
    texts = _texts(stored)
    table = _made(texts, key, by_kernel=False)
    by_kernel = _made(texts, key, by_kernel=True)
    np.testing.assert_array_equal(table.slots, by_kernel.slots)
    np.testing.assert_array_equal(table.marks, by_kernel.marks)
    assert [find_text(head, text, texts, table) for head, text in wanted] == expected
    assert find_texts(_texts(wanted), texts, table).tolist() == expected


def _made(texts: Texts, key: int, *, by_kernel: bool) -> Table:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hashtable, "pays", lambda count: by_kernel)
        return make_table(texts, key)


def test_a_table_is_at_most_half_full_and_keyed_at_random() -> None:
    for count in (0, 1, 4, 5, 100, 1024):
        texts = _texts([(0, str(number).encode()) for number in range(count)])
        one, other = make_table(texts), make_table(texts)
        assert one.key != other.key
        assert 0 < one.key < PRIME
        assert np.count_nonzero(one.slots >= 0) == count
        assert len(one.slots) >= max(8, 2 * count)


def test_probes_stay_short() -> None:
    """A look-up is a probe or two, also for names that differ in their last letters only."""
    texts = _texts([(4, f"http://example.org/things/{number:07d}".encode()) for number in range(20_000)])
    table = make_table(texts)
    taken = np.flatnonzero(table.slots >= 0)
    mask = len(table.slots) - 1
    homes = [hash_text(4, hashtable.text_at(texts, int(table.slots[slot])), table.key) & mask for slot in taken[::20]]
    distances = (taken[::20] - np.array(homes)) & mask
    assert distances.mean() < 1.5
    assert distances.max() < 60


def test_warming_covers_every_signature_in_use() -> None:
    """What the wrappers really call is among the declared signatures, so nothing is compiled after a warm-up."""
    texts = _texts([(number, b"x") for number in range(10)])
    find_texts(texts, texts, _made(texts, 5, by_kernel=True))
    declared = cache.declared()
    assert set(declared) >= {f"heliograph.vocabulary.kernels.{name}" for name in ("fill", "find", "hashes")}
    for entry in declared.values():
        assert entry.signatures
        assert set(entry.dispatcher.signatures) <= set(entry.signatures)


def test_small_work_does_not_import_numba() -> None:
    script = """
import sys, tempfile, pyarrow as pa
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary
from heliograph.compiled import compile as cache
vocabulary = Vocabulary()
vocabulary.intern_cells(pa.array(["a", "5", "b"]), Position.OBJECT)
with tempfile.TemporaryDirectory() as folder:
    vocabulary.save(folder + "/v")
    loaded = Vocabulary.load(folder + "/v")
    loaded.intern_cells(pa.array(["a", "c"]), Position.OBJECT)
cache.status()
sys.exit("numba" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("imported", "count", "expected"),
    [(True, 5_000, True), (True, 4_999, False), (False, 99_999, False), (False, 100_000, True)],
)
def test_when_kernels_pay(monkeypatch: pytest.MonkeyPatch, imported: bool, count: int, expected: bool) -> None:
    if imported:
        monkeypatch.setitem(sys.modules, "numba", sys)
    else:
        monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert hashtable.pays(count) is expected
