"""An evolving graph as a set of term triples, for readers that think in terms.

The law: it answers what `baselines.graph.Graph` answers that holds the same triples, in another order: by the numbers
of edges. Edges of virtual properties are not among the triples, unless their property is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

from heliograph.evolution.graph import FlatGraph
from heliograph.evolution.lookup import matching
from heliograph.kernels.evolution_layout import LINK, Int32s
from heliograph.terms import Term

Triple = tuple[Term, Term, Term]

_BLOCK = 1024  # rows that are spelled out at once


class Terms(Protocol):
    """A vocabulary, as far as it is needed here."""

    def find(self, term: Term) -> int: ...

    def term(self, id: int) -> Term: ...


class Found:
    """Triples that were found: counted at once, spelled out when they are read."""

    __slots__ = ("_rows", "_terms")

    def __init__(self, rows: Int32s, terms: Terms) -> None:
        self._rows = rows
        self._terms = terms

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Triple]:
        term = self._terms.term
        for first in range(0, len(self._rows), _BLOCK):  # whoever stops early has not paid for a million rows
            for subject, predicate, object in self._rows[first : first + _BLOCK].tolist():
                yield term(subject), term(predicate), term(object)

    def __contains__(self, triple: object) -> bool:
        if not isinstance(triple, tuple) or len(triple) != 3:
            return False
        return bool((self._rows == [self._terms.find(term) for term in triple]).all(axis=1).any())


class Triples:
    """The triples of an evolving graph as it is now."""

    def __init__(self, graph: FlatGraph, terms: Terms) -> None:
        self._graph = graph
        self._terms = terms

    def __len__(self) -> int:
        return len(self._graph)

    def __iter__(self) -> Iterator[Triple]:
        return iter(self.match())

    def __contains__(self, triple: Triple) -> bool:
        return self._graph.holds(*map(self._terms.find, triple))

    def match(
        self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None
    ) -> Collection[Triple]:
        """The triples with these parts; None is a wildcard."""
        if subject is not None and predicate is not None and object is not None:
            triple = (subject, predicate, object)
            return (triple,) if triple in self else ()
        parts = self._id(subject), self._id(predicate), self._id(object)
        arrays = self._graph.arrays
        return Found(arrays.edges[matching(arrays, parts, self._graph.virtual), :LINK], self._terms)

    def _id(self, term: Term | None) -> int | None:
        return None if term is None else self._terms.find(term)

    def count(self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None) -> int:
        return len(self.match(subject, predicate, object))
