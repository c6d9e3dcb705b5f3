"""What travels out of an engine: notifications made one by one or as columns are the same."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Filter, Watch
from heliograph.model import (
    MOST_REPORTED,
    NOTIFICATIONS_SCHEMA,
    STATS_KEYS,
    Columns,
    Notification,
    Notifications,
    Receipt,
    Rejected,
    Rejections,
    Stats,
    SubscriptionCost,
    rejection_report,
    slowest,
)

SUBSCRIPTIONS, SUBSCRIBERS, PUBLICATIONS = ["s0", "s1", "s2"], ["ann", None, "bob"], ["p0", "p1"]
PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=8)
Pairs = list[tuple[int, int]]


def columns_of(pairs: Pairs, evidence: list[str | None] | None = None) -> Columns:
    numbers = np.array(pairs, np.int32).reshape(-1, 2)
    names = (SUBSCRIPTIONS, SUBSCRIBERS, PUBLICATIONS)
    return Columns(numbers[:, 0].copy(), numbers[:, 1].copy(), *names, "filter", evidence)


def items_of(pairs: Pairs, evidence: list[str | None] | None = None) -> tuple[Notification, ...]:
    shown = evidence or [None] * len(pairs)
    return tuple(
        Notification(SUBSCRIPTIONS[s], SUBSCRIBERS[s], PUBLICATIONS[p], "filter", "+", None, text)
        for (s, p), text in zip(pairs, shown, strict=True)
    )


def both(pairs: Pairs) -> tuple[Notifications, Notifications]:
    return Notifications(items_of(pairs)), Notifications.of_columns(columns_of(pairs), len(pairs))


@pytest.fixture(params=[1, 3, 1024])
def small_pages(request: pytest.FixtureRequest) -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heliograph.model._PAGE", request.param)
        yield request.param


@pytest.mark.usefixtures("small_pages")
def test_columns_and_objects_are_the_same_notifications() -> None:
    @settings(max_examples=60)
    @given(PAIRS, st.slices(8), st.integers(-9, 8), st.booleans())
    def check_same(pairs: Pairs, part: slice, number: int, proven: bool) -> None:
        evidence = ['{"bindings":[]}' if s else None for s, _ in pairs] if proven else None
        made = Notifications(items_of(pairs, evidence))
        lazy = Notifications.of_columns(columns_of(pairs, evidence), len(pairs))
        assert [item.proof for item in lazy] == [{"bindings": []} if proven and s else None for s, _ in pairs]
        assert f"{len(pairs)} in all" in repr(lazy)
        assert len(lazy) == len(made)
        assert lazy[part] == made[part]
        assert outcome(lazy, number) == outcome(made, number)
        assert list(lazy) == list(made) == list(lazy)
        assert lazy.items == made.items
        assert list(reversed(lazy)) == list(reversed(made))
        assert lazy.table.equals(made.table)
        assert lazy.table.schema == NOTIFICATIONS_SCHEMA

    check_same()


def outcome(found: Notifications, number: int) -> Any:
    try:
        return found[number]
    except IndexError:
        return IndexError


@given(PAIRS, PAIRS, st.booleans(), st.booleans())
def test_sums_are_the_notifications_of_both(left: Pairs, right: Pairs, first: bool, second: bool) -> None:
    total = both(left)[first] + both(right)[second]
    assert list(total) == [*items_of(left), *items_of(right)]
    assert total.table.equals(Notifications(items_of(left) + items_of(right)).table)


def test_sums_add_up_what_was_rejected_and_what_it_cost() -> None:
    refused = Rejected("x.nt", "1", "HG-302", "no")
    one = Notifications((), [refused], Stats(3, verify_ns=4, complete=False), [SubscriptionCost("s0", 1, 5)])
    two = Notifications.of_columns(
        columns_of([(0, 0)]), 1, Rejections(), Stats(7, verify_ns=1), [SubscriptionCost("s0", 1, 2)]
    )
    total = one + two
    assert (total.stats.subscriptions, total.stats.verify_ns, total.complete) == (7, 5, False)
    assert list(total.rejected) == [refused]
    assert total.slow == (SubscriptionCost("s0", 2, 7),)


def test_nothing_is_made_before_it_is_wanted_and_then_once() -> None:
    calls: list[str] = []
    started = threading.Barrier(4)

    def table() -> pa.Table:
        calls.append("table")
        return columns_of([(0, 0)]).table()

    def slow() -> list[SubscriptionCost]:
        calls.append("slow")
        return [SubscriptionCost("s0", 1, 1)]

    def want(lazy: Notifications) -> None:
        started.wait()
        assert lazy.table.num_rows == len(lazy.slow) == 1

    lazy = Notifications.of_columns(table, 1, slow=slow)
    assert (len(lazy), lazy.complete, list(lazy.rejected), calls) == (1, True, [], [])
    threads = [threading.Thread(target=want, args=(lazy,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == ["slow", "table"]


def test_a_table_that_could_not_be_made_is_made_when_wanted_again() -> None:
    tries: Iterator[MemoryError | pa.Table] = iter([MemoryError(), columns_of([(0, 0)]).table()])

    def table() -> pa.Table:
        made = next(tries)
        if isinstance(made, MemoryError):
            raise made
        return made

    lazy = Notifications.of_columns(table, 1)
    with pytest.raises(MemoryError):
        list(lazy)
    assert lazy.items == items_of([(0, 0)])


@pytest.mark.parametrize("number", [0, 1])
def test_notifications_can_be_sent_elsewhere(number: int) -> None:
    sent = pickle.loads(pickle.dumps(both([(2, 1), (0, 0)])[number]))
    assert sent.items == items_of([(2, 1), (0, 0)])
    assert sent.stats == Stats()


def test_the_slowest_come_first_at_most_ten_each_once() -> None:
    entries = [SubscriptionCost(f"s{number:02d}", 1, number % 6) for number in range(20)] + [
        SubscriptionCost("s00", 4, 100)
    ]
    found = slowest(entries)
    assert found[:3] == (SubscriptionCost("s00", 5, 100), SubscriptionCost("s05", 1, 5), SubscriptionCost("s11", 1, 5))
    assert (len(found), slowest(())) == (10, ())


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=4))
def test_stats_add_up(calls: list[tuple[int, int, bool]]) -> None:
    total = sum((Stats(lookup_ns=a, report_ns=b, complete=c) for a, b, c in calls), Stats())
    assert (total["lookup_ns"], total["report_ns"]) == (sum(c[0] for c in calls), sum(c[1] for c in calls))
    assert total.complete == all(c[2] for c in calls)
    assert tuple(total) == STATS_KEYS
    assert len(total) == len(STATS_KEYS)
    with pytest.raises(KeyError):
        total["slow"]


# --- the report of refused items ---


def refusals(count: int, source: str = "a", code: str = "HG-206") -> list[Rejected]:
    return [Rejected(source, str(number), code, f"message {number}") for number in range(count)]


def test_of_more_the_rest_is_counted_by_source_and_code() -> None:
    items = [*refusals(1500), *refusals(1, "b"), *refusals(1002, code="HG-207"), *refusals(1, "c")]
    found = rejection_report(items)
    assert found.total == len(items)
    assert [(entry.source, entry.code, entry.count) for entry in found if entry.count > 1] == [
        ("a", "HG-206", 500),
        ("a", "HG-207", 2),
    ]
    assert list(found[:MOST_REPORTED]) == refusals(MOST_REPORTED)
    assert (found[MOST_REPORTED].item, found[MOST_REPORTED].message[:14]) == (None, "500 more items")
    assert len(found) == 1000 + 1 + 1 + 1000 + 1 + 1
    assert list(rejection_report(found)) == list(found)
    assert found.table.column_names == ["source", "item", "code", "message"]


def test_what_has_no_message_is_only_counted() -> None:
    found = rejection_report([*refusals(2), Rejected("a", "x", "HG-206", ""), Rejected("a", "y", "HG-206", "")])
    assert [entry.count for entry in found] == [1, 1, 2]
    assert found.total == 4


def test_answers_tell_and_count_all_of_them() -> None:
    left = Notifications((), refusals(800), Stats(rejected=800))
    right = Notifications((), refusals(800), Stats(rejected=800))
    both = left + right
    assert (len(both.rejected), both.rejected.total, both.stats.rejected) == (1001, 1600, 1600)
    assert Receipt(0, Rejections(refusals(1600))).rejected.total == 1600


@pytest.mark.parametrize("engine", [Filter, Watch])
def test_a_taxonomy_of_bad_rows_is_told_briefly(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.ndjson"
    path.write_text("{\n" * 1500 + '{"child": "a", "parent": "b"}\n')
    rejected = engine(taxonomy=str(path)).rejected
    assert (len(rejected), rejected.total) == (MOST_REPORTED + 1, 1500)
    assert all(entry.message for entry in rejected)
