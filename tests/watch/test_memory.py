"""A watch gives back the terms that nothing refers to any more, and tells what it would have told without."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Updates, Watch
from heliograph.terms import plain_name
from heliograph.watch import engine
from heliograph.watch.indexed import IndexedStrategy
from tests.watch.metrics.test_restoring import items, updates, watching
from tests.watch.scenes import Scene, Told, act, play

ALGORITHMS = ("plain", "indexed", "auto")
LEAST = 200  # terms that nothing refers to, where a test makes it few


def give_back(watch: Watch) -> None:
    """Lets the next publish, or the next subscription that goes, give back whatever can be."""

    def forced() -> None:
        del watch._give_back
        watch._renew(watch._referred())

    watch._give_back = forced  # type: ignore[method-assign]


def terms(watch: Watch) -> int:
    return len(watch._vocabulary)  # asking for `vocabulary` would keep the terms


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LEAST", LEAST)


# --- the same is told -------------------------------------------------------------------------------------------


def check_scene(scene: Scene, r: Random, algorithm: str, folder: Path) -> int:
    """Plays a scene in which terms are given back at random; how many times they were."""
    plain, watch = Watch(algorithm="plain", **scene.settings), Watch(algorithm=algorithm, **scene.settings)
    saved, times = r.randrange(len(scene.acts) + 1), 0
    for number, doing in enumerate(scene.acts):
        if number == saved:
            watch.save(folder / "saved")
            watch = Watch.load(folder / "saved", algorithm=algorithm)
        if r.random() < 0.7:
            give_back(watch)
        before = watch._vocabulary
        assert act(watch, doing) == act(plain, doing)
        times += watch._vocabulary is not before
    ids = [id for kind, rows in scene.acts if kind == "subscribe" for id in (row["subscription_id"] for row in rows)]
    for id in set(ids) & {each.id for each in plain._subscriptions}:
        assert watch.explain(id).matched == plain.explain(id).matched
    return times


@settings(deadline=None, max_examples=60)
@given(r=st.randoms(use_true_random=False), algorithm=st.sampled_from(ALGORITHMS))
def test_scenes(tmp_path_factory: pytest.TempPathFactory, r: Random, algorithm: str) -> None:
    check_scene(Scene.draw(r), r, algorithm, tmp_path_factory.mktemp("scene"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(400))
def test_many_scenes(tmp_path: Path, seed: int) -> None:
    r = Random(seed)
    assert check_scene(Scene.draw(r, acts=30), r, r.choice(ALGORITHMS), tmp_path) > 0


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
@pytest.mark.parametrize("setting", [{}, {"window": "3h"}, {"window_updates": 25}])
def test_metrics(algorithm: str, setting: dict[str, Any]) -> None:
    r = Random(3)
    asked, rows = items(r), list(updates(r, 40))
    one, other = watching(asked, algorithm, **setting), watching(asked, algorithm, **setting)
    for first in range(0, 40, 5):
        before = other._vocabulary
        give_back(other)
        part = rows[first : first + 5]
        assert list(other.publish(part)) == list(one.publish(part))
        assert other._vocabulary is not before


# --- how much is held -------------------------------------------------------------------------------------------


def fresh(round: int, size: int) -> Iterator[dict[str, Any]]:
    """Updates whose names no other round has."""
    for each in range(size):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=round * size + each)
        name = f"{round}.{each}"
        yield {"op": "+", "subject": f"s{name}", "property": "p", "object": f"o{name}", "at": at}
        yield {"op": "+", "subject": f"o{name}", "property": "q", "object": f'"{name}"', "at": at}


QUERIES = [("chain", "SELECT * { ?x :p ?y . ?y :q ?z }"), ("hub", "ASK { FILTER(hg:degree(:o9.9) >= 2) }")]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("setting", [{"window": "30s"}, {"window_updates": 60}])
def test_ever_new_names_in_a_window(algorithm: str, setting: dict[str, Any]) -> None:
    watch = Watch(algorithm=algorithm, **setting)
    watch.subscribe(QUERIES)
    held, rooms = [], []
    for round in range(60):
        told = watch.publish(fresh(round, 10))
        assert [n.change for n in told].count("+") == 10
        held.append(terms(watch))
        rooms.append(_room(watch))
    assert max(held) <= 2 * LEAST + 30  # of 1,800 names that came
    assert max(rooms[30:]) <= max(rooms[:30])


def _room(watch: Watch) -> int:
    strategy = watch._strategy
    return strategy._queries.runner.nbytes if isinstance(strategy, IndexedStrategy) else 0


SHAPES = (
    "ASK {{ :a{0} :p :b{0} }}",
    "ASK {{ ?x :p :b{0} . ?x :q ?y FILTER(?y > {1}) }}",
    'SELECT * {{ ?x :p "text {0}" FILTER(STRSTARTS(STR(?x), "x{0}")) }}',
    "SELECT DISTINCT ?x {{ ?x :p{0} ?y }}",
    "SELECT (COUNT(*) AS ?n) {{ ?x :p :b{0} }} HAVING (COUNT(*) >= {1})",
    "SELECT * {{ ?x :p ?y FILTER(hg:distance(:a{0}, ?x) < 3) }}",
)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_subscriptions_that_come_and_go(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm)
    watch.subscribe(("stays", "SELECT * { ?x :p ?y }"))
    held = []
    for round in range(120):
        asked = {f"{round}.{n}": shape.format(f"{round}_{n}", round) for n, shape in enumerate(SHAPES)}
        watch.subscribe(list(asked.items()))
        assert len(watch.publish([("+", "x", "p", f"y{round % 3}"), ("-", "x", "p", f"y{round % 3}")])) >= 2
        watch.unsubscribe(list(asked))
        held.append(terms(watch))
    assert max(held) <= 2 * LEAST  # of a thousand names that came


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_referred_to_is_kept(algorithm: str) -> None:
    """A graph that only grows is looked through seldom, and its terms stay as they are."""
    watch = Watch(algorithm=algorithm)
    vocabulary = watch._vocabulary
    looks = 0
    ids = watch._strategy.ids

    def counted() -> Any:
        nonlocal looks
        looks += 1
        return ids()

    watch._strategy.ids = counted  # type: ignore[method-assign]
    for round in range(100):
        watch.publish(fresh(round, 10))
    assert watch._vocabulary is vocabulary
    assert 3000 < terms(watch) < 3010
    assert 1 <= looks <= 8  # it doubles in between


# --- batches of ids ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_batches_that_were_encoded_before(algorithm: str) -> None:
    one, other = (Watch(algorithm=algorithm, window_updates=10) for _ in range(2))
    for watch in (one, other):
        watch.subscribe(QUERIES[:1])
    batches = [other.encode(list(fresh(round, 3))) for round in range(20)]
    for round, batch in enumerate(batches):
        give_back(other)
        assert list(other.publish(batch)) == list(one.publish(fresh(round, 3)))
    assert batches[-1].vocabulary is not other._vocabulary


@pytest.mark.usefixtures("few")
def test_batches_that_somebody_holds_keep_their_terms() -> None:
    watch = Watch(window_updates=10)
    vocabulary = watch._vocabulary
    batches = [watch.encode(list(fresh(round, 10))) for round in range(40)]
    for batch in batches[:20]:
        watch.publish(batch)
    assert watch._vocabulary is vocabulary
    batches.clear()
    del batch
    held = []
    for round in range(100, 220):
        watch.publish(fresh(round, 10))
        held.append(terms(watch))
    assert watch._vocabulary is not vocabulary
    assert min(held) < 100
    assert max(held[60:]) <= 2 * LEAST


@pytest.mark.usefixtures("few")
def test_ids_that_were_given_out_stay() -> None:
    watch = Watch(window_updates=10)
    watch.subscribe(("s", "SELECT * { ?x :knows ?y }"))
    knows, *people = watch.vocabulary.intern_many([plain_name(name) for name in ("knows", "ann", "bob")])
    for round in range(40):
        watch.publish(fresh(round, 10))
    (found,) = watch.publish(Updates.of(watch.vocabulary, (people[:1], [knows], people[1:])))
    assert found.proof == {"bindings": {"x": "ann", "y": "bob"}}


def test_told_columns_outlive_their_vocabulary() -> None:
    watch = Watch(algorithm="indexed", window_updates=2)
    watch.subscribe(QUERIES[:1])
    give_back(watch)
    told = watch.publish(fresh(0, 2))
    for round in range(1, 4):
        give_back(watch)
        watch.publish(fresh(round, 2))
    bindings = [n.proof["bindings"] for n in told if n.change == "+"]
    assert bindings == [{"x": f"s0.{n}", "y": f"o0.{n}", "z": f'"0.{n}"'} for n in range(2)]


def test_played_plainly() -> None:
    """Without being asked to, an engine of few terms gives nothing back."""
    scene = Scene.draw(Random(1))
    watch = Watch(algorithm="plain", **scene.settings)
    vocabulary = watch._vocabulary
    assert all(isinstance(each, Told) for each in play(watch, scene.acts))
    assert watch._vocabulary is vocabulary
    assert np.all(watch._due == engine.LEAST)
