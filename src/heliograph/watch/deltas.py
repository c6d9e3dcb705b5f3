"""Modes that are fed with differences: what a query tells of solutions gained and lost.

The law: fed with the differences between one set of solutions and the next, they give the turns that `modes` gives of
the sets themselves. They keep only what differences do not tell: nothing for `each`, how many solutions stand behind
each key for DISTINCT, `change`, groups and ranks, and which groups hold. A key that comes has all its solutions among
those gained, one that goes all of them among those lost, so the witness that `modes` would choose is there too.

Solutions are rows of term ids in the columns of a `Completion`, net: none of them both gained and lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from heliograph.kernels.evolution_layout import Int32s
from heliograph.syntax.query import Form, Query
from heliograph.terms import Term, Variable
from heliograph.watch.encoding import NO_TERM
from heliograph.watch.modes import Counted, Key, Match, Solution, Turn, key_order, order
from heliograph.watch.options import Options
from heliograph.watch.solutions import Completion

Row = tuple[int, ...]


class Deltas(Protocol):
    """How one subscription is notified, from differences. `shown`: see `modes.Mode`."""

    @property
    def shown(self) -> tuple[Variable, ...]: ...

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        """Begins with these solutions; `held` are the keys that stood, where that depends on the past."""

    def turn(self, lost: Int32s, gained: Int32s, witness: bool = False) -> Turn:
        """What these differences change."""

    @property
    def standing(self) -> tuple[Key, ...]:
        """The keys that stand, where that depends on the past: for memory."""


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

    def turn(self, lost: Int32s, gained: Int32s, witness: bool = False) -> Turn:
        return Turn(self._matches(lost), self._matches(gained))

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
        self.support: Counter[Row] = Counter()

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self.support = Counter(self._keys.of(rows))

    def turn(self, lost: Int32s, gained: Int32s, witness: bool = False) -> Turn:
        going, coming = self._keys.of(lost), self._keys.of(gained)
        touched = dict.fromkeys((*going, *coming))
        before = {key for key in touched if key in self.support}
        self.support.update(coming)
        self.support.subtract(going)
        _forget(self.support, going)
        gone = [key for key in touched if key in before and key not in self.support]
        came = [key for key in touched if key not in before and key in self.support]
        proofs = (lost, gained) if witness else (lost[:0], gained[:0])
        return Turn(self._matches(gone, proofs[0]), self._matches(came, proofs[1]))

    def _matches(self, keys: list[Row], proofs: Int32s) -> tuple[Match, ...]:
        least = self._least(proofs)
        terms = {self._keys.terms(key): least.get(key) for key in keys}
        return tuple(Match(self._keys.bindings(key), None, terms[key]) for key in sorted(terms, key=key_order))

    def _least(self, rows: Int32s) -> dict[Row, Solution]:
        """The first solution of each key in order."""
        found: dict[Row, Solution] = {}
        for key, row in zip(self._keys.of(rows), rows.tolist(), strict=True):
            solution = self._completion.solution(row)
            if key not in found or order(solution) < order(found[key]):
                found[key] = solution
        return found


def _forget(counts: Counter[Row], keys: Iterable[Row]) -> None:
    """Drops those of the keys that count nothing."""
    for key in keys:
        if key in counts and not counts[key]:
            del counts[key]


class Truth:
    """`change`: whether there is any solution at all. A loss has no witness left."""

    shown: tuple[Variable, ...] = ()
    standing: tuple[Key, ...] = ()

    def __init__(self, completion: Completion) -> None:
        self._any = Supported((), completion)

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self._any.start(rows)

    def turn(self, lost: Int32s, gained: Int32s, witness: bool = False) -> Turn:
        gone, came = self._any.turn(lost, gained, witness)
        return Turn(tuple(Match() for _ in gone), tuple(match._replace(bindings=None) for match in came))


class Grouped:
    """Counts against a condition, one for each binding of the GROUP BY variables; see `modes.Counted`."""

    def __init__(self, query: Query, hysteresis: float, completion: Completion) -> None:
        self.shown = query.group_by
        self._keys = Keys(query.group_by, completion)
        self._rule = Counted(query, hysteresis)
        self._counts: Counter[Row] = Counter()
        self._held: set[Row] = set()

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self._counts = Counter(self._keys.of(rows))
        known = {self._keys.row(key) for key in held}
        groups: Iterable[Row] = self._counts if self.shown else [()]
        self._held = {key for key in groups if self._holds(key, key in known)}

    def turn(self, lost: Int32s, gained: Int32s, witness: bool = False) -> Turn:
        going, coming = self._keys.of(lost), self._keys.of(gained)
        self._counts.update(coming)
        self._counts.subtract(going)
        gone, came = [], []
        for key in dict.fromkeys((*going, *coming)):
            held, holds = key in self._held, self._holds(key, key in self._held)
            if held and not holds:
                gone.append(key)
            elif holds and not held:
                came.append(key)
        turn = Turn(self._matches(gone), self._matches(came))
        self._held.difference_update(gone)
        self._held.update(came)
        _forget(self._counts, going)
        return turn

    @property
    def standing(self) -> tuple[Key, ...]:
        return tuple(map(self._keys.terms, self._held))

    def _holds(self, key: Row, held: bool) -> bool:
        count = self._counts[key]
        return (count > 0 or not self.shown) and self._rule.holds(self._keys.terms(key), count, held)

    def _matches(self, keys: list[Row]) -> tuple[Match, ...]:
        counts = {self._keys.terms(key): self._counts[key] for key in keys}
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

    def turn(self, lost: Int32s, gained: Int32s, witness: bool = False) -> Turn:
        self.count += len(gained) - len(lost)
        if self._distinct is not None:
            self._distinct.turn(lost, gained)
            self.count = len(self._distinct.support)
        return Turn()
