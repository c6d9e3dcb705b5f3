"""Patterns and expressions as text, for people: what an explanation quotes. Terms are spelled as in tables."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.syntax.query import (
    And,
    Arithmetic,
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Count,
    Expression,
    In,
    Metric,
    Node,
    Not,
    Or,
    Pattern,
    TriplePattern,
    children,
)
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Position, Term, Variable, spell

_PATHS = {ClassRelation.IS_A: "a/rdfs:subClassOf*", ClassRelation.SUBCLASS_OF: "rdfs:subClassOf+"}
_SHORT = {RDF_TYPE: "a", RDFS_SUBCLASS_OF: "rdfs:subClassOf"}
_NOTHING: Mapping[Variable, Term] = {}


def spell_pattern(pattern: Pattern, bindings: Mapping[Variable, Term] = _NOTHING) -> str:
    """A pattern such as `?x knows Bob`, its variables replaced where they are bound."""
    if isinstance(pattern, ClassPattern):
        middle = _PATHS[pattern.relation]
    else:
        assert isinstance(pattern, TriplePattern)
        middle = spell_node(pattern.predicate, bindings, Position.PROPERTY)
    return f"{spell_node(pattern.subject, bindings)} {middle} {spell_node(pattern.object, bindings)}"


def spell_node(node: Node, bindings: Mapping[Variable, Term] = _NOTHING, position: Position = Position.OBJECT) -> str:
    term = bindings.get(node, node) if isinstance(node, Variable) else node
    if isinstance(term, Variable):
        return str(term)
    return (_SHORT.get(term) if position is Position.PROPERTY else None) or spell(term, position)


def spell_expression(expression: Expression) -> str:
    """An expression with brackets around every operation below the top, without recursion."""
    texts: dict[int, str] = {}
    stack: list[tuple[Expression, bool]] = [(expression, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            texts[id(node)] = _spelled(node, [texts[id(child)] for child in children(node)])
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in children(node))
    return texts[id(expression)]


def _spelled(node: Expression, parts: list[str]) -> str:
    match node:
        case Call(name):
            return f"{name}({', '.join(parts)})"
        case Metric(name):
            return f"hg:{name}({', '.join(parts)})"
        case Count():
            return "COUNT(*)"
        case Term() | Variable():
            return spell_node(node)
    shown = [_bracketed(child, part) for child, part in zip(children(node), parts, strict=True)]
    return _operation(node, shown)


def _operation(node: Expression, parts: list[str]) -> str:
    match node:
        case And():
            return " && ".join(parts)
        case Or():
            return " || ".join(parts)
        case Compare(operator) | Arithmetic(operator):
            return f"{parts[0]} {operator} {parts[1]}"
        case In(negated=negated):
            return f"{parts[0]} {'NOT IN' if negated else 'IN'} ({', '.join(parts[1:])})"
        case _:
            return f"{'!' if isinstance(node, Not) else '-'}{parts[0]}"


def _bracketed(node: Expression, text: str) -> str:
    return f"({text})" if isinstance(node, (And, Or, Compare, Arithmetic, In)) else text
