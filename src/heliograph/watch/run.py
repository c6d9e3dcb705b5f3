"""One call of `publish` as it goes: notifications and refusals so far, and what they cost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from heliograph.model import Notification, Notifications, Rejected, Rejections, Stats
from heliograph.watch.reports import Issue


@dataclass(slots=True)
class Run:
    witness: bool
    accepted: int = 0
    candidates: int = 0
    verified: int = 0
    truncated: int = 0
    load_ns: int = 0
    notifications: list[Notification] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _started: int = field(default_factory=time.perf_counter_ns)

    def loaded(self) -> None:
        """Everything so far was reading; what follows is matching."""
        now = time.perf_counter_ns()
        self.load_ns, self._started = now - self._started, now

    def take(self, issue: Issue) -> None:
        self.notifications.extend(issue.notifications)
        self.truncated += issue.truncated

    def outcome(self, subscriptions: int) -> Notifications:
        stats = Stats(
            subscriptions=subscriptions,
            publications=self.accepted,
            notifications=len(self.notifications),
            candidates=self.candidates,
            verified=self.verified,
            rejected=len(self.rejected),
            complete=self.truncated == 0,
            truncated=self.truncated,
            load_ns=self.load_ns,
            match_ns=time.perf_counter_ns() - self._started,
        )
        return Notifications(tuple(self.notifications), Rejections(self.rejected), stats)
