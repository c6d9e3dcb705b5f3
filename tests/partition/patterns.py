"""Random queries over so few terms that one often contains another, and publications that match them often.

A special query is made of a general one: variables become terms or each other, edges and conditions are added, classes
give way to classes below them, rdfs:member to an rdf:_n. So a check for containment that claims too much is caught.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from hypothesis import strategies as st

from heliograph.sparql.normalize import laid, raised
from heliograph.sparql.query import (
    And,
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Expression,
    In,
    Node,
    Not,
    Or,
    Pattern,
    Query,
    TriplePattern,
    Values,
)
from heliograph.sparql.solve import Graph, QueryPlan, Triple, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import (
    RDF,
    RDF_TYPE,
    RDFS_MEMBER,
    RDFS_SUBCLASS_OF,
    Term,
    Variable,
    blank,
    iri,
    literal,
    plain_name,
)
from heliograph.values import XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

X, Y, Z = map(Variable, "xyz")
A, B, C, D, P, Q = map(plain_name, "ABCDpq")
MEMBERS = (iri(RDF + "_1"), iri(RDF + "_2"))
NUMBERS = [literal(str(number), XSD_INTEGER) for number in (1, 2, 3, 16777216, 16777217)]
NUMBERS += [literal("2.5", XSD_DECIMAL), literal("2", XSD_DOUBLE), literal("NaN", XSD_DOUBLE)]
NUMBERS += [literal(text, XSD_FLOAT) for text in ("2.5", "16777216")]
MOMENTS = [literal(f"2020-01-0{day}T00:00:00{zone}", XSD_DATETIME) for day in (1, 2, 3) for zone in ("", "Z")]
TEXTS = [literal("a"), literal("ab"), literal("a", language="en"), literal("x", XSD_INTEGER)]
LITERALS = NUMBERS + MOMENTS + TEXTS

names = st.sampled_from([A, B, C, D])
variables = st.sampled_from([X, Y, Z])
predicates = st.sampled_from([P, P, Q, RDF_TYPE, RDFS_SUBCLASS_OF, RDFS_MEMBER, *MEMBERS])
objects = st.one_of(names, st.sampled_from(LITERALS))
_rows = st.lists(st.tuples(names, names), max_size=4)
taxonomies = st.builds(lambda rows, types: Taxonomy(rows, types=types), _rows, st.none() | _rows)  # a table, or RDF

# --- queries ----------------------------------------------------------------------------------------------------

triple_patterns = st.builds(
    TriplePattern,
    st.one_of(variables, variables, names),
    st.one_of(predicates, predicates, predicates, variables),
    st.one_of(variables, variables, objects),
)
class_patterns = st.builds(
    ClassPattern, st.sampled_from(ClassRelation), st.one_of(variables, names), st.one_of(variables, names, names)
)
edges = st.one_of(triple_patterns, triple_patterns, class_patterns)

_symbols = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
_values = st.one_of(objects, st.sampled_from(NUMBERS))
_tests: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, _symbols, variables, _values),
    st.builds(Compare, _symbols, variables, st.sampled_from(NUMBERS)),
    st.builds(Compare, _symbols, variables, variables),
    st.builds(In, variables, st.lists(_values, max_size=3).map(tuple), st.booleans()),
    st.builds(lambda name, node: Call(name, (node,)), st.sampled_from(["ISIRI", "ISLITERAL", "BOUND"]), variables),
    st.builds(lambda node, text: Call("CONTAINS", (node, literal(text))), variables, st.sampled_from("ab")),
    st.builds(lambda node: Compare("=", Call("STR", (node,)), literal("a")), variables),
)
_several = st.lists(_tests, min_size=1, max_size=2).map(tuple)
filters = st.one_of(_tests, _tests, st.builds(And, _several), st.builds(Or, _several), st.builds(Not, _tests))
blocks = st.one_of(
    st.builds(lambda node, terms: Values((node,), tuple((term,) for term in terms)), variables, st.lists(objects)),
    st.lists(st.tuples(st.one_of(st.none(), objects), names), max_size=2).map(lambda rows: Values((X, Y), tuple(rows))),
)
queries = st.builds(
    lambda patterns, filters, values: Query(patterns=tuple(patterns), filters=tuple(filters), values=tuple(values)),
    st.lists(edges, min_size=1, max_size=3),
    st.lists(filters, max_size=2),
    st.lists(blocks, max_size=1) | st.just([]),
)


# --- special ones -----------------------------------------------------------------------------------------------


def renamed(query: Query, names: Mapping[Variable, Node]) -> Query:
    """The query with other nodes for some variables; VALUES of a variable that became a term are dropped."""

    def of(node: Node) -> Node:
        return names.get(node, node) if isinstance(node, Variable) else node

    patterns = [
        ClassPattern(edge.relation, of(edge.subject), of(edge.object))
        if isinstance(edge, ClassPattern)
        else TriplePattern(*map(of, edge))
        for edge in query.patterns
    ]
    filters = [
        raised(tuple(of(node) if isinstance(node, (Term, Variable)) else node for node in laid(each)))
        for each in query.filters
    ]
    ends = [[of(name) for name in block.variables] for block in query.values]
    values = [
        Values(tuple(name for name in of_block if isinstance(name, Variable)), block.rows)
        for block, of_block in zip(query.values, ends, strict=True)
        if len({name for name in of_block if isinstance(name, Variable)}) == len(of_block)
    ]
    return Query(patterns=tuple(patterns), filters=tuple(filters), values=tuple(values))


@st.composite
def specialised(draw: st.DrawFn, general: Query) -> Query:
    """A query that is likely to be contained."""
    nodes = st.one_of(variables, variables, objects)
    images = draw(st.dictionaries(variables, nodes, max_size=2))
    made = renamed(general, images)
    patterns = [draw(_narrowed(edge)) for edge in made.patterns] + draw(st.lists(edges, max_size=1))
    kept = [each for each in made.filters if draw(st.integers(0, 3))]
    return Query(
        patterns=tuple(patterns),
        filters=(*kept, *draw(st.lists(filters, max_size=1))),
        values=(*made.values, *draw(st.lists(blocks, max_size=1))),
    )


def _narrowed(edge: Pattern) -> st.SearchStrategy[Pattern]:
    ways: list[st.SearchStrategy[Pattern]] = [st.just(edge), st.just(edge)]
    if isinstance(edge, ClassPattern):
        ways.append(st.builds(ClassPattern, st.just(edge.relation), st.just(edge.subject), names))
        ways.append(st.just(TriplePattern(edge.subject, RDF_TYPE, edge.object)))
        ways.append(st.just(TriplePattern(edge.subject, RDFS_SUBCLASS_OF, edge.object)))
    else:
        ways.append(predicates.map(lambda predicate: edge._replace(predicate=predicate)))
        ways.append(objects.map(lambda object: edge._replace(object=object)))
    return st.one_of(ways)


# --- publications -----------------------------------------------------------------------------------------------

_subjects = st.one_of(names, st.just(blank("b")))
_objects = st.one_of(objects, st.just(blank("b")))
publications: st.SearchStrategy[list[Triple]] = st.lists(st.tuples(_subjects, predicates, _objects), max_size=8)


_EVERY_OBJECT = (A, B, C, D, blank("b"), *LITERALS)


def witness(random: Random, query: Query) -> list[Triple]:
    """Triples that are likely to match: the query's own edges with terms for its variables, and some others."""
    asked = [node for each in query.filters for node in laid(each) if isinstance(node, Term)]
    asked += [term for block in query.values for row in block.rows for term in row if term is not None]
    pool = [*asked, *asked, *_EVERY_OBJECT[:5], random.choice(_EVERY_OBJECT), random.choice(_EVERY_OBJECT)]
    images: dict[Node, Term] = {name: random.choice(pool) for name in (X, Y, Z)}
    own = [_instance(random, edge, images) for edge in query.patterns]
    others = [
        (random.choice((A, B, C, D)), random.choice(_EVERY_PREDICATE), random.choice(_EVERY_OBJECT))
        for _ in range(random.randrange(4))
    ]
    return own[random.random() < 0.1 :] + others


_EVERY_PREDICATE = (P, Q, RDF_TYPE, RDFS_SUBCLASS_OF, RDFS_MEMBER, *MEMBERS)


def _instance(random: Random, edge: Pattern, images: Mapping[Node, Term]) -> Triple:
    subject, object = (node if isinstance(node, Term) else images[node] for node in (edge.subject, edge.object))
    if isinstance(edge, ClassPattern):
        return subject, RDF_TYPE if edge.relation is ClassRelation.IS_A else RDFS_SUBCLASS_OF, object
    predicate = edge.predicate if isinstance(edge.predicate, Term) else images[edge.predicate]
    return subject, random.choice(MEMBERS) if predicate == RDFS_MEMBER else predicate, object


def matches(query: Query, triples: list[Triple], taxonomy: Taxonomy) -> bool:
    return QueryPlan.of(query).matches(world(Graph(triples), taxonomy))
