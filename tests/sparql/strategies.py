"""Expressions and terms for the oracle, one strategy per family of values.

Left out, because pyoxigraph differs and `test_oracle.py` lists it by name: equality across families,
not-a-number, minus zero, integers beyond 64 bits, decimals beyond 18 places, the order of booleans, the spelling of
numbers under STR, an empty IN list, an expression compared with itself (its optimizer folds both).
"""

from __future__ import annotations

from hypothesis import strategies as st

from heliograph.sparql.query import And, Arithmetic, Call, Compare, Expression, In, Negate, Not, Or
from heliograph.terms import Term, Variable, iri, literal
from heliograph.values import XSD, XSD_BOOLEAN, XSD_DATE, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

NUMBER, TEXT, FLAG, MOMENT, DAY, NAME, MISSING = map(Variable, ("n", "s", "f", "m", "d", "u", "missing"))

integers = st.integers(-20, 20).map(lambda n: literal(str(n), XSD_INTEGER))
decimals = st.decimals(-20, 20, places=1).map(lambda n: literal(format(n, "f"), XSD_DECIMAL))
doubles = st.sampled_from(["0.1", "-2.5", "3e0", "1e2", "16777217", "0"]).map(lambda n: literal(n, XSD_DOUBLE))
floats = st.sampled_from(["0.1", "-2.5", "3", "16777216", "1e2"]).map(lambda n: literal(n, XSD_FLOAT))
numbers = st.one_of(integers, decimals, doubles, floats)
divisors = st.sampled_from(["-4", "0", "1", "2", "5", "8"]).map(lambda n: literal(n, XSD_INTEGER))
words = st.sampled_from(["", "a", "b", "ab", "Ab", "é", "😀", "\uffee", 'q"\\'])
strings = words.map(literal)
tagged = st.builds(lambda text, tag: literal(text, language=tag), words, st.sampled_from(["en", "EN", "fr"]))
texts = st.one_of(strings, tagged)
flags = st.sampled_from(["true", "false"]).map(lambda text: literal(text, XSD_BOOLEAN))
names = st.sampled_from(["urn:a", "urn:b"]).map(iri)
clocks = st.sampled_from(["2019-12-31T23:00:00", "2020-01-01T00:00:00", "2020-01-01T14:00:00", "2020-01-01T14:00:00.5"])
zones = st.sampled_from(["", "Z", "+01:00", "-14:00", "+14:00"])
moments = st.builds(lambda clock, zone: literal(clock + zone, XSD_DATETIME), clocks, zones)
days = st.builds(lambda day, zone: literal(f"2020-01-0{day}{zone}", XSD_DATE), st.integers(1, 3), zones)
odd = st.sampled_from([literal("x", XSD_INTEGER), literal("x", "urn:type"), literal("2020", XSD + "gYear")])
terms = st.one_of(numbers, texts, flags, names, moments, days)

_BOOLEANS: tuple[Expression, ...] = (literal("true", XSD_BOOLEAN), literal("false", XSD_BOOLEAN), FLAG)

bindings = st.fixed_dictionaries(
    {NUMBER: numbers, TEXT: texts, FLAG: flags, MOMENT: moments, DAY: days, NAME: names},
)

_EQUALITY = st.sampled_from(["=", "!="])
_ORDER = st.sampled_from(["<", "<=", ">", ">="])
_ANY = st.one_of(_EQUALITY, _ORDER)


def _arithmetic(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*"), below, below),
        st.builds(Arithmetic, st.just("/"), below, divisors),
        st.builds(Negate, below),
    )


number_expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.just(NUMBER), numbers), _arithmetic, max_leaves=3
)
text_expressions: st.SearchStrategy[Expression] = st.one_of(
    st.just(TEXT),
    texts,
    st.builds(lambda node: Call("STR", (node,)), st.sampled_from([TEXT, NAME])),
    st.builds(lambda node: Call("LANG", (node,)), st.sampled_from([TEXT, NUMBER, NAME])),
)


def _compare(
    symbols: st.SearchStrategy[str], left: st.SearchStrategy[Expression], right: st.SearchStrategy[Expression]
) -> st.SearchStrategy[Expression]:
    return st.builds(Compare, symbols, left, right).filter(lambda node: node.left != node.right)


def _comparisons(operands: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        _compare(_ANY, operands, operands),
        st.builds(In, operands, st.lists(operands, min_size=1, max_size=3).map(tuple), st.booleans()),
    )


def _pairs(variable: Variable, constants: st.SearchStrategy[Term]) -> st.SearchStrategy[Expression]:
    return st.one_of(st.just(variable), constants)


_anything = st.one_of(terms, st.sampled_from([NUMBER, TEXT, MOMENT, DAY, NAME, MISSING]))
_unflagged = st.one_of(
    numbers, texts, names, moments, days, st.sampled_from([NUMBER, TEXT, MOMENT, DAY, NAME, MISSING])
)
_two_texts = st.sampled_from(["CONTAINS", "STRSTARTS", "STRENDS"])

tests: st.SearchStrategy[Expression] = st.one_of(
    _comparisons(number_expressions),
    _comparisons(text_expressions),
    _comparisons(_pairs(MOMENT, moments)),
    _comparisons(_pairs(DAY, days)),
    _comparisons(_pairs(NAME, names)),
    _compare(_EQUALITY, _pairs(FLAG, flags), flags),
    _compare(_EQUALITY, st.just(NAME), _anything),
    _compare(_ORDER, _unflagged, _anything),
    _compare(_ANY, odd, odd),
    st.builds(lambda name, one, two: Call(name, (one, two)), _two_texts, text_expressions, text_expressions),
    st.builds(lambda name, node: Call(name, (node,)), st.sampled_from(["ISIRI", "ISLITERAL"]), _anything),
    st.builds(lambda node: Call("BOUND", (node,)), st.sampled_from([NUMBER, MISSING])),
    st.builds(lambda node, kind: Compare("=", Call("DATATYPE", (node,)), iri(kind)), _anything, st.just(XSD_INTEGER)),
    _anything,
)


def _connected(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(below, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, below))


conditions: st.SearchStrategy[Expression] = st.recursive(tests, _connected, max_leaves=4)
