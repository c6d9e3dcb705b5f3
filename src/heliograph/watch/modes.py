"""When a query notifies: what holds, what an update gained and lost, and top-k sets kept in order."""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import Expression, Form, Query
from heliograph.terms import Term, Variable, sort_key
from heliograph.watch.options import Options, Top, threshold

# ----------------------------------------------------------------------------------------------------------------------
# When a query notifies: what stands, and what an update gained and lost.
#
# Every mode keeps the set of things that hold now, by key: the matches of `each`, the one truth of `change`, the
# groups whose count satisfies the condition, the place in the top k. The law: `observe` returns exactly the
# difference between what stood before and what stands now, so gains and losses of a key alternate.
# ----------------------------------------------------------------------------------------------------------------------

Solution = Mapping[Variable, Term]
Key = tuple[Term | None, ...]


class Match(NamedTuple):
    """One thing that holds: the bindings to show, a count or the values of metrics, a solution that proves it, and what
    else metrics show, where there is any."""

    bindings: Solution | None = None
    value: Any = None
    witness: Solution | None = None
    more: Mapping[str, Any] | None = None


Standing = dict[Key, Match]


class Turn(NamedTuple):
    """What one update lost and gained, each in the order of its bindings."""

    lost: tuple[Match, ...] = ()
    gained: tuple[Match, ...] = ()


def after(first: Turn, second: Turn, shown: tuple[Variable, ...]) -> Turn:
    """Two turns of one update as one. What the first lost and the second regained is told both ways; what the first
    gained and the second lost never stood when the update was done, and is not told."""
    passing = [match for match in first.gained if any(match.bindings == lost.bindings for lost in second.lost)]
    lost = [*first.lost, *(match for match in second.lost if all(match.bindings != each.bindings for each in passing))]
    gained = [*(match for match in first.gained if match not in passing), *second.gained]
    return Turn(_by_bindings(lost, shown), _by_bindings(gained, shown))


def _by_bindings(matches: Iterable[Match], shown: tuple[Variable, ...]) -> tuple[Match, ...]:
    return tuple(sorted(matches, key=lambda match: key_order(key_of(match.bindings or {}, shown))))


class Mode(Protocol):
    """How one subscription is notified. `shown` are the variables whose bindings it tells, and orders by."""

    standing: Standing
    shown: tuple[Variable, ...]

    def observe(self, solutions: Iterable[Solution], witness: bool) -> Turn: ...


def mode_of(query: Query, options: Options) -> Mode:
    if options.top is not None:
        return Ranked(query, options.top)
    if query.having is not None:
        return Counted(query, options.hysteresis)
    if query.form is Form.ASK or options.mode == "change":
        return Change()
    return Each(query)


def current(mode: Mode) -> tuple[Match, ...]:
    """Everything that stands, in the order of its bindings."""
    return _ordered(mode.standing)


class Each:
    """Every match is reported: a distinct solution over all variables, or over the projected ones of DISTINCT."""

    def __init__(self, query: Query) -> None:
        self.standing: Standing = {}
        self.shown = query.projection if query.distinct else query.named_variables
        self.key = self.shown if query.distinct else by_name(query)

    def observe(self, solutions: Iterable[Solution], witness: bool) -> Turn:
        found: dict[Key, Solution] = {}
        for solution in solutions:
            key = key_of(solution, self.key)
            known = found.get(key)
            if known is None or order(solution) < order(known):
                found[key] = solution
        before, self.standing = self.standing, {key: self.match(witnessed) for key, witnessed in found.items()}
        return _difference(before, self.standing)

    def match(self, solution: Solution) -> Match:
        return Match({variable: solution[variable] for variable in self.shown if variable in solution}, None, solution)


class Change:
    """Only truth counts: whether there is any match at all."""

    shown: tuple[Variable, ...] = ()

    def __init__(self) -> None:
        self.standing: Standing = {}

    def observe(self, solutions: Iterable[Solution], witness: bool) -> Turn:
        one = min(solutions, key=order, default=None) if witness else next(iter(solutions), None)
        before = {key: Match() for key in self.standing}  # what once witnessed it may be long gone
        self.standing = {} if one is None else {(): Match(None, None, one if witness else None)}
        return _difference(before, self.standing)


class Counted:
    """A condition on the number of solutions, for each binding of the GROUP BY variables.

    Without GROUP BY there is always one group, with the count 0 at the least; with it a group without solutions does
    not exist. A hysteresis h keeps a condition that holds until it fails by more than h.
    """

    def __init__(self, query: Query, hysteresis: float) -> None:
        assert query.having is not None
        self.standing: Standing = {}
        self.shown = query.group_by
        self._condition = Condition.of(query.having)
        self._threshold = Threshold(query.having, hysteresis)

    def observe(self, solutions: Iterable[Solution], witness: bool) -> Turn:
        counts = Counter(key_of(solution, self.shown) for solution in solutions)
        if not self.shown:
            counts.setdefault((), 0)
        before = {key: self.match(key, counts[key]) for key in self.standing}  # a loss carries the count it fell to
        self.standing = {
            key: self.match(key, count) for key, count in counts.items() if self.holds(key, count, key in before)
        }
        return _difference(before, self.standing)

    def holds(self, key: Key, count: int, held: bool) -> bool:
        return self._condition.holds(self._bindings(key), count=count) or (held and self._threshold.slack(count))

    def _bindings(self, key: Key) -> Solution:
        return {variable: term for variable, term in zip(self.shown, key, strict=True) if term is not None}

    def match(self, key: Key, count: int) -> Match:
        return Match(self._bindings(key) if self.shown else None, count)


class Threshold:
    """COUNT(*) against a number, with a hysteresis on the side of falling back."""

    def __init__(self, having: Expression | None, hysteresis: float) -> None:
        self._operator, self._limit = threshold(having) or (">=", math.inf)
        self._hysteresis = hysteresis if self._operator in (">", ">=") else -hysteresis

    def slack(self, count: int) -> bool:
        """Whether the condition would still hold if the count lay nearer by the hysteresis."""
        return self._hysteresis != 0 and _COMPARE[self._operator](count + self._hysteresis, self._limit)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Ranked:
    """A member of a set of which the k queries with most matches are told when they enter and leave.

    `observe` only counts; `rerank` then compares the members of the set.
    """

    shown: tuple[Variable, ...] = ()

    def __init__(self, query: Query, top: Top) -> None:
        self.standing: Standing = {}
        self.top = top
        self.count = 0
        self._key = query.projection if query.distinct else query.variables

    def observe(self, solutions: Iterable[Solution], witness: bool) -> Turn:
        self.count = len({key_of(solution, self._key) for solution in solutions})
        return Turn()

    def place(self, rank: int) -> Turn:
        """Takes the place `rank`, from 0, in the set."""
        before = {key: Match(None, self.count) for key in self.standing}
        self.standing = {(): Match(None, self.count)} if rank < self.top.k and self.count else {}
        return _difference(before, self.standing)

    @classmethod
    def placed(cls, query: Query, top: Top, count: int, rank: int) -> Ranked:
        """A member as it stands with so many matches and in this place, whatever was told of it so far."""
        member = cls(query, top)
        member.count = count
        member.place(rank)
        return member


def rerank(members: Mapping[str, Ranked], only: Container[str] | None = None) -> dict[str, Turn]:
    """The turns of a set's members (or `only` of some) by subscription id: more matches first, ties by id."""
    return {id: members[id].place(rank) for rank, id in enumerate(ranked(members)) if only is None or id in only}


def ranked(members: Mapping[str, Ranked]) -> list[str]:
    """The members of a set: more matches first, ties by id."""
    return sorted(members, key=lambda id: (-members[id].count, id))


# --- order ------------------------------------------------------------------------------------------------------


def order(solution: Solution) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """A total order of a query's solutions, the same whatever order they were found in."""
    return tuple(sorted((variable.name, sort_key(term)) for variable, term in solution.items()))


def by_name(query: Query) -> tuple[Variable, ...]:
    """All variables of a query, those that are shown before those that are not: so solutions order by what is shown."""
    return (*query.named_variables, *(variable for variable in query.variables if variable.hidden))


def key_of(solution: Solution, variables: tuple[Variable, ...]) -> Key:
    return tuple(solution.get(variable) for variable in variables)


def key_order(key: Key) -> tuple[tuple[Any, ...], ...]:
    return tuple((-1,) if term is None else sort_key(term) for term in key)


def _ordered(standing: Standing) -> tuple[Match, ...]:
    return tuple(standing[key] for key in sorted(standing, key=key_order))


def _difference(before: Standing, after: Standing) -> Turn:
    lost = {key: match for key, match in before.items() if key not in after}
    gained = {key: match for key, match in after.items() if key not in before}
    return Turn(_ordered(lost), _ordered(gained))


# ----------------------------------------------------------------------------------------------------------------------
# Top-k sets, kept in order: who enters and leaves the k largest counts as counts change.
#
# The law: after each phase of an update the members of a set stand as `modes.rerank` would place them. A member that
# moves shifts those between its old and its new place by one, so only those next to a k can have crossed it: they and
# whoever moved are placed again, not everybody.
#
# As on a `Board`, a set that gained or lost a member is ranked as a whole when the next update is done.
# ----------------------------------------------------------------------------------------------------------------------

Place = tuple[int, str]  # the count below zero, and the id: more matches first, ties by id


class RankChange(NamedTuple):
    """How many matches a member has after a phase (0: expiry, 1: the update itself) of an update."""

    update: int
    phase: int
    id: str
    matches: int


class _Set:
    """The members of one set."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.standing: set[str] = set()
        self._sizes: dict[str, int] = {}  # the k of each member
        self._distinct: Counter[int] = Counter()  # how many members have each k
        self._order: list[Place] = []

    def add(self, id: str, k: int) -> None:
        self.counts[id], self._sizes[id] = 0, k
        self._distinct[k] += 1
        insort(self._order, (0, id))

    def remove(self, id: str) -> None:
        self._distinct[self._sizes[id]] -= 1
        self._distinct = +self._distinct
        del self._order[self.place_of(id)], self._sizes[id], self.counts[id]
        self.standing.discard(id)

    def move(self, id: str, count: int) -> set[str]:
        """Changes a count; returns whose place may lie on the other side of their k now."""
        del self._order[self.place_of(id)]
        self.counts[id] = count
        insort(self._order, (-count, id))
        near = {place for k in self._distinct for place in (k - 1, k) if place < len(self._order)}
        return {id, *(self._order[place][1] for place in near)}

    def place(self, ids: Iterable[str]) -> dict[str, Turn]:
        """Places members; the turns of those for whom that changes something."""
        turns = {}
        for id in ids:
            match = Match(None, self.counts[id])
            holds = self.counts[id] > 0 and self.place_of(id) < self._sizes[id]
            if holds and id not in self.standing:
                self.standing.add(id)
                turns[id] = Turn((), (match,))
            elif not holds and id in self.standing:
                self.standing.remove(id)
                turns[id] = Turn((match,), ())
        return turns

    def place_of(self, id: str) -> int:
        return bisect_left(self._order, (-self.counts[id], id))


class Ranking:
    """All top-k sets of an engine, by name."""

    def __init__(self) -> None:
        self._sets: dict[str, _Set] = {}
        self._names: dict[str, str] = {}  # of each member's set
        self.stirred: set[str] = set()
        self.unplaced: set[str] = set()

    def __contains__(self, id: str) -> bool:
        return id in self._names

    def add(self, id: str, top: Top) -> None:
        self._names[id] = top.name
        self._sets.setdefault(top.name, _Set()).add(id, top.k)
        self.stirred.add(top.name)
        self.unplaced.add(id)

    def remove(self, id: str) -> None:
        name = self._names.pop(id)
        self._sets[name].remove(id)
        self.stirred.add(name)
        self.unplaced.discard(id)

    def settle(self, counts: Mapping[str, int]) -> None:
        """Takes counts silently, and places who has no place yet."""
        for id, count in counts.items():
            self._sets[self._names[id]].move(id, count)
        for id in self.unplaced:
            self._sets[self._names[id]].place((id,))
        self.unplaced.clear()

    def unsettle(self) -> None:
        """The graph was changed silently: everybody is to be placed again."""
        self.unplaced.update(self._names)

    def restore(self, stood: Mapping[str, bool], stirred: Iterable[str], unplaced: Iterable[str]) -> None:
        """Tells of members who were there before whether they stood, and who of them is still to be placed."""
        for id in (id for id, held in stood.items() if held):
            self._sets[self._names[id]].standing.add(id)
        self.unplaced = (self.unplaced - stood.keys()) | set(unplaced)
        new = {name for id, name in self._names.items() if id not in stood}
        self.stirred = new | (self._sets.keys() & set(stirred))

    def count(self, id: str) -> int:
        return self._sets[self._names[id]].counts[id]

    def sets_of(self, ids: Iterable[str]) -> set[str]:
        """The sets that some of these are members of."""
        return {self._names[id] for id in ids if id in self._names}

    def place(self, id: str) -> int:
        """The place of a member in its set by the counts as they are, from 0."""
        return self._sets[self._names[id]].place_of(id)

    def stands(self, id: str) -> bool:
        return id in self._sets[self._names[id]].standing

    # --- updates ------------------------------------------------------------------------------------------------

    def tell(self, changes: Iterable[RankChange], updates: int) -> dict[tuple[int, str], Turn]:
        """The turns of a batch of so many updates, by update and member; changes come in order of update and phase."""
        told: dict[tuple[int, str], Turn] = {}
        begun, moved = (0, 0), list[RankChange]()
        for change in changes:
            if change[:2] != begun:
                self._end_phase(begun, moved, told)
                self._end_updates(begun[0], change.update, told)
                begun, moved = (change.update, change.phase), []
            moved.append(change)
        self._end_phase(begun, moved, told)
        self._end_updates(begun[0], updates, told)
        return told

    def _end_phase(self, begun: tuple[int, int], moved: list[RankChange], told: dict[tuple[int, str], Turn]) -> None:
        near: dict[str, set[str]] = {}
        for change in moved:
            name = self._names[change.id]
            near.setdefault(name, set()).update(self._sets[name].move(change.id, change.matches))
        for name in near.keys() - self.stirred:
            _join(told, begun[0], self._sets[name].place(near[name]))

    def _end_updates(self, update: int, following: int, told: dict[tuple[int, str], Turn]) -> None:
        """Updates up to another are done: of these the first carries the news of sets that were stirred."""
        if update < following:
            for name in self.stirred:
                _join(told, update, self._sets[name].place(list(self._sets[name].counts)))
            self.stirred.clear()


def _join(told: dict[tuple[int, str], Turn], update: int, turns: Mapping[str, Turn]) -> None:
    for id, turn in turns.items():
        before = told.get((update, id))
        told[update, id] = turn if before is None else after(before, turn, ())
