"""What a sample of the stream shows, and what a subscription will cost: foretold from its shape, or measured there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from heliograph.errors import HeliographError
from heliograph.filter.encode import Publication, decode
from heliograph.filter.explain import kind_of
from heliograph.filter.strategy import PAIRS, Failures
from heliograph.io.publications import Publications
from heliograph.model import SubscriptionCost, slowest
from heliograph.sparql.query import (
    ClassPattern,
    Expression,
    Node,
    Pattern,
    Query,
    TriplePattern,
    conjuncts,
    spell_expression,
    spell_node,
    spell_pattern,
    variables_in,
)
from heliograph.sparql.solve import QueryPlan, World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Position, Term, Variable, is_container_member
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.columns import Ids

if TYPE_CHECKING:
    from heliograph.filter.strategy import IndexedMatcher


# --- the sample -------------------------------------------------------------------------------------------------
# What a sample of the stream shows: the properties and classes that are in use, and some publications to try.
#
# Publications come as interned batches, so names are counted on arrays; the first few are kept as graphs of terms.

LOOKED_AT = 200  # publications that are kept, to be asked one by one


@dataclass(slots=True)
class DataSample:
    """The names that publications use, by how often, and the first of these publications."""

    taxonomy: Taxonomy
    size: int = 0
    properties: Counter[Term] = field(default_factory=Counter)
    classes: Counter[Term] = field(default_factory=Counter)
    publications: list[Publication] = field(default_factory=list)
    kinds: dict[Term, dict[str, Term]] = field(default_factory=dict)  # by property: what its values are, one of each

    def learn(self, publications: Publications) -> None:
        """Takes note of a batch."""
        self.size += len(publications.ids)
        missing = LOOKED_AT - len(self.publications)
        self.publications += islice(decode(publications, self.taxonomy), max(missing, 0))
        counts = _counted(publications, publications.triples.predicate)
        self.properties.update(counts)
        self.properties[RDFS_MEMBER] += sum(count for term, count in counts.items() if is_container_member(term))
        for predicate in counts.keys() & {RDF_TYPE, RDFS_SUBCLASS_OF}:
            self._learn_classes(publications, predicate)
        self._learn_kinds(publications)

    def _learn_kinds(self, publications: Publications) -> None:
        predicates, objects = (column.astype(np.int64) for column in publications.triples[1:])
        term = publications.vocabulary.term
        for pair in np.unique(predicates << 32 | objects).tolist():
            value = term(pair & 0xFFFFFFFF)
            self.kinds.setdefault(term(pair >> 32), {}).setdefault(sort_of(value), value)

    def _learn_classes(self, publications: Publications, predicate: Term) -> None:
        rows = publications.triples.predicate == publications.vocabulary.find_many([predicate])[0]
        ends = [publications.triples.object, *([publications.triples.subject] if predicate != RDF_TYPE else ())]
        for column in ends:
            self.classes.update(_counted(publications, column[rows]))


def _counted(publications: Publications, column: Ids) -> dict[Term, int]:
    ids, counts = np.unique(column, return_counts=True)
    term = publications.vocabulary.term
    return {term(id): count for id, count in zip(ids.tolist(), counts.tolist(), strict=True)}


def sort_of(term: Term) -> str:
    """The kind of a value; names, IRIs and blank nodes are one, because they compare with each other."""
    return kind_of(term) if term.is_literal else "a name"


# --- the cost of a shape ----------------------------------------------------------------------------------------
# What a subscription will cost, foretold from its shape.
#
# The filter's index looks a subscription up by the constants of one plain edge; edges are then joined through their
# variables. So it is expensive to have no edge with a constant, parts that share no variable, and many variables that
# range over the same values. A query that asks `hg:` functions is for a watch alone, which looks none up that way.

_SHOWN = 3  # parts that a message quotes
_LONGEST = 200  # characters of a condition that a message quotes
_SIBLINGS = 3  # variables at the end of like edges, from which on their ways multiply beyond use


def expenses(query: Query, taxonomy: Taxonomy) -> Iterator[str]:
    """Why a query is expensive, and what to do about it."""
    if not query.metrics and not any(is_way_in(pattern, taxonomy) for pattern in query.patterns):
        yield (
            "expensive: no edge of it has a constant to look it up by, so it is tried on every publication; "
            "add an edge that names its property (is-a forms and rdfs:member are not looked up)"
        )
    free = [pattern for pattern in query.patterns if not _is_anchored(pattern)]
    loose = [part for part in parts_of(query) if not any(map(_is_anchored, part))] if len(free) > 1 else ()
    if len(loose) > 1:
        yield _apart(query, loose)
    yield from _siblings(query)


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def is_way_in(pattern: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether the index can look a subscription up by this pattern: an edge that documents alone decide."""
    if isinstance(pattern, ClassPattern) or pattern.predicate == RDFS_MEMBER:
        return False
    if pattern.predicate == RDF_TYPE and taxonomy.types:
        if not isinstance(pattern.object, Term):
            return False
        below = taxonomy.instances_of(pattern.object)
        return pattern.subject not in below if isinstance(pattern.subject, Term) else not below
    return any(isinstance(node, Term) for node in pattern)


# --- parts that share no variable -------------------------------------------------------------------------------


def parts_of(query: Query) -> list[list[Pattern]]:
    """The patterns with variables, by what hangs together through these."""
    linked: list[tuple[set[Variable], list[Pattern]]] = [(set(block.variables), []) for block in query.values]
    for pattern in query.patterns:
        names = {node for node in pattern if isinstance(node, Variable)}
        met = [group for group in linked if group[0] & names]
        linked = [group for group in linked if not group[0] & names] if met else linked
        joined = names.union(*(group[0] for group in met)), [*(each for group in met for each in group[1]), pattern]
        linked += [joined] if names else []
    return [patterns for _, patterns in linked if patterns]


def _is_anchored(pattern: Pattern) -> bool:
    """Whether a pattern has a constant at one of its ends, which few edges have; of a class there may be many."""
    if isinstance(pattern, ClassPattern) or pattern.predicate == RDF_TYPE:
        return isinstance(pattern.subject, Term)
    return isinstance(pattern.subject, Term) or isinstance(pattern.object, Term)


def _apart(query: Query, parts: Sequence[Sequence[Pattern]]) -> str:
    shown = " | ".join(spell_pattern(part[0]) for part in parts[:_SHOWN])
    more = " | …" if len(parts) > _SHOWN else ""

    def spans(condition: Expression) -> bool:
        names = variables_in(condition)
        return sum(any(names & set(pattern) for pattern in part) for part in parts) > 1

    joining = next(filter(spans, conjuncts(query.filters)), None)
    fix = (
        "tie them with a common variable"
        if joining is None
        else f"only FILTER({shortened(spell_expression(joining))}) ties them; a common variable would do it sooner"
    )
    return (
        f"expensive: it falls into {len(parts)} parts that share no variable ({shown}{more}), "
        f"and every way of one goes with every way of the others; {fix}"
    )


# --- variables that range over the same values ------------------------------------------------------------------


def _siblings(query: Query) -> Iterator[str]:
    """Edges that differ in one variable alone, of which nothing else is asked."""
    alike: dict[tuple[Node | None, Node, Node | None], list[Variable]] = {}
    for subject, predicate, object in [each for each in set(query.patterns) if isinstance(each, TriplePattern)]:
        if isinstance(object, Variable):
            alike.setdefault((subject, predicate, None), []).append(object)
        if isinstance(subject, Variable):
            alike.setdefault((None, predicate, object), []).append(subject)
    for (_, predicate, _), ends in alike.items():
        if len(ends) >= _SIBLINGS:
            free = sorted(_unasked(query).intersection(ends))
            if len(free) >= _SIBLINGS:
                yield _multiplied(predicate, free)


def _unasked(query: Query) -> set[Variable]:
    """Variables of which one edge speaks, and nothing else."""
    uses = Counter(node for pattern in set(query.patterns) for node in pattern if isinstance(node, Variable))
    asked = set[Variable]().union(*map(variables_in, query.filters), *(block.variables for block in query.values))
    return {variable for variable, count in uses.items() if count == 1} - asked


def _multiplied(predicate: Node, ends: Sequence[Variable]) -> str:
    names = ", ".join(map(str, ends[:_SHOWN])) + (", …" if len(ends) > _SHOWN else "")
    named = spell_node(predicate, position=Position.PROPERTY)
    return (
        f"expensive: {names} range over the same values of {named}, so n of them give n^{len(ends)} bindings, "
        "and one value alone satisfies all; keep one, or say how they differ"
    )


# --- the cost on a sample ---------------------------------------------------------------------------------------
# What subscriptions cost on a sample, by the filter's own account: how often each was tried, and the steps it took.
#
# A small job is not worth an index: there every query is asked of every publication, as it is of the few that look
# expensive in a large one. What is counted then are ways through the edges, before conditions: the product of the
# ways of parts that share no variable.

ENOUGH = 10  # publications, below which it says little that a query matches all of them
STEPS = 20  # edges looked at, for each publication of the sample, from which on a subscription is expensive
WAYS = 1_000  # through the edges of one publication, from which on they are many
SUSPECTS = 50  # queries whose ways are counted in a large job


Cost = tuple[int, str]  # the place of a query, and what is to be said of it


class Trial:
    """An index of queries by their places, to which a sample is published."""

    def __init__(self, queries: Sequence[tuple[int, Query]], vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        from heliograph.filter.strategy import IndexedMatcher

        self._matcher: IndexedMatcher = IndexedMatcher(vocabulary, taxonomy)
        self._matcher.insert([Subscription(str(place), None, query, place) for place, query in queries])
        self._slow: tuple[SubscriptionCost, ...] = ()
        self._matched: Counter[str] = Counter()

    def publish(self, publications: Publications) -> None:
        matches = self._matcher.version().match(publications, Failures())
        self._slow = slowest((*self._slow, *matches.slow()))
        places, counts = np.unique(matches.place, return_counts=True)
        for owner, count in zip(matches.subscribed(places), counts.tolist(), strict=True):
            self._matched[owner.id] += count

    def costs(self, published: int) -> Iterator[Cost]:
        """The queries that took many steps, the most expensive first."""
        for entry in self._slow:
            if entry.steps >= STEPS * published:
                yield int(entry.subscription_id), self._said(entry, published)

    def everywhere(self, published: int) -> Iterator[Cost]:
        """The queries that every publication matched."""
        if published >= ENOUGH:
            yield from ((int(id), all_matched(published)) for id, count in self._matched.items() if count == published)

    def _said(self, entry: SubscriptionCost, published: int) -> str:
        tried = min(entry.publications, published)  # one that the whole query decided was searched for before
        matched, each = self._matched[entry.subscription_id], entry.steps // tried
        often = "it matches most of them, so ask for less" if 2 * matched >= tried else None
        return (
            f"expensive on the sample: tried on {tried:,} of {published:,} publications, matched {matched:,} of them, "
            f"looked at {each:,} edges each time; {often or 'add an edge with a rarer constant'}"
        )


def is_small(queries: int, sample: DataSample) -> bool:
    """Whether every query can be asked of every publication."""
    return queries * sample.size <= PAIRS


def matches_all(queries: Iterable[tuple[int, Query]], sample: DataSample) -> Iterator[Cost]:
    """The queries that every publication of the sample matches, if these were all kept."""
    if ENOUGH <= sample.size == len(sample.publications):
        for place, query in queries:
            plan = QueryPlan.of(query)
            if all(is_true_of(plan, publication.world) for publication in sample.publications):
                yield place, all_matched(sample.size)


def is_true_of(plan: QueryPlan, world: World) -> bool:
    """Whether it matches; one that asks for too much is given up, and matches nothing that we know of."""
    try:
        return plan.matches(world)
    except HeliographError:
        return False


def all_matched(published: int) -> str:
    return f"matches everything: all {published:,} publications of the sample; ask for less"


def many_ways(queries: Iterable[tuple[int, Query]], sample: DataSample) -> Iterator[Cost]:
    """The queries that have very many ways through some publication that was kept."""
    for place, query in queries:
        for publication in sample.publications:
            ways = _ways(query, publication.world)
            if ways >= WAYS:
                yield place, _many(query, ways, publication.id)
                break


def _ways(query: Query, world: World) -> int:
    """The ways through the edges of a query, before its conditions; up to a thousand and one of each part."""
    plans = [QueryPlan.of(Query(patterns=tuple(part))) for part in parts_of(query)]
    return prod(sum(1 for _ in islice(plan.solutions(world), WAYS + 1)) for plan in plans)


def _many(query: Query, ways: int, publication: str) -> str:
    """Conditions may cut the ways short, so with them it is only perhaps expensive."""
    counted = f"expensive on the sample: {ways:,} or more ways through its edges in {publication}"
    if query.filters or query.values or query.having is not None:
        return f"perhaps {counted}, before its conditions; a constant in an edge leaves fewer than a condition does"
    return f"{counted}; write a constant in one, or leave out those that are not needed"
