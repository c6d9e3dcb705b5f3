"""The taxonomy's closure as flat arrays, so that a class is looked up in constant time.

Where the closure would be too large to keep (a chain of n classes has n²/2 pairs), there is none: then only the rows
are kept and every publication is walked, as one with sub-classes of its own is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from heliograph.index.arrays import fixed, power_of_two
from heliograph.index.interests import offsets_of
from heliograph.kernels.filter_layout import Closure, Int32s, Int64s
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term
from heliograph.vocabulary import Vocabulary

LIMIT = 20_000_000  # pairs; 16 bytes each


def closure_of(taxonomy: Taxonomy, vocabulary: Vocabulary, limit: int = LIMIT) -> Closure:
    """The closure over the vocabulary's ids; the taxonomy's terms are interned."""
    from heliograph.kernels.classes import fill_pairs

    terms = list(dict.fromkeys([RDF_TYPE, RDFS_SUBCLASS_OF, *(term for row in taxonomy.rows for term in row)]))
    ids = dict(zip(terms, vocabulary.intern_many(terms), strict=True))
    parents = _lists(ids, taxonomy.parents)
    ancestors = _bounded(ids, taxonomy, limit)
    above = parents if ancestors is None else ancestors
    below = np.repeat(np.arange(len(above[0]) - 1), np.diff(above[0]))
    pairs = 1 + ((below << 32) | above[1])
    slots = np.zeros(power_of_two(2 * len(pairs) + 2), np.int64)
    fill_pairs(pairs, slots)
    return fixed(Closure(*parents, *above, slots, ids[RDF_TYPE], ids[RDFS_SUBCLASS_OF], int(ancestors is not None)))


def _bounded(ids: dict[Term, int], taxonomy: Taxonomy, limit: int) -> tuple[Int64s, Int32s] | None:
    """The ancestors of every term, or None if they are too many."""
    total = 0
    for term in ids:
        total += len(taxonomy.ancestors(term))
        if total > limit:
            return None
    return _lists(ids, taxonomy.ancestors)


def _lists(ids: dict[Term, int], above: Callable[[Term], Iterable[Term]]) -> tuple[Int64s, Int32s]:
    """For each id what lies above it, end to end."""
    found = {id: [ids[each] for each in above(term)] for term, id in ids.items()}
    sizes = np.zeros(max(ids.values()) + 1, np.int64)
    for id, each in found.items():
        sizes[id] = len(each)
    flat = [id for row in sorted(found) for id in found[row]]
    return offsets_of(sizes), np.array(flat, np.int32)
