"""Foreseeing false positives: how often a publication matches a merger and none of its members.

Three ways to know. A merger that differs from its members in one place only, where it asks for any of what they ask, is
their union and has none. A sample of the stream shows what is met often. What is met rarely is estimated: the chance
that an edge has a property, or an end a certain name, is taken to be the share of them that subscriptions ask for.
Estimates choose what is merged; what happens is observed, and no match depends on either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heliograph.partition.antiunification import ASKED, FREE, VARIABLE, Edge, Product, Shape
from heliograph.partition.forms import Form
from heliograph.partition.meeting import Candidate, Names
from heliograph.partition.summaries import Sample
from heliograph.syntax.query import Node, TriplePattern
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term

_EDGES = 100  # of a publication, as long as none is known
_BRANCHES = 3  # edges of a publication that go on from where one ends
_CHANCE = 0.3  # that a value satisfies what is asked of it, be it an interval, a class or a text


class Frequencies:
    """How often patterns ask for a label, and for a name at an end of an edge."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._labels: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._edges = self._constants = 0

    def count(self, shape: Shape) -> None:
        """Counts a pattern that somebody asks."""
        for label, subject, _, object in shape.edges:
            self._edges += 1
            self._labels[label] = self._labels.get(label, 0) + 1
            for name in (shape.names[subject], shape.names[object]):
                if name != VARIABLE:
                    self._constants += 1
                    self._ends[name] = self._ends.get(name, 0) + 1

    def label_share(self, label: int) -> float:
        return self._labels.get(label, 1) / max(1, self._edges)

    def property_share(self, terms: Iterable[Term]) -> float:
        """Of edges with one of these properties."""
        return sum(self.label_share(self._names.number(term)) for term in terms)

    def end_share(self, terms: Iterable[Term]) -> float:
        """Of constants that are one of these."""
        return sum(self._ends.get(self._names.number(term), 1) for term in terms) / max(1, self._constants)


class Merged(NamedTuple):
    """A merger with what it was made of."""

    merger: Candidate
    members: Sequence[Candidate]
    product: Product


class Level(NamedTuple):
    """How often a publication may meet a merger in vain, and whether a constant to look it up by must be kept."""

    limit: float
    anchored: bool


class Judge:
    """Tells whether a merger is bearable."""

    def __init__(self, frequencies: Frequencies, sample: Sample, max_false_positives: float) -> None:
        self._frequencies = frequencies
        self._sample = sample
        self._share = max_false_positives

    def bears(self, merged: Merged, level: Level) -> bool:
        """Whether a merger keeps what its members are looked up by, and is not expected to be met in vain too often."""
        merger, members, _ = merged
        kept = (_asks, _is_anchored if level.anchored else _is_found)
        if any(not has(merger) and all(map(has, members)) for has in kept):
            return False
        return _is_union(merged) or (self.expected(merger) <= level.limit and self._is_rare(merger, members))

    def expected(self, candidate: Candidate) -> float:
        """How often a publication is expected to match a pattern."""
        chance, met = _EDGES / _BRANCHES, list[Edge]()
        bound: set[int] = set()
        for edge in candidate.shape.edges:
            own = _BRANCHES * self._label_chance(candidate, edge)
            for place in {edge.subject, edge.object} - bound:
                own *= self._end_chance(candidate, place)
            chance *= min(_BRANCHES, own + sum(_overlap(candidate, edge, other) for other in met))
            bound |= {edge.subject, edge.object}
            met.append(edge)
        return chance

    def _label_chance(self, candidate: Candidate, edge: Edge) -> float:
        if edge.label != VARIABLE:
            return self._frequencies.label_share(edge.label)
        given = _given(candidate.form, candidate.member.nodes[edge.predicate])
        return 1.0 if given is None else min(1.0, self._frequencies.property_share(given))

    def _end_chance(self, candidate: Candidate, place: int) -> float:
        given = _given(candidate.form, candidate.member.nodes[place])
        if given is None:
            return _CHANCE if candidate.shape.marks[place] == ASKED else 1.0
        return min(1.0, self._frequencies.end_share(given))

    # --- the sample ---------------------------------------------------------------------------------------------

    def _is_rare(self, merger: Candidate, members: Iterable[Candidate]) -> bool:
        """Whether few of the sample's publications that could match the merger could not match a member."""
        met = vain = self._met(merger.form)
        for member in members if met else ():
            vain &= ~self._met(member.form)
        return vain.bit_count() <= self._share * met.bit_count()

    def _met(self, form: Form) -> int:
        """The publications of the sample that hold each edge of a pattern somewhere."""
        met = self._sample.everything
        for edge in form.edges if met else ():
            if isinstance(edge, TriplePattern) and edge.predicate not in (RDF_TYPE, RDFS_MEMBER):
                met &= self._holding(form, edge)
        return met

    def _holding(self, form: Form, edge: TriplePattern) -> int:
        ends = _given(form, edge.subject), _given(form, edge.object)
        predicates = _given(form, edge.predicate)
        if predicates is None:
            return self._sample.everything
        found = 0
        for predicate in predicates:
            found |= self._sample.holding(ends[0], predicate, ends[1])
        return found


def _given(form: Form, node: Node) -> Iterable[Term] | None:
    """The few terms that a node may be."""
    return (node,) if isinstance(node, Term) else form.region(node).among


def _overlap(candidate: Candidate, edge: Edge, other: Edge) -> float:
    """The chance that what meets one edge meets another as well: two edges that begin or end together."""
    if edge.subject == other.subject:
        ends = edge.object, other.object
    elif edge.object == other.object:
        ends = edge.subject, other.subject
    else:
        return 0.0
    return _shared(candidate, edge.predicate, other.predicate) * _shared(candidate, *ends)


def _shared(candidate: Candidate, place: int, other: int) -> float:
    """Of the terms that a node may be, those that another one may be, too."""
    if VARIABLE in (place, other):
        return 0.0
    nodes = candidate.member.nodes
    mine, theirs = _given(candidate.form, nodes[place]), _given(candidate.form, nodes[other])
    if mine is None or theirs is None:
        return 1.0
    terms = set(theirs)
    return len(terms.intersection(mine)) / max(1, len(terms))


def _asks(candidate: Candidate) -> bool:
    """Whether anything is asked of an end of an edge."""
    marks = candidate.shape.marks
    return any(marks[edge.subject] != FREE or marks[edge.object] != FREE for edge in candidate.shape.edges)


def _is_found(candidate: Candidate) -> bool:
    """Whether an edge has a property or a constant end; else a publication would have to be searched for any edge."""
    return _is_anchored(candidate) or any(edge.label != VARIABLE for edge in candidate.shape.edges)


def _is_anchored(candidate: Candidate) -> bool:
    """Whether an edge has a constant end."""
    names = candidate.shape.names
    return any(names[edge.subject] != VARIABLE or names[edge.object] != VARIABLE for edge in candidate.shape.edges)


def _is_union(merged: Merged) -> bool:
    """Whether the members have all edges of the merger and no others, and are the same but for one node.

    Residues count as such a node. That a hull may be wider than what it holds is neglected.
    """
    merger, members, product = merged
    edges = len(merger.shape.edges)
    if any(len(member.shape.edges) != edges for member in members):
        return False
    differing = sum(len({_asked(member, at) for member, at in zip(members, column)}) > 1 for column in product.columns)
    return differing + any(member.form.residue for member in members) <= 1


def _asked(member: Candidate, place: int) -> object:
    name = member.shape.names[place]
    node = member.member.nodes[place]
    return name if name != VARIABLE or isinstance(node, Term) else member.form.region(node)
