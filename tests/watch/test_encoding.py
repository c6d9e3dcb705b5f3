"""Updates as columns: what the slow twin says row by row, with the same refusals, seqs and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import HeliographError, UsageError
from heliograph.io.publications import Publications, Triples
from heliograph.io.schemas import TABLES
from heliograph.io.tables import TableRows, as_table
from heliograph.model import Rejected, Rejections
from heliograph.terms import PREFIXES, Position, iri
from heliograph.vocabulary import Vocabulary
from heliograph.watch.updates import SeqStream, Update, UpdateColumns, UpdateReader, Updates, background, read_updates
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
COMMON = (None, "+", "a", "p", "b", None, None)
REFUSED = Rejections([Rejected("u.csv", "2", "HG-204", "a cell"), Rejected("u.csv", "5", "HG-204", "another")])


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


def _array(cells: Any, kind: pa.DataType) -> pa.Array[Any]:
    return pa.array(cells, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(cells, kind)


def _chunked(table: pa.Table, where: int) -> pa.Table:
    return pa.concat_tables([table.slice(0, where), table.slice(where)])


@st.composite
def reads(draw: st.DrawFn, seqs: st.SearchStrategy[int | None] = SEQS) -> TableRows:
    """A table with its rows' numbers in their source: some left out, or starting again."""
    table = draw(tables(seqs))
    steps = draw(st.lists(st.sampled_from((1, 1, 1, 2, 5, -2)), min_size=len(table), max_size=len(table)))
    numbers = np.maximum(1, np.cumsum([draw(st.integers(0, 9)), *steps])[1:]).astype(np.int64)
    rejected = draw(st.sampled_from((Rejections(), REFUSED)))
    return TableRows(draw(st.sampled_from((None, "u.csv", "v.csv"))), table, rejected, numbers)


def told(encoded: UpdateColumns, vocabulary: Vocabulary) -> list[Update]:
    return list(encoded.updates(vocabulary))


def check_stream(parts: list[tuple[TableRows, bool]], timed: bool) -> None:
    naive, vocabulary = NaiveStream(timed), Vocabulary()
    sequence = SeqStream()
    reader = UpdateReader(vocabulary, PREFIXES, sequence, timed)
    for read, again in parts:
        naive.accepted, naive.rejected = [], []
        naive.publish(read, piece=True)
        encoded, rejected = reader.read(read)
        assert told(encoded, vocabulary) == naive.accepted
        assert rejected == naive.rejected
        assert sequence.meta() == {
            "last": naive.last,
            "seen": naive.seen,
            "base": naive.base,
            "row": naive.number,
            "source": naive.source,
        }
        if again:
            sequence = SeqStream.restored(sequence.meta())
            reader = UpdateReader(vocabulary, PREFIXES, sequence, timed)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(reads(), st.booleans()), max_size=3), st.booleans())
def test_columns_tell_what_rows_tell(parts: list[tuple[TableRows, bool]], timed: bool) -> None:
    check_stream(parts, timed)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(reads(FAR_SEQS), st.booleans()), max_size=3))
def test_seqs_at_the_end_of_whole_numbers(parts: list[tuple[TableRows, bool]]) -> None:
    check_stream(parts, timed=False)


@settings(deadline=None, max_examples=100)
@given(reads(), st.lists(st.integers(0, 8), max_size=3), st.booleans())
def test_a_batch_of_ids_tells_what_its_items_tell(read: TableRows, earlier: list[int], timed: bool) -> None:
    """TableRows once and published twice, it is as good as publishing the table twice."""
    vocabulary, seqs = Vocabulary(), SeqStream(*earlier[:1])
    twin = UpdateReader(vocabulary, PREFIXES, SeqStream(*earlier[:1]), timed)
    updates = read_updates(read, vocabulary, PREFIXES)
    for _ in range(2):
        expected, refused = twin.read(read._replace(source=None))
        encoded, late = UpdateReader(vocabulary, PREFIXES, seqs, timed).read(updates)
        assert told(encoded, vocabulary) == told(expected, vocabulary)
        assert sorted(entry.code for entry in (*updates.rejected, *late)) == sorted(entry.code for entry in refused)
    assert len(updates) == len(read.rows) - len(updates.problems)


@settings(deadline=None, max_examples=50)
@given(reads(), reads())
def test_another_engine_takes_a_batch_too(read: TableRows, before: TableRows) -> None:
    own, other = Vocabulary(), Vocabulary()
    read_updates(before, other, PREFIXES)
    updates = read_updates(read, own, PREFIXES)
    encoded, _ = UpdateReader(other, PREFIXES, SeqStream()).read(updates)
    assert told(encoded, other) == told(UpdateReader(own, PREFIXES, SeqStream()).read(updates)[0], own)


@settings(deadline=None, max_examples=100)
@given(tables())
def test_what_is_loaded_is_what_rows_tell(table: pa.Table) -> None:
    vocabulary = Vocabulary()
    encoded, rejected = background(TableRows("g.csv", table, REFUSED, np.arange(len(table)) + 1), vocabulary, PREFIXES)
    expected, codes = [], [entry.code for entry in REFUSED]
    for cells in rows_of(table):
        try:
            expected.append(read_row({**cells, "op": cells["op"] or "+"}))
        except HeliographError as error:
            codes.append(error.code)
    assert told(encoded, vocabulary) == expected
    assert [entry.code for entry in rejected] == codes


# --- publications -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=4), max_size=3), st.booleans())
def test_publications_are_sets(graphs: list[list[tuple[int, int, int]]], foreign: bool) -> None:
    own = Vocabulary()
    terms = own.intern_many([iri(f"urn:{name}") for name in "xyz"])
    offsets = np.cumsum([0, *map(len, graphs)])
    columns = np.array([row for graph in graphs for row in graph], np.int32).reshape(-1, 3).T
    publications = Publications(own, tuple(map(str, range(len(graphs)))), offsets, Triples(*columns))
    vocabulary = Vocabulary() if foreign else own
    encoded, rejected = background(publications, vocabulary, PREFIXES)
    assert not rejected
    triples = [(0, "+", *(own.term(terms[id]) for id in row)) for graph in graphs for row in dict.fromkeys(graph)]
    assert [update[:5] for update in encoded.updates(vocabulary)] == triples
    assert all(update.weight is None and update.at is None for update in encoded.updates(vocabulary))


# --- arrays of ids ------------------------------------------------------------------------------------------------


def ids(vocabulary: Vocabulary, *cells: str | None) -> Any:
    return vocabulary.intern_cells(pa.array(cells, pa.string()), Position.OBJECT).ids


def known() -> tuple[Vocabulary, int, int, int]:
    """A vocabulary with an IRI, a literal and a blank node."""
    vocabulary = Vocabulary()
    return vocabulary, *ids(vocabulary, "a", "5", "_:b").tolist()


@pytest.mark.parametrize("array", [np.array, pa.array, list, lambda ids: pa.chunked_array([ids])])
def test_updates_from_ids(array: Any) -> None:
    vocabulary, a, five, blank = known()
    updates = Updates.of(
        vocabulary,
        (array([blank, a, a]), array([a, a, -1]), array([five, blank, -1])),
        array([0, 2, 3]),
        seq=array([3, 7, 8]),
        weight=array([0.5, float("nan"), 1.0]),
        at=array([1, 2, 3]),
    )
    encoded, rejected = UpdateReader(vocabulary, PREFIXES, SeqStream()).read(updates)
    term = vocabulary.term
    assert not rejected
    assert told(encoded, vocabulary) == [
        Update(3, "+", term(blank), term(a), term(five), 0.5, 1),
        Update(7, "=", term(a), term(a), term(blank), None, 2),
        Update(8, "-", term(a), None, None, 1.0, 3),
    ]


def test_nulls_of_arrow_are_absent() -> None:
    vocabulary, a, *_ = known()
    nulls = pa.array([None, a], pa.int32())
    updates = Updates.of(vocabulary, ([a, a], nulls, nulls), [3, 0], at=pa.array([None, 5]))
    encoded, _ = UpdateReader(vocabulary, PREFIXES, SeqStream()).read(updates)
    term = vocabulary.term(a)
    assert told(encoded, vocabulary) == [Update(1, "-", term, None, None), Update(2, "+", term, term, term, None, 5)]


def test_no_ids_are_no_updates() -> None:
    assert len(Updates.of(Vocabulary(), ([], [], []))) == 0


def test_later_changes_of_an_array_do_not_matter() -> None:
    vocabulary, a, *_ = known()
    column = np.array([a], np.int32)
    updates = Updates.of(vocabulary, (column, column, column))
    column[:] = 99
    assert updates.encoded.subject.tolist() == updates.encoded.object.tolist() == [a]


@pytest.mark.parametrize(
    ("triples", "options"),
    [
        (([0], [0], [3]), {}),
        (([0], [0], [-1]), {}),
        (([-1], [0], [0]), {"op": 3}),
        (([1], [0], [0]), {}),  # a literal as subject
        (([0], [2], [0]), {}),  # a blank node as property
        (([0], [0], [0]), {"op": 4}),
        (([0], [0], [0]), {"op": [-1]}),
        (([0], [0], [0, 0]), {}),
        (([[0]], [[0]], [[0]]), {}),
        (([0.5], [0], [0]), {}),
        (([2**40], [0], [0]), {}),
        (([0], [0], [0]), {"weight": [-1.0]}),
        (([0], [0], [0]), {"weight": [float("inf")]}),
        (([0], [0], [0]), {"seq": [1, 2]}),
        (([0], [0], [0]), {"seq": ["1"]}),
    ],
)
def test_ids_that_are_no_updates(triples: Any, options: dict[str, Any]) -> None:
    vocabulary, *_ = known()
    with pytest.raises(UsageError, match="HG-078"):
        Updates.of(vocabulary, triples, **options)


# --- columns ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(reads())
def test_columns_fit_the_kernels(read: TableRows) -> None:
    encoded = UpdateReader(Vocabulary(), PREFIXES, SeqStream()).read(read)[0]
    kinds = [np.int64, np.uint8, np.int32, np.int32, np.int32, np.float64, np.int64]
    assert [column.dtype for column in encoded.columns] == kinds
    assert all(column.flags.c_contiguous and column.flags.writeable for column in encoded.columns)


# --- one update ---------------------------------------------------------------------------------------------------

CELLS = st.sampled_from(("a", "b", "p", "5", '"x"', "_:n", "urn:x", "no:prefix", "<urn:y>", "?v", "", None, 7, True))


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(("+", "-", "=", "*", "", None, 3)), "subject": CELLS},
            optional={
                "property": CELLS,
                "object": CELLS,
                "other": CELLS,
                "seq": SEQS,
                "weight": st.sampled_from((None, 1.5, -1)),
                "at": st.sampled_from((None, 3)),
            },
        ),
        max_size=6,
    ),
    st.booleans(),
)
def test_a_single_update_is_read_as_a_table_of_one_row_is(items: list[dict[str, Any]], timed: bool) -> None:
    vocabularies, sequences = (Vocabulary(), Vocabulary()), (SeqStream(), SeqStream())
    one, table = (UpdateReader(*each, timed) for each in zip(vocabularies, [PREFIXES] * 2, sequences, strict=True))
    for item in items:
        encoded, rejected = one.read([item])
        expected, refused = table.read(as_table("updates", [item]))
        assert told(encoded, vocabularies[0]) == told(expected, vocabularies[1])
        assert list(rejected) == list(refused)
        assert sequences[0].meta() == sequences[1].meta()
