"""Queries as numbers: edges, tests, what remains, and which derived edges they want."""

from __future__ import annotations

import numpy as np
import pytest

from heliograph.sparql.query import ClassPattern, Compare
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, Variable, iri, plain_name
from heliograph.vocabulary import Vocabulary
from heliograph.watch.derived import Derived, DerivedRelation
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import Q_COUNT, Q_ROWS, Q_TRUTH
from heliograph.watch.network import QueryNetwork
from heliograph.watch.network_compile import HERE, CompiledQuery, Question, question_of
from tests.watch.network_worlds import World


def question(text: str) -> Question:
    return question_of(parse_sparql(text), Vocabulary().intern, None)


def compiled(text: str, kind: int = Q_TRUTH) -> CompiledQuery:
    return World(set()).network.compile(parse_sparql(text, verb="watch"), kind)


def test_equal_edges_are_one() -> None:
    assert len(question("ASK { ?x :p ?y . ?x :p ?y }").edges) == 1


def test_conjuncts_about_one_variable_are_tests_whatever_it_is_called() -> None:
    first = question("ASK { ?x :p ?y FILTER (?y > 3 && ?y <= 5) }")
    second = question("ASK { ?a :p ?b FILTER (?b > 3) FILTER (?b <= 5) }")
    assert first.tests == second.tests
    assert first.remaining == second.remaining == ()
    (test,) = first.tests.values()
    assert [each.left for each in test.expressions if isinstance(each, Compare)] == [HERE, HERE]


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
    found = question(f"ASK {{ ?x :p ?y FILTER ({condition}) }}")
    assert (len(found.remaining), len(found.tests), found.never) == (remains, tested, False)


@pytest.mark.parametrize("condition", ["1 > 2", "1 / 0 > 1", "'a' < 1"])
def test_what_nothing_can_satisfy_is_told(condition: str) -> None:
    small = World(set())
    wanted = small.network.compile(parse_sparql(f"ASK {{ ?x :p ?y FILTER ({condition}) }}"), Q_TRUTH)
    row = small.network.subscribe(wanted)
    assert wanted.never
    assert small.network.world.queries["missing"][row] == 1
    assert not small.network.fresh
    assert small.network.component(row) == -1


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
    query = parse_sparql(text, verb="watch")
    assert (World(set()).network.compile(query, Q_TRUTH).kind == Q_ROWS) == rows
    assert (compiled(text, Q_COUNT).kind == Q_ROWS) == rows


def test_a_listed_query_keeps_what_remains_of_its_filters() -> None:
    found = compiled("SELECT * { ?x :p ?y FILTER (?y > 3 && ?x != ?y) }", Q_ROWS)
    assert len(found.remaining) == 1
    assert found.listed is not None
    assert len(found.listed.tests) == 1
    assert sorted(found.slots) == [Variable("x"), Variable("y")]


def test_large_patterns_are_ordered_as_they_are_written() -> None:
    text = "SELECT * { " + " . ".join(f"?x :p ?x{place}" for place in range(150)) + " }"
    assert compiled(text, Q_ROWS).slots[:3] == (Variable("x"), Variable("x0"), Variable("x1"))


# --- class forms ------------------------------------------------------------------------------------------------


def classed(taxonomy: Taxonomy) -> tuple[QueryNetwork, Vocabulary, Derived]:
    vocabulary = Vocabulary()
    derived = Derived(taxonomy, vocabulary, lambda: np.empty((0, 3), np.int32))
    return QueryNetwork(vocabulary.intern, derived, FlatGraph()), vocabulary, derived


def test_class_forms_are_edges_under_virtual_properties() -> None:
    network, vocabulary, derived = classed(Taxonomy([(plain_name("A"), plain_name("B"))]))
    kind = vocabulary.intern(plain_name("B"))
    wanted = network.compile(parse_sparql("ASK { ?x a/rdfs:subClassOf* :B . ?x a ?c . ?x rdfs:member ?y }"), Q_ROWS)
    assert wanted.wants == ((DerivedRelation.IS_A, kind), (DerivedRelation.TYPE, None), (DerivedRelation.MEMBER, None))
    assert wanted.listed is not None
    properties = {derived.virtual(relation) for relation, _ in wanted.wants}
    assert {predicate for _, predicate, _ in wanted.listed.edges} == properties


def test_without_a_taxonomy_rdf_type_is_plain() -> None:
    network, vocabulary, _ = classed(Taxonomy())
    wanted = network.compile(parse_sparql("SELECT * { ?x a :C }"), Q_ROWS)
    assert wanted.wants == ()
    assert wanted.listed is not None
    assert wanted.listed.edges[0][1] == vocabulary.intern(RDF_TYPE)


def test_classes_drive_last() -> None:
    network, vocabulary, _ = classed(Taxonomy([(plain_name("A"), plain_name("B"))]))
    wanted = network.compile(parse_sparql("ASK { ?x a :C . ?x :p :v }"), Q_TRUTH)
    (shape,) = wanted.shapes
    assert shape.driver is not None
    assert shape.driver.key == 2 * vocabulary.intern(plain_name("p"))


def test_class_forms_need_derived_edges() -> None:
    (pattern,) = parse_sparql("ASK { ?x a/rdfs:subClassOf* :B }").patterns
    assert isinstance(pattern, ClassPattern)
    with pytest.raises(ValueError, match="derived"):
        compiled("ASK { ?x a/rdfs:subClassOf* :B }")


def test_terms_in_doubt_are_judged_by_the_filter() -> None:
    small = World(set())
    small.subscribe(parse_sparql("ASK { ?x :p ?y FILTER (?y > 3) }"), Q_TRUTH)
    float_number = [iri("urn:x:a"), *(each.object for each in parse_sparql("ASK { :a :p '4'^^xsd:float, 2 }").patterns)]
    assert [small.network.tests.check(0, term) for term in float_number] == [False, True, False]  # type: ignore[arg-type]
    assert len(small.network.tests) == 1
