"""Compaction: nothing that is seen changes, whatever changes meanwhile; what is dead goes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.route import exchange as compaction
from heliograph.route.exchange import Compacted, Version, compact
from heliograph.route.layout import TARGET
from heliograph.route.read import Edge, Node
from tests.route.exchange_worlds import Exchange, World, changes, check_inside, seen_in, seen_in_twin


class Pause:
    """Holds a compact up when it is finished, until it is told to go on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        patch.setattr(compaction, "compact", self._rebuild)

    def _rebuild(self, version: Version) -> Compacted:
        made = compact(version)
        self.begun.set()
        assert self.go_on.wait(60)
        return made


@settings(max_examples=60, deadline=None)
@given(
    st.lists(changes.filter(lambda step: step[0] != "compact"), max_size=8),
    st.lists(changes.filter(lambda step: step[0] != "compact"), max_size=8),
    st.sampled_from([None, "superset"]),
    st.booleans(),
)
def test_changes_meanwhile_are_made_again(before: list[Any], after: list[Any], match: str | None, many: bool) -> None:
    """Both the changes that are made again without the lock and the last ones under it."""
    world = World(match)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "_FEW", 2 if many else 64)
        for step in before:
            world.change(*step)
        held, seen = world.store.hold(), seen_in_twin(world.twin)
        pause = Pause(patch)
        thread = threading.Thread(target=world.store.compact)
        thread.start()
        assert pause.begun.wait(60)
        for step in after:
            world.change(*step)
            assert seen_in(world.store.current) == seen_in_twin(world.twin)
        pause.go_on.set()
        thread.join()
    assert seen_in(world.store.current) == seen_in_twin(world.twin)
    assert seen_in(held) == seen
    check_inside(world.store.current)
    world.store.release(held)


def test_dead_expressions_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.route.exchange._SPARE", 4)
    for match in (None, "subset"):
        world = World(match)
        for number in range(20):
            some = frozenset({f"L{number}", "A"})
            world.put_nodes([("good", "a", f"x = {number}", 0.0, some), ("bad", "b", None, 0.0, frozenset())])
        world.put_edges([("a", "b", None, "y = 1", 1.0), ("a", "c", None, None, 1.0)])
        before = len(world.store.targeting)
        world.compact()
        assert len(world.store.targeting) < before
        assert seen_in(world.store.current) == seen_in_twin(world.twin)
        check_inside(world.store.current)


def test_a_compacted_exchange_is_numbered_upwards_and_compact() -> None:
    exchange = Exchange()
    for number in range(60, 0, -1):
        exchange.put_edges([Edge(f"n{number % 7}", f"n{number}"), Edge("gone", f"n{number}", str(number))])
    exchange.drop_nodes(["gone"])
    exchange.compact()
    arrays, graph = exchange._arrays, exchange.current.graph
    assert (arrays.used["edges"], arrays.used["blocks"], exchange._arrays.wear) == (60, 0, 0)
    assert arrays.used["records"] == len(exchange.current)
    loops = graph.sources[:60] == graph.edges[:60, TARGET]
    assert (graph.sources[:60] < graph.edges[:60, TARGET])[~loops].all()


def test_small_exchanges_are_compacted_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LEAST", 20)
    exchange = Exchange()
    for number in range(200):
        exchange.put_edges([Edge("a", f"n{number % 5}")])
        assert exchange._arrays.wear <= 21
    assert [edge.target for edge in exchange.current.edges()] == [f"n{number}" for number in range(5)]


def test_large_ones_are_compacted_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LEAST", 20)
    monkeypatch.setattr(compaction, "_SMALL", 0)
    exchange = Exchange()
    exchange.put_edges([Edge(f"n{number}", f"n{number + 1}") for number in range(400)])
    assert exchange._arrays.wear == 0  # what comes in bulk is compacted at once
    pause = Pause(monkeypatch)
    version = exchange.current
    for number in range(0, 400, 2):
        exchange.put_edges([Edge(f"n{number + 1}", f"n{number}")])
    assert pause.begun.wait(60)
    assert exchange.current.arrays is version.arrays
    pause.go_on.set()
    exchange.wait()
    assert exchange.current.arrays is not version.arrays
    assert len(list(exchange.current.edges())) == 600


def test_bulk_while_another_thread_compacts_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """That thread may be waiting for the lock that the one with the bulk holds."""
    exchange = Exchange()
    exchange.put_nodes([Node("a")])
    pause = Pause(monkeypatch)
    thread = threading.Thread(target=exchange.compact)
    thread.start()
    assert pause.begun.wait(60)
    exchange.put_edges([Edge(f"n{number}", f"n{number + 1}") for number in range(3000)])
    exchange.put_edges([Edge(f"n{number}", f"m{number}") for number in range(3000)])
    assert exchange._arrays.wear > 0
    pause.go_on.set()
    thread.join()
    assert len(exchange.current) == 6002


def test_history_is_dropped_when_the_last_old_reader_leaves() -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("a", text="x = 0")])
    old = exchange.hold()
    for number in range(1, 50):
        exchange.put_nodes([Node("a", text=f"x = {number}")])
    new = exchange.hold()
    assert len(exchange._arrays.history) == 49
    exchange.release(old)
    assert not exchange._arrays.history
    assert exchange._arrays.nodes[0, 0] == new.records_of(np.zeros(1, np.int32))[0]
    assert (new.node(0).text, Exchange.of_version(new).current.node(0).text) == ("x = 49", "x = 49")
    exchange.release(new)


def test_a_reader_that_leaves_beside_a_writer_does_not_wait() -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("a")])
    held = exchange.hold()
    exchange.put_nodes([Node("a", text="x = 1")])
    with exchange.writing:
        thread = threading.Thread(target=exchange.release, args=(held,))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        assert exchange._arrays.history
    exchange.put_nodes([Node("b")])
    assert not exchange._arrays.history
