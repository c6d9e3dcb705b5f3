"""Negation normal form: what groups look like, and that they mean what the form means."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate import layout
from heliograph.predicate.compile import FAILS, HOLDS, Code, instruction, join, normal
from heliograph.predicate.form import And, Atom, Constant, Not, Or, Predicate, Truth


def code_of(atom: Atom, negative: bool) -> Code:
    """Stands for any atom: the attribute's name is its number."""
    assert isinstance(atom, Truth)
    return instruction(layout.TRUTH, int(atom.attribute[0]), 1, negative)


def code_for(number: int, negative: bool = False) -> Code:
    return instruction(layout.TRUTH, number, 1, negative)


def form_of(number: int) -> Predicate:
    return Truth((str(number),), True)


A, B, C = form_of(0), form_of(1), form_of(2)


def words(code: Code) -> list[int]:
    return list(struct.unpack(f"<{len(code) // 4}i", code))


def test_an_instruction_is_two_words() -> None:
    word = layout.NUMBER_GE | layout.NEGATIVE | 7 << layout.ATTRIBUTE_SHIFT
    assert words(instruction(layout.NUMBER_GE, 7, 9, negative=True)) == [word, 9]


@pytest.mark.parametrize("value", [True, False, None])
@pytest.mark.parametrize("negative", [False, True])
def test_null_holds_in_neither_polarity(value: bool | None, negative: bool) -> None:
    assert normal(Constant(value), code_of, negative) == (HOLDS if value is (not negative) else FAILS)


def test_not_is_pushed_to_the_tests() -> None:
    form = Not(And((A, Not(Or((B, Not(C)))))))
    expected = join(layout.OR, [code_for(0, True), code_for(1), code_for(2, True)])
    assert normal(form, code_of) == expected
    assert words(expected)[:2] == [layout.OR, 6]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (And((A, Constant(True))), code_for(0)),
        (And((A, Constant(None))), FAILS),
        (Or((A, Constant(None))), code_for(0)),
        (Or((A, Constant(True))), HOLDS),
        (Not(And((A, Constant(None)))), code_for(0, True)),
        (And((A, A)), code_for(0)),
        (And((Constant(True), Constant(True))), HOLDS),
        (Or((Constant(False), Constant(None))), FAILS),
        (Or((And((A, B)), And((B, A)))), join(layout.AND, [code_for(0), code_for(1)])),
        (And((C, Or((And((A, B)), And((B, A)))))), join(layout.AND, [code_for(0), code_for(1), code_for(2)])),
    ],
)
def test_constants_and_repetition_are_folded(form: Predicate, expected: Code) -> None:
    assert normal(form, code_of) == expected


def test_a_group_within_a_group_keeps_its_members() -> None:
    inner = join(layout.OR, [code_for(1), join(layout.AND, [code_for(2), code_for(3)])])
    opened = join(layout.OR, [inner, code_for(0)])
    assert opened == join(layout.OR, [code_for(0), code_for(1), join(layout.AND, [code_for(2), code_for(3)])])


def test_cheap_members_come_first() -> None:
    text, number = instruction(layout.TEXT_LIKE, 0, 0), instruction(layout.NUMBER_GE, 5, 3)
    group, word = join(layout.OR, [code_for(0), code_for(1)]), instruction(layout.WORD_EQ, 9, 4)
    assert join(layout.AND, [group, text, number, word])[8:] == word + number + text + group


@given(st.permutations([0, 1, 2, 3]), st.permutations([0, 1, 2, 3]), st.sampled_from([layout.AND, layout.OR]))
def test_the_order_of_members_does_not_matter(one: list[int], two: list[int], kind: int) -> None:
    assert join(kind, map(code_for, one)) == join(kind, map(code_for, two))


boolean_forms: st.SearchStrategy[Predicate] = st.recursive(
    st.one_of(st.sampled_from([A, B, C]), st.sampled_from([True, False, None]).map(Constant)),
    lambda inner: st.one_of(
        inner.map(Not), st.lists(inner, max_size=3).map(tuple).map(And), st.lists(inner, max_size=3).map(tuple).map(Or)
    ),
    max_leaves=12,
)


@given(boolean_forms)
def test_groups_are_canonical(form: Predicate) -> None:
    check_canonical(normal(form, code_of))


def check_canonical(code: Code, parent: int = 0) -> None:
    """No group holds another of its kind, a constant, fewer than two members, or one twice."""
    if code in (HOLDS, FAILS):
        assert parent == 0
    elif code[0] in (layout.AND, layout.OR):
        members = split(code)
        assert code[0] != parent
        assert len(set(members)) == len(members) > 1
        for member in members:
            check_canonical(member, code[0])
    else:
        assert len(code) == 8


def split(group: Code) -> list[Code]:
    assert words(group)[1] * 4 == len(group) - 8
    members, place = [], 8
    while place < len(group):
        size = 8 + 4 * words(group[place:])[1] if group[place] in (layout.AND, layout.OR) else 8
        members.append(group[place : place + size])
        place += size
    return members
