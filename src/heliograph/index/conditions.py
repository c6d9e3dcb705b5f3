"""Filters as conjuncts: what they ask of each variable by itself, as unions of intervals.

SPARQL's logic has three values. A filter keeps a solution where it is true; `!` is true where its operand is false, so
every expression is asked either where it is true or where it is false, and the question passes down: where `a && b` is
false, one of them is. Everything is asked in terms of supersets, which conjunction and disjunction preserve; what a
filter loses on the way (text tests, arithmetic, several variables) makes the whole inexact.

The law: a term for which the filters hold lies in every conjunct of its variable; if the conditions are exact, the
converse holds too, but for terms in doubt (a tie with an end where one of both is rounded, or an xsd:float).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heliograph.index.interests import Atom
from heliograph.index.regions import Box, Region, all_of, alternatives, any_of, common
from heliograph.index.truths import Intern, box_of
from heliograph.syntax.query import And, Expression, Not, Or
from heliograph.terms import Variable

_CONNECTIVES = (And, Or, Not)


class Conditions(NamedTuple):
    """What filters ask of each variable; `exact` if that says it all, `never` if no solution can satisfy them."""

    conjuncts: tuple[tuple[Variable, tuple[Atom, ...]], ...]
    exact: bool
    never: bool = False


class Asked(NamedTuple):
    """An expression, and whether it is asked where it is true or where it is false."""

    expression: Expression
    wanted: bool


def conditions_of(filters: Sequence[Expression], intern: Intern, given: Iterable[Box] = ()) -> Conditions:
    """The conjuncts of filters that are ANDed, together with the boxes already `given`.

    Variables that a filter names are taken to be bound. `intern` gives the ids of constants.
    """
    boxes = [*given, *(_box(asked, intern) for each in filters for asked in _parts(Asked(each, True)))]
    return Conditions(_conjuncts(boxes), all(box.exact for box in boxes), any(box.never for box in boxes))


def _conjuncts(boxes: Iterable[Box]) -> tuple[tuple[Variable, tuple[Atom, ...]], ...]:
    """One conjunct a variable, and one more for each region by text."""
    plain: dict[Variable, list[Region]] = {}
    worded: list[tuple[Variable, Region]] = []
    for box in boxes:
        for variable, region in box.regions.items():
            if region.words:
                worded.append((variable, region))
            else:
                plain.setdefault(variable, []).append(region)
    joined = [(variable, Region(common([each.lines for each in regions]))) for variable, regions in plain.items()]
    return tuple([(variable, alternatives(region)) for variable, region in joined + worded if not region.everything])


# --- the connectives --------------------------------------------------------------------------------------------


def _parts(asked: Asked) -> list[Asked]:
    """What must all be so, where an expression is ANDed from parts."""
    if not isinstance(asked.expression, _CONNECTIVES):
        return [asked]
    parts: list[Asked] = []
    stack = [asked]
    while stack:
        each = _without_not(stack.pop())
        operands = _operands(each)
        if operands is not None and _needs_all(each):
            stack.extend(reversed(operands))
        else:
            parts.append(each)
    return parts


def _box(asked: Asked, intern: Intern) -> Box:
    """The box of a part: its connectives are run on a stack, operands first."""
    if not isinstance(asked.expression, _CONNECTIVES):
        return box_of(asked.expression, asked.wanted, intern)
    done: list[Box] = []
    for each, operands in reversed(_prefix(asked)):
        if operands is None:
            done.append(box_of(each.expression, each.wanted, intern))
        else:
            taken = [done.pop() for _ in range(operands)]
            done.append(all_of(taken) if _needs_all(each) else any_of(taken))
    return done[0]


def _prefix(asked: Asked) -> list[tuple[Asked, int | None]]:
    """Connectives with the number of their operands, which follow them; None for anything else."""
    ordered: list[tuple[Asked, int | None]] = []
    stack = [asked]
    while stack:
        each = _without_not(stack.pop())
        operands = _operands(each)
        ordered.append((each, None if operands is None else len(operands)))
        stack.extend(operands or ())
    return ordered


def _without_not(asked: Asked) -> Asked:
    expression, wanted = asked
    while isinstance(expression, Not):
        expression, wanted = expression.operand, not wanted
    return Asked(expression, wanted)


def _operands(asked: Asked) -> list[Asked] | None:
    if not isinstance(asked.expression, (And, Or)):
        return None
    return [Asked(operand, asked.wanted) for operand in asked.expression.operands]


def _needs_all(asked: Asked) -> bool:
    """`a && b` is true where both are, `a || b` is false where both are."""
    return isinstance(asked.expression, And) == asked.wanted
