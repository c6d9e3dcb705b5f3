"""The known name that comes nearest to one that is not in use, and what a sample of the stream shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from heliograph.filter.encode import Publication, decode
from heliograph.io.publications import Publications
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PLAIN, RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, is_container_member
from heliograph.vocabulary.columns import Ids

# --- the nearest name -------------------------------------------------------------------------------------------
# The known name that comes nearest to one that nobody knows.
#
# First come the slips that leave a name the same to the eye (http or https, a slash or hash at the end, case,
# separators), then the same last part in another namespace, then last parts that few letters tell apart. Near names
# are found by the letters that may be missing from either side, so that the known names are not all compared.

_END = re.compile(r"[/#:]([^/#:]*)[/#:]*\Z")
_LAST = re.compile(r"[^/#:]*\Z")
_SCHEME = re.compile(r"\Ahttps?://(www\.)?", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_.~]|%20")
_LONGEST = 40  # letters of a last part that are looked at
_SHORT, _LONG = 4, 8  # letters from which on one letter, or two, may be wrong


class Near(NamedTuple):
    """A known name, and how it differs."""

    term: Term
    how: str


class Spellings:
    """Known names, ready to be asked; the first given is preferred among equals."""

    def __init__(self, known: Iterable[Term]) -> None:
        self._folded: dict[str, Term] = {}
        self._by_end: dict[str, list[Term]] = {}
        self._clipped: dict[str, list[str]] = {}
        for term in known:
            self._folded.setdefault(_folded(term.value), term)
            self._by_end.setdefault(_end(term.value), []).append(term)
        for end in self._by_end:
            for clipped in _clippings(end, _slack(end)):
                self._clipped.setdefault(clipped, []).append(end)

    def nearest(self, term: Term) -> Near | None:
        """The known name that was probably meant."""
        same = self._folded.get(_folded(term.value))
        if same is not None:
            return Near(same, _slip(term.value, same.value))
        end = _end(term.value)
        if end in self._by_end:
            return Near(self._by_end[end][0], "another namespace")
        near = {other for clipped in _clippings(end, _slack(end)) for other in self._clipped.get(clipped, ())}
        ranked = sorted((distance(end, other), other) for other in near)
        best = [other for far, other in ranked if far <= max(_slack(end), _slack(other))][:1]
        return next((Near(self._closest(term, self._by_end[other]), "its spelling") for other in best), None)

    def _closest(self, term: Term, some: list[Term]) -> Term:
        """The one of the same namespace, if there is one."""
        space = _namespace(term.value)
        return next((each for each in some if _namespace(each.value) == space), some[0])


def _folded(name: str) -> str:
    """The name without what the eye overlooks."""
    return _SEPARATORS.sub("", _SCHEME.sub("", name).rstrip("/#")).casefold()


def _end(name: str) -> str:
    """The last part of a name, without case."""
    found = _END.search(name) if not name.startswith(PLAIN) else None
    return (found[1] if found else name.removeprefix(PLAIN)).casefold()[:_LONGEST]


def _namespace(name: str) -> str:
    return _LAST.sub("", name.rstrip("/#:"))


def _slip(given: str, known: str) -> str:
    """What tells two names apart that look the same."""
    if _SCHEME.match(given) and given.partition("://")[2] == known.partition("://")[2]:
        return "http or https"
    if given.rstrip("/#") == known.rstrip("/#"):
        return "the sign at the end"
    return "upper or lower case" if given.casefold() == known.casefold() else "its spelling"


# --- letters ----------------------------------------------------------------------------------------------------


def _slack(name: str) -> int:
    """How many letters of a name may be wrong."""
    return 0 if len(name) < _SHORT else 1 if len(name) < _LONG else 2


def _clippings(name: str, most: int) -> set[str]:
    """The name without up to so many of its letters: names within that distance have one of these in common."""
    found, last = {name}, {name}
    for _ in range(most):
        last = {text[:at] + text[at + 1 :] for text in last for at in range(len(text))}
        found |= last
    return found


@lru_cache(maxsize=4096)
def distance(one: str, other: str) -> int:
    """How many letters must be put in, taken out, changed or swapped with a neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, last, row = row, before, [at]
        for to, beside in enumerate(other, 1):
            cost = min(row[-1] + 1, before[to] + 1, before[to - 1] + (letter != beside))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == beside:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
    return row[-1]


# --- the sample -------------------------------------------------------------------------------------------------
# What a sample of the stream shows: the properties and classes that are in use, and some publications to try.
#
# Publications come as interned batches, so names are counted on arrays; the first few are kept as graphs of terms.

LOOKED_AT = 200  # publications that are kept, to be asked one by one


@dataclass(slots=True)
class DataSample:
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
