"""Every kind of pattern, kept up to date by the kernels: pyoxigraph or networkx answers from scratch beside them."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch
from heliograph.watch import network_compile as compiling
from tests.watch.naive import NaiveGraph, Step
from tests.watch.oracle import Action, check_stream
from tests.watch.streams import row, steps

PATTERNS = {
    "concrete": ":a :p :b . :b :q :a",
    "concrete twice": ":a :p :b . :a :p :b . :a :p 1",
    "one edge": "?x :p ?y",
    "one edge from": "?x :p ?y . :a :q ?x",
    "one edge into": "?x :p :b",
    "attribute": "?x :p 1 . ?x :q ?y",
    "free predicate": "?x ?r ?y . ?y :p :a",
    "free predicate between constants": ":a ?x :b",
    "predicate as vertex": "?x ?r ?y . ?z :q ?x",
    "the same predicate twice": "?x ?r ?y . ?y ?r ?x",
    "self-loop": "?x :p ?x",
    "self-loop on a tree": "?x :p ?x . ?x :q ?y",
    "self-loop under a tree": "?x :q ?y . ?y :p ?y . ?y :q ?z",
    "parallel edges": "?x :p ?y . ?x :q ?y",
    "there and back": "?x :p ?y . ?y :p ?x",
    "triangle": "?x :p ?y . ?y :p ?z . ?z :p ?x",
    "mixed triangle": "?x :p ?y . ?y :q ?z . ?x :q ?z",
    "square": "?x :p ?y . ?y :p ?z . ?z :q ?u . ?u :q ?x",
    "pentagon": "?x :p ?y . ?y :p ?z . ?z :p ?u . ?u :p ?v . ?v :p ?x",
    "cycle with a tail": "?x :p ?y . ?y :p ?z . ?z :p ?x . ?x :q ?w . ?w :p 1",
    "two cycles": "?x :p ?y . ?y :p ?x . ?y :q ?z . ?z :q ?y",
    "constant on a cycle": "?x :p ?y . ?y :p :a . :a :p ?x",
    "two constants on a cycle": "?x :p :a . :a :q ?y . ?y :p :b . :b :q ?x",
    "chain": "?x :p ?y . ?y :p ?z . ?z :p ?u",
    "chain both ways": "?x :p ?y . ?z :p ?y . ?z :q ?u",
    "star": "?x :p ?y . ?x :p ?z . ?x :q ?u",
    "star of twins": "?x :p ?y . ?x :p ?z . ?x :p ?u",
    "deep twins": "?x :p ?y . ?y :q ?z . ?x :p ?u . ?u :q ?v",
    "a pair of constants": "?x :p :a . ?x :q :b",
    "constants on both leaves": "?x :p ?y . ?y :q :b . ?x :q :a",
    "disconnected": "?x :p ?y . ?z :q ?u",
    "disconnected by a constant": "?x :p :a . :a :q ?y",
    "disconnected twins": "?x :p :a . ?y :p :a",
    "disconnected from an edge": "?x :p ?y . :a :q :b",
}
FORMS = {
    "each": "SELECT * {{ {} }}",
    "ask": "ASK {{ {} }}",
    "distinct": "SELECT DISTINCT ?x {{ {} }}",
    "count": "SELECT (COUNT(*) AS ?n) {{ {} }} HAVING (COUNT(*) >= 2)",
    "few": "SELECT (COUNT(*) AS ?n) {{ {} }} HAVING (COUNT(*) < 3)",
    "groups": "SELECT ?x (COUNT(*) AS ?n) {{ {} }} GROUP BY ?x HAVING (COUNT(*) > 1)",
}


def asked(form: str) -> list[Action]:
    """All patterns in one form; those that bind no ?x only where that does not matter."""
    free = form in ("each", "ask", "count", "few")
    kept = {name: body for name, body in PATTERNS.items() if free or "?x" in body}
    return [("subscribe", name, FORMS[form].format(body), "each") for name, body in kept.items()]


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=6)
@given(stream=st.lists(steps(timed=True), min_size=10, max_size=18), last=st.sampled_from((None, None, 6)))
def test_patterns_against_pyoxigraph(form: str, stream: list[Step], last: int | None) -> None:
    watch = Watch(algorithm="indexed", window_updates=last)
    check_stream([*asked(form), *(("publish", step) for step in stream)], watch, NaiveGraph(last=last))


def test_patterns_that_come_to_a_graph() -> None:
    """Each form comes to a graph that stands, and goes again."""
    random, actions = Random(5), list[Action]()
    for form in FORMS:
        actions += [(kind, f"{form} {id}", text, mode) for kind, id, text, mode in asked(form)[::3]]
        actions += [("publish", step) for step in drawn(random, 12)]
        actions += [("unsubscribe", f"{form} {id}") for _, id, _, _ in asked(form)[::6]]
    check_stream(actions, Watch(algorithm="indexed"), NaiveGraph())


@pytest.mark.parametrize("form", ["count", "few"])
def test_counts_that_are_found_by_a_constant(form: str) -> None:
    with mock.patch.object(compiling, "FEW", 0):
        actions = [*asked(form), *(("publish", step) for step in drawn(Random(form), 40))]
        check_stream(actions, Watch(algorithm="indexed"), NaiveGraph())


CONSTANTS = (
    "?x :p :{0} . ?x :q :{1} . ?x :p ?y",
    ":{0} :p ?x . ?x :q :{1} . ?y :p :{2} . ?y :q ?x",
    "?x :p :{0} . ?x ?r :{1} . ?x :q ?y . ?y :p :{2}",
)


@pytest.mark.parametrize("body", CONSTANTS)
def test_patterns_with_several_constants(body: str) -> None:
    """All that differ in them are one structure, of which each follows its own combinations; some come and go."""
    random, actions = Random(body), list[Action]()
    for number in range(24):
        text = FORMS[("each", "groups")[number % 2]].format(body.format(*random.choices("abc", k=3)))
        actions += [("subscribe", str(number), text, "each")]
        actions += [("publish", step) for step in drawn(random, 3)]
        if number % 3 == 2:
            actions += [("unsubscribe", str(number - random.randint(0, 2)))]
    check_stream(actions, Watch(algorithm="indexed"), NaiveGraph())


def drawn(random: Random, count: int) -> list[Step]:
    found = []
    for _ in range(count):
        ends = random.choice("abc"), random.choice("pq"), random.choice(("a", "b", "c", "1"))
        found.append(Step(random.choice("++++-="), *ends))
    return found


# --- against networkx -------------------------------------------------------------------------------------------


def graph_of(naive: NaiveGraph) -> Any:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from((int(s[1:]), int(o[1:])) for s, _, o in naive.edges)
    return graph


def vertex_stream(random: Random, count: int) -> list[Step]:
    """Additions and removals of edges among six vertices, and removals of vertices."""
    found = []
    for _ in range(count):
        if random.random() < 0.05:
            found.append(Step("-", f"v{random.randrange(6)}"))
        else:
            ends = f"v{random.randrange(6)}", "p", f"v{random.randrange(6)}"
            found.append(Step(random.choice("++-"), *ends))
    return found


def walks(size: int, closed: bool) -> str:
    last = 0 if closed else size
    edges = [f"?x{n} :p ?x{last if n + 1 == size else n + 1}" for n in range(size)]
    return " . ".join(edges)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_walks_are_powers_of_the_adjacency_matrix(size: int, closed: bool) -> None:
    """What a query counts that always holds, seen whenever one of ten thresholds is crossed."""
    levels = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    text = f"SELECT (COUNT(*) AS ?n) {{ {walks(size, closed)} }} HAVING (COUNT(*) >= "
    watch, naive, before = Watch(algorithm="indexed"), NaiveGraph(), 0
    watch.subscribe([(f"s{level:02d}", f"{text}{level})") for level in levels])
    for step in vertex_stream(Random(size), 80):
        naive.expire(step)
        naive.apply(step)
        power = np.linalg.matrix_power(nx.to_numpy_array(graph_of(naive), dtype=np.int64), size)
        count = int(power.trace() if closed else power.sum())
        found = [(n.subscription_id, n.change, n.proof["value"]) for n in watch.publish(row(step))]
        low, high = sorted((before, count))
        sign = "+" if count > before else "-"
        assert found == [(f"s{level:02d}", sign, count) for level in levels if low < level <= high]
        before = count


SHAPES = {
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "square with a tail": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)],
    "diamond": [(0, 1), (0, 2), (1, 3), (2, 3)],
    "tree": [(0, 1), (0, 2), (2, 3), (4, 2)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_monomorphisms_are_matches_apart_from_each_other(shape: str) -> None:
    """`FILTER(?x != ?y)` for each pair makes homomorphisms one-to-one, which is what networkx finds."""
    edges = SHAPES[shape]
    pattern = nx.DiGraph(edges)
    body = " . ".join(f"?x{s} :p ?x{o}" for s, o in edges)
    apart = " && ".join(f"?x{s} != ?x{o}" for s, o in combinations(sorted(pattern), 2))
    watch, naive = Watch(algorithm="indexed"), NaiveGraph()
    watch.subscribe([("s", f"SELECT * {{ {body} FILTER({apart}) }}"), ("t", f"ASK {{ {body} FILTER({apart}) }}")])
    standing: set[tuple[int, ...]] = set()
    for step in vertex_stream(Random(shape), 60):
        naive.expire(step)
        naive.apply(step)
        matcher = nx.algorithms.isomorphism.DiGraphMatcher(_without_loops(graph_of(naive)), pattern)
        found = {_inverse(each) for each in matcher.subgraph_monomorphisms_iter()}
        lines = list(watch.publish(row(step)))
        assert _bindings(lines, "+", len(pattern)) == found - standing
        assert _bindings(lines, "-", len(pattern)) == standing - found
        turned = ["+" if found else "-"] if bool(found) != bool(standing) else []
        assert [n.change for n in lines if n.subscription_id == "t"] == turned
        standing = found


def _without_loops(graph: Any) -> Any:
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))  # which no pair of different vertices is
    return graph


def _inverse(mapping: dict[int, int]) -> tuple[int, ...]:
    return tuple(vertex for vertex, _ in sorted(mapping.items(), key=lambda pair: pair[1]))


def _bindings(lines: list[Any], change: str, size: int) -> set[tuple[int, ...]]:
    proofs = [n.proof["bindings"] for n in lines if n.subscription_id == "s" and n.change == change]
    return {tuple(int(proof[f"x{place}"][1:]) for place in range(size)) for proof in proofs}
