"""Report: matches of a batch as notifications, with the evidence that was asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import compress, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.filter.encode import Batch, Failures, Matches, decode
from heliograph.io.coerce import json_text
from heliograph.model import Columns, Notifications, Rejections, Stats
from heliograph.sparql.query import Query
from heliograph.sparql.solve import GroupKey, Plan, World
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable, sort_key, spell

# ----------------------------------------------------------------------------------------------------------------------
# What a filter's notification shows on demand: bindings in term order, and the count that a HAVING tested.
#
# The law: as long as the guard is not reached, the bindings shown are the first of all distinct rows in term order,
# hence the same in every run and for every strategy.
# ----------------------------------------------------------------------------------------------------------------------

GUARD = 10_000  # solutions of one match that are looked at for evidence
_CELLS = 200_000  # bindings in them: of a query with more than 20 variables fewer solutions are looked at

_SortKey = tuple[Any, ...]


class Evidence(NamedTuple):
    """What to show, and whether a limit or the guard kept anything back."""

    shown: dict[str, Any]
    cut: bool

    @property
    def text(self) -> str:
        return json_text(self.shown)


def evidence(plan: Plan, world: World, limit: int) -> Evidence:
    """The evidence of a match, with at most `limit` bindings."""
    if plan.query.counted:
        return _counted(plan, world, limit)
    names = shown_variables(plan.query)
    guard = min(GUARD, _CELLS // max(1, len(plan.variables)))
    found = list(islice(plan.solutions(world), guard + 1))
    rows = {tuple(solution.get(name) for name in names): None for solution in found[:guard]}
    shown = spelled(names, sorted(rows, key=_row_key)[:limit])
    return Evidence({"bindings": shown}, cut=len(rows) > limit or len(found) > guard)


def shown_variables(query: Query) -> tuple[Variable, ...]:
    """The variables that SELECT lists; for `*`, ASK and pattern tables all that have a name."""
    return query.projection or query.named_variables


def spelled(names: Iterable[Variable], rows: Iterable[GroupKey]) -> list[dict[str, str]]:
    return [{name.name: spell(term) for name, term in zip(names, row, strict=True) if term is not None} for row in rows]


def _counted(plan: Plan, world: World, limit: int) -> Evidence:
    """The groups that satisfy HAVING; `value` is the count of the first."""
    counts = plan.counts(world)
    held = sorted((key for key, count in counts.items() if plan.holds_count(key, count)), key=_row_key)
    shown: dict[str, Any] = {}
    grouped = bool(plan.query.group_by) and limit > 0
    if grouped:
        shown["bindings"] = spelled(plan.query.group_by, held[:limit])
    shown["value"] = counts[held[0]]
    return Evidence(shown, cut=grouped and len(held) > limit)


def _row_key(row: GroupKey) -> _SortKey:
    return tuple(_cell_key(term) for term in row)


def _cell_key(term: Term | None) -> _SortKey:
    """What is unbound comes first."""
    return () if term is None else sort_key(term)


# ----------------------------------------------------------------------------------------------------------------------
# Report: matches of a batch as notifications, with the evidence that was asked for.
# ----------------------------------------------------------------------------------------------------------------------

Flags: TypeAlias = npt.NDArray[np.bool_]


class Times(NamedTuple):
    """When reading a batch began and ended, in nanoseconds of the performance counter."""

    started: int
    encoded: int


class _Shown(NamedTuple):
    """The evidence of each match, and whether it was cut."""

    texts: list[str | None]
    cut: list[bool]


def report(
    matches: Matches, batch: Batch, taxonomy: Taxonomy, limit: int, times: Times, failures: Failures
) -> Notifications:
    """Notifications as columns, whose texts are looked up when somebody looks at them."""
    matched = time.perf_counter_ns()
    matches = _without(matches, failures.kept(matches))
    shown = _show(matches, batch, taxonomy, limit, failures) if limit or matches.counted else None
    if shown is not None and failures.rejected:
        kept = failures.kept(matches)
        matches, shown = _without(matches, kept), _shown_without(shown, kept)
    rejected = Rejections((*batch.rejected, *failures.rejected))
    ended = time.perf_counter_ns()
    stats = Stats(
        subscriptions=matches.subscriptions,
        publications=len(batch.publications.ids),
        notifications=len(matches.place),
        candidates=matches.candidates,
        verified=matches.candidates,
        rejected=len(rejected),
        complete=shown is None or not any(shown.cut),
        truncated=0 if shown is None else sum(shown.cut),
        parse_ns=times.encoded - times.started,
        match_ns=ended - times.encoded,
        lookup_ns=matches.lookup_ns,
        verify_ns=matches.verify_ns,
        report_ns=ended - matched,
    )

    def table() -> pa.Table:
        named = matches.roster.named(matches.place)
        texts = None if shown is None else shown.texts
        ids = batch.publications.ids
        return Columns(named.numbers, matches.publication, named.ids, named.subscribers, ids, "filter", texts).table()

    return Notifications.of_columns(table, len(matches.place), rejected, stats, matches.slow)


def _without(matches: Matches, kept: Flags | None) -> Matches:
    """The matches that are kept."""
    if kept is None:
        return matches
    return replace(matches, publication=matches.publication[kept], place=matches.place[kept])


def _shown_without(shown: _Shown, kept: Flags | None) -> _Shown:
    if kept is None:
        return shown
    return _Shown(list(compress(shown.texts, kept)), list(compress(shown.cut, kept)))


def _show(matches: Matches, batch: Batch, taxonomy: Taxonomy, limit: int, failures: Failures) -> _Shown:
    """The evidence of every match that has some; one that fails over it has none."""
    subscriptions = iter(matches.roster.subscriptions(matches.place))
    wanted = np.bincount(matches.publication, minlength=len(batch.publications.ids)).tolist()
    texts: list[str | None] = []
    cut: list[bool] = []
    for publication, count in zip(decode(batch.publications, taxonomy), wanted, strict=True):
        for subscription in islice(subscriptions, count):
            text, was_cut = None, False
            if subscription.number not in failures and (limit or subscription.counted):
                try:  # the subscription alone is at work
                    found = evidence(Plan.of(subscription.query), publication.world, limit)
                    text, was_cut = found.text, found.cut
                except Exception as error:
                    failures.add(subscription, error)
            texts.append(text)
            cut.append(was_cut)
    return _Shown(texts, cut)


def check_limit(bindings: Any) -> int:
    if isinstance(bindings, bool) or not isinstance(bindings, int) or bindings < 0:
        raise UsageError("HG-046", f"bindings is {bindings!r}", fix="give how many rows to show, 0 or more")
    return bindings
