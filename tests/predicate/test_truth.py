"""Truth for up to 64 events at once: each lane as the naive interpreter and the form itself say of its event alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate import attributes as encoding
from heliograph.predicate.compile import Targeting
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import Predicate
from heliograph.predicate.kernels import ask, gather
from heliograph.predicate.layout import ALWAYS, LANES, NEVER, Board, Cells, Evaluation, board_sizes, make_board
from heliograph.predicate.parser import parse_predicate
from heliograph.workloads.route import accepted, draw_events, draw_targeting, spell_event, spell_targeting
from tests.naive_targeting import Interpreter, encode
from tests.predicate.forms import WIDE, events, forms

Trees = list[dict[str, Any]]
ALL = (1 << LANES) - 1


def fixed(values: list[int]) -> Any:
    array = np.array(values, np.int64)
    array.flags.writeable = False
    return array


class Asked:
    """A store, events encoded with its names, and a board to lay them on."""

    def __init__(self, targeting: Targeting, trees: Trees, cells: Cells | None = None) -> None:
        self.trees = trees
        found = encode(targeting.names, trees) if cells is None else cells
        self.events = Evaluation(targeting.snapshot(), found, targeting.slow_truth(trees))
        self.board: Board = make_board(*board_sizes(targeting.names.snapshot(), found))

    def lay(self, chosen: list[int]) -> None:
        gather(self.events.cells, fixed(chosen), self.board)

    def holds(self, expression: int, asked: int = ALL) -> int:
        return int(ask(self.events, self.board, expression, np.uint64(asked)))

    def check(self, chosen: list[int], expressions: dict[int, Predicate], asked: int = ALL) -> None:
        """On a board of the chosen events, the asked lanes of each expression are those that its form accepts."""
        self.lay(chosen)
        for number, form in expressions.items():
            lanes = [accepts(form, Attributes(self.trees[event])) for event in chosen]
            assert self.holds(number, asked) & mask(len(chosen)) == number_of(lanes) & asked, form


def mask(size: int) -> int:
    return (1 << size) - 1


def number_of(lanes: list[bool]) -> int:
    return sum(1 << lane for lane, holds in enumerate(lanes) if holds)


@given(st.lists(forms, min_size=1, max_size=4), st.lists(events, min_size=1, max_size=9), st.integers(0, ALL))
def test_lanes_agree_with_the_naive_interpreter(several: list[Predicate], trees: Trees, asked: int) -> None:
    targeting = Targeting()
    expressions = {targeting.add(form): form for form in several}
    kernel = Asked(targeting, trees)
    kernel.check(list(range(len(trees))), expressions, asked)
    naive = [Interpreter(*kernel.events[:2], event, kernel.events.slow) for event in range(len(trees))]
    for number in expressions:
        lanes = number_of([interpreter.holds(number) for interpreter in naive])
        assert kernel.holds(number) & mask(len(trees)) == lanes


@given(
    st.lists(forms, min_size=1, max_size=3),
    st.lists(events, min_size=2, max_size=8),
    st.lists(st.permutations(range(8)), min_size=1, max_size=4),
)
def test_a_board_forgets_what_it_held(several: list[Predicate], trees: Trees, fillings: list[list[int]]) -> None:
    """Events come in any order, more or fewer, on one filling after the other."""
    targeting = Targeting()
    expressions = {targeting.add(form): form for form in several}
    kernel = Asked(targeting, trees)
    for filling in fillings:
        kernel.check([event for event in filling[: filling[0] + 1] if event < len(trees)], expressions)


@given(st.lists(forms, min_size=1, max_size=3), st.lists(events, min_size=1, max_size=6), st.booleans())
def test_json_texts_mean_what_their_trees_mean(several: list[Predicate], trees: Trees, compiled: bool) -> None:
    targeting = Targeting()
    expressions = {targeting.add(form): form for form in several}
    texts = pa.array([json.dumps(tree) for tree in trees])
    encoded = encoding.encode(targeting.names, texts, compiled=compiled)
    assert encoded.errors == {}
    Asked(targeting, trees, encoded.cells).check(list(range(len(trees))), expressions)


def test_all_lanes_of_a_drawn_workload() -> None:
    """The truth of the workload is known by its construction."""
    rng = np.random.default_rng(3)
    drawn, picked = draw_targeting(rng, 3000, 1 / 4), draw_events(rng, LANES)
    targeting = Targeting()
    numbers = [int(str(number)) for number in targeting.add_many(spell_targeting(drawn))]
    kernel = Asked(targeting, [json.loads(spell_event(event)) for event in picked])
    kernel.lay(list(range(LANES)))
    expected = np.array([accepted(drawn, event) for event in picked])
    assert [kernel.holds(number) for number in numbers] == [number_of(lanes) for lanes in expected.T.tolist()]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">="])
def test_integers_between_floats_are_compared_exactly(sign: str, compiled: bool) -> None:
    targeting = Targeting()
    wholes = [number for number in WIDE if isinstance(number, int) and number < 10**20]
    conditions = [f"a {sign} b", *(f"a {sign} {number}" for number in wholes), *(f"NOT a {sign} -{n}" for n in wholes)]
    expressions = {targeting.add(parse_predicate(text)): parse_predicate(text) for text in conditions}
    several = [*wholes, *(-number for number in wholes)]
    trees: Trees = [{"a": one, "b": other} for one in several for other in (2**53 + 1, 2**60 + 1, -(2**60) - 3)]
    trees += [{"a": several, "b": [2**60 + 1]}, {"a": [], "b": 1}]
    texts = pa.array([json.dumps(tree) for tree in trees])
    kernel = Asked(targeting, trees, encoding.encode(targeting.names, texts, compiled=compiled).cells)
    for first in range(0, len(kernel.trees), LANES):
        kernel.check(list(range(first, min(first + LANES, len(kernel.trees)))), expressions)


def test_deep_groups_fit() -> None:
    """The deepest text that the parser takes: each parenthesis opens an OR with an AND in it."""
    text = "a = 0"
    for depth in range(1, 65):
        text = f"(a = {depth} OR b <> {depth} AND {text})"
    targeting = Targeting()
    expressions = {targeting.add(form): form for form in (parse_predicate(text), parse_predicate(f"NOT {text}"))}
    trees: Trees = [{"a": number, "b": other} for number in (-1, 0, 1, 30, 64) for other in (1, 30, 64, 99)]
    Asked(targeting, trees).check(list(range(len(trees))), expressions)


def test_newer_names_than_the_board_knows() -> None:
    """An expression that came after the events were encoded asks for attributes and words that they have not."""
    targeting = Targeting()
    targeting.add(parse_predicate("a = 'x'"))
    trees: Trees = [{"a": "x", "b": 1}, {"b": 2}]
    cells = encode(targeting.names, trees)
    board = make_board(*board_sizes(targeting.names.snapshot(), cells))
    late = targeting.add(parse_predicate("a = 'y' OR b = 1 OR (a = 'x' AND b IS NULL) OR NOT c LIKE 'x%' OR a < c"))
    kernel = Asked(targeting, trees, cells)
    kernel.board = board
    kernel.lay([0, 1])
    assert kernel.holds(late) & mask(2) == 0b01


def test_constants() -> None:
    kernel = Asked(Targeting(), [{}, {"a": 1}])
    kernel.lay([0, 1])
    assert (kernel.holds(ALWAYS, 0b10), kernel.holds(NEVER)) == (0b10, 0)
