"""Why a query holds, or how close it is: which edge is missing, and which update would complete it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

from heliograph.model import Explanation
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import (
    Call,
    ClassPattern,
    ClassRelation,
    Expression,
    Not,
    Pattern,
    Query,
    TriplePattern,
    spell_expression,
    spell_node,
    spell_pattern,
)
from heliograph.terms import Term, Variable, spell
from heliograph.watch.changes import Match, Solution, key_of, order
from heliograph.watch.evidence import Bounded, Reevaluation, WitnessEdges, evidence
from heliograph.watch.metrics.calls import MetricComparison, metric_filters
from heliograph.watch.metrics.explain import bare_query, explain_metrics, spell_filters
from heliograph.watch.options import threshold
from heliograph.watch.strategy import Watched

# --- how close a silent query is ---------------------------------------------------------------------------------

# The most edges that hold together. Edges that share no variable, and that no condition and no VALUES block ties
# together, are looked at apart: what holds of each such part holds together. The law: no larger part of the pattern
# has a solution, as long as the parts to try, and the steps to try them in, stay within a budget; beyond it edges are
# added one by one in the order of the query, which may find fewer. A condition is applied where its variables are
# bound, and what stands as a subject or a property must be fit to, so that the missing edges can really be added.

Found = tuple[tuple[Pattern, ...], Solution]  # a part of a pattern, and a solution of it

_BUDGET = 4096  # parts of a pattern that are tried
_LOOKED_AT = 1000  # solutions among which the best is chosen
_NEAR_STEPS = 200_000  # of all trials: about a second
_TRIAL = 50_000  # of one of them


class NearestPart(NamedTuple):
    """The largest part of a pattern that holds, what it lacks, and the solution that shows it.

    `waiting` are the conditions that the missing edges must still satisfy; where no edge is missing, they fail.
    `cut` says that there was no time to look for a larger part everywhere.
    """

    held: tuple[Pattern, ...]
    missing: tuple[Pattern, ...]
    solution: Solution
    waiting: tuple[Expression, ...]
    cut: bool


def unmet(query: Query, answers: Reevaluation) -> NearestPart | None:
    """Where all edges hold together and only conditions fail: the solution that fails the fewest; else None."""
    bounded = Bounded(answers, _NEAR_STEPS)
    found = bounded.some(replace(query, filters=()), _LOOKED_AT)
    near = [_near(query, query.patterns, solution, bounded.cut) for solution in found]
    return min(near, key=lambda each: (len(each.waiting), order(each.solution)), default=None)


def nearest(query: Query, answers: Reevaluation) -> NearestPart:
    """The most of a query that holds, when not all of it does."""
    thorough, quick = Bounded(answers, _NEAR_STEPS), Bounded(answers, _NEAR_STEPS)
    held: set[Pattern] = set()
    solution: dict[Variable, Term] = {}
    certain = True
    for apart in sorted(_apart(query), key=lambda each: len(each.patterns)):  # what is cheap is not starved
        best = _largest(apart, thorough)
        certain = certain and best is not None and not thorough.cut
        if best is None or not certain:
            grown = _grown(apart, quick)
            best = grown if best is None or len(grown[0]) > len(best[0]) else best
        held.update(best[0])
        solution.update(best[1])
    return _near(query, tuple(each for each in query.patterns if each in held), solution, not certain)


def _near(query: Query, part: tuple[Pattern, ...], solution: Solution, cut: bool) -> NearestPart:
    missing = tuple(pattern for pattern in query.patterns if pattern not in set(part))
    waiting = tuple(each for each in query.filters if not Condition.of(each).holds(solution))
    return NearestPart(part, missing, solution, waiting, cut)


# --- one part after the other -----------------------------------------------------------------------------------


def _largest(query: Query, answers: Bounded) -> Found | None:
    """The largest part that has a solution, or None where there are too many parts, or steps, to try."""
    sizes = range(len(query.patterns), -1, -1)
    parts = (part for size in sizes for part in combinations(query.patterns, size))
    tried = list(islice(parts, _BUDGET + 1))
    if len(tried) > _BUDGET:
        return None
    for part in tried:
        solution = _least(query, part, answers)
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
    return part, _least(query, part, answers) or solution


def _trial(query: Query, part: tuple[Pattern, ...]) -> Query:
    """A part of a query, with the conditions whose variables it binds."""
    bound = set(Query(patterns=part, values=query.values).variables)
    filters = tuple(each for each in query.filters if Condition.of(each).variables <= bound)
    return replace(query, patterns=part, filters=filters)


def _least(query: Query, part: tuple[Pattern, ...], answers: Bounded) -> Solution | None:
    return min(answers.some(_trial(query, part), _LOOKED_AT, _TRIAL), key=order, default=None)


# --- what is looked at apart ---------------------------------------------------------------------------------------


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


# --- the explanation ---------------------------------------------------------------------------------------------

# Graphs and numbers of matches may be large, so every search is bounded; where one was cut, the explanation says so.

_STEPS = 300_000  # of a search: a second or two
_LISTED = 10_000  # matches that are counted one by one
_MOST_FOUND = ", the most that were found in time"


def explain(watched: Watched, answers: Reevaluation, publication_id: str | None) -> Explanation:
    """The explanation of a subscription over the graph as it is now."""
    return replace(_explain(watched, answers), publication_id=publication_id)


def _explain(watched: Watched, answers: Reevaluation) -> Explanation:
    id, query = watched.subscription.id, watched.subscription.query
    if watched.options.top is not None:
        return _explain_rank(watched)
    if query.having is not None:
        return _explain_count(watched, answers)
    if query.metrics:
        return explain_metrics(watched, answers) or _explain_pattern(id, query, answers)
    bounded = Bounded(answers, _STEPS)
    found, cut = bounded.some(query, _LISTED + 1), bounded.cut
    if found:
        return _explain_match(id, query, found, cut, answers)
    near = unmet(query, answers) or nearest(query, answers)
    if cut and not near.missing and not near.waiting:  # edges that are looked at apart show a match after all
        return _explain_match(id, query, [near.solution], cut, answers)
    if cut and watched.matches:
        return Explanation("watch", id, None, True, f"{id} holds: at least 1 match, which was not found again in time")
    return _explain_missing(id, near, query) if near.missing else _explain_condition(id, near)


def _explain_match(id: str, query: Query, found: Sequence[Solution], cut: bool, answers: Reevaluation) -> Explanation:
    least, size = min(found, key=order), len(found)
    held = tuple(spell_pattern(pattern, least) for pattern in query.patterns)
    shown = evidence(query, Match(None, None, least), WitnessEdges(answers))
    if cut or size > _LISTED:
        matches = "at least 1 match" if size == 1 else f"at least {min(size, _LISTED)} matches, of which this is one"
    else:
        matches = "1 match" if size == 1 else f"{size} matches, of which this is the first"
    return Explanation("watch", id, None, True, f"{id} holds: {matches}", evidence=shown, held=held)


def _explain_pattern(id: str, query: Query, answers: Reevaluation) -> Explanation:
    """What the pattern of a query lacks that asks metrics besides."""
    bare, (asked, _) = bare_query(query), metric_filters(query.filters)
    near = unmet(bare, answers) or nearest(bare, answers)
    if not near.missing:
        return _explain_condition(id, near)
    return _explain_missing(id, near._replace(waiting=(*near.waiting, *asked)), query)


def _explain_condition(id: str, near: NearestPart) -> Explanation:
    failed = spell_filters(near.waiting) or "VALUES"
    all_hold = f"all {_edges(len(near.held))} hold together" if near.held else "there is no edge to hold"
    shown = _spelled({variable: term for variable, term in near.solution.items() if not variable.hidden})
    summary = f"{id} is silent: {all_hold}, but not {failed}" + (f", with {shown}" if shown else "")
    return Explanation("watch", id, None, False, summary, failed=failed, held=_held(near))


def _explain_missing(id: str, near: NearestPart, query: Query) -> Explanation:
    missing = [spell_pattern(pattern, near.solution) for pattern in near.missing]
    hold = f"{len(near.held)} of {_edges(len(query.patterns))} hold together" + (_MOST_FOUND if near.cut else "")
    updates = ", ".join(_update(pattern, near.solution) for pattern in near.missing)
    limits = " and ".join(spell_expression(each) for each in near.waiting)
    completing = f"this would complete it: {updates}" + (f", where {limits}" if limits else "")
    summary = f"{id} is silent: {hold}; missing: {', '.join(missing)}; {completing}"
    return Explanation("watch", id, None, False, summary, failed=missing[0], held=_held(near))


def _explain_count(watched: Watched, answers: Reevaluation) -> Explanation:
    id, query = watched.subscription.id, watched.subscription.query
    assert query.having is not None
    condition = spell_expression(query.having)
    if watched.matches:
        first = watched.matches[0]
        shown = evidence(query, first, None)
        kept = _kept(watched, first) or f", and {condition}"
        return Explanation("watch", id, None, True, f"{id} holds: {_counted(first)}{kept}", shown)
    most, cut = _explain_largest(watched, answers)
    summary = f"{id} is silent: {_counted(most, cut)}, and {condition} does not hold"
    return Explanation("watch", id, None, False, summary, failed=condition)


def _kept(watched: Watched, match: Match) -> str:
    """Where nothing but the hysteresis keeps a count: how long it does."""
    query, hysteresis = watched.subscription.query, watched.options.hysteresis
    known = threshold(query.having)
    if not hysteresis or known is None:
        return ""
    compared = MetricComparison(*known, hysteresis if known[0] in (">", ">=") else -hysteresis)
    if compared.holds(match.value, held=False):
        return ""
    endless = "as long as the group has a match" if query.group_by else "for good"
    return f", which the hysteresis keeps true {endless if compared.is_endless else f'until it {compared.end}'}"


def _explain_largest(watched: Watched, answers: Reevaluation) -> tuple[Match, bool]:
    """The group with the largest count, the first in order among equals, and whether it may have more; a count of 0
    where there is no group."""
    query, bounded = watched.subscription.query, Bounded(answers, _STEPS)
    found = list(islice(answers.answer(query), _STEPS)) if query.metrics else bounded.some(query, _STEPS)
    counts = Counter(key_of(solution, query.group_by) for solution in found)
    if not counts:
        return Match(None, 0), bounded.cut
    count = max(counts.values())
    keys = (zip(query.group_by, key, strict=True) for key, size in counts.items() if size == count)
    groups = [{variable: term for variable, term in key if term is not None} for key in keys]
    return Match(min(groups, key=order), count), bounded.cut


def _counted(match: Match, cut: bool = False) -> str:
    group = _spelled(match.bindings or {})
    return f"COUNT(*) is {'at least ' if cut else ''}{match.value}" + (f" for {group}" if group else "")


def _explain_rank(watched: Watched) -> Explanation:
    id, top, count = watched.subscription.id, watched.options.top, watched.count
    assert top is not None
    among = f"the {top.k} largest counts of the set {top.name!r}"
    matches = f"{count} match" + ("" if count == 1 else "es")
    if watched.matches:
        return Explanation("watch", id, None, True, f"{id} holds: {matches}, among {among}", {"value": count})
    return Explanation("watch", id, None, False, f"{id} is silent: {matches}, not among {among}", failed=among)


# --- wording ----------------------------------------------------------------------------------------------------


def _held(near: NearestPart) -> tuple[str, ...]:
    return tuple(spell_pattern(pattern, near.solution) for pattern in near.held)


def _spelled(bindings: Solution) -> str:
    return ", ".join(f"{variable} = {spell(term)}" for variable, term in bindings.items())


def _edges(count: int) -> str:
    return "1 edge" if count == 1 else f"{count} edges"


def _update(pattern: Pattern, solution: Solution) -> str:
    """The update that adds an edge; a variable that is left may be anything."""
    if isinstance(pattern, ClassPattern):
        middle = "a" if pattern.relation is ClassRelation.IS_A else "rdfs:subClassOf"
        return f"+ {spell_node(pattern.subject, solution)} {middle} {spell_node(pattern.object, solution)}"
    return f"+ {spell_pattern(pattern, solution)}"
