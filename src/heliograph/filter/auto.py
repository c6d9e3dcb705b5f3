"""The default strategy: pairs while there is little to do, the index as soon as it pays.

A small job ends in milliseconds without compiling or loading a kernel; a large one builds the index once. The law: the
change is made between two calls of `publish` or at the beginning of one, so every call sees one version.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.baselines.filter_naive import NaiveMatcher
from heliograph.filter.failures import Failures
from heliograph.filter.matcher import Located, Matches
from heliograph.filter.pairwise import PairwiseMatcher, PairwiseVersion
from heliograph.kernels.cache import announce, is_warm
from heliograph.publications import Publications
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.filter.indexed import IndexedMatcher, IndexedVersion
    from heliograph.index.segment import Segment

FEW = 2_000  # subscriptions up to which they are kept as they are, until there is something to do
PAIRS = 4_000  # pairs looked at in one's life before the index is built: a fraction of a second
COLD = 25  # so many times that, where the kernels have yet to be compiled, which takes half a minute


class AutoMatcher:
    """Subscriptions as a list, then in an index."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        self._vocabulary = vocabulary
        self._taxonomy = taxonomy
        self._plain: PairwiseMatcher | None = PairwiseMatcher(NaiveMatcher(), taxonomy)
        self._indexed: IndexedMatcher | None = None
        self._alive: dict[int, Subscription] = {}
        self._spent = 0  # pairs
        self._lock = threading.RLock()

    def follow(self, other: AutoMatcher) -> None:
        """Begins with an index if the other has one."""
        if other._indexed is not None:
            self._change()

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        with self._lock:
            if self._indexed is None and len(self._alive) + len(subscriptions) > FEW:
                self._change()
            if self._indexed is not None:
                return self._indexed.insert(subscriptions)
            assert self._plain is not None
            self._plain.insert(subscriptions)
            self._alive.update((each.number, each) for each in subscriptions)
            return False

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        with self._lock:
            removed = tuple(subscriptions)
            if self._indexed is not None:
                self._indexed.remove(removed)
                return
            assert self._plain is not None
            self._plain.remove(removed)
            for each in removed:
                del self._alive[each.number]

    def version(self) -> AutoVersion:
        with self._lock:
            if self._indexed is not None:
                return AutoVersion(self, self._indexed.version())
            assert self._plain is not None
            return AutoVersion(self, self._plain.version())

    def chosen(self, version: PairwiseVersion, publications: int) -> PairwiseVersion | IndexedVersion:
        """The version itself if its pairs can be afforded; otherwise the index, as it is now."""
        with self._lock:
            self._spent += len(version) * publications
            if self._indexed is None and self._spent > PAIRS and (self._spent > COLD * PAIRS or is_warm()):
                self._change()
            return version if self._indexed is None else self._indexed.version()

    def whole(self) -> Segment | None:
        with self._lock:
            indexed = self._indexed
        return None if indexed is None else indexed.whole()

    def planned(self) -> None:
        """There is no plan."""

    def locate(self, subscription: Subscription) -> Located | None:
        with self._lock:
            indexed = self._indexed
        return None if indexed is None else indexed.locate(subscription)

    def adopt(self, segment: Segment) -> None:
        with self._lock:
            self._change().adopt(segment)

    def _change(self) -> IndexedMatcher:
        from heliograph.filter.indexed import IndexedMatcher

        announce("matching.verify")
        indexed = IndexedMatcher(self._vocabulary, self._taxonomy)
        indexed.insert(list(self._alive.values()))
        self._indexed, self._plain = indexed, None
        self._alive = {}
        return indexed


@dataclass(frozen=True, slots=True)
class AutoVersion:
    """A version of whichever it is; of pairs that are too many, the index is asked instead."""

    matcher: AutoMatcher
    held: PairwiseVersion | IndexedVersion

    def __len__(self) -> int:
        return len(self.held)

    def match(self, publications: Publications, failures: Failures) -> Matches:
        held = self.held
        if isinstance(held, PairwiseVersion):
            held = self.matcher.chosen(held, len(publications.ids))
        return held.match(publications, failures)
