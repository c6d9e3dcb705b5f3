"""Regions say exactly where a condition is true: the evaluator is asked about hostile terms that lie close together."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heliograph.partition.forms import hull, region_of, says, spelled
from heliograph.partition.regions import (
    EVERYTHING,
    NOTHING,
    Cut,
    Line,
    Number,
    Region,
    comparison,
    holds,
    join,
    just,
    line_join,
    line_meet,
    line_within,
    meet,
    truth_of,
    within,
)
from heliograph.sparql.evaluate import effective_boolean, evaluate
from heliograph.sparql.query import And, Compare, Expression, In, Not, Or, walk
from heliograph.terms import Term, Variable, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from tests.filter.interest_strategies import POOL, SYMBOLS, X, all_filters, number_filters, plain_filters
from tests.term_strategies import numbers as wild_numbers
from tests.term_strategies import objects as wild_terms


def verdict(expression: Expression, term: Term) -> bool | None:
    value = evaluate(expression, {X: term})
    return None if value is None else effective_boolean(value)


def assert_exact(expression: Expression, terms: tuple[Term, ...] = POOL) -> None:
    truth = truth_of(expression)
    if truth is not None:
        for term in terms:
            true, false = holds(truth.true, term), holds(truth.false, term)
            assert (true, false) == {True: (True, False), False: (False, True), None: (False, False)}[
                verdict(expression, term)
            ], term


@given(st.one_of(plain_filters, number_filters, all_filters))
def test_a_condition_is_true_and_false_exactly_in_its_regions(expression: Expression) -> None:
    assume(all(node.name == "x" for node in _variables(expression)))
    assert_exact(expression)


def _variables(expression: Expression) -> list[Variable]:
    return [node for node in walk(expression) if isinstance(node, Variable)]


@given(st.sampled_from(SYMBOLS), wild_terms, st.lists(wild_terms, min_size=1))
def test_comparisons_with_any_terms(symbol: str, constant: Term, terms: list[Term]) -> None:
    assert_exact(Compare(symbol, X, constant), (*terms, constant))


NEAR = [-(2**24), 2**24, 2**53, 2**64, 2**127, 2**128, 2**128 - 2**103, 2**1024 - 2**970, 2**1024, 3, 0]


@st.composite
def near_numbers(draw: st.DrawFn) -> Term:
    """Numbers on both sides of where floats and doubles round up or down."""
    base = draw(st.sampled_from(NEAR)) * draw(st.sampled_from([1, -1])) + draw(st.integers(-3, 3))
    shift = draw(st.sampled_from(["", ".5", ".0000000000000000000000000000000000000000001", ".25"]))
    kind = draw(st.sampled_from([XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT]))
    return literal(f"{base}{shift if kind != XSD_INTEGER else ''}", kind)


some_numbers = st.one_of(near_numbers(), near_numbers(), wild_numbers)


@settings(max_examples=150)
@given(st.sampled_from(SYMBOLS), some_numbers, st.lists(some_numbers, min_size=1, max_size=20))
def test_numbers_are_cut_where_promotion_rounds_them(symbol: str, constant: Term, terms: list[Term]) -> None:
    assert_exact(Compare(symbol, X, constant), (*terms, constant))


@pytest.mark.parametrize(
    ("constant", "kind", "value"),
    [
        ("5e-324", XSD_DOUBLE, "0." + "0" * 323 + "2470328229206232720882843964341106861825299013071623822127928"),
        ("0.1", XSD_DOUBLE, "0.1000000000000000055511151231257827021181583404541015625"),
        ("0.1", XSD_FLOAT, "0.100000001490116119384765625"),
        ("1e-45", XSD_FLOAT, "0." + "0" * 45 + "7006492321624085"),
    ],
)
def test_ties_go_to_the_even_number(constant: str, kind: str, value: str) -> None:
    around = [literal(value + more, XSD_DECIMAL) for more in ("", "1", "5", "9")]
    for symbol in SYMBOLS:
        assert_exact(Compare(symbol, X, literal(constant, kind)), tuple(around))


# --- the algebra ------------------------------------------------------------------------------------------------

regions = st.one_of(
    st.builds(lambda e: t.true if (t := truth_of(e)) else EVERYTHING, plain_filters),
    st.builds(lambda e: t.false if (t := truth_of(e)) else NOTHING, number_filters),
    st.lists(st.sampled_from(POOL), max_size=4).map(lambda terms: just(set(terms))),
)


def members(region: Region) -> set[Term]:
    return {term for term in POOL if holds(region, term)}


@given(regions, regions)
def test_meet_join_and_within_are_those_of_sets(one: Region, other: Region) -> None:
    assert members(meet(one, other)) == members(one) & members(other)
    joined = members(join(one, other))
    assert joined >= members(one) | members(other)
    if (one.among is None) == (other.among is None):
        assert joined == members(one) | members(other)
    if within(one, other):
        assert members(one) <= members(other)
    assert within(meet(one, other), one)
    assert within(one, join(one, other))
    assert within(NOTHING, one)
    assert within(one, EVERYTHING)


@given(regions, regions)
def test_a_hull_holds_both_and_can_be_said(one: Region, other: Region) -> None:
    found = hull(one, other)
    assert within(one, found)
    assert within(other, found)
    assert says(found)


@given(regions)
def test_what_is_spelled_holds_of_the_region(region: Region) -> None:
    again = region_of(spelled(X, region))
    assert within(region, again)
    if says(region):
        assert again == region


_BEYOND = ("99999999", "0" * 100)  # years and numbers at the limits of what is a value: these are kept as they were
USUAL = [term for term in POOL if not any(text in term.value for text in _BEYOND)]
PLAIN = [Compare(symbol, X, term) for symbol in SYMBOLS for term in USUAL if comparison(symbol, term) is not None]


@pytest.mark.parametrize("negated", [False, True])
def test_every_comparison_can_be_said_again(negated: bool) -> None:
    for expression in PLAIN:
        truth = truth_of(Not(expression) if negated else expression)
        assert truth is not None
        assert says(truth.true), expression


def interval(low: str, high: str, kind: str = XSD_INTEGER) -> Region:
    both = And((Compare(">=", X, literal(low, kind)), Compare("<", X, literal(high, kind))))
    truth = truth_of(both)
    assert truth is not None
    return truth.true


def test_the_hull_of_intervals_is_the_interval_around_them() -> None:
    assert hull(interval("1", "5"), interval("1000000007", "2000000007")) == interval("1", "2000000007")
    assert hull(interval("0.1", "0.7", XSD_DECIMAL), interval("3", "4")) == interval_mixed()


def interval_mixed() -> Region:
    both = And((Compare(">=", X, literal("0.1", XSD_DECIMAL)), Compare("<", X, literal("4", XSD_INTEGER))))
    truth = truth_of(both)
    assert truth is not None
    return truth.true


def test_the_hull_of_terms_is_all_of_them() -> None:
    a, b = literal("a"), literal("b")
    assert hull(just({a}), just({b})) == just({a, b})


def test_intervals_are_within_each_other_by_value() -> None:
    assert within(interval("2", "3"), interval("1", "3"))
    assert not within(interval("1", "3"), interval("2", "3"))
    assert not within(interval("2", "4"), interval("1", "3"))


def test_a_float_between_two_integers_is_not_forgotten() -> None:
    # 16777216.0 as xsd:float is >= 16777217 (which is rounded to it) but not > 16777216
    closed, strict = truth_of(Compare(">=", X, _integer(16777217))), truth_of(Compare(">", X, _integer(16777216)))
    assert closed is not None
    assert strict is not None
    assert not within(closed.true, strict.true)


def _integer(number: int) -> Term:
    return literal(str(number), XSD_INTEGER)


def test_lists_and_connectives() -> None:
    several = In(X, (_integer(1), _integer(2)))
    either = Or((Compare("=", X, _integer(1)), Compare("=", X, _integer(2))))
    assert truth_of(several) == truth_of(either)
    assert truth_of(Not(Not(several))) == truth_of(several)


def test_deep_conditions_need_no_recursion() -> None:
    deep: Expression = Compare(">", X, _integer(1))
    for _ in range(20_000):
        deep = Not(Not(deep))
    assert truth_of(deep) == truth_of(Compare(">", X, _integer(1)))


lines = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), max_size=6, unique=True).map(
    lambda cuts: tuple(sorted(cuts)[: len(cuts) // 2 * 2])
)


@given(lines, lines)
def test_lines_as_sets_of_places(one: Line, other: Line) -> None:
    mine, theirs = places(one), places(other)
    assert places(line_meet(one, other)) == mine & theirs
    assert places(line_join(one, other)) == mine | theirs
    assert line_within(one, other) == (mine <= theirs)


def places(line: Line) -> set[Number]:
    """Half numbers stand for what lies between two integers, and a cut lies before or behind an integer."""
    return {
        at / 2 for at in range(-2, 16) if any(_between(line[n], at / 2, line[n + 1]) for n in range(0, len(line), 2))
    }


def _between(low: Cut, at: float, high: Cut) -> bool:
    return low <= (at, 0) and (at, 1) <= high
