"""Classes that one variable is asked to belong to, and that have nothing in common in the taxonomy.

That is no proof: a publication may type anything with any two classes. So it is told as what it is, a suspicion, and
withdrawn where the sample has something of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from heliograph.baselines.solve import Plan
from heliograph.lint.sample import Sample
from heliograph.syntax.query import ClassPattern, ClassRelation, Query
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, Term, Variable, spell

_ANY = Variable("x")


class Pair(NamedTuple):
    """Two classes."""

    one: Term
    other: Term


class Kinds:
    """Asked for one query after another; each pair of classes is looked at once."""

    def __init__(self, taxonomy: Taxonomy, sample: Sample | None) -> None:
        self._taxonomy, self._sample = taxonomy, sample
        self._known = {term for row in taxonomy.rows for term in row}
        self._apart: dict[Pair, bool] = {}

    def apart(self, query: Query) -> Iterator[str]:
        """What is asked to be of two classes that nothing is of both."""
        asked: dict[Variable, dict[Term, None]] = {}
        for variable, kind in _memberships(query):
            if kind in self._known:
                asked.setdefault(variable, {})[kind] = None
        for variable, kinds in asked.items():
            for one, other in combinations(kinds, 2):
                if self._are_apart(Pair(one, other)):
                    yield (
                        f"{variable} must be both {spell(one)} and {spell(other)}, and nothing in the taxonomy is: "
                        "only a publication that says so itself can match"
                    )

    def _are_apart(self, pair: Pair) -> bool:
        if pair not in self._apart:
            self._apart[pair] = not self._below(pair.one) & self._below(pair.other) and not self._is_met(pair)
        return self._apart[pair]

    def _below(self, kind: Term) -> set[Term]:
        return {kind, *self._taxonomy.descendants(kind)}

    def _is_met(self, pair: Pair) -> bool:
        """Whether a publication of the sample has something of both."""
        plan = Plan.of(Query(patterns=tuple(ClassPattern(ClassRelation.IS_A, _ANY, kind) for kind in pair)))
        publications = self._sample.publications if self._sample is not None else ()
        return any(plan.matches(publication.world) for publication in publications)


def _memberships(query: Query) -> Iterator[tuple[Variable, Term]]:
    for pattern in query.patterns:
        is_class = isinstance(pattern, ClassPattern) or pattern.predicate == RDF_TYPE
        if is_class and isinstance(pattern.subject, Variable) and isinstance(pattern.object, Term):
            yield pattern.subject, pattern.object
