"""Metrics in streams of all kinds: plain and indexed tell the same, one by one and in batches, and going over.

Windows by time and by number, weights, attributes, vertices that go, subscriptions that come and go in mid-stream with
options of all kinds, witnesses.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any
from unittest import mock

import pytest

from heliograph import Watch
from heliograph.watch.metrics import betweenness
from heliograph.watch.metrics.betweenness import Betweenness
from tests.watch.metrics.questions import VERTICES, grouped, options, query, timed, updates

MANY_VERTICES = tuple("abcdefghij")
_LONG = 10**18  # nanoseconds


class Engines:
    """Engines that are to tell the same: indexed one by one and in batches, plain, and one that goes over."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._one, self._batch = (Watch(algorithm="indexed", **settings) for _ in range(2))
        self._plain, self._changing = Watch(algorithm="plain", **settings), Watch(algorithm="auto", **settings)
        self._all = self._one, self._batch, self._plain, self._changing
        self._spend(-_LONG)
        self._ids: list[str] = []
        self._came = 0

    def _spend(self, nanoseconds: int) -> None:
        self._changing._strategy._spent_ns = nanoseconds  # type: ignore[attr-defined]

    def go_over(self) -> None:
        """The engine that is plain so far is indexed from the next update on."""
        self._spend(_LONG)

    def load(self, edges: list[tuple[str, str, str]]) -> None:
        for each in self._all:
            each.load_graph(edges)

    def subscribe(self, text: str, asked: str | None) -> None:
        """Takes a subscription, if it is one: a hysteresis may be refused."""
        self._came += 1
        row = {"subscription_id": f"s{self._came}", "query": text, "options": asked}
        taken = {each.subscribe([row]).accepted for each in self._all}
        assert len(taken) == 1
        self._ids += [f"s{self._came}"] * taken.pop()

    def unsubscribe(self, r: Random) -> None:
        gone = self._ids.pop(r.randrange(len(self._ids)))
        for each in self._all:
            each.unsubscribe([gone])

    @property
    def count(self) -> int:
        return len(self._ids)

    def check(self, rows: list[dict[str, Any]]) -> int:
        """Publishes; how much was told."""
        one = [note for row in rows for note in self._one.publish([row])]
        plain = [note for row in rows for note in self._plain.publish([row])]
        assert one == plain
        assert list(self._batch.publish(rows)) == one
        assert list(self._changing.publish(rows)) == one
        return len(one)


def settings(r: Random) -> dict[str, Any]:
    windows: dict[str, dict[str, Any]] = {"updates": {"window_updates": r.randint(2, 8)}, "time": {"window": "1h"}}
    window = windows.get(r.choice(("none", "none", "updates", "time")), {})
    return {"mode": r.choice(("each", "change")), "witness": r.random() < 0.4, **window}


def check_stream(r: Random, count: int) -> int:
    chosen = settings(r)
    engines = Engines(chosen)
    rows = list(updates(r, count, VERTICES if r.random() < 0.7 else MANY_VERTICES))
    if "window" in chosen:
        rows = timed(r, rows)
    elif r.random() < 0.7:
        engines.load([("a", "p", "b"), ("b", "q", "c")])
    told, done = 0, 0
    while done < count:
        for _ in range(r.choice((0, 1, 2)) if done else 3):
            text = grouped(r, query(r))
            engines.subscribe(text, options(r, text))
        if engines.count > 4 and r.random() < 0.6:
            engines.unsubscribe(r)
        if r.random() < 0.15:
            engines.go_over()
        size = r.randint(1, 6)
        told += engines.check(rows[done : done + size])
        done += size
    return told


@pytest.mark.parametrize("first", [0, 5, 10])
def test_streams_of_all_kinds(first: int) -> None:
    assert sum(check_stream(Random(seed), 20) for seed in range(first, first + 5))


@pytest.mark.long
@pytest.mark.parametrize("first", range(15, 415, 20))
def test_many_streams_of_all_kinds(first: int) -> None:
    assert sum(check_stream(Random(seed), 40) for seed in range(first, first + 20))


# --- what was found so ------------------------------------------------------------------------------------------


def plus(*edges: str) -> list[dict[str, Any]]:
    """Edges that come, as in "a p b"."""
    return [dict(zip(("op", "subject", "property", "object"), ("+", *edge.split()), strict=True)) for edge in edges]


def test_a_vertex_that_goes_is_lost_whatever_the_hysteresis() -> None:
    engines = Engines({})
    engines.subscribe("SELECT * { FILTER(hg:clustering(?x) > 0.3) }", '{"hysteresis": 0.5}')
    assert engines.check(plus("a p b", "b p c", "c p a")) == 3
    assert engines.check([{"op": "-", "subject": "a", "property": None, "object": None}]) == 1


@pytest.mark.parametrize("group", ["", " GROUP BY ?x"])
def test_a_count_with_a_hysteresis_goes_over(group: str) -> None:
    engines, shown = Engines({}), "?x (COUNT(*) AS ?n)" if group else "(COUNT(*) AS ?n)"
    text = f"SELECT {shown} {{ FILTER(hg:degree(?x) = 1) }}{group} HAVING (COUNT(*) >= 1)"
    engines.subscribe(text, '{"hysteresis": 1}')
    assert engines.check(plus("a p b"))
    engines.go_over()
    engines.check(plus("b p c", "c p a"))


def test_groups_are_told_at_first() -> None:
    engines = Engines({})
    engines.load([("a", "p", "b")])
    text = "{ VALUES ?x { :a :c } FILTER(hg:density() <= 0.3) }"
    engines.subscribe(f"SELECT ?x (COUNT(*) AS ?n) {text} GROUP BY ?x HAVING (COUNT(*) >= 1)", '{"initial": true}')
    assert engines.check(plus("a p b")) == 2


def test_small_values_are_shown_alike() -> None:
    engines = Engines({})
    engines.subscribe("SELECT * { ?x :p ?y FILTER(hg:betweenness(?x) > 0.01) }", None)
    assert engines.check(plus("d p e", "f p g", "h p i", "a p b", "b p c")) == 1


def test_what_is_lost_shows_its_interval() -> None:
    engines = Engines({})
    engines.subscribe("SELECT * { :a :p ?y FILTER(hg:dense(:b) < 3) }", None)
    assert engines.check([*plus("a p b", "b p c"), {**plus("a p b")[0], "op": "-"}]) == 2


@pytest.mark.parametrize("witness", [False, True])
def test_of_equal_trees_the_first_in_order_of_terms_is_chosen(witness: bool) -> None:
    """Whichever was named first."""
    engines = Engines({"witness": witness})
    engines.subscribe("SELECT * { FILTER(hg:steinerPoint(:m, :a, :z) = 1) }", None)
    engines.subscribe("SELECT * { FILTER(hg:steinerPoint(:k, :a, :z) = 1) }", None)
    engines.subscribe("SELECT * { FILTER(hg:distance(:a, :z) <= 2) }", None)
    assert engines.check(plus("a p m", "m p z", "a p k", "k p z", "z q k")) == 4


def test_terminals_in_another_order_are_the_same() -> None:
    engines = Engines({})
    engines.subscribe("SELECT * { ?x :p ?y FILTER(hg:steiner(?x, ?y) < 2) }", None)
    assert engines.check(plus("a p b", "b p a")) == 2
    assert engines.check([{**plus("a p b")[0], "op": "-"}, {**plus("b p a")[0], "op": "-"}]) == 2
    assert engines.check(plus("b p a")) == 1


def test_a_path_that_is_not_there_shows_no_edges() -> None:
    engines = Engines({"witness": True})
    engines.subscribe("ASK { FILTER(hg:distance(:a, :b) < 2) }", None)
    assert engines.check([*plus("a p b"), {**plus("a p b")[0], "op": "-"}]) == 2


def test_estimates_show_their_interval_and_exact_values_none() -> None:
    """In whatever batches they came: with more than 4 vertices values are estimates here."""
    small = partial(Betweenness, limit=4, epsilon=0.2)
    gone = [{"op": "-", "subject": vertex, "property": None, "object": None} for vertex in "abcd"]
    rows = [*plus("a p b", "b p c", "c p d", "d p e", "e p f"), *gone, *plus("f p g")]
    with mock.patch.object(betweenness, "Betweenness", small):
        one, batch = (Watch(algorithm="indexed") for _ in range(2))
        for each in (one, batch):
            each.subscribe([("all", "SELECT * { ?x :p ?y FILTER(hg:betweenness(?x) >= 0) }")])
        told = [note for row in rows for note in one.publish([row])]
        assert list(batch.publish(rows)) == told
    gained = ["interval" in str(note.evidence) for note in told if note.change == "+"]
    assert gained == [False, False, False, True, True, False]
