"""Queries as short text, for fixtures: one line for each pattern, filter, VALUES block and clause."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.sparql.query import (
    And,
    Arithmetic,
    Call,
    ClassPattern,
    Compare,
    Count,
    Expression,
    In,
    Metric,
    Negate,
    Node,
    Not,
    Or,
    Query,
    Values,
)
from heliograph.terms import PREFIXES, Term, TermKind, Variable, spell

_LONGEST = sorted(filter(None, PREFIXES), key=lambda prefix: -len(PREFIXES[prefix]))


def show(query: Query) -> str:
    return "\n".join(_lines(query))


def _lines(query: Query) -> Iterator[str]:
    distinct = " distinct" if query.distinct else ""
    counted = " count" if query.counted else ""
    yield f"{query.form}{distinct}{counted} {_row(query.projection)}".rstrip()
    for pattern in query.patterns:
        if isinstance(pattern, ClassPattern):
            yield f"{show_node(pattern.subject)} {pattern.relation} {show_node(pattern.object)}"
        else:
            yield _row(pattern)
    yield from (f"filter {show_expression(condition)}" for condition in query.filters)
    yield from (_show_values(block) for block in query.values)
    if query.group_by:
        yield f"group by {_row(query.group_by)}"
    if query.having is not None:
        yield f"having {show_expression(query.having)}"


def _row(nodes: tuple[Node, ...]) -> str:
    return " ".join(show_node(node) for node in nodes)


def _show_values(block: Values) -> str:
    rows = (" ".join("UNDEF" if term is None else show_node(term) for term in row) for row in block.rows)
    return f"values {_row(block.variables)}: {' | '.join(rows)}".rstrip()


def show_node(node: Node) -> str:
    if isinstance(node, Variable) or node.kind is not TermKind.IRI:
        return str(node)
    known = next((prefix for prefix in _LONGEST if node.value.startswith(PREFIXES[prefix])), None)
    return spell(node) if known is None else f"{known}:{node.value[len(PREFIXES[known]) :]}"


def show_expression(expression: Expression) -> str:
    """Prefix notation: (> ?x 5)."""
    match expression:
        case Term() | Variable():
            return show_node(expression)
        case Count():
            return "count"
        case Not(operand):
            return _form("!", operand)
        case Negate(operand):
            return _form("neg", operand)
        case And(operands):
            return _form("&&", *operands)
        case Or(operands):
            return _form("||", *operands)
        case Compare(operator, left, right) | Arithmetic(operator, left, right):
            return _form(operator, left, right)
        case In(operand, choices, negated):
            return _form("not-in" if negated else "in", operand, *choices)
        case Call(name, arguments):
            return _form(name, *arguments)
        case Metric(name, arguments):
            return _form("hg:" + name, *arguments)


def _form(name: str, *operands: Expression) -> str:
    return f"({' '.join([name, *map(show_expression, operands)])})"
