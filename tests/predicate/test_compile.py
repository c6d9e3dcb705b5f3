"""Atoms as instructions: exact on scalars of every kind, on lists and on what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.predicate import layout
from heliograph.predicate.attributes import NameTable, cells_of, event_cells
from heliograph.predicate.compile import Targeting
from heliograph.predicate.form import ACCEPT, And, Between, Constant, In, Like, Not, Or, Predicate, negation
from heliograph.predicate.layout import ALWAYS, NEVER
from heliograph.predicate.parser import parse_predicate
from tests.predicate.forms import WIDE, add_all, atoms, check_holds, events, forms, holding, make_job

_NAMES = list(vars(layout))
OPS = {
    getattr(layout, name): name for name in _NAMES[_NAMES.index("AND") : _NAMES.index("SLOW") + 1] if "ANY" not in name
}
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
        ("NOT (a = 1 AND NOT (b OR NOT c = 'x'))", "OR TRUTH -WORD_EQ -NUMBER_EQ"),  # NOT stands at the tests
        ("(b OR d) AND a LIKE 'x%' AND a > 3 AND c = 'x'", "AND WORD_EQ NUMBER_GE TEXT_LIKE OR TRUTH TRUTH"),
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
        ("a = 1 AND NULL", "FALSE"),
        ("NOT (a = 1 AND NULL)", "NOT a = 1"),
        ("(a = 1 AND b = 2) OR (b = 2 AND a = 1)", "a = 1 AND b = 2"),
        ("c = 1 AND ((a = 1 AND b = 2) OR (b = 2 AND a = 1))", "b = 2 AND (a = 1 AND c = 1)"),
        ("NOT (NOT a = 1 AND NOT (b = 1 AND c = 1))", "a = 1 OR (c = 1 AND b = 1)"),
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


def test_always_and_never_have_their_numbers() -> None:
    targeting = Targeting()
    assert len(targeting) == 2
    assert targeting.add(ACCEPT) == ALWAYS
    assert targeting.add(Constant(False)) == targeting.add(Constant(None)) == NEVER
    assert targeting.add_many([None, "", "  ", "TRUE", "-- nothing", "FALSE", "a = NULL"]) == [0] * 5 + [1] * 2
    check_holds(targeting, {ALWAYS: ACCEPT, NEVER: Constant(False)}, [{}, {"a": 1}])


@settings(max_examples=30)
@given(st.lists(forms, min_size=4, max_size=12))
def test_a_snapshot_stays_as_it_was(several: list[Predicate]) -> None:
    targeting = Targeting()
    add_all(targeting, several[:3])
    snapshot = targeting.snapshot()
    copies = [part.tolist() for part in snapshot]
    add_all(targeting, several)
    assert [part.tolist() for part in snapshot] == copies
    assert not any(part.flags.writeable for part in snapshot)


labels = st.frozensets(st.sampled_from(["x", "y", "z"]))


@given(labels, labels)
def test_label_sets_are_compared(own: frozenset[str], theirs: frozenset[str]) -> None:
    targeting = Targeting()
    expected = {"superset": own >= theirs, "subset": own <= theirs, "intersects": bool(own & theirs)}
    numbers = {match: targeting.add_labels(own, match) for match in expected}
    job = make_job(targeting, [{}], cells=cells_of([event_cells(targeting.names, {}, theirs)]))
    assert {match: bool(holding(job, number, 1)) for match, number in numbers.items()} == expected


def test_slow_tests_are_kept_once() -> None:
    targeting = Targeting()
    targeting.add_many(["a ILIKE 'x%'", "b = 1 AND NOT a ILIKE 'x%'", "a BETWEEN 'x' AND 'y'"])
    assert len(targeting.slow) == 2
    truth = targeting.slow_truth([{"a": "X"}, {"a": 5}, {"a": ["x", 5]}, {}])
    assert truth.tolist() == [[1, -1, 1, -1], [0, -1, 1, -1]]
    assert truth.dtype == np.int8
    assert not truth.flags.writeable
    assert Targeting().slow_truth([{}, {}]).shape == (0, 2)


def test_names_may_be_shared() -> None:
    names = NameTable()
    one, two = Targeting(names), Targeting(names)
    one.add_many(["a = 'x'"])
    two.add_many(["b = 'x' AND a = 'x'"])
    assert names.paths == [("a",), ("b",)]
    assert names.word_count == 2
