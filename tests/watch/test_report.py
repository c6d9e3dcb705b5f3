"""Reports: lines as columns are what deltas give one by one, in the order of the contract and within limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.model import Notification
from heliograph.sparql.templates import parse_sparql
from heliograph.subscriptions import Subscription
from heliograph.terms import Variable, parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch import report as reports
from heliograph.watch.changes import Match, MatchDelta
from heliograph.watch.evidence import TermTexts, as_list, binding_texts, evidence_text, value_texts
from heliograph.watch.layout import NO_TIME
from heliograph.watch.options import Options, Subscribed
from heliograph.watch.report import PublishRun, Report, ReportLines
from heliograph.watch.updates import NO_TERM, UpdateColumns

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
    made = as_list(binding_texts(NAMES[:width], terms, TermTexts(known())))
    variables = [Variable(name) for name in NAMES]
    solutions = [
        {variable: TERMS[id] for variable, id in zip(variables, row, strict=False) if id != NO_TERM}
        for row in terms.tolist()
    ]
    assert made == [evidence_text(QUERY, Match(solution), witness=None) for solution in solutions]


def test_columns_of_values_are_texts() -> None:
    values = np.array([0, 1, 2**62])
    expected = [evidence_text(QUERY, Match(None, value), witness=None) for value in values.tolist()]
    assert as_list(value_texts(values)) == expected


def test_terms_are_ranked_and_none_comes_first() -> None:
    book = TermTexts(known())
    ranks = book.ranks(np.array([[3, 2], [NO_TERM, 0], [5, 2]], np.int32))
    assert ranks.tolist() == [[4, 3], [0, 2], [1, 3]]  # _:n, a, 9, 10


# --- order, guard, table ----------------------------------------------------------------------------------------


def subscribed(number: int, limit: int) -> Subscribed:
    return Subscribed(Subscription(f"s{number}", None if number % 2 else "Ann", QUERY, number), Options(limit=limit))


LIMITS = (1_000_000, 1, 1_000_000, 2)
SEQS = (5, 7, 8, 20)
TIMES = (NO_TIME, 0, 1_700_000_000_000_001, NO_TIME)


def updates() -> UpdateColumns:
    size = len(SEQS)
    seq, at = np.array(SEQS), np.array(TIMES)
    subject = np.zeros(size, np.int32)
    return UpdateColumns(seq, np.zeros(size, np.uint8), subject, subject, subject, np.full(size, np.nan), at)


lines = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 3), st.integers(0, 9), st.booleans()), max_size=20
)


@settings(deadline=None, max_examples=150)
@given(lines, st.sampled_from((0, 4, 64)))
def test_columns_are_notifications(drawn: list[tuple[int, bool, int, int, bool]], few: int) -> None:
    """Some are added as columns and some as deltas; those of one update, change and subscription all one way."""
    everyone = [subscribed(number, limit) for number, limit in enumerate(LIMITS)]
    as_columns = [line for line in drawn if (line[0] + line[2]) % 2]
    values = value_texts(np.array([line[3] for line in as_columns], np.int64))
    update, gained, number = (np.array([line[place] for line in as_columns], np.int64) for place in range(3))
    run = PublishRun(witness=False)
    with mock.patch.object(reports, "_FEW", few):
        report = Report(updates(), witness=None)
        report.add_lines(ReportLines(update, gained.astype(np.bool_), number, values), everyone)
        for row, is_gained, subscription, value, _ in drawn:
            if (row + subscription) % 2 == 0:
                match = (Match(None, value),)
                delta = MatchDelta((), match) if is_gained else MatchDelta(match, ())
                report.add_deltas(everyone[subscription], (), [(row, delta)])
        report.finish(run)
    found = run.outcome(4)
    expected, cut = notified(drawn, everyone)
    assert list(found) == expected
    assert found.table.to_pylist() == [
        {name: getattr(each, name) for name in found.table.column_names} for each in found
    ]
    assert pa.types.is_timestamp(found.table["at"].type)
    assert (found.stats.truncated, found.stats.notifications) == (cut, len(expected))
    assert found.stats.verified == len({(line[0], line[2]) for line in drawn})


def notified(
    drawn: list[tuple[int, bool, int, int, bool]], everyone: list[Subscribed]
) -> tuple[list[Notification], int]:
    """The same, line by line."""
    made, cut, met = [], 0, dict[tuple[int, int], int]()
    for row, is_gained, number, value, _ in sorted(drawn, key=lambda line: line[:3]):
        subscription, options = everyone[number]
        met[row, number] = met.get((row, number), 0) + 1
        if met[row, number] > options.limit:
            cut += 1
            continue
        at = None if TIMES[row] == NO_TIME else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=TIMES[row])
        change, text = "+" if is_gained else "-", f'{{"value":{value}}}'
        seq, subscriber = str(SEQS[row]), subscription.subscriber
        made.append(Notification(subscription.id, subscriber, seq, "watch", change, at, text))
    return made, cut


def test_what_comes_before_the_first_update_has_no_seq() -> None:
    run, told = PublishRun(witness=False), subscribed(0, 9)
    for some in (None, updates(), None):
        report = Report(some, witness=None)
        report.add_deltas(told, (), [(1, MatchDelta((), (Match(None, 1),)))])
        report.finish(run)
    outcome = run.outcome(1)
    assert [each.publication_id for each in outcome] == [None, "7", None]
    assert outcome.table["publication_id"].to_pylist() == [None, "7", None]
    assert outcome.stats.verified == 1
