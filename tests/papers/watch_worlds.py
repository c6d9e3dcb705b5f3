"""Random streams for the watch algorithms, and the answers of pyoxigraph and networkx from scratch."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import pyoxigraph as ox
from hypothesis import strategies as st

from heliograph.papers.watch import ADD, REMOVE, Algorithm, Edge, PaperChanges, Values, edges_of, pattern
from heliograph.sparql.query import Query
from heliograph.terms import Term, Variable, iri, plain_name

VERTICES = [plain_name(name) for name in "abcd"]
PROPERTIES = [plain_name(name) for name in "pq"]
VARIABLES = [Variable(name) for name in "xyz"]

triples = st.tuples(st.sampled_from(VERTICES), st.sampled_from(PROPERTIES), st.sampled_from(VERTICES))
updates = st.tuples(st.just("update"), st.sampled_from((ADD, ADD, ADD, REMOVE)), triples)
leavings = st.tuples(st.just("unsubscribe"), st.sampled_from("stuv"))

_ends = st.sampled_from([*VARIABLES, *VARIABLES, *VERTICES[:2]])
_links = st.sampled_from([*PROPERTIES, *PROPERTIES, Variable("r")])
patterns = st.lists(st.tuples(_ends, _links, _ends), min_size=1, max_size=4).map(pattern)
concrete = st.lists(triples, min_size=1, max_size=4).map(pattern)


def subscribings(queries: st.SearchStrategy[Query]) -> st.SearchStrategy[tuple[str, str, Query]]:
    return st.tuples(st.just("subscribe"), st.sampled_from("stuv"), queries)


def streams(queries: st.SearchStrategy[Query]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Subscriptions, and then updates among which subscriptions come and go."""
    first = st.lists(subscribings(queries), min_size=1, max_size=3)
    later = st.lists(st.one_of(subscribings(queries), leavings, *[updates] * 8), min_size=10, max_size=30)
    return st.tuples(first, later).map(lambda both: [*both[0], *both[1]])


# --- oracles ----------------------------------------------------------------------------------------------------


def oxigraph_answer(query: Query, graph: Iterable[Edge]) -> set[Values]:
    store = ox.Store()
    store.extend(ox.Quad(*(ox.NamedNode(part.value) for part in edge)) for edge in graph)
    body = " . ".join(" ".join(map(_spelled, edge)) for edge in edges_of(query))
    found = store.query(f"{'SELECT *' if query.variables else 'ASK'} {{ {body} }}")
    if isinstance(found, ox.QueryBoolean):
        return {()} if found else set()
    assert isinstance(found, ox.QuerySolutions)
    names = [name.name for name in query.variables]
    return {tuple(iri(row[name].value) for name in names) for row in found}


def _spelled(node: Term | Variable) -> str:
    return f"?{node.name}" if isinstance(node, Variable) else f"<{node.value}>"


def networkx_answer(query: Query, graph: Collection[Edge]) -> set[Values]:
    """Of a concrete query: whether the graph has it as a subgraph."""
    whole: nx.MultiDiGraph = nx.MultiDiGraph()
    whole.add_edges_from((subject, object, predicate) for subject, predicate, object in graph)
    asked = [(subject, object, predicate) for subject, predicate, object in query.patterns]
    return {()} if all(whole.has_edge(*edge) for edge in asked) else set()


@dataclass
class Oracle:
    """The graph as a set, and what every query matched last."""

    graph: set[Edge] = field(default_factory=set)
    queries: dict[str, Query] = field(default_factory=dict)
    standing: dict[str, set[Values]] = field(default_factory=dict)

    def subscribe(self, id: str, query: Query) -> None:
        self.queries[id] = query
        self.standing[id] = oxigraph_answer(query, self.graph)

    def unsubscribe(self, id: str) -> None:
        del self.queries[id], self.standing[id]

    def update(self, op: str, triple: Edge) -> tuple[set[tuple[str, Values]], ...]:
        """Gained, lost, became true, became false."""
        (self.graph.add if op == ADD else self.graph.discard)(triple)
        before, self.standing = self.standing, {}
        for id, query in self.queries.items():
            self.standing[id] = oxigraph_answer(query, self.graph)
        return _differences(before, self.standing)


def _differences(before: dict[str, set[Values]], after: dict[str, set[Values]]) -> tuple[set[tuple[str, Values]], ...]:
    gained = {(id, values) for id in after for values in after[id] - before[id]}
    lost = {(id, values) for id in after for values in before[id] - after[id]}
    rose = {(id, ()) for id in after if after[id] and not before[id]}
    fell = {(id, ()) for id in after if before[id] and not after[id]}
    return gained, lost, rose, fell


def shown(changes: PaperChanges) -> tuple[set[tuple[str, Values]], ...]:
    """Changes as the oracle tells them."""
    gained, lost = ({(id, values) for id, values in matches} for matches in changes[:2])
    assert (len(gained), len(lost)) == (len(changes.gained), len(changes.lost))
    return gained, lost, {(id, ()) for id in changes.rose}, {(id, ()) for id in changes.fell}


def check_stream(actions: Iterable[tuple[Any, ...]], algorithms: Collection[Algorithm]) -> None:
    """Every algorithm says what the oracle says, at every update."""
    oracle = Oracle()
    for action, *arguments in actions:
        if action == "update":
            wanted = oracle.update(*arguments)
            assert [shown(each.update(*arguments)) for each in algorithms] == [wanted] * len(algorithms)
        elif (arguments[0] in oracle.queries) == (action == "unsubscribe"):
            for each in (oracle, *algorithms):
                getattr(each, action)(*arguments)
        for id, standing in oracle.standing.items():
            assert [each.matches(id) for each in algorithms] == [standing] * len(algorithms)
