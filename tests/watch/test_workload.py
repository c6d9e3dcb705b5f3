"""The generated workload: its parameters, and that its expected answer is the engine's."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import UsageError, Watch
from heliograph.papers.watch import Algorithm, BruteForce, Trie
from heliograph.sparql.templates import compile_sparql, parse_sparql
from heliograph.terms import RDF_TYPE, Term, plain_name
from heliograph.workloads.watch import generate_watch

SMALL = {"vertices": 120, "updates": 400, "queries": 60}


@settings(deadline=None, max_examples=15)
@given(
    st.integers(0, 10**6),
    st.sampled_from((0.0, 0.2, 0.4)),
    st.sampled_from((0.0, 0.2)),
    st.sampled_from((0.05, 0.5, 1.0)),
)
def test_expected_is_what_the_engine_says(seed: int, deletions: float, duplicates: float, matching: float) -> None:
    made = generate_watch(seed, **SMALL, deletions=deletions, duplicates=duplicates, matching=matching)
    watch = Watch()
    assert watch.subscribe(made["subscriptions"]).accepted == 60
    found = watch.publish(made["updates"])
    assert not found.rejected
    assert found.table.equals(made["expected"])


def test_the_seeds_parameters() -> None:
    made = generate_watch(7, vertices=5000, updates=4000, queries=600)
    assert made["updates"].num_rows == len(set(zip(*edges(made), strict=True))) == 4000
    assert set(made["updates"]["op"].to_pylist()) == {"+"}
    lengths = [text.count(" . ") + 1 for text in queries(made)]
    assert 4.7 < sum(lengths) / 600 < 5.3
    assert made["expected"].num_rows == 30
    shapes = Counter(map(shape, queries(made)))
    assert min(shapes["chain"], shapes["star"], shapes["graph"]) > 120
    degrees = Counter(edges(made)[0] + edges(made)[1])
    assert max(degrees.values()) > 50
    assert Counter(degrees.values())[1] > 500


def queries(made: dict[str, Any]) -> list[str]:
    return [str(text) for text in made["subscriptions"]["query"].to_pylist()]


def edges(made: dict[str, Any]) -> tuple[list[str], list[str]]:
    return made["updates"]["subject"].to_pylist(), made["updates"]["object"].to_pylist()


def shape(text: str) -> str:
    pairs = re.findall(r":v(\d+) :links :v(\d+)", text)
    if len({source for source, _ in pairs}) == 1:
        return "star"
    linked = all(before[1] == after[0] for before, after in pairwise(pairs))
    return "chain" if linked else "graph"


def test_a_bent_query_stays_connected() -> None:
    made = generate_watch(3, **SMALL, matching=0.0)
    for text in queries(made):
        pairs = re.findall(r":v(\d+) :links :v(\d+)", text)
        reached, left = set(pairs[0]), pairs[1:]
        while near := [pair for pair in left if reached & set(pair)]:
            reached |= {vertex for pair in near for vertex in pair}
            left = [pair for pair in left if pair not in near]
        assert left == []
    assert made["expected"].num_rows == 0


def test_one_seed_one_workload() -> None:
    first, again, other = (generate_watch(seed, **SMALL) for seed in (1, 1, 2))
    assert all(first[name].equals(again[name]) for name in first)
    assert not first["updates"].equals(other["updates"])


def test_queries_with_variables() -> None:
    made = generate_watch(5, vertices=300, updates=800, queries=200, variables=True, structures=10, degree_cap=40)
    assert set(made) == {"subscriptions", "updates", "graph"}
    texts = queries(made)
    assert all(not isinstance(query, Exception) for query in compile_sparql(texts, verb="watch"))
    structures = {re.sub(r":C\d+", ":C", re.sub(r"(:v\d+|\?v\d+)", "?", text)) for text in texts}
    assert len(structures) <= 10
    assert sum(":v" in text for text in texts) == 100
    assert max(Counter(edges(made)[0] + edges(made)[1]).values()) <= 40
    assert len(set(made["updates"]["property"].to_pylist())) == 10
    assert (made["graph"].num_rows, len(set(made["graph"]["object"].to_pylist()))) == (300, 30)
    watch = Watch()
    watch.load_graph(made["graph"])
    watch.subscribe(made["subscriptions"])
    assert len(watch.publish(made["updates"].slice(0, 100)).rejected) == 0


def slots(text: str) -> list[tuple[str, str]]:
    """The edges of a pattern, without its class triples."""
    return re.findall(r"(\S+) :p\d+ (\S+)", text)


def has_cycle(text: str) -> bool:
    """Of three or more vertices, whatever the directions."""
    graph = nx.Graph(slots(text))
    return not nx.is_forest(graph)


def test_structures_of_every_shape_occur() -> None:
    made = generate_watch(3, **DENSE, queries=300, concrete=0.0)
    texts = {re.sub(r":C\d+", ":C", text): text for text in queries(made)}.values()
    assert 150 < len(texts) <= 200
    stars = [text for text in texts if len({source for source, _ in slots(text)}) == 1]
    chains = [text for text in texts if all(a[1] == b[0] for a, b in pairwise(slots(text)))]
    assert min(len(stars), len(chains)) > 30
    assert 10 < sum(map(has_cycle, texts)) < 60


DENSE = {"vertices": 200, "updates": 1500, "variables": True, "degree_cap": 0}


@pytest.mark.parametrize("deletions", [0.0, 0.3])
@pytest.mark.parametrize(
    ("shape", "vertices", "cyclic"), [("chain", {6}, False), ("star", {6}, False), ("cyclic", {4, 5}, True)]
)
def test_one_structure_of_a_kind(shape: str, vertices: set[int], cyclic: bool, deletions: float) -> None:
    made = generate_watch(
        1, **DENSE, queries=1, shape=shape, spread=0, concrete=0.0, deletions=deletions, form="count", threshold=3
    )
    (text,) = queries(made)
    assert len({end for edge in slots(text) for end in edge}) in vertices
    assert (len(slots(text)), has_cycle(text)) == (5, cyclic)
    assert text.startswith("SELECT (COUNT(*) AS ?n)")
    assert text.endswith("HAVING (COUNT(*) >= 3)")
    assert ("-" in made["updates"]["op"].to_pylist()) == (deletions > 0)


def test_mode_and_classes() -> None:
    made = generate_watch(1, **DENSE, queries=20, form="select", mode="change", classes=0)
    assert made["graph"].num_rows == 0
    assert all(text.startswith("SELECT * {") and " a " not in text for text in queries(made))
    watch = Watch()
    assert watch.subscribe(made["subscriptions"]).accepted == 20
    assert {json.loads(str(each))["mode"] for each in made["subscriptions"]["options"].to_pylist()} == {"change"}


def test_classes_stand_at_variables() -> None:
    made = generate_watch(1, **DENSE, queries=200, concrete=1.0)
    assert all(re.search(r"\?v\d+ a :C\d+", text) and not re.search(r" :v\d+ a ", text) for text in queries(made))
    single = generate_watch(1, **DENSE, queries=50, concrete=1.0, edges=1)
    assert all(text.count(" a :C") == 1 for text in queries(single))


@pytest.mark.parametrize("structure_seed", range(3))
def test_the_trie_and_brute_force_agree_on_patterns(structure_seed: int) -> None:
    made = generate_watch(
        structure_seed, vertices=40, updates=90, queries=20, variables=True, degree_cap=12, classes=2, deletions=0.2
    )
    algorithms: list[Algorithm] = [Trie(), BruteForce()]
    for row in made["subscriptions"].to_pylist():
        for each in algorithms:
            each.subscribe(row["subscription_id"], parse_sparql(row["query"], verb="watch"))
    for each in algorithms:
        for row in made["graph"].to_pylist():
            each.update("+", terms(row))
    found = 0
    for row in made["updates"].to_pylist():
        first, second = (each.update(row["op"], terms(row)) for each in algorithms)
        assert [sorted(part) for part in first] == [sorted(part) for part in second]
        found += len(first.rose)
    assert found > 0


def terms(row: dict[str, Any]) -> tuple[Term, Term, Term]:
    property = RDF_TYPE if row["property"] == "a" else plain_name(row["property"])
    return plain_name(row["subject"]), property, plain_name(row["object"])


@pytest.mark.parametrize(
    "options",
    [
        {"colour": 1},
        {"vertices": 2},
        {"updates": 0},
        {"matching": 1.5},
        {"deletions": 0.5, "duplicates": 0.3},
        {"vertices": 3, "updates": 7},
        {"vertices": 10, "updates": 40, "variables": True, "degree_cap": 2},
        {"shape": "round"},
        {"form": "count"},
        {"mode": "change"},
        {"variables": True, "mode": "often"},
    ],
)
def test_what_cannot_be_made(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        generate_watch(0, **{**SMALL, **options})
    assert caught.value.code == "HG-075"
    assert caught.value.fix


@pytest.mark.parametrize(
    "options",
    [
        {"vertices": 3, "updates": 6, "queries": 5},
        {"vertices": 40, "updates": 1, "queries": 3},
        {"queries": 0},
        {"queries": 0, "variables": True, "degree_cap": 0},
        {"edges": 1},
        {"shape": "cyclic", "matching": 1.0},
        {"shape": "cyclic", "edges": 2, "spread": 0},
    ],
)
def test_small_ones(options: dict[str, Any]) -> None:
    made = generate_watch(0, **{**SMALL, **options})
    watch = Watch()
    watch.subscribe(made["subscriptions"])
    found = watch.publish(made["updates"])
    assert found.table.equals(made.get("expected", found.table))
