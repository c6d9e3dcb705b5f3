"""The seed's route algorithms: all agree with networkx and with their plain twins; the theorems of [B] hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import UsageError
from heliograph.papers import route as layout
from heliograph.papers import route as route_seed
from heliograph.papers.route import ALGORITHMS, ORDERS, Routed, SeedExchange, build_index
from heliograph.predicate.attributes import encode
from heliograph.predicate.compile import NOTHING_SLOW, Room, Targeting
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import Predicate, to_sql
from heliograph.predicate.layout import Int32s
from heliograph.route.exchange import Version
from heliograph.route.numbering import number_nodes
from heliograph.route.read import Edge, Node
from heliograph.route.strategy import MATCHES
from heliograph.workloads.route import generate_route
from tests.papers.route_cases import EVERY, Arc, Exchange, check_like_twin, numbered_events
from tests.predicate.forms import events as drawn_events
from tests.predicate.forms import forms
from tests.route.exchange_worlds import Exchange as Store
from tests.route.exchange_worlds import World, changes

ANY_GRAPH = ("general", "scc-skip", "index-bfs", "bfs")
EVENTS = 3
accepting = st.one_of(st.none(), st.frozensets(st.integers(0, EVENTS - 1)))


# --- generated exchanges --------------------------------------------------------------------------------------------


@st.composite
def exchanges(draw: Any) -> Exchange:
    """Up to three blocks side by side, each a DAG, a ring with chords or anything, and edges from block to block."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    pairs: list[tuple[int, int]] = []
    first = 0
    for size in sizes:
        pairs += [(first + a, first + b) for a, b in draw(_block(size))]
        first += size
    count = sum(sizes)
    ends = st.integers(0, count - 1)
    onward = draw(st.lists(st.tuples(ends, ends), max_size=4))
    pairs += [(min(pair), max(pair)) for pair in onward]
    arcs = [Arc(a, b, draw(accepting)) for a, b in pairs]
    names = draw(st.permutations(range(count)))
    arcs = [Arc(names[arc.source], names[arc.target], arc.accepts) for arc in arcs]
    return Exchange([draw(accepting) for _ in range(count)], arcs)


def _block(size: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    ends = st.integers(0, size - 1)
    pairs = st.lists(st.tuples(ends, ends), max_size=12)
    dag = pairs.map(lambda drawn: [(min(pair), max(pair)) for pair in drawn if pair[0] != pair[1]])
    ring = pairs.map(lambda drawn: [*drawn, *((node, (node + 1) % size) for node in range(size))])
    return st.one_of(dag, ring, pairs)


starts = st.lists(st.integers(0, 6), min_size=EVENTS, max_size=EVENTS)


@given(exchanges(), starts, st.sampled_from(ORDERS))
@settings(max_examples=70)
def test_all_algorithms_agree_with_networkx_and_work_as_their_twins(
    exchange: Exchange, starts: list[int], order: str
) -> None:
    starts = [start % len(exchange.accepts) for start in starts]
    results = [exchange.reached(event, start) for event, start in enumerate(starts)]
    names = ALGORITHMS if is_dag(exchange) else ANY_GRAPH
    counters = {name: check_like_twin(exchange, name, starts, results=results, order=order) for name in names}
    check_theorems(exchange, starts, results, counters)


def is_dag(exchange: Exchange) -> bool:
    return bool(nx.is_directed_acyclic_graph(nx.DiGraph([(arc.source, arc.target) for arc in exchange.arcs])))


def check_theorems(
    exchange: Exchange,
    starts: Sequence[int],
    results: Sequence[list[int]],
    counters: dict[str, npt.NDArray[np.int64]],
) -> None:
    """Section 3.4: edges examined, the bound on the whole, and that updatePath is called once for each result."""
    out = np.bincount([arc.source for arc in exchange.arcs], minlength=len(exchange.accepts))
    for event, (start, result) in enumerate(zip(starts, results, strict=True)):
        examined = out[start] + out[[node for node in result if node != start]].sum()
        valid = counters["index-bfs"][event, layout.RETURNED]
        for name, table in counters.items():
            row = table[event]
            assert row[layout.EDGES] == examined == counters["bfs"][event, layout.EDGES]
            assert row[layout.RETURNED] + row[layout.EDGES] <= valid + examined
            assert row[layout.CALLS] <= valid + 1
            if name in ("general", "scc-skip"):
                assert row[layout.UPDATES] == len(result)
        assert counters["scc-skip"][event, layout.CALLS] <= counters["general"][event, layout.CALLS]
        if result:
            assert counters["scc-skip"][event, layout.FIRST] <= counters["general"][event, layout.FIRST]
            assert counters["index-bfs"][event, layout.FIRST] == valid + 1


@given(exchanges(), st.sampled_from(ORDERS))
def test_ids_follow_the_components(exchange: Exchange, order: str) -> None:
    """Invariant 2, with the components that networkx finds."""
    seed = exchange.seed(order)
    ids, graph = seed.numbered.ids, seed.numbered.graph
    whole = nx.DiGraph([(arc.source, arc.target) for arc in exchange.arcs])
    whole.add_nodes_from(range(len(exchange.accepts)))
    for members in nx.strongly_connected_components(whole):
        assert len({graph.components[ids[node]] for node in members}) == 1
        assert max(ids[list(members)]) - min(ids[list(members)]) == len(members) - 1
    assert all(graph.components[ids[arc.source]] <= graph.components[ids[arc.target]] for arc in exchange.arcs)
    assert seed.cyclic is not is_dag(exchange)


# --- chosen shapes --------------------------------------------------------------------------------------------------


def test_self_loops_and_parallel_edges() -> None:
    """The start comes back to itself over a loop; of two parallel edges one is enough."""
    none, first = frozenset[int](), frozenset([0])
    exchange = Exchange([first, EVERY, none], [Arc(0, 0), Arc(0, 1, none), Arc(0, 1, first), Arc(1, 1), Arc(1, 2)])
    for name in ANY_GRAPH:
        counters = check_like_twin(exchange, name, [0], results=[[0, 1]])
        assert counters[0, layout.EDGES] == 5


def test_a_start_is_tested_only_if_a_path_leads_back() -> None:
    none = frozenset[int]()
    ring = Exchange([none, EVERY], [Arc(0, 1), Arc(1, 0)])
    for name in ANY_GRAPH:
        check_like_twin(ring, name, [0], results=[[1]])
        check_like_twin(Exchange([EVERY, EVERY], ring.arcs), name, [0], results=[[0, 1]])


def test_node_0_is_a_node() -> None:
    """Mend 1: printed, getNextEntity's 0 ends the loop."""
    exchange = Exchange([EVERY, EVERY, EVERY], [Arc(1, 0), Arc(0, 1), Arc(1, 2)])
    for name in ANY_GRAPH:
        check_like_twin(exchange, name, [2, 1], results=[[], [0, 1, 2]])


def test_an_exchange_without_edges() -> None:
    for name in ALGORITHMS:
        check_like_twin(Exchange([EVERY, EVERY], []), name, [1], results=[[]])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_long_chains(reverse: bool, closed: bool) -> None:
    """100,000 nodes in a row, or in a ring with ids against its direction: no recursion, nothing quadratic."""
    count = 100_000
    line = list(range(count, -1, -1) if reverse else range(count + 1))
    arcs = [Arc(a, b) for a, b in pairwise(line)] + ([Arc(line[-1], line[1])] if closed else [])
    exchange = Exchange([EVERY] * (count + 1), arcs)
    graph, targeting, compiled = exchange.compile()
    seed = SeedExchange(graph, compiled)
    job = numbered_events(targeting, compiled, 1)
    for name in ANY_GRAPH if closed else ALGORITHMS:
        found = seed.route(job, np.array(line[:1], np.int32), name)
        assert np.array_equal(found.of(0), sorted(line[1:]))
        assert found.counters[0, layout.EDGES] == len(arcs)
        assert found.counters[0, layout.CALLS] <= count + 1


# --- wrong use ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arcs", [[Arc(0, 1), Arc(1, 0)], [Arc(0, 1), Arc(1, 1)]])
@pytest.mark.parametrize("name", ["dag", "dag-skip"])
def test_an_exchange_with_a_cycle_has_no_topological_order(arcs: list[Arc], name: str) -> None:
    with pytest.raises(UsageError, match="needs its nodes in topological order; use general or scc-skip") as error:
        check_like_twin(Exchange([EVERY, EVERY], arcs), name, [0], results=[[]])
    assert error.value.code == "HG-066"


def test_unknown_names() -> None:
    exchange = Exchange([EVERY], [])
    with pytest.raises(UsageError, match="no algorithm is called 'dfs'; write one of dag, dag-skip") as error:
        check_like_twin(exchange, "dfs", [0], results=[[]])
    assert error.value.code == "HG-045"
    with pytest.raises(UsageError, match="'random'; write one of numbered, breadth-first") as error:
        exchange.seed("random")
    assert error.value.code == "HG-031"


# --- the index ------------------------------------------------------------------------------------------------------


def star(texts: Sequence[str | None], given: Sequence[dict[str, Any]]) -> Routed:
    """All nodes that accept each event, straight from a publisher, by all algorithms alike."""
    names = [f"n{number}" for number in range(len(texts))]
    store = Store()
    store.put_nodes([Node(name, text=text) for name, text in zip(names, texts, strict=True)])
    store.put_edges([Edge("p", name) for name in names])
    version = store.current
    found = route_all(version, given, np.full(len(given), version.number("p"), np.int32))
    order = version.numbers(pa.array(names))
    place = {number: row for row, number in enumerate(order.tolist())}
    return found._replace(nodes=np.array([place[number] for number in found.nodes.tolist()], np.int32))


def route_all(version: Version, given: Sequence[dict[str, Any]], starts: Int32s) -> Routed:
    """What general finds; the other algorithms must find the same."""
    targeting = version.targeting
    compiled = targeting.compiled(version.programs)
    cells = encode(targeting.names, pa.array([json.dumps(event) for event in given], pa.string())).cells
    slow = targeting.slow_truth(list(given)) if targeting.slow else NOTHING_SLOW
    job = Room().job(targeting, compiled, cells, slow)
    seed = SeedExchange.of_version(version)
    found = seed.route(job, starts, "general")
    for name in ALGORITHMS if not seed.cyclic else ANY_GRAPH:
        other = seed.route(job, starts, name)
        assert np.array_equal(other.offsets, found.offsets)
        assert np.array_equal(other.nodes, found.nodes)
    return found


def is_text(form: Predicate) -> bool:
    """Columns of text hold no lone surrogates."""
    return "\ud800" not in to_sql(form)


@given(st.lists(forms.filter(is_text), min_size=1, max_size=8), st.lists(drawn_events, min_size=1, max_size=4))
@settings(max_examples=70)
def test_the_index_finds_every_node_that_accepts(drawn: list[Predicate], given: list[dict[str, Any]]) -> None:
    """Whatever the expressions are made of, and whatever an event holds: lists, odd integers, nothing."""
    found = star([to_sql(form) for form in drawn], given)
    for number, event in enumerate(given):
        accepting = {row for row, form in enumerate(drawn) if accepts(form, Attributes(event))}
        assert set(found.of(number).tolist()) == accepting


def count_tested(texts: Sequence[str | None], event: dict[str, Any]) -> int:
    return int(star(texts, [event]).counters[0, layout.TESTED])


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("x = {}", {"x": 50}),
        ("x BETWEEN {} AND {}", {"x": 50}),
        ("name = 'n{}' AND x >= 0", {"x": 1, "name": "n50"}),
        ("x >= 0 AND (name IN ('n{}') OR name = 'm{}')", {"x": 1, "name": "n50"}),
        ("a{} > 3", {"a50": 4}),
        ("NOT a{} LIKE 'b%'", {"a50": "c"}),
        ("a{} <> 3 OR a{} IS NOT NULL", {"a50": 4}),
        ("x IN ({}, 1000) AND y IS NULL", {"x": 50}),
    ],
)
def test_few_candidates_are_verified(text: str, event: dict[str, Any]) -> None:
    """One of a hundred expressions is true; the lists lead to it alone."""
    texts = [text.replace("{}", str(number)) for number in range(100)]
    assert count_tested(texts, event) == 1


def test_one_sided_ranges_are_found_by_stabbing() -> None:
    assert count_tested([f"x >= {number}" for number in range(100)], {"x": 9}) == 10
    assert count_tested([f"x < {number}" for number in range(100)], {"x": 9}) == 90
    assert count_tested([f"x >= {number}" for number in range(100)], {"x": [9, 19]}) == 20


def test_what_cannot_be_listed_is_a_candidate_of_every_event() -> None:
    assert count_tested([f"a{number} IS NULL" for number in range(100)], {"x": 1}) == 100
    assert count_tested(["x = 1 OR y IS NULL", "x = 1 AND y IS NULL"], {"x": 2}) == 1


def test_an_expression_is_listed_under_few_tests() -> None:
    """Its disjunctive normal form would have 2^30 conjunctions; two tests are enough to list it."""
    text = " AND ".join(f"(a{number} = 1 OR b{number} = 1)" for number in range(30))
    assert count_tested([text] * 3, {"a0": 2}) == 0
    store = Targeting()
    number = store.add_many([text])[0]
    assert isinstance(number, int)
    index = build_index(
        store.snapshot(), store.names.snapshot().word_attributes, np.array([number], np.int32), np.array([True])
    )
    assert len(np.unique(index.stretches.offsets)) == 2 + 1


@pytest.mark.parametrize("match", ["superset", "subset", "intersects"])
def test_label_sets(match: str) -> None:
    """The seed's own match functions, over all subsets of three labels."""
    sets = [frozenset(letter for letter in "ABC" if bits >> "ABC".index(letter) & 1) for bits in range(8)]
    store = Store(match)
    store.put_nodes([Node(f"n{number}", labels=labels) for number, labels in enumerate(sets)])
    store.put_edges([Edge("p", f"n{number}") for number in range(8)])
    version = store.current
    compiled = version.targeting.compiled(version.programs)
    texts = pa.array([json.dumps({"labels": sorted(labels)}) for labels in sets], pa.string())
    cells = encode(version.targeting.names, texts, labels=True).cells
    job = Room().job(version.targeting, compiled, cells, NOTHING_SLOW)
    starts = np.full(8, version.number("p"), np.int32)
    for name in ALGORITHMS:
        found = SeedExchange.of_version(version).route(job, starts, name)
        for event, labels in enumerate(sets):
            expected = [f"n{number}" for number, own in enumerate(sets) if MATCHES[match](own, labels)]
            assert set(version.names(found.of(event)).to_pylist()) == set(expected)


# --- versions and batches -------------------------------------------------------------------------------------------


@given(st.lists(changes, min_size=1, max_size=8))
@settings(max_examples=60)
def test_every_version_of_a_changing_exchange(drawn: list[tuple[str, Any]]) -> None:
    """Replaced, removed and refused nodes, dead edges, components that merged: as a plain walk sees them."""
    world = World()
    given: list[dict[str, Any]] = [{"x": 1, "z": 1}, {"x": 3}, {"y": "a", "z": 0}]
    for kind, what in drawn:
        world.change(kind, what)
        with world.store.reading() as version:
            numbers = version.node_numbers().tolist()
            for start in numbers:
                found = route_all(version, given, np.full(len(given), start, np.int32))
                for event, tree in enumerate(given):
                    assert found.of(event).tolist() == walk(version, start, Attributes(tree))


def walk(version: Version, start: int, event: Attributes) -> list[int]:
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        for edge in map(version.edge, version.out_numbers(waiting.pop())):
            target = version.number(edge.target)
            node = version.node(target)
            refused = node.refused or not accepts(node.targeting, event)
            if target not in reached and not refused and accepts(edge.targeting, event):
                reached.add(target)
                waiting.append(target)
    return sorted(reached)


def test_a_version_stays_as_it_was_while_it_is_read() -> None:
    store = Store()
    store.put_edges([Edge("p", "a"), Edge("p", "b")])
    with store.reading() as before:
        store.put_nodes([Node("a", text="x = 2")])
        store.drop_edges(before.between_numbers(before.number("p"), before.number("b")))
        for version, expected in ((before, {"a", "b"}), (store.current, set())):
            found = route_all(version, [{"x": 1}], np.array([version.number("p")], np.int32))
            assert set(version.names(found.of(0)).to_pylist()) == expected


def test_many_events_in_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards of 64 events, and room for the results of few: an event that did not fit is routed again."""
    count, nodes = 150, 40
    accepts = [frozenset(event for event in range(count) if event % (node + 1)) for node in range(nodes)]
    exchange = Exchange(accepts, [Arc(0, node) for node in range(nodes)], count)
    starts = [0 if event % 7 else -1 for event in range(count)]
    expected = [exchange.reached(event, 0) if starts[event] == 0 else [] for event in range(count)]
    graph, targeting, compiled = exchange.compile()
    job = numbered_events(targeting, compiled, count)
    for room in (1, 1 << 20):
        monkeypatch.setattr(route_seed, "_RESULTS_AT_ONCE", room)
        for name in ANY_GRAPH:
            found = SeedExchange(graph, compiled).route(job, np.array(starts, np.int32), name)
            assert [found.of(event).tolist() for event in range(count)] == expected
            assert (found.counters[::7, layout.EDGES] == 0).all()


@pytest.mark.parametrize("selectivity", [0.0625, 0.5, 1.0])
def test_the_advertising_exchange(selectivity: float) -> None:
    """Everybody reaches whom the workload's construction says."""
    tables = generate_route(3, scale=0.02, events=40, selectivity=selectivity)
    store = Store()
    store.put_nodes([Node(row["node_id"], text=row["targeting"]) for row in tables["nodes"].to_pylist()])
    store.put_edges([Edge(row["source"], row["target"]) for row in tables["edges"].to_pylist()])
    version = store.current
    given = [json.loads(row["attributes"]) for row in tables["events"].to_pylist()]
    found = route_all(version, given, version.numbers(tables["events"]["publisher"].combine_chunks()))
    names = version.names(found.nodes).to_pylist()
    events = np.repeat(np.arange(len(given)), np.diff(found.offsets)).tolist()
    expected = tables["expected"]
    wanted = zip(expected["publication_id"].to_pylist(), expected["subscription_id"].to_pylist(), strict=True)
    assert {(f"event{event}", name) for event, name in zip(events, names, strict=True)} == set(wanted)


def test_the_exchanges_own_numbers_serve_where_they_can() -> None:
    exchange = Exchange([EVERY] * 5, [Arc(0, 1), Arc(1, 2), Arc(2, 1), Arc(2, 3), Arc(0, 4)])
    assert exchange.seed().numbered.same
    assert number_nodes(5, np.array([0, 1, 2, 2, 0], np.int32), np.array([1, 2, 1, 3, 4], np.int32)).components[4] != 4
    down = Exchange([EVERY] * 3, [Arc(2, 0), Arc(0, 1)])
    assert not down.seed().numbered.same
