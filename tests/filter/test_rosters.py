"""Rosters: places name subscriptions, in lists and in segments end to end."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.filter.encode import Listed, Segmented
from heliograph.filter.interests import Interest
from heliograph.filter.segment import Segment
from heliograph.subscriptions import Subscription, Subscriptions
from tests.filter.index_worlds import columns_of, sketch


def subscriptions(count: int) -> list[Subscription]:
    items = [(f"s{number}", f"who{number}", f"ASK {{ ?x :p{number} ?y }}") for number in range(count)]
    taken, _ = Subscriptions("filter", None).subscribe(items)
    assert len(taken) == count
    return list(taken)


@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_segments_lie_end_to_end(sizes: list[int], data: st.DataObject) -> None:
    owners = subscriptions(sum(sizes))
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    segments = [
        Segment.build(columns_of([Interest(((0, 0, 1),))] * size), owners[start : start + size], sketch())
        for start, size in zip(starts, sizes, strict=True)
    ]
    one, other = Segmented(tuple(segments)), Listed(owners)
    places = data.draw(st.lists(st.integers(0, len(owners) - 1), max_size=5)) if owners else []
    wanted = np.array(places, np.int64)
    assert one.subscriptions(wanted) == other.subscriptions(wanted) == [owners[place] for place in places]
    for roster in (one, other):
        named = roster.named(wanted)
        assert [named.ids[number].as_py() for number in named.numbers] == [owners[place].id for place in places]
        assert [named.subscribers[number].as_py() for number in named.numbers] == [
            owners[place].subscriber for place in places
        ]


def test_few_matches_name_few() -> None:
    owners = subscriptions(20)
    named = Listed(owners).named(np.array([17, 3], np.int64))
    assert (named.ids.to_pylist(), named.numbers.tolist()) == (["s3", "s17"], [1, 0])
    assert len(Listed(owners).named(np.arange(3)).ids) == 20
