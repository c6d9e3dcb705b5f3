"""Where a condition on one variable is true, and where it is false, exactly; elsewhere it is an error.

The laws are those of `semantics.comparison`: `!=` is true where `=` is false; literals of different families are
incomparable; a name is different from everything else and is `<=` itself alone; not-a-number is neither below nor above
anything, nor equal to it, and that is false, not an error; moments with and without a zone are ordered only where no
zone could turn them round. The order of texts and all functions of text are left to others: no region says them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from heliograph.partition.cuts import END, START, WHOLE, Cut, Line, between, cuts_of
from heliograph.partition.regions import (
    ALL,
    EVERYTHING,
    FALSE,
    LITERALS,
    NOTHING,
    NUMBERS,
    TRUE,
    Part,
    Region,
    Some,
    Sort,
    join,
    just,
    meet,
    number_region,
    place_of,
    region,
    whole,
)
from heliograph.semantics.comparison import ZONE_DOUBT, compare, effective_boolean
from heliograph.semantics.expressions import evaluate
from heliograph.syntax.query import And, Call, Compare, Count, Expression, In, Metric, Not, Or, walk
from heliograph.terms import Term, Variable, value_of
from heliograph.values import NUMERIC, Instant


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
