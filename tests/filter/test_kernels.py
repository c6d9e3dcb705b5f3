"""The kernels of the filter's index against their naive twins."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed, power_of_two
from heliograph.filter.interests import Interest, gather
from heliograph.filter.kernels import count_edges, fill_pairs, look_up, reach_of, sketch_edges
from heliograph.filter.layout import AccessKeys, Left
from heliograph.filter.segment import ALIVE, access_keys, group
from tests import naive
from tests.filter.index_worlds import Graph, batch_of, draw_graph, draw_pattern, seeds, sketch


def accesses(keys: AccessKeys, structures: int) -> list[naive.Edge | None]:
    """The access edge of each structure."""
    found: list[naive.Edge | None] = [None] * structures
    parts = zip(keys.subject.tolist(), keys.predicate.tolist(), keys.object.tolist(), strict=True)
    for key, edge in enumerate(parts):
        for structure in keys.postings[keys.offsets[key] : keys.offsets[key + 1]].tolist():
            found[structure] = edge
    return found


def draw_keys(random: Random, graphs: list[Graph]) -> tuple[AccessKeys, int]:
    asked = [Interest(draw_pattern(random, graphs)) for _ in range(12)] + [Interest(())]
    grouped = group(gather(asked, range(len(asked))))
    return fixed(access_keys(grouped.edges, sketch())), len(grouped.variables)


@pytest.mark.parametrize("room", [1000, 0])
@settings(max_examples=100)
@given(seed=seeds)
def test_look_up_finds_the_structures_whose_access_edge_is_held(room: int, seed: int) -> None:
    random = Random(seed)
    graphs = [draw_graph(random) for _ in range(4)]
    keys, structures = draw_keys(random, graphs)
    emptied = np.array([random.choice([ALIVE, ALIVE, 3, 5]) for _ in range(structures)], np.int64)
    found: list[tuple[int, int]] = []
    state = np.zeros(3, np.int64)
    while state[0] < len(graphs):
        rows, which = np.empty(room, np.int32), np.empty(room, np.int32)
        look_up(keys, batch_of(graphs).edges, Left(emptied, 4), int(state[0]), rows, which, state)
        found += zip(rows[: state[1]].tolist(), which[: state[1]].tolist(), strict=True)
        room = max(room, int(state[2]))
    expected = naive.look_up(accesses(keys, structures), graphs)
    assert len(found) == len(set(found))
    assert set(found) == {pair for pair in expected if emptied[pair[1]] > 4}


@settings(max_examples=60)
@given(seeds, st.integers(0, 2), st.integers(1, 3))
def test_a_sketch_counts_every_combination_of_known_parts(seed: int, begin: int, every: int) -> None:
    random = Random(seed)
    graphs = [draw_graph(random) for _ in range(5)]
    counts = np.zeros(1 << 12, np.uint32)
    sketch_edges(batch_of(graphs).edges, begin, every, counts)
    counted = [edge for graph in graphs[begin::every] for edge in graph]
    assert counts[: 1 << 11].sum() == counts[1 << 11 :].sum() == 8 * len(counted)


@given(seeds)
def test_edges_are_counted_with_variables_as_unknown_parts(seed: int) -> None:
    random = Random(seed)
    graphs = [draw_graph(random) for _ in range(2)]
    grouped = group(gather([Interest(draw_pattern(random, graphs)) for _ in range(5)], range(5)))
    edges = list(zip(*(column.tolist() for column in grouped.edges[1:]), strict=True))
    counts = np.zeros(1 << 20, np.uint32)
    count_edges(fixed(grouped.edges), counts)
    keys = [naive.open_edge((s, p, o)) for s, p, o in edges]
    assert sorted(counts[counts > 0].tolist()) == sorted(keys.count(key) for key in set(keys))


_ends = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([float("inf"), float("-inf")]))


@settings(max_examples=150)
@given(st.lists(st.lists(_ends, max_size=20), max_size=4))
def test_a_reach_is_the_furthest_end_of_a_part(tables: list[list[float]]) -> None:
    highs = [high for table in tables for high in table]
    offsets = np.cumsum([0, *map(len, tables)])
    reach = np.zeros(len(highs))
    reach_of(fixed(np.array(highs, np.float64)), fixed(offsets.astype(np.int64)), reach)
    expected: dict[int, float] = {}
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        expected |= naive.reach_of(highs, first, last)
    assert reach.tolist() == [expected[entry] for entry in range(len(highs))]


@given(st.sets(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), max_size=40))
def test_pairs_fill_a_table_each_once(pairs: set[tuple[int, int]]) -> None:
    packed = [1 + (low << 32 | high) for low, high in pairs]
    slots = np.zeros(power_of_two(2 * len(packed) + 2), np.int64)
    fill_pairs(np.array(packed, np.int64), slots)
    assert sorted(slots[slots != 0].tolist()) == sorted(packed)
