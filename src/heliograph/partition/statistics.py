"""What is known of the stream: summaries of similar publications ([R] 4.3, `statCollection`) and a sample of it.

A summary is what similar publications have in common, with the matches of all of them added up: its access frequency.
The laws: a summary's edges stand in every publication that it was made of, and no two summaries are more alike than the
threshold, unless one was made since the other was last compared. Both memories are bounded: of too many summaries the
least frequent goes, and the sample holds each publication of the stream with the same chance.

Whatever is known here only chooses what is merged, so it may be old, partial or wrong; no match depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from heliograph.io.publications import Publications
from heliograph.terms import Term, TermKind

Triple = tuple[Term, Term, Term]
Graph = frozenset[Triple]
Key = tuple[Term | None, Term, Term | None]  # an edge by its property and the ends that are known


class Summary(NamedTuple):
    """The common part of similar publications, how many subscriptions they matched, and how many they were."""

    edges: Graph
    frequency: int
    publications: int = 1


class Summaries:
    """The publication matrix of [R]: summaries by their edges."""

    def __init__(self, threshold: float = 0.5, capacity: int = 256) -> None:
        self._threshold = threshold
        self._capacity = capacity
        self._next = 0
        self._summaries: dict[int, Summary] = {}
        self._holders: dict[Triple, set[int]] = {}

    def __len__(self) -> int:
        return len(self._summaries)

    def collect(self, graph: Graph, matched: int) -> None:
        """`statCollection`: joins a publication with the most similar summary, as long as there is one."""
        summary = Summary(graph, matched)
        nearest = self._nearest(graph)
        while nearest is not None:
            edges, frequency, publications = self._drop(nearest)
            summary = Summary(summary.edges & edges, summary[1] + frequency, summary[2] + publications)
            nearest = self._nearest(summary.edges)
        if summary.edges:
            self._keep(summary)

    def ranked(self) -> list[Summary]:
        """The most frequent first; of equals the oldest."""
        return sorted(self._summaries.values(), key=lambda summary: -summary.frequency)

    def _nearest(self, graph: Graph) -> int | None:
        """The summary that is most similar, by its common edges among all edges of both ([R] 4.3), if it is more so
        than the threshold."""
        shared = Counter(number for edge in graph for number in self._holders.get(edge, ()))
        alike = [
            (common / (len(graph) + len(self._summaries[number].edges) - common), -number)
            for number, common in shared.items()
        ]
        best, number = max(alike, default=(0.0, 0))
        return -number if best > self._threshold else None

    def _keep(self, summary: Summary) -> None:
        self._summaries[self._next] = summary
        for edge in summary.edges:
            self._holders.setdefault(edge, set()).add(self._next)
        self._next += 1
        if len(self._summaries) > self._capacity:
            self._drop(min(self._summaries, key=lambda number: self._summaries[number].frequency))

    def _drop(self, number: int) -> Summary:
        summary = self._summaries.pop(number)
        for edge in summary.edges:
            holders = self._holders[edge]
            holders.remove(number)
            if not holders:
                del self._holders[edge]
        return summary


class Sample:
    """Some publications of the stream, each as likely as any other. Which of them hold an edge is a set of bits."""

    def __init__(self, capacity: int = 256, seed: int = 0) -> None:
        self._capacity = capacity
        self._random = Random(seed)
        self._graphs: list[Graph] = []
        self._met = 0
        self._masks: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._graphs)

    @property
    def everything(self) -> int:
        """The bits of all publications."""
        return (1 << len(self._graphs)) - 1

    def add(self, graph: Graph) -> None:
        """Keeps a publication, in the place of another one if there is no more room, or forgets it."""
        self._met += 1
        if len(self._graphs) < self._capacity:
            self._graphs.append(graph)
            self._mark(len(self._graphs) - 1)
            return
        place = self._random.randrange(self._met)
        if place < self._capacity:
            self._unmark(place)
            self._graphs[place] = graph
            self._mark(place)

    def holding(self, subjects: Iterable[Term] | None, predicate: Term, objects: Iterable[Term] | None) -> int:
        """The publications with an edge from one of the subjects, and one to one of the objects; None is any."""
        found = self._masks.get((None, predicate, None), 0)
        if found and subjects is not None:
            found &= self._any((subject, predicate, None) for subject in subjects)
        if found and objects is not None:
            found &= self._any((None, predicate, object) for object in objects)
        return found

    def _any(self, keys: Iterable[Key]) -> int:
        found = 0
        for key in keys:
            found |= self._masks.get(key, 0)
        return found

    def _mark(self, place: int) -> None:
        for key in _keys(self._graphs[place]):
            self._masks[key] = self._masks.get(key, 0) | 1 << place

    def _unmark(self, place: int) -> None:
        for key in _keys(self._graphs[place]):
            left = self._masks[key] & ~(1 << place)
            if left:
                self._masks[key] = left
            else:
                del self._masks[key]


def _keys(graph: Graph) -> set[Key]:
    keys: set[Key] = set()
    for subject, predicate, object in graph:
        keys.update(((None, predicate, None), (subject, predicate, None), (None, predicate, object)))
    return keys


def graphs_of(publications: Publications | Sequence[Iterable[Triple]], most: int) -> Iterator[tuple[int, Graph]]:
    """At most so many of the publications, evenly over them all, with their places.

    Edges at blank nodes are left out: a blank node of one publication is no node of any other.
    """
    count = len(publications.ids) if isinstance(publications, Publications) else len(publications)
    for place in np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64)).tolist():
        decoded: Iterable[Triple] = (
            _decoded(publications, place) if isinstance(publications, Publications) else publications[place]
        )
        named = (each for each in decoded if TermKind.BLANK not in (each[0].kind, each[2].kind))
        yield place, frozenset(named)


def _decoded(publications: Publications, place: int) -> Iterator[Triple]:
    term = publications.vocabulary.term
    first, last = publications.offsets[place : place + 2].tolist()
    for row in zip(*(column[first:last].tolist() for column in publications.triples), strict=True):
        subject, predicate, object = map(term, row)
        yield subject, predicate, object
