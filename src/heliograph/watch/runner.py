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
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np

from heliograph.compiled.growing import first_room
from heliograph.filter.layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.sparql.regions import ROUNDED, Domain, places_of
from heliograph.vocabulary import Vocabulary
from heliograph.watch import network_kernels as kernels
from heliograph.watch.derived import Derived, DerivedChange
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import (
    C_FIRST,
    C_GROUP,
    C_ROUND,
    CANDIDATES,
    CHECK_BITS,
    DEPTH,
    DONE,
    EACH_EDGE,
    EDGES,
    EVENT_STATE,
    EVENTS,
    FREE_ITEM,
    G_DRIVER_KEY,
    G_EDGES,
    G_FIRST_PART,
    G_KIND,
    G_PARTS,
    G_ROUND,
    G_SLOTS,
    GIVEN,
    GIVEN_UP,
    IDLE_LEVEL,
    JOURNALLED,
    K_NEXT,
    KEPT,
    LAST_STAMP,
    LIVE,
    LOWEST,
    M_KEY,
    MOST_EVENTS,
    MOST_LEVELS,
    MOST_TRIED,
    NEED_ADJACENCY,
    NEED_CHANGES,
    NEED_DERIVED,
    NEED_GRAPH,
    NEED_JOURNAL,
    NEED_REPORTS,
    NEED_STATES,
    NEED_WORK,
    NEEDED,
    NO_LIMIT,
    ONLY_FRESH,
    P_EDGE,
    P_KIND,
    P_OBJECT,
    P_PREDICATE,
    P_REF,
    P_SIGN,
    P_SITE,
    P_SUBJECT,
    P_UPDATE,
    PART_HEARS,
    PAUSED,
    PROGRESS,
    Q_STAMP,
    ROUND,
    ROWS,
    SET_EDGE,
    STAMP,
    STRUCTURES,
    TOO_MANY,
    TOUCHED,
    UPDATE,
    VALUES,
    W_VALUE,
    EventArrays,
    Floats,
    Int32s,
    Int64s,
    JoinArrays,
    JournalArrays,
    RunArrays,
    StateArrays,
    UpdateArrays,
    WorkArrays,
    enlarge,
    fields_of,
    zeros,
)
from heliograph.watch.network import QueryNetwork
from heliograph.watch.updates import Flags, UpdateColumns

_FIRST_STATES, _FIRST_ITEMS, _FIRST_EVENTS, _FIRST_ROWS, _FIRST_CHANGES = 1 << 10, 1 << 12, 1 << 12, 1 << 14, 1 << 10
_FIRST_JOURNAL = 1 << 10
_MOST_EVENTS = 1 << 18  # that are held before they are reported
MOST_COMBINATIONS = 32_000_000  # that one query tries for one changed edge, at 10 to 100 ns; and 64 for each edge
_LOOKS = 10  # as a power of two: so often it is looked what has tried them
_SCRATCH = 64  # slots, parts and steps of one group
_NO_SITES = np.zeros(1, np.int32)


class RunEvents(NamedTuple):
    """What some updates changed, in order; see `layout` for the columns. Rows of solutions stand in `rows`."""

    events: Int64s
    rows: Int32s
    candidates: int
    updates: int = 0  # that were applied

    def listed(self, which: Any, slots: int) -> Int32s:
        """The solutions of some of the events, all of so many slots."""
        rows: Int32s = self.rows[self.events[which, W_VALUE, None] + np.arange(slots)]
        return rows


Trim = Callable[[RunEvents, int], RunEvents]  # what is left of events, if there is no room in the midst of an update

_NO_EVENTS = zeros(EventArrays)


class Runner:
    """Runs updates over a graph and a network."""

    def __init__(self, graph: FlatGraph, network: QueryNetwork, derived: Derived) -> None:
        self.graph, self.network, self.derived = graph, network, derived
        self.states = zeros(StateArrays, entries=first_room(_FIRST_STATES), counts=1)
        items = first_room(_FIRST_ITEMS)
        self._work = zeros(WorkArrays, items=items, payloads=items, levels=MOST_LEVELS + 1, state=4)
        self._work.levels[:] = -1
        self._work.state[[FREE_ITEM, LOWEST]] = -1, IDLE_LEVEL
        rows = {"events": first_room(_FIRST_EVENTS), "rows": first_room(_FIRST_ROWS), "touched": first_room(16)}
        self._reports = zeros(EventArrays, **rows, state=EVENT_STATE)
        self._reports.state[[STAMP, DEPTH, MOST_EVENTS]] = 1, -1, _MOST_EVENTS
        self._reports.state[CHECK_BITS] = max(0, MOST_COMBINATIONS.bit_length() - _LOOKS)
        self._scratch = _scratch(first_room(_SCRATCH))
        self._one = zeros(UpdateArrays, seq=1, op=1, subject=1, predicate=1, object=1, weight=1, at=1)
        self._one_batch = _batch(self._one)
        self._batch = self._one_batch
        self._run = zeros(RunArrays, progress=PROGRESS, changes=first_room(_FIRST_CHANGES))
        self._journal = zeros(JournalArrays, state=2)
        self.trim: Trim | None = None
        self._seen: Int32s = np.empty(0, np.int32)  # properties of edges, where others are derived
        self._arrays: list[Any] = [None] * sum(len(fields_of(each)) for each in STRUCTURES)
        self._addresses = np.zeros(2 * len(self._arrays), np.int64)
        self._table: Int64s = _fixed(self._addresses)
        self._ready: tuple[Any, ...] | None = None  # what the table was made of, if it serves another single update

    @property
    def nbytes(self) -> int:
        network = sum(array.nbytes for array in self.network.arrays)
        return self.graph.nbytes + network + sum(array.nbytes for array in self.states)

    # --- updates ------------------------------------------------------------------------------------------------

    def run(self, updates: UpdateColumns) -> RunEvents:
        """Applies updates, all of them, or as many as there is much to report of, or until a join was given up in one;
        what they changed."""
        progress = self._run.progress
        progress[:] = 0
        progress[P_EDGE], progress[P_SITE] = -1, -2
        self._reports.state[CANDIDATES] = 0
        self._reports.state[MOST_TRIED] = MOST_COMBINATIONS  # each changed edge begins a round
        if len(updates) == 1 and not self.derived.wanted:
            table = self._prepare_one(updates)
        else:
            self.prepare()
            self._batch = _batch((*updates.columns, self._deriving(updates)))
            table = self.world()
        while (reason := (kernels.run_quick if self._is_quick else kernels.run)(table)) not in (DONE, PAUSED):
            if reason == NEED_DERIVED:
                self._derive(progress)
            else:
                self.make_room(reason)
            table = self.world()
        return self.take(int(progress[P_UPDATE]))

    def _prepare_one(self, updates: UpdateColumns) -> Int64s:
        """The world with a single update, in arrays that stay where they are: as long as nothing moved since the last
        one, there is nothing to prepare."""
        one = self._one
        one.seq[0], one.op[0], one.weight[0], one.at[0] = (
            updates.seq[0],
            updates.op[0],
            updates.weight[0],
            updates.at[0],
        )
        one.subject[0], one.predicate[0], one.object[0] = updates.subject[0], updates.predicate[0], updates.object[0]
        ready = self._ready
        if (
            ready is None
            or ready[0] is not self.graph.arrays
            or ready[1] is not self.graph.window
            or ready[2] != self.network.version
        ):
            self.prepare()
            self._batch = self._one_batch
            self.world()
            self._ready = self.graph.arrays, self.graph.window, self.network.version
        return self._table

    def reserve(self, edges: int) -> None:
        """Makes room for many more edges at once; few of them are better left to growth, which is geometric."""
        if edges > self.graph.arrays.counters[EDGES] // 4:
            self.graph.reserve(edges=edges)

    @property
    def counts_too_many(self) -> bool:
        """Whether a count passed what can be reported."""
        return bool(self._reports.state[TOO_MANY])

    # --- the budget ---------------------------------------------------------------------------------------------

    def begin_round(self, *, bounded: bool) -> None:
        """Nothing was tried yet; as in `network_kernels`. Whether anything may be given up."""
        state, groups = self._reports.state, self.network.groups
        state[MOST_TRIED] = MOST_COMBINATIONS if bounded else NO_LIMIT
        state[ROUND] += 1
        if state[ROUND] > LAST_STAMP:
            groups.rows.array[:, G_ROUND] = groups.constants.array[:, C_ROUND] = 0
            state[ROUND] = 1

    @property
    def most_combinations(self) -> int:
        """That one query may try."""
        return min(MOST_COMBINATIONS + EACH_EDGE * int(self.graph.arrays.counters[LIVE]), LAST_STAMP)

    def given_up(self) -> frozenset[int]:
        """The components that were given up since this was last asked: what was listed of them is not everything."""
        state, groups = self._reports.state, self.network.groups
        if not state[GIVEN_UP]:
            return frozenset()
        rows, constants = groups.rows.array, groups.constants.array[: groups.constants.used]
        failed = (constants[:, C_ROUND] == GIVEN) | (rows[constants[:, C_GROUP], G_ROUND] == GIVEN)
        found = set()
        for component in constants[failed, C_FIRST].tolist():
            while component >= 0:
                found.add(component)
                component = int(groups.components.array[component, K_NEXT])
        constants[:, C_ROUND] = rows[:, G_ROUND] = state[GIVEN_UP] = 0
        return frozenset(found)

    # --- events -------------------------------------------------------------------------------------------------

    def take(self, updates: int = 0) -> RunEvents:
        """The events so far, which are forgotten."""
        reports, state = self._reports, self._reports.state
        if not state[EVENTS]:
            return RunEvents(_NO_EVENTS.events, _NO_EVENTS.rows, int(state[CANDIDATES]), updates)
        events, rows = reports.events[: state[EVENTS]].copy(), reports.rows[: state[VALUES]].copy()
        state[EVENTS] = state[VALUES] = 0
        return RunEvents(events, rows, int(state[CANDIDATES]), updates)

    def forget(self) -> None:
        """Nothing of what was touched is reported."""
        state = self._reports.state
        state[EVENTS] = state[VALUES] = state[TOUCHED] = 0
        state[STAMP] += 1
        if state[STAMP] > LAST_STAMP:
            self.network.queries.rows.array[:, Q_STAMP] = 0
            state[STAMP] = 1

    @property
    def _is_quick(self) -> bool:
        """Whether no query asks for more than whole edges."""
        graph = self.graph.arrays
        return not (self.network.sites.heads.used or len(graph.runs) or len(graph.times) or len(graph.weights))

    def prepare(self) -> None:
        """Room for whatever is one a query, a message or a term."""
        queries, messages = self.network.queries.rows.used, len(self.network.messages.rows.array)
        if len(self._reports.touched) < queries:
            self._reports = self._reports._replace(touched=np.zeros(first_room(2 * queries, queries), np.int32))
        if len(self._work.plans) < messages:
            self._work = enlarge(self._work, plans=messages, sayings=messages)
        terms = len(self.graph.arrays.first)  # that may be ends of edges
        if self.network.messages.rows.used and len(self.states.marks) < terms:
            self.states = enlarge(self.states, marks=terms)
        if len(self._scratch.path) < self.network.widest:
            self._scratch = _scratch(first_room(2 * self.network.widest, self.network.widest))

    def list_all(self, group: int, filled: tuple[int, ...] = ()) -> None:
        """Meets all solutions of a group, its holes filled, which are listed or counted."""
        self.prepare()  # whatever shares the pattern is touched
        slots = int(self.network.groups.rows.array[group, G_SLOTS])
        self._scratch.path[slots - len(filled) : slots] = filled
        while (reason := kernels.list_all(self.world(), group)) != DONE:
            self.make_room(reason)

    def world(self) -> Int64s:
        """Where kernels find everything: of each array the address and the length. Valid until something grows or is
        changed."""
        network = self.network.arrays
        if not self.network.sites.heads.used:
            network = network._replace(site_slots=_NO_SITES)  # kernels need not even look
        room = (self.states, self._work, self._reports, self._scratch, self._batch, self._run, self._journal)
        arrays: Iterable[Any] = chain(self.graph.arrays, self.graph.window, network, *room)
        for place, array in enumerate(arrays):
            if array is not self._arrays[place]:
                self._arrays[place] = array  # it is kept for as long as its address stands there
                self._addresses[2 * place] = array.__array_interface__["data"][0]
                self._addresses[2 * place + 1] = len(array)
        self._ready = None
        return self._table

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

    def _derive(self, progress: Int64s) -> None:
        """Follows a changed edge in the edges that are derived from it."""
        row = progress[[P_SUBJECT, P_PREDICATE, P_OBJECT]].astype(np.int32).reshape(1, 3)
        none = row[:0]
        self.alter(self.derived.change(row, none) if progress[P_SIGN] > 0 else self.derived.change(none, row))

    def alter(self, changes: DerivedChange) -> None:
        """Removes and adds derived edges, each as a run of its own in the midst of an update."""
        outer = self._run.progress
        for rows, sign in ((changes.removed, -1), (changes.added, 1)):
            for row in rows.tolist():
                progress = np.zeros(PROGRESS, np.int64)
                progress[[P_EDGE, P_SITE, P_UPDATE, P_SIGN]] = -1, -2, -1, sign
                progress[[P_SUBJECT, P_PREDICATE, P_OBJECT]] = row
                self._run = self._run._replace(progress=progress)
                while (reason := kernels.run(self.world())) != DONE:
                    self.make_room(reason)
        self._run = self._run._replace(progress=outer)

    # --- room ---------------------------------------------------------------------------------------------------

    def make_room(self, reason: int) -> None:
        """Makes room for what a kernel lacks."""
        {
            NEED_GRAPH: self.graph.grow,
            NEED_ADJACENCY: self.graph.keep_adjacency,
            NEED_STATES: self._grow_states,
            NEED_WORK: self._grow_work,
            NEED_REPORTS: self._make_reports,
            NEED_CHANGES: self._grow_changes,
            NEED_JOURNAL: self._grow_journal,
        }[reason]()

    def _grow_states(self) -> None:
        old = self.states
        self.states = zeros(StateArrays, entries=2 * len(old.entries), counts=1)._replace(marks=old.marks)
        kernels.rehash(old.entries, self.world())

    def _grow_work(self) -> None:
        used, needed = len(self._work.items), int(self._reports.state[NEEDED])
        size = first_room(max(2 * used, used + needed), used + needed)
        self._work = enlarge(self._work, items=size, payloads=size)

    def _make_reports(self) -> None:
        """Room for events: by dropping those that nobody would be notified of, or by more of it."""
        state = self._reports.state
        if self.trim is not None and state[EVENTS] >= _MOST_EVENTS and not self._may_regain:
            kept = self.trim(self.take(), int(state[UPDATE]))
            while len(kept.rows) > len(self._reports.rows):  # what several shared each of them has now
                self._grow_reports()
            self._reports.events[: len(kept.events)], self._reports.rows[: len(kept.rows)] = kept.events, kept.rows
            state[EVENTS], state[VALUES] = len(kept.events), len(kept.rows)
        spare = first_room(2, 1)  # as much again is left free: what was dropped may come again at once
        events, rows = spare * (state[EVENTS] + state[NEEDED]), spare * (state[VALUES] + state[NEEDED])
        if events > len(self._reports.events) or rows > len(self._reports.rows):
            self._grow_reports()

    @property
    def _may_regain(self) -> bool:
        """Whether an update may gain what it has lost: one that replaces an edge, where others are derived from it."""
        update, ops = int(self._reports.state[UPDATE]), self._batch.op
        return bool(self.derived.wanted) and update < len(ops) and int(ops[update]) == SET_EDGE

    def _grow_reports(self) -> None:
        needed = int(self._reports.state[NEEDED])
        events, rows = (
            first_room(2 * len(each) + needed, len(each) + needed)
            for each in (self._reports.events, self._reports.rows)
        )
        self._reports = enlarge(self._reports, events=events, rows=rows)

    def _grow_changes(self) -> None:
        needed = int(self._reports.state[NEEDED])
        self._run = self._run._replace(changes=np.zeros(first_room(2 * needed, needed), np.int32))

    # --- the journal --------------------------------------------------------------------------------------------

    def keep_journal(self, kept: bool) -> None:
        """Whether what becomes of edges is written down."""
        if kept and not len(self._journal.rows):
            size = first_room(_FIRST_JOURNAL)
            self._journal, self._ready = enlarge(self._journal, rows=size, weights=size), None
        self._journal.state[KEPT] = kept

    def read_journal(self) -> tuple[Int32s, Floats]:
        """What became of edges since it was last read: rows and weights; see `layout`."""
        used = int(self._journal.state[JOURNALLED])
        self._journal.state[JOURNALLED] = 0
        return self._journal.rows[:used].copy(), self._journal.weights[:used].copy()

    def _grow_journal(self) -> None:
        rows = len(self._journal.rows)
        size = first_room(2 * rows, rows + 1)
        self._journal = enlarge(self._journal, rows=size, weights=size)

    # --- new queries --------------------------------------------------------------------------------------------

    def populate(self, proven: Set[int] = frozenset()) -> None:
        """Finds out silently what is new in the network: what is heard, and where components hold. Components that are
        `proven`, and those that are counted with them, are not given up."""
        network, fresh = self.network, self.network.fresh
        if not fresh:
            return
        self.graph.keep_adjacency()
        if self.graph.arrays.counters[LIVE]:
            self.prepare()
            for _, messages in groupby(fresh.messages, key=lambda each: network.messages.level(each[0])):
                self._fill(dict(messages))
            self._reports.state[ONLY_FRESH] = True  # only components that are new take note of a solution
            owners = {component: network.groups.group_of(component) for component in fresh.components}
            known = {group for component, group in owners.items() if component in proven}
            for bounded in (False, True):
                self.begin_round(bounded=bounded)
                self._count([component for component, group in owners.items() if (group not in known) == bounded])
            self._reports.state[ONLY_FRESH] = False
            self.forget()
        network.populated()

    def _fill(self, bits: dict[int, int]) -> None:
        """Fills messages of one level."""
        keys = self.network.messages.rows.array[:, M_KEY]
        fresh = np.array(sorted(bits, key=lambda message: keys[message]), np.int32)
        masks = np.array([bits[message] for message in fresh.tolist()], np.uint64)
        slots = np.zeros(1 << max(4, (4 * len(fresh) - 1).bit_length()), np.int32)
        progress = np.zeros(1, np.int64)
        while (reason := kernels.populate(self.world(), fresh, masks, slots, progress)) != DONE:
            self.make_room(reason)

    def _count(self, components: Iterable[int]) -> None:
        """Counts the places where new components hold: from driving constants, from the first message that a group of
        one slot hears, or by all solutions of a group."""
        groups = self.network.groups
        constants = list({groups.constant_of(component): None for component in components})
        owners = groups.constants.array[constants, C_GROUP].tolist()
        driven = [row for row, group in zip(constants, owners, strict=True) if self._is_driven(group)]
        others = [group for group in dict.fromkeys(owners) if not self._is_driven(group)]
        if driven:
            kernels.drive(self.world(), np.array(driven, np.int32))
        first = {group: self._first_message(group) for group in others}
        hearing = sorted((group for group in others if first[group] >= 0), key=first.__getitem__)
        if hearing:
            messages = np.arange(self.network.messages.rows.used + 1)
            firsts = np.searchsorted([first[group] for group in hearing], messages).astype(np.int32)
            kernels.survey(self.world(), firsts, np.array(hearing, np.int32))
        for group in others:
            if first[group] < 0 and groups.rows.array[group, G_KIND] != ROWS:
                self.list_all(group)

    def _is_driven(self, group: int) -> bool:
        return bool(self.network.groups.rows.array[group, G_DRIVER_KEY] >= 0)

    def _first_message(self, group: int) -> int:
        """The first message that a group of one slot hears, or -1."""
        row, parts = self.network.groups.rows.array[group], self.network.arrays.parts
        if row[G_SLOTS] != 1 or row[G_EDGES]:
            return -1
        for part in range(row[G_FIRST_PART], row[G_FIRST_PART] + row[G_PARTS]):
            if parts[part, P_KIND] == PART_HEARS:
                return int(parts[part, P_REF])
        return -1


def _scratch(size: int) -> JoinArrays:
    return zeros(JoinArrays, path=size, masks=size, cursors=size)


def _batch(arrays: Iterable[Any]) -> UpdateArrays:
    return UpdateArrays(*map(_fixed, arrays))


def _fixed(column: Any) -> Any:
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


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
        known, first = self._network.domains, self._terms
        if terms > len(known):
            larger = np.zeros((max(terms, 2 * len(known)), 2), np.float64)
            larger[: len(known)] = known
            self._network.domains = known = larger
        if terms > first:
            places = places_of(self._vocabulary, first, terms)
            known[first:terms, COORDINATE] = places.coordinate
            known[first:terms, DOMAIN_CODE] = places.domain + ROUNDED_CODE * places.rounded
        fresh = np.arange(first, terms)
        self._doubtful = np.concatenate((self._doubtful, fresh[self._is_doubtful(fresh)]))
        return fresh

    def _is_doubtful(self, terms: Int64s) -> Flags:
        codes = self._network.domains[terms, DOMAIN_CODE]
        doubtful: Flags = (codes >= ROUNDED_CODE) | (codes == Domain.FLOAT)
        return doubtful

    def _ties(self, test: int, first: int) -> Int64s:
        """The terms from `first` on that tie with a rounded end of a test."""
        rounded = self._ends(test)
        known = self._network.domains[first : len(self._vocabulary)]
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
