"""Where terms lie: one by one as in columns, and in the order of their values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import compare
from heliograph.sparql.regions import Domain, TermPlace, place_of, places_of
from heliograph.terms import RDF_LANG_STRING, Term, blank, iri, literal
from heliograph.values import XSD, XSD_BOOLEAN, XSD_DATE, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from heliograph.vocabulary import Vocabulary
from tests import term_strategies as hostile
from tests.filter.interest_strategies import POOL

MICROS = 86_400_000_000


def rows(vocabulary: Vocabulary, first: int, last: int) -> list[TermPlace]:
    places = places_of(vocabulary, first, last)
    return [TermPlace(*row) for row in zip(*(column.tolist() for column in places), strict=True)]


@pytest.mark.parametrize(
    ("term", "place"),
    [
        (literal("5", XSD_INTEGER), TermPlace(Domain.NUMBER, 5.0)),
        (literal("5.0", XSD_DECIMAL), TermPlace(Domain.NUMBER, 5.0)),
        (literal("0.1", XSD_DECIMAL), TermPlace(Domain.NUMBER, 0.1, True)),
        (literal("0.1", XSD_DOUBLE), TermPlace(Domain.NUMBER, 0.1)),
        (literal("-0", XSD_DOUBLE), TermPlace(Domain.NUMBER, 0.0)),
        (literal("9007199254740993", XSD_INTEGER), TermPlace(Domain.NUMBER, 2.0**53, True)),
        (literal("1" + "0" * 400, XSD_INTEGER), TermPlace(Domain.NUMBER, np.inf, True)),
        (literal("-INF", XSD_DOUBLE), TermPlace(Domain.NUMBER, -np.inf)),
        (literal("NaN", XSD_DOUBLE), TermPlace(Domain.NAN, 0.0)),
        (literal("5", XSD_FLOAT), TermPlace(Domain.FLOAT, 5.0, True)),
        (literal("NaN", XSD_FLOAT), TermPlace(Domain.FLOAT, 0.0, True)),
        (literal("true", XSD_BOOLEAN), TermPlace(Domain.BOOLEAN, 1.0)),
        (literal("1970-01-02T00:00:00Z", XSD_DATETIME), TermPlace(Domain.TIME, MICROS)),
        (literal("1970-01-02T00:00:00", XSD_DATETIME), TermPlace(Domain.LOCAL_TIME, MICROS)),
        (literal("1970-01-01T00:00:00.0000001Z", XSD_DATETIME), TermPlace(Domain.TIME, 0.0, True)),
        (literal("2400-01-01T00:00:00Z", XSD_DATETIME), TermPlace(Domain.TIME, 157054.0 * MICROS, True)),
        (literal("1970-01-02Z", XSD_DATE), TermPlace(Domain.DATE, MICROS)),
        (literal("1970-01-02", XSD_DATE), TermPlace(Domain.LOCAL_DATE, MICROS)),
        (literal("999999999-01-01", XSD_DATE), TermPlace(Domain.LOCAL_DATE, 2.0**63, True)),
        (iri("urn:a"), TermPlace(Domain.IRI, 0.0)),
        (blank("a"), TermPlace(Domain.BLANK, 0.0)),
        (literal("a"), TermPlace(Domain.TEXT, 0.0)),
        (literal("a", language="en"), TermPlace(Domain.TEXT, 0.0)),
        (literal("a", RDF_LANG_STRING), TermPlace(Domain.TEXT, 0.0)),
        (literal("a", XSD_INTEGER), TermPlace(Domain.ODD, 0.0)),
        (literal("2020", XSD + "gYear"), TermPlace(Domain.ODD, 0.0)),
    ],
)
def test_each_kind_of_term(term: Term, place: TermPlace) -> None:
    vocabulary = Vocabulary()
    assert place_of(term, vocabulary.intern) == place
    vocabulary.intern(term)
    assert rows(vocabulary, 0, 1) == [place]


@settings(max_examples=150)
@given(
    st.lists(st.one_of(hostile.objects, st.integers(0, len(POOL) - 1).map(lambda n: POOL[n])), max_size=12, unique=True)
)
def test_columns_say_what_single_places_say(terms: list[Term]) -> None:
    vocabulary = Vocabulary()
    vocabulary.intern_many(terms)
    assert rows(vocabulary, 0, len(terms)) == [place_of(term, vocabulary.intern) for term in terms]


def test_parts_overlays_and_saves(tmp_path: Path) -> None:
    base = Vocabulary()
    base.intern_many(POOL[:100])
    base.save(tmp_path / "saved")
    wanted = [place_of(term, {term: id for id, term in enumerate(POOL)}.__getitem__) for term in POOL]
    for below in (base, Vocabulary.load(tmp_path / "saved")):
        overlay = below.overlay()
        overlay.intern_many(POOL)
        for first, last in ((0, len(POOL)), (0, 50), (30, 100), (90, 120), (100, len(POOL)), (70, 70), (110, 110)):
            assert rows(overlay, first, last) == wanted[first:last]
        assert rows(below, 20, 100) == wanted[20:100]


def test_coordinates_order_values_unless_they_are_rounded() -> None:
    vocabulary = Vocabulary()
    known = [(term, place_of(term, vocabulary.intern)) for term in POOL]
    ordered = {Domain.NUMBER, Domain.BOOLEAN, Domain.TIME, Domain.LOCAL_TIME, Domain.DATE, Domain.LOCAL_DATE}
    pairs = [(a, b) for a in known for b in known if a[1].domain == b[1].domain and a[1].domain in ordered]
    assert len(pairs) > 1000
    for (left, one), (right, other) in pairs:
        if one.coordinate != other.coordinate:
            assert compare("<", left, right) is (one.coordinate < other.coordinate)
        elif not one.rounded and not other.rounded:
            assert compare("=", left, right) is True
