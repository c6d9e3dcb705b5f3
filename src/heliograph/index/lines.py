"""Sets of coordinates on one domain's line, and their algebra: what a condition leaves of a domain.

A line is cut by breaks. Between two breaks all values are in the set or none is. At a break three kinds of value
meet: those that are their coordinate, for which the state says whether they are in, out or in doubt; rounded ones,
which lie to either side of it, so that an end of an interval leaves them in doubt; and those across a rounded constant,
where everything is in doubt.

The law: a set holds every value for which its condition is true; it holds no other value but those in doubt. That is
why a break may be dissolved only where every value at it is known to be in, or known to be out. Constants of one sort
cut the line at one place, so there a break between two like segments goes. A double is compared after rounding the
value to a double, an exact number before, so where both cut at one coordinate a rounded value may pass between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from heliograph.index.interests import HIGH_OPEN, LOW_OPEN, ROUNDED, Atom

OUT, DOUBT, IN = 0, 1, 2  # of the values that are their coordinate, at a break
EXACT, DOUBLE, INEXACT = 1, 2, 4  # what cut the line: an exact constant, an xsd:double, one that was rounded


class Break(NamedTuple):
    """A place where a line is cut, and whether what lies between it and the next break is in."""

    at: float
    cut: int
    state: int
    after: bool


class Line(NamedTuple):
    """A set of coordinates; `before` says whether those below the first break are in."""

    before: bool
    breaks: tuple[Break, ...] = ()


EMPTY, WHOLE = Line(False), Line(True)


def below(at: float, cut: int, closed: bool) -> Line:
    return Line(True, (Break(at, cut, _state(cut, closed), False),))


def above(at: float, cut: int, closed: bool) -> Line:
    return Line(False, (Break(at, cut, _state(cut, closed), True),))


def point(at: float, cut: int) -> Line:
    return Line(False, (Break(at, cut, _state(cut, True), False),))


def _state(cut: int, closed: bool) -> int:
    return DOUBT if cut == INEXACT else IN if closed else OUT


def complement(line: Line) -> Line:
    return Line(
        not line.before, tuple([Break(at, cut, IN - state, not after) for at, cut, state, after in line.breaks])
    )


def union(lines: Sequence[Line]) -> Line:
    """What is in any of the lines."""
    return _joined(lines, True)


def intersection(lines: Sequence[Line]) -> Line:
    """What is in all of the lines."""
    return _joined(lines, False)


def _joined(lines: Sequence[Line], ruling: bool) -> Line:
    """Union and intersection mirror each other: in is what rules where one line suffices, out where all are needed."""
    cut = []
    for line in lines:
        if line.breaks:
            cut.append(line)
        elif line.before == ruling:
            return line
    if len(cut) < 2:
        return cut[0] if cut else EMPTY if ruling else WHOLE
    before = any(line.before == ruling for line in cut) == ruling
    return _tidy(before, _sweep(cut, ruling))


def _sweep(lines: Sequence[Line], ruling: bool) -> list[Break]:
    """The breaks of the joined lines, in one pass; where a line that rules runs through, nothing changes at a break."""
    breaks: list[Break] = []
    rules = [line.before == ruling for line in lines]
    count = sum(rules)
    strongest = max if ruling else min
    events = sorted([(each[0], number, each) for number, line in enumerate(lines) for each in line.breaks])
    position, last = 0, len(events)
    while position < last:
        at = events[position][0]
        through, cut, state = count, 0, OUT if ruling else IN
        while position < last and events[position][0] == at:
            _, number, each = events[position]
            follows = each.after == ruling
            through -= rules[number]
            count += follows - rules[number]
            rules[number] = follows
            cut, state = cut | each.cut, strongest(state, each.state)
            position += 1
        if not through:
            breaks.append(Break(at, cut, state, (count > 0) == ruling))
    return breaks


def _tidy(before: bool, breaks: list[Break]) -> Line:
    """Without the breaks at which nothing changes for any value."""
    kept: list[Break] = []
    inside = before
    for each in breaks:
        same = each.cut in (EXACT, DOUBLE) and each.after == inside and each.state == (IN if inside else OUT)
        if not same:
            kept.append(each)
        inside = each.after
    return Line(before, tuple(kept))


def atoms(domain: int, line: Line) -> list[Atom]:
    """The set as intervals; nothing lies beyond the infinities."""
    found: list[Atom] = []
    inside, low, flags = line.before, -inf, 0
    for at, cut, state, after in line.breaks:
        doubt = ROUNDED if state == DOUBT else 0
        if inside and at > -inf:
            found.append(Atom(domain, low, at, flags | doubt | (HIGH_OPEN if state == OUT else 0)))
        elif not (after and at < inf) and (state != OUT or cut not in (EXACT, DOUBLE)):
            found.append(Atom(domain, at, at, 0 if state == IN else ROUNDED))
        inside, low, flags = after and at < inf, at, doubt | (LOW_OPEN if state == OUT else 0)
    if inside:
        found.append(Atom(domain, low, inf, flags))
    return found
