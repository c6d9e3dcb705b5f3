"""The plain strategy: after each update the queries that it could concern are answered again. See `watch_naive`.

It is exact and slow, holds terms as they are, and loads no kernel: small jobs run on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import NO_TIME, Floats, Int32s, Int64s
from heliograph.watch.metrics.naive import Effort, Plainly
from heliograph.watch.report import Run, issue
from heliograph.watch.state import Aside, Board, Edges, EvolvingGraph, Interest, Reevaluation, Snapshot, Watched, joined
from heliograph.watch.updates import Edge, Encoded, Extent, Update


class Plain:
    """A board over an evolving graph, in plain Python."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: Extent, aside: Aside | None = None) -> None:
        self._vocabulary = vocabulary
        self.aside = Aside() if aside is None else aside
        self._graph = EvolvingGraph(extent)
        self._metrics = Plainly(self._weighted, taxonomy)
        self.answers = Reevaluation(self._graph.triples, taxonomy, self._metrics)
        self._board = Board(self.answers, self._metrics, self._fail)
        self._effort = Effort()

    def _weighted(self) -> dict[tuple[Term, Term, Term], float | None]:
        return {triple: edge.weight for triple, edge in self._graph.edges.items()}

    # --- interests ----------------------------------------------------------------------------------------------

    def add(self, interests: Iterable[Interest]) -> None:
        for subscription, options in interests:
            try:
                self._effort.add(subscription.query)
                self._board.add(subscription, options)
            except Exception as error:
                self.aside.put(subscription.id, error)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._board.remove(subscription)
            self._effort.remove(subscription.query)

    def _fail(self, subscription: Subscription, error: Exception) -> None:
        """Goes on without a subscription."""
        if self.aside.put(subscription.id, error):
            self.remove((subscription,))

    @property
    def interests(self) -> Sequence[Interest]:
        return self._board.interests

    def watched(self, id: str) -> Watched:
        return self._board[id]

    # --- updates ------------------------------------------------------------------------------------------------

    def foreseen_ns(self, coming: int = 0) -> int:
        """About how long the metrics that are asked will take of the next update, with so many edges more."""
        return self._effort.foreseen_ns(len(self._graph.edges) + coming)

    def load(self, updates: Encoded) -> None:
        self._graph.load(updates.updates(self._vocabulary))
        self._board.unsettle()

    def settle(self, witness: bool) -> None:
        self._board.settle(witness)

    def publish(self, updates: Encoded, run: Run) -> None:
        self.begin(run)
        for update in updates.updates(self._vocabulary):
            self.apply(update, run)

    def begin(self, run: Run) -> None:
        """Settles, and tells those who asked what holds at first."""
        self._board.settle(run.witness)
        run.take(issue(self._board.greet(run.witness), None, run.witness, self._fail))

    def apply(self, update: Update, run: Run) -> None:
        run.begun = True
        reactions = [self._board.react(effect, run.witness) for effect in self._graph.apply(update)]
        if self._board.stirred:
            reactions.append(self._board.rank_stirred())
        reaction = joined(reactions)
        run.candidates += reaction.candidates
        run.verified += len(reaction.reports)
        run.take(issue(reaction.reports, update, run.witness, self._fail))

    # --- handing over -------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        window = self._graph.window
        return Snapshot(self._edges(), window.clock, window.number, self._board.memory())

    def restore(self, snapshot: Snapshot) -> None:
        window = self._graph.window
        window.clock, window.number = snapshot.clock, snapshot.number
        for triple, edge in _rows(snapshot.edges, self._vocabulary):
            self._graph.restore(triple, edge)
        self._board.restore(snapshot.memory.without(self.aside))

    def ids(self) -> Int32s:
        return np.concatenate(self._edges()[:3])

    def rebased(self, vocabulary: Vocabulary, _snapshot: Snapshot) -> Plain:
        fresh = copy(self)  # which holds terms, no ids
        fresh._vocabulary = vocabulary
        return fresh

    def _edges(self) -> Edges:
        edges = self._graph.edges
        if not edges:
            return Edges.none()
        subject, predicate, object = (_ids(column, self._vocabulary) for column in zip(*edges, strict=True))
        weight, at, seq, number = zip(*edges.values(), strict=True)
        return Edges(subject, predicate, object, _weights(weight), _integers(at), _integers(seq), _integers(number))


def _ids(terms: Sequence[Term], vocabulary: Vocabulary) -> Int32s:
    return np.array(vocabulary.intern_many(terms), np.int32)


def _weights(column: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in column], np.float64)


def _integers(column: Iterable[int | None]) -> Int64s:
    return np.array([NO_TIME if value is None else value for value in column], np.int64)


def _rows(edges: Edges, vocabulary: Vocabulary) -> Iterable[tuple[tuple[Term, Term, Term], Edge]]:
    triples = zip(*(_terms(column, vocabulary) for column in edges[:3]), strict=True)
    times = zip(*([None if t == NO_TIME else t for t in column.tolist()] for column in edges[4:]), strict=True)
    for (subject, predicate, object), weight, known in zip(triples, edges.weight.tolist(), times, strict=True):
        yield (subject, predicate, object), Edge(None if weight != weight else weight, *known)


def _terms(ids: Int32s, vocabulary: Vocabulary) -> list[Term]:
    return [vocabulary.term(id) for id in ids.tolist()]
