"""Batches do not matter, and neither does a rest on disk in mid-stream."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Notification, Updates, Watch
from heliograph.terms import parse_cell
from heliograph.watch.layout import REMOVE_VERTEX
from tests.watch.naive import Step
from tests.watch.streams import EPOCH, queries, row, steps

OPS = "+-="  # by their numbers

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


def ids(watch: Watch, stream: Iterable[Step], column: Callable[[list[int]], Any] = np.array) -> Updates:
    """Steps as ids of an engine's vocabulary, in columns of NumPy or of Arrow."""
    intern, steps = watch.vocabulary.intern, list(stream)

    def term(cell: str | None) -> int:
        return -1 if cell is None else intern(parse_cell(cell))

    triples = [(term(step.subject), term(step.predicate), term(step.object)) for step in steps]
    ops = [REMOVE_VERTEX if step.predicate is None else OPS.index(step.op) for step in steps]
    times = [int((EPOCH + timedelta(seconds=step.at or 0)).timestamp()) * 1_000_000 for step in steps]
    subject, predicate, object = (column([triple[place] for triple in triples]) for place in range(3))
    return Updates.of(watch.vocabulary, (subject, predicate, object), column(ops), at=column(times))


streams = st.lists(steps(timed=True), max_size=20)
windows = st.sampled_from(({}, {"window": 6}, {"window_updates": 4}))


both_ways = pytest.mark.parametrize("algorithm", ["plain", "indexed"])


@both_ways
@settings(deadline=None, max_examples=30)
@given(
    texts=st.lists(queries(), max_size=3), stream=streams, sizes=st.lists(st.integers(0, 5), max_size=8), more=windows
)
def test_one_by_one_is_any_batch(
    algorithm: str, texts: list[str], stream: list[Step], sizes: list[int], more: dict[str, Any]
) -> None:
    rows = [row(step) for step in stream]
    rows.insert(len(rows) // 2, {"op": "?", "subject": "a"})
    whole, single, parts, read = (made(texts, algorithm=algorithm, **more) for _ in range(4))
    expected = list(made(texts, algorithm="plain", **more).publish(rows))
    assert list(whole.publish(table(rows))) == expected
    assert [n for each in rows for n in single.publish(each)] == expected
    assert [n for part in cut(rows, sizes) for n in parts.publish(part)] == expected
    assert list(read.publish(read.encode(table(rows)))) == expected
    assert read.stats().rejected == whole.stats().rejected == 1
    costs = {(w.stats().candidates, w.stats().notifications, w.stats().publications) for w in (whole, single, parts)}
    assert len(costs) == 1


@both_ways
@settings(deadline=None, max_examples=20)
@given(
    texts=st.lists(queries(), max_size=3), stream=streams, sizes=st.lists(st.integers(0, 5), max_size=4), more=windows
)
def test_ids_are_as_good_as_text(
    algorithm: str, texts: list[str], stream: list[Step], sizes: list[int], more: dict[str, Any]
) -> None:
    expected = list(made(texts, algorithm="plain", **more).publish([row(step) for step in stream]))
    arrays, arrow = made(texts, algorithm=algorithm, **more), made(texts, algorithm=algorithm, **more)
    told = [n for part in cut(list(stream), sizes) for n in arrays.publish(ids(arrays, part))]
    assert told == expected
    assert list(arrow.publish(ids(arrow, stream, pa.array))) == expected


@settings(deadline=None, max_examples=15)
@given(texts=st.lists(queries(), max_size=3), stream=streams, where=st.integers(0, 20), more=windows)
@pytest.mark.parametrize("first", ["plain", "indexed"])
@pytest.mark.parametrize("second", ["plain", "indexed"])
def test_a_rest_on_disk_changes_nothing(
    first: str, second: str, texts: list[str], stream: list[Step], where: int, more: dict[str, Any]
) -> None:
    rows = [row(step) for step in stream]
    expected = list(made(texts, algorithm="plain", **more).publish(rows))
    watch = made(texts, algorithm=first, **more)
    before: list[Notification] = list(watch.publish(rows[:where])) if where else []
    with tempfile.TemporaryDirectory() as folder:
        watch.save(Path(folder) / "saved")
        after = Watch.load(Path(folder) / "saved", algorithm=second)
    assert before + list(after.publish(rows[where:])) == expected


@both_ways
@settings(deadline=None, max_examples=15)
@given(texts=st.lists(queries(), min_size=2, max_size=5), stream=streams, random=st.randoms())
def test_the_order_of_subscribing_orders_but_does_not_decide(
    algorithm: str, texts: list[str], stream: list[Step], random: Any
) -> None:
    rows = [{"subscription_id": f"s{number}", "query": text} for number, text in enumerate(texts)]
    shuffled = random.sample(rows, len(rows))
    first, second = Watch(algorithm=algorithm), Watch(algorithm=algorithm)
    first.subscribe(rows)
    second.subscribe(shuffled)
    updates = [row(step) for step in stream]
    assert set(first.publish(updates)) == set(second.publish(updates))
