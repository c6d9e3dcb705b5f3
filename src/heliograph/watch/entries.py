"""A subscription inside the indexed strategy: the way it is answered, and what it tells of events.

Three ways. *Truth*: somebody is told when nothing is missing any more, and when something is again. *Count*: when the
count crosses its limits. *Rows*: solutions gained and lost are listed, and `deltas` says what that means.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from heliograph.kernels.evolution_layout import Int32s
from heliograph.kernels.network_layout import Q_COUNT, Q_ROWS, Q_TRUTH
from heliograph.syntax.query import Form, Query
from heliograph.terms import Term, Variable
from heliograph.watch.board import Interest
from heliograph.watch.deltas import Changes, Deltas, Every, deltas_of
from heliograph.watch.metrics.judged import Judged
from heliograph.watch.modes import Counted, Match, Turn
from heliograph.watch.options import Options
from heliograph.watch.solutions import Completion


@dataclass(slots=True)
class Entry:
    """A subscription, its row in the network, and what is needed to tell of it."""

    interest: Interest
    kind: int
    row: int
    slots: int = 0  # of a solution of its pattern
    completion: Completion | None = None
    deltas: Deltas | None = None
    judged: Judged | None = None  # what is asked of metrics
    rule: Counted | None = None  # of a count that is judged here, change by change
    held: bool = False  # whether such a count holds
    is_change: bool = True  # whether of truth nothing but its change is told

    @property
    def id(self) -> str:
        return self.interest.subscription.id

    @property
    def number(self) -> int:
        return self.interest.subscription.number

    @property
    def query(self) -> Query:
        return self.interest.subscription.query

    @property
    def is_stateless(self) -> bool:
        """Whether nothing need be known of what stands."""
        return isinstance(self.deltas, Every)

    @property
    def shown(self) -> tuple[Variable, ...]:
        return () if self.deltas is None else self.deltas.shown


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


def listing(entry: Entry, completion: Completion) -> Entry:
    """An entry that is told solutions."""
    entry.completion = completion
    entry.deltas = deltas_of(entry.query, entry.interest.options, completion)
    return entry


# --- turns ------------------------------------------------------------------------------------------------------


def truth_match(entry: Entry) -> Match:
    """What is told of a query that is true; `each` match of one without variables binds nothing."""
    return Match() if entry.is_change else Match({}, None, {})


def truth_turn(entry: Entry, sign: int) -> Turn:
    match = truth_match(entry)
    return Turn((), (match,)) if sign > 0 else Turn((match,), ())


def count_turn(entry: Entry, sign: int, count: int) -> Turn:
    """What a count that crossed its limits tells; one without limits is judged here."""
    if entry.rule is not None:
        holds = entry.rule.holds((), count, entry.held)
        sign, entry.held = int(holds) - int(entry.held), holds
    match = Match(None, count)
    return Turn((match,) if sign < 0 else (), (match,) if sign > 0 else ())


def rows_turn(entry: Entry, rows: Int32s, witness: bool) -> Turn:
    """What solutions of the pattern tell, if they are all that there is."""
    assert entry.completion is not None
    assert entry.deltas is not None
    terms = entry.completion(rows).terms
    none, gained = np.zeros(len(terms), np.int64), np.ones(len(terms), np.bool_)
    told = list(entry.deltas.follow(Changes(none, none, gained, terms), witness))
    return told[0].turn if told else Turn()
