"""The guard on what one update lists: the first matches in order are told, the rest is counted and never held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from heliograph import Watch
from heliograph.watch import runner as machine
from heliograph.watch.indexed import IndexedStrategy, MatchLimit
from heliograph.watch.runner import RunEvents

CROSS = "SELECT * { ?a :p ?b . ?c :q ?d . ?x :r ?y }"
SIZE = 30  # of each side of the product
LAST = {"op": "+", "subject": "x", "property": "r", "object": "y"}


def limited(id: str, limit: int, query: str = CROSS) -> dict[str, Any]:
    return {"subscription_id": id, "query": query, "options": f'{{"max_matches_per_update": {limit}}}'}


def sides() -> list[dict[str, Any]]:
    rows = [{"op": "+", "subject": f"a{n}", "property": "p", "object": "b"} for n in range(SIZE)]
    return rows + [{"op": "+", "subject": f"c{n}", "property": "q", "object": "d"} for n in range(SIZE)]


def exploding(algorithm: str, *subscriptions: dict[str, Any]) -> Watch:
    watch = Watch(algorithm=algorithm)
    watch.subscribe(list(subscriptions))
    watch.publish(sides())
    return watch


@contextmanager
def narrow(most: int = 50) -> Iterator[list[int]]:
    """Machines that hold few events, and how many each trim was given."""
    sizes: list[int] = []

    def trim(guard: MatchLimit, events: RunEvents, update: int) -> RunEvents:
        sizes.append(len(events.events))
        return original(guard, events, update)

    original = MatchLimit.trim
    with (
        mock.patch.object(machine, "_MOST_EVENTS", most),
        mock.patch.dict(machine._ROOM, event=most),
        mock.patch.object(MatchLimit, "trim", trim),
    ):
        yield sizes


@pytest.mark.parametrize("limit", [0, 1, 7, 40])
def test_the_first_in_order_are_told_and_the_rest_is_never_held(limit: int) -> None:
    plain = exploding("plain", limited("s", limit))
    with narrow() as sizes:
        watch = exploding("indexed", limited("s", limit))
        for row in (LAST, {**LAST, "op": "-"}, LAST):
            found, expected = watch.publish([row]), plain.publish([row])
            assert list(found) == list(expected)
            assert found.stats.truncated == expected.stats.truncated == SIZE * SIZE - limit
            assert not found.complete
    assert len(sizes) > 3
    assert max(sizes) < 3 * (50 + limit) < SIZE * SIZE


def test_whoever_shares_a_pattern_has_a_limit_of_their_own() -> None:
    filtered = CROSS.replace("?y }", "?y FILTER(?a != ?c && ?b != ?c) }")
    asked = [limited("few", 3), limited("more", 20), limited("other", 5, filtered), limited("none", 0)]
    plain = exploding("plain", *asked)
    with narrow() as sizes:
        watch = exploding("indexed", *asked)
        found, expected = watch.publish([LAST]), plain.publish([LAST])
    assert list(found) == list(expected)
    assert found.stats.truncated == expected.stats.truncated
    assert max(sizes) < SIZE * SIZE


def test_distinct_matches_need_all_solutions() -> None:
    distinct = {"subscription_id": "d", "query": CROSS.replace("*", "DISTINCT ?a")}
    plain = exploding("plain", limited("s", 2), distinct)
    with narrow():
        watch = exploding("indexed", limited("s", 2), distinct)
        assert list(watch.publish([LAST])) == list(plain.publish([LAST]))


def test_what_stands_at_first_is_bounded_too() -> None:
    asked = {"subscription_id": "s", "query": CROSS, "options": '{"initial": true, "max_matches_per_update": 4}'}
    told = []
    for algorithm in ("plain", "indexed"):
        with narrow() as sizes:
            watch = Watch(algorithm=algorithm)
            watch.load_graph([*sides(), LAST])
            watch.subscribe(asked)
            told.append(watch.publish([{**LAST, "property": "other"}]))
    assert list(told[0]) == list(told[1])
    assert [each.stats.truncated for each in told] == [SIZE * SIZE - 4] * 2
    assert 0 < max(sizes) < SIZE * SIZE


def test_there_is_a_guard_even_where_nobody_asked_for_one() -> None:
    watch = exploding("indexed", {"subscription_id": "s", "query": CROSS})
    assert isinstance(watch._strategy, IndexedStrategy)
    (interest,) = watch._strategy._subscribed.values()
    assert interest.options.limit == 1_000_000
    assert len(watch.publish([LAST])) == SIZE * SIZE


def test_a_run_pauses_where_there_is_much_to_tell() -> None:
    rows = [*sides(), LAST, {**LAST, "op": "-"}, LAST]
    expected = Watch(algorithm="plain")
    expected.subscribe([("s", CROSS)])
    with narrow():
        watch = Watch(algorithm="indexed")
        watch.subscribe([("s", CROSS)])
        assert list(watch.publish(rows)) == list(expected.publish(rows))


def test_whoever_is_listed_for_counts_alone() -> None:
    """Others of the pattern, and of patterns that differ in a threshold, are told nothing and cut nothing."""
    high = CROSS.replace("?y }", "?y FILTER(?b != 7) }")
    asked = [
        limited("few", 5),
        {"subscription_id": "a", "query": CROSS, "options": '{"initial": true, "max_matches_per_update": 5}'},
        {"subscription_id": "b", "query": CROSS, "options": '{"initial": true, "max_matches_per_update": 10}'},
        {"subscription_id": "c", "query": high, "options": '{"initial": true, "max_matches_per_update": 1}'},
        {"subscription_id": "d", "query": high.replace("*", "DISTINCT ?a")},
    ]
    told = []
    for algorithm in ("plain", "indexed"):
        with narrow():
            watch = Watch(algorithm=algorithm)
            watch.load_graph([*sides(), LAST])
            watch.subscribe(asked)
            told.append(watch.publish([{**LAST, "property": "other"}]))
    assert list(told[0]) == list(told[1])
    assert [each.stats.truncated for each in told] == [3 * SIZE * SIZE - 16] * 2


def test_many_who_share_a_pattern_that_is_known() -> None:
    watch = Watch(algorithm="indexed")
    watch.load_graph([("a", "p", "b")])
    watch.subscribe([("first", "SELECT * { ?x :p ?y }")])
    watch.publish([("+", "a", "p", "c")])
    many = [
        {"subscription_id": f"s{n}", "query": "SELECT DISTINCT ?x { ?x :p ?y }", "options": '{"initial": true}'}
        for n in range(3000)
    ]
    watch.subscribe(many)
    assert len(watch.publish([("+", "z", "z", "z")])) == 3000
