"""Comparisons and text tests that exclude each other, seen from their operands alone.

The laws come from `semantics.comparison`: of two values at most one of `<`, `=`, `>` is true, `<=` where `<` or `=` is,
`!=` never where `=` is; a text equals itself alone, and is ordered within its language by its characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from heliograph.index.comparing import MIRRORED
from heliograph.syntax.query import Call, Compare, Expression
from heliograph.terms import RDF_LANG_STRING, Term
from heliograph.values import XSD_STRING

TEXTS = (XSD_STRING, RDF_LANG_STRING)

# What may be so where a comparison is true: below, equal, above, or just different, as not-a-number is.
_TRUE_OF = {"<": "b", "<=": "be", "=": "e", ">=": "ea", ">": "a", "!=": "bad"}


def opposed(conditions: Iterable[Expression]) -> bool:
    """Whether one pair of operands is compared in ways that no two values satisfy."""
    known: dict[tuple[Expression, Expression], set[str]] = {}
    for condition in conditions:
        if isinstance(condition, Compare):
            operator, left, right = condition.operator, condition.left, condition.right
            if (right, left) in known:
                operator, left, right = MIRRORED[operator], right, left
            may_be = known.get((left, right)) or set("ed" if left == right else "bead")
            known[left, right] = may_be & set(_TRUE_OF[operator])
            if not known[left, right]:
                return True
    return False


class Test(NamedTuple):
    """What is asked of the text that an expression gives."""

    operator: str  # < <= = >= > STRSTARTS STRENDS
    constant: Term


def texts_apart(conditions: Iterable[Expression]) -> bool:
    """Whether some expression is asked for a text that there is none of."""
    tests: dict[Expression, list[Test]] = {}
    for subject, test in _tests(conditions):
        tests.setdefault(subject, []).append(test)
    return any(len(asked) > 1 and _no_text(asked) for asked in tests.values())


def _no_text(tests: list[Test]) -> bool:
    ordered = [test for test in tests if len(test.operator) <= 2]
    if len({test.constant[2:] for test in ordered}) > 1:  # datatype and language
        return True
    starts = [test.constant.value for test in tests if test.operator == "STRSTARTS"]
    ends = [test.constant.value[::-1] for test in tests if test.operator == "STRENDS"]
    return _crossed(ordered) or _branching(starts) or _branching(ends)


def _crossed(tests: list[Test]) -> bool:
    """Whether a lower end lies above an upper one, or at it where one of both is open."""
    lows = [(test.constant.value, test.operator == ">") for test in tests if test.operator in (">", ">=", "=")]
    highs = [(test.constant.value, test.operator != "<") for test in tests if test.operator in ("<", "<=", "=")]
    if not lows or not highs:
        return False
    (low, above), (high, up_to) = max(lows), min(highs)
    return low > high or (low == high and (above or not up_to))


def _branching(beginnings: list[str]) -> bool:
    """Whether no text begins with all of these."""
    ordered = sorted(beginnings, key=len)
    return any(not longer.startswith(shorter) for shorter, longer in pairwise(ordered))


def _tests(conditions: Iterable[Expression]) -> Iterator[tuple[Expression, Test]]:
    for condition in conditions:
        match condition:
            case Compare(operator, subject, Term() as constant):
                test = Test(operator, constant)
            case Compare(operator, Term() as constant, subject):
                test = Test(MIRRORED[operator], constant)
            case Call(("STRSTARTS" | "STRENDS") as name, (subject, Term() as constant)):
                test = Test(name, constant)
            case _:
                continue
        if test.constant.datatype in TEXTS and test.operator != "!=":
            yield subject, test
