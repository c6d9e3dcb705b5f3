"""Updates go where they are seen: all shards together tell what one engine with all queries tells, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import storage
from tests.spark.stories import Story


@pytest.fixture(autouse=True, scope="module")
def unsynced() -> Iterator[None]:
    """Saves need not survive a crash of the machine here, and waiting for the disk is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "_sync", lambda *paths: None)
        yield


def check(story: Story) -> None:
    with TemporaryDirectory() as folder:
        shards = story.play(folder)
    assert shards.notified == story.wanted
    assert shards.refused == story.refused


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32), growing=st.booleans())
def test_shards_tell_what_one_engine_tells(seed: int, growing: bool) -> None:
    check(Story(seed, growing))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_so_they_do_of_a_batch_in_which_rows_lack_a_seq(seed: int) -> None:
    check(Story(seed, growing=False, streaming=False))


@pytest.mark.long
def test_so_they_do_in_thousands_of_stories() -> None:
    for seed in range(3000):
        check(Story(seed, growing=seed % 2 == 0, streaming=seed % 5 > 0))
