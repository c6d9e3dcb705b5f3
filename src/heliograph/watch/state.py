"""What every strategy keeps: subscriptions with what holds for them, those put aside, and snapshots that one
strategy hands to another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from heliograph.errors import FAILED, SubscriptionError, own_failure
from heliograph.model import Explanation, Rejected
from heliograph.sparql.evaluate import Metrics
from heliograph.sparql.query import ClassPattern, Metric, Node, Pattern, Query
from heliograph.sparql.solve import Graph, Plan, Readable, Solution, Triple, world
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import Floats, Int32s, Int64s
from heliograph.watch.metrics import calls
from heliograph.watch.metrics.calls import relaxed
from heliograph.watch.metrics.naive import Plainly
from heliograph.watch.modes import Key as ModesKey
from heliograph.watch.modes import (
    Match,
    Mode,
    Ranked,
    Turn,
    after,
    by_name,
    current,
    key_of,
    key_order,
    mode_of,
    ranked,
    rerank,
)
from heliograph.watch.modes import Solution as ModesSolution
from heliograph.watch.options import Options
from heliograph.watch.updates import REMOVE, SET, Edge, Effect, Extent, Update, Window
from heliograph.watch.updates import Triple as UpdatesTriple

# ----------------------------------------------------------------------------------------------------------------------
# Subscriptions that failed: each is reported as its own error and put aside, and the others go on.
#
# The law: whatever a single subscription does inside a call (its exact check, its evidence, its metric), nobody else
# is told more or less for it. What fails for all of them, as the graph itself, is no failure of a subscription, and
# raises. Lack of memory inside a subscription counts as its own failure: to raise it in the midst of updates would
# end the watch.
# ----------------------------------------------------------------------------------------------------------------------

_LOG = logging.getLogger("heliograph")


class Aside:
    """Those that were put aside, by id, and why; nothing is told to them until they are unsubscribed."""

    def __init__(self) -> None:
        self._errors: dict[str, SubscriptionError] = {}
        self._fresh: list[str] = []

    def __contains__(self, id: object) -> bool:
        return id in self._errors

    def __iter__(self) -> Iterator[str]:
        return iter(self._errors)

    def put(self, id: str, error: Exception) -> bool:
        """A subscription failed; whether that is new."""
        if id in self._errors:
            return False
        told = self._errors[id] = own_failure(f"subscription {id!r}", error)
        self._fresh.append(id)
        _LOG.warning("%s", told.describe(), exc_info=error)
        return True

    def drop(self, id: str) -> bool:
        """A subscription leaves; whether it was put aside."""
        if id in self._fresh:
            self._fresh.remove(id)
        return self._errors.pop(id, None) is not None

    def report(self, among: Iterable[str] | None = None) -> list[Rejected]:
        """Those (or those `among` some) that were put aside and not reported yet."""
        if not self._fresh:
            return []
        asked = set(self._fresh if among is None else among)
        fresh = [id for id in self._fresh if id in asked]
        self._fresh = [id for id in self._fresh if id not in asked]
        return [Rejected.of(self._errors[id], "subscriptions", id) for id in fresh]

    def meta(self) -> dict[str, Any]:
        """Which are put aside and why, and which of them are still to be reported, as plain values."""
        return {"errors": {id: [error.message, error.fix] for id, error in self._errors.items()}, "fresh": self._fresh}

    def restore(self, meta: Mapping[str, Any]) -> None:
        errors = meta["errors"].items()
        self._errors = {id: SubscriptionError(FAILED, message, fix=fix) for id, (message, fix) in errors}
        self._fresh = list(meta["fresh"])

    def explanation(self, id: str, publication_id: str | None) -> Explanation:
        message = self._errors[id].describe()
        return Explanation("watch", id, publication_id, False, f"{id} was put aside: {message}", failed=message)


# ----------------------------------------------------------------------------------------------------------------------
# Continuous queries, plainly: after each update the queries it could concern are answered again from scratch.
#
# [Z] calls it BF: no query index, every query tried on every update. One shortcut is taken because it is plain: the
# solutions of a query depend on the graph only through the triples that one of its patterns matches, so a query is
# left alone when no changed triple agrees with the constants of any of its patterns. `Concerns` finds the rest by
# looking a triple up under its eight generalisations.
# ----------------------------------------------------------------------------------------------------------------------

Key = tuple[Term | None, ...]  # a pattern with None for its variables

_CLASS_PROPERTIES = frozenset({RDF_TYPE, RDFS_SUBCLASS_OF})
_MASKS = tuple(product((True, False), repeat=3))
_ANY_CLASS: Key = ()  # stands for every is-a form; no triple generalises to it


class Concerns:
    """Which queries could be concerned by a changed triple."""

    def __init__(self) -> None:
        self._queries: dict[Key, dict[str, None]] = {}
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


class Measuring(Protocol):
    """What answers `hg:` functions."""

    @property
    def vertices(self) -> Collection[Term]: ...

    def selected(self, query: Query) -> frozenset[Term]: ...

    def term(self, metric: Metric, bindings: Mapping[Variable, Term], selected: frozenset[Term]) -> Term | None: ...

    def shown(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Mapping[str, Any]: ...


class Reevaluation:
    """Answers queries over the graph as it is now."""

    def __init__(self, graph: Readable, taxonomy: Taxonomy | None = None, measuring: Measuring | None = None) -> None:
        self.graph = graph
        self.taxonomy = taxonomy
        self._measuring = measuring

    def solutions(self, plan: Plan) -> Iterator[Solution]:
        measuring = self._measuring
        if measuring is None or not plan.query.metrics:
            return plan.solutions(world(self.graph, self.taxonomy))
        return plan.solutions(
            world(self.graph, self.taxonomy), metrics=self.metrics(plan.query), vertices=measuring.vertices
        )

    @property
    def vertices(self) -> Collection[Term]:
        """What variables of metrics range over, if somebody measures."""
        return () if self._measuring is None else self._measuring.vertices

    def metrics(self, query: Query) -> Metrics:
        """What `hg:` functions of a query say of bindings, as far as somebody measures them."""
        measuring = self._measuring
        if measuring is None:
            return lambda metric, bindings: None
        selected = measuring.selected(query)
        return lambda metric, bindings: measuring.term(metric, bindings, selected)

    def shown(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Mapping[str, Any]:
        """What an `hg:` function shows beside its value: an interval, or the edges of a path or tree."""
        return {} if self._measuring is None else self._measuring.shown(metric, bindings)

    def answer(self, query: Query) -> Iterator[Solution]:
        """The solutions of a query that is asked but once."""
        return self.solutions(Plan.of(query))


def _general(pattern: Pattern) -> Key:
    if isinstance(pattern, ClassPattern):
        return _ANY_CLASS
    return (_constant(pattern.subject), _constant(pattern.predicate), _constant(pattern.object))


def _constant(node: Node) -> Term | None:
    return None if isinstance(node, Variable) else node


def _generalisations(triple: Triple) -> Iterator[Key]:
    subject, predicate, object = triple
    predicates = (predicate, RDFS_MEMBER) if is_container_member(predicate) else (predicate,)
    for shown in predicates:
        for mask in _MASKS:
            yield tuple(part if kept else None for part, kept in zip((subject, shown, object), mask, strict=True))
    if predicate in _CLASS_PROPERTIES:
        yield _ANY_CLASS


# ----------------------------------------------------------------------------------------------------------------------
# The evolving graph: a set of triples, each with an optional weight and time, changed by one update at a time.
#
# The laws: `apply` returns the net difference between the graph before the update (before anything expired on its
# account) and after it; an update that changes nothing has an empty effect; removing what was added restores the
# graph.
# ----------------------------------------------------------------------------------------------------------------------


class EvolvingGraph:
    """Triples with what is known of them, and the window they live in."""

    def __init__(self, extent: Extent | None = None) -> None:
        self.triples = Graph()
        self.edges: dict[UpdatesTriple, Edge] = {}
        self.window = Window(extent or Extent())

    def apply(self, update: Update) -> Iterator[Effect]:
        """Lets expire what the update's coming makes too old, if anything, and then applies it: an effect for each.

        The graph stands between the two while the first effect is looked at.
        """
        self.window.number += 1
        self.window.move(update.at)
        expired = Effect()
        self._expire(expired)
        if expired:
            yield expired
        effect = Effect()
        self._change(update, Edge(update.weight, update.at, update.seq, self.window.number), effect)
        yield effect

    def load(self, updates: Iterable[Update]) -> None:
        """Applies updates as background: what they add counts as no update, and without a time it never expires."""
        for update in updates:
            self.window.move(update.at)
            self._change(
                update, Edge(update.weight, update.at, update.seq if update.at is not None else None), Effect()
            )
        self._expire(Effect())

    def restore(self, triple: UpdatesTriple, edge: Edge) -> None:
        """Puts back a saved edge exactly as it was."""
        self._put(triple, edge)

    # --- the operations -----------------------------------------------------------------------------------------

    def _change(self, update: Update, edge: Edge, effect: Effect) -> None:
        if update.op == REMOVE:
            self._remove(self._named(update), effect)
        else:
            if update.op == SET:
                others = self.triples.match(update.subject, update.predicate, None)
                self._remove([triple for triple in others if triple != update.triple], effect)
            self._add(update.triple, edge, effect)

    def _named(self, update: Update) -> list[UpdatesTriple]:
        """The triples that a removal names: one, or all that touch a vertex."""
        if update.predicate is None:
            return self.touching(update.subject)
        return [update.triple] if update.triple in self.edges else []

    def touching(self, vertex: Term) -> list[UpdatesTriple]:
        """The edges and attributes of a vertex: all triples with it at either end, each once."""
        outgoing, incoming = self.triples.match(vertex, None, None), self.triples.match(None, None, vertex)
        return list(dict.fromkeys((*outgoing, *incoming)))

    def _add(self, triple: UpdatesTriple, edge: Edge, effect: Effect) -> None:
        known = self.edges.get(triple)
        if known is None:
            effect.add(triple)
            self._put(triple, edge)
        elif (renewed := self._renewed(known, edge)) != known:
            self._put(triple, renewed)

    def _renewed(self, known: Edge, edge: Edge) -> Edge:
        """A present edge that is added again: it takes a weight that is given, and in a window the later time.

        What was loaded without a time stays without: background does not begin to age by being mentioned.
        """
        weight = known.weight if edge.weight is None else edge.weight
        if not self.window.extent:
            return known._replace(weight=weight)
        number = known.number if known.number is None or edge.number is None else edge.number
        if known.at is None or edge.at is None or edge.at < known.at:
            return known._replace(weight=weight, number=number)
        return Edge(weight, edge.at, edge.seq, number)

    def _put(self, triple: UpdatesTriple, edge: Edge) -> None:
        self.triples.add(triple)
        self.edges[triple] = edge
        self.window.note(triple, edge)

    def _remove(self, triples: Iterable[UpdatesTriple], effect: Effect) -> None:
        for triple in triples:
            self.triples.remove(triple)
            del self.edges[triple]
            effect.remove((triple,))

    def _expire(self, effect: Effect) -> None:
        for triple in self.window.expired(self.edges.get):
            self._remove((triple,), effect)


# ----------------------------------------------------------------------------------------------------------------------
# What one strategy hands to another, or to a save: the graph and what the graph does not tell.
#
# The law: a strategy with the same subscriptions, restored from another's snapshot, goes on as the other would have.
# ----------------------------------------------------------------------------------------------------------------------


class Edges(NamedTuple):
    """The edges of a graph as columns, in the order of their being added: terms by their ids, NaN for no weight,
    NO_TIME where `at`, `seq` or `number` is none. See `window.Edge`."""

    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s
    seq: Int64s
    number: Int64s

    @property
    def size(self) -> int:
        return len(self.subject)

    @classmethod
    def none(cls) -> Edges:
        ids, numbers = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(ids, ids, ids, np.empty(0, np.float64), numbers, numbers, numbers)


class Memory(NamedTuple):
    """What the graph does not tell: who is still to be greeted, which top-k sets are to be ranked again, the keys that
    stand for those whose standing depends on the past, the members of sets who have no place yet, the solutions that a
    hysteresis may hold beyond a threshold on a metric, and what measures keep beside the edges."""

    greeting: tuple[str, ...] = ()
    stirred: frozenset[str] = frozenset()
    held: Mapping[str, tuple[ModesKey, ...]] = {}
    unplaced: frozenset[str] = frozenset()
    satisfied: Mapping[str, tuple[ModesKey, ...]] = {}
    measures: Mapping[calls.Key, Mapping[str, npt.NDArray[Any]]] = {}  # see Measure.saved

    def without(self, ids: Container[str]) -> Memory:
        """The same of all but these."""
        return self._replace(
            greeting=tuple(id for id in self.greeting if id not in ids),
            held={id: keys for id, keys in self.held.items() if id not in ids},
            unplaced=frozenset(id for id in self.unplaced if id not in ids),
            satisfied={id: keys for id, keys in self.satisfied.items() if id not in ids},
        )


class Snapshot(NamedTuple):
    """A graph, the clocks of its window (the time in microseconds, and the updates accepted so far), and memory."""

    edges: Edges
    clock: int | None
    number: int
    memory: Memory

    def renumbered(self, own: Vocabulary, kept: Int32s, other: Vocabulary) -> Snapshot:
        """The same in ids of a vocabulary that was made of the terms `kept`, which are those of the edges at least."""
        places = np.full(len(own), -1, np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        subject, predicate, object = (places[column] for column in self.edges[:3])
        edges = self.edges._replace(subject=subject, predicate=predicate, object=object)
        measures = {
            key._replace(properties=tuple(sorted(other.intern(own.term(id)) for id in key.properties))): arrays
            for key, arrays in self.memory.measures.items()
        }
        return self._replace(edges=edges, memory=self.memory._replace(measures=measures))


# ----------------------------------------------------------------------------------------------------------------------
# The board: every subscription with what stands for it, and what each update changes there.
#
# The law: after `react` the board stands as if every query had been answered from scratch over the graph as it is
# now; the reports are exactly the differences. New subscriptions, and all of them after the graph was loaded, are
# settled silently before the next update, so a change is always some update's.
#
# A top-k set that gained or lost a member is ranked again when the next update is done, which then carries the news.
# ----------------------------------------------------------------------------------------------------------------------


class Interest(NamedTuple):
    """A subscription, and how it is notified."""

    subscription: Subscription
    options: Options


@dataclass(frozen=True, slots=True)
class Watched:
    """A subscription, how it is notified, and what stands for it."""

    subscription: Subscription
    options: Options
    mode: Mode
    plan: Plan
    slack: Slack | None = None


class Slack:
    """The solutions that satisfied a threshold on a metric and have not gone back beyond its hysteresis."""

    def __init__(self, query: Query, hysteresis: float) -> None:
        self._plan, self._names = Plan.of(relaxed(query, hysteresis)), by_name(query)
        self.held: set[ModesKey] = set()

    @classmethod
    def of(cls, query: Query, options: Options) -> Slack | None:
        asked = bool(options.hysteresis and query.metrics and query.having is None)
        return cls(query, options.hysteresis) if asked else None

    def kept(self, found: Iterable[ModesSolution], answers: Reevaluation) -> Iterator[ModesSolution]:
        """Solutions that hold now, and those that held and hold still by the hysteresis."""
        holding = {key_of(each, self._names): each for each in found}
        for each in answers.solutions(self._plan):
            if key_of(each, self._names) in self.held:
                holding.setdefault(key_of(each, self._names), each)
        self.held = set(holding)
        return iter(holding.values())


Fail = Callable[[Subscription, Exception], None]  # hears which subscription failed, and how


def raised(subscription: Subscription, error: Exception) -> None:
    """Nobody goes on without a subscription that failed."""
    raise error


class Report(NamedTuple):
    watched: Watched
    turn: Turn


class Reaction(NamedTuple):
    """What an update changed, by order of subscribing, and for how many queries a join was touched."""

    reports: tuple[Report, ...] = ()
    candidates: int = 0


def joined(reactions: Sequence[Reaction]) -> Reaction:
    """What an update changed in all: first by what expired before it, then by itself."""
    if len(reactions) == 1:
        return reactions[0]
    turns: dict[str, Report] = {}
    for report in (report for reaction in reactions for report in reaction.reports):
        id = report.watched.subscription.id
        before = turns.get(id)
        shown = report.watched.mode.shown
        turns[id] = report if before is None else report._replace(turn=after(before.turn, report.turn, shown))
    reports = sorted(turns.values(), key=lambda report: report.watched.subscription.number)
    return Reaction(tuple(reports), sum(reaction.candidates for reaction in reactions))


class Board:
    """All subscriptions, by id. `fail` hears of those that failed, and is to `remove` them."""

    def __init__(self, answers: Reevaluation, metrics: Plainly, fail: Fail = raised) -> None:
        self._answers, self._metrics, self._fail = answers, metrics, fail
        self._watched: dict[str, Watched] = {}
        self._concerns = Concerns()
        self._unsettled: dict[str, None] = {}
        self._greeting: dict[str, None] = {}  # whose initial matches are still to be reported
        self._sets: dict[str, dict[str, Ranked]] = {}
        self._stirred: set[str] = set()  # sets whose membership changed since they were ranked

    def __getitem__(self, id: str) -> Watched:
        """A subscription with what stands for it; a member of a top-k set stands by the counts as they are, even where
        the next update will carry the news."""
        watched = self._watched[id]
        if not isinstance(watched.mode, Ranked):
            return watched
        top, members = watched.mode.top, self._sets[watched.mode.top.name]
        place = ranked(members).index(id)
        return replace(watched, mode=Ranked.placed(watched.subscription.query, top, watched.mode.count, place))

    @property
    def interests(self) -> list[Interest]:
        """Everyone, in order of subscribing."""
        return [Interest(each.subscription, each.options) for each in self._watched.values()]

    def add(self, subscription: Subscription, options: Options) -> None:
        id, query = subscription.id, subscription.query
        mode, slack = mode_of(query, options), Slack.of(query, options)
        watched = Watched(subscription, options, mode, Plan.of(query), slack)
        self._concerns.add(id, query)
        self._watched[id] = watched
        self._unsettled[id] = None
        if options.initial:
            self._greeting[id] = None
        if isinstance(mode, Ranked):
            self._sets.setdefault(mode.top.name, {})[id] = mode
            self._stirred.add(mode.top.name)

    def remove(self, subscription: Subscription) -> None:
        id = subscription.id
        watched = self._watched.pop(id)
        self._concerns.remove(id, watched.plan.query)
        self._unsettled.pop(id, None)
        self._greeting.pop(id, None)
        if isinstance(watched.mode, Ranked):
            del self._sets[watched.mode.top.name][id]
            self._stirred.add(watched.mode.top.name)

    def unsettle(self) -> None:
        """The graph was changed silently: every query is answered again before the next update."""
        self._unsettled.update(dict.fromkeys(self._watched))

    def settle(self, witness: bool) -> None:
        """Brings the board up to the graph, silently."""
        self._metrics.forget()
        for id in self._unsettled | self._greeting:
            self._try(self._watched[id], witness)
        for members in self._sets.values():
            rerank(members, only=self._unsettled)
        self._unsettled.clear()

    def greet(self, witness: bool) -> tuple[Report, ...]:
        """What stands for those who asked to know it at first and have not been told."""
        greeted = _in_order(self._watched[id] for id in self._greeting)
        self._greeting.clear()
        reports = []
        for watched in greeted:
            try:
                reports.append(Report(watched, self._valued(watched, Turn((), current(watched.mode)), witness)))
            except Exception as error:
                self._fail(watched.subscription, error)
        return tuple(reports)

    def react(self, effect: Effect, witness: bool) -> Reaction:
        """Answers again every query that the effect could concern."""
        self._metrics.forget()
        concerned = [self._watched[id] for id in self._concerns.of(effect)]
        turns = {watched.subscription.id: self._try(watched, witness) for watched in concerned}
        ranked = {watched.mode.top.name for watched in concerned if isinstance(watched.mode, Ranked)}
        turns |= self._rank(ranked - self._stirred)
        return Reaction(self._reports(turns), len(concerned))

    def rank_stirred(self) -> Reaction:
        """Ranks the sets whose membership changed before the update that is now done."""
        turns = self._rank(self._stirred)
        self._stirred.clear()
        return Reaction(self._reports(turns))

    @property
    def stirred(self) -> bool:
        return bool(self._stirred)

    def memory(self) -> Memory:
        """What must be kept of a board to restore it over the same graph."""
        held = {id: tuple(each.mode.standing) for id, each in self._watched.items() if _remembers(each)}
        slack = {id: each.slack for id, each in self._watched.items() if each.slack is not None}
        satisfied = {id: tuple(sorted(each.held, key=key_order)) for id, each in slack.items()}
        unplaced = frozenset(id for id in self._unsettled if isinstance(self._watched[id].mode, Ranked))
        return Memory(tuple(self._greeting), frozenset(self._stirred), held, unplaced, satisfied)

    def restore(self, memory: Memory) -> None:
        """Brings a board of the same subscriptions to where it stood when `memory` was taken."""
        self._metrics.forget()
        for id, keys in memory.held.items():
            self._watched[id].mode.standing = dict.fromkeys(keys, Match())
        for id, keys in memory.satisfied.items():
            if (slack := self._watched[id].slack) is not None:
                slack.held = set(keys)
        for watched in list(self._watched.values()):
            self._try(watched, witness=False)
            _tell_count(watched.mode)
        self._unsettled = dict.fromkeys(id for id in memory.unplaced if id in self._watched)
        self._greeting = dict.fromkeys(id for id in memory.greeting if id in self._watched)
        self._stirred = set(memory.stirred) & self._sets.keys()  # a set may have lost its last member

    def _try(self, watched: Watched, witness: bool) -> Turn:
        """Observes; a subscription that fails is told nothing."""
        try:
            return self._observe(watched, witness)
        except Exception as error:
            self._fail(watched.subscription, error)
            return Turn()

    def _observe(self, watched: Watched, witness: bool) -> Turn:
        if not watched.plan.query.metrics:
            return watched.mode.observe(self._answers.solutions(watched.plan), witness)
        found: Iterator[ModesSolution] = self._answers.solutions(watched.plan)
        if watched.slack is not None:
            found = watched.slack.kept(found, self._answers)
        return self._valued(watched, watched.mode.observe(found, witness=True), witness)

    def _valued(self, watched: Watched, turn: Turn, witness: bool) -> Turn:
        query = watched.plan.query
        return self._metrics.valued(query, turn, witness) if query.metrics else turn

    def _rank(self, names: Iterable[str]) -> Mapping[str, Turn]:
        return {id: turn for name in names for id, turn in rerank(self._sets[name]).items()}

    def _reports(self, turns: Mapping[str, Turn]) -> tuple[Report, ...]:
        changed = _in_order(self._watched[id] for id, turn in turns.items() if turn.lost or turn.gained)
        return tuple(Report(watched, turns[watched.subscription.id]) for watched in changed)


def afresh(interest: Interest, answers: Reevaluation, held: Iterable[ModesKey], witness: bool) -> Watched:
    """A subscription as it stands over the graph now, for those who keep no standing; `held` is what memory says."""
    query = interest.subscription.query
    mode, plan = mode_of(query, interest.options), Plan.of(query)
    mode.standing = dict.fromkeys(held, Match())
    mode.observe(answers.solutions(plan), witness)
    _tell_count(mode)
    return Watched(interest.subscription, interest.options, mode, plan)


def standing(interest: Interest, solutions: Iterable[ModesSolution], held: Iterable[ModesKey]) -> Watched:
    """A subscription as it stands with these solutions, where `held` is what stood."""
    query = interest.subscription.query
    mode = mode_of(query, interest.options)
    mode.standing = dict.fromkeys(held, Match())
    mode.observe(solutions, witness=True)
    return Watched(interest.subscription, interest.options, mode, Plan.of(query))


def _tell_count(mode: Mode) -> None:
    """What stands for a ranked query shows its count."""
    if isinstance(mode, Ranked):
        mode.standing = dict.fromkeys(mode.standing, Match(None, mode.count))


def _in_order(watched: Iterable[Watched]) -> list[Watched]:
    return sorted(watched, key=lambda each: each.subscription.number)


def _remembers(watched: Watched) -> bool:
    """Whether what stands depends on more than the graph."""
    return isinstance(watched.mode, Ranked) or bool(watched.options.hysteresis and watched.slack is None)
