"""Live changes under the kernels: after each one the answers are those of an engine built anew, and whoever holds an
older version gets the answers of that.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.route import Route
from heliograph.route.exchange import Version
from heliograph.route.read import read_events
from tests.route.worlds import (
    SHAPES,
    WAYS,
    World,
    answer,
    build,
    change,
    changes,
    event,
    told,
    worlds,
)

TEXTS = (*[None] * 6, "x > 3", "s = 'a' OR x < 2", "x IN (1, 2, 8)", "s LIKE 'b%'", "x IS NULL", "NOT s = 'c'")
TREES: list[dict[str, Any]] = [{"x": x, "s": s} for x in range(0, 10, 2) for s in "abc"] + [{}, {"x": [1, 5]}]


def rebuilt(engine: Route) -> Route:
    """An engine made at once from what the exchange holds now."""
    with engine._exchange.reading() as version:
        nodes = [version.node(number) for number in version.node_numbers().tolist()]
        rows = [
            {"node_id": node.id, "targeting": node.text, "cost": node.cost, "labels": sorted(node.labels)}
            for node in nodes
            if node.listed
        ]
        edges = [
            {
                "source": edge.source,
                "target": edge.target,
                "edge_id": edge.id,
                "targeting": edge.text,
                "cost": edge.cost,
            }
            for edge in version.edges()
        ]
    return Route(rows, edges, match=engine.match)


def check_like_rebuilt(engine: Route, events: list[dict[str, Any]]) -> None:
    """Lanes answer as the walk does, in its order, and what an engine built anew answers.

    Ends of edges come in the order in which they became known, which no table of edges tells.
    """
    found = answer(engine, "lanes", events)
    assert told(found) == told(answer(engine, "walk", events))
    pairs, rejected, counts = told(answer(rebuilt(engine), "lanes", events))
    assert sorted(told(found)[0]) == sorted(pairs)
    assert (list(found.rejected), told(found)[2]) == (rejected, counts)
    ranked = answer(engine, "lanes", events[:2], rank="cost")
    assert [(item.subscription_id, item.proof["cost"]) for item in ranked] == [
        (item.subscription_id, item.proof["cost"]) for item in answer(engine, "walk", events[:2], rank="cost")
    ]


class Held:
    """A version that somebody reads, and what events reached in it when it was new."""

    def __init__(self, engine: Route, events: list[dict[str, Any]]) -> None:
        self._exchange, self._events, self._labels = engine._exchange, events, engine.match is not None
        self.version: Version = engine._exchange.hold()
        self._before = self._answers()

    def _answers(self) -> list[Any]:
        found = []
        for way in ("lanes", "walk", "scc-skip"):
            reached = WAYS[way].reach(self.version, read_events(self._events, self._labels), False)
            found.append((reached.offsets.tolist(), self.version.names(reached.nodes).to_pylist()))
        assert found[0] == found[1] == found[2]
        return found

    def check(self) -> None:
        assert self._answers() == self._before

    def release(self) -> None:
        self.check()
        self._exchange.release(self.version)


@settings(max_examples=60)
@given(st.data(), st.sampled_from([None, None, None, "superset", "subset", "intersects"]))
def test_after_every_change_answers_are_those_of_a_new_engine(data: st.DataObject, match: str | None) -> None:
    world = data.draw(worlds(match=match, most=8))
    engine = world.engine("lanes")
    events = world.batch(12, seed=data.draw(st.integers(0, 99)))
    held: list[Held] = []
    for kind, what in data.draw(st.lists(changes(world), min_size=1, max_size=7)):
        if data.draw(st.booleans()):
            held.append(Held(engine, events))
        change(engine, kind, what)
        check_like_rebuilt(engine, events)
        if data.draw(st.booleans()) and held:
            held.pop(data.draw(st.integers(0, len(held) - 1))).release()
    for each in held:
        each.release()
    assert engine._exchange._readers == {}


def test_components_that_merge_and_split() -> None:
    """Rings are joined to one component by a single edge, and fall apart when another one goes."""
    rings = [[(f"r{ring}.{node}", f"r{ring}.{(node + 1) % 40}") for node in range(40)] for ring in range(5)]
    joints = [(f"r{ring}.7", f"r{ring + 1}.3") for ring in range(4)]
    engine = Route(edges=[pair for ring in rings for pair in ring] + joints, algorithm="lanes")
    events = [event(f"r{ring}.{node}", {}, f"{ring} {node}") for ring in range(5) for node in (0, 3, 7, 20)]

    def sizes() -> list[int]:
        check_like_rebuilt(engine, events)
        found = [pair[0] for pair in told(engine.publish(events))[0]]
        return [found.count(f"{ring} 0") for ring in range(5)]

    assert sizes() == [200, 160, 120, 80, 40]
    engine.add_edges(("r4.11", "r0.5"))  # against the numbering: all is one component now
    assert sizes() == [200] * 5
    engine.remove_edges(("r2.20", "r2.21"))
    split = sizes()
    assert split == [178, 178, 180, 178, 178]  # events from elsewhere enter r2 at r2.3 and get to r2.20
    engine._exchange.compact()
    assert sizes() == split
    engine.add_edges(("r2.20", "r2.21"))
    assert sizes() == [200] * 5
    engine.remove_edges(("r4.11", "r0.5"))
    assert sizes() == [200, 160, 120, 80, 40]


class Script:
    """Changes by chance of an exchange of some hundred nodes, each of which makes one version."""

    def __init__(self, world: World, seed: int) -> None:
        self._chance = random.Random(seed)
        self._names = [*world.names, *(f"late {number}" for number in range(5))]
        self._number = 0

    def next(self) -> tuple[str, Any]:
        choice, pick = self._chance.random(), self._chance.choice
        source, target, text = pick(self._names), pick(self._names), pick(TEXTS)
        self._number += 1
        if choice < 0.25:
            return "add_nodes", [{"node_id": target, "targeting": text, "cost": float(self._number % 3)}]
        if choice < 0.35:
            return "add_nodes", [{"node_id": target, "targeting": f"x = {self._number} OR s = 'w{self._number}'"}]
        if choice < 0.7:
            return "add_edges", [{"source": source, "target": target, "targeting": text, "edge_id": f"e{choice:.1f}"}]
        if choice < 0.85:
            return "add_edges", [{"source": source, "target": target}]
        return ("remove_nodes", [target]) if choice < 0.93 else ("compact", None)


def test_an_exchange_of_some_hundred_nodes() -> None:
    for shape in SHAPES[1:6:2]:
        world = build(shape, 300, TEXTS, TREES, seed=5)
        engine, script = world.engine("lanes"), Script(world, seed=8)
        events = world.batch(100, seed=3)
        held = Held(engine, events)
        for number in range(60):
            change(engine, *script.next())
            if number % 6 == 0:
                check_like_rebuilt(engine, events)
                held.release()
                held = Held(engine, events)
        held.release()


@settings(max_examples=25)
@given(st.data(), st.sampled_from([None, None, "superset", "subset", "intersects"]))
def test_a_save_brings_every_answer_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, match: str | None
) -> None:
    """After changes too, and what is loaded goes on changing."""
    world = data.draw(worlds(match=match, most=8))
    engine, path = world.engine("lanes"), tmp_path_factory.mktemp("save") / "exchange"
    events = world.batch(70, seed=data.draw(st.integers(0, 99)))
    for kind, what in data.draw(st.lists(changes(world), max_size=3)):
        change(engine, kind, what)
    engine.save(path)
    loaded = Route.load(path, algorithm="lanes")
    assert told(loaded.publish(events)) == told(engine.publish(events))
    for kind, what in data.draw(st.lists(changes(world), max_size=2)):
        for each in (engine, loaded):
            change(each, kind, what)
        assert told(loaded.publish(events)) == told(engine.publish(events))


# --- threads ------------------------------------------------------------------------------------------------------


def run_together(readers: list[Callable[[], None]], write: Callable[[], None]) -> None:
    """Runs readers in threads while this one writes; raises what they raised."""
    errors: list[BaseException] = []

    def guarded(read: Callable[[], None]) -> None:
        try:
            read()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(read,)) for read in readers]
    for thread in threads:
        thread.start()
    try:
        write()
    finally:
        for thread in threads:
            thread.join()
    for error in errors:
        raise error


def test_each_publish_is_the_answer_of_one_version() -> None:
    """And no publish sees an older one than the publish before it."""
    world = build(SHAPES[3], 120, TEXTS, TREES, seed=11)
    script = Script(world, seed=12)
    steps = [step for step in (script.next() for _ in range(260)) if step[0] != "remove_nodes"]
    events = [row for row in world.batch(90, seed=4) if row["publisher"] in world.names]
    engine, twin = world.engine("lanes"), world.engine("walk")
    states = [told(twin.publish(events))[0]]
    for kind, what in steps:
        if kind != "compact":
            change(twin, kind, what)
            states.append(told(twin.publish(events))[0])
    assert len({str(state) for state in states}) > 40
    done = threading.Event()
    counts: list[int] = []

    def read() -> None:
        place = count = 0
        while not done.is_set() or not count:
            found = told(engine.publish(events))[0]
            place = states.index(found, place)
            count += 1
        counts.append(count)

    def write() -> None:
        try:
            for kind, what in steps:
                change(engine, kind, what)
        finally:
            done.set()

    run_together([read, read, read], write)
    assert told(engine.publish(events))[0] == states[-1]
    assert len(counts) == 3
    assert min(counts) > 0


def test_streams_and_ranks_in_threads() -> None:
    """Rooms are never shared: each thread gets its own answers while others walk and a writer adds."""
    edges = [(f"{part} {number}", f"{part} {number + 1}") for part in "abcd" for number in range(60)]
    engine = Route(edges=edges, algorithm="lanes")

    def reader(part: str) -> Callable[[], None]:
        names = [f"{part} {number}" for number in range(1, 61)]

        def read() -> None:
            for _ in range(15):
                one = event(f"{part} 0", {"x": 1})
                assert [item.subscription_id for item in engine.stream(one)] == names
                assert [item.subscription_id for item in engine.publish([one], rank="cost")] == names
                assert [item.proof["cost"] for item in engine.publish([one], paths=True)] == list(range(1, 61))

        return read

    def write() -> None:
        for number in range(60):
            engine.add_nodes([(f"other {number}", f"x = {number} AND y{number} = 'w'")])

    run_together([reader(part) for part in "abcd"], write)
    assert engine.stats().subscriptions == 4 * 61 + 60
