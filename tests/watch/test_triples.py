"""An evolving graph read as triples, beside the plain graph of the same triples, and asked by the plain solver."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.sparql.solve import Graph, solutions
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Term, iri
from heliograph.vocabulary import Vocabulary
from heliograph.watch.graph import FlatGraph, GraphTriples

Triple = tuple[Term, Term, Term]
NAMES = [iri(f"urn:{name}") for name in "abcpq"]
TRIPLES = st.tuples(st.sampled_from(NAMES[:4]), st.sampled_from(NAMES[2:]), st.sampled_from(NAMES[:4]))


def make(triples: list[Triple], listed: bool) -> GraphTriples:
    flat, vocabulary = FlatGraph(), Vocabulary()
    if listed:
        flat.keep_adjacency()
    for triple in triples:
        flat.put(*vocabulary.intern_many(triple))
    return GraphTriples(flat, vocabulary)


@given(st.lists(TRIPLES, max_size=25), st.booleans())
def test_like_the_plain_graph(triples: list[Triple], listed: bool) -> None:
    made, plain = make(triples, listed), Graph(triples)
    assert len(made) == len(plain)
    assert set(made) == set(plain)
    for parts in product([None, *NAMES], repeat=3):
        found = made.match(*parts)
        assert len(found) == made.count(*parts) == plain.count(*parts)
        assert sorted(found) == sorted(plain.match(*parts))
    for triple in product(NAMES[:4], NAMES[2:], NAMES[:4]):
        assert (triple in made) == (triple in plain) == (triple in made.match(predicate=triple[1]))


@pytest.mark.parametrize("listed", [False, True])
def test_found_triples_are_a_collection(listed: bool) -> None:
    a, b, c, p, q = NAMES
    made = make([(a, p, b), (a, q, c)], listed)
    found = made.match(a)
    assert (a, p, b) in found
    assert (a, p, c) not in found
    assert (b, p, iri("urn:unknown")) not in found
    assert found.__contains__("a") is False
    assert list(found) == list(found)
    assert list(made.match(iri("urn:unknown"))) == []


def test_virtual_properties_are_seen_by_name() -> None:
    a, b, _, p, q = NAMES
    flat, vocabulary = FlatGraph(), Vocabulary()
    vocabulary.intern_many([a, b, q])
    flat.set_virtual(vocabulary.intern(p))
    made = GraphTriples(flat, vocabulary)
    for predicate in (p, q):
        flat.put(*vocabulary.intern_many((a, predicate, b)))
    assert list(made) == list(made.match(a)) == list(made.match(None, None, b)) == [(a, q, b)]
    assert list(made.match(None, p)) == [(a, p, b)]


@given(st.lists(TRIPLES, max_size=20), st.booleans())
def test_the_plain_solver_answers_over_it(triples: list[Triple], listed: bool) -> None:
    query = parse_sparql("SELECT * { ?x <urn:p> ?y . ?y ?r ?z . FILTER(?x != ?z) }")
    found = [frozenset(solution.items()) for solution in solutions(query, make(triples, listed))]
    expected = [frozenset(solution.items()) for solution in solutions(query, Graph(triples))]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
