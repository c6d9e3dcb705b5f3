"""Which patterns are merged: groups by what they share, until the front is small enough.

[R] lets the summary with the highest access frequency pick what is merged. Those that it picks are put together first,
and then, as long as there are still too many, all others: by the most that they share first (`meeting`). Groups are no
larger than needed. Neighbours in a group are such whose constants and intervals are the same or close, because a hull
that grows in one place only lets nothing pass that no member wants.

The laws: each proposal merges patterns that stand alone at that moment; so proposals made one after another turn the
front that was given into one that is smaller by the members of each, less one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from heliograph.partition.antiunification import Edge, antiunify
from heliograph.partition.forms import Form
from heliograph.partition.hulls import merged
from heliograph.partition.judging import Frequencies, Judge, Merged
from heliograph.partition.meeting import Candidate, Keys, Names, alike, distinct_first, same_edges
from heliograph.partition.summaries import Graph, Sample, Summary
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term

_MOST = 64  # members that are merged at a time
_TOGETHER = 16  # the same of those that a summary picked
_RELAXED = 30  # how many times more false positives are borne when the front shrinks no more
_STALLED = 0.8  # the share of it that is then left


class Proposal(NamedTuple):
    """Patterns to be merged, by number, and their merger with the number that it has in later proposals."""

    number: int
    members: tuple[int, ...]
    form: Form


class Knowledge(NamedTuple):
    """What mergers are made with: the classes, numbers of terms, what is known of the stream, and what is bearable."""

    taxonomy: Taxonomy
    names: Names
    frequencies: Frequencies
    summaries: Sequence[Summary]
    sample: Sample
    max_false_positives: float


def propose(pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> list[Proposal]:
    """What to merge so that no more than `goal` of these patterns and their mergers are left, if that is possible."""
    planner = _Planner(pool, goal, knowledge)
    access = Access(pool, knowledge.names) if knowledge.summaries else None
    for summary in knowledge.summaries:
        if planner.excess > 0 and access is not None:
            planner.merge(access.picked(summary.edges), _TOGETHER)
    while planner.excess > 0:
        before = len(planner.alone)
        planner.merge(planner.alone, _MOST)
        if len(planner.alone) > _STALLED * before and not planner.relax():
            break
    return planner.proposals


class _Planner:
    """A front while it shrinks."""

    def __init__(self, pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> None:
        self.alone = dict(pool)
        self.proposals: list[Proposal] = []
        self._goal = max(1, goal)
        self._know = knowledge
        self._judge = Judge(knowledge.frequencies, knowledge.sample, knowledge.max_false_positives)
        self._limit = knowledge.max_false_positives / self._goal  # so that all mergers together keep to the share
        self._numbers = count(max(pool, default=0) + 1)
        names = knowledge.names
        self._ways: tuple[Keys, ...] = (
            alike,
            same_edges,
            names.anchored_paths,
            names.paths,
            names.anchors,
            names.properties,
        )

    @property
    def excess(self) -> int:
        return len(self.alone) - self._goal

    def relax(self) -> bool:
        """Bears more false positives, but of no merger more than of all; whether that was still possible."""
        more = self._limit < self._know.max_false_positives
        self._limit = min(self._limit * _RELAXED, self._know.max_false_positives)
        return more

    def merge(self, numbers: Iterable[int], most: int) -> None:
        """Merges some patterns, by one key after the other."""
        chosen = tuple(numbers)
        for way in self._ways:
            if self.excess > 0:
                self._merge_by(way, [number for number in chosen if number in self.alone], most)

    def _merge_by(self, way: Keys, numbers: Sequence[int], most: int) -> None:
        width = min(most, max(2, -(-len(self.alone) // self._goal)))
        for members in _ranked(_buckets(way, numbers, self.alone).values(), width):
            if self.excess <= 0:
                return
            left = {number: edges for number, edges in members.items() if number in self.alone}
            for group in self._groups(left, width):
                self._try(group, left)

    def _groups(self, rows: Bucket, width: int) -> Iterator[list[int]]:
        """Neighbours, so many at a time, and no more than are too many."""
        begins = {number: self._begins(number, edges) for number, edges in rows.items()}
        first = distinct_first(list(begins.values())) if len(begins) > 1 else []
        ordered = sorted(begins, key=lambda number: [begins[number][at] for at in first])
        parts = -(-len(ordered) // width)
        for part in range(parts):
            group = ordered[part * len(ordered) // parts : (part + 1) * len(ordered) // parts]
            if len(group) > 1 and self.excess > 0:
                yield group[: self.excess + 1]

    def _begins(self, number: int, edges: Sequence[Edge]) -> list[tuple[int, float]]:
        candidate = self.alone[number]
        places = dict.fromkeys([place for edge in edges for place in (edge.subject, edge.object)])
        return [self._know.names.begin(candidate, place) for place in places]

    def _try(self, group: Sequence[int], rows: Bucket) -> None:
        """Merges a group; or, if it has no merger or a poor one, its halves."""
        candidates = [self.alone[number] for number in group]
        product = antiunify([each.shape for each in candidates], [rows[number] for number in group])
        form = merged([each.member for each in candidates], product, self._know.taxonomy)
        merger = None if form is None else self._know.names.candidate(form)
        if merger is not None and self._judge.bears(Merged(merger, candidates, product), self._limit):
            self._put(merger, group)
        elif len(group) > 3:
            for half in (group[: len(group) // 2], group[len(group) // 2 :]):
                self._try(half, rows)

    def _put(self, merger: Candidate, group: Sequence[int]) -> None:
        number = next(self._numbers)
        self.proposals.append(Proposal(number, tuple(group), merger.form))
        for member in group:
            del self.alone[member]
        self.alone[number] = merger


Bucket = dict[int, tuple[Edge, ...]]  # patterns with the edges by which they are laid side by side


def _buckets(way: Keys, numbers: Sequence[int], alone: Mapping[int, Candidate]) -> dict[tuple[int, ...], Bucket]:
    buckets: dict[tuple[int, ...], Bucket] = {}
    for number in numbers:
        for key, edges in way(alone[number].shape):
            buckets.setdefault(key, {}).setdefault(number, edges)
    return {key: bucket for key, bucket in buckets.items() if len(bucket) > 1}


def _ranked(buckets: Iterable[Bucket], width: int) -> list[Bucket]:
    """Those just large enough first: what few share is rarely met. Then the smaller ones, the largest first."""

    def rank(bucket: Bucket) -> tuple[bool, int]:
        size = len(bucket)
        return size < width, -size if size < width else size

    return sorted(buckets, key=rank)


# --- what a summary picks ---------------------------------------------------------------------------------------


_Way = tuple[int, int, int]  # subject, label, object; -1 for any


class Access:
    """Patterns under one edge of each, the one with most constants: [R]'s subscription matrix, asked by summaries."""

    def __init__(self, pool: Mapping[int, Candidate], names: Names) -> None:
        self._names = names
        self._ways: dict[int, list[_Way]] = {}
        self._under: dict[_Way, list[int]] = {}
        for number, candidate in pool.items():
            ways = _ways_of(candidate)
            if ways:
                self._ways[number] = ways
                self._under.setdefault(max(ways, key=_constants), []).append(number)

    def picked(self, graph: Graph) -> list[int]:
        """The patterns each of whose edges stands in the graph, by itself."""
        held = {way for triple in graph for way in self._held(*triple)}
        found = (number for way in held for number in self._under.get(way, ()))
        return sorted(number for number in found if held.issuperset(self._ways[number]))

    def _held(self, subject: Term, predicate: Term, object: Term) -> Iterator[_Way]:
        label = self._names.find(predicate)
        if label is not None:
            start, end = self._names.find(subject), self._names.find(object)
            yield -1, label, -1
            if start is not None:
                yield start, label, -1
            if end is not None:
                yield -1, label, end
            if start is not None and end is not None:
                yield start, label, end


def _ways_of(candidate: Candidate) -> list[_Way]:
    """The plain edges with a constant property."""
    names = candidate.shape.names
    return [(names[edge.subject], edge.label, names[edge.object]) for edge in candidate.shape.edges if edge.label >= 0]


def _constants(way: _Way) -> int:
    return (way[0] >= 0) + (way[2] >= 0)
