"""The indexed filter: structures found by their rarest edge, verified once for all who share them, in kernels.

The path of a batch: candidates (`index.search`, one segment after another) → sure matches, and doubtful ones that are
judged (`filter.judging`) → both in order. The law: what is found is a function of the version and the batch alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from heliograph.filter.failures import Failures
from heliograph.filter.judging import Context, Judge, Rows
from heliograph.filter.matcher import Located, Matches
from heliograph.filter.rosters import Segmented
from heliograph.index.bulk import interests_of_batch, interests_singly
from heliograph.index.closure import closure_of
from heliograph.index.interests import Interests
from heliograph.index.search import Batch, Hits, search
from heliograph.index.segment import Segment
from heliograph.index.tiers import Tiers, Version
from heliograph.kernels.filter_layout import FIRST_MEMBER, MEMBERS, NUMBER_BITS
from heliograph.model import Slow
from heliograph.partition.placement import MERGERS
from heliograph.publications import Publications, rebase
from heliograph.subscriptions import Subscription, by_origin
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

_SHOWN = 10  # subscriptions that the slow log names


class IndexedMatcher:
    """The subscriptions of a filter in an index over its vocabulary."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        self._context = Context(vocabulary, taxonomy, closure_of(taxonomy, vocabulary))
        self.tiers = Tiers()

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        for interests, owners in self._compiled(subscriptions):
            self.tiers.add(interests, owners)
        return True

    def _compiled(self, subscriptions: Sequence[Subscription]) -> Iterator[tuple[Interests, Sequence[Subscription]]]:
        """One lot of interests, so that the subscriptions of one call appear at once."""
        vocabulary, taxonomy = self._context.vocabulary, self._context.taxonomy
        parts = by_origin(subscriptions)
        if len(parts.batches) == 1 and not parts.plain:
            yield interests_of_batch(parts.batches[0], vocabulary, taxonomy), parts.batches[0].subscriptions
        else:
            yield interests_singly(subscriptions, vocabulary, taxonomy), subscriptions

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self.tiers.remove(each.number for each in subscriptions)

    def version(self) -> IndexedVersion:
        return IndexedVersion(self.tiers.version, self._context, self.tiers)

    def whole(self) -> Segment | None:
        return self.tiers.whole()

    def planned(self) -> None:
        """There is no plan."""

    def locate(self, subscription: Subscription) -> Located | None:
        found = ((segment, segment.find(subscription.number)) for segment in self.tiers.version.segments)
        return next((Located(segment, member) for segment, member in found if member >= 0), None)

    def adopt(self, segment: Segment) -> None:
        self.tiers.adopt(segment)


@dataclass(frozen=True, slots=True)
class IndexedVersion:
    """The index at one moment."""

    held: Version
    context: Context
    tiers: Tiers

    def __len__(self) -> int:
        return self.held.size

    def match(self, publications: Publications, failures: Failures) -> Matches:
        given = rebase(publications, self.context.vocabulary)
        hits = search_all(self.tiers, self.held, self.context.batch(given))
        judge, found_ns = Judge(given, self.context, failures), time.perf_counter_ns()
        rows = [judge.rows(each) for each in hits]
        judge.took_ns = time.perf_counter_ns() - found_ns
        return _matches(rows, hits, judge, len(self))


def search_all(tiers: Tiers, version: Version, batch: Batch) -> list[Hits]:
    """What is found in the segments of a version, which learns from it."""
    tiers.observe(batch.edges)
    hits = [search(segment, batch, version.stamp) for segment in version.segments]
    for each in hits:
        held = len(each.number) + len(each.doubtful)
        tiers.reconsider(each.segment, each.searched[0], held, len(batch.edges.offsets) - 1)
    return hits


def _matches(rows: Sequence[Rows], hits: Sequence[Hits], judge: Judge, subscriptions: int) -> Matches:
    segments = tuple(each.segment for each in hits)
    publication, place = _ordered(segments, rows)
    return Matches(
        publication,
        place,
        Segmented(segments),
        subscriptions,
        counted=judge.counted,
        candidates=max(len(place), sum(each.candidates for each in hits)),  # the latter forgets what was removed since
        lookup_ns=sum(each.lookup_ns for each in hits),
        verify_ns=sum(each.verify_ns for each in hits) + judge.took_ns,
        slow=lambda: chain(slow_structures(hits), judge.slow()),
    )


def _ordered(segments: Sequence[Segment], rows: Sequence[Rows]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Publications and places, by publication and then in order of subscribing."""
    keys = [(each.publication.astype(np.int64) << NUMBER_BITS) | each.number for each in rows]
    if len(segments) == 1:  # sorting the keys alone takes a fifth of the time of sorting something along with them
        key = np.sort(keys[0])
        return key >> NUMBER_BITS, segments[0].places(key & ((1 << NUMBER_BITS) - 1))
    starts = np.cumsum([0, *(len(segment) for segment in segments)])
    places = [
        segment.places(each.number) + start for segment, each, start in zip(segments, rows, starts[:-1], strict=True)
    ]
    empty = np.zeros(0, np.int64)
    key, place = np.concatenate([empty, *keys]), np.concatenate([empty, *places])
    order = np.argsort(key)
    return key[order] >> NUMBER_BITS, place[order]


def slow_structures(hits: Iterable[Hits]) -> Iterator[Slow]:
    """The structures on which most edges were looked at, by the first of their members; nobody's ones are left out."""
    for each in hits:
        structures, steps = each.searched
        sums = np.bincount(structures, steps, minlength=len(each.segment.alive)).astype(np.int64)
        times = np.bincount(structures, minlength=len(sums))
        for structure in np.argsort(-sums, kind="stable")[:_SHOWN].tolist():
            owner = _first_owner(each.segment, structure, each.stamp) if times[structure] else None
            if owner is not None and owner.number < MERGERS:
                yield Slow(owner.id, int(times[structure]), int(sums[structure]))


def _first_owner(segment: Segment, structure: int, stamp: int) -> Subscription:
    """The first member of a structure that was alive in a version."""
    first, count = segment.index.structures[structure, [FIRST_MEMBER, MEMBERS]].tolist()
    alive = segment.index.died[first : first + count] > stamp
    number = segment.index.numbers[first : first + count][alive].min()
    owner: Subscription = segment.owners[int(segment.places(np.array([number]))[0])]
    return owner
