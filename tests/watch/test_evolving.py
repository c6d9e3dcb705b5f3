"""The rules of the evolving graph, one by one, whichever way updates are answered. Streams: `test_oracle`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch
from tests.watch.naive import Step
from tests.watch.streams import row, steps

both_ways = pytest.mark.parametrize("algorithm", ["plain", "indexed"])


def item(text: str) -> dict[str, Any]:
    """`+ a p b`, its time in seconds after an @ and its weight after a # at the end, if any."""
    text, _, weight = text.partition(" #")
    text, _, at = text.partition(" @")
    op, subject, property, object = (*text.split(), None, None)[:4]
    time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=int(at)) if at else None
    weights = {"weight": float(weight)} if weight else {}
    return {"op": op, "subject": subject, "property": property, "object": object, "at": time, **weights}


def watching(algorithm: str, **options: Any) -> Watch:
    watch = Watch(algorithm=algorithm, **options)
    watch.subscribe(("any", "SELECT * { ?s ?p ?o }"))
    return watch


def told(watch: Watch, *texts: str) -> set[str]:
    """What the last of these updates changes."""
    found = [watch.publish(item(text)) for text in texts][-1]
    return {f"{each.change} {' '.join(each.proof['bindings'].values())}" for each in found}


RULES: dict[str, tuple[list[str], set[str]]] = {
    "a present triple is added": (["+ a p b", "+ a p b"], set()),
    "setting replaces": (["+ a p b", "+ a p d", "+ a q b", "= a p c"], {"- a p b", "- a p d", "+ a p c"}),
    "setting a present value": (["+ a p b", "+ a p d", "= a p b"], {"- a p d"}),
    "an absent triple is removed": (["+ a p c", "- a p b"], set()),
    "a vertex takes both ends and attributes": (
        ["+ a p b", "+ b p a", "+ a p a", "+ a age 5", "+ b p c", "- a"],
        {"- a p b", "- b p a", "- a p a", "- a age 5"},
    ),
    "a vertex stays as a property": (["+ a p b", "- p"], set()),
}
WINDOWS: dict[str, tuple[list[str], set[str]]] = {
    "it expires and is added at once": (["+ a p b @0", "+ a p b @10"], {"- a p b", "+ a p b"}),
    "the bound itself goes": (["+ a p b @0", "+ a p c @1", "+ a p d @10"], {"- a p b", "+ a p d"}),
    "a late one is taken": (["+ a p b @100", "+ a p c @5"], {"+ a p c"}),
    "and goes with the next": (["+ a p b @100", "+ a p c @5", "- x p y @6"], {"- a p c"}),
    "a late duplicate does not age": (["+ a p b @9", "+ a p b @3", "- x p y @14"], set()),
}


@both_ways
@pytest.mark.parametrize("rule", RULES)
def test_rules(algorithm: str, rule: str) -> None:
    texts, expected = RULES[rule]
    assert told(watching(algorithm), *texts) == expected


@both_ways
@pytest.mark.parametrize("rule", WINDOWS)
def test_rules_of_a_window(algorithm: str, rule: str) -> None:
    texts, expected = WINDOWS[rule]
    assert told(watching(algorithm, window=10), *texts) == expected


@both_ways
def test_the_last_updates_count_even_where_they_change_nothing(algorithm: str) -> None:
    watch = watching(algorithm, window_updates=2)
    assert told(watch, "+ a p b", "- x p y") == set()
    assert told(watch, "- x p y") == {"- a p b"}


@both_ways
def test_background_without_a_time_never_expires(algorithm: str) -> None:
    watch = watching(algorithm, window=10, window_updates=1)
    watch.load_graph([item("+ a p b"), item("+ a p c @1"), item("+ a p d @12")])
    assert told(watch, "+ a p b @20") == set()
    assert told(watch, "+ x p y @1000") == {"- a p d", "+ x p y"}


@both_ways
def test_a_weight_stays_until_another_is_given(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm)
    watch.subscribe(("far", "ASK { FILTER(hg:distance(:a, :b, 'weight') >= 2) }"))
    assert told_truth(watch, "+ a p b", "+ a p b #2.5", "+ a p b", "+ a p b #1") == ["-", "+", "", "-"]


def told_truth(watch: Watch, *texts: str) -> list[str]:
    return ["".join(each.change for each in watch.publish(item(text))) for text in texts]


@both_ways
@settings(deadline=None, max_examples=30)
@given(stream=st.lists(steps(), max_size=20), subject=st.sampled_from("abcd"))
def test_removing_what_was_added_restores(algorithm: str, stream: list[Step], subject: str) -> None:
    watch = watching(algorithm)
    watch.publish([row(step) for step in stream])
    came = told(watch, f"+ new p {subject}")
    assert {line.replace("+ ", "- ") for line in came} == told(watch, "- new") == {f"- new p {subject}"}
