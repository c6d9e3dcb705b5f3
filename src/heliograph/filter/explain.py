"""Why a subscription matches a publication, or why not; and what the index does about them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from heliograph.errors import UsageError
from heliograph.filter import layout
from heliograph.filter.encode import Batch, Located, Publication, decode
from heliograph.filter.interests import COMPLEX, INEXACT, edge_variables, spell_atom, suits
from heliograph.filter.report import evidence
from heliograph.io.publications import Publications
from heliograph.model import Explanation
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import (
    And,
    ClassPattern,
    ClassRelation,
    Expression,
    Node,
    Pattern,
    Query,
    TriplePattern,
    Values,
    spell_expression,
    spell_node,
    spell_pattern,
)
from heliograph.sparql.regions import Atom
from heliograph.sparql.solve import GroupKey, Plan, Solution, World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, Term, Variable

# ----------------------------------------------------------------------------------------------------------------------
# What a publication holds that comes nearest to an edge it lacks: the same edge but for one of its three parts.
# ----------------------------------------------------------------------------------------------------------------------

_SHOWN = 2


def nearest(pattern: Pattern, solution: Solution, world: World) -> list[str]:
    """A few edges that agree with the pattern under a solution in all known parts but one."""
    near = _classes(pattern, solution, world) if isinstance(pattern, ClassPattern) else _edges(pattern, solution, world)
    return [spell_pattern(edge) for edge in islice(dict.fromkeys(near), _SHOWN)]


def _edges(pattern: TriplePattern, solution: Solution, world: World) -> Iterator[Pattern]:
    """Another object, then another subject, then another property; not if that would leave nothing in common."""
    known = [_value(node, solution) for node in pattern]
    if pattern.predicate == RDF_TYPE and known[0] is not None:
        yield from (TriplePattern(known[0], RDF_TYPE, kind) for kind in world.classes.types(known[0]))
    for dropped in (2, 0, 1):
        asked = [None if place == dropped else term for place, term in enumerate(known)]
        if known[dropped] is not None and any(term is not None for term in asked):
            yield from (TriplePattern(*triple) for triple in world.graph.match(*asked))


def _classes(pattern: ClassPattern, solution: Solution, world: World) -> Iterator[Pattern]:
    """The classes that the subject does belong to, else what does belong to the class."""
    subject, object = _value(pattern.subject, solution), _value(pattern.object, solution)
    if subject is not None:
        up = world.classes.all_types if pattern.relation is ClassRelation.IS_A else world.classes.ancestors
        yield from _pairs(pattern.relation, ((subject, above) for above in up(subject)))
    if object is not None:
        down = world.classes.all_instances if pattern.relation is ClassRelation.IS_A else world.classes.descendants
        yield from _pairs(pattern.relation, ((below, object) for below in down(object)))


def _pairs(relation: ClassRelation, pairs: Iterable[tuple[Term, Term]]) -> Iterator[Pattern]:
    return (ClassPattern(relation, *pair) for pair in pairs)


def _value(node: Node, solution: Solution) -> Term | None:
    return solution.get(node) if isinstance(node, Variable) else node


# ----------------------------------------------------------------------------------------------------------------------
# Why a subscription matches a publication, or why not.
#
# Edges and constraints are taken in the order of the query, a constraint as soon as its variables are bound. Each is
# kept if it holds together with all that were kept before; the first that does not is the reason. The law: what is
# reported as held has a common solution, and has none together with what is reported as failed.
# ----------------------------------------------------------------------------------------------------------------------

SHOWN = 10  # bindings shown for a match
_EXAMPLES = 3  # values shown for a constraint that failed

Part = Pattern | Values | Expression


class _Kept(NamedTuple):
    """The parts of a query that hold together, as a query, and the first that does not."""

    query: Query
    parts: tuple[Part, ...]
    failed: Part | None


def only_publication(batch: Batch, taxonomy: Taxonomy) -> Publication:
    """The one publication of a batch."""
    if len(batch.publications.ids) == 1:
        return next(decode(batch.publications, taxonomy))
    if not batch.publications.ids and batch.rejected:
        raise UsageError("HG-047", f"nothing is left of the publication: {batch.rejected[0].message}")
    raise UsageError(
        "HG-047",
        f"{len(batch.publications.ids)} publications to explain",
        fix="give one, such as (id, [(subject, property, object), …])",
    )


def explain(subscription: Subscription, publication: Publication) -> Explanation:
    """The explanation of one pair."""
    plan = Plan.of(subscription.query)
    if plan.matches(publication.world):
        return _matched(subscription, publication, plan)
    kept = _keep(subscription.query, publication.world)
    if kept.failed is None:
        return _uncounted(subscription, publication, plan)
    return _silent(subscription, publication, kept)


def _matched(subscription: Subscription, publication: Publication, plan: Plan) -> Explanation:
    shown = evidence(plan, publication.world, SHOWN)
    first = next(plan.solutions(publication.world), {})
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=True,
        summary=f"{publication.id} matches {subscription.id}",
        evidence=shown.shown,
        held=tuple(spell_part(part, first) for part in _parts(subscription.query)),
    )


def _silent(subscription: Subscription, publication: Publication, kept: _Kept) -> Explanation:
    assert kept.failed is not None
    found = list(islice(Plan.of(kept.query).solutions(publication.world), _EXAMPLES))
    reason = _reason(kept.failed, found, publication.world)
    failed = spell_part(kept.failed) + (f": {reason}" if reason else "")
    held, total = len(kept.parts), len(_parts(subscription.query))
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=False,
        summary=f"{publication.id} does not match {subscription.id}: "
        f"{held} of {total} edges and constraints hold together, this one failed: {failed}",
        failed=failed,
        held=tuple(spell_part(part, found[0]) for part in kept.parts),
    )


def _uncounted(subscription: Subscription, publication: Publication, plan: Plan) -> Explanation:
    """The pattern has solutions, or need not have any, but no group of them satisfies HAVING."""
    counts = plan.counts(publication.world)
    largest = max(counts, key=counts.__getitem__)
    condition = "a match" if plan.query.having is None else spell_expression(plan.query.having)
    failed = f"{condition}: {_count_words(plan, largest, counts[largest])}"
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication.id,
        matched=False,
        summary=f"{publication.id} does not match {subscription.id}: {failed}",
        failed=failed,
        held=tuple(spell_part(part) for part in _parts(subscription.query)),
    )


def _count_words(plan: Plan, largest: GroupKey, count: int) -> str:
    pairs = zip(plan.query.group_by, largest, strict=True)
    group = ", ".join(f"{name} = {spell_node(term)}" for name, term in pairs if term is not None)
    return f"the largest count was {count}" + (f", of {group}" if group else "")


# --- keeping parts one by one -----------------------------------------------------------------------------------


def _keep(query: Query, world: World) -> _Kept:
    kept, parts, failed = Query(), [], None
    made: dict[int, Condition] = {}
    for part in _parts(query):
        extended = _with(kept, part)
        if next(Plan.of(extended, made).solutions(world), None) is not None:
            kept = extended
            parts.append(part)
        elif failed is None:
            failed = part
    return _Kept(kept, tuple(parts), failed)


def _parts(query: Query) -> list[Part]:
    """VALUES, edges and constraints in the order of the query; a constraint follows the edge that binds it last."""
    waiting = [part for each in query.filters for part in (each.operands if isinstance(each, And) else (each,))]
    bound: set[Variable] = set()
    parts: list[Part] = []
    for part in (*query.values, *query.patterns):
        parts.append(part)
        bound.update(_with(Query(), part).variables)
        ready = [each for each in waiting if _names(each) <= bound]
        parts += ready
        waiting = [each for each in waiting if each not in ready]
    return parts + waiting


def _with(query: Query, part: Part) -> Query:
    if isinstance(part, Values):
        return replace(query, values=(*query.values, part))
    if isinstance(part, Pattern):
        return replace(query, patterns=(*query.patterns, part))
    return replace(query, filters=(*query.filters, part))


def _names(expression: Expression) -> frozenset[Variable]:
    return Condition.of(expression).variables


# --- words ------------------------------------------------------------------------------------------------------


def spell_part(part: Part, solution: Solution | None = None) -> str:
    """A part of a query as people read it, with the values that its variables have in a solution."""
    if isinstance(part, Values):
        return f"VALUES for {' '.join(map(str, part.variables))}"
    if isinstance(part, Pattern):
        return spell_pattern(part, solution or {})
    values = _values(part, solution) if solution else ""
    return spell_expression(part) + (f" ({values})" if values else "")


def _reason(part: Part, found: list[Solution], world: World) -> str:
    """For a constraint the values it met; for an edge what was asked for in vain, and what comes nearest to it."""
    if isinstance(part, Values):
        return ""
    if not isinstance(part, Pattern):
        return "; ".join(dict.fromkeys(filter(None, (_values(part, solution) for solution in found))))
    asked = " and no ".join(dict.fromkeys(spell_pattern(part, solution) for solution in found))
    near = " and ".join(nearest(part, found[0], world))
    vain = "there is none" if asked == spell_pattern(part) else f"there is no {asked}"
    return vain + (f"; nearest: {near}" if near else "")


def _values(part: Expression, solution: Solution) -> str:
    known = (name for name in sorted(_names(part)) if name in solution)
    return ", ".join(f"{name} was {spell_node(solution[name])}" for name in known)


# ----------------------------------------------------------------------------------------------------------------------
# What the index does about one subscription and one publication, step by step, read from a segment's own arrays.
#
# The path is that of the kernels: the way in → edges up to the gate, in the order of verification → conditions → the
# other edges. The law: a subscription is refused here only where the kernels refuse it. What they find out while
# searching is found out anew by the plain solver, one prefix of the edges after another.
# ----------------------------------------------------------------------------------------------------------------------

_MOST = 1000  # solutions at the gate that are looked at
_DEEPER = 50  # accepted ones that are followed beyond it

_ANY = Variable("")


def trace(
    located: Located, subscription: Subscription, publications: Publications, world: World, taxonomy: Taxonomy
) -> tuple[str, ...]:
    """The path of the one publication of a batch through the index, as lines; its ids are the index's."""
    return tuple(_Trace.of(located, subscription, publications, world, taxonomy).lines())


class _Conjunct(NamedTuple):
    variable: Variable
    atoms: tuple[Atom, ...]
    place: str  # where it is asked


class _Asked(NamedTuple):
    """What became of the conditions: a line each, and the solutions that satisfy all of them."""

    lines: tuple[str, ...]
    accepted: Sequence[Solution]


@dataclass(frozen=True, slots=True)
class _Trace:
    located: Located
    structure: int
    names: tuple[Variable, ...]  # of the structure's variables, as the subscription calls them
    publications: Publications
    world: World

    @classmethod
    def of(
        cls,
        located: Located,
        subscription: Subscription,
        publications: Publications,
        world: World,
        taxonomy: Taxonomy,
    ) -> _Trace:
        segment, member = located.segment, located.member
        first = segment.index.structures[:, layout.FIRST_MEMBER]
        rows = slice(*segment.names.offsets[member : member + 2].tolist())
        own = zip(segment.names.numbers[rows].tolist(), edge_variables(subscription.query, taxonomy), strict=True)
        names = tuple(name for _, name in sorted(own))
        structure = int(np.searchsorted(first, member, side="right")) - 1
        return cls(located, structure, names, publications, world)

    def lines(self) -> Iterator[str]:
        candidate, way_in = self._way_in()
        yield way_in
        yield self._company()
        if candidate:
            yield from self._verified()
            yield from self._undecided()
        else:
            yield from _steps(self._edges(), 0, -1)

    # --- the way in ---------------------------------------------------------------------------------------------

    def _way_in(self) -> tuple[bool, str]:
        key = self._key()
        if key is None:
            return True, "looked up by no edge: it is a candidate for every publication"
        columns = self.publications.triples
        same = [column == part for column, part in zip(columns, key, strict=True) if part >= 0]
        found = int(np.logical_and.reduce(same).sum()) if same else len(columns.subject)
        edge = spell_pattern(TriplePattern(*(self._node(part) if part >= 0 else _ANY for part in key)))
        if not found:
            return False, f"looked up by {edge}: the publication has no such edge, so it is no candidate"
        return True, f"looked up by {edge}: the publication has {_counted(found, 'such edge')}, so it is a candidate"

    def _key(self) -> tuple[int, int, int] | None:
        """The parts of the access edge, -1 where it has none; None if there is no such edge."""
        keys = self.located.segment.keys
        places = np.flatnonzero(keys.postings == self.structure)
        if not len(places):
            return None
        key = int(np.searchsorted(keys.offsets, places[0], side="right")) - 1
        return int(keys.subject[key]), int(keys.predicate[key]), int(keys.object[key])

    def _company(self) -> str:
        others = int(self.located.segment.alive[self.structure]) - 1
        if not others:
            return "no other subscription of its segment has the same edges"
        return f"{_counted(others, 'other subscription')} of its segment with the same edges, verified together"

    # --- verification -------------------------------------------------------------------------------------------

    def _row(self, column: int) -> int:
        return int(self.located.segment.index.structures[self.structure, column])

    def _node(self, node: int) -> Node:
        return self.names[~node] if node < 0 else self.publications.vocabulary.term(node)

    def _edges(self) -> list[TriplePattern]:
        """The structure's edges in the order of verification."""
        first = self._row(layout.FIRST_STEP)
        rows = self.located.segment.index.steps[first : first + self._row(layout.STEPS), :3].tolist()
        return [TriplePattern(*(self._node(node) for node in row)) for row in rows]

    def _verified(self) -> Iterator[str]:
        edges, gate = self._edges(), self._row(layout.GATE) or self._row(layout.STEPS)
        held = self._held(edges[:gate])
        yield from _steps(edges[:gate], 0, held)
        if held < gate:
            yield from _steps(edges[gate:], gate, -1)
            return
        found = list(islice(_solutions(edges[:gate], self.world), _MOST))
        asked = self._asked(found)
        yield from asked.lines
        if len(found) == _MOST:
            yield f"only the first {_MOST} solutions up to here were looked at"
        yield from _steps(edges[gate:], gate, self._deeper(edges[gate:], asked.accepted))

    def _held(self, edges: Sequence[TriplePattern]) -> int:
        """How many of the edges, from the first on, hold together: what holds of them holds of fewer."""
        return bisect_left(
            range(1, len(edges) + 1),
            True,
            key=lambda count: next(_solutions(edges[:count], self.world), None) is None,
        )

    def _deeper(self, edges: Sequence[TriplePattern], accepted: Sequence[Solution]) -> int:
        """The most of the edges beyond the gate that hold under an accepted solution; -1 if there is none."""
        known = ([_bound(edge, solution) for edge in edges] for solution in accepted[:_DEEPER])
        return max((self._held(bound) for bound in known), default=-1)

    # --- conditions ---------------------------------------------------------------------------------------------

    def _asked(self, found: Sequence[Solution]) -> _Asked:
        """Asks each condition of the solutions that those before it accept."""
        lines = []
        for conjunct in self._conjuncts():
            accepted = [solution for solution in found if self._suits(conjunct, solution)]
            if not found:
                verdict = "not reached"
            else:
                verdict = f"{'accepted' if accepted else 'refused'} {_tracing_values(conjunct, accepted or found)}"
            lines.append(f"{conjunct.variable}: {self._spelled(conjunct)} ({conjunct.place}): {verdict}")
            found = accepted
        return _Asked(tuple(lines), found)

    def _suits(self, conjunct: _Conjunct, solution: Solution) -> bool:
        term, vocabulary = solution[conjunct.variable], self.publications.vocabulary
        return any(suits(atom, term, vocabulary, self.world.classes) for atom in conjunct.atoms)

    def _spelled(self, conjunct: _Conjunct) -> str:
        return " or ".join(spell_atom(atom, self.publications.vocabulary) for atom in conjunct.atoms) or "nothing"

    def _conjuncts(self) -> Iterator[_Conjunct]:
        index, member = self.located.segment.index, self.located.member
        for row in range(*index.members[member : member + 2, layout.FIRST_CONJUNCT].tolist()):
            variable = int(index.conjuncts[row, layout.VARIABLE])
            first, last = index.conjuncts[row : row + 2, layout.FIRST_ATOM].tolist()
            atoms = tuple(
                Atom(int(each[0]), each[1], each[2], int(each[3])) for each in index.atoms[first:last].tolist()
            )
            yield _Conjunct(self.names[variable], atoms, self._place(variable, atoms))

    def _place(self, variable: int, atoms: Sequence[Atom]) -> str:
        """The constraint table in which a condition is looked up, if its member stands there with it."""
        index, first = self.located.segment.index, self._row(layout.FIRST_TABLE)
        for table in range(first, first + self._row(layout.TABLES)):
            begin, end = index.tables[table : table + 2, layout.FIRST_ENTRY].tolist()
            about, domain = index.tables[table, : layout.FIRST_ENTRY].tolist()
            inside = self.located.member in index.entries[begin:end, layout.MEMBER]
            if inside and about == variable and any(atom.domain == domain for atom in atoms):
                return f"in a constraint table of {end - begin}"
        return "tried by itself"

    def _undecided(self) -> Iterator[str]:
        flags = int(self.located.segment.index.members[self.located.member, layout.FLAGS])
        if flags & COMPLEX:
            yield "the index only rules it out: where it does not, the whole query decides"
        elif flags & INEXACT:
            yield "the index only rules solutions out: of those it leaves, the query's own conditions decide"


def _solutions(edges: Sequence[TriplePattern], world: World) -> Iterator[Solution]:
    return Plan.of(Query(patterns=tuple(edges))).solutions(world)


def _bound(edge: TriplePattern, solution: Solution) -> TriplePattern:
    return TriplePattern(*(solution.get(node, node) if isinstance(node, Variable) else node for node in edge))


def _steps(edges: Sequence[TriplePattern], first: int, held: int) -> Iterator[str]:
    """A line for each edge: the first `held` did hold, the next one failed; with -1 none was reached."""
    for number, edge in enumerate(edges):
        verdict = "held" if number < held else "failed" if number == held else "not reached"
        yield f"edge {first + number + 1}: {spell_pattern(edge)}: {verdict}"


def _tracing_values(conjunct: _Conjunct, solutions: Sequence[Solution]) -> str:
    terms: dict[Term, None] = dict.fromkeys(solution[conjunct.variable] for solution in solutions)
    more = ", …" if len(terms) > _EXAMPLES else ""
    return ", ".join(spell_node(term) for term in islice(terms, _EXAMPLES)) + more


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
