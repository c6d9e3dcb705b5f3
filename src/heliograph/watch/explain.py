"""Why a query holds, or how close it is: which edge is missing, and which update would complete it.

Graphs and numbers of matches may be large, so every search is bounded; where one was cut, the explanation says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol, runtime_checkable

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.model import Explanation
from heliograph.syntax.query import ClassPattern, ClassRelation, Pattern, Query
from heliograph.syntax.spelling import spell_expression, spell_node, spell_pattern
from heliograph.terms import spell
from heliograph.watch.board import Watched
from heliograph.watch.bounded import Bounded
from heliograph.watch.evidence import evidence
from heliograph.watch.metrics.comparing import Comparison, metric_filters
from heliograph.watch.metrics.explaining import bare_query, explain_metrics, spell_filters
from heliograph.watch.modes import Key, Match, Ranked, Solution, current, order
from heliograph.watch.nearest import Near, nearest, unmet
from heliograph.watch.options import threshold

_STEPS = 300_000  # of a search: a second or two
_LISTED = 10_000  # matches that are counted one by one
_MOST_FOUND = ", the most that were found in time"


@runtime_checkable
class Counting(Protocol):
    """A mode that knows how many solutions there are for each binding of the GROUP BY variables."""

    @property
    def counts(self) -> Mapping[Key, int]: ...


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
    if query.metrics:
        return explain_metrics(watched, answers) or _explain_pattern(id, query, answers)
    bounded = Bounded(answers, _STEPS)
    found = bounded.some(query, _LISTED + 1)
    if found:
        return _explain_match(id, query, found, bounded.cut)
    return _explain_none(watched, answers, bounded.cut)


def _explain_match(id: str, query: Query, found: Sequence[Solution], cut: bool) -> Explanation:
    least = min(found, key=order)
    held = tuple(spell_pattern(pattern, least) for pattern in query.patterns)
    shown = evidence(query, Match(None, None, least), witness=True)
    return Explanation("watch", id, None, True, f"{id} holds: {_matches(found, cut)}", evidence=shown, held=held)


def _matches(found: Sequence[Solution], cut: bool) -> str:
    if cut or len(found) > _LISTED:
        some = f"at least {min(len(found), _LISTED)} match"
        return some if len(found) == 1 else f"{some}es, of which this is one"
    return "1 match" if len(found) == 1 else f"{len(found)} matches, of which this is the first"


def _explain_none(watched: Watched, answers: Reevaluation, cut: bool) -> Explanation:
    """No match was found; where the search was cut, edges that are judged apart may still show one."""
    id, query = watched.subscription.id, watched.subscription.query
    near = unmet(query, answers) or nearest(query, answers)
    if cut and not near.missing and not near.waiting:
        return _explain_match(id, query, [near.solution], cut)
    if cut and watched.mode.standing:
        return Explanation("watch", id, None, True, f"{id} holds: at least 1 match, which was not found again in time")
    return _explain_missing(id, near, query) if near.missing else _explain_condition(id, near)


def _explain_pattern(id: str, query: Query, answers: Reevaluation) -> Explanation:
    """What the pattern of a query lacks that asks metrics besides."""
    bare, (asked, _) = bare_query(query), metric_filters(query.filters)
    near = unmet(bare, answers) or nearest(bare, answers)
    if not near.missing:
        return _explain_condition(id, near)
    return _explain_missing(id, near._replace(waiting=(*near.waiting, *asked)), query)


def _explain_condition(id: str, near: Near) -> Explanation:
    failed = spell_filters(near.waiting) or "VALUES"
    all_hold = f"all {_edges(len(near.held))} hold together" if near.held else "there is no edge to hold"
    summary = f"{id} is silent: {all_hold}, but not {failed}{_where(near)}"
    return Explanation("watch", id, None, False, summary, failed=failed, held=_held(near))


def _explain_missing(id: str, near: Near, query: Query) -> Explanation:
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
    standing = current(watched.mode)
    if standing:
        shown = evidence(query, standing[0], witness=False)
        kept = _kept(watched, standing[0]) or f", and {condition}"
        return Explanation("watch", id, None, True, f"{id} holds: {_counted(standing[0])}{kept}", shown)
    most, cut = _largest(watched, answers)
    summary = f"{id} is silent: {_counted(most, cut)}, and {condition} does not hold"
    return Explanation("watch", id, None, False, summary, failed=condition)


def _kept(watched: Watched, match: Match) -> str:
    """Where nothing but the hysteresis keeps a count: how long it does."""
    query, hysteresis = watched.subscription.query, watched.options.hysteresis
    known = threshold(query.having)
    if not hysteresis or known is None:
        return ""
    compared = Comparison(*known, hysteresis if known[0] in (">", ">=") else -hysteresis)
    if compared.holds(match.value, held=False):
        return ""
    endless = "as long as the group has a match" if query.group_by else "for good"
    return f", which the hysteresis keeps true {endless if compared.is_endless else f'until it {compared.end}'}"


def _largest(watched: Watched, answers: Reevaluation) -> tuple[Match, bool]:
    """The group with the largest count, the first in order among equals, and whether it may have more; a count of 0
    where there is no group."""
    query, mode = watched.subscription.query, watched.mode
    bounded = Bounded(answers, _STEPS)
    counts: Mapping[Key, int]
    if isinstance(mode, Counting):
        counts = mode.counts
    else:
        found = list(islice(answers.answer(query), _STEPS)) if query.metrics else bounded.some(query, _STEPS)
        counts = Counter(tuple(solution.get(variable) for variable in query.group_by) for solution in found)
    if not counts:
        return Match(None, 0), bounded.cut
    count = max(counts.values())
    groups = [_bindings(query, key) for key, size in counts.items() if size == count]
    return Match(min(groups, key=order), count), bounded.cut


def _bindings(query: Query, key: Key) -> Solution:
    return {variable: term for variable, term in zip(query.group_by, key, strict=True) if term is not None}


def _counted(match: Match, cut: bool = False) -> str:
    group = ", ".join(f"{variable} = {spell(term)}" for variable, term in (match.bindings or {}).items())
    return f"COUNT(*) is {'at least ' if cut else ''}{match.value}" + (f" for {group}" if group else "")


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
