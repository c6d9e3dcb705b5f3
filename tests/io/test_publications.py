"""Batches of interned publications, and what becomes of them when their vocabulary has moved on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.io.publications import Publications, Triples, rebase
from heliograph.terms import Term, iri, literal
from heliograph.vocabulary import Vocabulary

TERMS = [iri(f"urn:heliograph:n{number}") for number in range(8)] + [literal("x"), literal("x", language="en")]
SOME = st.lists(st.sampled_from(TERMS), max_size=5)
GRAPHS = st.lists(st.lists(st.tuples(*[st.sampled_from(TERMS)] * 3), max_size=4), max_size=3)
Graphs = list[list[tuple[Term, ...]]]


def publications_of(graphs: Graphs, vocabulary: Vocabulary) -> Publications:
    rows = [[vocabulary.intern(term) for term in triple] for graph in graphs for triple in graph]
    offsets = np.cumsum([0, *map(len, graphs)])
    columns = np.array(rows, np.int32).reshape(-1, 3).T
    ids = tuple(f"p{number}" for number in range(len(graphs)))
    return Publications(vocabulary, ids, offsets, Triples(*map(np.ascontiguousarray, columns)))


def known(terms: list[Term]) -> Vocabulary:
    vocabulary = Vocabulary()
    vocabulary.intern_many(terms)
    return vocabulary


def check_rebased(publications: Publications, vocabulary: Vocabulary) -> Publications:
    before = list(publications.graphs())
    size, own = len(vocabulary), [column.copy() for column in publications.triples]
    found = rebase(publications, vocabulary)
    assert list(found.graphs()) == before == list(publications.graphs())
    assert all(np.array_equal(left, right) for left, right in zip(own, publications.triples, strict=True))
    assert len(vocabulary) == size
    assert found.vocabulary is vocabulary or found.vocabulary.base is vocabulary
    for id in {int(id) for column in found.triples for id in column}:
        wanted = vocabulary.find(found.vocabulary.term(id))
        assert id == wanted or (wanted < 0 and id >= size)
    return found


@given(SOME, SOME, GRAPHS)
def test_an_overlay_of_what_has_grown_since(before: list[Term], after: list[Term], graphs: Graphs) -> None:
    vocabulary = known(before)
    publications = publications_of(graphs, vocabulary.overlay())
    vocabulary.intern_many(after)
    found = check_rebased(publications, vocabulary)
    assert check_rebased(found, vocabulary) is found


@given(SOME, SOME, GRAPHS)
def test_an_overlay_of_something_else(before: list[Term], others: list[Term], graphs: Graphs) -> None:
    check_rebased(publications_of(graphs, known(others).overlay()), known(before))
    check_rebased(publications_of(graphs, known(others)), known(before))


@given(SOME, SOME, SOME, GRAPHS)
def test_what_shares_only_a_part_far_below(
    first: list[Term], left: list[Term], right: list[Term], graphs: Graphs
) -> None:
    """Two overlays of one vocabulary, taken at different times, one of them with an overlay of its own."""
    ground = known(first)
    one = ground.overlay()
    one.intern_many(left)
    publications = publications_of(graphs, one.overlay())
    ground.intern_many(left[:1])
    other = ground.overlay()
    other.intern_many(right)
    check_rebased(publications, other)
    check_rebased(publications, ground)
    check_rebased(publications_of(graphs, ground), other)


@given(SOME, GRAPHS)
def test_what_has_not_changed_is_taken_as_it_is(before: list[Term], graphs: Graphs) -> None:
    vocabulary = known(before)
    for own in (vocabulary.overlay(), vocabulary):
        publications = publications_of(graphs, own)
        assert check_rebased(publications, vocabulary) is publications


def test_ids_that_are_shared_are_not_looked_up() -> None:
    vocabulary = known(TERMS[:4])
    publications = publications_of([[tuple(TERMS[:3])]], vocabulary.overlay())
    vocabulary.intern(TERMS[4])
    found = rebase(publications, vocabulary)
    assert [column.tolist() for column in found.triples] == [[0], [1], [2]]
    assert (found.vocabulary.start, len(found.vocabulary), found.vocabulary.base) == (5, 5, vocabulary)
    assert vocabulary.base is None


def test_no_publications() -> None:
    assert list(Publications.none(known(TERMS)).graphs()) == []
    assert check_rebased(Publications.none(Vocabulary()), known(TERMS)).ids == ()
