"""The collector of cyclic garbage rests during a load, and a small load leaves the generations as they are."""

from __future__ import annotations

import gc

import pytest

from heliograph.io.sources import collector_paused


def oldest() -> int:
    return len(gc.get_objects(2))


def load(count: int) -> tuple[int, list[list[int]]]:
    """How many objects a load of so many lists moved to the oldest generation; and the lists."""
    gc.collect()
    before = oldest()
    with collector_paused():
        assert not gc.isenabled()
        made = [[number] for number in range(count)]
    return oldest() - before, made


def test_only_a_large_load_moves_to_the_oldest_generation() -> None:
    moved, made = load(100_000)
    assert moved >= len(made)
    assert load(100)[0] < 100


def test_the_collector_is_left_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), collector_paused():
        raise ZeroDivisionError
    assert gc.isenabled()
    gc.disable()
    try:
        load(10)
        assert not gc.isenabled()
    finally:
        gc.enable()
