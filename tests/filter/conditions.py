"""FILTER conditions as text: every operator and function, over the few values that the documents hold.

`WILD` is everything, corners included. `TAME` leaves out what pyoxigraph answers otherwise by name (see
`tests/sparql/test_oracle_exceptions.py`): equality of literals under a negation, not-a-number, integers beyond 64
bits, sub-microsecond decimals, the order of booleans, the spelling of decimals and doubles under STR.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

NAMES = ("A", "B", "C", "D")
CLASSES = ("K", "L", "M")
PROPERTIES = ("p", "q", "r")

_NUMBERS = ("5", "05", "5.0", '"5"^^xsd:int', "5e0", "0.1", "1e-1", '"0.1"^^xsd:float', "-2.5", "7", "0")
_EXTREMES = (
    "9007199254740992",
    "9007199254740993",
    "9007199254740992.0",
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890",
    "16777217",
    '"16777216"^^xsd:float',
    '"NaN"^^xsd:double',
    '"INF"^^xsd:double',
    '"-INF"^^xsd:float',
    "-0.0",
)
_MOMENTS = (
    '"2020-01-01"^^xsd:date',
    '"2020-01-01Z"^^xsd:date',
    '"2020-01-02+14:00"^^xsd:date',
    '"2020-01-01T00:00:00Z"^^xsd:dateTime',
    '"2020-01-01T01:00:00+01:00"^^xsd:dateTime',
    '"2020-01-01T00:00:00"^^xsd:dateTime',
    '"2020-01-03T12:00:00"^^xsd:dateTime',
)
_FAR_MOMENTS = (
    '"2020-01-01T00:00:00.000000000000000001Z"^^xsd:dateTime',
    '"-0044-03-15"^^xsd:date',
    '"123456789-01-01T00:00:00Z"^^xsd:dateTime',
)
_LONG = f'"{"ab" * 150}c"'  # longer than the texts of which every piece is kept
_TEXTS = ('"a"', '"ab"', '"Ab"', '""', '"a"@en', '"ab"@en', '"ab"@fr', '"é"', '"abcab"', '"xabc"@en', '"ABCé"', _LONG)
_BOOLEANS = ("true", "false", '"1"^^xsd:boolean')
_ODD = ('"x"^^xsd:integer', '"x"^^<urn:t>', '"y"^^<urn:t>', '"2020"^^xsd:gYear')


class Palette(NamedTuple):
    """The literals that documents and queries draw from, and whether what the oracle answers otherwise is kept."""

    numbers: tuple[str, ...]
    moments: tuple[str, ...]
    wild: bool

    @property
    def literals(self) -> st.SearchStrategy[str]:
        families = (self.numbers, self.numbers, self.moments, _TEXTS, _BOOLEANS, _ODD)
        return st.one_of([st.sampled_from(family) for family in families])

    @property
    def ordered(self) -> st.SearchStrategy[str]:
        """The literals that stand beside `<`."""
        if self.wild:
            return self.literals
        return st.one_of([st.sampled_from(family) for family in (self.numbers, self.numbers, self.moments, _TEXTS)])


WILD = Palette(_NUMBERS + _EXTREMES, _MOMENTS + _FAR_MOMENTS, wild=True)
TAME = Palette(_NUMBERS, _MOMENTS, wild=False)


def token(cell: str) -> str:
    """A cell as it is written in SPARQL: plain names get their colon."""
    return f":{cell}" if cell.isidentifier() and cell not in ("a", "true", "false") else cell


names = st.sampled_from(NAMES + CLASSES + PROPERTIES)
_order = st.sampled_from(["<", "<=", ">", ">="])
_equality = st.sampled_from(["=", "!="])
_flags = st.sampled_from(["", ', "i"'])
_pieces = st.sampled_from(['"a"', '"b"', '""', '"é"', '"urn:heliograph:A"', '"a"@en', '"abc"', '"cab"@en', '"abcab"'])
_expressions = st.sampled_from(['"^a"', '"B$"', '"a|é"', '"."', '"^urn:.*:[AK]$"', '"abc"', '"^abcab$"', '"abc*a?b"'])


_special = st.sampled_from(["rdf:type", "rdfs:member", "rdfs:subClassOf", "rdf:_1"])


def constants(palette: Palette) -> st.SearchStrategy[str]:
    return st.one_of(names.map(token), names.map(token), _special, palette.literals, palette.literals)


@st.composite
def comparisons(draw: st.DrawFn, variable: str, palette: Palette) -> str:
    """One variable against constants: what an index can answer from tables of intervals."""
    kind = draw(st.integers(0, 6 if palette.wild else 4))
    if kind <= 1:
        return f"{variable} {draw(_order)} {draw(palette.ordered)}"
    if kind == 2:
        low, high = draw(palette.ordered), draw(palette.ordered)
        return f"{variable} {draw(st.sampled_from(['>', '>=']))} {low} && {variable} <= {high}"
    if kind == 3:
        return f"{variable} {draw(_equality)} {token(draw(names))}"
    several = ", ".join(draw(st.lists(constants(palette), max_size=4, min_size=0 if palette.wild else 1)))
    if kind == 4:
        return f"{variable} IN ({several})"
    if kind == 5:
        return f"{variable} NOT IN ({several})"
    return f"{draw(constants(palette))} {draw(st.one_of(_equality, _order))} {variable}"


@st.composite
def textual(draw: st.DrawFn, variable: str) -> str:
    text = draw(st.sampled_from([variable, f"STR({variable})"]))
    name = draw(st.sampled_from(["CONTAINS", "STRSTARTS", "STRENDS", "REGEX"]))
    if name == "REGEX":
        return f"REGEX({text}, {draw(_expressions)}{draw(_flags)})"
    return f"{name}({text}, {draw(_pieces)})"


@st.composite
def questions(draw: st.DrawFn, variable: str) -> str:
    """What a term is rather than where it lies."""
    asked = ["isIRI({0})", "isLiteral({0})", "BOUND({0})", "BOUND(?nowhere)", "{0}", "true", 'LANG({0}) = "en"']
    asked += ["DATATYPE({0}) = xsd:integer", 'STR({0}) = "a"', 'LANG({0}) != ""', 'STR({0}) IN ("abcab", "A")']
    return draw(st.sampled_from(asked)).format(variable)


@st.composite
def relations(draw: st.DrawFn, one: str, other: str, palette: Palette) -> str:
    """Two variables against each other, and arithmetic."""
    kind = draw(st.integers(0, 5 if palette.wild else 2))
    if kind == 0:
        return f"(isIRI({one}) && {one} != {other})"
    if kind == 1:
        return f"{one} = {other}" if one != other else f"{one} + 1 = 6"
    operator = draw(st.sampled_from("+-*"))
    if kind == 2:
        return f"{one} {operator} 2 {draw(_order)} {draw(st.sampled_from(palette.numbers))}"
    if kind == 3:
        return f"{one} {draw(st.one_of(_equality, _order))} {other}"
    if kind == 4:
        return f"-{one} / {other} {draw(_order)} {one} {operator} {other}"
    return f"STR({one}) {draw(_equality)} STR({other})"


@st.composite
def conditions(draw: st.DrawFn, variables: tuple[str, ...], palette: Palette, depth: int = 2) -> str:
    """A condition over some variables, of which `?nowhere` is bound by nothing."""
    kind = draw(st.integers(0, 9 if depth else 5))
    one = draw(st.sampled_from(variables))
    if kind <= 2:
        return draw(comparisons(one, palette))
    if kind <= 4:
        return draw(textual(one) if kind == 3 else questions(one))
    if kind == 5:
        return draw(relations(one, draw(st.sampled_from(variables)), palette))
    below = conditions(variables, palette, depth - 1)
    if kind <= 7:
        return f"({draw(below)} {'&&' if kind == 6 else '||'} {draw(below)})"
    if palette.wild:
        return f"!({draw(below)})"
    return draw(st.sampled_from(["!isIRI({0})", "!BOUND({0})", '!CONTAINS({0}, "a")', "!({0} < 6)"])).format(one)
