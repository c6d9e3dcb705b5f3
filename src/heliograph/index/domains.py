"""Where a term lies: every term has one domain and one coordinate in it, so that a condition on a single variable is a
set of intervals.

The law: within a domain, equal coordinates mean equal values unless a rounded one is among them; in the ordered domains
coordinates are monotone in the value. The coordinate in an unordered domain is the term's id.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import isnan
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.terms import Term, TermKind, value_of
from heliograph.values import Instant, Kind
from heliograph.vocabulary import NO_KIND, NO_ZONE, Typed, Vocabulary
from heliograph.vocabulary.typed import TEXTS, instant_row, row_of

_WHOLE = 2**53  # up to here every integer is a float64


class Domain(IntEnum):
    IRI = 0  # by id
    BLANK = 1  # by id
    NUMBER = 2  # integers, decimals and doubles, by value; ROUNDED where the float64 is not the whole value
    NAN = 3  # doubles that are no number, coordinate 0
    BOOLEAN = 4  # 0 and 1
    TEXT = 5  # xsd:string and language-tagged, by id
    ODD = 6  # ill-typed literals and unknown datatypes, by id
    TIME = 7  # xsd:dateTime with a zone, microseconds since 1970
    LOCAL_TIME = 8  # xsd:dateTime without a zone
    DATE = 9
    LOCAL_DATE = 10
    FLOAT = 11  # xsd:float: promoted differently against each kind, so no interval decides

    # What is asked of a term rather than where it lies; the coordinate is the id of a class, or a hash of text.
    IS_A = 16
    DIRECT = 17  # direct instance: rdf:type, taxonomy rows included
    SUBCLASS_OF = 18
    SUPERCLASS_OF = 19
    WORD = 20  # a piece of the term's text (`text_keys`)


class Places(NamedTuple):
    """Where terms lie, one row a term; `rounded` coordinates stand for other values too."""

    domain: npt.NDArray[np.uint8]
    coordinate: npt.NDArray[np.float64]
    rounded: npt.NDArray[np.bool_]


class Place(NamedTuple):
    """Where one term lies."""

    domain: int
    coordinate: float
    rounded: bool = False


_OF_KIND = {
    NO_KIND: Domain.ODD,
    Kind.INTEGER: Domain.NUMBER,
    Kind.DECIMAL: Domain.NUMBER,
    Kind.FLOAT: Domain.FLOAT,
    Kind.DOUBLE: Domain.NUMBER,
    Kind.BOOLEAN: Domain.BOOLEAN,
    Kind.DATETIME: Domain.TIME,  # and the next one without a zone
    Kind.DATE: Domain.DATE,
}
_DOMAINS = np.array([_OF_KIND[kind] for kind in range(len(_OF_KIND))], np.uint8)
_BY_CATEGORY = {TermKind.IRI: Domain.IRI, TermKind.BLANK: Domain.BLANK}


# --- many terms -------------------------------------------------------------------------------------------------


def places_of(vocabulary: Vocabulary, first: int, last: int) -> Places:
    """Where the terms lie whose ids run from `first` to `last`, the latter excluded."""
    ids = np.arange(first, last, dtype=np.int32)
    typed = vocabulary.typed(ids)
    domain = _domains(typed)
    domain[(domain == Domain.ODD) & vocabulary.textual(first, last)] = Domain.TEXT
    return Places(domain, _coordinates(typed, ids), _rounded(typed))


def _domains(typed: Typed) -> npt.NDArray[np.uint8]:
    domain = _DOMAINS[typed.kind]
    domain[_is_instant(typed) & (typed.zone == NO_ZONE)] += 1
    domain[(domain == Domain.NUMBER) & np.isnan(typed.number)] = Domain.NAN
    for category, its in _BY_CATEGORY.items():
        domain[typed.category == category] = its
    return domain


def _coordinates(typed: Typed, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    coordinate = np.where(np.isnan(typed.number), 0.0, typed.number)
    for rows, known in ((_is_instant(typed), typed.instant), (typed.kind == NO_KIND, ids)):
        coordinate[rows] = known[rows]
    return coordinate


def _rounded(typed: Typed) -> npt.NDArray[np.bool_]:
    far = _is_instant(typed) & ((typed.instant > _WHOLE) | (typed.instant < -_WHOLE))
    rounded: npt.NDArray[np.bool_] = ~typed.exact | far | (typed.kind == Kind.FLOAT)
    return rounded


def _is_instant(typed: Typed) -> npt.NDArray[np.bool_]:
    instant: npt.NDArray[np.bool_] = (typed.kind == Kind.DATETIME) | (typed.kind == Kind.DATE)
    return instant


# --- one constant -----------------------------------------------------------------------------------------------


def place_of(term: Term, intern: Callable[[Term], int]) -> Place:
    """Where one term lies; `intern` is asked for its id where that is the coordinate."""
    value = value_of(term)
    if value is not None:
        return instant_place(value.kind, value.value) if isinstance(value.value, Instant) else _number_place(term)
    if term.kind is TermKind.LITERAL:
        return Place(Domain.TEXT if term.datatype in TEXTS else Domain.ODD, float(intern(term)))
    return Place(_BY_CATEGORY[term.kind], float(intern(term)))


def instant_place(kind: Kind, instant: Instant) -> Place:
    row = instant_row(kind, instant)
    local = instant.zone is None
    return Place(_OF_KIND[kind] + local, float(row.instant), not row.exact or abs(row.instant) > _WHOLE)


def _number_place(term: Term) -> Place:
    row = row_of(term)
    domain = _OF_KIND[row.kind]
    if isnan(row.number):
        return Place(Domain.NAN if domain == Domain.NUMBER else domain, 0.0, domain == Domain.FLOAT)
    return Place(domain, row.number, not row.exact or domain == Domain.FLOAT)
