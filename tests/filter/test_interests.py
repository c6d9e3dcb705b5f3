"""Interests as columns: nothing is lost on the way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.filter.interests import gather, offsets_of
from tests.filter.index_worlds import World, worlds
from tests.filter.test_interests_bulk import single


@given(worlds, st.integers(0, 2**40))
def test_every_interest_is_in_its_columns(world: World, first: int) -> None:
    numbers = [first + 3 * place for place in range(len(world.asked))]
    columns = gather(world.asked, numbers)
    assert columns.numbers.tolist() == numbers
    assert [single(columns, place) for place in range(len(numbers))] == world.asked


def test_no_interests_are_empty_columns() -> None:
    columns = gather([], [])
    assert [len(column) for column in columns.edges] == [0, 0, 0]
    assert (
        columns.edge_offsets.tolist() == columns.conjunct_offsets.tolist() == columns.conjuncts.offsets.tolist() == [0]
    )


@given(st.lists(st.integers(0, 9)))
def test_offsets_lie_end_to_end(sizes: list[int]) -> None:
    assert offsets_of(sizes).tolist() == [sum(sizes[:place]) for place in range(len(sizes) + 1)]
