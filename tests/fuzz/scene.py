"""What the fuzz is made of: scenes, which are plain data, and the difference that one shows.

A scene is a pure function of its seed. It holds the settings of an engine and what is done to it, as acts: a name and
plain data. An engine's module draws scenes, plays each in several ways that are to tell the same, and compares.
"""

from __future__ import annotations

import pprint
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from heliograph import HeliographError, Rejected
from heliograph.model import MOST_REPORTED

Act = tuple[str, Any]


@dataclass(frozen=True)
class Scene:
    """Settings of an engine, and what is done to it."""

    engine: str
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)


class Told(NamedTuple):
    """What one act led to: notifications as tuples, the codes of what was refused, and what else is compared."""

    lines: list[Any]
    refused: list[str] = []  # noqa: RUF012
    rest: tuple[Any, ...] = ()
    raised: str | None = None


class Difference(NamedTuple):
    """A way of playing a scene that told something else than expected; `script` shows it without the fuzz."""

    way: str
    act: int
    expected: Told
    found: Told
    script: str

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """What must stay as it is while the scene is made smaller."""
        raised = self.expected.raised != self.found.raised
        return self.way.split(" ")[0], raised, self.expected.lines != self.found.lines

    def __str__(self) -> str:
        lines = [f"{self.way}, act {self.act}:"]
        if self.expected.raised or self.found.raised:
            lines += [f"  expected: {self.expected.raised or 'no error'}", f"  found:    {self.found.raised or 'none'}"]
            return "\n".join(lines)
        missing = _without(self.expected.lines, self.found.lines)
        extra = _without(self.found.lines, self.expected.lines)
        lines += [f"  {len(self.expected.lines)} lines expected, {len(self.found.lines)} found"]
        lines += [f"  missing: {_short(line)}" for line in missing[:4]] + [
            f"  extra: {_short(line)}" for line in extra[:4]
        ]
        if not missing and not extra and self.expected.lines != self.found.lines:
            lines.append("  the same lines in another order")
        if self.expected[1:] != self.found[1:]:
            lines += [f"  expected: {_short(self.expected[1:])}", f"  found:    {_short(self.found[1:])}"]
        return "\n".join(lines)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


def _without(some: list[Any], others: list[Any]) -> list[Any]:
    """What of some is not among the others, each as often as it is missing."""
    counts: dict[str, int] = {}
    for each in others:
        counts[repr(each)] = counts.get(repr(each), 0) + 1
    left = []
    for each in some:
        counts[repr(each)] = counts.get(repr(each), 0) - 1
        if counts[repr(each)] < 0:
            left.append(each)
    return left


class Engine(Protocol):
    """What the runner needs of an engine's module."""

    def draw(self, seed: int) -> Scene: ...

    def check(self, scene: Scene) -> Difference | None:
        """The first difference between the ways of playing the scene."""


def attempt(act: Callable[[], Told]) -> Told:
    """What an act led to, errors included. One that is not heliograph's own is never right, so it equals nothing."""
    try:
        return act()
    except HeliographError as error:
        return Told([], raised=error.code)
    except Exception as error:
        return Told([], rest=(object(),), raised=f"{type(error).__name__}: {error}")


def codes(rejected: Iterable[Rejected]) -> list[str]:
    """The codes of all refused items; of those that are only counted too."""
    return [entry.code for entry in rejected for _ in range(entry.count)]


def first_difference(expected: list[Told], found: list[Told]) -> int | None:
    """The first act of which the two do not tell the same."""
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one != other and _in_any_order(one) != _in_any_order(other):
            return number
    return None


def _in_any_order(told: Told) -> Told:
    """Where most refused items are only counted, in which order they came is not known."""
    return told._replace(refused=sorted(told.refused)) if len(told.refused) > MOST_REPORTED else told


def spell(value: Any) -> str:
    """A value as Python text, its long parts on lines of their own."""
    return pprint.pformat(value, width=112, sort_dicts=False, compact=True)


def indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" if line else "" for text in lines for line in text.split("\n"))
