"""Constraints as intervals: no comparison that holds is missed, and a tree is stabbed as a list is."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.papers.filter import (
    HIGHEST,
    LOWEST,
    Bound,
    Choice,
    Constraint,
    Interval,
    IntervalTree,
    ValueConstraint,
    holds,
    intervals,
    point,
)
from heliograph.sparql.solve import Graph
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import Term, literal
from heliograph.values import XSD_INTEGER
from tests import term_strategies
from tests.papers.matchers import VALUES
from tests.sparql import strategies

NOTHING = Classes(Graph(), Taxonomy())
terms = st.one_of(st.sampled_from(VALUES), strategies.terms, term_strategies.numbers, term_strategies.objects)
constraints: st.SearchStrategy[Constraint] = st.one_of(
    st.builds(ValueConstraint, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms),
    st.builds(Choice, st.lists(terms, max_size=3).map(tuple)),
)


def number(text: str) -> Term:
    return literal(text, XSD_INTEGER)


def inside(places: tuple[Interval, ...], term: Term) -> bool:
    at = point(term)
    return at is not None and any(each.axis == at.axis and each.low <= at.bound <= each.high for each in places)


@settings(max_examples=400, deadline=None)
@given(st.lists(constraints, min_size=1, max_size=3), terms)
def test_what_satisfies_the_constraints_lies_in_their_intervals(asked: list[Constraint], term: Term) -> None:
    places = intervals(asked)
    if places is not None and all(holds(each, term, NOTHING) for each in asked):
        assert inside(places, term)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_near_values_lie_in_the_intervals_too(draw: st.DataObject) -> None:
    """Numbers around a float32's tie, as integer, decimal, float and double, each against each."""
    kinds = [f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal", "float", "double")]
    near = st.builds(
        lambda base, step, kind: literal(str(base + step), kind),
        st.sampled_from([2**24, 2**53, 2**60, -(2**24)]),
        st.integers(-2, 2),
        st.sampled_from(kinds),
    )
    operator, value, term = draw.draw(st.sampled_from(["=", "<", "<=", ">", ">="])), draw.draw(near), draw.draw(near)
    constraint = ValueConstraint(operator, value)
    assert not holds(constraint, term, NOTHING) or inside(intervals([constraint]) or (), term)


def test_the_constraints_of_a_variable_are_intersected() -> None:
    """SEED_NOTES, filter 9: `?x > 5`, `?x < 9` is one interval; [R] has two lists."""
    two_sided = intervals([ValueConstraint(">", number("5")), ValueConstraint("<", number("9"))])
    assert two_sided == (Interval(("number",), (0, 5.0), (0, 9.0)),)
    assert intervals([ValueConstraint(">", number("9")), ValueConstraint("<", number("5"))]) == ()
    assert intervals([ValueConstraint(">", number("5")), ValueConstraint("<", literal("a"))]) == ()
    chosen = intervals([Choice((number("3"), number("7"), literal("a"))), ValueConstraint(">", number("5"))])
    assert chosen == (Interval(("number",), (0, 7.0), (0, 7.0)),)


def test_integers_beyond_a_double_lie_at_its_end() -> None:
    huge = number("9" * 400)
    assert point(huge) == (("number",), (0, math.inf))
    assert point(number("-" + "9" * 400)) == (("number",), (0, -math.inf))
    assert inside(intervals([ValueConstraint("<", number("9" * 401))]) or (), huge)


bounds: st.SearchStrategy[Bound] = st.one_of(
    st.just(LOWEST), st.just(HIGHEST), st.integers(0, 20).map(lambda key: (0, key))
)
spans = st.tuples(bounds, bounds).map(lambda ends: Interval(("number",), min(ends), max(ends)))


@settings(max_examples=200, deadline=None)
@given(st.lists(spans, max_size=120), st.lists(spans, max_size=60), st.lists(st.integers(-1, 21), max_size=5))
def test_a_tree_is_stabbed_as_a_list_is(first: list[Interval], more: list[Interval], keys: list[int]) -> None:
    tree: IntervalTree[int] = IntervalTree()
    known: list[Interval] = []
    for part in (first, more):
        for each in part:
            tree.add(each, len(known))
            known.append(each)
        for key in keys:
            expected = [place for place, each in enumerate(known) if each.low <= (0, key) <= each.high]
            assert sorted(tree.stab((0, key))) == expected
