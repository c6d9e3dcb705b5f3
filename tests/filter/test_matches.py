"""Matches: places name subscriptions that lie in lists end to end; few matches name few of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_lists_lie_end_to_end(sizes: list[int], data: st.DataObject) -> None:
    owners = subscriptions(sum(sizes))
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    lists = [owners[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    places = data.draw(st.lists(st.integers(0, len(owners) - 1), max_size=5)) if owners else []
    for found in (matches(places, lists), matches(places, [owners])):
        assert found.subscribed(found.place) == [owners[place] for place in places]
        numbers, ids, subscribers = found.named()
        assert [ids[number].as_py() for number in numbers] == [owners[place].id for place in places]
        assert [subscribers[number].as_py() for number in numbers] == [owners[place].subscriber for place in places]


def test_few_matches_name_few() -> None:
    owners = subscriptions(20)
    numbers, ids, _ = matches([17, 3], [owners]).named()
    assert (ids.to_pylist(), numbers.tolist()) == (["s3", "s17"], [1, 0])
    assert len(matches([0, 1, 2], [owners]).named()[1]) == 20
