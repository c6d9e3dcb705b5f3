"""G-ToPSS ([G] section 4): all subscriptions in one union graph, against which a publication is matched edge by edge.

What the paper prints. G_M is the union of the subscription graphs. Constants are shared by name; variables are the
stars *1, *2, …, shared by number, as many as the subscription with the most has. Figure 7 keeps it in two levels of
hash tables: a pair of vertices leads to the edges between them, a label to one edge, and an edge to the list of
subscriptions that hold it and to a binding table. *Insert* puts each edge of a subscription there. *match* has two
stages. For each publication edge (v, w) it looks up v and every star against w and every star, (k + 1) ** 2 pairs for k
stars; each edge found takes (v, w) into its binding table and counts for its subscriptions, which join SubSet. Then
each subscription of SubSet whose counter is complete joins the tables of its edges, and CheckConstraint tests the rows.

The law it relies on: a publication that matches a subscription matches each of its edges, so a subscription one of
whose edges has an empty table cannot match; and the join of all its tables is the set of its bindings.

The mends:
  SEED_NOTES, filter 3: printed, the counter counts publication edges, so three edges that match one subscription edge
  count three; and it is reset only where the join was tried, so it leaks into the next publication. It counts distinct
  subscription edges (a G_M edge counts when its table gets its first row), and belongs to one publication, as the
  binding tables do; printed, nothing ever empties those either.
  Section 4.2 prints "a fully connected graph" over v, w and the stars, which also holds w → v and *i → v. The text
  names the four kinds that agree with the edge, v w, v *i, *i w and *i *j, and only those are looked up; an edge from
  *i to *i takes only v = w.
  SEED_NOTES, filter 1, 2, 5, 6, 7: see `gm_subscription`, `binding_tables` and `gm_constraints`.
  Unsubscribing, of which the paper says nothing: see `filter_entries`.

Candidates are SubSet: every subscription whose counter was touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from heliograph.baselines.binding_tables import BindingTable, Row, joins, star_table
from heliograph.baselines.filter_entries import Entries, Entry, IndexVersion, in_order
from heliograph.baselines.gm_subscription import Edge, Star, Vertex
from heliograph.baselines.graph import Triple
from heliograph.baselines.steps import World
from heliograph.subscriptions import Subscription
from heliograph.terms import Term


class UnionEdge:
    """An edge of G_M with the subscriptions that hold it."""

    __slots__ = ("edge", "subscriptions")

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.subscriptions: list[Entry] = []  # only appended to: readers may be in it


class UnionGraph:
    """G_M: vertex pair → label → edge."""

    def __init__(self) -> None:
        self.stars = 0
        self._pairs: dict[tuple[Vertex, Vertex], dict[Term, UnionEdge]] = {}
        self._overlaps: dict[Entry, tuple[UnionEdge, ...]] = {}  # [G]'s E.smEdge of each edge E of a subscription
        self._edgeless: list[Entry] = []

    def insert(self, entry: Entry) -> None:
        """[G]'s algorithm Insert. A subscription without an edge to look up is met by every publication."""
        graph = entry.graph
        self.stars = max(self.stars, len(graph.stars))
        self._overlaps[entry] = overlaps = tuple(self._edge(edge) for edge in graph.edges)
        for overlap in overlaps:
            overlap.subscriptions.append(entry)
        if not overlaps:
            self._edgeless.append(entry)

    def _edge(self, edge: Edge) -> UnionEdge:
        labels = self._pairs.setdefault((edge.source, edge.target), {})
        return labels.get(edge.label) or labels.setdefault(edge.label, UnionEdge(edge))

    def search(self, world: World, stamp: int) -> Matching:
        return Matching(self, world, stamp)

    def edges(self, triple: Triple) -> Iterator[UnionEdge]:
        """The edges of G_M that a publication edge matches."""
        source, label, target = triple
        stars = range(1, self.stars + 1)
        for pair in ((one, other) for one in (source, *stars) for other in (target, *stars)):
            labels = self._pairs.get(pair)
            edge = labels.get(label) if labels is not None else None
            if edge is not None and (source == target or pair[0] != pair[1] or not isinstance(pair[0], Star)):
                yield edge

    def overlaps(self, entry: Entry) -> tuple[UnionEdge, ...]:
        return self._overlaps[entry]

    def edgeless(self, stamp: int) -> list[Entry]:
        return [entry for entry in self._edgeless if entry.lives(stamp)]


class Matching:
    """[G]'s algorithm match for one publication: the first stage when made, the second when asked."""

    def __init__(self, union: UnionGraph, world: World, stamp: int) -> None:
        self.world = world
        self._union = union
        self.tables = _binding_tables(union, world)
        self._star_tables: dict[UnionEdge, BindingTable] = {}
        self.counts = dict.fromkeys(union.edgeless(stamp), 0)
        for edge in self.tables:
            for entry in edge.subscriptions:
                if entry.lives(stamp):
                    self.counts[entry] = self.counts.get(entry, 0) + 1

    @cached_property
    def candidates(self) -> dict[int, Entry]:
        return in_order(self.counts)

    def matches(self, entry: Entry) -> bool:
        graph = entry.graph
        if self.counts[entry] < len(graph.edges):
            return False
        if graph.plan is not None:
            return graph.plan.matches(self.world)
        return joins(graph, map(self._star_table, self._union.overlaps(entry)), self.world.classes)

    def _star_table(self, union: UnionEdge) -> BindingTable:
        """An edge's table for joining: stars have the same names in every subscription, so it is made once."""
        table = self._star_tables.get(union)
        if table is None:
            table = self._star_tables[union] = star_table(union.edge, self.tables[union])
        return table


def _binding_tables(union: UnionGraph, world: World) -> dict[UnionEdge, list[Row]]:
    tables: dict[UnionEdge, list[Row]] = {}
    for triple in world.graph:
        for edge in union.edges(triple):
            tables.setdefault(edge, []).append((triple[0], triple[2]))
    return tables


class GToPSSMatcher:
    """Candidates by counting matched edges in the union graph, verified by joining binding tables."""

    def __init__(self) -> None:
        self._entries = Entries(UnionGraph)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        self._entries.insert(subscriptions)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self._entries.remove(subscriptions)

    def version(self) -> IndexVersion:
        return self._entries.version
