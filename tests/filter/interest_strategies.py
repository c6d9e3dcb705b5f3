"""Terms that lie close together, and filters that cut between them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from heliograph.sparql.query import And, Arithmetic, Call, Compare, Expression, In, Not, Or
from heliograph.terms import Term, Variable, blank, iri, literal
from heliograph.values import XSD, XSD_DATE, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

X, Y = Variable("x"), Variable("y")

_INTEGERS = ["-1", "0", "1", "5", "16777216", "16777217", "9007199254740992", "9007199254740993", "9007199254740994"]
_INTEGERS += ["1" + "0" * 400, "2" + "0" * 400, "-1" + "0" * 400]
_DECIMALS = ["0.0", "0.1", "0.10000000000000000000001", "0.09999999999999999999999", "0.5", "-0.5", "5.0", "4.5"]
_DECIMALS += ["5.00000000000000000000001", "4.99999999999999999999999", "9007199254740992.5", "0." + "0" * 400 + "1"]
_DOUBLES = ["-0", "0", "0.1", "5", "4.5", "9007199254740992", "INF", "-INF", "NaN", "1e308", "5e-324"]
_FLOATS = ["0.1", "5", "16777216", "INF", "NaN", "-0"]
_CLOCKS = ["2020-01-01T00:00:00", "2020-01-01T14:00:00", "2020-01-01T14:00:00.000001", "2019-12-31T10:00:00"]
_CLOCKS += ["2020-01-01T14:00:00.0000001", "2019-12-31T09:59:59.9999999", "2020-01-01T00:00:00.0000001"]
_CLOCKS += ["2019-12-31T09:59:59.999999", "2400-01-01T00:00:00", "2400-01-01T00:00:00.000001"]
_CLOCKS += ["999999999-01-01T00:00:00", "999999999-01-01T14:00:00", "-999999999-01-01T00:00:00"]
_CLOCKS += ["294247-01-10T04:00:54", "294247-01-10T14:00:54", "294246-12-31T00:00:00"]  # at 2**63 microseconds
_ZONES = ["", "Z", "+01:00", "-14:00", "+14:00"]
_DAYS = ["2020-01-01", "2020-01-02", "2019-12-31", "999999999-01-01"]
_WORDS = ["", "a", "b", "abc", "abcdef", "xabc", "é😀z", "5", "true", "urn:abc", "http://example.org/abc"]

POOL: tuple[Term, ...] = tuple(
    dict.fromkeys(
        [
            *(literal(text, XSD_INTEGER) for text in _INTEGERS),
            *(literal(text, XSD_DECIMAL) for text in _DECIMALS),
            *(literal(text, XSD_DOUBLE) for text in _DOUBLES),
            *(literal(text, XSD_FLOAT) for text in _FLOATS),
            *(literal(text, XSD + "boolean") for text in ("true", "false", "maybe")),
            *(literal(clock + zone, XSD_DATETIME) for clock in _CLOCKS for zone in _ZONES),
            *(literal(day + zone, XSD_DATE) for day in _DAYS for zone in _ZONES),
            *map(literal, _WORDS),
            *(literal(word, language=tag) for word in _WORDS[:4] for tag in ("en", "fr")),
            *(literal("5", datatype) for datatype in (XSD + "gYear", "urn:type")),
            *(literal("x", datatype) for datatype in (XSD_INTEGER, XSD_DATETIME, "urn:type")),
            *(iri(text) for text in ("urn:abc", "urn:b", "http://example.org/abc")),
            *(blank(label) for label in ("b0", "b1")),
        ]
    )
)


def _any_of(pool: Sequence[Term]) -> st.SearchStrategy[Term]:
    return st.integers(0, len(pool) - 1).map(lambda number: pool[number])  # its name is shorter than the pool's


terms = _any_of(POOL)
numbers = _any_of([term for term in POOL if term.datatype in (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE)])
moments = _any_of([term for term in POOL if term.datatype in (XSD_DATETIME, XSD_DATE)])
constants = st.one_of(terms, numbers, moments)
SYMBOLS = ("=", "!=", "<", "<=", ">", ">=")
_symbols = st.sampled_from(SYMBOLS)


def _tests(variables: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Tests that lines can say: a constant on either side, or in a list."""
    return st.one_of(
        st.builds(Compare, _symbols, variables, constants),
        st.builds(Compare, _symbols, variables, numbers),
        st.builds(Compare, _symbols, constants, variables),
        st.builds(In, variables, st.lists(constants, max_size=4).map(tuple), st.booleans()),
    )


def _others(variables: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Tests that they can say in part or not at all."""
    spelled = st.builds(lambda node: Call("STR", (node,)), variables)
    needles = st.sampled_from(["", "a", "abc", "abcd", "é😀z", "urn:", "cdef"]).map(literal)
    patterns = st.sampled_from(["abc", "^abc", "abc$", "^abc$", "ab+c", "xa?bc", "a.c", "[a]bc", "abc|b", "c*def", ""])
    texts = st.one_of(variables, spelled)
    pieces = st.sampled_from(["CONTAINS", "STRSTARTS", "STRENDS"])
    return st.one_of(
        st.builds(lambda name, text, part: Call(name, (text, part)), pieces, texts, needles),
        st.builds(lambda text, part: Call("REGEX", (text, literal(part))), texts, patterns),
        st.builds(lambda text, part: Call("REGEX", (text, literal(part), literal("i"))), texts, patterns),
        st.builds(lambda name, node: Call(name, (node,)), st.sampled_from(["ISIRI", "ISLITERAL", "BOUND"]), variables),
        st.builds(Compare, st.sampled_from(["=", "!="]), spelled, constants),
        st.builds(In, spelled, st.lists(constants, max_size=3).map(tuple), st.booleans()),
        st.builds(lambda node: Compare("=", Call("LANG", (node,)), literal("en")), variables),
        st.builds(lambda node, one, two: Compare("<", Arithmetic("+", node, one), two), variables, numbers, numbers),
        st.builds(lambda node, one, two: Compare("<", node, Arithmetic("+", one, two)), variables, numbers, constants),
        st.builds(Compare, _symbols, constants, constants),
        variables,
        constants,
    )


def _connected(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(below, max_size=3).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, below))


_single: st.SearchStrategy[Expression] = st.just(X)
_either: st.SearchStrategy[Expression] = st.sampled_from([X, X, X, Y])
plain_filters: st.SearchStrategy[Expression] = st.recursive(_tests(_single), _connected, max_leaves=5)
number_filters: st.SearchStrategy[Expression] = st.recursive(
    st.builds(Compare, _symbols, _single, numbers), _connected, max_leaves=6
)
all_filters: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(_tests(_either), _others(_either)), _connected, max_leaves=6
)
