"""Predicates that no event can make true.

The law: `never_holds` is only ever right. It is modest, because on a list `x = 1 AND x = 2` can hold: what it knows are
constants, comparisons with NULL, ranges that are empty, operands beside the negation of what they imply, and an
attribute that has to be missing beside a test that needs its value.
"""

from __future__ import annotations

from collections.abc import Set

from heliograph.syntax.predicate_form import (
    And,
    Between,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Pair,
    Path,
    Predicate,
    Truth,
)
from heliograph.syntax.predicate_truth import compare


def never_holds(form: Predicate) -> bool:
    """Whether the predicate is false or unknown for every event."""
    if isinstance(form, Constant):
        return form.value is not True
    if isinstance(form, Not):
        return never_fails(form.operand)
    if isinstance(form, And):
        return any(map(never_holds, form.operands)) or _contradicts_itself(form) or _misses(form)
    if isinstance(form, Or):
        return all(map(never_holds, form.operands))
    return _is_empty(form)


def never_fails(form: Predicate) -> bool:
    """Whether the predicate is true or unknown for every event."""
    if isinstance(form, Constant):
        return form.value is not False
    if isinstance(form, Not):
        return never_holds(form.operand)
    if isinstance(form, And):
        return all(map(never_fails, form.operands))
    if isinstance(form, Or):
        return any(map(never_fails, form.operands))
    return False


def _contradicts_itself(form: And) -> bool:
    given = set(form.operands)
    return any(_follows(operand.operand, given) for operand in form.operands if isinstance(operand, Not))


def _follows(form: Predicate, given: Set[Predicate]) -> bool:
    """Whether the form is true wherever all that is given is."""
    if form in given:
        return True
    if isinstance(form, And):
        return all(_follows(operand, given) for operand in form.operands)
    return isinstance(form, Or) and any(_follows(operand, given) for operand in form.operands)


def _misses(form: And) -> bool:
    """Whether an attribute has to be missing, and it or what is nested in it has to have a value."""
    missing = {operand.attribute for operand in form.operands if isinstance(operand, IsNull)}
    needed = [path for operand in form.operands for path in _needed(operand)] if missing else []
    return any(path[:depth] in missing for path in needed for depth in range(1, len(path) + 1))


def _needed(form: Predicate) -> tuple[Path, ...]:
    """The attributes without which the form is not true. NOT a = b may hold with one of them: against a list."""
    if isinstance(form, Pair):
        return form.left, form.right
    if isinstance(form, Not) and not isinstance(form.operand, Pair | Not):
        return (form.operand.attribute,) if isinstance(form.operand, IsNull) else _needed(form.operand)
    if isinstance(form, In):
        return (form.attribute,) if form.values else ()
    return (form.attribute,) if isinstance(form, Comparison | Between | Like | Truth) else ()


def _is_empty(form: Predicate) -> bool:
    """Whether no scalar satisfies an atomic predicate."""
    if isinstance(form, Comparison):
        return form.value is None
    if isinstance(form, Between):
        return compare(form.low, "<=", form.high) is not True
    if isinstance(form, Like):
        return form.pattern is None
    return isinstance(form, In) and all(value is None for value in form.values)
