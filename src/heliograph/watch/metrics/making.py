"""Which measure answers which function."""

from __future__ import annotations

from heliograph.watch.metrics.calls import Key
from heliograph.watch.metrics.measure import Measure


def make_measure(key: Key) -> Measure:
    """The measure of a key, over an empty graph."""
    raise NotImplementedError(key.name)
