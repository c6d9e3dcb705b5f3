"""From rows of a pattern to solutions of its query, and what a query reports of solutions gained and lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import And, Compare, Count, Expression, Form, Not, Or, Query, TriplePattern, Values
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable, value_of
from heliograph.values import NUMERIC
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import Int32s, Int64s
from heliograph.watch.modes import Counted, Key, Match, Solution, Threshold, Turn, by_name, key_order, order
from heliograph.watch.options import Options
from heliograph.watch.updates import NO_TERM
from heliograph.watch.updates import Flags as UpdatesFlags

# ----------------------------------------------------------------------------------------------------------------------
# A condition on COUNT(*) as a range of whole numbers, where it is one: so a kernel can tell when it is crossed.
#
# The law: within the range, and nowhere else, the condition holds. A comparison with a number is monotone in the
# count, in whatever type it is made, so its bound is found by halving; a condition of several is made of theirs.
# ----------------------------------------------------------------------------------------------------------------------

MOST = 2**63 - 1

Ranges = tuple[tuple[int, int], ...]  # apart from each other and in order, both ends included

_ALL: Ranges = ((0, MOST),)


class Limits(NamedTuple):
    """A count begins to hold from `enter_low` to `enter_high`, and then holds from `stay_low` to `stay_high`.

    An empty range is 1 to 0.
    """

    enter_low: int
    enter_high: int
    stay_low: int
    stay_high: int


@lru_cache(maxsize=4096)
def limits_of(having: Expression, hysteresis: float = 0.0) -> Limits | None:
    """The limits of a condition, or None where it is no single range."""
    enter = _ranges(having)
    if enter is None:
        return None
    slack: Ranges = _monotone(Threshold(having, hysteresis).slack) if hysteresis else ()
    stay = _union(enter, slack)
    if len(enter) > 1 or len(stay) > 1:
        return None
    return Limits(*(enter or ((1, 0),))[0], *(stay or ((1, 0),))[0])


def _ranges(condition: Expression) -> Ranges | None:
    match condition:
        case And(operands) | Or(operands):
            parts = [_ranges(operand) for operand in operands]
            known = [part for part in parts if part is not None]
            join = _intersection if isinstance(condition, And) else _union
            return reduce(join, known) if len(known) == len(parts) else None
        case Not(operand):
            inner = _ranges(operand)
            return None if inner is None else _complement(inner)
        case Compare(operator, left, right) if _is_count_and_number(left, right):
            return _compared(operator, left, right)
    return None


def _is_count_and_number(left: Expression, right: Expression) -> bool:
    number = right if isinstance(left, Count) else left
    value = value_of(number) if isinstance(number, Term) else None
    return isinstance(left, Count) is not isinstance(right, Count) and value is not None and value.kind in NUMERIC


def _compared(operator: str, left: Expression, right: Expression) -> Ranges:
    if operator == "!=":
        return _complement(_compared("=", left, right))
    if operator == "=":
        return _intersection(_compared("<=", left, right), _compared(">=", left, right))
    condition = Condition.of(Compare(operator, left, right))
    return _monotone(lambda count: condition.holds({}, count=count))


def _monotone(holds: Callable[[int], bool]) -> Ranges:
    """Where something holds of counts that, if it changes at all, changes once."""
    first = holds(0)
    if first == holds(MOST):
        return _ALL if first else ()
    low, high = 0, MOST  # of which the first is as 0 is, the last is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) == first else (low, middle)
    return ((0, low),) if first else ((high, MOST),)


# --- sets of ranges ---------------------------------------------------------------------------------------------


def _complement(ranges: Ranges) -> Ranges:
    bounds = [-1, *(bound for low, high in ranges for bound in (low, high)), MOST + 1]
    gaps = zip(bounds[::2], bounds[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in gaps if after - before > 1)


def _union(first: Ranges, second: Ranges) -> Ranges:
    joined: list[tuple[int, int]] = []
    for low, high in sorted((*first, *second)):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return tuple(joined)


def _intersection(first: Ranges, second: Ranges) -> Ranges:
    return _complement(_union(_complement(first), _complement(second)))


# ----------------------------------------------------------------------------------------------------------------------
# From rows of a pattern to solutions of its query: VALUES joined, and the filters that no kernel could decide.
#
# The law: a row of the pattern becomes exactly the solutions that extend it, each once, and two rows never become the
# same one; so rows gained and lost are solutions gained and lost. Everything here is done for whole arrays of rows,
# conditions once for each choice of terms that they look at.
# ----------------------------------------------------------------------------------------------------------------------

Flags: TypeAlias = "npt.NDArray[np.bool_]"


class Completed(NamedTuple):
    """Solutions as rows of term ids, NO_TERM where a variable is unbound; and which row each of them extends."""

    origins: Int64s
    terms: Int32s


class _Block(NamedTuple):
    """A VALUES block: the columns of its variables, and its rows of ids, NO_TERM for UNDEF."""

    columns: tuple[int, ...]
    rows: Int32s


class Completion:
    """What is left to be done to a query's rows. Columns of solutions are `variables`: see `modes.by_name`."""

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
        tests = (Condition.of(part) for each in filters for part in _conjuncts(each))
        self._conditions = [(test, self._columns_of(test)) for test in tests]

    @property
    def free(self) -> list[int]:
        """The columns of variables that nothing binds: only metrics ask them."""
        given = {column for block in self._blocks for column in block.columns}
        return [column for column in range(len(self.variables)) if column not in self._bound and column not in given]

    def __call__(self, rows: Int32s) -> Completed:
        """The solutions that extend these rows, in the order of the rows."""
        terms = np.full((len(rows), len(self.variables)), NO_TERM, np.int32)
        terms[:, self._bound] = rows[:, self._slots]
        found = Completed(np.arange(len(rows), dtype=np.int64), terms)
        for block in self._blocks:
            found = _joined(found, block)
        if self._blocks:
            found = _distinct(found)
        for condition, columns in self._conditions:
            kept = self._holds(condition, columns, found.terms)
            found = Completed(found.origins[kept], found.terms[kept])
        return found

    def solution(self, row: Sequence[int]) -> Solution:
        """A row of ids as bindings."""
        pairs = zip(self.variables, row, strict=True)
        return {variable: self.vocabulary.term(id) for variable, id in pairs if id != NO_TERM}

    def _block(self, block: Values) -> _Block:
        rows = [[NO_TERM if term is None else self.vocabulary.intern(term) for term in row] for row in block.rows]
        columns = tuple(self.variables.index(variable) for variable in block.variables)
        return _Block(columns, np.array(rows, np.int32).reshape(len(rows), len(columns)))

    def _columns_of(self, test: Condition) -> list[int]:
        return [column for column, variable in enumerate(self.variables) if variable in test.variables]

    def _holds(self, condition: Condition, columns: list[int], terms: Int32s) -> Flags:
        verdicts = np.zeros(len(terms), np.bool_)
        doubtful = np.ones(len(terms), np.bool_)
        if (differs := _says_different(condition.expression)) is not None and len(columns) == 2:
            one, other = terms[:, columns[0]], terms[:, columns[1]]
            doubtful = self._may_be_equal(one, other)
            verdicts = (one != other) == differs
        choices, inverse = _choices(terms[doubtful][:, columns])
        judged = [condition.holds(self._bindings(columns, choice)) for choice in choices.tolist()]
        verdicts[doubtful] = np.array(judged, np.bool_)[inverse]
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

    def _bindings(self, columns: list[int], choice: list[int]) -> dict[Variable, Term]:
        pairs = zip(columns, choice, strict=True)
        return {self.variables[column]: self.vocabulary.term(id) for column, id in pairs if id != NO_TERM}


def _touched(query: Query) -> frozenset[Variable]:
    """The variables that nothing but vertices fill: at the ends of edges that only the graph has, no taxonomy."""
    edges = [each for each in query.patterns if isinstance(each, TriplePattern) and isinstance(each.predicate, Term)]
    plain = [each for each in edges if each.predicate not in (RDF_TYPE, RDFS_SUBCLASS_OF)]
    ends = (node for each in plain for node in (each.subject, each.object))
    return frozenset(node for node in ends if isinstance(node, Variable))


def _says_different(expression: Expression) -> bool | None:
    """True for `?x != ?y`, False for `?x = ?y`, None for everything else."""
    match expression:
        case Compare("=" | "!=" as operator, Variable(), Variable()):
            return operator == "!="
    return None


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    """A conjunction holds where each of its parts does."""
    if isinstance(expression, And):
        for operand in expression.operands:
            yield from _conjuncts(operand)
    else:
        yield expression


def _choices(terms: Int32s) -> tuple[Int32s, Int64s]:
    """The distinct rows, and which of them each row is; pairs are packed, which is several times as fast."""
    if terms.shape[1] == 2:
        packed = np.ascontiguousarray(terms).view(np.int64).ravel()
        pairs, inverse = np.unique(packed, return_inverse=True)
        return pairs.view(np.int32).reshape(-1, 2), inverse
    choices, inverse = np.unique(terms, axis=0, return_inverse=True)
    return choices, inverse.ravel()


def _joined(found: Completed, block: _Block) -> Completed:
    """Every solution with every row of a block that it agrees with; UNDEF agrees with anything and binds nothing."""
    origins, terms = [found.origins[:0]], [found.terms[:0]]
    for row in block.rows.tolist():
        given = [(column, id) for column, id in zip(block.columns, row, strict=True) if id != NO_TERM]
        agrees = np.ones(len(found.terms), np.bool_)
        for column, id in given:
            agrees &= (found.terms[:, column] == id) | (found.terms[:, column] == NO_TERM)
        extended = found.terms[agrees]
        for column, id in given:
            extended[:, column] = id
        origins.append(found.origins[agrees])
        terms.append(extended)
    return Completed(np.concatenate(origins), np.concatenate(terms))


def _distinct(found: Completed) -> Completed:
    unique = np.unique(np.column_stack((found.origins, found.terms.astype(np.int64))), axis=0)
    return Completed(unique[:, 0], unique[:, 1:].astype(np.int32))


# ----------------------------------------------------------------------------------------------------------------------
# Modes that are fed with differences: what a query tells of solutions gained and lost.
#
# The law: fed with the differences between one set of solutions and the next, they give the turns that `modes` gives
# of the sets themselves. They keep only what differences do not tell: nothing for `each`, how many solutions stand
# behind each key for DISTINCT, `change`, groups and ranks, and which groups hold. A key that comes has all its
# solutions among those gained, one that goes all of them among those lost, so the witness that `modes` would choose
# is there too.
#
# Solutions are rows of term ids in the columns of a `Completion`, net: none of them both gained and lost in one
# phase. A whole batch of them is followed at once, so that only what is told costs more than a few steps a row.
# ----------------------------------------------------------------------------------------------------------------------

Row = tuple[int, ...]


class Changes(NamedTuple):
    """Solutions lost and gained in the phases of updates: in order of update and phase, and in each the lost first."""

    update: Int64s
    phase: Int64s
    gained: UpdatesFlags
    terms: Int32s

    @classmethod
    def sorted(cls, update: Int64s, phase: Int64s, gained: UpdatesFlags, terms: Int32s) -> Changes:
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
