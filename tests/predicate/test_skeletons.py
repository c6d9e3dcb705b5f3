"""Targeting in bulk: the same numbers and errors as one by one, whatever the text, and each part parsed once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import PredicateError
from heliograph.predicate import compile as skeletons
from heliograph.predicate import compile as store
from heliograph.predicate.compile import Targeting
from heliograph.predicate.form import Predicate, to_sql
from heliograph.predicate.parser import parse_predicate
from tests.predicate.forms import forms

SKELETON = "a = 1 AND (b > 2 OR NOT c LIKE 'x%')"


def one_by_one(targeting: Targeting, texts: list[str | None]) -> list[int | str]:
    numbers: list[int | str] = []
    for text in texts:
        try:
            numbers.append(targeting.add(parse_predicate(text)))
        except PredicateError as error:
            numbers.append(str(error))
    return numbers


def check_bulk(texts: list[str | None]) -> None:
    """add_many gives what add gives for each text, with the errors that parsing it alone gives.

    A text is taken apart when its skeleton comes for the second time, and atoms are filled in when they come again.
    """
    targeting = Targeting()
    expected = one_by_one(targeting, texts)
    size = len(targeting)
    for _ in range(4):
        many = targeting.add_many(texts)
        assert [str(entry) if isinstance(entry, PredicateError) else entry for entry in many] == expected
    assert len(targeting) == size


@given(st.lists(forms.map(to_sql), max_size=5))
def test_bulk_equals_one_by_one(texts: list[str]) -> None:
    check_bulk([*texts, None, *texts])


PIECES = (
    'a b.c "d e" """" x limit NOT not AND and OR or ( ) = <> != < <= > >= == IN BETWEEN LIKE ILIKE ESCAPE IS NULL '
    "TRUE FALSE 5 -5 + - .5 5. 1e5 5a 1.2.3 'x' 'it''s' '%' ' '' , . -- /* */ * f( SELECT WHERE CASE $ @ é ½ ſ"
).split(" ")


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from([" ", "", "\n"]))
def test_bulk_reads_whatever_tokens_come(pieces: list[str], gap: str) -> None:
    check_bulk([gap.join(pieces), f"a = 1 AND {gap.join(pieces)}", f"({gap.join(pieces)}) OR b < 'x'"])


@given(forms.map(to_sql), st.integers(0, 200), st.sampled_from(["", " ", "'", '"', "(", ")", "5", ".", "-", "AND"]))
def test_bulk_reads_damaged_text(text: str, place: int, put: str) -> None:
    place %= len(text)
    check_bulk([text[:place] + put + text[place:], text[:place] + put + text[place + 1 :]])


@pytest.mark.parametrize(
    "text",
    [
        "a = 1AND b = 2",
        "a = 'x'AND b = 2",
        "a = TRUEAND b = 2",
        "a IS NULLAND b = 1",
        "a = 1 b = 2",
        "a = 'x'b = 2",
        "(a = 1)(b = 2)",
        "a = 1 (b = 2)",
        "f (a = 1)",
        "a = 1 = 2",
        "a.5 < b",
        "a . b = 5",
        "a = b.c",
        "NOT = 5",
        "a AND IN (5)",
        "a NOT (b = 1)",
        "5 < a AND -5 < a",
        "'x' < a",
        "a --5 < b",
        "a = 1 /* b = 2",
        "NOT(a=1)",
        'NOT"a"=1',
        "a BETWEEN 1 AND 2 AND b",
        "a IN (1, TRUE, 'x', NULL) OR a NOT IN (TRUE, 1)",
        "a IN (1, b)",
        "limit > 5 AND order = 1",
        "x limit > 5",
        "a LIKE '%!' ESCAPE '!' AND b = 1",
        "1 = 1 AND a = 1",
        "(" * 64 + "a = 1" + ")" * 64,
        "(" * 65 + "a = 1" + ")" * 65,
        "a = 1 AND " + "(a IN (1)) AND " * 1000 + "TRUE",
    ],
)
def test_bulk_is_careful(text: str) -> None:
    check_bulk([text, f"b = 1 OR {text}"])


def test_skeletons_and_atoms_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str | None] = []

    def parse(text: str | None) -> Predicate:
        parsed.append(text)
        return parse_predicate(text)

    monkeypatch.setattr(skeletons, "parse_predicate", parse)
    texts: list[str | None] = [
        f"(a = {number} AND b IN ({', '.join(map(str, range(number % 5 + 1)))})) OR NOT c < {number}.5"
        for number in range(200)
    ]
    targeting = Targeting()
    many = targeting.add_many(texts)
    assert parsed == [texts[0], '( "0"  AND  "1" ) OR NOT  "2" ']
    parsed.clear()
    assert targeting.add_many(texts[:1]) == many[:1]
    assert parsed == []
    assert many == one_by_one(targeting, texts)


def test_atoms_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str | None] = [f"a = {number} AND b = {number % 3}" for number in range(100)]
    monkeypatch.setattr(skeletons, "_MOST_ATOMS", 10)
    check_bulk(texts)
    monkeypatch.setattr(store, "_REMEMBERED", 2)
    targeting = Targeting()
    many = targeting.add_many(texts)
    assert len(targeting._skeletons) == 0
    assert targeting.add_many(texts) == many


def test_long_texts_are_parsed_whole() -> None:
    text = "a IN (" + ", ".join(map(str, range(5000))) + ")"
    assert len(text) > skeletons._LONGEST
    check_bulk([text, SKELETON])
