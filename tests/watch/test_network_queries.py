"""Queries and what they wait for: one by one or many at once, with edges that are there or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.watch.changes import CountLimits
from heliograph.watch.layout import Q_COUNT, Q_TRUTH
from tests.watch.network_worlds import World

Triple = tuple[int, int, int]

small_triples = st.tuples(st.integers(0, 3), st.integers(4, 5), st.integers(0, 3))
concrete = st.lists(st.lists(small_triples, min_size=1, max_size=4), min_size=1, max_size=6)


def waiting(small: World) -> dict[Triple, list[int]]:
    """By edge: the rows of queries that wait for it."""
    found = {(s, p, o): small.chain((link >> 1) - 1) for s, p, o, link in small.edges() if link >> 1}
    return {triple: sorted(rows) for triple, rows in found.items()}


def world_with(present: set[Triple]) -> World:
    small = World(set())
    small.flat.load(*np.array(sorted(present), np.int32).reshape(-1, 3).T)
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
        assert small.network.add_concrete(len(batch), edges, owner) == row
        row += len(batch)
    single = world_with(present)
    for triples in asked:
        single.network.queries.add(Q_TRUTH, tuple(dict.fromkeys(triples)), [])
    going = {row for row in going if row < len(asked)}
    for each in (small, single):
        missing = each.network.world.queries["missing"][: len(asked)].tolist()
        assert missing == [len(set(triples) - present) for triples in asked]
        assert waiting(each) == expected_of(asked, set())
        for row in sorted(going):
            each.network.unsubscribe(row)
        assert waiting(each) == expected_of(asked, going)


def subscribed(text: str, kind: int) -> tuple[World, int]:
    small = World(set())
    query: Query = parse_sparql(text)
    return small, small.subscribe(query, kind)


def test_truth_waits_for_edges_and_components_and_counts_for_edges_alone() -> None:
    for kind, missing in ((Q_TRUTH, 2), (Q_COUNT, 1)):
        small, row = subscribed("ASK { :a :p :b . ?x :p ?y . ?z :p ?w }", kind)
        assert small.network.world.queries[["missing", "kind"]][row].tolist() == (missing, kind)
        assert len(small.network.queries.components(row)) == 3 - missing


def test_components_that_hold_are_not_missing() -> None:
    small, _ = subscribed("ASK { ?x :p ?y }", Q_TRUTH)
    small.network.world.values[0] = 3
    row = small.subscribe(parse_sparql("ASK { ?a :p ?b . ?c :q ?d }"), Q_TRUTH)
    assert small.network.world.queries["missing"][row] == 1


def test_an_empty_pattern_misses_nothing() -> None:
    small = World(set())
    row = small.subscribe(Query(), Q_TRUTH)
    assert small.network.world.queries["missing"][row] == 0


def test_limits_are_told_to_the_kernel() -> None:
    small, row = subscribed("ASK { ?x :p ?y }", Q_COUNT)
    small.network.queries.set_limits(row, CountLimits(3, 9, 2, 10))
    assert small.network.world.limits[row].tolist() == (3, 9, 2, 10, 0, 0)
    assert small.network.world.queries["watch"][row] == 0
    small.network.queries.set_limits(row, None)
    assert small.network.world.queries["watch"][row] == 1


def test_a_component_knows_its_constant_and_its_group() -> None:
    small, row = subscribed("ASK { ?x :p :a }", Q_TRUTH)
    (component,) = small.network.queries.components(row)
    assert small.network.groups.constant_of(component) == 0
    assert small.network.groups.group_of(component) == 0
    assert small.network.component(row) == component
