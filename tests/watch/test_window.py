"""How a window is written."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from heliograph import Watch
from heliograph.errors import UsageError
from heliograph.watch.updates import extent, parse_span


@pytest.mark.parametrize(
    ("window", "seconds"),
    [
        ("7d", 604800),
        ("2w", 1209600),
        ("12h", 43200),
        ("30m", 1800),
        ("45s", 45),
        ("90", 90),
        (" 1.5 H ", 5400),
        (60, 60),
        (0.25, 0.25),
        (timedelta(minutes=2), 120),
    ],
)
def test_spans(window: Any, seconds: float) -> None:
    assert parse_span(window) == round(seconds * 1_000_000)


@pytest.mark.parametrize(
    "window", ["", "d", "-1d", "0s", 0, -5, "1y", "1d 2h", float("nan"), 1e300, True, timedelta(0), [], "9" * 40]
)
def test_no_spans(window: Any) -> None:
    with pytest.raises(UsageError) as caught:
        extent(window)
    assert caught.value.code == "HG-071"
    assert caught.value.fix


@pytest.mark.parametrize("updates", [0, -1, True, 2.0, "5"])
def test_no_numbers_of_updates(updates: Any) -> None:
    with pytest.raises(UsageError) as caught:
        extent(None, updates)
    assert caught.value.code == "HG-071"


@pytest.mark.parametrize("late", [18, 26])
@pytest.mark.parametrize("way", ["before", "after", "load"])
@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_an_edge_that_came_too_late_for_its_window_goes_with_the_next_update(
    algorithm: str, way: str, late: int, tmp_path: Path
) -> None:
    """A class query that is entered while it is there derives edges from it, and follows when it goes."""

    def row(subject: str, property: str, object: str, second: int) -> dict[str, str]:
        at = f"2026-01-01T00:00:{second}+00:00"
        return {"op": "+", "subject": subject, "property": property, "object": object, "at": at}

    def subscribe() -> None:
        watch.subscribe([("a", "SELECT * { :a rdfs:subClassOf+ ?x }"), ("d", "SELECT * { :d rdfs:subClassOf+ ?x }")])

    watch = Watch(algorithm=algorithm, window="5s")
    if way != "after":
        subscribe()
    watch.publish([row("z", "r", "z", 28), row("d", "rdfs:subClassOf", "a", late)])
    if way == "after":
        subscribe()
    if way == "load":
        watch.save(tmp_path / "save")
        watch = Watch.load(tmp_path / "save", algorithm=algorithm)
    found = watch.publish([row("a", "rdfs:subClassOf", "d", 37)])
    lines = [(each.change, each.subscription_id, each.evidence) for each in found]
    assert lines == [("-", "d", '{"bindings":{"x":"a"}}'), ("+", "a", '{"bindings":{"x":"d"}}')]
