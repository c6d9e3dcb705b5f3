"""Report: matches of a batch as notifications, with the evidence that was asked for."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import compress, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.baselines.solve import Plan
from heliograph.errors import UsageError
from heliograph.filter.encoding import Batch, decode
from heliograph.filter.evidence import evidence
from heliograph.filter.failures import Failures
from heliograph.filter.matcher import Matches
from heliograph.model import Columns, Notifications, Rejections, Stats
from heliograph.taxonomy import Taxonomy

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
