"""How large a query may be: each limit is taken, and one more is refused where it stands, for known shapes too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from heliograph import Filter, HeliographError, SparqlError, Watch
from heliograph.sparql.evaluate import MAX_PROGRAM, compile_regex, regex_problem
from heliograph.sparql.query import (
    MAX_BASES,
    MAX_CONDITIONS,
    MAX_CONSTRAINTS,
    MAX_NAMESPACE,
    MAX_PATTERNS,
    MAX_RANGING,
    MAX_VARIABLES,
    Query,
)
from heliograph.sparql.templates import compile_sparql


def _blocks(rows: int, of: int) -> str:
    return " ".join(f"VALUES ?x{number} {{ {' 1' * rows} }}" for number in range(of))


LIMITED: dict[str, tuple[Callable[[int], str], int, tuple[int, int | None] | None]] = {
    "patterns": (lambda n: f"ASK {{\n {' . '.join(['?a :p ?b'] * n)} }}", MAX_PATTERNS, None),
    "objects": (lambda n: f"ASK {{\n ?a :p {', '.join(['?b'] * n)} }}", MAX_PATTERNS, (2, 2)),
    "conditions": (
        lambda n: f"ASK {{ ?a :p ?b\n FILTER({' && '.join(['?b > 1'] * (n - 1))}) }}",
        MAX_CONDITIONS,
        (2, 2),
    ),
    "filters": (lambda n: f"ASK {{ ?a :p ?b {' FILTER(?b > 1)' * (n - 1)}\n FILTER(?b > 2) }}", MAX_CONDITIONS, (2, 2)),
    "havings": (
        lambda n: f"SELECT (COUNT(*) AS ?n) {{ ?a :p ?b }} HAVING {'(COUNT(*) > 1)' * (n // 2)}",
        MAX_CONDITIONS,
        None,
    ),
    "selected": (lambda n: f"SELECT\n{'?a' * n} {{ ?a :p ?b }}", MAX_VARIABLES, (2, 2 * MAX_VARIABLES + 1)),
    "counts": (
        lambda n: f"SELECT {' '.join(f'(COUNT(*) AS ?n{k})' for k in range(n))} {{ ?a :p ?b }} HAVING(COUNT(*) > 1)",
        MAX_VARIABLES,
        None,
    ),
    "grouped": (
        lambda n: f"SELECT (COUNT(*) AS ?n) {{ ?a :p ?b }} GROUP BY {'?a ' * n} HAVING(COUNT(*) > 1)",
        MAX_VARIABLES,
        None,
    ),
    "columns": (
        lambda n: f"ASK {{ ?a :p ?b VALUES ({' '.join(f'?x{k}' for k in range(n))}) {{ }} }}",
        MAX_VARIABLES,
        None,
    ),
    "combinations": (lambda n: f"ASK {{ ?a :p ?b\n {_blocks(10, n)} }}", 5, (2, None)),
    "bases": (lambda n: "BASE <http://a/> " * n + "ASK { ?a :p ?b }", MAX_BASES, None),
    "namespace": (lambda n: f"PREFIX p: <http:{'x' * (n - 5)}>\nASK {{ ?a :p ?b }}", MAX_NAMESPACE, (1, 11)),
    "base": (lambda n: f"BASE <http:{'x' * (n - 5)}>\nASK {{ ?a :p ?b }}", MAX_NAMESPACE, (1, 6)),
    "free variables": (
        lambda n: "ASK { ?a :p ?b\n FILTER(" + " + ".join(f"hg:degree(?x{k})" for k in range(n)) + " > 3) }",
        MAX_RANGING,
        (2, None),
    ),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_is_taken_and_one_more_is_refused(name: str) -> None:
    make, limit, place = LIMITED[name]
    below, above = make(limit), make(limit + (2 if name == "havings" else 1))
    found = compile_sparql([below, above] * 3, verb="watch")  # from the third text on, the shape is known
    for taken, refused in zip(found[0::2], found[1::2], strict=True):
        assert isinstance(taken, Query), taken
        assert isinstance(refused, SparqlError)
        assert refused.code == "HG-436"
        assert refused.fix
        if place is not None:
            assert refused.line == place[0]
            assert place[1] in (None, refused.column)


def test_blocks_that_only_narrow_down_are_not_counted() -> None:
    """Two lists of 1,000: of variables that triples bind they are taken, whatever another text of the shape has."""
    lists = f"VALUES ?x {{ {' 1' * 1000} }} VALUES ?y {{ {' 1' * 1000} }}"
    bound, free = f"ASK {{ ?x :p ?y {lists} }}", f"ASK {{ ?c :p ?a {lists} }}"
    for found in (compile_sparql([bound, free] * 3), compile_sparql([free, bound] * 3)[::-1]):
        assert [isinstance(each, Query) for each in found] == [True, False] * 3


def test_rows_of_tables() -> None:
    engine = Filter()
    for count, taken in ((MAX_PATTERNS, 1), (MAX_PATTERNS + 1, 0)):
        rows = [(f"s{count}", "?x", "p", f"o{number}") for number in range(count)]
        receipt = engine.subscribe(patterns=_table(rows, "subject", "property", "object"))
        assert (receipt.accepted, [each.code for each in receipt.rejected]) == (taken, ["HG-436"] * (1 - taken))
    for count, taken in ((MAX_CONSTRAINTS, 1), (MAX_CONSTRAINTS + 1, 0)):
        rows = [(f"t{count}", "?x", ">", str(number)) for number in range(count)]
        receipt = engine.subscribe(
            patterns=_table([(f"t{count}", "a", "p", "?x")], "subject", "property", "object"),
            constraints=_table(rows, "variable", "operator", "value"),
        )
        assert (receipt.accepted, [each.code for each in receipt.rejected]) == (taken, ["HG-436"] * (1 - taken))


def _table(rows: Sequence[tuple[str, ...]], *names: str) -> list[dict[str, Any]]:
    return [dict(zip(("subscription_id", *names), row, strict=True)) for row in rows]


# --- regular expressions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["a" * (MAX_PROGRAM + 10), "(.{1000}){2}", "((a{30}){30}){12}", "(a?){1000}" * 6])
def test_a_pattern_that_is_too_large_is_refused(pattern: str) -> None:
    problem = regex_problem(pattern)
    assert problem is not None
    with pytest.raises(SparqlError, match="HG-404") as refused:
        Filter().subscribe(("q", f'ASK {{ ?a :p ?b FILTER(REGEX(?b, "{pattern}")) }}'))
    assert refused.value.fix
    rows = [{"subscription_id": "q", "variable": "?x", "operator": "regex", "value": pattern}]
    patterns = _table([("q", "a", "p", "?x")], "subject", "property", "object")
    assert [each.code for each in Filter().subscribe(patterns=patterns, constraints=rows).rejected] == ["HG-404"]


def test_groups_are_not_captured() -> None:
    """20,000 of them are a few steps; captured, each would be kept for each place of the text."""
    pattern = "()" * 20_000 + "x"
    assert regex_problem(pattern) is None
    assert compile_regex(pattern).programsize < 100
    assert compile_regex(pattern).search("a" * 1_000) is None
    assert compile_regex(pattern).search("a" * 1_000 + "x") is not None


def test_hundreds_of_large_patterns_are_compiled_once_each() -> None:
    patterns = ["|".join(f"{number}{word:08}" for word in range(0, 2_000_000, 7_919)) for number in range(200)]
    compiled = list(map(compile_regex, patterns))
    assert min(each.programsize for each in compiled) > 1_000
    assert all(compile_regex(pattern) is each for pattern, each in zip(patterns, compiled, strict=True))


def test_a_thousand_words_are_no_large_pattern() -> None:
    words = "|".join(f"word{number}" for number in range(1_000))
    assert regex_problem(words, "i") is None
    assert compile_regex(words, "i").search("a WORD999 b") is not None


@pytest.mark.parametrize("call", ["hg:cliques({})", "hg:density(?a, {})"])
def test_an_argument_of_more_digits_than_python_reads_is_refused(call: str) -> None:
    with pytest.raises(SparqlError, match="HG-432"):
        Watch().subscribe(("q", f"ASK {{ ?a :p ?b FILTER({call.format('9' * 5_000)} > 1) }}"))


# --- variables that nothing binds -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT DISTINCT ?z { ?a :p ?b }", (1, 17)),
        ("SELECT DISTINCT ?a\n ?z { ?a :p ?b FILTER(?z > 1) }", (2, 2)),
        ("SELECT (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?z HAVING (COUNT(*) > 1)", (1, 47)),
        ("SELECT ?z (COUNT(*) AS ?n) { ?a :p ?b }\n GROUP BY ?a ?z HAVING (COUNT(*) > 1 && ?z > 1)", (1, 8)),
    ],
)
def test_a_watch_refuses_what_it_cannot_tell_matches_apart_by(query: str, place: tuple[int, int]) -> None:
    for algorithm in ("plain", "indexed", "auto"):
        watch = Watch(algorithm=algorithm)
        watch.subscribe(("good", "SELECT DISTINCT ?a { ?a :p ?b }"))
        with pytest.raises(HeliographError, match="HG-435") as refused:
            watch.subscribe(("bad", query))
        assert isinstance(refused.value, SparqlError)
        assert (refused.value.line, refused.value.column) == place
        [told] = watch.publish([{"op": "+", "subject": "a", "property": "p", "object": "b"}])
        assert told.subscription_id == "good"


def test_where_matches_are_told_apart_without_it_an_unbound_variable_is_taken() -> None:
    """It is legal SPARQL: a filter has no matches to tell apart, and a plain SELECT tells them apart by the pattern."""
    filter, watch = Filter(), Watch()
    filter.subscribe([("distinct", "SELECT DISTINCT ?z { ?a :p ?b }"), ("plain", "SELECT ?z { ?a :p ?b }")])
    filter.subscribe(("grouped", "SELECT (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?z HAVING (COUNT(*) >= 1)"))
    found = filter.publish([("d", [("a", "p", "b")])])
    assert [each.subscription_id for each in found] == ["distinct", "plain", "grouped"]
    watch.subscribe(
        [("plain", "SELECT ?z { ?a :p ?b }"), ("values", "SELECT DISTINCT ?z { ?a :p ?b VALUES ?z { 1 } }")]
    )
    found = watch.publish([{"op": "+", "subject": "a", "property": "p", "object": "b"}])
    assert [each.subscription_id for each in found] == ["plain", "values"]


# --- sharing by shape -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ['"x }', "'x }", "\\ }", "'''x }", '"\\" }'])
def test_an_open_quote_is_refused_whether_or_not_the_shape_is_known(tail: str) -> None:
    texts = ['ASK { ?a :p "x" }', "ASK { ?a :p ?b } # x", f"ASK {{ ?a :p {tail}", f"ASK {{ ?a :p ?b }} {tail}"]
    for found in compile_sparql(texts * 3):
        assert isinstance(found, Query) or found.code == "HG-401"
    assert [isinstance(each, Query) for each in compile_sparql(texts * 3)] == [True, True, False, False] * 3
