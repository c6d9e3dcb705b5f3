"""The indexed strategy: an update is followed once through what queries share; docs/watching.md names the limits.

Queries are compiled into a network over the evolving graph (`network_compile`, `network`), kernels carry each update
through it (`runner`, `network_kernels`), and the events that they write are made into a report here.

The law: it notifies of what `PlainStrategy` notifies of, in the same order. Subscriptions to an empty graph wait until
there is something to be entered over, so that a graph may be loaded or restored first; in every other case they are
entered at once.

A query is answered in one of three ways. *Truth*: an event says when nothing is missing any more, and when something is
again. *Count*: when the count crosses its limits. *Rows*: solutions gained and lost are listed, and its mode
(`changes`) says what that means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from heliograph.errors import StorageError
from heliograph.io.sources import collector_paused
from heliograph.sparql.query import Expression, Form, Query
from heliograph.sparql.solve import GivenUp, QueryPlan, Triple
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch import changes as completing
from heliograph.watch.changes import (
    Changes,
    CountRule,
    EachMatch,
    GroupCounts,
    Key,
    Match,
    MatchCount,
    MatchDelta,
    Mode,
    RankChange,
    Ranking,
    Solution,
    SolutionBuilder,
    holding,
    limits_of,
    mode_of,
    order,
)
from heliograph.watch.derived import Derived, DerivedRelation
from heliograph.watch.evidence import (
    Reevaluation,
    TermTexts,
    Texts,
    WitnessEdges,
    binding_texts,
    quote,
    value_texts,
    with_values,
)
from heliograph.watch.graph import FlatGraph, GraphTriples
from heliograph.watch.layout import (
    ADD_EDGE,
    NONE,
    OBJECT,
    PREDICATE,
    Q_COUNT,
    Q_ROWS,
    Q_TRUTH,
    SUBJECT,
    V_COUNT,
    V_ROW,
    Int32s,
    Int64s,
)
from heliograph.watch.metrics.calls import parted_filters, ranging
from heliograph.watch.metrics.meter import Meter, MetricAnswers, Page, make_measure
from heliograph.watch.metrics.queries import (
    MetricBlock,
    MetricQuery,
    MetricValues,
    Verdict,
    are_plain,
    changes_of,
    shown_values,
)
from heliograph.watch.metrics.thresholds import CHANGED
from heliograph.watch.network import QueryNetwork
from heliograph.watch.network_compile import CompiledQuery
from heliograph.watch.options import Options, Subscribed
from heliograph.watch.report import PublishRun, Report, ReportLines, places
from heliograph.watch.runner import ExactChecks, RunEvents, Runner
from heliograph.watch.strategy import FailedSubscriptions, Watched, WatchMemory, WatchSnapshot
from heliograph.watch.updates import Flags, UpdateColumns, WindowExtent

# --- one subscription -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class IndexedEntry:
    """A subscription, its row in the network, and what is needed to report of it."""

    subscribed: Subscribed
    kind: int
    row: int
    slots: int = 0  # of a solution of its pattern
    builder: SolutionBuilder | None = None
    mode: Mode | None = None
    judged: MetricQuery | None = None  # what is asked of metrics
    rule: CountRule | None = None  # of a count that is checked here, change by change
    held: bool = False  # whether such a count holds
    is_change: bool = True  # whether of truth nothing but its change is reported
    direct: tuple[tuple[str, int], ...] | None = None  # what is shown of a row by slot, if it is a match as it is

    @property
    def id(self) -> str:
        return self.subscribed.subscription.id

    @property
    def number(self) -> int:
        return self.subscribed.subscription.number

    @property
    def query(self) -> Query:
        return self.subscribed.subscription.query

    @property
    def shown(self) -> tuple[Variable, ...]:
        return () if self.mode is None else self.mode.shown

    @property
    def is_ranked(self) -> bool:
        return self.subscribed.options.top is not None

    @property
    def is_cut(self) -> bool:
        """Whether solutions beyond its limit are dropped while they are listed. Those of which metrics decide are all
        kept: any of them may be a match later."""
        return isinstance(self.mode, EachMatch) and self.judged is None

    @property
    def remembers(self) -> bool:
        """Whether what holds depends on more than the graph."""
        return self.is_ranked or bool(self.subscribed.options.hysteresis)

    def list_rows(self, builder: SolutionBuilder) -> IndexedEntry:
        """The same, which is given solutions."""
        self.builder = builder
        self.mode = mode_of(self.query, self.subscribed.options, builder)
        slots = builder.slots
        if slots is not None and self.judged is None and isinstance(self.mode, EachMatch):
            self.direct = tuple((f"{quote(each.name)}:", slot) for each, slot in zip(self.shown, slots, strict=False))
        return self

    def true_match(self) -> Match:
        """What is reported of a query that is true; `each` match of one without variables binds nothing."""
        return Match() if self.is_change else Match({}, None, {})

    def count_delta(self, sign: int, count: int) -> MatchDelta:
        """What a count that crossed its limits changes; one without limits is checked here."""
        if self.rule is not None:
            holds = self.rule.holds((), count, self.held)
            sign, self.held = int(holds) - int(self.held), holds
        match = Match(None, count)
        return MatchDelta((match,) if sign < 0 else (), (match,) if sign > 0 else ())


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


# --- all subscriptions ------------------------------------------------------------------------------------------

_WRAP = 1 << 64
_PREDICATE = itemgetter(1)
_DERIVED = frozenset({RDF_TYPE, RDFS_MEMBER})  # properties of edges that others may stand for


class IndexedQueries:
    """All subscriptions of an indexed strategy, entered in the network.

    The law: what holds for a subscription is what the graph says, and where that depends on the past (a hysteresis, a
    place in a top-k set) what `WatchMemory` says besides. What is entered over a graph is populated silently.
    """

    def __init__(
        self,
        graph: FlatGraph,
        derived: Derived,
        vocabulary: Vocabulary,
        memory: WatchMemory,
        aside: FailedSubscriptions,
    ) -> None:
        self._graph, self._derived, self._vocabulary, self.aside = graph, derived, vocabulary, aside
        self.network = QueryNetwork(vocabulary.intern, derived, graph)
        self.runner = Runner(graph, self.network, derived)
        self._checks = ExactChecks(self.network, vocabulary)
        self.meter = Meter(graph, vocabulary, make_measure, memory.measures)
        self.measured: dict[MetricQuery, IndexedEntry] = {}  # those that ask metrics
        self.entries: dict[str, IndexedEntry] = {}
        self.by_row: dict[int, IndexedEntry] = {}
        self.by_component: dict[int, dict[str, IndexedEntry]] = {}
        self.listing: IndexedEntry | None = None  # the one for which alone solutions are being listed
        self.ranking = Ranking()
        self._memory = memory._replace(measures={})
        self.initial_pending: dict[str, None] = {}
        self.stale: dict[str, IndexedEntry] = {}  # entered, and not yet populated
        self._truths = 0
        self._deriving: set[str] = set()  # those with is-a forms or rdfs:member, which stand for other edges
        self.given_up: dict[str, GivenUp] = {}  # what is reported nothing from some update on, and is to be put aside
        self._unlisted: set[int] = set()  # components with too many solutions to be listed
        self._terms = -1  # how many terms the graph and the checks know

    @property
    def needs_single_updates(self) -> bool:
        """Whether a witness must be looked for at once: of truth without a solution, of metrics, and of edges that are
        derived."""
        return self._truths > 0 or bool(self.measured) or bool(self._deriving)

    def keep_journal(self, witness: bool) -> None:
        """Keeps a journal for metrics, and where a witness is asked for, for what derived edges stood for."""
        self.runner.keep_journal(bool(self.measured) or (witness and bool(self._deriving)))

    # --- coming -------------------------------------------------------------------------------------------------

    def enter(self, subscribed: Sequence[Subscribed], known: Collection[str]) -> None:
        """Enters subscriptions over the graph as it is; those that are `known` came earlier.

        What one that fails leaves behind in the network is not taken back: everything is to be made anew without it.
        """
        self._terms = -1
        asking = [each.subscription.id for each in subscribed if each.options.initial]
        self.initial_pending |= dict.fromkeys(
            id for id in asking if id not in known or id in self._memory.initial_pending
        )
        plain = [each for each in subscribed if self._is_plain(each)]
        if plain:
            self._enter_concrete(plain)
        entered = {each.subscription.id for each in plain}
        for each in subscribed:
            if each.subscription.id not in entered and each.subscription.id not in self.aside:
                try:
                    self._enter(each)
                except StorageError:
                    raise
                except Exception as error:
                    self.aside.put(each.subscription.id, error)

    def _is_plain(self, subscribed: Subscribed) -> bool:
        """Whether a query waits for nothing but edges of the graph."""
        try:
            query = subscribed.subscription.query
        except Exception as error:
            self.aside.put(subscribed.subscription.id, error)
            return False
        if not is_concrete(query) or kind_of(query, subscribed.options) != Q_TRUTH:
            return False
        return _DERIVED.isdisjoint(map(_PREDICATE, query.patterns))

    def _enter_concrete(self, subscribed: Sequence[Subscribed]) -> None:
        patterns = [each.subscription.query.patterns for each in subscribed]
        terms: list[Any] = list(chain.from_iterable(chain.from_iterable(patterns)))
        objects = list(map(id, terms))  # most terms are the same objects again and again
        distinct = dict(zip(objects, terms, strict=True))
        ids = dict(zip(distinct, self._vocabulary.intern_many(list(distinct.values())), strict=True))
        edges = np.fromiter(map(ids.__getitem__, objects), np.int32, len(objects)).reshape(-1, 3)
        owner = np.repeat(np.arange(len(patterns)), [len(each) for each in patterns])
        self._graph.cover(len(self._vocabulary))
        row = self.network.add_concrete(len(subscribed), edges, owner)
        for place, each in enumerate(subscribed):
            self._admit(IndexedEntry(each, Q_TRUTH, row + place, is_change=_is_change(each)))

    def _enter(self, subscribed: Subscribed) -> None:
        query, options = subscribed.subscription.query, subscribed.options
        if not query.patterns:
            self._admit(self._measuring(IndexedEntry(subscribed, Q_ROWS, NONE), (), query.filters))
            return
        compiled = self.network.compile(query, kind_of(query, options))
        self._want(compiled)
        if compiled.wants:
            self._deriving.add(subscribed.subscription.id)
        self._graph.cover(len(self._vocabulary))
        row = self.network.subscribe(compiled)
        entry = IndexedEntry(subscribed, compiled.kind, row, len(compiled.slots), is_change=_is_change(subscribed))
        if query.metrics:
            self._measuring(entry, compiled.slots, compiled.remaining)
        elif compiled.kind == Q_ROWS:
            entry.list_rows(SolutionBuilder(query, compiled.slots, self._vocabulary, compiled.remaining))
        elif compiled.kind == Q_COUNT:  # the network is to know when the count matters
            limits = None
            if options.top is None and query.having is not None:
                limits = limits_of(query.having, options.hysteresis)
                entry.rule = CountRule(query, options.hysteresis) if limits is None else None
            self.network.queries.set_limits(row, limits)
        self._admit(entry)

    def _measuring(
        self, entry: IndexedEntry, slots: tuple[Variable, ...], filters: Sequence[Expression]
    ) -> IndexedEntry:
        """An entry that asks metrics of the solutions of its pattern, if it has one."""
        asked, others = parted_filters(filters, ranging(entry.query))
        builder = SolutionBuilder(entry.query, slots, self._vocabulary, others)
        hysteresis = 0.0 if entry.query.having is not None else entry.subscribed.options.hysteresis
        entry.judged = MetricQuery(builder, asked, self.meter, hysteresis)
        self.measured[entry.judged] = entry
        self.runner.keep_journal(True)
        return entry.list_rows(builder)

    def _admit(self, entry: IndexedEntry) -> None:
        options = entry.subscribed.options
        self.entries[entry.id] = self.stale[entry.id] = entry
        if entry.row >= 0:
            self.by_row[entry.row] = entry
        if entry.kind == Q_ROWS and entry.row >= 0:
            self.by_component.setdefault(self.network.component(entry.row), {})[entry.id] = entry
        self._truths += entry.kind == Q_TRUTH
        if options.top is not None:
            self.ranking.add(entry.id, options.top)
        if entry.kind != Q_ROWS:
            entry.subscribed.subscription.release()  # its objects would take more memory than the network does

    def _want(self, compiled: CompiledQuery) -> None:
        """Sees to it that edges a query asks for are derived."""
        for want in compiled.wants:
            if not self._derived.wanted:
                self.runner.see(np.unique(self._graph.arrays.edges[self._graph.edge_numbers(), PREDICATE]))
            rows = self._derived.want(*want)
            if len(rows):
                self._graph.load(rows[:, 0], rows[:, 1], rows[:, 2])

    # --- going --------------------------------------------------------------------------------------------------

    def leave(self, id: str) -> None:
        entry = self.entries.pop(id)
        self._deriving.discard(id)
        if entry.judged is not None:
            entry.judged.leave()
            del self.measured[entry.judged]
            self.runner.keep_journal(bool(self.measured))
        if entry.kind == Q_ROWS and entry.row >= 0:
            component = self.network.component(entry.row)
            del self.by_component[component][id]
            if not self.by_component[component]:
                del self.by_component[component]
        if entry.row >= 0:
            del self.by_row[entry.row]
            self.network.unsubscribe(entry.row)
        self._truths -= entry.kind == Q_TRUTH
        self.initial_pending.pop(id, None)
        self.stale.pop(id, None)
        if id in self.ranking:
            self.ranking.remove(id)

    def forget(self, subscribed: Subscribed) -> None:
        """A subscription went that was still to be entered again."""
        top, memory = subscribed.options.top, self._memory.without((subscribed.subscription.id,))
        self._memory = memory if top is None else memory._replace(rank_dirty=memory.rank_dirty | {top.name})

    def unplace(self, ids: Iterable[str]) -> None:
        """The graph was changed silently before these were entered again."""
        self._memory = self._memory._replace(rank_unknown=self._memory.rank_unknown.union(ids))

    # --- giving up ----------------------------------------------------------------------------------------------

    def give_up(self, entry: IndexedEntry, error: GivenUp) -> None:
        """Reports nothing of an update and of those after it to a subscription; of those before it everything, unless
        it asks metrics."""
        self.given_up.setdefault(entry.id, error)
        if entry.judged is not None:
            self.aside.put(entry.id, error)

    def give_up_joins(self, update: int) -> None:
        """Gives up the subscriptions whose joins were given up in an update."""
        for entry in self._asking(self.runner.given_up(), self.entries):
            self.give_up(entry, self._too_much(update))

    def put_aside(self) -> None:
        """Puts aside what was given up, when everything before that was reported."""
        for id, error in self.given_up.items():
            self.aside.put(id, error)
        self.given_up = {}

    def is_notified(self, entry: IndexedEntry) -> bool:
        return entry.id not in self.aside and entry.id not in self.given_up

    def _asking(self, components: Set[int], entries: Mapping[str, IndexedEntry]) -> list[IndexedEntry]:
        """Those that ask for one of these components."""
        if not components:
            return []
        return [entry for entry in entries.values() if not components.isdisjoint(self._components(entry))]

    def _components(self, entry: IndexedEntry) -> list[int]:
        return self.network.queries.components(entry.row) if entry.row >= 0 else []

    def _too_much(self, update: int = 0) -> GivenUp:
        return GivenUp(f"it tried more than {self.runner.most_combinations:,} combinations of bindings at once", update)

    # --- refreshing ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Finds out what holds for what was entered, silently."""
        terms = len(self._vocabulary)
        if terms == self._terms and not self.stale:
            return
        self._graph.cover(terms)
        self._checks.extend()
        self._terms = terms
        if not self.stale:
            return
        proven = [entry for entry in self.stale.values() if entry.id in self.aside.proven]
        self.runner.populate(frozenset(chain.from_iterable(map(self._components, proven))))
        for entry in self._asking(self.runner.given_up(), self.stale):
            self.aside.put(entry.id, self._too_much())
        counts: dict[str, int] = {}
        for entry in self.stale.values():
            if entry.id in self.aside:
                continue
            try:
                self._start(entry, self._memory.held.get(entry.id, ()))
                if entry.is_ranked:
                    counts[entry.id] = self.count(entry)
            except Exception as error:
                self.aside.put(entry.id, error)
        memory = self._memory
        if memory != WatchMemory():
            held = {id: bool(memory.held[id]) for id in counts if id in memory.held}
            self.ranking.restore(held, memory.rank_dirty, memory.rank_unknown)
            self._memory = WatchMemory()
        self.ranking.refresh(counts)
        self.aside.proven.update(id for id in self.stale if id not in self.aside)
        self.stale = {}

    def _start(self, entry: IndexedEntry, held: tuple[Key, ...]) -> None:
        if entry.mode is not None and entry.judged is not None:
            satisfied = self._memory.satisfied.get(entry.id, ())
            entry.mode.start(entry.judged.start(self.solutions(entry), satisfied), held)
        elif entry.mode is not None:
            if not isinstance(entry.mode, EachMatch):  # which keeps nothing
                entry.mode.start(self.solutions(entry), held)
        elif entry.kind == Q_COUNT:
            limits, count = self.network.queries.limits.array[entry.row], self.count(entry)
            if entry.rule is not None:
                entry.held = entry.rule.holds((), count, bool(held))
            enters = limits["enter_low"] <= count <= limits["enter_high"]
            limits["held"] = enters or (bool(held) and limits["stay_low"] <= count <= limits["stay_high"])
            limits["latest"] = count

    # --- asking -------------------------------------------------------------------------------------------------

    def count(self, entry: IndexedEntry) -> int:
        """How many solutions a query has that is counted, or of which matches are."""
        if isinstance(entry.mode, MatchCount):
            return entry.mode.count
        if self.network.queries.rows.array["missing"][entry.row]:
            return 0
        total = 1
        for component in self.network.queries.components(entry.row):
            total = total * int(self.network.groups.values.array[component]) % _WRAP
        return total if total < _WRAP // 2 else total - _WRAP

    def rows(self, entry: IndexedEntry) -> Int32s:
        """All solutions of a listing query's pattern."""
        if entry.row < 0:
            return np.empty((1, 0), np.int32)  # of no pattern there is one
        component = self.network.component(entry.row)
        if component < 0:
            return np.empty((0, entry.slots), np.int32)
        if component in self._unlisted:
            raise self._too_much()
        groups, self.listing = self.network.groups, entry
        self.runner.begin_round(bounded=isinstance(entry.mode, EachMatch) or entry.id not in self.aside.proven)
        self.runner.list_all(groups.group_of(component), groups.filled(component))
        self.listing = None
        events = self.runner.take()
        self.runner.forget()
        if self.runner.given_up():
            self._unlisted.add(component)
            raise self._too_much()
        if (error := self.given_up.pop(entry.id, None)) is not None:
            raise error
        return events.listed(events.events["ref"] == component, entry.slots)

    def solutions(self, entry: IndexedEntry) -> Int32s:
        """All solutions of a listing query but for what it asks of metrics."""
        assert entry.builder is not None
        return entry.builder(self.rows(entry)).terms

    def holding(self, entry: IndexedEntry, answers: Reevaluation, witness: bool) -> tuple[Match, ...]:
        """What holds for a subscription now, in the order of its bindings."""
        if entry.is_ranked:
            return (Match(None, self.count(entry)),) if self.ranking.holds(entry.id) else ()
        if entry.kind == Q_COUNT:
            return (Match(None, self.count(entry)),) if self._held(entry) else ()
        if entry.kind == Q_TRUTH:
            if self.network.queries.rows.array["missing"][entry.row]:
                return ()
            proof = min(answers.answer(entry.query), key=order, default=None) if witness else None
            return (entry.true_match()._replace(witness=proof) if witness else entry.true_match(),)
        assert entry.builder is not None
        assert entry.mode is not None
        query, options = entry.query, entry.subscribed.options
        if entry.judged is None or isinstance(entry.mode, GroupCounts):
            rows = self.solutions(entry) if entry.judged is None else np.empty((0, entry.judged.columns), np.int32)
            return holding(entry.mode, query, options, entry.builder, rows)
        verdicts = entry.judged.standing(witness)
        deltas = mode_of(query, options, entry.builder).follow(changes_of(verdicts, entry.judged.columns), witness=True)
        values = MetricValues(entry.judged, verdicts)
        return tuple(match for each in deltas for match in values.valued(each).delta.gained)

    def watched(self, entry: IndexedEntry, answers: Reevaluation) -> Watched:
        """A subscription with what holds for it; a member of a top-k set holds by the counts as they are, even where
        the next update will carry the news."""
        if entry.is_ranked:
            ranked = self.ranking.set_of(entry.id)
            count = ranked.counts[entry.id]
            return Watched(*entry.subscribed, (Match(None, count),) if ranked.is_top(entry.id) else (), count)
        if entry.kind == Q_ROWS and entry.judged is None and not isinstance(entry.mode, GroupCounts):
            return Watched(*entry.subscribed, (Match(),) if len(self.solutions(entry)) else ())  # one stands for all
        return Watched(*entry.subscribed, self.holding(entry, answers, witness=False))

    def selected(self, query: Query) -> frozenset[Term]:
        """The vertices that solutions of a query bind, where it asks for them."""
        asking = (judged for judged, each in self.measured.items() if each.query == query)
        judged = next(asking, None)
        return frozenset() if judged is None else frozenset(map(self._vocabulary.term, judged.selected))

    def page(self) -> Page:
        """What the latest run wrote in the journal."""
        return self.meter.page(*self.runner.read_journal())

    # --- memory -------------------------------------------------------------------------------------------------

    def memory(self, waiting: Iterable[str] = ()) -> WatchMemory:
        """What must be kept to restore all subscriptions over the same graph; initial matches of `waiting` are to be
        reported too."""
        known = self._memory
        refreshed = (each for id, each in self.entries.items() if id not in self.stale and id not in self.aside)
        remembering = [entry for entry in refreshed if entry.remembers]
        held = {entry.id: self._held(entry) for entry in remembering}
        slack = (entry for entry in remembering if entry.subscribed.options.hysteresis and entry.query.having is None)
        satisfied = {entry.id: entry.judged.keys() for entry in slack if entry.judged is not None}
        ranking = self.ranking
        return WatchMemory(
            tuple(dict.fromkeys((*known.initial_pending, *self.initial_pending, *waiting))),
            frozenset(ranking.rank_dirty | known.rank_dirty | ranking.sets_of(self.aside)),
            {**known.held, **held},
            frozenset(ranking.rank_unknown | known.rank_unknown),
            {**known.satisfied, **satisfied},
            self.meter.saved(),
        ).without(self.aside)

    def _held(self, entry: IndexedEntry) -> tuple[Key, ...]:
        """The keys that hold, of a subscription for which that may depend on the past."""
        if entry.is_ranked:
            return ((),) if self.ranking.holds(entry.id) else ()
        if entry.kind == Q_COUNT:
            holds = entry.held if entry.rule else self.network.queries.limits.array["held"][entry.row]
            return ((),) if holds else ()
        return () if entry.mode is None else entry.mode.held


def _is_change(subscribed: Subscribed) -> bool:
    return subscribed.subscription.query.form is Form.ASK or subscribed.options.mode == "change"


# --- events and solutions in order ------------------------------------------------------------------------------


def sort_events(events: Any, *columns: str) -> Any:
    """By these columns, the last of them first."""
    return events if len(events) < 2 else events[np.lexsort([events[column] for column in columns])]


def spans(events: Any) -> Iterator[slice]:
    """Runs of events of the same query or component."""
    if len(events):
        refs = events["ref"]
        cuts = np.flatnonzero(refs[1:] != refs[:-1]) + 1
        yield from (slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(events)]))


def net(events: Any, terms: Int32s) -> tuple[Any, Int32s]:
    """Events and the solutions that they list, without those that came and went within a phase."""
    if len(events) < 2:
        return events, terms
    phases = 2 * events["update"] + events["phase"]
    mixed = np.isin(phases, phases[events["sign"] > 0]) & np.isin(phases, phases[events["sign"] < 0])
    if not mixed.any():
        return events, terms
    keys = np.column_stack((phases, terms))
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(inverse.ravel(), weights=events["sign"])
    kept = np.sort(first[total != 0])
    left = events[kept]
    left["sign"] = total[inverse.ravel()[kept]]
    return left, terms[kept]


def in_order(changes: Changes, shown: int, texts: TermTexts) -> Int64s:
    """By update and change, then by what is shown; only where there are several is it looked at."""
    if len(changes.update) < 2:
        return np.arange(len(changes.update))
    key, terms = 2 * changes.update + changes.gained, changes.terms
    _, inverse, sizes = np.unique(key, return_inverse=True, return_counts=True)
    several = sizes[inverse] > 1
    if not several.any():
        return np.arange(len(key))
    ranks = np.zeros(terms.shape, np.int64)
    ranks[several] = texts.ranks(terms[several])
    return np.lexsort([*ranks[:, shown:].T[::-1], changes.phase, *ranks[:, :shown].T[::-1], key])


class MatchLimit:
    """The guard on what one update lists: a query that explodes costs what it may report, not what it matches.

    While a kernel lists solutions, whatever lies beyond a subscription's limit for its update is dropped as soon as
    there is much of it. The law: what is kept holds everything that would be reported, the first matches in order, and
    what was dropped is counted. It holds as long as no solution is both lost and gained in one phase of an update. A
    subscription whose conditions fail too often on the way is given up.

    Only matches reported one by one are bounded like this. Groups and distinct ones need all solutions to be known.
    """

    def __init__(self, queries: IndexedQueries, texts: TermTexts) -> None:
        self._queries, self._texts = queries, texts
        self._cut = 0  # how many matches were dropped
        self._failed: tuple[int, Counter[str]] = -1, Counter()  # an update, and by id what conditions failed for it

    def end(self) -> int:
        """A run is done, or a listing; how many matches were dropped in it."""
        cut, self._cut = self._cut, 0
        if self._failed[1]:
            self._failed = -1, Counter()
        return cut

    def trim(self, events: RunEvents, update: int) -> RunEvents:
        """What is left of the events of a run that lacks room in the midst of an update."""
        listed = (events.events["kind"] == V_ROW) & (events.events["update"] == update)
        ordered = events._replace(events=sort_events(events.events[listed], "phase", "ref"))
        before = int(ordered.events["value"].min(initial=len(events.rows)))  # rows of earlier updates come first
        kept, rows, used = [events.events[~listed]], [events.rows[:before]], before
        for span in spans(ordered.events):
            left, terms = self._trimmed(ordered, span)
            left["value"] = used + terms.shape[1] * np.arange(len(left))
            used += terms.size
            kept.append(left)
            rows.append(terms.ravel())
        return events._replace(events=np.concatenate(kept), rows=np.concatenate(rows))

    def _trimmed(self, ordered: RunEvents, span: slice) -> tuple[Any, Int32s]:
        """What one component may report."""
        queries, events = self._queries, ordered.events[span]
        component, only = int(events["ref"][0]), queries.listing
        entries: Collection[IndexedEntry] = queries.by_component[component].values()
        terms = ordered.listed(span, next(iter(entries)).slots)
        if only is not None:
            if component != queries.network.component(only.row):
                return events[:0], terms[:0]
            entries = (only,)
        entries = [entry for entry in entries if queries.is_notified(entry)]
        most = max((entry.subscribed.options.limit for entry in entries), default=0)
        if len(events) <= most or not all(entry.is_cut for entry in entries):
            return events, terms
        wanted = np.zeros(len(events), np.bool_)
        for entry in entries:
            try:
                wanted |= self._first(entry, events, terms)
            except GivenUp as error:
                error.update = int(events["update"][0])
                queries.give_up(entry, error)
            except Exception as error:
                queries.aside.put(entry.id, error)
        for entry in entries:
            if queries.is_notified(entry) and entry.builder is not None:
                self._cut += len(entry.builder(terms[~wanted]).origins)
        return events[wanted], terms[wanted]

    def _first(self, entry: IndexedEntry, events: Any, terms: Int32s) -> Flags:
        """Which solutions are among the first of those lost, or of those gained."""
        assert entry.builder is not None
        before = entry.builder.failed
        origins, completed = entry.builder(terms)
        self._fail(entry, int(events["update"][0]), entry.builder.failed - before)
        listed = events[origins]
        changes = Changes(listed["update"], listed["phase"], listed["sign"] > 0, completed)
        order = in_order(changes, len(entry.shown), self._texts)
        first = np.zeros(len(events), np.bool_)
        within = places(changes.gained[order].astype(np.int64)) < entry.subscribed.options.limit
        first[origins[order[within]]] = True
        return first

    def _fail(self, entry: IndexedEntry, update: int, choices: int) -> None:
        """Conditions failed for so many choices of terms, none of which is kept."""
        if self._failed[0] != update:
            self._failed = update, Counter()
        self._failed[1][entry.id] += choices
        failed = self._failed[1][entry.id]
        if failed > completing.MOST_FAILED:
            raise GivenUp(f"its conditions failed for {failed:,} choices of terms for one update")


# --- from events to a report ------------------------------------------------------------------------------------

Proof = Callable[[str], Solution]

_FEW = 64  # events that are sooner reported one by one
_NOTHING_BOUND = '{"bindings":{}}'  # the evidence of a match without variables


class EventReport:
    """Events of the kernels, made into a report of a batch.

    Within an update comes first what expired, then the update itself; both are reported as one (`changes.after`). What
    needs nothing but its event is reported as columns: truth without a witness, counts that crossed their limits, each
    row of `each`. The rest goes through deltas, one subscription after the other: they do not depend on each other, but
    for top-k sets. `proof` gives a witness of what has just become true, and `witness` the edges of one.
    """

    def __init__(
        self,
        queries: IndexedQueries,
        texts: TermTexts,
        updates: UpdateColumns,
        proof: Proof | None,
        witness: WitnessEdges | None,
    ) -> None:
        self._queries, self._texts, self._updates, self._proof = queries, texts, updates, proof
        self._report = Report(updates, witness)
        self._ranks: list[RankChange] = []
        self._coming: dict[MetricQuery, Changes] = {}  # solutions of those that ask metrics besides

    def make(self, events: RunEvents, page: Page, run: PublishRun) -> None:
        """Adds what the events, and the page of the journal that was written with them, say to a call."""
        queries = self._queries
        if len(self._updates) == 1 and not queries.ranking.rank_dirty and self._add_direct(events):
            self._report.finish(run)
            return
        listed = events.events["kind"] == V_ROW
        self._cross(events.events[~listed])
        self._list(events._replace(events=sort_events(events.events[listed], "phase", "update", "ref")))
        self._measure(page)
        changes = sorted(self._ranks, key=itemgetter(0, 1))
        for (update, id), delta in self._queries.ranking.follow(changes, len(self._updates)).items():
            entry = self._queries.entries[id]
            self._try(entry, partial(self._report.add_deltas, entry.subscribed, (), [(update, delta)]))
        self._report.finish(run)

    def _add_direct(self, events: RunEvents) -> bool:
        """Reports few solutions that one update gained, or lost, row by row; False, with nothing done, where any of
        them needs more than that."""
        rows, queries = events.events.tolist(), self._queries
        if len(rows) > _FEW or self._proof is not None or queries.measured or len(queries.aside) or queries.given_up:
            return False
        terms, sign = events.rows.tolist(), rows[0][4] if rows else 0
        quoted, known = self._texts.quoted, self._texts.known
        lines: dict[int, tuple[Subscribed, str]] = {}  # by number of the subscription
        for _, phase, kind, component, changed, first in rows:
            if kind != V_ROW or phase != 1 or changed != sign:
                return False
            entries = queries.by_component[component]
            for id in entries:
                subscribed, direct = entries[id].subscribed, entries[id].direct
                number = subscribed.subscription.number
                if direct is None or number in lines:
                    return False
                shown = ""
                for name, slot in direct:  # without a call for each term that is known
                    term = terms[first + slot]
                    shown += f"{',' if shown else ''}{name}{known[term] if term in known else quoted(term)}"
                lines[number] = subscribed, f'{{"bindings":{{{shown}}}}}'
        self._report.add_direct(sign > 0, lines)
        return True

    def _try(self, entry: IndexedEntry, report: Callable[[], None]) -> None:
        """Reports something of one subscription; if that fails, it alone is not notified any more."""
        if entry.id in self._queries.aside:
            return
        try:
            report()
        except Exception as error:
            self._queries.aside.put(entry.id, error)

    def _follow(self, entry: IndexedEntry, changes: Changes, values: MetricValues | None = None) -> None:
        """Lets a mode follow solutions gained and lost, and reports its deltas."""
        assert entry.mode is not None
        deltas = entry.mode.follow(changes, values is not None or self._proof is not None)
        if isinstance(entry.mode, MatchCount):
            self._ranks += [RankChange(each.update, each.phase, entry.id, entry.mode.count) for each in deltas]
            return
        valued = deltas if values is None else map(values.valued, deltas)
        self._report.add_deltas(entry.subscribed, entry.shown, ((each.update, each.delta) for each in valued))

    # --- truth and counts ---------------------------------------------------------------------------------------

    def _cross(self, events: Any) -> None:
        """Reports what became true or false, and counts that changed."""
        for id, error in self._queries.given_up.items():
            row = self._queries.entries[id].row
            events = events[(events["ref"] != row) | (events["update"] < error.update)]
        if not len(events):
            return
        rows, inverse = np.unique(events["ref"], return_inverse=True)
        entries = {row: self._queries.by_row[row] for row in rows.tolist()}
        complete = [  # an event says everything
            self._proof is None and not entry.is_ranked and entry.rule is None for entry in entries.values()
        ]
        quick = np.array(complete, np.bool_)[inverse]
        self._cross_lines(events[quick], entries)
        ordered = sort_events(events[~quick], "phase", "update", "ref")
        for span in spans(ordered):
            entry = entries[int(ordered["ref"][span.start])]
            if entry.is_ranked:
                changes = ordered[span][["update", "phase", "value"]].tolist()
                self._ranks += [RankChange(update, phase, entry.id, count) for update, phase, count in changes]
            else:
                crossed = ((row[0], self._crossed(entry, *row[2:])) for row in ordered[span].tolist())
                self._try(entry, partial(self._report.add_deltas, entry.subscribed, (), crossed))

    def _cross_lines(self, events: Any, entries: Mapping[int, IndexedEntry]) -> None:
        kept = events[~_passing(events)]
        for is_count in (False, True):
            some = kept[(kept["kind"] == V_COUNT) == is_count]
            if not len(some):
                continue
            rows, inverse = np.unique(some["ref"], return_inverse=True)
            found = [entries[row] for row in rows.tolist()]
            numbers = np.array([entry.number for entry in found], np.int64)[inverse]
            texts = [None if entry.is_change else _NOTHING_BOUND for entry in found]
            evidence = value_texts(some["value"]) if is_count else pa.array(texts, pa.string()).take(inverse)
            lines = ReportLines(some["update"], some["sign"] > 0, numbers, evidence)
            self._report.add_lines(lines, (entry.subscribed for entry in found))

    def _crossed(self, entry: IndexedEntry, kind: int, _: int, sign: int, value: int) -> MatchDelta:
        if kind == V_COUNT:
            return entry.count_delta(sign, value)
        if sign < 0:
            return MatchDelta((entry.true_match(),), ())
        match = entry.true_match()
        return MatchDelta((), (match if self._proof is None else match._replace(witness=self._proof(entry.id)),))

    # --- rows ---------------------------------------------------------------------------------------------------

    def _list(self, listed: RunEvents) -> None:
        """Reports solutions gained and lost."""
        for span in spans(listed.events):
            events = listed.events[span]
            for entry in self._queries.by_component[int(events["ref"][0])].values():
                self._try(entry, partial(self._list_entry, entry, events, listed.listed(span, entry.slots)))

    def _list_entry(self, entry: IndexedEntry, events: Any, terms: Int32s) -> None:
        try:
            changes = self._changes(entry, events, terms)
        except GivenUp as error:
            self._queries.give_up(entry, error)
            changes = self._changes(entry, events, terms)  # of the updates before
        if entry.judged is not None:
            self._coming[entry.judged] = changes
        elif isinstance(entry.mode, EachMatch) and self._proof is None:
            self._add_matches(entry, changes, None)
        else:
            self._follow(entry, changes)

    def _changes(self, entry: IndexedEntry, events: Any, terms: Int32s) -> Changes:
        """Solutions gained and lost, up to the update in which a subscription was given up."""
        assert entry.builder is not None
        if (error := self._queries.given_up.get(entry.id)) is not None:
            before = events["update"] < error.update
            events, terms = events[before], terms[before]
        events, terms = net(events, terms)
        origins, completed = entry.builder(terms, events["update"])
        kept = events[origins]
        return Changes.sorted(kept["update"], kept["phase"], kept["sign"] > 0, completed)

    def _add_matches(self, entry: IndexedEntry, changes: Changes, values: list[Any] | None) -> None:
        """Reports each solution as a line, with the values of metrics if there are any."""
        shown, texts = len(entry.shown), self._texts
        order = in_order(changes, shown, texts)
        names, terms = [variable.name for variable in entry.shown], changes.terms[order][:, :shown]
        ordered = None if values is None else [values[place] for place in order.tolist()]

        def evidence() -> Texts:
            bindings = binding_texts(names, terms, texts)
            return bindings if ordered is None else with_values(bindings, map(shown_values, ordered))

        numbers = np.full(len(order), entry.number)
        lines = ReportLines(changes.update[order], changes.gained[order], numbers, evidence)
        self._report.add_lines(lines, (entry.subscribed,))

    # --- metrics ------------------------------------------------------------------------------------------------

    def _measure(self, page: Page) -> None:
        """Reports solutions that begin or cease to satisfy what is asked of metrics."""
        measured, queries = self._queries.measured, self._queries
        if not measured:
            return

        def fail(judged: MetricQuery, error: Exception) -> None:
            queries.aside.put(measured[judged].id, error)

        judging = MetricBlock(queries.meter, page, self._proof is not None, measured.keys(), fail)
        verdicts = judging.follow(self._coming)
        for judged in sorted(verdicts, key=lambda each: measured[each].number):
            self._try(measured[judged], partial(self._measure_entry, measured[judged], judged, verdicts[judged]))

    def _measure_entry(self, entry: IndexedEntry, judged: MetricQuery, verdicts: Sequence[Verdict]) -> None:
        if isinstance(entry.mode, EachMatch) and self._proof is None and are_plain(verdicts):
            ordered = sorted(verdicts, key=itemgetter(0, 1))
            self._add_matches(entry, changes_of(ordered, judged.columns), [each.values for each in ordered])
        else:
            self._follow(entry, changes_of(verdicts, judged.columns), MetricValues(judged, verdicts))


def _passing(events: Any) -> Flags:
    """What expiry gained and the update itself lost, which is reported neither way."""
    came: Flags = (events["phase"] == 0) & (events["sign"] > 0)
    if not came.any():
        return came
    went: Flags = (events["phase"] == 1) & (events["sign"] < 0)
    key = events["update"] << 32 | events["ref"]
    passing: Flags = (came & np.isin(key, key[went])) | (went & np.isin(key, key[came]))
    return passing


# --- the strategy -----------------------------------------------------------------------------------------------

_BLOCK = 1 << 16  # updates after which what they changed is reported
_GARBAGE = 10_000  # rows left behind by subscriptions that went, before the network is made anew


class IndexedStrategy:
    """Queries in a network over flat arrays."""

    def __init__(
        self, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: WindowExtent, aside: FailedSubscriptions | None = None
    ) -> None:
        self._vocabulary, self._taxonomy, self._extent = vocabulary, taxonomy, extent
        self.aside = FailedSubscriptions() if aside is None else aside
        self._subscribed: dict[str, Subscribed] = {}
        self._begin()

    def _begin(self, memory: WatchMemory | None = None) -> None:
        """An empty graph and an empty network."""
        self._graph = FlatGraph(self._extent.span, self._extent.updates)
        derived = Derived(self._taxonomy, self._vocabulary, self._base)
        self._graph.set_virtual(min(map(derived.virtual, DerivedRelation)))
        self._queries = IndexedQueries(self._graph, derived, self._vocabulary, memory or WatchMemory(), self.aside)
        self._texts = TermTexts(self._vocabulary)
        self._limit = MatchLimit(self._queries, self._texts)
        self._queries.runner.trim = self._limit.trim
        self._pending: dict[str, Subscribed] = {}  # what is still to be entered
        self._known: frozenset[str] = frozenset()  # what came earlier, and is only entered again
        metered = MetricAnswers(self._queries.meter, self._vocabulary, self._queries.selected)
        self.answers = Reevaluation(GraphTriples(self._graph, self._vocabulary), self._taxonomy, metered)

    def _base(self) -> Int32s:
        """The edges of the graph, for what is derived from them."""
        edges = self._graph.arrays.edges[self._graph.edge_numbers()]
        return edges[:, [SUBJECT, PREDICATE, OBJECT]]

    # --- subscriptions ------------------------------------------------------------------------------------------

    def add(self, subscribed: Sequence[Subscribed]) -> None:
        added = {each.subscription.id: each for each in subscribed}
        waiting = bool(self._pending)  # if so, they are entered together
        self._subscribed |= added
        self._pending |= added
        if self._graph.arrays.live and not waiting:
            self._enter()

    def remove(self, subscriptions: Sequence[Subscription]) -> None:
        for subscription in subscriptions:
            subscribed = self._subscribed.pop(subscription.id)
            if self._pending.pop(subscription.id, None) is None:
                self._queries.leave(subscription.id)
            else:
                self._queries.forget(subscribed)
        self._known -= {subscription.id for subscription in subscriptions}
        if self._queries.network.garbage > max(_GARBAGE, 8 * len(self._subscribed)):
            self.restore(self.snapshot())

    def watched(self, id: str) -> Watched:
        self.refresh(witness=False)
        watched = self._queries.watched(self._queries.entries[id], self.answers)
        self._limit.end()  # nothing was to be reported
        return watched

    def _enter(self) -> None:
        while self._pending:
            pending, self._pending = self._pending, {}
            self._graph.cover(len(self._vocabulary))
            try:
                with collector_paused():
                    self._queries.enter(list(pending.values()), self._known)
            except BaseException:  # Ctrl-C too: what was not reached is still to be entered
                entered = self._queries.entries
                self._pending = {id: each for id, each in pending.items() if id not in entered}
                raise
            self._expel()

    def _expel(self) -> bool:
        """Goes on without what was put aside, if there is anything; whether there was.

        What it left behind in the network cannot be trusted, so all others are to be entered again.
        """
        failed = [id for id in self.aside if id in self._subscribed]
        for id in failed:
            del self._subscribed[id]
            self._pending.pop(id, None)
        if failed:
            self.restore(self.snapshot())
        return bool(failed)

    # --- updates ------------------------------------------------------------------------------------------------

    def load(self, updates: UpdateColumns) -> None:
        self.aside.proven.clear()
        if len(self._pending) < len(self._subscribed):
            self._load_again(updates)
        else:
            ranked = [id for id, each in self._pending.items() if each.options.top is not None]
            self._queries.unplace(id for id in ranked if id in self._known)
            self._load(updates)

    def _load(self, updates: UpdateColumns) -> None:
        """Loads into a graph over which no query has been entered."""
        if (updates.op == ADD_EDGE).all():
            self._graph.load(
                updates.subject, updates.predicate, updates.object, updates.weight, updates.at, updates.seq
            )
            return
        from heliograph.watch.plain import (
            PlainStrategy,  # background that removes: it knows how, and it is seldom large
        )

        plain = PlainStrategy(self._vocabulary, self._taxonomy, self._extent)
        plain.restore(self.snapshot()._replace(memory=WatchMemory()))  # which has no subscriptions
        plain.load(updates)
        pending, known = self._pending, self._known
        self._begin(self._queries.memory())
        self._pending, self._known = pending, known
        self._restore_graph(plain.snapshot())

    def _load_again(self, updates: UpdateColumns) -> None:
        """Loads under queries that are there: they are entered again when it is done."""
        memory, snapshot, new = self._queries.memory(), self.snapshot(), self._pending.keys()
        ranked = {id for id, each in self._queries.entries.items() if each.is_ranked}
        self._begin(memory._replace(rank_unknown=frozenset(memory.rank_unknown | ranked)))
        self._return(new)
        self._restore_graph(snapshot)
        self._load(updates)
        if memory.measures:  # they take over what they kept: one asked for after all have left it is a new one
            self._enter()

    def refresh(self, witness: bool) -> None:
        self._enter()
        self._queries.refresh()
        while self._expel():
            self._enter()
            self._queries.refresh()

    def publish(self, updates: UpdateColumns, run: PublishRun) -> None:
        queries, witness = self._queries, run.witness
        if self._pending or queries.stale or queries.initial_pending or len(self.aside):
            self.refresh(witness)
            self._report_initial(run)
            if self._expel():
                self.refresh(witness)
        else:
            queries.refresh()
        size, done = len(updates), 0
        if size > 1:
            self._queries.runner.reserve(int((updates.op == ADD_EDGE).sum()))
        try:
            while done < size:
                if witness:
                    self._queries.keep_journal(witness)
                block = 1 if witness and self._queries.needs_single_updates else _BLOCK
                some = updates if not done and block >= size else updates.take(slice(done, done + block))
                done += self._apply(some, run)
                if len(self.aside) and self._expel():
                    self.refresh(witness)
        finally:
            if witness:
                self._queries.keep_journal(False)
        if self._queries.runner.counts_too_many:
            run.truncated += 1  # not silently: what counts say may be wrong

    def _report_initial(self, run: PublishRun) -> None:
        queries, report = self._queries, Report(None, WitnessEdges(self.answers) if run.witness else None)
        pending = [queries.entries[id] for id in queries.initial_pending]
        queries.initial_pending.clear()
        for entry in pending:
            try:
                delta = MatchDelta((), queries.holding(entry, self.answers, run.witness))
                report.add_deltas(entry.subscribed, entry.shown, [(0, delta)])
            except Exception as error:
                self.aside.put(entry.id, error)
        report.finish(run)
        run.truncated += self._limit.end()

    def _apply(self, updates: UpdateColumns, run: PublishRun) -> int:
        """Applies updates, or the first of them, and reports what they changed; how many."""
        queries = self._queries
        if not len(self._graph.arrays.weights) and not np.isnan(updates.weight).all():
            self._graph.keep_weights()
        run.begun = True
        events = queries.runner.run(updates)
        queries.give_up_joins(events.updates - 1)
        run.candidates += events.candidates
        if len(events.events) or queries.measured or queries.ranking.rank_dirty:
            applied = updates if events.updates == len(updates) else updates.take(slice(0, events.updates))
            page, proof, witness = queries.page(), None, None
            if run.witness:
                proof, witness = self._proof, WitnessEdges(self.answers, partial(self._changed, page))
            EventReport(queries, self._texts, applied, proof, witness).make(events, page, run)
        elif run.witness:
            queries.runner.read_journal()  # nobody asks
        run.truncated += self._limit.end()
        queries.put_aside()
        return events.updates

    def _changed(self, page: Page) -> Iterator[Triple]:
        """The triples that came and went, once for each time."""
        term = self._vocabulary.term
        return ((term(s), term(p), term(o)) for s, p, o in page.triples[page.change != CHANGED].tolist())

    def _proof(self, id: str) -> Solution:
        """The first solution in order of a query that has just become true."""
        plan = QueryPlan.of(self._subscribed[id].subscription.query)
        return min(self.answers.solutions(plan), key=order, default={})

    # --- handing over -------------------------------------------------------------------------------------------

    def snapshot(self) -> WatchSnapshot:
        asking = [id for id, each in self._pending.items() if each.options.initial]
        waiting = tuple(id for id in asking if id not in self._known)
        return WatchSnapshot(
            self._graph.saved(), self._graph.clock, self._graph.accepted, self._queries.memory(waiting)
        )

    def restore(self, snapshot: WatchSnapshot) -> None:
        self._begin(snapshot.memory)
        self._return(())
        self._restore_graph(snapshot)
        if snapshot.memory.measures:  # as in `_load_again`
            self._enter()

    def ids(self) -> Int32s:
        return self._base().ravel()

    def rebased(self, vocabulary: Vocabulary, snapshot: WatchSnapshot) -> IndexedStrategy:
        fresh = IndexedStrategy(vocabulary, self._taxonomy, self._extent, self.aside)
        fresh.add(list(self._subscribed.values()))
        fresh.restore(snapshot)
        return fresh

    def _return(self, new: Collection[str]) -> None:
        """All subscriptions are to be entered again, and the new ones for the first time."""
        self._pending = dict(self._subscribed)
        self._known = frozenset(self._subscribed.keys() - set(new))

    def _restore_graph(self, snapshot: WatchSnapshot) -> None:
        self._graph.restore(snapshot.edges)
        self._graph.set_clocks(snapshot.clock, snapshot.number)
