"""A strategy that looks at pairs, made to take whole batches: the baselines behind the same protocol as the engine."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from heliograph.filter.encoding import decode
from heliograph.filter.failures import Failures
from heliograph.filter.matcher import Matches, PairMatcher, Pairwise
from heliograph.filter.rosters import Listed
from heliograph.index.segment import Segment
from heliograph.publications import Publications
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class PairwiseVersion:
    """A version of pairs."""

    pairs: Pairwise
    taxonomy: Taxonomy

    def __len__(self) -> int:
        return len(self.pairs)

    def match(self, publications: Publications, failures: Failures) -> Matches:
        started = time.perf_counter_ns()
        rows: list[int] = []
        found: list[Subscription] = []
        candidates, counted = 0, False
        for row, publication in enumerate(decode(publications, self.taxonomy)):
            for candidate in self.pairs.candidates(publication):
                if candidate.number in failures:
                    continue
                candidates += 1
                try:  # the subscription alone is at work
                    holds = self.pairs.verify(candidate, publication)
                    counted |= holds and candidate.counted
                except Exception as error:
                    failures.add(candidate, error)
                    continue
                if holds:
                    rows.append(row)
                    found.append(candidate)
        return Matches(
            np.array(rows, np.int64),
            np.arange(len(found)),
            Listed(found),
            len(self),
            counted=counted,
            candidates=candidates,
            verify_ns=time.perf_counter_ns() - started,
        )


class PairwiseMatcher:
    """A matcher of pairs as a matcher of batches."""

    def __init__(self, pairs: PairMatcher, taxonomy: Taxonomy) -> None:
        self._pairs = pairs
        self._taxonomy = taxonomy

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        self._pairs.insert(subscriptions)
        return False

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self._pairs.remove(subscriptions)

    def version(self) -> PairwiseVersion:
        return PairwiseVersion(self._pairs.version(), self._taxonomy)

    def whole(self) -> None:
        """There is no index."""

    def planned(self) -> None:
        """There is no plan."""

    def locate(self, subscription: Subscription) -> None:
        """There is no index."""

    def adopt(self, segment: Segment) -> None:
        self.insert(segment.owners)
