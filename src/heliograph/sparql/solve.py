"""The solutions of a query over one graph, by plain backtracking: the yardstick for every faster way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from heliograph.errors import SubscriptionError
from heliograph.sparql.evaluate import Condition, Metrics
from heliograph.sparql.query import ClassPattern, ClassRelation, Node, Pattern, Query, TriplePattern, Values
from heliograph.taxonomy import Classes, Document, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable, is_container_member

# --- the graph --------------------------------------------------------------------------------------------------
# A set of triples that can be asked by any of its parts.
#
# The law: `match` answers exactly the triples that agree with the parts given, in the order in which they were added,
# whatever was added and removed before. An index is built when first asked for, and kept up to date from then on.

Triple = tuple[Term, Term, Term]
Mask = tuple[bool, bool, bool]
Index = dict[tuple[Term, ...], dict[Triple, None]]  # a dict of None is a set that keeps its order

_NOTHING: dict[Triple, None] = {}


class Readable(Document, Protocol):
    """What a solver needs of a graph, whatever holds it."""

    def __iter__(self) -> Iterator[Triple]: ...

    def __len__(self) -> int: ...


class Graph:
    """A set of term triples. `add` and `remove` say whether they changed anything."""

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self._triples: dict[Triple, None] = dict.fromkeys(triples)
        self._indexes: dict[Mask, Index] = {}

    def __len__(self) -> int:
        return len(self._triples)

    def __iter__(self) -> Iterator[Triple]:
        return iter(self._triples)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self._triples

    def add(self, triple: Triple) -> bool:
        if triple in self._triples:
            return False
        self._triples[triple] = None
        for mask, index in self._indexes.items():
            index.setdefault(_key(triple, mask), {})[triple] = None
        return True

    def remove(self, triple: Triple) -> bool:
        if triple not in self._triples:
            return False
        del self._triples[triple]
        for mask, index in self._indexes.items():
            key = _key(triple, mask)
            del index[key][triple]
            if not index[key]:
                del index[key]
        return True

    def match(
        self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None
    ) -> Collection[Triple]:
        """The triples with these parts; None is a wildcard. Not to be changed while it is read."""
        mask = (subject is not None, predicate is not None, object is not None)
        if mask == (False, False, False):
            return self._triples.keys()
        key = tuple(part for part in (subject, predicate, object) if part is not None)
        if mask == (True, True, True):
            return (key,) if key in self._triples else ()
        return self._index(mask).get(key, _NOTHING).keys()

    def count(self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None) -> int:
        return len(self.match(subject, predicate, object))

    def _index(self, mask: Mask) -> Index:
        index = self._indexes.get(mask)
        if index is None:
            index = {}
            for triple in self._triples:
                index.setdefault(_key(triple, mask), {})[triple] = None
            self._indexes[mask] = index
        return index


def _key(triple: Triple, mask: Mask) -> tuple[Term, ...]:
    return tuple(part for part, given in zip(triple, mask, strict=True) if given)


# --- steps of a join --------------------------------------------------------------------------------------------
# The steps of a join: each knows how many ways it can be taken under some bindings, and takes them.
#
# The law: `extend(bindings)` yields each distinct extension of `bindings` that satisfies this step once and no other,
# so the solutions of a query are what any order of its steps yields.

Solution = dict[Variable, Term]
Pairs = Iterable[tuple[Term, Term]]


class Step(Protocol):
    def estimate(self, bindings: Solution) -> int: ...

    def extend(self, bindings: Solution) -> Iterator[Solution]: ...


@dataclass(frozen=True, slots=True)
class World:
    """What a publication can be asked: its triples, and its classes joined with the taxonomy."""

    graph: Readable
    classes: Classes


@dataclass(frozen=True, slots=True)
class EdgeStep:
    """A triple pattern, answered from the document (and the taxonomy where its property is the constant rdf:type)."""

    pattern: TriplePattern
    world: World

    def estimate(self, bindings: Solution) -> int:
        subject, predicate, object = self._parts(bindings)
        if self.pattern.predicate == RDF_TYPE:
            known = self.world.graph.count(subject, RDF_TYPE, object)
            taxonomy = self.world.classes.taxonomy
            if subject is not None:
                return known + len(taxonomy.types_of(subject))
            return known + len(taxonomy.types if object is None else taxonomy.instances_of(object))
        if self.pattern.predicate == RDFS_MEMBER:
            predicate = None
        return self.world.graph.count(subject, predicate, object)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        parts = self.pattern.subject, self.pattern.predicate, self.pattern.object
        for triple in self._edges(*self._parts(bindings)):
            extended = _unify(bindings, parts, triple)
            if extended is not None:
                yield extended

    def _parts(self, bindings: Solution) -> tuple[Term | None, Term | None, Term | None]:
        pattern = self.pattern
        return _known(pattern.subject, bindings), _known(pattern.predicate, bindings), _known(pattern.object, bindings)

    def _edges(self, subject: Term | None, predicate: Term | None, object: Term | None) -> Iterable[Triple]:
        if self.pattern.predicate == RDF_TYPE:
            classes = self.world.classes
            pairs = _pairs(subject, object, classes.typed, classes.types, classes.instances)
            return ((s, RDF_TYPE, o) for s, o in pairs)
        if self.pattern.predicate == RDFS_MEMBER:
            # Container membership as rdfs:member; one for each subject and object, whatever their rdf:_n.
            triples = self.world.graph.match(subject, None, object)
            members = dict.fromkeys((s, o) for s, p, o in triples if p == RDFS_MEMBER or is_container_member(p))
            return ((s, RDFS_MEMBER, o) for s, o in members)
        return self.world.graph.match(subject, predicate, object)


@dataclass(frozen=True, slots=True)
class ClassStep:
    """An is-a or sub-class pattern, answered from the closure of document and taxonomy."""

    pattern: ClassPattern
    world: World

    def estimate(self, bindings: Solution) -> int:
        subject, object = _known(self.pattern.subject, bindings), _known(self.pattern.object, bindings)
        classes = self.world.classes
        if subject is not None:
            return 1 if object is not None else len(classes.ancestors(subject)) + 1
        if object is not None:
            return len(classes.descendants(object)) + 1
        return len(self.world.graph) + len(classes.taxonomy)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        pattern = self.pattern
        subject, object = _known(pattern.subject, bindings), _known(pattern.object, bindings)
        classes = self.world.classes
        if pattern.relation is ClassRelation.IS_A:
            pairs = _pairs(subject, object, classes.typed, classes.all_types, classes.all_instances)
        else:
            pairs = _pairs(subject, object, classes.nested, classes.ancestors, classes.descendants)
        for pair in pairs:
            extended = _unify(bindings, (pattern.subject, pattern.object), pair)
            if extended is not None:
                yield extended


@dataclass(frozen=True, slots=True)
class ValuesStep:
    """A VALUES block; UNDEF agrees with anything and binds nothing."""

    block: Values

    def estimate(self, bindings: Solution) -> int:
        return len(self.block.rows)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        for row in self.block.rows:
            given = [(name, term) for name, term in zip(self.block.variables, row, strict=True) if term is not None]
            extended = _unify(bindings, [name for name, _ in given], [term for _, term in given])
            if extended is not None:
                yield extended


@dataclass(frozen=True, slots=True)
class RangeStep:
    """A variable that no triple binds and a metric uses: it ranges over all vertices."""

    variable: Variable
    vertices: Collection[Term]

    def estimate(self, bindings: Solution) -> int:
        return len(self.vertices)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        yield from ({**bindings, self.variable: vertex} for vertex in self.vertices)


def pattern_step(pattern: Pattern, world: World) -> Step:
    return EdgeStep(pattern, world) if isinstance(pattern, TriplePattern) else ClassStep(pattern, world)


def _known(node: Node, bindings: Solution) -> Term | None:
    return bindings.get(node) if isinstance(node, Variable) else node


def _unify(bindings: Solution, nodes: Iterable[Node], terms: Iterable[Term]) -> Solution | None:
    """`bindings` with each variable among `nodes` bound to its term, or None where one would have two."""
    extended = dict(bindings)
    for node, term in zip(nodes, terms, strict=True):
        if isinstance(node, Variable) and extended.setdefault(node, term) != term:
            return None
    return extended


def _pairs(
    subject: Term | None,
    object: Term | None,
    starts: Callable[[], Iterable[Term]],
    up: Callable[[Term], Iterable[Term]],
    down: Callable[[Term], Iterable[Term]],
) -> Pairs:
    """The pairs of a relation that agree with the ends given, from its two directions; `up` and `down` are sets."""
    if subject is not None:
        above = up(subject)
        return ((subject, o) for o in above if object is None or o == object)
    if object is not None:
        return ((s, object) for s in down(object))
    return ((s, o) for s in starts() for o in up(s))


# --- solutions --------------------------------------------------------------------------------------------------
# It computes the distinct solutions over all variables of the pattern (hidden ones included), with homomorphism
# semantics: two variables may take one value. The law it relies on: a join's solutions do not depend on the order of
# its steps, so the step with the fewest ways is taken next; and a condition may be tested once its variables are
# bound.

GroupKey = tuple[Term | None, ...]

_NO_TAXONOMY = Taxonomy()
MOST_TRIED = 300_000  # bindings that are tried without a solution, at 10 to 30 µs; and EACH for each triple
MOST_IN_ALL = 8_000_000  # bindings that are tried, and terms of solutions that are found; and EACH for each triple
EACH = 64


class GivenUp(SubscriptionError):
    """A query that asks for too much; `update` is the place in its batch of the update that made it do so."""

    def __init__(self, message: str, update: int = 0) -> None:
        fix = "join its parts by variables, or ask less of many variables at once"
        super().__init__("HG-543", message, fix=fix)
        self.update = update


class Budget:
    """What a search may try before it is given up (`HG-543`): so many bindings, or, where there is a limit for all, so
    many after the last solution."""

    def __init__(self, graph: Readable, in_all: bool = False) -> None:
        more = EACH * len(graph)
        self._most, self._most_in_all = MOST_TRIED + more, MOST_IN_ALL + more if in_all else None
        self._tried = self._in_all = 0

    def spend(self) -> None:
        """Another binding is tried."""
        self._tried += 1
        if self._tried >= self._most:
            raise GivenUp(f"it tried {self._tried:,} combinations of bindings over one graph without an answer")

    def find(self, solution: Solution) -> None:
        """A solution was found."""
        if self._most_in_all is None:
            return
        self._in_all += self._tried + len(solution)
        self._tried = 0
        if self._in_all >= self._most_in_all:
            raise GivenUp(f"it tried {self._in_all:,} combinations of bindings over one graph")


# One depth of the search: the bindings still to be tried, and the steps and conditions that are left below them.
_Level = tuple[Iterator[Solution], tuple[Step, ...], tuple[Condition, ...]]


def _descend(bindings: Solution, steps: tuple[Step, ...], conditions: tuple[Condition, ...]) -> _Level:
    """The step with the fewest ways comes next; one that has none settles it."""
    best, fewest = 0, steps[0].estimate(bindings)
    for position in range(1, len(steps)):
        if not fewest:
            break
        ways = steps[position].estimate(bindings)
        if ways < fewest:
            best, fewest = position, ways
    return steps[best].extend(bindings), steps[:best] + steps[best + 1 :], conditions


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query made ready to be solved over many graphs."""

    query: Query
    variables: frozenset[Variable]
    ranging: tuple[Variable, ...]  # those of metrics that no triple and no VALUES binds
    conditions: tuple[Condition, ...]
    having: Condition | None

    @classmethod
    def of(cls, query: Query, made: dict[int, Condition] | None = None) -> QueryPlan:
        """The plan of a query. `made` keeps the conditions of those that share expressions, by identity."""
        made = {} if made is None else made
        for expression in query.filters:
            if id(expression) not in made:
                made[id(expression)] = Condition.of(expression)
        conditions = tuple(made[id(expression)] for expression in query.filters)
        having = None if query.having is None else Condition.of(query.having)
        return cls(query, frozenset(query.variables), query.ranging, conditions, having)

    def solutions(
        self,
        world: World,
        *,
        metrics: Metrics | None = None,
        vertices: Collection[Term] = (),
        budget: Budget | None = None,
    ) -> Iterator[Solution]:
        """The distinct solutions, lazily. A variable that only a metric uses ranges over `vertices`."""
        steps: list[Step] = [pattern_step(pattern, world) for pattern in self.query.patterns]
        steps += [ValuesStep(block) for block in self.query.values]
        steps += [RangeStep(variable, vertices) for variable in self.ranging]
        found = self._search(tuple(steps), metrics, budget)
        return _distinct(found) if self.query.values else found

    def _search(self, steps: tuple[Step, ...], metrics: Metrics | None, budget: Budget | None) -> Iterator[Solution]:
        """Depth first with a stack of its own, so that any number of edges may be asked."""
        stack: list[_Level] = [(iter([{}]), steps, self.conditions)]
        while stack:
            ways, steps, conditions = stack[-1]
            bindings = next(ways, None)
            if bindings is None:
                stack.pop()
                continue
            if budget is not None:
                budget.spend()
            waiting = self._test(bindings, conditions, metrics, last=not steps)
            if waiting is None:
                continue
            if steps:
                stack.append(_descend(bindings, steps, waiting))
            else:
                if budget is not None:
                    budget.find(bindings)
                yield bindings

    def _test(
        self, bindings: Solution, conditions: tuple[Condition, ...], metrics: Metrics | None, last: bool
    ) -> tuple[Condition, ...] | None:
        """The conditions that must still wait for a variable, or None if one that need not wait fails."""
        waiting = []
        for condition in conditions:
            if not last and any(name not in bindings for name in condition.variables & self.variables):
                waiting.append(condition)
            elif not condition.holds(bindings, metrics):
                return None
        return tuple(waiting)

    def counts(
        self,
        world: World,
        *,
        metrics: Metrics | None = None,
        vertices: Collection[Term] = (),
        budget: Budget | None = None,
    ) -> dict[GroupKey, int]:
        """COUNT(*) for each binding of the GROUP BY variables; without GROUP BY one group, which may count 0."""
        found = self.solutions(world, metrics=metrics, vertices=vertices, budget=budget)
        counts = Counter(tuple(solution.get(name) for name in self.query.group_by) for solution in found)
        return dict(counts) if self.query.group_by else {(): counts[()]}

    def holds_count(self, key: GroupKey, count: int, *, metrics: Metrics | None = None) -> bool:
        """Whether a group satisfies HAVING; without HAVING a group need only count something."""
        if self.having is None:
            return count > 0
        bindings = {name: term for name, term in zip(self.query.group_by, key, strict=True) if term is not None}
        return self.having.holds(bindings, metrics, count)

    def matches(self, world: World) -> bool:
        """Whether the query is true of the graph: it has a solution, or some group satisfies HAVING.

        One that asks for too much is given up (`HG-543`), so that it cannot hold up all others.
        """
        budget = Budget(world.graph)
        if self.query.counted:
            return any(self.holds_count(key, count) for key, count in self.counts(world, budget=budget).items())
        return next(self.solutions(world, budget=budget), None) is not None


def world(graph: Readable, taxonomy: Taxonomy | None = None) -> World:
    return World(graph, Classes(graph, taxonomy or _NO_TAXONOMY))


def solutions(
    query: Query,
    graph: Readable,
    taxonomy: Taxonomy | None = None,
    *,
    metrics: Metrics | None = None,
    vertices: Collection[Term] = (),
) -> Iterator[Solution]:
    """The distinct solutions of a query over a graph, lazily."""
    return QueryPlan.of(query).solutions(world(graph, taxonomy), metrics=metrics, vertices=vertices)


def matches(query: Query, graph: Readable, taxonomy: Taxonomy | None = None) -> bool:
    """Whether a filter query is true of a graph."""
    return QueryPlan.of(query).matches(world(graph, taxonomy))


def _distinct(found: Iterator[Solution]) -> Iterator[Solution]:
    seen: set[frozenset[tuple[Variable, Term]]] = set()
    for solution in found:
        key = frozenset(solution.items())
        if key not in seen:
            seen.add(key)
            yield solution
