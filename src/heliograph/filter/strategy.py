"""The strategies of a filter: what each must do, and all of them by name.

The law that every strategy keeps: a version's matches are exactly the subscriptions that match; only the number of
candidates differs. A strategy takes whole batches (`Matcher`, `MatcherVersion`), or looks at one subscription and one
publication at a time (`PairMatcher`, `Pairwise`), which `PairwiseMatcher` turns into the former. `indexed` always uses
the index; `auto`, the default, looks at pairs while there is little to do and changes to the index when that pays;
`naive` and the seeds' algorithms look at pairs. A plan of shards is run with the index.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa

from heliograph.compiled.background import ready
from heliograph.errors import UsageError, own_failure
from heliograph.filter.encode import Publication, decode
from heliograph.filter.interests import closure_of, interests_of_batch, interests_singly
from heliograph.filter.layout import Flags, Int64s
from heliograph.filter.search import ExactCheck, Hits, SearchBatch, SearchContext, ordered, search, slow_structures
from heliograph.filter.segment import Segment, Segments, SegmentsVersion
from heliograph.io.publications import Publications, rebase
from heliograph.model import Rejected, SubscriptionCost
from heliograph.partition.plan import MERGERS, Context, Plan, Scheme
from heliograph.sparql.solve import QueryPlan
from heliograph.subscriptions import Subscription, by_origin
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

_LOG = logging.getLogger("heliograph")
_FEW = 8  # of so many subscriptions fewer than one matches: then only those that do are looked at


# --- matches ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches by publication, then in order of subscribing."""

    publication: Int64s  # its number in the batch
    place: Int64s  # of the subscription among the owners
    owners: Sequence[Sequence[Subscription]]  # lists of subscriptions that lie end to end
    subscriptions: int = 0  # that were subscribed
    counted: bool = False  # whether a count is among them, which is always shown
    candidates: int = 0
    lookup_ns: int = 0
    verify_ns: int = 0
    slow: Callable[[], Iterable[SubscriptionCost]] = field(default=tuple)

    def subscribed(self, places: Int64s) -> list[Subscription]:
        """The subscriptions at these places."""
        if len(self.owners) == 1:
            (own,) = self.owners
            return [own[place] for place in places.tolist()]
        starts = np.cumsum([0, *map(len, self.owners)])
        which = np.searchsorted(starts, places, side="right") - 1
        pairs = zip(which.tolist(), (places - starts[which]).tolist(), strict=True)
        return [self.owners[number][place] for number, place in pairs]

    def named(self) -> tuple[Int64s, pa.Array[Any], pa.Array[Any]]:
        """Ids and subscribers of some subscriptions, and for each match which of them it is; what few matches cost
        does not grow with the subscriptions."""
        if len(self.place) * _FEW >= sum(map(len, self.owners)):
            numbers, entries = self.place, list(chain.from_iterable(self.owners))
        else:
            own, numbers = np.unique(self.place, return_inverse=True)
            entries = self.subscribed(own)
        ids, subscribers = [each.id for each in entries], [each.subscriber for each in entries]
        return numbers, pa.array(ids, pa.string()), pa.array(subscribers, pa.string())


Aside = dict[int, Rejected]  # by number, what was said when it failed; publishers add, the writer takes out


class Failures:
    """Subscriptions that fail inside a publish: each is rejected by name and put aside, the others go on.

    The laws: what one subscription does changes no notification of another. One that failed has no notification of
    that call nor of a later one, until it is unsubscribed, or the filter is loaded anew. What is no subscription's own
    failure, such as a lack of memory, is raised. `aside` holds the failures of all calls of an engine.
    """

    def __init__(self, aside: Aside | None = None) -> None:
        self._aside: Aside = {} if aside is None else aside
        self.rejected: list[Rejected] = []  # of this call

    def __contains__(self, number: int) -> bool:
        """Whether a subscription is put aside."""
        return number in self._aside

    def add(self, subscription: Subscription, error: Exception) -> None:
        """Puts a subscription aside. To be called where it alone was at work; a lack of memory is raised again."""
        if isinstance(error, MemoryError):
            raise error
        failure = own_failure(f"subscription {subscription.id!r}", error)
        rejected = Rejected.of(failure, "subscriptions", subscription.id)
        self.rejected.append(rejected)
        if self._aside.setdefault(subscription.number, rejected) is rejected:
            _LOG.warning("%s: %s", rejected.code, rejected.message, exc_info=error)

    def kept(self, matches: Matches) -> Flags | None:
        """Which matches are of subscriptions that are not put aside; None where all are."""
        if not self._aside or not len(matches.place):
            return None
        places, which = np.unique(matches.place, return_inverse=True)
        kept = np.array([each.number not in self._aside for each in matches.subscribed(places)])[which]
        return None if kept.all() else kept


# --- what a strategy does -----------------------------------------------------------------------------------------


class MatcherVersion(Protocol):
    """The subscriptions as they were at one moment; later changes do not touch it."""

    def __len__(self) -> int: ...

    def match(self, publications: Publications, failures: Failures) -> Matches:
        """The matches; a subscription that fails is added to `failures`, one that is among them is not asked."""
        ...


class Located(NamedTuple):
    """A subscription in an index: its segment, which member of that it is, and notes on where that stands."""

    segment: Segment
    member: int
    notes: tuple[str, ...] = ()


class Matcher(Protocol):
    """Keeps subscriptions so that candidates are found fast. One writer at a time; any number of versions."""

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        """Adds subscriptions; whether it now has what it needs of their queries."""
        ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> MatcherVersion: ...

    def whole(self) -> Segment | None:
        """What is alive as one segment, if there is an index of anything; to be asked while nobody writes."""
        return None

    def planned(self) -> Plan | None:
        """The plan that it runs, if it does."""
        return None

    def locate(self, subscription: Subscription) -> Located | None:
        """Where a subscription stands in the index, if there is one."""
        return None

    def adopt(self, segment: Segment) -> None:
        """Takes over the subscriptions of a segment, before any other."""
        ...


class Pairwise(Protocol):
    """A version of a strategy that looks at pairs."""

    def __len__(self) -> int: ...

    def candidates(self, publication: Publication) -> Iterator[Subscription]:
        """The subscriptions that could match, in order of subscribing."""
        ...

    def verify(self, subscription: Subscription, publication: Publication) -> bool:
        """Whether a candidate does match."""
        ...


class PairMatcher(Protocol):
    """As `Matcher`, for a strategy that looks at pairs."""

    def insert(self, subscriptions: Sequence[Subscription]) -> None: ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> Pairwise: ...


# --- pairs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairwiseVersion:
    """A version of pairs as one of batches."""

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
        took_ns, place = time.perf_counter_ns() - started, np.arange(len(found))
        return Matches(np.array(rows, np.int64), place, (found,), len(self), counted, candidates, verify_ns=took_ns)


class PairwiseMatcher(Matcher):
    """A matcher of pairs as one of batches."""

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

    def adopt(self, segment: Segment) -> None:
        self.insert(segment.owners)


# --- naive: every subscription is a candidate for every publication -------------------------------------------------
# [G] figure 9(h) calls it naive: all subscriptions are checked one by one. It is the oracle of the fast strategies and
# a switch for debugging them. A version is a copy, made when somebody first looks after a change: whoever publishes
# looks at every subscription anyway.

_Planned = dict[int, tuple[Subscription, QueryPlan]]  # by number, in order of subscribing


@dataclass(frozen=True, slots=True)
class NaiveVersion:
    """All subscriptions as they were, each with its plan."""

    planned: _Planned

    def __len__(self) -> int:
        return len(self.planned)

    def candidates(self, publication: Publication) -> Iterator[Subscription]:
        return (subscription for subscription, _ in self.planned.values())

    def verify(self, subscription: Subscription, publication: Publication) -> bool:
        return self.planned[subscription.number][1].matches(publication.world)


class NaiveMatcher:
    """All subscriptions in one dictionary."""

    def __init__(self) -> None:
        self._planned: _Planned = {}
        self._version: NaiveVersion | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._planned)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        planned = {each.number: (each, QueryPlan.of(each.query)) for each in subscriptions}  # all or none: one may fail
        with self._lock:
            self._planned.update(planned)
            self._version = None

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        with self._lock:
            for subscription in subscriptions:
                del self._planned[subscription.number]
            self._version = None

    def version(self) -> NaiveVersion:
        with self._lock:
            if self._version is None:
                self._version = NaiveVersion(dict(self._planned))
            return self._version


# --- indexed: structures found by their rarest edge, verified once for all that share them, in kernels ---------------


class IndexedMatcher(Matcher):
    """The subscriptions of a filter in an index over its vocabulary."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        self._context = SearchContext(vocabulary, taxonomy, closure_of(taxonomy, vocabulary))
        self.segments = Segments()

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        """The subscriptions of one call appear at once."""
        vocabulary, taxonomy = self._context.vocabulary, self._context.taxonomy
        batches, plain = by_origin(subscriptions)
        if len(batches) == 1 and not plain:
            interests = interests_of_batch(batches[0], vocabulary, taxonomy)
        else:
            interests = interests_singly(subscriptions, vocabulary, taxonomy)
        self.segments.add(interests, subscriptions)
        return True

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self.segments.remove(each.number for each in subscriptions)

    def version(self) -> IndexedVersion:
        return IndexedVersion(self.segments.version, self._context, self.segments)

    def whole(self) -> Segment | None:
        return self.segments.whole()

    def locate(self, subscription: Subscription) -> Located | None:
        found = ((segment, segment.find(subscription.number)) for segment in self.segments.version.segments)
        return next((Located(segment, member) for segment, member in found if member >= 0), None)

    def adopt(self, segment: Segment) -> None:
        self.segments.adopt(segment)


@dataclass(frozen=True, slots=True)
class IndexedVersion:
    """The index at one moment."""

    held: SegmentsVersion
    context: SearchContext
    segments: Segments

    def __len__(self) -> int:
        return self.held.size

    def match(self, publications: Publications, failures: Failures) -> Matches:
        given = rebase(publications, self.context.vocabulary)
        hits = search_all(self.segments, self.held, self.context.batch(given))
        check = ExactCheck(given, self.context, failures)
        found = ordered(self.held.segments, [check.rows(each) for each in hits])
        return matches_of(found, self.held.segments, len(self), sum([each.candidates for each in hits]), hits, check)


def search_all(segments: Segments, version: SegmentsVersion, batch: SearchBatch) -> list[Hits]:
    """What is found in the segments of a version, which learns from it."""
    segments.observe(batch.edges)
    hits = [search(segment, batch, version.stamp) for segment in version.segments]
    for each in hits:
        held = len(each.number) + len(each.doubtful)
        segments.reconsider(each.segment, each.searched[0], held, len(batch.edges.offsets) - 1)
    return hits


def matches_of(
    found: tuple[Int64s, Int64s],
    segments: Sequence[Segment],
    subscriptions: int,
    candidates: int,
    hits: Sequence[Hits],
    check: ExactCheck,
) -> Matches:
    """The publications and places of matches, and what it took to find them."""
    return Matches(
        *found,
        [segment.owners for segment in segments],
        subscriptions,
        check.counted,
        max(len(found[1]), candidates),  # the latter forgets what was removed since
        sum([each.lookup_ns for each in hits]),
        sum([each.verify_ns for each in hits]) + check.took_ns,
        lambda: chain(slow_structures(hits, MERGERS), check.slow()),
    )


# --- auto: pairs while there is little to do, the index as soon as it pays -----------------------------------------
# A small job ends in milliseconds without compiling or loading a kernel; a large one builds the index once. Where the
# kernels have yet to be compiled, another process does that, and pairs are looked at until it is done. The law: every
# call of `publish` sees one version. The change is made between two calls, at the beginning of one, or between two of
# its publications if nothing was subscribed or unsubscribed since it began.

FEW = 2_000  # subscriptions up to which they are kept as they are, until there is something to do
PAIRS = 4_000  # pairs looked at in one's life before the index is built: a fraction of a second
COLD = 25  # so many times that takes some seconds: then compiling here pays, if it was not possible in the background
MANY = 100_000  # subscriptions whose pairs with one publication take so long: kernels are compiled at once


class AutoMatcher(Matcher):
    """Subscriptions as a list, then in an index."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        self._vocabulary = vocabulary
        self._taxonomy = taxonomy
        self._naive = NaiveMatcher()  # while there is no index
        self._held: PairwiseMatcher | IndexedMatcher = PairwiseMatcher(self._naive, taxonomy)
        self._spent = 0  # pairs
        self._lock = threading.RLock()

    def follow(self, other: AutoMatcher) -> None:
        """Begins with an index if the other has one."""
        if isinstance(other._held, IndexedMatcher):
            self._change()

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        with self._lock:
            if isinstance(self._held, PairwiseMatcher) and self._pays(len(self._naive) + len(subscriptions)):
                self._change()
            return self._held.insert(subscriptions)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        with self._lock:
            self._held.remove(subscriptions)

    def version(self) -> AutoVersion:
        with self._lock:
            return AutoVersion(self, self._held.version())

    def chosen(self, version: PairwiseVersion, publications: int) -> PairwiseVersion | IndexedVersion:
        """The version itself if its pairs can be afforded; otherwise the index, as it is now."""
        with self._lock:
            self._spent += len(version) * publications
            held = self._held
            if isinstance(held, PairwiseMatcher):
                if self._spent <= PAIRS or not self._is_ready():
                    return version
                held = self._change()
            return held.version()

    def followed(self, version: PairwiseVersion) -> PairwiseVersion | IndexedVersion:
        """The index of just what a version holds, if the kernels are there by now; otherwise the version itself."""
        with self._lock:
            if not self._is_ready() or self._naive.version() is not version.pairs:
                return version
            return self._change().version()

    def whole(self) -> Segment | None:
        return self._held.whole()

    def locate(self, subscription: Subscription) -> Located | None:
        return self._held.locate(subscription)

    def adopt(self, segment: Segment) -> None:
        with self._lock:
            if len(segment.owners) > MANY or self._is_ready():
                self._change()
            self._held.adopt(segment)

    def _pays(self, subscriptions: int) -> bool:
        """Whether so many subscriptions are put into an index before anything is published."""
        return subscriptions > MANY or (subscriptions > FEW and self._is_ready())

    def _is_ready(self) -> bool:
        return ready("filter", overdue=self._spent > COLD * PAIRS)

    def _change(self) -> IndexedMatcher:
        indexed = IndexedMatcher(self._vocabulary, self._taxonomy)
        indexed.insert([subscription for subscription, _ in self._naive.version().planned.values()])
        self._held, self._naive = indexed, NaiveMatcher()
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
            if isinstance(held, PairwiseVersion) and len(held) * len(publications.ids) > PAIRS:
                return self._match_in_parts(held, publications, failures)
        return held.match(publications, failures)

    def _match_in_parts(self, pairs: PairwiseVersion, publications: Publications, failures: Failures) -> Matches:
        """Some publications at a time, until they are done or the kernels are there for the rest."""
        parts: list[tuple[int, Matches]] = []
        first, last = 0, len(publications.ids)
        held: PairwiseVersion | IndexedVersion = pairs
        while first < last:
            if first and isinstance(held, PairwiseVersion):
                held = self.matcher.followed(held)
            end = min(last, first + max(1, PAIRS // len(pairs))) if isinstance(held, PairwiseVersion) else last
            parts.append((first, held.match(publications.some(first, end), failures)))
            first = end
        return _joined(parts)


def _joined(parts: Sequence[tuple[int, Matches]]) -> Matches:
    """The matches of publications one after another, each part with the number of its first one."""
    matches = [each for _, each in parts]
    sizes = [sum(map(len, each.owners)) for each in matches]
    places = [each.place + start for each, start in zip(matches, np.cumsum([0, *sizes[:-1]]), strict=True)]
    return Matches(
        np.concatenate([each.publication + first for first, each in parts]),
        np.concatenate(places),
        [own for each in matches for own in each.owners],
        matches[0].subscriptions,
        any(each.counted for each in matches),
        sum(each.candidates for each in matches),
        sum(each.lookup_ns for each in matches),
        sum(each.verify_ns for each in matches),
        lambda: chain.from_iterable(each.slow() for each in matches),
    )


# --- by name ------------------------------------------------------------------------------------------------------

DEFAULT = "auto"
SHARDED = ("auto", "indexed")

Maker = Callable[[Vocabulary, Taxonomy], Matcher]


def _paper(name: str) -> Maker:
    """An algorithm of the papers, imported when it is asked for."""

    def make(_: Vocabulary, taxonomy: Taxonomy) -> Matcher:
        pairs = getattr(import_module("heliograph.papers.filter"), name)
        return PairwiseMatcher(cast("PairMatcher", pairs()), taxonomy)

    return make


ALGORITHMS: Mapping[str, Maker] = {
    "auto": AutoMatcher,
    "indexed": IndexedMatcher,
    "naive": lambda _, taxonomy: PairwiseMatcher(NaiveMatcher(), taxonomy),
    "ops": _paper("OpsMatcher"),
    "gtopss": _paper("GToPSSMatcher"),
    "rss": _paper("RssMatcher"),
}


def matcher_of(algorithm: str, scheme: Scheme | None, context: Context) -> Matcher:
    """The strategy by this name; with a scheme, a plan of shards."""
    if algorithm not in ALGORITHMS:
        raise UsageError("HG-045", f"no algorithm {algorithm!r}", fix=f"use {' or '.join(map(repr, ALGORITHMS))}")
    if scheme is None:
        return ALGORITHMS[algorithm](context.vocabulary, context.taxonomy)
    if algorithm not in SHARDED:
        raise UsageError("HG-052", f"no shards with the algorithm {algorithm!r}", fix="leave the algorithm out")
    from heliograph.filter.shards import ShardedMatcher

    return ShardedMatcher(Plan(scheme, context))


def renewed(matcher: Matcher, algorithm: str, scheme: Scheme | None, context: Context) -> Matcher:
    """The strategy by this name, as far as another one of that name has come, without its subscriptions."""
    fresh = matcher_of(algorithm, scheme, context)
    if isinstance(fresh, AutoMatcher) and isinstance(matcher, AutoMatcher):
        fresh.follow(matcher)
    return fresh
