"""Shapes with their constants, entered: branch by branch into nodes and messages, and the core into a group.

In masks constants are looked up among the anchors of their key and tests in banks, so the tags tell them; in counts
they are part of the structure. What a slot hears twice over is heard once in masks, and by twins in counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from heliograph.kernels.network_layout import (
    AMONG_NODE,
    COUNT,
    IS_NODE,
    MASK,
    NONE,
    PART_HEARS,
    PART_TEST,
    PART_TESTS,
    ROWS,
)
from heliograph.network.compiling import Listed
from heliograph.network.groups import Core, Groups
from heliograph.network.judging import Tests
from heliograph.network.messages import NO_TAG, MessageKey, Messages, Part
from heliograph.network.nodes import Nodes, Place
from heliograph.network.questions import Test
from heliograph.network.shapes import NODE, Branch, Hears, Shape


class Given(NamedTuple):
    """What a query gives to its shapes: constants by number, tests by variable, and whether it counts."""

    kind: int
    constants: tuple[int, ...]
    tests: Mapping[int, Test]


class _Sound(NamedTuple):
    """Something to be heard, in an order that depends on nothing but what it is."""

    key: int
    kind: int
    constant: int
    place: Place


_NOWHERE = Place(NONE, NO_TAG)


class Weaver:
    """Enters components into the network."""

    def __init__(self, messages: Messages, nodes: Nodes, groups: Groups, tests: Tests) -> None:
        self._messages, self._nodes, self._groups, self._tests = messages, nodes, groups, tests

    def component(self, shape: Shape, given: Given) -> int:
        """The component of a shape with the constants of a query."""
        twins: Counter[tuple[int, ...]] = Counter()
        parts = [(slot, part) for slot, branch in enumerate(shape.core) for part in self._parts(branch, given, twins)]
        bare = tuple((slot, part.kind, part.ref) for slot, part in parts)
        edges = tuple((~s, p, ~o) for s, p, o in shape.edges)
        driver: tuple[int, int] = (NONE, NONE)
        constants: tuple[int, ...] = ()
        if shape.driver is not None:
            driver, constants = (shape.driver.slot, shape.driver.key), (given.constants[shape.driver.constant],)
        core = Core(given.kind, len(shape.core), edges, bare, driver)
        return self._groups.enter(core, tuple(part.tag for _, part in parts), constants)

    def listing(self, listed: Listed) -> int:
        """The component of a pattern whose solutions are listed."""
        banked = [(slot, *self._tests.banked(test)) for slot, test in listed.tests]
        parts = tuple((slot, PART_TESTS, bank) for slot, bank, _ in banked)
        core = Core(ROWS, listed.slots, listed.edges, parts, holes=len(listed.fillings))
        return self._groups.enter(core, tuple(tag for _, _, tag in banked), listed.fillings)

    def _parts(self, branch: Branch, given: Given, twins: Counter[tuple[int, ...]]) -> list[Part]:
        """The parts of a slot, in order."""
        sounds = sorted(self._sound(each, given) for each in branch.hears)
        if given.kind == MASK:
            sounds = list(dict.fromkeys(sounds))
        parts = [self._heard(sound, given, twins) for sound in sounds]
        if branch.tested:
            parts.append(self._tested(given.tests[branch.variable], given))
        return sorted(parts)

    def _sound(self, each: Hears, given: Given) -> _Sound:
        if each.kind == NODE and each.branch is not None:
            parts = tuple(self._parts(each.branch, given, Counter()))
            return _Sound(each.key, NODE, NONE, self._nodes.find(given.kind, parts))
        constant = given.constants[each.constant] if each.kind == IS_NODE else NONE
        return _Sound(each.key, each.kind, constant, _NOWHERE)

    def _heard(self, sound: _Sound, given: Given, twins: Counter[tuple[int, ...]]) -> Part:
        """A sound as a message that this node or group does not hear yet."""
        anchored = sound.kind == IS_NODE and given.kind == MASK
        below = sound.place.node if sound.kind == NODE else AMONG_NODE if anchored else sound.kind
        family = (sound.key, below, NONE if anchored else sound.constant)
        twin = twins[family]
        twins[family] += 1
        if anchored:
            return self._messages.among(sound.key, sound.constant, twin)
        if sound.kind == NODE:
            return self._nodes.hear(given.kind, sound.key, sound.place, twin)
        key = MessageKey(given.kind, sound.key, sound.kind, sound.constant, twin)
        return Part(PART_HEARS, self._messages.find(key))

    def _tested(self, test: Test, given: Given) -> Part:
        if given.kind == COUNT:
            return Part(PART_TEST, self._tests.number(test))
        return Part(PART_TESTS, *self._tests.banked(test))
