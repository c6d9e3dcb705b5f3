"""Why a query that asks metrics holds, or what they say where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product

from heliograph.baselines.solve import Plan
from heliograph.baselines.watch_naive import Reevaluation
from heliograph.model import Explanation
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Metric, Query
from heliograph.syntax.spelling import spell_expression, spell_pattern
from heliograph.terms import Variable
from heliograph.watch.board import Watched
from heliograph.watch.bounded import Bounded
from heliograph.watch.metrics.comparing import metric_filters, parted_filters, shown_value, threshold_of
from heliograph.watch.modes import Solution, order

_STEPS, _LISTED = 100_000, 1_000


def explain_metrics(watched: Watched, answers: Reevaluation) -> Explanation:
    """What the metrics of a query say of its first match; where it has none, of what comes nearest."""
    if watched.mode.standing:
        return _explain_match(watched, answers)
    id, query = watched.subscription.id, watched.subscription.query
    found, cut = _candidates(query, answers)
    if not found:
        why = "no match of its pattern was found in time" if cut else "its pattern has no match"
        return Explanation("watch", id, None, False, f"{id} is silent: {why}", failed="the pattern")
    asked, _ = metric_filters(query.filters)
    failed = " and ".join(f"FILTER ({spell_expression(each)})" for each in asked)
    said = _said(query, _nearest(query, found, answers), answers)
    shown = f"; {_choice(query, len(found))}{said}" if said else ""
    return Explanation("watch", id, None, False, f"{id} is silent: not {failed}{shown}", failed=failed)


def _explain_match(watched: Watched, answers: Reevaluation) -> Explanation:
    id, query = watched.subscription.id, watched.subscription.query
    matches = [match.witness for match in watched.mode.standing.values() if match.witness is not None]
    count = len(watched.mode.standing)
    told = "1 match" if count == 1 else f"{count} matches, of which this is the first"
    if not matches:
        return Explanation("watch", id, None, True, f"{id} holds: {told}")
    least = min(matches, key=order)
    said = _said(query, least, answers)
    held = tuple(spell_pattern(pattern, least) for pattern in query.patterns)
    return Explanation("watch", id, None, True, f"{id} holds: {told}{'; ' * bool(said)}{said}", held=held)


def _candidates(query: Query, answers: Reevaluation) -> tuple[list[Solution], bool]:
    """Solutions of everything but what is asked of metrics, as many as are listed; and whether the search was cut."""
    plan, bounded = Plan.of(query), Bounded(answers, _STEPS)
    waiting, others = parted_filters(query.filters, frozenset(plan.ranging))
    _, fixed = metric_filters(waiting)
    tests = [Condition.of(each) for each in fixed]
    bare = Query(patterns=query.patterns, filters=tuple(others), values=query.values)
    bases = bounded.some(bare, _LISTED) if query.patterns or query.values else [{}]
    chosen = product(answers.vertices if plan.ranging else (), repeat=len(plan.ranging))
    rows = ({**base, **dict(zip(plan.ranging, each, strict=True))} for each in chosen for base in bases)
    kept = (row for row in rows if all(test.holds(row) for test in tests))
    return list(islice(kept, _LISTED)), bounded.cut


def _nearest(query: Query, found: Sequence[Solution], answers: Reevaluation) -> Solution:
    """The solution whose value is nearest to the threshold, the first of equals; the first where there is none."""
    threshold = threshold_of(query, 0)
    if threshold is None:
        return min(found, key=order)
    (metric,) = _metrics(query)

    def apart(solution: Solution) -> float:
        value = answers.measured(query, metric, solution)
        return float("inf") if value is None else abs(float(value.value) - threshold.limit)

    return min(sorted(found, key=order), key=apart)


def _choice(query: Query, count: int) -> str:
    """How the solution was chosen that values are told of."""
    if count == 1 or not any(isinstance(each, Variable) for metric in query.metrics for each in metric.arguments):
        return ""
    return "for example " if threshold_of(query, 0) is None else f"of {count} that were tried, this comes nearest: "


def _said(query: Query, solution: Solution, answers: Reevaluation) -> str:
    """What metrics say of a solution, as far as their arguments are bound."""
    known = [(metric, answers.measured(query, metric, solution)) for metric in _metrics(query)]
    told = [
        f"{_spelled(metric, solution)} is {shown_value(float(value.value))}"
        for metric, value in known
        if value is not None
    ]
    return ", ".join(told)


def _metrics(query: Query) -> tuple[Metric, ...]:
    return tuple(dict.fromkeys(metric for metric in query.metrics if metric.name != "via"))


def _spelled(metric: Metric, solution: Solution) -> str:
    bound = tuple(solution.get(each, each) if isinstance(each, Variable) else each for each in metric.arguments)
    return spell_expression(replace(metric, arguments=bound))
