"""Predicates that come, change and go: exact at once, whatever the history, whoever is matching meanwhile."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate import index as index_rows
from heliograph.predicate import index as module
from heliograph.predicate.index import PredicateIndex
from tests.predicate.predicate_events import check_index, events, texts

ids = st.sampled_from("abcdefgh")
changes = st.one_of(
    st.tuples(st.just("add"), ids, texts),
    st.tuples(st.just("remove"), ids, st.just("")),
    st.tuples(st.just("match"), st.just(""), st.just("")),
)


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_rows, "TAIL", 2)
    monkeypatch.setattr(module, "_WASTE", 3)


@given(history=st.lists(changes, max_size=25), given_events=st.lists(events, min_size=1, max_size=3))
@settings(max_examples=60)
def test_any_history_gives_what_a_fresh_index_gives(
    history: list[tuple[str, str, str]], given_events: list[dict[str, Any]]
) -> None:
    index, known = PredicateIndex(), dict[str, str]()
    for kind, id, text in history:
        if kind == "add":
            index.add((id, text))
            known[id] = text
        elif kind == "remove" and id in known:
            index.remove(id)
            del known[id]
        else:
            check_index(index, list(known.items()), given_events)
    assert len(index) == len(known)
    check_index(index, list(known.items()), given_events)
    assert list(PredicateIndex(list(known.items())).match(given_events)) == list(index.match(given_events))


def test_segments_stay_few_and_rows_are_cleaned_up() -> None:
    index = PredicateIndex()
    for number in range(100):
        index.add((str(number % 10), f"x = {number}"))
    assert len(index) == 10
    assert len(index._version.segments) <= 6
    assert len(index._version.rows.expression) <= 2 * 10 + 3 + 1
    assert len(index._source.targeting) <= 2 * 10 + 3 + 3
    assert list(index.match([{"x": 95}, {"x": 85}])) == [("5",), ()]


def test_a_match_sees_the_version_that_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    index = PredicateIndex([(str(number), f"x >= {number}") for number in range(6)])
    from heliograph.predicate.attributes import encode

    def encode_late(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(module, "encode", encode)
        index.remove(["0", "1", "5"])
        index.add([("2", "x = 100"), ("new", "x = 9 AND y = 'z'")])
        return encode(*arguments, **options)

    monkeypatch.setattr(module, "encode", encode_late)
    assert list(index.match({"x": 9, "y": "z"})) == [("0", "1", "2", "3", "4", "5")]
    assert list(index.match({"x": 9, "y": "z"})) == [("3", "4", "new")]


def test_matches_beside_a_writer_each_see_one_version() -> None:
    """Two predicates are always changed together, so that every event matches both or none."""
    index = PredicateIndex([("left", "x = 0"), ("right", "x = 0"), *((f"o{n}", f"x > {n + 100}") for n in range(50))])
    done = threading.Event()
    seen: list[list[tuple[str, ...]]] = []

    def match() -> None:
        while not done.is_set():
            seen.append(list(index.match([{"x": 0}, {"x": 1}])))

    threads = [threading.Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(150):
        index.add([("left", f"x = {number % 2}"), ("right", f"x = {number % 2}")])
    done.set()
    for thread in threads:
        thread.join()
    both = ("left", "right")
    assert len(seen) > 3
    assert [found for found in seen if found not in ([both, ()], [(), both])] == []


def test_a_search_that_failed_leaves_no_results_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its room is not used again."""
    from heliograph.predicate import index_kernels as predicate_report

    index = PredicateIndex([(str(number), f"x >= {number}") for number in range(6)])

    def fail(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(predicate_report, "report", fail)
        with pytest.raises(KeyboardInterrupt):
            index.match({"x": 9})
    assert list(index.match({"x": 1})) == [("0", "1")]
