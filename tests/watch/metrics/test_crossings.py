"""Whole blocks of sayings are judged and told as one by one, and as the plain strategy does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest

from heliograph import Watch
from heliograph.sparql.evaluate import METRIC_TOLERANCE
from heliograph.watch.metrics import meter as vertices
from heliograph.watch.metrics import queries as judging
from heliograph.watch.metrics.calls import MetricComparison
from heliograph.watch.metrics.meter import VertexChanges, Vertices
from heliograph.watch.metrics.thresholds import Listeners

QUERIES = {
    "many": "SELECT ?x { FILTER(hg:degree(?x) >= 4) }",
    "exactly": "SELECT ?x { FILTER(hg:degree(?x) = 3) }",
    "close": "SELECT ?x { FILTER(hg:clustering(?x) > 0.4) }",
    "any": "ASK { FILTER(hg:clustering(?x) >= 1) }",
    "beside": "SELECT ?x { ?y :p :v1 . FILTER(hg:degree(?x) >= 6) }",
    "while": "SELECT ?x { :v0 :p :v1 . FILTER(hg:degree(?x) >= 3) }",
    "between": "SELECT ?x { FILTER(hg:degree(?x) >= 3 && hg:degree(?x) < 6) }",
    "both": "SELECT ?x { FILTER(hg:degree(?x) >= 3 && hg:clustering(?x) >= 0.3) }",
    "pattern": "SELECT * { ?x :p ?y . FILTER(hg:degree(?x) >= 4 && hg:clustering(?y) > 0.2) }",
    "one": "ASK { FILTER(hg:clustering(:v1) >= 0.5 && hg:degree(:v2) > 3) }",
    "few": "SELECT ?x { FILTER(hg:degree(?x) < 2) }",
    "others": "SELECT ?x { FILTER(hg:degree(?x) >= 4 && ?x != :v3) }",
}


def updates(r: Random, count: int) -> Iterator[tuple[Any, ...]]:
    for _ in range(count):
        subject, object = (f"v{each}" for each in r.sample(range(7), 2))
        yield r.choice("+++-"), subject, r.choice("pq"), object


def told(rows: list[Any], sizes: int, **options: Any) -> list[Any]:
    watch = Watch(initial=True, **options)
    watch.subscribe(list(QUERIES.items()))
    return [each for first in range(0, len(rows), sizes) for each in watch.publish(rows[first : first + sizes])]


@pytest.mark.parametrize("window", [{}, {"window_updates": 30}])
def test_blocks_are_judged_as_single_updates(window: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(updates(Random(7), 100))
    plainly = told(rows, 1, algorithm="plain", **window)
    assert {each.subscription_id for each in plainly} == QUERIES.keys()
    assert told(rows, 1, algorithm="indexed", **window) == plainly
    for few in (0, len(rows) ** 2):  # all at once, and one after the other
        monkeypatch.setattr(judging, "_FEW", few)
        assert told(rows, len(rows), algorithm="indexed", **window) == plainly


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize("limit", [0.0, 0.25, 4.0, inf])
def test_many_values_hold_as_each_does(operator: str, limit: float) -> None:
    test = MetricComparison(operator, limit, 0.0)
    near = [limit + by for by in (-1, -2 * METRIC_TOLERANCE, -METRIC_TOLERANCE / 2, 0, METRIC_TOLERANCE / 2, 1)]
    values = [*near, 0.0, 3.0, 1e9, inf]
    assert test.holding(np.array(values)).tolist() == [test.holds(value, held=False) for value in values]


def test_everybody_who_listens_is_found_once() -> None:
    listeners: Listeners[str] = Listeners()
    listeners.add("limits", (1.0, 2.0))
    listeners.add("everything", None)
    assert sorted(listeners) == ["everything", "limits"]
    listeners.remove("everything", None)
    assert list(listeners) == ["limits"]


def test_few_ends_are_counted_as_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    r, came = Random(3), Counter[int]()
    few, many = Vertices(), Vertices()
    for first in range(0, 60, 3):
        rows = []
        for step in (first, first, first + 1, first + 2):
            vertex = r.randrange(4)
            comes = not came[vertex] or r.random() < 0.4
            came[vertex] += 1 if comes else -1
            rows.append((step, vertex, comes))
        ends = VertexChanges(*map(np.array, zip(*rows, strict=True)))
        found = few.follow(ends)
        with monkeypatch.context() as patch:
            patch.setattr(vertices, "_FEW", 0)
            expected = many.follow(ends)
        assert [column.tolist() for column in found] == [column.tolist() for column in expected]
        assert (few.count, few.all.tolist()) == (many.count, many.all.tolist())
        assert few.all.tolist() == sorted(+came)
