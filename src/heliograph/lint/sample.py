"""What a sample of the stream shows: the properties and classes that are in use, and some publications to try.

Publications come as interned batches, so names are counted on arrays; the first few are kept as graphs of terms.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from heliograph.filter.encoding import decode
from heliograph.filter.matcher import Publication
from heliograph.publications import Ids, Publications
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, is_container_member

LOOKED_AT = 200  # publications that are kept, to be asked one by one


@dataclass(slots=True)
class Sample:
    """The names that publications use, by how often, and the first of these publications."""

    taxonomy: Taxonomy
    size: int = 0
    properties: Counter[Term] = field(default_factory=Counter)
    classes: Counter[Term] = field(default_factory=Counter)
    publications: list[Publication] = field(default_factory=list)

    def learn(self, publications: Publications) -> None:
        """Takes note of a batch."""
        self.size += len(publications.ids)
        missing = LOOKED_AT - len(self.publications)
        self.publications += islice(decode(publications, self.taxonomy), max(missing, 0))
        counts = _counted(publications, publications.triples.predicate)
        self.properties.update(counts)
        self.properties[RDFS_MEMBER] += sum(count for term, count in counts.items() if is_container_member(term))
        for predicate in counts.keys() & {RDF_TYPE, RDFS_SUBCLASS_OF}:
            self._learn_classes(publications, predicate)

    def _learn_classes(self, publications: Publications, predicate: Term) -> None:
        rows = publications.triples.predicate == publications.vocabulary.find_many([predicate])[0]
        ends = [publications.triples.object, *([publications.triples.subject] if predicate != RDF_TYPE else ())]
        for column in ends:
            self.classes.update(_counted(publications, column[rows]))


def _counted(publications: Publications, column: Ids) -> dict[Term, int]:
    ids, counts = np.unique(column, return_counts=True)
    term = publications.vocabulary.term
    return {term(id): count for id, count in zip(ids.tolist(), counts.tolist(), strict=True)}


def frequent(counts: Counter[Term]) -> list[Term]:
    """The names that were met, the frequent ones first."""
    return [term for term, count in counts.most_common() if count]
