"""Searching the index: the path of a batch through segments, from candidates to matches.

`SearchContext.batch` makes publications ready → `search` looks up candidates in one segment and verifies them, both in
kernels → `ExactCheck` decides what is in doubt, by the query's own conditions → `ordered` puts all matches in order.

The laws: what is found is a function of the version and the batch alone. Room is a guess: a kernel that runs out of it
says how far it came and is called again with more. A doubtful member matches if one of its solutions passes the exact
check; if none does and the search gave up counting, the plain solver decides on the whole query.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heliograph.compiled.growing import first_room, fixed, ragged, rows_of
from heliograph.filter.encode import decode_one
from heliograph.filter.interests import edge_variables
from heliograph.filter.layout import (
    FIRST_MEMBER,
    MEMBERS,
    MOST_ROWS,
    NUMBER_BITS,
    ROUNDED_CODE,
    Closure,
    DocumentEdges,
    Floats,
    Int32s,
    Int64s,
    Left,
    SearchOutput,
    TermPlaces,
    TextKeys,
)
from heliograph.filter.segment import Segment
from heliograph.io.publications import Publications, Triples
from heliograph.model import SubscriptionCost
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.regions import places_of, text_keys
from heliograph.sparql.solve import QueryPlan, World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.filter.strategy import Failures

LOOKED_UP = 4096  # candidates that there is room for at first
VERIFIED_EACH, VERIFIED = 2, 64  # matches for each candidate, and some more
NUMBER = (1 << NUMBER_BITS) - 1  # the bits of a key of publication and number that are the number
_SHOWN = 10  # subscriptions that the slow log names


# --- a batch made ready -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchBatch:
    """Publications made ready for any number of segments."""

    publications: Publications
    edges: DocumentEdges
    values: TermPlaces
    closure: Closure
    terms: int  # ids run below this
    _words: list[TextKeys] = field(default_factory=list, repr=False)  # once they were asked for

    def words(self) -> TextKeys:
        """The text keys of every term of the batch."""
        if not self._words:
            ids = np.unique(np.concatenate(self.publications.triples)).astype(np.int32)
            keys = [text_keys(self.publications.vocabulary.term(id).value) for id in ids.tolist()]
            offsets = np.cumsum([0, *map(len, keys)], dtype=np.int64)
            self._words.append(
                fixed(TextKeys(ids, offsets, np.array([key for each in keys for key in each], np.float64)))
            )
        return self._words[0]

    def some(self, first: int, last: int) -> SearchBatch:
        """The publications from `first` on, up to `last`."""
        bounds = self.publications.offsets[first : last + 1]
        rows = slice(int(bounds[0]), int(bounds[-1]))
        return self._of(self.publications.ids[first:last], bounds - bounds[0], rows, [])

    def chosen(self, rows: Int64s) -> SearchBatch:
        """These publications; their words are among those of all."""
        at, offsets = ragged(self.publications.offsets, rows)
        return self._of(tuple(self.publications.ids[row] for row in rows.tolist()), offsets, at, self._words)

    def _of(self, ids: tuple[str, ...], offsets: Int64s, rows: slice | Int64s, words: list[TextKeys]) -> SearchBatch:
        triples = Triples(*(column[rows] for column in self.publications.triples))
        publications = Publications(self.publications.vocabulary, ids, offsets, triples)
        return SearchBatch(
            publications, fixed(DocumentEdges(offsets, *triples)), self.values, self.closure, self.terms, words
        )


class SearchContext:
    """What a filter's segments have in common: the vocabulary, the taxonomy, and where terms lie."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, closure: Closure) -> None:
        self.vocabulary = vocabulary
        self.taxonomy = taxonomy
        self.closure = closure
        self._places = _places(vocabulary, 0, 0)

    def batch(self, publications: Publications) -> SearchBatch:
        """Publications over this vocabulary, ready to be searched."""
        own, edges = publications.vocabulary, fixed(DocumentEdges(publications.offsets, *publications.triples))
        start, known = len(own) if own is self.vocabulary else own.start, self._places
        if len(known) < start:  # terms that came since are looked at now
            known = self._places = np.concatenate([known, _places(self.vocabulary, len(known), start)])
        values = TermPlaces(start, fixed(known[:start]), fixed(_places(own, start, len(own))))
        return SearchBatch(publications, edges, values, self.closure, len(own))


def _places(vocabulary: Vocabulary, first: int, last: int) -> Floats:
    places = places_of(vocabulary, first, last)
    code = places.domain.astype(np.float64) + ROUNDED_CODE * places.rounded
    rows: Floats = rows_of(places.coordinate, code, dtype=np.float64)
    return rows


# --- one segment --------------------------------------------------------------------------------------------------


class Doubtful(NamedTuple):
    """A member that may match; with the solution to be checked, or without one if the whole query must decide."""

    publication: int
    member: int
    solution: Int32s | None  # in the order of the member's own variables


@dataclass(slots=True)
class Hits:
    """What was found in one segment."""

    segment: Segment
    stamp: int  # of the version that was searched
    publication: Int32s
    number: Int64s
    doubtful: Sequence[Doubtful]
    candidates: int  # pairs of subscription and publication
    searched: tuple[Int32s, Int32s] = field(repr=False)  # structures, and edges looked at for each
    lookup_ns: int
    verify_ns: int


def search(segment: Segment, batch: SearchBatch, stamp: int) -> Hits:
    """The subscriptions of a segment that the publications match, as they were in the version `stamp`."""
    started = time.perf_counter_ns()
    publications, structures = _look_up(segment, batch.edges, stamp)
    found_ns = time.perf_counter_ns()
    cost = np.zeros(len(structures), np.int32)
    publication, number, doubtful = _verify(segment, batch, (publications, structures, cost), stamp)
    candidates, verify_ns = int(segment.alive[structures].sum()), time.perf_counter_ns() - found_ns
    searched = (structures, cost)
    return Hits(segment, stamp, publication, number, doubtful, candidates, searched, found_ns - started, verify_ns)


def _look_up(segment: Segment, edges: DocumentEdges, stamp: int) -> tuple[Int32s, Int32s]:
    """The publications and structures of candidates."""
    from heliograph.filter.kernels import look_up

    parts: list[tuple[Int32s, Int32s]] = []
    state, last, room = np.zeros(3, np.int64), len(edges.offsets) - 1, first_room(LOOKED_UP)
    while state[0] < last:
        publications, structures = np.empty(room, np.int32), np.empty(room, np.int32)
        look_up(segment.keys, edges, Left(segment.emptied, stamp), int(state[0]), publications, structures, state)
        parts.append((publications[: state[1]], structures[: state[1]]))
        room = max(2 * room, 2 * int(state[2]))
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, np.int32)
    return np.concatenate([none, *(part[0] for part in parts)]), np.concatenate([none, *(part[1] for part in parts)])


def _verify(
    segment: Segment, batch: SearchBatch, found: tuple[Int32s, Int32s, Int32s], stamp: int
) -> tuple[Int32s, Int64s, list[Doubtful]]:
    """The publications and numbers of sure matches, and the doubtful ones; fills in the cost of each candidate."""
    from heliograph.filter import kernels

    needs, room = segment.needs, first_room(VERIFIED_EACH * len(found[0]) + VERIFIED)
    candidates = kernels.CandidateArrays(fixed(found[0]), fixed(found[1]), found[2])
    words = batch.words() if needs.words else _NO_WORDS
    given = kernels.BatchArrays(batch.edges, batch.values, words, batch.closure)
    settings = np.array([stamp, needs.lists, batch.terms, needs.classes, needs.steps, needs.variables], np.int64)
    parts: list[tuple[Int32s, Int64s]] = [(np.zeros(0, np.int32), np.zeros(0, np.int64))]
    doubtful: list[Doubtful] = []
    state = np.zeros(4, np.int64)
    while state[0] < len(found[0]):
        out = _room(room, needs.variables)
        state[1:] = 0
        kernels.verify(segment.index, given, candidates, settings, out, state)
        parts.append((out.publication[: state[1]], out.number[: state[1]]))
        for publication, member, begin in out.doubtful[: 3 * state[2]].reshape(-1, 3).tolist():
            names = segment.names.numbers[segment.names.offsets[member] : segment.names.offsets[member + 1]]
            doubtful.append(Doubtful(publication, member, None if begin < 0 else out.solutions[begin:][names]))
        room *= 4
    if len(parts) == 2:
        return *parts[1], doubtful
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]), doubtful


def _room(room: int, variables: int) -> SearchOutput:
    return SearchOutput(
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(3 * room, np.int32),
        np.empty(min(max(room, variables), MOST_ROWS), np.int32),  # starts of solutions are 32 bits wide
    )


_NO_WORDS = fixed(TextKeys(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.float64)))


# --- the exact check ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ExactCheck:
    """Decides the doubtful matches of one batch; each publication is made a graph of terms at most once."""

    publications: Publications
    context: SearchContext
    failures: Failures
    counted: bool = False  # whether a query that counts has matched
    took_ns: int = 0
    _costs: Counter[str] = field(default_factory=Counter)  # edges of the publications that a whole query was asked of
    _times: Counter[str] = field(default_factory=Counter)
    _worlds: dict[int, World] = field(default_factory=dict)

    def rows(self, hits: Hits) -> tuple[Int64s, Int64s]:
        """The publications and numbers of all matches of a segment, the sure and the checked ones."""
        if not hits.doubtful:
            return hits.publication.astype(np.int64), hits.number
        publication, number = self.checked(hits)
        return np.concatenate([hits.publication, publication]), np.concatenate([hits.number, number])

    def checked(self, hits: Hits) -> tuple[Int64s, Int64s]:
        """The doubtful matches of a segment that hold and are not sure as well."""
        started = time.perf_counter_ns()
        found = np.array(list(self._checked(hits)), np.int64).reshape(-1, 2)
        self.took_ns += time.perf_counter_ns() - started
        return found[:, 0], found[:, 1]

    def _checked(self, hits: Hits) -> Iterator[tuple[int, int]]:
        solutions: dict[tuple[int, int], list[Int32s | None]] = {}
        for row, member, solution in hits.doubtful:
            solutions.setdefault((row, member), []).append(solution)
        cases: dict[int, _Case] = {}
        sure = set(zip(hits.publication.tolist(), hits.number.tolist(), strict=True))
        for (row, member), found in solutions.items():
            number = int(hits.segment.index.numbers[member])
            if (row, number) in sure or number in self.failures:  # another of its solutions was beyond doubt
                continue
            owner = cases[member].owner if member in cases else hits.segment.owner(number)
            world = self._world(row) if any(each is None for each in found) else None
            try:  # from here on it is the subscription alone that is at work
                if member not in cases:
                    cases[member] = _Case(owner, self.context.taxonomy)
                holds = self._holds(cases[member], row, found, world)
                self.counted |= holds and owner.counted
            except Exception as error:
                self.failures.add(owner, error)
                continue
            if holds:
                yield row, number

    def _holds(self, case: _Case, row: int, found: Sequence[Int32s | None], world: World | None) -> bool:
        """Whether a solution holds; `world` is the publication, if there is one that the whole query must decide."""
        for solution in found:
            if solution is None:
                assert world is not None
                self._times[case.owner.id] += 1
                self._costs[case.owner.id] += int(self.publications.offsets[row + 1] - self.publications.offsets[row])
                return QueryPlan.of(case.owner.query).matches(world)
            if case.holds(solution, self.publications.vocabulary):
                return True
        return False

    def slow(self) -> Iterator[SubscriptionCost]:
        """The subscriptions that were decided whole; each is taken to have looked at every edge."""
        return (SubscriptionCost(id, times, self._costs[id]) for id, times in self._times.items())

    def _world(self, row: int) -> World:
        if row not in self._worlds:
            self._worlds[row] = decode_one(self.publications, row, self.context.taxonomy).world
        return self._worlds[row]


class _Case:
    """A subscription whose conditions are checked under solutions of its edges."""

    def __init__(self, owner: Subscription, taxonomy: Taxonomy) -> None:
        self.owner = owner
        self._conditions = tuple(Condition.of(each) for each in owner.query.filters)
        self._variables = edge_variables(owner.query, taxonomy)

    def holds(self, ids: Int32s, vocabulary: Vocabulary) -> bool:
        solution = dict(zip(self._variables, map(vocabulary.term, ids.tolist()), strict=True))
        for block in self.owner.query.values:
            pairs = (zip(block.variables, row, strict=True) for row in block.rows)
            if not any(all(term is None or solution.get(name, term) == term for name, term in row) for row in pairs):
                return False  # it agrees with no row of VALUES
        return all(condition.holds(solution) for condition in self._conditions)


# --- the order of matches -----------------------------------------------------------------------------------------


def ordered(segments: Sequence[Segment], rows: Sequence[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    """Publications and places, by publication and then in order of subscribing; of each segment there are publications
    and numbers, and its places follow those of the segment before it."""
    keys = [(publication.astype(np.int64) << NUMBER_BITS) | number for publication, number in rows]
    if len(segments) == 1:  # sorting the keys alone takes a fifth of the time of sorting something along with them
        key = np.sort(keys[0])
        return key >> NUMBER_BITS, segments[0].places(key & NUMBER)
    empty, start, places = np.zeros(0, np.int64), 0, []
    for segment, (_, number) in zip(segments, rows, strict=True):
        places.append(segment.places(number) + start)
        start += len(segment)
    key, place = np.concatenate([empty, *keys]), np.concatenate([empty, *places])
    order = np.argsort(key)
    return key[order] >> NUMBER_BITS, place[order]


def slow_structures(hits: Iterable[Hits], limit: int) -> Iterator[SubscriptionCost]:
    """The structures on which most edges were looked at, by the first of their members that is alive and has a number
    below the limit: the others are mergers, which nobody subscribed to."""
    for each in hits:
        (structures, steps), index = each.searched, each.segment.index
        sums = np.bincount(structures, steps, minlength=len(each.segment.alive)).astype(np.int64)
        times = np.bincount(structures, minlength=len(sums))
        for structure in np.argsort(-sums, kind="stable")[:_SHOWN].tolist():
            if times[structure]:
                first, count = index.structures[structure, [FIRST_MEMBER, MEMBERS]].tolist()
                alive = index.died[first : first + count] > each.stamp
                number = int(index.numbers[first : first + count][alive].min())
                if number < limit:
                    yield SubscriptionCost(each.segment.owner(number).id, int(times[structure]), int(sums[structure]))
