"""The containment forest: every pattern below one that contains it, the most general ones at the front ([R] 4.2, 4.4).

Only roots are indexed. A pattern that comes is compared with the roots that may contain it and goes below the first
that does; otherwise it is a root, and takes over the roots that it contains, with all that is below them. When a root
goes, its children return to the front, below another root where one contains them; when an inner node goes, its
children go to its parent. Patterns of one form are one node with many subscribers, and so is a pattern with the root
that contains it if it contains that root, too.

The laws: a node is contained in its parent, so whatever matches it matches its root; no root is known to contain
another. Trees are as deep as their history made them, and nothing here recurses.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from heliograph.partition.arrangement import Change
from heliograph.partition.candidates import Candidates, Marks
from heliograph.partition.containment import witness_in
from heliograph.partition.extents import Extents
from heliograph.partition.forms import Form, form_of, query_of
from heliograph.partition.homomorphisms import Target
from heliograph.partition.lineage import Lineage
from heliograph.partition.probes import Outline, Probe, holds_by
from heliograph.partition.shapes import Shape
from heliograph.syntax.bulk import collector_paused
from heliograph.syntax.query import Pattern, Query
from heliograph.taxonomy import Taxonomy


class Forest:
    """An arrangement by containment."""

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        self._front = _Front(taxonomy or Taxonomy())
        self._lineage = Lineage()
        self._forms: dict[int, Form] = self._front.forms
        self._known: dict[Form, int] = {}
        self._subscribers: dict[int, list[int]] = {}  # of each node, ascending
        self._nodes: dict[int, int] = {}  # by subscription
        self._roots: dict[int, None] = {}
        self._next = 0

    # --- asking -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._forms)

    def node_of(self, number: int) -> int:
        return self._nodes[number]

    def root_of(self, node: int) -> int:
        return self._lineage.root_of(node)

    def parent_of(self, node: int) -> int | None:
        return self._lineage.parent_of(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return self._lineage.children_of(node)

    def form_of(self, node: int) -> Form:
        return self._forms[node]

    def query_of(self, node: int) -> Query:
        return query_of(self._forms[node])

    def subscribers_of(self, node: int) -> Sequence[int]:
        return tuple(self._subscribers[node])

    def is_synthetic(self, node: int) -> bool:
        return False

    def roots(self) -> Iterator[int]:
        return iter(tuple(self._roots))

    # --- subscribing --------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> Change:
        with collector_paused():
            for number, query in subscriptions:
                node = self._take(form_of(query))
                self._nodes[number] = node
                self._subscribers.setdefault(node, []).append(number)
            return self._lineage.settle()

    def _take(self, form: Form) -> int:
        """The node of a form: the one it has, one that it equals, or a new one."""
        node = self._known.get(form)
        if node is not None:
            return node
        probe = self._front.probe(form)
        above = self._front.containing(probe)
        if above is not None and self._front.is_contained(above, probe):
            return above
        form = self._front.shared(form, above)
        node = self._next
        self._next += 1
        self._known[form] = node
        self._forms[node] = form
        self._put(node, probe, above)
        return node

    def _put(self, node: int, probe: Probe, above: int | None) -> None:
        """Puts a node below the root that contains it, or at the front."""
        if above is not None:
            self._lineage.hang(node, above)
            return
        for root in self._front.contained(probe):
            self._front.remove(root)
            del self._roots[root]
            self._lineage.hang(root, node)
        self._roots[node] = None
        self._front.add(node, probe)
        self._lineage.plant(node)

    # --- unsubscribing ------------------------------------------------------------------------------------------

    def remove(self, numbers: Iterable[int]) -> Change:
        orphans: dict[int, None] = {}
        for number in numbers:
            node = self._nodes.pop(number)
            left = self._subscribers[node]
            del left[bisect_left(left, number)]
            if not left:
                self._drop(node, orphans)
        for node in sorted(orphans):
            probe = self._front.probe(self._forms[node])
            self._put(node, probe, self._front.containing(probe))
        return self._lineage.settle()

    def _drop(self, node: int, orphans: dict[int, None]) -> None:
        """Takes a node away; `orphans` are those that stand alone until all have gone."""
        if node in self._roots:
            self._front.remove(node)
            del self._roots[node]
        orphans.pop(node, None)
        orphans.update(dict.fromkeys(self._lineage.fell(node)))
        del self._known[self._forms.pop(node)]
        del self._subscribers[node]


class _Front:
    """The roots, to be searched in both directions. Opaque forms equal only themselves, and are not in it."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.forms: dict[int, Form] = {}
        self._taxonomy = taxonomy
        self._extents = Extents()
        self._candidates = Candidates(taxonomy)
        self._shapes: dict[tuple[Pattern, ...], Shape] = {}
        self._by_number: dict[int, Shape] = {}
        self._next = 0

    def probe(self, form: Form) -> Probe:
        shape = self._shapes.get(form.edges)
        known = None if shape is None else shape.outline
        return Probe(form, known or Outline(form.edges, self._taxonomy), self._extents)

    def shared(self, form: Form, above: int | None) -> Form:
        """The same form with the edges of another that has the same, if one is at hand: they take most of its room."""
        other = self._shapes.get(form.edges)
        edges = other.edges if other is not None else () if above is None else self.forms[above].edges
        return form._replace(edges=edges) if edges == form.edges else form

    def add(self, node: int, probe: Probe) -> None:
        form = self.forms[node]
        if form.opaque:
            return
        shape = self._shapes.get(form.edges)
        if shape is None:
            marks = self._marks(probe)
            shape = Shape(self._next, form.edges, self._candidates.add(self._next, form.edges, marks))
            self._shapes[form.edges] = self._by_number[self._next] = shape
            self._next += 1
        shape.add(node, self.forms, probe)

    def remove(self, node: int) -> None:
        form = self.forms[node]
        if form.opaque:
            return
        shape = self._shapes[form.edges]
        shape.remove(node, form)
        if shape.empty:
            self._candidates.remove(shape.number, shape.key)
            del self._shapes[form.edges], self._by_number[shape.number]

    def containing(self, probe: Probe) -> int | None:
        """A root that contains a form; its own shape is looked at first."""
        if probe.form.opaque:
            return None
        own = self._shapes.get(probe.form.edges)
        found = None if own is None else own.containing(probe, self.forms)
        if found is not None:
            return found
        for number in self._candidates.containing(self._marks(probe)):
            shape = self._by_number[number]
            found = None if shape is own else shape.containing(probe, self.forms)
            if found is not None:
                return found
        return None

    def _marks(self, probe: Probe) -> Marks:
        outline = probe.outline
        if outline.marks is None:
            outline.marks = self._candidates.marks(outline.edges)
        return outline.marks

    def contained(self, probe: Probe) -> list[int]:
        """The roots that a form contains."""
        if probe.form.opaque:
            return []
        numbers = self._candidates.contained(self._marks(probe))
        return [node for number in numbers for node in self._by_number[number].contained(probe, self.forms)]

    def is_contained(self, root: int, probe: Probe) -> bool:
        """Whether a root is contained in a form."""
        form, outline = self.forms[root], probe.outline
        if form.edges is outline.edges:
            return any(holds_by(probe.form, images, form) for images in outline.own_maps)
        return witness_in(Target(form.edges, self._taxonomy), probe.form, form, outline.order) is not None
