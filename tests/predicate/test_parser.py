"""SQL text to predicates: forms, refusals, and the laws of printing and of sharing parses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.errors import PredicateError
from heliograph.predicate.form import (
    ACCEPT,
    And,
    Between,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Pair,
    Predicate,
    Truth,
    attributes,
    to_sql,
)
from heliograph.predicate.parser import MAX_DEPTH, MAX_NAMES, compile_predicates, parse_predicate
from tests.predicate.strategies import predicates

FIXTURES = Path(__file__).parent / "fixtures"


def refused(text: str) -> PredicateError:
    with pytest.raises(PredicateError) as caught:
        parse_predicate(text)
    return caught.value


def refusals() -> list[list[str]]:
    lines = (FIXTURES / "predicate_errors.txt").read_text("utf-8").splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return [[part.strip() for part in re.split(r" \|(?: |$)", line)] for line in kept]


@pytest.mark.parametrize(("text", "code", "place", "message", "fix"), refusals())
def test_refusal(text: str, code: str, place: str, message: str, fix: str) -> None:
    error = refused(text.replace("\\n", "\n"))
    assert error.code == code
    assert f"{error.line}:{error.column}" == place
    assert message in error.message
    assert error.fix
    assert fix in error.fix
    assert error.snippet is not None
    line, carets = error.snippet.split("\n")
    assert re.fullmatch(r" *\^+", carets)
    assert len(carets) <= len(line) + 1


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("age > 30", Comparison(("age",), ">", 30)),
        ("30 >= age", Comparison(("age",), "<=", 30)),
        ("a != 'x'", Comparison(("a",), "<>", "x")),
        ('a.b."c d" = -1.5', Comparison(("a", "b", "c d"), "=", -1.5)),
        ("a NOT IN (1, 'x', NULL)", Not(In(("a",), (1, "x", None)))),
        ("a IN (TRUE, 1)", Or((In(("a",), (1,)), Truth(("a",), True)))),
        ("a NOT BETWEEN 1 AND 2", Not(Between(("a",), 1, 2))),
        ("a LIKE 'x%' escape '!'", Like(("a",), "x%", "!")),
        ("a ILIKE 'x%' ESCAPE ''", Like(("a",), "x%", None, True)),
        ("a is not null", Not(IsNull(("a",)))),
        ("a < b", Pair(("a",), "<", ("b",))),
        ("a AND (b AND c)", And((Truth(("a",), True), Truth(("b",), True), Truth(("c",), True)))),
        ("a OR (b OR c)", Or((Truth(("a",), True), Truth(("b",), True), Truth(("c",), True)))),
        ("NOT NOT a = FALSE", Truth(("a",), False)),
        ("a <> FALSE", Truth(("a",), True)),
        ("1 < 'a'", Constant(None)),
        ("2 IN (1, TRUE)", Constant(None)),
    ],
)
def test_form(text: str, form: Predicate) -> None:
    assert parse_predicate(text) == form
    assert compile_predicates([text, text, text]) == [form, form, form]


@pytest.mark.parametrize("text", [None, "", "  \n\t ", "-- only a remark", "/* only a remark */"])
def test_nothing_accepts_everything(text: str | None) -> None:
    assert parse_predicate(text) is ACCEPT
    assert compile_predicates([text]) == [ACCEPT]


def test_a_boolean_is_not_a_number_as_a_key() -> None:
    """Python's True == 1 must not make two predicates one."""
    forms = {parse_predicate(text) for text in ("a = TRUE", "a = 1", "a IN (1)", "a IN (TRUE)")}
    assert len(forms) == 3  # a IN (TRUE) is a = TRUE


def test_attributes_in_order() -> None:
    assert attributes(parse_predicate("b = 1 AND (a.c < b OR NOT d IS NULL) OR TRUE")) == [("b",), ("a", "c"), ("d",)]


@given(predicates)
def test_printing_is_the_inverse_of_parsing(form: Predicate) -> None:
    assert parse_predicate(to_sql(form)) == form


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
@example(["a b", 'c"d', "select"])
def test_any_name_can_be_quoted(names: list[str]) -> None:
    form = IsNull(tuple(names))
    assert parse_predicate(to_sql(form)) == form


@given(st.text())
@example("it's")
@example("--")
@example("\x00'")
def test_any_string_can_be_quoted(text: str) -> None:
    form = Comparison(("a",), "=", text)
    assert compile_predicates([to_sql(form)] * 3) == [form] * 3


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**50), 10**50))
def test_any_number_can_be_written(number: float) -> None:
    form = Comparison(("a",), "=", number)
    assert compile_predicates([to_sql(form)] * 3) == [form] * 3


FRAGMENTS = st.sampled_from(
    "a b.c \"q r\" 1 2.5 -3 'x' 'it''s' NULL TRUE FALSE = <> != < >= ( ) , . + - AND OR NOT IN BETWEEN LIKE ESCAPE "
    "IS -- /* */ ; \n ' \" f( SELECT CASE WHERE ORDER ISNULL 1e5 1e999 5x é :: && % ^".split(" ")
)


@given(st.lists(FRAGMENTS, max_size=14).map(" ".join) | st.text(max_size=40))
def test_garbage_is_refused_or_compiled(text: str) -> None:
    """Nothing but a PredicateError ever comes out, and what compiles prints and parses again."""
    (form,) = compile_predicates([text])
    if isinstance(form, PredicateError):
        assert form.code.startswith("HG-45")
        assert form.line is not None
        assert str(form) == str(refused(text))
    else:
        assert parse_predicate(to_sql(form)) == form


@given(st.lists(st.lists(FRAGMENTS, max_size=10).map(" ".join) | predicates.map(to_sql), min_size=1, max_size=6))
def test_sharing_parses_changes_nothing(texts: list[str]) -> None:
    """Each text three times, with other constants in between, so that templates are made and filled."""
    others = [re.sub(r"\b[0-9]\b", "7", text) for text in texts]
    several = [*texts, *others, *texts, *others, *texts]
    for text, compiled in zip(several, compile_predicates(several), strict=True):
        if isinstance(compiled, PredicateError):
            assert str(compiled) == str(refused(text))
        else:
            assert compiled == parse_predicate(text)


def test_shapes_share_only_what_is_alike() -> None:
    texts = [
        "a = 1",
        "a = 'x'",
        "a = -1",
        "a = 2",
        "a = 'y'",
        "a = -2",
        "a = 1e999",
        "a = 3",
        "5 = 1",
        "6 = 6",
        "5 = 5",
    ]
    compiled = compile_predicates(texts)
    assert [to_sql(form) for form in compiled if not isinstance(form, PredicateError)] == [
        "a = 1",
        "a = 'x'",
        "a = -1",
        "a = 2",
        "a = 'y'",
        "a = -2",
        "a = 3",
        "FALSE",
        "TRUE",
        "TRUE",
    ]
    assert isinstance(compiled[6], PredicateError)
    assert len({str(error) for error in compile_predicates(["a.5 = 1", "a.5 = 2", "a.5 = 3"])}) == 3


def test_nesting_has_a_bound() -> None:
    deepest = "(" * MAX_DEPTH + "a = 1" + ")" * MAX_DEPTH
    assert parse_predicate(deepest) == Comparison(("a",), "=", 1)
    error = refused(f"({deepest})")
    assert (error.code, error.column) == ("HG-455", MAX_DEPTH + 1)
    assert refused("(" * 100_000).code == "HG-455"
    assert refused(".".join("a" * (MAX_NAMES + 1))).code == "HG-455"
    assert parse_predicate("NOT " * 100_001 + "a") == Not(Truth(("a",), True))
    assert len(attributes(parse_predicate(" AND ".join(f"a{number} = 1" for number in range(10_000))))) == 10_000


@pytest.mark.parametrize(
    "hostile", ["1" * 50_000 + "x", "'" * 50_001, "a" + ".a" * 50_000, "/*" * 50_000, "- " * 50_000]
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    assert refused(hostile).code.startswith("HG-45")


def test_the_place_is_right_after_odd_line_ends() -> None:
    error = refused("a = 1 AND\r\n\u2028 b == 2")
    assert (error.line, error.column) == (3, 4)
    assert error.snippet == "   b == 2\n     ^^"


def test_a_number_of_very_many_digits_is_refused() -> None:
    text = "a = " + "9" * 5000
    assert refused(text).code == "HG-454"
    assert [str(error) for error in compile_predicates(["a = 1", "a = 2", text])[2:]] == [str(refused(text))]
