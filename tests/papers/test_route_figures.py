"""[B]'s worked tables, step by step: figures 4, 7, 9 and 10.

The scans keep the tables, sentences and labels of the figures, but not the edges that were drawn: those below are
reconstructed (as in tests/seeds/test_route_seed.py) so that every set and every sentence comes out. The plain twin
shows the sets after each call of the index; the kernels' counters and results must be the twin's.
"""

from __future__ import annotations

import numpy as np
import pytest

from heliograph.papers import route as layout
from tests import naive_route
from tests.naive_route import Case, Link, Run, Step
from tests.papers.route_cases import EVERY, Arc, Exchange, check_like_twin

NOTHING: frozenset[int] = frozenset()


def exchange(edges: dict[int, str], valid: set[int], start: int) -> Exchange:
    """Nodes 0 … 8, of which the valid ones accept the event. The start's own targeting is not tested."""
    accepts = [EVERY if node in valid or node == start else NOTHING for node in range(9)]
    return Exchange(accepts, [Arc(source, int(target)) for source, targets in edges.items() for target in targets])


def case(edges: dict[int, str], valid: set[int], components: tuple[int, ...] = ()) -> Case:
    """The graph as it is drawn, under the drawing's own ids."""
    return Case([[Link(int(target)) for target in edges.get(node, "")] for node in range(9)], valid, components)


def table(run: Run) -> list[tuple[int, set[int], set[int], set[int]]]:
    return [(step.node, set(step.valid), set(step.reachable), set(step.result)) for step in run.steps]


# --- figure 4: a DAG; 0's children and those of 5 and 6 follow from the growth of N_R ---------------------------------

EDGES_4 = {0: "145", 1: "23", 4: "7", 5: "67", 6: "8", 7: "8"}
VALID_4 = {2, 3, 5, 6, 8}


def test_figure_4() -> None:
    assert table(naive_route.dag(case(EDGES_4, VALID_4), 0)) == [
        (0, set(), {1, 4, 5}, set()),
        (2, {2}, {1, 4, 5}, set()),
        (3, {2, 3}, {1, 4, 5}, set()),
        (5, {2, 3, 5}, {1, 4, 5, 6, 7}, {5}),
        (6, {2, 3, 5, 6}, {1, 4, 5, 6, 7, 8}, {5, 6}),
        (8, {2, 3, 5, 6, 8}, {1, 4, 5, 6, 7, 8}, {5, 6, 8}),
    ]


def test_figure_4_with_skipping() -> None:
    """ "we can avoid retrieving node 3 from the index completely (for n = 2, variable skip will be set to 4)" """
    run = naive_route.dag_skip(case(EDGES_4, VALID_4), 0)
    assert [step.node for step in run.steps] == [0, 2, 5, 6, 8]
    assert run.skipped == 1
    assert run.result == {5, 6, 8}


@pytest.mark.parametrize("name", naive_route.ALGORITHMS)
def test_figure_4_in_kernels(name: str) -> None:
    counters = check_like_twin(exchange(EDGES_4, VALID_4, 0), name, [0], results=[[5, 6, 8]])
    calls = {"dag": 6, "dag-skip": 4, "general": 6, "scc-skip": 5, "index-bfs": 6, "bfs": 0}
    assert counters[0, layout.CALLS] == calls[name]


# --- figure 7: any graph, ids at random -----------------------------------------------------------------------------

EDGES_7 = {3: "478", 4: "2", 2: "5", 5: "6", 6: "57", 7: "0", 8: "01", 1: "8", 0: "8"}
VALID_7 = {1, 2, 5, 6, 8}


def test_figure_7() -> None:
    assert table(naive_route.general(case(EDGES_7, VALID_7), 3)) == [
        (3, set(), {4, 7, 8}, set()),
        (1, {1}, {4, 7, 8}, set()),
        (2, {1, 2}, {4, 7, 8}, set()),
        (5, {1, 2, 5}, {4, 7, 8}, set()),
        (6, {1, 2, 5, 6}, {4, 7, 8}, set()),
        (8, {1, 2, 5, 6, 8}, {0, 1, 4, 7, 8}, {1, 8}),
    ]


def test_figure_7_calls_update_path_recursively_once() -> None:
    """ "Since node 1 is already valid, updatePath is called recursively" """
    run = naive_route.general(case(EDGES_7, VALID_7), 3)
    assert (run.updates, run.recursive, run.first) == (2, 1, 5)


@pytest.mark.parametrize("name", ["general", "scc-skip", "index-bfs", "bfs"])
@pytest.mark.parametrize("order", ["numbered", "breadth-first"])
def test_figure_7_in_kernels(name: str, order: str) -> None:
    check_like_twin(exchange(EDGES_7, VALID_7, 3), name, [3], results=[[1, 8]], order=order)


# --- figure 9: the same graph under ids component.node --------------------------------------------------------------

# 8, 1, 0 are 5.1, 5.2, 5.3; the invalid 4 and 7 are 1.1 and 4.1; 2, 5, 6 are 2.1, 3.1, 3.2.
NAMES_9 = ("0.0", "1.1", "2.1", "3.1", "3.2", "4.1", "5.1", "5.2", "5.3")
NODES_9 = (3, 4, 2, 5, 6, 7, 8, 1, 0)
COMPONENTS_9 = tuple(int(name[0]) for name in NAMES_9)
EDGES_9 = {
    NODES_9.index(source): "".join(str(NODES_9.index(int(target))) for target in targets)
    for source, targets in EDGES_7.items()
}
VALID_9 = {NODES_9.index(node) for node in VALID_7}


def names(ids: frozenset[int]) -> str:
    return " ".join(NAMES_9[id] for id in sorted(ids))


def row(step: Step) -> tuple[str, str, str, str, str]:
    components = sorted({NAMES_9[id][0] for id in step.reachable})
    return NAMES_9[step.node], names(step.valid), names(step.reachable), " ".join(components), names(step.result)


def test_figure_9() -> None:
    run = naive_route.scc_skip(case(EDGES_9, VALID_9, COMPONENTS_9), 0)
    assert [row(step) for step in run.steps] == [
        ("0.0", "", "1.1 4.1 5.1", "1 4 5", ""),
        ("2.1", "", "1.1 4.1 5.1", "1 4 5", ""),
        ("5.1", "5.1", "1.1 4.1 5.1 5.2 5.3", "1 4 5", "5.1"),
        ("5.2", "5.1 5.2", "1.1 4.1 5.1 5.2 5.3", "1 4 5", "5.1 5.2"),
    ]


def test_figure_9_skips_3_1_and_3_2() -> None:
    """ "This allows us to completely skip over nodes 3.1 and 3.2"; the first skip leaves out 0.0"""
    assert naive_route.scc_skip(case(EDGES_9, VALID_9, COMPONENTS_9), 0).skipped == 1 + 2


def test_figure_9_in_kernels() -> None:
    counters = check_like_twin(exchange(EDGES_9, VALID_9, 0), "scc-skip", [0], results=[[6, 7]])
    assert counters[0, layout.SKIPPED] == 1 + 2
    assert counters[0, layout.RETURNED] == 3


# --- figure 10: m nodes in one component ----------------------------------------------------------------------------


def ring(m: int, *, worst: bool) -> Exchange:
    """1.1 … 1.m in a cycle that the start enters; its last node is invalid: 1.1 at worst, 1.m at best."""
    order = list(range(m, 0, -1) if worst else range(1, m + 1))
    accepts = [EVERY] + [NOTHING if id == order[-1] else EVERY for id in range(1, m + 1)]
    arcs = [Arc(0, order[0]), *(Arc(a, b) for a, b in zip(order, [*order[1:], order[0]], strict=True))]
    return Exchange(accepts, arcs)


@pytest.mark.parametrize("m", [2, 3, 10, 1500])
def test_figure_10_a(m: int) -> None:
    """ "we must retrieve m − 1 nodes from the index before emitting the first query result", and all but it come
    by recursion: as deep as the ring is long."""
    counters = check_like_twin(ring(m, worst=True), "scc-skip", [0], results=[list(range(2, m + 1))])
    assert counters[0, layout.FIRST] == m - 1
    assert counters[0, layout.RECURSIVE] == m - 2


@pytest.mark.parametrize("m", [2, 3, 10, 1500])
def test_figure_10_b(m: int) -> None:
    """ "With these new ids no recursive call to updatePath is needed." """
    counters = check_like_twin(ring(m, worst=False), "scc-skip", [0], results=[list(range(1, m))])
    assert counters[0, layout.FIRST] == 1
    assert counters[0, layout.RECURSIVE] == 0


@pytest.mark.parametrize("m", [3, 10, 1500])
def test_breadth_first_order_makes_the_worst_ring_the_best(m: int) -> None:
    """ "simply label the nodes in order discovered by running breadth-first search from s" """
    counters = check_like_twin(
        ring(m, worst=True), "scc-skip", [0], results=[list(range(2, m + 1))], order="breadth-first"
    )
    assert counters[0, layout.FIRST] == 1
    assert counters[0, layout.RECURSIVE] == 0


def test_an_order_suits_one_event_and_not_another() -> None:
    """ "there is no universally optimal assignment": two starts enter a ring of six at opposite ends."""
    arcs = [Arc(6, 0), Arc(7, 3), *(Arc(node, (node + 1) % 6) for node in range(6))]
    both = Exchange([NOTHING if node == 2 else EVERY for node in range(8)], arcs)
    counters = check_like_twin(both, "scc-skip", [6, 7], results=[[0, 1], [0, 1, 3, 4, 5]])
    assert np.array_equal(counters[:, layout.RECURSIVE], [0, 2])
