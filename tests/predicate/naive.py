"""The slow, obvious twin of the predicates' truth: the contract's sentences on route, one by one."""

from __future__ import annotations

import re
from typing import Any

from heliograph.predicate.form import (
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


def truth(form: Predicate, event: dict[str, Any]) -> bool | None:
    """SQL's three-valued logic by its truth tables: false < unknown < true, AND is the least, OR the greatest."""
    if isinstance(form, Constant):
        return form.value
    if isinstance(form, Not):
        return {True: False, False: True, None: None}[truth(form.operand, event)]
    if isinstance(form, And | Or):
        ranks = [{False: 0, None: 1, True: 2}[truth(part, event)] for part in form.operands]
        return {0: False, 1: None, 2: True}[min(ranks) if isinstance(form, And) else max(ranks)]
    if isinstance(form, IsNull):
        return _find(event, form.attribute) is None
    if isinstance(form, Pair):
        return _pair(form, _find(event, form.left), _find(event, form.right))
    value = _find(event, form.attribute)
    if isinstance(value, list):
        return any(_scalar(form, element) is True for element in value)
    return _scalar(form, value)


def _find(event: dict[str, Any], path: Path) -> Any:
    """What stands at the end of a path; through a list, the list of what its objects hold there."""
    value: Any = event
    for depth, name in enumerate(path):
        if isinstance(value, list):
            inner = [_find(each, path[depth:]) for each in value if isinstance(each, dict)]
            return [one for each in inner for one in _several(each) if each is not None]
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _pair(form: Pair, left: Any, right: Any) -> bool | None:
    if not isinstance(left, list) and not isinstance(right, list):
        return _compare(left, form.operator, right)
    pairs = [(a, b) for a in (left if isinstance(left, list) else [left]) for b in _several(right)]
    return any(_compare(a, form.operator, b) is True for a, b in pairs)


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _scalar(form: Predicate, value: Any) -> bool | None:
    if isinstance(form, Comparison):
        return _compare(value, form.operator, form.value)
    if isinstance(form, Truth):
        return value == form.wanted if isinstance(value, bool) else None
    if isinstance(form, In):
        equal: list[Predicate] = [Constant(_compare(value, "=", constant)) for constant in form.values]
        return truth(Or(tuple(equal)), {})
    if isinstance(form, Between):
        bounds = (_compare(value, ">=", form.low), _compare(value, "<=", form.high))
        return truth(And(tuple(Constant(bound) for bound in bounds)), {})
    assert isinstance(form, Like)
    return _like(form, value)


def _compare(left: Any, sign: str, right: Any) -> bool | None:
    if _kind(left) is None or _kind(left) != _kind(right):
        return None
    below, same = bool(left < right), bool(left == right)
    answers = {"=": same, "<>": not same, "<": below, "<=": below or same, ">": not (below or same), ">=": not below}
    return answers[sign]


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else None


def _like(form: Like, value: Any) -> bool | None:
    if not isinstance(value, str) or form.pattern is None:
        return None
    expression = ""
    rest = list(form.pattern)
    while rest:
        character = rest.pop(0)
        if character == form.escape:
            expression += re.escape(rest.pop(0))
        else:
            expression += {"%": ".*", "_": "."}.get(character, re.escape(character))
    if form.fold:
        return re.fullmatch(expression.lower(), value.lower(), re.DOTALL) is not None
    return re.fullmatch(expression, value, re.DOTALL) is not None
