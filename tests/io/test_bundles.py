"""Many small documents read together give what they give one by one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.io import documents as bundles
from heliograph.io.documents import Documents, join_documents, read_source, read_sources
from heliograph.io.rdf import DocumentTriples, Interner
from heliograph.io.sources import Source
from heliograph.vocabulary import Vocabulary

A, P = "<http://example.org/a>", "<http://example.org/p>"
LINES = st.sampled_from(
    [
        f"{A} {P} {A} .\n",
        f"{A} {P} <http://example.org/caf\u00e9> .\n",
        f'{A}   {P} "spaced" . # and remarked\n',
        f'{A} {P} "line\\nend" .\n',
        f'{A} {P} "caf\u00e9"@fr .\n',
        f"_:b0 {P} _:b1 .\n",
        f"_:anon1 {P} _:b0 .\n",
        f"_:a0123456789abcdef0123456789abcde {P} {A} .\n",
        f'{A} {P} "_:anon1" .\n',
        f"{A} {P} <<( {A} {P} {A} )>> .\n",
        f"{A} {P} broken\n",
        "# nothing\n",
        "\n",
    ]
)
DOCUMENTS = st.tuples(st.sampled_from(["a.nt", "b.nt", "c.nt", "d.nq", "e.ttl", "f.txt"]), st.lists(LINES, max_size=4))
Given = list[tuple[str, list[str]]]


def sources_of(documents: Given, folder: str) -> Iterator[Source]:
    for number, (name, lines) in enumerate(documents):
        path = Path(folder, f"{number}{Path(name).suffix}")
        path.write_text("".join(lines).removesuffix("\n" if number % 2 else ""), "utf-8")
        yield Source(path, name)


def outcome(contents: list[DocumentTriples], interner: Interner) -> object:
    batches: list[Documents] = list(join_documents(contents, interner, 1000))
    return [(list(batch.publications.graphs()), list(batch.rejected)) for batch in batches]


def together(sources: list[Source]) -> tuple[list[DocumentTriples], object]:
    interner = Interner(Vocabulary())
    contents = list(read_sources(sources, interner))
    return contents, outcome(contents, interner)


def one_by_one(sources: list[Source]) -> object:
    interner = Interner(Vocabulary())
    return outcome([read_source(source, interner) for source in sources], interner)


@settings(max_examples=150)
@given(st.lists(DOCUMENTS, max_size=6), st.sampled_from([0, 100, 1 << 20]), st.sampled_from([1, 1 << 19]))
def test_together_is_as_good_as_one_by_one(documents: Given, limit: int, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "TOGETHER", limit)
        patch.setattr(bundles, "BLOCK", block)
        sources = list(sources_of(documents, folder))
        assert together(sources)[1] == one_by_one(sources)


def test_small_documents_are_one_reading_and_large_ones_are_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{A} {P} _:b0 .\n"
    monkeypatch.setattr(bundles, "SMALL", 3 * len(line))
    documents = [(f"{number}.nt", [line] * (1 if number != 5 else 4)) for number in range(10)]
    contents, _ = together(list(sources_of(documents, str(tmp_path))))
    assert [len(reading.ids) for reading in contents] == [5, 1, 4]


def test_what_cannot_be_opened_ends_no_other(tmp_path: Path) -> None:
    (good,) = sources_of([("a.nt", [f"{A} {P} {A} .\n"])], str(tmp_path))
    contents, _ = together([good, Source(tmp_path / "gone.nt", "gone.nt"), good._replace(name="b.nt")])
    assert [reading.ids for reading in contents] == [["a.nt"], [], ["b.nt"]]
    assert [entry.code for entry in contents[1].rejected] == ["HG-301"]
