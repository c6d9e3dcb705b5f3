"""One subscription that fails is reported as its own error and put aside; the others are told everything."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heliograph import HeliographError, Watch
from heliograph.sparql.query import Query
from heliograph.sparql.solve import QueryPlan
from heliograph.subscriptions import Subscription
from heliograph.watch import report
from heliograph.watch.changes import SolutionBuilder
from heliograph.watch.metrics.degree import Degree
from heliograph.watch.metrics.naive import Plainly
from heliograph.watch.metrics.queries import MetricQuery
from heliograph.watch.options import Subscribed
from heliograph.watch.plain import EvolvingGraph
from heliograph.watch.runner import Runner

both = pytest.mark.parametrize("algorithm", ["plain", "indexed"])
FAILING = {
    "each": "SELECT * { ?x :p ?y . ?y :q ?bad }",
    "groups": "SELECT ?bad (COUNT(*) AS ?n) { ?bad :p ?y } GROUP BY ?bad HAVING (COUNT(*) >= 1)",
    "metric": "SELECT * { ?bad :p ?y FILTER(hg:degree(?bad) >= 1) }",
}
OTHERS = [
    {"subscription_id": "each", "query": "SELECT * { ?x :p ?y }"},
    {"subscription_id": "ask", "query": "ASK { ?x :p :b }"},
    {"subscription_id": "count", "query": "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 3)"},
    {"subscription_id": "metric", "query": "SELECT * { FILTER(hg:indegree(?x) >= 2) }"},
    {"subscription_id": "top", "query": "SELECT * { ?x :p ?y }", "options": '{"top_k_of": {"set": "s", "k": 1}}'},
]
UPDATES = [("+", "a", "p", "b"), ("+", "b", "q", "c"), ("+", "c", "p", "b"), ("+", "d", "p", "a"), ("-", "a", "p", "b")]


class Injected(Exception):
    """What a subscription raises here."""


def names_bad(argument: Any) -> bool:
    """Whether something is of the subscription `bad`, known by its variable ?bad."""
    query = getattr(argument, "query", getattr(argument, "builder", argument))
    return any(each.name == "bad" for each in getattr(query, "variables", ()))


def inject(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Lets a function fail where it works for the subscription `bad`."""
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        if any(map(names_bad, arguments)):
            raise Injected("no luck")
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, wrapped)


def fail(*_: Any) -> Any:
    raise Injected("no luck")


WAYS: dict[str, tuple[str, str, Any, str]] = {
    "plain plan": ("plain", "each", QueryPlan, "solutions"),
    "plain evidence": ("plain", "each", report, "evidence_text"),
    "plain metric": ("plain", "metric", Plainly, "valued"),
    "check": ("indexed", "each", SolutionBuilder, "__call__"),
    "evidence": ("indexed", "groups", report, "evidence_text"),
    "metric evidence": ("indexed", "metric", MetricQuery, "shown"),
    "metric judging": ("indexed", "metric", MetricQuery, "check"),
    "metric solutions": ("indexed", "metric", MetricQuery, "come"),
}


def expected(algorithm: str) -> list[Any]:
    """What the others are told without it."""
    watch = Watch(algorithm=algorithm)
    watch.subscribe(OTHERS)
    return [list(watch.publish([row])) for row in UPDATES]


@pytest.mark.parametrize("way", WAYS)
def test_the_others_go_on(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With it, after it, and after a save and load, until it is unsubscribed."""
    algorithm, query, owner, name = WAYS[way]
    wanted = expected(algorithm)
    watch, bad = Watch(algorithm=algorithm), {"subscription_id": "bad", "query": FAILING[query]}
    watch.subscribe([*OTHERS[:2], bad, *OTHERS[2:]])
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "heliograph"):
        inject(patched, owner, name)
        found = [watch.publish([row]) for row in UPDATES]
    assert [[note for note in each if note.subscription_id != "bad"] for each in found] == wanted
    rejected = [(each.source, each.item, each.code, each.message) for part in found for each in part.rejected]
    message = "subscription 'bad' failed inside publish: Injected, no luck"
    message += "; it is put aside until it is unsubscribed"
    assert rejected == [("subscriptions", "bad", "HG-540", message)]
    logged = [record.getMessage() for record in caplog.records]  # cold kernels announce that they are compiled
    assert [each for each in logged if each.startswith("subscription")] == [message]
    assert (watch.explain("bad").matched, "put aside" in watch.explain("bad").summary) == (False, True)
    watch.save(tmp_path / "save")
    loaded = Watch.load(tmp_path / "save", algorithm=algorithm)
    assert loaded.explain("bad") == watch.explain("bad")
    outcomes = [each.publish([("+", "e", "p", "b"), ("+", "b", "q", "e")]) for each in (loaded, watch)]
    assert list(outcomes[0]) == list(outcomes[1])
    assert "bad" not in {note.subscription_id for each in outcomes for note in each}
    assert not any(each.rejected for each in outcomes)
    for each in (loaded, watch):
        assert (each.unsubscribe(["bad"]).accepted, each.subscribe([bad]).accepted) == (1, 1)
        assert each.explain("bad").matched
        assert "bad" in {note.subscription_id for note in each.publish([("+", "f", "p", "g"), ("+", "g", "q", "h")])}


def test_in_the_midst_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is followed as a whole, and what comes after is followed without the one that failed."""
    watch = Watch(algorithm="indexed")
    watch.subscribe([*OTHERS, {"subscription_id": "bad", "query": FAILING["metric"]}])
    inject(monkeypatch, MetricQuery, "check")
    found = watch.publish(UPDATES)
    assert list(found) == [note for each in expected("indexed") for note in each]
    assert [entry.code for entry in found.rejected] == ["HG-540"]


def test_a_measure_that_fails_takes_all_who_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [[note for note in each if note.subscription_id != "metric"] for each in expected("indexed")]
    watch = Watch(algorithm="indexed")
    watch.subscribe(OTHERS)
    watch.subscribe([("clique", "ASK { FILTER(hg:cliques(2) >= 1) }")])
    monkeypatch.setattr(Degree, "follow", fail)
    found = [watch.publish([row]) for row in UPDATES]
    assert [[note for note in each if note.subscription_id != "clique"] for each in found] == wanted
    assert [entry.item for each in found for entry in each.rejected] == ["metric"]
    assert [(note.subscription_id, note.change) for note in found[0] if note.subscription_id == "clique"] == [
        ("clique", "+")
    ]


@both
@pytest.mark.parametrize("loaded", [True, False])
def test_one_of_many_fails_to_enter(algorithm: str, loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [
        ("a", "SELECT * { ?x :p ?y }"),
        ("bad", FAILING["each"]),
        ("c", "ASK { ?x :p :b }"),
        ("d", "ASK { :a :p :b }"),
    ]
    watch = Watch(algorithm=algorithm)
    if loaded:
        watch.load_graph([("k", "p", "l")])
    with monkeypatch.context() as patched:
        inject(patched, *((QueryPlan, "of") if algorithm == "plain" else (SolutionBuilder, "__init__")))
        receipt = watch.subscribe(asked)
        found = watch.publish([("+", "a", "p", "b")])
    assert [entry.item for entry in (*receipt.rejected, *found.rejected)] == ["bad"]
    assert sorted(note.subscription_id for note in found) == ["a", "c", "d"]
    assert watch.unsubscribe(["a", "bad"]).accepted == 2
    assert [note.subscription_id for note in watch.publish([("-", "a", "p", "b")])] == ["c", "d"]


@both
def test_a_query_that_cannot_be_made_again(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many concrete queries, which are entered at once, one alone fails."""
    watch = Watch(algorithm=algorithm)
    asked = [(f"s{n}", f"ASK {{ :a :p :v{n} }}") for n in range(5)]
    original: Any = vars(Subscription)["query"]

    def query(self: Subscription) -> Query:
        if self.id == "s3":
            raise Injected("no luck")
        found: Query = original.fget(self)
        return found

    watch.subscribe(asked[:1])
    taken = watch._subscriptions.subscribe(asked[1:]).subscriptions
    monkeypatch.setattr(Subscription, "query", property(query))
    watch._strategy.add([Subscribed(each, watch._defaults) for each in taken])
    found = watch.publish([("+", "a", "p", f"v{n}") for n in range(5)])
    assert [note.subscription_id for note in found] == ["s0", "s1", "s2", "s4"]
    assert [entry.item for entry in found.rejected] == ["s3"]


@both
def test_what_is_reported_at_first(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(algorithm=algorithm, initial=True)
    watch.load_graph([("a", "p", "b")])
    watch.subscribe([("good", "SELECT * { ?x :p ?y }"), ("bad", FAILING["groups"])])
    inject(monkeypatch, report, "evidence_text")
    found = watch.publish([])
    assert [(note.subscription_id, note.publication_id) for note in found] == [("good", None)]
    assert [entry.item for entry in found.rejected] == ["bad"]
    assert [note.subscription_id for note in watch.publish([("+", "c", "p", "d")])] == ["good"]


@both
def test_the_set_of_a_member_that_failed_is_ranked_without_it(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    top = '{"top_k_of": {"set": "s", "k": 1}}'
    watch = Watch(algorithm=algorithm)
    texts = (("bad", "SELECT DISTINCT ?bad { ?bad :p ?y }"), ("good", "SELECT DISTINCT ?x { ?x :q ?y }"))
    watch.subscribe([{"subscription_id": id, "query": text, "options": top} for id, text in texts])
    watch.publish([("+", "a", "p", "b"), ("+", "c", "p", "b"), ("+", "a", "q", "b")])
    assert watch.explain("bad").matched
    with monkeypatch.context() as patched:
        inject(patched, *((QueryPlan, "solutions") if algorithm == "plain" else (SolutionBuilder, "__call__")))
        found = watch.publish([("+", "d", "p", "b")])
    assert [entry.item for entry in found.rejected] == ["bad"]
    later = watch.publish([("+", "z", "other", "z")])
    assert [(note.subscription_id, note.change) for note in (*found, *later)] == [("good", "+")]


@both
def test_one_that_fails_while_it_is_saved_is_reported_after_loading(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(algorithm=algorithm)
    watch.load_graph([("a", "p", "b")])
    watch.subscribe([("good", "SELECT * { ?x :p ?y }"), ("bad", FAILING["groups"])])
    watch.load_graph([("c", "p", "b")])
    with monkeypatch.context() as patched:
        inject(patched, QueryPlan, "solutions")
        inject(patched, SolutionBuilder, "__call__")
        watch.save(tmp_path / "save")
    loaded = Watch.load(tmp_path / "save", algorithm=algorithm)
    for each in (watch, loaded):
        found = each.publish([("+", "d", "p", "b")])
        assert [entry.item for entry in found.rejected] == ["bad"]
        assert [note.subscription_id for note in found] == ["good"]


# --- what fails for all -----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("call", ["publish", "load_graph", "explain", "save"])
def test_what_fails_for_all_is_raised_and_nobody_goes_on(
    algorithm: str, call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    watch = Watch(algorithm=algorithm)
    watch.subscribe([("good", "SELECT * { ?x :p ?y }")])
    watch.publish([("+", "a", "p", "b")])
    with monkeypatch.context() as patched:
        patched.setattr(Runner, "run", fail)
        patched.setattr(EvolvingGraph, "apply", fail)
        with pytest.raises(Injected):
            watch.publish([("+", "c", "p", "d")])
    calls: dict[str, Callable[[], Any]] = {
        "publish": lambda: watch.publish([("+", "e", "p", "f")]),
        "load_graph": lambda: watch.load_graph([("e", "p", "f")]),
        "explain": lambda: watch.explain("good"),
        "save": lambda: watch.save(tmp_path / "save"),
    }
    with pytest.raises(HeliographError, match="HG-658: publish failed in the midst of its updates: Injected, no luck"):
        calls[call]()
    assert watch.unsubscribe(["good"]).accepted == 1


@both
def test_updates_that_are_refused_harm_nothing(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm)
    watch.subscribe([("good", "SELECT * { ?x :p ?y }")])
    with pytest.raises(HeliographError):
        watch.publish(17)
    assert len(watch.publish([("+", "a", "p", "b")])) == 1


def test_a_receipt_tells_of_its_own_subscriptions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(algorithm="plain")
    watch.load_graph([("a", "p", "b")])
    watch.subscribe([OTHERS[1], {"subscription_id": "bad", "query": FAILING["each"]}])
    with monkeypatch.context() as patched:
        inject(patched, QueryPlan, "solutions")
        watch.explain("ask")  # settles, and so meets the failure
    receipt = watch.subscribe(OTHERS[0])
    assert (receipt.accepted, list(receipt.rejected)) == (1, [])
    found = watch.publish(UPDATES[2:3])
    assert [(entry.item, entry.code) for entry in found.rejected] == [("bad", "HG-540")]
