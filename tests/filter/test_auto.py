"""The default strategy: pairs first, then the index, and nobody can tell but by the candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph import Filter
from heliograph.filter import strategy as auto
from heliograph.filter.strategy import AutoMatcher, AutoVersion, PairwiseVersion

DOCUMENT = ("d", [("a", "p", "5"), ("a", "q", "b")])


def matching(first: int, last: int) -> list[tuple[str, str]]:
    return [(f"s{number}", f"ASK {{ ?x :p ?v FILTER(?v > {number % 10}) }}") for number in range(first, last)]


def expected(first: int, last: int) -> list[str]:
    return [f"s{number}" for number in range(first, last) if number % 10 < 5]


def ids(engine: Filter) -> list[str]:
    return [each.subscription_id for each in engine.publish(DOCUMENT)]


def held(engine: Filter) -> AutoVersion:
    assert isinstance(engine._matcher, AutoMatcher)
    return engine._matcher.version()


def is_plain(engine: Filter) -> bool:
    return isinstance(held(engine).held, PairwiseVersion)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "FEW", 30)
    monkeypatch.setattr(auto, "PAIRS", 50)
    monkeypatch.setattr(auto, "ready", lambda need, overdue=False: True)


class Compiling:
    """Stands for the kernels that another process compiles; counts who asks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, until: int = 10**9) -> None:
        self.asked, self.until, self.failed = 0, until, False
        monkeypatch.setattr(auto, "ready", self.ready)

    def ready(self, need: str, overdue: bool = False) -> bool:
        assert need == "filter"
        self.asked += 1
        return self.asked > self.until or (self.failed and overdue)


def test_a_small_job_looks_at_pairs() -> None:
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert ids(engine) == expected(0, 20)
    engine.unsubscribe(["s0"])
    assert ids(engine) == expected(1, 20)
    assert is_plain(engine)


def test_many_pairs_change_to_the_index_at_the_beginning_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling = Compiling(monkeypatch, until=0)
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert [ids(engine) for _ in range(4)] == 4 * [expected(0, 20)]
    assert not is_plain(engine)
    assert compiling.asked == 1
    engine.subscribe(matching(20, 25))
    engine.unsubscribe([f"s{number}" for number in range(10)])
    assert ids(engine) == expected(10, 25)
    assert len(held(engine)) == 15


def test_many_subscriptions_change_to_the_index_when_they_come() -> None:
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert is_plain(engine)
    engine.subscribe(matching(20, 40))
    assert not is_plain(engine)
    assert ids(engine) == expected(0, 40)


def test_many_at_once_never_see_pairs() -> None:
    engine = Filter()
    engine.subscribe(matching(0, 31))
    assert not is_plain(engine)
    assert ids(engine) == expected(0, 31)


def test_a_version_of_pairs_is_answered_by_the_index_once_there_is_one() -> None:
    engine = Filter()
    engine.subscribe(matching(0, 20))
    version = held(engine)
    engine.subscribe(matching(20, 40))
    assert isinstance(version.held, PairwiseVersion)
    assert len(version) == 20
    assert ids(engine) == expected(0, 40)


def test_while_kernels_are_compiled_pairs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling = Compiling(monkeypatch)
    engine = Filter()
    engine.subscribe(matching(0, 40))
    assert [ids(engine) for _ in range(40)] == 40 * [expected(0, 40)]
    assert is_plain(engine)
    engine.unsubscribe(["s0"])
    compiling.until = 0
    assert ids(engine) == expected(1, 40)
    assert not is_plain(engine)


def test_where_they_cannot_be_compiled_in_the_background_they_are_when_that_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiling = Compiling(monkeypatch)
    compiling.failed = True
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert [ids(engine) for _ in range(4)] == 4 * [expected(0, 20)]
    assert is_plain(engine)
    monkeypatch.setattr(auto, "COLD", 1)
    assert ids(engine) == expected(0, 20)
    assert not is_plain(engine)


def test_so_many_that_one_publication_takes_long_wait_for_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    Compiling(monkeypatch)
    monkeypatch.setattr(auto, "MANY", 39)
    engine = Filter()
    engine.subscribe(matching(0, 40))
    assert not is_plain(engine)


@pytest.mark.parametrize("until", [2, 5, 40])
def test_a_large_call_changes_between_two_publications(until: int, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [(f"d{number}", [("a", "p", str(number % 12)), ("b", "r", "c")]) for number in range(30)]
    queries = [*matching(0, 45), ("n", "SELECT (COUNT(*) AS ?n) { ?x :p ?y }")]
    naive = Filter(algorithm="naive")
    naive.subscribe(queries)
    told = list(naive.publish(documents, bindings=2))
    Compiling(monkeypatch, until)
    engine = Filter()
    engine.subscribe(queries)
    found = engine.publish(documents, bindings=2)
    assert list(found) == told
    assert found.stats.publications == 30
    assert found.stats.notifications == len(told)
    assert is_plain(engine) == (until == 40)


def test_a_call_that_others_change_meanwhile_sees_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [(f"d{number}", [("a", "p", "5")]) for number in range(10)]
    compiling = Compiling(monkeypatch)
    engine = Filter()
    engine.subscribe(matching(0, 40))
    ask = compiling.ready

    def leave(need: str, overdue: bool = False) -> bool:
        if compiling.asked == 3 and "s0" in engine:
            engine.unsubscribe(["s0"])
            compiling.until = 0
        return ask(need, overdue)

    monkeypatch.setattr(auto, "ready", leave)
    assert [each.subscription_id for each in engine.publish(documents)] == 10 * expected(0, 40)
    assert ids(engine) == expected(1, 40)


@pytest.mark.parametrize("ready", [True, False])
def test_a_saved_index_is_taken_over_or_waits_for_its_kernels(
    ready: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = Filter()
    engine.subscribe(matching(0, 40))
    assert not is_plain(engine)
    engine.save(tmp_path / "f")
    Compiling(monkeypatch, until=0 if ready else 10**9)
    loaded = Filter.load(tmp_path / "f")
    assert is_plain(loaded) != ready
    assert ids(loaded) == expected(0, 40)
