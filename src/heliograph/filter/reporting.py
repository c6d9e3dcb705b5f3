"""Report: matches of a batch as notifications, with the evidence that was asked for."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.baselines.solve import Plan
from heliograph.errors import UsageError
from heliograph.filter.encoding import Batch, decode
from heliograph.filter.evidence import evidence
from heliograph.filter.matcher import Matches
from heliograph.model import Columns, Notifications, Rejections, Stats
from heliograph.taxonomy import Taxonomy


class Times(NamedTuple):
    """When reading a batch began and ended, in nanoseconds of the performance counter."""

    started: int
    encoded: int


class _Shown(NamedTuple):
    """The evidence of each match, and how many of them were cut."""

    texts: list[str | None]
    cut: int


def report(matches: Matches, batch: Batch, taxonomy: Taxonomy, limit: int, times: Times) -> Notifications:
    """Notifications as columns, whose texts are looked up when somebody looks at them."""
    matched = time.perf_counter_ns()
    shown = _show(matches, batch, taxonomy, limit) if limit or matches.counted else None
    ended = time.perf_counter_ns()
    stats = Stats(
        subscriptions=matches.subscriptions,
        publications=len(batch.publications.ids),
        notifications=len(matches.place),
        candidates=matches.candidates,
        verified=matches.candidates,
        rejected=len(batch.rejected),
        complete=shown is None or not shown.cut,
        truncated=0 if shown is None else shown.cut,
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

    return Notifications.of_columns(table, len(matches.place), Rejections(batch.rejected), stats, matches.slow)


def _show(matches: Matches, batch: Batch, taxonomy: Taxonomy, limit: int) -> _Shown:
    """The evidence of every match that has some."""
    subscriptions = iter(matches.roster.subscriptions(matches.place))
    wanted = np.bincount(matches.publication, minlength=len(batch.publications.ids)).tolist()
    texts: list[str | None] = []
    cut = 0
    for publication, count in zip(decode(batch.publications, taxonomy), wanted, strict=True):
        for subscription in islice(subscriptions, count):
            if not limit and not subscription.counted:
                texts.append(None)
                continue
            found = evidence(Plan.of(subscription.query), publication.world, limit)
            texts.append(found.text)
            cut += found.cut
    return _Shown(texts, cut)


def check_limit(bindings: Any) -> int:
    if isinstance(bindings, bool) or not isinstance(bindings, int) or bindings < 0:
        raise UsageError("HG-046", f"bindings is {bindings!r}", fix="give how many rows to show, 0 or more")
    return bindings
