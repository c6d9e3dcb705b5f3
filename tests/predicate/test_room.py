"""Rooms: used from call to call, from store to store, for few events and many, and never telling what was before."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate.compile import NOTHING_SLOW, Room, Targeting
from heliograph.predicate.form import Predicate
from heliograph.predicate.parser import parse_predicate
from tests.predicate import forms as every
from tests.predicate.test_facts_kernels import Trees, add_all, check_all, make_job, plain_events

drawn_stores = st.lists(st.lists(every.forms, min_size=1, max_size=4), min_size=1, max_size=3)
drawn_boards = st.lists(
    st.tuples(st.integers(0, 2), st.lists(plain_events | every.events, min_size=1, max_size=7)), min_size=1, max_size=6
)


@settings(max_examples=60)
@given(drawn_stores, drawn_boards)
def test_a_room_goes_from_store_to_store(stores: list[list[Predicate]], boards: list[tuple[int, Trees]]) -> None:
    room = Room()
    made = [Targeting() for _ in stores]
    expressions = [add_all(targeting, several) for targeting, several in zip(made, stores, strict=True)]
    for place, trees in boards:
        which = place % len(made)
        check_all(make_job(made[which], trees, room), trees, expressions[which])


def test_a_room_is_kept_while_it_is_large_enough() -> None:
    targeting, room = Targeting(), Room()
    expressions = add_all(targeting, [parse_predicate("x = 1 AND s = 'a'")])
    many: Trees = [{"x": number % 3, "s": "a"} for number in range(40)]
    first = make_job(targeting, many, room)
    check_all(first, many, expressions)
    few = make_job(targeting, many[:5], room)
    assert (few.board, few.facts) == (first.board, first.facts)
    check_all(few, many[:5], expressions)
    other = make_job(Targeting(), many, room)
    assert other.board is not first.board
    assert other.facts is not first.facts


def test_a_room_grows_with_words_attributes_and_events() -> None:
    targeting, room = Targeting(), Room()
    expressions: dict[int, Predicate] = {}
    for step in range(8):
        texts = [f"a{number} = 'w{step}' OR b{number} > {step}" for number in range(2**step)]
        expressions |= add_all(targeting, [parse_predicate(text) for text in texts])
        trees: list[dict[str, Any]] = [
            {f"a{number}": "w0", f"b{number}": number, "s": "w"} for number in range(min(2**step, 64))
        ]
        check_all(make_job(targeting, trees, room), trees, expressions)


def test_nothing_slow_is_read_only() -> None:
    assert NOTHING_SLOW.shape == (0, 0)
    assert not NOTHING_SLOW.flags.writeable
