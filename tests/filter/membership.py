"""The plain rule by which a term lies in a conjunct: no, surely, or perhaps; the kernels follow the same rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from heliograph.filter.interests import Conditions
from heliograph.sparql.regions import HIGH_OPEN, LOW_OPEN, ROUNDED, Atom, Domain, TermPlace, places_of, text_keys
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary

NO, SURE, PERHAPS = 0, 1, 2


class Located(NamedTuple):
    place: TermPlace
    keys: frozenset[int]


@lru_cache(maxsize=4096)
def locate(term: Term, vocabulary: Vocabulary) -> Located:
    id = vocabulary.intern(term)
    domain, coordinate, rounded = places_of(vocabulary, id, id + 1)
    return Located(TermPlace(int(domain[0]), float(coordinate[0]), bool(rounded[0])), frozenset(text_keys(term.value)))


def within(atom: Atom, located: Located) -> int:
    if atom.domain == Domain.WORD:
        return SURE if atom.low in located.keys else NO
    domain, at, rounded = located.place
    if domain == Domain.FLOAT:
        return PERHAPS
    if domain != atom.domain or not atom.low <= at <= atom.high:
        return NO
    if atom.low < at < atom.high:
        return SURE
    if rounded or atom.flags & ROUNDED:
        return PERHAPS
    excluded = (at == atom.low and atom.flags & LOW_OPEN) or (at == atom.high and atom.flags & HIGH_OPEN)
    return NO if excluded else SURE


def lies_in(atoms: Iterable[Atom], located: Located) -> int:
    answers = {within(atom, located) for atom in atoms}
    return SURE if SURE in answers else PERHAPS if PERHAPS in answers else NO


def answer(conditions: Conditions, bindings: Mapping[Variable, Term], vocabulary: Vocabulary) -> int:
    """Whether bindings satisfy conditions."""
    if conditions.never:
        return NO
    answers = {lies_in(atoms, locate(bindings[name], vocabulary)) for name, atoms in conditions.conjuncts}
    return NO if NO in answers else PERHAPS if PERHAPS in answers else SURE
