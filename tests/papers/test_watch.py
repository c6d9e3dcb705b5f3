"""The watch algorithms of [Z]: equal to pyoxigraph and networkx, from scratch, after every update of random streams."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import SubscriptionError
from heliograph.papers.watch import (
    ADD,
    REMOVE,
    Algorithm,
    BruteForce,
    Edge,
    Found,
    Inv,
    PackedBruteForce,
    PackedInv,
    PaperChanges,
    PrintedInv,
    Trie,
    Values,
    covering_paths,
    edges_of,
    packed,
    pattern,
)
from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Term, Variable, iri, plain_name
from heliograph.workloads.watch import generate_watch
from tests.conftest import PROFILE

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


# --- iNV and BF: as printed, as mended, and over packed numbers; equal to pyoxigraph and networkx after every u ---


TRIANGLE = [("a", "b"), ("b", "c"), ("c", "a")]


# --- as printed -------------------------------------------------------------------------------------------------


def test_a_query_of_k_edges_is_stored_under_k_pairs() -> None:
    inv = PrintedInv()
    inv.subscribe("triangle", TRIANGLE)
    assert [inv.index[pair] for pair in TRIANGLE] == [["triangle"]] * 3
    assert (inv.table["triangle"].pairs, inv.table["triangle"].matched) == (3, 0)


def test_the_printed_rule_counts_a_duplicate_twice() -> None:
    """Two edges, one of them twice, look like three: reported too early, and not when it is true."""
    stream = [("a", "b"), ("b", "c"), ("a", "b"), ("c", "a")]
    printed, mended = PrintedInv(), Inv()
    printed.subscribe("triangle", TRIANGLE)
    mended.subscribe("triangle", pattern((s, "links", o) for s, o in TRIANGLE))
    assert [printed.publish(pair) for pair in stream] == [[], [], ["triangle"], []]
    assert [mended.update(ADD, (s, "links", o)).rose for s, o in stream] == [[], [], [], ["triangle"]]


def test_the_printed_rule_takes_any_property_for_the_one_asked() -> None:
    printed, mended = PrintedInv(), Inv()
    printed.subscribe("s", [("a", "b")])
    mended.subscribe("s", pattern([("a", "likes", "b")]))
    assert printed.publish(("a", "b")) == ["s"]
    assert mended.update(ADD, ("a", "hates", "b")).rose == []
    assert mended.update(ADD, ("a", "likes", "b")).rose == ["s"]


# --- as mended --------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(streams(concrete))
def test_every_update_of_a_stream(actions: list[Any]) -> None:
    check_stream(actions, [BruteForce(), Inv(), Trie()])


@settings(deadline=None, max_examples=60)
@given(concrete, st.sets(triples, max_size=12))
def test_the_two_oracles_agree(query: Any, graph: set[Any]) -> None:
    assert networkx_answer(query, graph) == oxigraph_answer(query, graph)


def test_inv_touches_what_the_edge_concerns_and_bf_tries_everything() -> None:
    inv, bf = Inv(), BruteForce()
    for algorithm in (inv, bf):
        for number in range(50):
            algorithm.subscribe(f"q{number}", pattern([(number, 0, number + 1), (number + 1, 0, number + 2)]))
        assert algorithm.update(ADD, (7, 0, 8)).rose == []
        assert algorithm.update(ADD, (8, 0, 9)).rose == ["q7"]
        assert algorithm.update(REMOVE, (7, 0, 8)).fell == ["q7"]
    assert (inv.touched, bf.tried) == (6, 150)


def test_inv_forgets_whom_it_does_not_know() -> None:
    inv = Inv()
    inv.unsubscribe("nobody")
    assert inv.matches("nobody") == set()


# --- over packed numbers ----------------------------------------------------------------------------------------

pairs = st.tuples(st.integers(0, 3), st.integers(0, 3))


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.lists(pairs, min_size=1, max_size=4), min_size=1, max_size=5),
    st.lists(st.tuples(pairs, st.booleans()), max_size=40),
    st.integers(0, 40),
    st.booleans(),
)
def test_packed_numbers_give_the_same_answers(
    queries: list[list[tuple[int, int]]], stream: list[tuple[tuple[int, int], bool]], cut: int, growing: bool
) -> None:
    stream = [(pair, True) for pair, _ in stream] if growing else stream
    inv = Inv()
    for number, query in enumerate(queries):
        inv.subscribe(str(number), pattern((s, "links", o) for s, o in query))
    found: tuple[Found, Found] = ([], [])
    for row, ((subject, object), added) in enumerate(stream):
        changes = inv.update(ADD if added else REMOVE, (subject, "links", object))
        for kept, ids in zip(found, (changes.rose, changes.fell), strict=True):
            kept.extend((row, int(id)) for id in ids)
    for algorithm in (PackedInv(), PackedBruteForce()):
        algorithm.subscribe([packed(*zip(*query, strict=True)) for query in queries])
        answers = [run(algorithm, part, start) for part, start in ((stream[:cut], 0), (stream[cut:], cut))]
        joined = tuple(sorted(first + second) for first, second in zip(*answers, strict=True))
        assert joined == tuple(map(sorted, found))


def run(
    algorithm: PackedInv | PackedBruteForce, stream: list[tuple[tuple[int, int], bool]], start: int
) -> tuple[Found, ...]:
    """The answer to a part of a stream, its rows counted from the beginning of the whole."""
    ends = np.array([pair for pair, _ in stream], np.int64).reshape(-1, 2)
    found = algorithm.publish(ends[:, 0], ends[:, 1], np.array([added for _, added in stream], bool))
    return tuple([(row + start, query) for row, query in part] for part in found)


def test_packed_queries_come_late_and_go() -> None:
    inv = PackedInv()
    ends, added = np.array([1, 2]), np.array([True, True])
    assert inv.publish(ends, ends + 1, added) == ([], [])
    inv.subscribe([packed([1, 3], [2, 4]), packed([3], [4])])
    assert inv.publish(np.array([3]), np.array([4]), added[:1]) == ([(0, 0), (0, 1)], [])
    inv.unsubscribe(1)
    assert inv.publish(np.array([3]), np.array([4]), ~added[:1]) == ([], [(0, 0)])


# --- the paper's experiment -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "deletions", "duplicates"), [(1, 0.0, 0.0), (2, 0.3, 0.2), (3, 0.1, 0.5)])
def test_the_expected_answer_of_the_workload(seed: int, deletions: float, duplicates: float) -> None:
    """Section 3.2 in small: INV, BF and the trie find the queries that the construction knows, at the same updates."""
    made = generate_watch(
        seed, vertices=300, updates=500, queries=90, matching=0.15, deletions=deletions, duplicates=duplicates
    )
    expected = [(row["publication_id"], row["change"], row["subscription_id"]) for row in made["expected"].to_pylist()]
    assert expected
    for algorithm in (BruteForce(), Inv(), Trie()):
        for row in made["subscriptions"].to_pylist():
            algorithm.subscribe(row["subscription_id"], parse_sparql(row["query"], verb="watch"))
        assert sorted(answers(algorithm, made["updates"].to_pylist())) == sorted(expected)


def answers(algorithm: Any, rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    links = plain_name("links")
    found = []
    for row in rows:
        triple = (plain_name(row["subject"]), links, plain_name(row["object"]))
        changes = algorithm.update(row["op"], triple)
        found += [(str(row["seq"]), "+", id) for id in changes.rose]
        found += [(str(row["seq"]), "-", id) for id in changes.fell]
    return found


# --- the trie matcher shares what queries have in common ----------------------------------------------------------


X, Y, Z = map(Variable, "xyz")


@settings(deadline=None, max_examples=4000 if PROFILE == "thorough" else 150)
@given(streams(patterns))
def test_every_update_of_a_stream_to_queries_with_variables(actions: list[Any]) -> None:
    check_stream(actions, [Trie(), BruteForce()])


def test_a_cycle_of_numbers_is_gained_and_lost() -> None:
    """Vertices are whatever can be hashed; a triangle is found once for each of its corners."""
    trie = Trie()
    trie.subscribe("triangle", pattern([(X, 0, Y), (Y, 0, Z), (Z, 0, X)]))
    stream = [(1, 0, 2), (2, 0, 3), (3, 0, 1)]
    counts = [len(trie.update(ADD, edge).gained) for edge in stream]
    assert counts == [0, 0, 3]
    assert trie.matches("triangle") == {(1, 2, 3), (2, 3, 1), (3, 1, 2)}
    broken = trie.update(REMOVE, (2, 0, 3))
    assert (len(broken.lost), broken.fell, trie.matches("triangle")) == (3, ["triangle"], set())


def test_a_walk_that_passes_an_edge_twice_is_counted_once() -> None:
    trie = Trie()
    trie.subscribe("chain", pattern([(X, 0, Y), (Y, 0, Z)]))
    assert [match.values for match in trie.update(ADD, (1, 0, 1)).gained] == [(1, 1, 1)]
    assert [match.values for match in trie.update(REMOVE, (1, 0, 1)).lost] == [(1, 1, 1)]


def test_what_changes_nothing_changes_nothing() -> None:
    trie = Trie()
    trie.subscribe("any", pattern([(X, Y, Z)]))
    assert trie.update(ADD, (1, 2, 3)).rose == ["any"]
    assert not any(trie.update(ADD, (1, 2, 3)))
    assert not any(trie.update(REMOVE, (3, 2, 1)))


def test_queries_share_what_their_paths_have_in_common() -> None:
    """100 chains that differ in their last vertex are one trunk with 100 leaves; the last to leave clears it."""
    trie = Trie()
    for number in range(100):
        trie.subscribe(str(number), pattern([(X, "p", Y), (Y, "q", Z), (Z, "r", number)]))
    trie.subscribe("same", pattern([(Z, "p", X), (X, "q", Y), (Y, "r", 7)]))
    assert trie.nodes == 102
    for edge in (("a", "p", "b"), ("b", "q", "c")):
        trie.update(ADD, edge)
    assert trie.joined == 0
    assert trie.update(ADD, ("c", "r", 7)).rose == ["7", "same"]
    assert trie.joined == 2
    for id in [*map(str, range(100)), "same"]:
        trie.unsubscribe(id)
    assert (trie.nodes, trie.matches("7")) == (0, set())


def test_paths_cover_every_edge_once() -> None:
    edges = edges_of(parse_sparql("ASK { ?a :p ?b . ?b :p ?c . ?b :q ?d . ?d :p ?a . ?e :p ?b . ?b :p ?c }"))
    paths = covering_paths(edges)
    assert sum(len(path.forms) for path in paths) == len(edges) == 5
    assert max(len(path.forms) for path in paths) > 1
    assert [len(path.forms) for path in covering_paths([(X, "p", Y), (X, "p", Z), (Z, "p", Y)])] == [1, 2]


def test_an_empty_query_is_always_true() -> None:
    trie = Trie()
    trie.subscribe("true", Query())
    assert trie.matches("true") == {()}


@pytest.mark.parametrize(
    ("algorithm", "text"),
    [
        (Trie, "ASK { ?x :p ?y FILTER(?x != ?y) }"),
        (Trie, "ASK { ?x a/rdfs:subClassOf* :C }"),
        (Trie, "ASK { ?x rdfs:member ?y }"),
        (Trie, "ASK { ?x :p ?y VALUES ?x { :a } }"),
        (Trie, "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 2)"),
        (Inv, "ASK { ?x :p :b }"),
        (Inv, "ASK { :a :p :b FILTER(1 < 2) }"),
    ],
)
def test_what_an_algorithm_cannot_answer_is_refused(algorithm: type[Trie | Inv], text: str) -> None:
    with pytest.raises(SubscriptionError) as caught:
        algorithm().subscribe("s", parse_sparql(text, verb="watch"))
    assert (caught.value.code, bool(caught.value.fix)) == ("HG-530", True)
