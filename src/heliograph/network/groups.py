"""Groups: components of one structure, found by their driving constant, and the components themselves.

A group is a core: slots with the parts they ask, edges between them and, if there is one, the key by which the driver's
slot leads to a constant. Its constants are rows, each with a chain of components; a component says which tag of each
part it needs. A group that lists solutions has a row for each choice of what fills its holes, its last slots. A group
without driver and holes has one row without a constant.

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
    G_FIRST_HOLE,
    GROUP_COLUMNS,
    K_FRESH,
    K_NEXT,
    NONE,
    PART_FILLS,
    PART_HEARS,
    ROWS,
    SITE_CORE,
    SITE_DRIVER,
    START_COLUMNS,
    STEP_COLUMNS,
    USER_GROUP,
)
from heliograph.network.fillings import Fillings
from heliograph.network.messages import NO_TAG, Messages, Part
from heliograph.network.nodes import Nodes
from heliograph.network.orders import Slots, orders_of
from heliograph.network.questions import Edge
from heliograph.network.sites import ANY_KEY, ANYWHERE, IN_KEY, JOIN_LEVEL, OUT_KEY, Sites
from heliograph.network.tables import Pairs, Rows

NO_BIT = 255  # of a part without tags
_MOST_GIVEN = 0x7FFFFFFF  # bits of 31 holes: a pattern with more constants is followed without chains


class Core(NamedTuple):
    """What makes two groups one; `driver` is (slot, key), or both -1."""

    kind: int
    slots: int
    edges: tuple[Edge, ...]  # nodes are term ids or ~slot
    parts: tuple[tuple[int, int, int], ...]  # slot, kind and ref of each
    driver: tuple[int, int] = (NONE, NONE)
    holes: int = 0  # the last of the slots


class _Beside(NamedTuple):
    """A hole that is bound after others."""

    given: tuple[int, ...]
    hole: int

    def split(self, terms: tuple[int, ...]) -> tuple[list[int], int]:
        """Of what fills all holes, what fills the others and what fills this one."""
        return [terms[hole] for hole in self.given], terms[self.hole]


class _Group(NamedTuple):
    """What must be undone when a group goes."""

    core: Core
    chains: dict[_Beside, int]  # where they begin
    sites: list[int]  # of edges without holes
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
        self.fillings = Fillings(self.constant_slots)
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
        self._filled: dict[int, tuple[int, ...]] = {}  # by constant: what fills the holes
        self._hole_sites: dict[tuple[int, int], list[int]] = {}  # by hole and what fills it: the sites of its edges

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def alive(self) -> int:
        """How many components there are."""
        return len(self._numbered)

    # --- finding ------------------------------------------------------------------------------------------------

    def enter(self, core: Core, tags: tuple[int, ...], constants: tuple[int, ...] = ()) -> int:
        """The component of a core with these tags under a driving constant, or with holes that these fill."""
        group = self._numbers.get(core)
        if group is None:
            group = self._add_group(core)
        member = _Member(self._constant(group, constants), tags)
        component = self._numbered.get(member)
        return self._add_component(group, member) if component is None else component

    def group_of(self, component: int) -> int:
        return int(self.constants.array[self._members[component].constant, C_GROUP])

    def constant_of(self, component: int) -> int:
        """The row of the constant that a component stands under."""
        return self._members[component].constant

    def filled(self, component: int) -> tuple[int, ...]:
        """What fills the holes of a component."""
        return self._filled.get(self._members[component].constant, ())

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
        shown, first_hole = core.slots - core.holes, self.fillings.add_holes(core.holes)
        fills = [(PART_FILLS, first_hole + hole, FLAT, shown + hole) for hole in range(core.holes)]
        first_part = self._nodes.parts.extend([*((kind, ref, FLAT, slot) for slot, kind, ref in core.parts), *fills])
        first_edge = self.edges.extend(core.edges)
        chains: dict[_Beside, int] = {}
        starts = self._add_starts(core, first_edge, first_hole, chains)
        parts, holes = (first_part, len(core.parts) + core.holes), (core.holes, first_hole)
        self.rows.append(
            (core.kind, core.slots, *parts, first_edge, len(core.edges), starts, *core.driver, 0, NONE, *holes)
        )
        users = [
            (ref, self._messages.listen(ref, USER_GROUP, group, number))
            for number, (_, kind, ref) in enumerate(core.parts, first_part)
            if kind == PART_HEARS
        ]
        sites = [
            self._sites.add((SITE_CORE, group, place), JOIN_LEVEL, *_asked_by(edge))
            for place, edge in enumerate(core.edges)
            if _hole_of(core, edge) is None
        ]
        self._numbers[core], self._groups[group] = group, _Group(core, chains, sites, users)
        return group

    def _add_starts(self, core: Core, first_edge: int, first_hole: int, chains: dict[_Beside, int]) -> int:
        first_start = self.starts.used
        choosy = {slot for slot, _, _ in core.parts}
        for order in orders_of(core.edges, Slots(core.slots, core.holes, frozenset(choosy)), core.kind == ROWS):
            first = self.steps.used
            self.steps.extend(
                [
                    (
                        first_edge + edge,
                        known,
                        _at(first, other),
                        _at(first_hole, hole),
                        *self._beside(given, hole, chains),
                    )
                    for edge, known, other, hole, given in order
                ]
            )
            self.starts.append((first, len(order)))
        return first_start

    def _beside(self, given: int, hole: int, chains: dict[_Beside, int]) -> tuple[int, int]:
        """Which holes are filled before one, as bits, and where the chains of what fills it then begin."""
        if hole < 0 or not given or given > _MOST_GIVEN:
            return 0, NONE
        beside = _Beside(tuple(each for each in range(given.bit_length()) if given >> each & 1), hole)
        if beside not in chains:
            chains[beside] = self.fillings.begin_chains()
        return given, chains[beside]

    def _constant(self, group: int, constants: tuple[int, ...]) -> int:
        """The row of a driving constant in a group, or of what fills its holes."""
        row = int(self.rows.array[group, G_FIRST_CONSTANT])
        if constants:
            row = self.fillings.find(group, constants)
        return self._add_constant(group, constants) if row < 0 else row

    def _add_constant(self, group: int, constants: tuple[int, ...]) -> int:
        core, following = self.core(group), int(self.rows.array[group, G_FIRST_CONSTANT])
        constant = NONE if core.holes or not constants else constants[0]
        row = self.constants.append((group, constant, NONE, following))
        self.rows.array[group, G_FIRST_CONSTANT] = row
        self.rows.array[group, G_CONSTANTS] += 1
        if following >= 0:
            self._placed.array[following, 0] = row
        site = NONE
        if constants:
            self.fillings.put(group, constants, row)
        if constant >= 0:
            site = self._sites.add((SITE_DRIVER, row, NONE), JOIN_LEVEL, constant, core.driver[1] ^ 1)
        elif constants:
            self._fill(group, row, constants)
        self._placed.append((NONE, site))
        return row

    def _fill(self, group: int, row: int, terms: tuple[int, ...]) -> None:
        """Holes are filled by these terms, at which their edges are asked for from now on."""
        core, first = self.core(group), int(self.rows.array[group, G_FIRST_HOLE])
        self._filled[row] = terms
        for hole, term in enumerate(terms):
            if self.fillings.use(first + hole, term):
                self._hole_sites[first + hole, term] = [
                    self._sites.add((SITE_CORE, group, place), JOIN_LEVEL, *_asked_by(_with(edge, core, hole, term)))
                    for place, edge in enumerate(core.edges)
                    if _hole_of(core, edge) == hole
                ]
        for beside, chains in self._groups[group].chains.items():
            self.fillings.use_beside(chains, *beside.split(terms))

    def _unfill(self, group: int, row: int) -> None:
        first, terms = int(self.rows.array[group, G_FIRST_HOLE]), self._filled.pop(row)
        self.fillings.remove(group, terms)
        for hole, term in enumerate(terms):
            if self.fillings.disuse(first + hole, term):
                for site in self._hole_sites.pop((first + hole, term)):
                    self._sites.remove(site)
        for beside, chains in self._groups[group].chains.items():
            self.fillings.disuse_beside(chains, *beside.split(terms))

    def _add_component(self, group: int, member: _Member) -> int:
        following = int(self.constants.array[member.constant, C_FIRST])
        holes = [NO_BIT] * self.core(group).holes
        bits = self.bits.extend([*(NO_BIT if tag == NO_TAG else tag for tag in member.tags), *holes])
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
        elif row in self._filled:
            self._unfill(group, row)

    def _remove_group(self, group: int) -> None:
        core, _, sites, users = self._groups.pop(group)
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


def _at(first: int, place: int) -> int:
    return first + place if place >= 0 else NONE


def _hole_of(core: Core, edge: Edge) -> int | None:
    """The hole by which an edge is asked for: that at its subject, or at its object; None if there is neither."""
    first = core.slots - core.holes
    return next((~node - first for node in (edge[0], edge[2]) if ~node >= first), None)


def _with(edge: Edge, core: Core, hole: int, term: int) -> Edge:
    """An edge with a term in place of a hole."""
    subject, predicate, object = (term if ~node == core.slots - core.holes + hole else node for node in edge)
    return subject, predicate, object


def _asked_by(edge: Edge) -> tuple[int, int]:
    """The vertex and the key under which a core edge is found."""
    subject, predicate, object = edge
    if subject >= 0:
        return subject, 2 * predicate + OUT if predicate >= 0 else OUT_KEY
    if object >= 0:
        return object, 2 * predicate + IN if predicate >= 0 else IN_KEY
    return ANYWHERE, 2 * predicate + OUT if predicate >= 0 else ANY_KEY
