"""Answers within a budget: a query with 10^7 matches, or one that is sought in vain through 10^6 edges, costs no more.

A step is a triple read; a look-up counts as several. So any search is stopped wherever it is, inside a closure of
classes too. The law: what is answered is answered rightly; where `cut` is not set, it is everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from heliograph.baselines.graph import Readable, Triple
from heliograph.baselines.solve import Plan, Solution, world
from heliograph.baselines.watch_naive import Reevaluation
from heliograph.syntax.query import Query
from heliograph.terms import Term

Parts = tuple[Term | None, Term | None, Term | None]

_LOOK_UP = 4  # steps; in flat arrays it takes about 10 times as long as to read a triple, in dictionaries as long


class _Spent(Exception):
    """The budget is used up."""


class Bounded:
    """Answers over the graph as it is now. `steps` are left for all of them together."""

    def __init__(self, answers: Reevaluation, steps: int) -> None:
        self._graph = answers.graph
        self._taxonomy = answers.taxonomy
        self._counts: dict[Parts, int] = {}
        self.steps = steps
        self.cut = False

    def some(self, query: Query, most: int, steps: int | None = None) -> list[Solution]:
        """The first solutions of a query, as far as the steps reach that are left, or that this query may take."""
        granted = self.steps if steps is None else min(steps, self.steps)
        meter = _Meter(self._graph, self._counts, granted)
        found: list[Solution] = []
        try:
            found.extend(islice(Plan.of(query).solutions(world(meter, self._taxonomy)), most))
        except _Spent:
            self.cut = True
        self.steps -= granted - max(meter.left, 0)
        return found


class _Meter:
    """A graph that counts what is read of it."""

    def __init__(self, graph: Readable, counts: dict[Parts, int], left: int) -> None:
        self._graph = graph
        self._counts = counts  # of whole properties, for which a graph may have to be scanned
        self.left = left

    def __len__(self) -> int:
        return len(self._graph)

    def __iter__(self) -> Iterator[Triple]:
        return self.match(None, None, None)

    def match(self, subject: Term | None, predicate: Term | None, object: Term | None) -> Iterator[Triple]:
        self._spend(_LOOK_UP)
        for triple in self._graph.match(subject, predicate, object):
            self._spend(1)
            yield triple

    def count(self, subject: Term | None, predicate: Term | None, object: Term | None) -> int:
        self._spend(_LOOK_UP)
        if subject is not None or object is not None:
            return self._graph.count(subject, predicate, object)
        parts = subject, predicate, object
        if parts not in self._counts:
            self._counts[parts] = self._graph.count(*parts)
        return self._counts[parts]

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _Spent
