"""The strategies of a filter by name: pairs, the index, and `auto`, which changes from one to the other when it
pays.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from typing import NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from heliograph.compiled.compile import announce, is_warm
from heliograph.compiled.growing import fixed, rows_of
from heliograph.errors import UsageError
from heliograph.filter.encode import (
    Failures,
    Listed,
    Located,
    Matcher,
    Matches,
    PairMatcher,
    Pairwise,
    Segmented,
    decode,
)
from heliograph.filter.interests import Interests, closure_of, edge_variables, interests_of_batch, interests_singly
from heliograph.filter.layout import FIRST_MEMBER, MEMBERS, NUMBER_BITS, ROUNDED_CODE, Closure, Edges, Floats, Values
from heliograph.filter.search import Batch, Hits, search
from heliograph.filter.segment import Segment
from heliograph.filter.tiers import Tiers, Version
from heliograph.io.publications import Publications, rebase
from heliograph.model import SubscriptionCost
from heliograph.partition.plan import MERGERS, Scheme
from heliograph.partition.plan import Context as PlanContext
from heliograph.partition.plan import Plan as Plan_
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.regions import places_of
from heliograph.sparql.solve import Graph, Plan, Solution, World, world
from heliograph.subscriptions import Subscription, by_origin
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary

# ----------------------------------------------------------------------------------------------------------------------
# The plain filter: every subscription is a candidate for every publication, and is verified by backtracking.
#
# [G] figure 9(h) calls it naive: all subscriptions are checked one by one. It is the oracle of the fast strategies
# and a switch for debugging them.
#
# Versions are stamps: each entry knows when it died, a version knows how many entries and which stamp it saw, so
# taking a version copies nothing and a change never disturbs one that is in use.
# ----------------------------------------------------------------------------------------------------------------------

_ALIVE = 1 << 62  # a stamp that no version reaches
_WORTH_FOLDING = 64  # dead entries below which the list is left as it is


class Published(Protocol):
    """A publication, as far as it is looked at here."""

    @property
    def world(self) -> World: ...


class _Entry:
    """A subscription with its plan, and the stamp at which it was removed."""

    __slots__ = ("died", "plan", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.plan = Plan.of(subscription.query)
        self.died = _ALIVE


@dataclass(frozen=True, slots=True)
class NaiveVersion:
    """The first `length` entries, without those that had died when the version was taken."""

    entries: list[_Entry]
    by_number: dict[int, _Entry]
    length: int
    stamp: int
    alive: int

    def __len__(self) -> int:
        return self.alive

    def candidates(self, publication: Published) -> Iterator[Subscription]:
        for position in range(self.length):
            entry = self.entries[position]
            if entry.died > self.stamp:
                yield entry.subscription

    def verify(self, subscription: Subscription, publication: Published) -> bool:
        entry = self.by_number.get(subscription.number)
        plan = entry.plan if entry is not None else Plan.of(subscription.query)  # removed since this version
        return plan.matches(publication.world)


class NaiveMatcher:
    """All subscriptions in one list, in order of subscribing."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._by_number: dict[int, _Entry] = {}
        self._stamp = 0
        self._version = NaiveVersion(self._entries, self._by_number, 0, 0, 0)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        entries = [_Entry(subscription) for subscription in subscriptions]  # all or none: a plan may fail to be made
        self._by_number.update((entry.subscription.number, entry) for entry in entries)
        self._entries.extend(entries)
        self._publish()

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._by_number.pop(subscription.number).died = self._stamp + 1
        if len(self._entries) - len(self._by_number) > max(_WORTH_FOLDING, len(self._by_number)):
            self._entries = list(self._by_number.values())  # versions in use keep the older list
        self._publish()

    def version(self) -> NaiveVersion:
        return self._version

    def _publish(self) -> None:
        """One assignment makes a change visible, all of it at once."""
        self._stamp += 1
        alive, length = len(self._by_number), len(self._entries)
        self._version = NaiveVersion(self._entries, self._by_number, length, self._stamp, alive)


# ----------------------------------------------------------------------------------------------------------------------
# What a batch of publications is searched with, and how doubtful matches are decided.
#
# The law: a doubtful member matches if one of its solutions is judged true, by the query's own conditions; if none is
# and the search gave up counting, the plain solver decides on the whole query.
# ----------------------------------------------------------------------------------------------------------------------


class Context:
    """What a filter's subscriptions have in common."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, closure: Closure) -> None:
        self.vocabulary = vocabulary
        self.taxonomy = taxonomy
        self.closure = closure
        self._places = _rows(vocabulary, 0, 0)

    def places(self, size: int) -> Floats:
        """Where the first terms of the vocabulary lie; those not asked for before are looked at now."""
        known = self._places
        if len(known) < size:
            known = np.concatenate([known, _rows(self.vocabulary, len(known), size)])
            self._places = known
        return fixed(known[:size])

    def batch(self, publications: Publications) -> Batch:
        """Publications over this vocabulary, ready to be searched."""
        own, edges = publications.vocabulary, fixed(Edges(publications.offsets, *publications.triples))
        start = len(own) if own is self.vocabulary else own.start
        values = Values(start, self.places(start), fixed(_rows(own, start, len(own))))
        return Batch(publications, edges, values, self.closure, len(own))


def _rows(vocabulary: Vocabulary, first: int, last: int) -> Floats:
    places = places_of(vocabulary, first, last)
    code = places.domain.astype(np.float64) + ROUNDED_CODE * places.rounded
    rows: Floats = rows_of(places.coordinate, code, dtype=np.float64)
    return rows


# --- doubt ------------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Matches of one segment."""

    publication: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]


@dataclass(slots=True)
class Judge:
    """Decides doubtful matches of one batch; each publication is made a graph of terms at most once."""

    publications: Publications
    context: Context
    failures: Failures
    counted: bool = False
    took_ns: int = 0
    _costs: Counter[str] = field(default_factory=Counter)  # edges of the publications that a whole query was asked of
    _times: Counter[str] = field(default_factory=Counter)
    _worlds: dict[int, World] = field(default_factory=dict)

    def rows(self, hits: Hits) -> Rows:
        """All matches of a segment, the sure and the judged ones."""
        if not hits.doubtful:
            return Rows(hits.publication.astype(np.int64), hits.number)
        judged = self.judged(hits)
        return Rows(
            np.concatenate([hits.publication, judged.publication]), np.concatenate([hits.number, judged.number])
        )

    def judged(self, hits: Hits) -> Rows:
        """The doubtful matches of a segment that hold and are not sure as well."""
        judged = np.array(list(self._judged(hits)), np.int64).reshape(-1, 2)
        return Rows(judged[:, 0], judged[:, 1])

    def _judged(self, hits: Hits) -> Iterator[tuple[int, int]]:
        solutions: dict[tuple[int, int], list[npt.NDArray[np.int32] | None]] = {}
        for each in hits.doubtful:
            solutions.setdefault((each.publication, each.member), []).append(each.solution)
        cases: dict[int, _Case] = {}
        sure = set(zip(hits.publication.tolist(), hits.number.tolist(), strict=True))
        for (row, member), found in solutions.items():
            number = int(hits.segment.index.numbers[member])
            if (row, number) in sure or number in self.failures:  # another of its solutions was beyond doubt
                continue
            owner = cases[member].subscription if member in cases else _owner(hits, number)
            graph = self._world(row) if any(each is None for each in found) else None
            try:  # from here on it is the subscription alone that is at work
                if member not in cases:
                    cases[member] = _Case.of(owner, self.context.taxonomy)
                holds = self._holds(cases[member], row, found, graph)
                self.counted |= holds and owner.counted
            except Exception as error:
                self.failures.add(owner, error)
                continue
            if holds:
                yield row, number

    def _holds(self, case: _Case, row: int, found: Sequence[npt.NDArray[np.int32] | None], graph: World | None) -> bool:
        """Whether a solution holds; `graph` is the publication, if there is one that the whole query must decide."""
        term = self.publications.vocabulary.term
        for solution in found:
            if solution is None:
                assert graph is not None
                self._note(case.subscription.id, row)
                return Plan.of(case.subscription.query).matches(graph)
            if case.holds(dict(zip(case.variables, map(term, solution.tolist()), strict=True))):
                return True
        return False

    def _note(self, id: str, row: int) -> None:
        self._times[id] += 1
        self._costs[id] += int(self.publications.offsets[row + 1] - self.publications.offsets[row])

    def slow(self) -> Iterator[SubscriptionCost]:
        """The subscriptions that were decided whole; each is taken to have looked at every edge."""
        return (SubscriptionCost(id, times, self._costs[id]) for id, times in self._times.items())

    def _world(self, row: int) -> World:
        if row not in self._worlds:
            publications, term = self.publications, self.publications.vocabulary.term
            part = slice(int(publications.offsets[row]), int(publications.offsets[row + 1]))
            triples = zip(*(column[part].tolist() for column in publications.triples), strict=True)
            graph = Graph((term(s), term(p), term(o)) for s, p, o in triples)
            self._worlds[row] = world(graph, self.context.taxonomy)
        return self._worlds[row]


def _owner(hits: Hits, number: int) -> Subscription:
    owner: Subscription = hits.segment.owners[int(hits.segment.places(np.array([number]))[0])]
    return owner


@dataclass(frozen=True, slots=True)
class _Case:
    """A subscription whose conditions are to be judged under solutions of its edges."""

    subscription: Subscription
    variables: tuple[Variable, ...]
    conditions: tuple[Condition, ...]

    @classmethod
    def of(cls, subscription: Subscription, taxonomy: Taxonomy) -> _Case:
        query = subscription.query
        conditions = tuple(Condition.of(each) for each in query.filters)
        return cls(subscription, edge_variables(query, taxonomy), conditions)

    def holds(self, solution: Solution) -> bool:
        allowed = all(_among(solution, block.variables, block.rows) for block in self.subscription.query.values)
        return allowed and all(condition.holds(solution) for condition in self.conditions)


def _among(solution: Solution, names: Sequence[Variable], rows: Iterable[Sequence[Term | None]]) -> bool:
    """Whether a solution agrees with a row of VALUES."""
    return any(
        all(term is None or solution.get(name, term) == term for name, term in zip(names, row, strict=True))
        for row in rows
    )


# ----------------------------------------------------------------------------------------------------------------------
# The indexed filter: structures found by their rarest edge, verified once for all who share them, in kernels.
#
# The path of a batch: candidates (`index.search`, one segment after another) → sure matches, and doubtful ones that
# are judged (`filter.judging`) → both in order. The law: what is found is a function of the version and the batch
# alone.
# ----------------------------------------------------------------------------------------------------------------------

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


def slow_structures(hits: Iterable[Hits]) -> Iterator[SubscriptionCost]:
    """The structures on which most edges were looked at, by the first of their members; nobody's ones are left out."""
    for each in hits:
        structures, steps = each.searched
        sums = np.bincount(structures, steps, minlength=len(each.segment.alive)).astype(np.int64)
        times = np.bincount(structures, minlength=len(sums))
        for structure in np.argsort(-sums, kind="stable")[:_SHOWN].tolist():
            owner = _first_owner(each.segment, structure, each.stamp) if times[structure] else None
            if owner is not None and owner.number < MERGERS:
                yield SubscriptionCost(owner.id, int(times[structure]), int(sums[structure]))


def _first_owner(segment: Segment, structure: int, stamp: int) -> Subscription:
    """The first member of a structure that was alive in a version."""
    first, count = segment.index.structures[structure, [FIRST_MEMBER, MEMBERS]].tolist()
    alive = segment.index.died[first : first + count] > stamp
    number = segment.index.numbers[first : first + count][alive].min()
    owner: Subscription = segment.owners[int(segment.places(np.array([number]))[0])]
    return owner


# ----------------------------------------------------------------------------------------------------------------------
# A strategy that looks at pairs, made to take whole batches: the baselines behind the same protocol as the engine.
# ----------------------------------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------------------------------
# The default strategy: pairs while there is little to do, the index as soon as it pays.
#
# A small job ends in milliseconds without compiling or loading a kernel; a large one builds the index once. The law:
# the change is made between two calls of `publish` or at the beginning of one, so every call sees one version.
# ----------------------------------------------------------------------------------------------------------------------

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

        announce("filter.kernels.verify")
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


# ----------------------------------------------------------------------------------------------------------------------
# The strategies of a filter by name. All of them give the same notifications.
#
# `auto` looks at pairs while there is little to do and changes to the index when that pays; `indexed` always uses the
# index; the others are the seeds' algorithms and what they compare with. A plan of shards is run with the index.
# ----------------------------------------------------------------------------------------------------------------------

DEFAULT = "auto"
SHARDED = ("auto", "indexed")

Maker = Callable[[Vocabulary, Taxonomy], Matcher]


def _indexed(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Matcher:

    return IndexedMatcher(vocabulary, taxonomy)


def _paired(pairs: Callable[[], PairMatcher]) -> Maker:
    return lambda _, taxonomy: PairwiseMatcher(pairs(), taxonomy)


def _paper(module: str, name: str) -> Maker:
    """An algorithm of the papers, imported when it is asked for."""
    return _paired(lambda: cast("PairMatcher", getattr(import_module(module), name)()))


ALGORITHMS: Mapping[str, Maker] = {
    "auto": AutoMatcher,
    "indexed": _indexed,
    "naive": _paired(NaiveMatcher),
    "ops": _paper("heliograph.papers.filter", "OpsMatcher"),
    "gtopss": _paper("heliograph.papers.filter", "GToPSSMatcher"),
    "rss": _paper("heliograph.papers.filter", "RssMatcher"),
}


def matcher_of(algorithm: str, scheme: Scheme | None, context: PlanContext) -> Matcher:
    """The strategy by this name; with a scheme, a plan of shards."""
    if algorithm not in ALGORITHMS:
        raise UsageError("HG-045", f"no algorithm {algorithm!r}", fix=f"use {' or '.join(map(repr, ALGORITHMS))}")
    if scheme is None:
        return ALGORITHMS[algorithm](context.vocabulary, context.taxonomy)
    if algorithm not in SHARDED:
        raise UsageError("HG-052", f"no shards with the algorithm {algorithm!r}", fix="leave the algorithm out")
    return _sharded(scheme, context)


def renewed(matcher: Matcher, algorithm: str, scheme: Scheme | None, context: PlanContext) -> Matcher:
    """The strategy by this name, as far as another one of that name has come, without its subscriptions."""
    fresh = matcher_of(algorithm, scheme, context)
    if isinstance(fresh, AutoMatcher) and isinstance(matcher, AutoMatcher):
        fresh.follow(matcher)
    return fresh


def _sharded(scheme: Scheme, context: PlanContext) -> Matcher:
    from heliograph.filter.shards import ShardedMatcher

    announce("filter.kernels.verify")
    return ShardedMatcher(Plan_(scheme, context))
