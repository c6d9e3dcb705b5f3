"""Batches do not matter, and neither does a rest on disk in mid-stream."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Notification, Watch
from tests.watch.naive import Step
from tests.watch.streams import queries, row, steps

RANKED = ["SELECT * { ?x :p ?y }", "SELECT * { ?x :q ?y }", "SELECT * { ?x ?r 1 }", "SELECT DISTINCT ?y { ?x :p ?y }"]


def subscriptions(texts: list[str]) -> list[dict[str, Any]]:
    rows = [{"subscription_id": f"s{number}", "query": text} for number, text in enumerate(texts)]
    for number, text in enumerate(RANKED):
        rows.append({"subscription_id": f"t{number}", "query": text, "options": json.dumps({"top_k_of": 2})})
    slow = json.dumps({"hysteresis": 1})
    rows.append({"subscription_id": "h", "query": "ASK { ?x :p ?y } HAVING (COUNT(*) >= 3)", "options": slow})
    rows.append({"subscription_id": "i", "query": "SELECT * { ?x :p :a }", "options": json.dumps({"initial": True})})
    return rows


def made(texts: list[str], **options: Any) -> Watch:
    watch = Watch(**options)
    watch.load_graph([("a", "p", "b"), ("b", "p", "a")])
    watch.subscribe(subscriptions(texts))
    return watch


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=UPDATES)


TEXT: dict[str, pa.DataType] = dict.fromkeys(("op", "subject", "property", "object"), pa.string())
UPDATES = pa.schema({**TEXT, "at": pa.timestamp("us", "UTC")})


def cut(rows: list[Any], sizes: list[int]) -> list[list[Any]]:
    parts = []
    for size in sizes:
        parts.append(rows[:size])
        rows = rows[size:]
    return [*parts, rows]


streams = st.lists(steps(timed=True), max_size=20)
windows = st.sampled_from(({}, {"window": 6}, {"window_updates": 4}))


@settings(deadline=None, max_examples=60)
@given(st.lists(queries(), max_size=3), streams, st.lists(st.integers(0, 5), max_size=8), windows)
def test_one_by_one_is_any_batch(texts: list[str], stream: list[Step], sizes: list[int], window: Any) -> None:
    rows = [row(step) for step in stream]
    rows.insert(len(rows) // 2, {"op": "?", "subject": "a"})
    whole, single, parts = made(texts, **window), made(texts, **window), made(texts, **window)
    expected = list(whole.publish(table(rows)))
    assert [n for each in rows for n in single.publish(each)] == expected
    assert [n for part in cut(rows, sizes) for n in parts.publish(part)] == expected
    costs = [(w.stats().candidates, w.stats().notifications, w.stats().publications) for w in (whole, single, parts)]
    assert costs[0] == costs[1] == costs[2]


@settings(deadline=None, max_examples=40)
@given(st.lists(queries(), max_size=3), streams, st.integers(0, 20), windows)
def test_a_rest_on_disk_changes_nothing(texts: list[str], stream: list[Step], where: int, window: Any) -> None:
    rows = [row(step) for step in stream]
    expected = list(made(texts, **window).publish(rows))
    watch = made(texts, **window)
    before: list[Notification] = list(watch.publish(rows[:where])) if where else []
    with tempfile.TemporaryDirectory() as folder:
        watch.save(Path(folder) / "saved")
        after = Watch.load(Path(folder) / "saved")
    assert before + list(after.publish(rows[where:])) == expected


@settings(deadline=None, max_examples=30)
@given(st.lists(queries(), min_size=2, max_size=5), streams, st.randoms())
def test_the_order_of_subscribing_orders_but_does_not_decide(texts: list[str], stream: list[Step], random: Any) -> None:
    rows = [{"subscription_id": f"s{number}", "query": text} for number, text in enumerate(texts)]
    shuffled = random.sample(rows, len(rows))
    first, second = Watch(), Watch()
    first.subscribe(rows)
    second.subscribe(shuffled)
    updates = [row(step) for step in stream]
    assert set(first.publish(updates)) == set(second.publish(updates))
