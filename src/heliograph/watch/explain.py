"""Why a query holds, or how close it is: which edge is missing, and which update would complete it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.model import Explanation
from heliograph.syntax.query import ClassPattern, ClassRelation, Pattern, Query
from heliograph.syntax.spelling import spell_expression, spell_node, spell_pattern
from heliograph.terms import spell
from heliograph.watch.board import Watched
from heliograph.watch.evidence import evidence
from heliograph.watch.modes import Match, Ranked, Solution, current, order
from heliograph.watch.nearest import Near, nearest, unmet


def explain(watched: Watched, answers: Reevaluation, publication_id: str | None) -> Explanation:
    """The explanation of a subscription over the graph as it is now."""
    explained = _explain(watched, answers)
    return replace(explained, publication_id=publication_id)


def _explain(watched: Watched, answers: Reevaluation) -> Explanation:
    id, query = watched.subscription.id, watched.subscription.query
    if isinstance(watched.mode, Ranked):
        return _explain_rank(id, watched.mode)
    if query.having is not None:
        return _explain_count(watched, answers)
    found = list(answers.answer(query))
    if found:
        return _explain_match(id, query, found)
    failing = unmet(query, answers)
    return _explain_condition(id, failing) if failing else _explain_missing(id, nearest(query, answers), query)


def _explain_match(id: str, query: Query, found: Sequence[Solution]) -> Explanation:
    least = min(found, key=order)
    matches = "1 match" if len(found) == 1 else f"{len(found)} matches, of which this is the first"
    held = tuple(spell_pattern(pattern, least) for pattern in query.patterns)
    shown = evidence(query, Match(None, None, least), witness=True)
    return Explanation("watch", id, None, True, f"{id} holds: {matches}", evidence=shown, held=held)


def _explain_condition(id: str, near: Near) -> Explanation:
    failed = " and ".join(f"FILTER ({spell_expression(each)})" for each in near.waiting)
    all_hold = f"all {_edges(len(near.held))} hold together" if near.held else "there is no edge to hold"
    summary = f"{id} is silent: {all_hold}, but not {failed}{_where(near)}"
    return Explanation("watch", id, None, False, summary, failed=failed, held=_held(near))


def _explain_missing(id: str, near: Near, query: Query) -> Explanation:
    missing = [spell_pattern(pattern, near.solution) for pattern in near.missing]
    hold = f"{len(near.held)} of {_edges(len(query.patterns))} hold together"
    updates = ", ".join(_update(pattern, near.solution) for pattern in near.missing)
    limits = " and ".join(spell_expression(each) for each in near.waiting)
    completing = f"this would complete it: {updates}" + (f", where {limits}" if limits else "")
    summary = f"{id} is silent: {hold}; missing: {', '.join(missing)}; {completing}"
    return Explanation("watch", id, None, False, summary, failed=missing[0], held=_held(near))


def _explain_count(watched: Watched, answers: Reevaluation) -> Explanation:
    id, query = watched.subscription.id, watched.subscription.query
    assert query.having is not None
    condition = spell_expression(query.having)
    standing = current(watched.mode)
    if standing:
        shown = evidence(query, standing[0], witness=False)
        return Explanation("watch", id, None, True, f"{id} holds: {_counted(standing[0])}, and {condition}", shown)
    nearest_group = _largest(query, answers)
    summary = f"{id} is silent: {_counted(nearest_group)}, and {condition} does not hold"
    return Explanation("watch", id, None, False, summary, failed=condition)


def _largest(query: Query, answers: Reevaluation) -> Match:
    """The group with the largest count, the first in order among equals; a count of 0 where there is no group."""
    groups = Counter(
        tuple((variable, solution[variable]) for variable in query.group_by if variable in solution)
        for solution in answers.answer(query)
    )
    if not groups:
        return Match(None, 0)
    count = max(groups.values())
    return Match(min((dict(group) for group, size in groups.items() if size == count), key=order), count)


def _counted(match: Match) -> str:
    group = ", ".join(f"{variable} = {spell(term)}" for variable, term in (match.bindings or {}).items())
    return f"COUNT(*) is {match.value}" + (f" for {group}" if group else "")


def _explain_rank(id: str, mode: Ranked) -> Explanation:
    among = f"the {mode.top.k} largest counts of the set {mode.top.name!r}"
    matches = f"{mode.count} match" + ("" if mode.count == 1 else "es")
    if mode.standing:
        return Explanation("watch", id, None, True, f"{id} holds: {matches}, among {among}", {"value": mode.count})
    return Explanation("watch", id, None, False, f"{id} is silent: {matches}, not among {among}", failed=among)


# --- wording ----------------------------------------------------------------------------------------------------


def _held(near: Near) -> tuple[str, ...]:
    return tuple(spell_pattern(pattern, near.solution) for pattern in near.held)


def _where(near: Near) -> str:
    shown = [f"{variable} = {spell(term)}" for variable, term in near.solution.items() if not variable.hidden]
    return f", with {', '.join(shown)}" if shown else ""


def _edges(count: int) -> str:
    return "1 edge" if count == 1 else f"{count} edges"


def _update(pattern: Pattern, solution: Solution) -> str:
    """The update that adds an edge; a variable that is left may be anything."""
    if isinstance(pattern, ClassPattern):
        middle = "a" if pattern.relation is ClassRelation.IS_A else "rdfs:subClassOf"
        return f"+ {spell_node(pattern.subject, solution)} {middle} {spell_node(pattern.object, solution)}"
    return f"+ {spell_pattern(pattern, solution)}"
