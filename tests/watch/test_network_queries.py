"""Queries and what they wait for: one by one or many at once, with edges that are there or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.watch.changes import CountLimits
from heliograph.watch.layout import ENTER_LOW, LINK, Q_COUNT, Q_KIND, Q_MISSING, Q_TRUTH, Q_WATCH, STAY_HIGH
from tests.watch.network_worlds import NAMES, PROPERTIES, World

Triple = tuple[int, int, int]

small_triples = st.tuples(st.integers(0, 3), st.integers(4, 5), st.integers(0, 3))
concrete = st.lists(st.lists(small_triples, min_size=1, max_size=4), min_size=1, max_size=6)


def waiting(small: World) -> dict[Triple, list[int]]:
    """By edge: the rows of queries that wait for it."""
    edges = small.waiting.arrays.edges
    found = {
        triple: small.chain((int(edges[number, LINK]) >> 1) - 1) for triple, number in small.waiting.numbers.items()
    }
    return {triple: sorted(rows) for triple, rows in found.items() if rows}


def world_with(present: set[Triple]) -> World:
    small = World(set())
    for term in (*NAMES, *PROPERTIES):
        small.vocabulary.intern(term)
    small.triples = set(present)
    small.waiting.fill(set(present))
    return small


def expected_of(asked: list[list[Triple]], gone: set[int]) -> dict[Triple, list[int]]:
    found: dict[Triple, list[int]] = {}
    for row, triples in enumerate(asked):
        for triple in set(triples) if row not in gone else ():
            found.setdefault(triple, []).append(row)
    return found


@settings(deadline=None)
@given(concrete, concrete, st.sets(small_triples), st.sets(st.integers(0, 11)))
def test_many_at_once_are_as_one_by_one(
    first: list[list[Triple]], second: list[list[Triple]], present: set[Triple], going: set[int]
) -> None:
    small, asked, row = world_with(present), first + second, 0
    for batch in (first, second):
        edges = np.array([triple for triples in batch for triple in triples], np.int32)
        owner = np.repeat(np.arange(len(batch)), [len(triples) for triples in batch])
        assert small.network.add_concrete(range(row, row + len(batch)), Q_TRUTH, edges, owner) == row
        row += len(batch)
    single = world_with(present)
    for number, triples in enumerate(asked):
        single.network.queries.add(number, Q_TRUTH, tuple(dict.fromkeys(triples)), [])
    going = {row for row in going if row < len(asked)}
    for each in (small, single):
        missing = each.network.arrays.queries[: len(asked), Q_MISSING].tolist()
        assert missing == [len(set(triples) - present) for triples in asked]
        assert waiting(each) == expected_of(asked, set())
        for row in sorted(going):
            each.network.unsubscribe(row)
        assert waiting(each) == expected_of(asked, going)
        assert each.network.queries.alive == len(asked) - len(going)
        assert each.network.queries.numbers.array[: len(asked)].tolist() == list(range(len(asked)))


def subscribed(text: str, kind: int) -> tuple[World, int]:
    small = World(set())
    query: Query = parse_sparql(text)
    return small, small.subscribe(query, kind)


def test_truth_waits_for_edges_and_components_and_counts_for_edges_alone() -> None:
    for kind, missing in ((Q_TRUTH, 2), (Q_COUNT, 1)):
        small, row = subscribed("ASK { :a :p :b . ?x :p ?y . ?z :p ?w }", kind)
        assert small.network.arrays.queries[row, [Q_MISSING, Q_KIND]].tolist() == [missing, kind]
        assert len(small.network.queries.components(row)) == 3 - missing


def test_components_that_hold_are_not_missing() -> None:
    small, _ = subscribed("ASK { ?x :p ?y }", Q_TRUTH)
    small.network.arrays.values[0] = 3
    row = small.subscribe(parse_sparql("ASK { ?a :p ?b . ?c :q ?d }"), Q_TRUTH)
    assert small.network.arrays.queries[row, Q_MISSING] == 1


def test_an_empty_pattern_misses_nothing() -> None:
    small = World(set())
    row = small.subscribe(Query(), Q_TRUTH)
    assert small.network.arrays.queries[row, Q_MISSING] == 0


def test_limits_are_told_to_the_kernel() -> None:
    small, row = subscribed("ASK { ?x :p ?y }", Q_COUNT)
    small.network.set_limits(row, CountLimits(3, 9, 2, 10))
    assert small.network.arrays.limits[row, [ENTER_LOW, STAY_HIGH]].tolist() == [3, 10]
    assert small.network.arrays.queries[row, Q_WATCH] == 0
    small.network.set_limits(row, None)
    assert small.network.arrays.queries[row, Q_WATCH] == 1


def test_arrays_are_gathered_again_only_when_one_was_exchanged() -> None:
    small, _ = subscribed("ASK { ?x :p ?y }", Q_TRUTH)
    before = small.network.arrays
    assert small.network.arrays is before
    for place in range(40):
        small.subscribe(parse_sparql(f"ASK {{ ?x :p{place} ?y . ?y :q ?z . ?z :q ?x }}"), Q_TRUTH)
    assert small.network.arrays is not before
    domains = np.zeros((5, 2))
    small.network.domains = domains
    assert small.network.arrays.domains is small.network.domains is domains
    assert small.network.widest == 3


def test_a_component_knows_its_constant_and_its_group() -> None:
    small, row = subscribed("ASK { ?x :p :a }", Q_TRUTH)
    (component,) = small.network.queries.components(row)
    assert small.network.groups.constant_of(component) == 0
    assert small.network.groups.group_of(component) == 0
    assert small.network.component(row) == component
