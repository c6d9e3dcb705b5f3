"""However rows are cut into tasks and batches, the workers together tell what the embedded engine tells.

The steps that Spark runs in its workers are run here one after the other, with the shuffles between them done by hand;
so this needs no Java, and can try many cuts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph import Filter, Route
from heliograph.model import NOTIFICATIONS_SCHEMA, Notifications
from heliograph.spark.envelope import shard_events, shard_publications
from heliograph.spark.filter_job import FilterTask, Plans, look_up, match_all, match_shard
from heliograph.spark.frames import MEASURED_SCHEMA
from heliograph.spark.route_job import Exchanges, RouteTask, route_all
from tests.cli.files import EDGES, NODES
from tests.filter.schemes import SCHEMES
from tests.spark.compare import COLUMNS, Rows, expected
from tests.spark.odd import ODD_EVENTS
from tests.spark.test_verbs import PUBLICATIONS, SUBSCRIPTIONS, TAXONOMY, odd

COUNTED = ("publications", "notifications", "rejected")
ODD_ROWS = [(f"odd {number}", *row) for number, row in enumerate(odd(("s", "knows", "o")))]
NO_ROWS = {name: pa.schema([(column, pa.string()) for column in COLUMNS[name]]) for name in ("publications", "events")}
Batches = list[pa.RecordBatch]


# --- by hand ----------------------------------------------------------------------------------------------------


@st.composite
def cuts(draw: st.DrawFn, rows: list[Any], most: int) -> list[list[Any]]:
    """Some of the rows, in some order, in up to four tasks, of which some may be empty."""
    chosen = draw(st.lists(st.sampled_from(rows), max_size=most))
    tasks: list[list[Any]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for row in chosen:
        tasks[draw(st.integers(0, len(tasks) - 1))].append(row)
    return tasks


def batches(name: str, rows: list[Any], size: int) -> Batches:
    """The rows of a task as Spark hands them over: all columns are texts, even if all cells are null."""
    made = pa.Table.from_pylist([dict(zip(COLUMNS[name], row, strict=True)) for row in rows], NO_ROWS[name])
    return made.to_batches(max_chunksize=size)


def shuffled(found: Iterable[pa.RecordBatch], parts: int) -> list[Batches]:
    """Envelopes by their shard."""
    places: list[Batches] = [[] for _ in range(parts)]
    for batch in found:
        for row in range(batch.num_rows):
            places[batch["shard"][row].as_py()].append(batch.slice(row, 1))
    return places


def told(found: Iterable[pa.RecordBatch]) -> tuple[Rows, Rows, dict[str, int]]:
    """Notifications, refusals and sums of measurements."""
    whole = pa.Table.from_batches(list(found), MEASURED_SCHEMA)
    kinds: list[list[Any]] = [whole[name].to_pylist() for name in ("subscription_id", "rejected", "stats")]
    assert all(sum(cell is not None for cell in cells) == 1 for cells in zip(*kinds, strict=True))
    notified = whole.filter(whole["subscription_id"].is_valid()).select(NOTIFICATIONS_SCHEMA.names)
    counts: list[Any] = whole["stats"].drop_null().to_pylist()
    refused: list[Any] = whole["rejected"].drop_null().to_pylist()
    return (
        Counter(tuple(row.values()) for row in notified.to_pylist()),
        Counter((entry["item"], entry["code"], entry["message"]) for entry in refused),
        {name: sum(count[name] for count in counts) for name in COUNTED},
    )


def wanted(found: Notifications) -> tuple[Rows, Rows, dict[str, int]]:
    return *expected(found), {name: found.stats[name] for name in COUNTED}


# --- filter -----------------------------------------------------------------------------------------------------


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


def filtered(tasks: Iterable[Batches], plans: Plans, parts: int) -> Iterator[pa.RecordBatch]:
    """As `heliograph.spark.filter` does it."""
    task = FilterTask(plans.pointer(False), 2, plans.shards or 0)
    sharded = shuffled((sent for each in tasks for sent in shard_publications(parts, each)), parts)
    if not task.shards:
        return (batch for part in sharded for batch in match_all(task, iter(part)))
    looked_up = shuffled((sent for part in sharded for sent in look_up(task, iter(part))), task.shards)
    return (batch for part in looked_up for batch in match_shard(task, iter(part)))


@given(tasks=cuts([*PUBLICATIONS, *ODD_ROWS], 60), parts=st.integers(1, 3), size=st.integers(1, 20))
def test_publications_are_filtered_the_same_however_they_are_cut(
    plans: Plans, embedded: Filter, tasks: list[list[Any]], parts: int, size: int
) -> None:
    rows = [row for task in tasks for row in task]
    found = filtered([batches("publications", task, size) for task in tasks], plans, parts)
    whole = pa.Table.from_batches(batches("publications", rows, 1 << 20), NO_ROWS["publications"])
    assert told(found) == wanted(embedded.publish(whole, bindings=2))


# --- route ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[1, 3])
def exchanges(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exchanges:
    return Exchanges(tmp_path_factory.mktemp("exchange"), NODES, EDGES, shards=request.param)


def routed(tasks: Iterable[Batches], exchanges: Exchanges, parts: int) -> Iterator[pa.RecordBatch]:
    """As `heliograph.spark.route` does it."""
    shares = exchanges.shards
    task = RouteTask(exchanges.pointer(False), {"paths": True}, shares, parts)
    sharded = shuffled((sent for each in tasks for sent in shard_events(parts, shares, each)), parts * shares)
    return (batch for part in sharded for batch in route_all(task, iter(part)))


@given(tasks=cuts([*ODD_EVENTS, ("twice", "Pub", "{}")], 30), parts=st.integers(1, 3), size=st.integers(1, 20))
def test_events_are_routed_the_same_however_they_are_cut(
    exchanges: Exchanges, tasks: list[list[Any]], parts: int, size: int
) -> None:
    rows = [row for task in tasks for row in task]
    found = routed([batches("events", task, size) for task in tasks], exchanges, parts)
    whole = pa.Table.from_batches(batches("events", rows, 1 << 20), NO_ROWS["events"])
    assert told(found) == wanted(Route(NODES, EDGES).publish(whole, paths=True))
