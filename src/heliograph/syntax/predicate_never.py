"""Predicates that no event can make true.

The law: `never_holds` is only ever right. It is modest, because on a list `x = 1 AND x = 2` can hold: what it knows are
constants, comparisons with NULL, ranges that are empty, and an operand beside its own negation.
"""

from __future__ import annotations

from heliograph.syntax.predicate_form import And, Between, Comparison, Constant, In, Like, Not, Or, Predicate
from heliograph.syntax.predicate_truth import compare


def never_holds(form: Predicate) -> bool:
    """Whether the predicate is false or unknown for every event."""
    if isinstance(form, Constant):
        return form.value is not True
    if isinstance(form, Not):
        return never_fails(form.operand)
    if isinstance(form, And):
        return any(map(never_holds, form.operands)) or _contradicts_itself(form)
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
    negated = {operand.operand for operand in form.operands if isinstance(operand, Not)}
    return any(operand in negated for operand in form.operands)


def _is_empty(form: Predicate) -> bool:
    """Whether no scalar satisfies an atomic predicate."""
    if isinstance(form, Comparison):
        return form.value is None
    if isinstance(form, Between):
        return compare(form.low, "<=", form.high) is not True
    if isinstance(form, Like):
        return form.pattern is None
    return isinstance(form, In) and all(value is None for value in form.values)
