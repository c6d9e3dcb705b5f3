"""A region as the conditions of a query that say it.

The law: what is spelled holds of every term of the region. It holds of no other one if `says` confirms it, as it does
of whatever a query's own conditions leave but for odd cases, such as intervals that end in several ways at once.
A `hull` is always of the kind that can be said exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from heliograph.partition.cuts import END, START, Cut, Line, cuts_of
from heliograph.partition.regions import (
    ALL,
    EVERYTHING,
    LITERALS,
    NUMBERS,
    Region,
    Some,
    Sort,
    convex,
    join,
    meet,
    whole,
    within,
)
from heliograph.partition.truths import comparison, truth_of
from heliograph.syntax.query import And, Call, Compare, Expression, In, Not, Or
from heliograph.terms import Term, Variable, literal, sort_key
from heliograph.values import ATTO, XSD_DATE, XSD_DATETIME, XSD_DOUBLE, Instant, Kind, Value, canonical, to_float32

_DATATYPES = {
    Kind.INTEGER: "http://www.w3.org/2001/XMLSchema#integer",
    Kind.DECIMAL: "http://www.w3.org/2001/XMLSchema#decimal",
    Kind.FLOAT: "http://www.w3.org/2001/XMLSchema#float",
    Kind.DOUBLE: XSD_DOUBLE,
    Kind.DATETIME: XSD_DATETIME,
    Kind.DATE: XSD_DATE,
}
_INFINITY = literal("INF", XSD_DOUBLE)
_ANY_TEXT = literal("")
_MOMENTS = ((Sort.TIME, Sort.LOCAL_TIME, Kind.DATETIME), (Sort.DATE, Sort.LOCAL_DATE, Kind.DATE))
_MINUTE = 60 * ATTO
_DAY = 1440  # minutes


class Spelled(NamedTuple):
    """Conditions that are ANDed; or the terms of a VALUES block."""

    filters: tuple[Expression, ...] = ()
    values: tuple[Term, ...] | None = None


def spelled(variable: Variable, region: Region) -> Spelled:
    """What a query asks of a variable whose value must lie in a region."""
    if region.among is not None:
        return Spelled(values=tuple(sorted(region.among, key=sort_key)))
    if region == EVERYTHING:
        return Spelled()
    excluded = _excluded_names(region)
    if excluded is not None:
        return Spelled(tuple(Compare("!=", variable, term) for term in excluded))
    found = [*_names(variable, region), *_literals(variable, region)]
    return Spelled(found[0].operands if len(found) == 1 and isinstance(found[0], And) else (_any(found),))


def region_of(said: Spelled) -> Region:
    """What conditions on one variable leave of its values; they are of the kind that regions can say."""
    if said.values is not None:
        return Region(among=frozenset(said.values))
    left = EVERYTHING
    for each in said.filters:
        truth = truth_of(each)
        assert truth is not None
        left = meet(left, truth.true)
    return left


_PROBE = Variable("x")


def says(region: Region) -> bool:
    """Whether what is spelled says the region exactly."""
    if region.among is not None:
        return True
    ends = _plain_ends(region)
    if ends is not None:  # most regions are one interval of numbers: it is enough to look at its ends
        return _is_exact(ends[0], True) and _is_exact(ends[1], False)
    return region_of(spelled(_PROBE, region)) == region


def _plain_ends(region: Region) -> tuple[list[Cut | None], list[Cut | None]] | None:
    """Where the one interval begins and ends that is all there is of each kind of number; None where it is not so."""
    lines = [part for part in region.parts[Sort.EXACT : Sort.TIME] if not isinstance(part, Some) and len(part) == 2]
    if len(lines) < len(NUMBERS) or region.parts[: Sort.EXACT] + region.parts[Sort.TIME :] != _NO_OTHERS:
        return None
    return [line[0] for line in lines], [line[1] for line in lines]


_NO_OTHERS = Region().parts[: Sort.EXACT] + Region().parts[Sort.TIME :]


def _is_exact(cuts: list[Cut | None], low: bool) -> bool:
    return all(cut == (START if low else END) for cut in cuts) or _exact_end(cuts) is not None


def hull(one: Region, other: Region) -> Region:
    """A region that holds both, with one interval on each line, and that can be said."""
    found = convex(join(one, other))
    return region_of(spelled(_PROBE, found))


def _any(found: Sequence[Expression]) -> Expression:
    return found[0] if len(found) == 1 else Or(tuple(found))


def _all(*found: Expression) -> Expression:
    return found[0] if len(found) == 1 else And(found)


# --- names and texts --------------------------------------------------------------------------------------------


def _excluded_names(region: Region) -> list[Term] | None:
    """The names that alone are left out, where it is only names."""
    if any(region.parts[sort] != whole(sort) for sort in LITERALS):
        return None
    names = [part for part in region.parts[:2] if isinstance(part, Some) and part.but]
    return _sorted(names[0].terms | names[1].terms) if len(names) == 2 else None


def _sorted(terms: frozenset[Term]) -> list[Term]:
    return sorted(terms, key=sort_key)


def _names(variable: Variable, region: Region) -> Iterator[Expression]:
    iris, blanks = region.parts[Sort.IRI], region.parts[Sort.BLANK]
    assert isinstance(iris, Some)
    assert isinstance(blanks, Some)
    literals, an_iri = Call("ISLITERAL", (variable,)), Call("ISIRI", (variable,))
    if iris == ALL and blanks.but:
        yield Not(literals)
        return
    if iris.but:
        yield _all(an_iri, *(Compare("!=", variable, term) for term in _sorted(iris.terms)))
    elif iris.terms:
        yield In(variable, tuple(_sorted(iris.terms)))
    if blanks.but or blanks.terms:
        yield And((Not(an_iri), Not(literals)))


def _literals(variable: Variable, region: Region) -> Iterator[Expression]:
    parts, a_literal = region.parts, Call("ISLITERAL", (variable,))
    odd = parts[Sort.ODD]
    assert isinstance(odd, Some)
    if odd.but:  # all literals: nothing else asks for odd ones that it does not name
        yield a_literal
        return
    for sort in (Sort.TEXT, Sort.ODD, Sort.BOOLEAN):
        part = parts[sort]
        assert isinstance(part, Some)
        if part == ALL:
            yield And((a_literal, Or((Compare("!=", variable, _ANY_TEXT), Compare("=", variable, _ANY_TEXT)))))
        elif part.but:
            yield _all(a_literal, *(Compare("!=", variable, term) for term in _sorted(part.terms)))
        elif part.terms:
            yield In(variable, tuple(_sorted(part.terms)))
    yield from _numbers(variable, region)
    for zoned, local, kind in _MOMENTS:
        yield from _moments(variable, (region.parts[zoned], region.parts[local]), kind)


# --- numbers ----------------------------------------------------------------------------------------------------


def _numbers(variable: Variable, region: Region) -> Iterator[Expression]:
    lines = [region.parts[sort] for sort in NUMBERS]
    nan = bool(region.parts[Sort.NAN])
    runs = _runs([line for line in lines if not isinstance(line, Some)])
    if not runs and nan:
        yield Not(Compare("<=", variable, _INFINITY))
    for number, (low, high) in enumerate(runs):
        yield _interval(variable, _bound(low, True), _bound(high, False), nan and not number)


def _runs(lines: Sequence[Line]) -> list[tuple[list[Cut | None], list[Cut | None]]]:
    """The intervals that run side by side on lines: where each begins and ends. An empty line has no say."""
    count = max(map(len, lines))
    if any(len(line) not in (0, count) for line in lines):
        lines = [line and (line[0], line[-1]) for line in lines]
        count = 2
    ends = [[line[at] if line else None for line in lines] for at in range(count)]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _bound(cuts: list[Cut | None], low: bool) -> tuple[Term, int] | None:
    """A constant, and whether it is cut behind, that cuts the lines here, or further out; None for no end at all."""
    found = _exact_end(cuts) or next((end for end in _ends(cuts) if _is_outside(end, cuts, low)), None)
    return None if found is None else (_literal(found[0]), found[1])


def _exact_end(cuts: list[Cut | None]) -> tuple[Value, int] | None:
    """A constant that cuts the lines just here."""
    for end in _ends(cuts):
        if all(asked is None or cut == asked for cut, asked in zip(cuts_of(*end), cuts, strict=True)):
            return end
    return None


def _is_outside(end: tuple[Value, int], cuts: list[Cut | None], low: bool) -> bool:
    """Whether a constant cuts no line further in than asked."""
    pairs = [(cut, asked) for cut, asked in zip(cuts_of(*end), cuts, strict=True) if asked is not None]
    return all(cut <= asked if low else cut >= asked for cut, asked in pairs)


def _ends(cuts: list[Cut | None]) -> Iterator[tuple[Value, int]]:
    """Constants that might cut so."""
    exact, single, double = cuts
    if exact is not None and isinstance(exact[0], (int, Decimal)):
        yield Value(Kind.INTEGER if isinstance(exact[0], int) else Kind.DECIMAL, exact[0]), exact[1]
    for cut in (double, single):
        if cut is not None and cut not in (START, END):
            yield Value(Kind.DOUBLE, float(cut[0])), cut[1]
    if single is not None and single not in (START, END) and to_float32(float(single[0])) == single[0]:
        yield Value(Kind.FLOAT, float(single[0])), single[1]


def _literal(value: Value) -> Term:
    return literal(canonical(value), _DATATYPES[value.kind])


def _interval(
    variable: Variable, low: tuple[Term, int] | None, high: tuple[Term, int] | None, nan: bool = False
) -> Expression:
    """What lies between two ends; with `nan` not-a-number, too, which is false of any order."""
    if low and high and low[0] == high[0] and (low[1], high[1]) == (0, 1) and not nan:
        return Compare("=", variable, low[0])
    asked = [("<" if low[1] == 0 else "<=", low[0])] if low else []  # what is left out
    asked += [(">=" if high[1] == 0 else ">", high[0])] if high else []
    if not asked:
        return (
            Or((Compare("<=", variable, _INFINITY), Compare(">", variable, _INFINITY)))
            if not nan
            else _any_number(variable)
        )
    if nan:
        return _all(*(Not(Compare(symbol, variable, term)) for symbol, term in asked))
    return _all(*(Compare(_OPPOSITE[symbol], variable, term) for symbol, term in asked))


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _any_number(variable: Variable) -> Expression:
    return Not(Compare(">", variable, _INFINITY))


# --- moments ----------------------------------------------------------------------------------------------------


def _moments(variable: Variable, lines: Sequence[object], kind: Kind) -> Iterator[Expression]:
    """Moments with a zone and without. A list of points that are left out leaves the others whole."""
    zoned, local = lines
    assert isinstance(zoned, tuple)
    assert isinstance(local, tuple)
    if not zoned and not local:
        return
    holes = [*_holes(zoned, kind, True), *_holes(local, kind, False)]
    if None not in holes:
        yield _all_but(variable, [hole for hole in holes if hole is not None], kind)
        return
    for low, high in _runs([zoned, local]):
        ends = _moment_bound(low, kind, ">"), _moment_bound(high, kind, "<")
        yield _interval(variable, *ends) if any(ends) else _all_but(variable, [], kind)


def _holes(line: Line, kind: Kind, zoned: bool) -> list[Term | None]:
    """The points that a line lacks; a None where it lacks more than points."""
    if line[:1] != (START,) or line[-1:] != (END,):
        return [None]
    gaps = zip(line[1:-1:2], line[2:-1:2], strict=True)
    return [_moment(low[0], kind, zoned) if low[0] == high[0] else None for low, high in gaps]


def _all_but(variable: Variable, holes: list[Term], kind: Kind) -> Expression:
    a_literal = Call("ISLITERAL", (variable,))
    if holes:
        return _all(a_literal, *(Compare("!=", variable, term) for term in holes))
    some = _literal(Value(kind, Instant(0, 0)))
    return And((a_literal, Or((Compare("!=", variable, some), Compare("=", variable, some)))))


def _moment(at: object, kind: Kind, zoned: bool) -> Term | None:
    """The constant at a place on the line; dates begin at midnight in some zone."""
    if not isinstance(at, int):
        return None
    zone = None
    if zoned:
        zone = 0 if kind is Kind.DATETIME else (-(at // _MINUTE)) % _DAY
        zone -= _DAY if zone > _DAY // 2 else 0
    term = _literal(Value(kind, Instant(at, zone)))
    same = comparison("=", term)
    assert same is not None
    lines = [part for part in same.true.parts if not isinstance(part, Some) and part]
    return term if lines == [((at, 0), (at, 1))] else None


def _moment_bound(cuts: list[Cut | None], kind: Kind, symbol: str) -> tuple[Term, int] | None:
    """As `_bound`: a constant with a zone or without, whichever cuts both lines here, or further out."""
    asked = Region(_with_ray(cuts, kind, symbol))
    found: list[tuple[bool, tuple[Term, int]]] = []
    for cut, zoned in zip(cuts, (True, False), strict=True):
        term = None if cut is None else _moment(cut[0], kind, zoned)
        if cut is None or term is None:
            continue
        truth = comparison(symbol + "=" * (cut[1] == (symbol == "<")), term)
        assert truth is not None
        if within(asked, truth.true):
            found.append((within(truth.true, asked), (term, cut[1])))
    return max(found, key=lambda each: each[0])[1] if found else None


def _with_ray(cuts: list[Cut | None], kind: Kind, symbol: str) -> tuple[Some | Line, ...]:
    """The parts of a region that runs from the cuts outwards, or inwards."""
    parts = list(Region().parts)
    first = Sort.TIME if kind is Kind.DATETIME else Sort.DATE
    for sort, cut in enumerate(cuts, first):
        if cut is not None:
            parts[sort] = (START, cut) if symbol == "<" else (cut, END)
    return tuple(parts)
