"""What a batch of publications is searched with, and how doubtful matches are decided.

The law: a doubtful member matches if one of its solutions is judged true, by the query's own conditions; if none is and
the search gave up counting, the plain solver decides on the whole query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.baselines.solve import Graph, Plan, Solution, World, world
from heliograph.filter.failures import Failures
from heliograph.index.arrays import fixed, rows_of
from heliograph.index.compiling import edge_variables
from heliograph.index.domains import places_of
from heliograph.index.search import Batch, Hits
from heliograph.kernels.filter_layout import ROUNDED_CODE, Closure, Edges, Floats, Values
from heliograph.model import Slow
from heliograph.publications import Publications
from heliograph.semantics.expressions import Condition
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary


class Context:
    """What a filter's subscriptions have in common."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, closure: Closure) -> None:
        self.vocabulary = vocabulary
        self.taxonomy = taxonomy
        self.closure = closure
        self._places = _rows(vocabulary, 0, 0)

    def places(self, size: int) -> Floats:
        """Where the first terms of the vocabulary lie; those not asked for before are looked at now."""
        known = self._places
        if len(known) < size:
            known = np.concatenate([known, _rows(self.vocabulary, len(known), size)])
            self._places = known
        return fixed(known[:size])

    def batch(self, publications: Publications) -> Batch:
        """Publications over this vocabulary, ready to be searched."""
        own, edges = publications.vocabulary, fixed(Edges(publications.offsets, *publications.triples))
        start = len(own) if own is self.vocabulary else own.start
        values = Values(start, self.places(start), fixed(_rows(own, start, len(own))))
        return Batch(publications, edges, values, self.closure, len(own))


def _rows(vocabulary: Vocabulary, first: int, last: int) -> Floats:
    places = places_of(vocabulary, first, last)
    code = places.domain.astype(np.float64) + ROUNDED_CODE * places.rounded
    rows: Floats = rows_of(places.coordinate, code, dtype=np.float64)
    return rows


# --- doubt ------------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Matches of one segment."""

    publication: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]


@dataclass(slots=True)
class Judge:
    """Decides doubtful matches of one batch; each publication is made a graph of terms at most once."""

    publications: Publications
    context: Context
    failures: Failures
    counted: bool = False
    took_ns: int = 0
    _costs: Counter[str] = field(default_factory=Counter)  # edges of the publications that a whole query was asked of
    _times: Counter[str] = field(default_factory=Counter)
    _worlds: dict[int, World] = field(default_factory=dict)

    def rows(self, hits: Hits) -> Rows:
        """All matches of a segment, the sure and the judged ones."""
        if not hits.doubtful:
            return Rows(hits.publication.astype(np.int64), hits.number)
        judged = self.judged(hits)
        return Rows(
            np.concatenate([hits.publication, judged.publication]), np.concatenate([hits.number, judged.number])
        )

    def judged(self, hits: Hits) -> Rows:
        """The doubtful matches of a segment that hold and are not sure as well."""
        judged = np.array(list(self._judged(hits)), np.int64).reshape(-1, 2)
        return Rows(judged[:, 0], judged[:, 1])

    def _judged(self, hits: Hits) -> Iterator[tuple[int, int]]:
        solutions: dict[tuple[int, int], list[npt.NDArray[np.int32] | None]] = {}
        for each in hits.doubtful:
            solutions.setdefault((each.publication, each.member), []).append(each.solution)
        cases: dict[int, _Case] = {}
        sure = set(zip(hits.publication.tolist(), hits.number.tolist(), strict=True))
        for (row, member), found in solutions.items():
            number = int(hits.segment.index.numbers[member])
            if (row, number) in sure or number in self.failures:  # another of its solutions was beyond doubt
                continue
            owner = cases[member].subscription if member in cases else _owner(hits, number)
            graph = self._world(row) if any(each is None for each in found) else None
            try:  # from here on it is the subscription alone that is at work
                if member not in cases:
                    cases[member] = _Case.of(owner, self.context.taxonomy)
                holds = self._holds(cases[member], row, found, graph)
                self.counted |= holds and owner.counted
            except Exception as error:
                self.failures.add(owner, error)
                continue
            if holds:
                yield row, number

    def _holds(self, case: _Case, row: int, found: Sequence[npt.NDArray[np.int32] | None], graph: World | None) -> bool:
        """Whether a solution holds; `graph` is the publication, if there is one that the whole query must decide."""
        term = self.publications.vocabulary.term
        for solution in found:
            if solution is None:
                assert graph is not None
                self._note(case.subscription.id, row)
                return Plan.of(case.subscription.query).matches(graph)
            if case.holds(dict(zip(case.variables, map(term, solution.tolist()), strict=True))):
                return True
        return False

    def _note(self, id: str, row: int) -> None:
        self._times[id] += 1
        self._costs[id] += int(self.publications.offsets[row + 1] - self.publications.offsets[row])

    def slow(self) -> Iterator[Slow]:
        """The subscriptions that were decided whole; each is taken to have looked at every edge."""
        return (Slow(id, times, self._costs[id]) for id, times in self._times.items())

    def _world(self, row: int) -> World:
        if row not in self._worlds:
            publications, term = self.publications, self.publications.vocabulary.term
            part = slice(int(publications.offsets[row]), int(publications.offsets[row + 1]))
            triples = zip(*(column[part].tolist() for column in publications.triples), strict=True)
            graph = Graph((term(s), term(p), term(o)) for s, p, o in triples)
            self._worlds[row] = world(graph, self.context.taxonomy)
        return self._worlds[row]


def _owner(hits: Hits, number: int) -> Subscription:
    owner: Subscription = hits.segment.owners[int(hits.segment.places(np.array([number]))[0])]
    return owner


@dataclass(frozen=True, slots=True)
class _Case:
    """A subscription whose conditions are to be judged under solutions of its edges."""

    subscription: Subscription
    variables: tuple[Variable, ...]
    conditions: tuple[Condition, ...]

    @classmethod
    def of(cls, subscription: Subscription, taxonomy: Taxonomy) -> _Case:
        query = subscription.query
        conditions = tuple(Condition.of(each) for each in query.filters)
        return cls(subscription, edge_variables(query, taxonomy), conditions)

    def holds(self, solution: Solution) -> bool:
        allowed = all(_among(solution, block.variables, block.rows) for block in self.subscription.query.values)
        return allowed and all(condition.holds(solution) for condition in self.conditions)


def _among(solution: Solution, names: Sequence[Variable], rows: Iterable[Sequence[Term | None]]) -> bool:
    """Whether a solution agrees with a row of VALUES."""
    return any(
        all(term is None or solution.get(name, term) == term for name, term in zip(names, row, strict=True))
        for row in rows
    )
