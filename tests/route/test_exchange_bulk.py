"""Large exchanges: kernels and hash tables in place of plain Python, the same answers, and little memory."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.route import numbering
from heliograph.route.read import Edge, read_edges, read_nodes
from tests.route.exchange_worlds import Exchange, World, changes, check_inside, seen_in, seen_in_twin


@settings(max_examples=30, deadline=None)
@given(st.lists(changes, max_size=12))
def test_tables_and_kernels_change_nothing(steps: list[tuple[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "pays", lambda count: True)
        world = World()
        for step in steps:
            world.change(*step)
            assert seen_in(world.store.current) == seen_in_twin(world.twin)
        world.compact()
        assert seen_in(world.store.current) == seen_in_twin(world.twin)
        check_inside(world.store.current)


def test_bulk_against_the_twin() -> None:
    chance = random.Random(7)
    world = World()

    def nodes(count: int) -> list[Any]:
        chosen = chance.sample(range(3000), count)
        kinds = ["good"] * 9 + ["bad"]
        return [(chance.choice(kinds), f"n{number}", f"x = {number}", 1.0, frozenset[str]()) for number in chosen]

    def edges(count: int) -> list[Any]:
        ends = [(f"n{chance.randrange(4000)}", f"n{chance.randrange(4000)}") for _ in range(count)]
        return [(*pair, f"e{chance.randrange(10**9)}" if row % 3 else None, None, 1.0) for row, pair in enumerate(ends)]

    world.put_nodes(nodes(2500))
    world.put_edges(edges(3500))
    world.put_edges(edges(700))
    world.put_nodes(nodes(900))
    known = list(world.twin.by_id)
    world.put_edges([("a", "b", id, "y = 1", 2.0) for id in known[::7]])
    world.put_edges([(edge.source, edge.target, None, "y = 2", 3.0) for edge in list(world.twin.edges)[::5]])
    world.drop_nodes([f"n{number}" for number in range(0, 4000, 3)])
    world.store.wait()
    assert seen_in(world.store.current) == seen_in_twin(world.twin)


@pytest.mark.parametrize("with_ids", [False, True])
def test_memory(with_ids: bool) -> None:
    """Under 200 bytes a node plus 40 an edge, text aside; of named edges, 48 more for finding them."""
    nodes, links = 30_000, 37_000
    chance = np.random.default_rng(3)
    exchange = Exchange()
    rows = [(f"node {number}", f"x = {number % 100}") for number in range(nodes)]
    exchange.put_nodes(read_nodes(rows, exchange.targeting).rows)
    ends = chance.integers(0, nodes, (links, 2)).tolist()
    edges = [(rows[a][0], rows[b][0], f"e{row}" if with_ids else None) for row, (a, b) in enumerate(ends)]
    exchange.put_edges(read_edges(edges, exchange.targeting).rows)
    assert exchange._arrays.nbytes < 200 * nodes + 40 * links + 48 * links * with_ids
    assert not exchange._arrays.ids.later
    assert not exchange._arrays.texts._later


def test_growing_copies_seldom() -> None:
    """Amortised, a change costs what it touches: the arrays are exchanged for larger ones a few times only."""
    exchange = Exchange()
    exchange.put_edges([Edge(f"n{number}", f"n{number + 1}") for number in range(2000)])
    seen = set()
    for number in range(600):
        exchange.put_edges([Edge(f"n{number}", f"m{number}")])
        seen.add(exchange.current.graph.nodes.__array_interface__["data"][0])
    assert len(seen) <= 24


def test_small_exchanges_need_no_kernels() -> None:
    code = """
import sys
from heliograph.route.read import read_edges, read_nodes
from tests.route.exchange_worlds import Exchange
exchange = Exchange()
exchange.put_nodes(read_nodes([(str(n), "x = 1") for n in range(3000)], exchange.targeting).rows)
exchange.put_edges(read_edges([(str(n), str(n + 1)) for n in range(3000)], exchange.targeting).rows)
exchange.compact()
print(len(exchange.current), "numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3001", "False"]
