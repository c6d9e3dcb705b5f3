"""Derived edges are what the definitions give from scratch, after any history."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import TermError
from heliograph.sparql.query import ClassPattern, ClassRelation, Pattern, TriplePattern
from heliograph.sparql.solve import Graph, Triple, pattern_step, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import (
    RDF,
    RDF_TYPE,
    RDFS,
    RDFS_MEMBER,
    RDFS_SUBCLASS_OF,
    Term,
    Variable,
    iri,
    parse_cell,
    plain_name,
)
from heliograph.vocabulary import Vocabulary
from heliograph.watch import derived as derived_edges
from heliograph.watch.derived import NO_ROWS, Derived, DerivedChange, DerivedRelation, Rows
from heliograph.watch.layout import VIRTUALS

X, Y = Variable("x"), Variable("y")
FORMS: dict[DerivedRelation, Pattern] = {
    DerivedRelation.IS_A: ClassPattern(ClassRelation.IS_A, X, Y),
    DerivedRelation.SUBCLASS_OF: ClassPattern(ClassRelation.SUBCLASS_OF, X, Y),
    DerivedRelation.TYPE: TriplePattern(X, RDF_TYPE, Y),
    DerivedRelation.MEMBER: TriplePattern(X, RDFS_MEMBER, Y),
}
NAMES = tuple(plain_name(name) for name in "abcde")
MEMBERS = (RDFS_MEMBER, iri(RDF + "_1"), iri(RDF + "_2"), iri(RDF + "_0"))  # the last is none
PROPERTIES = (RDF_TYPE, RDFS_SUBCLASS_OF, RDFS_SUBCLASS_OF, *MEMBERS)
Pair = tuple[Term, Term]


class Mirror:
    """A plain graph, and the derived edges that were reported for it."""

    def __init__(self, taxonomy: Taxonomy, triples: Iterable[Triple] = ()) -> None:
        self.taxonomy = taxonomy
        self.vocabulary = Vocabulary()
        self.graph = Graph(triples)
        self.derived = Derived(taxonomy, self.vocabulary, lambda: self.rows(self.graph))
        self.edges: set[tuple[int, int, int]] = set()

    def rows(self, triples: Iterable[Triple]) -> Rows:
        rows = [self.vocabulary.intern_many(triple) for triple in triples]
        return np.array(rows, np.int32).reshape(-1, 3)

    def want(self, relation: DerivedRelation, kind: Term | None = None) -> None:
        self.take(DerivedChange(self.derived.want(relation, None if kind is None else self.vocabulary.intern(kind))))

    def change(self, added: Iterable[Triple], removed: Iterable[Triple]) -> None:
        """Removes, then adds; the net difference is told."""
        before = set(self.graph)
        for triple in removed:
            self.graph.remove(triple)
        for triple in added:
            self.graph.add(triple)
        after = set(self.graph)
        self.take(self.derived.change(self.rows(after - before), self.rows(before - after)))

    def take(self, changes: DerivedChange) -> None:
        """Edges come that were not there, and go that were."""
        added, removed = (list(map(tuple, rows.tolist())) for rows in changes)
        assert len(set(added)) == len(added)
        assert not self.edges.intersection(added)
        assert self.edges.issuperset(removed)
        self.edges = (self.edges | set(added)) - set(removed)

    def pairs(self, relation: DerivedRelation) -> set[Pair]:
        term, predicate = self.vocabulary.term, self.derived.virtual(relation)
        return {(term(s), term(o)) for s, p, o in self.edges if p == predicate}


def from_scratch(mirror: Mirror, relation: DerivedRelation) -> set[Pair]:
    found = pattern_step(FORMS[relation], world(mirror.graph, mirror.taxonomy)).extend({})
    return {(solution[X], solution[Y]) for solution in found}


triples = st.tuples(st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from(NAMES))
_taxonomy_rows = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=4)
taxonomies = st.builds(  # a table, whose rows are both, or RDF
    lambda subclasses, types: Taxonomy(subclasses, types=types), _taxonomy_rows, st.none() | _taxonomy_rows
)
histories = st.lists(st.tuples(st.lists(triples, max_size=3), st.lists(triples, max_size=3)), max_size=12)


@settings(deadline=None, max_examples=300)
@given(taxonomies, st.lists(triples, max_size=12), histories, st.permutations(list(DerivedRelation)), st.integers(0, 4))
def test_after_any_history(
    taxonomy: Taxonomy,
    start: list[Triple],
    history: list[tuple[list[Triple], list[Triple]]],
    order: list[DerivedRelation],
    early: int,
) -> None:
    mirror = Mirror(taxonomy, start)
    wanted = list(order[:early])
    for relation in wanted:
        mirror.want(relation)
    for added, removed in history:
        mirror.change(added, removed)
        for relation in wanted:
            assert mirror.pairs(relation) == from_scratch(mirror, relation)
    for relation in order:
        mirror.want(relation)
        assert mirror.pairs(relation) == from_scratch(mirror, relation)


@settings(deadline=None, max_examples=200)
@given(taxonomies, st.lists(triples, max_size=12), histories, st.lists(st.sampled_from(NAMES), max_size=4))
def test_some_classes_only(
    taxonomy: Taxonomy, start: list[Triple], history: list[tuple[list[Triple], list[Triple]]], kinds: list[Term]
) -> None:
    mirror = Mirror(taxonomy, start)
    forms = (DerivedRelation.IS_A, DerivedRelation.SUBCLASS_OF, DerivedRelation.TYPE)
    wanted: set[Term] = set()
    for kind, (added, removed) in zip(kinds, [*history, *[([], [])] * 4], strict=False):
        mirror.change(added, removed)
        for relation in forms:
            mirror.want(relation, kind)
        wanted.add(kind)
        for relation in forms:
            expected = {pair for pair in from_scratch(mirror, relation) if pair[1] in wanted}
            assert mirror.pairs(relation) == expected
    for relation in forms:
        mirror.want(relation)
        assert mirror.pairs(relation) == from_scratch(mirror, relation)


# --- many at once -----------------------------------------------------------------------------------------------


def random_triples(count: int, seed: int) -> list[Triple]:
    draw = random.Random(seed)
    names = [plain_name(f"n{number}") for number in range(60)]
    return [(draw.choice(names), draw.choice(PROPERTIES), draw.choice(names[:40])) for _ in range(count)]


@pytest.mark.parametrize("step", [1, 37, 700])
def test_few_or_many_at_once(step: int) -> None:
    """Sets, an overlay and whole columns give the same."""
    rows = [(plain_name(f"n{number}"), plain_name(f"n{number // 2}")) for number in range(50, 60)]
    mirror = Mirror(Taxonomy(rows), random_triples(300, 1))
    for relation in (DerivedRelation.IS_A, DerivedRelation.TYPE, DerivedRelation.MEMBER):
        mirror.want(relation)
    mirror.want(DerivedRelation.SUBCLASS_OF, plain_name("n3"))
    stream, draw = random_triples(700, 2), random.Random(3)
    for first in range(0, len(stream), step):
        added = stream[first : first + step]
        mirror.change(added, draw.sample(list(mirror.graph), min(step, len(mirror.graph))))
    for relation in (DerivedRelation.IS_A, DerivedRelation.TYPE, DerivedRelation.MEMBER):
        assert mirror.pairs(relation) == from_scratch(mirror, relation)
    below = {pair for pair in from_scratch(mirror, DerivedRelation.SUBCLASS_OF) if pair[1] == plain_name("n3")}
    assert mirror.pairs(DerivedRelation.SUBCLASS_OF) == below


def test_an_overlay_is_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many single changes, so that the columns are merged between them."""
    monkeypatch.setattr(derived_edges, "_LEAST", 64)
    mirror = Mirror(Taxonomy([(NAMES[0], NAMES[1])]))
    mirror.want(DerivedRelation.IS_A)
    vertices = [plain_name(f"v{number}") for number in range(300)]
    edges = [(vertex, RDF_TYPE, kind) for vertex in vertices for kind in NAMES[:2]]
    ids = mirror.rows(edges)
    for row in ids:
        mirror.take(mirror.derived.change(row[None]))
    assert len(mirror.edges) == 601
    for row in ids[::2]:
        mirror.take(mirror.derived.change(NO_ROWS, row[None]))
    term = mirror.vocabulary.term
    assert {(term(s), term(o)) for s, _, o in mirror.edges} == {(vertex, NAMES[1]) for vertex in (*vertices, NAMES[0])}
    mirror.take(mirror.derived.change(ids[::2], ids[1::2]))
    assert len(mirror.edges) == 601


# --- an outside oracle ------------------------------------------------------------------------------------------

PATHS = {
    DerivedRelation.IS_A: "rdf:type/rdfs:subClassOf*",
    DerivedRelation.SUBCLASS_OF: "rdfs:subClassOf+",
    DerivedRelation.TYPE: "rdf:type",
    DerivedRelation.MEMBER: "(rdfs:member|rdf:_1|rdf:_2)",
}


def oxigraph_pairs(mirror: Mirror, relation: DerivedRelation) -> set[tuple[str, str]]:
    store = pyoxigraph.Store()
    said = ((mirror.taxonomy.types, RDF_TYPE), (mirror.taxonomy.subclasses, RDFS_SUBCLASS_OF))
    rows = [(child, kind, parent) for pairs, kind in said for child, parent in pairs]
    for triple in (*mirror.graph, *rows):
        store.add(pyoxigraph.Quad(*(pyoxigraph.NamedNode(term.value) for term in triple)))
    found = store.query(f"SELECT DISTINCT ?x ?y {{ ?x {PATHS[relation]} ?y }}", prefixes={"rdf": RDF, "rdfs": RDFS})
    assert isinstance(found, pyoxigraph.QuerySolutions)
    return {(str(x.value), str(y.value)) for x, y in found}


@settings(deadline=None, max_examples=60)
@given(taxonomies, st.lists(triples, max_size=10), histories)
def test_oxigraph_agrees(
    taxonomy: Taxonomy, start: list[Triple], history: list[tuple[list[Triple], list[Triple]]]
) -> None:
    mirror = Mirror(taxonomy, start)
    for relation in DerivedRelation:
        mirror.want(relation)
    for added, removed in history:
        mirror.change(added, removed)
    for relation in DerivedRelation:
        found = {(subject.value, object.value) for subject, object in mirror.pairs(relation)}
        assert found == oxigraph_pairs(mirror, relation)


# --- single cases -----------------------------------------------------------------------------------------------


def edge(subject: str, predicate: Term, object: str) -> Triple:
    return plain_name(subject), predicate, plain_name(object)


def test_a_hierarchy_deeper_than_the_stack() -> None:
    chain = [edge(f"c{number}", RDFS_SUBCLASS_OF, f"c{number + 1}") for number in range(3000)]
    mirror = Mirror(Taxonomy(), [*chain, edge("x", RDF_TYPE, "c0")])
    mirror.want(DerivedRelation.IS_A)
    assert len(mirror.edges) == 3001
    mirror.change([], [chain[1500]])
    assert len(mirror.edges) == 1501


def test_literals_may_be_types() -> None:
    text = parse_cell('"text"')
    mirror = Mirror(Taxonomy(), [(NAMES[0], RDF_TYPE, text)])
    mirror.want(DerivedRelation.IS_A)
    assert mirror.pairs(DerivedRelation.IS_A) == {(NAMES[0], text)}


# --- what is wanted ---------------------------------------------------------------------------------------------


def test_which_patterns_are_derived() -> None:
    plain, rows = Mirror(Taxonomy()).derived, Mirror(Taxonomy([(NAMES[0], NAMES[1])])).derived
    direct = FORMS[DerivedRelation.TYPE]
    assert (plain.relation(direct), rows.relation(direct)) == (None, DerivedRelation.TYPE)
    for relation in (DerivedRelation.IS_A, DerivedRelation.SUBCLASS_OF, DerivedRelation.MEMBER):
        assert plain.relation(FORMS[relation]) is relation
    for predicate in (RDFS_SUBCLASS_OF, iri(RDF + "_1"), Y):
        assert rows.relation(TriplePattern(X, predicate, Y)) is None


def test_virtual_properties_cannot_be_spelled() -> None:
    mirror = Mirror(Taxonomy())
    ids = [mirror.derived.virtual(relation) for relation in DerivedRelation]
    assert ids == list(range(ids[0], ids[0] + VIRTUALS))
    for id in ids:
        with pytest.raises(TermError):
            parse_cell(f"<{mirror.vocabulary.term(id).value}>")


def test_nothing_is_kept_or_derived_for_nobody() -> None:
    mirror = Mirror(Taxonomy([(NAMES[0], NAMES[1])]), [edge("c", RDF_TYPE, "a")])
    derived, id = mirror.derived, mirror.vocabulary.intern
    asked = [RDF_TYPE, RDFS_SUBCLASS_OF, MEMBERS[1], MEMBERS[3], NAMES[0], MEMBERS[0], MEMBERS[1]]
    predicates = np.array([id(term) for term in asked], np.int32)
    mirror.change([edge("d", RDF_TYPE, "a")], [])
    assert (mirror.edges, derived.wanted, bool(derived.concerned(predicates).any())) == (set(), (), False)
    mirror.want(DerivedRelation.SUBCLASS_OF)
    assert derived.concerned(predicates).tolist() == [False, True, *[False] * 5]
    mirror.want(DerivedRelation.MEMBER, NAMES[0])
    assert derived.wants(DerivedRelation.MEMBER)
    assert derived.concerned(predicates).tolist() == [False, True, True, False, False, True, True]
    assert derived.wanted == (derived.virtual(DerivedRelation.SUBCLASS_OF), derived.virtual(DerivedRelation.MEMBER))


def test_what_is_wanted_twice_is_derived_once() -> None:
    mirror = Mirror(Taxonomy([(NAMES[0], NAMES[1])]))
    mirror.want(DerivedRelation.TYPE, NAMES[1])
    assert not mirror.derived.wants(DerivedRelation.TYPE)
    assert mirror.derived.wants(DerivedRelation.TYPE, mirror.vocabulary.intern(NAMES[1]))
    for kind in (NAMES[1], None, None, NAMES[2]):
        mirror.want(DerivedRelation.TYPE, kind)
    assert len(mirror.edges) == 1
