"""One call of `publish` as it goes: notifications and refusals so far, and what they cost.

Notifications come one by one or as columns, whose table is made when it is wanted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyarrow as pa

from heliograph.model import Notification, Notifications, Rejected, Rejections, Stats
from heliograph.watch.lines import Told
from heliograph.watch.reports import Issue


@dataclass(slots=True)
class Run:
    witness: bool
    accepted: int = 0
    begun: bool = False  # whether any update may have been applied
    candidates: int = 0
    verified: int = 0
    truncated: int = 0
    load_ns: int = 0
    parts: list[list[Notification] | Told] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _started: int = field(default_factory=time.perf_counter_ns)

    def loaded(self) -> None:
        """Everything so far was reading; what follows is matching."""
        now = time.perf_counter_ns()
        self.load_ns, self._started = now - self._started, now

    def take(self, issue: Issue) -> None:
        if not self.parts or isinstance(self.parts[-1], Told):
            self.parts.append([])
        latest = self.parts[-1]
        assert isinstance(latest, list)
        latest.extend(issue.notifications)
        self.truncated += issue.truncated

    def tell(self, told: Told) -> None:
        if told.size:
            self.parts.append(told)
        self.truncated += told.truncated
        self.verified += told.pairs

    def outcome(self, subscriptions: int) -> Notifications:
        size = sum(part.size if isinstance(part, Told) else len(part) for part in self.parts)
        stats = Stats(
            subscriptions=subscriptions,
            publications=self.accepted,
            notifications=size,
            candidates=self.candidates,
            verified=self.verified,
            rejected=len(self.rejected),
            complete=self.truncated == 0,
            truncated=self.truncated,
            load_ns=self.load_ns,
            match_ns=time.perf_counter_ns() - self._started,
        )
        parts, rejected = tuple(self.parts), Rejections(self.rejected)
        if any(isinstance(part, Told) for part in parts):
            return Notifications.of_columns(lambda: _table(parts), size, rejected, stats)
        return Notifications((each for part in parts if isinstance(part, list) for each in part), rejected, stats)


def _table(parts: tuple[list[Notification] | Told, ...]) -> pa.Table:
    return pa.concat_tables(
        [part.table() if isinstance(part, Told) else Notifications(part).table for part in parts if part]
    )
