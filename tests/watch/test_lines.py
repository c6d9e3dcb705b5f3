"""Lines as columns are what reports tell one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.model import Notifications
from heliograph.sparql.templates import parse_sparql
from heliograph.subscriptions import Subscription
from heliograph.terms import Variable, parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.evidence import Book, binding_texts, evidence_text, value_texts
from heliograph.watch.layout import NO_TIME
from heliograph.watch.modes import Match, Turn, mode_of
from heliograph.watch.options import Options
from heliograph.watch.report import Issue, Lines, Part, Run, issue
from heliograph.watch.state import Interest, Report, Watched
from heliograph.watch.updates import NO_TERM, Encoded

QUERY = parse_sparql("SELECT * { ?x :p ?y }", verb="watch")
TERMS = [parse_cell(cell) for cell in ("a", "Ö b", "9", "10", '"x\\n\\"y"@fr', "_:n", '"1"^^xsd:date', '"\U0001f600"')]
NAMES = ("x", "ŷ", "z")

ids = st.integers(NO_TERM, len(TERMS) - 1)


def known() -> Vocabulary:
    vocabulary = Vocabulary()
    vocabulary.intern_many(TERMS)
    return vocabulary


# --- evidence ---------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3), st.lists(st.tuples(ids, ids, ids), max_size=8), st.sampled_from((1, 40)), st.booleans())
def test_columns_of_bindings_are_texts(width: int, rows: Any, times: int, bound: bool) -> None:
    terms = np.array(rows * times, np.int32).reshape(len(rows) * times, 3)[:, :width]
    terms = np.abs(terms) if bound else terms
    made = binding_texts(NAMES[:width], terms, Book(known())).to_pylist()
    variables = [Variable(name) for name in NAMES]
    solutions = [
        {variable: TERMS[id] for variable, id in zip(variables, row, strict=False) if id != NO_TERM}
        for row in terms.tolist()
    ]
    assert made == [evidence_text(QUERY, Match(solution), witness=False) for solution in solutions]


def test_columns_of_values_are_texts() -> None:
    values = np.array([0, 1, 2**62])
    expected = [evidence_text(QUERY, Match(None, value), witness=False) for value in values.tolist()]
    assert value_texts(values).to_pylist() == expected


def test_terms_are_ranked_and_none_comes_first() -> None:
    book = Book(known())
    ranks = book.ranks(np.array([[3, 2], [NO_TERM, 0], [5, 2]], np.int32))
    assert ranks.tolist() == [[4, 3], [0, 2], [1, 3]]  # _:n, a, 9, 10


# --- order, guard, table ----------------------------------------------------------------------------------------


def interest(number: int, limit: int) -> Interest:
    return Interest(Subscription(f"s{number}", None if number % 2 else "Ann", QUERY, number), Options(limit=limit))


def watched(told: Interest) -> Watched:
    return Watched(*told, mode_of(QUERY, told.options), None)  # type: ignore[arg-type]


LIMITS = (1_000_000, 1, 1_000_000, 2)
SEQS = (5, 7, 8, 20)
TIMES = (NO_TIME, 0, 1_700_000_000_000_001, NO_TIME)


def updates() -> Encoded:
    size = len(SEQS)
    seq, at = np.array(SEQS), np.array(TIMES)
    subject = np.zeros(size, np.int32)
    return Encoded(seq, np.zeros(size, np.uint8), subject, subject, subject, np.full(size, np.nan), at)


lines = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 3), st.integers(0, 9), st.booleans()), max_size=20
)


@settings(deadline=None, max_examples=150)
@given(lines)
def test_columns_are_reports(drawn: list[tuple[int, bool, int, int, bool]]) -> None:
    """Some are added as columns and some as turns; those of one update, change and subscription all one way."""
    interests = [interest(number, limit) for number, limit in enumerate(LIMITS)]
    collected = Lines()
    assert collected.is_empty
    as_columns = [line for line in drawn if (line[0] + line[2]) % 2]
    values = value_texts(np.array([line[3] for line in as_columns], np.int64))
    update, gained, number = (np.array([line[place] for line in as_columns], np.int64) for place in range(3))
    collected.add(Part(update, gained.astype(np.bool_), number, values), interests)
    for update_row, is_gained, subscription, value, _ in drawn:
        if (update_row + subscription) % 2 == 0:
            match = (Match(None, value),)
            turn = Turn((), match) if is_gained else Turn(match, ())
            collected.add_turn(update_row, interests[subscription], turn, witness=False)
    run = Run(witness=False)
    run.tell(collected.told(updates()))
    found = run.outcome(4)
    expected = issued(drawn, interests)
    assert list(found) == list(expected.items)
    assert found.table.equals(expected.table)
    assert (found.stats.truncated, found.stats.verified) == (expected.stats.truncated, expected.stats.verified)


def issued(drawn: list[tuple[int, bool, int, int, bool]], interests: list[Interest]) -> Notifications:
    """The same, report by report."""
    run = Run(witness=False)
    for row, update in enumerate(updates().updates(known())):
        reports = []
        for number, told in enumerate(interests):
            some = [line for line in drawn if (line[0], line[2]) == (row, number)]
            lost, gained = (
                tuple(Match(None, line[3]) for line in some if line[1] is is_gained) for is_gained in (False, True)
            )
            if some:
                reports.append(Report(watched(told), Turn(lost, gained)))
        run.verified += len(reports)
        run.take(issue(reports, update, witness=False))
    return run.outcome(4)


def test_a_run_of_both_kinds() -> None:
    run, expected = Run(witness=False), Run(witness=False)
    told = interest(0, 9)
    reports = [Report(watched(told), Turn((), (Match(None, 1),)))]
    first, second = (issue(reports, update, witness=False) for update in list(updates().updates(known()))[:2])
    collected = Lines()
    collected.add_turn(1, told, Turn((), (Match(None, 1),)), witness=False)
    for part in (first, Issue(), collected.told(updates()), Lines().told(updates()), first):
        run.take(part) if isinstance(part, Issue) else run.tell(part)
    for part in (first, second, first):
        expected.take(part)
    outcome = run.outcome(1)
    assert outcome.stats.notifications == len(outcome) == 3
    assert list(outcome) == list(expected.outcome(1))
    assert outcome.table.equals(expected.outcome(1).table)
    assert pa.types.is_timestamp(outcome.table["at"].type)
