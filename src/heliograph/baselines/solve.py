"""The solutions of a query over one graph, by plain backtracking: the yardstick for every faster way.

It computes the distinct solutions over all variables of the pattern (hidden ones included), with homomorphism
semantics: two variables may take one value. The law it relies on: a join's solutions do not depend on the order of its
steps, so the step with the fewest ways is taken next; and a condition may be tested once its variables are bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from heliograph.baselines.graph import Graph, Readable, Triple
from heliograph.baselines.steps import RangeStep, Solution, Step, ValuesStep, World, pattern_step
from heliograph.errors import SubscriptionError
from heliograph.semantics.expressions import Condition, Metrics
from heliograph.syntax.query import Query
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import Term, Variable

__all__ = ["Graph", "GroupKey", "Plan", "Solution", "Triple", "World", "matches", "solutions", "world"]

GroupKey = tuple[Term | None, ...]

_NO_TAXONOMY = Taxonomy()
MOST_TRIED = 300_000  # bindings that are tried to tell whether a query holds, at 10 to 30 µs; and 64 for each triple


@dataclass(frozen=True, slots=True)
class _Level:
    """One depth of the search: the bindings still to be tried, and what is left to do below them."""

    ways: Iterator[Solution]
    steps: tuple[Step, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class _Search:
    """A query over one graph; walked depth first with a stack of its own, so that any number of edges may be asked."""

    bindable: frozenset[Variable]
    metrics: Metrics | None
    most: int | None = None  # bindings to try
    stack: list[_Level] = field(default_factory=list)

    def run(self, steps: tuple[Step, ...], conditions: tuple[Condition, ...]) -> Iterator[Solution]:
        self.stack.append(_Level(iter([{}]), steps, conditions))
        tried = 0
        while self.stack:
            level = self.stack[-1]
            bindings = next(level.ways, None)
            if bindings is None:
                self.stack.pop()
                continue
            tried += 1
            if tried == self.most:
                raise SubscriptionError(
                    "HG-543",
                    f"it tried {tried:,} combinations of bindings over one graph without an answer",
                    fix="join its parts by variables, or ask less of many variables at once",
                )
            waiting = self._test(bindings, level.conditions, last=not level.steps)
            if waiting is None:
                continue
            if level.steps:
                self.stack.append(_descend(bindings, level.steps, waiting))
            else:
                yield bindings

    def _test(self, bindings: Solution, conditions: tuple[Condition, ...], last: bool) -> tuple[Condition, ...] | None:
        """The conditions that must still wait for a variable, or None if one that need not wait fails."""
        waiting = []
        for condition in conditions:
            if not last and any(name not in bindings for name in condition.variables & self.bindable):
                waiting.append(condition)
            elif not condition.holds(bindings, self.metrics):
                return None
        return tuple(waiting)


def _descend(bindings: Solution, steps: tuple[Step, ...], conditions: tuple[Condition, ...]) -> _Level:
    """The step with the fewest ways comes next; one that has none settles it."""
    best, fewest = 0, steps[0].estimate(bindings)
    for position in range(1, len(steps)):
        if not fewest:
            break
        ways = steps[position].estimate(bindings)
        if ways < fewest:
            best, fewest = position, ways
    return _Level(steps[best].extend(bindings), steps[:best] + steps[best + 1 :], conditions)


@dataclass(frozen=True, slots=True)
class Plan:
    """A query made ready to be solved over many graphs."""

    query: Query
    variables: frozenset[Variable]
    ranging: tuple[Variable, ...]  # those of metrics that no triple and no VALUES binds
    conditions: tuple[Condition, ...]
    having: Condition | None

    @classmethod
    def of(cls, query: Query, made: dict[int, Condition] | None = None) -> Plan:
        """The plan of a query. `made` keeps the conditions of those that share expressions, by identity."""
        made = {} if made is None else made
        for expression in query.filters:
            if id(expression) not in made:
                made[id(expression)] = Condition.of(expression)
        bound = set(Query(patterns=query.patterns, values=query.values).variables)
        ranging = tuple(name for name in query.variables if name not in bound)
        conditions = tuple(made[id(expression)] for expression in query.filters)
        having = None if query.having is None else Condition.of(query.having)
        return cls(query, frozenset(query.variables), ranging, conditions, having)

    def solutions(
        self,
        world: World,
        *,
        metrics: Metrics | None = None,
        vertices: Collection[Term] = (),
        most: int | None = None,
    ) -> Iterator[Solution]:
        """The distinct solutions, lazily. A variable that only a metric uses ranges over `vertices`. A search that
        tries `most` bindings is given up (`HG-543`)."""
        steps: list[Step] = [pattern_step(pattern, world) for pattern in self.query.patterns]
        steps += [ValuesStep(block) for block in self.query.values]
        steps += [RangeStep(variable, vertices) for variable in self.ranging]
        found = _Search(self.variables, metrics, most).run(tuple(steps), self.conditions)
        return _distinct(found) if self.query.values else found

    def counts(
        self,
        world: World,
        *,
        metrics: Metrics | None = None,
        vertices: Collection[Term] = (),
        most: int | None = None,
    ) -> dict[GroupKey, int]:
        """COUNT(*) for each binding of the GROUP BY variables; without GROUP BY one group, which may count 0."""
        found = self.solutions(world, metrics=metrics, vertices=vertices, most=most)
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
        most = MOST_TRIED + 64 * len(world.graph)
        if self.query.counted:
            return any(self.holds_count(key, count) for key, count in self.counts(world, most=most).items())
        return next(self.solutions(world, most=most), None) is not None


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
    return Plan.of(query).solutions(world(graph, taxonomy), metrics=metrics, vertices=vertices)


def matches(query: Query, graph: Readable, taxonomy: Taxonomy | None = None) -> bool:
    """Whether a filter query is true of a graph."""
    return Plan.of(query).matches(world(graph, taxonomy))


def _distinct(found: Iterator[Solution]) -> Iterator[Solution]:
    seen: set[frozenset[tuple[Variable, Term]]] = set()
    for solution in found:
        key = frozenset(solution.items())
        if key not in seen:
            seen.add(key)
            yield solution
