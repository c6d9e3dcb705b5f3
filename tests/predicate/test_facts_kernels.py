"""Facts code gives what the code of the programs gives, and what the form itself says: on any board, whether its facts
were learnt before the first question, after some, or never.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate import kernels as truth
from heliograph.predicate import layout as at
from heliograph.predicate import layout as of
from heliograph.predicate.compile import Room, Targeting
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import Predicate
from heliograph.predicate.kernels import ask_facts as ask
from heliograph.predicate.kernels import gather
from heliograph.predicate.layout import LANES, Job
from heliograph.predicate.parser import parse_predicate
from tests.naive_targeting import encode
from tests.predicate import forms as every
from tests.predicate import strategies as plain

Trees = list[dict[str, Any]]
Expressions = dict[int, Predicate]
ALL = (1 << LANES) - 1

plain_values: st.SearchStrategy[Any] = st.one_of(
    plain.scalars, st.booleans(), st.just({}), st.sampled_from([2.0**53, -1e300, 5e-324])
)
plain_events = st.dictionaries(st.sampled_from([*plain.NAMES, "d", "e"]), plain_values)


def make_job(targeting: Targeting, trees: Trees, room: Room | None = None) -> Job:
    """The events on the board of a room, asked about with all expressions so far."""
    compiled = targeting.compiled(targeting.snapshot())
    job = (room or Room()).job(targeting, compiled, encode(targeting.names, trees), targeting.slow_truth(trees))
    chosen = np.arange(len(trees))
    chosen.flags.writeable = False
    gather(job.events.cells, chosen, job.board)
    return job


def check_all(job: Job, trees: Trees, expressions: Expressions, asked: int = ALL) -> None:
    """Facts code, the programs and the forms agree about every lane that is asked about, and about no other."""
    lanes = asked & ((1 << len(trees)) - 1)
    for number, form in expressions.items():
        expected = sum(1 << lane for lane, tree in enumerate(trees) if accepts(form, Attributes(tree)))
        assert int(ask(job, number, np.uint64(lanes))) == expected & lanes, form
        assert int(truth.ask(job.events, job.board, number, np.uint64(lanes))) == expected & lanes, form


def add_all(targeting: Targeting, several: list[Predicate]) -> Expressions:
    return {targeting.add(form): form for form in several}


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
        learnt.append(bool(job.facts.head[of.LEARNT] == job.board.head[at.STAMP]))
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
    assert job.facts.head[of.LEARNT] == 0
