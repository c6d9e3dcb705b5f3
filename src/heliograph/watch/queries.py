"""Subscriptions inside the indexed strategy: how each is answered, entered in the network and populated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np

from heliograph.errors import StorageError
from heliograph.filter.layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.sparql.query import Expression, Form, Query
from heliograph.sparql.regions import ROUNDED, Domain, places_of
from heliograph.sparql.solve import Plan
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.derived import Derived
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import (
    C_GROUP,
    DONE,
    ENTER_HIGH,
    ENTER_LOW,
    G_DRIVER_KEY,
    G_EDGES,
    G_FIRST_PART,
    G_KIND,
    G_PARTS,
    G_SLOTS,
    HELD,
    LATEST,
    LIVE,
    M_KEY,
    NONE,
    P_KIND,
    P_REF,
    PART_HEARS,
    PREDICATE,
    Q_COUNT,
    Q_MISSING,
    Q_ROWS,
    Q_TRUTH,
    ROWS,
    STAY_HIGH,
    STAY_LOW,
    W_REF,
    Floats,
    Int32s,
    Int64s,
)
from heliograph.watch.metrics.calls import parted_filters, ranging
from heliograph.watch.metrics.meter import Meter, Page, make_measure
from heliograph.watch.metrics.queries import MetricQuery, MetricValues, changes_of
from heliograph.watch.modes import Counted, Key, Match, Ranked, Ranking, Turn, current, order
from heliograph.watch.network import Limits, Network
from heliograph.watch.network_compile import Compiled
from heliograph.watch.options import Options
from heliograph.watch.runner import Machine
from heliograph.watch.solutions import Changes, Completion, Deltas, Every, Grouped, Tally, deltas_of, limits_of
from heliograph.watch.state import Aside, Interest, Memory, Reevaluation, Report, Watched, afresh, standing

# ----------------------------------------------------------------------------------------------------------------------
# A subscription inside the indexed strategy: the way it is answered, and what it tells of events.
#
# Three ways. *Truth*: somebody is told when nothing is missing any more, and when something is again. *Count*: when
# the count crosses its limits. *Rows*: solutions gained and lost are listed, and `deltas` says what that means.
# ----------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Entry:
    """A subscription, its row in the network, and what is needed to tell of it."""

    interest: Interest
    kind: int
    row: int
    slots: int = 0  # of a solution of its pattern
    completion: Completion | None = None
    deltas: Deltas | None = None
    judged: MetricQuery | None = None  # what is asked of metrics
    rule: Counted | None = None  # of a count that is judged here, change by change
    held: bool = False  # whether such a count holds
    is_change: bool = True  # whether of truth nothing but its change is told

    @property
    def id(self) -> str:
        return self.interest.subscription.id

    @property
    def number(self) -> int:
        return self.interest.subscription.number

    @property
    def query(self) -> Query:
        return self.interest.subscription.query

    @property
    def is_stateless(self) -> bool:
        """Whether nothing need be known of what stands."""
        return isinstance(self.deltas, Every)

    @property
    def shown(self) -> tuple[Variable, ...]:
        return () if self.deltas is None else self.deltas.shown


def kind_of(query: Query, options: Options) -> int:
    """The way in which a query would best be answered."""
    if query.metrics:
        return Q_ROWS
    if options.top is not None:
        return Q_ROWS if query.distinct else Q_COUNT
    if query.having is not None:
        return Q_ROWS if query.group_by else Q_COUNT
    if query.form is Form.ASK or options.mode == "change":
        return Q_TRUTH
    return Q_TRUTH if is_concrete(query) else Q_ROWS


def is_concrete(query: Query) -> bool:
    """Whether a query asks for edges between constants and nothing else."""
    if query.filters or query.values or not query.patterns:
        return False
    return set(map(type, chain.from_iterable(query.patterns))) == {Term}


def listing(entry: Entry, completion: Completion) -> Entry:
    """An entry that is told solutions."""
    entry.completion = completion
    entry.deltas = deltas_of(entry.query, entry.interest.options, completion)
    return entry


# --- turns ------------------------------------------------------------------------------------------------------


def truth_match(entry: Entry) -> Match:
    """What is told of a query that is true; `each` match of one without variables binds nothing."""
    return Match() if entry.is_change else Match({}, None, {})


def truth_turn(entry: Entry, sign: int) -> Turn:
    match = truth_match(entry)
    return Turn((), (match,)) if sign > 0 else Turn((match,), ())


def count_turn(entry: Entry, sign: int, count: int) -> Turn:
    """What a count that crossed its limits tells; one without limits is judged here."""
    if entry.rule is not None:
        holds = entry.rule.holds((), count, entry.held)
        sign, entry.held = int(holds) - int(entry.held), holds
    match = Match(None, count)
    return Turn((match,) if sign < 0 else (), (match,) if sign > 0 else ())


def rows_turn(entry: Entry, rows: Int32s, witness: bool) -> Turn:
    """What solutions of the pattern tell, if they are all that there is."""
    assert entry.completion is not None
    assert entry.deltas is not None
    terms = entry.completion(rows).terms
    none, gained = np.zeros(len(terms), np.int64), np.ones(len(terms), np.bool_)
    told = list(entry.deltas.follow(Changes(none, none, gained, terms), witness))
    return told[0].turn if told else Turn()


# ----------------------------------------------------------------------------------------------------------------------
# Where terms lie, for the tests of queries: kept up to date as the vocabulary grows.
#
# A kernel decides nearly every test by a term's domain and coordinate. A term in doubt (a rounded coordinate, an
# xsd:float) is judged here, once for each test, as is one that ties with the rounded end of a test.
# ----------------------------------------------------------------------------------------------------------------------


class Judge:
    """The domains of all terms, and verdicts on those in doubt."""

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
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
            self._judge(test, doubtful)
        for test in self._rounded:
            self._judge(test, self._ties(test, self._terms))
        for test in range(self._tests, tests):
            self._meet(test)
        self._tests, self._terms = tests, terms

    def _meet(self, test: int) -> None:
        """Judges for a new test all terms that are in doubt there."""
        self._judge(test, self._doubtful)
        if len(self._ends(test)):
            self._rounded.append(test)
            self._judge(test, self._ties(test, 0))

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

    def _is_doubtful(self, terms: Int64s) -> np.ndarray:
        codes = self._network.domains[terms, DOMAIN_CODE]
        doubtful: np.ndarray = (codes >= ROUNDED_CODE) | (codes == Domain.FLOAT)
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

    def _judge(self, test: int, terms: Int64s) -> None:
        for term in terms.tolist():
            verdict = self._network.judge(test, self._vocabulary.term(term))
            self._network.verdicts.put(test, term, int(verdict))


# ----------------------------------------------------------------------------------------------------------------------
# New queries over a graph that is there already: what they hear and where they hold, found out silently.
#
# The law: afterwards the network stands as if every query had been there before the first edge.
# ----------------------------------------------------------------------------------------------------------------------


def populate(machine: Machine) -> None:
    """Populates what is fresh in a machine's network."""
    network = machine.network
    fresh = network.fresh
    if not fresh:
        return
    machine.graph.keep_adjacency()
    if machine.graph.arrays.counters[LIVE]:
        machine.prepare()
        levels = groupby(fresh.messages, key=lambda each: network.messages.level(each[0]))
        for _, messages in levels:
            _fill(machine, dict(messages))
        _count(machine, fresh.components)
        machine.forget()
    network.settled()


# --- messages ---------------------------------------------------------------------------------------------------


def _fill(machine: Machine, bits: dict[int, int]) -> None:
    """Fills messages of one level."""
    from heliograph.watch.network_kernels import populate as fill

    keys = machine.network.messages.rows.array[:, M_KEY]
    fresh = np.array(sorted(bits, key=lambda message: keys[message]), np.int32)
    masks = np.array([bits[message] for message in fresh.tolist()], np.uint64)
    slots = np.zeros(1 << max(4, (4 * len(fresh) - 1).bit_length()), np.int32)
    progress = np.zeros(1, np.int64)
    while (reason := fill(machine.world(), fresh, masks, slots, progress)) != DONE:
        machine.make_room(reason)


# --- components -------------------------------------------------------------------------------------------------


def _count(machine: Machine, components: Iterable[int]) -> None:
    """Counts the places where fresh components hold."""
    groups = machine.network.groups
    constants = {groups.constant_of(component): None for component in components}
    rows = groups.constants.array[list(constants), C_GROUP]
    driven = [row for row, group in zip(constants, rows.tolist(), strict=True) if _is_driven(machine, group)]
    others = [group for group in dict.fromkeys(rows.tolist()) if not _is_driven(machine, group)]
    machine.only_fresh(True)
    _drive(machine, driven)
    _survey(machine, [group for group in others if _first_message(machine, group) >= 0])
    for group in others:
        if _first_message(machine, group) < 0 and groups.rows.array[group, G_KIND] != ROWS:
            machine.list_all(group)
    machine.only_fresh(False)


def _is_driven(machine: Machine, group: int) -> bool:
    return bool(machine.network.groups.rows.array[group, G_DRIVER_KEY] >= 0)


def _first_message(machine: Machine, group: int) -> int:
    """The first message that a group of one slot hears, or -1."""
    row, parts = machine.network.groups.rows.array[group], machine.network.arrays.parts
    if row[G_SLOTS] != 1 or row[G_EDGES]:
        return -1
    for part in range(row[G_FIRST_PART], row[G_FIRST_PART] + row[G_PARTS]):
        if parts[part, P_KIND] == PART_HEARS:
            return int(parts[part, P_REF])
    return -1


def _drive(machine: Machine, constants: list[int]) -> None:
    from heliograph.watch.network_kernels import drive

    if constants:
        drive(machine.world(), np.array(constants, np.int32))


def _survey(machine: Machine, groups: list[int]) -> None:
    from heliograph.watch.network_kernels import survey

    if not groups:
        return
    firsts, ordered = _by_message(machine, groups)
    survey(machine.world(), firsts, ordered)


def _by_message(machine: Machine, groups: list[int]) -> tuple[Int32s, Int32s]:
    """Where the groups of each message begin, and the groups in order of their first messages."""
    messages = np.array([_first_message(machine, group) for group in groups])
    order = np.argsort(messages, kind="stable")
    count = machine.network.messages.rows.used
    firsts = np.searchsorted(messages[order], np.arange(count + 1)).astype(np.int32)
    return firsts, np.array(groups, np.int32)[order]


# ----------------------------------------------------------------------------------------------------------------------
# Who is entered in the network, and where they stand.
#
# The law: what stands for a subscription is what the graph says, and for those whose standing depends on the past (a
# hysteresis, a place in a top-k set) what `Memory` says besides. Whoever is entered over a graph is settled silently.
# ----------------------------------------------------------------------------------------------------------------------

_WRAP = 1 << 64
_PREDICATE = itemgetter(1)
_DERIVED = frozenset({RDF_TYPE, RDFS_MEMBER})  # properties of edges that others may stand for


class Enrolment:
    """All subscriptions of an indexed strategy."""

    def __init__(
        self, graph: FlatGraph, derived: Derived, vocabulary: Vocabulary, memory: Memory, aside: Aside
    ) -> None:
        self._graph, self._derived, self._vocabulary, self.aside = graph, derived, vocabulary, aside
        self.network = Network(vocabulary.intern, derived, graph)
        self.machine = Machine(graph, self.network, derived)
        self._judge = Judge(self.network, vocabulary)
        self.meter = Meter(graph, vocabulary, make_measure, memory.measures)
        self.measured: dict[MetricQuery, Entry] = {}  # those who ask metrics
        self.entries: dict[str, Entry] = {}
        self.by_row: dict[int, Entry] = {}
        self.by_component: dict[int, dict[str, Entry]] = {}
        self.listing: Entry | None = None  # for whom alone solutions are being listed
        self.ranking = Ranking()
        self._memory = memory._replace(measures={})
        self._greeting: dict[str, None] = {}
        self._unsettled: dict[str, Entry] = {}
        self._truths = 0

    @property
    def garbage(self) -> int:
        return self.network.garbage

    @property
    def needs_single_updates(self) -> bool:
        """Whether a witness must be looked for at once: of truth without a solution, and of metrics."""
        return self._truths > 0 or bool(self.measured)

    def page(self) -> Page:
        """What the latest run wrote in the journal."""
        return self.meter.page(*self.machine.read_journal())

    @property
    def ranked(self) -> set[str]:
        return {id for id, entry in self.entries.items() if entry.interest.options.top is not None}

    # --- coming -------------------------------------------------------------------------------------------------

    def enter(self, interests: Sequence[Interest], greeted: Collection[str]) -> None:
        """Enters subscriptions over the graph as it is; some were `greeted` when they came first.

        What one that fails leaves behind in the network is not taken back: everything is to be made anew without it.
        """
        asking = [each.subscription.id for each in interests if each.options.initial]
        self._greeting |= dict.fromkeys(id for id in asking if id not in greeted or id in self._memory.greeting)
        plain = [each for each in interests if self._is_plain(each)]
        self._enter_concrete(plain)
        known = {each.subscription.id for each in plain}
        for each in interests:
            if each.subscription.id not in known and each.subscription.id not in self.aside:
                try:
                    self._enter(each)
                except StorageError:
                    raise
                except Exception as error:
                    self.aside.put(each.subscription.id, error)

    def _is_plain(self, interest: Interest) -> bool:
        """Whether a query waits for nothing but edges of the graph."""
        try:
            query = interest.subscription.query
        except Exception as error:
            self.aside.put(interest.subscription.id, error)
            return False
        if not is_concrete(query) or kind_of(query, interest.options) != Q_TRUTH:
            return False
        return _DERIVED.isdisjoint(map(_PREDICATE, query.patterns))

    def _enter_concrete(self, interests: Sequence[Interest]) -> None:
        if not interests:
            return
        patterns = [each.subscription.query.patterns for each in interests]
        terms: list[Any] = list(chain.from_iterable(chain.from_iterable(patterns)))
        edges = self._ids(terms).reshape(-1, 3)
        owner = np.repeat(np.arange(len(patterns)), [len(each) for each in patterns])
        self._graph.cover(len(self._vocabulary))
        row = self.network.add_concrete([each.subscription.number for each in interests], Q_TRUTH, edges, owner)
        for place, interest in enumerate(interests):
            self._admit(Entry(interest, Q_TRUTH, row + place, is_change=_is_change(interest)))

    def _ids(self, terms: Sequence[Term]) -> Int32s:
        """The ids of terms, most of which are the same objects again and again."""
        objects = list(map(id, terms))
        distinct = dict(zip(objects, terms, strict=True))
        numbers = dict(zip(distinct, self._vocabulary.intern_many(list(distinct.values())), strict=True))
        return np.fromiter(map(numbers.__getitem__, objects), np.int32, len(objects))

    def _enter(self, interest: Interest) -> None:
        query = interest.subscription.query
        if not query.patterns:
            self._admit(self._measuring(Entry(interest, Q_ROWS, NONE), (), query.filters))
            return
        compiled = self.network.compile(query, kind_of(query, interest.options))
        self._want(compiled)
        self._graph.cover(len(self._vocabulary))
        row = self.network.subscribe(interest.subscription.number, compiled)
        entry = Entry(interest, compiled.kind, row, len(compiled.slots), is_change=_is_change(interest))
        if query.metrics:
            self._measuring(entry, compiled.slots, compiled.remaining)
        elif compiled.kind == Q_ROWS:
            listing(entry, Completion(query, compiled.slots, self._vocabulary, compiled.remaining))
        elif compiled.kind == Q_COUNT:
            self._limit(entry)
        self._admit(entry)

    def _measuring(self, entry: Entry, slots: tuple[Variable, ...], filters: Sequence[Expression]) -> Entry:
        """An entry that asks metrics of the solutions of its pattern, if it has one."""
        asked, others = parted_filters(filters, ranging(entry.query))
        completion = Completion(entry.query, slots, self._vocabulary, others)
        hysteresis = 0.0 if entry.query.having is not None else entry.interest.options.hysteresis
        entry.judged = MetricQuery(completion, asked, self.meter, hysteresis)
        self.measured[entry.judged] = entry
        self.machine.keep_journal(True)
        return listing(entry, completion)

    def _admit(self, entry: Entry) -> None:
        options = entry.interest.options
        self.entries[entry.id] = self._unsettled[entry.id] = entry
        if entry.row >= 0:
            self.by_row[entry.row] = entry
        if entry.kind == Q_ROWS and entry.row >= 0:
            self.by_component.setdefault(self.network.component(entry.row), {})[entry.id] = entry
        self._truths += entry.kind == Q_TRUTH
        if options.top is not None:
            self.ranking.add(entry.id, options.top)
        if entry.kind != Q_ROWS:
            entry.interest.subscription.release()  # its objects would take more memory than the network does

    def _limit(self, entry: Entry) -> None:
        """Tells the network when a count matters."""
        query, options = entry.query, entry.interest.options
        limits = None
        if options.top is None and query.having is not None:
            limits = limits_of(query.having, options.hysteresis)
            entry.rule = Counted(query, options.hysteresis) if limits is None else None
        self.network.set_limits(entry.row, None if limits is None else Limits(*limits))

    def _want(self, compiled: Compiled) -> None:
        """Sees to it that edges a query asks for are derived."""
        for want in compiled.wants:
            if not self._derived.wanted:
                self.machine.see(np.unique(self._graph.arrays.edges[self._graph.edge_numbers(), PREDICATE]))
            rows = self._derived.want(*want)
            if len(rows):
                self._graph.load(rows[:, 0], rows[:, 1], rows[:, 2])

    # --- going --------------------------------------------------------------------------------------------------

    def leave(self, id: str) -> None:
        entry = self.entries.pop(id)
        if entry.judged is not None:
            entry.judged.leave()
            del self.measured[entry.judged]
            self.machine.keep_journal(bool(self.measured))
        if entry.kind == Q_ROWS and entry.row >= 0:
            component = self.network.component(entry.row)
            del self.by_component[component][id]
            if not self.by_component[component]:
                del self.by_component[component]
        if entry.row >= 0:
            del self.by_row[entry.row]
            self.network.unsubscribe(entry.row)
        self._truths -= entry.kind == Q_TRUTH
        self._greeting.pop(id, None)
        self._unsettled.pop(id, None)
        if id in self.ranking:
            self.ranking.remove(id)

    def forget(self, interest: Interest) -> None:
        """Somebody went who was still to be entered again."""
        top, memory = interest.options.top, self._memory.without((interest.subscription.id,))
        self._memory = memory if top is None else memory._replace(stirred=memory.stirred | {top.name})

    def unplace(self, ids: Iterable[str]) -> None:
        """The graph was changed silently before these were entered again."""
        self._memory = self._memory._replace(unplaced=self._memory.unplaced.union(ids))

    # --- settling -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Finds out what stands for whoever was entered, silently."""
        self._graph.cover(len(self._vocabulary))
        self._judge.extend()
        if not self._unsettled:
            return
        populate(self.machine)
        counts: dict[str, int] = {}
        for entry in self._unsettled.values():
            try:
                self._start(entry, self._memory.held.get(entry.id, ()))
                if id_ranked(entry):
                    counts[entry.id] = self.count(entry)
            except Exception as error:
                self.aside.put(entry.id, error)
        self._rank(counts)
        self._unsettled = {}

    def _rank(self, counts: dict[str, int]) -> None:
        memory = self._memory
        if memory != Memory():
            stood = {id: bool(memory.held[id]) for id in counts if id in memory.held}
            self.ranking.restore(stood, memory.stirred, memory.unplaced)
            self._memory = Memory()
        self.ranking.settle(counts)

    def _start(self, entry: Entry, held: tuple[Key, ...]) -> None:
        if entry.deltas is not None and entry.judged is not None:
            satisfied = self._memory.satisfied.get(entry.id, ())
            entry.deltas.start(entry.judged.start(self._solutions(entry), satisfied), held)
        elif entry.deltas is not None and entry.completion is not None:
            if not entry.is_stateless:
                entry.deltas.start(entry.completion(self.rows(entry)).terms, held)
        elif entry.kind == Q_COUNT:
            self._start_count(entry, bool(held))

    def _start_count(self, entry: Entry, held: bool) -> None:
        limits, count = self.network.queries.limits.array[entry.row], self.count(entry)
        if entry.rule is not None:
            entry.held = entry.rule.holds((), count, held)
        enters = limits[ENTER_LOW] <= count <= limits[ENTER_HIGH]
        limits[HELD] = enters or (held and limits[STAY_LOW] <= count <= limits[STAY_HIGH])
        limits[LATEST] = count

    # --- asking -------------------------------------------------------------------------------------------------

    def count(self, entry: Entry) -> int:
        """How many solutions a query has that is counted, or tallied from its rows."""
        if isinstance(entry.deltas, Tally):
            return entry.deltas.count
        if self.network.queries.rows.array[entry.row, Q_MISSING]:
            return 0
        total = 1
        for component in self.network.queries.components(entry.row):
            total = total * int(self.network.groups.values.array[component]) % _WRAP
        return total if total < _WRAP // 2 else total - _WRAP

    def standing(self, entry: Entry) -> Watched:
        """A query that asks metrics, with the solutions that satisfy what it asks."""
        assert entry.judged is not None
        assert entry.deltas is not None
        satisfying = map(entry.judged.completion.solution, sorted(entry.judged.true))
        return standing(entry.interest, satisfying, entry.deltas.standing)

    def placed(self, entry: Entry) -> Watched:
        """A member of a top-k set by the counts as they are, even where the next update will carry the news."""
        options = entry.interest.options
        assert options.top is not None
        count, place = self.ranking.count(entry.id), self.ranking.place(entry.id)
        mode = Ranked.placed(entry.query, options.top, count, place)
        return Watched(entry.interest.subscription, options, mode, Plan.of(entry.query))

    def selected(self, query: Query) -> frozenset[Term]:
        """The vertices that solutions of a query bind, where it asks for them."""
        asking = (judged for judged, each in self.measured.items() if each.query == query)
        judged = next(asking, None)
        return frozenset() if judged is None else frozenset(map(self._vocabulary.term, judged.selected))

    def is_true(self, entry: Entry) -> bool:
        return bool(self.network.queries.rows.array[entry.row, Q_MISSING] == 0)

    def _solutions(self, entry: Entry) -> Int32s:
        """All solutions of a query but for what it asks of metrics."""
        assert entry.completion is not None
        return entry.completion(self.rows(entry)).terms

    def rows(self, entry: Entry) -> Int32s:
        """All solutions of a listing query's pattern."""
        if entry.row < 0:
            return np.empty((1, 0), np.int32)  # of no pattern there is one
        component = self.network.component(entry.row)
        if component < 0:
            return np.empty((0, entry.slots), np.int32)
        groups, self.listing = self.network.groups, entry
        self.machine.list_all(groups.group_of(component), groups.filled(component))
        self.listing = None
        events = self.machine.take()
        self.machine.forget()
        return events.listed(events.events[:, W_REF] == component, entry.slots)

    # --- at first -----------------------------------------------------------------------------------------------

    def greet(self, answers: Reevaluation, witness: bool) -> tuple[Report, ...]:
        """What stands for those who asked to know it at first and have not been told."""
        greeted = sorted((self.entries[id] for id in self._greeting), key=lambda entry: entry.number)
        self._greeting.clear()
        reports = []
        for entry in greeted:
            try:
                reports.append(Report(self.report_of(entry), self._standing(entry, answers, witness)))
            except Exception as error:
                self.aside.put(entry.id, error)
        return tuple(reports)

    def _standing(self, entry: Entry, answers: Reevaluation, witness: bool) -> Turn:
        if id_ranked(entry):
            match = Match(None, self.count(entry))
            return Turn((), (match,) if self.ranking.stands(entry.id) else ())
        if entry.kind == Q_COUNT:
            held = entry.held if entry.rule else self.network.queries.limits.array[entry.row, HELD]
            return Turn((), (Match(None, self.count(entry)),) if held else ())
        if entry.kind == Q_TRUTH:
            return Turn((), (self._true(entry, answers, witness),) if self.is_true(entry) else ())
        if isinstance(entry.deltas, Grouped) and entry.deltas.standing:
            measured, held = entry.judged is not None, entry.deltas.standing
            known = self.standing(entry) if measured else afresh(entry.interest, answers, held, witness)
            return Turn((), current(known.mode))
        fresh = listing(Entry(entry.interest, entry.kind, entry.row, entry.slots), entry.completion)  # type: ignore[arg-type]
        if entry.judged is not None:
            return self._measured(entry, fresh, witness)
        return rows_turn(fresh, self.rows(entry), witness)

    def _measured(self, entry: Entry, fresh: Entry, witness: bool) -> Turn:
        assert entry.judged is not None
        assert fresh.deltas is not None
        verdicts = entry.judged.standing(witness)
        told = list(fresh.deltas.follow(changes_of(verdicts, entry.judged.columns), witness=True))
        return MetricValues(entry.judged, verdicts).valued(told[0]).turn if told else Turn()

    def _true(self, entry: Entry, answers: Reevaluation, witness: bool) -> Match:
        match = truth_match(entry)
        if not witness:
            return match
        return match._replace(witness=min(answers.answer(entry.query), key=order, default=None))

    def report_of(self, entry: Entry) -> Watched:
        return Watched(entry.interest.subscription, entry.interest.options, Shown(entry.shown), None)  # type: ignore[arg-type]

    # --- memory -------------------------------------------------------------------------------------------------

    def memory(self, waiting: Iterable[str] = ()) -> Memory:
        """What must be kept to restore everybody over the same graph; `waiting` are to be greeted too."""
        settled = (each for id, each in self.entries.items() if id not in self._unsettled and id not in self.aside)
        remembering = [entry for entry in settled if _remembers(entry)]
        held = {entry.id: self._held(entry) for entry in remembering}
        slack = (entry for entry in remembering if entry.interest.options.hysteresis and entry.query.having is None)
        satisfied = {entry.id: entry.judged.keys() for entry in slack if entry.judged is not None}
        greeting = tuple(dict.fromkeys((*self._memory.greeting, *self._greeting, *waiting)))
        stirred = frozenset(self.ranking.stirred | self._memory.stirred | self.ranking.sets_of(self.aside))
        unplaced = frozenset(self.ranking.unplaced | self._memory.unplaced)
        return Memory(
            greeting,
            stirred,
            {**self._memory.held, **held},
            unplaced,
            {**self._memory.satisfied, **satisfied},
            self.meter.saved(),
        ).without(self.aside)

    def _held(self, entry: Entry) -> tuple[Key, ...]:
        if id_ranked(entry):
            return ((),) if self.ranking.stands(entry.id) else ()
        if entry.kind == Q_COUNT:
            held = entry.held if entry.rule else self.network.queries.limits.array[entry.row, HELD]
            return ((),) if held else ()
        return entry.deltas.standing if entry.deltas is not None else ()


class Shown:
    """As much of a mode as reports look at."""

    __slots__ = ("shown",)

    def __init__(self, shown: tuple[Variable, ...]) -> None:
        self.shown = shown


def _is_change(interest: Interest) -> bool:
    return interest.subscription.query.form is Form.ASK or interest.options.mode == "change"


def id_ranked(entry: Entry) -> bool:
    return entry.interest.options.top is not None


def _remembers(entry: Entry) -> bool:
    """Whether what stands depends on more than the graph."""
    return id_ranked(entry) or bool(entry.interest.options.hysteresis)
