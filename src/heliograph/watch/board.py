"""The board: every subscription with what stands for it, and what each update changes there.

The law: after `react` the board stands as if every query had been answered from scratch over the graph as it is now;
the reports are exactly the differences. New subscriptions, and all of them after the graph was loaded, are settled
silently before the next update, so a change is always some update's.

A top-k set that gained or lost a member is ranked again when the next update is done, which then carries the news.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from heliograph.baselines.solve import Plan
from heliograph.baselines.watch_naive import Concerns, Reevaluation
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import Query
from heliograph.watch.metrics.comparing import relaxed
from heliograph.watch.metrics.plainly import Plainly
from heliograph.watch.modes import (
    Key,
    Match,
    Mode,
    Ranked,
    Solution,
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
from heliograph.watch.options import Options
from heliograph.watch.snapshots import Memory
from heliograph.watch.updates import Effect


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
        self.held: set[Key] = set()

    @classmethod
    def of(cls, query: Query, options: Options) -> Slack | None:
        asked = bool(options.hysteresis and query.metrics and query.having is None)
        return cls(query, options.hysteresis) if asked else None

    def kept(self, found: Iterable[Solution], answers: Reevaluation) -> Iterator[Solution]:
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
        found: Iterator[Solution] = self._answers.solutions(watched.plan)
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


def afresh(interest: Interest, answers: Reevaluation, held: Iterable[Key], witness: bool) -> Watched:
    """A subscription as it stands over the graph now, for those who keep no standing; `held` is what memory says."""
    query = interest.subscription.query
    mode, plan = mode_of(query, interest.options), Plan.of(query)
    mode.standing = dict.fromkeys(held, Match())
    mode.observe(answers.solutions(plan), witness)
    _tell_count(mode)
    return Watched(interest.subscription, interest.options, mode, plan)


def standing(interest: Interest, solutions: Iterable[Solution], held: Iterable[Key]) -> Watched:
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
