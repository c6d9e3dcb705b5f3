"""Searching a segment: candidates, then verification, both in kernels that write into room made here.

Room is a guess; a kernel that runs out of it says how far it came and is called again with more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from heliograph.compiled.growing import first_room, fixed, ragged
from heliograph.filter.layout import MOST_ROWS, Closure, Edges, Found, Int32s, Int64s, Left, Values, Words
from heliograph.filter.segment import Segment
from heliograph.io.publications import Publications, Triples
from heliograph.sparql.regions import text_keys

LOOKED_UP = 4096  # candidates that there is room for at first
VERIFIED_EACH, VERIFIED = 2, 64  # matches for each candidate, and some more


class Doubtful(NamedTuple):
    """A member that may match; with the solution to be judged, or without one if the whole query must decide."""

    publication: int
    member: int
    solution: Int32s | None


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


@dataclass(frozen=True, slots=True)
class Batch:
    """Publications made ready for any number of segments."""

    publications: Publications
    edges: Edges
    values: Values
    closure: Closure
    terms: int  # ids run below this
    _words: list[Words] = field(default_factory=list, repr=False)  # once they were asked for

    def words(self) -> Words:
        """The text keys of every term of the batch."""
        if not self._words:
            self._words.append(self._found_words())
        return self._words[0]

    def _found_words(self) -> Words:
        ids = np.unique(np.concatenate(self.publications.triples)) if len(self.edges.subject) else np.zeros(0, np.int32)
        term = self.publications.vocabulary.term
        keys = [text_keys(term(id).value) for id in ids.tolist()]
        offsets = np.concatenate(([0], np.cumsum([len(each) for each in keys], dtype=np.int64))).astype(np.int64)
        return Words(ids.astype(np.int32), offsets, np.array([key for each in keys for key in each], np.float64))

    def some(self, first: int, last: int) -> Batch:
        """The publications from `first` on, up to `last`."""
        bounds = self.publications.offsets[first : last + 1]
        rows = slice(int(bounds[0]), int(bounds[-1]))
        triples = Triples(*(column[rows] for column in self.publications.triples))
        return self._of(self.publications.ids[first:last], bounds - bounds[0], triples, [])

    def chosen(self, rows: Int64s) -> Batch:
        """These publications; their words are among those of all."""
        at, offsets = ragged(self.publications.offsets, rows)
        triples = Triples(*(column[at] for column in self.publications.triples))
        ids = self.publications.ids
        return self._of(tuple(ids[row] for row in rows.tolist()), offsets, triples, self._words)

    def _of(self, ids: tuple[str, ...], offsets: Int64s, triples: Triples, words: list[Words]) -> Batch:
        publications = Publications(self.publications.vocabulary, ids, offsets, triples)
        edges = fixed(Edges(offsets, *triples))
        return Batch(publications, edges, self.values, self.closure, self.terms, words)


_NO_WORDS = Words(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.float64))


def search(segment: Segment, batch: Batch, stamp: int) -> Hits:
    """The subscriptions of a segment that the publications match, as they were in the version `stamp`."""
    started = time.perf_counter_ns()
    publications, structures = _look_up(segment, batch.edges, stamp)
    found_ns = time.perf_counter_ns()
    counts = segment.alive[structures] if len(structures) else np.zeros(0, np.int32)
    verified = _verify(segment, batch, (publications, structures), stamp)
    return Hits(
        segment,
        stamp,
        verified.publication,
        verified.number,
        verified.doubtful,
        int(counts.sum()),
        (structures, verified.cost),
        found_ns - started,
        time.perf_counter_ns() - found_ns,
    )


def _look_up(segment: Segment, edges: Edges, stamp: int) -> tuple[Int32s, Int32s]:
    from heliograph.filter.kernels import look_up

    parts: list[tuple[Int32s, Int32s]] = []
    state, last, room = np.zeros(3, np.int64), len(edges.offsets) - 1, first_room(LOOKED_UP)
    while state[0] < last:
        publications, structures = np.empty(room, np.int32), np.empty(room, np.int32)
        look_up(segment.keys, edges, Left(segment.emptied, stamp), int(state[0]), publications, structures, state)
        parts.append((publications[: state[1]], structures[: state[1]]))
        room = max(2 * room, 2 * int(state[2]))
    return _joined(parts, 0), _joined(parts, 1)


def _joined(parts: list[tuple[Int32s, Int32s]], column: int) -> Int32s:
    columns = [part[column] for part in parts]
    return columns[0] if len(columns) == 1 else np.concatenate([np.zeros(0, np.int32), *columns])


class _Verified(NamedTuple):
    publication: Int32s
    number: Int64s
    doubtful: list[Doubtful]
    cost: Int32s


def _verify(segment: Segment, batch: Batch, found: tuple[Int32s, Int32s], stamp: int) -> _Verified:
    from heliograph.filter import kernels as matching

    cost, room = np.zeros(len(found[0]), np.int32), first_room(VERIFIED_EACH * len(found[0]) + VERIFIED)
    candidates = matching.Candidates(fixed(found[0]), fixed(found[1]), cost)
    words = fixed(batch.words() if segment.needs.words else _NO_WORDS)
    given = matching.Batch(batch.edges, batch.values, words, batch.closure)
    needs = segment.needs
    settings = np.array([stamp, needs.lists, batch.terms, needs.classes, needs.steps, needs.variables], np.int64)
    parts: list[tuple[Int32s, Int64s]] = []
    doubtful: list[Doubtful] = []
    state = np.zeros(4, np.int64)
    while state[0] < len(cost):
        out = _room(room, needs.variables)
        state[1:] = 0
        matching.verify(segment.index, given, candidates, settings, out, state)
        parts.append((out.publication[: state[1]], out.number[: state[1]]))
        doubtful += _doubtful(segment, out, int(state[2]))
        room *= 4
    if len(parts) == 1:
        return _Verified(*parts[0], doubtful, cost)
    publication = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in parts)])
    number = np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)])
    return _Verified(publication, number, doubtful, cost)


def _room(room: int, variables: int) -> Found:
    return Found(
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(3 * room, np.int32),
        np.empty(min(max(room, variables), MOST_ROWS), np.int32),  # starts of solutions are 32 bits wide
    )


def _doubtful(segment: Segment, found: Found, count: int) -> list[Doubtful]:
    """Each doubtful hit with its solution in the order of the member's own variables."""
    rows = []
    for publication, member, begin in found.doubtful[: 3 * count].reshape(-1, 3).tolist():
        names = segment.names.numbers[segment.names.offsets[member] : segment.names.offsets[member + 1]]
        rows.append(Doubtful(publication, member, None if begin < 0 else found.solutions[begin:][names]))
    return rows
