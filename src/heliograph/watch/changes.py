"""What holds for a query, and what solutions gained and lost change about it: the stage between updates and
notifications.

The path of a datum: kernels, or the plain strategy, give rows of a query's pattern that came and went.
`SolutionBuilder` makes solutions of them (`Changes`). The mode of the query makes a `MatchDelta` of those: which
matches one update lost and gained. `report` makes notifications of them.

A mode keeps the set of things that hold, by key: the matches of `each`, the one truth of `change`, the groups whose
count satisfies the condition, the place in a top-k set. The law: a delta is exactly the difference between what held
before and what holds now, so gains and losses of a key alternate. Modes are fed with differences, and keep only what
differences do not say: nothing for `each`, how many solutions stand behind each key for DISTINCT, `change`, groups and
top-k sets, and which groups hold. A key that comes has all its solutions among those gained, one that goes all of them
among those lost: so the first of them in order, the witness, is there too.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import (
    And,
    Compare,
    Count,
    Expression,
    Form,
    Not,
    Or,
    Query,
    TriplePattern,
    Values,
    conjuncts,
    walk,
)
from heliograph.sparql.solve import GivenUp
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable, sort_key, value_of
from heliograph.values import NUMERIC
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import Int32s, Int64s
from heliograph.watch.options import Options, Top, threshold
from heliograph.watch.updates import NO_TERM, Flags

Solution = Mapping[Variable, Term]
Key = tuple[Term | None, ...]
Row = tuple[int, ...]  # a solution, or a part of one, as ids of terms; NO_TERM where a variable is unbound


# --- matches and deltas -----------------------------------------------------------------------------------------


class Match(NamedTuple):
    """One thing that holds: the bindings to show, a count or the values of metrics, a solution that proves it, and what
    else metrics show, where there is any."""

    bindings: Solution | None = None
    value: Any = None
    witness: Solution | None = None
    more: Mapping[str, Any] | None = None


class MatchDelta(NamedTuple):
    """What one update lost and gained, each in the order of its bindings."""

    lost: tuple[Match, ...] = ()
    gained: tuple[Match, ...] = ()


def after(first: MatchDelta, second: MatchDelta, shown: tuple[Variable, ...]) -> MatchDelta:
    """Two deltas of one update as one. What the first lost and the second regained is reported both ways; what the
    first gained and the second lost never held when the update was done, and is not reported."""
    passing = [match for match in first.gained if any(match.bindings == lost.bindings for lost in second.lost)]
    lost = [*first.lost, *(match for match in second.lost if all(match.bindings != each.bindings for each in passing))]
    gained = [*(match for match in first.gained if match not in passing), *second.gained]

    def by_bindings(matches: Iterable[Match]) -> tuple[Match, ...]:
        return tuple(sorted(matches, key=lambda match: key_order(key_of(match.bindings or {}, shown))))

    return MatchDelta(by_bindings(lost), by_bindings(gained))


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


# --- conditions on a count --------------------------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class CountRule:
    """A condition on the number of solutions, for each binding of the GROUP BY variables. A hysteresis h keeps a
    condition that holds until it fails by more than h."""

    def __init__(self, query: Query, hysteresis: float) -> None:
        assert query.having is not None
        self.shown = query.group_by
        self._condition = Condition.of(query.having)
        self._slack = slack_of(query.having, hysteresis)
        self.names_group = bool(self._condition.variables)

    def holds(self, key: Key, count: int, held: bool) -> bool:
        return self._condition.holds(self._bindings(key), count=count) or (held and self._slack(count))

    def match(self, key: Key, count: int) -> Match:
        return Match(self._bindings(key) if self.shown else None, count)

    def _bindings(self, key: Key) -> Solution:
        return {variable: term for variable, term in zip(self.shown, key, strict=True) if term is not None}


def slack_of(having: Expression, hysteresis: float) -> Callable[[int], bool]:
    """Whether COUNT(*) against a number would still hold if the count lay nearer by the hysteresis."""
    compared, limit = threshold(having) or (">=", math.inf)
    slack = hysteresis if compared in (">", ">=") else -hysteresis
    return lambda count: slack != 0 and _COMPARE[compared](count + slack, limit)


# A condition on COUNT(*) is a range of whole numbers, where it is one: then a kernel can see when it is crossed. The
# law: within the range, and nowhere else, the condition holds. A comparison with a number by `<` or `<=` is monotone in
# the count, in whatever type it is made, so where it changes is found by halving; and what is made of such comparisons
# changes nowhere else.

MOST = 2**63 - 1


class CountLimits(NamedTuple):
    """A count begins to hold from `enter_low` to `enter_high`, and then holds from `stay_low` to `stay_high`.

    An empty range is 1 to 0.
    """

    enter_low: int
    enter_high: int
    stay_low: int
    stay_high: int


@lru_cache(maxsize=4096)
def limits_of(having: Expression, hysteresis: float = 0.0) -> CountLimits | None:
    """The limits of a condition, or None where it is no single range, or says more than comparisons with numbers do."""
    if not _compares_counts(having):
        return None
    compared = [node for node in walk(having) if isinstance(node, Compare)]
    tests = [Condition.of(replace(each, operator=symbol)) for each in compared for symbol in ("<", "<=")]
    condition, slack = Condition.of(having), slack_of(having, hysteresis)
    points = {0, *(_crossing(partial(_holds_count, test)) for test in tests)}
    enter = _range(points, partial(_holds_count, condition))
    stay = _range(points | {_crossing(slack)}, lambda count: _holds_count(condition, count) or slack(count))
    return None if enter is None or stay is None else CountLimits(*enter, *stay)


def _compares_counts(condition: Expression) -> bool:
    match condition:
        case And(operands) | Or(operands):
            return all(map(_compares_counts, operands))
        case Not(operand):
            return _compares_counts(operand)
        case Compare(_, Count(), Term() as number) | Compare(_, Term() as number, Count()):
            value = value_of(number)
            return value is not None and value.kind in NUMERIC
    return False


def _holds_count(condition: Condition, count: int) -> bool:
    return condition.holds({}, count=count)


def _crossing(holds: Callable[[int], bool]) -> int:
    """The first count of which something that changes once at most holds, or does no longer; 0 if it never changes."""
    first = holds(0)
    changed = bisect_left(range(MOST), True, key=lambda count: holds(count) != first)
    return changed if holds(changed) != first else 0


def _range(points: set[int], holds: Callable[[int], bool]) -> tuple[int, int] | None:
    """The counts of which something holds that changes at these points alone; None where they are no single range."""
    changes, before = [], False
    for point in sorted(points):
        if holds(point) != before:
            before = not before
            changes.append(point)
    if len(changes) > 2:
        return None
    return (changes[0], [*changes, MOST + 1][1] - 1) if changes else (1, 0)


# --- from rows of a pattern to solutions of its query ------------------------------------------------------------

# VALUES are joined, and the filters that no kernel could decide are checked. The law: a row of the pattern becomes
# exactly the solutions that extend it, each once, and two rows never become the same one; so rows gained and lost are
# solutions gained and lost. All is done for whole arrays of rows, conditions once for each choice of terms that they
# look at. A query of which one update asks for too much of this is given up, in whatever batch the update comes.

MOST_FAILED = 300_000  # choices of terms for which the conditions of a query fail for one update, at 5 to 20 µs
_PORTION = 1 << 15  # of them between two looks
MOST_COMPARED = 1 << 30  # rows with rows of VALUES for one update, at 1 to 4 ns
MOST_EXTENDED = 8_000_000  # rows that are joined with VALUES for one update


class BuiltSolutions(NamedTuple):
    """Solutions as rows of term ids, NO_TERM where a variable is unbound; and which row each of them extends."""

    origins: Int64s
    terms: Int32s


class SolutionBuilder:
    """What is left to be done to a query's rows. Columns of solutions are `variables`: see `by_name`."""

    def __init__(
        self, query: Query, slots: Sequence[Variable], vocabulary: Vocabulary, filters: Sequence[Expression]
    ) -> None:
        self.variables = by_name(query)
        self.is_of_no_pattern = not query.patterns
        self.doubtful = frozenset(self.variables) - _touched(query)  # what they bind need be no vertex
        self.vocabulary = vocabulary
        self._slots = [slots.index(variable) for variable in self.variables if variable in slots]
        self._bound = [column for column, variable in enumerate(self.variables) if variable in slots]
        self._blocks = [self._block(block) for block in query.values]
        tests = map(Condition.of, conjuncts(filters))
        self._conditions = [
            (test, [column for column, each in enumerate(self.variables) if each in test.variables]) for test in tests
        ]
        self.failed = 0  # choices of terms for which a condition failed so far

    @property
    def slots(self) -> list[int] | None:
        """By variable its slot, where a row of the pattern is a solution as it is; else None."""
        return None if self._blocks or self._conditions or len(self._bound) < len(self.variables) else self._slots

    @property
    def free(self) -> list[int]:
        """The columns of variables that nothing binds: only metrics ask them."""
        given = {column for columns, _ in self._blocks for column in columns}
        return [column for column in range(len(self.variables)) if column not in self._bound and column not in given]

    def __call__(self, rows: Int32s, updates: Int64s | None = None) -> BuiltSolutions:
        """The solutions that extend these rows, in the order of the rows; `updates` says of which update each is."""
        updates = np.zeros(len(rows), np.int64) if updates is None else updates
        terms = np.full((len(rows), len(self.variables)), NO_TERM, np.int32)
        terms[:, self._bound] = rows[:, self._slots]
        found = BuiltSolutions(np.arange(len(rows), dtype=np.int64), terms)
        for block in self._blocks:
            found = _joined(found, *block, updates)
        if self._blocks:
            unique = np.unique(np.column_stack((found.origins, found.terms.astype(np.int64))), axis=0)
            found = BuiltSolutions(unique[:, 0], unique[:, 1:].astype(np.int32))
        failures = _Failures(updates)
        for condition, columns in self._conditions:
            kept = self._holds(condition, columns, found, failures)
            found = BuiltSolutions(found.origins[kept], found.terms[kept])
        return found

    def solution(self, row: Sequence[int]) -> Solution:
        """A row of ids as bindings."""
        pairs = zip(self.variables, row, strict=True)
        return {variable: self.vocabulary.term(id) for variable, id in pairs if id != NO_TERM}

    def _block(self, block: Values) -> tuple[list[int], Int32s]:
        """The columns of the variables of a VALUES block, and its rows of ids, NO_TERM for UNDEF."""
        rows = [[NO_TERM if term is None else self.vocabulary.intern(term) for term in row] for row in block.rows]
        columns = [self.variables.index(variable) for variable in block.variables]
        return columns, np.array(rows, np.int32).reshape(len(rows), len(columns))

    def _holds(self, condition: Condition, columns: list[int], found: BuiltSolutions, failures: _Failures) -> Flags:
        terms, term = found.terms, self.vocabulary.term
        verdicts = np.zeros(len(terms), np.bool_)
        doubtful = np.ones(len(terms), np.bool_)
        match condition.expression:
            case Compare("=" | "!=" as symbol, Variable(), Variable()) if len(columns) == 2:
                one, other = terms[:, columns[0]], terms[:, columns[1]]
                doubtful = self._may_be_equal(one, other)
                verdicts = (one != other) == (symbol == "!=")
        names = [self.variables[column] for column in columns]
        choices, inverse = _choices(terms[doubtful][:, columns])
        rows, judged = found.origins[doubtful], np.ones(len(choices), np.bool_)
        for first in range(0, len(choices), _PORTION):
            some = choices[first : first + _PORTION].tolist()
            judged[first : first + len(some)] = [
                condition.holds({name: term(id) for name, id in zip(names, each, strict=True) if id != NO_TERM})
                for each in some
            ]
            failures.note(rows, inverse, judged, last=first + len(some) == len(choices))
        self.failed += int(np.count_nonzero(~judged))
        verdicts[doubtful] = judged[inverse]
        return verdicts

    def _may_be_equal(self, one: Int32s, other: Int32s) -> Flags:
        """Where two terms must be looked at to know whether they are equal: unbound ones, and literals."""
        met = np.unique(np.concatenate((one, other)))
        known = met[met != NO_TERM]
        odd = np.zeros(int(met[-1]) + 2 if len(met) else 1, np.bool_)
        odd[known] = self.vocabulary.typed(known).category == TermKind.LITERAL
        odd[NO_TERM] = True  # the last entry
        doubtful: Flags = (odd[one] & odd[other]) | (one == NO_TERM) | (other == NO_TERM)
        return doubtful


def _touched(query: Query) -> frozenset[Variable]:
    """The variables that nothing but vertices fill: at the ends of edges that only the graph has, no taxonomy."""
    edges = [each for each in query.patterns if isinstance(each, TriplePattern) and isinstance(each.predicate, Term)]
    plain = [each for each in edges if each.predicate not in (RDF_TYPE, RDFS_SUBCLASS_OF)]
    ends = (node for each in plain for node in (each.subject, each.object))
    return frozenset(node for node in ends if isinstance(node, Variable))


def _choices(terms: Int32s) -> tuple[Int32s, Int64s]:
    """The distinct rows, and which of them each row is; pairs are packed, which is several times as fast."""
    if terms.shape[1] == 2:
        packed = np.ascontiguousarray(terms).view(np.int64).ravel()
        pairs, inverse = np.unique(packed, return_inverse=True)
        return pairs.view(np.int32).reshape(-1, 2), inverse
    choices, inverse = np.unique(terms, axis=0, return_inverse=True)
    return choices, inverse.ravel()


class _Failures:
    """For how many choices of terms the conditions of a query fail, by update; looked at where it may be too many."""

    def __init__(self, updates: Int64s) -> None:
        self._updates = updates
        self._known: list[tuple[Int64s, Int64s, Flags]] = []  # by condition: rows, the choice of each, and verdicts
        self._size, self._checked = 0, MOST_FAILED

    def note(self, rows: Int64s, choices: Int64s, verdicts: Flags, *, last: bool) -> None:
        """A condition fails for some choices; there are more of it to come, unless this is the `last`."""
        known, size = (rows, choices, verdicts), self._size + int(np.count_nonzero(~verdicts))
        if size > (MOST_FAILED if last else self._checked):
            failed = np.concatenate([self._updates_of(*each) for each in (*self._known, known)])
            _check(failed, MOST_FAILED, "its conditions failed for {} choices of terms for one update")
            self._checked = 2 * size
        if last:
            self._known.append(known)
            self._size = size

    def _updates_of(self, rows: Int64s, choices: Int64s, verdicts: Flags) -> Int64s:
        """The updates that ask for choices that fail, each once for every one."""
        failed = ~verdicts[choices]
        found: Int64s = np.unique(np.column_stack((self._updates[rows[failed]], choices[failed])), axis=0)[:, 0]
        return found


def _check(updates: Int64s, most: int, message: str, each: int = 1) -> None:
    """Gives a query up if one update stands here more often than it may, `each` time for so many."""
    found, counts = np.unique(updates, return_counts=True)
    over = np.flatnonzero(counts * each > most)
    if len(over):
        raise GivenUp(message.format(f"{counts[over[0]] * each:,}"), int(found[over[0]]))


def _joined(found: BuiltSolutions, columns: list[int], rows: Int32s, updates: Int64s) -> BuiltSolutions:
    """Every solution with every row of VALUES that it agrees with; UNDEF agrees with anything and binds nothing."""
    if len(found.origins) * len(rows) > MOST_COMPARED:
        _check(updates[found.origins], MOST_COMPARED, "{} rows were compared with VALUES for one update", len(rows))
    origins, terms, size, checked = [found.origins[:0]], [found.terms[:0]], 0, MOST_EXTENDED
    for row in rows.tolist():
        given = [(column, id) for column, id in zip(columns, row, strict=True) if id != NO_TERM]
        agrees = np.ones(len(found.terms), np.bool_)
        for column, id in given:
            agrees &= (found.terms[:, column] == id) | (found.terms[:, column] == NO_TERM)
        extended = found.terms[agrees]
        for column, id in given:
            extended[:, column] = id
        origins.append(found.origins[agrees])
        terms.append(extended)
        size += len(extended)
        if size > checked:
            _check(updates[np.concatenate(origins)], MOST_EXTENDED, "{} rows were joined with VALUES for one update")
            checked = 2 * size
    return BuiltSolutions(np.concatenate(origins), np.concatenate(terms))


# --- solutions gained and lost ----------------------------------------------------------------------------------


class Changes(NamedTuple):
    """Solutions lost and gained in the phases of updates, as rows of ids in the columns of a `SolutionBuilder`.

    They are in order of update and phase (0: what expired before it, 1: the update itself), in each the lost first, and
    net: no solution is both lost and gained in one phase.
    """

    update: Int64s
    phase: Int64s
    gained: Flags
    terms: Int32s

    @classmethod
    def sorted(cls, update: Int64s, phase: Int64s, gained: Flags, terms: Int32s) -> Changes:
        if len(update) < 2:
            return cls(update, phase, gained, terms)
        order = np.lexsort((gained, phase, update))
        return cls(update[order], phase[order], gained[order], terms[order])

    @classmethod
    def between(cls, before: set[Row], now: set[Row], columns: int, phase: int = 0) -> Changes:
        """What leads from one set of solutions to another, in one phase of the first update."""
        lost, gained = before - now, now - before
        size = len(lost) + len(gained)
        terms = np.array([*lost, *gained], np.int32).reshape(size, columns)
        update, phases = np.zeros(size, np.int64), np.full(size, phase, np.int64)
        return cls(update, phases, np.arange(size) >= len(lost), terms)

    def phases(self) -> Iterator[tuple[int, int, int, int, int]]:
        """The phases: update and phase, and its rows: from the third number on lost, from the fourth gained."""
        key = 4 * self.update + 2 * self.phase
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        lasts = np.append(starts[1:], len(key))[: len(starts)]
        losses = np.concatenate(([0], np.cumsum(~self.gained)))
        middles = starts + losses[lasts] - losses[starts]
        columns = (self.update[starts], self.phase[starts], starts, middles, lasts)
        return zip(*(column.tolist() for column in columns), strict=True)


class PhaseDelta(NamedTuple):
    """What a phase of an update changes for a subscription."""

    update: int
    phase: int
    delta: MatchDelta


# --- modes ------------------------------------------------------------------------------------------------------


class Mode(Protocol):
    """How one subscription is notified. `shown` are the variables whose bindings it shows, and orders by."""

    @property
    def shown(self) -> tuple[Variable, ...]: ...

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        """Begins with these solutions; `held` are the keys that held, where that depends on the past."""

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[PhaseDelta]:
        """What each phase changes, where it changes anything. To be read to its end."""

    @property
    def held(self) -> tuple[Key, ...]:
        """The keys that hold, where that depends on the past: for memory."""


def mode_of(query: Query, options: Options, builder: SolutionBuilder) -> Mode:
    if options.top is not None:
        return MatchCount(query, builder)
    if query.having is not None:
        return GroupCounts(query, options.hysteresis, builder)
    if query.form is Form.ASK or options.mode == "change":
        return DistinctMatches((), builder, is_truth=True)
    return DistinctMatches(query.projection, builder) if query.distinct else EachMatch(query, builder)


def holding(mode: Mode, query: Query, options: Options, builder: SolutionBuilder, rows: Int32s) -> tuple[Match, ...]:
    """What holds for a query with these solutions, in the order of its bindings: as if all had just been gained."""
    if isinstance(mode, GroupCounts):
        return mode.matches
    fresh, first = mode_of(query, options, builder), np.zeros(len(rows), np.int64)
    changes = Changes(first, first, np.ones(len(rows), np.bool_), rows)
    return tuple(match for each in fresh.follow(changes, witness=True) for match in each.delta.gained)


class KeyColumns:
    """Some columns of a builder's solutions."""

    def __init__(self, variables: tuple[Variable, ...], builder: SolutionBuilder) -> None:
        self.variables = variables
        self._vocabulary = builder.vocabulary
        self._columns = [builder.variables.index(variable) for variable in variables]

    def of(self, rows: Int32s) -> list[Row]:
        return list(map(tuple, rows[:, self._columns].tolist()))

    def terms(self, row: Row) -> Key:
        return tuple(None if id == NO_TERM else self._vocabulary.term(id) for id in row)

    def row(self, key: Key) -> Row:
        return tuple(NO_TERM if term is None else self._vocabulary.intern(term) for term in key)

    def bindings(self, key: Key) -> dict[Variable, Term]:
        return {variable: term for variable, term in zip(self.variables, key, strict=True) if term is not None}


class EachMatch:
    """`each` without DISTINCT: every solution is a match, so differences are what is reported; nothing is kept."""

    held: tuple[Key, ...] = ()

    def __init__(self, query: Query, builder: SolutionBuilder) -> None:
        self.shown = query.named_variables
        self._all, self._named = KeyColumns(builder.variables, builder), KeyColumns(self.shown, builder)

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        pass

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[PhaseDelta]:
        for update, phase, first, middle, last in changes.phases():
            rows = self._all.of(changes.terms[first:last])
            lost, gained = rows[: middle - first], rows[middle - first :]
            yield PhaseDelta(update, phase, MatchDelta(self.matches(lost), self.matches(gained)))

    def matches(self, rows: Iterable[Row]) -> tuple[Match, ...]:
        """Solutions in order, as matches."""
        keys = sorted(map(self._all.terms, rows), key=key_order)
        shown = len(self.shown)
        return tuple(Match(self._named.bindings(key[:shown]), None, self._all.bindings(key)) for key in keys)


class DistinctMatches:
    """DISTINCT: a key is gained with its first solution and lost with the last. `is_truth`: there is one key, which
    binds nothing, for whether there is any solution at all; a loss has no witness left."""

    held: tuple[Key, ...] = ()

    def __init__(self, shown: tuple[Variable, ...], builder: SolutionBuilder, is_truth: bool = False) -> None:
        self.shown, self.is_truth = shown, is_truth
        self._columns = KeyColumns(shown, builder)
        self._builder = builder
        self.support: dict[Row, int] = {}

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self.support = dict(Counter(self._columns.of(rows)))

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[PhaseDelta]:
        keys = self._columns.of(changes.terms)
        for update, phase, first, middle, last in changes.phases():
            before = _counted(self.support, keys[first:middle], keys[middle:last])
            gone = [key for key, count in before.items() if count and key not in self.support]
            came = [key for key, count in before.items() if not count and key in self.support]
            if gone or came:
                proofs = list(zip(keys[first:last], changes.terms[first:last].tolist(), strict=True)) if witness else []
                lost = self._matches(gone, [] if self.is_truth else proofs[: middle - first])
                yield PhaseDelta(update, phase, MatchDelta(lost, self._matches(came, proofs[middle - first :])))

    def _matches(self, keys: list[Row], proofs: list[tuple[Row, list[int]]]) -> tuple[Match, ...]:
        """Keys in order, each with the first of its solutions among the proofs."""
        least: dict[Row, Solution] = {}
        for key, row in proofs:
            solution = self._builder.solution(row)
            if key not in least or order(solution) < order(least[key]):
                least[key] = solution
        found = {self._columns.terms(key): least.get(key) for key in keys}
        ordered = sorted(found, key=key_order) if len(found) > 1 else found
        return tuple(Match(None if self.is_truth else self._columns.bindings(key), None, found[key]) for key in ordered)


def _counted(counts: dict[Row, int], going: list[Row], coming: list[Row]) -> dict[Row, int]:
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


class GroupCounts:
    """Counts against a condition, one for each binding of the GROUP BY variables. A loss carries the count it fell to.

    Without GROUP BY there is always one group, with the count 0 at the least; with it a group without solutions does
    not exist.
    """

    def __init__(self, query: Query, hysteresis: float, builder: SolutionBuilder) -> None:
        self.shown = query.group_by
        self._columns = KeyColumns(query.group_by, builder)
        self._rule = CountRule(query, hysteresis)
        self._counts: dict[Row, int] = {}
        self._known: dict[tuple[int, bool], bool] = {}  # by count, where a condition looks at nothing else
        self._held: set[Row] = set()

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self._counts = dict(Counter(self._columns.of(rows)))
        known = {self._columns.row(key) for key in held}
        groups: Iterable[Row] = self._counts if self.shown else [()]
        self._held = {key for key in groups if self._holds(key, key in known)}

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[PhaseDelta]:
        keys = self._columns.of(changes.terms)
        for update, phase, first, middle, last in changes.phases():
            gone, came = [], []
            for key in _counted(self._counts, keys[first:middle], keys[middle:last]):
                held, holds = key in self._held, self._holds(key, key in self._held)
                if held and not holds:
                    gone.append(key)
                elif holds and not held:
                    came.append(key)
            self._held.difference_update(gone)
            self._held.update(came)
            if gone or came:
                yield PhaseDelta(update, phase, MatchDelta(self._matches(gone), self._matches(came)))

    @property
    def held(self) -> tuple[Key, ...]:
        return tuple(map(self._columns.terms, self._held))

    @property
    def matches(self) -> tuple[Match, ...]:
        """The groups that hold, in the order of their bindings."""
        return self._matches(self._held)

    def _holds(self, key: Row, held: bool) -> bool:
        count = self._counts.get(key, 0)
        if not count and self.shown:
            return False
        if self._rule.names_group:
            return self._rule.holds(self._columns.terms(key), count, held)
        holds = self._known.get((count, held))
        if holds is None:
            holds = self._known[count, held] = self._rule.holds(self._columns.terms(key), count, held)
        return holds

    def _matches(self, keys: Iterable[Row]) -> tuple[Match, ...]:
        counts = {self._columns.terms(key): self._counts.get(key, 0) for key in keys}
        return tuple(self._rule.match(key, counts[key]) for key in sorted(counts, key=key_order))


class MatchCount:
    """How many matches a member of a top-k set has; what that means for the set, `Ranking` says."""

    shown: tuple[Variable, ...] = ()
    held: tuple[Key, ...] = ()

    def __init__(self, query: Query, builder: SolutionBuilder) -> None:
        self.count = 0
        self._distinct = DistinctMatches(query.projection, builder) if query.distinct else None

    def start(self, rows: Int32s, held: Iterable[Key] = ()) -> None:
        self.count = len(rows)
        if self._distinct is not None:
            self._distinct.start(rows)
            self.count = len(self._distinct.support)

    def follow(self, changes: Changes, witness: bool = False) -> Iterator[PhaseDelta]:
        """No deltas, but the count after each phase that changed it, while it is looked at."""
        if self._distinct is None:
            for update, phase, first, middle, last in changes.phases():
                self.count += (last - middle) - (middle - first)
                yield PhaseDelta(update, phase, MatchDelta())
            return
        for each in self._distinct.follow(changes):
            self.count = len(self._distinct.support)
            yield each._replace(delta=MatchDelta())


# --- top-k sets -------------------------------------------------------------------------------------------------

# The law: after each phase of an update the k members with most matches hold, ties by id, if they have any match. A
# member that moves shifts those between its old and its new place by one, so only those next to a k can have crossed
# it: they and the member that moved are placed again, not all. A set that gained or lost a member is ranked as a whole
# when the next update is done, which then carries the news.


class RankChange(NamedTuple):
    """How many matches a member has after a phase of an update."""

    update: int
    phase: int
    id: str
    matches: int


class RankedSet:
    """The members of one set, in order."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.holding: set[str] = set()
        self._sizes: dict[str, int] = {}  # the k of each member
        self._distinct: Counter[int] = Counter()  # how many members have each k
        self._order: list[tuple[int, str]] = []  # the count below zero, and the id: more matches first, ties by id

    def add(self, id: str, k: int) -> None:
        self.counts[id], self._sizes[id] = 0, k
        self._distinct[k] += 1
        insort(self._order, (0, id))

    def remove(self, id: str) -> None:
        self._distinct[self._sizes[id]] -= 1
        self._distinct = +self._distinct
        del self._order[self.place_of(id)], self._sizes[id], self.counts[id]
        self.holding.discard(id)

    def move(self, id: str, count: int) -> set[str]:
        """Changes a count; the members whose place may lie on the other side of their k now."""
        del self._order[self.place_of(id)]
        self.counts[id] = count
        insort(self._order, (-count, id))
        near = {place for k in self._distinct for place in (k - 1, k) if place < len(self._order)}
        return {id, *(self._order[place][1] for place in near)}

    def place(self, ids: Iterable[str]) -> dict[str, MatchDelta]:
        """Places members; the deltas of those for which that changes something."""
        deltas = {}
        for id in ids:
            match, holds = Match(None, self.counts[id]), self.is_top(id)
            if holds and id not in self.holding:
                self.holding.add(id)
                deltas[id] = MatchDelta((), (match,))
            elif not holds and id in self.holding:
                self.holding.remove(id)
                deltas[id] = MatchDelta((match,), ())
        return deltas

    def is_top(self, id: str) -> bool:
        return self.counts[id] > 0 and self.place_of(id) < self._sizes[id]

    def place_of(self, id: str) -> int:
        return bisect_left(self._order, (-self.counts[id], id))


class Ranking:
    """All top-k sets of an engine, by name. `rank_dirty` are the sets to be ranked as a whole, `rank_unknown` the
    members that have no place yet."""

    def __init__(self) -> None:
        self._sets: dict[str, RankedSet] = {}
        self._names: dict[str, str] = {}  # of each member's set
        self.rank_dirty: set[str] = set()
        self.rank_unknown: set[str] = set()

    def __contains__(self, id: str) -> bool:
        return id in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def add(self, id: str, top: Top) -> None:
        self._names[id] = top.name
        self._sets.setdefault(top.name, RankedSet()).add(id, top.k)
        self.rank_dirty.add(top.name)
        self.rank_unknown.add(id)

    def remove(self, id: str) -> None:
        name = self._names.pop(id)
        self._sets[name].remove(id)
        self.rank_dirty.add(name)
        self.rank_unknown.discard(id)

    def set_of(self, id: str) -> RankedSet:
        return self._sets[self._names[id]]

    def sets_of(self, ids: Iterable[str]) -> set[str]:
        """The names of the sets that some of these are members of."""
        return {self._names[id] for id in ids if id in self._names}

    def refresh(self, counts: Mapping[str, int]) -> None:
        """Takes counts silently, and places the members that have no place yet."""
        for id, count in counts.items():
            self.set_of(id).move(id, count)
        for id in self.rank_unknown:
            self.set_of(id).place((id,))
        self.rank_unknown.clear()

    def restore(self, held: Mapping[str, bool], dirty: Iterable[str], unknown: Iterable[str]) -> None:
        """Says of members that were there before whether they held, and which are still to be placed."""
        for id in (id for id, did in held.items() if did):
            self.set_of(id).holding.add(id)
        self.rank_unknown = (self.rank_unknown - held.keys()) | set(unknown)
        new = {name for id, name in self._names.items() if id not in held}
        self.rank_dirty = new | (self._sets.keys() & set(dirty))  # a set may have lost its last member

    def holds(self, id: str) -> bool:
        return id in self.set_of(id).holding

    def follow(self, changes: Iterable[RankChange], updates: int) -> dict[tuple[int, str], MatchDelta]:
        """The deltas of a batch of so many updates, by update and member; changes come in order of update and phase."""
        deltas: dict[tuple[int, str], MatchDelta] = {}
        for (update, _), moved in groupby(changes, itemgetter(0, 1)):
            if update:
                self._rank_dirty(deltas)
            near: dict[str, set[str]] = {}
            for change in moved:
                name = self._names[change.id]
                near.setdefault(name, set()).update(self._sets[name].move(change.id, change.matches))
            for name in near.keys() - self.rank_dirty:
                _join(deltas, update, self._sets[name].place(near[name]))
        if updates:
            self._rank_dirty(deltas)
        return deltas

    def _rank_dirty(self, deltas: dict[tuple[int, str], MatchDelta]) -> None:
        """The first update is done: it carries the news of sets whose members changed."""
        for name in self.rank_dirty:
            _join(deltas, 0, self._sets[name].place(list(self._sets[name].counts)))
        self.rank_dirty.clear()


def _join(joined: dict[tuple[int, str], MatchDelta], update: int, deltas: Mapping[str, MatchDelta]) -> None:
    for id, delta in deltas.items():
        before = joined.get((update, id))
        joined[update, id] = delta if before is None else after(before, delta, ())
