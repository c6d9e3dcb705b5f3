"""Scenes of a route: exchanges of any shape that change between publishes, predicates and events of all kinds.

The ways: a walk in plain Python over `tests/naive_exchange.py`, with the predicates' naive truth, is what all are held
against: the engine's own walk, lanes, auto, the seeds' algorithms, with saves between. What if is held against doing
the changes for real, in an engine that was saved and loaded. DuckDB answers some scenes too.

A *bulk* is a publish of so many events that lanes and counts reach their limits; its few different events are walked
once.
"""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import networkx as nx

from heliograph import HeliographError
from heliograph.predicate.parser import parse_predicate
from heliograph.route import Route
from heliograph.route.strategy import MATCHES, SEEDS
from tests.fuzz.scene import (
    Act,
    Difference,
    Program,
    Scene,
    Spelled,
    Told,
    attempt,
    codes,
    first_difference,
    script,
    spell,
)
from tests.naive_exchange import Edge, Exchange, Node, refused_node
from tests.predicate.naive import truth
from tests.route import test_duckdb as duckdb
from tests.route.worlds import LABELS, NEED_ORDER, SHAPES, World

SIZES = (1, 1, 2, 3, 8, 20, 63, 64, 65, 127, 128, 129, 255, 256, 257)
LIMITS = (1023, 1025, 4095, 4097, 32_767, 32_768, 32_769)
COSTS = (None, None, 0.0, 0.25, 1.0, 2.5)
Row = dict[str, Any]
Tree = dict[str, Any]


# --- drawing ----------------------------------------------------------------------------------------------------

_NAMES = ("a", "b", "c", "d", "e", "d.e", "e.a", '"odd name"', "é")
_NUMBERS = (0, 1, -1, 2, 3, 0.5, -1.5, 1e-3, 2**53, 2**53 + 1, 2**63, 2**64, 10**30, 1e300, -(2**60) - 1)
_TEXTS = ("", "a", "ab", "b", "A", "%", "a_", "it's", "é", "a\U0001f600", "ab\nb", "ba")
_LIKES = ("a%", "%b", "_", "%", "a_%", "%é%", "", "ab")
_SIGNS = ("=", "<>", "<", "<=", ">", ">=")


class _Drawing:
    """A scene as it grows."""

    def __init__(self, r: Random, match: str | None) -> None:
        self.r, self.match = r, match
        self.acts: list[Act] = []
        self.texts = [None, None, None, *(self.predicate() for _ in range(r.randint(1, 8)))]
        self.trees = [self.tree() for _ in range(r.randint(1, 6))]
        self.names: list[str] = []
        self.published = 0

    # --- predicates and events ----------------------------------------------------------------------------------

    def predicate(self, depth: int = 3) -> str:
        r, chance = self.r, self.r.random()
        if depth and chance < 0.15:
            return f"NOT ({self.predicate(depth - 1)})"
        if depth and chance < 0.5:
            parts = [f"({self.predicate(depth - 1)})" for _ in range(r.randint(2, 4))]
            return r.choice((" AND ", " OR ")).join(parts)
        return self._atom()

    def _atom(self) -> str:
        r, name = self.r, self.r.choice(_NAMES)
        one, other = self._constant(), self._constant()
        return r.choice(
            (
                f"{name} {r.choice(_SIGNS)} {one}",
                f"{name} {r.choice(_SIGNS)} {one}",
                f"{name} {r.choice(('IN', 'NOT IN'))} ({one}, {other})",
                f"{name} {r.choice(('BETWEEN', 'NOT BETWEEN'))} {one} AND {other}",
                f"{name} {r.choice(('LIKE', 'NOT LIKE', 'ILIKE'))} '{r.choice(_LIKES)}'",
                f"{name} IS {r.choice(('', 'NOT '))}NULL",
                f"{name} {r.choice(_SIGNS)} {r.choice(_NAMES)}",
                r.choice((name, f"NOT {name}", "TRUE", "FALSE", "NULL")),
            )
        )

    def _constant(self) -> str:
        value = self.r.choice(self.r.choice((_NUMBERS, _TEXTS, _TEXTS, (None,))))
        if value is None:
            return "NULL" if self.r.random() < 0.2 else "1"
        return repr(value) if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"

    def tree(self) -> Tree:
        r = self.r
        tree = {name: self._value() for name in ("a", "b", "c", "d", "e", "odd name", "é") if r.random() < 0.6}
        if self.match is not None and r.random() < 0.9:
            tree["labels"] = r.sample(LABELS, r.randint(0, 3))
        return tree

    def _value(self, depth: int = 2) -> Any:
        r, chance = self.r, self.r.random()
        if depth and chance < 0.2:
            return [self._value(depth - 1) for _ in range(r.randint(0, 4))]
        if depth and chance < 0.3:
            return {name: self._value(depth - 1) for name in "ae" if r.random() < 0.7}
        return r.choice((r.choice(_NUMBERS), r.choice(_NUMBERS), r.choice(_TEXTS), r.choice(_TEXTS), True, False, None))

    # --- the exchange -------------------------------------------------------------------------------------------

    def shape(self, size: int) -> None:
        r = self.r
        self.names = [f"n{number}" for number in range(size)]
        r.shuffle(self.names)
        listed = r.sample(self.names, r.randint(0, size))
        self.acts.append(("nodes", [self.node(name) for name in listed]))
        ends = r.choice((*SHAPES, _hub, _deep))(r, size)
        self.acts.append(
            ("edges", _named_once([self.edge(self.names[s % size], self.names[t % size]) for s, t in ends]))
        )

    def node(self, name: str) -> Row:
        r = self.r
        row: Row = {"node_id": name, "targeting": r.choice(self.texts), "cost": r.choice(COSTS)}
        if self.match is not None:
            row["labels"] = r.sample(LABELS, r.randint(0, 3))
        if r.random() < 0.02:
            row["targeting"] = "a = "  # refused, so that the node accepts nothing
        return row

    def edge(self, source: str, target: str) -> Row:
        r = self.r
        id = f"e{r.randint(1, 9)}" if r.random() < 0.1 else None
        return {
            "source": source,
            "target": target,
            "edge_id": id,
            "targeting": r.choice(self.texts),
            "cost": r.choice(COSTS),
        }

    def change(self) -> None:
        r = self.r
        names = [*self.names, "late", "later"]
        kind = r.choice(("nodes", "edges", "edges", "remove_nodes", "remove_edges", "remove_edges"))
        if kind == "nodes":
            self.acts.append((kind, [self.node(name) for name in r.sample(names, min(len(names), r.randint(1, 4)))]))
        elif kind == "edges":
            rows = [self.edge(r.choice(names), r.choice(names)) for _ in range(r.randint(1, 6))]
            self.acts.append((kind, _named_once(rows)))
        elif kind == "remove_nodes":
            self.acts.append((kind, r.sample(names, min(len(names), r.randint(1, 2)))))
        else:
            pairs = [{"source": r.choice(names), "target": r.choice(names)} for _ in range(r.randint(1, 4))]
            self.acts.append((kind, [*pairs, {"edge_id": f"e{r.randint(1, 9)}"}] if r.random() < 0.3 else pairs))

    # --- events -------------------------------------------------------------------------------------------------

    def events(self, size: int) -> list[Row]:
        r, rows = self.r, []
        for _ in range(size):
            self.published += 1
            publisher = r.choice([*self.names, "late"]) if r.random() < 0.95 else "nobody"
            tree = r.choice(self.trees) if r.random() < 0.8 else self.tree()
            rows.append({"event_id": f"x{self.published}", "publisher": publisher, "attributes": json.dumps(tree)})
        return rows

    def options(self) -> Row:
        r, given = self.r, Row()
        if r.random() < 0.3:
            given["subscribers_only"] = True
        if r.random() < 0.2:
            given["paths"] = True
        elif r.random() < 0.2:
            given["rank"] = "cost"
        if r.random() < 0.2:
            given["limit"] = r.choice((0, 1, 2, 5, 1000))
        if r.random() < 0.1:
            given["hops"] = r.choice((0, 1, 2, 5))
        return given

    def publish(self) -> None:
        given = self.options()
        size = self.r.choice(SIZES) if not given.keys() & {"rank", "paths", "hops"} else self.r.choice((1, 3, 9))
        self.acts.append(("publish", {"events": self.events(size), "options": given}))

    def bulk(self) -> None:
        r = self.r
        options = {name: value for name, value in self.options().items() if name in ("subscribers_only", "limit")}
        self.acts.append(
            ("bulk", {"events": self.events(r.randint(2, 7)), "count": r.choice(LIMITS), "options": options})
        )

    def what_if(self) -> None:
        r, changes = self.r, list[Row]()
        for _ in range(r.randint(1, 4)):
            names = [*self.names, "new"]
            op = r.choice("++-")
            if r.random() < 0.5:
                row = self.node(r.choice(names)) if op == "+" else {"node_id": r.choice(names)}
                changes.append({"kind": "node", "op": op, **row})
            else:
                ends = r.choice(names), r.choice(names)
                row = self.edge(*ends) if op == "+" else {"source": ends[0], "target": ends[1]}
                changes.append({"kind": "edge", "op": op, **{k: v for k, v in row.items() if k != "edge_id"}})
        self.acts.append(("what_if", {"changes": changes, "events": self.events(r.choice((1, 5, 70)))}))


def _named_once(edges: list[Row]) -> list[Row]:
    """Edges of one call: of those that share an edge_id only the first has it, because the others would be refused."""
    seen: set[str] = set()
    for row in edges:
        row["edge_id"] = None if row["edge_id"] in seen else row["edge_id"]
        seen.add(row["edge_id"])
    return edges


def _hub(r: Random, size: int) -> list[tuple[int, int]]:
    return [pair for node in range(1, size) for pair in ((0, node), (node, 0))[: r.randint(1, 2)]]


def _deep(r: Random, size: int) -> list[tuple[int, int]]:
    """A chain, with some edges back and twice."""
    ends = [(node, node + 1) for node in range(size - 1)]
    return ends + r.sample(ends, len(ends) // 4) + [(t, s) for s, t in r.sample(ends, len(ends) // 8)]


def draw(seed: int) -> Scene:
    r = Random(seed)
    match = r.choice((None, None, None, "superset", "subset", "intersects"))
    if r.random() < 0.04:
        return _duckdb_scene(r, seed)
    drawing = _Drawing(r, match)
    drawing.shape(r.choice((1, 3, 6, 12, 12, 40, 150)) if r.random() < 0.97 else 1500)
    if r.random() < 0.04:
        drawing.bulk()
    for _ in range(r.randint(2, 12)):
        chance = r.random()
        if chance < 0.35:
            drawing.change()
        elif chance < 0.45:
            drawing.acts.append(("save", None))
        elif chance < 0.5:
            drawing.acts.append(("compact", None))
        elif chance < 0.6:
            drawing.what_if()
        else:
            drawing.publish()
    drawing.publish()
    return Scene("route", seed, {} if match is None else {"match": match}, drawing.acts)


def _duckdb_scene(r: Random, seed: int) -> Scene:
    """Of predicates and events that DuckDB reads as SQL does."""
    texts = [None, None, *(duckdb.draw_text(r) for _ in range(8))]
    drawing = _Drawing(r, None)
    drawing.texts, drawing.trees = texts, [duckdb.draw_tree(r) for _ in range(8)]
    drawing.shape(r.choice((8, 30)))
    nodes = [row for row in drawing.acts[0][1] if row["targeting"] != "a = "]
    edges = [{**row, "edge_id": None} for row in drawing.acts[1][1]]
    events = [
        {"event_id": f"x{n}", "publisher": r.choice(drawing.names), "attributes": json.dumps(r.choice(drawing.trees))}
        for n in range(r.choice((20, 70)))
    ]
    acts: list[Act] = [("nodes", nodes), ("edges", edges), ("publish", {"events": events, "options": {}})]
    return Scene("route", seed, {"duckdb": True}, acts)


# --- the twin ---------------------------------------------------------------------------------------------------


class Twin:
    """The contract's route, from its words."""

    def __init__(self, match: str | None) -> None:
        self.match, self.exchange = match, Exchange()

    def nodes(self, rows: list[Row]) -> list[str]:
        refused = []
        for row in rows:
            node = self._node(row)
            refused += [node.refused] if node.refused else []
            self.exchange.put_nodes([node])
        return refused

    def _node(self, row: Row) -> Node:
        try:
            form = parse_predicate(row["targeting"])
        except HeliographError as error:
            return refused_node(row["node_id"], error.code)
        cost = 0.0 if row.get("cost") is None else row["cost"]
        return Node(row["node_id"], form, row["targeting"], cost, frozenset(row.get("labels") or ()))

    def edges(self, rows: list[Row]) -> None:
        made = []
        for row in rows:
            cost = 1.0 if row.get("cost") is None else row["cost"]
            form = parse_predicate(row.get("targeting"))
            made.append(Edge(row["source"], row["target"], row.get("edge_id"), form, row.get("targeting"), cost))
        self.exchange.put_edges(made)

    def remove_nodes(self, ids: list[str]) -> None:
        self.exchange.drop_nodes([id for id in dict.fromkeys(ids) if id in self.exchange.nodes])

    def remove_edges(self, rows: list[Row]) -> None:
        for row in rows:
            if row.get("edge_id"):
                found = [edge for edge in self.exchange.edges if edge.id == row["edge_id"]]
                if "source" in row:
                    found = [edge for edge in found if (edge.source, edge.target) == (row["source"], row["target"])]
            else:
                found = self.exchange.between(row["source"], row["target"])
            self.exchange.drop_edges(found)

    def accepts(self, each: Node | Edge, tree: Tree) -> bool:
        if self.match is not None and isinstance(each, Node) and not each.refused:
            return MATCHES[self.match](each.labels, frozenset(tree.get("labels") or ()))
        return truth(each.targeting, tree) is True

    def reach(self, row: Row, ends_only: bool, hops: int | None) -> dict[str, float] | None:
        """The nodes that an event reaches, with the least cost of a path; None for an unknown publisher."""
        if row["publisher"] not in self.exchange.nodes:
            return None
        tree = json.loads(row["attributes"])
        most = len(self.exchange.nodes) + 1 if hops is None else hops
        known: dict[Node | Edge, bool] = {}

        def open_to(each: Node | Edge) -> bool:
            if each not in known:
                known[each] = self.accepts(each, tree)
            return known[each]

        def onwards(name: str) -> Iterator[tuple[str, float]]:
            for edge in self.exchange.out.get(name, ()):
                node = self.exchange.nodes[edge.target]
                if open_to(edge) and open_to(node):
                    yield edge.target, edge.cost + node.cost

        best = (
            self._cheapest(row["publisher"], onwards) if hops is None else self._near(row["publisher"], onwards, most)
        )
        return {name: cost for name, cost in best.items() if not ends_only or not self.exchange.out.get(name)}

    @staticmethod
    def _cheapest(start: str, onwards: Callable[[str], Iterator[tuple[str, float]]]) -> dict[str, float]:
        best: dict[str, float] = {}
        waiting = [(cost, name) for name, cost in onwards(start)]
        heapq.heapify(waiting)
        while waiting:
            cost, name = heapq.heappop(waiting)
            if name not in best:
                best[name] = cost
                for further, more in onwards(name):
                    heapq.heappush(waiting, (cost + more, further))
        return best

    @staticmethod
    def _near(start: str, onwards: Callable[[str], Iterator[tuple[str, float]]], hops: int) -> dict[str, float]:
        """Within so many edges: the least costs over one edge more, again and again."""
        best: dict[str, float] = {}
        last = {start: 0.0}
        for _ in range(hops):
            reached: dict[str, float] = {}
            for name, cost in last.items():
                for further, more in onwards(name):
                    reached[further] = min(cost + more, reached.get(further, float("inf")))
            last = {name: cost for name, cost in reached.items() if cost < best.get(name, float("inf"))}
            best |= last
            if not last:
                break
        return best


# --- playing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    name: str
    algorithm: str
    saves: bool = False
    singly: bool = False


def ways(scene: Scene) -> list[Way]:
    r = Random(scene.seed ^ 0x5EED)
    rows = [row for kind, what in scene.acts if kind == "edges" for row in what]
    rows += [row for kind, what in scene.acts if kind == "what_if" for row in what["changes"] if "source" in row]
    ordered = nx.is_directed_acyclic_graph(nx.DiGraph([(row["source"], row["target"]) for row in rows]))
    seeds = [name for name in SEEDS if ordered or name not in NEED_ORDER]
    bulky = any(kind == "bulk" and what["count"] > 5000 for kind, what in scene.acts)
    if bulky:
        other = r.choice(("auto", "general", "scc-skip"))
        if len(rows) > 200:  # the paper's algorithms may take the square of the nodes for each event
            other = "auto"
        return [Way("lanes", "lanes"), Way(other, other, saves=True)]
    return [
        Way("walk", "walk"),
        Way("lanes", "lanes"),
        *r.sample(
            [Way("lanes-saved", "lanes", saves=True, singly=r.random() < 0.3), Way("auto", "auto", saves=True)], 1
        ),
        *(Way(name, name, saves=r.random() < 0.2) for name in r.sample(seeds, 1)),
    ]


def play_twin(scene: Scene) -> list[Told]:
    """What is to be told: sets of lines for each act, and in the order of costs where they are ranked."""
    twin, told = Twin(scene.settings.get("match")), []
    for kind, what in scene.acts:
        refused: list[str] = []
        lines: list[Any] = []
        if kind in ("nodes", "edges", "remove_nodes", "remove_edges"):
            refused = getattr(twin, kind)(what) or []
        elif kind in ("publish", "bulk"):
            lines, refused = _expected(twin, what, kind)
        elif kind == "what_if":
            lines = _foretold(scene, twin, what)
        told.append(Told(lines, refused))
    return told


def _expected(twin: Twin, what: Row, kind: str) -> tuple[list[Any], list[str]]:
    options, lines, refused = what["options"], list[Any](), list[str]()
    ends_only, hops = options.get("subscribers_only", False), options.get("hops")
    answers = [twin.reach(row, ends_only, hops) for row in what["events"]]
    for number in range(what["count"] if kind == "bulk" and answers else len(answers)):
        reached = answers[number % len(answers)]
        id = f"x{number}" if kind == "bulk" else what["events"][number]["event_id"]
        if reached is None:
            refused.append("HG-643")
            continue
        if options.get("rank"):
            ranked = sorted((cost, name) for name, cost in reached.items())[: options.get("limit")]
            lines += [(id, name, cost) for cost, name in ranked]
        elif options.get("limit") is not None:
            lines += [(id, min(len(reached), options["limit"]), len(reached))]
        else:
            lines += [(id, name) for name in sorted(reached)]
    return lines, refused


def _foretold(scene: Scene, twin: Twin, what: Row) -> list[Any]:
    after = Twin(twin.match)
    after.exchange = twin.exchange.copy()
    for row in what["changes"]:
        _change(after, row)
    lines = []
    for event in what["events"]:
        one, two = twin.reach(event, False, None) or {}, after.reach(event, False, None) or {}
        lines += [(event["event_id"], name, name in one, name in two) for name in sorted(one.keys() ^ two.keys())]
    return lines


def _change(twin: Twin, row: Row) -> None:
    if row["kind"] == "node":
        twin.nodes([row]) if row["op"] == "+" else twin.remove_nodes([row["node_id"]])
    elif row["op"] == "+":
        twin.edges([row])
    else:
        twin.remove_edges([row])


METHODS = {"nodes": "add_nodes", "edges": "add_edges", "remove_nodes": "remove_nodes", "remove_edges": "remove_edges"}


def play(scene: Scene, way: Way) -> tuple[list[tuple[Told, Any]], Program]:
    """What the engine tells of each act as sets, and exactly."""
    told: list[tuple[Told, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        given = {name: value for name, value in scene.settings.items() if name == "match"}
        program = Program(Route, algorithm=way.algorithm, **given)
        for kind, what in scene.acts:
            if kind == "save" and way.saves:
                program.reload(folder, algorithm=way.algorithm)
            exact: list[Any] = []
            told.append((attempt(lambda: _do(program, way, kind, what, exact)), exact))  # noqa: B023
            if told[-1][0].raised:
                break
    return told, program


def _do(program: Program, way: Way, kind: str, what: Any, exact: list[Any]) -> Told:
    if kind in METHODS:
        receipt = program.call(METHODS[kind], what)
        return Told([], codes(receipt.rejected) if kind in ("nodes", "edges") else [])
    if kind == "compact":
        program.engine._exchange.compact()
        program.note("engine._exchange.compact()")
    if kind == "what_if":
        told = "told += {}.table.to_pylist()"
        compared = program.call("compare", what["changes"], what["events"], told=told)
        lines = [tuple(row.values()) for row in compared.table.to_pylist()]
        exact += lines
        return Told(sorted(lines, key=lambda line: (_number(line[0]), line[1])))
    if kind in ("publish", "bulk"):
        return _publish(program, way, kind, what, exact)
    return Told([])


def bulked(bulk: Row) -> Spelled:
    rows, count = bulk["events"], bulk["count"] if bulk["events"] else 0
    text = f"[{{**{spell(rows)}[n % {len(rows) or 1}], 'event_id': f'x{{n}}'}} for n in range({count})]"
    return Spelled(({**rows[number % len(rows)], "event_id": f"x{number}"} for number in range(count)), text)


def _publish(program: Program, way: Way, kind: str, what: Row, exact: list[Any]) -> Told:
    events, options = bulked(what) if kind == "bulk" else what["events"], what["options"]
    sizes = [1] * len(events) if way.singly and kind != "bulk" else None
    lines: list[Any] = []
    refused: list[str] = []
    for found in program.publish(events, sizes, **options):
        refused += codes(found.rejected)
        exact += [found.complete, found.stats.truncated > 0]
        if options.get("rank"):
            ranked = [(n.publication_id, n.subscription_id, json.loads(n.evidence)["cost"]) for n in found]
            lines += ranked
            continue
        named = [(n.publication_id, n.subscription_id) for n in found]
        exact += named
        exact += [len(json.loads(n.evidence)["path"]) for n in found if n.evidence]
        if options.get("limit") is None:
            lines += sorted(named, key=lambda line: (_number(line[0]), line[1]))
    if options.get("limit") is not None and not options.get("rank"):
        return Told(_limited(program.engine, events, options), refused)
    if way.singly:
        exact.clear()
    return Told(lines, refused)


def _limited(engine: Route, events: list[Row], options: Row) -> list[Any]:
    """How many nodes of each event were told of, of how many; that they are the first ones."""
    limit = options["limit"]
    whole = engine.publish(events, **{name: value for name, value in options.items() if name != "limit"})
    cut = engine.publish(events, **options)
    reached: dict[Any, list[str]] = {}
    for n in whole:
        reached.setdefault(n.publication_id, []).append(n.subscription_id)
    shown: dict[Any, list[str]] = {}
    for n in cut:
        shown.setdefault(n.publication_id, []).append(n.subscription_id)
    bad = {each.item for each in whole.refused}
    lines = []
    for event in events:
        id = event["event_id"]
        if id not in bad:
            first = reached.get(id, [])[:limit] == shown.get(id, [])
            lines.append((id, len(shown.get(id, [])), len(reached.get(id, []))) if first else (id, "not the first"))
    return lines


def _number(id: Any) -> int:
    return int(str(id)[1:])


def check(scene: Scene) -> Difference | None:
    expected = play_twin(scene)
    exactly: list[Any] | None = None
    for way in ways(scene):
        played, program = play(scene, way)
        found = [told for told, _ in played]
        number = first_difference(expected[: len(found)], found)
        if number is not None:
            return Difference(way.name, number, expected[number], found[number], _script(scene, program))
        exact = [each for _, each in played]
        if way.singly:
            continue
        exactly = exact if exactly is None else exactly
        for number, (one, other) in enumerate(zip(exactly, exact, strict=True)):
            if one != other:
                return Difference(f"{way.name}-order", number, Told(one), Told(other), _script(scene, program))
    return _check_duckdb(scene, expected)


def _check_duckdb(scene: Scene, expected: list[Told]) -> Difference | None:
    if not scene.settings.get("duckdb") or [kind for kind, _ in scene.acts] != ["nodes", "edges", "publish"]:
        return None
    (_, nodes), (_, edges), (_, published) = scene.acts
    right = duckdb.theirs(World(nodes, edges, []), published["events"]) if edges and published["events"] else set()
    ours = set(expected[2].lines)
    if right == ours:
        return None
    walked = play(scene, Way("walk", "walk"))[1]
    return Difference("duckdb", 2, Told(sorted(right)), Told(sorted(ours)), script(walked, walked))


def _script(scene: Scene, found: Program) -> str:
    """By the plain walk, and in the way that differs."""
    return script(play(scene, Way("walk", "walk"))[1], found)
