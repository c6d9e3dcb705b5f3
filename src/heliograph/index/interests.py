"""Graph-pattern interests as flat columns: what an index is built from.

An interest is a set of plain edges and a conjunction of conditions on single variables. A node is a term id, or `~v`
for the variable number v; variables are numbered by first appearance in the interest's edges (subject, predicate,
object).
A conjunct asks that a variable's value lie in one of its atoms; an atom is a domain and an interval of coordinates
(`index.domains`). The law: if an interest is neither `INEXACT` nor `COMPLEX`, a publication matches it exactly if its
edges have a homomorphism under which every conjunct holds. Otherwise edges and conjuncts are only necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.filter_layout import Atoms, Conjuncts
from heliograph.publications import Triples

__all__ = [
    "COMPLEX",
    "HIGH_OPEN",
    "INEXACT",
    "LOW_OPEN",
    "ROUNDED",
    "Atom",
    "Atoms",
    "Conjuncts",
    "Interest",
    "Interests",
    "gather",
    "offsets_of",
]

INEXACT = 1  # the conjuncts do not say everything: the query's own conditions decide on each solution
COMPLEX = 2  # the edges do not say everything either: the whole query decides

LOW_OPEN, HIGH_OPEN, ROUNDED = 1, 2, 4  # of an atom: an end is excluded; an end is not the exact value


class Atom(NamedTuple):
    """The coordinates from `low` to `high` of one domain."""

    domain: int
    low: float
    high: float
    flags: int = 0


class Interest(NamedTuple):
    """One interest, before it joins others in columns."""

    edges: tuple[tuple[int, int, int], ...]
    conjuncts: tuple[tuple[int, tuple[Atom, ...]], ...] = ()  # variable number, alternatives
    flags: int = 0


class Interests(NamedTuple):
    """Interest i: edges edge_offsets[i]…, conjuncts conjunct_offsets[i]…; `numbers` give the order of subscribing."""

    numbers: npt.NDArray[np.int64]
    flags: npt.NDArray[np.uint8]
    edges: Triples
    edge_offsets: npt.NDArray[np.int64]
    conjuncts: Conjuncts
    conjunct_offsets: npt.NDArray[np.int64]


def gather(interests: Sequence[Interest], numbers: Sequence[int]) -> Interests:
    """Single interests as columns."""
    edges = np.array([edge for each in interests for edge in each.edges], np.int32).reshape(-1, 3)
    conjuncts = [conjunct for each in interests for conjunct in each.conjuncts]
    atoms = [atom for _, alternatives in conjuncts for atom in alternatives]
    return Interests(
        np.array(numbers, np.int64),
        np.array([each.flags for each in interests], np.uint8),
        Triples(*(np.ascontiguousarray(column) for column in edges.T)),
        offsets_of([len(each.edges) for each in interests]),
        Conjuncts(
            np.array([variable for variable, _ in conjuncts], np.int16),
            offsets_of([len(alternatives) for _, alternatives in conjuncts]),
            Atoms(
                np.array([atom.domain for atom in atoms], np.uint8),
                np.array([atom.low for atom in atoms], np.float64),
                np.array([atom.high for atom in atoms], np.float64),
                np.array([atom.flags for atom in atoms], np.uint8),
            ),
        ),
        offsets_of([len(each.conjuncts) for each in interests]),
    )


def offsets_of(sizes: Sequence[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Where parts of these sizes begin and end when they lie end to end."""
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, np.int64), dtype=np.int64)))
