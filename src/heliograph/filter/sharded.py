"""The filter that runs a plan: the front of the next publications is looked up while the shards match the last ones.

The path of a batch: parts of it → the front of each → for each shard the publications that match a root with something
below it there, in the shard's thread → doubtful matches judged, by the caller → all of a part in order. The laws: the
matches are those of one index with all the subscriptions, in the same order; kernels run without Python's lock, so
shards match side by side. There is a thread for each shard, and they take turns with the front: whoever is next looks
it up while the others match. A root that is in doubt counts as matched until its own query is judged.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from heliograph.filter.failures import Failures
from heliograph.filter.indexed import search_all, slow_structures
from heliograph.filter.judging import Context, Judge
from heliograph.filter.matcher import Located, Matches
from heliograph.filter.observing import Observer
from heliograph.filter.reach import Reach
from heliograph.filter.rosters import Segmented
from heliograph.index.closure import closure_of
from heliograph.index.search import Batch, Hits
from heliograph.index.segment import Segment
from heliograph.index.tiers import Tiers
from heliograph.index.tiers import Version as Tier
from heliograph.kernels.filter_layout import FIRST_MEMBER, MEMBERS, NUMBER_BITS, Int32s, Int64s
from heliograph.partition.outline import place_in_words
from heliograph.partition.placement import MERGERS
from heliograph.partition.plan import Plan, Version
from heliograph.publications import Publications, rebase
from heliograph.subscriptions import Subscription

PART = 256  # publications whose front is looked up at a time: some milliseconds

_NUMBER = (1 << NUMBER_BITS) - 1


class ShardedMatcher:
    """The subscriptions of a filter in a plan, and a thread for each shard of it."""

    def __init__(self, plan: Plan) -> None:
        vocabulary, taxonomy = plan.context.vocabulary, plan.context.taxonomy
        self.plan = plan
        self.context = Context(vocabulary, taxonomy, closure_of(taxonomy, vocabulary))
        self.reach, self.observer = Reach(plan.scheme.shards), Observer(plan)
        names = [f"heliograph-shard-{number}" for number in range(plan.scheme.shards)]
        self.threads = tuple(ThreadPoolExecutor(1, thread_name_prefix=name) for name in names)

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        if subscriptions:
            self.plan.insert(subscriptions)
        return True

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        removed = tuple(subscriptions)
        if removed:
            self.plan.remove(removed)

    def version(self) -> ShardedVersion:
        return ShardedVersion(self.plan.version, self)

    def whole(self) -> None:
        """It is saved as a plan, not as one segment."""

    def planned(self) -> Plan:
        return self.plan

    def locate(self, subscription: Subscription) -> Located | None:
        held = self.plan.tier(self.plan.find(subscription.number)).version
        found = ((segment, segment.find(subscription.number)) for segment in held.segments)
        alive = (each for each in found if each[1] >= 0 and each[0].index.died[each[1]] > held.stamp)
        return Located(*next(alive), (place_in_words(self.plan, subscription.number),))

    def adopt(self, segment: Segment) -> None:
        self.insert(segment.owners)


class Front(NamedTuple):
    """What the front found: the roots that match, and for each shard the publications that must reach it."""

    matches: Matches
    wanted: tuple[Int64s, ...]


class _Run(NamedTuple):
    """Matches of one part in one place: keys of publication and number, ascending, and places in the roster."""

    keys: Int64s
    places: Int64s


class _Found(NamedTuple):
    """What one place found in a part: what is sure, and everything, with publications numbered as in the batch."""

    sure: _Run
    hits: list[Hits]


class _Asked(NamedTuple):
    """A part whose front was looked up; its shards are at work."""

    part: Batch
    first: int
    front: _Found
    shards: list[Future[_Found]]


@dataclass(frozen=True, slots=True)
class ShardedVersion:
    """A plan at one moment."""

    held: Version
    matcher: ShardedMatcher

    def __len__(self) -> int:
        return self.held.size

    def match(self, publications: Publications, failures: Failures) -> Matches:
        given = rebase(publications, self.matcher.context.vocabulary)
        batch, judge = self.matcher.context.batch(given), Judge(given, self.matcher.context, failures)
        runs: list[_Run] = []
        hits: list[Hits] = []
        for each in self._asked(batch, len(given.ids)):
            found = [each.front, *(shard.result() for shard in each.shards)]
            hits += [every for one in found for every in one.hits]
            runs.append(_joined([*(one.sure for one in found), self._judged(found, judge)]))
            self.matcher.observer.observe(each.part, each.first, each.front.hits, runs[-1].keys)
        return self._matches(_joined(runs), hits, judge)

    def _asked(self, batch: Batch, count: int) -> Iterator[_Asked]:
        """The parts of a batch. Each thread looks up the front of one or two of the next while this one waits."""
        if count <= PART or self.matcher.plan.scheme.partition == "hash":
            yield from [self._ask(batch, first, min(first + PART, count)) for first in range(0, count, PART)]
            return
        threads, ahead = self.matcher.threads, deque[Future[_Asked]]()
        for number, first in enumerate(range(0, count, PART)):
            thread = threads[number % len(threads)]
            ahead.append(thread.submit(self._ask, batch, first, min(first + PART, count)))
            if len(ahead) > 2 * len(threads):
                yield ahead.popleft().result()
        yield from (each.result() for each in ahead)

    # --- one stage alone ----------------------------------------------------------------------------------------

    def front(self, publications: Publications, failures: Failures) -> Front:
        """The first stage: what matches at the front, and where the publications go from there."""
        given = rebase(publications, self.matcher.context.vocabulary)
        rows = np.arange(len(given.ids), dtype=np.int32)
        found = self._look(self.matcher.context.batch(given), rows, self.matcher.plan.front, self.held.front, 0)
        return Front(self._whole(given, found, failures), tuple(self._wanted(found, 0, len(rows))))

    def shard(self, number: int, publications: Publications, failures: Failures) -> Matches:
        """The second stage, for publications that go to this shard."""
        given = rebase(publications, self.matcher.context.vocabulary)
        batch, rows = self.matcher.context.batch(given), np.arange(len(given.ids), dtype=np.int32)
        tiers, tier = self.matcher.plan.shards[number], self.held.shards[number]
        start = sum(len(each) for held in (self.held.front, *self.held.shards[:number]) for each in held.segments)
        return self._whole(given, self._look(batch, rows, tiers, tier, start), failures)

    def _whole(self, given: Publications, found: _Found, failures: Failures) -> Matches:
        judge = Judge(given, self.matcher.context, failures)
        run = _joined([found.sure, self._judged([found], judge)])
        return self._matches(run, found.hits, judge)

    # --- parts --------------------------------------------------------------------------------------------------

    def _ask(self, batch: Batch, first: int, last: int) -> _Asked:
        """Looks up the front of some publications, and lets the shards begin with theirs."""
        held, part = self.held, batch.some(first, last)
        rows = np.arange(first, last, dtype=np.int32)
        if any(segment.needs.words for tier in held.shards for segment in tier.segments):
            part.words()  # once, for all shards
        front = self._look(part, rows, self.matcher.plan.front, held.front, 0)
        start, begun = sum(map(len, held.front.segments)), []
        for shard, wanted in enumerate(self._wanted(front, first, last)):
            tier = held.shards[shard]
            if len(wanted) and tier.size:
                work = part if len(wanted) == last - first else part.chosen(wanted)
                task = (work, rows[wanted], self.matcher.plan.shards[shard], tier, start)
                begun.append(self.matcher.threads[shard].submit(self._look, *task))
            start += sum(map(len, tier.segments))
        return _Asked(part, first, front, begun)

    def _wanted(self, front: _Found, first: int, last: int) -> Iterator[Int64s]:
        """For each shard the publications that must reach it, counted from the first of the part."""
        if self.matcher.plan.scheme.partition == "hash":
            return iter([np.arange(last - first)] * len(self.held.shards))
        return self.matcher.reach.wanted(self.held, front.hits, first, last)

    def _look(self, part: Batch, rows: Int32s, tiers: Tiers, tier: Tier, start: int) -> _Found:
        """Searches one place; `rows` are the numbers of its publications, `start` is where its roster begins."""
        hits = search_all(tiers, tier, part) if tier.size else []
        runs = []
        for each in hits:
            each.publication = rows[each.publication]
            each.doubtful = [one._replace(publication=int(rows[one.publication])) for one in each.doubtful]
            runs.append(_run(each.segment, each.publication, each.number, start))
            start += len(each.segment)
        return _Found(_joined(runs), hits)

    def _judged(self, found: Sequence[_Found], judge: Judge) -> _Run:
        """The doubtful matches that hold."""
        started, runs, start = time.perf_counter_ns(), [], 0
        starts = {}
        for segment in self._segments():
            starts[id(segment)] = start
            start += len(segment)
        for each in chain.from_iterable(one.hits for one in found):
            doubtful = [one for one in each.doubtful if each.segment.index.numbers[one.member] < MERGERS]
            if doubtful:
                publication, number = judge.judged(replace(each, doubtful=doubtful))
                runs.append(_run(each.segment, publication, number, starts[id(each.segment)]))
        judge.took_ns += time.perf_counter_ns() - started
        return _joined(runs)

    # --- the whole ----------------------------------------------------------------------------------------------

    def _segments(self) -> tuple[Segment, ...]:
        return tuple(chain(self.held.front.segments, *(tier.segments for tier in self.held.shards)))

    def _matches(self, run: _Run, hits: Sequence[Hits], judge: Judge) -> Matches:
        return Matches(
            run.keys >> NUMBER_BITS,
            run.places,
            Segmented(self._segments()),
            len(self),
            counted=judge.counted,
            candidates=max(len(run.places), sum(each.candidates - _mergers(each) for each in hits)),
            lookup_ns=sum(each.lookup_ns for each in hits),
            verify_ns=sum(each.verify_ns for each in hits) + judge.took_ns,
            slow=lambda: chain(slow_structures(hits), judge.slow()),
        )


def _mergers(hits: Hits) -> int:
    """How many of the candidates are mergers, which are nobody's subscriptions."""
    index = hits.segment.index
    ours = (index.numbers >= MERGERS) & (index.died > hits.stamp)
    if not ours.any():
        return 0
    before = np.concatenate([[0], np.cumsum(ours)])
    first, count = index.structures[hits.searched[0]][:, [FIRST_MEMBER, MEMBERS]].T
    return int((before[first + count] - before[first]).sum())


def _run(segment: Segment, publication: Int32s | Int64s, number: Int64s, start: int) -> _Run:
    """Matches of a segment in order; mergers, whose numbers are the largest, are none."""
    real = number < MERGERS
    if not real.all():
        publication, number = publication[real], number[real]
    keys = np.sort((publication.astype(np.int64) << NUMBER_BITS) | number)
    return _Run(keys, segment.places(keys & _NUMBER) + start)


def _joined(runs: Sequence[_Run]) -> _Run:
    """Several as one, in order. Sorting what consists of a few ascending runs takes as long as merging them."""
    some = [run for run in runs if len(run.keys)]
    if len(some) <= 1:
        return some[0] if some else _Run(np.zeros(0, np.int64), np.zeros(0, np.int64))
    keys, places = (np.concatenate(column) for column in zip(*some, strict=True))
    if all(left.keys[-1] < right.keys[0] for left, right in pairwise(some)):
        return _Run(keys, places)
    order = np.argsort(keys, kind="stable")
    return _Run(keys[order], places[order])
