"""Searching a segment says what the plain rules say, for every interest and every publication."""

from __future__ import annotations

from hypothesis import given, settings

from tests.index.worlds import TAXONOMY, World, ask, check_answers, families, mixed_worlds


@settings(max_examples=200)
@given(mixed_worlds)
def test_answers_are_those_of_the_plain_rules(world: World) -> None:
    check_answers(ask(*world, TAXONOMY), *world, TAXONOMY)


@settings(max_examples=150)
@given(families)
def test_answers_for_a_family_are_those_of_the_plain_rules(world: World) -> None:
    check_answers(ask(*world, TAXONOMY), *world, TAXONOMY)
