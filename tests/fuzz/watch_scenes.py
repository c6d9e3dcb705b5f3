"""Scenes of a watch: random sets of subscriptions of every kind over an evolving graph, under any window.

The ways: plain in whole batches is what the others are held against: plain with saves between, indexed in whole
batches, indexed with batches cut anywhere and room for next to nothing in every buffer, auto that goes over to the
kernels at any time and is loaded as another algorithm, and some subscriptions alone. At the end each way explains all
subscriptions; pyoxigraph and networkx are asked about the graph as it is then.

A *flood* is a publish of so many updates, too many for plain Python where they match a lot; then indexed, in
small pieces, takes its place.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from random import Random
from typing import Any

from heliograph import Watch
from heliograph.watch import runner
from tests.fuzz.scene import (
    Act,
    Difference,
    Program,
    Scene,
    Spelled,
    Told,
    attempt,
    codes,
    compare,
    patched,
    script,
    spell,
)
from tests.fuzz.watch_oracle import from_scratch
from tests.watch import scenes as patterns
from tests.watch.metrics import questions

ALGORITHMS = ("plain", "indexed", "auto")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_LONG = 10**18  # nanoseconds

# Around the first sizes of the kernels' buffers, with sizes between; see `watch.runner`.
FLOODS = (150, 300, 300, 600, 1023, 1024, 1025, 1100, 1500, 2049, 4097)
LARGE_FLOODS = (16_383, 16_385, 20_000, 65_535, 65_537)


# --- drawing ----------------------------------------------------------------------------------------------------


def draw(seed: int) -> Scene:
    r = Random(seed)
    drawing = _Drawing(r)
    kind = r.random()
    if kind < 0.15:
        drawing.flood_scene()
    else:
        drawing.small_scene(metrics=r.choice((0.0, 0.3, 0.3, 0.8)))
    return Scene("watch", seed, drawing.settings, drawing.acts)


class _Drawing:
    """A scene as it grows."""

    def __init__(self, r: Random) -> None:
        self.r = r
        self.settings: dict[str, Any] = {"mode": r.choice(("each", "each", "change")), "witness": r.random() < 0.15}
        self.acts: list[Act] = []
        self.ids: list[str] = []
        self.number, self.time = 0, 0
        self.terms = r.choice(patterns.WORLDS)
        self.metrics = 0.0
        self.numbered = r.random() < 0.1  # updates have a seq of their own
        self.seq = 0
        if r.random() < 0.1:
            self.settings["initial"] = True
        self.timed = r.random() < 0.4
        if self.timed:
            self.settings["window"] = r.choice(("5s", "12s", "60s"))
        if r.random() < 0.25:
            self.settings["window_updates"] = r.choice((1, 2, 5, 12, 40, 120))
        if r.random() < 0.2:
            self.settings["taxonomy"] = [{"child": "b", "parent": "a"}, {"child": "c", "parent": "b"}]

    def small_scene(self, metrics: float) -> None:
        r, self.metrics = self.r, metrics
        if metrics:
            self.terms = patterns.SMALL
        for _ in range(r.randint(3, 12)):
            chance = r.random()
            if chance < 0.3 or not self.ids:
                self.subscribe(r.choice((1, 1, 2, 3, 6)))
            elif chance < 0.37:
                self.unsubscribe()
            elif chance < 0.42:
                self.acts.append(("load", self.updates(r.randint(1, 8))))
            elif chance < 0.48:
                self.acts.append(("save", None))
            else:
                self.acts.append(("publish", self.updates(r.choice((1, 3, 8, 8, 20)) if r.random() < 0.95 else 80)))
        if self.timed:
            self.time += r.choice((3, 60, 100_000))
        self.acts.append(("publish", self.updates(r.randint(1, 3))))

    def flood_scene(self) -> None:
        """Few subscriptions, many updates."""
        r = self.r
        self.terms, self.numbered = patterns.SMALL, False
        self._flood_subscriptions(r.randint(1, 6))
        for _ in range(r.choice((1, 1, 2))):
            if r.random() < 0.3:
                self.acts.append(("publish", self.updates(r.randint(1, 10))))
            self.acts.append(("flood", self.flood()))
            chance = r.random()
            if chance < 0.25:
                self.acts.append(("save", None))
            elif chance < 0.5:
                self._flood_subscriptions(1)
            elif chance < 0.65 and len(self.ids) > 1:
                self.unsubscribe()
        if self.timed:
            self.time += r.choice((3, 60, 100_000))
        self.acts.append(("publish", self.updates(r.randint(1, 3))))

    # --- subscriptions ------------------------------------------------------------------------------------------

    def subscribe(self, count: int) -> None:
        r = self.r
        alike = patterns.query(r, self.terms) if r.random() < 0.3 else None
        rows = []
        for _ in range(count):
            if r.random() < self.metrics:
                text = questions.grouped(r, questions.query(r))
                asked = questions.options(r, text)
            else:
                text = (
                    patterns.query(r, self.terms) if alike is None else patterns.other_constants(r, self.terms, alike)
                )
                asked = patterns.options(r, text)
            rows.append({"subscription_id": self._id(), "query": text, "options": asked})
        self.acts.append(("subscribe", rows))

    def _id(self) -> str:
        """A new id, sometimes one that is there already, which is replaced."""
        if self.ids and self.r.random() < 0.05:
            return self.r.choice(self.ids)
        self.number += 1
        self.ids.append(f"s{self.number}")
        return self.ids[-1]

    def unsubscribe(self) -> None:
        self.acts.append(("unsubscribe", [self.ids.pop(self.r.randrange(len(self.ids)))]))

    def _flood_subscriptions(self, count: int) -> None:
        """Queries whose matches are at most as many as the edges are."""
        r, rows = self.r, []
        for _ in range(count):
            body = r.choice(FLOOD_BODIES)
            limit = str(r.choice((1, 2, 100, 1000)))
            text = (
                r.choice(FLOOD_FORMS)
                .replace("BODY", body)
                .replace("OP", r.choice((">=", "<", "=")))
                .replace("LIMIT", limit)
            )
            given: dict[str, Any] = {}
            if r.random() < 0.3:
                given["mode"] = "change"
            if text.startswith("SELECT *") and r.random() < 0.15:
                given["top_k_of"] = {"set": "t", "k": r.randint(1, 2)}
            if r.random() < 0.15:
                given["initial"] = True
            if r.random() < 0.1:
                given["max_matches_per_update"] = r.randint(0, 3)
            rows.append({"subscription_id": self._id(), "query": text, "options": json.dumps(given)})
        self.acts.append(("subscribe", rows))

    # --- updates ------------------------------------------------------------------------------------------------

    def updates(self, count: int) -> list[dict[str, Any]]:
        r, rows = self.r, list[dict[str, Any]]()
        for _ in range(count):
            self.time += r.choice((0, 0, 0, 1, 3))
            late = r.choice((0, 0, 0, 0, 0, 4, 13))
            row = patterns.update(r, self.terms, None)
            row["at"] = _moment(max(0, self.time - late)) if self.timed or r.random() < 0.05 else None
            if self.numbered:
                self.seq += r.choice((1, 1, 1, 1, 5, 10**9, 0))
                row = {"seq": self.seq, **row}
            rows.append(row)
            if r.random() < 0.1:
                rows.append(dict(row))  # once more
        return rows

    def flood(self) -> dict[str, Any]:
        """Rows that are repeated: # is the number of the round, modulo the period."""
        r = self.r
        rows: list[dict[str, Any]] = []
        while not rows or r.random() < 0.6:
            rows.append(dict(zip(("op", "subject", "property", "object"), r.choice(FLOOD_ROWS), strict=True)))
        for row in rows:
            row["weight"] = r.choice((None, None, None, 0.5, 2.0)) if row["op"] == "+" else None
        count = r.choice(LARGE_FLOODS) if r.random() < 0.05 else r.choice(FLOODS)
        step = r.choice((0, 0, 1, 7)) if self.timed else None
        flood = {
            "rows": rows,
            "count": count,
            "period": r.choice((1, 3, 50, 400, 10**9)),
            "start": self.time,
            "step": step,
        }
        self.time += count * (step or 0)
        return flood


FLOOD_ROWS = (
    ("+", "a#", "p", "b"),
    ("+", "a#", "p", "b"),
    ("+", "a", "p", "b#"),
    ("+", "a#", "p", "b#"),
    ("+", "b#", "q", "a#"),
    ("+", "a#", "r", "#"),
    ("-", "a#", "p", "b"),
    ("=", "a#", "p", "b"),
    ("=", "c", "p", "b#"),
    ("-", "c", "p", "b#"),
    ("-", "a#", None, None),
    ("+", "a#", "a", "c"),
    ("+", "b", "q", "d"),
    ("-", "b", "q", "d"),
)
FLOOD_BODIES = (
    "?x :p :b",
    ":a :p ?x",
    "?x :p ?y",
    "?x :p ?y . ?y :q ?x",
    "?x :p ?y . ?y :q :d",
    "?x :p ?y . ?x :r ?z FILTER(?z > 500)",
    "?x :r ?y FILTER(?y < 20)",
    "?x a/rdfs:subClassOf* :c",
    "?x ?r ?y",
    "?x :p ?y FILTER(hg:degree(?x) >= 2)",
    "FILTER(hg:indegree(:b) >= LIMIT)",
    "FILTER(hg:indegree(:b, :p) >= LIMIT)",
    "FILTER(hg:outdegree(:a) < LIMIT)",
    "FILTER(hg:degree(:b) + 1 > hg:degree(:a))",
    "FILTER(hg:cliques(2) >= LIMIT)",
    "FILTER(hg:distance(:a, :b) <= 3)",
    "FILTER(hg:density() < 0.01)",
    ":b :q :d FILTER(hg:indegree(:b) >= LIMIT)",
)
FLOOD_FORMS = (
    "ASK { BODY }",
    "ASK { BODY }",
    "SELECT * { BODY }",
    "SELECT (COUNT(*) AS ?n) { BODY } HAVING (COUNT(*) OP LIMIT)",
)


def _moment(seconds: int) -> str:
    return (EPOCH + timedelta(seconds=seconds)).isoformat()


def flooded(flood: dict[str, Any]) -> Spelled:
    """The rows of a flood."""
    rows, found = flood["rows"], []
    size, count = max(1, len(rows)), flood["count"] if rows else 0
    for number in range(count):
        round = str(number // size % flood["period"])
        cells = rows[number % size].items()
        row = {name: cell.replace("#", round) if isinstance(cell, str) else cell for name, cell in cells}
        row["at"] = None if flood["step"] is None else _moment(flood["start"] + number * flood["step"])
        found.append(row)
    at = "None"
    if flood["step"] is not None:
        at = f"datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds={flood['start']} + n * {flood['step']})"
    cell = f"cell.replace('#', str(n // {size} % {flood['period']})) if isinstance(cell, str) else cell"
    made = f"{{**{{name: {cell} for name, cell in {spell(rows)}[n % {size}].items()}}, 'at': {at}}}"
    return Spelled(found, f"[{made} for n in range({count})]")


# --- playing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How a scene is played. `loads` are the algorithms that saves are loaded as, in turn; without any none is made."""

    name: str
    algorithm: str
    loads: tuple[str, ...] = ()
    most: int | None = None  # updates in a batch; 0: cut at random
    cramped: int | None = None  # the first size of every buffer
    over: bool = False  # auto goes over to the kernels somewhere
    only: frozenset[str] | None = None  # subscriptions that are made


def ways(scene: Scene) -> tuple[Way, list[Way]]:
    """What is expected, and the ways that are held against it."""
    r = Random(scene.seed ^ 0x5EED)
    heavy = sum(act[1]["count"] for act in scene.acts if act[0] == "flood")
    cheap = all(row["query"].startswith("ASK") for row in _subscribed(scene))
    small = heavy <= (1600 if cheap else 300)  # enough for plain Python
    loads = tuple(r.choice(ALGORITHMS if small else ("indexed",)) for _ in range(3))
    others = [
        Way("indexed", "indexed"),
        Way("indexed-cut", "indexed", ("indexed",), most=0, cramped=r.choice((None, 1, 2, 4))),
        Way("auto", "auto", loads, over=True),
    ]
    if heavy <= 300:
        others.append(Way("plain-saved", "plain", ("plain",)))
    lone = ("indexed", "plain") if heavy <= 300 else ("indexed",)
    samples = _samples(scene, r, 2)
    others += [Way(f"alone {' '.join(sorted(only))}", r.choice(lone), only=only) for only in samples]
    return Way("plain", "plain") if small else Way("indexed-pieces", "indexed", most=1 if heavy < 2000 else 50), others


def _samples(scene: Scene, r: Random, most: int) -> Iterator[frozenset[str]]:
    """Some subscriptions, each with those of its set of top k."""
    sets: dict[str, set[str]] = {}
    for row in _subscribed(scene):
        top = json.loads(row["options"] or "{}").get("top_k_of")
        name = row["subscription_id"] if top is None else f"set {top['set']}"
        sets.setdefault(name, set()).add(row["subscription_id"])
    merged = [
        group if len(group) > 1 else {id for each in sets.values() if group <= each for id in each}
        for group in sets.values()
    ]
    groups = list(dict.fromkeys(map(frozenset, merged)))
    if len({row["subscription_id"] for row in _subscribed(scene)}) > 1:
        yield from r.sample(groups, min(most, len(groups)))


def _subscribed(scene: Scene) -> list[dict[str, Any]]:
    return [row for kind, rows in scene.acts if kind == "subscribe" for row in rows]


def play(scene: Scene, way: Way) -> tuple[list[Told], Program]:
    """What the engine tells of each act; last, what it says of each subscription."""
    told, r, loads = [Told([]) for _ in scene.acts], Random(scene.seed ^ 0xC07), cycle(way.loads)
    floods = any(kind == "flood" for kind, _ in scene.acts)
    over = 0 if floods else r.randrange(len(scene.acts) + 1)
    # A hash table has a power of two of places, and is never full.
    least = {name: max(way.cramped or 0, 2) if name == "state" else way.cramped for name in runner._ROOM}
    changes = [(runner, "_ROOM", least)] if way.cramped is not None else []
    with patched(*changes) as prelude, tempfile.TemporaryDirectory() as folder:
        program = Program(Watch, prelude=prelude, algorithm=way.algorithm, **scene.settings)
        _spend(program, -_LONG)
        for number, (kind, what) in enumerate(scene.acts):
            if way.over and number == over:
                _spend(program, _LONG)
            if kind == "save" and way.loads:
                program.reload(folder, algorithm=next(loads))
                _spend(program, -_LONG)
            told[number] = attempt(lambda: _do(program, way, kind, what, r))  # noqa: B023
            if told[number].raised:
                return told, program
        told.append(attempt(lambda: Told(_explained(program.engine))))
        program.note("told += [engine.explain(each.id).summary for each in engine._subscriptions]")
    return told, program


def _spend(program: Program, nanoseconds: int) -> None:
    """Lets auto stay plain, or go over at the next update, however fast the machine is."""
    if hasattr(program.engine._strategy, "_spent_ns"):
        program.engine._strategy._spent_ns = nanoseconds
        program.note(f"engine._strategy._spent_ns = {nanoseconds}")


def _do(program: Program, way: Way, kind: str, what: Any, r: Random) -> Told:
    if kind == "subscribe":
        rows = [row for row in what if way.only is None or row["subscription_id"] in way.only]
        return Told([], codes(program.call("subscribe", rows).rejected))
    if kind == "unsubscribe":
        ids = [id for id in what if way.only is None or id in way.only]
        return Told([], codes(program.call("unsubscribe", ids).rejected))
    if kind == "load":
        return Told([], codes(program.call("load_graph", what).rejected))
    if kind == "save":
        return Told([])
    rows = flooded(what) if kind == "flood" else what
    found = program.publish(rows, None if way.most is None or not rows else _sizes(len(rows), way.most, r))
    lines = [(n.publication_id, n.change, n.subscription_id, n.evidence, n.at) for each in found for n in each]
    rest = all(each.complete for each in found), sum(each.stats.truncated for each in found)
    return Told(lines, [code for each in found for code in codes(each.rejected)], rest)


def _sizes(count: int, most: int, r: Random) -> list[int]:
    sizes: list[int] = []
    while sum(sizes) < count:
        sizes.append(most or r.choice((1, 2, 5, 30, 1000)))
    return sizes


def _explained(watch: Watch) -> list[Any]:
    explained = [watch.explain(each.id) for each in watch._subscriptions]
    return [(each.subscription_id, each.matched, each.summary.split(":")[0]) for each in explained]


def check(scene: Scene) -> Difference | None:
    expected, program, difference = compare(scene, play, ways(scene), _of)
    return difference or _check_scratch(scene, program, expected)


def _of(told: Told, kind: str, only: frozenset[str]) -> Told:
    """What is told of some subscriptions only."""
    if told.raised:
        return told
    if kind in ("subscribe", "unsubscribe"):
        return Told([])
    if kind == "explain":
        return Told([line for line in told.lines if line[0] in only])
    return Told([line for line in told.lines if line[2] in only], told.refused)


def _check_scratch(scene: Scene, program: Program, expected: list[Told]) -> Difference | None:
    """The outside oracles about the last graph, of the subscriptions that they understand."""
    refused = any(
        told.refused
        for (kind, _), told in zip(scene.acts, expected, strict=False)
        if kind in ("publish", "flood", "load")
    )
    if refused or any(told.raised for told in expected):
        return None
    rows = [
        row
        for kind, what in scene.acts
        if kind in ("publish", "flood")
        for row in (flooded(what) if kind == "flood" else what)
    ]
    loads = any(kind == "load" for kind, _ in scene.acts)
    if len(rows) > 3000 or loads:
        return None
    verdicts = {line[0]: line[1] for line in expected[-1].lines}
    asked: dict[str, dict[str, Any]] = {}
    for kind, what in scene.acts:
        if kind == "subscribe":
            for row in what:
                asked.setdefault(row["subscription_id"], row)  # a second one under the same id is refused
        elif kind == "unsubscribe":
            for id in what:
                asked.pop(id, None)
    for id, matched in verdicts.items():
        right = from_scratch(scene.settings, rows, asked[id])
        if right is not None and right != matched:
            wanted, got = Told([(id, right)]), Told([(id, matched)])
            return Difference("scratch", len(scene.acts), wanted, got, script(program, program))
    return None
