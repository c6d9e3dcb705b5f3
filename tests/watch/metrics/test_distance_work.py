"""What updates cost: counters of what is touched, for those that can matter and for those that cannot."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.watch.metrics.distance import Distance, Steiner, SteinerPoint
from heliograph.watch.metrics.thresholds import CAME, WENT
from tests.watch.metrics.distance_scenes import Row, log_of, rows_of, steps

CHAIN = 60


def chain(first: int = 0, last: int = CHAIN) -> list[Row]:
    return [(0, CAME, v, 0, v + 1, math.nan) for v in range(first, last)]


def work_of(measure: Distance | Steiner | SteinerPoint, rows: list[Row]) -> tuple[int, int]:
    """How many costs changed and how many groups were settled."""
    before = measure.groups.work
    measure.follow(log_of(rows))
    after = measure.groups.work
    return after["events"] - before["events"], after["settled"] - before["settled"]


def test_a_measure_without_watchers_keeps_no_balls() -> None:
    measure = Distance()
    assert work_of(measure, chain()) == (0, 0)
    assert measure.groups.work["members"] == 0


def test_balls_are_half_as_large_as_the_bound() -> None:
    """Beyond a distance of 4 nobody asks: two steps from either end are known, and what is farther costs nothing."""
    measure = Distance()
    measure.restore(log_of(chain()), {})
    measure.watch((10, 40), (4.5,))
    assert measure.groups.work["members"] == 6
    far: list[Row] = [(0, CAME, 20, 0, 30, math.nan), (1, CAME, 13, 0, 37, math.nan), (2, WENT, 25, 0, 26, math.nan)]
    assert work_of(measure, far) == (0, 0)
    assert work_of(measure, [(0, CAME, 11, 0, 38, math.nan)])[1] == 1


def test_where_every_change_is_told_balls_meet_and_grow_no_farther() -> None:
    measure = Distance()
    measure.restore(log_of(chain()), {})
    measure.watch((10, 14), None)
    assert measure.groups.work["members"] < CHAIN
    assert measure.watch((14, 10), None) >= 0
    assert measure.groups.work["members"] < 3 * CHAIN


def test_room_is_made_while_balls_grow_and_while_much_is_told() -> None:
    measure = Distance()
    measure.restore(log_of(chain()), {})
    far, near = measure.watch((0, CHAIN), None), measure.watch((0, 2), None)
    assert (measure.value(far), measure.value(near)) == (CHAIN, 2.0)
    flips: list[Row] = [(i, (CAME, WENT)[i & 1], 0, 0, 2, math.nan) for i in range(100)]
    said = measure.follow(log_of(flips))
    assert said.value[said.instance == near].tolist() == [1.0, 2.0] * 50
    assert said.value[said.instance == far].tolist() == [CHAIN - 1.0, CHAIN] * 50


def test_a_small_component_proves_that_there_is_no_path() -> None:
    measure = Distance(undirected=True)
    measure.restore(log_of([*chain(), (0, CAME, 90, 0, 91, math.nan)]), {})
    measure.watch((30, 90), None)
    assert measure.groups.work["members"] < 10
    assert work_of(measure, [(0, CAME, 1, 0, 50, math.nan)]) == (0, 0)


def test_a_tie_that_goes_does_not_settle_a_value() -> None:
    measure = Distance()
    two_ways: list[Row] = [(0, CAME, a, 0, b, math.nan) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (9, 4))]
    measure.restore(log_of(two_ways), {})
    instance = measure.watch((0, 4), None)
    assert work_of(measure, [(0, WENT, 0, 0, 2, math.nan)])[1] == 0
    assert measure.value(instance) == 3.0


@settings(max_examples=60, deadline=None)
@given(steps, st.booleans())
def test_updates_that_settle_nothing_change_nothing(
    scene: list[list[tuple[tuple[int, int, int], float, bool]]], weighted: bool
) -> None:
    """The proof of the gates of values: what was not settled again is worth what it was."""
    kept, fresh = Steiner(), Steiner()
    some = (0, 3, 5)
    instance = kept.watch(some, None)
    before = kept.value(instance)
    for row in rows_of(scene, weighted=weighted):
        single: list[Row] = [(0, *row[1:])]
        settled = work_of(kept, single)[1]
        fresh.follow(log_of(single))
        value = fresh.value(other := fresh.watch(some, ()))
        fresh.unwatch(other, ())
        assert settled or value == before
        before = value


def test_a_tree_is_looked_at_only_when_its_paths_may_change() -> None:
    measure = SteinerPoint()
    measure.restore(log_of(chain()), {})
    point = measure.watch((12, 10, 14), None)
    assert measure.value(point) == 1.0
    assert work_of(measure, [(0, CAME, 30, 0, 50, math.nan), (1, WENT, 40, 0, 41, math.nan)])[1] == 0
    assert work_of(measure, [(0, CAME, 11, 0, 99, math.nan), (0, CAME, 99, 0, 13, math.nan)])[1] > 0
    assert measure.value(point) == 1.0  # 12 is smaller than 99
