"""Targeting that raises is reported as its own error and put aside; all the others go on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heliograph import PredicateIndex, Route
from heliograph.predicate import evaluate as predicate_truth
from heliograph.predicate import index as index_search
from heliograph.predicate.evaluate import matcher as matcher_of
from heliograph.route.engine import Share, share_of
from heliograph.route.strategy import ALGORITHMS

BAD = "t ILIKE 'boom%' OR x = 1"
GOOD = "t ILIKE 'b%' AND x > 0"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """While there is a pattern in this list, whatever looks for it raises."""
    patterns, whole = ["boom%"], matcher_of

    def matcher(pattern: str, escape: str | None, fold: bool) -> Callable[[str], bool]:
        if pattern in patterns:
            raise ZeroDivisionError(f"no {pattern}")
        return whole(pattern, escape, fold)

    monkeypatch.setattr(predicate_truth, "matcher", matcher)
    return patterns


def told(result: Any) -> list[tuple[str, str]]:
    return [(note.publication_id, note.subscription_id) for note in result]


EVENTS = [{"event_id": f"e{n}", "publisher": "p", "attributes": {"t": "book", "x": n % 2}} for n in range(130)]


@pytest.mark.parametrize("options", [{}, {"paths": True}, {"rank": "cost"}], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nodes_and_edges_that_fail_are_put_aside(algorithm: str, options: dict[str, Any], failing: list[str]) -> None:
    engine = Route([("a", BAD), ("b", GOOD), ("c", None), ("d", BAD)], algorithm=algorithm)
    engine.add_edges([("p", "a"), ("p", "b"), ("b", "c", "e1", BAD), ("p", "d"), ("p", "e", None, GOOD)])
    result = engine.publish(EVENTS, **options)
    odd = [event["event_id"] for event in EVENTS[1::2]]
    assert sorted(told(result)) == sorted((id, node) for id in odd for node in ("b", "e"))
    assert sorted((entry.item, entry.code) for entry in result.rejected) == [
        (name, "HG-540") for name in ("a", "d", "e1")
    ]
    first = next(entry for entry in result.rejected if entry.item == "a")
    assert first.message == (
        "node 'a' failed inside publish: ZeroDivisionError, no boom%; it is put aside until it is replaced or removed"
    )
    again = engine.publish(EVENTS, **options)
    assert (told(again), list(again.rejected)) == (told(result), [])
    engine.add_nodes(("a", "x = 1"))  # others stay aside when one is replaced
    assert sorted(told(engine.publish(EVENTS[:2]))) == [("e1", "a"), ("e1", "b"), ("e1", "e")]
    engine.add_nodes(("d", BAD))  # with the same targeting, which fails once more
    result = engine.publish(EVENTS[:2])
    assert [entry.item for entry in result.rejected] == ["d"]
    failing.clear()
    engine.add_nodes(("d", BAD))
    result = engine.publish(EVENTS[:2])
    assert (sorted(told(result)), list(result.rejected)) == ([("e1", n) for n in ("a", "b", "d", "e")], [])


@pytest.mark.parametrize("algorithm", ["walk", "lanes"])
@pytest.mark.usefixtures("failing")
def test_every_other_question_goes_on(algorithm: str, tmp_path: Path) -> None:
    def made() -> Route:
        engine = Route([("a", BAD), ("b", GOOD)], algorithm=algorithm)
        engine.add_edges([("p", "a"), ("p", "b")])
        return engine

    assert [note.subscription_id for note in made().stream(EVENTS[1])] == ["b"]
    assert made().explain("b", EVENTS[1]).matched
    found = made().compare([{"kind": "node", "op": "-", "node_id": "b"}], EVENTS[:2])
    assert (found.table.num_rows, [entry.code for entry in found.rejected], found.stats.rejected) == (1, ["HG-540"], 1)
    engine = made()
    engine.publish(EVENTS[:2])
    engine.save(tmp_path / "save")
    assert told(Route.load(tmp_path / "save", algorithm=algorithm).publish(EVENTS[:2])) == [("e1", "b")]
    engine._exchange.compact()
    assert told(engine.publish(EVENTS[:2])) == [("e1", "b")]


@pytest.mark.parametrize("plainly", [True, False])
def test_predicates_that_fail_are_put_aside(plainly: bool, failing: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_search, "_is_small", lambda *_: plainly)
    index = PredicateIndex([("a", BAD), ("b", GOOD), ("c", BAD)])
    events = [{"t": "book", "x": n % 2} for n in range(66)]
    found = index.match(events)
    assert list(found) == [(), ("b",)] * 33
    assert [(entry.item, entry.code) for entry in found.rejected] == [("a", "HG-540"), ("c", "HG-540")]
    assert "predicate 'a' failed inside match: ZeroDivisionError, no boom%" in found.rejected[0].message
    again = index.match(events)
    assert (list(again), list(again.rejected)) == ([(), ("b",)] * 33, [])
    failing.clear()
    index.add(("c", BAD))
    assert list(index.match(events)) == [(), ("b", "c")] * 33


@pytest.mark.parametrize("algorithm", ["walk", "lanes"])
@pytest.mark.usefixtures("failing")
def test_a_failure_is_logged_once_for_all_who_have_it(algorithm: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = Route([("a", BAD), ("b", BAD)], [("p", "a"), ("p", "b")], algorithm=algorithm)
    with caplog.at_level(logging.WARNING, "heliograph"):
        for _ in range(2):
            assert [note.subscription_id for note in engine.stream(EVENTS[1])] == []  # which has no `rejected`
    logged = [record for record in caplog.records if "targeting" in record.getMessage()]
    assert [(each.getMessage(), each.exc_info is not None) for each in logged] == [
        ("targeting failed and is put aside: ZeroDivisionError, no boom%", True)
    ]


@pytest.mark.parametrize("algorithm", ["walk", "lanes"])
@pytest.mark.usefixtures("failing")
def test_a_change_that_fails_in_what_if_is_its_own_error(algorithm: str) -> None:
    engine = Route([("b", GOOD)], [("p", "b")], algorithm=algorithm)
    changes = [{"kind": "edge", "op": "+", "source": "p", "target": "z", "targeting": BAD}]
    with pytest.raises(ZeroDivisionError):
        engine.what_if(changes, EVENTS[:2])
    assert told(engine.publish(EVENTS[:2])) == [("e1", "b")]


@pytest.mark.usefixtures("failing")
def test_shares_tell_of_what_failed_in_them() -> None:
    engine = Route([("a", BAD), ("b", GOOD)], [("p", "a"), ("p", "b"), ("b", "c", None, BAD)], algorithm="walk")
    with engine.reading() as version:
        exchanges = [share_of(version, number, 3) for number in range(3)]
    rejected: set[tuple[str | None, str]] = set()
    for number, exchange in enumerate(exchanges):
        part = Route(algorithm="walk")
        part._exchange = exchange
        found = Share.of(part, number, 3).publish(
            pa.Table.from_pylist([{**EVENTS[1], "attributes": '{"t": "book", "x": 1}'}])
        )
        rejected |= {(entry.item, entry.code) for entry in found.rejected}
    assert rejected == {("a", "HG-540"), ("b → c", "HG-540")}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.usefixtures("failing")
def test_a_writer_who_comes_in_between_brings_no_failure_back(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Route([("a", BAD), ("b", GOOD)], [("p", "a"), ("p", "b")], algorithm=algorithm)
    others = iter(range(100))
    put_aside = engine._exchange.put_aside

    def interrupted(*arguments: Any) -> Any:
        done = put_aside(*arguments)
        engine.add_nodes((f"n{next(others)}", "t ILIKE 'c%'"))
        return done

    monkeypatch.setattr(engine._exchange, "put_aside", interrupted)
    assert told(engine.publish(EVENTS[:2])) == [("e1", "b")]
    for _ in range(3):
        engine.add_nodes((f"n{next(others)}", GOOD))
        found = engine.publish(EVENTS[:2])
        assert (told(found), list(found.rejected)) == ([("e1", "b")], [])
    assert next(others) == 4  # it failed once, and was asked no more


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_lack_of_memory_is_no_failure_of_a_node(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def matcher(pattern: str, escape: str | None, fold: bool) -> Callable[[str], bool]:
        raise MemoryError

    engine = Route([("a", GOOD)], [("p", "a")], algorithm=algorithm)
    with monkeypatch.context() as patched:
        patched.setattr(predicate_truth, "matcher", matcher)
        with pytest.raises(MemoryError):
            engine.publish(EVENTS[:2])
    assert told(engine.publish(EVENTS[:2])) == [("e1", "a")]


@pytest.mark.parametrize("plainly", [True, False])
def test_a_lack_of_memory_is_no_failure_of_a_predicate(plainly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def matcher(pattern: str, escape: str | None, fold: bool) -> Callable[[str], bool]:
        raise MemoryError

    monkeypatch.setattr(index_search, "_is_small", lambda *_: plainly)
    index = PredicateIndex([("a", GOOD)])
    with monkeypatch.context() as patched:
        patched.setattr(predicate_truth, "matcher", matcher)
        with pytest.raises(MemoryError):
            index.match([{"t": "book", "x": 1}])
    assert list(index.match([{"t": "book", "x": 1}])) == [("a",)]
