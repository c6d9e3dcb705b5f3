"""One body of tests for every algorithm of the seeds: the same answers as the plain one and as pyoxigraph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.encode import Publication, decode, encode
from heliograph.filter.strategy import NaiveMatcher, PairMatcher, Pairwise
from heliograph.papers.filter import GToPSSMatcher, OpsMatcher, RssMatcher
from heliograph.sparql.query import Query
from heliograph.sparql.solve import Triple
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.terms import literal, plain_name
from heliograph.values import XSD_INTEGER
from heliograph.vocabulary import Vocabulary
from heliograph.workloads.filter import generate_filter
from tests.papers.matchers import (
    Row,
    candidates,
    edges,
    filled,
    found,
    publication,
    queries,
    rows,
    seed_queries,
    subscriptions,
    taken_from,
    triples,
)
from tests.sparql import oxigraph, test_solve

ALGORITHMS: dict[str, Callable[[], PairMatcher]] = {
    "naive": NaiveMatcher,
    "ops": OpsMatcher,
    "gtopss": GToPSSMatcher,
    "rss": RssMatcher,
}

INDEXED = sorted(ALGORITHMS.keys() - {"naive"})
every = pytest.mark.parametrize("name", INDEXED)
few_queries = st.lists(queries, min_size=1, max_size=5)


def check_same(name: str, asked: list[Query], published: Publication) -> None:
    version, plain = filled(ALGORITHMS[name](), asked), filled(NaiveMatcher(), asked)
    assert found(version, published) == found(plain, published)
    assert len(version) == len(plain) == len(asked)


@every
@settings(max_examples=250, deadline=None)
@given(asked=few_queries, data=triples, given_rows=rows)
def test_the_same_as_naive(name: str, asked: list[Query], data: list[Triple], given_rows: list[Row]) -> None:
    check_same(name, asked, publication(data, given_rows))


@every
@settings(max_examples=120, deadline=None)
@given(case=taken_from(), given_rows=rows)
def test_what_is_taken_from_a_publication_matches(
    name: str, case: tuple[Query, list[Triple]], given_rows: list[Row]
) -> None:
    version = filled(ALGORITHMS[name](), [case[0]])
    assert found(version, publication(case[1], given_rows)) == ["s0"]


@every
@settings(max_examples=100, deadline=None)
@given(asked=st.lists(test_solve.queries, min_size=1, max_size=4), data=test_solve.triples, given_rows=test_solve.rows)
def test_pyoxigraph_answers_the_same(name: str, asked: list[Query], data: list[Triple], given_rows: list[Row]) -> None:
    store = oxigraph.store(data, given_rows)
    answered = [bool(oxigraph.answers(store, oxigraph.query_text(query, taxonomy=True))) for query in asked]
    expected = [f"s{number}" for number, answer in enumerate(answered) if answer]
    assert found(filled(ALGORITHMS[name](), asked), publication(data, given_rows)) == expected


# --- workloads --------------------------------------------------------------------------------------------------

SMALL = {"subscriptions": 300, "publications": 6, "matches": 12}
WORKLOADS: list[dict[str, Any]] = [
    {},
    {"hard_negatives": 0.5, "constraints": 0.7},
    {"classes": 30, "is_a": 0.8},
    {"one_structure": True},
    {"drawing": "uniform", "subscription_edges": 5},
    {"properties": 6, "labels": 200, "publication_edges": 60, "subscription_edges": 6},
]


@every
@pytest.mark.parametrize("options", WORKLOADS, ids=lambda options: ",".join(options) or "default")
def test_workloads_of_the_seeds(name: str, options: dict[str, Any]) -> None:
    tables = generate_filter(seed=7, **{**SMALL, **options})
    known = Subscriptions("filter")
    taken, _ = known.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])
    matcher: PairMatcher = ALGORITHMS[name]()
    matcher.insert(taken)
    batch = encode(tables["publications"], Vocabulary(), known.prefixes)
    published = decode(batch.publications, Taxonomy.read(tables["taxonomy"]))
    answers = [(id, each.id) for each in published for id in found(matcher.version(), each)]
    expected = tables["expected"].select(["subscription_id", "publication_id"]).to_pylist()
    assert answers == [(row["subscription_id"], row["publication_id"]) for row in expected]


# --- what tells readings apart ----------------------------------------------------------------------------------


@every
def test_homomorphism(name: str) -> None:
    """SEED_NOTES, filter 1: two variables may take one value, two edges one triple, unless the query says no."""
    asked = [
        "ASK { ?x :e ?y . ?y :e ?z }",
        "ASK { ?p :e ?x . ?p :e ?y }",
        "ASK { ?p :e ?x . ?p :e ?y FILTER(?x != ?y) }",
        "ASK { ?x :e ?x }",
        "ASK { ?x :e ?y . ?y :e ?x }",
    ]
    version = filled(ALGORITHMS[name](), asked)
    assert found(version, publication(edges("a e a"))) == ["s0", "s1", "s3", "s4"]
    assert found(version, publication(edges("a e b"))) == ["s1"]
    assert found(version, publication(edges("a e b, a e c"))) == ["s1", "s2"]
    assert found(version, publication(edges("a e b, b e a"))) == ["s0", "s1", "s4"]


@every
def test_repeated_edges_and_renamed_variables(name: str) -> None:
    asked = ["ASK { :a :e ?x . :a :e ?x }", "ASK { :a :e ?y . ?y :f ?x }", "ASK { ?x :f ?y . :a :e ?x }"]
    version = filled(ALGORITHMS[name](), asked)
    assert found(version, publication(edges("a e b"))) == ["s0"]
    assert found(version, publication(edges("a e b, b f c"))) == ["s0", "s1", "s2"]


@every
def test_edges_match_in_their_direction(name: str) -> None:
    """[G] prints a fully connected graph over an edge's ends, which would look its reverse up too."""
    version = filled(ALGORITHMS[name](), ["ASK { :b :e :a }", "ASK { ?x :e :a }", "ASK { :b :e ?x }"])
    assert candidates(version, publication(edges("c e d"))) in ([], ["s0", "s1", "s2"])
    assert found(version, publication(edges("a e b"))) == []
    assert found(version, publication(edges("b e a"))) == ["s0", "s1", "s2"]


@every
def test_counts_of_nothing_and_patterns_of_nothing(name: str) -> None:
    asked = [
        "ASK { ?x :e ?y } HAVING (COUNT(*) = 0)",
        "ASK { ?x :e ?y } HAVING (COUNT(*) >= 2)",
        "SELECT ?x { VALUES ?x { :a } }",
    ]
    version = filled(ALGORITHMS[name](), asked)
    assert found(version, publication(edges("a f b"))) == ["s0", "s2"]
    assert found(version, publication(edges("a e b, a e c"))) == ["s1", "s2"]
    assert found(version, publication([])) == ["s0", "s2"]


@every
def test_many_bindings_do_not_explode(name: str) -> None:
    """SEED_NOTES, filter 2. 60 ** 6 bindings, of which the last condition takes none."""
    fork = " . ".join(f"?p :e ?x{number}" for number in range(6))
    asked = [f"ASK {{ {fork} }}", f"ASK {{ {fork} FILTER(?x5 > 5) }}", f"ASK {{ {fork} . ?q :f ?x0 . ?r :g ?s }}"]
    version = filled(ALGORITHMS[name](), asked)
    star = [(plain_name("n"), plain_name("e"), plain_name(f"m{number}")) for number in range(60)]
    assert found(version, publication(star)) == ["s0"]
    assert found(version, publication(star + edges("k f m7, k g k"))) == ["s0", "s2"]


@every
def test_long_chains_cost_no_recursion(name: str) -> None:
    chain = " . ".join(f"?v{number} :e ?v{number + 1}" for number in range(40))
    long = ", ".join(f"n{number} e n{number + 1}" for number in range(40))
    version = filled(ALGORITHMS[name](), [f"ASK {{ {chain} }}"])
    assert found(version, publication(edges(long))) == ["s0"]
    assert found(version, publication(edges(long)[1:])) == []


# --- coming and going -------------------------------------------------------------------------------------------


@every
@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.one_of(seed_queries(), st.integers(0, 20)), max_size=25),
    data=st.lists(triples, min_size=1, max_size=2),
)
def test_versions_stay_as_they_were(name: str, steps: list[Query | int], data: list[list[Triple]]) -> None:
    """A query subscribes, a number unsubscribes the oldest but so many; every version so far keeps its answers."""
    matcher, plain = ALGORITHMS[name](), NaiveMatcher()
    published = [publication(each) for each in data]
    living: list[Subscription] = []
    versions: list[tuple[Pairwise, Pairwise]] = []
    for number, step in enumerate(steps):
        if isinstance(step, Query):
            living += subscriptions([step], start=number)
            matcher.insert(living[-1:])
            plain.insert(living[-1:])
        elif living:
            gone = living.pop(step % len(living))
            matcher.remove([gone])
            plain.remove([gone])
        versions.append((matcher.version(), plain.version()))
    for mine, naive in versions:
        assert len(mine) == len(naive)
        assert [found(mine, each) for each in published] == [found(naive, each) for each in published]


@every
def test_a_version_outlives_a_fold_and_a_removal(name: str) -> None:
    matcher: PairMatcher = ALGORITHMS[name]()
    taken = subscriptions([f"ASK {{ :a :e ?x FILTER(?x >= {number}) }}" for number in range(200)])
    matcher.insert(taken)
    before = matcher.version()
    seven = publication([(plain_name("a"), plain_name("e"), literal("7", XSD_INTEGER))])
    asked = before.candidates(seven)
    first = next(asked)
    matcher.remove(taken[:150])  # more than the living: the index is built anew
    after = matcher.version()
    assert before.verify(first, seven)
    assert found(before, seven) == [f"s{number}" for number in range(8)]
    assert [len(before), len(after)] == [200, 50]
    assert found(after, seven) == []
    assert not after.verify(first, seven)
    again = subscriptions(["ASK { :a :e ?x }"], start=200)
    matcher.insert(again)
    assert found(matcher.version(), seven) == ["s200"]
    assert found(before, seven) == [f"s{number}" for number in range(8)]


@every
def test_readers_are_not_disturbed_by_a_writer(name: str) -> None:
    matcher: PairMatcher = ALGORITHMS[name]()
    kept = subscriptions([f"ASK {{ ?x :e :n{number} . ?x :f ?y FILTER(?y != :z) }}" for number in range(40)])
    matcher.insert(kept)
    version = matcher.version()
    published = [publication(edges(f"a e n{number}, a f b"), id=str(number)) for number in range(40)]
    answers: list[list[list[str]]] = []

    def read() -> None:
        answers.append([found(version, each) for each in published for _ in range(3)])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for round in range(1, 6):
        passing = subscriptions([f"ASK {{ ?x :e :n{number} }}" for number in range(40)], start=round * 100)
        matcher.insert(passing)
        matcher.remove(passing)
    for reader in readers:
        reader.join()
    expected = [[f"s{number}"] for number in range(40) for _ in range(3)]
    assert answers == [expected] * 3
