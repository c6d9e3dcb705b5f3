"""The terms that satisfy a condition on one variable, exactly, and the algebra of such regions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from math import inf, isinf, isnan, nextafter
from typing import NamedTuple

from heliograph.sparql.evaluate import ZONE_DOUBT, compare, effective_boolean, evaluate
from heliograph.sparql.query import And, Call, Compare, Count, Expression, In, Metric, Not, Or, walk
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, Variable, literal, value_of
from heliograph.values import NUMERIC, XSD_BOOLEAN, XSD_STRING, Instant, Kind, Value, to_float32

# ----------------------------------------------------------------------------------------------------------------------
# Where a constant cuts a line of values: the place on each line before which lie the values below the constant.
#
# Numbers are compared after promotion to the wider kind, so one constant cuts three lines at three places: exact
# numbers (integers and decimals), xsd:float and xsd:double. A cut is (value, 0) before all that equal the value,
# (value, 1) behind them. The law: `x < c` holds exactly of the values before `cuts_of(c)` with side 0, `x <= c`
# exactly of those before the ones with side 1. An exact number is rounded before it meets a double, so a double cuts
# the exact line halfway between its neighbours; ties go to the even one.
# ----------------------------------------------------------------------------------------------------------------------

Number = int | Decimal | Fraction | float
Cut = tuple[Number, int]
Line = tuple[Cut, ...]  # what lies from the first cut to the second, from the third to the fourth, …

START: Cut = (-inf, 0)
END: Cut = (inf, 1)
WHOLE: Line = (START, END)
_DOUBLES_END = 2**1024  # what would come after the largest double, were there no infinity
_SINGLES_END = 2**128
_UNIFORM = 2**24  # up to here an integer is a float32, so that it cuts all three lines alike


class NumberCuts(NamedTuple):
    """Where a constant cuts the lines of exact numbers, floats and doubles."""

    exact: Cut
    single: Cut
    double: Cut


@lru_cache(maxsize=4096)
def cuts_of(constant: Value, side: int) -> NumberCuts:
    """The cuts of a number that is one."""
    kind, value = constant
    assert isinstance(value, (int, Decimal, float))
    if kind == Kind.DOUBLE:
        assert isinstance(value, float)
        return NumberCuts(_before_rounding(value, side), (value, side), (value, side))
    if kind == Kind.FLOAT:
        assert isinstance(value, float)
        return NumberCuts(_before_rounding(*_before_single(value, side)), (value, side), (value, side))
    exact = (value, side)
    if isinstance(value, int) and -_UNIFORM <= value <= _UNIFORM:
        return NumberCuts(exact, exact, exact)
    double = _to_double(value)
    single = to_float32(double)
    return NumberCuts(
        exact, exact if single == value else (single, side), exact if double == value else (double, side)
    )  # equal cuts are one object: forms by the hundred thousand keep them


def _to_double(value: int | Decimal | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _before_rounding(value: float, side: int) -> Cut:
    """Where exact numbers begin whose double is `value` or, with side 1, above it."""
    if isinf(value) and (value > 0) == bool(side):
        return END if side else START
    low, high = (value, nextafter(value, inf)) if side else (nextafter(value, -inf), value)
    middle = (_exact(low, _DOUBLES_END) + _exact(high, _DOUBLES_END)) / 2
    return middle, side if _is_even(value, "d", "q") else 1 - side


def _before_single(value: float, side: int) -> tuple[float, int]:
    """The same for doubles that are rounded to a float."""
    if isinf(value) and (value > 0) == bool(side):
        return value, side
    low, high = (value, _next_single(value)) if side else (-_next_single(-value), value)
    middle = float((_exact(low, _SINGLES_END) + _exact(high, _SINGLES_END)) / 2)
    return middle, side if _is_even(value, "f", "i") else 1 - side


def _exact(value: float, end: int) -> Fraction:
    return Fraction((end if value > 0 else -end) if isinf(value) else value)


def _is_even(value: float, code: str, bits: str) -> bool:
    """Whether the last binary digit of the mantissa is 0; that of an infinity is."""
    pattern: int = struct.unpack(bits, struct.pack(code, value))[0]
    return pattern % 2 == 0


def _next_single(value: float) -> float:
    """The float32 after one that is not the last."""
    (pattern,) = struct.unpack("i", struct.pack("f", value + 0.0))
    stepped = pattern + 1 if value >= 0 else pattern - 1
    return float(struct.unpack("f", struct.pack("i", stepped))[0])


# --- lines ------------------------------------------------------------------------------------------------------


def between(low: Cut, high: Cut) -> Line:
    return (low, high) if low < high else ()


def line_join(one: Line, other: Line) -> Line:
    """What lies on either line."""
    return _swept(one, other, 1)


def line_meet(one: Line, other: Line) -> Line:
    """What lies on both lines."""
    if len(one) == 2 and len(other) == 2:
        return between(max(one[0], other[0]), min(one[1], other[1]))
    return _swept(one, other, 2) if one and other else ()


def _swept(one: Line, other: Line, needed: int) -> Line:
    """The parts on which at least `needed` of the two lines run."""
    steps = sorted([(cut, -1 if at % 2 else 1) for line in (one, other) for at, cut in enumerate(line)])
    found: list[Cut] = []
    depth = 0
    for cut, step in steps:
        before, depth = depth >= needed, depth + step
        if before != (depth >= needed):
            if found and found[-1] == cut:
                found.pop()
            else:
                found.append(cut)
    return tuple(found)


def line_within(one: Line, other: Line) -> bool:
    """Whether all that lies on one line lies on the other."""
    if len(one) == 2 and len(other) == 2:
        return other[0] <= one[0] and one[1] <= other[1]
    return one == other or line_meet(one, other) == one


def line_holds(line: Line, value: Number) -> bool:
    at, behind = (value, 0), (value, 1)
    return any(line[number] <= at and behind <= line[number + 1] for number in range(0, len(line), 2))


# ----------------------------------------------------------------------------------------------------------------------
# The terms that satisfy a condition on one variable, exactly: a region, and the algebra of regions.
#
# Every term is of one sort. Names, texts, booleans and odd literals are told apart by identity alone, so a region has
# either some of them or all but some; numbers and moments lie on a line and a region has intervals of it (`cuts`). A
# region may also be just these terms, where VALUES asks for identity and not for value.
#
# The laws: `meet` and `join` are intersection and union, exactly, as long as no region of given terms is joined with
# one by value (then the join holds their equals, too); `within` says yes only of a subset.
# ----------------------------------------------------------------------------------------------------------------------

TRUE, FALSE = literal("true", XSD_BOOLEAN), literal("false", XSD_BOOLEAN)


class Sort(IntEnum):
    """Where a term belongs; the first ones by identity, the others on lines."""

    IRI = 0
    BLANK = 1
    TEXT = 2  # xsd:string and language-tagged
    ODD = 3  # ill-typed literals and unknown datatypes
    BOOLEAN = 4
    NAN = 5  # floats and doubles that are no number: at 0
    EXACT = 6  # integers and decimals
    SINGLE = 7  # xsd:float
    DOUBLE = 8
    TIME = 9  # xsd:dateTime with a zone, in attoseconds
    LOCAL_TIME = 10
    DATE = 11
    LOCAL_DATE = 12


FIRST_LINE = Sort.NAN
NUMBERS = (Sort.EXACT, Sort.SINGLE, Sort.DOUBLE)
LITERALS = tuple(sort for sort in Sort if sort > Sort.BLANK)


class Some(NamedTuple):
    """These terms of a sort or, with `but`, all of it but these."""

    but: bool
    terms: frozenset[Term] = frozenset()


Part = Some | Line

NONE, ALL = Some(False), Some(True)
_BOTH = Some(False, frozenset((TRUE, FALSE)))  # there are no other booleans, so all of them are these two
_EMPTY_PARTS: tuple[Part, ...] = tuple(NONE if sort < FIRST_LINE else () for sort in Sort)


class Region(NamedTuple):
    """A part for each sort; or, where `among` is given, just these terms."""

    parts: tuple[Part, ...] = _EMPTY_PARTS
    among: frozenset[Term] | None = None


def whole(sort: Sort) -> Part:
    if sort == Sort.BOOLEAN:
        return _BOTH
    return ALL if sort < FIRST_LINE else WHOLE


def region(parts: dict[Sort, Part]) -> Region:
    """A region from its parts; sorts that are not given are empty."""
    return normal(tuple([parts.get(sort, _EMPTY_PARTS[sort]) for sort in Sort]))


def normal(parts: tuple[Part, ...]) -> Region:
    """One spelling for each region: what amounts to a few terms is just these terms."""
    if any(parts[FIRST_LINE:]):
        return Region(parts)
    named: set[Term] = set()
    for sort in range(FIRST_LINE):
        part = parts[sort]
        assert isinstance(part, Some)
        if part.but:
            return Region(parts)
        named |= part.terms
    return just(named)


def number_region(lines: tuple[Part, ...], nan: Part = ()) -> Region:
    """Numbers on the lines of exact ones, floats and doubles; with `nan`, what is no number, too."""
    return normal((*_EMPTY_PARTS[: Sort.NAN], nan, *lines, *_EMPTY_PARTS[Sort.TIME :]))


def just(terms: frozenset[Term] | set[Term]) -> Region:
    return Region(_EMPTY_PARTS, frozenset(terms))


EVERYTHING = Region(tuple(whole(sort) for sort in Sort))
NOTHING = just(frozenset())


# --- single terms -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def place_of(term: Term) -> tuple[Sort, Number | None]:
    """The sort of a term and its value there; None where terms are told apart by identity."""
    value = value_of(term)
    if value is None:
        return _sort_of_unvalued(term), None
    kind, known = value
    if isinstance(known, Instant):
        first = Sort.TIME if kind is Kind.DATETIME else Sort.DATE
        return Sort(first + (known.zone is None)), known.atto
    if kind is Kind.BOOLEAN:
        return Sort.BOOLEAN, None
    if isinstance(known, float):
        sort = Sort.SINGLE if kind is Kind.FLOAT else Sort.DOUBLE
        return (Sort.NAN, 0) if isnan(known) else (sort, known)
    return Sort.EXACT, known


def _sort_of_unvalued(term: Term) -> Sort:
    if term.kind is not TermKind.LITERAL:
        return Sort.IRI if term.kind is TermKind.IRI else Sort.BLANK
    return Sort.TEXT if term.datatype in (XSD_STRING, RDF_LANG_STRING) else Sort.ODD


def holds(region: Region, term: Term) -> bool:
    """Whether a term lies in a region."""
    if region.among is not None:
        return term in region.among
    sort, value = place_of(term)
    part = region.parts[sort]
    if isinstance(part, Some):
        return (term in part.terms) != part.but
    assert value is not None
    return line_holds(part, value)


# --- algebra ----------------------------------------------------------------------------------------------------


def meet(one: Region, other: Region) -> Region:
    """What lies in both."""
    if one is EVERYTHING or other is EVERYTHING:
        return other if one is EVERYTHING else one
    if one.among is not None:
        return just({term for term in one.among if holds(other, term)})
    if other.among is not None:
        return just({term for term in other.among if holds(one, term)})
    return normal(tuple(_parts_meet(one.parts, other.parts)))


def join(one: Region, other: Region) -> Region:
    """What lies in either."""
    if one.among is not None and other.among is not None:
        return just(one.among | other.among)
    return normal(tuple([_part_join(*pair) for pair in zip(_parts(one), _parts(other), strict=True)]))


def within(one: Region, other: Region) -> bool:
    """Whether all that lies in one region lies in the other."""
    if one is other or other is EVERYTHING:
        return True
    if one.among is not None:
        return all(holds(other, term) for term in one.among)
    if other.among is not None:
        return False  # one has a whole interval, or all but some of a sort
    return all(
        mine is theirs or _part_within(mine, theirs) for mine, theirs in zip(one.parts, other.parts, strict=True)
    )


def _parts(region: Region) -> tuple[Part, ...]:
    """The parts of a region, with the equals of given terms."""
    if region.among is None:
        return region.parts
    parts = list(_EMPTY_PARTS)
    for term in region.among:
        sort, value = place_of(term)
        point: Part = Some(False, frozenset((term,))) if value is None else ((value, 0), (value, 1))
        parts[sort] = _part_join(parts[sort], point)
    return tuple(parts)


def _parts_meet(one: tuple[Part, ...], other: tuple[Part, ...]) -> Iterator[Part]:
    """Part by part. Lines that exact numbers and doubles share stay one object: there are very many of them."""
    known: dict[tuple[int, int], Part] = {}
    for mine, theirs in zip(one, other, strict=True):
        if mine is theirs:
            yield mine
            continue
        pair = id(mine), id(theirs)
        if pair not in known:
            known[pair] = _part_meet(mine, theirs)
        yield known[pair]


def _part_meet(one: Part, other: Part) -> Part:
    if isinstance(one, Some) and isinstance(other, Some):
        if one.but and other.but:
            return Some(True, one.terms | other.terms)
        some, rest = (other, one) if one.but else (one, other)
        return Some(False, some.terms - rest.terms if rest.but else some.terms & rest.terms)
    assert not isinstance(one, Some)
    assert not isinstance(other, Some)
    return line_meet(one, other)


def _part_join(one: Part, other: Part) -> Part:
    if one is other:
        return one
    if isinstance(one, Some) and isinstance(other, Some):
        if not one.but and not other.but:
            return Some(False, one.terms | other.terms)
        rest, some = (one, other) if one.but else (other, one)
        return Some(True, rest.terms & some.terms if some.but else rest.terms - some.terms)
    assert not isinstance(one, Some)
    assert not isinstance(other, Some)
    return line_join(one, other)


def _part_within(one: Part, other: Part) -> bool:
    if isinstance(one, Some) and isinstance(other, Some):
        if one.but:
            return other.but and other.terms <= one.terms
        return not (one.terms & other.terms) if other.but else one.terms <= other.terms
    assert not isinstance(one, Some)
    assert not isinstance(other, Some)
    return line_within(one, other)


def convex(region: Region) -> Region:
    """A region with the gaps of its lines filled."""
    if region.among is not None:
        return region
    return normal(tuple([part if isinstance(part, Some) or not part else (part[0], part[-1]) for part in region.parts]))


# ----------------------------------------------------------------------------------------------------------------------
# Where a condition on one variable is true, and where it is false, exactly; elsewhere it is an error.
#
# The laws are those of `semantics.comparison`: `!=` is true where `=` is false; literals of different families are
# incomparable; a name is different from everything else and is `<=` itself alone; not-a-number is neither below nor
# above anything, nor equal to it, and that is false, not an error; moments with and without a zone are ordered only
# where no zone could turn them round. The order of texts and all functions of text are left to others: no region says
# them.
# ----------------------------------------------------------------------------------------------------------------------


class Truth(NamedTuple):
    """Where something is true and where it is false."""

    true: Region
    false: Region


Parts = dict[Sort, Part]

_NAMES: Parts = {Sort.IRI: ALL, Sort.BLANK: ALL}
_LITERALS: Parts = {sort: whole(sort) for sort in LITERALS}
_NOT_IRI: Parts = {sort: whole(sort) for sort in Sort if sort != Sort.IRI}
_NO_NUMBER: Parts = {Sort.NAN: WHOLE}
_ANY_NUMBER: Parts = {**dict.fromkeys(NUMBERS, WHOLE), **_NO_NUMBER}
_ERROR = Truth(NOTHING, NOTHING)
_KINDS = {
    "ISIRI": Truth(region({Sort.IRI: ALL}), region(_NOT_IRI)),
    "ISLITERAL": Truth(region(_LITERALS), region(_NAMES)),
    "BOUND": Truth(EVERYTHING, NOTHING),
}
_OTHER_ZONE = {
    Sort.TIME: Sort.LOCAL_TIME,
    Sort.LOCAL_TIME: Sort.TIME,
    Sort.DATE: Sort.LOCAL_DATE,
    Sort.LOCAL_DATE: Sort.DATE,
}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def truth_of(expression: Expression) -> Truth | None:
    """The truth of an expression in one variable that is bound; None where no region says it."""
    done: list[Truth] = []
    for each, operands in reversed(_prefix(expression)):
        found = _connected(each, [done.pop() for _ in range(operands)]) if operands else _test(each)
        if found is None:
            return None
        done.append(found)
    return done[0]


def true_of(expression: Expression) -> Region | None:
    """Where it is true. Most conditions are the order of a number: of these nothing else is computed."""
    match expression:
        case Compare(symbol, Variable(), Term() as constant) if symbol not in ("=", "!="):
            value = value_of(constant)
            if value is not None and value.kind in NUMERIC and value.value == value.value:
                return _number_ray(symbol, cuts_of(value, int(symbol in ("<=", ">"))))
    truth = truth_of(expression)
    return None if truth is None else truth.true


def _number_ray(symbol: str, cuts: tuple[Cut, ...]) -> Region:
    ends = (START, None) if symbol[0] == "<" else (None, END)
    lines = {cut: between(ends[0] or cut, ends[1] or cut) for cut in cuts}  # equal cuts share their lines
    return number_region(tuple([lines[cut] for cut in cuts]))


def _prefix(expression: Expression) -> list[tuple[Expression, int]]:
    """Connectives with the number of their operands, which follow them; anything else has none."""
    ordered: list[tuple[Expression, int]] = []
    stack = [expression]
    while stack:
        each = stack.pop()
        operands = (each.operand,) if isinstance(each, Not) else each.operands if isinstance(each, (And, Or)) else ()
        ordered.append((each, len(operands)))
        stack.extend(reversed(operands))
    return ordered


def _connected(connective: Expression, truths: list[Truth]) -> Truth:
    true, false = truths[0]
    if isinstance(connective, Not):
        return Truth(false, true)
    both, either = (meet, join) if isinstance(connective, And) else (join, meet)
    for truth in truths[1:]:
        true, false = both(true, truth.true), either(false, truth.false)
    return Truth(true, false)


def _test(expression: Expression) -> Truth | None:
    match expression:
        case Compare(symbol, Variable(), other):
            return _compared(symbol, other)
        case Compare(symbol, other, Variable()):
            return _compared(MIRRORED[symbol], other)
        case In(Variable(), choices):
            return _listed(choices, expression.negated)
        case Call(name, (Variable(),)) if name in _KINDS:
            return _KINDS[name]
    if not _is_constant(expression):
        return None
    term = evaluate(expression, {})
    value = None if term is None else effective_boolean(term)
    return _ERROR if value is None else Truth(EVERYTHING, NOTHING) if value else Truth(NOTHING, EVERYTHING)


def _is_constant(expression: Expression) -> bool:
    return not any(isinstance(node, (Variable, Metric, Count)) for node in walk(expression))


def _compared(symbol: str, other: Expression) -> Truth | None:
    if not isinstance(other, Term):
        if not _is_constant(other):
            return None
        found = evaluate(other, {})
        return _ERROR if found is None else comparison(symbol, found)
    return comparison(symbol, other)


def _listed(choices: tuple[Expression, ...], negated: bool) -> Truth | None:
    """`x IN (a, b)` is `x = a || x = b`; nothing is in an empty list."""
    found = Truth(NOTHING, EVERYTHING)
    for choice in choices:
        truth = _compared("=", choice)
        if truth is None:
            return None
        found = Truth(join(found.true, truth.true), meet(found.false, truth.false))
    return Truth(found.false, found.true) if negated else found


# --- comparisons ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def comparison(symbol: str, constant: Term) -> Truth | None:
    """Where `?x symbol constant` is true and false; None for the order of texts."""
    if symbol in ("=", "!="):
        same = _equality(constant)
        return same if symbol == "=" else Truth(same.false, same.true)
    return _order(symbol, constant)


def _equality(constant: Term) -> Truth:
    sort, value = place_of(constant)
    only = frozenset((constant,))
    if sort in (Sort.IRI, Sort.BLANK):
        return Truth(just(only), region({**{each: whole(each) for each in Sort}, sort: Some(True, only)}))
    if sort == Sort.TEXT:
        return Truth(just(only), region({**_NAMES, sort: Some(True, only)}))
    if sort == Sort.ODD:
        return Truth(just(only), region(_NAMES))
    if sort == Sort.BOOLEAN:
        return Truth(just(only), region({**_NAMES, sort: Some(False, frozenset((TRUE, FALSE)) - only)}))
    if sort == Sort.NAN:
        return Truth(NOTHING, region({**_NAMES, **_ANY_NUMBER}))
    if sort in _OTHER_ZONE:
        assert value is not None
        lines, holes = _point((value, 0), (value, 1))
        return Truth(region({sort: lines}), region({**_NAMES, sort: holes, _OTHER_ZONE[sort]: WHOLE}))
    return _equal_number(constant)


def _equal_number(constant: Term) -> Truth:
    low, high = _number_cuts(constant, 0), _number_cuts(constant, 1)
    points = {sort: _point(*ends) for sort, *ends in zip(NUMBERS, low, high, strict=True)}
    true: Parts = {sort: point for sort, (point, _) in points.items()}
    false: Parts = {sort: hole for sort, (_, hole) in points.items()}
    return Truth(region(true), region({**_NAMES, **false, **_NO_NUMBER}))


def _number_cuts(constant: Term, side: int) -> tuple[Cut, ...]:
    value = value_of(constant)
    assert value is not None
    return cuts_of(value, side)


def _point(low: Cut, high: Cut) -> tuple[Line, Line]:
    """What lies between two cuts of a line, and what lies outside."""
    return between(low, high), between(START, low) + between(high, END)


def _order(symbol: str, constant: Term) -> Truth | None:
    sort, _ = place_of(constant)
    if sort == Sort.TEXT:
        return None
    if sort in (Sort.IRI, Sort.BLANK, Sort.ODD):  # ordered against nothing but themselves
        itself = just({constant})
        return Truth(itself, NOTHING) if len(symbol) == 2 else Truth(NOTHING, itself)
    if sort == Sort.BOOLEAN:
        found = {term for term in (TRUE, FALSE) if compare(symbol, term, constant)}
        return Truth(just(found), just({TRUE, FALSE} - found))
    if sort == Sort.NAN:
        return Truth(NOTHING, region(_ANY_NUMBER))
    if sort in _OTHER_ZONE:
        return _moment_order(symbol, constant, sort)
    cuts = _number_cuts(constant, int(symbol in ("<=", ">")))
    below, above = _number_ray("<", cuts), _number_ray(">", cuts)
    true, false = (below, above) if symbol[0] == "<" else (above, below)
    return Truth(true, number_region(false.parts[Sort.EXACT : Sort.TIME], WHOLE))


def _rays(symbol: str, cut: Cut) -> tuple[Line, Line]:
    below, above = between(START, cut), between(cut, END)
    return (below, above) if symbol[0] == "<" else (above, below)


def _moment_order(symbol: str, constant: Term, sort: Sort) -> Truth:
    value = value_of(constant)
    assert value is not None
    assert isinstance(value.value, Instant)
    at, other = value.value.atto, _OTHER_ZONE[sort]
    true, false = _rays(symbol, (at, int(symbol in ("<=", ">"))))
    surely_below, surely_above = between(START, (at - ZONE_DOUBT, 0)), between((at + ZONE_DOUBT, 1), END)
    far = (surely_below, surely_above) if symbol[0] == "<" else (surely_above, surely_below)
    return Truth(region({sort: true, other: far[0]}), region({sort: false, other: far[1]}))


# ----------------------------------------------------------------------------------------------------------------------
# How far a region reaches, as two numbers in one order of all terms: what tells most regions apart at once.
#
# The law: if one region is within another, its extent is within the other's. Sorts follow each other; on a line a
# place keeps the 48 leading binary digits of its float64, which is monotone. Terms that are told apart by identity
# alone lie where they were first met.
# ----------------------------------------------------------------------------------------------------------------------

_BITS = 59  # of a place within its sort, so that all sorts fit into 63
_ROUNDED = 64 - _BITS
_SIGN = 1 << 63


class Extent(NamedTuple):
    """The first and the last place of a region; the last lies before the first where there is nothing in it."""

    low: int
    high: int


class Extents:
    """Extents of regions, with the places of the terms that these name."""

    def __init__(self) -> None:
        self._places: dict[Term, int] = {}

    def of(self, region: Region) -> Extent:
        if region.among is not None:
            places = [self._of_term(term) for term in region.among]
            return Extent(min(places), max(places)) if places else Extent(1, 0)
        spans = [self._span(sort, part) for sort, part in enumerate(region.parts) if part and part != NONE]
        return Extent(spans[0][0], spans[-1][1]) if spans else Extent(1, 0)

    def _of_term(self, term: Term) -> int:
        sort, value = place_of(term)
        return (sort << _BITS) | (self._named(term) if value is None else _squeezed(value))

    def _named(self, term: Term) -> int:
        return self._places.setdefault(term, len(self._places))

    def _span(self, sort: int, part: Part) -> tuple[int, int]:
        base = sort << _BITS
        if isinstance(part, Some):
            if part.but:
                return base, base | ((1 << _BITS) - 1)
            places = [self._named(term) for term in part.terms]
            return base | min(places), base | max(places)
        return base | _squeezed(part[0][0]), base | _squeezed(part[-1][0])


def _squeezed(value: Number) -> int:
    """The leading digits of a number, as an integer in the same order."""
    try:
        number = float(value)
    except OverflowError:
        number = inf if value > 0 else -inf
    bits: int = struct.unpack("Q", struct.pack("d", number + 0.0))[0]
    return (bits ^ (2 * _SIGN - 1) if bits & _SIGN else bits | _SIGN) >> _ROUNDED
