"""Container membership: who holds what by any rdf:_n, or by rdfs:member itself.

Several edges may say the same of a pair, so each pair is counted; it comes with the first and goes with the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from heliograph.evolution.pairs import Difference, Keys, as_keys


class Members:
    """How many edges hold each pair (container, member)."""

    def __init__(self, keys: Iterable[int] = ()) -> None:
        self._counts = Counter(keys)

    def keys(self) -> Keys:
        return as_keys(self._counts)

    def change(self, added: Iterable[int], removed: Iterable[int]) -> Difference:
        """Takes one edge for each key; an edge that was there is not added, nor one removed that was not."""
        deltas = Counter(added)
        deltas.subtract(removed)
        gained = [key for key, delta in deltas.items() if delta > 0 and key not in self._counts]
        lost = [key for key, delta in deltas.items() if delta < 0 and self._counts[key] == -delta]
        for key, delta in deltas.items():
            self._counts[key] += delta
        for key in lost:
            del self._counts[key]
        return Difference(as_keys(gained), as_keys(lost))
