"""The plain strategy: after each update the queries that it could concern are answered again from scratch.

It is exact and slow, holds terms as they are, and loads no kernel: small jobs run on it. [Z] calls it BF: no query
index, every query tried on every update. One shortcut is taken because it is plain: the solutions of a query depend on
the graph only through the triples that one of its patterns matches, so a query is left alone when no changed triple
agrees with the constants of any of its patterns.

The law: after each update every query stands as if it had been answered from scratch over the graph as it is now. New
subscriptions, and all of them after the graph was loaded, are answered silently before the next update, so a change is
always some update's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from heliograph.sparql.query import ClassPattern, Pattern, Query
from heliograph.sparql.solve import Graph, QueryPlan
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import (
    Changes,
    DistinctMatches,
    EachMatch,
    Key,
    Match,
    MatchCount,
    MatchDelta,
    Mode,
    RankChange,
    Ranking,
    Row,
    Solution,
    SolutionBuilder,
    holding,
    key_of,
    key_order,
    mode_of,
)
from heliograph.watch.evidence import Reevaluation, WitnessEdges
from heliograph.watch.layout import NO_TIME, EdgeColumns, Int32s
from heliograph.watch.metrics.calls import relaxed
from heliograph.watch.metrics.naive import Effort, Plainly
from heliograph.watch.options import Subscribed
from heliograph.watch.report import PublishRun, Report
from heliograph.watch.strategy import FailedSubscriptions, Watched, WatchMemory, WatchSnapshot
from heliograph.watch.updates import NO_TERM, REMOVE, SET, Triple, Update, UpdateColumns, WindowExtent

# --- the window -------------------------------------------------------------------------------------------------


class EdgeFacts(NamedTuple):
    """What the evolving graph knows of a triple beside its being there.

    `at` (microseconds since 1970) and `seq` are those of the update that added or last renewed it, `number` says how
    many updates had been accepted by then. None: loaded as background, so it never expires by that clock.
    """

    weight: float | None = None
    at: int | None = None
    seq: int | None = None
    number: int | None = None


_Promise = tuple[int, int, Triple]  # when an edge is due, what orders those that are due together, and the edge


class Window:
    """The clocks of a window and the edges due next by each.

    By time, the clock is the largest `at` so far and an edge goes when `at <= clock - span`. By updates, the clock is
    the number of accepted updates, the coming one included, and an edge goes when `number <= clock - n`: after each
    update the graph holds what the last n accepted updates added or renewed. An edge loaded without a time never goes.

    Both kinds keep a queue of promises (due, edge); renewing an edge makes an older promise void, which is noticed when
    it comes to the head. So a renewal costs a push, and expiry costs as much as there is to expire.
    """

    def __init__(self, extent: WindowExtent) -> None:
        self.extent = extent
        self.clock: int | None = None
        self.number = 0
        self._by_time: list[_Promise] = []
        self._by_number: list[_Promise] = []

    def note(self, triple: Triple, edge: EdgeFacts) -> None:
        """Promises that an edge, just added or renewed, will go in its time."""
        if self.extent.span is not None and edge.at is not None:
            heappush(self._by_time, (edge.at, edge.seq or 0, triple))
        if self.extent.updates is not None and edge.number is not None:
            heappush(self._by_number, (edge.number, 0, triple))

    def move(self, at: int | None) -> None:
        """Sets the time clock on to `at`, if that is later."""
        if at is not None and (self.clock is None or at > self.clock):
            self.clock = at

    def expired(self, edges: Mapping[Triple, EdgeFacts]) -> Iterator[Triple]:
        """The edges that are too old by now: by time in order of (at, seq), then by number."""
        if self.extent.span is not None and self.clock is not None:
            yield from _due(self._by_time, self.clock - self.extent.span, edges, lambda edge: (edge.at, edge.seq or 0))
        if self.extent.updates is not None:
            yield from _due(self._by_number, self.number - self.extent.updates, edges, lambda edge: (edge.number, 0))


def _due(
    queue: list[_Promise], limit: int, edges: Mapping[Triple, EdgeFacts], age: Callable[[EdgeFacts], tuple[Any, int]]
) -> Iterator[Triple]:
    while queue and queue[0][0] <= limit:
        *promised, triple = heappop(queue)
        edge = edges.get(triple)
        if edge is not None and age(edge) == tuple(promised):
            yield triple


# --- the evolving graph -----------------------------------------------------------------------------------------


class EvolvingGraph:
    """Triples with what is known of them, and the window they live in.

    The laws: what `apply` gives is the difference between the graph before the update (before anything expired on its
    account) and after it; an update that changes nothing gives nothing; removing what was added restores the graph.
    """

    def __init__(self, extent: WindowExtent | None = None) -> None:
        self.triples = Graph()
        self.edges: dict[Triple, EdgeFacts] = {}
        self.window = Window(extent or WindowExtent())

    def apply(self, update: Update) -> Iterator[list[Triple]]:
        """Lets expire what the update's coming makes too old, if anything, and then applies it: for each of the two the
        triples that went and came.

        The graph stands between the two while the first is looked at.
        """
        self.window.number += 1
        self.window.move(update.at)
        if expired := self._expire():
            yield expired
        yield self._change(update, EdgeFacts(update.weight, update.at, update.seq, self.window.number))

    def load(self, updates: Iterable[Update]) -> None:
        """Applies updates as background: what they add counts as no update, and without a time it never expires."""
        for update in updates:
            self.window.move(update.at)
            self._change(update, EdgeFacts(update.weight, update.at, update.seq if update.at is not None else None))
        self._expire()

    def put(self, triple: Triple, edge: EdgeFacts) -> None:
        self.triples.add(triple)
        self.edges[triple] = edge
        self.window.note(triple, edge)

    def _change(self, update: Update, edge: EdgeFacts) -> list[Triple]:
        """Applies an update; the triples that went and came."""
        match, changed = self.triples.match, list[Triple]()
        if update.predicate is None:  # the removal of a vertex takes its edges and attributes: all that it is an end of
            vertex = update.subject
            return self._remove(list(dict.fromkeys((*match(vertex, None, None), *match(None, None, vertex)))))
        if update.op == REMOVE:
            return self._remove([update.triple] if update.triple in self.edges else [])
        if update.op == SET:
            others = match(update.subject, update.predicate, None)
            changed = self._remove([triple for triple in others if triple != update.triple])
        known = self.edges.get(update.triple)
        if known is None:
            self.put(update.triple, edge)
            changed.append(update.triple)
        elif (renewed := self._renewed(known, edge)) != known:
            self.put(update.triple, renewed)
        return changed

    def _renewed(self, known: EdgeFacts, edge: EdgeFacts) -> EdgeFacts:
        """A present edge that is added again: it takes a weight that is given, and in a window the later time.

        What was loaded without a time stays without: background does not begin to age by being mentioned.
        """
        weight = known.weight if edge.weight is None else edge.weight
        if not self.window.extent:
            return known._replace(weight=weight)
        number = known.number if known.number is None or edge.number is None else edge.number
        if known.at is None or edge.at is None or edge.at < known.at:
            return known._replace(weight=weight, number=number)
        return EdgeFacts(weight, edge.at, edge.seq, number)

    def _remove(self, triples: list[Triple]) -> list[Triple]:
        for triple in triples:
            self.triples.remove(triple)
            del self.edges[triple]
        return triples

    def _expire(self) -> list[Triple]:
        return [triple for due in self.window.expired(self.edges) for triple in self._remove([due])]


# --- which queries a change could concern -----------------------------------------------------------------------

_General = tuple[Term | None, ...]  # a pattern with None for its variables

_CLASS_PROPERTIES = frozenset({RDF_TYPE, RDFS_SUBCLASS_OF})
_MASKS = tuple(product((True, False), repeat=3))
_ANY_CLASS: _General = ()  # stands for every is-a form; no triple generalises to it


class Concerns:
    """Which queries could be concerned by a changed triple: it is looked up under its eight generalisations."""

    def __init__(self) -> None:
        self._queries: dict[_General, dict[str, None]] = {}
        self._measured: dict[str, None] = {}  # queries that ask metrics: any change may concern them

    def add(self, id: str, query: Query) -> None:
        if query.metrics:
            self._measured[id] = None
        for pattern in query.patterns:
            self._queries.setdefault(_general(pattern), {})[id] = None

    def remove(self, id: str, query: Query) -> None:
        self._measured.pop(id, None)
        for key in {_general(pattern) for pattern in query.patterns}:
            del self._queries[key][id]
            if not self._queries[key]:
                del self._queries[key]

    def of(self, changed: Iterable[Triple]) -> set[str]:
        """The ids of all queries with a pattern that agrees with a changed triple."""
        keys = {key for triple in changed for key in _generalisations(triple)}
        concerned = {id for key in keys for id in self._queries.get(key, ())}
        return concerned.union(self._measured)


def _general(pattern: Pattern) -> _General:
    if isinstance(pattern, ClassPattern):
        return _ANY_CLASS
    return tuple(None if isinstance(node, Variable) else node for node in pattern)


def _generalisations(triple: Triple) -> Iterator[_General]:
    subject, predicate, object = triple
    predicates = (predicate, RDFS_MEMBER) if is_container_member(predicate) else (predicate,)
    for shown in predicates:
        for mask in _MASKS:
            yield tuple(part if kept else None for part, kept in zip((subject, shown, object), mask, strict=True))
    if predicate in _CLASS_PROPERTIES:
        yield _ANY_CLASS


# --- the strategy -----------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class PlainEntry:
    """A subscription and its solutions, as rows of ids."""

    subscribed: Subscribed
    plan: QueryPlan
    builder: SolutionBuilder
    mode: Mode
    relaxed: QueryPlan | None  # where a hysteresis may hold solutions beyond a threshold on a metric
    satisfied: set[Key] = field(default_factory=set)  # those that satisfied it and have not gone back beyond it
    rows: set[Row] = field(default_factory=set)

    @property
    def id(self) -> str:
        return self.subscribed.subscription.id

    @property
    def array(self) -> Int32s:
        return np.array(list(self.rows), np.int32).reshape(len(self.rows), len(self.builder.variables))


class PlainStrategy:
    """Queries over an evolving graph, in plain Python."""

    def __init__(
        self, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: WindowExtent, aside: FailedSubscriptions | None = None
    ) -> None:
        self._vocabulary = vocabulary
        self.aside = FailedSubscriptions() if aside is None else aside
        self._graph = EvolvingGraph(extent)
        self._metrics = Plainly(self._weighted, taxonomy)
        self.answers = Reevaluation(self._graph.triples, taxonomy, self._metrics)
        self._effort = Effort()
        self._entries: dict[str, PlainEntry] = {}
        self._concerns = Concerns()
        self._stale: dict[str, None] = {}  # what is to be answered silently before the next update
        self._initial_pending: dict[str, None] = {}
        self._ranking = Ranking()

    def _weighted(self) -> dict[Triple, float | None]:
        return {triple: edge.weight for triple, edge in self._graph.edges.items()}

    # --- subscriptions ------------------------------------------------------------------------------------------

    def add(self, subscribed: Iterable[Subscribed]) -> None:
        for each in subscribed:
            try:
                self._add(each)
            except Exception as error:
                self.aside.put(each.subscription.id, error)

    def _add(self, subscribed: Subscribed) -> None:
        (subscription, options), query = subscribed, subscribed.subscription.query
        builder = SolutionBuilder(query, (), self._vocabulary, ())
        has_slack = bool(options.hysteresis and query.metrics and query.having is None)
        slack = QueryPlan.of(relaxed(query, options.hysteresis)) if has_slack else None
        entry = PlainEntry(subscribed, QueryPlan.of(query), builder, mode_of(query, options, builder), slack)
        self._effort.add(query)
        self._concerns.add(entry.id, query)
        self._entries[entry.id] = entry
        self._stale[entry.id] = None
        if options.initial:
            self._initial_pending[entry.id] = None
        if options.top is not None:
            self._ranking.add(subscription.id, options.top)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            entry = self._entries.pop(subscription.id)
            self._concerns.remove(entry.id, entry.plan.query)
            self._stale.pop(entry.id, None)
            self._initial_pending.pop(entry.id, None)
            if entry.id in self._ranking:
                self._ranking.remove(entry.id)
            self._effort.remove(subscription.query)

    def _fail(self, entry: PlainEntry, error: Exception) -> None:
        """Goes on without a subscription."""
        if self.aside.put(entry.id, error):
            self.remove((entry.subscribed.subscription,))

    @property
    def subscribed(self) -> Sequence[Subscribed]:
        """All subscriptions, in order of subscribing."""
        return [each.subscribed for each in self._entries.values()]

    def watched(self, id: str) -> Watched:
        """A member of a top-k set holds by the counts as they are, even where the next update will carry the news."""
        entry = self._entries[id]
        matches = self._holding(entry, lambda id: self._ranking.set_of(id).is_top(id))
        return Watched(*entry.subscribed, matches, entry.mode.count if isinstance(entry.mode, MatchCount) else 0)

    def _holding(self, entry: PlainEntry, is_top: Callable[[str], bool]) -> tuple[Match, ...]:
        if isinstance(entry.mode, MatchCount):
            return (Match(None, entry.mode.count),) if is_top(entry.id) else ()
        return holding(entry.mode, entry.plan.query, entry.subscribed.options, entry.builder, entry.array)

    # --- answers ------------------------------------------------------------------------------------------------

    def _answer(self, entry: PlainEntry, witness: bool) -> set[Row]:
        """The solutions of a query now; one is enough where only truth counts, and nobody asks for a proof."""
        query, intern = entry.plan.query, self._vocabulary.intern
        is_truth = isinstance(entry.mode, DistinctMatches) and entry.mode.is_truth
        solutions: Iterator[Solution] = self.answers.solutions(entry.plan)
        if entry.relaxed is not None:
            solutions = self._kept(entry, solutions, entry.relaxed)
        rows = set()
        for solution in solutions:
            rows.add(tuple(intern(solution[each]) if each in solution else NO_TERM for each in entry.builder.variables))
            if is_truth and not witness and not query.metrics:
                break
        return rows

    def _kept(self, entry: PlainEntry, found: Iterable[Solution], relaxed: QueryPlan) -> Iterator[Solution]:
        """Solutions that hold now, and those that held and hold still by the hysteresis."""
        names = entry.builder.variables
        kept = {key_of(each, names): each for each in found}
        for each in self.answers.solutions(relaxed):
            if key_of(each, names) in entry.satisfied:
                kept.setdefault(key_of(each, names), each)
        entry.satisfied = set(kept)
        return iter(kept.values())

    def _observe(self, entry: PlainEntry, phase: int, witness: bool) -> MatchDelta:
        """What a phase of an update changes for a subscription."""
        query = entry.plan.query
        before, entry.rows = entry.rows, self._answer(entry, witness)
        if before == entry.rows:
            return MatchDelta()
        if isinstance(entry.mode, EachMatch):  # which needs no columns
            delta = MatchDelta(entry.mode.matches(before - entry.rows), entry.mode.matches(entry.rows - before))
        else:
            changes, delta = Changes.between(before, entry.rows, len(entry.builder.variables), phase), MatchDelta()
            for each in entry.mode.follow(changes, witness or bool(query.metrics)):
                delta = each.delta
        return self._metrics.valued(query, delta, witness) if query.metrics else delta

    # --- updates ------------------------------------------------------------------------------------------------

    def foreseen_ns(self, coming: int = 0) -> int:
        """About how long the metrics that are asked will take of the next update, with so many edges more."""
        return self._effort.foreseen_ns(len(self._graph.edges) + coming)

    @property
    def measures(self) -> bool:
        """Whether any metric is asked."""
        return self._effort.asked

    def load(self, updates: UpdateColumns) -> None:
        self._graph.load(updates.updates(self._vocabulary))
        self._stale.update(dict.fromkeys(self._entries))
        self._ranking.rank_unknown.update(self._ranking)

    def refresh(self, witness: bool) -> None:
        self._metrics.forget()
        self._start(self._stale | self._initial_pending, witness)
        self._stale.clear()

    def _start(self, ids: Iterable[str], witness: bool, held: Mapping[str, tuple[Key, ...]] | None = None) -> None:
        """Answers queries silently; what held before is what memory says, or what their modes know."""
        counts = {}
        for entry in [self._entries[id] for id in ids]:
            try:
                entry.rows = self._answer(entry, witness)
                entry.mode.start(entry.array, entry.mode.held if held is None else held.get(entry.id, ()))
                if isinstance(entry.mode, MatchCount):
                    counts[entry.id] = entry.mode.count
            except Exception as error:
                self._fail(entry, error)
        self._ranking.refresh(counts)

    def publish(self, updates: UpdateColumns, run: PublishRun) -> None:
        self.begin(run)
        for row, update in enumerate(updates.updates(self._vocabulary)):
            self.apply(update, updates, row, run)

    def begin(self, run: PublishRun) -> None:
        """Refreshes, and reports the initial matches that were asked for."""
        self.refresh(run.witness)
        pending = [self._entries[id] for id in self._initial_pending]
        self._initial_pending.clear()
        report = Report(None, WitnessEdges(self.answers) if run.witness else None)
        for entry in pending:
            try:
                delta = MatchDelta((), self._holding(entry, self._ranking.holds))
                delta = (
                    self._metrics.valued(entry.plan.query, delta, run.witness) if entry.plan.query.metrics else delta
                )
                report.add_deltas(entry.subscribed, entry.mode.shown, [(0, delta)])
            except Exception as error:
                self._fail(entry, error)
        report.finish(run)

    def apply(self, update: Update, updates: UpdateColumns, row: int, run: PublishRun) -> None:
        """Applies one update, which is a row of `updates`."""
        run.begun = True
        deltas: dict[str, list[tuple[int, MatchDelta]]] = {}
        ranks: list[RankChange] = []
        changed: list[Triple] = []
        for phase, effect in enumerate(self._graph.apply(update)):
            changed += effect
            self._metrics.forget()
            concerned = [self._entries[id] for id in self._concerns.of(effect)]
            run.candidates += len(concerned)
            for entry in concerned:
                try:
                    delta = self._observe(entry, phase, run.witness)
                except Exception as error:
                    self._fail(entry, error)
                    continue
                if isinstance(entry.mode, MatchCount):
                    ranks.append(RankChange(0, phase, entry.id, entry.mode.count))
                elif delta.lost or delta.gained:
                    deltas.setdefault(entry.id, []).append((row, delta))
        if ranks or self._ranking.rank_dirty:
            ranks = [change for change in ranks if change.id in self._ranking]
            ranked = self._ranking.follow(ranks, 1)
            deltas |= {id: [(row, delta)] for (_, id), delta in ranked.items()}
        report = Report(updates, WitnessEdges(self.answers, lambda: changed) if run.witness else None)
        for entry in [self._entries[id] for id in deltas if id in self._entries]:
            try:
                report.add_deltas(entry.subscribed, entry.mode.shown, deltas[entry.id])
            except Exception as error:
                self._fail(entry, error)
        report.finish(run)

    # --- handing over -------------------------------------------------------------------------------------------

    def snapshot(self) -> WatchSnapshot:
        window = self._graph.window
        return WatchSnapshot(self._edges(), window.clock, window.number, self._memory())

    def _memory(self) -> WatchMemory:
        ranking, held, satisfied = self._ranking, dict[str, tuple[Key, ...]](), dict[str, tuple[Key, ...]]()
        for id, entry in self._entries.items():
            if entry.relaxed is not None:
                satisfied[id] = tuple(sorted(entry.satisfied, key=key_order))
            elif entry.subscribed.options.hysteresis:
                held[id] = entry.mode.held
            if id in ranking:
                held[id] = ((),) if ranking.holds(id) else ()
        dirty, unknown = frozenset(ranking.rank_dirty), frozenset(ranking.rank_unknown)
        return WatchMemory(tuple(self._initial_pending), dirty, held, unknown, satisfied)

    def restore(self, snapshot: WatchSnapshot) -> None:
        window, memory = self._graph.window, snapshot.memory.without(self.aside)
        window.clock, window.number = snapshot.clock, snapshot.number
        for triple, edge in _edges(snapshot.edges, self._vocabulary):
            self._graph.put(triple, edge)
        self._metrics.forget()
        for id, keys in memory.satisfied.items():
            self._entries[id].satisfied = set(keys)
        ranked = {id: bool(memory.held[id]) for id in self._ranking if id in memory.held}
        self._ranking.restore(ranked, memory.rank_dirty, ())
        self._start(list(self._entries), witness=False, held=memory.held)
        self._ranking.rank_unknown = {id for id in memory.rank_unknown if id in self._ranking}
        self._stale = dict.fromkeys(id for id in memory.rank_unknown if id in self._entries)
        self._initial_pending = dict.fromkeys(id for id in memory.initial_pending if id in self._entries)

    def ids(self) -> Int32s:
        return np.concatenate(self._edges()[:3])

    def rebased(self, vocabulary: Vocabulary, snapshot: WatchSnapshot) -> PlainStrategy:
        """Solutions are rows of ids, so they are found again."""
        fresh = copy(self)
        fresh._vocabulary, fresh._entries = vocabulary, {}
        for entry in self._entries.values():
            builder = SolutionBuilder(entry.plan.query, (), vocabulary, ())
            made = copy(entry)
            made.builder, made.mode = builder, mode_of(entry.plan.query, entry.subscribed.options, builder)
            made.rows = fresh._answer(made, witness=False)
            made.mode.start(made.array, entry.mode.held)
            fresh._entries[entry.id] = made
        return fresh

    def _edges(self) -> EdgeColumns:
        edges = self._graph.edges
        if not edges:
            return EdgeColumns.none()
        intern = self._vocabulary.intern_many
        subject, predicate, object = (np.array(intern(column), np.int32) for column in zip(*edges, strict=True))
        weights, *times = zip(*edges.values(), strict=True)
        weight = np.array([np.nan if each is None else each for each in weights], np.float64)
        at, seq, number = (np.array([NO_TIME if t is None else t for t in column], np.int64) for column in times)
        return EdgeColumns(subject, predicate, object, weight, at, seq, number)


def _edges(edges: EdgeColumns, vocabulary: Vocabulary) -> Iterator[tuple[Triple, EdgeFacts]]:
    triples = zip(*([vocabulary.term(id) for id in column.tolist()] for column in edges[:3]), strict=True)
    times = zip(*([None if t == NO_TIME else t for t in column.tolist()] for column in edges[4:]), strict=True)
    for (subject, predicate, object), weight, known in zip(triples, edges.weight.tolist(), times, strict=True):
        yield (subject, predicate, object), EdgeFacts(None if weight != weight else weight, *known)
