"""The indexed filter: structures found by their rarest edge, verified once for all who share them, in kernels.

The path of a batch: candidates (`index.search`, one segment after another) → sure matches, and doubtful ones that are
judged here: by the query's own conditions where the solution is known, by the whole query where it is not. The law: a
doubtful member matches if one of its solutions is judged true; if none is and the search gave up counting, the plain
solver decides.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.baselines.solve import Graph, Plan, Solution, World, world
from heliograph.filter.matcher import Located, Matches
from heliograph.filter.rosters import Segmented
from heliograph.index.arrays import fixed, rows_of
from heliograph.index.bulk import interests_of
from heliograph.index.closure import closure_of
from heliograph.index.compiling import edge_variables, interest_of
from heliograph.index.domains import places_of
from heliograph.index.interests import Interests, gather
from heliograph.index.search import Batch, Hits, search
from heliograph.index.segment import Segment
from heliograph.index.tiers import Tiers, Version
from heliograph.kernels.filter_layout import FIRST_MEMBER, MEMBERS, ROUNDED_CODE, Closure, Edges, Floats, Values
from heliograph.model import Slow
from heliograph.publications import Publications, rebase
from heliograph.semantics.expressions import Condition
from heliograph.subscriptions import Subscription, by_origin
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary

_NUMBER_BITS = 40  # of a sort key; the rest is the number of the publication
_SHOWN = 10  # subscriptions that the slow log names


class IndexedMatcher:
    """The subscriptions of a filter in an index over its vocabulary."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        self._context = _Context(vocabulary, taxonomy, closure_of(taxonomy, vocabulary))
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
            batch = parts.batches[0]
            numbers = np.fromiter((each.number for each in batch.subscriptions), np.int64, len(batch.subscriptions))
            yield interests_of(batch.patterns, batch.rows, numbers, vocabulary, taxonomy), batch.subscriptions
        else:
            single = [interest_of(each.query, vocabulary, taxonomy) for each in subscriptions]
            yield gather(single, [each.number for each in subscriptions]), subscriptions

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self.tiers.remove(each.number for each in subscriptions)

    def version(self) -> IndexedVersion:
        return IndexedVersion(self.tiers.version, self._context, self.tiers)

    def whole(self) -> Segment | None:
        return self.tiers.whole()

    def locate(self, subscription: Subscription) -> Located | None:
        found = ((segment, segment.find(subscription.number)) for segment in self.tiers.version.segments)
        return next((Located(segment, member) for segment, member in found if member >= 0), None)

    def adopt(self, segment: Segment) -> None:
        self.tiers.adopt(segment)


class _Context:
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


def _rows(vocabulary: Vocabulary, first: int, last: int) -> Floats:
    places = places_of(vocabulary, first, last)
    code = places.domain.astype(np.float64) + ROUNDED_CODE * places.rounded
    rows: Floats = rows_of(places.coordinate, code, dtype=np.float64)
    return rows


@dataclass(frozen=True, slots=True)
class IndexedVersion:
    """The index at one moment."""

    held: Version
    context: _Context
    tiers: Tiers

    def __len__(self) -> int:
        return self.held.size

    def match(self, publications: Publications) -> Matches:
        given = rebase(publications, self.context.vocabulary)
        batch = self._batch(given)
        self.tiers.observe(batch.edges)
        hits = [search(segment, batch, self.held.stamp) for segment in self.held.segments]
        judge, found_ns = _Judge(given, self.context), time.perf_counter_ns()
        rows = [judge.rows(each) for each in hits]
        judge.took_ns = time.perf_counter_ns() - found_ns
        for each in hits:
            self.tiers.reconsider(each.segment, each.searched[0], len(each.number) + len(each.doubtful), len(given.ids))
        return _matches(rows, hits, judge, len(self))

    def _batch(self, publications: Publications) -> Batch:
        own, edges = publications.vocabulary, fixed(Edges(publications.offsets, *publications.triples))
        start = len(own) if own is self.context.vocabulary else own.start
        values = Values(start, self.context.places(start), fixed(_rows(own, start, len(own))))
        return Batch(publications, edges, values, self.context.closure, len(own))


class _Rows(NamedTuple):
    """Matches of one segment."""

    publication: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]


def _matches(rows: Sequence[_Rows], hits: Sequence[Hits], judge: _Judge, subscriptions: int) -> Matches:
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
        slow=lambda: chain(_slow(hits), judge.slow()),
    )


def _ordered(segments: Sequence[Segment], rows: Sequence[_Rows]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Publications and places, by publication and then in order of subscribing."""
    keys = [(each.publication.astype(np.int64) << _NUMBER_BITS) | each.number for each in rows]
    if len(segments) == 1:  # sorting the keys alone takes a fifth of the time of sorting something along with them
        key = np.sort(keys[0])
        return key >> _NUMBER_BITS, segments[0].places(key & ((1 << _NUMBER_BITS) - 1))
    starts = np.cumsum([0, *(len(segment) for segment in segments)])
    places = [
        segment.places(each.number) + start for segment, each, start in zip(segments, rows, starts[:-1], strict=True)
    ]
    empty = np.zeros(0, np.int64)
    key, place = np.concatenate([empty, *keys]), np.concatenate([empty, *places])
    order = np.argsort(key)
    return key[order] >> _NUMBER_BITS, place[order]


def _slow(hits: Iterable[Hits]) -> Iterator[Slow]:
    """The structures on which most edges were looked at, by the first of their members."""
    for each in hits:
        structures, steps = each.searched
        sums = np.bincount(structures, steps, minlength=len(each.segment.alive)).astype(np.int64)
        times = np.bincount(structures, minlength=len(sums))
        for structure in np.argsort(-sums, kind="stable")[:_SHOWN].tolist():
            if times[structure]:
                yield Slow(
                    _first_owner(each.segment, structure, each.stamp).id, int(times[structure]), int(sums[structure])
                )


def _first_owner(segment: Segment, structure: int, stamp: int) -> Subscription:
    """The first member of a structure that was alive in a version."""
    first, count = segment.index.structures[structure, [FIRST_MEMBER, MEMBERS]].tolist()
    alive = np.flatnonzero(segment.index.died[first : first + count] > stamp)
    number = segment.index.numbers[first + int(alive[0])]
    owner: Subscription = segment.owners[int(segment.places(np.array([number]))[0])]
    return owner


# --- doubt ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Judge:
    """Decides doubtful matches of one batch; each publication is made a graph of terms at most once."""

    publications: Publications
    context: _Context
    counted: bool = False
    took_ns: int = 0
    _costs: Counter[str] = field(default_factory=Counter)  # edges of the publications that a whole query was asked of
    _times: Counter[str] = field(default_factory=Counter)
    _worlds: dict[int, World] = field(default_factory=dict)

    def rows(self, hits: Hits) -> _Rows:
        """All matches of a segment, the sure and the judged ones."""
        if not hits.doubtful:
            return _Rows(hits.publication.astype(np.int64), hits.number)
        judged = list(self._judged(hits))
        return _Rows(
            np.concatenate([hits.publication, np.array([row for row, _ in judged], np.int64)]),
            np.concatenate([hits.number, np.array([number for _, number in judged], np.int64)]),
        )

    def _judged(self, hits: Hits) -> Iterator[tuple[int, int]]:
        solutions: dict[tuple[int, int], list[npt.NDArray[np.int32] | None]] = {}
        for each in hits.doubtful:
            solutions.setdefault((each.publication, each.member), []).append(each.solution)
        cases: dict[int, _Case] = {}
        sure = set(zip(hits.publication.tolist(), hits.number.tolist(), strict=True))
        for (row, member), found in solutions.items():
            number = int(hits.segment.index.numbers[member])
            if (row, number) in sure:  # another of its solutions was beyond doubt
                continue
            if member not in cases:
                owner = hits.segment.owners[int(hits.segment.places(np.array([number]))[0])]
                cases[member] = _Case.of(owner, self.context.taxonomy)
            if self._holds(cases[member], row, found):
                self.counted |= cases[member].subscription.counted
                yield row, number

    def _holds(self, case: _Case, row: int, found: Sequence[npt.NDArray[np.int32] | None]) -> bool:
        term = self.publications.vocabulary.term
        for solution in found:
            if solution is None:
                self._note(case.subscription.id, row)
                return Plan.of(case.subscription.query).matches(self._world(row))
            if case.holds(dict(zip(case.variables, map(term, solution.tolist()), strict=True))):
                return True
        return False

    def _note(self, id: str, row: int) -> None:
        self._times[id] += 1
        self._costs[id] += int(self.publications.offsets[row + 1] - self.publications.offsets[row])

    def slow(self) -> Iterator[Slow]:
        """The subscriptions that were decided whole; each is taken to have looked at every edge."""
        return (Slow(id, times, self._costs[id]) for id, times in self._times.items())

    def _world(self, row: int) -> World:
        if row not in self._worlds:
            publications, term = self.publications, self.publications.vocabulary.term
            part = slice(int(publications.offsets[row]), int(publications.offsets[row + 1]))
            triples = zip(*(column[part].tolist() for column in publications.triples), strict=True)
            graph = Graph((term(s), term(p), term(o)) for s, p, o in triples)
            self._worlds[row] = world(graph, self.context.taxonomy)
        return self._worlds[row]


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
