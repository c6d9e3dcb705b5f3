"""The matcher of the paper on RSS filtering ([R] sections 4.1 and 4.5): edge labels first, constraints before joins.

What the paper prints. G_M is kept in two levels of hash tables, the other way round than in [G]: a label leads to the
pairs of vertices between which it stands, a pair to the subscriptions that hold the edge. All variables are one star,
so a publication edge e(v, w) has four pairs to look up: v w, v *, * w, * *. Where an end is a variable, the
subscriptions are classified by their constraints on it and ordered in a table (figure 4). *match* takes, for each
publication edge and each edge of G_M it matches, the set C of subscriptions whose constraints are satisfied: those
without, those satisfied by v and those satisfied by w; the edge's binding table takes (v, w), and C joins SubSet. Then
each subscription of SubSet joins the binding tables of its edges and matches if a row is left.

The law it relies on: a selection commutes with a natural join, so constraints may go first; whoever's constraint no
publication edge satisfies cannot match, and is never looked at.

The mends:
  SEED_NOTES, filter 4: the binding tables are shared, so they hold values that *any* subscription's constraint accepts,
  and printed nothing is checked again: false positives. Each subscription's constraints are checked on its own binding.
  SEED_NOTES, filter 5: who is constrained on both ends of an edge needs both; printed, C is a union. And a variable has
  one constraint set on all of its edges.
  SEED_NOTES, filter 9: two-sided ranges, see `gm_intervals`. SEED_NOTES, filter 6: classes, see `gm_constraint_table`.
  Printed, C holds whoever has no constraint on *this* edge, even if another of its edges has one. Subscriptions of one
  structure then all enter SubSet through the edges that they share, and figure 9(b) cannot be flat. A subscription
  with a constraint enters only through edges that have one: one of those must be satisfied anyway.
  Binding tables belong to one publication; printed, nothing empties them.
  Unsubscribing within one machine: see `filter_entries`.

Candidates are SubSet, with whoever is dropped from C because of the other end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from heliograph.baselines.binding_tables import Row, joins, star_table
from heliograph.baselines.filter_entries import Entries, Entry, IndexVersion, in_order
from heliograph.baselines.gm_constraint_table import ConstraintTable
from heliograph.baselines.gm_constraints import check_constraints
from heliograph.baselines.gm_subscription import Edge, Star, Vertex
from heliograph.baselines.graph import Triple
from heliograph.baselines.steps import World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Classes
from heliograph.terms import Term

STAR = 0  # stands for any variable

Pair = tuple[Vertex, Vertex]


class Listing(NamedTuple):
    """A subscription, listed for one of its edges."""

    entry: Entry
    edge: Edge


class LabelledPair:
    """An edge of G_M: who holds it, classified by constraints."""

    __slots__ = ("free", "source", "target")

    def __init__(self) -> None:
        self.free: list[Entry] = []
        self.source: ConstraintTable[Listing] | None = None
        self.target: ConstraintTable[Listing] | None = None

    def insert(self, entry: Entry, edge: Edge) -> None:
        """Under the constraints of the source if it has any, else under the target's; see the mends for the rest."""
        source, target = (entry.graph.constraints_of(vertex) for vertex in (edge.source, edge.target))
        if source:
            self.source = self.source or ConstraintTable()
            self.source.insert(source, Listing(entry, edge))
        elif target:
            self.target = self.target or ConstraintTable()
            self.target.insert(target, Listing(entry, edge))
        elif not any(entry.graph.constraints):
            self.free.append(entry)

    def listings(self, triple: Triple, classes: Classes) -> Iterator[Listing]:
        """Those whose constraints on one end are satisfied; the other end is still to be checked."""
        for table, value in ((self.source, triple[0]), (self.target, triple[2])):
            if table is not None:
                yield from table.satisfied(value, classes)


class SubscriptionMatrix:
    """G_M: label → vertex pair → edge."""

    def __init__(self) -> None:
        self._labels: dict[Term, dict[Pair, LabelledPair]] = {}
        self._overlaps: dict[Entry, tuple[LabelledPair, ...]] = {}
        self._edgeless: list[Entry] = []

    def insert(self, entry: Entry) -> None:
        self._overlaps[entry] = overlaps = tuple(self._pair(edge) for edge in entry.graph.edges)
        for edge, overlap in zip(entry.graph.edges, overlaps, strict=True):
            overlap.insert(entry, edge)
        if not overlaps:
            self._edgeless.append(entry)

    def _pair(self, edge: Edge) -> LabelledPair:
        pairs = self._labels.setdefault(edge.label, {})
        pair = (_starred(edge.source), _starred(edge.target))
        return pairs.get(pair) or pairs.setdefault(pair, LabelledPair())

    def search(self, world: World, stamp: int) -> Matching:
        return Matching(self, world, stamp)

    def edges(self, triple: Triple) -> Iterator[LabelledPair]:
        """The edges of G_M that a publication edge matches."""
        source, label, target = triple
        pairs = self._labels.get(label)
        if pairs is not None:
            for pair in ((source, target), (source, STAR), (STAR, target), (STAR, STAR)):
                edge = pairs.get(pair)
                if edge is not None:
                    yield edge

    def overlaps(self, entry: Entry) -> tuple[LabelledPair, ...]:
        return self._overlaps[entry]

    def edgeless(self) -> Sequence[Entry]:
        return self._edgeless


def _starred(vertex: Vertex) -> Vertex:
    return STAR if isinstance(vertex, Star) else vertex


class Matching:
    """[R]'s algorithm match for one publication: SubSet when made, the joins when asked."""

    def __init__(self, matrix: SubscriptionMatrix, world: World, stamp: int) -> None:
        self.world = world
        self._matrix = matrix
        self.tables: dict[LabelledPair, list[Row]] = {}
        self.dropped: set[Entry] = set()  # met, but never satisfied at both ends of an edge
        self.subset: set[Entry] = {entry for entry in matrix.edgeless() if entry.lives(stamp)}
        for triple in world.graph:
            for edge in matrix.edges(triple):
                self.tables.setdefault(edge, []).append((triple[0], triple[2]))
                self._collect(edge, triple, stamp)
        self.subset.update(entry for edge in self.tables for entry in edge.free if entry.lives(stamp))
        self.dropped -= self.subset

    def _collect(self, edge: LabelledPair, triple: Triple, stamp: int) -> None:
        for entry, listed in edge.listings(triple, self.world.classes):
            if entry.lives(stamp):
                (self.subset if self._satisfied(entry, listed, triple) else self.dropped).add(entry)

    def _satisfied(self, entry: Entry, listed: Edge, triple: Triple) -> bool:
        """Whether the constraints on both ends hold, exactly."""
        ends = ((listed.source, triple[0]), (listed.target, triple[2]))
        return all(check_constraints(entry.graph.constraints_of(end), node, self.world.classes) for end, node in ends)

    @cached_property
    def candidates(self) -> dict[int, Entry]:
        return in_order(self.subset | self.dropped)

    def matches(self, entry: Entry) -> bool:
        graph, overlaps = entry.graph, self._matrix.overlaps(entry)
        if entry in self.dropped or any(edge not in self.tables for edge in overlaps):
            return False
        if graph.plan is not None:
            return graph.plan.matches(self.world)
        tables = (star_table(edge, self.tables[pair]) for edge, pair in zip(graph.edges, overlaps, strict=True))
        return joins(graph, tables, self.world.classes)


class RssMatcher:
    """Candidates by label and constraint, verified by joining binding tables."""

    def __init__(self) -> None:
        self._entries = Entries(SubscriptionMatrix)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        self._entries.insert(subscriptions)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self._entries.remove(subscriptions)

    def version(self) -> IndexVersion:
        return self._entries.version
