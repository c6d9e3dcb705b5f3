"""When `auto` walks in plain Python and when by the kernels; where it changes over, nothing is seen of it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.route import Route
from heliograph.route import strategy as strategies
from heliograph.route.read import read_events
from heliograph.route.strategy import COLD_NS, SMALL, WARM_NS, AutoRouting, RouteOptions
from tests.route.worlds import World, answer, told, worlds


@pytest.mark.parametrize(
    ("spent_ns", "nodes", "state", "pays"),
    [
        (0, 10, "ready", False),
        (0, SMALL + 1, "ready", True),
        (0, SMALL + 1, "compiling", False),
        (WARM_NS, 10, "ready", True),
        (WARM_NS, 10, "compiling", False),
        (COLD_NS, 10, "compiling", False),
        (WARM_NS, 10, "failed", False),
        (COLD_NS, 10, "failed", True),
    ],
)
def test_kernels_are_loaded_when_they_pay(
    monkeypatch: pytest.MonkeyPatch, spent_ns: int, nodes: int, state: str, pays: bool
) -> None:
    monkeypatch.setattr(strategies, "_KERNEL", "a module that nobody has loaded")

    def ready(need: str, overdue: bool) -> bool:
        return state == "ready" or (state == "failed" and overdue)

    monkeypatch.setattr(strategies, "ready", ready)
    auto = AutoRouting()
    auto._spent_ns = spent_ns
    engine = Route([(str(number),) for number in range(nodes)])
    with engine._exchange.reading() as version:
        assert auto.encodes(version) == pays
        monkeypatch.setattr(strategies, "_KERNEL", "sys")
        assert auto.encodes(version) == (pays or state == "ready")


def test_a_small_job_loads_no_kernel() -> None:
    code = """
import sys
from heliograph.route import Route
engine = Route([("a", "x = 1")], [("p", "a"), ("a", "b")])
event = {"event_id": "e", "publisher": "p", "attributes": {"x": 1}}
assert [item.subscription_id for item in engine.publish([event], rank="cost")] == ["a", "b"]
assert [item.subscription_id for item in engine.publish([event])] == ["a", "b"]
assert [item.subscription_id for item in engine.stream(event)] == ["a", "b"]
assert engine.explain("b", event).matched
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@settings(max_examples=50)
@given(worlds(), st.integers(0, 2**32), st.integers(0, 12), st.booleans())
def test_a_batch_may_change_over_in_its_middle(world: World, seed: int, after: int, ranked: bool) -> None:
    engine, events = world.engine(), world.batch(10, seed)
    rank = "cost" if ranked else None
    expected = told(answer(engine, "walk", events, rank=rank))
    auto, asked = AutoRouting(), iter(range(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AutoRouting, "_pays", lambda self, version: next(asked) >= after)
        engine._strategy = auto
        assert told(engine.publish(events, rank=rank)) == expected
    assert (auto._spent_ns > 0) == (after > (0 if ranked else 1))  # in a batch it is first asked whether to encode


def test_time_is_counted_by_the_walk_only() -> None:
    engine, auto = Route([("a", "x = 1")], [("p", "a")]), AutoRouting()
    event = {"event_id": "e", "publisher": "p", "attributes": {"x": 1}}
    with engine._exchange.reading() as version, pytest.MonkeyPatch.context() as patch:
        read = read_events([event], False)
        patch.setattr(AutoRouting, "_pays", lambda self, version: True)
        assert list(auto.stream(version, read, 0, RouteOptions())) == [version.number("a")]
        assert auto.walk(version, read, 0, RouteOptions()).verified == 1
        assert auto._spent_ns == 0
        patch.setattr(AutoRouting, "_pays", lambda self, version: False)
        assert list(auto.stream(version, read, 0, RouteOptions())) == [version.number("a")]
        assert auto.walk(version, read, 0, RouteOptions()).verified == 1
        assert auto._spent_ns > 0
