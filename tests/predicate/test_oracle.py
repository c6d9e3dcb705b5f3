"""Outside oracles: DuckDB gives every generated condition the same truth value, sqlglot reads it the same way.

Columns are typed for each case and constants are of their column's type, because DuckDB casts where we say unknown.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate.evaluate import Attributes, evaluate
from heliograph.predicate.form import spell_value
from heliograph.predicate.parser import parse_predicate

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BIGINT": st.integers(-4, 4) | st.integers(-(2**40), 2**40),
    "DOUBLE": st.sampled_from([0.5, -1.5, 2.0, 0.1, 1e-3, 3.0]) | st.integers(-4, 4).map(float),
    "VARCHAR": st.sampled_from(["", "a", "ab", "b", "A", "a_", "%", "it's", "é", "aé"]) | st.text("ab%_", max_size=4),
    "BOOLEAN": st.booleans(),
}
FAMILY = {"BIGINT": "number", "DOUBLE": "number", "VARCHAR": "string", "BOOLEAN": "boolean"}
Case = tuple[dict[str, str], str, list[dict[str, Any]]]


@st.composite
def conditions(draw: st.DrawFn, types: dict[str, str], depth: int = 3) -> str:
    """A condition over the typed columns, spelled in many ways."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(atomic(types))
    kind = draw(st.sampled_from(["AND", "OR", "not", "( )"]))
    inner = draw(conditions(types, depth - 1))
    if kind == "not":
        return f"NOT {inner}" if draw(st.booleans()) else f"not ({inner})"
    if kind == "( )":
        return f"({inner})"
    return f"{inner} {kind} {draw(conditions(types, depth - 1))}"


@st.composite
def atomic(draw: st.DrawFn, types: dict[str, str]) -> str:
    """One atomic condition."""
    name = draw(st.sampled_from(sorted(types)))
    kind = types[name]
    negated = draw(st.sampled_from(["", "NOT "]))
    constants = (VALUES[kind] | st.none()).map(spell_value)
    forms = ["compare", "mirrored", "in", "null", "constant"]
    forms += ["bare"] if kind == "BOOLEAN" else ["between", "pair"]
    forms += ["like"] if kind == "VARCHAR" else []
    form = draw(st.sampled_from(forms))
    signs = st.sampled_from(["=", "<>", "!="] if kind == "BOOLEAN" else ["=", "<>", "!=", "<", "<=", ">", ">="])
    if form == "compare":
        return f"{name} {draw(signs)} {draw(constants)}"
    if form == "mirrored":
        return f"{draw(constants)} {draw(signs)} ({name})"
    if form == "in":
        return f"{name} {negated}IN ({', '.join(draw(st.lists(constants, min_size=1, max_size=4)))})"
    if form == "between":
        return f"{name} {negated}between {draw(constants)} AND {draw(constants)}"
    if form == "like":
        return f"{name} {negated}{draw(likes)}"
    if form == "pair":
        others = [other for other in types if FAMILY[types[other]] == FAMILY[kind]]
        return f"{name} {draw(signs)} {draw(st.sampled_from(others))}"
    return {"null": f"{name} IS {negated}NULL", "constant": draw(fixed), "bare": name}[form]


likes = st.one_of(
    st.text("ab%_é", max_size=5).map(lambda pattern: f"LIKE '{pattern}'"),
    st.text("aB%_", max_size=5).map(lambda pattern: f"ILIKE '{pattern}'"),
    st.text("ab%_", max_size=3).map(lambda pattern: f"LIKE '!%{pattern}!_%' ESCAPE '!'"),
)
fixed = st.sampled_from(["TRUE", "FALSE", "NULL", "1 = 1", "2 < 1", "'a' = 'b'", "3 BETWEEN 1 AND 5"])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    types = {name: draw(st.sampled_from(sorted(VALUES))) for name in ("a", "b", "c")}
    rows = st.fixed_dictionaries({name: VALUES[kind] | st.none() for name, kind in types.items()})
    return types, draw(conditions(types)), draw(st.lists(rows, min_size=1, max_size=5))


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    yield connection
    connection.close()


@given(case=cases())
def test_duckdb_agrees(duck: duckdb.DuckDBPyConnection, case: Case) -> None:
    types, condition, rows = case
    cells = ", ".join(f"CAST(column{number} AS {types[name]}) AS {name}" for number, name in enumerate("abc"))
    values = ", ".join(
        f"({', '.join(f'CAST({spell_value(row[name])} AS {types[name]})' for name in 'abc')})" for row in rows
    )
    query = f"SELECT ({condition}) FROM (SELECT {cells} FROM (VALUES {values}) AS v(column0, column1, column2))"
    theirs = [row[0] for row in duck.execute(query).fetchall()]
    form = parse_predicate(condition)
    assert [evaluate(form, Attributes(row)) for row in rows] == theirs


@given(case=cases())
def test_sqlglot_reads_the_same(case: Case) -> None:
    """What sqlglot understood, printed by it, is what we understood."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sqlglot
    condition = case[1]
    assert parse_predicate(sqlglot.parse_one(condition).sql()) == parse_predicate(condition)
