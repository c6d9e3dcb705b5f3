"""The query network: what is entered says what its query says of any graph; it stays sound as queries come and go, and
nothing is left of those that went."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.compiled.growing import Pairs
from heliograph.sparql.query import Query
from heliograph.sparql.solve import QueryPlan, world
from heliograph.terms import Term
from heliograph.watch.layout import AMONG_NODE, Q_COUNT, Q_ROWS, Q_TRUTH
from tests.watch.network_evaluator import find_pair
from tests.watch.network_laws import Reached, check_network
from tests.watch.network_worlds import World, queries, triples

Triples = set[tuple[Term, Term, Term]]
Triple = tuple[int, int, int]
Step = tuple[Query, int] | int  # a query comes, by kind; or one that is there goes


@settings(max_examples=100, deadline=None)
@given(triples(), st.lists(queries(), min_size=1, max_size=4), st.sampled_from([Q_TRUTH, Q_COUNT]))
def test_truth_and_counts_are_those_of_the_query(graph: Triples, asked: list[Query], kind: int) -> None:
    small = World(graph)
    rows = [small.subscribe(query, kind) for query in asked]
    values = small.evaluator().values()
    for row, query in zip(rows, asked, strict=True):
        assert small.answer(row, values) == small.expected(query, kind), query.patterns


@settings(max_examples=100, deadline=None)
@given(triples(), st.lists(queries(free_predicates=True, most=4), min_size=1, max_size=4))
def test_rows_are_the_solutions_of_the_query(graph: Triples, asked: list[Query]) -> None:
    small = World(graph)
    intern = small.vocabulary.intern
    wanted = [small.network.compile(query, Q_ROWS) for query in asked]
    rows = [small.network.subscribe(each) for each in wanted]
    for row, query, compiled in zip(rows, asked, wanted, strict=True):
        solutions = QueryPlan.of(query).solutions(world(small.graph))
        expected = {tuple(intern(solution[variable]) for variable in compiled.slots) for solution in solutions}
        component = small.network.component(row)
        assert (set() if component < 0 else small.evaluator().rows(component)) == expected
        assert compiled.remaining == ()


# --- coming and going -------------------------------------------------------------------------------------------

steps = st.lists(
    st.one_of(
        st.tuples(queries(most=4), st.sampled_from([Q_TRUTH, Q_TRUTH, Q_COUNT, Q_ROWS])),
        st.tuples(queries(most=4), st.just(Q_TRUTH)),
        st.integers(0, 9),
    ),
    min_size=2,
    max_size=12,
)


class Populated:
    """Which bits of which message were asked to be populated."""

    def __init__(self) -> None:
        self.bits: dict[int, int] = {}

    def check(self, small: World) -> None:
        """Everything that is used was asked for, and nothing is asked for twice."""
        network = small.network
        levels = [network.messages.level(message) for message, _ in network.fresh.messages]
        assert levels == sorted(levels)
        for message, bits in network.fresh.messages:
            assert bits
            assert not bits & self.bits.get(message, 0)
            self.bits[message] = self.bits.get(message, 0) | bits
        network.populated()
        assert not network.fresh
        arrays = network.world
        for message in Reached(network).messages:
            node, ref = int(arrays.messages["node"][message]), int(arrays.messages["ref"][message])
            needed = int(arrays.ones[node]) if node >= 0 else 1
            if node == AMONG_NODE:
                needed = sum(1 << tag for anchored, _, tag in network.messages.anchors.items() if anchored == ref)
            assert needed
            assert not needed & ~self.bits[message]


@settings(max_examples=60, deadline=None)
@given(triples(), steps)
def test_a_network_is_sound_and_right_whoever_comes_and_goes(graph: Triples, history: list[Step]) -> None:
    small, populated = World(graph), Populated()
    alive: list[tuple[int, Query, int]] = []
    for step in history:
        if not isinstance(step, int):
            wanted = small.network.compile(*step)
            alive.append((small.network.subscribe(wanted), step[0], wanted.kind))
        elif alive:
            small.network.unsubscribe(alive.pop(step % len(alive))[0])
        check_network(small.network)
        populated.check(small)
    values = small.evaluator().values()
    for row, query, kind in alive:
        if kind != Q_ROWS:
            assert small.answer(row, values) == small.expected(query, kind)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(queries(), st.sampled_from([Q_TRUTH, Q_COUNT, Q_ROWS])), max_size=6), st.randoms())
def test_nothing_is_left_of_those_who_went(asked: list[tuple[Query, int]], random) -> None:  # type: ignore[no-untyped-def]
    small = World(set())
    rows = [small.subscribe(query, kind) for query, kind in asked]
    random.shuffle(rows)
    for row in rows:
        small.network.unsubscribe(row)
    network = small.network
    check_network(network)
    assert (len(network.groups), len(network.messages), len(network.nodes), network.groups.alive) == (0, 0, 0, 0)
    assert not list(network.messages.anchors.items())
    assert not list(network.groups.constant_slots.items())
    assert small.flat.arrays.taken == 0
    assert bool(network.garbage) == bool(small.flat.arrays.numbered or network.groups.dead)
    assert len(network.messages.dead) == network.messages.rows.used


# --- many concrete queries at once ------------------------------------------------------------------------------

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
    for row, each in enumerate(asked):
        for triple in set(each) if row not in gone else ():
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
    for edges_of_one in asked:
        single.network.queries.add(Q_TRUTH, tuple(dict.fromkeys(edges_of_one)), [])
    going = {row for row in going if row < len(asked)}
    for each in (small, single):
        missing = each.network.world.queries["missing"][: len(asked)].tolist()
        assert missing == [len(set(triples) - present) for triples in asked]
        assert waiting(each) == expected_of(asked, set())
        for row in sorted(going):
            each.network.unsubscribe(row)
        assert waiting(each) == expected_of(asked, going)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 2**31 - 1) | st.integers(0, 9))))
def test_pairs_are_a_dictionary(operations: list[tuple[bool, int, int]]) -> None:
    pairs, model = Pairs(), {}
    for number, (adds, first, second) in enumerate(operations):
        if adds:
            pairs.put(first, second, number)
            model[first, second] = number
        elif (first, second) in model:
            pairs.remove(first, second)
            del model[first, second]
    assert {(first, second): value for first, second, value in pairs.items()} == model
    for _, first, second in operations:
        assert pairs.find(first, second) == find_pair(pairs.array, first, second) == model.get((first, second), -1)
    assert pairs.used == len(model)
    assert 2 * pairs.used <= len(pairs.array)
