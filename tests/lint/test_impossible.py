"""What is said never to match. The law: the matcher confirms it, whatever is published."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.lint.queries import why_never
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import And, Query
from heliograph.sparql.solve import Graph, matches
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Variable, parse_cell
from tests.filter.conditions import WILD, comparisons, conditions, textual
from tests.filter.strategies import Workload, workloads


def query(condition: str, rest: str = "") -> Query:
    return parse_sparql(f"ASK {{ ?x :p ?a . ?x :q ?b . ?x ?r ?c {rest} FILTER({condition}) }}", verb="watch")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("1 > 2", "FILTER(1 > 2) cannot hold"),
        ("false", "FILTER(false) cannot hold"),
        ("?a < ?a", "FILTER(?a < ?a) cannot hold"),
        ("?a IN ()", "FILTER(?a IN ()) cannot hold"),
        ("?nowhere > 5", "FILTER(?nowhere > 5) cannot hold"),
        ('?nowhere > 5 || !(STR(?nowhere) = "a")', "?nowhere"),
        ("?a > 5 && ?a < 3", "?a > 5 and ?a < 3 cannot hold together"),
        ("?a > 5 && ?a < 5", "?a > 5 and ?a < 5 cannot hold together"),
        ("?a >= 5 && ?b > 3 && 5 > ?a", "?a >= 5 and 5 > ?a cannot hold together"),
        ("?a = 1 && (?b > 0 && 2 = ?a)", "?a = 1 and 2 = ?a cannot hold together"),
        ("(?a < 2 || ?a = 7) && ?a >= 2 && ?a != 7", "(?a < 2) || (?a = 7) and ?a >= 2 and ?a != 7 cannot"),
        ("?a IN (1, 2) && ?a > 2.5", "?a IN (1, 2) and ?a > 2.5 cannot"),
        ('?a > 5 && ?a = "x"', "cannot hold together"),
        ('?a = "a" && ?a = "b"', '?a = "a" and ?a = "b" cannot hold together'),
        ('?a = "a" && ?a = "a"@en', "cannot hold together"),
        ('?a > "b" && ?a < "a"', "cannot hold together"),
        ('?a > "b" && ?a < "z"@en', "cannot hold together"),
        ('?a = "x" && CONTAINS(?a, "y")', "cannot hold together"),
        ('?a IN ("ab", "cd") && STRSTARTS(?a, "x")', "cannot hold together"),
        ('(?a = "ab" || ?a = "cd") && STRENDS(?a, "z")', "cannot hold together"),
        ('STR(?a) = "ab" && REGEX(STR(?a), "c")', "cannot hold together"),
        ('STRSTARTS(?a, "abc") && STRSTARTS(?a, "abd")', "cannot hold together"),
        ('STRENDS(?a, "c") && STRENDS(?a, "bd")', "cannot hold together"),
        ("STR(?a) > 5", "FILTER(STR(?a) > 5) cannot hold"),
        ('DATATYPE(?a) = "integer"', "cannot hold"),
        ("?a < <http://example.org/>", "cannot hold"),
        ("?a = :Ann && ?a = :Bob", "cannot hold together"),
        ("isIRI(?a) && isLiteral(?a)", "cannot hold together"),
        ("?x > 5", "?x > 5 and ?x being a subject (never a literal) cannot hold together"),
        ('?r = "knows"', "?r being a property (always an IRI)"),
        ("?a < ?b && ?b < ?a", "?a < ?b and ?b < ?a cannot hold together"),
        ("?a = ?b && !(?a = ?b) && ?a != ?b", "?a = ?b and ?a != ?b cannot hold together"),
        ('?a >= "2026-03-01"^^xsd:date && ?a < "2026-02-01"^^xsd:date', "cannot hold together"),
    ],
)
def test_what_can_never_hold(condition: str, reason: str) -> None:
    said = why_never(query(condition))
    assert said is not None
    assert said.startswith("can never match: ")
    assert reason in said


@pytest.mark.parametrize(
    "condition",
    [
        "?a > 3 && ?a < 5",
        "?a >= 5 && ?a <= 5",
        "?a > 5 || ?a < 3",
        "?a = ?a",
        "?a != ?a",  # not-a-number
        "?a NOT IN ()",
        "!(?a > 5 && ?a < 3)",
        "?a > 5 && ?b < 3",
        "?a >= 5.00000000000000000001 && ?a <= 5",  # 5e0, which is compared after rounding
        "?a >= 5.000000001 && ?a <= 5",  # as an xsd:float
        "?a > 1e400 && ?a < 3 || ?b = 1",
        "?a != 5 && ?a = ?b",
        "?a > ?b",
        "?a IN (1, ?nowhere)",
        "!BOUND(?nowhere)",
        "hg:degree(?a) > 5 && hg:degree(?a) < 3",
        'CONTAINS(STR(?a), "x")',
        'STRSTARTS(?a, "ab") && STRSTARTS(?a, "abc") && ?a > "ab" && ?a < "b"',
        'LANG(?a) = "en" && CONTAINS(?a, "x")',
        "?x = :Ann && ?x != :Bob",
    ],
)
def test_what_is_left_alone(condition: str) -> None:
    assert why_never(query(condition)) is None


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("VALUES ?a { }", "VALUES ?a has no row that fits"),
        ("VALUES ?a { 0 1 }", "?a > 1 and VALUES ?a cannot hold together"),
        ("VALUES (?a ?b) { (0 5) (5 0) } FILTER(?b > 1)", "cannot hold together"),
        ("VALUES ?a { 2 3 } VALUES ?a { 4 }", "VALUES ?a and VALUES ?a cannot hold together"),
        ('VALUES ?x { "Ann" }', "?x being a subject"),
        ("VALUES ?a { 2 3 } VALUES (?a ?b) { (3 1) (UNDEF 2) }", None),
        ("VALUES ?z { 1 UNDEF } FILTER(?z > 0)", None),
        ("VALUES ?z { 1 UNDEF } FILTER(?z > 2)", None),  # left alone: a row leaves ?z open
    ],
)
def test_values(rest: str, said: str | None) -> None:
    found = why_never(query("?a > 1", rest))
    assert found is None if said is None else said in str(found)


@pytest.mark.parametrize(
    ("having", "never"),
    [
        ("COUNT(*) < 0", True),
        ("COUNT(*) > 2 && COUNT(*) < 3", True),
        ("COUNT(*) = 2.5", True),
        ("COUNT(*) IN (-1, 1.5)", True),
        ("COUNT(*) > 2 && COUNT(*) < 4", False),
        ("COUNT(*) < 1", False),
        ("COUNT(*) + 1 < 0", False),  # left alone
        ("COUNT(*) > 1e20", False),
    ],
)
def test_counts(having: str, never: bool) -> None:
    said = why_never(parse_sparql(f"SELECT (COUNT(*) AS ?n) {{ ?x :p ?a }} HAVING ({having})", verb="watch"))
    assert (said is not None) is never


def test_a_count_may_be_satisfied_by_nothing() -> None:
    body = "{ ?x :p ?a FILTER(?a > 5 && ?a < 3) }"
    zero = parse_sparql(f"SELECT (COUNT(*) AS ?n) {body} HAVING (COUNT(*) < 1)")
    grouped = parse_sparql(f"SELECT ?x (COUNT(*) AS ?n) {body} GROUP BY ?x HAVING (COUNT(*) < 2)")
    assert why_never(zero) is None
    assert matches(zero, Graph(()))
    assert why_never(grouped) is not None
    never = parse_sparql("SELECT ?x (COUNT(*) AS ?n) { ?x :p ?a } GROUP BY ?x HAVING (COUNT(*) < 1)")
    assert "no count satisfies" in str(why_never(never))


# --- the law ----------------------------------------------------------------------------------------------------

_ODD = ('"x"^^xsd:integer', '"x"^^<urn:t>')
_NUMBERS = ("-1.5", "0.1", "1e0", "-2.5e0", '"0.1"^^xsd:float', '"2"^^xsd:float', '"NaN"^^xsd:double')
TEXTS = ("A", "B", "K", "_:b", '"a"', '"ab"', '"a"@en', '"abcab"', '""', "true", "false", *_ODD, *_NUMBERS)
POOL = [parse_cell(text) for text in dict.fromkeys((*WILD.numbers, *WILD.moments, *TEXTS))]


def check_no_binding(compiled: Query) -> None:
    """Tries every two terms of the pool."""
    condition = Condition.of(And(compiled.filters))
    for one, other in product(POOL, POOL if Variable("b") in condition.variables else POOL[:1]):
        assert not condition.holds({Variable("a"): one, Variable("b"): other}), (one, other)


@given(
    st.lists(conditions(("?a", "?b"), WILD), min_size=1, max_size=4)
    | st.lists(comparisons("?a", WILD) | textual("?a"), min_size=2, max_size=4)
)
def test_conditions_that_never_hold_hold_for_no_binding(some: list[str]) -> None:
    compiled = query(" && ".join(f"({each})" for each in some))
    if why_never(compiled):
        check_no_binding(compiled)


@given(workloads(WILD))
def test_what_never_matches_matches_no_publication(workload: Workload) -> None:
    engine = workload.engine("naive")
    silent = {each.id for each in engine._subscriptions if why_never(each.query)}
    assert not silent & {n.subscription_id for n in engine.publish(workload.publications)}
