"""The machine: an evolving graph, the queries over it, and the kernels that carry updates from one to the other.

The law: a batch leaves graph, messages and counts as its updates would one by one, and its events are told in order.
A kernel that lacks room stops where it stands; the machine makes room and lets it go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from heliograph.compiled.growing import first_room
from heliograph.watch.derived import Changes, Derived
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import (
    CANDIDATES,
    CURSOR_COLUMNS,
    DEPTH,
    DONE,
    EDGES,
    EVENT_COLUMNS,
    EVENTS,
    FREE_ITEM,
    G_SLOTS,
    JOURNAL_COLUMNS,
    JOURNALLED,
    KEPT,
    LAST_STAMP,
    LOWEST,
    MOST_EVENTS,
    MOST_LEVELS,
    NEED_ADJACENCY,
    NEED_CHANGES,
    NEED_DERIVED,
    NEED_GRAPH,
    NEED_JOURNAL,
    NEED_REPORTS,
    NEED_STATES,
    NEED_WORK,
    NEEDED,
    ONLY_FRESH,
    P_EDGE,
    P_OBJECT,
    P_PREDICATE,
    P_SIGN,
    P_SITE,
    P_SUBJECT,
    P_UPDATE,
    PARTS_OF_WORLD,
    PAUSED,
    PROGRESS,
    Q_STAMP,
    STAMP,
    TOO_MANY,
    TOUCHED,
    UPDATE,
    USED,
    VALUES,
    W_VALUE,
    Batch,
    Floats,
    Int32s,
    Int64s,
    Journal,
    Reports,
    Run,
    Scratch,
    States,
    Work,
)
from heliograph.watch.network import Network
from heliograph.watch.updates import ENCODING_SET, Encoded

_FIRST_STATES, _FIRST_ITEMS, _FIRST_EVENTS, _FIRST_ROWS, _FIRST_CHANGES = 1 << 10, 1 << 12, 1 << 12, 1 << 14, 1 << 10
_FIRST_JOURNAL = 1 << 10
_MOST_EVENTS = 1 << 18  # that are held before they are told
_SCRATCH = 64  # slots, parts and steps of one group
_IDLE = 1 << 20  # kernels.network_work.IDLE
_NO_SITES = np.zeros(1, np.int32)


class Events(NamedTuple):
    """What some updates changed, in order; see `network_layout` for the columns. Rows of solutions stand in `rows`."""

    events: Int64s
    rows: Int32s
    candidates: int
    updates: int = 0  # that were applied

    def listed(self, which: Any, slots: int) -> Int32s:
        """The solutions of some of the events, all of so many slots."""
        rows: Int32s = self.rows[self.events[which, W_VALUE, None] + np.arange(slots)]
        return rows


Trim = Callable[[Events, int], Events]  # what is left of events, if there is no room in the midst of an update


class _World:
    """The addresses and lengths of arrays, which are kept for as long as they stand there."""

    def __init__(self) -> None:
        count = sum(len(part._fields) for part in PARTS_OF_WORLD)
        self._arrays: list[Any] = [None] * count
        self._table = np.zeros(2 * count, np.int64)
        self.table: Int64s = _fixed(self._table)

    def update(self, arrays: Iterable[Any]) -> None:
        for place, array in enumerate(arrays):
            if array is not self._arrays[place]:
                self._arrays[place] = array
                self._table[2 * place] = array.__array_interface__["data"][0]
                self._table[2 * place + 1] = len(array)


class Machine:
    """Runs updates over a graph and a network."""

    def __init__(self, graph: FlatGraph, network: Network, derived: Derived) -> None:
        self.graph, self.network, self.derived = graph, network, derived
        self.states = _states(first_room(_FIRST_STATES))
        self._work = _work(first_room(_FIRST_ITEMS))
        self._reports = _reports(first_room(_FIRST_EVENTS), first_room(_FIRST_ROWS))
        self._scratch = _scratch(first_room(_SCRATCH))
        self._batch = _batch(Encoded.none(), np.empty(0, np.int32))
        self._run = Run(_progress(), np.zeros(first_room(_FIRST_CHANGES), np.int32))
        self._journal = _journal(0)
        self._world = _World()
        self.trim: Trim | None = None
        self._seen: Int32s = np.empty(0, np.int32)  # properties of edges, as far as somebody derives edges

    @property
    def nbytes(self) -> int:
        network = sum(array.nbytes for array in self.network.arrays)
        return self.graph.nbytes + network + sum(array.nbytes for array in self.states)

    # --- updates ------------------------------------------------------------------------------------------------

    def run(self, updates: Encoded) -> Events:
        """Applies updates, all of them or as many as there is much to tell of; what they changed."""
        from heliograph.watch.network_kernels import run, run_quick

        self.prepare()
        self._reports.state[CANDIDATES] = 0
        self._batch, self._run = _batch(updates, self._deriving(updates)), self._run._replace(progress=_progress())
        while (reason := (run_quick if self._is_quick else run)(self.world())) not in (DONE, PAUSED):
            if reason == NEED_DERIVED:
                self._derive(self._run.progress)
            else:
                self.make_room(reason)
        return self.take()._replace(updates=int(self._run.progress[P_UPDATE]))

    def reserve(self, edges: int) -> None:
        """Makes room for many more edges at once; few of them are better left to growth, which is geometric."""
        if edges > self.graph.arrays.counters[EDGES] // 4:
            self.graph.reserve(edges=edges)

    @property
    def counts_too_many(self) -> bool:
        """Whether a count passed what can be told."""
        return bool(self._reports.state[TOO_MANY])

    def take(self) -> Events:
        """The events so far, which are forgotten."""
        reports = self._reports
        events = reports.events[: reports.state[EVENTS]].copy()
        rows = reports.rows[: reports.state[VALUES]].copy()
        reports.state[EVENTS] = reports.state[VALUES] = 0
        return Events(events, rows, int(reports.state[CANDIDATES]))

    def forget(self) -> None:
        """Nothing of what was touched is told."""
        state = self._reports.state
        state[EVENTS] = state[VALUES] = state[TOUCHED] = 0
        state[STAMP] += 1
        if state[STAMP] > LAST_STAMP:
            self.network.queries.rows.array[:, Q_STAMP] = 0
            state[STAMP] = 1

    @property
    def _is_quick(self) -> bool:
        """Whether nobody asks for more than whole edges."""
        graph = self.graph.arrays
        return not (self.network.sites.heads.used or len(graph.runs) or len(graph.times) or len(graph.weights))

    def prepare(self) -> None:
        """Room for whatever is one a query, a message or a term."""
        queries, messages = self.network.queries.rows.used, len(self.network.messages.rows.array)
        if len(self._reports.touched) < queries:
            self._reports = self._reports._replace(touched=np.zeros(first_room(2 * queries, queries), np.int32))
        if len(self._work.plans) < messages:
            plans, sayings = np.zeros((messages, 2), np.int64), np.zeros(messages, np.uint64)
            self._work = self._work._replace(plans=plans, sayings=sayings)
        if self.network.messages.rows.used:
            self._cover(len(self.graph.arrays.first))
        if len(self._scratch.path) < self.network.widest:
            widest = self.network.widest
            self._scratch = _scratch(first_room(2 * widest, widest))

    def _cover(self, terms: int) -> None:
        """Makes marks for all term ids that may be ends of edges."""
        marks = self.states.marks
        if len(marks) < terms:
            larger = np.zeros(terms, np.uint64)
            larger[: len(marks)] = marks
            self.states = self.states._replace(marks=larger)

    def only_fresh(self, only: bool) -> None:
        """Whether only components that are new take note of a solution."""
        self._reports.state[ONLY_FRESH] = only

    def list_all(self, group: int, filled: tuple[int, ...] = ()) -> None:
        """Meets all solutions of a group, its holes filled, which are listed or counted."""
        from heliograph.watch.network_kernels import list_all

        self.prepare()  # whoever shares the pattern is touched
        slots = int(self.network.groups.rows.array[group, G_SLOTS])
        self._scratch.path[slots - len(filled) : slots] = filled
        while (reason := list_all(self.world(), group)) != DONE:
            self.make_room(reason)

    def world(self) -> Int64s:
        """Where kernels find everything; see `kernels.network_world`. Valid until something grows or is changed."""
        arrays = self.network.arrays
        if not self.network.sites.heads.used:
            arrays = arrays._replace(site_slots=_NO_SITES)  # kernels need not even look
        room = (self.states, self._work, self._reports, self._scratch)
        whole = (*room, self._batch, self._run, self._journal)
        self._world.update(chain(self.graph.arrays, self.graph.window, arrays, *whole))
        return self._world.table

    # --- derived edges ------------------------------------------------------------------------------------------

    def _deriving(self, updates: Encoded) -> Int32s:
        """The properties from whose edges others are derived."""
        if not self.derived.wanted:
            return np.empty(0, np.int32)
        known = updates.predicate[updates.predicate >= 0]
        self._seen = np.union1d(self._seen, known).astype(np.int32)
        return self._seen[self.derived.concerned(self._seen)]

    def _derive(self, progress: Int64s) -> None:
        """Follows a changed edge in the edges that are derived from it."""
        row = progress[[P_SUBJECT, P_PREDICATE, P_OBJECT]].astype(np.int32).reshape(1, 3)
        none = row[:0]
        self.alter(self.derived.change(row, none) if progress[P_SIGN] > 0 else self.derived.change(none, row))

    def alter(self, changes: Changes) -> None:
        """Removes and adds derived edges."""
        for rows, sign in ((changes.removed, -1), (changes.added, 1)):
            for row in rows.tolist():
                self._alter(row, sign)

    def _alter(self, row: list[int], sign: int) -> None:
        from heliograph.watch.network_kernels import run

        outer, progress = self._run, _progress()
        progress[[P_SUBJECT, P_PREDICATE, P_OBJECT, P_SIGN]] = (*row, sign)
        progress[P_UPDATE] = -1
        self._run = outer._replace(progress=progress)
        while (reason := run(self.world())) != DONE:
            self.make_room(reason)
        self._run = self._run._replace(progress=outer.progress)

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
        from heliograph.watch.network_kernels import rehash

        old, larger = self.states, _states(2 * len(self.states.entries))
        self.states = larger._replace(marks=old.marks)
        rehash(old.entries, self.world())

    def _grow_work(self) -> None:
        old, needed = self._work, int(self._reports.state[NEEDED])
        larger = _work(first_room(max(2 * len(old.items), len(old.items) + needed), len(old.items) + needed))
        larger.items[: len(old.items)], larger.payloads[: len(old.items)] = old.items, old.payloads
        self._work = old._replace(items=larger.items, payloads=larger.payloads)

    def _make_reports(self) -> None:
        """Room for what is told: by dropping what nobody would be, or by more of it."""
        state = self._reports.state
        if self.trim is not None and state[EVENTS] >= _MOST_EVENTS and not self._may_regain:
            self._keep(self.trim(self.take(), int(state[UPDATE])))
        spare = first_room(2, 1)  # as much again is left free: what was dropped may come again at once
        events, rows = spare * (state[EVENTS] + state[NEEDED]), spare * (state[VALUES] + state[NEEDED])
        if events > len(self._reports.events) or rows > len(self._reports.rows):
            self._grow_reports()

    @property
    def _may_regain(self) -> bool:
        """Whether an update may gain what it has lost: one that replaces an edge, where others are derived from it."""
        update, ops = int(self._reports.state[UPDATE]), self._batch.op
        return bool(self.derived.wanted) and update < len(ops) and int(ops[update]) == ENCODING_SET

    def _keep(self, kept: Events) -> None:
        while len(kept.rows) > len(self._reports.rows):  # what several shared each of them has now
            self._grow_reports()
        reports = self._reports
        reports.events[: len(kept.events)], reports.rows[: len(kept.rows)] = kept.events, kept.rows
        reports.state[EVENTS], reports.state[VALUES] = len(kept.events), len(kept.rows)

    def _grow_reports(self) -> None:
        old, needed = self._reports, int(self._reports.state[NEEDED])
        sizes = (first_room(2 * len(each) + needed, len(each) + needed) for each in (old.events, old.rows))
        events, rows = np.zeros((next(sizes), EVENT_COLUMNS), np.int64), np.zeros(next(sizes), np.int32)
        events[: len(old.events)], rows[: len(old.rows)] = old.events, old.rows
        self._reports = old._replace(events=events, rows=rows)

    def _grow_changes(self) -> None:
        needed = int(self._reports.state[NEEDED])
        self._run = self._run._replace(changes=np.zeros(first_room(2 * needed, needed), np.int32))

    # --- the journal --------------------------------------------------------------------------------------------

    def keep_journal(self, kept: bool) -> None:
        """Whether what becomes of edges is written down."""
        if kept and not len(self._journal.rows):
            self._journal = _journal(first_room(_FIRST_JOURNAL))
        self._journal.state[KEPT] = kept

    def read_journal(self) -> tuple[Int32s, Floats]:
        """What became of edges since it was last read: rows and weights; see `network_layout`."""
        used = int(self._journal.state[JOURNALLED])
        self._journal.state[JOURNALLED] = 0
        return self._journal.rows[:used].copy(), self._journal.weights[:used].copy()

    def _grow_journal(self) -> None:
        old = self._journal
        larger = _journal(first_room(2 * len(old.rows), len(old.rows) + 1), old.state)
        larger.rows[: len(old.rows)], larger.weights[: len(old.rows)] = old.rows, old.weights
        self._journal = larger

    def see(self, predicates: Int32s) -> None:
        """Takes note of properties of edges that came another way than by updates."""
        self._seen = np.union1d(self._seen, predicates).astype(np.int32)


def _states(size: int) -> States:
    return States(np.zeros((size, 2), np.uint64), np.zeros(0, np.uint64), np.zeros(1, np.int64))


def _scratch(size: int) -> Scratch:
    return Scratch(np.zeros(size, np.int32), np.zeros(size, np.uint64), np.zeros((size, CURSOR_COLUMNS), np.int64))


def _work(size: int) -> Work:
    state = np.zeros(4, np.int64)
    state[USED], state[FREE_ITEM], state[LOWEST] = 0, -1, _IDLE
    return Work(
        items=np.zeros((size, 3), np.int32),
        payloads=np.zeros(size, np.uint64),
        levels=np.full(MOST_LEVELS + 1, -1, np.int32),
        plans=np.zeros((0, 2), np.int64),
        sayings=np.zeros(0, np.uint64),
        state=state,
    )


def _reports(events: int, rows: int) -> Reports:
    state = np.zeros(12, np.int64)
    state[STAMP], state[DEPTH], state[MOST_EVENTS] = 1, -1, _MOST_EVENTS
    return Reports(
        np.zeros((events, EVENT_COLUMNS), np.int64), np.zeros(rows, np.int32), np.zeros(first_room(16), np.int32), state
    )


def _journal(size: int, state: Int64s | None = None) -> Journal:
    rows, weights = np.zeros((size, JOURNAL_COLUMNS), np.int32), np.zeros(size, np.float64)
    return Journal(rows, weights, np.zeros(2, np.int64) if state is None else state)


def _progress() -> Int64s:
    progress = np.zeros(PROGRESS, np.int64)
    progress[P_EDGE], progress[P_SITE] = -1, -2
    return progress


def _batch(updates: Encoded, deriving: Int32s) -> Batch:
    return Batch(*(_fixed(column) for column in (*updates.columns, deriving)))


def _fixed(column: Any) -> Any:
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view
