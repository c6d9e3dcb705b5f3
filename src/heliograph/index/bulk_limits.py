"""The constraint rows of pattern sets as conjuncts, whole columns at a time.

Ranges of numbers are intersected by sorting: the rows on one variable of one subscription become one interval. Each
class is a conjunct by itself. Subscriptions that ask anything else are compiled, those with the same constraints once.
The law: the conjuncts are those of the subscription's
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
from heliograph.syntax.query import ClassPattern, Form, Node, Pattern, Query, TriplePattern
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
    asking = _Asking(patterns, patterns.limit_rows(rows), len(rows))
    numbers, classes = _numbers_in(asking), _classes_in(asking, vocabulary)
    plain: Flags = np.bincount(asking.rows.owners, np.isnan(numbers) & (classes < 0), asking.size) == 0
    ranges = _ranges(asking, np.flatnonzero(plain[asking.rows.owners] & ~np.isnan(numbers)), numbers)
    plain[ranges.owner[ranges.low > ranges.high]] = False
    parts = [_of_ranges(asking, ranges, plain)]
    if (classes >= 0).any():
        parts.append(_of_classes(asking, np.flatnonzero(plain[asking.rows.owners] & (classes >= 0)), classes))
    if not plain.all():
        parts.append(_compiled(asking, np.flatnonzero(~plain), vocabulary, taxonomy))
    return _joined(parts)


class _Asking(NamedTuple):
    """The constraint rows of `size` subscriptions."""

    patterns: PatternSet
    rows: Rows
    size: int

    @property
    def variable(self) -> Int64s:
        return self.patterns.limits.variable[self.rows.positions].astype(np.int64)

    @property
    def operator(self) -> npt.NDArray[np.uint8]:
        return self.patterns.limits.operator[self.rows.positions]

    @property
    def value(self) -> npt.NDArray[np.int32]:
        return self.patterns.limits.value[self.rows.positions]


def _joined(parts: Sequence[Asked]) -> Asked:
    if len(parts) == 1:
        return parts[0]
    owner = np.concatenate([part.owner for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    order = np.argsort(owner, kind="stable")
    at, _ = ragged(offsets_of(sizes), order)
    return Asked(
        owner[order],
        np.concatenate([part.code for part in parts])[order],
        sizes[order],
        take(chain_atoms([part.atoms for part in parts]), at),
        np.bitwise_or.reduce([part.flags for part in parts]),
    )


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


class _Intervals(NamedTuple):
    """One interval for each variable of each subscription; low is above high where nothing lies between."""

    owner: Int64s
    code: Int64s
    low: Floats
    high: Floats
    flags: npt.NDArray[np.uint8]


def _ranges(asking: _Asking, at: Int64s, numbers: Floats) -> _Intervals:
    """Intersects the bounds on one variable: the innermost count, and of equal ones the open."""
    if not len(at):
        none, nobody = np.zeros(0), np.zeros(0, np.int64)
        return _Intervals(nobody, nobody, none, none, none.astype(np.uint8))
    at = at[np.lexsort((asking.variable[at], asking.rows.owners[at]))]
    owner, code, operator, number = asking.rows.owners[at], asking.variable[at], asking.operator[at], numbers[at]
    first = np.flatnonzero(np.append(True, (owner[1:] != owner[:-1]) | (code[1:] != code[:-1])))
    sizes = np.diff(np.append(first, len(owner)))
    low = np.maximum.reduceat(np.where(_FROM[operator], number, -np.inf), first)
    high = np.minimum.reduceat(np.where(_TO[operator], number, np.inf), first)
    over = np.logical_or.reduceat(_OVER[operator] & (number == np.repeat(low, sizes)), first)
    under = np.logical_or.reduceat(_UNDER[operator] & (number == np.repeat(high, sizes)), first)
    low = np.where((low == high) & (over | under), np.inf, low)
    return _Intervals(owner[first], code[first], low, high, (over * LOW_OPEN + under * HIGH_OPEN).astype(np.uint8))


def _of_ranges(asking: _Asking, ranges: _Intervals, plain: Flags) -> Asked:
    kept = np.flatnonzero(plain[ranges.owner])
    number = np.full(len(kept), Domain.NUMBER, np.uint8)
    atoms = Atoms(number, ranges.low[kept], ranges.high[kept], ranges.flags[kept])
    return _one_each(asking, ranges.owner[kept], ranges.code[kept], atoms)


def _one_each(asking: _Asking, owner: Int64s, code: Int64s, atoms: Atoms) -> Asked:
    """Conjuncts of one atom."""
    return Asked(owner, code, np.ones(len(owner), np.int64), atoms, np.zeros(asking.size, np.uint8))


def _numbers_in(asking: _Asking) -> Floats:
    """The number that a row bounds its variable by; not-a-number where it does no such thing."""
    bounding = _FROM[asking.operator] | _TO[asking.operator]
    value = asking.value
    return np.where(bounding, _numbers(asking.patterns.values, np.unique(value[bounding]))[value], np.nan)


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


# --- classes ----------------------------------------------------------------------------------------------------

_CLASS_DOMAINS = {"is-a": Domain.IS_A, "subclass-of": Domain.SUBCLASS_OF, "superclass-of": Domain.SUPERCLASS_OF}
_IS_CLASS = _which(*_CLASS_DOMAINS)
_DOMAIN_OF = np.array([_CLASS_DOMAINS.get(operator, 0) for operator in OPERATORS], np.uint8)


def _classes_in(asking: _Asking, vocabulary: Vocabulary) -> Int64s:
    """The id of the class that a row asks for; -1 where it asks for none, or for a variable."""
    at = np.flatnonzero(_IS_CLASS[asking.operator])
    _, first, number = np.unique(asking.value[at], return_index=True, return_inverse=True)
    rows = asking.rows.positions[at[first]].tolist()
    kinds = [_class(asking.patterns.constraint(row)) for row in rows]
    ids = [-1 if isinstance(kind, Variable) else vocabulary.intern(kind) for kind in kinds]
    classes = np.full(len(asking.rows.positions), -1, np.int64)
    classes[at] = np.array(ids, np.int64)[number]
    return classes


def _class(constraint: Constraint) -> Node:
    assert isinstance(constraint.pattern, ClassPattern)
    _, subject, object = constraint.pattern
    return object if subject == constraint.needs[0] else subject


def _of_classes(asking: _Asking, at: Int64s, classes: Int64s) -> Asked:
    ids = classes[at].astype(np.float64)
    atoms = Atoms(_DOMAIN_OF[asking.operator[at]], ids, ids, np.zeros(len(at), np.uint8))
    return _one_each(asking, asking.rows.owners[at], asking.variable[at], atoms)


# --- anything else ----------------------------------------------------------------------------------------------


class _Lists(NamedTuple):
    """Distinct lists of constraints as interests of their own, and the code of each conjunct's variable."""

    interests: Interests
    codes: Int64s


def _compiled(asking: _Asking, wanted: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Asked:
    """What the others ask: those with the same constraints ask the same."""
    patterns = asking.patterns
    numbers, firsts = _alike(asking, wanted)
    lists = [[patterns.constraint(row) for row in asking.rows.of(one)] for one in firsts]
    names = [list(dict.fromkeys([name for each in constraints for name in each.needs])) for constraints in lists]
    alone = [interest_of(_query(*each), vocabulary, taxonomy) for each in zip(names, lists, strict=True)]
    codes = {node: code for code, node in enumerate(patterns.nodes) if type(node) is Variable}
    asked = [codes[own[number]] for own, each in zip(names, alone, strict=True) for number, _ in each.conjuncts]
    found = _Lists(gather(alone, range(len(alone))), np.array(asked, np.int64))
    return _spread(found, wanted, numbers, asking.size)


def _alike(asking: _Asking, wanted: Int64s) -> tuple[Int64s, list[int]]:
    """The distinct lists of constraints: the number of each wanted subscription's, and the first that has each."""
    key = (asking.variable * len(OPERATORS) + asking.operator) * len(asking.patterns.values) + asking.value
    keys, bounds = key.tolist(), asking.rows.offsets.tolist()
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
