"""Subscriptions that fail inside a publish: each is reported as an error of its own and put aside, the others go on.

The laws: what one subscription does changes no notification of another. One that failed has no notification of that
call nor of a later one, until it is unsubscribed, or the filter is loaded anew. What is no subscription's
own failure, such as a lack of memory, is raised.
"""

from __future__ import annotations

import logging

import numpy as np
import numpy.typing as npt

from heliograph.errors import own_failure
from heliograph.filter.matcher import Matches
from heliograph.model import Explanation, Rejected
from heliograph.subscriptions import Subscription

_LOG = logging.getLogger("heliograph")

Aside = dict[int, Rejected]  # by number, what was said when it failed; publishers add, the writer takes out


class Failures:
    """Those of one call, and through `aside` those of all calls of an engine."""

    def __init__(self, aside: Aside | None = None) -> None:
        self._aside: Aside = {} if aside is None else aside
        self.rejected: list[Rejected] = []

    def __contains__(self, number: int) -> bool:
        """Whether a subscription is put aside."""
        return number in self._aside

    def add(self, subscription: Subscription, error: Exception) -> None:
        """Puts a subscription aside. To be called where it alone was at work; a lack of memory is raised again."""
        if isinstance(error, MemoryError):
            raise error
        told = Rejected.of(own_failure(f"subscription {subscription.id!r}", error), "subscriptions", subscription.id)
        self.rejected.append(told)
        if self._aside.setdefault(subscription.number, told) is told:
            _LOG.warning("%s: %s", told.code, told.message, exc_info=error)

    def kept(self, matches: Matches) -> npt.NDArray[np.bool_] | None:
        """Which matches are of subscriptions that are not put aside; None where all are."""
        if not self._aside or not len(matches.place):
            return None
        numbers = matches.roster.numbers(matches.place)
        kept: npt.NDArray[np.bool_] = ~np.isin(numbers, np.array(list(self._aside), np.int64))
        return None if kept.all() else kept


def explain_aside(subscription: Subscription, publication_id: str, told: Rejected) -> Explanation:
    """Why a subscription that is put aside matches nothing."""
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication_id,
        matched=False,
        summary=f"{publication_id} does not match {subscription.id}: {told.message}",
        failed=told.message,
    )
