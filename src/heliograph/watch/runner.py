"""The runner: an evolving graph, the network of queries over it, and the kernels that carry updates from one to the
other.

The law: a batch leaves graph, messages and counts as its updates would one by one, and its events come in their order.
A kernel that lacks room stops where it stands; the runner makes room and lets it go on.

New queries over a graph that is there already are populated silently: afterwards the network stands as if every query
had been there before the first edge, but for those that are given up (see the budget in `network_kernels`). Tests of
terms that kernels cannot decide are decided here, by `ExactChecks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from heliograph.compiled.growing import Pairs, first_room
from heliograph.filter.layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.sparql.regions import ROUNDED, Domain, places_of
from heliograph.vocabulary import Vocabulary
from heliograph.watch import network_kernels as kernels
from heliograph.watch.derived import Derived, DerivedChange
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import (
    DONE,
    EACH_EDGE,
    EVENT,
    GIVEN,
    LAST_STAMP,
    MOST_LEVELS,
    NEED_ADJACENCY,
    NEED_DERIVED,
    NEED_EVENTS,
    NEED_GRAPH,
    NEED_STATES,
    NO_LIMIT,
    PART_HEARS,
    PAUSED,
    ROWS,
    SET_EDGE,
    Floats,
    Int32s,
    Int64s,
)
from heliograph.watch.network import QueryNetwork
from heliograph.watch.network_kernels import Progress
from heliograph.watch.updates import Flags, UpdateColumns

_ROOM = {"state": 1 << 10, "item": 1 << 12, "event": 1 << 12, "solution": 1 << 14, "change": 1 << 10, "query": 16}
_SLOTS = 64  # slots, parts and steps of one group
_JOURNAL = 1 << 10
_MOST_EVENTS = 1 << 18  # that are held before they are reported
MOST_COMBINATIONS = 32_000_000  # that one query tries for one changed edge, at 10 to 100 ns; and 64 for each edge
_LOOKS = 10  # as a power of two: so often it is looked what has tried them


class RunEvents(NamedTuple):
    """What some updates changed, in order; see `layout.EVENT`. The terms of solutions stand in `rows`."""

    events: Any
    rows: Int32s
    candidates: int
    updates: int = 0  # that were applied

    def listed(self, which: Any, slots: int) -> Int32s:
        """The solutions of some of the events, all of so many slots."""
        rows: Int32s = self.rows[self.events["value"][which][:, None] + np.arange(slots)]
        return rows


Trim = Callable[[RunEvents, int], RunEvents]  # what is left of events, if there is no room in the midst of an update

_NO_EVENTS, _NO_ROWS = np.empty(0, EVENT), np.empty(0, np.int32)


class Runner:
    """Runs updates over a graph and a network."""

    def __init__(self, graph: FlatGraph, network: QueryNetwork, derived: Derived) -> None:
        self.graph, self.network, self.derived = graph, network, derived
        self.world = world = network.world
        for dimension, rows in _ROOM.items():
            world.resize(dimension, first_room(rows))
        world.resize("slot", first_room(_SLOTS))
        world.resize("level", MOST_LEVELS + 1)
        world.most_events = _MOST_EVENTS
        world.check_bits = max(0, MOST_COMBINATIONS.bit_length() - _LOOKS)
        self._one = UpdateColumns.of(0, 0, 0, 0, 0)
        self.trim: Trim | None = None
        self._seen: Int32s = np.empty(0, np.int32)  # properties of edges, where others are derived
        self._ready: tuple[int, int] | None = None  # the network and the terms, if the world serves a single update

    @property
    def nbytes(self) -> int:
        return self.world.nbytes

    # --- updates ------------------------------------------------------------------------------------------------

    def run(self, updates: UpdateColumns) -> RunEvents:
        """Applies updates, all of them, or as many as there is much to report of, or until a join was given up in one;
        what they changed."""
        world, begins = self.world, 1
        world.most_tried = MOST_COMBINATIONS  # each changed edge begins a round
        if len(updates) == 1 and not self.derived.wanted:
            self._prepare_one(updates)
        else:
            self.prepare()
            self._set_batch(updates, self._deriving(updates))
        while (reason := (kernels.run_quick if self._is_quick else kernels.run)(world.address, begins)) not in _STOPS:
            if reason == NEED_DERIVED:
                self._derive()
            else:
                self.make_room(reason)
            begins = 0
        return self.take(world.progress.update)

    def _prepare_one(self, updates: UpdateColumns) -> None:
        """A single update, in arrays that stay where they are: as long as nothing moved since the last one, there is
        nothing to prepare."""
        for mine, given in zip(self._one.columns, updates.columns, strict=True):
            mine[0] = given[0]
        ready = self.network.version, len(self.graph.arrays.first)
        if self._ready != ready:
            self.prepare()
            self._set_batch(self._one, np.empty(0, np.int32))
            self._ready = ready

    def _set_batch(self, updates: UpdateColumns, deriving: Int32s) -> None:
        names = ("seq", "op", "subject", "predicate", "object", "weight", "at")
        for name, column in zip(names, updates.columns, strict=True):
            setattr(self.world, f"batch_{name}", np.ascontiguousarray(column))
        self.world.deriving, self._ready = deriving, None

    def reserve(self, edges: int) -> None:
        """Makes room for many more edges at once; few of them are better left to growth, which is geometric."""
        if edges > self.graph.arrays.numbered // 4:
            self.graph.reserve(edges=edges)

    @property
    def counts_too_many(self) -> bool:
        """Whether a count passed what can be reported."""
        return bool(self.world.too_many)

    @property
    def _is_quick(self) -> bool:
        """Whether no query asks for more than whole edges."""
        graph = self.graph.arrays
        return not (self.network.sites.heads.used or len(graph.runs) or len(graph.times) or len(graph.weights))

    # --- the budget ---------------------------------------------------------------------------------------------

    def begin_round(self, *, bounded: bool) -> None:
        """Nothing was tried yet; as in `network_kernels`. Whether anything may be given up."""
        world = self.world
        world.most_tried = MOST_COMBINATIONS if bounded else NO_LIMIT
        world.round += 1
        if world.round > LAST_STAMP:
            world.groups["round"] = world.constants["round"] = 0
            world.round = 1

    @property
    def most_combinations(self) -> int:
        """That one query may try."""
        return min(MOST_COMBINATIONS + EACH_EDGE * self.graph.arrays.live, LAST_STAMP)

    def given_up(self) -> frozenset[int]:
        """The components that were given up since this was last asked: what was listed of them is not everything."""
        world, found = self.world, set()
        if not world.given_up:
            return frozenset()
        constants = world.constants[: self.network.groups.constants.used]
        failed = (constants["round"] == GIVEN) | (world.groups["round"][constants["group"]] == GIVEN)
        for component in constants["first"][failed].tolist():
            while component >= 0:
                found.add(component)
                component = int(world.components["next"][component])
        constants["round"] = world.groups["round"] = world.given_up = 0
        return frozenset(found)

    # --- events -------------------------------------------------------------------------------------------------

    def take(self, updates: int = 0) -> RunEvents:
        """The events so far, which are forgotten."""
        world = self.world
        if not (count := world.event_count):
            return RunEvents(_NO_EVENTS, _NO_ROWS, world.candidates, updates)
        events, rows = world.events[:count].copy(), world.solutions[: world.value_count].copy()
        world.event_count = world.value_count = 0
        return RunEvents(events, rows, world.candidates, updates)

    def forget(self) -> None:
        """Nothing of what was touched is reported."""
        world = self.world
        world.event_count = world.value_count = world.touched_count = 0
        world.stamp += 1
        if world.stamp > LAST_STAMP:
            world.queries["stamp"] = 0
            world.stamp = 1

    def list_all(self, group: int, filled: tuple[int, ...] = ()) -> None:
        """Meets all solutions of a group, its holes filled, which are listed or counted."""
        self.prepare()  # whatever shares the pattern is touched
        slots = self.network.groups.rows.get(group, "slots")
        self.world.path[slots - len(filled) : slots] = filled
        while (reason := kernels.list_all(self.world.address, group)) != DONE:
            self.make_room(reason)

    # --- derived edges ------------------------------------------------------------------------------------------

    def _deriving(self, updates: UpdateColumns) -> Int32s:
        """The properties from whose edges others are derived."""
        if not self.derived.wanted:
            return np.empty(0, np.int32)
        self.see(updates.predicate[updates.predicate >= 0])
        return self._seen[self.derived.concerned(self._seen)]

    def see(self, predicates: Int32s) -> None:
        """Takes note of properties of edges."""
        self._seen = np.union1d(self._seen, predicates).astype(np.int32)

    def _derive(self) -> None:
        """Follows a changed edge in the edges that are derived from it."""
        changed = self.world.progress
        row = np.array([[changed.subject, changed.predicate, changed.object]], np.int32)
        none = row[:0]
        self.alter(self.derived.change(row, none) if changed.sign > 0 else self.derived.change(none, row))

    def alter(self, changes: DerivedChange) -> None:
        """Removes and adds derived edges, each as a run of its own in the midst of an update."""
        outer = self.world.progress
        for rows, sign in ((changes.removed, -1), (changes.added, 1)):
            for row in rows.tolist():
                self.world.progress = progress = Progress()
                progress.update, progress.sign = -1, sign
                progress.subject, progress.predicate, progress.object = row
                while (reason := kernels.run(self.world.address, 0)) != DONE:
                    self.make_room(reason)
        self.world.progress = outer

    # --- room ---------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Room for whatever is one a query, a message or a term, and for the widest group."""
        network, graph = self.network, self.graph.arrays
        self._reserve("query", network.queries.rows.used)
        self._reserve("message", network.messages.rows.used)
        self._reserve("slot", network.widest)
        if network.messages.rows.used and self.world.rows("term") < len(graph.first):  # that may be ends of edges
            self.world.resize("term", len(graph.first))

    def _reserve(self, dimension: str, rows: int) -> None:
        if self.world.rows(dimension) < rows:
            self.world.resize(dimension, first_room(2 * rows, rows))

    def make_room(self, reason: int) -> None:
        """Makes room for what a kernel lacks."""
        if reason == NEED_GRAPH:
            self.graph.grow()
        elif reason == NEED_ADJACENCY:
            self.graph.keep_adjacency()
        elif reason == NEED_STATES:
            self._grow_states()
        elif reason == NEED_EVENTS:
            self._make_events()
        else:
            self.world.make_room()

    def _grow_states(self) -> None:
        old = self.world.entries
        self.world.entries = np.zeros((2 * len(old), 2), np.uint64)
        kernels.rehash(old, self.world.address)

    def _make_events(self) -> None:
        """Room for events: by dropping those that nobody would be notified of, or by more of it."""
        world = self.world
        if self.trim is not None and world.event_count >= _MOST_EVENTS and not self._may_regain:
            kept = self.trim(self.take(), world.update)
            while len(kept.rows) > len(world.solutions):  # what several shared each of them has now
                self._grow_events()
            world.events[: len(kept.events)], world.solutions[: len(kept.rows)] = kept.events, kept.rows
            world.event_count, world.value_count = len(kept.events), len(kept.rows)
        spare = first_room(2, 1)  # as much again is left free: what was dropped may come again at once
        events, rows = spare * (world.event_count + world.needed), spare * (world.value_count + world.needed)
        if events > len(world.events) or rows > len(world.solutions):
            self._grow_events()

    @property
    def _may_regain(self) -> bool:
        """Whether an update may gain what it has lost: one that replaces an edge, where others are derived from it."""
        update, ops = self.world.update, self.world.batch_op
        return bool(self.derived.wanted) and update < len(ops) and int(ops[update]) == SET_EDGE

    def _grow_events(self) -> None:
        needed = self.world.needed
        for dimension in ("event", "solution"):
            rows = self.world.rows(dimension)
            self.world.resize(dimension, first_room(2 * rows + needed, rows + needed))

    # --- the journal --------------------------------------------------------------------------------------------

    def keep_journal(self, kept: bool) -> None:
        """Whether what becomes of edges is written down."""
        if kept and not len(self.world.journal):
            self.world.resize("journal", first_room(_JOURNAL))
        self.world.keeps_journal = kept

    def read_journal(self) -> tuple[Int32s, Floats]:
        """What became of edges since it was last read: rows and weights; see `layout`."""
        used, self.world.journal_count = self.world.journal_count, 0
        return self.world.journal[:used].copy(), self.world.journal_weights[:used].copy()

    # --- new queries --------------------------------------------------------------------------------------------

    def populate(self, proven: Set[int] = frozenset()) -> None:
        """Finds out silently what is new in the network: what is heard, and where components hold. Components that are
        `proven`, and those that are counted with them, are not given up."""
        network, fresh = self.network, self.network.fresh
        if not fresh:
            return
        self.graph.keep_adjacency()
        if self.graph.arrays.live:
            self.prepare()
            for _, messages in groupby(fresh.messages, key=lambda each: network.messages.level(each[0])):
                self._fill(dict(messages))
            self.world.only_fresh = 1  # only components that are new take note of a solution
            owners = {component: network.groups.group_of(component) for component in fresh.components}
            known = {group for component, group in owners.items() if component in proven}
            for bounded in (False, True):
                self.begin_round(bounded=bounded)
                self._count([component for component, group in owners.items() if (group not in known) == bounded])
            self.world.only_fresh = 0
            self.forget()
        network.populated()

    def _fill(self, bits: dict[int, int]) -> None:
        """Fills messages of one level."""
        fresh = np.fromiter(bits, np.int32, len(bits))
        keys = self.world.messages["key"][fresh]
        order = np.argsort(keys, kind="stable")
        fresh, places = fresh[order], Pairs()
        masks = np.array([bits[message] for message in fresh.tolist()], np.uint64)
        for key, place in zip(*(each.tolist() for each in np.unique(keys[order], return_index=True)), strict=True):
            places.put(0, key, place)
        graph, edge = self.graph.arrays, 0
        while (edge := kernels.populate(self.world.address, fresh, masks, places.array, edge)) < graph.numbered:
            self.make_room(NEED_STATES)

    def _count(self, components: Iterable[int]) -> None:
        """Counts the places where new components hold: from driving constants, from the first message that a group of
        one slot hears, or by all solutions of a group."""
        groups, address = self.network.groups, self.world.address
        constants = list({groups.constant_of(component): None for component in components})
        owners = self.world.constants["group"][constants].tolist() if constants else []
        drives = self.world.groups["driver_key"] >= 0
        driven = [row for row, group in zip(constants, owners, strict=True) if drives[group]]
        others = [group for group in dict.fromkeys(owners) if not drives[group]]
        if driven:
            kernels.drive(address, np.array(driven, np.int32))
        first = {group: self._first_message(group) for group in others}
        hearing = sorted((group for group in others if first[group] >= 0), key=first.__getitem__)
        if hearing:
            messages = np.arange(self.network.messages.rows.used + 1)
            firsts = np.searchsorted([first[group] for group in hearing], messages).astype(np.int32)
            kernels.survey(address, firsts, np.array(hearing, np.int32))
        for group in others:
            if first[group] < 0 and groups.core(group).kind != ROWS:
                self.list_all(group)

    def _first_message(self, group: int) -> int:
        """The first message that a group of one slot hears, or -1."""
        core = self.network.groups.core(group)
        if core.slots != 1 or core.edges:
            return -1
        return next((ref for _, kind, ref in core.parts if kind == PART_HEARS), -1)


_STOPS = (DONE, PAUSED)


# --- exact checks -----------------------------------------------------------------------------------------------


class ExactChecks:
    """Where terms lie, for the tests of queries, kept up to date as the vocabulary grows.

    A kernel decides nearly every test by a term's domain and coordinate. A term in doubt (a rounded coordinate, an
    xsd:float) is checked here, once for each test, as is one that ties with the rounded end of a test.
    """

    def __init__(self, network: QueryNetwork, vocabulary: Vocabulary) -> None:
        self._network, self._vocabulary = network, vocabulary
        self._terms = 0  # up to which terms are known
        self._tests = 0
        self._rounded: list[int] = []  # tests with ends that are
        self._doubtful: Int64s = np.empty(0, np.int64)

    def extend(self) -> None:
        """Takes in new terms and new tests."""
        tests, terms = len(self._network.tests), len(self._vocabulary)
        if not tests or (tests == self._tests and terms == self._terms):
            return
        fresh = self._place(terms)
        doubtful = fresh[self._is_doubtful(fresh)]
        for test in range(self._tests) if len(doubtful) else ():
            self._check(test, doubtful)
        for test in self._rounded:
            self._check(test, self._ties(test, self._terms))
        for test in range(self._tests, tests):
            self._check(test, self._doubtful)
            if len(self._ends(test)):
                self._rounded.append(test)
                self._check(test, self._ties(test, 0))
        self._tests, self._terms = tests, terms
        self._network.version += 1

    def _place(self, terms: int) -> Int64s:
        """Places terms up to a number; returns the new ones."""
        known, first = self._network.world.domains, self._terms
        if terms > len(known):
            larger = np.zeros((max(terms, 2 * len(known)), 2), np.float64)
            larger[: len(known)] = known
            self._network.world.domains = known = larger
        if terms > first:
            places = places_of(self._vocabulary, first, terms)
            known[first:terms, COORDINATE] = places.coordinate
            known[first:terms, DOMAIN_CODE] = places.domain + ROUNDED_CODE * places.rounded
        fresh = np.arange(first, terms)
        self._doubtful = np.concatenate((self._doubtful, fresh[self._is_doubtful(fresh)]))
        return fresh

    def _is_doubtful(self, terms: Int64s) -> Flags:
        codes = self._network.world.domains[terms, DOMAIN_CODE]
        doubtful: Flags = (codes >= ROUNDED_CODE) | (codes == Domain.FLOAT)
        return doubtful

    def _ties(self, test: int, first: int) -> Int64s:
        """The terms from `first` on that tie with a rounded end of a test."""
        rounded = self._ends(test)
        known = self._network.world.domains[first : len(self._vocabulary)]
        ends = np.isin(known[:, COORDINATE], rounded[:, [LOW, HIGH]])
        return first + np.flatnonzero(ends & np.isin(known[:, DOMAIN_CODE] % ROUNDED_CODE, rounded[:, DOMAIN]))

    def _ends(self, test: int) -> Floats:
        """The atoms of a test that have rounded ends."""
        tests = self._network.tests
        atoms = tests.atoms.array[tests.offsets.array[test] : tests.offsets.array[test + 1]]
        rounded: Floats = atoms[(atoms[:, ATOM_FLAGS].astype(np.int64) & ROUNDED) != 0]
        return rounded

    def _check(self, test: int, terms: Int64s) -> None:
        for term in terms.tolist():
            passes = self._network.tests.check(test, self._vocabulary.term(term))
            self._network.verdicts.put(test, term, int(passes))
