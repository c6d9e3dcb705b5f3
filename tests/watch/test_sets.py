"""Sets of subscriptions of all kinds over one stream: all ways agree, in any cut, and each is told what it is alone."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from heliograph import Watch
from tests.watch import scenes, sets

EACH, MANY = 5, 30  # scenes of a test, and of each part of a long one


def stands(scene: scenes.Scene, algorithm: str, r: Random | None = None) -> list[sets.Stand]:
    return list(sets.play(Watch(algorithm=algorithm, **scene.settings), scene.acts, r))


def check(seed: int, acts: int = 10, most: int = 20) -> int:
    """All laws of one scene; how much was told."""
    r = Random(seed)
    scene = sets.draw(r, acts, most)
    plain, indexed = stands(scene, "plain"), stands(scene, "indexed")
    for number, (one, other) in enumerate(zip(plain, indexed, strict=True)):
        assert other == one, f"seed {seed}, act {number}: {scene.acts[number]}"
    for algorithm in ("plain", "indexed"):
        cut = stands(scene, algorithm, r)
        assert [sets.notes(each) for each in cut] == [sets.notes(each) for each in plain], f"seed {seed}, {algorithm}"
        assert [each.explained for each in cut] == [each.explained for each in plain], f"seed {seed}, {algorithm}"
    for ids, alone in sets.apart(scene):
        for number, (one, whole) in enumerate(zip(stands(alone, "indexed"), plain, strict=True)):
            of_these = [note for note in sets.notes(whole) if note.subscription_id in ids]
            assert sets.notes(one) == of_these, f"seed {seed}, act {number}, {sorted(ids)} alone"
            assert one.explained == {id: each for id, each in whole.explained.items() if id in ids}
    return sum(len(sets.notes(each)) for each in plain)


def test_sets() -> None:
    assert sum(check(seed) for seed in range(EACH)) > 20 * EACH


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 10_000 + 20 * MANY, MANY))
def test_many_sets(first: int) -> None:
    for seed in range(first, first + MANY):
        check(seed, acts=16, most=60)


# --- large batches ----------------------------------------------------------------------------------------------

LARGE = (
    ("ask", "ASK { ?x :p :b }", None),
    ("each", "SELECT * { ?x :p ?y . ?y :q ?z }", None),
    ("distinct", "SELECT DISTINCT ?x { ?x :p ?y . ?y :p ?z }", None),
    ("count", "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 25)", None),
    ("groups", "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) >= 3)", None),
    ("top1", "SELECT * { ?x :p ?y }", {"top_k_of": {"set": "s", "k": 1}}),
    ("top2", "SELECT * { ?x :q ?y }", {"top_k_of": {"set": "s", "k": 1}}),
    ("degree", "SELECT * { FILTER(hg:indegree(?x) >= 6) }", None),
    ("metric", "ASK { FILTER(hg:indegree(:b) >= 1) }", None),
    ("cliques", "ASK { FILTER(hg:cliques(3) >= 5) }", None),
)


def stream(r: Random, count: int, vertices: int, timed: bool) -> list[dict[str, Any]]:
    """Many updates among few vertices: additions, removals, settings, vertices that go, renewals."""
    terms, rows = scenes.Terms(tuple("abcdefghijklmnopqrstuvwxyz"[:vertices]), ("p", "q"), ("1", "2")), []
    for number in range(count):
        row = scenes.update(r, terms, None)
        row["at"] = f"2026-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z" if timed else None
        rows.append(row)
    return rows


def test_large_batches_beside_metrics() -> None:
    """Thousands of updates at once tell what they tell in parts; the parts are small, so no buffer fills there."""
    told: set[str] = set()
    for settings in ({"window": "90s"}, {"window_updates": 120}, {}):
        r = Random(7)
        rows = stream(r, 3000, 12, timed="window" in settings)
        asked = [
            {"subscription_id": id, "query": text, "options": json.dumps(given or {})} for id, text, given in LARGE
        ]
        whole, parts = (Watch(algorithm="indexed", **settings) for _ in range(2))
        for watch in (whole, parts):
            watch.subscribe(asked)
        one = [note for first in range(0, len(rows), 50) for note in parts.publish(rows[first : first + 50])]
        assert list(whole.publish(rows)) == one
        told.update(note.subscription_id for note in one)
    assert told == {id for id, _, _ in LARGE}


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [{"window": "90s"}, {"window_updates": 120}, {"window": "5m", "window_updates": 40}]
)
def test_large_batches_as_plain(settings: dict[str, Any]) -> None:
    rows = stream(Random(11), 21_000, 12, timed="window" in settings)
    asked = [{"subscription_id": id, "query": text, "options": json.dumps(given or {})} for id, text, given in LARGE]
    plain, indexed = (Watch(algorithm=algorithm, **settings) for algorithm in ("plain", "indexed"))
    for watch in (plain, indexed):
        watch.subscribe(asked)
    assert list(indexed.publish(rows)) == list(plain.publish(rows))


# --- top-k ------------------------------------------------------------------------------------------------------

FANS = [("+", fan, "likes", music) for fan, music in (("a", "jazz"), ("b", "jazz"), ("a", "folk"), ("c", "rock"))]


def member(name: str, k: int = 1, text: str = "SELECT * {{ ?fan :likes :{0} }}") -> dict[str, Any]:
    given = json.dumps({"top_k_of": {"set": "music", "k": k}})
    return {"subscription_id": name, "query": text.format(name), "options": given}


def brief(found: Any) -> list[tuple[str, str]]:
    return [(note.subscription_id, note.change) for note in found]


both = pytest.mark.parametrize("algorithm", ["plain", "indexed"])


@both
def test_who_moves_up_holds_at_once_and_is_told_with_the_next_update(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm)
    watch.subscribe([member("jazz"), member("folk"), member("rock")])
    watch.publish(FANS)
    assert [watch.explain(name).matched for name in ("jazz", "folk", "rock")] == [True, False, False]
    watch.unsubscribe(["jazz"])
    assert [watch.explain(name).matched for name in ("folk", "rock")] == [True, False]
    assert brief(watch.publish([("+", "z", "other", "z")])) == [("folk", "+")]
    assert brief(watch.publish([("+", "z", "other", "y")])) == []


@both
def test_who_comes_late_displaces_another_at_once(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm)
    watch.subscribe([member("folk"), member("rock")])
    watch.publish(FANS)
    watch.subscribe([member("jazz")])
    assert [watch.explain(name).matched for name in ("jazz", "folk", "rock")] == [True, False, False]
    assert brief(watch.publish([("+", "z", "other", "z")])) == [("folk", "-")]


@both
@pytest.mark.parametrize("filled", ["loaded", "published"])
def test_metrics_are_ranked_too(algorithm: str, filled: str) -> None:
    """Where solutions are judged by a metric, the place in the set decides, as everywhere."""
    watch = Watch(algorithm=algorithm)
    asked = [
        member(name, text="SELECT * {{ ?fan :likes :{0} FILTER(hg:degree(?fan) >= 1) }}") for name in ("folk", "jazz")
    ]
    if filled == "loaded":
        watch.load_graph([row[1:] for row in FANS])
        watch.subscribe(asked)
    else:
        watch.subscribe(asked)
        watch.publish(FANS)
    assert [watch.explain(name).matched for name in ("folk", "jazz")] == [False, True]
    assert watch.explain("jazz").evidence == {"value": 2}
    watch.unsubscribe(["jazz"])
    assert watch.explain("folk").matched
