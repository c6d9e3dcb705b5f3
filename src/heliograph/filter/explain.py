"""Why a subscription matches a publication, or why not; and what the index does about them.

Edges and constraints are taken in the order of the query, a constraint as soon as its variables are bound. Each is kept
if it holds together with all that were kept before; the first that does not is the reason. The law: what is reported as
held has a common solution, and has none together with what is reported as failed.

`trace` reads the path through the index from a segment's own arrays: the way in → edges up to the gate, in the order of
verification → conditions → the other edges. The law: a subscription is refused there only where the kernels refuse it.
What they find out while searching is found out anew by the plain solver, one prefix of the edges after another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isinf
from typing import NamedTuple

import numpy as np

from heliograph.errors import UsageError
from heliograph.filter import layout
from heliograph.filter.encode import Arrivals, Publication, decode_one
from heliograph.filter.interests import COMPLEX, INEXACT, edge_variables
from heliograph.filter.report import evidence
from heliograph.filter.segment import Segment
from heliograph.filter.strategy import Located
from heliograph.io.publications import Publications
from heliograph.model import Explanation, Rejected
from heliograph.sparql.evaluate import Condition
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
    spell_expression,
    spell_node,
    spell_pattern,
)
from heliograph.sparql.regions import HIGH_OPEN, LOW_OPEN, ROUNDED, Atom, Domain, place_of, text_keys
from heliograph.sparql.solve import QueryPlan, Solution, World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import PLAIN, RDF_TYPE, Term, TermKind, Variable, literal, plain_name, python_value, value_of
from heliograph.values import XSD_STRING, Kind
from heliograph.vocabulary import Vocabulary

SHOWN = 10  # bindings shown for a match
_EXAMPLES = 3  # values shown for a constraint that failed
_NEAREST = 2  # edges shown that come nearest to one that is lacking

Part = Pattern | Values | Expression


def only_publication(arrivals: Arrivals, taxonomy: Taxonomy) -> Publication:
    """The one publication that was given."""
    publications, rejected = arrivals
    if len(publications.ids) == 1:
        return decode_one(publications, 0, taxonomy)
    if not publications.ids and rejected:
        raise UsageError("HG-047", f"nothing is left of the publication: {rejected[0].message}")
    raise UsageError(
        "HG-047",
        f"{len(publications.ids)} publications to explain",
        fix="give one, such as (id, [(subject, property, object), …])",
    )


def explain(subscription: Subscription, publication: Publication) -> Explanation:
    """The explanation of one pair."""
    plan, world, parts = QueryPlan.of(subscription.query), publication.world, _parts(subscription.query)
    if plan.matches(world):
        first = next(plan.solutions(world), {})
        return Explanation(
            verb="filter",
            subscription_id=subscription.id,
            publication_id=publication.id,
            matched=True,
            summary=f"{publication.id} matches {subscription.id}",
            evidence=evidence(plan, world, SHOWN).shown,
            held=tuple(spell_part(part, first) for part in parts),
        )
    query, kept, failed = _keep(parts, world)
    if failed is None:
        return _missed(subscription.id, publication.id, _count_reason(plan, world), held=map(spell_part, parts))
    found = list(islice(QueryPlan.of(query).solutions(world), _EXAMPLES))
    reason = _reason(failed, found, world)
    said = spell_part(failed) + (f": {reason}" if reason else "")
    share = f"{len(kept)} of {len(parts)} edges and constraints hold together, this one failed: "
    return _missed(subscription.id, publication.id, said, share, (spell_part(part, found[0]) for part in kept))


def explain_aside(subscription: Subscription, publication_id: str, failure: Rejected) -> Explanation:
    """Why a subscription that is put aside matches nothing."""
    return _missed(subscription.id, publication_id, failure.message)


def _missed(id: str, publication_id: str, failed: str, share: str = "", held: Iterable[str] = ()) -> Explanation:
    return Explanation(
        verb="filter",
        subscription_id=id,
        publication_id=publication_id,
        matched=False,
        summary=f"{publication_id} does not match {id}: {share}{failed}",
        failed=failed,
        held=tuple(held),
    )


def _count_reason(plan: QueryPlan, world: World) -> str:
    """The pattern has solutions, or need not have any, but no group of them satisfies HAVING."""
    counts = plan.counts(world)
    largest = max(counts, key=counts.__getitem__)
    condition = "a match" if plan.query.having is None else spell_expression(plan.query.having)
    pairs = zip(plan.query.group_by, largest, strict=True)
    group = ", ".join(f"{name} = {spell_node(term)}" for name, term in pairs if term is not None)
    return f"{condition}: the largest count was {counts[largest]}" + (f", of {group}" if group else "")


# --- keeping parts one by one -----------------------------------------------------------------------------------


def _keep(parts: Iterable[Part], world: World) -> tuple[Query, list[Part], Part | None]:
    """The parts of a query that hold together, as a query too, and the first that does not."""
    query, kept, failed = Query(), list[Part](), None
    made: dict[int, Condition] = {}
    for part in parts:
        extended = _with(query, part)
        if next(QueryPlan.of(extended, made).solutions(world), None) is not None:
            query = extended
            kept.append(part)
        elif failed is None:
            failed = part
    return query, kept, failed


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
        met = (_values(part, solution) for solution in found)
        kinds = (note for solution in found for note in incomparable(part, solution))
        return "; ".join(dict.fromkeys(filter(None, (*met, *kinds))))
    asked = " and no ".join(dict.fromkeys(spell_pattern(part, solution) for solution in found))
    near = " and ".join(nearest(part, found[0], world))
    vain = "there is none" if asked == spell_pattern(part) else f"there is no {asked}"
    return vain + (f"; nearest: {near}" if near else "") + _meant_text(part, world)


def _values(part: Expression, solution: Solution) -> str:
    known = (name for name in sorted(_names(part)) if name in solution)
    return ", ".join(f"{name} was {spell_node(solution[name])}" for name in known)


def _meant_text(part: Pattern, world: World) -> str:
    """A hint where a text was asked for and the same word is there as a name, or the other way."""
    wanted = part.object
    if not isinstance(part, TriplePattern) or not isinstance(wanted, Term):
        return ""
    other = plain_name(wanted.value) if wanted.datatype == XSD_STRING else literal(str(python_value(wanted)))
    predicate = part.predicate if isinstance(part.predicate, Term) else None
    if wanted.kind is TermKind.BLANK or not world.graph.count(None, predicate, other):
        return ""
    name, text = (other, wanted) if wanted.kind is TermKind.LITERAL else (wanted, other)
    return f"; {spell_node(name)} is a name; as text write {spell_node(text)}"


def incomparable(part: Expression, solution: Solution) -> Iterator[str]:
    """For each comparison and call that a value of the wrong kind decides: which kinds met."""
    stack = [part]
    while stack:
        here = stack.pop()
        if isinstance(here, Compare):
            sides = [_known(side, solution) for side in (here.left, here.right)]
            if sides[0] is not None and sides[1] is not None:
                yield from _compared(sides[0], sides[1])
            stack += [here.left, here.right]
        elif isinstance(here, And | Or):
            stack += here.operands
        elif isinstance(here, Not):
            stack.append(here.operand)
        elif isinstance(here, In):
            value = _known(here.operand, solution)
            for choice in here.choices if value is not None else ():
                if isinstance(choice, Term) and value is not None:
                    yield from _compared(value, choice)
        elif isinstance(here, Call) and here.name in ("CONTAINS", "STRSTARTS", "STRENDS", "REGEX") and here.arguments:
            value = _known(here.arguments[0], solution)
            if value is not None and kind_of(value) not in ("a string", "a string with a language"):
                yield f"{here.name} takes a string, {spell_node(value)} is {kind_of(value)}{_as_text(value)}"


def _known(side: Expression, solution: Solution) -> Term | None:
    if isinstance(side, Variable):
        return solution.get(side)
    return side if isinstance(side, Term) else None


def _compared(left: Term, right: Term) -> Iterator[str]:
    one, other = kind_of(left), kind_of(right)
    if one != other and (left.is_literal or right.is_literal):  # names, IRIs and blank nodes compare
        name = left if other == "a string" else right
        yield f"{one} and {other} do not compare: {spell_node(left)}, {spell_node(right)}{_as_text(name)}"


def _as_text(term: Term) -> str:
    return f"; as text write {spell_node(literal(str(python_value(term))))}" if kind_of(term) == "a name" else ""


def kind_of(term: Term) -> str:
    """What kind of value a term is, in the words of an explanation: terms of one kind compare."""
    if term.kind is TermKind.BLANK:
        return "a blank node"
    if term.kind is TermKind.IRI:
        return "a name" if term.value.startswith(PLAIN) else "an IRI"
    value = value_of(term)
    if value is not None:
        return {Kind.DATE: "xsd:date", Kind.DATETIME: "xsd:dateTime", Kind.BOOLEAN: "a boolean"}.get(
            value.kind, "a number"
        )
    if term.datatype == XSD_STRING:
        return "a string"
    return "a string with a language" if term.language else f"a literal of <{term.datatype}>"


# --- the nearest edges: the same but for one of their three parts --------------------------------------------------


def nearest(pattern: Pattern, solution: Solution, world: World) -> list[str]:
    """A few edges that agree with the pattern under a solution in all known parts but one."""
    near = _classes(pattern, solution, world) if isinstance(pattern, ClassPattern) else _edges(pattern, solution, world)
    return [spell_pattern(edge) for edge in islice(dict.fromkeys(near), _NEAREST)]


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
    relation, is_a = pattern.relation, pattern.relation is ClassRelation.IS_A
    subject, object = _value(pattern.subject, solution), _value(pattern.object, solution)
    if subject is not None:
        up = world.classes.all_types if is_a else world.classes.ancestors
        yield from (ClassPattern(relation, subject, above) for above in up(subject))
    if object is not None:
        down = world.classes.all_instances if is_a else world.classes.descendants
        yield from (ClassPattern(relation, below, object) for below in down(object))


def _value(node: Node, solution: Solution) -> Term | None:
    return solution.get(node) if isinstance(node, Variable) else node


# --- the path through the index -------------------------------------------------------------------------------------

_MOST = 1000  # solutions at the gate that are looked at
_DEEPER = 50  # accepted ones that are followed beyond it

_ANY = Variable("")


def trace(
    located: Located, subscription: Subscription, publications: Publications, world: World, taxonomy: Taxonomy
) -> tuple[str, ...]:
    """The path of the one publication of a batch through the index, as lines; its ids are the index's."""
    segment, member = located.segment, located.member
    rows = slice(*segment.names.offsets[member : member + 2].tolist())
    own = zip(segment.names.numbers[rows].tolist(), edge_variables(subscription.query, taxonomy), strict=True)
    names = tuple(name for _, name in sorted(own))
    structure = int(np.searchsorted(segment.index.structures[:, layout.FIRST_MEMBER], member, side="right")) - 1
    return tuple(_Trace(segment, member, structure, names, publications, world).lines())


class _Conjunct(NamedTuple):
    variable: Variable
    atoms: tuple[Atom, ...]
    place: str  # where it is asked


@dataclass(frozen=True, slots=True)
class _Trace:
    segment: Segment
    member: int
    structure: int
    names: tuple[Variable, ...]  # of the structure's variables, as the subscription calls them
    publications: Publications
    world: World

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
        keys = self.segment.keys
        places = np.flatnonzero(keys.postings == self.structure)
        if not len(places):
            return None
        key = int(np.searchsorted(keys.offsets, places[0], side="right")) - 1
        return int(keys.subject[key]), int(keys.predicate[key]), int(keys.object[key])

    def _company(self) -> str:
        others = int(self.segment.alive[self.structure]) - 1
        if not others:
            return "no other subscription of its segment has the same edges"
        return f"{_counted(others, 'other subscription')} of its segment with the same edges, verified together"

    # --- verification -------------------------------------------------------------------------------------------

    def _row(self, column: int) -> int:
        return int(self.segment.index.structures[self.structure, column])

    def _node(self, node: int) -> Node:
        return self.names[~node] if node < 0 else self.publications.vocabulary.term(node)

    def _edges(self) -> list[TriplePattern]:
        """The structure's edges in the order of verification."""
        first = self._row(layout.FIRST_STEP)
        rows = self.segment.index.steps[first : first + self._row(layout.STEPS), :3].tolist()
        return [TriplePattern(*(self._node(node) for node in row)) for row in rows]

    def _verified(self) -> Iterator[str]:
        edges, gate = self._edges(), self._row(layout.GATE) or self._row(layout.STEPS)
        held = self._held(edges[:gate])
        yield from _steps(edges[:gate], 0, held)
        if held < gate:
            yield from _steps(edges[gate:], gate, -1)
            return
        found = list(islice(_solutions(edges[:gate], self.world), _MOST))
        lines, accepted = self._asked(found)
        yield from lines
        if len(found) == _MOST:
            yield f"only the first {_MOST} solutions up to here were looked at"
        yield from _steps(edges[gate:], gate, self._deeper(edges[gate:], accepted))

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

    def _asked(self, found: Sequence[Solution]) -> tuple[list[str], Sequence[Solution]]:
        """Asks each condition of the solutions that those before it accept: a line each, and what all accept."""
        lines, vocabulary = [], self.publications.vocabulary
        for conjunct in self._conjuncts():
            variable, atoms, place = conjunct
            accepted = [
                solution
                for solution in found
                if any(suits(atom, solution[variable], vocabulary, self.world.classes) for atom in atoms)
            ]
            verdict = "not reached"
            if found:
                terms = dict.fromkeys(solution[variable] for solution in accepted or found)
                more = ", …" if len(terms) > _EXAMPLES else ""
                shown = ", ".join(spell_node(term) for term in islice(terms, _EXAMPLES)) + more
                verdict = f"{'accepted' if accepted else 'refused'} {shown}"
            spelled = " or ".join(spell_atom(atom, vocabulary) for atom in atoms) or "nothing"
            lines.append(f"{variable}: {spelled} ({place}): {verdict}")
            found = accepted
        return lines, found

    def _conjuncts(self) -> Iterator[_Conjunct]:
        index, member = self.segment.index, self.member
        for row in range(*index.members[member : member + 2, layout.FIRST_CONJUNCT].tolist()):
            variable = int(index.conjuncts[row, layout.VARIABLE])
            first, last = index.conjuncts[row : row + 2, layout.FIRST_ATOM].tolist()
            atoms = tuple(
                Atom(int(each[0]), each[1], each[2], int(each[3])) for each in index.atoms[first:last].tolist()
            )
            yield _Conjunct(self.names[variable], atoms, self._place(variable, atoms))

    def _place(self, variable: int, atoms: Sequence[Atom]) -> str:
        """The constraint table in which a condition is looked up, if its member stands there with it."""
        index, first = self.segment.index, self._row(layout.FIRST_TABLE)
        for table in range(first, first + self._row(layout.TABLES)):
            begin, end = index.tables[table : table + 2, layout.FIRST_ENTRY].tolist()
            about, domain = index.tables[table, : layout.FIRST_ENTRY].tolist()
            inside = self.member in index.entries[begin:end, layout.MEMBER]
            if inside and about == variable and any(atom.domain == domain for atom in atoms):
                return f"in a constraint table of {end - begin}"
        return "tried by itself"

    def _undecided(self) -> Iterator[str]:
        flags = int(self.segment.index.members[self.member, layout.FLAGS])
        if flags & COMPLEX:
            yield "the index only rules it out: where it does not, the whole query decides"
        elif flags & INEXACT:
            yield "the index only rules solutions out: of those it leaves, the query's own conditions decide"


def _solutions(edges: Sequence[TriplePattern], world: World) -> Iterator[Solution]:
    return QueryPlan.of(Query(patterns=tuple(edges))).solutions(world)


def _bound(edge: TriplePattern, solution: Solution) -> TriplePattern:
    return TriplePattern(*(solution.get(node, node) if isinstance(node, Variable) else node for node in edge))


def _steps(edges: Sequence[TriplePattern], first: int, held: int) -> Iterator[str]:
    """A line for each edge: the first `held` did hold, the next one failed; with -1 none was reached."""
    for number, edge in enumerate(edges):
        verdict = "held" if number < held else "failed" if number == held else "not reached"
        yield f"edge {first + number + 1}: {spell_pattern(edge)}: {verdict}"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


# --- atoms as text --------------------------------------------------------------------------------------------------
# What an atom asks, and whether a term suits it, in plain Python. The law: `suits` refuses exactly the terms that the
# kernels refuse, and texts that lack a piece which they must hold; what is left in doubt, or to the query's own
# conditions, it lets pass.

_ASKED = {
    Domain.IS_A: "is-a",
    Domain.DIRECT: "direct-is-a",
    Domain.SUBCLASS_OF: "subclass-of",
    Domain.SUPERCLASS_OF: "superclass-of",
}
_NAMED = {Domain.IRI: "IRI", Domain.BLANK: "blank node", Domain.TEXT: "text", Domain.ODD: "other literal"}  # by id
_TIMES = {
    Domain.TIME: "dateTime",
    Domain.LOCAL_TIME: "dateTime without a zone",
    Domain.DATE: "date",
    Domain.LOCAL_DATE: "date without a zone",
}
_VALUES = {Domain.NUMBER: "number", Domain.BOOLEAN: "boolean", Domain.NAN: "not-a-number", Domain.FLOAT: "xsd:float"}


def spell_atom(atom: Atom, vocabulary: Vocabulary) -> str:
    """An atom as people read it: `number (2000, ∞)`, `is-a Publication`, `IRI Alice`."""
    domain = Domain(int(atom.domain))
    if domain == Domain.WORD:
        return "text that holds a certain piece of what is asked for"
    if domain in _ASKED:
        return f"{_ASKED[domain]} {spell_node(vocabulary.term(int(atom.low)))}"
    if domain in _NAMED:
        return f"{_NAMED[domain]}{_among(atom, vocabulary)}"
    name = _TIMES.get(domain) or _VALUES[domain]
    return name if isinf(atom.low) and isinf(atom.high) else f"{name} {_interval(atom, domain in _TIMES)}"


def _among(atom: Atom, vocabulary: Vocabulary) -> str:
    """Terms by id: a single one, all of them, or those on one side of one, which together make all the others."""
    if atom.low == atom.high:
        return f" {spell_node(vocabulary.term(int(atom.low)))}"
    ends = [("after", atom.low), ("before", atom.high)]
    known = [f" {side} {spell_node(vocabulary.term(int(end)))}" for side, end in ends if not isinf(end)]
    return " and".join(known)


def _interval(atom: Atom, times: bool) -> str:
    low = "(" if int(atom.flags) & LOW_OPEN or isinf(atom.low) else "["
    high = ")" if int(atom.flags) & HIGH_OPEN or isinf(atom.high) else "]"
    if atom.low == atom.high:
        return _end(atom.low, times)
    return f"{low}{_end(atom.low, times)}, {_end(atom.high, times)}{high}"


def _end(end: float, times: bool) -> str:
    if isinf(end):
        return "∞" if end > 0 else "-∞"
    known = times and abs(end) < 2.0**63  # beyond, moments are clamped
    return str(np.datetime64(int(end), "us")) if known else f"{end:.15g}"


def suits(atom: Atom, term: Term, vocabulary: Vocabulary, classes: Classes) -> bool:
    """Whether a term may suit an atom; the vocabulary is that of the term's publication."""
    domain = int(atom.domain)
    if domain < Domain.IS_A:
        return _within(atom, term, vocabulary)
    if domain == Domain.WORD:
        return int(atom.low) in text_keys(term.value)
    kind = vocabulary.term(int(atom.low))
    if domain == Domain.IS_A:
        return kind in classes.all_types(term)
    if domain == Domain.DIRECT:
        return kind in classes.types(term)
    return kind in classes.ancestors(term) if domain == Domain.SUBCLASS_OF else term in classes.ancestors(kind)


def _within(atom: Atom, term: Term, vocabulary: Vocabulary) -> bool:
    place = place_of(term, vocabulary.find)
    if place.domain == Domain.FLOAT:
        return True
    if place.domain != atom.domain or not atom.low <= place.coordinate <= atom.high:
        return False
    flags = int(atom.flags)
    doubtful = bool(flags & ROUNDED) or place.rounded
    low_out = place.coordinate == atom.low and flags & LOW_OPEN
    high_out = place.coordinate == atom.high and flags & HIGH_OPEN
    return doubtful or not (low_out or high_out)
