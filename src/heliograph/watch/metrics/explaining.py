"""Why a query that asks metrics holds, or what they say where it does not."""

from __future__ import annotations

from dataclasses import replace

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.model import Explanation
from heliograph.syntax.query import Metric, Query
from heliograph.syntax.spelling import spell_expression, spell_pattern
from heliograph.terms import Variable, spell
from heliograph.watch.board import Watched
from heliograph.watch.bounded import Bounded
from heliograph.watch.metrics.comparing import metric_filters
from heliograph.watch.modes import Solution, order

_STEPS, _LISTED = 100_000, 1_000


def explain_metrics(watched: Watched, answers: Reevaluation) -> Explanation:
    """What the metrics of a query say of its first match, or of the first solution of its pattern where it has none."""
    id, query = watched.subscription.id, watched.subscription.query
    matches = [match.witness for match in watched.mode.standing.values() if match.witness is not None]
    if watched.mode.standing:
        count = len(watched.mode.standing)
        said = _said(query, min(matches, key=order), answers) if matches else ""
        told = "1 match" if count == 1 else f"{count} matches, of which this is the first"
        held = tuple(spell_pattern(pattern, min(matches, key=order)) for pattern in query.patterns) if matches else ()
        return Explanation("watch", id, None, True, f"{id} holds: {told}{said}", held=held)
    asked, others = metric_filters(query.filters)
    failed = " and ".join(f"FILTER ({spell_expression(each)})" for each in asked)
    found = Bounded(answers, _STEPS).some(replace(query, filters=tuple(others)), _LISTED) if query.patterns else [{}]
    if not found:
        return Explanation("watch", id, None, False, f"{id} is silent: its pattern has no match", failed="the pattern")
    said = _said(query, min(found, key=order), answers)
    return Explanation("watch", id, None, False, f"{id} is silent: not {failed}{said}", failed=failed)


def _said(query: Query, solution: Solution, answers: Reevaluation) -> str:
    """What metrics say of a solution, as far as their arguments are bound."""
    metrics = dict.fromkeys(metric for metric in query.metrics if metric.name != "via")
    known = [(metric, answers.measured(metric, solution)) for metric in metrics]
    told = [f"{_spelled(metric, solution)} is {spell(value)}" for metric, value in known if value is not None]
    return f"; {', '.join(told)}" if told else ""


def _spelled(metric: Metric, solution: Solution) -> str:
    bound = tuple(solution.get(each, each) if isinstance(each, Variable) else each for each in metric.arguments)
    return spell_expression(replace(metric, arguments=bound))
