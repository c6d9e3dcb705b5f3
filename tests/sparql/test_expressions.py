"""The corners of expressions that are settled by rule: errors, exactness, metrics, counts, depth."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import (
    Bindings,
    Condition,
    calculate,
    compare,
    effective_boolean,
    equal,
    evaluate,
    holds,
    negate,
)
from heliograph.sparql.query import And, Arithmetic, Call, Compare, Count, Expression, In, Metric, Negate, Not, Or
from heliograph.terms import Term, Variable, blank, iri, literal
from heliograph.values import XSD, XSD_BOOLEAN, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from tests.sparql.strategies import terms

YES, NO = literal("true", XSD_BOOLEAN), literal("false", XSD_BOOLEAN)
X = Variable("x")
ERROR = Arithmetic("/", literal("1", XSD_INTEGER), literal("0", XSD_INTEGER))
MIRROR = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def integer(number: int) -> Term:
    return literal(str(number), XSD_INTEGER)


def double(number: float) -> Term:
    return literal(repr(number), XSD_DOUBLE)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Or((ERROR, YES)), YES),
        (Or((ERROR, NO)), None),
        (And((ERROR, NO)), NO),
        (And((ERROR, YES)), None),
        (And(()), YES),
        (Or(()), NO),
        (Not(ERROR), None),
        (Not(iri("urn:a")), None),
        (In(X, (YES,)), None),
        (Call("BOUND", (X,)), NO),
        (Compare("=", X, X), None),
        (In(integer(1), (ERROR, integer(1))), YES),
        (In(integer(1), (ERROR, integer(2))), None),
        (In(integer(1), (integer(2),), negated=True), YES),
        (Call("REGEX", (literal("a"), literal("a"), literal("x"))), None),
        (Call("REGEX", (literal("a"), literal("a"), integer(1))), None),
        (Call("REGEX", (literal("a", language="en"), literal("A"), literal("i"))), YES),
        (Call("STR", (blank("b"),)), None),
        (Call("LANG", (literal("chat", language="FR"),)), literal("fr")),
        (Call("CONTAINS", (integer(5), literal("5"))), None),
        (Metric("degree", (X,)), None),
        (Count(), None),
        (Negate(literal("-2.50", XSD_DECIMAL)), literal("2.5", XSD_DECIMAL)),
        (Negate(literal("a")), None),
    ],
)
def test_errors_and_corners(expression: Expression, expected: Term | None) -> None:
    assert evaluate(expression, {}) == expected


def test_a_condition_that_is_an_error_does_not_hold() -> None:
    assert not holds(ERROR, {})
    assert not holds(Not(ERROR), {})
    assert not holds(iri("urn:a"), {})
    assert holds(Not(NO), {})


def test_metrics_and_counts_come_from_outside() -> None:
    def metrics(metric: Metric, bindings: Bindings) -> Term | None:
        assert metric.name == "degree"
        return bindings.get(X)

    degree = Metric("degree", (X,))
    assert holds(Compare(">", degree, integer(2)), {X: integer(3)}, metrics=metrics)
    assert not holds(Compare(">", degree, integer(2)), {}, metrics=metrics)
    assert holds(Compare(">=", Count(), integer(3)), {}, count=3)
    assert not holds(Compare(">=", Count(), integer(3)), {}, count=2)


@pytest.mark.parametrize(
    ("symbol", "expected"), [("=", YES), ("!=", NO), ("<", NO), ("<=", YES), (">", NO), (">=", YES)]
)
def test_a_metric_is_compared_with_tolerance_and_a_plain_double_is_not(symbol: str, expected: Term) -> None:
    near, metric = double(1 / 3 + 1e-10), Metric("clustering", (X,))
    third = literal("0.3333333333", XSD_DECIMAL)
    assert evaluate(Compare(symbol, metric, third), {}, metrics=lambda *_: near) == expected
    assert evaluate(Compare("=", near, third), {}) == NO
    assert evaluate(In(metric, (third,)), {}, metrics=lambda *_: near) == YES


def test_integers_and_decimals_are_exact_at_any_size() -> None:
    huge = integer(10**40)
    assert calculate("+", huge, integer(1)) == integer(10**40 + 1)
    assert compare("<", huge, integer(10**40 + 1))
    assert not equal(integer(2**53 + 1), integer(2**53))
    assert calculate("*", literal("0.1", XSD_DECIMAL), literal("0.2", XSD_DECIMAL)) == literal("0.02", XSD_DECIMAL)
    digits = "0." + "1" * 40
    assert calculate("-", literal(digits, XSD_DECIMAL), literal("0.0", XSD_DECIMAL)) == literal(digits, XSD_DECIMAL)
    assert compare("<", integer(10**400), literal("INF", XSD_DOUBLE)) is False  # too large for a double: infinite
    assert compare(">", integer(-(10**400)), literal("-INF", XSD_DOUBLE)) is False


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("1", "3", "0.333333333333333333"), ("-1", "3", "-0.333333333333333333"), ("7", "2", "3.5"), ("4", "-2", "-2.0")],
)
def test_integers_divide_to_decimals(left: str, right: str, expected: str) -> None:
    quotient = calculate("/", literal(left, XSD_INTEGER), literal(right, XSD_INTEGER))
    assert quotient == literal(expected, XSD_DECIMAL)


@pytest.mark.parametrize(("left", "expected"), [("1", "INF"), ("-1", "-INF"), ("0", "NaN"), ("NaN", "NaN")])
def test_doubles_divide_by_zero_as_ieee_does(left: str, expected: str) -> None:
    assert calculate("/", literal(left, XSD_DOUBLE), double(0.0)) == literal(expected, XSD_DOUBLE)


def test_floats_are_single_precision() -> None:
    tenth = literal("0.1", XSD_FLOAT)
    assert equal(tenth, literal("0.1", XSD_DECIMAL))
    assert not equal(tenth, literal("0.1", XSD_DOUBLE))
    assert calculate("*", literal("3e38", XSD_FLOAT), integer(10)) == literal("INF", XSD_FLOAT)
    assert negate(literal("0", XSD_FLOAT)) == literal("0", XSD_FLOAT)


def test_an_unknown_zone_leaves_fourteen_hours_of_doubt() -> None:
    local = literal("2020-01-01T00:00:00", XSD_DATETIME)
    within, beyond = (literal(f"2020-01-01T{clock}Z", XSD_DATETIME) for clock in ("14:00:00", "14:00:01"))
    assert compare("<", local, within) is None
    assert compare("<", local, beyond) is True
    assert equal(local, within) is False


def test_effective_boolean_values() -> None:
    assert [effective_boolean(term) for term in (literal(""), literal("a"), integer(0), double(0.5))] == [
        False,
        True,
        False,
        True,
    ]
    assert effective_boolean(literal("NaN", XSD_DOUBLE)) is False
    assert effective_boolean(literal("a", language="en")) is None
    assert effective_boolean(literal("2020-01-01T00:00:00", XSD_DATETIME)) is None


@settings(max_examples=200, deadline=None)
@given(terms, terms)
def test_comparisons_mirror_and_negate(left: Term, right: Term) -> None:
    for symbol, mirrored in MIRROR.items():
        assert compare(symbol, left, right) == compare(mirrored, right, left)
    same, different = compare("=", left, right), compare("!=", left, right)
    assert (same is None) == (different is None)
    assert same is None or same is not different
    assert equal(left, left)


def test_depth_costs_no_recursion() -> None:
    deep: Expression = X
    for _ in range(20_000):
        deep = Negate(deep)
    assert Condition.of(deep).value({X: integer(1)}) == integer(1)


# --- whatever the literals, a value or an error -----------------------------------------------------------------

DATATYPES = "integer decimal double float boolean date dateTime string int gYear duration nothing".split()
LEXICAL = "0 -0 1e400 -1e-400 INF NaN true 2020-02-30 24:00:00 2020-01-01 ( a{1001} \x00".split(" ")
LEXICAL += ["", "99999-12-31T24:00:00Z", "9" * 5000, "0." + "9" * 50, "-9999-01-01T00:00:00.000000000000000001-14:00"]

texts = st.one_of(st.sampled_from(LEXICAL), st.text(max_size=8), st.from_regex(r"\A[+-]?[0-9.eE:TZ-]{1,12}\Z"))
wild_terms: st.SearchStrategy[Expression] = st.one_of(
    st.builds(lambda text, name: literal(text, XSD + name), texts, st.sampled_from(DATATYPES)),
    st.builds(lambda text: literal(text, language="en"), texts),
    st.sampled_from([iri("urn:a"), blank("b")]),
)


def _above(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(below, max_size=3).map(tuple)
    symbols = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    return st.one_of(
        st.builds(Compare, symbols, below, below),
        st.builds(Arithmetic, st.sampled_from("+-*/"), below, below),
        st.builds(In, below, several, st.booleans()),
        st.builds(Negate, below),
        st.builds(Not, below),
        st.builds(And, several),
        st.builds(Or, several),
        st.builds(
            lambda name, one: Call(name, (one,)), st.sampled_from("STR LANG DATATYPE ISIRI BOUND".split()), below
        ),
        st.builds(
            lambda name, one, two: Call(name, (one, two)),
            st.sampled_from("CONTAINS STRSTARTS STRENDS REGEX".split()),
            below,
            below,
        ),
    )


@settings(max_examples=400, deadline=None)
@given(st.recursive(wild_terms, _above, max_leaves=5))
def test_every_expression_has_a_value_or_is_an_error(expression: Expression) -> None:
    value = evaluate(expression, {})
    assert value is None or isinstance(value, Term)
    assert value is None or not value.is_literal or literal(value.value, value.datatype, value.language) == value
