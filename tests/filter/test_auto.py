"""The default strategy: pairs first, then the index, and nobody can tell but by the candidates."""

from __future__ import annotations

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


def test_a_small_job_looks_at_pairs() -> None:
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert ids(engine) == expected(0, 20)
    engine.unsubscribe(["s0"])
    assert ids(engine) == expected(1, 20)
    assert is_plain(engine)


def test_many_pairs_change_to_the_index_at_the_beginning_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.filter.strategy.is_warm", lambda: True)
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert [ids(engine) for _ in range(4)] == 4 * [expected(0, 20)]
    assert not is_plain(engine)
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


def test_where_kernels_must_be_compiled_pairs_go_on_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.filter.strategy.is_warm", lambda: False)
    engine = Filter()
    engine.subscribe(matching(0, 20))
    assert [ids(engine) for _ in range(4)] == 4 * [expected(0, 20)]
    assert is_plain(engine)
    monkeypatch.setattr("heliograph.filter.strategy.COLD", 1)
    assert ids(engine) == expected(0, 20)
    assert not is_plain(engine)
