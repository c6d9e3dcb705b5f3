"""INV and BF: as printed, as mended, and over packed numbers; equal to pyoxigraph and networkx after every update."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import SubscriptionError
from heliograph.papers.watch import (
    ADD,
    REMOVE,
    BruteForce,
    Found,
    Inv,
    PackedBruteForce,
    PackedInv,
    PrintedInv,
    Trie,
    packed,
    pattern,
)
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import plain_name
from heliograph.workloads.watch import generate_watch
from tests.papers.watch_worlds import check_stream, concrete, networkx_answer, oxigraph_answer, streams, triples

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


@pytest.mark.parametrize("text", ["ASK { ?x :p :b }", "ASK { :a :p :b FILTER(1 < 2) }"])
def test_what_inv_cannot_answer_is_refused(text: str) -> None:
    with pytest.raises(SubscriptionError) as caught:
        Inv().subscribe("s", parse_sparql(text, verb="watch"))
    assert (caught.value.code, bool(caught.value.fix)) == ("HG-530", True)


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
