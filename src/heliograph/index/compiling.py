"""Queries as interests: plain edges by id, and what is asked of each of their variables.

A plain edge is a triple pattern that the document's own triples alone decide. Class forms, VALUES and filters become
conjuncts where they speak of one variable that a plain edge binds. Whatever else a query asks makes it `COMPLEX`; its
edges and conjuncts are then still necessary, with one exception: a count may be satisfied by nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from heliograph.index.comparing import identity
from heliograph.index.conditions import Conditions, conditions_of
from heliograph.index.domains import Domain
from heliograph.index.interests import COMPLEX, INEXACT, Atom, Interest
from heliograph.index.regions import Box, Region, any_of
from heliograph.index.truths import Intern
from heliograph.kernels.filter_layout import MOST_VARIABLES
from heliograph.semantics.expressions import holds
from heliograph.syntax.query import (
    ClassPattern,
    ClassRelation,
    Expression,
    Node,
    Pattern,
    Query,
    TriplePattern,
    Values,
    walk,
)
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable
from heliograph.vocabulary import Vocabulary

MOST = MOST_VARIABLES  # edges or variables; their numbers are 16 bits wide

Conjunct = tuple[int, tuple[Atom, ...]]


class ClassForm(NamedTuple):
    """A class that a variable's value is asked to belong to, in one of the ways of `Domain`."""

    variable: Variable
    domain: Domain
    kind: Term


class _Parts(NamedTuple):
    """The patterns of a query that an interest can hold; `whole` if these are all it has."""

    edges: list[TriplePattern]
    forms: list[ClassForm]
    variables: dict[Variable, int]  # of the edges, by number
    whole: bool


class _Asked(NamedTuple):
    """The filters and VALUES that are about variables of the edges; `whole` if these are all."""

    filters: list[Expression]
    choices: list[Box]
    whole: bool


def interest_of(query: Query, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interest:
    """A query as an interest; its constants get ids in the vocabulary."""
    if _counts_nothing(query):
        return Interest((), (), COMPLEX)
    parts = _split(query, taxonomy)
    ids = _ids(parts, vocabulary)
    asked = _asked(query, parts.variables, vocabulary.intern)
    conditions = conditions_of(asked.filters, vocabulary.intern, asked.choices)
    whole = parts.whole and asked.whole and not query.counted
    flags = (0 if whole else COMPLEX) | (0 if conditions.exact and not conditions.never else INEXACT)
    return Interest(_edges(parts, ids), (*_classes(parts, ids), *_numbered(conditions, parts.variables)), flags)


def edge_variables(query: Query, taxonomy: Taxonomy) -> tuple[Variable, ...]:
    """The variables of a query's plain edges, in the order in which its interest numbers them."""
    return () if _counts_nothing(query) else tuple(_split(query, taxonomy).variables)


def _counts_nothing(query: Query) -> bool:
    """Whether a query is true where its pattern has no solution: then not even its edges are necessary."""
    return not query.group_by and query.having is not None and holds(query.having, {}, count=0)


# --- patterns ---------------------------------------------------------------------------------------------------


def _split(query: Query, taxonomy: Taxonomy) -> _Parts:
    edges: list[TriplePattern] = []
    forms: list[ClassForm] = []
    placed = 0
    for pattern in query.patterns:
        form = _form(pattern, taxonomy)
        if isinstance(form, TriplePattern):
            edges.append(form)
        elif form is not None:
            forms.append(form)
        placed += form is not None or _is_given(pattern, taxonomy)
    return _numbered_parts(edges, forms, placed == len(query.patterns))


def _form(pattern: Pattern, taxonomy: Taxonomy) -> TriplePattern | ClassForm | None:
    """A pattern as an edge or as a class form; None where it is neither."""
    if isinstance(pattern, ClassPattern):
        return _class_form(pattern)
    if pattern.predicate == RDF_TYPE and taxonomy.rows:
        return _direct_form(pattern, taxonomy)
    return None if pattern.predicate == RDFS_MEMBER else pattern


def _numbered_parts(edges: list[TriplePattern], forms: list[ClassForm], whole: bool) -> _Parts:
    variables = _variables(edges)
    if len(edges) > MOST or len(variables) > MOST:
        edges, whole = edges[: MOST // 3], False
        variables = _variables(edges)
    bound = [form for form in forms if form.variable in variables]
    return _Parts(edges, bound, variables, whole and bool(edges) and len(bound) == len(forms))


def _variables(edges: list[TriplePattern]) -> dict[Variable, int]:
    named = dict.fromkeys([node for edge in edges for node in edge if isinstance(node, Variable)])
    return {variable: number for number, variable in enumerate(named)}


def _direct_form(pattern: TriplePattern, taxonomy: Taxonomy) -> TriplePattern | ClassForm | None:
    """`?x a C` where taxonomy rows count; without a row that could answer it, it is as good as any other edge."""
    subject, _, kind = pattern
    if isinstance(kind, Variable) or _is_given(pattern, taxonomy):
        return None
    if isinstance(subject, Variable) and taxonomy.children(kind):
        return ClassForm(subject, Domain.DIRECT, kind)
    return pattern


def _is_given(pattern: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether a row of the taxonomy answers the pattern, whatever the document."""
    if isinstance(pattern, ClassPattern) or isinstance(pattern.object, Variable):
        return False
    return pattern.predicate == RDF_TYPE and pattern.subject in taxonomy.children(pattern.object)


def _class_form(pattern: ClassPattern) -> ClassForm | None:
    relation, subject, object = pattern
    if isinstance(subject, Variable) and not isinstance(object, Variable):
        return ClassForm(subject, Domain.IS_A if relation is ClassRelation.IS_A else Domain.SUBCLASS_OF, object)
    if isinstance(object, Variable) and not isinstance(subject, Variable) and relation is ClassRelation.SUBCLASS_OF:
        return ClassForm(object, Domain.SUPERCLASS_OF, subject)
    return None


def _ids(parts: _Parts, vocabulary: Vocabulary) -> dict[Node, int]:
    """The id of every constant, and for each variable its number the way an edge holds it."""
    nodes = dict.fromkeys([*chain.from_iterable(parts.edges), *(form.kind for form in parts.forms)])
    constants = [node for node in nodes if isinstance(node, Term)]
    ids: dict[Node, int] = dict(zip(constants, vocabulary.intern_many(constants), strict=True))
    ids.update((variable, ~number) for variable, number in parts.variables.items())
    return ids


def _edges(parts: _Parts, ids: Mapping[Node, int]) -> tuple[tuple[int, int, int], ...]:
    return tuple(dict.fromkeys([(ids[s], ids[p], ids[o]) for s, p, o in parts.edges]))


def _classes(parts: _Parts, ids: Mapping[Node, int]) -> Iterator[Conjunct]:
    for variable, domain, kind in parts.forms:
        yield parts.variables[variable], (Atom(domain, ids[kind], ids[kind]),)


# --- conditions -------------------------------------------------------------------------------------------------


def _asked(query: Query, variables: Mapping[Variable, int], intern: Intern) -> _Asked:
    filters = [each for each in query.filters if _names(each) <= variables.keys()]
    choices = [_choice(block, intern) for block in query.values if _is_choice(block, variables)]
    return _Asked(filters, choices, len(filters) == len(query.filters) and len(choices) == len(query.values))


def _names(expression: Expression) -> set[Variable]:
    return {node for node in walk(expression) if isinstance(node, Variable)}


def _is_choice(block: Values, variables: Mapping[Variable, int]) -> bool:
    return len(block.variables) == 1 and block.variables[0] in variables and (None,) not in block.rows


def _choice(block: Values, intern: Intern) -> Box:
    """A VALUES block on one variable: its value is one of these very terms."""
    (variable,) = block.variables
    boxes = [_identical(variable, term, intern) for (term,) in block.rows if term is not None]
    return any_of(boxes) if boxes else Box({variable: Region({})})


def _identical(variable: Variable, term: Term, intern: Intern) -> Box:
    lines, exact = identity(term, intern)
    return Box({variable: Region(lines)}, exact)


def _numbered(conditions: Conditions, variables: Mapping[Variable, int]) -> Iterator[Conjunct]:
    for variable, atoms in conditions.conjuncts:
        yield variables[variable], atoms
    if conditions.never and variables:
        yield 0, ()
