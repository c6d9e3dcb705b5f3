"""Small universes in which interests and publications collide, and what the plain rules say about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed, rows_of
from heliograph.filter.interests import COMPLEX, INEXACT, LIMIT, Interest, Interests, closure_of, gather, offsets_of
from heliograph.filter.layout import ROUNDED_CODE, DocumentEdges, TermPlaces
from heliograph.filter.search import Hits, SearchBatch, search
from heliograph.filter.segment import Segment
from heliograph.io.publications import Publications, Triples
from heliograph.sparql.regions import Atom, Domain, places_of
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, iri, literal
from heliograph.values import XSD_FLOAT, XSD_INTEGER
from heliograph.vocabulary import Vocabulary
from tests import naive
from tests.filter.membership import NO, PERHAPS, SURE, locate, within

Graph = tuple[naive.Edge, ...]

CLASSES = (Domain.IS_A, Domain.DIRECT, Domain.SUBCLASS_OF, Domain.SUPERCLASS_OF)
NODES = 5  # ids from 0 on are IRIs
NUMBERS = ["1", "2", "3", "9007199254740993"]  # the last one is rounded
TEXTS = ["abc", "xabc", "b"]
TERMS: list[Term] = [
    *(iri(f"urn:n{number}") for number in range(NODES)),
    *(literal(text, XSD_INTEGER) for text in NUMBERS),
    *(literal(text, XSD_FLOAT) for text in ("2", "9")),
    *map(literal, TEXTS),
]
TAXONOMY = Taxonomy([(TERMS[child], TERMS[parent]) for child, parent in ((0, 1), (1, 2), (3, 2), (4, 4), (1, 3))])

VOCABULARY = Vocabulary()
VOCABULARY.intern_many(TERMS)
VOCABULARY.intern_many([RDF_TYPE, RDFS_SUBCLASS_OF])
TYPE, BELOW = len(TERMS), len(TERMS) + 1


def sketch() -> Any:
    return np.zeros(64, np.uint32)


# --- what is asked ----------------------------------------------------------------------------------------------


def in_order(edges: Iterable[naive.Edge]) -> tuple[naive.Edge, ...]:
    """The same edges with variables numbered by first appearance."""
    names: dict[int, int] = {}
    return tuple(
        tuple(node if node >= 0 else ~names.setdefault(~node, len(names)) for node in edge)  # type: ignore[misc]
        for edge in edges
    )


def variables_of(edges: Iterable[naive.Edge]) -> list[int]:
    return sorted({~node for edge in edges for node in edge if node < 0})


class World(NamedTuple):
    """Interests, and publications that hold many of their edges."""

    asked: list[Interest]
    given: list[Graph]


def draw_world(seed: int, family: bool) -> World:
    """Most interests are parts of the publications with some ends hidden, so that many nearly match."""
    random = Random(seed)
    given = [draw_graph(random) for _ in range(random.randrange(1, 4))]
    if family:
        edges = draw_pattern(random, given)
        return World([draw_interest(random, edges) for _ in range(random.randrange(2, 25))], given)
    return World([draw_interest(random, draw_pattern(random, given)) for _ in range(random.randrange(1, 9))], given)


def draw_graph(random: Random) -> Graph:
    nodes, terms = range(NODES), range(len(TERMS))
    edges = [(random.choice(nodes), random.randrange(2), random.choice(terms)) for _ in range(random.randrange(9))]
    typed = [(random.choice(nodes), TYPE, random.choice(nodes)) for _ in range(random.randrange(3))]
    below = [(random.choice(nodes), BELOW, random.choice(nodes)) for _ in range(random.choice([0, 0, 1, 2]))]
    return (*edges, *typed, *below, *edges[:1])


def draw_pattern(random: Random, given: Sequence[Graph]) -> tuple[naive.Edge, ...]:
    """Some edges of a publication, their terms hidden behind variables, some of which are one; seldom any others."""
    held = [edge for edge in random.choice(given) if edge[1] < TYPE] or [(0, 0, 1), (1, 1, 2)]
    taken = [random.choice(held) for _ in range(random.randrange(1, 6))]
    names = {term: ~random.randrange(5) if random.random() < 0.8 else term for edge in taken for term in edge}
    edges = [(names[s], p if random.random() < 0.85 else ~7, names[o]) for s, p, o in taken]
    return in_order(edges)


def draw_interest(random: Random, edges: tuple[naive.Edge, ...]) -> Interest:
    names = variables_of(edges)
    asked = [random.choice(names) for _ in range(random.randrange(4))] if names else []
    conjuncts = tuple((name, draw_atoms(random)) for name in asked)
    return Interest(edges, conjuncts, random.choice([0, 0, 0, 0, INEXACT, COMPLEX]))


def draw_atoms(random: Random) -> tuple[Atom, ...]:
    """Alternatives; together they usually allow more than half of all terms."""
    several = [draw_atom(random) for _ in range(random.choice([0, 1, 1, 2, 3, 3]))]
    return (*several, *([EVERY_NODE] if random.random() < 0.4 else []))


_INFINITE = float("inf")
_COORDINATES = (
    -_INFINITE,
    -_INFINITE,
    0.0,
    1.0,
    2.0,
    3.0,
    9007199254740992.0,
    9007199254740994.0,
    _INFINITE,
    _INFINITE,
)
EVERY_NODE = Atom(Domain.IRI, -_INFINITE, _INFINITE)


def draw_atom(random: Random) -> Atom:
    kind, node = random.randrange(8), random.randrange(NODES)
    if kind < 4:
        low, high = sorted([random.choice(_COORDINATES), random.choice(_COORDINATES)])
        return Atom(Domain.NUMBER, low, high, random.choice([0, 0, 1, 2, 3, 4]))
    if kind < 6:
        domain = random.choice(CLASSES)
        return Atom(domain, node, node)
    if kind == 6:
        return Atom(Domain.IRI, node, node)
    text = random.randrange(len(TERMS) - len(TEXTS), len(TERMS))
    return Atom(Domain.TEXT, text, text)


seeds = st.integers(0, 2**32 - 1)
mixed_worlds = seeds.map(lambda seed: draw_world(seed, family=False))
families = seeds.map(lambda seed: draw_world(seed, family=True))
worlds = st.one_of(mixed_worlds, families)


# --- searching --------------------------------------------------------------------------------------------------


def values_of(vocabulary: Vocabulary) -> TermPlaces:
    places = places_of(vocabulary, 0, len(vocabulary))
    rows = rows_of(places.coordinate, places.domain + float(ROUNDED_CODE) * places.rounded, dtype=np.float64)
    return TermPlaces(len(vocabulary), fixed(rows), fixed(rows[:0]))


def batch_of(given: Sequence[Graph], taxonomy: Taxonomy | None = None, limit: int = LIMIT) -> SearchBatch:
    """Publications of these graphs."""
    columns = np.array([edge for graph in given for edge in graph], np.int32).reshape(-1, 3).T
    triples = Triples(*(np.ascontiguousarray(column) for column in columns))
    offsets = offsets_of([len(graph) for graph in given])
    publications = Publications(VOCABULARY, tuple(map(str, range(len(given)))), offsets, triples)
    closure = closure_of(taxonomy or Taxonomy(), VOCABULARY, limit)
    return SearchBatch(
        publications, fixed(DocumentEdges(offsets, *triples)), values_of(VOCABULARY), closure, len(VOCABULARY)
    )


def segment_of(asked: Sequence[Interest], numbers: Sequence[int] | None = None) -> Segment:
    columns = columns_of(asked, numbers)
    return Segment.build(columns, [f"o{number}" for number in columns.numbers.tolist()], sketch())


def columns_of(asked: Sequence[Interest], numbers: Sequence[int] | None = None) -> Interests:
    return gather(asked, range(len(asked)) if numbers is None else numbers)


class Answers(NamedTuple):
    """Sure pairs of publication and number; for doubtful ones their solutions, None where the query decides."""

    sure: set[tuple[int, int]]
    doubtful: dict[tuple[int, int], set[tuple[int, ...] | None]]


def answers_of(hits: Hits) -> Answers:
    pairs = list(zip(hits.publication.tolist(), hits.number.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))  # nobody is notified twice
    doubtful: dict[tuple[int, int], set[tuple[int, ...] | None]] = {}
    for each in hits.doubtful:
        key = (each.publication, int(hits.segment.index.numbers[each.member]))
        doubtful.setdefault(key, set()).add(None if each.solution is None else tuple(each.solution.tolist()))
    return Answers(set(pairs), doubtful)


def ask(asked: Sequence[Interest], given: Sequence[Graph], taxonomy: Taxonomy | None = None) -> Answers:
    return answers_of(search(segment_of(asked), batch_of(given, taxonomy), 0))


# --- the plain rules --------------------------------------------------------------------------------------------


def classes_of(graph: Graph, taxonomy: Taxonomy) -> nx.DiGraph[int]:
    """Who is directly below whom, of the taxonomy and of one publication."""
    ids = {term: id for id, term in enumerate(TERMS)}
    below: nx.DiGraph[int] = nx.DiGraph()
    below.add_nodes_from(range(len(VOCABULARY)))
    below.add_edges_from((ids[child], ids[parent]) for child, parent in taxonomy.subclasses)
    below.add_edges_from((s, o) for s, p, o in graph if p == BELOW)
    return below


def _above(below: nx.DiGraph[int], term: int) -> set[int]:
    """What one or more edges reach."""
    return set().union(*({parent, *nx.descendants(below, parent)} for parent in below.successors(term)))


def _direct(graph: Graph, taxonomy: Taxonomy, term: int) -> set[int]:
    rows = taxonomy.types_of(TERMS[term]) if term < len(TERMS) else ()
    return {*map(TERMS.index, rows), *(o for s, p, o in graph if s == term and p == TYPE)}


def _holds_class(atom: Atom, graph: Graph, taxonomy: Taxonomy, term: int) -> bool:
    below, kind = classes_of(graph, taxonomy), int(atom.low)
    if atom.domain == Domain.SUBCLASS_OF:
        return kind in _above(below, term)
    if atom.domain == Domain.SUPERCLASS_OF:
        return term in _above(below, kind)
    direct = _direct(graph, taxonomy, term)
    if atom.domain == Domain.DIRECT:
        return kind in direct
    return kind in direct.union(*(_above(below, each) for each in direct))


def lies_in(alternatives: Iterable[Atom], graph: Graph, taxonomy: Taxonomy, term: int) -> int:
    found = {
        (SURE if _holds_class(atom, graph, taxonomy, term) else NO)
        if atom.domain in CLASSES
        else within(atom, locate(VOCABULARY.term(term), VOCABULARY))
        for atom in alternatives
    }
    return SURE if SURE in found else PERHAPS if PERHAPS in found else NO


def verdict(interest: Interest, graph: Graph, taxonomy: Taxonomy, solution: Sequence[int]) -> int:
    found = {lies_in(alternatives, graph, taxonomy, solution[name]) for name, alternatives in interest.conjuncts}
    return NO if NO in found else PERHAPS if PERHAPS in found else SURE


def check_answers(
    found: Answers, asked: Sequence[Interest], given: Sequence[Graph], taxonomy: Taxonomy | None = None
) -> None:
    """What was found is what the plain rules say, for every pair."""
    for row, graph in enumerate(given):
        for number, interest in enumerate(asked):
            check_pair(found, (row, number), interest, graph, taxonomy or Taxonomy())


def check_pair(found: Answers, pair: tuple[int, int], interest: Interest, graph: Graph, taxonomy: Taxonomy) -> None:
    verdicts = {
        solution: verdict(interest, graph, taxonomy, solution) for solution in naive.solutions(interest.edges, graph)
    }
    possible = {solution for solution, answer in verdicts.items() if answer != NO}
    doubts = found.doubtful.get(pair, set())
    assert (pair in found.sure) == (not interest.flags and SURE in verdicts.values())
    assert doubts <= {*possible, None}
    if pair in found.sure:
        return
    if not possible:
        assert not doubts
    elif interest.flags & COMPLEX:
        assert doubts == {None}
    elif None not in doubts:
        kept = variables_of(interest.edges) if interest.flags else sorted({name for name, _ in interest.conjuncts})
        assert {_part(each, kept) for each in doubts if each is not None} == {_part(each, kept) for each in possible}


def _part(solution: Sequence[int], kept: Iterable[int]) -> tuple[int, ...]:
    return tuple(solution[name] for name in kept)
