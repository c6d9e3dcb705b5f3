"""An interest says of every document what its query says, or leaves it open; never less."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.interests import COMPLEX, INEXACT, Interest, edge_variables, interest_of
from heliograph.filter.layout import MOST_VARIABLES
from heliograph.sparql.query import (
    ClassPattern,
    ClassRelation,
    Compare,
    Count,
    Expression,
    In,
    Not,
    Or,
    Query,
    TriplePattern,
    Values,
)
from heliograph.sparql.regions import Atom, Domain
from heliograph.sparql.solve import Graph, QueryPlan, Triple, world
from heliograph.sparql.templates import compile_sparql
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, iri, literal, plain_name
from heliograph.values import XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from heliograph.vocabulary import Vocabulary
from tests.filter.membership import NO, PERHAPS, SURE, lies_in, locate

NONE = Taxonomy()


def query(text: str) -> Query:
    (compiled,) = compile_sparql([text])
    assert isinstance(compiled, Query)
    return compiled


# --- an interest against a document, in the plainest way --------------------------------------------------------


def solutions(interest: Interest, triples: frozenset[tuple[int, int, int]]) -> Iterator[dict[int, int]]:
    """All homomorphisms of the edges."""
    variables = sorted({node for edge in interest.edges for node in edge if node < 0}, reverse=True)
    nodes = sorted({node for triple in triples for node in triple})
    for chosen in product(nodes, repeat=len(variables)):
        binding = dict(zip(variables, chosen, strict=True))
        if all(tuple(binding.get(node, node) for node in edge) in triples for edge in interest.edges):
            yield binding


def belongs(atom: Atom, term: Term, vocabulary: Vocabulary, classes: Classes) -> int:
    """Whether a term satisfies an atom, also one about classes."""
    if atom.domain < Domain.IS_A or atom.domain == Domain.WORD:
        return lies_in([atom], locate(term, vocabulary))
    kind = vocabulary.term(int(atom.low))
    related = {
        Domain.IS_A: lambda: kind in set(classes.all_types(term)),
        Domain.DIRECT: lambda: kind in set(classes.types(term)),
        Domain.SUBCLASS_OF: lambda: kind in classes.ancestors(term),
        Domain.SUPERCLASS_OF: lambda: term in classes.ancestors(kind),
    }
    return SURE if related[Domain(atom.domain)]() else NO


def verdict(interest: Interest, graph: Graph, vocabulary: Vocabulary, classes: Classes) -> int:
    """Whether a document satisfies an interest: no, surely, perhaps."""
    ids = vocabulary.intern_many([term for triple in graph.match() for term in triple])
    triples = frozenset(zip(ids[0::3], ids[1::3], ids[2::3], strict=True))
    best = NO
    for binding in solutions(interest, triples):
        worst = SURE
        for variable, atoms in interest.conjuncts:
            term = vocabulary.term(binding[~variable])
            found = {belongs(atom, term, vocabulary, classes) for atom in atoms}
            answer = SURE if SURE in found else PERHAPS if PERHAPS in found else NO
            worst = NO if NO in (worst, answer) else max(worst, answer)
        if worst == SURE:
            return SURE
        best = max(best, worst)
    return best


# --- the law ----------------------------------------------------------------------------------------------------

VARIABLES = [Variable(name) for name in "xyz"]
NAMES = [plain_name(name) for name in "abcd"]
VALUES = [
    literal("1", XSD_INTEGER),
    literal("1.0", XSD_DECIMAL),
    literal("1", XSD_DOUBLE),
    literal("1", XSD_FLOAT),
    literal("NaN", XSD_DOUBLE),
    literal("0.1", XSD_DECIMAL),
    literal("a"),
    literal("2020-01-01T00:00:00Z", XSD_DATETIME),
    literal("2020-01-01T01:00:00+01:00", XSD_DATETIME),
    literal("2020-01-01T00:00:00", XSD_DATETIME),
]
PROPERTIES = [plain_name("p"), plain_name("q"), RDF_TYPE, RDF_TYPE, RDFS_SUBCLASS_OF]

_names = st.sampled_from(NAMES)
_objects = st.sampled_from([*NAMES, *NAMES, *VALUES])
_variables = st.sampled_from(VARIABLES)
_member = iri(RDFS_MEMBER.value)
triples = st.tuples(_names, st.sampled_from(PROPERTIES), _objects)
taxonomies = st.lists(st.tuples(_names, _names), max_size=4).map(Taxonomy)

_edges = st.builds(
    TriplePattern,
    st.one_of(_variables, _names),
    st.one_of(st.sampled_from([*PROPERTIES, *PROPERTIES, _member]), _variables),
    st.one_of(_variables, _objects),
)
_classes = st.builds(
    ClassPattern, st.sampled_from(ClassRelation), st.one_of(_variables, _names), st.one_of(_variables, _names)
)
_patterns = st.tuples(st.lists(_edges, max_size=3), st.lists(_classes, max_size=2)).map(
    lambda both: (*both[0], *both[1])
)
_tests: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "!=", "<", ">="]), _variables, _objects),
    st.builds(In, _variables, st.lists(_objects, max_size=2).map(tuple), st.booleans()),
)
_filters = st.one_of(_tests, st.builds(lambda one, two: Or((one, two)), _tests, _tests), st.builds(Not, _tests))
_single = st.builds(
    lambda name, terms: Values((name,), tuple((term,) for term in terms)),
    _variables,
    st.lists(st.one_of(_objects, st.none()), max_size=3),
)
_pairs = st.builds(
    lambda rows: Values((VARIABLES[0], VARIABLES[1]), tuple(rows)), st.lists(st.tuples(_objects, _objects))
)
_havings: st.SearchStrategy[Expression | None] = st.one_of(
    st.none(), st.builds(Compare, st.sampled_from(["<", ">="]), st.just(Count()), st.just(literal("1", XSD_INTEGER)))
)
plain_queries = st.builds(
    Query,
    patterns=_patterns,
    filters=st.lists(_filters, max_size=2).map(tuple),
    values=st.lists(st.one_of(_single, _pairs), max_size=1).map(tuple),
)
counted_queries = st.builds(
    lambda asked, having, group: Query(
        patterns=asked.patterns, filters=asked.filters, counted=True, having=having, group_by=group
    ),
    plain_queries,
    _havings,
    st.sampled_from([(), (VARIABLES[0],)]),
)


@settings(max_examples=500)
@given(st.one_of(plain_queries, plain_queries, counted_queries), st.lists(triples, max_size=6), taxonomies)
def test_interests_say_what_queries_say(asked: Query, document: list[Triple], taxonomy: Taxonomy) -> None:
    vocabulary, graph = Vocabulary(), Graph(document)
    interest = interest_of(asked, vocabulary, taxonomy)
    found = verdict(interest, graph, vocabulary, Classes(graph, taxonomy))
    if QueryPlan.of(asked).matches(world(graph, taxonomy)):
        assert found != NO
    elif not interest.flags:
        assert found != SURE


@settings(max_examples=100)
@given(plain_queries, taxonomies)
def test_variables_are_numbered_as_they_appear(asked: Query, taxonomy: Taxonomy) -> None:
    vocabulary = Vocabulary()
    interest, variables = interest_of(asked, vocabulary, taxonomy), edge_variables(asked, taxonomy)
    seen = list(dict.fromkeys(~node for edge in interest.edges for node in edge if node < 0))
    assert seen == list(range(len(variables)))
    assert all(0 <= variable < len(variables) for variable, _ in interest.conjuncts)
    spelled = {
        tuple(variables[~node] if node < 0 else vocabulary.term(node) for node in edge) for edge in interest.edges
    }
    assert spelled <= set(asked.patterns)


# --- shapes -----------------------------------------------------------------------------------------------------

CLASSES = Taxonomy([(plain_name("Cat"), plain_name("Animal")), (plain_name("Animal"), plain_name("Thing"))])


def compiled(text: str, taxonomy: Taxonomy = NONE) -> tuple[Interest, Vocabulary]:
    vocabulary = Vocabulary()
    return interest_of(query(text), vocabulary, taxonomy), vocabulary


@pytest.mark.parametrize(
    ("pattern", "domain"),
    [
        ("?x a/rdfs:subClassOf* :Animal", Domain.IS_A),
        ("?x a :Animal", Domain.DIRECT),
        ("?x rdfs:subClassOf+ :Animal", Domain.SUBCLASS_OF),
        (":Animal rdfs:subClassOf+ ?x", Domain.SUPERCLASS_OF),
    ],
)
def test_class_forms_are_conjuncts(pattern: str, domain: Domain) -> None:
    interest, vocabulary = compiled(f"SELECT * {{ ?y :p ?x . {pattern} }}", CLASSES)
    animal = vocabulary.find(plain_name("Animal"))
    assert interest.flags == 0
    assert len(interest.edges) == 1
    assert interest.conjuncts == ((1, (Atom(domain, animal, animal),)),)


def test_types_that_no_row_answers_are_plain_edges() -> None:
    for text, taxonomy in (
        ("?x a :Animal", NONE),
        ("?x a :Cat", CLASSES),
        (":felix a :Animal", CLASSES),
        ("?x a ?y", NONE),
    ):
        interest, _ = compiled(f"SELECT * {{ {text} }}", taxonomy)
        assert (len(interest.edges), interest.conjuncts, interest.flags) == (1, (), 0)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("SELECT * { ?x :p ?y . ?x a ?z }", 1),
        ("SELECT * { ?x :p ?y . ?x rdfs:member ?z }", 1),
        ("SELECT * { ?x :p ?y . ?x a/rdfs:subClassOf* ?y }", 1),
        ("SELECT * { ?x :p ?y . :Cat a/rdfs:subClassOf* ?y }", 1),
        ("SELECT * { ?x :p ?y . :Cat rdfs:subClassOf+ :Thing }", 1),
        ("SELECT * { ?x :p ?y . ?z a/rdfs:subClassOf* :Thing }", 1),
        ("SELECT * { ?x a :Animal }", 0),
        ("SELECT * { ?x :p ?y VALUES (?x ?y) { (:a :b) } }", 1),
        ("SELECT * { ?x :p ?y VALUES ?x { :a UNDEF } }", 1),
        ("SELECT * { ?x :p ?y VALUES ?z { :a } }", 1),
        ("SELECT * { ?x :p ?y FILTER(!BOUND(?z)) }", 1),
        ("SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 1)", 1),
        ("SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) < 1)", 0),  # true of the empty document
        ("SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) < 9)", 1),
    ],
)
def test_what_edges_and_conjuncts_cannot_say(text: str, edges: int) -> None:
    interest, _ = compiled(text, CLASSES)
    assert interest.flags & COMPLEX
    assert len(interest.edges) == edges
    assert interest.conjuncts == ()


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("?x :p ?y FILTER(CONTAINS(?y, 'abc'))", INEXACT),
        ("?x :p ?y FILTER(?x = ?y)", INEXACT),
        ("?x :p ?y VALUES ?y { 5 }", INEXACT),  # 5.0 lies there too
        ("?x :p ?y VALUES ?y { 'a' true :b }", 0),
        ("?x :p ?y VALUES ?y { 'NaN'^^xsd:double '2020-01-01'^^xsd:date }", 0),
        ("?x :p ?y VALUES ?y { '2020-01-01Z'^^xsd:date }", INEXACT),
        ("?x :p ?y VALUES ?y { '1'^^xsd:float }", INEXACT),
        (":a :p :b FILTER(1 > 2)", INEXACT),
    ],
)
def test_what_is_left_to_the_conditions(text: str, flags: int) -> None:
    interest, _ = compiled(f"SELECT * {{ {text} }}")
    assert interest.flags == flags


def test_a_query_beyond_all_bounds_keeps_some_of_its_edges() -> None:
    p = plain_name("p")
    chain = [TriplePattern(Variable(f"v{n}"), p, Variable(f"v{n + 1}")) for n in range(MOST_VARIABLES)]
    asked = Query(patterns=tuple(chain), filters=(Compare(">", Variable(f"v{MOST_VARIABLES}"), VALUES[0]),))
    interest, variables = interest_of(asked, Vocabulary(), NONE), edge_variables(asked, NONE)
    assert interest.flags & COMPLEX
    assert 0 < len(interest.edges) < MOST_VARIABLES
    assert len(variables) == len(interest.edges) + 1
    assert interest.conjuncts == ()
