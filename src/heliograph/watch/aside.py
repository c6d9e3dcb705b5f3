"""Subscriptions that failed: each is reported as its own error and put aside, and the others go on.

The law: whatever a single subscription does inside a call (its exact check, its evidence, its metric), nobody else is
told more or less for it. What fails for all of them, as the graph itself, is no failure of a subscription, and raises.
Lack of memory inside a subscription counts as its own failure: to raise it in the midst of updates would end the watch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heliograph.errors import FAILED, SubscriptionError, own_failure
from heliograph.model import Explanation, Rejected

_LOG = logging.getLogger("heliograph")


class Aside:
    """Those that were put aside, by id, and why; nothing is told to them until they are unsubscribed."""

    def __init__(self) -> None:
        self._errors: dict[str, SubscriptionError] = {}
        self._fresh: list[str] = []

    def __contains__(self, id: object) -> bool:
        return id in self._errors

    def __iter__(self) -> Iterator[str]:
        return iter(self._errors)

    def put(self, id: str, error: Exception) -> bool:
        """A subscription failed; whether that is new."""
        if id in self._errors:
            return False
        told = self._errors[id] = own_failure(f"subscription {id!r}", error)
        self._fresh.append(id)
        _LOG.warning("%s", told.describe(), exc_info=error)
        return True

    def drop(self, id: str) -> bool:
        """A subscription leaves; whether it was put aside."""
        if id in self._fresh:
            self._fresh.remove(id)
        return self._errors.pop(id, None) is not None

    def report(self, among: Iterable[str] | None = None) -> list[Rejected]:
        """Those (or those `among` some) that were put aside and not reported yet."""
        if not self._fresh:
            return []
        asked = set(self._fresh if among is None else among)
        fresh = [id for id in self._fresh if id in asked]
        self._fresh = [id for id in self._fresh if id not in asked]
        return [Rejected.of(self._errors[id], "subscriptions", id) for id in fresh]

    def meta(self) -> dict[str, Any]:
        """Which are put aside and why, and which of them are still to be reported, as plain values."""
        return {"errors": {id: [error.message, error.fix] for id, error in self._errors.items()}, "fresh": self._fresh}

    def restore(self, meta: Mapping[str, Any]) -> None:
        errors = meta["errors"].items()
        self._errors = {id: SubscriptionError(FAILED, message, fix=fix) for id, (message, fix) in errors}
        self._fresh = list(meta["fresh"])

    def explanation(self, id: str, publication_id: str | None) -> Explanation:
        message = self._errors[id].describe()
        return Explanation("watch", id, publication_id, False, f"{id} was put aside: {message}", failed=message)
