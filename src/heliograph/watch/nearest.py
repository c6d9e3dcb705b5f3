"""How close a silent query is: the most edges that hold together.

Edges that share no variable, and that no condition and no VALUES block ties together, are judged apart: what holds of
each such part holds together. The law: no larger part of the pattern has a solution, as long as the parts to try, and
the steps to try them in, stay within a budget; beyond it edges are added one by one in the order of the query, which
may find fewer. A condition is applied where its variables are bound, and what stands as a subject or a property must be
fit to, so that the missing edges can really be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Call, Expression, Not, Pattern, Query, TriplePattern
from heliograph.terms import Term, Variable
from heliograph.watch.bounded import Bounded
from heliograph.watch.modes import Solution, order

Found = tuple[tuple[Pattern, ...], Solution]  # a part of a pattern, and a solution of it

_BUDGET = 4096  # parts of a pattern that are tried
_LOOKED_AT = 1000  # solutions among which the best is chosen
_STEPS = 200_000  # of all trials: about a second
_TRIAL = 50_000  # of one of them


class Near(NamedTuple):
    """The largest part of a pattern that holds, what it lacks, and the solution that shows it.

    `waiting` are the conditions that the missing edges must still satisfy; where no edge is missing, they fail.
    `cut` says that there was no time to look for a larger part everywhere.
    """

    held: tuple[Pattern, ...]
    missing: tuple[Pattern, ...]
    solution: Solution
    waiting: tuple[Expression, ...]
    cut: bool


def unmet(query: Query, answers: Reevaluation) -> Near | None:
    """Where all edges hold together and only conditions fail: the solution that fails the fewest; else None."""
    bounded = Bounded(answers, _STEPS)
    near = [
        _near(query, query.patterns, solution, bounded.cut)
        for solution in bounded.some(replace(query, filters=()), _LOOKED_AT)
    ]
    return min(near, key=lambda each: (len(each.waiting), order(each.solution)), default=None)


def nearest(query: Query, answers: Reevaluation) -> Near:
    """The most of a query that holds, when not all of it does."""
    thorough, quick = Bounded(answers, _STEPS), Bounded(answers, _STEPS)
    held: set[Pattern] = set()
    solution: dict[Variable, Term] = {}
    certain = True
    for apart in sorted(_apart(query), key=lambda each: len(each.patterns)):  # what is cheap is not starved
        largest = _largest(apart, thorough)
        certain = certain and largest is not None and not thorough.cut
        part, found = largest if largest and certain else _larger(largest, _grown(apart, quick))
        held.update(part)
        solution.update(found)
    return _near(query, tuple(each for each in query.patterns if each in held), solution, not certain)


def _larger(largest: Found | None, grown: Found) -> Found:
    return grown if largest is None or len(grown[0]) > len(largest[0]) else largest


def _near(query: Query, part: tuple[Pattern, ...], solution: Solution, cut: bool) -> Near:
    held = set(part)
    missing = tuple(pattern for pattern in query.patterns if pattern not in held)
    waiting = tuple(each for each in query.filters if not Condition.of(each).holds(solution))
    return Near(part, missing, solution, waiting, cut)


# --- one part after the other -----------------------------------------------------------------------------------


def _largest(query: Query, answers: Bounded) -> Found | None:
    """The largest part that has a solution, or None where there are too many parts, or steps, to try."""
    sizes = range(len(query.patterns), -1, -1)
    parts = (part for size in sizes for part in combinations(query.patterns, size))
    tried = list(islice(parts, _BUDGET + 1))
    if len(tried) > _BUDGET:
        return None
    for part in tried:
        solution = _least(_trial(query, part), answers)
        if solution is not None or not answers.steps:
            return None if solution is None else (part, solution)
    return (), {}


def _grown(query: Query, answers: Bounded) -> Found:
    """The part that is reached by adding edges in their order, and a solution of it."""
    part: tuple[Pattern, ...] = ()
    solution: Solution = {}
    for pattern in query.patterns:
        found = answers.some(_trial(query, (*part, pattern)), 1, _TRIAL)
        if found:
            part, solution = (*part, pattern), found[0]
    return part, _least(_trial(query, part), answers) or solution


def _trial(query: Query, part: tuple[Pattern, ...]) -> Query:
    return replace(query, patterns=part, filters=_applicable(query, part))


def _least(query: Query, answers: Bounded) -> Solution | None:
    return min(answers.some(query, _LOOKED_AT, _TRIAL), key=order, default=None)


def _applicable(query: Query, part: tuple[Pattern, ...]) -> tuple[Expression, ...]:
    bound = set(Query(patterns=part, values=query.values).variables)
    return tuple(each for each in query.filters if Condition.of(each).variables <= bound)


# --- what is judged apart ---------------------------------------------------------------------------------------


def _apart(query: Query) -> Iterator[Query]:
    """The query in parts that nothing ties together, with conditions so that edges can be added to what holds of them.

    A VALUES block that no edge is tied to goes with all of them: where it is empty, nothing holds.
    """
    roots = _roots(query)
    apart: dict[Variable | Pattern, list[Pattern]] = {}
    for pattern in dict.fromkeys(query.patterns):
        root = next((_root(roots, node) for node in pattern if isinstance(node, Variable)), pattern)
        apart.setdefault(root, []).append(pattern)
    tied = {number: _root(roots, block.variables[0]) for number, block in enumerate(query.values) if block.variables}
    for root, patterns in apart.items():
        values = tuple(
            block
            for number, block in enumerate(query.values)
            if tied.get(number) == root or tied.get(number) not in apart
        )
        filters = (*query.filters, *dict.fromkeys(_fitness(patterns)))
        yield replace(query, patterns=tuple(patterns), values=values, filters=filters)


def _roots(query: Query) -> dict[Variable, Variable]:
    """From each variable one leads to another that it is tied to, and in the end all of them to the same."""
    roots = {variable: variable for variable in query.variables}
    ties: list[Iterable[Variable]] = [[node for node in each if isinstance(node, Variable)] for each in query.patterns]
    ties += [Condition.of(each).variables & roots.keys() for each in query.filters]
    ties += [block.variables for block in query.values]
    for first, *others in map(list, filter(None, ties)):
        for other in others:
            roots[_root(roots, other)] = _root(roots, first)
    return roots


def _root(roots: dict[Variable, Variable], variable: Variable) -> Variable:
    while roots[variable] != variable:
        roots[variable] = variable = roots[roots[variable]]
    return variable


def _fitness(patterns: Iterable[Pattern]) -> Iterator[Expression]:
    """What a variable must be to stand where the query has it: no literal as a subject, an IRI as a property."""
    for pattern in patterns:
        if isinstance(pattern.subject, Variable):
            yield Not(Call("ISLITERAL", (pattern.subject,)))
        if isinstance(pattern, TriplePattern) and isinstance(pattern.predicate, Variable):
            yield Call("ISIRI", (pattern.predicate,))
