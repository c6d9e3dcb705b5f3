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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from heliograph import Watch
from heliograph.watch import runner as machine
from tests.fuzz.scene import Act, Difference, Scene, Told, attempt, codes, first_difference, indented, spell
from tests.fuzz.watch_oracle import from_scratch
from tests.watch import scenes as patterns
from tests.watch.metrics import questions

ALGORITHMS = ("plain", "indexed", "auto")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_LONG = 10**18  # nanoseconds

# Around the first sizes of the kernels' buffers, with sizes between; see `watch.machine`.
FLOODS = (150, 300, 300, 600, 1023, 1024, 1025, 1100, 1500, 2049, 4097)
LARGE_FLOODS = (16_383, 16_385, 20_000, 65_535, 65_537)
CRAMPED = ("_FIRST_STATES", "_FIRST_ITEMS", "_FIRST_EVENTS", "_FIRST_ROWS", "_FIRST_CHANGES", "_FIRST_JOURNAL")


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


def flooded(flood: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a flood."""
    rows, found = flood["rows"], []
    for number in range(flood["count"] if rows else 0):
        round = str(number // len(rows) % flood["period"])
        row = {
            name: cell.replace("#", round) if isinstance(cell, str) else cell
            for name, cell in rows[number % len(rows)].items()
        }
        row["at"] = None if flood["step"] is None else _moment(flood["start"] + number * flood["step"])
        found.append(row)
    return found


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


def steps(scene: Scene, way: Way) -> Iterator[tuple[int, str, Any]]:
    """What a way does for each act: its number, a method of the engine and what is given to it."""
    r, loads, saves = Random(scene.seed ^ 0xC07), way.loads, 0
    floods = any(kind == "flood" for kind, _ in scene.acts)
    over = 0 if floods else r.randrange(len(scene.acts) + 1)
    for number, (kind, what) in enumerate(scene.acts):
        if way.over and number == over:
            yield number, "go over", None
        if kind == "subscribe":
            rows = what if way.only is None else [row for row in what if row["subscription_id"] in way.only]
            yield number, "subscribe", rows
        elif kind == "unsubscribe":
            yield number, "unsubscribe", what if way.only is None else [id for id in what if id in way.only]
        elif kind == "load":
            yield number, "load_graph", what
        elif kind == "save" and loads:
            yield number, "save", loads[saves % len(loads)]
            saves += 1
        elif kind in ("publish", "flood"):
            rows = flooded(what) if kind == "flood" else what
            for piece in _cut(rows, way.most, r):
                yield number, "publish", piece


def _cut(rows: list[Any], most: int | None, r: Random) -> Iterator[list[Any]]:
    if most is None or not rows:
        yield rows
        return
    begin = 0
    while begin < len(rows):
        size = most or r.choice((1, 2, 5, 30, 1000))
        yield rows[begin : begin + size]
        begin += size


def _first(name: str, size: int) -> int:
    return max(size, 2) if name == "_FIRST_STATES" else size  # a hash table: a power of two, never full


@contextmanager
def cramped(size: int | None) -> Iterator[None]:
    """Every buffer of the kernels has room for so many items at first, so that they stop for room all the time."""
    with ExitStack() as stack:
        if size is not None:
            for name in CRAMPED:
                stack.enter_context(mock.patch.object(machine, name, _first(name, size)))
        yield


def play(scene: Scene, way: Way) -> list[Told]:
    """What the engine tells of each act; last, what it says of each subscription."""
    told = [Told([]) for _ in scene.acts]
    with cramped(way.cramped), tempfile.TemporaryDirectory() as folder:
        watch = Watch(algorithm=way.algorithm, **scene.settings)
        _spend(watch, -_LONG)
        for number, method, what in steps(scene, way):
            if method == "save":
                watch.save(Path(folder) / "saved")
                watch = Watch.load(Path(folder) / "saved", algorithm=what)
                _spend(watch, -_LONG)
            elif method == "go over":
                _spend(watch, _LONG)
            else:
                told[number] = _joined(told[number], _do(watch, method, what))
                if told[number].raised:
                    return told
        told.append(attempt(lambda: Told(_explained(watch))))
    return told


def _spend(watch: Watch, nanoseconds: int) -> None:
    """Lets auto stay plain, or go over at the next update, however fast the machine is."""
    if hasattr(watch._strategy, "_spent_ns"):
        watch._strategy._spent_ns = nanoseconds


def _do(watch: Watch, method: str, what: Any) -> Told:
    if method == "publish":
        return attempt(lambda: _published(watch, what))
    return attempt(lambda: Told([], codes(getattr(watch, method)(what).rejected)))


def _published(watch: Watch, rows: Any) -> Told:
    found = watch.publish(rows)
    lines = [(n.publication_id, n.change, n.subscription_id, n.evidence, n.at) for n in found]
    return Told(lines, codes(found.rejected), (found.complete, found.stats.truncated))


def _joined(one: Told, other: Told) -> Told:
    """What two batches of one act tell together."""
    if not one.rest or other.raised:
        return other
    rest = (one.rest[0] and other.rest[0], one.rest[1] + other.rest[1])
    return Told(one.lines + other.lines, one.refused + other.refused, rest)


def _explained(watch: Watch) -> list[Any]:
    explained = [watch.explain(each.id) for each in watch._subscriptions]
    return [(each.subscription_id, each.matched, each.summary.split(":")[0]) for each in explained]


def check(scene: Scene) -> Difference | None:
    first, others = ways(scene)
    expected = play(scene, first)
    for way in others:
        found = play(scene, way)
        wanted = (
            expected
            if way.only is None
            else [
                _of(told, scene.acts[n][0] if n < len(scene.acts) else "explain", way.only)
                for n, told in enumerate(expected)
            ]
        )
        if way.only is not None:
            found = [
                _of(told, scene.acts[n][0] if n < len(scene.acts) else "explain", way.only)
                for n, told in enumerate(found)
            ]
        number = first_difference(wanted[: len(found)], found[: len(wanted)])
        if number is not None:
            return Difference(way.name, number, wanted[number], found[number], script(scene, first, way))
        if any(told.raised for told in found):
            return None  # all raise the same, so nothing follows
    return _check_scratch(scene, first, expected)


def _of(told: Told, kind: str, only: frozenset[str]) -> Told:
    """What is told of some subscriptions only."""
    if told.raised:
        return told
    if kind in ("subscribe", "unsubscribe"):
        return Told([])
    if kind == "explain":
        return Told([line for line in told.lines if line[0] in only])
    return Told([line for line in told.lines if line[2] in only], told.refused)


def _check_scratch(scene: Scene, way: Way, expected: list[Told]) -> Difference | None:
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
            lone = replace(way, only=frozenset([id]))
            return Difference(
                "scratch", len(scene.acts), Told([(id, right)]), Told([(id, matched)]), script(scene, way, lone)
            )
    return None


# --- reproductions ----------------------------------------------------------------------------------------------


def script(scene: Scene, first: Way, way: Way) -> str:
    """A program that plays the scene in both ways and prints what each tells."""
    parts = [
        "from datetime import UTC, datetime, timedelta",
        "",
        "from heliograph import Watch",
        "from heliograph.watch import runner as machine",
    ]
    parts += ["", _FLOODED if any(kind == "flood" for kind, _ in scene.acts) else ""]
    for name, each in (("expected", first), ("found", way)):
        body = [f"machine.{size} = {_first(size, each.cramped)}" for size in CRAMPED] if each.cramped else []
        body += [f"watch = Watch(algorithm={each.algorithm!r}, **{spell(scene.settings)})", "told = []"]
        done = set[int]()
        for number, method, what in steps(scene, each):
            if method == "save":
                body += ['watch.save("saved")', f'watch = Watch.load("saved", algorithm={what!r})']
            elif method == "go over":
                body += ["watch._strategy._spent_ns = 10**18"]
            elif method != "publish":
                body += [f"watch.{method}({spell(what)})"]
            elif number not in done:
                done.add(number)
                kind, given = scene.acts[number]
                rows = f"flooded({spell(given)})" if kind == "flood" else spell(given)
                cuts = [len(piece) for n, m, piece in steps(scene, each) if n == number and m == "publish"]
                if len(cuts) == 1:
                    body += [f"told += watch.publish({rows})"]
                else:
                    sizes = f"{spell(cuts)}" if len(set(cuts)) > 1 else f"[{cuts[0] if cuts else 0}] * {len(cuts)}"
                    body += [
                        f"rows = {rows}",
                        f"for size in {sizes}:",
                        "    told += watch.publish(rows[:size])",
                        "    rows = rows[size:]",
                    ]
        body += ["for each in watch._subscriptions:", "    told.append(watch.explain(each.id).summary)", "return told"]
        parts += [f"def {name}():  # {each.name}", indented(body), ""]
    parts += [
        "",
        'for line in expected():\n    print("expected", line)',
        'for line in found():\n    print("found", line)',
    ]
    return "\n".join(parts)


_FLOODED = """
def flooded(flood):
    found = []
    for number in range(flood["count"]):
        row = dict(flood["rows"][number % len(flood["rows"])])
        round = str(number // len(flood["rows"]) % flood["period"])
        row = {name: cell.replace("#", round) if isinstance(cell, str) else cell for name, cell in row.items()}
        if flood["step"] is not None:
            row["at"] = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=flood["start"] + number * flood["step"])
        found.append(row)
    return found
"""
