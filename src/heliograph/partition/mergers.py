"""Which patterns are merged: groups by what they share, until the front is small enough.

[R] lets the summary with the highest access frequency pick what is merged. Those that it picks are put together first,
and then, as long as there are still too many, all others: by the most that they share first (`meeting`). Neighbours in
a group are such whose constants and intervals are the same or close, because a hull that grows in one place only lets
nothing pass that no member wants.

The laws: each proposal merges patterns that stand alone at that moment; so proposals made one after another turn the
front that was given into one that is smaller by the members of each, less one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import NamedTuple

from heliograph.partition.antiunification import Edge, antiunify
from heliograph.partition.forms import Form
from heliograph.partition.hulls import merged
from heliograph.partition.judging import Frequencies, Judge, Level, Merged
from heliograph.partition.meeting import Candidate, Keys, Names, alike, distinct_first, same_edges
from heliograph.partition.summaries import Graph, Sample, Summary
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term

_MOST = 32  # members that are merged at a time
_FAILURES = 3  # groups of a bucket that cannot be merged, after which the others are not tried
_RELAXED = 30  # how many times more false positives are borne of a merger when the front shrinks no more
_STALLED = 0.8  # the share of it that another round must leave at most


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
    planner = _Planner(pool, max(1, goal), knowledge)
    if knowledge.summaries and planner.excess > 0:
        access = Access(pool, knowledge.names)
        for summary in knowledge.summaries:
            planner.merge_picked(access.picked(summary.edges))
    for level in _levels(knowledge.max_false_positives, max(1, goal)):
        planner.merge_all(level)
    return planner.proposals


def _levels(share: float, goal: int) -> Iterator[Level]:
    """What is borne, more and more. At first all mergers together keep to the share; then each to some times its part
    of it, so that they do as long as few mergers need that; and no limit where the share is all."""
    limits = share / goal, min(share, _RELAXED * share / goal)
    for anchored in (True, False):
        yield from (Level(limit, anchored) for limit in limits)
    if share >= 1:
        yield Level(inf, anchored=False)


class _Planner:
    """A front while it shrinks."""

    def __init__(self, pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> None:
        self.alone = dict(pool)
        self.proposals: list[Proposal] = []
        self._goal = goal
        self._know = knowledge
        self._judge = Judge(knowledge.frequencies, knowledge.sample, knowledge.max_false_positives)
        self._numbers = count(max(pool, default=0) + 1)

    @property
    def excess(self) -> int:
        return len(self.alone) - self._goal

    def merge_picked(self, numbers: Sequence[int]) -> None:
        """Merges what a summary picked, however few they are: they are matched together."""
        share = self._know.max_false_positives
        for anchored in (True, False):
            self._merge(numbers, Level(_RELAXED * share / self._goal, anchored), 2)

    def merge_all(self, level: Level) -> None:
        """Merges whatever there is: as many at a time as are needed on average and, when that helps no more, fewer."""
        needed = max(2, len(self.alone) // self._goal)
        while self.excess > 0:
            before = len(self.alone)
            self._merge(tuple(self.alone), level, needed)
            stalled = len(self.alone) > _STALLED * before
            if stalled and needed == 2:
                return
            needed = max(2, min(needed // 2 if stalled else needed, len(self.alone) // self._goal))

    def _merge(self, numbers: Sequence[int], level: Level, needed: int) -> None:
        for way in self._ways(level):
            if self.excess > 0:
                self._merge_by(way, [number for number in numbers if number in self.alone], level, needed)

    def _ways(self, level: Level) -> tuple[Keys, ...]:
        """The keys to meet under: those at constants where one must be kept, else those without."""
        names = self._know.names
        if level.anchored:
            return alike, names.anchored_paths, names.rooted_paths, same_edges, names.anchors
        return alike, names.rooted_paths, same_edges, names.paths, names.properties

    def _merge_by(self, way: Keys, numbers: Sequence[int], level: Level, needed: int) -> None:
        """The largest buckets first, and none with fewer than a merger needs to have on average."""
        for rows in _shrinking(_buckets(way, numbers, self.alone), self.alone):
            if self.excess <= 0 or len(rows) < needed:
                return
            failures = 0
            for group in self._groups(rows):
                failures = 0 if self._try(group, rows, level) else failures + 1
                if failures == _FAILURES:
                    break

    def _groups(self, rows: Bucket) -> Iterator[list[int]]:
        """Neighbours, so many at a time, and no more than are too many."""
        begins = {number: self._begins(number, edges) for number, edges in rows.items()}
        first = distinct_first(list(begins.values()))
        ordered = sorted(begins, key=lambda number: [begins[number][at] for at in first])
        parts = -(-len(ordered) // _MOST)
        for part in range(parts):
            group = ordered[part * len(ordered) // parts : (part + 1) * len(ordered) // parts]
            if len(group) > 1 and self.excess > 0:
                yield group[: self.excess + 1]

    def _begins(self, number: int, edges: Sequence[Edge]) -> list[tuple[int, float]]:
        """What neighbours are to have in common: labels, and where the values of nodes begin."""
        candidate, names = self.alone[number], self._know.names
        places = {place: names.begin(candidate, place) for edge in edges for place in (edge.subject, edge.object)}
        ends = [places[place] for edge in edges for place in (edge.subject, edge.object)]
        return [*((edge.label, 0.0) for edge in edges), *ends]

    def _try(self, group: Sequence[int], rows: Bucket, level: Level) -> bool:
        """Merges a group; or, if it has no merger or a poor one, parts of it. Whether any were merged."""
        candidates = [self.alone[number] for number in group]
        product = antiunify([each.shape for each in candidates], [rows[number] for number in group])
        form = merged([each.member for each in candidates], product, self._know.taxonomy)
        merger = None if form is None else self._know.names.candidate(form)
        if merger is not None and self._judge.bears(Merged(merger, candidates, product), level):
            self._put(merger, group)
            return True
        half = len(group) // 2
        return half > 1 and sum(self._try(part, rows, level) for part in (group[:half], group[half:])) > 0

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


def _shrinking(buckets: Mapping[tuple[int, ...], Bucket], alone: Mapping[int, Candidate]) -> Iterator[Bucket]:
    """Buckets by what is left in them, the largest first."""
    waiting = [(-len(bucket), number, bucket) for number, bucket in enumerate(buckets.values())]
    heapify(waiting)
    while waiting:
        size, number, bucket = heappop(waiting)
        left = {member: edges for member, edges in bucket.items() if member in alone}
        if len(left) == -size:
            yield left
        elif len(left) > 1:
            heappush(waiting, (-len(left), number, left))


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
