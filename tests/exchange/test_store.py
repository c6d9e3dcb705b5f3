"""The store against its obvious twin: after every change, at every version that somebody holds, and when settled."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.exchange.rows import Edge, EdgeRows, Node, NodeRows, refused_node
from heliograph.exchange.store import Exchange
from heliograph.exchange.tables import exchange_of, tables_of
from tests.exchange.worlds import World, changes, check_inside, seen_in, seen_in_twin


@settings(max_examples=150)
@given(st.lists(changes, max_size=12), st.sampled_from([None, "superset"]))
def test_after_every_change_the_twin_shows_the_same(steps: list[tuple[str, Any]], match: str | None) -> None:
    world = World(match)
    for step in steps:
        world.change(*step)
        assert seen_in(world.store.current) == seen_in_twin(world.twin)
        check_inside(world.store.current)


@settings(max_examples=150)
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
    assert not world.store._ledger.history
    assert seen_in(world.store.current) == seen_in_twin(world.twin)
