"""Whatever the literals, an expression has a value or is an error: never another exception."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import evaluate
from heliograph.sparql.query import And, Arithmetic, Call, Compare, Expression, In, Negate, Not, Or
from heliograph.terms import Term, blank, iri, literal
from heliograph.values import XSD

DATATYPES = "integer decimal double float boolean date dateTime string int gYear duration nothing".split()
LEXICAL = [
    "",
    "0",
    "-0",
    "1e400",
    "-1e-400",
    "9" * 5000,
    "0." + "9" * 50,
    "INF",
    "NaN",
    "true",
    "2020-02-30",
    "24:00:00",
]
LEXICAL += [
    "2020-01-01",
    "-9999-01-01T00:00:00.000000000000000001-14:00",
    "99999-12-31T24:00:00Z",
    "(",
    "a{1001}",
    "\x00",
]

texts = st.one_of(st.sampled_from(LEXICAL), st.text(max_size=8), st.from_regex(r"\A[+-]?[0-9.eE:TZ-]{1,12}\Z"))
terms: st.SearchStrategy[Expression] = st.one_of(
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
@given(st.recursive(terms, _above, max_leaves=5))
def test_every_expression_has_a_value_or_is_an_error(expression: Expression) -> None:
    value = evaluate(expression, {})
    assert value is None or isinstance(value, Term)
    assert value is None or not value.is_literal or literal(value.value, value.datatype, value.language) == value
