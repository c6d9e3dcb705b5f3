"""Subscriptions come and go: the network stays sound, says what they say, and nothing is left of those who went."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.query import Query
from heliograph.terms import Term
from heliograph.watch.layout import AMONG_NODE, Q_COUNT, Q_ROWS, Q_TRUTH
from tests.watch.network_laws import Reached, check_network
from tests.watch.network_worlds import World, queries, triples

Triples = set[tuple[Term, Term, Term]]
Step = tuple[Query, int] | int  # a query comes, by kind; or one that is there goes

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
