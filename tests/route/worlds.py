"""Generated worlds: exchanges of every shape with any targeting on nodes and edges, batches of any events, and what is
to be answered.

Hypothesis draws the targeting, the attributes and the shape; which of them goes where follows from a drawn seed, so
that large worlds are drawn quickly.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from heliograph.model import Notifications
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import to_sql
from heliograph.predicate.parser import parse_predicate
from heliograph.route import Route
from heliograph.route.strategy import MATCHES, SEEDS, Strategy, strategy
from tests.predicate import forms

Tree = dict[str, Any]
Row = dict[str, Any]
Ends = list[tuple[int, int]]

# Strategies that live as long as the process: their rooms go from world to world.
WAYS: dict[str, Strategy] = {name: strategy(name) for name in ("walk", "lanes", *SEEDS)}
NEED_ORDER = ("dag", "dag-skip")
COSTS = (None, 0.0, 0.25, 1.0, 2.5, 1e300)
LABELS = ("A", "B", "C")
STRANGER = "nobody"


@dataclass(frozen=True)
class World:
    """An exchange, and whose events with which attributes come."""

    nodes: list[Row]
    edges: list[Row]
    trees: list[Tree]
    match: str | None = None

    def engine(self, algorithm: str = "walk") -> Route:
        return Route(self.nodes, self.edges, match=self.match, algorithm=algorithm)

    @property
    def names(self) -> list[str]:
        """All nodes: the listed ones, then the ends of edges."""
        ends = [edge[end] for edge in self.edges for end in ("source", "target")]
        return list(dict.fromkeys([node["node_id"] for node in self.nodes] + ends))

    def batch(self, size: int, seed: int = 0) -> list[Row]:
        """So many events: of publishers known and unknown, some of them alike."""
        chance = random.Random(seed)
        publishers = [*self.names, STRANGER]
        pairs = [(chance.choice(publishers), chance.choice(self.trees)) for _ in range(size)]
        return [event(publisher, tree, str(number)) for number, (publisher, tree) in enumerate(pairs)]

    def accepts(self, row: Row, tree: Tree) -> bool:
        """Whether a node or an edge accepts an event, by its own row."""
        if self.match is not None and "node_id" in row:
            return MATCHES[self.match](frozenset(row.get("labels") or ()), frozenset(tree.get("labels") or ()))
        return accepts(parse_predicate(row["targeting"]), Attributes(tree))

    def valid_graph(self, publisher: str, tree: Tree) -> Any:
        """What of the exchange accepts an event, for networkx; leaving the start and entering it are two nodes."""
        rows = {node["node_id"]: node for node in self.nodes}
        open_nodes = {name for name in self.names if self.accepts(rows.get(name) or loose(name), tree)}
        graph = nx.DiGraph()
        graph.add_node("the start")
        for edge in self.edges:
            if edge["target"] in open_nodes and self.accepts(edge, tree):
                weight = cost_of(edge, 1.0) + cost_of(rows.get(edge["target"]), 0.0)
                for source in [edge["source"], *(["the start"] if edge["source"] == publisher else [])]:
                    known = graph.get_edge_data(source, edge["target"], {"weight": float("inf")})["weight"]
                    graph.add_edge(source, edge["target"], weight=min(weight, known))
        return graph


def event(publisher: str, tree: Tree, id: str = "e") -> Row:
    return {"event_id": id, "publisher": publisher, "attributes": json.dumps(tree)}


def loose(name: str) -> Row:
    """The row that an end of an edge has none of."""
    return {"node_id": name, "targeting": None, "cost": None}


def cost_of(row: Row | None, default: float) -> float:
    value = None if row is None else row["cost"]
    return default if value is None else float(value)


# --- shapes: pairs of node numbers --------------------------------------------------------------------------------


def _chain(chance: random.Random, size: int) -> Ends:
    return [(node, node + 1) for node in range(size - 1)]


def _dag(chance: random.Random, size: int) -> Ends:
    pairs = [sorted((chance.randrange(size), chance.randrange(size))) for _ in range(2 * size)]
    return [(first, last) for first, last in pairs if first != last]


def _ring(chance: random.Random, size: int) -> Ends:
    """One component, with chords."""
    chords = [(chance.randrange(size), chance.randrange(size)) for _ in range(size // 2)]
    return [*((node, (node + 1) % size) for node in range(size)), *chords]


def _nested(chance: random.Random, size: int) -> Ends:
    """Rings that share nodes, and such ones one after the other, joined one way."""
    ends: Ends = []
    first = 0
    while first < size:
        last = min(size, first + chance.randrange(1, 7))
        ends += [(node, node + 1) for node in range(first, last - 1)]
        ends += [(chance.randrange(first, last), chance.randrange(first, last)) for _ in range(last - first)]
        if last < size:
            ends.append((chance.randrange(first, last), chance.randrange(last, size)))
        first = last
    return ends


def _loops(chance: random.Random, size: int) -> Ends:
    """Self-loops and parallel edges."""
    ends = _dag(chance, size)
    return ends + ends[: size // 2] + [(node, node) for node in range(0, size, 2)]


def _anything(chance: random.Random, size: int) -> Ends:
    return [
        (chance.randrange(size), chance.randrange(size)) for _ in range(chance.randrange(size // 2 + 1, 3 * size + 1))
    ]


def _parts(chance: random.Random, size: int) -> Ends:
    """Two parts that do not reach each other."""
    half = max(size // 2, 1)
    return _ring(chance, half) + [(half + first, half + last) for first, last in _dag(chance, half)]


SHAPES: Sequence[Callable[[random.Random, int], Ends]] = (_chain, _dag, _ring, _nested, _loops, _anything, _parts)

# --- strategies -----------------------------------------------------------------------------------------------------


def _can_be_stored(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character < "\ue000" for character in text)


targetings = forms.forms.map(to_sql).filter(_can_be_stored)
label_sets = st.lists(st.sampled_from(LABELS), unique=True, max_size=3)


@st.composite
def worlds(draw: st.DrawFn, match: str | None = None, most: int = 14, trees: Any = forms.events) -> World:
    """A world of at most so many nodes, some of them listed."""
    texts = [None, None, *draw(st.lists(targetings, min_size=1, max_size=6))]
    several = draw(st.lists(trees, min_size=1, max_size=6))
    shape, size = draw(st.sampled_from(SHAPES)), draw(st.integers(1, most))
    world = build(shape, size, texts, several, draw(st.integers(0, 2**32)))
    if match is None:
        return world
    labels = draw(st.lists(label_sets, min_size=1, max_size=4))
    nodes = [{**node, "labels": labels[place % len(labels)]} for place, node in enumerate(world.nodes)]
    told = [{**tree, "labels": draw(label_sets)} for tree in several]
    return replace(world, nodes=nodes, trees=[*told, {}], match=match)


def build(
    shape: Callable[[random.Random, int], Ends], size: int, texts: Sequence[str | None], trees: list[Tree], seed: int
) -> World:
    """A world of this shape, the rest by chance: who is listed, under what targeting, in what order."""
    chance = random.Random(seed)
    ids = [f"n{number}" for number in range(2 * size)]
    chance.shuffle(ids)

    def row(**parts: Any) -> Row:
        return {**parts, "targeting": chance.choice(texts), "cost": chance.choice(COSTS)}

    nodes = [row(node_id=id) for id in chance.sample(ids[:size], chance.randrange(size + 1))]
    edges = [row(source=ids[first], target=ids[last]) for first, last in shape(chance, size)]
    edges = edges or [row(source=ids[0], target=ids[0])]
    chance.shuffle(edges)
    return World(nodes, edges, trees)


@st.composite
def changes(draw: st.DrawFn, world: World) -> tuple[str, Any]:
    """One change of an engine of the world: its name and what to call the engine's method of that name with."""
    names = st.sampled_from([*world.names, "late", "later"])
    texts = st.sampled_from(
        [row["targeting"] for row in (*world.nodes, *world.edges)] + ["late = 1", "x IN ('u', 'v')"]
    )
    costs = st.sampled_from(COSTS)
    labels = st.lists(st.sampled_from(LABELS), unique=True, max_size=2)
    ids = st.one_of(st.none(), st.sampled_from(["e1", "e2", "e3"]))
    nodes = st.fixed_dictionaries({"node_id": names, "targeting": texts, "cost": costs, "labels": labels})
    edges = st.fixed_dictionaries({"source": names, "target": names, "edge_id": ids, "targeting": texts, "cost": costs})
    pairs = st.builds(lambda source, target: {"source": source, "target": target}, names, names)
    made: tuple[str, Any] = draw(
        st.one_of(
            st.tuples(st.just("add_nodes"), st.lists(nodes, min_size=1, max_size=3)),
            st.tuples(st.just("add_edges"), st.lists(edges, min_size=1, max_size=4)),
            st.tuples(st.just("add_edges"), st.lists(pairs, min_size=1, max_size=4)),
            st.tuples(st.just("remove_nodes"), st.lists(names, min_size=1, max_size=2)),
            st.tuples(st.just("remove_edges"), st.lists(pairs, min_size=1, max_size=3)),
            st.tuples(st.just("remove_edges"), st.lists(st.sampled_from(["e1", "e2", "e3"]), min_size=1, max_size=2)),
            st.tuples(st.just("compact"), st.none()),
        )
    )
    return made


def change(engine: Route, kind: str, what: Any) -> None:
    if kind == "compact":
        engine._exchange.compact()
    else:
        getattr(engine, kind)(what)


# --- answers --------------------------------------------------------------------------------------------------------


def answer(engine: Route, way: str, events: Any, **options: Any) -> Notifications:
    """What the engine answers in one of the ways; the strategy is shared by all engines."""
    engine._strategy = WAYS[way]
    return engine.publish(events, **options)


def ways_of(world: World) -> Iterator[str]:
    """The ways that can route in an exchange of this shape."""
    graph = nx.DiGraph([(edge["source"], edge["target"]) for edge in world.edges])
    ordered = nx.is_directed_acyclic_graph(graph)
    return (way for way in WAYS if ordered or way not in NEED_ORDER)


def told(found: Notifications) -> Any:
    """All that an answer says, in order, without how it was found."""
    stats = found.stats
    counts = stats.subscriptions, stats.publications, stats.notifications, stats.rejected
    return [(item.publication_id, item.subscription_id) for item in found], list(found.rejected), counts


def check_alike(world: World, engine: Route, events: list[Row], **options: Any) -> Notifications:
    """Every way gives the answer of the plain walk, in its order, cut alike."""
    plain = answer(engine, "walk", events, **options)
    for way in ways_of(world):
        found = answer(engine, way, events, **options)
        assert told(found) == told(plain), way
        assert (found.complete, found.stats.truncated > 0) == (plain.complete, plain.stats.truncated > 0), way
        assert found.stats.verified <= found.stats.candidates
        if "rank" not in options:
            assert found.stats.truncated == plain.stats.truncated, way
    return plain


def check_reach(world: World, events: list[Row], found: Notifications) -> None:
    """The answer holds just the nodes that networkx reaches over what accepts the event, each once."""
    reached: dict[str | None, list[str]] = {row["event_id"]: [] for row in events}
    for item in found:
        reached[item.publication_id].append(item.subscription_id)
    known = set(world.names)
    for row in events:
        expected: set[str] = set()
        if row["publisher"] in known:
            graph = world.valid_graph(row["publisher"], json.loads(row["attributes"]))
            expected = nx.descendants(graph, "the start")
        assert len(reached[row["event_id"]]) == len(expected)
        assert set(reached[row["event_id"]]) == expected
