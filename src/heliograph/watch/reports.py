"""Reports made into notifications: their order, their evidence, and the guard on their number.

The order within an update: what was lost before what was gained, then by order of subscribing, then by bindings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from heliograph.model import Notification
from heliograph.watch.board import Fail, Report, raised
from heliograph.watch.evidence import evidence_text
from heliograph.watch.modes import Match, Turn
from heliograph.watch.updates import ADD, REMOVE, Update


class Issue(NamedTuple):
    """The notifications of one update, and how many a guard cut off."""

    notifications: tuple[Notification, ...] = ()
    truncated: int = 0


def issue(reports: Iterable[Report], update: Update | None, witness: bool, fail: Fail = raised) -> Issue:
    """The notifications of an update, or of what stood at first where there is none; `fail` hears whose failed."""
    lost, gained, truncated = list[Notification](), list[Notification](), 0
    for report in reports:
        try:
            kept, cut = guard(report)
            lines = [
                list(_lines(kept, change, matches, update, witness))
                for change, matches in zip((REMOVE, ADD), kept.turn, strict=True)
            ]
        except Exception as error:
            fail(report.watched.subscription, error)
        else:
            lost += lines[0]
            gained += lines[1]
            truncated += cut
    return Issue((*lost, *gained), truncated)


def guard(report: Report) -> tuple[Report, int]:
    """At most `max_matches_per_update` notifications of a report, the first in order, and the number cut."""
    limit = report.watched.options.limit
    lost, gained = report.turn
    if len(lost) + len(gained) <= limit:
        return report, 0
    kept = Turn(lost[:limit], gained[: max(0, limit - len(lost))])
    return report._replace(turn=kept), len(lost) + len(gained) - limit


def _lines(
    report: Report, change: str, matches: Iterable[Match], update: Update | None, witness: bool
) -> Iterator[Notification]:
    subscription = report.watched.subscription
    seq, at = (None, None) if update is None else (str(update.seq), update.time)
    for match in matches:
        shown = evidence_text(subscription.query, match, witness)
        yield Notification(subscription.id, subscription.subscriber, seq, "watch", change, at, shown)
