"""Where a condition on one variable is true: the one algebra that the filter's index, partitioning and lint use.

Four layers, each on the one above:

*Lines.* Numbers and moments are ordered, so a constant cuts a line of values. Numbers are compared after promotion to
the wider kind; one constant therefore cuts three lines at three places: exact numbers (integers and decimals),
xsd:float and xsd:double. A cut is (value, 0) before all that equal the value, (value, 1) behind them. The law: `x < c`
holds exactly of the values before `cuts_of(c, 0)`, `x <= c` exactly of those before `cuts_of(c, 1)`. An exact number is
rounded before it meets a double, so a double cuts the exact line halfway between its neighbours; ties go to the even
one.

*Regions.* Every term is of one sort. Names, texts, booleans and odd literals are known by identity alone, so a region
has either some of them or all but some; numbers and moments lie on a line, and a region has intervals of it. A region
may also be just these terms, where VALUES asks for identity and not for value. The laws: `intersection` and `union`
are exact, as long as no region of given terms is united with one by value (then the union holds their equals, too);
`within` says yes only of a subset; regions that hold the same terms by value are equal.

*Boxes.* What a condition asks of each variable: one region a variable, and any other variable is free. SPARQL's logic
has three values, so a condition is asked either where it is true or where it is false; elsewhere it is an error. The
law: a box holds all for which the condition is as wanted; if the box is `exact` it holds nothing else. Tests of text
give a key that the text must have (`text_keys`), and the order of texts says nothing but that they are texts: such
boxes are not exact.

*Atoms.* The index knows a term by one domain and one float64 coordinate. A region becomes atoms: intervals of
coordinates. Exact numbers and doubles share a domain there, and several values may share a coordinate. The law: a term
of the region lies in one of its atoms, and a term that lies there for sure is in the region if the atoms are exact; at
the end of an interval a rounded term, and any term where the end is ROUNDED, is in doubt. An xsd:float is in doubt
wherever there is an atom: it is compared after rounding the other side, which no interval decides.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from math import inf, isinf, isnan, nextafter
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from heliograph.sparql.evaluate import ZONE_DOUBT, compare, effective_boolean, evaluate
from heliograph.sparql.query import And, Call, Compare, Count, Expression, In, Metric, Not, Or, walk
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, Variable, literal, value_of
from heliograph.values import XSD_BOOLEAN, XSD_STRING, Instant, Kind, Value, to_double, to_float32
from heliograph.vocabulary import NO_KIND, NO_ZONE, Vocabulary
from heliograph.vocabulary.columns import MICRO, TEXTS, instant_row, row_of

# --- lines ------------------------------------------------------------------------------------------------------

Number = int | Decimal | Fraction | float
Cut = tuple[Number, int]
Line = tuple[Cut, ...]  # what lies from the first cut to the second, from the third to the fourth, …

START: Cut = (-inf, 0)
END: Cut = (inf, 1)
WHOLE: Line = (START, END)
_DOUBLES_END = 2**1024  # what would come after the largest double, were there no infinity
_SINGLES_END = 2**128
_UNIFORM = 2**24  # up to here an integer is a float32, so that it cuts all three lines alike


@lru_cache(maxsize=4096)
def cuts_of(constant: Value, side: int) -> tuple[Cut, Cut, Cut]:
    """Where a number that is no NaN cuts the lines of exact numbers, floats and doubles."""
    kind, value = constant
    assert isinstance(value, (int, Decimal, float))
    exact = (value, side)
    if isinstance(value, float):
        double = (value, side) if kind is Kind.DOUBLE else _before_single(value, side)
        return _before_rounding(*double), exact, exact
    if isinstance(value, int) and -_UNIFORM <= value <= _UNIFORM:
        return exact, exact, exact
    number = to_double(value)
    single = to_float32(number)
    # equal cuts are one object: partitions keep regions by the hundred thousand
    return exact, exact if single == value else (single, side), exact if number == value else (number, side)


def _before_rounding(value: float, side: int) -> Cut:
    """Where exact numbers begin whose double is `value` or, with side 1, above it."""
    if isinf(value) and (value > 0) == bool(side):
        return END if side else START
    low, high = (value, nextafter(value, inf)) if side else (nextafter(value, -inf), value)
    middle = (_fraction(low, _DOUBLES_END) + _fraction(high, _DOUBLES_END)) / 2
    return middle, side if _is_even(value, "d", "q") else 1 - side


def _before_single(value: float, side: int) -> tuple[float, int]:
    """The same for doubles that are rounded to a float."""
    if isinf(value) and (value > 0) == bool(side):
        return value, side
    low, high = (value, _next_single(value)) if side else (-_next_single(-value), value)
    middle = float((_fraction(low, _SINGLES_END) + _fraction(high, _SINGLES_END)) / 2)
    return middle, side if _is_even(value, "f", "i") else 1 - side


def _fraction(value: float, end: int) -> Fraction:
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


def between(low: Cut, high: Cut) -> Line:
    """What lies between two cuts."""
    return (low, high) if low < high else ()


def line_union(lines: Sequence[Line]) -> Line:
    """What lies on any of the lines."""
    return _swept(lines, 1)


def line_intersection(lines: Sequence[Line]) -> Line:
    """What lies on all of the lines."""
    if all(len(line) == 2 for line in lines):
        return between(max([line[0] for line in lines]), min([line[1] for line in lines]))
    return _swept(lines, len(lines)) if all(lines) else ()


def _swept(lines: Sequence[Line], needed: int) -> Line:
    """The parts on which at least `needed` of the lines run, in one pass."""
    steps = sorted([(cut, -1 if at % 2 else 1) for line in lines for at, cut in enumerate(line)])
    found: list[Cut] = []
    depth, last = 0, len(steps) - 1
    for at, (cut, step) in enumerate(steps):
        depth += step
        changes = (depth >= needed) != bool(len(found) % 2)
        if changes and (at == last or steps[at + 1][0] != cut):
            found.append(cut)
    return tuple(found)


def line_within(one: Line, other: Line) -> bool:
    """Whether all that lies on one line lies on the other."""
    if len(one) == 2 and len(other) == 2:
        return other[0] <= one[0] and one[1] <= other[1]
    return one == other or line_intersection((one, other)) == one


def line_holds(line: Line, value: Number) -> bool:
    """Whether a value lies on a line: an odd number of cuts lies before it."""
    return bisect_right(line, (value, 0)) % 2 == 1


# --- regions ----------------------------------------------------------------------------------------------------

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
_OTHER_ZONE = {
    Sort.TIME: Sort.LOCAL_TIME,
    Sort.LOCAL_TIME: Sort.TIME,
    Sort.DATE: Sort.LOCAL_DATE,
    Sort.LOCAL_DATE: Sort.DATE,
}


class Some(NamedTuple):
    """These terms of a sort or, with `but`, all of it but these."""

    but: bool
    terms: frozenset[Term] = frozenset()


Part = Some | Line

NONE, ALL = Some(False), Some(True)
_BOTH = Some(False, frozenset((TRUE, FALSE)))  # there are no other booleans, so all of them are these two
_EMPTY: tuple[Part, ...] = tuple(NONE if sort < FIRST_LINE else () for sort in Sort)


class Region(NamedTuple):
    """A part for each sort; or, where `among` is given, just these terms; and all texts with one of the keys `words`,
    which boxes alone have: `holds` and `within` do not see them."""

    parts: tuple[Part, ...] = _EMPTY
    among: frozenset[Term] | None = None
    words: frozenset[int] = frozenset()


def whole(sort: Sort) -> Part:
    """All of a sort."""
    if sort == Sort.BOOLEAN:
        return _BOTH
    return ALL if sort < FIRST_LINE else WHOLE


def region(parts: dict[Sort, Part]) -> Region:
    """A region from its parts; sorts that are not given are empty."""
    return _normal(tuple([parts.get(sort, _EMPTY[sort]) for sort in Sort]))


def just(terms: Iterable[Term]) -> Region:
    """These very terms."""
    return Region(_EMPTY, frozenset(terms))


def _normal(parts: tuple[Part, ...]) -> Region:
    """One spelling for each region: what amounts to a few terms is just these terms."""
    if any(parts[FIRST_LINE:]):
        return Region(parts)
    some = [part for part in parts[:FIRST_LINE] if isinstance(part, Some)]
    if any(part.but for part in some):
        return Region(parts)
    return just(frozenset[Term]().union(*(part.terms for part in some)))


EVERYTHING = Region(tuple(whole(sort) for sort in Sort))
NOTHING = just(())


@lru_cache(maxsize=4096)
def sort_of(term: Term) -> tuple[Sort, Number | None]:
    """The sort of a term and its value there; None where terms are known by identity."""
    value = value_of(term)
    if value is None:
        if term.kind is not TermKind.LITERAL:
            return Sort.IRI if term.kind is TermKind.IRI else Sort.BLANK, None
        return Sort.TEXT if term.datatype in (XSD_STRING, RDF_LANG_STRING) else Sort.ODD, None
    kind, known = value
    if isinstance(known, Instant):
        first = Sort.TIME if kind is Kind.DATETIME else Sort.DATE
        return Sort(first + (known.zone is None)), known.atto
    if kind is Kind.BOOLEAN:
        return Sort.BOOLEAN, None
    if isinstance(known, float):
        return (Sort.NAN, 0) if isnan(known) else (Sort.SINGLE if kind is Kind.FLOAT else Sort.DOUBLE, known)
    return Sort.EXACT, known


def holds(region: Region, term: Term) -> bool:
    """Whether a term lies in a region."""
    if region.among is not None:
        return term in region.among
    sort, value = sort_of(term)
    part = region.parts[sort]
    if isinstance(part, Some):
        return (term in part.terms) != part.but
    assert value is not None
    return line_holds(part, value)


def intersection(regions: Sequence[Region]) -> Region:
    """What lies in all regions. A text has many keys, so of regions by key one alone speaks for the others."""
    regions = [each for each in regions if each is not EVERYTHING]
    if len(regions) < 2:
        return regions[0] if regions else EVERYTHING
    worded = [each for each in regions if each.words]
    if worded:
        plain = intersection([each for each in regions if not each.words])
        return plain if plain == NOTHING else worded[0]
    given = [each.among for each in regions if each.among is not None]
    if given:
        ruling = [each for each in regions if each.among is None]
        return just([term for term in given[0].intersection(*given[1:]) if all(holds(each, term) for each in ruling)])
    return _normal(_combined([each.parts for each in regions], _part_intersection))


def union(regions: Sequence[Region]) -> Region:
    """What lies in any region."""
    if all(each.among is not None for each in regions):
        found = just(frozenset[Term]().union(*(each.among or () for each in regions)))
    else:
        found = _normal(_combined([_parts(each) for each in regions], _part_union))
    words = frozenset[int]().union(*(each.words for each in regions))
    return found._replace(words=words) if words else found


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


def convex(region: Region) -> Region:
    """A region with the gaps of its lines filled."""
    if region.among is not None:
        return region
    return Region(tuple([part if isinstance(part, Some) or not part else (part[0], part[-1]) for part in region.parts]))


def _parts(region: Region) -> tuple[Part, ...]:
    """The parts of a region, with the equals of given terms."""
    if not region.among:
        return region.parts
    found: dict[Sort, list[Part]] = {}
    for term in region.among:
        sort, value = sort_of(term)
        point: Part = Some(False, frozenset((term,))) if value is None else ((value, 0), (value, 1))
        found.setdefault(sort, []).append(point)
    return tuple([_part_union(found[sort]) if sort in found else _EMPTY[sort] for sort in Sort])


def _combined(several: Sequence[tuple[Part, ...]], combine: Callable[[Sequence[Part]], Part]) -> tuple[Part, ...]:
    """Part by part. Lines that exact numbers and doubles share stay one object: there are very many of them."""
    known: dict[tuple[int, ...], Part] = {}
    found: list[Part] = []
    for parts in zip(*several, strict=True):
        key = tuple(map(id, parts))
        if key not in known:
            first = parts[0]
            known[key] = first if all(part is first for part in parts) else combine(parts)
        found.append(known[key])
    return tuple(found)


def _part_intersection(parts: Sequence[Part]) -> Part:
    some = [part for part in parts if isinstance(part, Some)]
    if not some:
        return line_intersection([part for part in parts if not isinstance(part, Some)])
    given = [part.terms for part in some if not part.but]
    without = frozenset[Term]().union(*(part.terms for part in some if part.but))
    return Some(False, given[0].intersection(*given[1:]) - without) if given else Some(True, without)


def _part_union(parts: Sequence[Part]) -> Part:
    some = [part for part in parts if isinstance(part, Some)]
    if not some:
        return line_union([part for part in parts if not isinstance(part, Some)])
    lacking = [part.terms for part in some if part.but]
    given = frozenset[Term]().union(*(part.terms for part in some if not part.but))
    return Some(True, lacking[0].intersection(*lacking[1:]) - given) if lacking else Some(False, given)


def _part_within(one: Part, other: Part) -> bool:
    if isinstance(one, Some):
        assert isinstance(other, Some)
        if one.but:
            return other.but and other.terms <= one.terms
        return not (one.terms & other.terms) if other.but else one.terms <= other.terms
    assert not isinstance(other, Some)
    return line_within(one, other)


# --- comparisons ------------------------------------------------------------------------------------------------
# The laws are those of `sparql.evaluate`: `!=` is true where `=` is false; literals of different families are
# incomparable; a name is different from everything else and is `<=` itself alone; NaN is neither below nor above
# anything, nor equal to it, and that is false, not an error; moments with and without a zone are ordered only where no
# zone could reverse the order.

_NAMES: dict[Sort, Part] = {Sort.IRI: ALL, Sort.BLANK: ALL}
_ALL_SORTS: dict[Sort, Part] = {sort: whole(sort) for sort in Sort}
_ANY_NUMBER: dict[Sort, Part] = dict.fromkeys((Sort.NAN, *NUMBERS), WHOLE)
IRIS, TEXT_REGION = region({Sort.IRI: ALL}), region({Sort.TEXT: ALL})
NAMES, LITERAL_REGION = region(_NAMES), region({sort: whole(sort) for sort in LITERALS})
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@lru_cache(maxsize=4096)
def comparison(symbol: str, constant: Term, wanted: bool = True) -> Region | None:
    """Where `?x symbol constant` is true, or with `wanted` false where it is false; None for the order of texts."""
    sort, at = sort_of(constant)
    if symbol in ("=", "!="):
        same = (symbol == "=") == wanted
        return _equal(constant, sort, at) if same else _different(constant, sort, at)
    if sort == Sort.TEXT:
        return None
    if sort in (Sort.IRI, Sort.BLANK, Sort.ODD):  # ordered against nothing but themselves
        return just((constant,)) if (len(symbol) == 2) == wanted else NOTHING
    if sort == Sort.BOOLEAN:
        return just(term for term in (TRUE, FALSE) if compare(symbol, term, constant) is wanted)
    if sort == Sort.NAN:
        return NOTHING if wanted else region(_ANY_NUMBER)
    below = (symbol[0] == "<") == wanted
    side = int(symbol in ("<=", ">"))
    if at is not None and sort in _OTHER_ZONE:
        far: Line = between(START, (at - ZONE_DOUBT, 0)) if below else between((at + ZONE_DOUBT, 1), END)
        return region({sort: _ray((at, side), below), _OTHER_ZONE[sort]: far})
    cuts = _number_cuts(constant, side)
    rays = {cut: _ray(cut, below) for cut in cuts}  # equal cuts share their lines
    return _numbers([rays[cut] for cut in cuts], () if wanted else WHOLE)


def _ray(cut: Cut, below: bool) -> Line:
    return between(START, cut) if below else between(cut, END)


def _numbers(lines: Sequence[Line], nan: Line) -> Region:
    return _normal((*_EMPTY[: Sort.NAN], nan, *lines, *_EMPTY[Sort.TIME :]))


def _equal(constant: Term, sort: Sort, at: Number | None) -> Region:
    if at is None:
        return just((constant,))
    if sort == Sort.NAN:
        return NOTHING
    if sort in _OTHER_ZONE:
        return region({sort: ((at, 0), (at, 1))})
    ends = list(zip(_number_cuts(constant, 0), _number_cuts(constant, 1), strict=True))
    points = {pair: between(*pair) for pair in ends}
    return _numbers([points[pair] for pair in ends], ())


def _number_cuts(constant: Term, side: int) -> tuple[Cut, Cut, Cut]:
    value = value_of(constant)
    assert value is not None
    return cuts_of(value, side)


def _different(constant: Term, sort: Sort, at: Number | None) -> Region:
    """Names, and what is left of the constant's family without its equals."""
    equals = _parts(_equal(constant, sort, at))
    others: dict[Part, Part] = {}  # equal lines share one object
    found: dict[Sort, Part] = {}
    for each in _family(sort):
        part = equals[each]
        if isinstance(part, Some):
            found[each] = Some(False, _BOTH.terms - part.terms) if each == Sort.BOOLEAN else Some(True, part.terms)
        else:
            gaps = between(START, part[0]) + between(part[1], END) if part else WHOLE
            found[each] = others.setdefault(part, gaps)
    return region({**_NAMES, **found})


def _family(sort: Sort) -> Iterable[Sort]:
    """The sorts that a term of one can be compared with, beside names."""
    if sort in (Sort.IRI, Sort.BLANK):
        return Sort
    if sort in _OTHER_ZONE:
        return sort, _OTHER_ZONE[sort]
    if sort in _ANY_NUMBER:
        return _ANY_NUMBER
    return () if sort == Sort.ODD else (sort,)


# --- boxes ------------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """What is asked of each variable; `never` where nothing can satisfy it, whatever the variables are."""

    regions: dict[Variable, Region]
    exact: bool = True
    never: bool = False


ANYTHING, ALWAYS, NEVER = Box({}, exact=False), Box({}), Box({}, never=True)


def box_of(condition: Expression, wanted: bool = True) -> Box:
    """Where a condition is true, or with `wanted` false where it is false. Depth costs no recursion."""
    if not isinstance(condition, (And, Or, Not)):
        return _test_box(condition, wanted)
    ordered: list[tuple[Expression, bool]] = []  # connectives before their operands
    stack: list[tuple[Expression, bool]] = [(condition, wanted)]
    while stack:
        each, asked = stack.pop()
        while isinstance(each, Not):
            each, asked = each.operand, not asked
        ordered.append((each, asked))
        if isinstance(each, (And, Or)):
            stack.extend([(operand, asked) for operand in each.operands])
    done: list[Box] = []
    for each, asked in reversed(ordered):
        if isinstance(each, (And, Or)):
            taken = [done.pop() for _ in each.operands]
            # `a && b` is true where both are, `a || b` is false where both are
            done.append(all_of(taken) if isinstance(each, And) == asked else any_of(taken))
        else:
            done.append(_test_box(each, asked))
    return done[0]


def region_where(condition: Expression, wanted: bool = True) -> Region | None:
    """Where a condition on one bound variable is true, or false; None where no region says that exactly."""
    match condition:
        case Compare(symbol, Variable(), Term() as constant):
            return comparison(symbol, constant, wanted)
    box = box_of(condition, wanted)
    if not box.exact:
        return None
    return NOTHING if box.never else next(iter(box.regions.values()), EVERYTHING)


def all_of(boxes: Sequence[Box]) -> Box:
    """What all boxes ask."""
    if any(box.never for box in boxes):
        return NEVER
    if len(boxes) == 1:
        return boxes[0]
    asked = _by_variable(boxes)
    exact = all(box.exact for box in boxes)
    return Box({variable: intersection(regions) for variable, regions in asked.items()}, exact)


def any_of(boxes: Sequence[Box]) -> Box:
    """What any of the boxes asks: of a variable that only some of them name, nothing."""
    possible = [box for box in boxes if not (box.never or NOTHING in box.regions.values())]
    if len(possible) < 2:
        return (*possible, *boxes, NEVER)[0]
    asked = {variable: regions for variable, regions in _by_variable(possible).items() if len(regions) == len(possible)}
    free = any(box.exact and not box.regions for box in possible)
    single = len(asked) == 1 and all(box.exact and len(box.regions) == 1 for box in possible)
    return Box({variable: union(regions) for variable, regions in asked.items()}, free or single)


def _by_variable(boxes: Iterable[Box]) -> dict[Variable, list[Region]]:
    asked: dict[Variable, list[Region]] = {}
    for box in boxes:
        for variable, region in box.regions.items():
            asked.setdefault(variable, []).append(region)
    return asked


_SPELLED = region({sort: part for sort, part in _ALL_SORTS.items() if sort != Sort.BLANK})  # what STR takes
_NO_IRIS = region({sort: part for sort, part in _ALL_SORTS.items() if sort != Sort.IRI})
_KINDS = {  # where it is false, and where it is true
    "ISIRI": (_NO_IRIS, IRIS),
    "ISLITERAL": (NAMES, LITERAL_REGION),
    "BOUND": (NOTHING, EVERYTHING),
}

# Effective boolean values, false and true: of text only plain strings have one, and of those one is false.
_ZERO, _NO_ZERO = ((0, 0), (0, 1)), (START, (0, 0), (0, 1), END)
_EFFECTIVE = tuple(
    region(
        {Sort.TEXT: ALL, Sort.BOOLEAN: Some(False, frozenset((term,))), Sort.NAN: nan, **dict.fromkeys(NUMBERS, line)}
    )
    for term, line, nan in ((FALSE, _ZERO, WHOLE), (TRUE, _NO_ZERO, ()))
)


def _test_box(test: Expression, wanted: bool) -> Box:
    """A single test: a comparison, a list, a function of one variable. What has no variable is known at once; anything
    else may be true of whatever the variables are bound to."""
    match test:
        case Compare():
            return _compared(test, wanted)
        case In(operand) if _is_subject(operand):
            return _listed(test, wanted)
        case Call(name, (Variable() as variable,)) if name in _KINDS:
            return Box({variable: _KINDS[name][wanted]})
        case Call(name, (text, Term() as needle)) if name in _PIECES:
            return _worded(text, needle_key(needle.value, _PIECES[name]), wanted)
        case Call("REGEX", (text, Term() as pattern, *flags)):
            return _worded(text, None if flags else regex_key(pattern.value), wanted)
        case Variable():
            return Box({test: _EFFECTIVE[wanted]}, exact=False)
    return _constant(test, wanted)


def _compared(test: Compare, wanted: bool) -> Box:
    symbol, subject, constant = test.operator, test.left, test.right
    if not _is_subject(subject):
        symbol, subject, constant = MIRRORED[symbol], constant, subject
    if not _is_subject(subject):
        return _constant(test, wanted)
    if not isinstance(constant, Term):  # it may amount to a constant
        if not _is_constant(constant):
            return ANYTHING
        term = evaluate(constant, {})
        return NEVER if term is None else _compared(Compare(symbol, subject, term), wanted)
    if isinstance(subject, Variable):
        found = comparison(symbol, constant, wanted)
        return Box({subject: TEXT_REGION}, exact=False) if found is None else Box({subject: found})
    same = constant.datatype == XSD_STRING and symbol == ("=" if wanted else "!=")
    return _worded(subject, needle_key(constant.value, Piece.WHOLE), True) if same else ANYTHING


def _listed(test: In, wanted: bool) -> Box:
    """`x IN (a, b)` is `x = a || x = b`; nothing is in an empty list, but STR may be an error."""
    found = wanted != test.negated
    if not test.choices and not found and not isinstance(test.operand, Variable):
        return ANYTHING
    boxes = [_compared(Compare("=", test.operand, choice), found) for choice in test.choices]
    return any_of(boxes) if found else all_of(boxes)


def _worded(text: Expression, key: int | None, wanted: bool) -> Box:
    """A test that only text with this key can pass."""
    match text:
        case Variable() as variable:
            able = TEXT_REGION
        case Call("STR", (Variable() as variable,)):
            able = _SPELLED
        case _:
            return ANYTHING
    asked = able if key is None or not wanted else NOTHING._replace(words=frozenset((key,)))
    return Box({variable: asked}, exact=False)


def _constant(expression: Expression, wanted: bool) -> Box:
    """What no variable decides."""
    if not _is_constant(expression):
        return ANYTHING
    term = evaluate(expression, {})
    return ALWAYS if term is not None and effective_boolean(term) is wanted else NEVER


def _is_subject(expression: Expression) -> bool:
    match expression:
        case Variable() | Call("STR", (Variable(),)):
            return True
    return False


def _is_constant(expression: Expression) -> bool:
    return not any(isinstance(node, (Variable, Metric, Count)) for node in walk(expression))


# --- coordinates ------------------------------------------------------------------------------------------------
# Every term has one domain and one coordinate in it. The law: within a domain, equal coordinates mean equal values
# unless a rounded one is among them; in the ordered domains coordinates are monotone in the value. The coordinate in an
# unordered domain is the term's id.

_WHOLE_NUMBERS = 2**53  # up to here every integer is a float64


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


Intern = Callable[[Term], int]


class Places(NamedTuple):
    """Where terms lie, one row a term; `rounded` coordinates stand for other values too."""

    domain: npt.NDArray[np.uint8]
    coordinate: npt.NDArray[np.float64]
    rounded: npt.NDArray[np.bool_]


class TermPlace(NamedTuple):
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


def places_of(vocabulary: Vocabulary, first: int, last: int) -> Places:
    """Where the terms lie whose ids run from `first` to `last`, the latter excluded."""
    ids = np.arange(first, last, dtype=np.int32)
    typed = vocabulary.typed(ids)
    instant = (typed.kind == Kind.DATETIME) | (typed.kind == Kind.DATE)
    nan, unknown = np.isnan(typed.number), typed.kind == NO_KIND
    domain = _DOMAINS[typed.kind]
    domain[instant & (typed.zone == NO_ZONE)] += 1
    domain[(domain == Domain.NUMBER) & nan] = Domain.NAN
    for category, its in _BY_CATEGORY.items():
        domain[typed.category == category] = its
    domain[(domain == Domain.ODD) & vocabulary.textual(first, last)] = Domain.TEXT
    coordinate = np.where(nan, 0.0, typed.number)
    coordinate[instant] = typed.instant[instant]
    coordinate[unknown] = ids[unknown]
    far = instant & ((typed.instant > _WHOLE_NUMBERS) | (typed.instant < -_WHOLE_NUMBERS))
    return Places(domain, coordinate, ~typed.exact | far | (typed.kind == Kind.FLOAT))


def place_of(term: Term, intern: Intern) -> TermPlace:
    """Where one term lies; `intern` is asked for its id where that is the coordinate."""
    value = value_of(term)
    if value is not None:
        return instant_place(value.kind, value.value) if isinstance(value.value, Instant) else _number_place(term)
    if term.kind is TermKind.LITERAL:
        return TermPlace(Domain.TEXT if term.datatype in TEXTS else Domain.ODD, float(intern(term)))
    return TermPlace(_BY_CATEGORY[term.kind], float(intern(term)))


def instant_place(kind: Kind, instant: Instant) -> TermPlace:
    row = instant_row(kind, instant)
    local = instant.zone is None
    return TermPlace(_OF_KIND[kind] + local, float(row.instant), not row.exact or abs(row.instant) > _WHOLE_NUMBERS)


def _number_place(term: Term) -> TermPlace:
    row = row_of(term)
    domain = _OF_KIND[row.kind]
    if isnan(row.number):
        return TermPlace(Domain.NAN if domain == Domain.NUMBER else domain, 0.0, domain == Domain.FLOAT)
    return TermPlace(domain, row.number, not row.exact or domain == Domain.FLOAT)


# --- atoms ------------------------------------------------------------------------------------------------------

LOW_OPEN, HIGH_OPEN, ROUNDED = 1, 2, 4  # of an atom: an end is excluded; an end is not the exact value


class Atom(NamedTuple):
    """The coordinates from `low` to `high` of one domain."""

    domain: int
    low: float
    high: float
    flags: int = 0


_DOMAIN_OF = {
    Sort.IRI: Domain.IRI,
    Sort.BLANK: Domain.BLANK,
    Sort.EXACT: Domain.NUMBER,  # with the doubles
    Sort.NAN: Domain.NAN,
    Sort.BOOLEAN: Domain.BOOLEAN,
    Sort.TEXT: Domain.TEXT,
    Sort.ODD: Domain.ODD,
    Sort.TIME: Domain.TIME,
    Sort.LOCAL_TIME: Domain.LOCAL_TIME,
    Sort.DATE: Domain.DATE,
    Sort.LOCAL_DATE: Domain.LOCAL_DATE,
}
_SHARED = (Domain.NUMBER, Domain.FLOAT, Domain.TIME, Domain.DATE)  # where several terms are one value

# A cut as the index sees it: at a coordinate, before all that have it (0), among these (1) or behind them (2).
_Mark = tuple[float, int]


def atoms_of(region: Region, intern: Intern) -> tuple[tuple[Atom, ...], bool]:
    """A region as atoms, and whether a term that lies in one for sure is in the region."""
    exact = True
    if region.among is not None:
        places = {place_of(term, intern) for term in sorted(region.among)}  # ids are given in order
        exact = not any(place.domain in _SHARED for place in places)
        floats = any(place.domain == Domain.FLOAT for place in places)
        found = sorted(
            Atom(domain, at, at, ROUNDED if rounded else 0) for domain, at, rounded in places if domain != Domain.FLOAT
        )
    else:
        parts, found = region.parts, list[Atom]()
        floats = bool(parts[Sort.SINGLE])
        for sort, domain in _DOMAIN_OF.items():
            part = parts[sort]
            if isinstance(part, Some):
                if part.but or part.terms:
                    found += _named_atoms(domain, part, intern)
            elif sort == Sort.EXACT:
                doubles = parts[Sort.DOUBLE]
                assert not isinstance(doubles, Some)
                numbers, exact = _number_atoms(part, doubles)
                found += numbers
            elif part:
                found += [Atom(domain, -inf, inf)] if part == WHOLE else _moment_atoms(sort, domain, part)
    if floats and not found:  # otherwise each atom leaves floats in doubt
        found = [Atom(Domain.FLOAT, -inf, inf)]
    return (*found, *(Atom(Domain.WORD, key, key) for key in sorted(region.words))), exact


def _named_atoms(domain: Domain, part: Some, intern: Intern) -> Iterator[Atom]:
    """Terms by id; all that lie between those that are left out."""
    if part == _BOTH:
        yield Atom(domain, -inf, inf)
        return
    at = sorted([place_of(term, intern).coordinate for term in sorted(part.terms)])
    if not part.but:
        yield from (Atom(domain, each, each) for each in at)
        return
    for low, high in zip((-inf, *at), (*at, inf), strict=True):
        yield Atom(domain, low, high, LOW_OPEN * (low > -inf) | HIGH_OPEN * (high < inf))


def _number_atoms(exact: Line, doubles: Line) -> tuple[list[Atom], bool]:
    """Exact numbers and doubles on one line of coordinates."""
    if exact == doubles:  # then each cut is at a double
        return [
            Atom(Domain.NUMBER, float(low), float(high), LOW_OPEN * behind | HIGH_OPEN * (not up_to))
            for (low, behind), (high, up_to) in zip(exact[::2], exact[1::2], strict=True)
        ], True

    def state(at: float) -> int:
        """Of the numbers that are their coordinate; an exact number is no infinity."""
        found = line_holds(doubles, at)
        return 2 * found if isinf(at) or line_holds(exact, at) == found else _DOUBT

    marks = [(float(value), 2 * side) for value, side in doubles]
    known = frozenset(marks)
    return _intervals(Domain.NUMBER, [[_number_mark(cut, known) for cut in exact], marks], state)


def _number_mark(cut: Cut, marks: frozenset[_Mark]) -> _Mark:
    """Where a cut of exact numbers lies. Halfway between two doubles it lies behind one and before the other alike: it
    is where the doubles are cut, if that is one of both."""
    value, side = cut
    at = to_double(value)
    if not isinstance(value, Fraction):
        return at, 2 * side if at == value else 1
    mark, same = ((at, 2), (nextafter(at, inf), 0)) if at < value else ((at, 0), (nextafter(at, -inf), 2))
    return same if same in marks else mark


def _moment_atoms(sort: Sort, domain: Domain, line: Line) -> list[Atom]:
    """Attoseconds as microseconds."""
    kind = Kind.DATETIME if sort in (Sort.TIME, Sort.LOCAL_TIME) else Kind.DATE

    def mark(cut: Cut) -> _Mark:
        at, side = cut
        if not isinstance(at, int):
            return float(at), 2 * side  # an infinity
        _, coordinate, rounded = instant_place(kind, Instant(at, None))
        return coordinate, 1 if rounded else 2 * side

    def state(at: float) -> int:
        return 2 * line_holds(line, int(at) * MICRO) if abs(at) <= _WHOLE_NUMBERS else _DOUBT

    return _intervals(domain, [[mark(cut) for cut in line]], state)[0]


_OUT, _DOUBT, _IN = 0, 1, 2  # of the values that are their coordinate, where a line is cut


def _intervals(
    domain: Domain, lines: Sequence[Sequence[_Mark]], state: Callable[[float], int]
) -> tuple[list[Atom], bool]:
    """Lines that share a domain as atoms: what lies on any of them. Not exact where one line runs and another does not
    over more than a single coordinate. Rounded values at a cut are in doubt whatever its state, so a cut at which they
    alone are in the region is an atom of its own."""
    ends = ((-inf, 0), (inf, 2))
    touched = {at for line in lines for at, place in line[::2] if place < 2}
    touched |= {at for line in lines for at, place in line[1::2] if place > 0}  # ends that some of an interval may have
    cuts = sorted({mark[0] for line in lines for mark in line if mark not in ends})
    runs = [[line[:1] == [ends[0]] for line in lines]]  # before the first cut, and behind each: which lines run there
    runs += [[bisect_right(line, (at, 2)) % 2 == 1 for line in lines] for at in cuts]
    exact, found = True, list[Atom]()
    inside, low, flags = False, -inf, 0
    for number, running in enumerate(runs):
        at = cuts[number - 1] if number else -inf
        after = any(running) and (cuts[:1] != [-inf] if not number else at < inf)
        if after and not all(running):
            after = not number or number == len(cuts) or nextafter(at, inf) < cuts[number]  # else there is nothing
            exact = exact and not after
        known = state(at) if number else _IN
        doubt = ROUNDED if known == _DOUBT else 0
        if inside:
            found.append(Atom(domain, low, at, flags | doubt | (HIGH_OPEN if known == _OUT else 0)))
        elif number and not after and (known != _OUT or at in touched):
            found.append(Atom(domain, at, at, 0 if known == _IN else ROUNDED))
        inside, low, flags = after, at, doubt | (LOW_OPEN if known == _OUT else 0)
    if inside:
        found.append(Atom(domain, low, inf, flags))
    return found, exact


# --- text keys --------------------------------------------------------------------------------------------------
# Pieces of text as numbers, so that an index can rule a text out. The law: if a text passes a test (it holds, begins
# with, ends with or is the needle), then the needle's key is among the text's keys. The converse does not hold: the
# test itself decides. Keys are the same in every run and on every machine. A needle is asked for by one key only:
# anywhere in a text that is one of its trigrams, at the ends the longest piece of a listed length, for the whole text a
# checksum of it.

SHORTEST = 3  # characters of a needle that has a key
_LENGTHS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of the pieces at both ends of a text that have keys
_FEW = 256  # up to this many characters, keys that come twice cost less than looking for them
_START, _END, _WHOLE = 1 << 40, 2 << 40, 3 << 40  # keys of different kinds lie apart, all below 2**53
_MIXER, _DROPPED = np.uint64(0x9E3779B97F4A7C15), np.uint64(24)  # mixing a trigram leaves 40 bits of 64

# The rarer the letters, the fewer texts share a trigram; signs that addresses are full of count as the most common.
_COMMON = {letter: -rank for rank, letter in enumerate("zqjxkvbywgpfmucdlhrsnioate /:.#-_")}

_BRACKETS = re.compile(r"[|()\[\]{}\\]")  # alternatives, classes, counts and escapes: not read here
_SIGNS = re.compile(r".[*?]+|[.+^$]", re.DOTALL)  # what stands between the characters that a match must hold


class Piece(IntEnum):
    """Where in a text a needle must stand."""

    ANYWHERE = 0
    START = 1
    END = 2
    WHOLE = 3


def needle_key(needle: str, piece: Piece = Piece.ANYWHERE) -> int | None:
    """The key that every text has that passes the test; None if the needle is too short to have one."""
    if piece is Piece.WHOLE:
        return _WHOLE + crc32(_coded(needle))
    if len(needle) < SHORTEST:
        return None
    if piece is Piece.ANYWHERE:
        return int(_trigrams(_coded(_rarest(needle)))[0])
    length = max(length for length in _LENGTHS if length <= len(needle))
    if piece is Piece.START:
        return _START + crc32(_coded(needle[:length]))
    return _END + crc32(_coded(needle[-length:]))


def text_keys(text: str) -> list[int]:
    """All keys of a text; some may come twice."""
    coded = _coded(text)
    keys = [_WHOLE + crc32(coded)]
    if len(text) < SHORTEST:
        return keys
    for length in _LENGTHS[: bisect_right(_LENGTHS, len(text))]:
        keys += (_START + crc32(coded[: 4 * length]), _END + crc32(coded[-4 * length :]))
    inner = _trigrams(coded)
    keys += (inner if len(text) <= _FEW else np.unique(inner)).tolist()
    return keys


def regex_key(pattern: str) -> int | None:
    """A key of every text that a regular expression finds; None if none is seen at a glance."""
    if _BRACKETS.search(pattern):
        return None
    runs = _SIGNS.split(pattern)
    longest = max(runs, key=len)
    if pattern.strip("^$") == longest:  # RE2's $ is the end of the text, never a line's
        return needle_key(longest, Piece(Piece.START * pattern.startswith("^") + Piece.END * pattern.endswith("$")))
    return needle_key(longest)


def _rarest(needle: str) -> str:
    """The trigram of the rarest letters, the first of equals."""
    weights = [_COMMON.get(letter, 0) for letter in needle.lower()]
    if len(weights) != len(needle):  # a letter whose lower case is two
        weights = [0] * len(needle)
    start = max(range(len(needle) - 2), key=lambda at: sum(weights[at : at + 3]))
    return needle[start : start + 3]


def _coded(text: str) -> bytes:
    """Four bytes a character, so that pieces are slices."""
    return text.encode("utf-32-le", "surrogatepass")


def _trigrams(coded: bytes) -> npt.NDArray[np.uint64]:
    codes = np.frombuffer(coded, np.dtype("<u4")).astype(np.uint64)
    packed = codes[:-2] << np.uint64(42) | codes[1:-1] << np.uint64(21) | codes[2:]
    mixed: npt.NDArray[np.uint64] = packed * _MIXER >> _DROPPED
    return mixed


_PIECES = {"CONTAINS": Piece.ANYWHERE, "STRSTARTS": Piece.START, "STRENDS": Piece.END}
