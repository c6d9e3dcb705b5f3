"""Garbage in: a heliograph error or a clean read, never another exception, and nothing else is lost."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import HeliographError, Watch
from heliograph.watch.options import Options, read_options
from heliograph.watch.updates import extent

cells = (
    st.none()
    | st.text(max_size=8)
    | st.sampled_from(("+", "-", "=", "a", "?x", '"x', "_:b", "<http://x>", "ex:a", "5", "-1", "NaN", "2026-01-01"))
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.binary(max_size=4)
    | st.datetimes()
    | st.lists(st.integers(), max_size=2)
)
names = st.sampled_from(("seq", "op", "subject", "property", "object", "weight", "at", "other"))
items = st.dictionaries(names, cells, max_size=7) | st.lists(cells, max_size=7).map(tuple) | cells
GOOD = ("+", "one", "p", "two")


both_ways = pytest.mark.parametrize("algorithm", ["plain", "indexed"])


@both_ways
@settings(deadline=None, max_examples=80)
@given(rows=st.lists(items, max_size=6), window=st.sampled_from(({}, {"window": "1h"}, {"window_updates": 1})))
def test_updates(algorithm: str, rows: list[Any], window: dict[str, Any]) -> None:
    watch = Watch("change", algorithm=algorithm, **window)
    watch.subscribe(("s", "ASK { :one :p :two }"))
    good = (*GOOD, None, "2026-01-01T00:00:00Z")
    found = watch.publish([*rows, good])
    assert found.stats.publications + len(found.rejected) >= 1
    assert all(entry.code.startswith("HG-") for entry in found.rejected)
    if all(entry.code != "HG-623" for entry in found.rejected):
        assert watch.explain("s").matched


@both_ways
@settings(deadline=None, max_examples=60)
@given(rows=st.lists(items, max_size=6))
def test_graphs(algorithm: str, rows: list[Any]) -> None:
    watch = Watch(initial=True, algorithm=algorithm)
    watch.subscribe(("s", "ASK { :one :p :two }"))
    receipt = watch.load_graph([*rows, GOOD[1:]])
    assert receipt.accepted >= 1
    assert len(watch.publish([])) == 1


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=30) | st.recursive(cells, lambda inner: st.dictionaries(st.text(), inner)).map(repr))
def test_options(text: str) -> None:
    with suppress(HeliographError):
        assert isinstance(read_options(text, Options()), Options)


@settings(deadline=None)
@given(cells, cells)
def test_windows(window: Any, updates: Any) -> None:
    with suppress(HeliographError):
        found = extent(window, updates)
        assert found.span is None or found.span > 0


@settings(deadline=None)
@given(st.lists(cells, max_size=4) | cells)
def test_ids(given_ids: Any) -> None:
    watch = Watch()
    watch.subscribe(("s", "ASK { :one :p :two }"))
    with suppress(HeliographError):
        watch.unsubscribe(given_ids)
    assert watch.stats().subscriptions in (0, 1)
