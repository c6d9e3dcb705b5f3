"""The evolving graph in flat arrays beside a set of edges: whatever is done, in any order, from tiny sizes on."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.compiled.compile import declared
from heliograph.watch import graph as room
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import LINK, NO_TIME, VIRTUALS
from tests.watch.graph_model import PROPERTIES, VERTICES, Edge, Model, check_pool, edges_of

ENDS = st.integers(0, VERTICES - 1)
EDGES = st.tuples(ENDS, st.integers(0, PROPERTIES - 1), ENDS)
CHANGES = st.sampled_from(("put", "put", "put", "drop", "drop", "enter", "leave", "remove", "list", "grow"))


@given(st.lists(st.tuples(CHANGES, EDGES), max_size=60))
def test_like_a_set(changes: list[tuple[str, Edge]]) -> None:
    model = Model()
    for change, edge in changes:
        getattr(model, change)(edge)
        assert model.flat.holds(*edge) == (edge in model.edges)
    model.check()


@given(st.lists(EDGES), st.lists(EDGES), st.booleans())
def test_dropping_what_was_put_restores(before: list[Edge], more: list[Edge], listed: bool) -> None:
    model = Model()
    if listed:
        model.flat.keep_adjacency()
    for edge in before:
        model.put(edge)
    for edge in set(more) - set(before):
        model.put(edge)
    for edge in sorted(set(more) - set(before)):
        model.drop(edge)
    assert model.edges == set(before)
    model.check()


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.booleans())
def test_hubs_that_grow_and_shrink(seed: int, late: bool) -> None:
    """Runs of one vertex pass powers of two up and down, in turns, so that blocks move, split and join."""
    rng = np.random.default_rng(seed)
    model = Model()
    for phase in range(6):
        if late == (phase > 2):
            model.flat.keep_adjacency()
        for hub in range(3):
            wanted = rng.permutation(70)[: rng.integers(0, 70)].tolist()
            for edge in sorted(model.edges):
                if edge[0] == hub and edge[2] not in wanted:
                    model.drop(edge)
            for end in wanted:
                model.put((hub, 0, end))
        model.check()


def test_lists_made_late_have_room_for_another_edge() -> None:
    """An update that replaces an edge may ask for lists before it adds one, when room is not asked for again."""
    for count in range(40):
        flat = FlatGraph()
        flat.load(np.arange(count), np.full(count, 100), np.arange(count) + count // 3)
        flat.keep_adjacency()
        assert not room.lacking(flat.arrays) & {"runs", "heads", "pool"}


def test_churn_takes_no_more_places() -> None:
    """Runs that pass a power of two to and fro find the places that they gave back."""
    flat = FlatGraph()
    flat.keep_adjacency()
    hubs, ends = np.repeat(np.arange(8), 64), np.tile(np.arange(64), 8)
    flat.load(hubs, np.full(512, 100), ends)
    flat.load([9, 9], [100, 100], [0, 1])
    before = flat.arrays.pool_end
    for turn in range(200):
        flat.put(turn % 8, 100, 64)
        flat.drop((turn + 4) % 8, 100, 64)
    assert flat.arrays.pool_end <= before + 8 * 128
    check_pool(flat.arrays)


def test_vertices_that_come_and_go_leave_no_runs_behind() -> None:
    flat = FlatGraph()
    flat.keep_adjacency()
    for turn in range(100):
        vertices = np.arange(turn * 50, turn * 50 + 50)
        flat.load(vertices, np.zeros(50), vertices + 1)
        flat.drop_edges(flat.edge_numbers())
    assert flat.arrays.run_count < 1000
    assert flat.arrays.idle_runs == flat.arrays.run_count
    assert len(flat.arrays.runs) < 1000


def test_many_edges_at_once() -> None:
    rng = np.random.default_rng(3)
    parts = rng.integers(0, [300, 10, 300], (20000, 3), np.int32)
    models = [Model(edges=set(map(tuple, parts.tolist()))) for _ in range(2)]
    models[0].flat.keep_adjacency()
    for model in models:
        model.flat.load(*parts.T)
    models[1].flat.keep_adjacency()
    for model in models:
        assert edges_of(model.flat, model.flat.edge_numbers()) == sorted(model.edges)
        check_pool(model.flat.arrays)
        gone = rng.permutation(model.flat.edge_numbers())[:10000]
        model.edges -= set(edges_of(model.flat, gone))
        model.flat.drop_edges(gone)
        model.flat.load(*parts[:100].T)
        model.edges |= set(map(tuple, parts[:100].tolist()))
        assert edges_of(model.flat, model.flat.edge_numbers()) == sorted(model.edges)
        check_pool(model.flat.arrays)
        for vertex in range(0, 300, 7):
            touching = [edge for edge in model.edges if vertex in (edge[0], edge[2])]
            assert edges_of(model.flat, model.flat.touching(vertex)) == sorted(touching)


def test_numbers_outlive_growth() -> None:
    flat = FlatGraph()
    first = flat.put(1, 2, 3)
    waited = flat.enter_edges(np.array([7]), np.array([8]), np.array([9]))
    flat.arrays.edges[waited, LINK] |= 2
    flat.load(np.arange(500), np.arange(500), np.arange(500))
    assert flat.find(1, 2, 3) == first
    assert flat.find(7, 8, 9) == -1
    assert flat.put(7, 8, 9) == waited[0]


def test_memory_by_edge() -> None:
    """What an edge costs, without room to grow and with lists of the edges of each vertex."""
    rng = np.random.default_rng(1)
    parts = rng.integers(0, [12000, 10, 12000], (10000, 3), np.int32)
    flat = FlatGraph()
    flat.reserve(edges=10000, vertices=12000)
    flat.load(*parts.T)
    assert flat.nbytes <= 30 * len(flat)
    flat.keep_adjacency()
    assert flat.nbytes <= 110 * len(flat)


# --- what is known of edges -------------------------------------------------------------------------------------


def test_weights_are_kept_once_there_are_some() -> None:
    flat = FlatGraph()
    flat.put(1, 2, 3)
    assert np.isnan(flat.saved().weight).all()
    flat.load([1, 1], [2, 2], [3, 4], weight=[0.5, np.nan])
    flat.load([1], [2], [3])
    weights = dict(zip(edges_of(flat, flat.edge_numbers()), flat.saved().weight.tolist(), strict=True))
    assert weights[1, 2, 3] == 0.5
    assert np.isnan(weights[1, 2, 4])
    flat.load(np.arange(100), np.arange(100), np.arange(100))
    assert np.nansum(flat.saved().weight) == 0.5


def test_a_number_used_again_has_nothing_of_its_former_edge() -> None:
    flat = FlatGraph(span=10)
    flat.load([1], [2], [3], weight=[0.5], at=[100], seq=[1])
    flat.drop(1, 2, 3)
    flat.put(4, 5, 6)
    saved = flat.saved()
    assert np.isnan(saved.weight[0])
    assert (saved.at[0], saved.seq[0], saved.number[0]) == (NO_TIME, NO_TIME, NO_TIME)


def test_virtual_properties_are_passed_over() -> None:
    for listed in (False, True):
        flat = FlatGraph()
        flat.set_virtual(50)
        if listed:
            flat.keep_adjacency()
        flat.load([1, 1, 1, 2], [7, 50, 49 + VIRTUALS, 50 + VIRTUALS], [2, 2, 2, 1])
        assert len(flat) == 2
        assert edges_of(flat, flat.edge_numbers()) == edges_of(flat, flat.touching(1)) == [(1, 7, 2), (2, 54, 1)]
        assert flat.holds(1, 50, 2)
        assert flat.saved().predicate.tolist() == [7, 54]


def test_saved_and_restored() -> None:
    flat = FlatGraph(span=100, last=5)
    flat.load([1, 2, 3], [9, 9, 9], [4, 5, 6], weight=[1.0, np.nan, 2.0], at=[30, NO_TIME, 20], seq=[1, 2, 3])
    flat.set_clocks(40, 7)
    again = FlatGraph(span=100, last=5)
    again.restore(flat.saved())
    again.set_clocks(flat.clock, flat.accepted)
    assert (again.clock, again.accepted) == (40, 7)
    for before, after in zip(flat.saved(), again.saved(), strict=True):
        np.testing.assert_array_equal(before, after)


def test_an_empty_graph() -> None:
    flat = FlatGraph()
    flat.load([], [], [])
    assert len(flat) == 0
    assert flat.clock is None
    assert flat.accepted == 0
    assert not flat.has_adjacency
    assert flat.touching(3).tolist() == []
    flat.keep_adjacency()
    assert flat.touching(3).tolist() == []
    assert all(len(column) == 0 for column in flat.saved())


def test_kernels_are_called_as_they_are_declared() -> None:
    """So nothing is compiled after a warm-up, whatever is handed over: lists, read-only arrays, other widths."""
    frozen = np.arange(20)[::2]
    frozen.flags.writeable = False
    for flat in (FlatGraph(), FlatGraph(span=5, last=5)):
        flat.load(frozen, frozen.tolist(), frozen.astype(np.int32), weight=frozen)
        flat.keep_adjacency()
        flat.restore(flat.saved())
        flat.enter_edges(frozen, frozen, frozen)
        flat.leave_edges(flat.enter_edges([40], [41], [42]))
        flat.grow()
        flat.drop_edges(flat.edge_numbers())
        assert len(flat) == 0
    ours = {name: entry for name, entry in declared().items() if ".watch.graph_kernels." in name}
    assert len(ours) == 9
    for name, entry in ours.items():
        assert set(entry.dispatcher.signatures) <= set(entry.signatures), name
