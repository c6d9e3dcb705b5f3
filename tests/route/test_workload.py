"""The generated exchange has the statistics of [B] table 1, and its expected deliveries are what the engine finds."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import UsageError
from heliograph.route import Route
from heliograph.workloads.route import accepted, draw_events, draw_targeting, exchange, generate_route, sizes


@pytest.fixture(scope="module")
def whole() -> Any:
    """The exchange at scale 1 as a networkx graph, with its sizes."""
    size = sizes(1.0)
    links = exchange(np.random.default_rng(7), size)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size.total))
    graph.add_edges_from(zip(links.source.tolist(), links.target.tolist(), strict=True))
    assert graph.number_of_edges() == len(links.source)  # no two edges with the same ends
    return graph, size


def test_counts_of_table_1(whole: Any) -> None:
    graph, size = whole
    assert (size.publishers, size.networks, size.advertisers) == (60_011, 282, 10_804)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (71_097, 87_799)
    publishers = [node for node in graph if graph.in_degree(node) == 0]
    advertisers = [node for node in graph if graph.out_degree(node) == 0]
    assert (len(publishers), len(advertisers)) == (60_011, 10_804)


def test_degrees_of_table_1(whole: Any) -> None:
    graph, size = whole
    networks = range(size.first_network, size.first_advertiser)
    advertisers = range(size.first_advertiser, size.total)
    mean_out = np.mean([graph.out_degree(node) for node in range(size.publishers)])
    assert mean_out == pytest.approx(1.3, abs=0.05)
    assert np.mean([graph.in_degree(node) for node in networks]) == pytest.approx(224.4, abs=0.05)
    assert np.mean([graph.out_degree(node) for node in networks]) == pytest.approx(42.1, abs=0.05)
    assert np.mean([graph.in_degree(node) for node in advertisers]) == pytest.approx(2.3, abs=0.05)
    straight = sum(source < size.publishers and target in advertisers for source, target in graph.edges)
    assert straight == pytest.approx(17_000, rel=0.01)


def test_components_of_table_1(whole: Any) -> None:
    graph, _ = whole
    components = sorted(map(len, nx.strongly_connected_components(graph)), reverse=True)
    assert len(components) == 70_969
    assert components[:3] == [126, 4, 1]


def test_reach_of_table_1(whole: Any) -> None:
    """Mean 4,802, greatest 5,998 and least 1, the publishers' own nodes not counted."""
    graph, size = whole
    core = nx.descendants(graph, size.first_network) | {size.first_network}  # the same for every network of the core
    outside = {node: nx.descendants(graph, node) | {node} for node in range(size.first_outside, size.first_advertiser)}
    inner = dict.fromkeys(range(size.first_network, size.first_outside), core) | outside
    sample = np.random.default_rng(1).integers(0, size.publishers, 1000).tolist()
    reach = [len(set().union(*(inner.get(node, {node}) for node in graph.adj[publisher]))) for publisher in sample]
    assert np.mean(reach) == pytest.approx(4_802, rel=0.02)
    assert max(reach) == pytest.approx(5_998, rel=0.02)
    assert min(reach) == 1


def test_a_larger_exchange_keeps_the_degrees() -> None:
    """[B] section 4.3: graphs up to five times bigger with the same average numbers of edges."""
    size = sizes(2.0)
    links = exchange(np.random.default_rng(7), size)
    assert len(links.source) == pytest.approx(2 * 87_799, rel=0.005)
    assert (size.networks, size.core) == (564, 252)


@pytest.mark.parametrize("selectivity", [1 / 16, 1 / 8, 1 / 4, 1 / 2])
def test_selectivity(selectivity: float) -> None:
    rng = np.random.default_rng(5)
    targeting = draw_targeting(rng, 2000, selectivity)
    share = np.mean([accepted(targeting, event).mean() for event in draw_events(rng, 200)])
    assert share == pytest.approx(selectivity, rel=0.1)
    assert set(np.diff(targeting.nodes).tolist()) == {2, 3}
    assert set(np.diff(targeting.conjunctions).tolist()) == {2, 3, 4}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.001, 0.01, 0.03]), st.sampled_from([1 / 16, 1 / 4, 1 / 2, 1.0]))
def test_the_engine_finds_what_is_expected(seed: int, scale: float, selectivity: float) -> None:
    tables = generate_route(seed, scale=scale, events=10, selectivity=selectivity)
    engine = Route(tables["nodes"], tables["edges"])
    found = engine.publish(tables["events"])
    assert found.table.equals(tables["expected"])
    assert len(engine.rejected) == len(found.rejected) == 0


def test_a_seed_gives_the_same_tables() -> None:
    one, two, other = (generate_route(seed, scale=0.01, events=5) for seed in (1, 1, 2))
    assert all(one[name].equals(two[name]) for name in one)
    assert not one["edges"].equals(other["edges"])


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([1 / 4, 1.0]))
def test_copies_stand_side_by_side(seed: int, copies: int, selectivity: float) -> None:
    """Each has the nodes of one; no edge leads from one to another; the engine finds what is expected."""
    tables = generate_route(seed, scale=0.01, copies=copies, events=10, selectivity=selectivity)
    ids = tables["nodes"]["node_id"].to_pylist()
    total = sizes(0.01).total
    assert len(set(ids)) == len(ids) == copies * total
    part = {id: number // total for number, id in enumerate(ids)}
    ends = (tables["edges"][name].to_pylist() for name in ("source", "target"))
    assert all(part[source] == part[target] for source, target in zip(*ends, strict=True))
    assert set(part.values()) == set(range(copies))
    assert Route(tables["nodes"], tables["edges"]).publish(tables["events"]).table.equals(tables["expected"])


def test_copies_keep_the_reach() -> None:
    one, several = (generate_route(3, scale=0.3, copies=copies, events=200, selectivity=1.0) for copies in (1, 4))
    assert several["expected"].num_rows == pytest.approx(one["expected"].num_rows, rel=0.15)
    assert several["edges"].num_rows == pytest.approx(4 * one["edges"].num_rows, rel=0.001)


def test_no_two_copies_are_alike() -> None:
    nodes = generate_route(3, scale=0.01, copies=2, events=0)["nodes"]["targeting"].to_pylist()
    one, other = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    assert [text is None for text in one] == [text is None for text in other]
    assert one != other


def test_no_events() -> None:
    tables = generate_route(1, scale=0.001, events=0)
    assert tables["expected"].num_rows == tables["events"].num_rows == 0
    assert tables["nodes"].schema == pa.schema({"node_id": pa.string(), "targeting": pa.string()})


@pytest.mark.parametrize(
    "options",
    [
        {"scale": 0},
        {"scale": -1},
        {"scale": 2000},
        {"copies": 0},
        {"copies": 2000},
        {"events": -1},
        {"selectivity": 0},
        {"selectivity": 1.5},
    ],
)
def test_wrong_options(options: Any) -> None:
    with pytest.raises(UsageError, match="HG-064"):
        generate_route(1, **options)
