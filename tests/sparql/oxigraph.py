"""The outside oracle: our terms, expressions and queries as pyoxigraph's, and its answers as ours.

Taxonomy rows are put into the store under properties of their own, and the patterns that may see them are rewritten to
ask for both, so that derived triples serve only the is-a forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyoxigraph as ox

from heliograph.sparql.query import (
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
    Negate,
    Node,
    Not,
    Or,
    Pattern,
    Query,
    TriplePattern,
    Values,
)
from heliograph.terms import RDF_TYPE, Term, TermKind, Variable, blank, iri, literal

ROW = iri("urn:test:row")  # the property under which the oracle keeps taxonomy rows
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"


def to_ox(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if term.kind is TermKind.IRI:
        return ox.NamedNode(term.value)
    if term.kind is TermKind.BLANK:
        return ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))


def from_ox(term: object) -> Term:
    if isinstance(term, ox.NamedNode):
        return iri(term.value)
    if isinstance(term, ox.BlankNode):
        return blank(term.value)
    assert isinstance(term, ox.Literal)
    return literal(term.value, term.datatype.value, term.language or "")


def node_text(node: Node) -> str:
    if isinstance(node, Variable):
        return str(node)
    if node.kind is TermKind.IRI:
        return f"<{node.value}>"
    return str(to_ox(node))


def expression_text(node: Expression) -> str:
    """SPARQL text of an expression, every operator in parentheses."""
    match node:
        case Term() | Variable():
            return node_text(node)
        case Not(operand):
            return f"(! {expression_text(operand)})"
        case Negate(operand):
            return f"(- {expression_text(operand)})"
        case And(operands):
            return "(" + " && ".join(map(expression_text, operands)) + ")"
        case Or(operands):
            return "(" + " || ".join(map(expression_text, operands)) + ")"
        case Compare(symbol, left, right) | Arithmetic(symbol, left, right):
            return f"({expression_text(left)} {symbol} {expression_text(right)})"
        case In(operand, choices, negated):
            word = "NOT IN" if negated else "IN"
            return f"({expression_text(operand)} {word} ({', '.join(map(expression_text, choices))}))"
        case Call(name, arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})"
        case Count():
            return "COUNT(*)"
        case Metric():
            raise ValueError("the oracle knows no metrics")


def pattern_text(pattern: Pattern, taxonomy: bool = False) -> str:
    """SPARQL text of a pattern; with `taxonomy` it also sees the rows kept under ROW, where the contract says so."""
    kind = f"({_TYPE}|<{ROW.value}>)" if taxonomy else "a"
    sub = f"({_SUBCLASS}|<{ROW.value}>)" if taxonomy else _SUBCLASS
    subject, object = node_text(pattern.subject), node_text(pattern.object)
    if isinstance(pattern, ClassPattern):
        path = f"{kind}/{sub}*" if pattern.relation is ClassRelation.IS_A else f"{sub}+"
        return f"{subject} {path} {object}"
    assert isinstance(pattern, TriplePattern)
    predicate = kind if pattern.predicate == RDF_TYPE else node_text(pattern.predicate)
    return f"{subject} {predicate} {object}"


def _any_property(query: Query) -> list[Variable]:
    """The variables in the place of a property, which must not see the oracle's taxonomy rows."""
    middles = [pattern.predicate for pattern in query.patterns if isinstance(pattern, TriplePattern)]
    return [node for node in middles if isinstance(node, Variable)]


def values_text(block: Values) -> str:
    rows = ("(" + " ".join("UNDEF" if term is None else node_text(term) for term in row) + ")" for row in block.rows)
    return f"VALUES ({' '.join(map(str, block.variables))}) {{ {' '.join(rows)} }}"


def query_text(query: Query, taxonomy: bool = False) -> str:
    """SPARQL text that asks for the distinct solutions over all variables."""
    body = [pattern_text(pattern, taxonomy) + " ." for pattern in query.patterns]
    body += [f"FILTER({name} != <{ROW.value}>)" for name in _any_property(query)]
    body += [values_text(block) for block in query.values]
    body += [f"FILTER({expression_text(expression)})" for expression in query.filters]
    return f"SELECT DISTINCT * WHERE {{ {' '.join(body)} }}"


def store(triples: Iterable[tuple[Term, Term, Term]], rows: Iterable[tuple[Term, Term]] = ()) -> ox.Store:
    made = ox.Store()
    for s, p, o in [*triples, *((child, ROW, parent) for child, parent in rows)]:
        made.add(ox.Quad(to_ox(s), to_ox(p), to_ox(o)))  # type: ignore[arg-type]
    return made


def answers(source: ox.Store, text: str) -> list[dict[Variable, Term]]:
    found = source.query(text)
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return [{Variable(name): from_ox(row[name]) for name in names if row[name] is not None} for row in found]


def value(expression: Expression, bindings: Mapping[Variable, Term]) -> Term | None:
    """The oracle's value of an expression; None is an error."""
    given = Values(tuple(bindings), (tuple(bindings.values()),))
    text = f"SELECT ({expression_text(expression)} AS ?result) WHERE {{ {values_text(given)} }}"
    return answers(ox.Store(), text)[0].get(Variable("result"))
