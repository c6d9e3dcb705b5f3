"""How a window is written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from heliograph.errors import UsageError
from heliograph.watch.updates import WindowExtent, extent, parse_span


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


def test_extents() -> None:
    assert not extent()
    assert extent("1s", 3) == WindowExtent(1_000_000, 3)
    assert extent(None, 3)
