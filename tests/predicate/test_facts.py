"""Facts code gives what the code of the programs gives, and what the form itself says: on any board, whether its facts
were learnt before the first question, after some, or never; as the store grows; and in rooms that are used again.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate import compile as facts
from heliograph.predicate import layout as at
from heliograph.predicate.compile import Room, Targeting
from heliograph.predicate.form import Predicate
from heliograph.predicate.layout import LANES, Board, Facts, make_board, make_facts
from heliograph.predicate.parser import parse_predicate
from tests.predicate import forms as every
from tests.predicate.forms import ALL, Trees, add_all, check_all, make_job, plain_events

many_forms = st.lists(every.forms, min_size=1, max_size=5)


@settings(max_examples=50)
@given(many_forms, st.lists(every.events, min_size=1, max_size=9), st.integers(0, ALL))
def test_any_forms_and_events(several: list[Predicate], trees: Trees, asked: int) -> None:
    targeting = Targeting()
    expressions = add_all(targeting, several)
    check_all(make_job(targeting, trees), trees, expressions, asked)


@settings(max_examples=50)
@given(many_forms, st.lists(plain_events, min_size=1, max_size=LANES))
def test_boards_without_lists_and_odd_integers(several: list[Predicate], trees: Trees) -> None:
    """Where facts are learnt."""
    targeting = Targeting()
    expressions = add_all(targeting, several)
    job = make_job(targeting, trees)
    assert job.board.head[at.ALL_PLAIN] == 1
    check_all(job, trees, expressions)


@settings(max_examples=50)
@given(many_forms, st.lists(st.lists(plain_events | every.events, min_size=1, max_size=6), min_size=2, max_size=5))
def test_boards_one_after_the_other(several: list[Predicate], boards: list[Trees]) -> None:
    """What was learnt of one board is forgotten with it."""
    targeting, room = Targeting(), Room()
    expressions = add_all(targeting, several)
    for trees in boards:
        check_all(make_job(targeting, trees, room), trees, expressions)


def test_what_has_facts_code() -> None:
    """Two levels of groups; tests of numbers, words, booleans and nulls, but no negated range."""
    texts = {
        "x = 1": True,
        "x <> 1 AND x < 5 AND NOT x >= 3": True,
        "x = 1 OR s = 'a' OR b = TRUE": True,
        "(x = 1 AND s = 'a') OR (x BETWEEN 2 AND 3 AND s <> 'b') OR x IS NULL": True,
        "(x = 1 OR s IN ('a', 'b')) AND (NOT x IN (4, 5) OR y IS NOT NULL)": True,
        "NOT x BETWEEN 1 AND 2": False,
        "s LIKE 'a%'": False,
        "x < y": False,
        "x = 1 AND (s = 'a' OR (x = 2 AND s = 'b'))": False,
    }
    targeting = Targeting()
    expressions = {text: targeting.add(parse_predicate(text)) for text in texts}
    starts = targeting.compiled(targeting.snapshot()).facts.coded.starts
    assert {text: bool(starts[number] >= 0) for text, number in expressions.items()} == texts
    values: list[Any] = [None, 0, 1, 2, 3, 4, 5, 7.5, "a", True]
    trees = [{"x": x, "s": s, "b": b} for x in values for s in ("a", "b", None) for b in (True, None)]
    job = make_job(targeting, trees)
    check_all(job, trees, {number: parse_predicate(text) for text, number in expressions.items()})


@pytest.mark.parametrize("bounds", [10, 64, 65, 1000])
def test_facts_are_learnt_when_that_pays(bounds: int) -> None:
    """A question costs as much as some bounds do; until then the programs are asked, and give the same."""
    targeting = Targeting()
    numbers = targeting.add_many([f"x = {number}" for number in range(bounds)])
    expressions = {int(str(number)): parse_predicate(f"x = {place}") for place, number in enumerate(numbers)}
    trees: Trees = [{"x": number} for number in range(5)]
    job = make_job(targeting, trees)
    learnt = []
    for number, form in list(expressions.items())[:20]:
        check_all(job, trees, {number: form})
        learnt.append(bool(job.facts.head[at.LEARNT] == job.board.head[at.STAMP]))
    assert learnt == sorted(learnt)
    assert learnt.index(True) == -(-bounds // 64) - 1
    check_all(job, trees, expressions)


@pytest.mark.parametrize("value", [[5], 2**60 + 1])
def test_lists_and_odd_integers_are_left_to_the_programs(value: Any) -> None:
    """In any lane: facts say nothing about such a board."""
    targeting = Targeting()
    expressions = add_all(targeting, [parse_predicate(text) for text in ("x = 5", "NOT x = 5", "x > 7", "y = 'a'")])
    trees: Trees = [{"x": 5, "y": "a"}, {"x": value}, {"y": ["a", "b"]}]
    job = make_job(targeting, trees)
    check_all(job, trees, expressions)
    assert job.facts.head[at.LEARNT] == 0


# --- a store that grows ---------------------------------------------------------------------------------------------

AMPLE = 4000
growth = st.lists(
    st.tuples(st.lists(every.forms, max_size=3), st.lists(plain_events | every.events, min_size=1, max_size=4)),
    min_size=2,
    max_size=6,
)


def ample_facts(facts: int, attributes: int) -> Facts:
    assert max(facts, attributes) < AMPLE
    return make_facts(AMPLE, AMPLE)


def ample_board(*sizes: int) -> Board:
    """A board that no store of these tests outgrows."""
    assert max(sizes) < AMPLE
    return make_board(*[AMPLE] * 4)


@settings(max_examples=50)
@given(growth, st.sampled_from([0, 1, 3, 256]))
def test_a_store_that_grows_between_boards(steps: list[tuple[list[Predicate], Trees]], loose: int) -> None:
    """One room with room for all: nothing is made anew, however the bounds and sets are sorted in between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "_LOOSE", loose)
        patch.setattr(facts, "make_facts", ample_facts)
        patch.setattr(facts, "make_board", ample_board)
        targeting, used = Targeting(), Room()
        expressions: dict[int, Predicate] = {}
        boards = []
        for several, trees in steps:
            expressions |= {targeting.add(form): form for form in several}
            job = make_job(targeting, trees, used)
            boards.append(job.board)
            check_all(job, trees, expressions)
        assert all(board is boards[0] for board in boards)
        assert boards[0].head[at.STAMP] == len(steps)


@settings(max_examples=50)
@given(growth)
def test_a_snapshot_stays_as_it_was(steps: list[tuple[list[Predicate], Trees]]) -> None:
    targeting = Targeting()
    expressions: dict[int, Predicate] = {}
    jobs = []
    for several, trees in steps:
        expressions |= {targeting.add(form): form for form in several}
        jobs.append((make_job(targeting, trees), trees, dict(expressions)))
    for job, trees, known in jobs:
        check_all(job, trees, known)


def test_facts_of_bounds_that_were_sorted_meanwhile_are_emptied() -> None:
    """z <= 5 is looked at by itself on one board, and among the sorted ones on the next, where no lane has a z."""
    targeting, used = Targeting(), Room()
    targeting.add_many([f"a = {number}" for number in range(4000)])
    make_job(targeting, [{"a": 1}], used)
    late = {targeting.add(parse_predicate("z <= 5")): parse_predicate("z <= 5")}
    first: Trees = [{"z": 3}, {"z": 7}]
    job = make_job(targeting, first, used)
    for number in list(range(2, 80)):  # enough to have the facts learnt
        check_all(job, first, {number: parse_predicate(f"a = {number - 2}")})
    check_all(job, first, late)
    targeting.add_many([f"a = {number}" for number in range(4000, 4900)])
    again: Trees = [{"a": 5}, {"a": 6}]
    after = make_job(targeting, again, used)
    assert after.facts is job.facts
    assert len(after.order.order) == len(after.coded.bounds)
    for number in list(range(2, 80)):
        check_all(after, again, {number: parse_predicate(f"a = {number - 2}")})
    check_all(after, again, late)


@pytest.mark.parametrize("late", [False, True])
def test_sets_that_share_members(late: bool) -> None:
    """Of words and of numbers, sorted and not."""
    targeting = Targeting()
    texts = [f"s IN ('w{number}', 'w{number + 1}') AND NOT x IN ({number}, {number + 2})" for number in range(600)]
    numbers = targeting.add_many(texts[:300])
    trees: Trees = [{"s": f"w{number}", "x": number % 7} for number in range(0, 620, 10)]
    if late:
        make_job(targeting, trees)
    numbers += targeting.add_many(texts[300:])
    expressions = {int(str(number)): parse_predicate(text) for number, text in zip(numbers, texts, strict=True)}
    check_all(make_job(targeting, trees), trees, expressions)


# --- rooms ------------------------------------------------------------------------------------------------------------

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
