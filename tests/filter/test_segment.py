"""Segments: what is built can be taken apart and built again, saved and read, and answers the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from heliograph.filter.interests import INEXACT, Interest
from heliograph.filter.search import search
from heliograph.filter.segment import Segment
from tests.filter.index_worlds import (
    TAXONOMY,
    World,
    answers_of,
    batch_of,
    segment_of,
    sketch,
    worlds,
)


@settings(max_examples=120)
@given(worlds)
def test_a_segment_that_is_built_again_answers_the_same(world: World) -> None:
    segment, batch = segment_of(world.asked), batch_of(world.given, TAXONOMY)
    for _ in range(2):
        interests, names = segment.interests(0)
        again = Segment.build(interests, segment.owners, sketch(), names)
        assert answers_of(search(again, batch, 0)) == answers_of(search(segment, batch, 0))
        assert len(again.alive) <= len(segment.alive)  # no structure is taken apart
        segment = again


def test_solutions_come_in_the_order_of_the_members_own_variables() -> None:
    """Two members of one structure, who name its variables differently."""
    one, other = ((~0, 0, 2), (~1, 1, ~0)), ((~0, 1, ~1), (~1, 0, 2))
    segment = segment_of([Interest(one, (), INEXACT), Interest(other, (), INEXACT)])
    assert len(segment.alive) == 1
    found = answers_of(search(segment, batch_of([((3, 0, 2), (4, 1, 3))]), 0))
    assert found.doubtful == {(0, 0): {(3, 4)}, (0, 1): {(4, 3)}}


def test_tombstones_are_all_that_can_be_written() -> None:
    segment = segment_of([Interest(((0, 0, 1),))])
    for array in (segment.index.steps, segment.index.members, segment.keys.slots, segment.by_number):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
