"""Small worlds to try networks in: a graph of few terms in which edges can be waited for, and random queries."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from heliograph.sparql.query import Compare, Expression, Form, Query, TriplePattern
from heliograph.sparql.regions import place_of
from heliograph.sparql.solve import Graph, QueryPlan, world
from heliograph.terms import RDF_TYPE, Term, Variable, iri, literal
from heliograph.values import XSD_INTEGER
from heliograph.vocabulary import Vocabulary
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import PRESENT, Q_TRUTH
from heliograph.watch.network import QueryNetwork
from tests.watch.network_evaluator import Evaluator

NAMES = [iri(f"urn:x:{name}") for name in "abcd"]
CLASSES = [iri(f"urn:x:{name}") for name in "CD"]
NUMBERS = [literal(str(number), XSD_INTEGER) for number in (1, 2, 3)]
PROPERTIES = [iri(f"urn:x:{name}") for name in "pq"]
VARIABLES = [Variable(name) for name in "xyzuvw"]


class World:
    """A network over a graph of few terms."""

    def __init__(self, triples: set[tuple[Term, Term, Term]]) -> None:
        self.vocabulary = Vocabulary()
        self.graph = Graph(triples)
        self.triples = {tuple(self.vocabulary.intern(term) for term in triple) for triple in sorted(triples)}
        self.flat = FlatGraph()
        self.flat.load(*np.array(sorted(self.triples), np.int32).reshape(-1, 3).T)
        self.network = QueryNetwork(self.vocabulary.intern, None, self.flat)

    def subscribe(self, query: Query, kind: int) -> int:
        return self.network.subscribe(self.network.compile(query, kind))

    def evaluator(self) -> Evaluator:
        return Evaluator(self.network, self.triples, self.passes)  # type: ignore[arg-type]

    def passes(self, test: int, term: int) -> bool:
        """By intervals; in doubt by what they came from."""
        arrays, place = self.network.world, place_of(self.vocabulary.term(term), self.vocabulary.intern)
        assert not place.rounded
        for domain, low, high, flags in arrays.atoms[arrays.tests[test] : arrays.tests[test + 1]].tolist():
            above = place.coordinate > low or (place.coordinate == low and not int(flags) & 1)
            below = place.coordinate < high or (place.coordinate == high and not int(flags) & 2)
            if domain == place.domain and above and below:
                return True
        return False

    def answer(self, row: int, values: dict[int, int]) -> int:
        """The truth or the count of a query, from the values of components and the links of the query."""
        arrays = self.network.world
        absent = sum(1 for *_, link in self.edges() if not link & PRESENT and row in self.chain((link >> 1) - 1))
        factors = [values.get(component, 0) for component in self.chain(int(arrays.queries["factors"][row]))]
        if arrays.queries["kind"][row] == Q_TRUTH:
            return int(not absent and all(factors))
        if absent:
            return 0
        product = 1
        for factor in factors:
            product *= factor
        return product

    def edges(self) -> list[list[int]]:
        """The edges that are there or waited for, with their links."""
        rows: list[list[int]] = self.flat.arrays.edges[: self.flat.arrays.numbered].tolist()
        return rows

    def chain(self, link: int) -> list[int]:
        items = []
        while link >= 0:
            items.append(int(self.network.world.links["item"][link]))
            link = int(self.network.world.links["next"][link])
        return items

    def expected(self, query: Query, kind: int) -> int:
        count = sum(1 for _ in QueryPlan.of(query).solutions(world(self.graph)))
        return int(count > 0) if kind == Q_TRUTH else count


# --- random ones ------------------------------------------------------------------------------------------------


def triples() -> st.SearchStrategy[set[tuple[Term, Term, Term]]]:
    plain = st.tuples(st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from([*NAMES, *NUMBERS]))
    typed = st.tuples(st.sampled_from(NAMES), st.just(RDF_TYPE), st.sampled_from(CLASSES))
    return st.sets(st.one_of(plain, typed), max_size=14)


def patterns(variables: list[Variable] = VARIABLES) -> st.SearchStrategy[TriplePattern]:
    """A pattern's edge: mostly between variables."""
    ends = st.one_of(st.sampled_from(variables), st.sampled_from(variables), st.sampled_from(NAMES))
    plain = st.builds(TriplePattern, ends, st.sampled_from(PROPERTIES), ends)
    typed = st.builds(TriplePattern, st.sampled_from(variables), st.just(RDF_TYPE), st.sampled_from(CLASSES))
    return st.one_of(plain, plain, plain, typed)


@st.composite
def queries(draw: st.DrawFn, free_predicates: bool = False, most: int = 5) -> Query:
    found = draw(st.lists(patterns(VARIABLES[: draw(st.integers(1, 6))]), min_size=1, max_size=most))
    if free_predicates and draw(st.booleans()):
        found.append(TriplePattern(draw(st.sampled_from(VARIABLES)), Variable("how"), draw(st.sampled_from(NAMES))))
    names = sorted({node for pattern in found for node in pattern if isinstance(node, Variable)})
    filters: list[Expression] = []
    if names and draw(st.integers(0, 2)) == 0:
        operator = draw(st.sampled_from(["<", ">=", "=", "!="]))
        filters.append(Compare(operator, draw(st.sampled_from(names)), draw(st.sampled_from(NUMBERS))))
    return Query(Form.ASK, tuple(found), tuple(filters))
