"""Indexed ≡ plain, whatever happens: queries of every kind come and go, graphs are loaded, batches are cut anywhere.

The plain strategy re-answers every concerned query; it is checked against pyoxigraph in `test_oracle`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch
from heliograph.compiled import growing as sizes
from heliograph.watch import indexed
from heliograph.watch import runner as machine
from heliograph.watch.indexed import IndexedQueries, IndexedStrategy
from heliograph.watch.options import Subscribed
from heliograph.watch.strategy import AutoStrategy
from tests.watch.scenes import SMALL, TYPED, WIDE, Act, Scene, Told, act, play

scenes = st.randoms(use_true_random=False).map(Scene.draw)


@contextmanager
def cramped() -> Iterator[None]:
    """Kernels that lack room wherever they can, blocks of a few updates, a network made anew at every turn."""
    least, events = mock.patch.object(sizes, "LEAST", True), mock.patch.object(machine, "_MOST_EVENTS", 3)
    with least, events, mock.patch.multiple(indexed, _BLOCK=3, _GARBAGE=3):
        yield


def check_scene(scene: Scene) -> None:
    plain, other = (Watch(algorithm=name, **scene.settings) for name in ("plain", "indexed"))
    for doing in scene.acts:
        assert act(other, doing) == act(plain, doing), doing


# --- whole scenes -----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=70)
@given(scenes)
def test_all_that_can_happen(scene: Scene) -> None:
    check_scene(scene)


@settings(deadline=None, max_examples=60)
@given(scenes)
def test_no_room_anywhere(scene: Scene) -> None:
    with cramped():
        check_scene(scene)


@pytest.mark.long
@pytest.mark.parametrize("terms", [SMALL, TYPED, WIDE], ids=["small", "typed", "wide"])
@pytest.mark.parametrize("narrow", [False, True])
def test_many_long_scenes(terms: Any, narrow: bool) -> None:
    for seed in range(400):
        scene = Scene.draw(Random(seed), 30, terms)
        if narrow:
            with cramped():
                check_scene(scene)
        else:
            check_scene(scene)


def test_spelled_alike() -> None:
    """Times too: equal times of different classes would still be written differently."""
    row = {"op": "+", "subject": "a", "property": "p", "object": "b", "at": "2026-01-01T12:00:00+02:00"}
    lines = []
    for name in ("plain", "indexed"):
        watch = Watch(algorithm=name)
        watch.subscribe(("s", "SELECT * { ?x :p ?y }"))
        lines.append(watch.publish([row, {**row, "object": "c", "at": None}]))
    assert repr(lines[0]) == repr(lines[1])
    assert "datetime.datetime(2026, 1, 1, 10, 0, tzinfo=datetime.timezone.utc)" in repr(lines[1])
    assert lines[0].table == lines[1].table


def test_whoever_goes_before_being_settled_again_is_forgotten() -> None:
    """A graph is loaded under a member of a top-k set, somebody else comes, and the member goes."""
    top = {"subscription_id": "t", "query": "SELECT * { ?x :p ?y }", "options": json.dumps({"top_k_of": 1})}
    edge = {"op": "+", "subject": "a", "property": "p", "object": "b"}
    acts: list[Act] = [("load", [edge]), ("subscribe", [top]), ("publish", [edge]), ("load", [{**edge, "object": "c"}])]
    acts += [("subscribe", [("s", "SELECT DISTINCT ?x { ?x :p ?y }")]), ("unsubscribe", ["t"])]
    acts += [
        ("publish", [{**edge, "op": "-", "property": None, "object": None}]),
        ("subscribe", [top]),
        ("publish", [edge]),
    ]
    scene = Scene({}, acts)
    check_scene(scene)
    assert sum(len(each.notifications) for each in told(scene, algorithm="indexed")) == 3  # s lost and gained, t gained


# --- from one strategy to another -------------------------------------------------------------------------------


def told(scene: Scene, **how: Any) -> list[Told]:
    return play(Watch(**scene.settings, **how), scene.acts)


@settings(deadline=None, max_examples=35)
@given(scenes, st.integers(0, 12))
def test_auto_goes_over_in_mid_stream(scene: Scene, where: int) -> None:
    with mock.patch.object(AutoStrategy, "_pays", side_effect=chain([False] * where, repeat(True))):
        watch = Watch(**scene.settings)
        found = play(watch, scene.acts)
    assert found == told(scene, algorithm="plain")
    assert isinstance(watch._strategy, AutoStrategy)
    assert where > 0 or isinstance(watch._strategy._held, IndexedStrategy)


@settings(deadline=None, max_examples=60)
@given(
    scenes, st.integers(0, 12), st.sampled_from([("plain", "indexed"), ("indexed", "plain"), ("indexed", "indexed")])
)
def test_saved_and_restored_in_mid_stream(scene: Scene, where: int, ways: tuple[str, str]) -> None:
    watch = Watch(algorithm=ways[0], **scene.settings)
    before = play(watch, scene.acts[:where])
    with tempfile.TemporaryDirectory() as folder:
        watch.save(Path(folder) / "saved")
        watch = Watch.load(Path(folder) / "saved", algorithm=ways[1])
    assert before + play(watch, scene.acts[where:]) == told(scene, algorithm="plain")


@settings(deadline=None, max_examples=35)
@given(scenes, st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_batches_cut_anywhere(scene: Scene, sizes: list[int]) -> None:
    whole, parts = (Watch(algorithm="indexed", **scene.settings) for _ in range(2))
    for place, doing in enumerate(scene.acts):
        expected = act(whole, doing)
        if doing[0] != "publish":
            assert act(parts, doing) == expected
            continue
        size = sizes[place % len(sizes)]
        cut = [doing[1][first : first + size] for first in range(0, len(doing[1]), size)]
        assert [each for part in cut for each in parts.publish(part)] == expected.notifications
    costs = [(watch.stats().candidates, watch.stats().truncated, watch.stats().complete) for watch in (whole, parts)]
    assert costs[0] == costs[1]


def test_values_alone_and_whoever_comes_with_them() -> None:
    acts: list[Act] = [
        (
            "subscribe",
            [("s", "SELECT * { ?a :p ?b }"), ("v", "SELECT * { VALUES ?x { 1 2 } }"), ("t", "ASK { :a :p ?b }")],
        ),
        ("publish", [("+", "a", "p", "b"), ("-", "a", "p", "b")]),
    ]
    check_scene(Scene({}, acts))


def test_whoever_was_not_reached_is_entered_later() -> None:
    watch = Watch(algorithm="indexed")
    watch.subscribe(
        [("s", "SELECT * { ?a :p ?b }"), ("t", "SELECT * { ?a :p ?b . ?b :p ?c }"), ("u", "ASK { ?a :p ?b }")]
    )
    original = IndexedQueries._enter

    def failing(self: IndexedQueries, interest: Subscribed) -> None:
        if interest.subscription.id == "t":
            raise KeyboardInterrupt
        original(self, interest)

    with mock.patch.object(IndexedQueries, "_enter", failing), pytest.raises(KeyboardInterrupt):
        watch.publish([("+", "x", "q", "y")])
    assert [line.subscription_id for line in watch.publish([("+", "a", "p", "b"), ("+", "b", "p", "c")])] == [
        *("s", "u"),
        *("s", "t"),
    ]
