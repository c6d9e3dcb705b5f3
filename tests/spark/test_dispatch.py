"""Updates go where they are seen: all shards together tell what one engine with all queries tells, whatever happens."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spark.stories import Story


def check(seed: int, growing: bool) -> None:
    story = Story(seed, growing)
    with TemporaryDirectory() as folder:
        shards = story.play(folder)
    assert shards.notified == story.wanted
    assert shards.refused == story.refused


@settings(deadline=None, max_examples=150)
@given(seed=st.integers(0, 2**32), growing=st.booleans())
def test_shards_tell_what_one_engine_tells(seed: int, growing: bool) -> None:
    check(seed, growing)


@pytest.mark.long
def test_shards_tell_what_one_engine_tells_in_thousands_of_stories() -> None:
    for seed in range(3000):
        check(seed, growing=seed % 2 == 0)
