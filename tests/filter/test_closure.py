"""The closure of a taxonomy against networkx, whole or too large to keep, and classes asked for in publications."""

from __future__ import annotations

from itertools import product

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.interests import Interest, closure_of
from heliograph.filter.search import search
from heliograph.sparql.regions import Atom
from heliograph.taxonomy import Taxonomy
from heliograph.terms import iri
from heliograph.vocabulary import Vocabulary
from tests.filter.index_worlds import (
    BELOW,
    CLASSES,
    NODES,
    TERMS,
    TYPE,
    Graph,
    answers_of,
    batch_of,
    check_answers,
    segment_of,
)

_nodes = st.integers(0, NODES - 1)
_links = st.tuples(_nodes, _nodes)
_rows = st.lists(_links, max_size=7)
_own: st.SearchStrategy[Graph] = st.lists(st.tuples(_nodes, st.sampled_from([TYPE, BELOW]), _nodes), max_size=4).map(
    tuple
)
# Every class asked of every term that has an edge: four domains, all nodes.
QUESTIONS = [
    Interest(((~0, 0, ~1),), ((0, (Atom(domain, kind, kind),)),)) for domain, kind in product(CLASSES, range(NODES))
]


def taxonomy_of(rows: list[tuple[int, int]], types: list[tuple[int, int]] | None = None) -> Taxonomy:
    """A table, whose rows are both, or with types of its own as RDF has them."""
    named = None if types is None else [(TERMS[child], TERMS[parent]) for child, parent in types]
    return Taxonomy([(TERMS[child], TERMS[parent]) for child, parent in rows], types=named)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_the_closure_is_what_networkx_reaches(rows: list[tuple[int, int]]) -> None:
    vocabulary = Vocabulary()
    taxonomy = Taxonomy([(iri(f"urn:{child}"), iri(f"urn:{parent}")) for child, parent in rows])
    closure, reached = closure_of(taxonomy, vocabulary), nx.transitive_closure(nx.DiGraph(rows), reflexive=False)
    pairs = set(closure.pairs[closure.pairs > 0].tolist())
    assert closure.complete
    assert len(pairs) == len(closure.ancestors) == len(reached.edges)
    for child, parent in reached.edges:
        low, high = (vocabulary.intern(iri(f"urn:{each}")) for each in (child, parent))
        assert 1 + (low << 32 | high) in pairs
        assert high in closure.ancestors[closure.offsets[low] : closure.offsets[low + 1]]


def test_a_closure_that_is_too_large_is_not_kept() -> None:
    rows = [(iri(f"urn:{number}"), iri(f"urn:{number + 1}")) for number in range(10)]
    whole, walked = (closure_of(Taxonomy(rows), Vocabulary(), limit) for limit in (55, 54))
    assert (whole.complete, len(whole.ancestors)) == (1, 55)
    assert (walked.complete, len(walked.ancestors)) == (0, 10)


@pytest.mark.parametrize("copies", [1, 3])  # tried one by one, and in tables
@pytest.mark.parametrize("limit", [10**6, 0])
@settings(max_examples=40)
@given(rows=_rows, types=st.none() | _rows, graphs=st.lists(_own, min_size=1, max_size=2))
def test_classes_of_publications(
    limit: int, copies: int, rows: list[tuple[int, int]], types: list[tuple[int, int]] | None, graphs: list[Graph]
) -> None:
    taxonomy = taxonomy_of(rows, types)
    given = [(*graph, *((node, 0, node) for node in range(NODES))) for graph in graphs]
    asked = copies * QUESTIONS
    found = answers_of(search(segment_of(asked), batch_of(given, taxonomy, limit), 0))
    check_answers(found, asked, given, taxonomy)
