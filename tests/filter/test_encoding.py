"""Encode: every way of giving the same rows gives the same publications and the same rejections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.filter import encode as encoding
from heliograph.filter.encode import Arrivals, encode
from heliograph.terms import PREFIXES, Term, iri
from heliograph.vocabulary import Vocabulary

NAMES = ["publication_id", "subject", "property", "object"]
IDS = st.sampled_from(["p1", "p2", "p3", "", None])
CELLS = st.sampled_from(["Alice", "knows", "5", '"text"', "zz:bad", "", None, "?x", "_:b"])
ROWS = st.lists(st.tuples(IDS, CELLS, CELLS, CELLS), max_size=10)
Row = tuple[str | None, ...]


def table_of(rows: list[Row], kind: pa.DataType | None = None) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * 4
    return pa.table([pa.array(list(cells), kind or pa.string()) for cells in columns], names=NAMES)


def encoded(table: pa.Table) -> pa.Table:
    return pa.table([table[name].dictionary_encode() for name in NAMES], names=NAMES)


def shown(batch: Arrivals) -> tuple[list[tuple[str, frozenset[tuple[Term, ...]]]], list[Any]]:
    return list(batch.publications.graphs()), list(batch.rejected)


def run(items: Any, vocabulary: Vocabulary | None = None) -> Arrivals:
    return encode(items, vocabulary or Vocabulary(), PREFIXES)


@given(ROWS, st.integers(0, 10))
def test_every_layout_of_a_table_says_the_same(rows: list[Row], cut: int) -> None:
    wanted = shown(run([dict(zip(NAMES, row, strict=True)) for row in rows]))
    table = table_of(rows)
    in_pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    with_more = table.append_column("extra", pa.nulls(len(rows)))
    layouts: list[Any] = [
        table,
        encoded(table),
        in_pieces,
        encoded(in_pieces),
        table_of(rows, pa.large_string()),
        with_more,
    ]
    layouts += [pa.concat_tables([encoded(table.slice(0, cut)), encoded(table.slice(cut))])]
    layouts += [layout.to_reader() for layout in layouts[:2]] + table.combine_chunks().to_batches()[:1]
    assert all(shown(run(layout)) == wanted for layout in layouts)


@given(ROWS, st.booleans())
def test_tuples_say_the_same_as_rows(rows: list[Row], listed: bool) -> None:
    """Whether all is well and they are interned at once, or something is wrong with one of them."""
    wanted = shown(run([dict(zip(NAMES, row, strict=True)) for row in rows]))
    tuples: list[Any] = [(id, [list(triple) if listed else triple]) for id, *triple in rows]
    assert shown(run(tuples)) == shown(run(tuple(tuples))) == shown(run(iter(tuples))) == wanted
    whole = [("p1", [row[1:] for row in rows])]
    assert list(run(whole).publications.graphs()) == list(
        run(table_of([("p1", *row[1:]) for row in rows])).publications.graphs()
    )


@pytest.mark.parametrize(
    "items",
    [
        ("p", [("a", "b", "c")]),
        [("p", [("a", "b", "c")]), ("q", []), ("p", [("a", "b", "d")])],
        [("é", [("a", "b", "c")])],
        [("\ud800", [("a", "b", "c")])],
        [("p", [("a", "b", "\ud800")])],
        [("p", [("a", "b")])],
        [("p", [("a", "b", 5)]), (7, [("a", "b", iri("urn:x"))])],
        [("p", "abc"), ("p", [("a", "b", "c")])],
        [],
    ],
)
def test_unusual_tuples_are_taken_as_tables_take_them(items: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shown(run(items))
    monkeypatch.setattr(encoding, "_encode_few", lambda *_: None)
    assert shown(run(items)) == found


@given(ROWS)
def test_rows_are_publications_by_first_row_or_rejections(rows: list[Row]) -> None:
    batch = run(table_of(rows))
    bad = {row for row, cells in enumerate(rows) if is_bad(cells)}
    assert len(batch.rejected) == len(bad)
    good = [cells for row, cells in enumerate(rows) if row not in bad]
    assert list(batch.publications.ids) == list(dict.fromkeys(cells[0] for cells in good))
    sizes = np.diff(batch.publications.offsets).tolist()
    assert sizes == [sum(cells[0] == id for cells in good) for id in batch.publications.ids]


def is_bad(cells: Row) -> bool:
    id, subject, predicate, object = cells
    refused = ("", None, "?x", "zz:bad")
    return (
        not id
        or subject in (*refused, "5", '"text"')
        or predicate in (*refused, "5", '"text"', "_:b")
        or object in refused
    )


def test_texts_that_are_not_utf8_are_rejected_as_they_are_everywhere() -> None:
    texts = pa.array([b"p1", b"a\xff", b"p1"], pa.binary()).view(pa.string())
    good = pa.array(["x"] * 3)
    for table in (pa.table([texts, good, good, good], names=NAMES), pa.table([good, good, good, texts], names=NAMES)):
        for layout in (table, encoded(table)):
            batch = run(layout)
            assert [entry.code for entry in batch.rejected] == ["HG-204"]
            assert len(batch.publications.triples.subject) == 2


def test_numbers_as_cells_go_the_long_way() -> None:
    table = pa.table([pa.array([1, 1]), pa.array(["a", "b"]), pa.array(["p", "p"]), pa.array([5, 6])], names=NAMES)
    assert run(table).publications.ids == ("1",)


def test_a_column_that_stands_twice_or_not_at_all_is_a_wrong_call() -> None:
    table = table_of([("p", "a", "b", "c")])
    for wrong in (table.append_column("object", table["object"]), table.drop_columns(["object"])):
        with pytest.raises(Exception, match=r"HG-20[23]"):
            run(wrong)


def test_interned_publications_are_taken_as_they_are_until_the_vocabulary_grows() -> None:
    vocabulary = Vocabulary()
    vocabulary.intern(iri("urn:heliograph:a"))
    batch = run(table_of([("p", "a", "b", "c")]), vocabulary)
    assert run(batch.publications, vocabulary).publications is batch.publications
    known = vocabulary.intern(iri("urn:heliograph:c"))
    again = run(batch.publications, vocabulary)
    assert list(again.publications.graphs()) == list(batch.publications.graphs())
    assert again.publications.triples.object.tolist() == [known]
    assert len(vocabulary) == 2


def test_a_slice_does_not_pay_for_the_whole_dictionary() -> None:
    indices = pa.array([700_000, 3, 700_000], pa.int32())
    names = pa.array([f"n{number}" for number in range(700_001)])
    column = pa.DictionaryArray.from_arrays(indices, names)
    vocabulary = Vocabulary()
    batch = run(pa.table([pa.array(["p"] * 3), column, column, column], names=NAMES), vocabulary)
    assert len(batch.publications.vocabulary) == 2
    assert len(next(batch.publications.graphs())[1]) == 2
