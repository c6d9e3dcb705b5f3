"""The constraint rows of pattern sets as conjuncts, whole columns at a time.

Ranges of numbers are intersected by sorting: the rows on one variable of one subscription become one interval. The
others are compiled once for each distinct list of constraints. The law: the conjuncts are those of the subscription's
query, because every variable of a constraint stands in one of its plain edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.index.arrays import ragged
from heliograph.index.compiling import interest_of
from heliograph.index.domains import Domain, place_of
from heliograph.index.interests import HIGH_OPEN, LOW_OPEN, Atoms, Interests, gather, offsets_of
from heliograph.syntax.constraints import OPERATORS, Constraint, bare_integers
from heliograph.syntax.patterns import PatternSet, Rows
from heliograph.syntax.query import Form, Pattern, Query, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Variable, parse_cell, value_of
from heliograph.vocabulary import Vocabulary

Int64s: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_NUMBER_LIKE = r"^[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?$"


class Asked(NamedTuple):
    """Conjuncts by subscription: number i is of subscription owner[i] and about the variable with the code code[i].

    Subscriptions are counted as in the rows that were asked about; `flags` are theirs.
    """

    owner: Int64s
    code: Int64s
    sizes: Int64s
    atoms: Atoms
    flags: npt.NDArray[np.uint8]


def asked_of(patterns: PatternSet, rows: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Asked:
    """What the constraints of these subscriptions ask."""
    limits = patterns.limit_rows(rows)
    ranges, ranged = _ranges(patterns, limits, len(rows))
    others = np.flatnonzero(~ranged & (np.diff(limits.offsets) > 0))
    if not len(others):
        return ranges
    return _joined(ranges, _compiled(patterns, limits, others, vocabulary, taxonomy))


def _joined(first: Asked, second: Asked) -> Asked:
    pairs: zip[tuple[Int64s, Int64s]] = zip(first[:3], second[:3], strict=True)
    owner, code, sizes = (np.concatenate(pair) for pair in pairs)
    order = np.argsort(owner, kind="stable")
    at, _ = ragged(offsets_of(sizes), order)
    atoms = take(chain_atoms([first.atoms, second.atoms]), at)
    return Asked(owner[order], code[order], sizes[order], atoms, first.flags | second.flags)


def take(atoms: Atoms, at: Int64s) -> Atoms:
    """The atoms at these places."""
    return Atoms(atoms.domain[at], atoms.low[at], atoms.high[at], atoms.flags[at])


def chain_atoms(several: Sequence[Atoms]) -> Atoms:
    """Atoms end to end."""
    return Atoms(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


# --- ranges of numbers ------------------------------------------------------------------------------------------


def _which(*operators: str) -> Flags:
    return np.array([operator in operators for operator in OPERATORS])


_FROM, _TO = _which("=", ">", ">="), _which("=", "<", "<=")
_OVER, _UNDER = _which(">"), _which("<")


def _ranges(patterns: PatternSet, limits: Rows, count: int) -> tuple[Asked, Flags]:
    """The subscriptions all of whose constraints are bounds by exact numbers, and which those are."""
    variable, operator, value = (column[limits.positions] for column in patterns.limits)
    bounding = _FROM[operator] | _TO[operator]
    numbers = _numbers(patterns.values, np.unique(value[bounding]))[value]
    plain: Flags = np.bincount(limits.owners, ~bounding | np.isnan(numbers), count) == 0
    at = np.flatnonzero(plain[limits.owners])
    found = _intervals(limits.owners[at], variable[at].astype(np.int64), operator[at], numbers[at])
    plain[found.owner[found.low > found.high]] = False
    kept = np.flatnonzero(plain[found.owner])
    number = np.full(len(kept), Domain.NUMBER, np.uint8)
    atoms = Atoms(number, found.low[kept], found.high[kept], found.flags[kept])
    ones = np.ones(len(kept), np.int64)
    return Asked(found.owner[kept], found.code[kept], ones, atoms, np.zeros(count, np.uint8)), plain


class _Intervals(NamedTuple):
    """One interval for each variable of each subscription; low is above high where nothing lies between."""

    owner: Int64s
    code: Int64s
    low: Floats
    high: Floats
    flags: npt.NDArray[np.uint8]


def _intervals(owner: Int64s, code: Int64s, operator: npt.NDArray[np.integer], at: Floats) -> _Intervals:
    """Intersects the bounds on one variable: the innermost count, and of equal ones the open."""
    if not len(owner):
        none = np.zeros(0)
        return _Intervals(owner, code, none, none, none.astype(np.uint8))
    order = np.lexsort((code, owner))
    owner, code, operator, at = owner[order], code[order], operator[order], at[order]
    first = np.flatnonzero(np.append(True, (owner[1:] != owner[:-1]) | (code[1:] != code[:-1])))
    sizes = np.diff(np.append(first, len(owner)))
    low = np.maximum.reduceat(np.where(_FROM[operator], at, -np.inf), first)
    high = np.minimum.reduceat(np.where(_TO[operator], at, np.inf), first)
    over = np.logical_or.reduceat(_OVER[operator] & (at == np.repeat(low, sizes)), first)
    under = np.logical_or.reduceat(_UNDER[operator] & (at == np.repeat(high, sizes)), first)
    low = np.where((low == high) & (over | under), np.inf, low)
    flags = (over * LOW_OPEN + under * HIGH_OPEN).astype(np.uint8)
    return _Intervals(owner[first], code[first], low, high, flags)


def _numbers(values: pa.Array[Any], wanted: npt.NDArray[np.integer]) -> Floats:
    """The numbers that the wanted values stand for; not-a-number where one is none, or not exactly a float64."""
    numbers = np.full(len(values), np.nan)
    texts = values.take(wanted)
    whole = bare_integers(texts)
    numbers[wanted[whole]] = np.asarray(texts.filter(pa.array(whole)).cast(pa.int64()))
    like = np.asarray(pc.match_substring_regex(texts, _NUMBER_LIKE).fill_null(False)) & ~whole
    for code, text in zip(wanted[like].tolist(), texts.filter(pa.array(like)).to_pylist(), strict=True):
        numbers[code] = _exact(str(text))
    return numbers


def _exact(text: str) -> float:
    term = parse_cell(text)
    if value_of(term) is None:
        return np.nan
    domain, coordinate, rounded = place_of(term, lambda _: 0)
    return coordinate if domain == Domain.NUMBER and not rounded and isfinite(coordinate) else np.nan


# --- anything else ----------------------------------------------------------------------------------------------


class _Lists(NamedTuple):
    """Distinct lists of constraints as interests of their own, and the code of each conjunct's variable."""

    interests: Interests
    codes: Int64s


def _compiled(patterns: PatternSet, limits: Rows, wanted: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Asked:
    """What the others ask: those with the same constraints ask the same."""
    numbers, firsts = _alike(patterns, limits, wanted)
    lists = [[patterns.constraint(row) for row in limits.of(one)] for one in firsts]
    names = [list(dict.fromkeys([name for each in constraints for name in each.needs])) for constraints in lists]
    alone = [interest_of(_query(*each), vocabulary, taxonomy) for each in zip(names, lists, strict=True)]
    codes = {node: code for code, node in enumerate(patterns.nodes) if type(node) is Variable}
    asked = [codes[own[number]] for own, each in zip(names, alone, strict=True) for number, _ in each.conjuncts]
    found = _Lists(gather(alone, range(len(alone))), np.array(asked, np.int64))
    return _spread(found, wanted, numbers, len(limits.offsets) - 1)


def _alike(patterns: PatternSet, limits: Rows, wanted: Int64s) -> tuple[Int64s, list[int]]:
    """The distinct lists of constraints: the number of each wanted subscription's, and the first that has each."""
    variable, operator, value = (column[limits.positions].astype(np.int64) for column in patterns.limits)
    key = (variable * len(OPERATORS) + operator) * len(patterns.values) + value
    keys, bounds = key.tolist(), limits.offsets.tolist()
    known: dict[tuple[int, ...], int] = {}
    numbers: list[int] = []
    firsts: list[int] = []
    for one in wanted.tolist():
        numbers.append(known.setdefault(tuple(keys[bounds[one] : bounds[one + 1]]), len(known)))
        if numbers[-1] == len(firsts):
            firsts.append(one)
    return np.array(numbers, np.int64), firsts


def _query(names: Sequence[Variable], constraints: Sequence[Constraint]) -> Query:
    """Constraints by themselves: edges of nothing but variables bind theirs in order."""
    bound: list[Pattern] = [TriplePattern(name, name, name) for name in names]
    asked = [each.pattern for each in constraints if each.pattern is not None]
    conditions = [each.condition for each in constraints if each.condition is not None]
    return Query(Form.SELECT, (*bound, *asked), tuple(conditions))


def _spread(lists: _Lists, owners: Int64s, numbers: Int64s, count: int) -> Asked:
    """List numbers[i] for subscription owners[i]."""
    interests = lists.interests
    at, bounds = ragged(interests.conjunct_offsets, numbers)
    atoms, ends = ragged(interests.conjuncts.offsets, at)
    flags = np.zeros(count, np.uint8)
    flags[owners] = interests.flags[numbers]
    owner = np.repeat(owners, np.diff(bounds))
    return Asked(owner, lists.codes[at], np.diff(ends), take(interests.conjuncts.atoms, atoms), flags)
