"""Atoms as text, and the terms that suit them."""

from __future__ import annotations

from math import inf

import pytest

from heliograph.filter.explain import spell_atom
from heliograph.sparql.regions import HIGH_OPEN, LOW_OPEN, Atom, Domain, place_of
from heliograph.sparql.solve import Graph
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import parse_cell
from heliograph.vocabulary import Vocabulary

VOCABULARY = Vocabulary()
ALICE = VOCABULARY.intern(parse_cell("Alice"))
BOB = VOCABULARY.intern(parse_cell("Bob"))
DAY = place_of(parse_cell('"2026-11-15"^^xsd:date'), VOCABULARY.intern)
CLASSES = Classes(
    Graph(), Taxonomy([(parse_cell("Alice"), parse_cell("Bob")), (parse_cell("Bob"), parse_cell("Carl"))])
)


@pytest.mark.parametrize(
    ("atom", "text"),
    [
        (Atom(Domain.NUMBER, 5.0, 5.0), "number 5"),
        (Atom(Domain.NUMBER, -inf, 5.5, HIGH_OPEN), "number (-∞, 5.5)"),
        (Atom(Domain.NUMBER, 1.0, 2.0, LOW_OPEN), "number (1, 2]"),
        (Atom(Domain.NUMBER, -inf, inf), "number"),
        (Atom(Domain.BOOLEAN, 1.0, 1.0), "boolean 1"),
        (Atom(Domain.NAN, -inf, inf), "not-a-number"),
        (Atom(Domain.IRI, ALICE, ALICE), "IRI Alice"),
        (Atom(Domain.IRI, -inf, inf), "IRI"),
        (Atom(Domain.IRI, -inf, BOB, HIGH_OPEN), "IRI before Bob"),
        (Atom(Domain.IRI, BOB, inf, LOW_OPEN), "IRI after Bob"),
        (Atom(Domain.IRI, ALICE, BOB, LOW_OPEN), "IRI after Alice and before Bob"),
        (Atom(DAY.domain, DAY.coordinate, inf), "date without a zone [2026-11-15T00:00:00.000000, ∞)"),
        (Atom(Domain.SUPERCLASS_OF, BOB, BOB), "superclass-of Bob"),
        (Atom(Domain.WORD, 7.0, 7.0), "text that holds a certain piece of what is asked for"),
    ],
)
def test_text(atom: Atom, text: str) -> None:
    assert spell_atom(atom, VOCABULARY) == text
