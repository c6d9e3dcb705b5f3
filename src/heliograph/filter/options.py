"""The options column, as far as a filter is concerned: JSON whose keys are those of the contract.

They tell a watch when to notify; a filter notifies of each match once, so it checks them and otherwise lets them be.
"""

from __future__ import annotations

import json

from heliograph.errors import SubscriptionError
from heliograph.subscriptions import Subscription

KEYS = ("mode", "hysteresis", "max_matches_per_update", "initial", "top_k_of")


def check_options(subscription: Subscription) -> None:
    """Raises where the options are no JSON object, or name something unknown."""
    if not subscription.options:
        return
    try:
        given = json.loads(subscription.options)
    except (ValueError, RecursionError) as error:
        raise _no_object(f"options that are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise _no_object(f"options that are no JSON object: {subscription.options[:60]}")
    unknown = sorted(set(given) - set(KEYS))
    if unknown:
        names = ", ".join(repr(name[:60]) for name in unknown)
        raise SubscriptionError("HG-521", f"unknown option {names}", fix=f"the options are {', '.join(KEYS)}")


def _no_object(message: str) -> SubscriptionError:
    return SubscriptionError("HG-520", message, fix='write an object such as {"mode": "change"}')
