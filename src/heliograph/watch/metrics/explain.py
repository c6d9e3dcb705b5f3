"""Why a query that asks metrics holds, or what they say where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

from heliograph.model import Explanation
from heliograph.sparql.evaluate import Condition, Metrics
from heliograph.sparql.query import Expression, Metric, Query, spell_expression, spell_pattern
from heliograph.sparql.solve import QueryPlan
from heliograph.terms import Term, Variable
from heliograph.watch.changes import Match, Solution, order
from heliograph.watch.evidence import Bounded, Reevaluation, WitnessEdges, evidence
from heliograph.watch.metrics.calls import (
    asked_metrics,
    metric_filters,
    parted_filters,
    shown_more,
    shown_value,
    threshold_of,
)
from heliograph.watch.strategy import Watched

_STEPS, _LISTED = 100_000, 1_000


def explain_metrics(watched: Watched, answers: Reevaluation) -> Explanation | None:
    """What the metrics of a query say of its first match; where it has none, of what comes nearest. None where its
    pattern has no match either."""
    if watched.matches:
        return _explain_match(watched, answers)
    id, query = watched.subscription.id, watched.subscription.query
    found, is_cut, has_match = _candidates(query, answers)
    if not found and not is_cut and not has_match:
        return None
    if not found:
        why, failed = _lacking(query, is_cut, answers)
        return Explanation("watch", id, None, False, f"{id} is silent: {why}", failed=failed)
    metrics = answers.metrics(query)
    nearest = _nearest(query, found, metrics)
    failed = spell_filters(_failing(query, nearest, metrics))
    said = _said(query, nearest, answers)
    shown = f"; {_choice(query, len(found))}{said}" if said else ""
    return Explanation("watch", id, None, False, f"{id} is silent: not {failed}{shown}", failed=failed)


def bare_query(query: Query) -> Query:
    """A query without what must wait for metrics, or for variables that range over all vertices."""
    _, others = parted_filters(query.filters, frozenset(QueryPlan.of(query).ranging))
    return Query(patterns=query.patterns, filters=tuple(others), values=query.values)


def spell_filters(filters: Sequence[Expression]) -> str:
    return " and ".join(f"FILTER ({spell_expression(each)})" for each in filters)


# --- what holds -------------------------------------------------------------------------------------------------


def _explain_match(watched: Watched, answers: Reevaluation) -> Explanation:
    id, query = watched.subscription.id, watched.subscription.query
    matches = [match.witness for match in watched.matches if match.witness is not None]
    count = len(watched.matches)
    told = "1 match" if count == 1 else f"{count} matches, of which this is the first"
    if not matches:
        return Explanation("watch", id, None, True, f"{id} holds: {told}")
    least = min(matches, key=order)
    said = _said(query, least, answers)
    summary = f"{id} holds: {told}{'; ' * bool(said)}{said}{_kept(watched, least, answers)}"
    held = tuple(spell_pattern(pattern, least) for pattern in query.patterns)
    return Explanation("watch", id, None, True, summary, _evidence(query, least, answers), held=held)


def _evidence(query: Query, solution: Solution, answers: Reevaluation) -> Any:
    """What a notification with a witness would carry."""
    metrics = answers.metrics(query)
    values = [_shown(metrics(metric, solution)) for metric in asked_metrics(query)]
    more = shown_more([answers.shown(metric, solution) for metric in asked_metrics(query)])
    match = Match(None, values[0] if len(values) == 1 else values, solution, more)
    return evidence(query, match, WitnessEdges(answers))


def _kept(watched: Watched, solution: Solution, answers: Reevaluation) -> str:
    """Where nothing but the hysteresis keeps a solution: how long it does."""
    query = watched.subscription.query
    threshold = threshold_of(query, watched.options.hysteresis)
    if not watched.options.hysteresis or threshold is None or not _failing(query, solution, answers.metrics(query)):
        return ""
    until = "as long as the match is there" if threshold.is_endless else f"until it {threshold.end}"
    return f", which the hysteresis keeps true {until}"


# --- what does not ----------------------------------------------------------------------------------------------


def _lacking(query: Query, is_cut: bool, answers: Reevaluation) -> tuple[str, str]:
    """Why there is no solution that metrics could be asked of, and what fails."""
    if is_cut:
        return "no match of its pattern was found in time", "the pattern"
    if not answers.vertices:
        return "the graph has no vertex", "the graph"
    waiting, _ = parted_filters(query.filters, frozenset(QueryPlan.of(query).ranging))
    failed = spell_filters(metric_filters(waiting)[1])
    return f"no vertex satisfies {failed}", failed


def _candidates(query: Query, answers: Reevaluation) -> tuple[list[Solution], bool, bool]:
    """Solutions of everything but what is asked of metrics, as many as are listed; whether the search for them was cut;
    and whether the pattern has a match, whatever variables range over."""
    plan, bounded = QueryPlan.of(query), Bounded(answers, _STEPS)
    waiting, _ = parted_filters(query.filters, frozenset(plan.ranging))
    tests = [Condition.of(each) for each in metric_filters(waiting)[1]]
    bases = bounded.some(bare_query(query), _LISTED) if query.patterns or query.values else [{}]
    chosen = product(answers.vertices if plan.ranging else (), repeat=len(plan.ranging))
    rows = ({**base, **dict(zip(plan.ranging, each, strict=True))} for each in chosen for base in bases)
    kept = (row for row in islice(rows, _STEPS) if all(test.holds(row) for test in tests))
    found: list[Solution] = list(islice(kept, _LISTED))
    return found, bounded.cut or (not found and next(rows, None) is not None), bool(bases)


def _nearest(query: Query, found: Sequence[Solution], metrics: Metrics) -> Solution:
    """The solution whose value is nearest to the threshold; where there is no single one, that fails the fewest
    filters. The first of equals."""
    if not _is_of_solutions(query):
        return min(found, key=order)
    threshold = threshold_of(query, 0)

    def apart(solution: Solution) -> float:
        if threshold is None:
            return len(_failing(query, solution, metrics))
        value = metrics(asked_metrics(query)[0], solution)
        return float("inf") if value is None else abs(float(value.value) - threshold.limit)

    return min(sorted(found, key=order), key=apart)


def _failing(query: Query, solution: Solution, metrics: Metrics) -> list[Expression]:
    """What is asked of metrics and fails."""
    asked, _ = metric_filters(query.filters)
    return [each for each in asked if not Condition.of(each).holds(solution, metrics)]


def _is_of_solutions(query: Query) -> bool:
    """Whether metrics say something else of each solution."""
    return any(isinstance(each, Variable) for metric in query.metrics for each in metric.arguments)


def _choice(query: Query, count: int) -> str:
    """How the solution was chosen that values are told of."""
    if count == 1 or not _is_of_solutions(query):
        return ""
    return "for example " if threshold_of(query, 0) is None else f"of {count} that were tried, this comes nearest: "


# --- wording ----------------------------------------------------------------------------------------------------


def _said(query: Query, solution: Solution, answers: Reevaluation) -> str:
    """What metrics say of a solution, as far as their arguments are bound."""
    metrics = answers.metrics(query)
    known = [(metric, metrics(metric, solution)) for metric in asked_metrics(query)]
    told = [
        f"{_spelled(metric, solution)} is {_shown(value)}{_between(metric, solution, answers)}"
        for metric, value in known
        if value is not None
    ]
    return ", ".join(told)


def _between(metric: Metric, solution: Solution, answers: Reevaluation) -> str:
    """Where the exact value lies, if that is not what is said."""
    least, most = map(shown_value, answers.shown(metric, solution).get("interval", (0, 0)))
    return "" if least == most else f" (between {least} and {most})"


def _shown(value: Term | None) -> int | float | str | None:
    return None if value is None else shown_value(float(value.value))


def _spelled(metric: Metric, solution: Solution) -> str:
    bound = tuple(solution.get(each, each) if isinstance(each, Variable) else each for each in metric.arguments)
    return spell_expression(replace(metric, arguments=bound))
