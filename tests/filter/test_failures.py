"""One subscription that fails stops nobody else: it is reported by name and put aside, whatever the strategy."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heliograph import Filter
from heliograph.errors import SubscriptionError
from heliograph.filter import interests as bulk
from heliograph.filter import interests as compiling
from heliograph.filter import report as evidence
from heliograph.filter import report as reporting
from heliograph.filter.strategy import ALGORITHMS
from heliograph.model import Notifications, Rejected
from heliograph.papers import filter as filter_entries
from heliograph.papers.filter import SubscriptionGraph
from heliograph.partition import containment, merging
from heliograph.partition.merging import Merging
from heliograph.partition.plan import Placement
from heliograph.sparql import solve
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.normalize import NormalForm, form_of
from heliograph.sparql.query import Query
from heliograph.sparql.solve import QueryPlan
from tests.filter.schemes import SCHEMES

BAD = 'SELECT * { ?x :p ?y . ?y :q ?z FILTER(CONTAINS(STR(?z), "boom")) }'
GOOD = {
    "edge": "ASK { ?x :p ?y }",
    "text": 'SELECT * { ?x :p ?y . ?y :q ?z FILTER(CONTAINS(STR(?z), "oom")) }',
    "range": "SELECT * { ?x :n ?v FILTER(?v > 3) }",
    "count": "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 1)",
    "none": "ASK { ?x :absent ?y }",
}
SET = {"edge": GOOD["edge"], "bad": BAD, **GOOD}
DOCUMENTS: list[Any] = [
    (f"d{number}", [("a", "p", "b"), ("b", "q", f'"boom{number}"'), ("a", "n", str(number))]) for number in range(6)
]
STRATEGIES: dict[str, dict[str, Any]] = {**{name: {"algorithm": name} for name in ALGORITHMS}, **SCHEMES}


@pytest.fixture(params=STRATEGIES)
def make(request: pytest.FixtureRequest) -> Callable[[], Filter]:
    return lambda: Filter(**STRATEGIES[request.param])


def _is_bad(query: Query) -> bool:
    return "'boom'" in repr(query)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Makes the exact checks of the bad query raise what stands in this list."""
    raised: list[BaseException] = [ValueError("no such thing")]
    matches, holds = QueryPlan.matches, Condition.holds

    def matches_or_fails(self: QueryPlan, world: Any) -> bool:
        if _is_bad(self.query):
            raise raised[0]
        return matches(self, world)

    def holds_or_fails(self: Condition, *given: Any, **more: Any) -> bool:
        if "'boom'" in repr(self.expression):
            raise raised[0]
        return holds(self, *given, **more)

    monkeypatch.setattr(QueryPlan, "matches", matches_or_fails)
    monkeypatch.setattr(Condition, "holds", holds_or_fails)
    return raised


def rows(found: Notifications) -> list[tuple[str, str | None, str | None]]:
    return [(each.subscription_id, each.publication_id, each.evidence) for each in found]


def without_bad(make: Callable[[], Filter], bindings: int = 0) -> list[tuple[str, str | None, str | None]]:
    alone = make()
    alone.subscribe(list(GOOD.items()))
    return rows(alone.publish(DOCUMENTS, bindings=bindings))


def test_it_is_reported_and_put_aside_and_the_others_go_on(
    make: Callable[[], Filter], failing: list[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    engine = make()
    engine.subscribe(list(SET.items()))
    with caplog.at_level(logging.WARNING, "heliograph"):
        first, second = engine.publish(DOCUMENTS), engine.publish(DOCUMENTS)
    assert [(each.source, each.item, each.code) for each in first.rejected] == [("subscriptions", "bad", "HG-540")]
    message = "subscription 'bad' failed inside publish: ValueError, no such thing; it is put aside until it is "
    assert first.rejected[0].message == message + "unsubscribed"
    assert first.stats.rejected == 1
    assert not second.rejected
    assert rows(first) == rows(second) == without_bad(make)
    assert len([each for each in caplog.records if "HG-540" in each.getMessage()]) == 1
    told = engine.explain("bad", DOCUMENTS[0])
    assert not told.matched
    assert "put aside" in told.summary


def test_a_replacement_is_matched_again(make: Callable[[], Filter], failing: list[BaseException]) -> None:
    engine = make()
    engine.subscribe(list(SET.items()))
    engine.publish(DOCUMENTS)
    assert engine.unsubscribe("bad").accepted == 1
    engine.subscribe(("bad", "SELECT * { ?x :q ?z }"))
    again = engine.publish(DOCUMENTS)
    assert not again.rejected
    assert [each.publication_id for each in again if each.subscription_id == "bad"] == [id for id, _ in DOCUMENTS]
    assert engine.explain("bad", DOCUMENTS[0]).matched


def test_what_is_nobodys_own_failure_is_raised(make: Callable[[], Filter], failing: list[BaseException]) -> None:
    engine = make()
    engine.subscribe(list(SET.items()))
    for error in (MemoryError(), KeyboardInterrupt()):
        failing[0] = error
        with pytest.raises(type(error)):
            engine.publish(DOCUMENTS)
    failing[0] = ValueError("now it is")
    assert rows(engine.publish(DOCUMENTS)) == without_bad(make)


def test_a_failure_over_evidence_is_its_own(make: Callable[[], Filter], monkeypatch: pytest.MonkeyPatch) -> None:
    made = evidence.evidence

    def shown(plan: QueryPlan, *given: Any) -> Any:
        if _is_bad(plan.query):
            raise RecursionError("deep")
        return made(plan, *given)

    monkeypatch.setattr(reporting, "evidence", shown)
    engine = make()
    engine.subscribe(list(SET.items()))
    found = engine.publish(DOCUMENTS, bindings=2)
    assert [(each.item, each.code) for each in found.rejected] == [("bad", "HG-540")]
    assert rows(found) == without_bad(make, bindings=2)
    assert found.stats.notifications == len(found) == found.table.num_rows


def test_a_sure_match_of_one_put_aside_is_not_reported(make: Callable[[], Filter]) -> None:
    """It is found by the index alone, which nothing fails in."""
    engine = make()
    engine.subscribe(list(GOOD.items()))
    number = engine._subscriptions["edge"].number
    engine._aside[number] = Rejected("subscriptions", "edge", "HG-540", "it failed before")
    others = [row for row in without_bad(make) if row[0] != "edge"]
    assert rows(engine.publish(DOCUMENTS)) == others


def test_a_save_tries_it_again(make: Callable[[], Filter], failing: list[BaseException], tmp_path: Path) -> None:
    engine = make()
    engine.subscribe(list(SET.items()))
    engine.publish(DOCUMENTS)
    engine.save(tmp_path / "saved")
    loaded = Filter.load(tmp_path / "saved")
    again = loaded.publish(DOCUMENTS)
    assert [(each.item, each.code) for each in again.rejected] == [("bad", "HG-540")]
    assert rows(again) == without_bad(make)


# --- taking subscriptions ---------------------------------------------------------------------------------------


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a strategy makes of the bad query when it is inserted fails; the index has a way without it."""
    graph_of, plan_of = SubscriptionGraph.of, QueryPlan.of

    def failing_graph(query: Query) -> SubscriptionGraph:
        if _is_bad(query):
            raise IndexError("no graph")
        return graph_of(query)

    def failing_plan(query: Query) -> QueryPlan:
        if _is_bad(query):
            raise IndexError("no plan")
        return plan_of(query)

    def failing_form(query: Query) -> NormalForm:
        if _is_bad(query):
            raise IndexError("no place")
        return form_of(query)

    monkeypatch.setattr(SubscriptionGraph, "of", failing_graph)
    monkeypatch.setattr(QueryPlan, "of", failing_plan)
    monkeypatch.setattr(containment, "form_of", failing_form)
    monkeypatch.setattr(merging, "form_of", failing_form)


def test_one_that_cannot_be_inserted_loses_no_other(
    make: Callable[[], Filter], refusing: None, request: pytest.FixtureRequest
) -> None:
    engine = make()
    receipt = engine.subscribe([("first", GOOD["edge"]), *SET.items()])
    name = request.node.callspec.params["make"]
    fails = name not in ("indexed", "hash")  # these make nothing of a query but its interest
    assert [(each.item, each.code) for each in receipt.rejected] == [("bad", "HG-541")] * fails
    assert receipt.accepted == 1 + len(SET) - fails
    assert engine.stats().subscriptions == receipt.accepted
    expected = without_bad(make)
    found = [row for row in rows(engine.publish(DOCUMENTS)) if row[0] not in ("first", "bad")]
    assert found == expected
    engine.subscribe(("late", GOOD["range"]))
    late = [row for row in rows(engine.publish(DOCUMENTS)) if row[0] == "late"]
    assert late == [("late", *row[1:]) for row in expected if row[0] == "range"]
    for id in ("first", "edge", "late"):
        assert engine.unsubscribe(id).accepted == 1
    left = [row for row in rows(engine.publish(DOCUMENTS)) if row[0] != "bad"]
    assert left == [row for row in expected if row[0] != "edge"]


def test_a_single_one_that_cannot_be_inserted_raises(monkeypatch: pytest.MonkeyPatch, refusing: None) -> None:
    engine = Filter(algorithm="naive")
    with pytest.raises(SubscriptionError) as caught:
        engine.subscribe(("bad", BAD))
    assert caught.value.code == "HG-541"
    assert isinstance(caught.value.__cause__, IndexError)
    assert engine.stats().subscriptions == 0
    assert not engine.publish(DOCUMENTS)


def test_if_none_can_be_inserted_each_is_refused(make: Callable[[], Filter], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make()
    insert = engine._matcher.insert

    def broken(subscriptions: Any) -> bool:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(engine._matcher, "insert", broken, raising=False)
    receipt = engine.subscribe(list(GOOD.items()))
    assert (receipt.accepted, [(each.item, each.code) for each in receipt.rejected]) == (
        0,
        [(id, "HG-541") for id in GOOD],
    )
    assert engine.stats().subscriptions == 0
    monkeypatch.setattr(engine._matcher, "insert", insert)
    engine.subscribe(list(GOOD.items()))
    assert rows(engine.publish(DOCUMENTS)) == without_bad(make)


@pytest.mark.parametrize("strategy", ["auto", "indexed", *SCHEMES])
@pytest.mark.parametrize("tables", [False, True])
def test_one_without_an_interest_is_answered_by_its_query(
    strategy: str, tables: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even the index fails: the subscription is tried on every publication."""
    interest_of = compiling.interest_of

    def failing_interest(query: Query, *given: Any) -> Any:
        if "odd" in repr(query):
            raise TypeError("no interest")
        return interest_of(query, *given)

    def failing_interests(*given: Any) -> Any:
        raise TypeError("no interests")

    if tables:
        patterns = [(name, "?x", "n", "?v") for name in ("plain", "other", "odd?", "more", "last", "least")]
        patterns.append(("odd?", "?x", "p", "?odd"))
        engines = []
        for broken in (False, True):
            if broken:
                monkeypatch.setattr(bulk, "interest_of", failing_interest)
                monkeypatch.setattr(bulk, "interests_of", failing_interests)
            engines.append(Filter(**STRATEGIES[strategy]))
            engines[-1].subscribe(patterns=patterns)
        assert rows(engines[1].publish(DOCUMENTS)) == rows(engines[0].publish(DOCUMENTS))
        assert ("compiled one by one" in caplog.text) == (strategy != "auto")  # which has no index of so few
    else:
        monkeypatch.setattr(bulk, "interest_of", failing_interest)
        engine = Filter(**STRATEGIES[strategy])
        many = {f"edge{number}": f"ASK {{ ?x :n ?v FILTER(?v > {number}) }}" for number in range(2_100)}
        with caplog.at_level(logging.WARNING, "heliograph"):
            assert not engine.subscribe([("odd", "ASK { ?odd :p :b }"), *many.items()]).rejected
        found = rows(engine.publish(DOCUMENTS))
        assert [row[1] for row in found if row[0] == "odd"] == [id for id, _ in DOCUMENTS]
        assert len(found) == len(DOCUMENTS) + sum(range(6))
        assert "odd" in caplog.text


def test_an_index_takes_all_of_a_call_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Filter(algorithm="rss")
    engine.subscribe(list(GOOD.items()))
    inserted: list[str] = []
    index = engine._matcher._pairs._index  # type: ignore[attr-defined]
    insert = type(index).insert

    def failing_insert(self: Any, entry: filter_entries.Entry) -> None:
        if entry.subscription.id == "worse":
            raise IndexError("no room")
        insert(self, entry)
        inserted.append(entry.subscription.id)

    monkeypatch.setattr(type(index), "insert", failing_insert)
    receipt = engine.subscribe([("better", GOOD["range"]), ("worse", GOOD["range"])])
    assert inserted.count("better") == 2  # with the other, and by itself
    assert [each.item for each in receipt.rejected] == ["worse"]
    found = [row for row in rows(engine.publish(DOCUMENTS)) if row[0] == "better"]
    assert [row[1] for row in found] == ["d4", "d5"]


# --- plans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["containment", "merging"])
def test_a_plan_whose_arrangement_fails_is_arranged_anew(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removal is done all the same, nobody else is lost, and versions in use stay as they are."""
    engine = Filter(**SCHEMES[scheme])
    many = {f"above{number}": f"ASK {{ ?x :n ?v FILTER(?v > {number}) }}" for number in range(6)}
    engine.subscribe([*GOOD.items(), *many.items()])
    before, version = rows(engine.publish(DOCUMENTS)), engine._matcher.version()
    remove = Placement.remove

    def failing_remove(self: Placement, numbers: Any, stamp: int) -> Any:
        remove(self, numbers, stamp)
        raise KeyError("half done")

    monkeypatch.setattr(Placement, "remove", failing_remove)
    assert engine.unsubscribe(["edge", "above2"]).accepted == 2
    expected = [row for row in before if row[0] not in ("edge", "above2")]
    assert rows(engine.publish(DOCUMENTS)) == expected
    assert len(version) == len(GOOD) + 6
    monkeypatch.setattr(Placement, "remove", remove)
    assert engine.unsubscribe("above1").accepted == 1
    engine.subscribe(("above1", many["above1"]))
    again = rows(engine.publish(DOCUMENTS))
    assert sorted(map(str, again)) == sorted(map(str, expected))


def test_a_failure_over_mergers_changes_no_notification(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Filter(**SCHEMES["merging"])
    many = {f"at{number}": f"ASK {{ ?x :n {number} }}" for number in range(40)}
    engine.subscribe([*GOOD.items(), *many.items()])
    expected = rows(engine.publish(DOCUMENTS))

    def failing_learn(self: Merging, *given: Any) -> None:
        raise IndexError("nothing learned")

    monkeypatch.setattr(Merging, "learn", failing_learn)
    with caplog.at_level(logging.WARNING, "heliograph"):
        assert rows(engine.publish(DOCUMENTS)) == rows(engine.publish(DOCUMENTS)) == expected
    assert sum("nothing learned" in record.getMessage() for record in caplog.records) == 1
    assert engine.unsubscribe("at3").accepted == 1
    assert rows(engine.publish(DOCUMENTS)) == [row for row in expected if row[0] != "at3"]


@pytest.mark.parametrize("strategy", ["auto", "indexed", "naive"])
def test_one_that_asks_for_too_much_is_put_aside(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition on many variables at once is tried with every combination: the search is given up, not the others."""
    monkeypatch.setattr(solve, "MOST_TRIED", 3000)
    names = [f"?w{number}" for number in range(9)]
    greedy = f"ASK {{ {' . '.join(f'?v :p {name}' for name in names)} FILTER({' + '.join(names)} > 1000000) }}"
    engine = Filter(algorithm=strategy)
    engine.subscribe([("greedy", greedy), ("ok", "ASK { ?a :p ?b }"), ("never", "ASK { ?a :q ?b }")])
    document = [("d", [("a", "p", str(number)) for number in range(10)])]
    found = engine.publish(document)
    assert [each.subscription_id for each in found] == ["ok"]
    assert [(each.item, each.code) for each in found.rejected] == [("greedy", "HG-540")]
    assert "HG-543" in found.rejected[0].message
    again = engine.publish(document)
    assert ([each.subscription_id for each in again], list(again.rejected)) == (["ok"], [])
    small = Filter(algorithm=strategy)
    small.subscribe([("greedy", greedy.replace("1000000", "1"))])
    assert [each.subscription_id for each in small.publish(document)] == ["greedy"]
