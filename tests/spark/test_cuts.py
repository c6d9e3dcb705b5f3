"""However rows are cut into tasks and batches, the workers together report what the embedded engine reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph import Filter, Route
from heliograph.model import Notifications
from heliograph.spark.filter_job import Plans
from heliograph.spark.route_job import Exchanges
from tests.cli.files import EDGES, NODES
from tests.filter.schemes import SCHEMES
from tests.spark.by_hand import filtered, routed, taken_apart
from tests.spark.compare import COLUMNS, Rows, expected
from tests.spark.test_verbs import ODD_EVENTS, PUBLICATIONS, SUBSCRIPTIONS, TAXONOMY, odd

COUNTED = ("publications", "notifications", "rejected")
ODD_ROWS = [(f"odd {number}", *row) for number, row in enumerate(odd(("s", "knows", "o")))]


@st.composite
def cuts(draw: st.DrawFn, rows: list[Any], most: int) -> list[list[Any]]:
    """Some of the rows, in some order, in up to four tasks, of which some may be empty."""
    chosen = draw(st.lists(st.sampled_from(rows), max_size=most))
    tasks: list[list[Any]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for row in chosen:
        tasks[draw(st.integers(0, len(tasks) - 1))].append(row)
    return tasks


def texts(name: str, rows: list[Any]) -> pa.Table:
    """Rows as Spark hands them over: all columns are texts, even if all cells are null."""
    schema = pa.schema([(column, pa.string()) for column in COLUMNS[name]])
    return pa.Table.from_pylist([dict(zip(COLUMNS[name], row, strict=True)) for row in rows], schema)


def same(found: Iterable[pa.RecordBatch], wanted: Notifications) -> bool:
    notified, refused, sums = taken_apart(found)
    entries: Rows = Counter((entry["item"], entry["code"], entry["message"]) for entry in refused)
    rows: Rows = Counter(tuple(row.values()) for row in notified.to_pylist())
    counts = {name: sums[name] for name in COUNTED}
    return (rows, entries, counts) == (*expected(wanted), {name: wanted.stats[name] for name in COUNTED})


@pytest.fixture(scope="module", params=[None, *SCHEMES])
def plans(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plans:
    division: dict[str, Any] = SCHEMES.get(request.param, {})
    made = Plans(tmp_path_factory.mktemp("plans"), taxonomy=TAXONOMY, **division)
    made.subscribe(SUBSCRIPTIONS)
    return made


@pytest.fixture(scope="module")
def embedded() -> Filter:
    engine = Filter(TAXONOMY)
    engine.subscribe(SUBSCRIPTIONS)
    return engine


@given(tasks=cuts([*PUBLICATIONS, *ODD_ROWS], 60), parts=st.integers(1, 3), size=st.integers(1, 20))
def test_publications_are_filtered_the_same_however_they_are_cut(
    plans: Plans, embedded: Filter, tasks: list[list[Any]], parts: int, size: int
) -> None:
    found = filtered([texts("publications", task).to_batches(size) for task in tasks], plans, parts, 2)
    assert same(found, embedded.publish(texts("publications", [*chain(*tasks)]), bindings=2))


@pytest.fixture(scope="module", params=[1, 3])
def exchanges(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exchanges:
    return Exchanges(tmp_path_factory.mktemp("exchange"), NODES, EDGES, shards=request.param)


@given(tasks=cuts([*ODD_EVENTS, ("twice", "Pub", "{}")], 30), parts=st.integers(1, 3), size=st.integers(1, 20))
def test_events_are_routed_the_same_however_they_are_cut(
    exchanges: Exchanges, tasks: list[list[Any]], parts: int, size: int
) -> None:
    found = routed([texts("events", task).to_batches(size) for task in tasks], exchanges, parts, paths=True)
    assert same(found, Route(NODES, EDGES).publish(texts("events", [*chain(*tasks)]), paths=True))
