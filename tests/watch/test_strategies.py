"""Whichever way updates are answered, and wherever one way goes over to another, the same is told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Notification, UsageError, Watch
from heliograph.watch import strategy as strategies
from heliograph.watch.plain import PlainStrategy
from heliograph.watch.strategy import AutoStrategy, WatchSnapshot, WatchStrategy
from tests.watch.streams import queries, row, steps

OTHERS = [
    ("n", "SELECT * { ?x :p [ :q ?y ] }", {}),
    ("d", "SELECT DISTINCT ?y { ?x :p ?y }", {}),
    ("c", "SELECT * { ?x :p ?y . ?y :q ?z }", {"mode": "change"}),
    ("h", "ASK { ?x :p ?y } HAVING (COUNT(*) >= 2)", {"hysteresis": 1}),
    ("g", "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) < 2)", {"hysteresis": 1}),
    ("o", "ASK { ?x :p ?y } HAVING (COUNT(*) = 1 || COUNT(*) = 3)", {}),
    ("t0", "SELECT * { ?x :p ?y }", {"top_k_of": 1}),
    ("t1", "SELECT DISTINCT ?x { ?x ?r ?y }", {"top_k_of": 2}),
    ("t2", "SELECT (COUNT(*) AS ?n) { ?x :q ?y }", {"top_k_of": 1}),
    ("i", "SELECT * { ?x :p :a }", {"initial": True}),
    ("m", "SELECT * { ?x :p ?y . ?z :q ?w }", {"max_matches_per_update": 1}),
]

Script = list[Any]  # rows to publish, graphs to load, subscriptions that come and go


def interests(texts: list[str]) -> list[dict[str, Any]]:
    rows = [{"subscription_id": f"s{number}", "query": text} for number, text in enumerate(texts)]
    return rows + [
        {"subscription_id": id, "query": text, "options": json.dumps(options)} for id, text, options in OTHERS
    ]


def play(watch: Watch, script: Script, texts: list[str]) -> list[Notification]:
    """What an engine tells of a script."""
    told: list[Notification] = []
    watch.load_graph([("a", "p", "b"), ("b", "q", "1")])
    watch.subscribe(interests(texts))
    for act, what in script:
        if act == "publish":
            told += watch.publish([row(step) for step in what])
        elif act == "load":
            watch.load_graph([row(step) for step in what])
        else:
            given = interests(texts)[what % (len(texts) + len(OTHERS))]
            if act == "leave":
                watch.unsubscribe([given["subscription_id"]])
            else:
                watch.subscribe([{**given, "options": json.dumps({"initial": True})}])
    return told


scripts = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.lists(steps(timed=True), max_size=6)),
        st.tuples(st.just("publish"), st.lists(steps(timed=True), max_size=6)),
        st.tuples(st.just("load"), st.lists(steps(timed=True), max_size=3)),
        st.tuples(st.sampled_from(("leave", "come")), st.integers(0, 20)),
    ),
    max_size=8,
)
windows = st.sampled_from(({}, {"window": 6}, {"window_updates": 4}))


@contextmanager
def going_over(updates: int, make: Callable[..., WatchStrategy] = PlainStrategy) -> Iterator[None]:
    """Lets `AutoStrategy` go over to what `make` makes as soon as it has asked so many times whether that pays."""
    asked = 0

    def pays(self: AutoStrategy, foreseen_ns: int, measures: bool, much: bool) -> bool:
        nonlocal asked
        asked += 1
        return asked > updates

    with mock.patch.object(AutoStrategy, "_pays", pays), mock.patch.object(strategies, "indexed", make):
        yield


@settings(deadline=None, max_examples=80)
@given(st.lists(queries(), max_size=2), scripts, windows, st.booleans(), st.integers(0, 30))
def test_going_over_anywhere(texts: list[str], script: Script, window: Any, witness: bool, where: int) -> None:
    expected = play(Watch(algorithm="plain", witness=witness, **window), script, texts)
    with going_over(where):
        assert play(Watch(witness=witness, **window), script, texts) == expected


@settings(deadline=None, max_examples=25)
@given(st.lists(queries(), max_size=2), scripts, windows, st.booleans(), st.integers(0, 20))
def test_going_over_to_the_kernels(texts: list[str], script: Script, window: Any, witness: bool, where: int) -> None:
    expected = play(Watch(algorithm="plain", witness=witness, **window), script, texts)
    with going_over(where, strategies.indexed):
        assert play(Watch(witness=witness, **window), script, texts) == expected
    assert play(Watch(algorithm="indexed", witness=witness, **window), script, texts) == expected


# --- when it pays -----------------------------------------------------------------------------------------------


class Over(PlainStrategy):
    """Stands for the kernels; what they take over is nothing to wait for."""

    def restore(self, snapshot: WatchSnapshot) -> None:
        assert snapshot.edges.size >= 0


def strategy_after(act: Callable[[Watch], Any]) -> type[WatchStrategy]:
    """The strategy that an engine has chosen after an act."""
    with mock.patch.object(strategies, "indexed", Over):
        watch = Watch()
        act(watch)
    assert isinstance(watch._strategy, AutoStrategy)
    return type(watch._strategy._held)


def many(count: int) -> list[tuple[str, str, str]]:
    return [("a", "p", f"v{number}") for number in range(count)]


ACTS: dict[str, Callable[[Watch], Any]] = {
    "subscribe": lambda watch: watch.subscribe([(f"s{n}", "ASK { :a :p :b }") for n in range(6)]),
    "load": lambda watch: watch.load_graph(many(6)),
    "publish": lambda watch: watch.publish([("+", *triple) for triple in many(6)]),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    ("limit", "warm", "chosen"), [(5, True, Over), (5, False, PlainStrategy), (6, True, PlainStrategy)]
)
def test_much_to_do(
    act: str, limit: int, warm: bool, chosen: type[WatchStrategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SUBSCRIPTIONS", "ROWS"):
        monkeypatch.setattr(strategies, name, limit)
    monkeypatch.setattr(strategies, "ready", lambda need, overdue: warm)
    assert strategy_after(ACTS[act]) is chosen


@pytest.mark.parametrize(
    ("warm_ns", "cold_ns", "chosen"), [(0, 10**18, PlainStrategy), (10**18, 10**18, PlainStrategy), (0, 0, Over)]
)
def test_long_work_pays(
    warm_ns: int, cold_ns: int, chosen: type[WatchStrategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategies, "WARM_NS", warm_ns)
    monkeypatch.setattr(strategies, "COLD_NS", cold_ns)
    monkeypatch.setattr(strategies, "ready", lambda need, overdue: overdue)  # as where compiling failed
    assert strategy_after(ACTS["publish"]) is chosen


def test_while_kernels_are_compiled_plain_updates_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "WARM_NS", 0)
    asked: list[str] = []

    def ready(need: str, overdue: bool) -> bool:
        asked.append(need)
        return need == "watch" and len(asked) > 5

    monkeypatch.setattr(strategies, "ready", ready)
    monkeypatch.setattr(strategies, "indexed", Over)
    watch = Watch()
    assert isinstance(watch._strategy, AutoStrategy)
    watch.subscribe(("s", "SELECT * { FILTER(hg:degree(?x) > 1) }"))
    told = [watch.publish([("+", "a", "p", f"b{number}")]) for number in range(6)]
    assert [len(each) for each in told] == [0, 1, 0, 0, 0, 0]
    assert asked.count("metrics") > 0  # the kernels of the watch are there, those of its metric are not
    assert watch._strategy._plain is not None
    watch.unsubscribe(["s"])
    watch.publish([("+", "a", "p", "c")])
    assert watch._strategy._plain is None


@pytest.mark.parametrize(
    ("query", "size", "chosen"),
    [
        ("SELECT * { FILTER(hg:betweenness(?x) > 0.1) }", 100, PlainStrategy),
        ("SELECT * { FILTER(hg:betweenness(?x) > 0.1) }", 300, Over),
        ("SELECT * { FILTER(hg:degree(?x) > 1) }", 300, PlainStrategy),
        ("ASK { FILTER(hg:betweenness(:a) > 0.1) }", 300, PlainStrategy),
        ("SELECT * { FILTER(hg:distance(?x, ?y) < 1) }", 300, Over),
        ("SELECT * { ?x :q ?y }", 300, PlainStrategy),
    ],
)
def test_metrics_that_would_take_long_pay_at_once(query: str, size: int, chosen: type[WatchStrategy]) -> None:
    def act(watch: Watch) -> None:
        watch.load_graph(many(size))
        watch.subscribe([("s", query), ("t", query)])
        watch._strategy._choose()  # type: ignore[attr-defined]

    with mock.patch.object(strategies, "ready", return_value=False):
        assert strategy_after(act) is chosen


def test_metrics_over_a_graph_that_is_restored_pay_at_once(tmp_path: Path) -> None:
    watch = Watch(algorithm="indexed")
    watch.load_graph(many(300))
    watch.subscribe([("s", "SELECT * { FILTER(hg:betweenness(?x) > 0.1) }")])
    watch.save(tmp_path / "saved")
    restored = Watch.load(tmp_path / "saved")
    assert isinstance(restored._strategy, AutoStrategy)
    assert restored._strategy._plain is None


def test_metrics_that_nobody_asks_any_more_are_not_waited_for() -> None:
    watch = Watch()
    watch.load_graph(many(1_000))
    watch.subscribe([("s", "SELECT * { FILTER(hg:steiner(?x, ?y, :a, hg:via(:p)) < 2) }"), ("t", "ASK { :a :p :b }")])
    assert isinstance(watch._strategy, AutoStrategy)
    assert watch._strategy._plain is not None
    assert watch._strategy._plain.foreseen_ns() > 10**12
    watch.unsubscribe(["s"])
    assert watch._strategy._plain.foreseen_ns() == 0


def test_time_is_counted_wherever_it_is_spent() -> None:
    watch = Watch()
    assert isinstance(watch._strategy, AutoStrategy)
    spent = []
    for act in (ACTS["load"], ACTS["subscribe"], ACTS["publish"], lambda watch: watch.explain("s0")):
        act(watch)
        spent.append(watch._strategy._spent_ns)
    assert sorted(set(spent)) == [spent[0], *spent[2:]]  # subscribing alone settles nothing


def test_a_small_job_loads_no_kernel() -> None:
    code = """
import sys
from heliograph import Watch
watch = Watch()
watch.subscribe(("s", "SELECT * { ?x :p ?y }"))
print(len(watch.publish([("+", "a", "p", "b")])), "numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


# --- by name, and from a save -----------------------------------------------------------------------------------


def test_an_unknown_algorithm(tmp_path: Path) -> None:
    Watch().save(tmp_path / "w")
    with pytest.raises(UsageError) as caught:
        Watch(algorithm="magic")
    assert (caught.value.code, "plain" in str(caught.value)) == ("HG-045", True)
    with pytest.raises(UsageError, match="magic"):
        Watch.load(tmp_path / "w", algorithm="magic")


def test_a_large_save_is_loaded_by_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    watch.load_graph(many(6))
    watch.save(tmp_path / "w")
    monkeypatch.setattr(strategies, "ROWS", 5)
    monkeypatch.setattr(strategies, "ready", lambda need, overdue: True)
    monkeypatch.setattr(strategies, "indexed", Over)
    loaded = Watch.load(tmp_path / "w")
    assert isinstance(loaded._strategy, AutoStrategy)
    assert isinstance(loaded._strategy._held, Over)
