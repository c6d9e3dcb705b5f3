"""The generated workload: its parameters, and that its expected answer is the engine's."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import UsageError, Watch
from heliograph.syntax.sparql import compile_sparql
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
    ],
)
def test_small_ones(options: dict[str, Any]) -> None:
    made = generate_watch(0, **{**SMALL, **options})
    watch = Watch()
    watch.subscribe(made["subscriptions"])
    found = watch.publish(made["updates"])
    assert found.table.equals(made.get("expected", found.table))
