"""What a predicate says of an event: SQL's three-valued logic over JSON attributes.

True, False or None (unknown). The rules, as `CONTRACT` states them for route:
- a missing attribute and a JSON null are the same thing, and every comparison with it is unknown;
- a number against a string (or a boolean, or an object) is unknown, never a cast; numbers compare by exact value,
  strings by code point;
- on a list an atomic predicate is two-valued: true if it is true of one element, else false, and so false on an empty
  list; NOT negates that. IS NULL asks whether the attribute is there at all, so it is false on any list;
- a.b steps into objects; through a list of objects it collects the elements' b into one list.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

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
from heliograph.syntax.predicate_like import matcher

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = (int, float)  # exact types: a bool is no number


class Attributes:
    """One event's attributes; each path is looked up once."""

    __slots__ = ("_found", "_tree")

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._tree = tree
        self._found: dict[Path, Any] = {}

    def value(self, path: Path) -> Any:
        """The JSON value at `path`; None where it is missing."""
        if path not in self._found:
            self._found[path] = lookup(self._tree, path)
        return self._found[path]


def lookup(tree: Any, path: Path) -> Any:
    """The value at the end of `path`; a list on the way gives the list of what its objects hold there."""
    for depth, name in enumerate(path):
        if type(tree) is list:
            return _collect(tree, path[depth:])
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(name)
    return tree


def _collect(elements: list[Any], path: Path) -> list[Any]:
    collected: list[Any] = []
    for element in elements:
        value = lookup(element, path) if isinstance(element, Mapping) else None
        if type(value) is list:
            collected.extend(value)
        elif value is not None:
            collected.append(value)
    return collected


def accepts(predicate: Predicate, attributes: Attributes) -> bool:
    """Whether the predicate is true of the event; unknown does not accept."""
    return _RULES[type(predicate)](predicate, attributes) is True


def evaluate(predicate: Predicate, attributes: Attributes) -> bool | None:
    """True, False or None (unknown)."""
    return _RULES[type(predicate)](predicate, attributes)


def compare(left: Any, comparison: str, right: Any) -> bool | None:
    """Two JSON scalars under = <> < <= > >=; unknown unless both are strings, both numbers or both booleans."""
    kind = type(left)
    same = type(right) in _NUMBERS if kind in _NUMBERS else kind is type(right) and kind in (str, bool)
    return _COMPARE[comparison](left, right) if same else None


def _compare(predicate: Comparison, value: Any) -> bool | None:
    return compare(value, predicate.operator, predicate.value)


def _is_in(predicate: In, value: Any) -> bool | None:
    """x IN (a, b) is x = a OR x = b."""
    result: bool | None = False
    for constant in predicate.values:
        truth = compare(value, "=", constant)
        if truth:
            return True
        if truth is None:
            result = None
    return result


def _is_between(predicate: Between, value: Any) -> bool | None:
    """x BETWEEN a AND b is x >= a AND x <= b."""
    above, below = compare(value, ">=", predicate.low), compare(value, "<=", predicate.high)
    if above is False or below is False:
        return False
    return True if above and below else None


def _is_like(predicate: Like, value: Any) -> bool | None:
    if type(value) is not str or predicate.pattern is None:
        return None
    return matcher(predicate.pattern, predicate.escape, predicate.fold)(value)


def _is_truth(predicate: Truth, value: Any) -> bool | None:
    return value is predicate.wanted if type(value) is bool else None


def _on_elements(test: Callable[[Any, Any], bool | None]) -> Callable[[Any, Attributes], bool | None]:
    """The rule of an atomic predicate on a whole attribute, from its test on one scalar."""

    def rule(predicate: Any, attributes: Attributes) -> bool | None:
        value = attributes.value(predicate.attribute)
        if type(value) is list:
            return any(test(predicate, element) for element in value)
        return test(predicate, value)

    return rule


def _pair(predicate: Pair, attributes: Attributes) -> bool | None:
    """Attribute against attribute; where one is a list, one pair of elements has to satisfy it."""
    left, right = attributes.value(predicate.left), attributes.value(predicate.right)
    if type(left) is not list and type(right) is not list:
        return compare(left, predicate.operator, right)
    rights = right if type(right) is list else [right]
    lefts = left if type(left) is list else [left]
    return any(compare(one, predicate.operator, other) for one in lefts for other in rights)


def _not(predicate: Not, attributes: Attributes) -> bool | None:
    truth = evaluate(predicate.operand, attributes)
    return None if truth is None else not truth


def _and(predicate: And, attributes: Attributes) -> bool | None:
    result: bool | None = True
    for operand in predicate.operands:
        truth = _RULES[type(operand)](operand, attributes)
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def _or(predicate: Or, attributes: Attributes) -> bool | None:
    result: bool | None = False
    for operand in predicate.operands:
        truth = _RULES[type(operand)](operand, attributes)
        if truth:
            return True
        if truth is None:
            result = None
    return result


_RULES: dict[type, Callable[[Any, Attributes], bool | None]] = {
    Constant: lambda predicate, _: predicate.value,
    Comparison: _on_elements(_compare),
    In: _on_elements(_is_in),
    Between: _on_elements(_is_between),
    Like: _on_elements(_is_like),
    Truth: _on_elements(_is_truth),
    IsNull: lambda predicate, attributes: attributes.value(predicate.attribute) is None,
    Pair: _pair,
    Not: _not,
    And: _and,
    Or: _or,
}
