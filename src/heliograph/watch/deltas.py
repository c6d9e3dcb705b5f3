"""Modes that are fed with differences: what a query tells of solutions gained and lost.

The law: fed with the differences between one set of solutions and the next, they give the turns that `modes` gives of
the sets themselves. They keep only what differences do not tell: nothing for `each`, how many solutions stand behind
each key for DISTINCT, `change`, groups and ranks, and which groups hold. A key that comes has all its solutions among
those gained, one that goes all of them among those lost, so the witness that `modes` would choose is there too.

Solutions are rows of term ids in the columns of a `Completion`, net: none of them both gained and lost in one phase.
A whole batch of them is followed at once, so that only what is told costs more than a few steps a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Form, Query
from heliograph.terms import Term, Variable
from heliograph.watch.encoding import NO_TERM
from heliograph.watch.modes import Counted, Key, Match, Solution, Turn, key_order, order
from heliograph.watch.options import Options
from heliograph.watch.sequence import Flags
from heliograph.watch.solutions import Completion

Row = tuple[int, ...]


class Changes(NamedTuple):
    """Solutions lost and gained in the phases of updates: in order of update and phase, and in each the lost first."""

    update: Int64s
    phase: Int64s
    gained: Flags
    terms: Int32s

    @classmethod
    def sorted(cls, update: Int64s, phase: Int64s, gained: Flags, terms: Int32s) -> Changes:
        order = np.lexsort((gained, phase, update))
        return cls(update[order], phase[order], gained[order], terms[order])


class Phase(NamedTuple):
    """One phase of an update: rows of changes from `first` are lost, from `middle` to `last` gained."""

    update: int
    phase: int
    first: int
    middle: int
    last: int


class Told(NamedTuple):
    """What a phase of an update changes for a subscription."""

    update: int
    phase: int
    turn: Turn


class Deltas(Protocol):
    """How one subscription is notified, from differences. `shown`: see `modes.Mode`."""

    @property
    def shown(self) -> tuple[Variable, ...]: ...

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        """Begins with these solutions; `held` are the keys that stood, where that depends on the past."""

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[Told]:
        """What each phase changes, where it changes anything. To be read to its end."""

    @property
    def standing(self) -> tuple[Key, ...]:
        """The keys that stand, where that depends on the past: for memory."""


def phases(changes: Changes) -> Iterator[Phase]:
    """The phases of some changes."""
    key = 4 * changes.update + 2 * changes.phase
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    lasts = np.append(starts[1:], len(key))[: len(starts)]
    losses = np.concatenate(([0], np.cumsum(~changes.gained)))
    middles = starts + losses[lasts] - losses[starts]
    columns = (changes.update[starts], changes.phase[starts], starts, middles, lasts)
    return (Phase(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


def deltas_of(query: Query, options: Options, completion: Completion) -> Deltas:
    if options.top is not None:
        return Tally(query, completion)
    if query.having is not None:
        return Grouped(query, options.hysteresis, completion)
    if query.form is Form.ASK or options.mode == "change":
        return Truth(completion)
    return Supported(query.projection, completion) if query.distinct else Every(query, completion)


class Keys:
    """Some columns of a completion's solutions."""

    def __init__(self, variables: tuple[Variable, ...], completion: Completion) -> None:
        self.variables = variables
        self._completion = completion
        self._columns = [completion.variables.index(variable) for variable in variables]

    def of(self, rows: Int32s) -> list[Row]:
        return list(map(tuple, rows[:, self._columns].tolist()))

    def of_row(self, row: list[int]) -> Row:
        return tuple(row[column] for column in self._columns)

    def terms(self, row: Row) -> Key:
        return tuple(None if id == NO_TERM else self._completion.vocabulary.term(id) for id in row)

    def row(self, key: Key) -> Row:
        return tuple(NO_TERM if term is None else self._completion.vocabulary.intern(term) for term in key)

    def bindings(self, key: Key) -> dict[Variable, Term]:
        return {variable: term for variable, term in zip(self.variables, key, strict=True) if term is not None}


class Every:
    """`each` without DISTINCT: differences are what is told, and nothing is kept."""

    standing: tuple[Key, ...] = ()

    def __init__(self, query: Query, completion: Completion) -> None:
        self.shown = query.named_variables
        self._all = Keys(completion.variables, completion)
        self._shown = Keys(self.shown, completion)

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        pass

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[Told]:
        for update, phase, first, middle, last in phases(changes):
            lost, gained = changes.terms[first:middle], changes.terms[middle:last]
            yield Told(update, phase, Turn(self._matches(lost), self._matches(gained)))

    def _matches(self, rows: Int32s) -> tuple[Match, ...]:
        keys = sorted(map(self._all.terms, self._all.of(rows)), key=key_order)
        return tuple(self._match(key) for key in keys)

    def _match(self, key: Key) -> Match:
        return Match(self._shown.bindings(key[: len(self.shown)]), None, self._all.bindings(key))


class Supported:
    """DISTINCT: a key is gained with its first solution and lost with the last."""

    standing: tuple[Key, ...] = ()

    def __init__(self, shown: tuple[Variable, ...], completion: Completion) -> None:
        self.shown = shown
        self._keys = Keys(shown, completion)
        self._completion = completion
        self.support: dict[Row, int] = {}

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self.support = dict(Counter(self._keys.of(rows)))

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[Told]:
        keys = self._keys.of(changes.terms)
        for update, phase, first, middle, last in phases(changes):
            gone, came = self._shift(keys[first:middle], keys[middle:last])
            if gone or came:
                proofs = changes.terms[first:last].tolist() if witness else []
                lost, gained = proofs[: middle - first], proofs[middle - first :]
                yield Told(update, phase, Turn(self._matches(gone, lost), self._matches(came, gained)))

    def _shift(self, going: list[Row], coming: list[Row]) -> tuple[list[Row], list[Row]]:
        """Keys that lose and gain a solution; those of them that go and come with that."""
        before = _shifted(self.support, going, coming)
        gone = [key for key, count in before.items() if count and key not in self.support]
        return gone, [key for key, count in before.items() if not count and key in self.support]

    def _matches(self, keys: list[Row], proofs: list[list[int]]) -> tuple[Match, ...]:
        least = self._least(proofs)
        found = {self._keys.terms(key): least.get(key) for key in keys}
        ordered = sorted(found, key=key_order) if len(found) > 1 else found
        return tuple(Match(self._keys.bindings(key), None, found[key]) for key in ordered)

    def _least(self, rows: list[list[int]]) -> dict[Row, Solution]:
        """The first solution of each key in order."""
        found: dict[Row, Solution] = {}
        for row in rows:
            key, solution = self._keys.of_row(row), self._completion.solution(row)
            if key not in found or order(solution) < order(found[key]):
                found[key] = solution
        return found


def _shifted(counts: dict[Row, int], going: list[Row], coming: list[Row]) -> dict[Row, int]:
    """Counts keys down and up, and keeps none that counts nothing; what those that were touched counted before."""
    before: dict[Row, int] = {}
    for keys, step in ((going, -1), (coming, 1)):
        for key in keys:
            known = counts.get(key, 0)
            before.setdefault(key, known)
            counts[key] = known + step
    for key in before:
        if not counts[key]:
            del counts[key]
    return before


class Truth:
    """`change`: whether there is any solution at all. A loss has no witness left."""

    shown: tuple[Variable, ...] = ()
    standing: tuple[Key, ...] = ()

    def __init__(self, completion: Completion) -> None:
        self._any = Supported((), completion)

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self._any.start(rows)

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[Told]:
        for update, phase, (gone, came) in self._any.follow(changes, witness):
            lost, gained = tuple(Match() for _ in gone), tuple(match._replace(bindings=None) for match in came)
            yield Told(update, phase, Turn(lost, gained))


class Grouped:
    """Counts against a condition, one for each binding of the GROUP BY variables; see `modes.Counted`."""

    def __init__(self, query: Query, hysteresis: float, completion: Completion) -> None:
        self.shown = query.group_by
        self._keys = Keys(query.group_by, completion)
        self._rule = Counted(query, hysteresis)
        self._names_group = bool(query.having is not None and Condition.of(query.having).variables)
        self._counts: dict[Row, int] = {}
        self._verdicts: dict[tuple[int, bool], bool] = {}  # by count, where a condition looks at nothing else
        self._held: set[Row] = set()

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self._counts = dict(Counter(self._keys.of(rows)))
        known = {self._keys.row(key) for key in held}
        groups: Iterable[Row] = self._counts if self.shown else [()]
        self._held = {key for key in groups if self._holds(key, key in known)}

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[Told]:
        keys = self._keys.of(changes.terms)
        for update, phase, first, middle, last in phases(changes):
            gone, came = [], []
            for key in _shifted(self._counts, keys[first:middle], keys[middle:last]):
                held, holds = key in self._held, self._holds(key, key in self._held)
                if held and not holds:
                    gone.append(key)
                elif holds and not held:
                    came.append(key)
            self._held.difference_update(gone)
            self._held.update(came)
            if gone or came:
                yield Told(update, phase, Turn(self._matches(gone), self._matches(came)))

    @property
    def standing(self) -> tuple[Key, ...]:
        return tuple(map(self._keys.terms, self._held))

    def _holds(self, key: Row, held: bool) -> bool:
        count = self._counts.get(key, 0)
        if not count and self.shown:
            return False
        if self._names_group:
            return self._rule.holds(self._keys.terms(key), count, held)
        verdict = self._verdicts.get((count, held))
        if verdict is None:
            verdict = self._verdicts[count, held] = self._rule.holds(self._keys.terms(key), count, held)
        return verdict

    def _matches(self, keys: list[Row]) -> tuple[Match, ...]:
        counts = {self._keys.terms(key): self._counts.get(key, 0) for key in keys}
        return tuple(self._rule.match(key, counts[key]) for key in sorted(counts, key=key_order))


class Tally:
    """How many matches a member of a top-k set has; what that means for the set is `ranking`'s."""

    shown: tuple[Variable, ...] = ()
    standing: tuple[Key, ...] = ()

    def __init__(self, query: Query, completion: Completion) -> None:
        self.count = 0
        self._distinct = Supported(query.projection, completion) if query.distinct else None

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self.count = len(rows)
        if self._distinct is not None:
            self._distinct.start(rows)
            self.count = len(self._distinct.support)

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[Told]:
        """No turns, but the count after each phase that changed it, while it is looked at."""
        if self._distinct is None:
            for update, phase, first, middle, last in phases(changes):
                self.count += (last - middle) - (middle - first)
                yield Told(update, phase, Turn())
            return
        for told in self._distinct.follow(changes):
            self.count = len(self._distinct.support)
            yield told._replace(turn=Turn())
