"""How a query is answered: what tests of single variables say of its filters, what must be listed, what drives."""

from __future__ import annotations

import numpy as np
import pytest

from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Variable, plain_name
from heliograph.vocabulary import Vocabulary
from heliograph.watch.derived import Derived
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import Q_COUNT, Q_ROWS, Q_TRUTH
from heliograph.watch.network import QueryNetwork
from heliograph.watch.network_compile import CompiledQuery, question_of
from tests.watch.network_worlds import World


def compiled(text: str, kind: int) -> CompiledQuery:
    return World(set()).network.compile(parse_sparql(text, verb="watch"), kind)


@pytest.mark.parametrize(
    ("condition", "remains", "tested"),
    [
        ("?x = ?y", 1, 0),
        ("?x < 3 && ?x = ?y", 1, 1),
        ("CONTAINS(?x, 'abc')", 1, 0),
        ("?z > 3", 1, 0),
        ("!BOUND(?z)", 1, 0),
        ("1 < 2", 0, 0),
        ("BOUND(?x)", 0, 0),
        ("?x IN (1, 2, 3)", 0, 1),
        ("?x + 1 > 2", 1, 0),
        (" && ".join(["?x > 1"] * 150), 0, 1),
        (" || ".join(["?x = 1"] * 150), 1, 0),
    ],
)
def test_what_tests_cannot_say_remains(condition: str, remains: int, tested: int) -> None:
    query = parse_sparql(f"ASK {{ ?x :p ?y FILTER ({condition}) }}")
    found = question_of(query, Vocabulary().intern, None)
    assert (len(found.remaining), len(found.tests), found.never) == (remains, tested, False)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("ASK { ?x :p ?y }", False),
        ("ASK { ?x ?p ?y }", True),
        ("ASK { ?x :p ?y VALUES ?x { :a } }", True),
        ("ASK { ?x :p ?y FILTER (?x != ?y) }", True),
        ("ASK { ?x :p ?y FILTER (?y > 3) }", False),
        ("ASK { ?x :p ?y FILTER (hg:degree(?x) > 3) }", True),
        ("ASK { " + " . ".join(f"?x{place} :p ?x{place + 1}" for place in range(300)) + " }", True),
        ("ASK { " + " . ".join(f"?x :p ?x{place}" for place in range(300)) + " }", False),
    ],
)
def test_what_must_be_listed(text: str, rows: bool) -> None:
    for kind in (Q_TRUTH, Q_COUNT):
        assert (compiled(text, kind).kind == Q_ROWS) == rows


def test_large_patterns_are_ordered_as_they_are_written() -> None:
    text = "SELECT * { " + " . ".join(f"?x :p ?x{place}" for place in range(150)) + " }"
    assert compiled(text, Q_ROWS).slots[:3] == (Variable("x"), Variable("x0"), Variable("x1"))


def test_classes_drive_last() -> None:
    vocabulary, taxonomy = Vocabulary(), Taxonomy([(plain_name("A"), plain_name("B"))])
    derived = Derived(taxonomy, vocabulary, lambda: np.empty((0, 3), np.int32))
    network = QueryNetwork(vocabulary.intern, derived, FlatGraph())
    wanted = network.compile(parse_sparql("ASK { ?x a :C . ?x :p :v }"), Q_TRUTH)
    (shape,) = wanted.shapes
    assert shape.driver is not None
    assert shape.driver.key == 2 * vocabulary.intern(plain_name("p"))
