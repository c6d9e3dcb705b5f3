"""Report: the matches of a batch as notifications, with the evidence that was asked for.

Evidence is bindings in term order, and the count that a HAVING tested. The law: as long as the guard is not reached,
the bindings shown are the first of all distinct rows in term order, hence the same in every run and for every strategy.
Notifications are columns, whose texts are looked up when somebody looks at them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import compress, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.filter.encode import Arrivals, decode_one
from heliograph.filter.strategy import Failures, Matches
from heliograph.io.coerce import json_text
from heliograph.model import Columns, Notifications, Rejections, Stats
from heliograph.sparql.query import Query
from heliograph.sparql.solve import GroupKey, QueryPlan, World
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Variable, sort_key, spell

GUARD = 10_000  # solutions of one match that are looked at for evidence
_REPEATED = 20  # times as many where not all variables are shown
_CELLS = 200_000  # bindings in them: of a query with more than 20 variables fewer solutions are looked at


def check_limit(bindings: Any) -> int:
    if isinstance(bindings, bool) or not isinstance(bindings, int) or bindings < 0:
        raise UsageError("HG-046", f"bindings is {bindings!r}", fix="give how many rows to show, 0 or more")
    return bindings


def report(
    matches: Matches, arrivals: Arrivals, failures: Failures, taxonomy: Taxonomy, limit: int, times: tuple[int, int]
) -> Notifications:
    """The notifications; `times` are those at which encoding began and ended, by the performance counter."""
    (started, encoded), matched = times, time.perf_counter_ns()
    kept = failures.kept(matches)
    if kept is not None:
        matches = replace(matches, publication=matches.publication[kept], place=matches.place[kept])
    texts: list[str | None] | None = None
    cut: list[bool] = []
    if limit or matches.counted:
        texts, cut = _show(matches, arrivals, failures, taxonomy, limit)
        kept = failures.kept(matches) if failures.rejected else None  # some may have failed over their evidence
        if kept is not None:
            texts, cut = list(compress(texts, kept)), list(compress(cut, kept))
            matches = replace(matches, publication=matches.publication[kept], place=matches.place[kept])
    rejected = Rejections((*arrivals.rejected, *failures.rejected))
    ended, publications = time.perf_counter_ns(), arrivals.publications
    stats = Stats(
        subscriptions=matches.subscriptions,
        publications=len(publications.ids),
        notifications=len(matches.place),
        candidates=matches.candidates,
        verified=matches.candidates,
        rejected=len(rejected),
        complete=not any(cut),
        truncated=sum(cut),
        parse_ns=encoded - started,
        match_ns=ended - encoded,
        lookup_ns=matches.lookup_ns,
        verify_ns=matches.verify_ns,
        report_ns=ended - matched,
    )

    def table() -> pa.Table:
        numbers, ids, subscribers = matches.named()
        return Columns(numbers, matches.publication, ids, subscribers, publications.ids, "filter", texts).table()

    return Notifications.of_columns(table, len(matches.place), rejected, stats, matches.slow)


def _show(
    matches: Matches, arrivals: Arrivals, failures: Failures, taxonomy: Taxonomy, limit: int
) -> tuple[list[str | None], list[bool]]:
    """The evidence of every match that has some, and whether it was cut; one that fails over it has none."""
    texts: list[str | None] = []
    cut: list[bool] = []
    pairs = zip(matches.publication.tolist(), matches.subscribed(matches.place), strict=True)
    for row, found in groupby(pairs, itemgetter(0)):
        world = decode_one(arrivals.publications, row, taxonomy).world
        for _, subscription in found:
            text, was_cut = None, False
            if subscription.number not in failures and (limit or subscription.counted):
                try:  # the subscription alone is at work
                    shown, was_cut = evidence(QueryPlan.of(subscription.query), world, limit)
                    text = json_text(shown)
                except Exception as error:
                    failures.add(subscription, error)
            texts.append(text)
            cut.append(was_cut)
    return texts, cut


# --- evidence -----------------------------------------------------------------------------------------------------


class Evidence(NamedTuple):
    """What to show, and whether a limit or the guard kept anything back."""

    shown: dict[str, Any]
    cut: bool


def evidence(plan: QueryPlan, world: World, limit: int) -> Evidence:
    """The evidence of a match, with at most `limit` bindings."""
    if plan.query.counted:
        return _counted(plan, world, limit)
    names = shown_variables(plan.query)
    guard = min(GUARD, _CELLS // max(1, len(plan.variables)))
    if len(names) < len(plan.variables):  # several solutions may give one row
        guard *= _REPEATED
    found = list(islice(plan.solutions(world), guard + 1))
    rows = {tuple(solution.get(name) for name in names): None for solution in found[:guard]}
    shown = _spelled(names, sorted(rows, key=_row_key)[:limit])
    return Evidence({"bindings": shown}, cut=len(rows) > limit or len(found) > guard)


def shown_variables(query: Query) -> tuple[Variable, ...]:
    """The variables that SELECT lists; for `*`, ASK and pattern tables all that have a name."""
    return query.projection or query.named_variables


def _counted(plan: QueryPlan, world: World, limit: int) -> Evidence:
    """The groups that satisfy HAVING, each with its count under the name that SELECT gives it; `value` is the count of
    the first."""
    counts, query = plan.counts(world), plan.query
    held = sorted((key for key, count in counts.items() if plan.holds_count(key, count)), key=_row_key)
    shown: dict[str, Any] = {}
    listed = limit > 0 and bool(query.group_by or query.count_names)
    if listed:
        named = [{name.name: str(counts[key]) for name in query.count_names} for key in held[:limit]]
        rows = zip(_spelled(query.group_by, held[:limit]), named, strict=True)
        shown["bindings"] = [group | count for group, count in rows]
    shown["value"] = counts[held[0]]
    return Evidence(shown, cut=listed and len(held) > limit)


def _spelled(names: Iterable[Variable], rows: Iterable[GroupKey]) -> list[dict[str, str]]:
    return [{name.name: spell(term) for name, term in zip(names, row, strict=True) if term is not None} for row in rows]


def _row_key(row: GroupKey) -> tuple[Any, ...]:
    """Rows in term order; what is unbound comes first."""
    return tuple(() if term is None else sort_key(term) for term in row)
