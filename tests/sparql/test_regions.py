"""Regions say exactly where a condition is true: the evaluator is asked about hostile terms that lie close together."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import effective_boolean, evaluate
from heliograph.sparql.normalize import hull, region_of, says, spelled
from heliograph.sparql.query import And, Compare, Expression, In, Not, Or, walk
from heliograph.sparql.regions import (
    EVERYTHING,
    NOTHING,
    ROUNDED,
    Atom,
    Cut,
    Domain,
    Line,
    Number,
    Region,
    atoms_of,
    box_of,
    comparison,
    holds,
    intersection,
    just,
    line_intersection,
    line_union,
    line_within,
    region_where,
    union,
    within,
)
from heliograph.terms import Term, Variable, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from tests.filter.interest_strategies import POOL, SYMBOLS, X, all_filters, number_filters, plain_filters
from tests.term_strategies import numbers as wild_numbers
from tests.term_strategies import objects as wild_terms


def verdict(expression: Expression, term: Term) -> bool | None:
    value = evaluate(expression, {X: term})
    return None if value is None else effective_boolean(value)


def assert_exact(expression: Expression, terms: tuple[Term, ...] = POOL) -> None:
    true, false = region_where(expression), region_where(expression, wanted=False)
    for term in terms:
        found = verdict(expression, term)
        assert true is None or holds(true, term) == (found is True), term
        assert false is None or holds(false, term) == (found is False), term


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


def test_a_box_of_one_variable_is_its_region_or_holds_it() -> None:
    above, text = Compare(">", X, literal("5", XSD_INTEGER)), Compare("<", X, literal("b"))
    assert box_of(above).regions == {X: region_where(above)}
    assert not box_of(text).exact
    assert region_where(text) is None
    assert region_where(Or((above, Not(above), In(X, ())))) == union(
        [box_of(above).regions[X], box_of(Not(above)).regions[X]]
    )


def test_regions_become_few_atoms() -> None:
    def atoms(expression: Expression) -> tuple[tuple[Atom, ...], bool]:
        found = region_where(expression)
        assert found is not None
        return atoms_of(found, lambda _: 0)

    low, high = Compare(">=", X, literal("1", XSD_INTEGER)), Compare("<", X, literal("1", XSD_DOUBLE))
    whole = Atom(Domain.NUMBER, float("-inf"), float("inf"))
    assert atoms(Or((Compare("<", X, literal("1", XSD_INTEGER)), low))) == ((whole,), True)
    # an exact number just below 1 is rounded to the double 1, so between both comparisons something may pass
    assert atoms(And((Not(low), Not(high)))) == (
        (Atom(Domain.NUMBER, 1.0, 1.0, ROUNDED), Atom(Domain.NAN, float("-inf"), float("inf"))),
        True,
    )
    # an exact number is compared with a float as floats, a double as doubles: they part over a whole interval
    assert not atoms(Compare("<", X, literal("0.1", XSD_FLOAT)))[1]


# --- the algebra ------------------------------------------------------------------------------------------------

regions = st.one_of(
    st.builds(lambda e: region_where(e) or EVERYTHING, plain_filters),
    st.builds(lambda e: region_where(e, wanted=False) or NOTHING, number_filters),
    st.lists(st.sampled_from(POOL), max_size=4).map(lambda terms: just(set(terms))),
)


def members(region: Region) -> set[Term]:
    return {term for term in POOL if holds(region, term)}


@given(st.lists(regions, min_size=1, max_size=4))
def test_intersection_union_and_within_are_those_of_sets(several: list[Region]) -> None:
    sets = [members(each) for each in several]
    common, joined = intersection(several), union(several)
    assert members(common) == set.intersection(*sets)
    assert members(joined) >= set.union(*sets)
    if len({each.among is None for each in several}) == 1:
        assert members(joined) == set.union(*sets)
    for each, its in zip(several, sets, strict=True):
        assert within(common, each)
        assert within(each, joined)
        assert within(NOTHING, each)
        assert within(each, EVERYTHING)
        assert all(its <= theirs for other, theirs in zip(several, sets, strict=True) if within(each, other))


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
        found = region_where(expression, wanted=not negated)
        assert found is not None
        assert says(found), expression


def interval(low: str, high: str) -> Region:
    ends = [literal(end, XSD_DECIMAL if "." in end else XSD_INTEGER) for end in (low, high)]
    both = And((Compare(">=", X, ends[0]), Compare("<", X, ends[1])))
    found = region_where(both)
    assert found is not None
    return found


def test_the_hull_of_intervals_is_the_interval_around_them() -> None:
    assert hull(interval("1", "5"), interval("1000000007", "2000000007")) == interval("1", "2000000007")
    assert hull(interval("0.1", "0.7"), interval("3", "4")) == interval("0.1", "4")


def test_a_float_between_two_integers_is_not_forgotten() -> None:
    # 16777216.0 as xsd:float is >= 16777217 (which is rounded to it) but not > 16777216
    closed, strict = comparison(">=", _integer(16777217)), comparison(">", _integer(16777216))
    assert closed is not None
    assert strict is not None
    assert not within(closed, strict)


def _integer(number: int) -> Term:
    return literal(str(number), XSD_INTEGER)


def test_lists_and_connectives() -> None:
    several = In(X, (_integer(1), _integer(2)))
    either = Or((Compare("=", X, _integer(1)), Compare("=", X, _integer(2))))
    assert region_where(several) == region_where(either)
    assert region_where(Not(Not(several))) == region_where(several)


def test_deep_conditions_need_no_recursion() -> None:
    deep: Expression = Compare(">", X, _integer(1))
    for _ in range(20_000):
        deep = Not(Not(deep))
    assert region_where(deep) == region_where(Compare(">", X, _integer(1)))


lines = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), max_size=6, unique=True).map(
    lambda cuts: tuple(sorted(cuts)[: len(cuts) // 2 * 2])
)


@given(lines, lines)
def test_lines_as_sets_of_places(one: Line, other: Line) -> None:
    mine, theirs = places(one), places(other)
    assert places(line_intersection((one, other))) == mine & theirs
    assert places(line_union((one, other))) == mine | theirs
    assert line_within(one, other) == (mine <= theirs)


def places(line: Line) -> set[Number]:
    """Half numbers stand for what lies between two integers, and a cut lies before or behind an integer."""
    return {
        at / 2 for at in range(-2, 16) if any(_between(line[n], at / 2, line[n + 1]) for n in range(0, len(line), 2))
    }


def _between(low: Cut, at: float, high: Cut) -> bool:
    return low <= (at, 0) and (at, 1) <= high
