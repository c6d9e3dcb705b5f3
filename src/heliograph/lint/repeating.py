"""Subscriptions that ask the same: one pattern up to the names of its variables, with the same options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heliograph.lint.findings import SAME, Finding
from heliograph.lint.sameness import alike, select_the_same
from heliograph.lint.subjects import Sound


class Repeat(NamedTuple):
    """A subscription that asks what an earlier one asks."""

    each: Sound
    first: Sound

    @property
    def finding(self) -> Finding:
        return Finding(self.each.id, SAME, _said(*self), self.first.id)


def repeated(sound: Sequence[Sound]) -> Iterator[Repeat]:
    """Each but the first of those that ask the same, with an earlier one: of the same subscriber, if there is one."""
    for places in alike([each.query for each in sound]):
        earlier: dict[tuple[str | None, str | None], Sound] = {}
        firsts: dict[str | None, Sound] = {}
        for each in (sound[place] for place in places):
            first = earlier.get((each.options, each.subscriber)) or firsts.get(each.options)
            if first is not None:
                yield Repeat(each, first)
            earlier.setdefault((each.options, each.subscriber), each)
            firsts.setdefault(each.options, each)


def _said(each: Sound, first: Sound) -> str:
    selected = "" if select_the_same(each.query, first.query) else ", but for what they select"
    return f"asks the same as {first.id}{selected}; {owners(each, first)}"


def owners(each: Sound, other: Sound) -> str:
    """Whose the two are."""
    if each.subscriber == other.subscriber:
        return "neither names a subscriber" if each.subscriber is None else f"both are of {each.subscriber}"
    named = "nobody by name" if other.subscriber is None else other.subscriber
    return f"that one is of another subscriber, {named}"
