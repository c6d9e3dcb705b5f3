"""Truth for up to 64 events at once: each lane as the naive twin and the form itself say of its event alone."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed
from heliograph.predicate.attributes import cells_of, encode, event_cells
from heliograph.predicate.compile import Targeting
from heliograph.predicate.form import Predicate
from heliograph.predicate.kernels import ask, gather
from heliograph.predicate.layout import LANES, Cells, Evaluation, board_sizes, make_board
from heliograph.predicate.parser import parse_predicate
from heliograph.workloads.route import accepted, draw_events, draw_targeting, spell_event, spell_targeting
from tests.predicate.forms import ALL, WIDE, Trees, add_all, check_all, check_holds, events, forms, holding, make_job
from tests.predicate.naive import truth as naive_truth


def number_of(lanes: list[bool]) -> int:
    return sum(1 << lane for lane, holds in enumerate(lanes) if holds)


def scanned(targeting: Targeting, trees: Trees, compiled: bool) -> Cells:
    encoded = encode(targeting.names, pa.array([json.dumps(tree) for tree in trees]), compiled=compiled)
    assert encoded.errors == {}
    return encoded.cells


@given(st.lists(forms, min_size=1, max_size=4), st.lists(events, min_size=1, max_size=9), st.integers(0, ALL))
def test_lanes_agree_with_the_naive_twin(several: list[Predicate], trees: Trees, asked: int) -> None:
    targeting = Targeting()
    expressions = add_all(targeting, several)
    job = make_job(targeting, trees)
    check_all(job, trees, expressions, asked)
    for number, form in expressions.items():
        lanes = number_of([naive_truth(form, tree) is True for tree in trees])
        assert holding(job, number, (1 << len(trees)) - 1) == lanes


@given(
    st.lists(forms, min_size=1, max_size=3),
    st.lists(events, min_size=2, max_size=8),
    st.lists(st.permutations(range(8)), min_size=1, max_size=4),
)
def test_a_board_forgets_what_it_held(several: list[Predicate], trees: Trees, fillings: list[list[int]]) -> None:
    """Events come in any order, more or fewer, on one filling after the other."""
    targeting = Targeting()
    expressions = add_all(targeting, several)
    job = make_job(targeting, trees)
    for filling in fillings:
        chosen = [event for event in filling[: filling[0] + 1] if event < len(trees)]
        gather(job.events.cells, fixed(np.array(chosen, np.int64)), job.board)
        check_all(job, [trees[event] for event in chosen], expressions)


@given(st.lists(forms, min_size=1, max_size=3), st.lists(events, min_size=1, max_size=6), st.booleans())
def test_json_texts_mean_what_their_trees_mean(several: list[Predicate], trees: Trees, compiled: bool) -> None:
    targeting = Targeting()
    expressions = add_all(targeting, several)
    check_all(make_job(targeting, trees, cells=scanned(targeting, trees, compiled)), trees, expressions)


def test_a_drawn_workload_is_exact_and_small() -> None:
    """The truth of the workload is known by its construction; about 130 bytes an expression of 7.5 tests."""
    rng = np.random.default_rng(3)
    drawn, picked = draw_targeting(rng, 3000, 1 / 4), draw_events(rng, LANES)
    targeting = Targeting()
    numbers = [int(str(number)) for number in targeting.add_many(spell_targeting(drawn))]
    job = make_job(targeting, [json.loads(spell_event(event)) for event in picked])
    expected = np.array([accepted(drawn, event) for event in picked])
    assert [holding(job, number) for number in numbers] == [number_of(lanes) for lanes in expected.T.tolist()]
    assert targeting.nbytes < 250 * len(targeting)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">="])
def test_integers_between_floats_are_compared_exactly(sign: str, compiled: bool) -> None:
    targeting = Targeting()
    wholes = [number for number in WIDE if isinstance(number, int) and number < 10**20]
    conditions = [f"a {sign} b", *(f"a {sign} {number}" for number in wholes), *(f"NOT a {sign} -{n}" for n in wholes)]
    expressions = add_all(targeting, [parse_predicate(text) for text in conditions])
    several = [*wholes, *(-number for number in wholes)]
    trees: Trees = [{"a": one, "b": other} for one in several for other in (2**53 + 1, 2**60 + 1, -(2**60) - 3)]
    trees += [{"a": several, "b": [2**60 + 1]}, {"a": [], "b": 1}]
    for first in range(0, len(trees), LANES):
        part = trees[first : first + LANES]
        check_all(make_job(targeting, part, cells=scanned(targeting, part, compiled)), part, expressions)


def test_deep_groups_fit() -> None:
    """The deepest text that the parser takes: each parenthesis opens an OR with an AND in it."""
    text = "a = 0"
    for depth in range(1, 65):
        text = f"(a = {depth} OR b <> {depth} AND {text})"
    targeting = Targeting()
    expressions = add_all(targeting, [parse_predicate(text), parse_predicate(f"NOT {text}")])
    trees: Trees = [{"a": number, "b": other} for number in (-1, 0, 1, 30, 64) for other in (1, 30, 64, 99)]
    check_holds(targeting, expressions, trees)


def test_newer_names_than_the_board_knows() -> None:
    """An expression that came after the events were encoded asks for attributes and words that they have not."""
    targeting = Targeting()
    targeting.add(parse_predicate("a = 'x'"))
    trees: Trees = [{"a": "x", "b": 1}, {"b": 2}]
    cells = cells_of(event_cells(targeting.names, tree) for tree in trees)
    board = make_board(*board_sizes(targeting.names.snapshot(), cells))
    late = targeting.add(parse_predicate("a = 'y' OR b = 1 OR (a = 'x' AND b IS NULL) OR NOT c LIKE 'x%' OR a < c"))
    gather(cells, fixed(np.arange(2)), board)
    job = Evaluation(targeting.snapshot(), cells, targeting.slow_truth(trees))
    assert int(ask(job, board, late, np.uint64(0b11))) == 0b01
