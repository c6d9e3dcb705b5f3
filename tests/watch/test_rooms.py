"""Where a kernel stops for room changes no answer: every array has room for one item only, so each stop is taken."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from random import Random
from typing import Any
from unittest import mock

import pytest

from heliograph import Watch
from heliograph.compiled import growing as sizes
from heliograph.watch import layout as of
from heliograph.watch import runner as machine
from heliograph.watch.graph import FlatGraph
from heliograph.watch.metrics.paths import Paths
from heliograph.watch.metrics.simple_graph import MetricReport, SimpleGraph
from heliograph.watch.runner import Runner
from tests.watch import scenes, sets

DAYS = tuple(f"2026-01-{day:02d}T00:00:00Z" for day in range(1, 29))
WANTED = ("items", "changes", "journal")
REASONS = (of.NEED_GRAPH, of.NEED_STATES, of.NEED_EVENTS, *WANTED)


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often room was made, by what lacked it; there is never more than is needed."""
    counted: Counter[Any] = Counter()

    def count(owner: type, name: str) -> None:
        make = getattr(owner, name)

        def counting(self: Any, *arguments: Any) -> Any:
            counted[arguments[0] if owner is Runner else f"{owner.__name__}.{name}"] += 1
            if owner is Runner:
                arrays = {each: len(getattr(self.world, each)) for each in WANTED}
                counted.update(each for each, rows in arrays.items() if getattr(self.world, f"{each}_wanted") > rows)
            return make(self, *arguments)

        monkeypatch.setattr(owner, name, counting)

    for owner, name in (
        (Runner, "make_room"),
        (FlatGraph, "grow"),
        (SimpleGraph, "make_room"),
        (MetricReport, "make_room"),
        (Paths, "double_entries"),
    ):
        count(owner, name)
    monkeypatch.setattr(sizes, "LEAST", True)
    return counted


def told(algorithm: str, scene: scenes.Scene) -> list[sets.Stand]:
    return list(sets.play(Watch(algorithm=algorithm, **scene.settings), scene.acts))


def agree(seed: int, acts: int, most: int) -> None:
    """Every other scene also tells what it has to as soon as there is a little of it."""
    scene = sets.draw(Random(seed), acts, most)
    with mock.patch.object(machine, "_MOST_EVENTS", 3) if seed % 2 else nullcontext():
        _agree(seed, scene)


def _agree(seed: int, scene: scenes.Scene) -> None:
    for number, (plain, indexed) in enumerate(zip(told("plain", scene), told("indexed", scene), strict=True)):
        assert indexed == plain, f"seed {seed}, act {number}: {scene.acts[number]}"


def test_sets_of_subscriptions(stops: Counter[Any]) -> None:
    for seed in range(6):
        agree(seed, acts=8, most=20)
    assert all(stops[reason] for reason in REASONS), stops
    grown = ("SimpleGraph.make_room", "MetricReport.make_room", "FlatGraph.grow", "Paths.double_entries")
    assert all(stops[name] for name in grown), stops


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_many_sets_of_subscriptions(first: int, stops: Counter[Any]) -> None:
    for seed in range(first, first + 50):
        agree(seed, acts=14, most=60)
    assert all(stops[reason] for reason in REASONS), stops


def test_scenes_of_patterns(stops: Counter[Any]) -> None:
    for seed in range(25):
        scene = scenes.Scene.draw(Random(seed))
        plain, indexed = (
            scenes.play(Watch(algorithm=algorithm, **scene.settings), scene.acts) for algorithm in ("plain", "indexed")
        )
        assert indexed == plain, seed
    assert stops["items"]
    assert stops[of.NEED_STATES]


def test_adjacency_is_needed_in_the_midst_of_a_batch(stops: Counter[Any]) -> None:
    """Where nobody asks for more than whole edges, `=` and the removal of a vertex are the first to need lists."""
    adding = [("+", f"v{n}", "p", f"v{n + 1}") for n in range(5)]
    acts: list[scenes.Act] = [
        ("subscribe", [(f"s{n}", f"ASK {{ :v{n} :p :v{n + 1} }}") for n in range(6)]),
        ("publish", [*adding, ("=", "v2", "p", "v9"), ("-", "v4", None, None), ("=", "v0", "p", "v1")]),
    ]
    plain, indexed = (scenes.play(Watch(algorithm=algorithm), acts) for algorithm in ("plain", "indexed"))
    assert indexed == plain
    assert stops[of.NEED_ADJACENCY]


def test_solutions_that_wait_for_a_metric_are_not_cut(stops: Counter[Any]) -> None:
    """What lies beyond a subscription's limit is dropped while it is listed, but not where a metric decides later."""
    query = "SELECT * { ?x :p ?h . ?h :q ?y FILTER(hg:outdegree(:s) >= 1) }"
    item = {"subscription_id": "m", "query": query, "options": '{"max_matches_per_update": 2}'}
    acts: list[scenes.Act] = [
        ("subscribe", [item]),
        ("publish", [("+", f"x{n}", "p", "h") for n in range(40)]),
        ("publish", [("+", "h", "q", "y")]),
        ("publish", [("+", "s", "r", "t")]),
        ("publish", [("-", "x7", "p", "h"), ("-", "h", "q", "y")]),
    ]
    with mock.patch.object(machine, "_MOST_EVENTS", 3):
        plain, indexed = (scenes.play(Watch(algorithm=algorithm), acts) for algorithm in ("plain", "indexed"))
    assert indexed == plain
    assert [len(each.notifications) for each in plain] == [0, 0, 0, 2, 1 + 2]
    assert [each.truncated for each in plain] == [0, 0, 0, 38, 37]
    assert stops[of.NEED_EVENTS]


# --- a metric beside a window -----------------------------------------------------------------------------------

PATTERN, METRIC = ("q", "ASK { ?x :p :b }"), ("m", "ASK { FILTER(hg:indegree(:b) >= 1) }")


def row(op: str, subject: str, property: str, object: str, day: int) -> dict[str, Any]:
    return {"op": op, "subject": subject, "property": property, "object": object, "at": DAYS[day]}


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
@pytest.mark.parametrize("asked", [(PATTERN,), (METRIC,), (PATTERN, METRIC)])
def test_edges_expire_beside_a_metric(algorithm: str, asked: tuple[tuple[str, str], ...]) -> None:
    """More edges expire with one update than the journal has room for at first, 1,024 rows, or for twice that."""
    watch = Watch(algorithm=algorithm, window="1d")
    watch.subscribe(list(asked))
    edges = 1500 if algorithm == "indexed" else 40
    updates = [row("+", f"a{number}", "p", "b", 0) for number in range(edges)]
    found = watch.publish([*updates, row("+", "x", "q", "y", 8)])
    assert [(each.subscription_id, each.change) for each in found] == [
        *((id, "+") for id, _ in asked),
        *((id, "-") for id, _ in asked),
    ]
    assert not any(watch.explain(id).matched for id, _ in asked)


def test_derived_edges_are_followed_beside_a_metric(stops: Counter[Any]) -> None:
    """The journal lacks room just when a derived edge was added: it must be followed when the run goes on."""
    scene = scenes.Scene(
        {"taxonomy": [{"child": "b", "parent": "a"}, {"child": "c", "parent": "b"}]},
        [
            ("subscribe", [("s", "SELECT * { ?x a/rdfs:subClassOf* :a }"), METRIC]),
            ("publish", [{"op": "+", "subject": f"v{n}", "property": "a", "object": "bc"[n % 2]} for n in range(9)]),
            ("publish", [{"op": "-", "subject": f"v{n}", "property": None, "object": None} for n in range(9)]),
        ],
    )
    plain, indexed = (
        scenes.play(Watch(algorithm=algorithm, **scene.settings), scene.acts) for algorithm in ("plain", "indexed")
    )
    assert indexed == plain
    assert len(indexed[1].notifications) == len(indexed[2].notifications) == 9
    assert stops["journal"]


def test_the_setting_is_off() -> None:
    assert not sizes.LEAST
    assert sizes.first_room(16) == 16
