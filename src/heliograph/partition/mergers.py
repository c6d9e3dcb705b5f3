"""Which patterns are merged: groups by what they share, until the front is small enough.

[R] lets the summary with the highest access frequency pick what is merged. Those that it picks are put together first,
and then, as long as there are still too many, all others: by the most that they share first (`shapes`). Groups are no
larger than needed. Neighbours in a group are such whose constants and intervals are the same or close, because a hull
that grows in one place only lets nothing pass that no member wants.

The laws: each proposal merges patterns that stand alone at that moment; so proposals made one after another turn the
front that was given into one that is smaller by the members of each, less one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeGuard

from heliograph.partition.antiunification import FREE, antiunify
from heliograph.partition.forms import Form
from heliograph.partition.hulls import merged
from heliograph.partition.shapes import Candidate, Keys, Names, alike, distinct_first, same_edges
from heliograph.partition.summaries import Graph, Sample, Summary
from heliograph.syntax.query import Node, Pattern, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term

_MOST = 64  # members that are merged at a time
_TOGETHER = 16  # the same of those that a summary picked


class Proposal(NamedTuple):
    """Patterns to be merged, by number, and their merger with the number that it has in later proposals."""

    number: int
    members: tuple[int, ...]
    form: Form


class Knowledge(NamedTuple):
    """What mergers are made with: the classes, numbers of terms, what is known of the stream, and what is bearable."""

    taxonomy: Taxonomy
    names: Names
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
    while planner.excess > 0 and planner.merge(planner.alone, _MOST):
        pass
    return planner.proposals


class _Planner:
    """A front while it shrinks."""

    def __init__(self, pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> None:
        self.alone = dict(pool)
        self.proposals: list[Proposal] = []
        self._goal = max(1, goal)
        self._know = knowledge
        self._judge = Judge(knowledge.sample, knowledge.max_false_positives)
        self._numbers = count(max(pool, default=0) + 1)
        names = knowledge.names
        self._ways: tuple[Keys, ...] = (alike, same_edges, names.anchors, names.properties)

    @property
    def excess(self) -> int:
        return len(self.alone) - self._goal

    def merge(self, numbers: Iterable[int], most: int) -> bool:
        """Merges some patterns by one key after the other; whether any were."""
        known, chosen = len(self.proposals), tuple(numbers)
        for way in self._ways:
            if self.excess > 0:
                self._merge_by(way, [number for number in chosen if number in self.alone], most)
        return len(self.proposals) > known

    def _merge_by(self, way: Keys, numbers: Sequence[int], most: int) -> None:
        width = min(most, max(2, -(-len(self.alone) // self._goal)))
        for members in self._judge.ranked(_buckets(way, numbers, self.alone), width):
            if self.excess <= 0:
                return
            left = {number: places for number, places in members.items() if number in self.alone}
            for group in self._groups(left, width):
                self._try(group, left)

    def _groups(self, places: Mapping[int, tuple[int, ...]], width: int) -> Iterator[list[int]]:
        """Neighbours, so many at a time, and no more than are too many."""
        rows = {number: [self.alone[number].order[at] for at in its] for number, its in places.items()}
        first = distinct_first(list(rows.values())) if len(rows) > 1 else []
        ordered = sorted(rows, key=lambda number: [rows[number][at] for at in first])
        parts = -(-len(ordered) // width)
        for part in range(parts):
            group = ordered[part * len(ordered) // parts : (part + 1) * len(ordered) // parts]
            if len(group) > 1 and self.excess > 0:
                yield group[: self.excess + 1]

    def _try(self, group: Sequence[int], places: Mapping[int, tuple[int, ...]]) -> None:
        """Merges a group; or, if it has no merger or a poor one, its halves."""
        candidates = [self.alone[number] for number in group]
        product = antiunify([each.shape for each in candidates], list(zip(*(places[number] for number in group))))
        form = merged([each.member for each in candidates], product, self._know.taxonomy)
        merger = None if form is None else self._know.names.candidate(form)
        if form is not None and merger is not None and self._judge.bears(merger, candidates):
            self._put(form, merger, group)
        elif len(group) > 3:
            for half in (group[: len(group) // 2], group[len(group) // 2 :]):
                self._try(half, places)

    def _put(self, form: Form, merger: Candidate, group: Sequence[int]) -> None:
        number = next(self._numbers)
        self.proposals.append(Proposal(number, tuple(group), form))
        for member in group:
            del self.alone[member]
        self.alone[number] = merger


Bucket = dict[int, tuple[int, ...]]  # patterns with the nodes by which they are laid side by side


def _buckets(way: Keys, numbers: Sequence[int], alone: Mapping[int, Candidate]) -> dict[tuple[object, ...], Bucket]:
    buckets: dict[tuple[object, ...], Bucket] = {}
    for number in numbers:
        for key, places in way(alone[number].shape):
            buckets.setdefault(key, {}).setdefault(number, places)
    return {key: bucket for key, bucket in buckets.items() if len(bucket) > 1}


# --- what is bearable -------------------------------------------------------------------------------------------


class Judge:
    """Foresees false positives, from the sample and from what a merger still asks."""

    def __init__(self, sample: Sample, max_false_positives: float) -> None:
        self._sample = sample
        self._limit = max_false_positives

    def ranked(self, buckets: Mapping[tuple[object, ...], Bucket], width: int) -> list[Bucket]:
        """Those just large enough first: what few share is rarely met. Then the smaller ones, the largest first."""

        def rank(bucket: Bucket) -> tuple[bool, int]:
            size = len(bucket)
            return size < width, -size if size < width else size

        return sorted(buckets.values(), key=rank)

    def bears(self, merger: Candidate, members: Sequence[Candidate]) -> bool:
        """Whether a merger asks for anything its members ask for, and would not be met in vain too often."""
        if not _asks(merger) and all(map(_asks, members)):
            return False
        met = vain = self._met(merger.form)
        for member in members if met else ():
            vain &= ~self._met(member.form)
        return vain.bit_count() <= self._limit * met.bit_count()

    def _met(self, form: Form) -> int:
        """The publications of the sample that hold each edge of a pattern somewhere."""
        met = self._sample.everything
        for edge in form.edges:
            if met and _is_plain(edge):
                subject, predicate, object = edge
                met &= self._sample.holding(_given(form, subject), predicate, _given(form, object))
        return met


def _is_plain(edge: Pattern) -> TypeGuard[tuple[Node, Term, Node]]:
    """Whether an edge is one edge of the document, of a known property."""
    return (
        isinstance(edge, TriplePattern)
        and isinstance(edge.predicate, Term)
        and edge.predicate not in (RDF_TYPE, RDFS_MEMBER)
    )


def _asks(candidate: Candidate) -> bool:
    return any(mark != FREE for place, mark in enumerate(candidate.shape.marks) if place in _ends(candidate))


def _ends(candidate: Candidate) -> set[int]:
    return {place for edge in candidate.shape.edges for place in (edge.subject, edge.object)}


def _given(form: Form, node: Node) -> Iterable[Term] | None:
    """The few terms that a node may be."""
    return (node,) if isinstance(node, Term) else form.region(node).among


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
