"""Groups: components of one structure, found by their driving constant, and the components themselves.

A group is a core: slots with the parts they ask, edges between them and, if there is one, the key by which the driver's
slot leads to a constant. Its constants are rows, each with a chain of components; a component says which tag of each
part it needs. A group without a driver has one row without a constant.

The law: equal components are one row, which stands for as long as somebody waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heliograph.kernels.evolution_layout import IN, OUT
from heliograph.kernels.network_layout import (
    C_CONSTANT,
    C_FIRST,
    C_GROUP,
    C_NEXT,
    COMPONENT_COLUMNS,
    CONSTANT_COLUMNS,
    EDGE_COLUMNS,
    FLAT,
    G_CONSTANTS,
    G_FIRST_CONSTANT,
    GROUP_COLUMNS,
    K_FRESH,
    K_NEXT,
    NONE,
    PART_HEARS,
    ROWS,
    SITE_CORE,
    SITE_DRIVER,
    START_COLUMNS,
    STEP_COLUMNS,
    USER_GROUP,
)
from heliograph.network.messages import NO_TAG, Messages, Part
from heliograph.network.nodes import Nodes
from heliograph.network.orders import orders_of
from heliograph.network.questions import Edge
from heliograph.network.sites import ANY_KEY, ANYWHERE, IN_KEY, JOIN_LEVEL, OUT_KEY, Sites
from heliograph.network.tables import Pairs, Rows

NO_BIT = 255  # of a part without tags


class Core(NamedTuple):
    """What makes two groups one; `driver` is (slot, key), or both -1."""

    kind: int
    slots: int
    edges: tuple[Edge, ...]  # nodes are term ids or ~slot
    parts: tuple[tuple[int, int, int], ...]  # slot, kind and ref of each
    driver: tuple[int, int] = (NONE, NONE)


class _Group(NamedTuple):
    """What must be undone when a group goes."""

    core: Core
    sites: list[int]
    users: list[tuple[int, int]]  # messages and their users


class _Member(NamedTuple):
    """A component: the constant's row that it stands under, and the tags of its parts."""

    constant: int
    tags: tuple[int, ...]


class Groups:
    """All groups, their constants and their components."""

    def __init__(self, sites: Sites, messages: Messages, nodes: Nodes) -> None:
        self.rows = Rows(GROUP_COLUMNS)
        self.edges = Rows(EDGE_COLUMNS)
        self.steps = Rows(STEP_COLUMNS)
        self.starts = Rows(START_COLUMNS)
        self.constants = Rows(CONSTANT_COLUMNS)
        self.constant_slots = Pairs()
        self.components = Rows(COMPONENT_COLUMNS)
        self.bits = Rows(0, np.uint8)
        self.values = Rows(0, np.int64)
        self.fresh: dict[int, None] = {}  # components that are still to be populated
        self.dead = 0
        self._sites, self._messages, self._nodes = sites, messages, nodes
        self._numbers: dict[Core, int] = {}
        self._groups: dict[int, _Group] = {}
        self._numbered: dict[_Member, int] = {}
        self._members: list[_Member] = []  # by component, dead ones included
        self._previous = Rows(0)  # by component: the one before it in its chain
        self._placed = Rows(2)  # by constant: the one before it in its chain, and its site

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def alive(self) -> int:
        """How many components there are."""
        return len(self._numbered)

    # --- finding ------------------------------------------------------------------------------------------------

    def enter(self, core: Core, tags: tuple[int, ...], constant: int = NONE) -> int:
        """The component of a core with these tags under a driving constant."""
        group = self._numbers.get(core)
        if group is None:
            group = self._add_group(core)
        member = _Member(self._constant(group, constant), tags)
        component = self._numbered.get(member)
        return self._add_component(group, member) if component is None else component

    def group_of(self, component: int) -> int:
        return int(self.constants.array[self._members[component].constant, C_GROUP])

    def constant_of(self, component: int) -> int:
        """The row of the constant that a component stands under."""
        return self._members[component].constant

    def core(self, group: int) -> Core:
        return self._groups[group].core

    def parts_of(self, component: int) -> Iterator[Part]:
        """What a component asks."""
        core = self.core(self.group_of(component))
        for (_, kind, ref), tag in zip(core.parts, self._members[component].tags, strict=True):
            yield Part(kind, ref, tag)

    # --- coming -------------------------------------------------------------------------------------------------

    def _add_group(self, core: Core) -> int:
        group = self.rows.used
        first_part = self._nodes.parts.extend([(kind, ref, FLAT, slot) for slot, kind, ref in core.parts])
        first_edge = self.edges.extend(core.edges)
        starts = self._add_starts(core, first_edge)
        parts = (first_part, len(core.parts))
        self.rows.append(
            (core.kind, core.slots, *parts, first_edge, len(core.edges), starts, *core.driver, 0, NONE, NONE)
        )
        users = [
            (ref, self._messages.listen(ref, USER_GROUP, group, number))
            for number, (_, kind, ref) in enumerate(core.parts, first_part)
            if kind == PART_HEARS
        ]
        sites = [
            self._sites.add((SITE_CORE, group, place), JOIN_LEVEL, *_asked_by(edge))
            for place, edge in enumerate(core.edges)
        ]
        self._numbers[core], self._groups[group] = group, _Group(core, sites, users)
        return group

    def _add_starts(self, core: Core, first_edge: int) -> int:
        first_start = self.starts.used
        choosy = {slot for slot, _, _ in core.parts}
        for order in orders_of(core.edges, core.slots, choosy, core.kind == ROWS):
            first = self.steps.used
            self.steps.extend(
                [(first_edge + edge, known, first + other if other >= 0 else NONE) for edge, known, other in order]
            )
            self.starts.append((first, len(order)))
        return first_start

    def _constant(self, group: int, constant: int) -> int:
        """The row of a constant in a group."""
        row = int(self.rows.array[group, G_FIRST_CONSTANT])
        if constant >= 0:
            row = self.constant_slots.find(group, constant)
        return self._add_constant(group, constant) if row < 0 else row

    def _add_constant(self, group: int, constant: int) -> int:
        following = int(self.rows.array[group, G_FIRST_CONSTANT])
        row = self.constants.append((group, constant, NONE, following))
        self.rows.array[group, G_FIRST_CONSTANT] = row
        self.rows.array[group, G_CONSTANTS] += 1
        if following >= 0:
            self._placed.array[following, 0] = row
        site = NONE
        if constant >= 0:
            self.constant_slots.put(group, constant, row)
            site = self._sites.add((SITE_DRIVER, row, NONE), JOIN_LEVEL, constant, self.core(group).driver[1] ^ 1)
        self._placed.append((NONE, site))
        return row

    def _add_component(self, group: int, member: _Member) -> int:
        following = int(self.constants.array[member.constant, C_FIRST])
        bits = self.bits.extend([NO_BIT if tag == NO_TAG else tag for tag in member.tags])
        component = self.components.append((following, bits, NONE, 1))
        self.values.append(0)
        self.constants.array[member.constant, C_FIRST] = component
        self._previous.append(NONE)
        if following >= 0:
            self._previous.array[following] = component
        self._numbered[member] = component
        self._members.append(member)
        self.fresh[component] = None
        for part in self.parts_of(component):
            self._nodes.use(part)
        return component

    # --- going --------------------------------------------------------------------------------------------------

    def leave(self, component: int) -> None:
        """Nobody waits for a component any more."""
        group, parts = self.group_of(component), list(self.parts_of(component))
        member = self._members[component]
        del self._numbered[member]
        self._unchain_component(component, member.constant)
        self.fresh.pop(component, None)
        self.dead += 1
        if self.constants.array[member.constant, C_FIRST] < 0:
            self._remove_constant(group, member.constant)
        if self.rows.array[group, G_FIRST_CONSTANT] < 0:
            self._remove_group(group)
        for part in parts:
            self._nodes.disuse(part)

    def _unchain_component(self, component: int, constant: int) -> None:
        before, following = int(self._previous.array[component]), int(self.components.array[component, K_NEXT])
        if before >= 0:
            self.components.array[before, K_NEXT] = following
        else:
            self.constants.array[constant, C_FIRST] = following
        if following >= 0:
            self._previous.array[following] = before

    def _remove_constant(self, group: int, row: int) -> None:
        before, site = (int(each) for each in self._placed.array[row])
        following = int(self.constants.array[row, C_NEXT])
        if before >= 0:
            self.constants.array[before, C_NEXT] = following
        else:
            self.rows.array[group, G_FIRST_CONSTANT] = following
        if following >= 0:
            self._placed.array[following, 0] = before
        self.rows.array[group, G_CONSTANTS] -= 1
        if site >= 0:
            self._sites.remove(site)
            self.constant_slots.remove(group, int(self.constants.array[row, C_CONSTANT]))

    def _remove_group(self, group: int) -> None:
        core, sites, users = self._groups.pop(group)
        del self._numbers[core]
        for site in sites:
            self._sites.remove(site)
        for message, user in users:
            self._messages.ignore(message, user)

    def settled(self) -> None:
        """Everything was populated."""
        for component in self.fresh:
            self.components.array[component, K_FRESH] = 0
        self.fresh.clear()


def _asked_by(edge: Edge) -> tuple[int, int]:
    """The vertex and the key under which a core edge is found."""
    subject, predicate, object = edge
    if subject >= 0:
        return subject, 2 * predicate + OUT if predicate >= 0 else OUT_KEY
    if object >= 0:
        return object, 2 * predicate + IN if predicate >= 0 else IN_KEY
    return ANYWHERE, 2 * predicate + OUT if predicate >= 0 else ANY_KEY
