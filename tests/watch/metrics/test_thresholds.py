"""Cuts: the points of all who ask and have not gone, each once, in one list for all instances with equal points."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.thresholds import EVERY, SILENT, Points, Thresholds

Watcher = tuple[int, tuple[float, ...] | None]
ALL = -1
watchers = st.lists(
    st.tuples(
        st.integers(ALL, 3),
        st.none() | st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, float("inf")]), max_size=3).map(tuple),
    ),
    max_size=12,
)


def watch(cutting: Thresholds, who: int, points: Points) -> None:
    if who == ALL:
        cutting.watch_all(points)
    else:
        cutting.watch(who, points)


def unwatch(cutting: Thresholds, who: int, points: Points) -> None:
    if who == ALL:
        cutting.unwatch_all(points)
    else:
        cutting.unwatch(who, points)


def check_asked(cutting: Thresholds, left: Counter[Watcher]) -> None:
    """The arrays, and what is answered from Python, are those of the watchers that are left."""
    asked = cutting.asked()
    for who in range(ALL, 6):
        lists = [points for (instance, points), count in left.items() if instance == who and count]
        number = asked.everyone if who == ALL else int(asked.numbers[who]) if who < len(asked.numbers) else SILENT
        expected = sorted({point for points in lists if points is not None for point in points})
        assert cutting.watches(who) == bool(lists)
        if None in lists:
            assert (number, cutting.points(who)) == (EVERY, None)
        elif not expected:
            assert (number, cutting.points(who)) == (SILENT, [])
        else:
            first, last = asked.firsts[number : number + 2]
            assert asked.points[first:last].tolist() == expected == cutting.points(who)
    assert set(cutting.instances()) == {who for who, _ in +left} - {ALL}
    assert cutting.watches_all == any(who == ALL for who, _ in +left)
    assert cutting.points(-1) == cutting.points(ALL)


@given(watchers, st.randoms(use_true_random=False), st.booleans())
def test_cuts_of_those_who_are_left(drawn: list[Watcher], drawing: st.DataObject, looks: bool) -> None:
    cutting, left = Thresholds(), Counter[Watcher]()
    for who, points in drawn:
        watch(cutting, who, points)
        left[who, points] += 1
        if looks:
            check_asked(cutting, left)
    for who, points in drawn[::2]:
        unwatch(cutting, who, points)
        left[who, points] -= 1
        if looks:
            check_asked(cutting, left)
    check_asked(cutting, left)


def test_equal_cuts_are_one_list() -> None:
    cutting = Thresholds()
    for instance in range(1000):
        cutting.watch(instance, [0.5, 0.1, 0.5])
    asked = cutting.asked()
    assert (asked.points.tolist(), set(asked.numbers[:1000].tolist())) == ([0.1, 0.5], {0})


def test_lists_that_nobody_uses_do_not_pile_up() -> None:
    cutting, most = Thresholds(), 0
    for point in range(5000):
        cutting.watch(7, [float(point)])
        most = max(most, len(cutting.asked().points))
        cutting.unwatch(7, [float(point)])
        cutting.asked()
    cutting.watch(7, [1.5])
    asked = cutting.asked()
    assert most < 1100
    assert asked.points[asked.firsts[asked.numbers[7]]] == 1.5


def test_whoever_does_not_watch_cannot_go() -> None:
    cutting = Thresholds()
    cutting.watch(3, [1.0])
    with pytest.raises(KeyError, match=r"instance 3 is not watched at \[2.0\]"):
        cutting.unwatch(3, [2.0])
    with pytest.raises(KeyError, match="4"):
        cutting.unwatch(4, None)
    assert cutting.points(3) == [1.0]
