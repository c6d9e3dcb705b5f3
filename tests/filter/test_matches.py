"""Matches: places name subscriptions that lie in lists end to end; few matches name few of them."""

from __future__ import annotations

import numpy as np

from heliograph.filter.strategy import Matches
from heliograph.subscriptions import Subscription, Subscriptions


def subscriptions(count: int) -> list[Subscription]:
    items = [(f"s{number}", f"who{number}", f"ASK {{ ?x :p{number} ?y }}") for number in range(count)]
    taken, _ = Subscriptions("filter", None).subscribe(items)
    assert len(taken) == count
    return list(taken)


def matches(places: list[int], owners: list[list[Subscription]]) -> Matches:
    wanted = np.array(places, np.int64)
    return Matches(np.zeros_like(wanted), wanted, owners)


def test_few_matches_name_few() -> None:
    owners = subscriptions(20)
    numbers, ids, _ = matches([17, 3], [owners]).named()
    assert (ids.to_pylist(), numbers.tolist()) == (["s3", "s17"], [1, 0])
    assert len(matches([0, 1, 2], [owners]).named()[1]) == 20
