"""Segments: what is built can be taken apart and built again, saved and read, and answers the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.interests import INEXACT, Interest
from heliograph.filter.search import search
from heliograph.filter.segment import ALIVE, Segment
from tests.filter.index_worlds import (
    TAXONOMY,
    World,
    answers_of,
    batch_of,
    families,
    mixed_worlds,
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


@settings(max_examples=80)
@given(worlds, st.data())
def test_only_what_is_alive_is_built_again(world: World, data: st.DataObject) -> None:
    numbers = [3 * number + 5 for number in range(len(world.asked))]
    segment, batch = segment_of(world.asked, numbers), batch_of(world.given, TAXONOMY)
    removed = data.draw(st.sets(st.sampled_from(numbers), max_size=len(numbers) - 1))
    for stamp, number in enumerate(sorted(removed), start=1):
        segment.tombstone(segment.find(number), stamp)
    kept = [number for number in numbers if number not in removed]
    assert segment.living == len(kept)
    interests, names = segment.interests(len(removed))
    again = Segment.build(interests, [f"o{number}" for number in kept], sketch(), names)
    assert again.index.numbers[again.by_number].tolist() == kept
    assert answers_of(search(again, batch, 0)) == answers_of(search(segment, batch, len(removed)))


@settings(max_examples=60)
@given(worlds)
def test_a_segment_comes_back_as_it_was_packed(world: World) -> None:
    segment, batch = segment_of(world.asked), batch_of(world.given, TAXONOMY)
    again = Segment.unpack(segment.pack(), segment.owners)
    assert again.needs == segment.needs
    assert answers_of(search(again, batch, 0)) == answers_of(search(segment, batch, 0))


@given(st.one_of(mixed_worlds, families), st.booleans())
def test_members_are_found_by_number(world: World, gaps: bool) -> None:
    numbers = [(2 if gaps else 1) * number + 7 for number in range(len(world.asked))]
    segment = segment_of(world.asked, numbers)
    assert [int(segment.index.numbers[segment.find(number)]) for number in numbers] == numbers
    assert [segment.find(number) for number in (0, 6, numbers[-1] + 1)] == [-1, -1, -1]
    places = segment.places(np.array(numbers, np.int64))
    assert [segment.owners[place] for place in places.tolist()] == [f"o{number}" for number in numbers]


def test_a_number_that_lies_in_a_gap_is_not_found() -> None:
    segment = segment_of([Interest(((0, 0, 1),))] * 3, [2, 5, 9])
    assert [segment.find(number) for number in range(11)].count(-1) == 8


def test_the_last_member_empties_its_structure() -> None:
    segment = segment_of([Interest(((0, 0, 1),)), Interest(((0, 0, 1),)), Interest(((1, 0, 1),))])
    structure = int(np.flatnonzero(segment.alive == 2)[0])
    segment.tombstone(segment.find(0), 4)
    assert segment.emptied.tolist() == [ALIVE, ALIVE]
    segment.tombstone(segment.find(1), 6)
    assert segment.emptied[structure] == 6
    batch = batch_of([((0, 0, 1),)])
    found = {stamp: answers_of(search(segment, batch, stamp)).sure for stamp in (3, 4, 5, 6)}
    assert found == {3: {(0, 0), (0, 1)}, 4: {(0, 1)}, 5: {(0, 1)}, 6: set()}


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
