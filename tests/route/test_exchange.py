"""The store against its obvious twin: after every change, at every version that somebody holds, and when compacted."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import PredicateError
from heliograph.route.read import Edge, Node
from heliograph.route.save import pack_exchange, unpack_exchange
from tests.route.exchange_worlds import Exchange, World, changes, check_inside, node_parts, seen_in, seen_in_twin


@settings(max_examples=70)
@given(st.lists(changes, max_size=12), st.sampled_from([None, "superset"]))
def test_after_every_change_the_twin_shows_the_same(steps: list[tuple[str, Any]], match: str | None) -> None:
    world = World(match)
    for step in steps:
        world.change(*step)
        assert seen_in(world.store.current) == seen_in_twin(world.twin)
        check_inside(world.store.current)


@settings(max_examples=70)
@given(st.lists(st.tuples(changes, st.booleans(), st.booleans()), max_size=14))
def test_versions_that_are_held_never_change(steps: list[tuple[tuple[str, Any], bool, bool]]) -> None:
    world = World()
    held: list[Any] = []
    for step, hold, release in steps:
        world.change(*step)
        assert seen_in(world.store.current) == seen_in_twin(world.twin)
        if hold:
            held.append((world.store.hold(), seen_in_twin(world.twin)))
        if release and held:
            world.store.release(held.pop(len(held) // 2)[0])
        for version, seen in held:
            assert seen_in(version) == seen
    for version, _ in held:
        world.store.release(version)
    assert not world.store._arrays.history
    assert seen_in(world.store.current) == seen_in_twin(world.twin)


@settings(max_examples=60)
@given(st.lists(changes, max_size=8), st.lists(changes, max_size=4), st.sampled_from([None, "subset"]))
def test_a_copy_goes_its_own_way(before: list[Any], after: list[Any], match: str | None) -> None:
    world = World(match)
    for step in before:
        world.change(*step)
    seen = seen_in_twin(world.twin)
    with world.store.reading() as version:
        copy = Exchange.of_version(version)
        for step in after:
            world.change(*step)
        assert seen_in(copy.current) == seen
        check_inside(copy.current)
        copy.put_edges([Edge("a", "new", text="x = 7")])
        assert seen_in(version) == seen
    assert seen_in(world.store.current) == seen_in_twin(world.twin)


@settings(max_examples=60)
@given(st.lists(changes, max_size=10), st.lists(changes, max_size=5), st.sampled_from([None, "intersects"]))
def test_what_is_packed_comes_back_and_goes_on(before: list[Any], after: list[Any], match: str | None) -> None:
    """The arrays that were packed cannot be written to, as if they were mapped; whoever reads them keeps them."""
    world = World(match)
    for step in before:
        world.change(*step)
    with world.store.reading() as version:
        packed = pack_exchange(version)
        seen = seen_in(version)
    for array in packed.arrays.values():
        array.flags.writeable = False
    world.store = unpack_exchange(packed, match)
    check_inside(world.store.current)
    with world.store.reading() as opened:
        for step in after:
            world.change(*step)
        assert seen_in(opened) == seen
    assert seen_in(world.store.current) == seen_in_twin(world.twin)


def test_a_copy_compiles_under_the_same_lock() -> None:
    exchange = Exchange()
    with exchange.reading() as version:
        assert Exchange.of_version(version).writing is exchange.writing


def test_ids_may_come_twice_in_one_call() -> None:
    """Each is taken by itself, one after the other."""
    world = World()
    nodes = [("good", "a", "x = 1"), ("bad", "a", None), ("good", "b", None), ("bad", "c", None), ("good", "c", None)]
    world.put_nodes([(kind, id, text, 1.0, frozenset()) for kind, id, text in [*nodes, ("good", "a", "x = 2")]])
    assert seen_in(world.store.current) == seen_in_twin(world.twin)
    (rows,) = node_parts([Node("d", text="x = 1"), Node("e"), Node("d", text="x = 2")])
    world.store.put_nodes(rows)
    assert world.store.current.node(world.store.current.number("d")).text == "x = 2"


def test_nothing_is_no_change() -> None:
    exchange = Exchange()
    exchange.put_nodes([])
    exchange.put_edges([])
    exchange.drop_nodes(["nobody"])
    exchange.drop_edges([])
    assert (len(exchange.current), exchange.current.graph.version, exchange.edge_number("e")) == (0, 0, -1)
    assert exchange.current.out_numbers(-1) == exchange.current.between_numbers(-1, -1) == []


def test_a_hub_has_few_blocks() -> None:
    exchange = Exchange()
    for number in range(500):
        exchange.put_edges([Edge("hub", str(number))])
    version = exchange.current
    assert [version.edge(edge).target for edge in version.out_numbers(version.number("hub"))] == [
        str(number) for number in range(500)
    ]
    assert exchange._arrays.used["blocks"] < 500 + 12


def test_a_change_is_the_same_alone_and_among_many() -> None:
    """What is looked for one by one, and in one pass, is the same."""
    pairs = [(f"n{number % 37}", f"n{number * 7 % 41}") for number in range(600)]
    edges = [Edge(*pair, f"e{row}" if row % 5 == 0 else None) for row, pair in enumerate(dict.fromkeys(pairs))]
    single, bulk = Exchange(), Exchange()
    for exchange in (single, bulk):
        exchange.put_edges(edges)
    again = [Edge(edge.source, edge.target, edge.id, text="x = 1") for edge in edges]
    bulk.put_edges(again)
    for edge in again:
        single.put_edges([edge])
    assert seen_in(bulk.current).edges == seen_in(single.current).edges
    assert len(seen_in(bulk.current).edges) == len(edges)


@pytest.fixture
def _impatient() -> Iterator[None]:
    """Threads that take turns a thousand times as often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_impatient")
def test_readers_beside_a_writer_see_whole_versions() -> None:
    """A writer moves an edge about; every version has exactly one, and as many nodes as it has ends."""
    exchange = Exchange()
    exchange.put_edges([Edge("p", "n0", "e")])
    done, wrong = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            with exchange.reading() as version:
                edges = list(version.edges())
                ids = [version.node(int(number)).id for number in version.node_numbers()]
                if len(edges) != 1 or sorted(ids) != sorted([edges[0].source, edges[0].target]):
                    wrong.append((edges, ids))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1, 500):
        exchange.put_edges([Edge("p", f"n{number % 50}", "e")])
    done.set()
    for reader in readers:
        reader.join()
    exchange.wait()
    assert wrong == []
    assert [edge.target for edge in exchange.current.edges()] == [f"n{499 % 50}"]


@pytest.mark.parametrize("match", [None, "superset"])
def test_rows_of_another_store_are_compiled_again(match: str | None) -> None:
    first, second = Exchange(match), Exchange(match)
    (rows,) = node_parts([Node("a", text="x = 1", labels=frozenset("A"))])
    second.put_nodes([Node("b", text="y = 1", labels=frozenset("B"))])
    for exchange in (first, second):
        exchange.put_nodes(rows)
        check_inside(exchange.current)
        assert len(exchange.targeting) >= 3


def test_a_text_that_cannot_be_read_changes_nothing() -> None:
    exchange = Exchange()
    with pytest.raises(PredicateError, match="HG-451"):
        exchange.put_nodes([Node("a", text="x =")])
    with pytest.raises(PredicateError, match="HG-451"):
        exchange.put_edges([Edge("a", "b", text="x =")])
    assert (len(exchange.current), exchange.current.graph.version) == (0, 0)


def test_objects_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.route.exchange._REMEMBERED", 3)
    exchange = Exchange()
    exchange.put_nodes([Node(str(number)) for number in range(10)])
    assert [exchange.current.node(number).id for number in range(10)] == [str(number) for number in range(10)]
    assert len(exchange._arrays._known_nodes) <= 3
