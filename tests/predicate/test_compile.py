"""Atoms as instructions: exact on scalars of every kind, on lists and on what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.predicate import layout
from heliograph.predicate.compile import Targeting
from heliograph.predicate.form import And, Between, In, Like, Not, Or, Predicate, negation
from heliograph.predicate.parser import parse_predicate
from tests.naive_targeting import OPS
from tests.predicate.forms import WIDE, atoms, check_holds, events

SCALARS: list[Any] = [None, True, False, 0, 1, 1.5, -3, "", "a", "ab", "b", {}, {"b": 1}, *WIDE]
LISTS: list[Any] = [[], [None], [1], [1, 5], ["a"], ["a", 1], ["b", "ab"], [True], [False, 1], [[1]], [{}]]
OPPOSITE: list[Any] = [-number for number in WIDE]
EVENTS: list[dict[str, Any]] = [{}] + [
    {"a": value} for value in [*SCALARS, *LISTS, *OPPOSITE, *([number, 0] for number in WIDE)]
]


@given(atoms, st.lists(events, max_size=4))
@example(Between(("a",), None, 1), EVENTS)
@example(Between(("a",), "b", "a"), EVENTS)
@example(Between(("a",), 1, "a"), EVENTS)
@example(In(("a",), ()), EVENTS)
@example(Like(("a",), "a!", "!"), EVENTS)
def test_an_atom_and_its_negation(atom: Predicate, trees: list[dict[str, Any]]) -> None:
    targeting = Targeting()
    forms = (atom, negation(atom))
    check_holds(targeting, {targeting.add(form): form for form in forms}, trees)


def names_of(targeting: Targeting, number: int) -> list[str]:
    """The instructions of an expression, by name, a minus before negative ones."""
    programs = targeting.snapshot()
    code = programs.code[programs.starts[number] : programs.starts[number + 1] : 2].tolist()
    return [("-" if word & layout.NEGATIVE else "") + OPS[word & 0x7F] for word in code]


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        ("a = 5", "NUMBER_EQ"),
        ("a <> 5", "NUMBER_NE"),
        ("NOT a = 5", "-NUMBER_EQ"),
        ("a < 5", "NUMBER_LE"),
        ("a > 5", "NUMBER_GE"),
        ("a > 9007199254740992", "SLOW"),
        ("a >= 9007199254740992", "NUMBER_GE"),
        ("a < -9007199254740992", "SLOW"),
        ("a = 9007199254740993", "SLOW"),
        ("a IN (1, 9007199254740993)", "SLOW"),
        ("a BETWEEN 1 AND 9007199254740993", "SLOW"),
        (f"a = 1{'0' * 400}", "SLOW"),
        ("a BETWEEN 1 AND 5", "NUMBER_BETWEEN"),
        ("NOT a BETWEEN 5 AND 1", "-NUMBER_BETWEEN"),
        ("a IN (1, 2)", "NUMBER_IN"),
        ("a IN (1, 1.0)", "NUMBER_EQ"),
        ("a IN ('x', 'y')", "WORD_IN"),
        ("a IN ('x')", "WORD_EQ"),
        ("a IN (1, 'x')", "OR WORD_EQ NUMBER_EQ"),
        ("a NOT IN (1, 'x')", "AND -WORD_EQ -NUMBER_EQ"),
        ("a IN (1, NULL)", "NUMBER_EQ"),
        ("a NOT IN (1, NULL)", "AND -NUMBER_EQ -WORD_IN"),
        ("a NOT IN (NULL)", "AND -NUMBER_IN -WORD_IN"),
        ("a IN (NULL)", "OR"),
        ("a = NULL", "OR"),
        ("a LIKE 'x'", "WORD_EQ"),
        ("a LIKE 'x!%' ESCAPE '!'", "WORD_EQ"),
        ("a LIKE 'x%'", "TEXT_LIKE"),
        ("a ILIKE 'x'", "SLOW"),
        ("a < 'x'", "TEXT_LT"),
        ("a <> 'x'", "WORD_NE"),
        ("a BETWEEN 'x' AND 'x'", "WORD_EQ"),
        ("a BETWEEN 'x' AND 'y'", "SLOW"),
        ("a", "TRUTH"),
        ("a IS NOT NULL", "-IS_NULL"),
        ("a < b", "PAIR_LT"),
        ("a BETWEEN 1 AND NULL", "OR"),
    ],
)
def test_instructions(text: str, instructions: str) -> None:
    targeting = Targeting()
    form = parse_predicate(text)
    number = targeting.add(form)
    assert names_of(targeting, number) == instructions.split()
    check_holds(targeting, {number: form, targeting.add(Not(form)): Not(form)}, EVENTS)


def test_patterns_keep_their_wildcards_apart() -> None:
    targeting = Targeting()
    targeting.add(Like(("a",), "é!%%a_!!", "!"))
    assert targeting.snapshot().texts.tobytes() == "é%".encode() + b"\xffa\xfe!"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a = 5", "a = 5.0"),
        ("a = 0", "a = -0.0"),
        ("a IN (1, 2, 2)", "a IN (2, 1)"),
        ("a IN ('x', 'y')", "a IN ('y', 'x', 'y')"),
        ("a < b", "b > a"),
        ("5 < a", "a > 5"),
        ("a = 1 AND b = 2", "b = 2 AND a = 1 AND b = 2"),
        ("NOT (a = 1 OR b = 2)", "NOT a = 1 AND NOT b = 2"),
        ("a LIKE 'x'", "a = 'x'"),
        ("a = 1 OR NULL", "a = 1"),
        ("a ILIKE 'X'", "a ILIKE 'X'"),
    ],
)
def test_equal_code_has_one_number(one: str, two: str) -> None:
    targeting = Targeting()
    targeting.add(parse_predicate("b = 1 AND a < 1"))
    assert targeting.add(parse_predicate(one)) == targeting.add(parse_predicate(two))


def test_constants_are_kept_once() -> None:
    targeting = Targeting()
    targeting.add_many(["a = 5", "b = 5", "a > 7 AND a = 5", "b IN (6, 5)", "a IN (5, 6)", "a <> 5", "b LIKE 'x%'"])
    targeting.add_many(["a LIKE 'x%'", "c IN ('x', 'y')", "c NOT IN ('y', 'x')"])
    programs = targeting.snapshot()
    assert programs.numbers.tolist() == [5.0, 7.000000000000001, 2.0, 5.0, 6.0]
    assert programs.sets.tolist() == [2, 0, 1]
    assert programs.texts.tobytes() == b"x\xff"


@settings(max_examples=30)
@given(st.lists(atoms, min_size=2, max_size=5), events)
def test_groups_of_atoms(parts: list[Predicate], tree: dict[str, Any]) -> None:
    targeting = Targeting()
    forms = (And(tuple(parts)), Or(tuple(parts)), Not(And(tuple(parts))), Not(Or(tuple(parts))))
    check_holds(targeting, {targeting.add(form): form for form in forms}, [tree])
