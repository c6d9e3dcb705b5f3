"""Atoms for people: what one asks as text, and whether a term suits it, in plain Python.

The law: `suits` refuses exactly the terms that the kernels refuse (`kernels.conditions`), and texts that lack a piece
which they must hold; what is left in doubt, or to the query's own conditions, it lets pass.
"""

from __future__ import annotations

from math import isinf

import numpy as np

from heliograph.index.domains import Domain, place_of
from heliograph.index.interests import HIGH_OPEN, LOW_OPEN, ROUNDED, Atom
from heliograph.index.words import text_keys
from heliograph.syntax.spelling import spell_node
from heliograph.taxonomy import Classes
from heliograph.terms import Term
from heliograph.vocabulary import Vocabulary

_ASKED = {
    Domain.IS_A: "is-a",
    Domain.DIRECT: "direct-is-a",
    Domain.SUBCLASS_OF: "subclass-of",
    Domain.SUPERCLASS_OF: "superclass-of",
}
_NAMED = {Domain.IRI: "IRI", Domain.BLANK: "blank node", Domain.TEXT: "text", Domain.ODD: "other literal"}  # by id
_TIMES = {
    Domain.TIME: "dateTime",
    Domain.LOCAL_TIME: "dateTime without a zone",
    Domain.DATE: "date",
    Domain.LOCAL_DATE: "date without a zone",
}
_VALUES = {Domain.NUMBER: "number", Domain.BOOLEAN: "boolean", Domain.NAN: "not-a-number", Domain.FLOAT: "xsd:float"}


# --- text -------------------------------------------------------------------------------------------------------


def spell_atom(atom: Atom, vocabulary: Vocabulary) -> str:
    """An atom as people read it: `number (2000, ∞)`, `is-a Publication`, `IRI Alice`."""
    domain = Domain(int(atom.domain))
    if domain == Domain.WORD:
        return "text that holds a certain piece of what is asked for"
    if domain in _ASKED:
        return f"{_ASKED[domain]} {spell_node(vocabulary.term(int(atom.low)))}"
    if domain in _NAMED:
        return f"{_NAMED[domain]}{_among(atom, vocabulary)}"
    name = _TIMES.get(domain) or _VALUES[domain]
    return name if isinf(atom.low) and isinf(atom.high) else f"{name} {_interval(atom, domain in _TIMES)}"


def _among(atom: Atom, vocabulary: Vocabulary) -> str:
    """Terms by id: a single one, all of them, or those on one side of one, which together make all the others."""
    if atom.low == atom.high:
        return f" {spell_node(vocabulary.term(int(atom.low)))}"
    ends = [("after", atom.low), ("before", atom.high)]
    known = [f" {side} {spell_node(vocabulary.term(int(end)))}" for side, end in ends if not isinf(end)]
    return " and".join(known)


def _interval(atom: Atom, times: bool) -> str:
    low = "(" if int(atom.flags) & LOW_OPEN or isinf(atom.low) else "["
    high = ")" if int(atom.flags) & HIGH_OPEN or isinf(atom.high) else "]"
    if atom.low == atom.high:
        return _end(atom.low, times)
    return f"{low}{_end(atom.low, times)}, {_end(atom.high, times)}{high}"


def _end(end: float, times: bool) -> str:
    if isinf(end):
        return "∞" if end > 0 else "-∞"
    known = times and abs(end) < 2.0**63  # beyond, moments are clamped
    return str(np.datetime64(int(end), "us")) if known else f"{end:.15g}"


# --- verdicts ---------------------------------------------------------------------------------------------------


def suits(atom: Atom, term: Term, vocabulary: Vocabulary, classes: Classes) -> bool:
    """Whether a term may suit an atom; the vocabulary is that of the term's publication."""
    domain = int(atom.domain)
    if domain < Domain.IS_A:
        return _within(atom, term, vocabulary)
    if domain == Domain.WORD:
        return int(atom.low) in text_keys(term.value)
    kind = vocabulary.term(int(atom.low))
    if domain == Domain.IS_A:
        return kind in classes.all_types(term)
    if domain == Domain.DIRECT:
        return kind in classes.types(term)
    return kind in classes.ancestors(term) if domain == Domain.SUBCLASS_OF else term in classes.ancestors(kind)


def _within(atom: Atom, term: Term, vocabulary: Vocabulary) -> bool:
    place = place_of(term, vocabulary.find)
    if place.domain == Domain.FLOAT:
        return True
    if place.domain != atom.domain or not atom.low <= place.coordinate <= atom.high:
        return False
    flags = int(atom.flags)
    doubtful = bool(flags & ROUNDED) or place.rounded
    low_out = place.coordinate == atom.low and flags & LOW_OPEN
    high_out = place.coordinate == atom.high and flags & HIGH_OPEN
    return doubtful or not (low_out or high_out)
