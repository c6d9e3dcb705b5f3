"""Subscriptions, publications and matchers as the tests put them together, and queries with everything in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from hypothesis import strategies as st

from heliograph.filter.encode import Publication
from heliograph.filter.strategy import PairMatcher, Pairwise
from heliograph.papers.filter import PaperIndexVersion
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
    Node,
    Not,
    Or,
    Pattern,
    Query,
    TriplePattern,
    Values,
)
from heliograph.sparql.solve import Graph, Triple, world
from heliograph.sparql.templates import parse_sparql
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF, RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, iri, literal, plain_name
from heliograph.values import XSD_BOOLEAN, XSD_DATE, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

Row = tuple[Term, Term]


def subscriptions(queries: Iterable[Query | str], start: int = 0) -> list[Subscription]:
    """Subscriptions s0, s1, … of queries, given as they are or as text."""
    made = (each if isinstance(each, Query) else parse_sparql(each) for each in queries)
    return [Subscription(f"s{number}", None, query, number) for number, query in zip(count(start), made)]


def publication(triples: Iterable[Triple], rows: Iterable[Row] = (), id: str = "d") -> Publication:
    return Publication(id, world(Graph(triples), Taxonomy(rows)))


def edges(text: str) -> list[Triple]:
    """Triples of plain names: `a e b, b e c`."""
    return [(plain_name(s), plain_name(p), plain_name(o)) for s, p, o in (part.split() for part in text.split(","))]


def candidates(version: Pairwise, published: Publication) -> list[str]:
    return [each.id for each in version.candidates(published)]


def found(version: Pairwise, published: Publication) -> list[str]:
    """The ids of the matching subscriptions, in the version's order."""
    return [each.id for each in version.candidates(published) if version.verify(each, published)]


def filled(matcher: PairMatcher, queries: Sequence[Query | str]) -> Pairwise:
    matcher.insert(subscriptions(queries))
    return matcher.version()


def indexed(matcher: PairMatcher, queries: Sequence[Query | str]) -> PaperIndexVersion:
    """A version of a matcher that has an index."""
    version = filled(matcher, queries)
    assert isinstance(version, PaperIndexVersion)
    return version


# --- strategies: few names, so that much matches ----------------------------------------------------------------

NAMES = [plain_name(name) for name in "ABC"]
VALUES = [
    *(literal(text, XSD_INTEGER) for text in ("-1", "3", "5", "16777216", "16777217", "99999999999999999999")),
    *(literal(text, XSD_DECIMAL) for text in ("5.0", "0.1", "4.5")),
    *(literal(text, XSD_DOUBLE) for text in ("5", "0.1", "NaN", "INF", "1e300")),
    *(literal(text, XSD_FLOAT) for text in ("0.1", "5", "16777216", "NaN")),
    *(literal(text) for text in ("", "a", "b")),
    *(literal("a", language=tag) for tag in ("en", "fr")),
    *(literal(f"2020-01-0{day}", XSD_DATE) for day in (1, 2)),
    *(literal(f"2020-01-01T{clock}", XSD_DATETIME) for clock in ("00:00:00", "00:00:00Z", "23:00:00+01:00")),
    *(literal("true", XSD_BOOLEAN), literal("odd", XSD_INTEGER)),
]
VARIABLES = [Variable(name) for name in "xyz"]
PROPERTIES = [plain_name("p"), plain_name("q")]
MEMBERS = [iri(f"{RDF}_{number}") for number in (1, 2)]

names, values, variables = st.sampled_from(NAMES), st.sampled_from(VALUES), st.sampled_from(VARIABLES)
objects = st.one_of(names, values)
triples = st.lists(
    st.tuples(names, st.sampled_from([*PROPERTIES, *PROPERTIES, RDF_TYPE, RDFS_SUBCLASS_OF, *MEMBERS]), objects),
    max_size=14,
)
rows = st.lists(st.tuples(names, names), max_size=3)

plain_edges: st.SearchStrategy[Pattern] = st.builds(
    TriplePattern,
    st.one_of(variables, variables, names),
    st.sampled_from(PROPERTIES),
    st.one_of(variables, variables, objects),
)
class_forms: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(ClassPattern, st.sampled_from(ClassRelation), variables, names),
    st.builds(lambda of, name: ClassPattern(ClassRelation.SUBCLASS_OF, of, name), names, variables),
    st.builds(lambda name, of: TriplePattern(name, RDF_TYPE, of), variables, names),
)
operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
comparisons: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, operators, variables, objects),
    st.builds(Compare, operators, objects, variables),
    st.builds(In, variables, st.lists(objects, max_size=3).map(tuple), st.booleans()),
)
ranges = st.one_of(comparisons, st.lists(comparisons, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))))


@st.composite
def seed_queries(draw: st.DrawFn) -> Query:
    """What the seeds' own language can say: edges, constraints on variables, is-a."""
    patterns = draw(st.lists(plain_edges, min_size=1, max_size=4))
    patterns += draw(st.lists(class_forms, max_size=1))
    return Query(patterns=tuple(patterns), filters=tuple(draw(st.lists(ranges, max_size=2))))


nodes: st.SearchStrategy[Node] = st.one_of(variables, names)
odd_patterns: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(TriplePattern, nodes, variables, nodes),
    st.builds(TriplePattern, nodes, st.sampled_from([RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF]), nodes),
    st.builds(ClassPattern, st.sampled_from(ClassRelation), nodes, nodes),
)
odd_conditions: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, operators, variables, variables),
    st.builds(lambda name: Call("BOUND", (name,)), variables),
    st.builds(lambda name, text: Call("CONTAINS", (Call("STR", (name,)), literal(text))), variables, st.just("A")),
    st.builds(lambda name, one: Compare(">", Arithmetic("+", name, one), one), variables, values),
    st.builds(lambda one, two: Or((one, two)), comparisons, comparisons),
    st.builds(Not, comparisons),
    st.builds(lambda name, other: In(name, (other,)), variables, variables),
    st.booleans().map(lambda truth: literal(str(truth).lower(), XSD_BOOLEAN)),
)
blocks = st.lists(st.tuples(st.one_of(st.none(), names)), max_size=2).map(
    lambda given: Values((VARIABLES[0],), tuple(given))
)


@st.composite
def odd_queries(draw: st.DrawFn) -> Query:
    """A seed query and something that the seeds have no notion of; perhaps without any edge."""
    base = draw(st.one_of(seed_queries(), st.just(Query())))
    query = replace(
        base,
        patterns=(*base.patterns, *draw(st.lists(odd_patterns, max_size=2))),
        filters=(*base.filters, *draw(st.lists(odd_conditions, max_size=1))),
        values=tuple(draw(st.lists(blocks, max_size=1))),
    )
    if not draw(st.booleans()):
        return query
    having = draw(st.one_of(st.none(), st.builds(Compare, operators, st.just(Count()), st.just(VALUES[0]))))
    grouped = tuple(draw(st.lists(st.sampled_from(query.variables), max_size=1))) if query.variables else ()
    return replace(query, counted=True, having=having, group_by=grouped)


@st.composite
def taken_from(draw: st.DrawFn) -> tuple[Query, list[Triple]]:
    """A graph, and a query made of some of its triples by turning some nodes into variables: it has a solution."""
    data = draw(triples.filter(bool))
    taken = draw(st.lists(st.sampled_from(data), min_size=1, max_size=4))
    ends = dict.fromkeys(term for s, _, o in taken for term in (s, o))
    hidden = draw(st.fixed_dictionaries({term: st.booleans() for term in ends}))
    node = {term: Variable(f"v{number}") if hidden[term] else term for number, term in enumerate(ends)}
    return Query(patterns=tuple(TriplePattern(node[s], p, node[o]) for s, p, o in taken)), data


queries = st.one_of(seed_queries(), seed_queries(), odd_queries())
