"""Orders of joining: complete, and true in what they say is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.network_compile import JoinStep, Slots, orders_of

Edge = tuple[int, int, int]
x, y, z = ~0, ~1, ~2


def slots_of(edge: Edge) -> set[int]:
    return {~node for node in edge if node < 0}


def known(edge: Edge, bound: set[int]) -> int:
    return sum(1 << place for place, node in enumerate(edge) if node >= 0 or ~node in bound)


def check_order(edges: list[Edge], order: tuple[JoinStep, ...], bound: set[int], done: set[int]) -> None:
    assert sorted(step.edge for step in order) == sorted(set(range(len(edges))) - done)
    for place, step in enumerate(order):
        assert step.known == known(edges[step.edge], bound)
        if step.other >= 0:
            another = edges[order[step.other].edge]
            assert step.other > place
            assert step.known in (3, 6)
            assert known(another, bound) in (3, 6)
            assert slots_of(another) - bound == slots_of(edges[step.edge]) - bound
        bound = bound | slots_of(edges[step.edge])


nodes = st.integers(-4, 1)
cores = st.lists(st.tuples(nodes, st.integers(-5, 2).filter(lambda node: node != -1), nodes), max_size=7, unique=True)


@given(cores, st.sets(st.integers(0, 4)), st.integers(0, 3), st.booleans())
def test_orders_join_every_edge_once_and_know_what_they_say(
    edges: list[Edge], choosy: set[int], holes: int, listed: bool
) -> None:
    slots = 5
    orders = orders_of(edges, Slots(slots, holes, frozenset(choosy)), listed)
    assert len(orders) == slots + len(edges) + 1
    for slot in range(slots):
        if listed:
            assert orders[slot] == ()
        else:
            check_order(edges, orders[slot], {slot}, set())
    for place, edge in enumerate(edges):
        check_order(edges, orders[slots + place], slots_of(edge), {place})
    check_order(edges, orders[-1], set(range(slots - holes, slots)), set())
    assert {step.hole for step in orders[-1]} <= {-1}
    for step in (step for order in orders for step in order if step.hole >= 0):
        assert slots - holes + step.hole in slots_of(edges[step.edge])


def test_an_edge_that_closes_a_cycle_comes_at_once_and_could_have_bound_the_slot() -> None:
    triangle = [(x, 1, y), (y, 2, z), (z, 3, x), (z, 4, ~3)]
    order = orders_of(triangle, Slots(4, 0, frozenset()), listed=False)[4]  # from the first edge
    assert [(step.edge, step.known, step.other) for step in order] == [(1, 3, 1), (2, 7, -1), (3, 3, -1)]


def test_slots_that_are_asked_something_come_first() -> None:
    star = [(x, 1, y), (x, 1, z)]
    assert [step.edge for step in orders_of(star, Slots(3, 0, frozenset({2})), listed=False)[0]] == [1, 0]
