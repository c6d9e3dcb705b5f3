"""The evolving graph: a set of triples, each with an optional weight and time, changed by one update at a time.

The laws: `apply` returns the net difference between the graph before the update (before anything expired on its
account) and after it; an update that changes nothing has an empty effect; removing what was added restores the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heliograph.baselines.graph import Graph
from heliograph.terms import Term
from heliograph.watch.updates import REMOVE, SET, Effect, Triple, Update
from heliograph.watch.window import Edge, Extent, Window


class EvolvingGraph:
    """Triples with what is known of them, and the window they live in."""

    def __init__(self, extent: Extent | None = None) -> None:
        self.triples = Graph()
        self.edges: dict[Triple, Edge] = {}
        self.window = Window(extent or Extent())

    def apply(self, update: Update) -> Iterator[Effect]:
        """Lets expire what the update's coming makes too old, if anything, and then applies it: an effect for each.

        The graph stands between the two while the first effect is looked at.
        """
        self.window.number += 1
        self.window.move(update.at)
        expired = Effect()
        self._expire(expired)
        if expired:
            yield expired
        effect = Effect()
        self._change(update, Edge(update.weight, update.at, update.seq, self.window.number), effect)
        yield effect

    def load(self, updates: Iterable[Update]) -> None:
        """Applies updates as background: what they add counts as no update, and without a time it never expires."""
        for update in updates:
            self.window.move(update.at)
            self._change(
                update, Edge(update.weight, update.at, update.seq if update.at is not None else None), Effect()
            )
        self._expire(Effect())

    def restore(self, triple: Triple, edge: Edge) -> None:
        """Puts back a saved edge exactly as it was."""
        self._put(triple, edge)

    # --- the operations -----------------------------------------------------------------------------------------

    def _change(self, update: Update, edge: Edge, effect: Effect) -> None:
        if update.op == REMOVE:
            self._remove(self._named(update), effect)
        else:
            if update.op == SET:
                others = self.triples.match(update.subject, update.predicate, None)
                self._remove([triple for triple in others if triple != update.triple], effect)
            self._add(update.triple, edge, effect)

    def _named(self, update: Update) -> list[Triple]:
        """The triples that a removal names: one, or all that touch a vertex."""
        if update.predicate is None:
            return self.touching(update.subject)
        return [update.triple] if update.triple in self.edges else []

    def touching(self, vertex: Term) -> list[Triple]:
        """The edges and attributes of a vertex: all triples with it at either end, each once."""
        outgoing, incoming = self.triples.match(vertex, None, None), self.triples.match(None, None, vertex)
        return list(dict.fromkeys((*outgoing, *incoming)))

    def _add(self, triple: Triple, edge: Edge, effect: Effect) -> None:
        known = self.edges.get(triple)
        if known is None:
            effect.add(triple)
            self._put(triple, edge)
        elif (renewed := self._renewed(known, edge)) != known:
            self._put(triple, renewed)

    def _renewed(self, known: Edge, edge: Edge) -> Edge:
        """A present edge that is added again: it takes a weight that is given, and in a window the later time.

        What was loaded without a time stays without: background does not begin to age by being mentioned.
        """
        weight = known.weight if edge.weight is None else edge.weight
        if not self.window.extent:
            return known._replace(weight=weight)
        number = known.number if known.number is None or edge.number is None else edge.number
        if known.at is None or edge.at is None or edge.at < known.at:
            return known._replace(weight=weight, number=number)
        return Edge(weight, edge.at, edge.seq, number)

    def _put(self, triple: Triple, edge: Edge) -> None:
        self.triples.add(triple)
        self.edges[triple] = edge
        self.window.note(triple, edge)

    def _remove(self, triples: Iterable[Triple], effect: Effect) -> None:
        for triple in triples:
            self.triples.remove(triple)
            del self.edges[triple]
            effect.remove((triple,))

    def _expire(self, effect: Effect) -> None:
        for triple in self.window.expired(self.edges.get):
            self._remove((triple,), effect)
