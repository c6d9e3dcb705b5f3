"""Pattern and constraint tables: what they compile to, what is refused, and that they agree with SPARQL text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import HeliographError, InterestError
from heliograph.sparql.query import Query
from heliograph.sparql.tables import Reader, compile_patterns, read_patterns
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import PREFIXES
from tests.sparql.show import show

FIXTURES = Path(__file__).parent / "fixtures" / "patterns.txt"
PATTERNS = ["subscription_id", "subject", "property", "object"]
CONSTRAINTS = ["subscription_id", "variable", "operator", "value"]

Row = list[str | None]


def table(names: list[str], rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows)) if rows else [()] * len(names)
    return pa.table({name: pa.array(list(column), pa.string()) for name, column in zip(names, columns)})


def compile_rows(patterns: list[Row], constraints: list[Row]) -> dict[str, Query | HeliographError]:
    return compile_patterns(table(PATTERNS, patterns), table(CONSTRAINTS, constraints))


def described(compiled: dict[str, Query | HeliographError]) -> str:
    return "\n".join(
        f"{name}: {show(query) if isinstance(query, Query) else f'{query.code} {query.message}'}"
        for name, query in compiled.items()
    )


def rows(text: str) -> list[Row]:
    cells = [[cell.strip() or None for cell in line.split(" |")] for line in text.splitlines() if " |" in line]
    return [list(row) for row in cells]


def cases() -> list[str]:
    return FIXTURES.read_text(encoding="utf-8").split("\n===\n")


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.strip("\n").splitlines()[0][:60])
def test_fixture(case: str) -> None:
    source, _, expected = case.strip("\n").partition("\n---\n")
    source = "\n".join(line for line in source.splitlines() if not line.startswith("#"))
    patterns, _, constraints = source.partition("where\n")
    assert described(compile_rows(rows(patterns), rows(constraints))) == expected


# The same interest twice: as a row and as SPARQL.
OPERATORS = {
    "=": "FILTER(?x = {0})",
    "!=": "FILTER(?x != {0})",
    "<": "FILTER(?x < {0})",
    "<=": "FILTER(?x <= {0})",
    ">": "FILTER(?x > {0})",
    ">=": "FILTER(?x >= {0})",
    "is-a": "?x a/rdfs:subClassOf* {0}",
    "direct-is-a": "?x a {0}",
    "subclass-of": "?x rdfs:subClassOf+ {0}",
    "superclass-of": "{0} rdfs:subClassOf+ ?x",
    "contains": 'FILTER(CONTAINS(STR(?x), "{1}"))',
    "starts-with": 'FILTER(STRSTARTS(STR(?x), "{1}"))',
    "regex": 'FILTER(REGEX(STR(?x), "{1}"))',
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_constraint_is_the_sparql_it_stands_for(operator: str) -> None:
    compiled = compile_rows([["s", "?x", "p", "?y"]], [["s", "?x", operator, "Alice"]])
    text = f"SELECT * {{ ?x :p ?y . {OPERATORS[operator].format(':Alice', 'Alice')} }}"
    assert compiled == {"s": parse_sparql(text)}


def test_in_is_the_sparql_it_stands_for() -> None:
    compiled = compile_rows([["s", "?x", "p", "?y"]], [["s", "?x", "in", '["Alice", 5, "\\"a\\""]']])
    assert compiled == {"s": parse_sparql('SELECT * { ?x :p ?y FILTER(?x IN (:Alice, 5, "a")) }')}


CELLS = {"?x": "?x", "?y": "?y", "_:b": "_:b", "Alice": ":Alice", "true": "true", "5": "5", '"a"@en': '"a"@en'}
CELLS |= {"rdf:type": "rdf:type", "<http://e/>": "<http://e/>", "a": ":a", "5G": ":5G"}
ENDS = st.sampled_from(sorted(CELLS))
SUBJECTS = st.sampled_from([cell for cell in CELLS if CELLS[cell][0] in "?_:<r"])
PROPERTIES = st.sampled_from(["?x", "?p", "p", "rdf:type", "dc:title", "<http://e/>"])


@given(st.lists(st.tuples(st.sampled_from("stu"), SUBJECTS, PROPERTIES, ENDS), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_rows_are_the_triples_of_a_sparql_query(edges: list[tuple[str, str, str, str]]) -> None:
    spelled = {**CELLS, "p": ":p", "dc:title": "dc:title", "?p": "?p"}
    texts: dict[str, list[str]] = {}
    for name, *ends in edges:
        texts.setdefault(name, []).append(" ".join(spelled[end] for end in ends))
    expected = {name: parse_sparql(f"SELECT * {{ {' . '.join(triples)} }}") for name, triples in texts.items()}
    assert compile_rows([list(edge) for edge in edges], []) == expected
    assert list(compile_rows([list(edge) for edge in edges], [])) == list(texts)


@given(st.lists(st.lists(st.none() | st.text(max_size=5) | ENDS, min_size=4, max_size=4), max_size=6), st.data())
@settings(max_examples=150, deadline=None)
def test_garbage_is_a_query_or_an_error(patterns: list[Row], data: st.DataObject) -> None:
    cells = st.none() | st.text(max_size=6) | st.sampled_from(["?x", "x", "in", "regex", "=", "[]", "[1", "(", *CELLS])
    constraints = data.draw(st.lists(st.lists(cells, min_size=4, max_size=4), max_size=6))
    compiled = compile_rows(patterns, constraints)
    assert set(compiled) == {row[0] or "" for row in [*patterns, *constraints]}
    assert all(isinstance(each, Query | HeliographError) for each in compiled.values())


def test_rows_without_a_subscription_are_refused_by_themselves() -> None:
    compiled = compile_rows([["s", "?x", "p", "1"], [None, "?x", "p", "1"]], [])
    assert isinstance(compiled["s"], Query)
    error = compiled[""]
    assert isinstance(error, InterestError)
    assert error.code == "HG-440"


def test_no_rows_are_no_subscriptions() -> None:
    assert compile_patterns(table(PATTERNS, []), None) == {}


def test_prefixes_of_the_caller_are_known() -> None:
    prefixes = {**PREFIXES, "ex": "http://example.org/"}
    patterns = table(PATTERNS, [["s", "ex:a", "ex:p", "?x"]])
    compiled = compile_patterns(patterns, None, prefixes)
    assert compiled == {"s": parse_sparql("SELECT * { ex:a ex:p ?x }", prefixes=prefixes)}


def chunked(array: pa.Array[Any]) -> Any:
    return pa.chunked_array([array[:2], array[2:]])


@pytest.mark.parametrize(
    "layout",
    [chunked, lambda array: array.dictionary_encode(), lambda array: array.cast(pa.large_string())],
    ids=["chunks", "dictionary", "large strings"],
)
def test_any_arrow_layout_will_do(layout: Any) -> None:
    plain = table(
        PATTERNS, [["b", "?x", "p", "1"], ["a", "?x", "p", "2"], ["b", "?y", "q", "3"], ["c", "?y", "q", "3"]]
    )
    other = pa.table({name: layout(plain[name].combine_chunks()) for name in PATTERNS})
    assert list(compile_patterns(other).items()) == list(compile_patterns(plain).items())


def test_text_that_is_no_utf8_is_refused_where_it_stands() -> None:
    broken = pa.array([b"ok", b"\xff"], pa.binary()).view(pa.string())
    columns = {name: pa.array(["a", "b"]) for name in PATTERNS}
    compiled = compile_patterns(pa.table(columns | {"object": broken}))
    assert isinstance(compiled["a"], Query)
    error = compiled["b"]
    assert isinstance(error, HeliographError)
    assert error.code == "HG-108"


# --- many at once -----------------------------------------------------------------------------------------------

NAMES = st.sampled_from([f"s{number}" for number in range(30)])
GOOD_ROWS = st.tuples(NAMES, SUBJECTS, PROPERTIES, ENDS)
ANY_ROWS = st.tuples(NAMES, st.none() | ENDS, st.none() | ENDS, ENDS)
VARIABLES = st.sampled_from(["?x", "x", "y", "?y", "?p", "?q", "? x"])
COMPARED = st.tuples(
    NAMES, VARIABLES, st.sampled_from(["<", ">=", "="]), st.sampled_from(["1", "-20", "3.5", "n1", "?y"])
)
CONSTRAINED = st.tuples(
    NAMES,
    VARIABLES,
    st.sampled_from([*OPERATORS, "==", "in"]),
    st.sampled_from(["1", "Alice", '["a"]', "?y", "(", "_:b"]),
)


def outcome(compiled: Query | HeliographError) -> Query | str:
    """A query, or its error without the place."""
    return compiled if isinstance(compiled, Query) else compiled.message.partition(": ")[2]


@given(
    st.lists(st.one_of(GOOD_ROWS, GOOD_ROWS, GOOD_ROWS, ANY_ROWS), min_size=70, max_size=120),
    st.lists(st.one_of(COMPARED, COMPARED, CONSTRAINED), max_size=90),
)
@settings(max_examples=60, deadline=None)
def test_a_query_depends_on_its_own_rows_alone(edges: list[Any], limits: list[Any]) -> None:
    """Large tables are read whole columns at a time, small ones row by row: both mean the same."""
    names = dict.fromkeys([row[0] for row in [*edges, *limits]])
    together = compile_rows([list(row) for row in edges], [list(row) for row in limits])
    assert list(together) == list(names)
    for name in names:
        own = [[list(row) for row in rows if row[0] == name] for rows in (edges, limits)]
        assert outcome(together[name]) == outcome(compile_rows(*own)[name])


def test_the_first_wrong_row_of_many_is_named() -> None:
    edges: list[Row] = [[f"s{number}", "?x", "p", "?y"] for number in range(200)]
    limits: list[Row] = [[f"s{number % 200}", "?y", "<", str(number)] for number in range(400)]
    limits[250] = ["s50", "?z", "<", "5"]
    limits[300] = ["s50", "?y", "==", "5"]
    limits[301] = ["s100", "?y", "==", "5"]
    limits[399] = ["s199", "?y", "<", "?z"]
    compiled = compile_rows(edges, limits)
    wrong = {name: error.message for name, error in compiled.items() if isinstance(error, HeliographError)}
    assert wrong == {
        "s50": "constraints row 251, column variable: no pattern row has ?z",
        "s100": "constraints row 302, column operator: no operator '=='",
        "s199": "constraints row 400, column value: no pattern row has ?z",
    }


def test_names_that_are_no_utf8_are_one_name() -> None:
    broken = pa.array([b"a\xff", b"a\xfe", b"b"], pa.binary()).view(pa.string())
    columns = {name: pa.array(["n1", "n2", "n3"]) for name in PATTERNS}
    compiled = compile_patterns(pa.table(columns | {"subscription_id": broken}))
    assert {name: len(query.patterns) for name, query in compiled.items() if isinstance(query, Query)} == {
        "a\ufffd": 2,
        "b": 1,
    }


def test_a_reader_forgets_cells_and_rows_that_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("heliograph.sparql.tables._CELLS_REMEMBERED", "heliograph.sparql.tables._ROWS_REMEMBERED"):
        monkeypatch.setattr(name, 3)
    edges: list[Row] = [[f"s{number}", "?x", "p", f"n{number}"] for number in range(10)]
    limits: list[Row] = [[f"s{number}", "?x", "contains", f"n{number}"] for number in range(10)]
    read = read_patterns(table(PATTERNS, edges), table(CONSTRAINTS, limits), Reader())
    assert {name: read.query(row) for row, name in enumerate(read.names)} == compile_rows(edges, limits)


def test_subscriptions_that_come_one_by_one_share_their_terms() -> None:
    reader = Reader()
    first, second = (read_patterns(table(PATTERNS, [[name, "?x", "p", "n1"]]), None, reader) for name in "st")
    assert [one is other for one, other in zip(first.nodes, second.nodes, strict=True)] == [True] * 3
