"""Findings on subscriptions. The law: what is said never to hold holds for no binding."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import SparqlError
from heliograph.lint import lint_subscriptions, never_holds
from heliograph.semantics.expressions import holds
from heliograph.syntax.query import And, Query
from heliograph.syntax.sparql import parse_sparql
from heliograph.terms import Variable, parse_cell


def query(condition: str, rest: str = "") -> Query:
    return parse_sparql(f"ASK {{ ?x :p ?a . ?x :q ?b {rest} FILTER({condition}) }}", verb="watch")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("1 > 2", "FILTER(1 > 2) can never hold"),
        ("false", "FILTER(false) can never hold"),
        ("?a < ?a", "FILTER(?a < ?a) can never hold"),
        ("?a != ?a", "FILTER(?a != ?a) can never hold"),
        ("?a IN ()", "FILTER(?a IN ()) can never hold"),
        ("?a > 5 && ?a < 3", "?a cannot be > 5 and < 3"),
        ("?a > 5 && ?a < 5", "?a cannot be > 5 and < 5"),
        ("?a >= 5 && 5 > ?a", "?a cannot be >= 5 and < 5"),
        ("?a = 1 && (?b > 0 && 2 = ?a)", "?a cannot be = 2 and = 1"),
        ("?a > 2.5e0 && ?a <= 2.5", "?a cannot be > 2.5E0 and <= 2.5"),
    ],
)
def test_what_can_never_hold(condition: str, reason: str) -> None:
    assert list(never_holds(query(condition))) == [reason]


@pytest.mark.parametrize(
    "condition",
    [
        "?a > 3 && ?a < 5",
        "?a >= 5 && ?a <= 5",
        "?a > 5 || ?a < 3",
        "?a = ?a",
        "?a NOT IN ()",
        "!(?a > 5 && ?a < 3)",
        "?a > 5 && ?b < 3",
        '?a > "b" && ?a < "a"',
        "?a > 1e400 && ?a < 3",
        "?a != 5 && ?a = 5.0",
        "?a > ?b",
        "hg:degree(?a) > 5",
        'CONTAINS(STR(?a), "x")',
    ],
)
def test_what_is_left_alone(condition: str) -> None:
    assert list(never_holds(query(condition))) == []


def test_values_without_rows() -> None:
    assert list(never_holds(query("?a > 1", "VALUES ?a { }"))) == ["VALUES for ?a has no rows"]


NUMBERS = st.one_of(
    st.integers(-3, 3).map(str),
    st.sampled_from([Decimal("0.5"), Decimal("-1.5"), Decimal("2.0")]).map(str),
    st.sampled_from(["1e0", "-2.5e0", "3e0"]),
)
COMPARISONS = st.builds(
    lambda operator, number, swapped: f"{number} {operator} ?a" if swapped else f"?a {operator} {number}",
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    NUMBERS,
    st.booleans(),
)


@given(st.lists(COMPARISONS, min_size=1, max_size=4), NUMBERS)
def test_what_never_holds_holds_for_no_binding(comparisons: list[str], number: str) -> None:
    compiled = query(" && ".join(comparisons))
    if list(never_holds(compiled)):
        assert not holds(And(compiled.filters), {Variable("a"): parse_cell(number)})


def test_the_table_of_findings() -> None:
    same, other = query("?a > 1"), query("?a > 2")
    error = SparqlError("HG-401", "not understood")
    table = lint_subscriptions([("a", same), ("b", same), ("a", other), (None, other), ("c", error)])
    assert [(row["subject_id"], row["code"], row["related_id"]) for row in table.to_pylist()] == [
        ("b", "HG-711", "a"),
        ("a", "HG-501", "a"),
        ("", "HG-503", None),
        ("c", "HG-401", None),
    ]
