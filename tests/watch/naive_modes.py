"""Modes that are fed with whole sets of solutions: the slow, obvious twins of those in `watch.changes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Protocol

from heliograph.sparql.query import Form, Query
from heliograph.terms import Variable
from heliograph.watch.changes import CountRule, Key, Match, Solution, Turn, by_name, key_of, key_order, order
from heliograph.watch.options import Options, Top

Standing = dict[Key, Match]


class Mode(Protocol):
    """How one subscription is notified. `shown` are the variables whose bindings it shows, and orders by."""

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
    """A condition on the number of solutions, for each binding of the GROUP BY variables."""

    def __init__(self, query: Query, hysteresis: float) -> None:
        self.standing: Standing = {}
        self.shown = query.group_by
        self._rule = CountRule(query, hysteresis)

    def observe(self, solutions: Iterable[Solution], witness: bool) -> Turn:
        counts = Counter(key_of(solution, self.shown) for solution in solutions)
        if not self.shown:
            counts.setdefault((), 0)
        before = {key: self._rule.match(key, counts[key]) for key in self.standing}  # the count it fell to
        self.standing = {
            key: self._rule.match(key, count)
            for key, count in counts.items()
            if self._rule.holds(key, count, key in before)
        }
        return _difference(before, self.standing)


class Ranked:
    """A member of a set of which the k queries with most matches are reported when they enter and leave.

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


def rerank(members: Mapping[str, Ranked], only: Container[str] | None = None) -> dict[str, Turn]:
    """The turns of a set's members (or `only` of some) by subscription id: more matches first, ties by id."""
    return {id: members[id].place(rank) for rank, id in enumerate(ranked(members)) if only is None or id in only}


def ranked(members: Mapping[str, Ranked]) -> list[str]:
    """The members of a set: more matches first, ties by id."""
    return sorted(members, key=lambda id: (-members[id].count, id))


def _ordered(standing: Standing) -> tuple[Match, ...]:
    return tuple(standing[key] for key in sorted(standing, key=key_order))


def _difference(before: Standing, after: Standing) -> Turn:
    lost = {key: match for key, match in before.items() if key not in after}
    gained = {key: match for key, match in after.items() if key not in before}
    return Turn(_ordered(lost), _ordered(gained))
