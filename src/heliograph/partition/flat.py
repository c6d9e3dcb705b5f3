"""Expressions laid flat: their nodes in prefix order, so that depth costs no recursion when they are compared.

The laws: `raised(laid(expression)) == expression`; two expressions are equal exactly if they are laid alike. In normal
form `a > b` is `b < a`, and the operands of `=` and `!=` stand in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from heliograph.syntax.query import (
    And,
    Arithmetic,
    Call,
    Compare,
    Count,
    Expression,
    In,
    Metric,
    Negate,
    Node,
    Not,
    Or,
    children,
)
from heliograph.terms import Term, Variable


class Head(NamedTuple):
    """An operator, with the number of operands that follow it."""

    kind: str
    detail: str
    operands: int


Flat = tuple[Head | Node, ...]

_TURNED = {">": "<", ">=": "<="}


def laid(expression: Expression) -> Flat:
    ordered: list[Head | Node] = []
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, (Term, Variable)):
            ordered.append(node)
        else:
            below = children(node)
            ordered.append(Head(type(node).__name__, _detail(node), len(below)))
            stack.extend(reversed(below))
    return tuple(ordered)


def _detail(node: Expression) -> str:
    match node:
        case Compare(symbol) | Arithmetic(symbol):
            return symbol
        case Call(name) | Metric(name):
            return name
        case In(negated=True):
            return "not"
    return ""


def raised(flat: Flat) -> Expression:
    """The expression again."""
    stack: list[Expression] = []
    for node in reversed(flat):
        if isinstance(node, Head):
            stack.append(_MAKE[node.kind](node.detail, tuple([stack.pop() for _ in range(node.operands)])))
        else:
            stack.append(node)
    return stack[0]


_MAKE: dict[str, Callable[[str, tuple[Expression, ...]], Expression]] = {
    "Not": lambda _, below: Not(*below),
    "And": lambda _, below: And(below),
    "Or": lambda _, below: Or(below),
    "Compare": lambda symbol, below: Compare(symbol, *below),
    "In": lambda negated, below: In(below[0], below[1:], bool(negated)),
    "Arithmetic": lambda symbol, below: Arithmetic(symbol, *below),
    "Negate": lambda _, below: Negate(*below),
    "Call": Call,
    "Metric": Metric,
    "Count": lambda _, below: Count(),
}


def substituted(flat: Flat, images: Mapping[Node, Node]) -> Flat:
    """The expression with nodes for its variables, in normal form again where it is one comparison."""
    return turned(tuple([images.get(node, node) if isinstance(node, Variable) else node for node in flat]))


def turned(flat: Flat) -> Flat:
    """A comparison of two nodes the one way in which it is written; anything else as it is."""
    head = flat[0]
    if len(flat) != 3 or not isinstance(head, Head) or head.kind != "Compare":
        return flat
    if head.detail in _TURNED:
        return head._replace(detail=_TURNED[head.detail]), flat[2], flat[1]
    if head.detail in ("=", "!=") and _rank(flat[2]) < _rank(flat[1]):
        return head, flat[2], flat[1]
    return flat


def _rank(node: Head | Node) -> tuple[bool, bool, tuple[object, ...]]:
    return isinstance(node, Variable), isinstance(node, Head), tuple(node)


def variables_of(flat: Flat) -> set[Variable]:
    return {node for node in flat if isinstance(node, Variable)}


def is_ground(flat: Flat) -> bool:
    """Whether it can be evaluated at once: no variable, no metric, no count."""
    return not any(
        isinstance(node, Variable) or (isinstance(node, Head) and node.kind in ("Metric", "Count")) for node in flat
    )
