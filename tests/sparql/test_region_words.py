"""A text that passes a test has the needle's key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import compile_regex, regex_problem
from heliograph.sparql.regions import SHORTEST, Piece, needle_key, regex_key, text_keys

TESTS: dict[Piece, Callable[[str, str], bool]] = {
    Piece.ANYWHERE: str.__contains__,
    Piece.START: str.startswith,
    Piece.END: str.endswith,
    Piece.WHOLE: str.__eq__,
}
KNOWN = [222721158203, 1101449337123, 2200960964899, 3300472592675]
letters = st.sampled_from([*"abcAB é😀İ\n.+/\ud800\x00"])
texts = st.one_of(st.text(letters, max_size=90), st.text(max_size=20), st.text(letters, min_size=250, max_size=300))


@settings(max_examples=300)
@given(texts, st.integers(0, 300), st.integers(0, 90), st.sampled_from(Piece))
def test_what_passes_a_test_has_the_key(text: str, start: int, length: int, piece: Piece) -> None:
    cut = {Piece.START: text[:length], Piece.END: text[-length:] if length else "", Piece.WHOLE: text}
    needle = cut.get(piece, text[start : start + length])
    assert TESTS[piece](text, needle)
    key = needle_key(needle, piece)
    assert (key is None) == (len(needle) < SHORTEST and piece is not Piece.WHOLE)
    assert key is None or key in text_keys(text)


def test_keys_are_small_integers_and_stay_what_they_are() -> None:
    keys = text_keys("Überschwemmung 😀")
    assert all(type(key) is int and 0 <= key < 2**53 for key in keys)
    assert len(set(keys)) == len(keys) == 1 + 2 * 6 + 14
    assert [needle_key("abc", piece) for piece in Piece] == KNOWN


def test_other_texts_seldom_have_the_key() -> None:
    needles = [f"{number:06d}" for number in range(0, 1000, 7)]
    text = frozenset(text_keys("the quick brown fox jumps over the lazy dog"))
    assert [needle for needle in needles if {needle_key(needle, piece) for piece in Piece} & text] == []
    assert len({needle_key("abcd" + needle, Piece.END) for needle in needles}) == len(needles)


def test_a_needle_is_asked_for_by_its_rarest_part() -> None:
    assert needle_key("http://example.org/zebra") == needle_key("zeb")
    assert needle_key("the xylophone") == needle_key("xyl")
    assert needle_key("İİİ") in text_keys("aİİİ")


@pytest.mark.parametrize(
    ("pattern", "needle", "piece"),
    [
        ("abc", "abc", Piece.ANYWHERE),
        ("^abc", "abc", Piece.START),
        ("abc$", "abc", Piece.END),
        ("^abc$", "abc", Piece.WHOLE),
        ("ab+c+?def", "def", Piece.ANYWHERE),
        ("abcd?e", "abc", Piece.ANYWHERE),
        ("x.*abc", "abc", Piece.ANYWHERE),
        ("^a.*bcde$", "bcde", Piece.ANYWHERE),
    ],
)
def test_a_pattern_is_asked_for_by_what_it_needs(pattern: str, needle: str, piece: Piece) -> None:
    assert regex_key(pattern) == needle_key(needle, piece)


@pytest.mark.parametrize("pattern", ["abc|def", "(abc)", "[abc]", "abc{0}", r"\babc", "ab", "", "(?i)abc"])
def test_a_pattern_that_needs_nothing_that_is_seen(pattern: str) -> None:
    assert regex_key(pattern) is None


@settings(max_examples=400)
@given(st.text("abc^$.*+?|()[]{}\\1", max_size=8), st.text("abc\n1", max_size=12))
def test_what_a_pattern_finds_has_its_key(pattern: str, text: str) -> None:
    key = regex_key(pattern)
    found = regex_problem(pattern) is None and compile_regex(pattern).search(text) is not None
    assert not found or key is None or key in text_keys(text)
