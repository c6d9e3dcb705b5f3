"""Updates as columns: what the slow twin says row by row, with the same refusals, seqs and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.model import Rejections
from heliograph.publications import Publications, Triples
from heliograph.tables.reads import Read
from heliograph.tables.schemas import TABLES
from heliograph.terms import PREFIXES, Position, Term
from heliograph.vocabulary import Vocabulary
from heliograph.watch.background import background
from heliograph.watch.encoding import Encoded
from heliograph.watch.reading import Intake, as_encoded, read_updates
from heliograph.watch.sequence import Sequence
from heliograph.watch.updates import Update
from tests.watch.naive_reading import NaiveStream, read_row, rows_of

SCHEMA = TABLES["updates"].arrow
OPS = st.sampled_from(("+", "+", "+", "-", "-", "=", "", None, "*", "++", "−", "add to the graph, please"))
SUBJECTS = st.sampled_from(("a", "b", "a", "_:b", '"a"', "", None, "ex:a", "?x", "<http://example.org/a>"))
PROPERTIES = st.sampled_from(("p", "q", "a", "p", "_:p", "", None, "?p", "5"))
OBJECTS = st.sampled_from(("a", "b", "5", "05", '"x"@fr', "", None, '"x', "?o", "true"))
WEIGHTS = st.sampled_from((None, None, 0.0, 1.5, -1.0, float("nan"), float("inf"), -0.0))
TIMES = st.sampled_from((None, 0, -1, 1_700_000_000_000_000))
FAR = (-(2**63), 2**63 - 3, 2**63 - 2, 2**63 - 1)
SEQS = st.one_of(st.none(), st.none(), st.integers(-3, 30))
FAR_SEQS = st.one_of(SEQS, st.sampled_from(FAR))


@st.composite
def tables(draw: st.DrawFn, seqs: st.SearchStrategy[int | None] = SEQS) -> pa.Table:
    """Rows of any kind; mostly of a few kinds, so that whole columns are good or absent."""
    strategies = [
        draw(st.sampled_from((strategy, st.just(common))))
        for strategy, common in zip((seqs, OPS, SUBJECTS, PROPERTIES, OBJECTS, WEIGHTS, TIMES), COMMON, strict=True)
    ]
    rows = draw(st.lists(st.tuples(*strategies), max_size=8))
    columns = zip(*rows, strict=True) if rows else ((),) * len(SCHEMA)
    arrays = [_array(cells, field.type) for cells, field in zip(columns, SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA)
    return _chunked(table, draw(st.integers(0, 8)))


COMMON = (None, "+", "a", "p", "b", None, None)


def _array(cells: Any, kind: pa.DataType) -> pa.Array[Any]:
    return pa.array(cells, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(cells, kind)


def _chunked(table: pa.Table, where: int) -> pa.Table:
    return pa.concat_tables([table.slice(0, where), table.slice(where)])


@st.composite
def reads(draw: st.DrawFn, seqs: st.SearchStrategy[int | None] = SEQS) -> Read:
    """A table with its rows' numbers in their source: some left out, or starting again."""
    table = draw(tables(seqs))
    steps = draw(st.lists(st.sampled_from((1, 1, 1, 2, 5, -2)), min_size=len(table), max_size=len(table)))
    numbers = np.maximum(1, np.cumsum([draw(st.integers(0, 9)), *steps])[1:]).astype(np.int64)
    rejected = draw(st.sampled_from((Rejections(), REFUSED)))
    return Read(draw(st.sampled_from((None, "u.csv", "v.csv"))), table, 1, rejected, numbers)


REFUSED = Rejections(NaiveStream().rejected)


def told(encoded: Encoded, vocabulary: Vocabulary) -> list[Update]:
    return list(encoded.updates(vocabulary))


def check_stream(parts: list[tuple[Read, bool]], timed: bool) -> None:
    naive, vocabulary = NaiveStream(timed), Vocabulary()
    intake = Intake(vocabulary, PREFIXES, Sequence(), timed)
    for read, again in parts:
        naive.accepted, naive.rejected = [], []
        naive.publish(read, piece=True)
        encoded, rejected = as_encoded(read, intake)
        assert told(encoded, vocabulary) == naive.accepted
        assert rejected == naive.rejected
        assert intake.sequence.meta() == {
            "last": naive.last,
            "seen": naive.seen,
            "base": naive.base,
            "row": naive.number,
            "source": naive.source,
        }
        if again:
            intake = intake._replace(sequence=Sequence.restored(intake.sequence.meta()))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(reads(), st.booleans()), max_size=3), st.booleans())
def test_columns_tell_what_rows_tell(parts: list[tuple[Read, bool]], timed: bool) -> None:
    check_stream(parts, timed)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(reads(FAR_SEQS), st.booleans()), max_size=3))
def test_seqs_at_the_end_of_whole_numbers(parts: list[tuple[Read, bool]]) -> None:
    check_stream(parts, timed=False)
