"""Columns that go through an interner table: ids, refusals and terms as cell by cell, whatever is interned between."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import StorageError
from heliograph.terms import Position, Term, iri, literal, parse_cell, plain_name, spell
from heliograph.vocabulary import Vocabulary, vocabulary
from heliograph.vocabulary import columns as bulk
from heliograph.vocabulary.columns import TEXTS, typed_of
from tests import term_strategies as hostile
from tests.vocabulary.columns import interned_singly, same, shown, through_tables

OBJECT, PROPERTY, SUBJECT = Position.OBJECT, Position.PROPERTY, Position.SUBJECT
TERMS = st.lists(hostile.objects, max_size=6)
SIMPLE = st.sampled_from(
    ["v1", "v2", "name", "_x", "5G", "true", "trues", "False", "a", "e", "-e5", "1e5", "~", "a.b-c"]
)
IRIS = st.sampled_from(
    [
        *("<http://example.org/a>", "<http://example.org/b>", "<urn:heliograph:v1>", "<urn:heliograph:5>", "<urn:x>"),
        *("<urn:heliographs:v1>", "<a:>", "<:a>", "<1a:b>", "<a b:c>", "<a:b c>", "<a:b>c", "<a:é>", "<a:b", "<>", "<"),
        *("<x\\u003Ay>", "<a:\x7f>", "<a:\x00>", "<a:<b>", "<urn:heliograph:>", "<http://e.org/" + "x" * 40 + ">"),
    ]
)
SPELLED = hostile.objects.map(spell)
CELLS = st.lists(
    st.none() | SIMPLE | IRIS | hostile.texts | SPELLED | st.sampled_from([":v1", "rdf:type"]), max_size=20
)


@pytest.fixture(autouse=True)
def always_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything goes through the interner table, in blocks of a few rows."""
    through_tables(monkeypatch)


def assert_same_terms(ours: Vocabulary, terms: list[Term]) -> None:
    """Whatever can be asked about a vocabulary is answered as these terms, in order of their ids, say."""
    size = len(terms)
    assert len(ours) == size
    assert [ours.term(id) for id in range(size)] == terms
    assert ours.find_many(terms) == list(range(size))
    assert [ours.find(term) for term in terms[:3]] == list(range(min(size, 3)))
    assert same(ours.typed(), typed_of(terms))
    assert ours.textual(0, size).tolist() == [term.datatype in TEXTS for term in terms]
    for position in (OBJECT, PROPERTY):
        assert ours.spell([-1, *range(size)], position).to_pylist() == [
            None,
            *(spell(term, position) for term in terms),
        ]


def _terms(naive: Vocabulary) -> list[Term]:
    return [naive.term(id) for id in range(len(naive))]


# --- when -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loaded", "compiled", "rows", "held", "expected"),
    [
        ("nothing", False, 199_999, 0, False),
        ("nothing", False, 100_000, 100_000, True),
        ("nothing", True, 199_999, 0, False),
        ("numba", False, 199_999, 0, False),
        ("numba", True, 2_000, 0, True),
        ("kernels", False, 2_000, 0, True),
        ("kernels", True, 1_999, 10**9, False),
    ],
)
def test_kernels_are_loaded_for_many_cells_and_used_for_some(
    monkeypatch: pytest.MonkeyPatch, loaded: str, compiled: bool, rows: int, held: int, expected: bool
) -> None:
    monkeypatch.undo()
    modules = {"nothing": {}, "numba": {"numba": 1}, "kernels": {"numba": 1, bulk._MODULE: 1}}[loaded]
    monkeypatch.setattr(bulk, "sys", SimpleNamespace(modules=modules))
    monkeypatch.setattr(bulk, "_was_compiled", lambda: compiled)
    assert bulk.is_worth(rows, held) is expected


def test_columns_are_judged_by_a_sample() -> None:
    names = pa.array([f"v{number}" for number in range(5000)])
    assert bulk.is_varied(names)
    assert bulk.is_varied(pa.chunked_array([names, names]).cast(pa.string_view()))
    assert not bulk.is_varied(names.dictionary_encode())
    assert not bulk.is_varied(pa.array(range(5000)))


def test_a_column_of_few_texts_is_not_varied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert not bulk.is_varied(pa.array([f"p{number % 100}" for number in range(5000)]))
    assert bulk.is_varied(pa.array([f"p{number % 300}" for number in range(5000)]))


# --- columns ----------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(CELLS, st.sampled_from(Position))
def test_a_column_is_interned_as_cell_by_cell(texts: list[str | None], position: Position) -> None:
    ours, naive = Vocabulary(), Vocabulary()
    expected = interned_singly(naive, texts, position)
    for _ in range(2):  # anew, and known
        assert shown(ours.intern_cells(pa.array(texts, pa.string()), position)) == expected
    assert_same_terms(ours, _terms(naive))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("column"), CELLS, st.sampled_from(Position)),
        st.tuples(st.just("terms"), TERMS, st.none()),
        st.tuples(st.just("look"), st.none(), st.none()),
    ),
    max_size=5,
)


@settings(max_examples=80, deadline=None)
@given(STEPS, STEPS, st.sampled_from(["over", "over twice", "saved", "saved and over"]))
def test_columns_and_terms_in_any_order_over_anything(first: Any, second: Any, how: str) -> None:
    ours, naive = Vocabulary(), Vocabulary()
    check_steps(ours, naive, first)
    if how.startswith("saved"):
        ours = Vocabulary.unpack(ours.pack())
    if "over" in how:
        late = ours.intern(plain_name("later in the base")) if how == "over" else -1
        ours, naive = ours.overlay(), naive.overlay() if late < 0 else _also(naive).overlay()
    if how == "over twice":
        ours, naive = ours.overlay(), naive.overlay()
    check_steps(ours, naive, second)
    assert_same_terms(Vocabulary.unpack(ours.pack()), _terms(naive))


def _also(naive: Vocabulary) -> Vocabulary:
    naive.intern(plain_name("later in the base"))
    return naive


def check_steps(ours: Vocabulary, naive: Vocabulary, steps: Any) -> None:
    for what, batch, position in steps:
        if what == "column":
            assert shown(ours.intern_cells(pa.array(batch, pa.string()), position)) == interned_singly(
                naive, batch, position
            )
        elif what == "terms":
            assert ours.intern_many(batch) == naive.intern_many(batch)
        else:
            assert_same_terms(ours, _terms(naive))
    assert_same_terms(ours, _terms(naive))


def test_many_names_over_blocks_chunks_and_growth() -> None:
    ours = Vocabulary()
    numbers = np.random.default_rng(5).integers(0, 3000, 9000)
    texts = [f"v{number}" if number % 3 else f"<http://example.org/{number}>" for number in numbers.tolist()]
    order = list(dict.fromkeys(texts))
    ids = ours.intern_cells(pa.chunked_array([texts[:4000], texts[4000:]]), OBJECT).ids
    assert ids.tolist() == [order.index(text) for text in texts]
    assert ours.spell(ids).to_pylist() == texts
    assert_same_terms(ours, [parse_cell(text) for text in order])


# --- readers and writers ----------------------------------------------------------------------------------------


def test_readers_see_whole_terms_while_columns_are_interned() -> None:
    ours = Vocabulary()
    texts = [f"v{number}" for number in range(1500)]
    failures: list[str] = []
    done = threading.Event()

    def write(start: int) -> None:
        turned = texts[start:] + texts[:start]
        for at in range(0, len(turned), 50):
            ours.intern_cells(pa.array(turned[at : at + 50]), OBJECT)
            ours.intern_many([parse_cell(text) for text in turned[at + 50 : at + 60]])

    def read() -> None:
        while not done.is_set():
            overlay = ours.overlay()
            size = len(overlay)
            terms = [overlay.term(id) for id in range(size)]
            if len(overlay.typed().kind) != size or overlay.find_many(terms) != list(range(size)):
                failures.append(f"a snapshot of {size} terms changed")
            if overlay.intern_cells(pa.array(["own", *texts[:1]]), OBJECT).ids[0] != size:
                failures.append("an overlay's first id is not its start")

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(start,)) for start in (0, 700)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert failures == []
    assert len(ours) == 1500
    assert sorted(ours.find_many([plain_name(text) for text in texts])) == list(range(1500))


def test_rows_of_an_interrupted_call_are_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Vocabulary()
    ours.intern_cells(pa.array(["x"]), OBJECT)

    def interrupt(self: bulk.InternerTable, rows: Any) -> None:
        raise KeyboardInterrupt

    for number in range(40):
        with monkeypatch.context() as patched:
            patched.setattr(bulk.InternerTable, "publish", interrupt)
            with pytest.raises(KeyboardInterrupt):
                ours.intern_cells(pa.array([f"lost{number}", "also"]), OBJECT)
    assert len(ours) == 1
    assert ours.find(plain_name("also")) == -1
    assert ours.intern_many([plain_name("y")]) == [1]
    assert ours.intern_cells(pa.array(["also", "lost3", "y"]), OBJECT).ids.tolist() == [2, 3, 1]
    assert_same_terms(ours, [plain_name(text) for text in ("x", "y", "also", "lost3")])


def test_a_writer_that_came_first_between_looking_and_entering_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Vocabulary()
    ours.intern_cells(pa.array(["x"]), OBJECT)
    check, others = vocabulary._check_texts, ["y", "z"]

    def overtaken(terms: Any) -> None:
        check(terms)
        if others:
            ours.intern_cells(pa.array([others.pop(), "w"]), OBJECT)

    monkeypatch.setattr(vocabulary, "_check_texts", overtaken)
    assert ours.intern_many([plain_name("w"), plain_name("z"), literal("v")]) == [2, 1, 3]


# --- saves ------------------------------------------------------------------------------------------------------


def test_a_save_with_terms_that_are_not_utf8_is_refused_when_its_terms_are_spelled() -> None:
    ours = Vocabulary()
    ours.intern(iri("http://example.org/"))
    packed = ours.pack()
    packed.arrays["data"] = np.full_like(packed.arrays["data"], 0xFF)
    with pytest.raises(StorageError) as caught:
        Vocabulary.unpack(packed).intern_cells(pa.array(["x"]), OBJECT)
    assert caught.value.code == "HG-805"


def test_a_loaded_save_goes_on(tmp_path: Path) -> None:
    ours = Vocabulary()
    texts = ["v1", "<http://example.org/x>", '"text"', "5", "RSS Filter", "<urn:heliograph:true>", "_:b", "é", '"é"@fr']
    ours.intern_cells(pa.array(texts), OBJECT)
    ours.save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert loaded.intern_cells(pa.array(["new", *texts]), OBJECT).ids.tolist() == [9, *range(9)]
    assert_same_terms(loaded, [parse_cell(text) for text in [*texts, "new"]])
