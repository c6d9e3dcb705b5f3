"""One spelling rule, both ways: what a cell says is what is written back."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph import terms, values
from heliograph.errors import TermError
from heliograph.terms import (
    PLAIN,
    PREFIXES,
    RDF_TYPE,
    Position,
    Term,
    Variable,
    blank,
    iri,
    literal,
    parse_cell,
    parse_node,
    plain_name,
    spell,
)
from heliograph.values import XSD
from tests import term_strategies as hostile

OBJECT, PROPERTY, SUBJECT = Position.OBJECT, Position.PROPERTY, Position.SUBJECT
INTEGER, DECIMAL, DOUBLE, BOOLEAN, DATE = (XSD + name for name in "integer decimal double boolean date".split())

READS = {
    "Alice": iri(PLAIN + "Alice"),
    "RSS Filter": iri(PLAIN + "RSS%20Filter"),
    "5G": iri(PLAIN + "5G"),
    "2001-01-01": iri(PLAIN + "2001-01-01"),
    "NaN": iri(PLAIN + "NaN"),
    "a": iri(PLAIN + "a"),
    "été": iri(PLAIN + "été"),
    "100%": iri(PLAIN + "100%25"),
    ":Alice": iri(PLAIN + "Alice"),
    "hg:degree": iri(PLAIN + "fn:degree"),
    "rdf:type": RDF_TYPE,
    "dc:title": iri("http://purl.org/dc/elements/1.1/title"),
    "<http://example.org/a?b#c>": iri("http://example.org/a?b#c"),
    "<http://example.org/\\u00E9>": iri("http://example.org/é"),
    "_:b0": blank("b0"),
    "5": literal("5", INTEGER),
    "05": literal("5", INTEGER),
    "+5": literal("5", INTEGER),
    '"5"^^xsd:int': literal("5", INTEGER),
    "-2.5": literal("-2.5", DECIMAL),
    "1e5": literal("100000", DOUBLE),
    "true": literal("1", BOOLEAN),
    '"text"': literal("text"),
    '"text"^^xsd:string': literal("text"),
    '"chat"@fr': literal("chat", language="fr"),
    '"chat"@FR': literal("chat", language="fr"),
    '"2026-11-15"^^xsd:date': literal("2026-11-15", DATE),
    '"2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>': literal("2026-11-15", DATE),
    '"a\\n\\"b\\"\\u0041\\U0001F600"': literal('a\n"b"A😀'),
    '"two\nlines"': literal("two\nlines"),
    "?": iri(PLAIN + "%3F"),
    "<half": iri(PLAIN + "%3Chalf"),
}

REFUSED = {
    "": "HG-101",
    '"open': "HG-103",
    '"x"y': "HG-103",
    '"x"@': "HG-103",
    '"x"@en us': "HG-103",
    '"x"^^': "HG-103",
    '"x"^^date': "HG-103",
    '"x"^^_:b': "HG-103",
    '"x"^^rdf:langString': "HG-103",
    '"x"^^zz:date': "HG-104",
    '"\\q"': "HG-103",
    '"\\uD800"': "HG-103",
    '"\\U00110000"': "HG-103",
    "zz:x": "HG-104",
    "http://example.org/": "HG-104",
    "12:30": "HG-104",
    "<relative>": "HG-105",
    "<http://example.org/a b>": "HG-105",
    "rdf:a b": "HG-105",
    "?x": "HG-106",
    "_:": "HG-107",
    "_:a b": "HG-107",
    "_:a.": "HG-107",
    "x\ud800": "HG-108",
    '"\udfff"': "HG-108",
}


@pytest.mark.parametrize("text", READS)
def test_a_cell_reads_as_its_term(text: str) -> None:
    assert parse_cell(text) == READS[text]


@pytest.mark.parametrize("text", REFUSED)
def test_a_cell_that_spells_no_term_is_refused_with_the_fix(text: str) -> None:
    with pytest.raises(TermError) as caught:
        parse_cell(text)
    assert caught.value.code == REFUSED[text]
    assert caught.value.fix
    str(caught.value).encode()  # printable anywhere


@pytest.mark.parametrize(
    ("text", "position"), [('"x"', SUBJECT), ("5", SUBJECT), ("true", PROPERTY), ("_:b", PROPERTY)]
)
def test_a_literal_stands_only_as_object_and_a_blank_node_not_as_property(text: str, position: Position) -> None:
    with pytest.raises(TermError) as caught:
        parse_cell(text, position)
    assert caught.value.code == "HG-102"
    assert caught.value.fix


def test_a_means_type_in_the_property_column_only() -> None:
    assert parse_cell("a", PROPERTY) == RDF_TYPE
    assert parse_cell("a", SUBJECT) == parse_cell("a", OBJECT) == plain_name("a")
    assert spell(plain_name("a"), PROPERTY) == f"<{PLAIN}a>"


def test_declared_prefixes_are_known() -> None:
    prefixes = {**PREFIXES, "ex": "http://example.org/"}
    assert parse_cell("ex:a:b", prefixes=prefixes) == iri("http://example.org/a:b")
    assert parse_cell('"1"^^ex:t', prefixes=prefixes) == literal("1", "http://example.org/t")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("ex:x", "--prefix ex=IRI"),
        ("http://a/b", "angle brackets"),
        ("urn:x", "angle brackets"),
        ("12:30", "%3A"),
        ("<http://example.org/a", "close it with >: <http://example.org/a>"),
    ],
)
def test_an_unknown_prefix_comes_with_the_fitting_advice(text: str, advice: str) -> None:
    with pytest.raises(TermError) as caught:
        parse_cell(text)
    assert advice in str(caught.value.fix)


def test_a_long_cell_is_quoted_in_part() -> None:
    with pytest.raises(TermError) as caught:
        parse_cell('"' + "x" * 10_000)
    assert len(str(caught.value)) < 400


def test_a_variable_stands_in_a_pattern() -> None:
    assert parse_node("?name_1") == Variable("name_1")
    assert str(parse_node("?x")) == "?x"
    assert parse_node("?x", SUBJECT) == parse_node("?x", PROPERTY) == Variable("x")
    assert not Variable("x").hidden


# --- the round trip ---


@settings(max_examples=800, deadline=None)
@given(
    st.one_of(
        st.tuples(hostile.objects, st.just(OBJECT)),
        st.tuples(hostile.subjects, st.just(SUBJECT)),
        st.tuples(hostile.properties, st.just(PROPERTY)),
    )
)
@example((plain_name("a"), PROPERTY))
@example((RDF_TYPE, PROPERTY))
def test_what_is_spelled_reads_back(case: tuple[Term, Position]) -> None:
    term, position = case
    assert parse_cell(spell(term, position), position) == term == parse_cell(str(term))


@settings(max_examples=200, deadline=None)
@given(hostile.names)
def test_a_bare_cell_that_is_read_as_a_name_is_printed_unchanged(name: str) -> None:
    term = _read(name)
    if term == plain_name(name):
        assert spell(plain_name(name)) == name
    else:
        assert spell(plain_name(name)) != name


def _read(text: str, position: Position = OBJECT) -> Term | TermError:
    try:
        return parse_cell(text, position)
    except TermError as error:
        return error


@settings(max_examples=400, deadline=None)
@given(st.one_of(hostile.texts, st.text()), st.sampled_from(Position))
def test_any_text_is_a_term_or_a_term_error(text: str, position: Position) -> None:
    outcome = _read(text, position)
    if isinstance(outcome, TermError):
        assert outcome.code.startswith("HG-10")
        assert outcome.fix
    else:
        assert parse_cell(spell(outcome, position), position) == outcome


@settings(max_examples=300, deadline=None)
@given(hostile.texts, st.sampled_from(["en", "EN-us", "de-CH", "zh-Hans"]), hostile.datatypes)
def test_a_literal_reads_as_turtle_reads_it(text: str, tag: str, datatype: str) -> None:
    for term in (literal(text), literal(text, language=tag), literal(text, datatype)):
        turtle = f"@prefix xsd: <{XSD}> . <urn:s> <urn:p> {spell(term)} ."
        (quad,) = ox.parse(turtle.encode(), format=ox.RdfFormat.TURTLE)
        read = quad.object
        assert isinstance(read, ox.Literal)
        assert (read.value, read.datatype.value, read.language or "") == term[1:]


# RFC 3987 leaves out C1 controls and private characters; the contract keeps all that is not ASCII as it is.
_LETTERS = st.one_of(st.characters(max_codepoint=0x7F), st.characters(min_codepoint=0xA0, max_codepoint=0xD7FF))


@settings(max_examples=100, deadline=None)
@given(st.text(_LETTERS, min_size=1))
def test_the_iri_of_a_plain_name_is_an_iri_to_others(name: str) -> None:
    value = plain_name(name).value
    (quad,) = ox.parse(f"<urn:s> <urn:p> <{value}> .".encode(), format=ox.RdfFormat.N_TRIPLES)
    assert isinstance(quad.object, ox.NamedNode)
    assert quad.object.value == value


# --- kinds, members, order ---


def test_values_belong_to_literals_only() -> None:
    assert terms.value_of(iri(XSD + "integer")) is None
    assert terms.value_of(blank("5")) is None
    assert terms.value_of(literal("5")) is None
    assert terms.value_of(literal("five", INTEGER)) is None
    assert terms.value_of(literal("05", INTEGER)) == values.Value(values.Kind.INTEGER, 5)


@pytest.mark.parametrize(
    ("local", "is_member"), [("_1", True), ("_10", True), ("_0", False), ("_01", False), ("_x", False), ("type", False)]
)
def test_container_members(local: str, is_member: bool) -> None:
    assert terms.is_container_member(iri(terms.RDF + local)) is is_member


def test_terms_are_ordered_by_kind_then_value() -> None:
    ordered = [
        blank("b"),
        iri("urn:a"),
        iri("urn:b"),
        literal("-1" + "0" * 400, INTEGER),
        literal("-INF", DOUBLE),
        literal("2", INTEGER),
        literal("10", INTEGER),
        literal("10.5", DECIMAL),
        literal("1" + "0" * 400, INTEGER),
        literal("2020-01-01", DATE),
        literal("2021-01-01", DATE),
        literal("NaN", DOUBLE),
        literal("a"),
        literal("b"),
    ]
    shuffled = ordered[::2] + ordered[1::2]
    assert sorted(shuffled, key=terms.sort_key) == ordered


def test_values_of_long_literals_are_not_remembered() -> None:
    """The memo is bounded in bytes, not only in entries: documents may bring any number of long literals."""
    held = terms._typed_value.cache_info().currsize
    for digit in range(1, 10):
        long = terms.literal(str(digit) * 300, XSD + "integer")
        assert terms.value_of(long) == terms.value_of(long)
    assert terms._typed_value.cache_info().currsize == held
