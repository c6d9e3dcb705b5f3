"""How close a silent query is: the most edges that hold together.

The law: no larger part of the pattern has a solution, as long as the parts to try stay within a budget; beyond it edges
are added one by one in the order of the query, which may find fewer. A condition is applied where its variables are
bound, and what stands as a subject or a property must be fit to, so that the missing edges can really be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Call, Expression, Not, Pattern, Query, TriplePattern
from heliograph.terms import Variable
from heliograph.watch.modes import Solution, order

_BUDGET = 4096  # parts of a pattern that are tried
_LOOKED_AT = 1000  # solutions among which the best is chosen


class Near(NamedTuple):
    """The largest part of a pattern that holds, what it lacks, and the solution that shows it.

    `waiting` are the conditions that the missing edges must still satisfy; where no edge is missing, they fail.
    """

    held: tuple[Pattern, ...]
    missing: tuple[Pattern, ...]
    solution: Solution
    waiting: tuple[Expression, ...]


def nearest(query: Query, answers: Reevaluation) -> Near:
    """The most of a query that holds, when not all of it does."""
    fit = (*query.filters, *_fitness(query))
    for part in _parts(query, fit, answers):
        solution = _least(replace(query, patterns=part, filters=_applicable(query, part, fit)), answers)
        if solution is not None:
            return _near(query, part, solution)
    return _near(query, (), {})


def _parts(query: Query, fit: tuple[Expression, ...], answers: Reevaluation) -> Iterator[tuple[Pattern, ...]]:
    """Parts of the pattern to try, the largest first."""
    patterns = query.patterns
    sizes = range(len(patterns) - 1, -1, -1)
    tried = list(islice((part for size in sizes for part in combinations(patterns, size)), _BUDGET + 1))
    yield from tried if len(tried) <= _BUDGET else (_grown(query, fit, answers), ())


def _grown(query: Query, fit: tuple[Expression, ...], answers: Reevaluation) -> tuple[Pattern, ...]:
    part: tuple[Pattern, ...] = ()
    for pattern in query.patterns:
        more = (*part, pattern)
        trial = replace(query, patterns=more, filters=_applicable(query, more, fit))
        if len(more) < len(query.patterns) and next(answers.answer(trial), None) is not None:
            part = more
    return part


def _near(query: Query, part: tuple[Pattern, ...], solution: Solution) -> Near:
    held = set(part)
    missing = tuple(pattern for pattern in query.patterns if pattern not in held)
    waiting = tuple(each for each in query.filters if not Condition.of(each).holds(solution))
    return Near(part, missing, solution, waiting)


def unmet(query: Query, answers: Reevaluation) -> Near | None:
    """Where all edges hold together and only conditions fail: the solution that fails the fewest; else None."""
    found = list(islice(answers.answer(replace(query, filters=())), _LOOKED_AT))
    if not found:
        return None
    near = [_near(query, query.patterns, solution) for solution in found]
    return min(near, key=lambda each: (len(each.waiting), order(each.solution)))


def _least(query: Query, answers: Reevaluation) -> Solution | None:
    return min(islice(answers.answer(query), _LOOKED_AT), key=order, default=None)


def _applicable(query: Query, part: Iterable[Pattern], conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    bound = set(Query(patterns=tuple(part), values=query.values).variables)
    return tuple(each for each in conditions if Condition.of(each).variables <= bound)


def _fitness(query: Query) -> Iterator[Expression]:
    """What a variable must be to stand where the query has it: no literal as a subject, an IRI as a property."""
    for pattern in query.patterns:
        if isinstance(pattern.subject, Variable):
            yield Not(Call("ISLITERAL", (pattern.subject,)))
        if isinstance(pattern, TriplePattern) and isinstance(pattern.predicate, Variable):
            yield Call("ISIRI", (pattern.predicate,))
