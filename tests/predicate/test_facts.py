"""Quick code as the store grows: snapshots stay as they were, what came since the last sorting is asked like the rest,
and a room that is used all along never tells what it learnt before.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate import compile as facts
from heliograph.predicate import compile as room
from heliograph.predicate import layout as at
from heliograph.predicate.compile import Room, Targeting
from heliograph.predicate.form import Predicate
from heliograph.predicate.layout import Board, Facts, make_board, make_facts
from heliograph.predicate.parser import parse_predicate
from tests.predicate import forms as every
from tests.predicate.test_facts_kernels import Trees, check_all, make_job, plain_events

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
        patch.setattr(room, "make_facts", ample_facts)
        patch.setattr(room, "make_board", ample_board)
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


def test_equal_numbers_of_different_attributes() -> None:
    targeting = Targeting()
    texts = [f"{name} {sign} {number}" for name in "abc" for sign in ("=", "<", ">=", "<>") for number in (-1, 0, 1.5)]
    expressions = {int(str(n)): parse_predicate(t) for n, t in zip(targeting.add_many(texts), texts, strict=True)}
    trees: Trees = [{"a": a, "b": b} for a in (-1, -0.0, 0, 1.5, 1e308) for b in (None, 0, 2)]
    check_all(make_job(targeting, trees), trees, expressions)


def test_constants_beyond_all_floats() -> None:
    targeting = Targeting()
    huge = 10**400
    texts = [f"x {sign} {number}" for sign in ("<", "<=", ">", ">=", "=", "<>") for number in (huge, -huge, 1.7e308)]
    expressions = {int(str(n)): parse_predicate(t) for n, t in zip(targeting.add_many(texts), texts, strict=True)}
    trees: Trees = [{"x": 1e308}, {"x": -1.7e308}, {"x": 0}, {}]
    check_all(make_job(targeting, trees), trees, expressions)


def test_memory_is_counted() -> None:
    code = facts.FactsStore()
    empty = code.nbytes
    targeting = Targeting()
    targeting.add_many([f"x = {number} OR s = 'w{number}'" for number in range(500)])
    snapshot = code.snapshot(targeting.snapshot(), targeting.names.snapshot(), len(targeting.names.paths))
    assert code.nbytes > empty + sum(part.nbytes for part in (snapshot.coded.code, snapshot.coded.bounds))
    assert code.snapshot(targeting.snapshot(), targeting.names.snapshot(), 2).coded.code.base is not None
