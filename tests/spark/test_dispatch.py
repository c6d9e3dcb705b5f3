"""Updates go where they are seen: all shards together tell what one engine with all queries tells, whatever happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import storage
from heliograph.spark.watch_job import Watchers
from heliograph.workloads.watch import generate_watch
from tests.spark.by_hand import Shards
from tests.spark.stories import Story


@pytest.fixture(autouse=True, scope="module")
def unsynced() -> Iterator[None]:
    """Saves need not survive a crash of the machine here, and waiting for the disk is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "_sync", lambda *paths: None)
        yield


def check(story: Story) -> None:
    with TemporaryDirectory() as folder:
        shards = story.play(folder)
    assert shards.notified == story.wanted
    assert shards.refused == story.refused


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32), growing=st.booleans())
def test_shards_tell_what_one_engine_tells(seed: int, growing: bool) -> None:
    check(Story(seed, growing))


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_so_they_do_over_many_micro_batches_in_which_engines_are_lost(seed: int) -> None:
    check(Story(seed, growing=False, batches=40))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_so_they_do_of_a_batch_in_which_rows_lack_a_seq(seed: int) -> None:
    check(Story(seed, growing=False, streaming=False))


def test_few_updates_travel_and_the_answer_is_known(tmp_path: Path) -> None:
    tables = generate_watch(3, queries=400, updates=4000, deletions=0.2, matching=0.3)
    watchers = Watchers(tmp_path, shards=4, fixed=True)
    watchers.subscribe(tables["subscriptions"])
    shards = Shards(watchers, True, Random(1))
    updates = tables["updates"]
    for first in range(0, updates.num_rows, 1000):
        shards.publish([updates.slice(first, 500), updates.slice(first + 500, 500)])
    assert shards.notified == Counter(tuple(row.values()) for row in tables["expected"].to_pylist())
    assert shards.sent < 0.1 * shards.given


def test_a_newcomer_stands_where_all_it_sees_was_seen(tmp_path: Path) -> None:
    watchers = Watchers(tmp_path, shards=3)
    watchers.subscribe([("p", "SELECT * { ?x :p ?y }"), ("q", "ASK { :a :q :b }"), ("all", "ASK { ?x ?y ?z }")])
    new = {
        "known": "SELECT * { :c :p ?y . ?x :p :d }",
        "same": "ASK { :a :q :b }",
        "partly": "ASK { ?x :p ?y . ?y :q ?z }",
        "unknown": "ASK { ?x :r ?y }",
        "degree": "ASK { FILTER(hg:degree(:a, :p) > 2) }",
        "any": "ASK { FILTER(hg:degree(:a) > 2) }",
    }
    Watchers(tmp_path).subscribe([*new.items(), ("bad", "ASK")])
    rows = watchers.shared.version(2)["places"].to_pylist()
    places = {row["subscription_id"]: row["shard"] for row in rows}
    assert {places["p"], places["q"]} == {1, 2}
    assert (places["known"], places["same"], places["degree"]) == (places["p"], places["q"], places["p"])
    assert [places[name] for name in ("all", "partly", "unknown", "any")] == [0, 0, 0, 0]


@pytest.mark.long
def test_so_they_do_in_thousands_of_stories() -> None:
    for seed in range(3000):
        check(Story(seed, growing=seed % 2 == 0, streaming=seed % 5 > 0, batches=40 if seed % 10 == 1 else 5))
