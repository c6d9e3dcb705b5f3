"""What the fuzz is made of: scenes, which are plain data, and the difference that one shows.

A scene is a pure function of its seed. It holds the settings of an engine and what is done to it, as acts: a name and
plain data. An engine's module draws scenes, plays each in several ways that are to tell the same, and compares.
"""

from __future__ import annotations

import pprint
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from types import ModuleType
from typing import Any, NamedTuple, Protocol
from unittest import mock

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


# --- playing, and the program that does the same ----------------------------------------------------------------


class Spelled(list[Any]):
    """A long list, with the expression that makes it."""

    def __init__(self, items: Iterable[Any], text: str) -> None:
        super().__init__(items)
        self.text = text


class Program:
    """An engine that is played with; every call is kept, so that a program can be written that needs no fuzz."""

    def __init__(self, kind: type[Any], *given: Any, prelude: Sequence[str] = (), **named: Any) -> None:
        self.kind, self.engine = kind, kind(*given, **named)
        made = partial(_called, kind.__name__, given, named)
        self._lines: list[Callable[[], str]] = [*(partial(str, line) for line in prelude), lambda: f"engine = {made()}"]

    def note(self, line: str) -> None:
        """Something that is done beside calls."""
        self._lines.append(lambda: line)

    def call(self, method: str, *given: Any, told: str = "{}", **named: Any) -> Any:
        self._lines.append(lambda: told.format(_called(f"engine.{method}", given, named)))
        return getattr(self.engine, method)(*given, **named)

    def publish(self, rows: Any, sizes: Sequence[int] | None = None, **named: Any) -> list[Any]:
        """What is told of all rows, or of pieces of these sizes."""
        if sizes is None:
            return [self.call("publish", rows, told="told += {}", **named)]
        known = spell(sizes) if len(set(sizes)) > 1 else f"[{next(iter(sizes), 0)}] * {len(sizes)}"
        loop = (
            f"for size in {known}:\n    told, rows = told + list(engine.publish(rows[:size], **{named!r})), rows[size:]"
        )
        self._lines.append(lambda: f"rows = {spell(rows)}\n{loop}")
        ends = [0, *accumulate(sizes)]
        return [self.engine.publish(rows[begin:end], **named) for begin, end in pairwise(ends)]

    def reload(self, folder: str, **named: Any) -> None:
        """Saves the engine, and goes on with what is loaded."""
        self.note('engine.save("saved")')
        self.note(f"engine = {_called(f'{self.kind.__name__}.load', ['saved'], named)}")
        self.engine.save(f"{folder}/saved")
        self.engine = self.kind.load(f"{folder}/saved", **named)

    def text(self, name: str) -> str:
        body = indented(["told = []", *(line() for line in self._lines), "return told"])
        return f"def {name}():\n{body}\n"


def _called(name: str, given: Sequence[Any], named: Mapping[str, Any]) -> str:
    return f"{name}({', '.join([*map(spell, given), *(f'{key}={spell(value)}' for key, value in named.items())])})"


@contextmanager
def patched(*changes: tuple[ModuleType, str, Any]) -> Iterator[list[str]]:
    """Settings of modules, and the lines of a program that make them."""
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(mock.patch.object(*change))
        yield [f"import {module.__name__}\n{module.__name__}.{name} = {value!r}" for module, name, value in changes]


def script(expected: Program, found: Program) -> str:
    """A program that plays a scene in both ways and prints what each tells."""
    known = expected.kind.__name__
    parts = ["from datetime import UTC, datetime, timedelta", "", f"from heliograph import {known}", ""]
    parts += [expected.text("expected"), found.text("found")]
    parts += [f"for line in {name}():\n    print({name!r}, line)" for name in ("expected", "found")]
    return "\n".join(parts)


class Way(Protocol):
    """How a scene is played."""

    @property
    def name(self) -> str: ...

    @property
    def only(self) -> frozenset[str] | None:
        """The subscriptions that are made, if not all."""


def compare(
    scene: Scene,
    play: Callable[[Scene, Any], tuple[list[Told], Program]],
    ways: tuple[Way, Sequence[Way]],
    of: Callable[[Told, str, frozenset[str]], Told],
) -> tuple[list[Told], Program, Difference | None]:
    """What the first way tells, and the first difference of another from it; `of` keeps what concerns some
    subscriptions alone."""
    expected, program = play(scene, ways[0])
    kinds = [*(kind for kind, _ in scene.acts), "explain"]
    for way in ways[1]:
        found, other = play(scene, way)
        wanted, only = expected, way.only
        if only is not None:
            wanted, found = (
                [of(told, kind, only) for told, kind in zip(each, kinds, strict=False)] for each in (expected, found)
            )
        number = first_difference(wanted[: len(found)], found[: len(wanted)])
        if number is not None:
            text = script(program, other)
            return expected, program, Difference(way.name, number, wanted[number], found[number], text)
        if any(told.raised for told in found):
            break  # all raise the same, so nothing follows
    return expected, program, None


def spell(value: Any) -> str:
    """A value as Python text, its long parts on lines of their own."""
    return (
        value.text if isinstance(value, Spelled) else pprint.pformat(value, width=112, sort_dicts=False, compact=True)
    )


def indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" if line else "" for text in lines for line in text.split("\n"))
