"""What is printed can be read again: blank nodes with odd labels, texts without their language, canonical numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph import Filter, Notifications
from heliograph.errors import TermError
from heliograph.terms import NAME_MARKS, NAME_START, Position, Term, blank, parse_cell, spell
from tests.term_strategies import objects

_MIDDLE, _LAST = f"[{NAME_START}{NAME_MARKS}_0-9:.-]", f"[{NAME_START}_0-9‿-]"
_LABELS = st.from_regex(f"[{NAME_START}_0-9:]({_MIDDLE}{{0,6}}{_LAST})?", fullmatch=True)
_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="urn:heliograph:">'
    '<rdf:Description rdf:nodeID="{}">{}</rdf:Description></rdf:RDF>'
)


def _published(path: Path, text: str) -> Notifications:
    path.write_text(text, encoding="utf-8")
    engine = Filter()
    engine.subscribe("q", "SELECT * { ?s :p ?o }")
    return engine.publish(path, bindings=9)


@given(_LABELS)
def test_every_label_of_n_triples_reads_back(label: str) -> None:
    assert parse_cell(spell(blank(label)), Position.SUBJECT) == blank(label)


@given(objects)
def test_every_term_reads_back(term: Term) -> None:
    assert parse_cell(spell(term)) == term


@pytest.mark.parametrize("label", ["a‿b", "a·", "˂", "1", "_", "a..b", "é̍", "a-", "\u200dx", "𐀀"])
def test_what_a_document_calls_its_nodes_reads_back(label: str, tmp_path: Path) -> None:
    (found,) = _published(tmp_path / "a.nt", f"_:{label} <urn:heliograph:p> _:{label} .\n")
    assert found.proof["bindings"] == [{"o": f"_:{label}", "s": f"_:{label}"}]
    again = Filter()
    again.subscribe("q", "ASK { ?x :p ?x }")
    assert len(again.publish("d", [(f"_:{label}", "p", f"_:{label}")])) == 1


def test_a_label_that_no_cell_can_spell_is_renamed(tmp_path: Path) -> None:
    for number in range(3):  # several small files are read together
        (tmp_path / f"{number}.rdf").write_text(_XML.format("a.", f"<p>{number}</p>"))
    engine = Filter()
    engine.subscribe("q", "SELECT * { ?s :p ?o }")
    shown = [found.proof["bindings"][0]["s"] for found in engine.publish(tmp_path, bindings=9)]
    assert len({parse_cell(cell) for cell in shown}) == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nt", f'<urn:s> <urn:heliograph:p> "x"^^<{_LANG_STRING}> .\n<urn:s> <urn:heliograph:p> "y"@en .\n'),
        ("a.nt", f'<urn:s> <urn:heliograph:p> "\\n"^^<{_LANG_STRING}> .\n<urn:s> <urn:heliograph:p> "y"@en .\n'),
        ("a.rdf", _XML.format("s", f'<p rdf:datatype="{_LANG_STRING}">x</p><p xml:lang="en">y</p>')),
    ],
)
def test_a_text_without_its_language_is_refused(name: str, text: str, tmp_path: Path) -> None:
    answer = _published(tmp_path / name, text)
    assert [(row.code, "without a language" in row.message, '"text"@en' in row.message) for row in answer.rejected] == [
        ("HG-308", True, True)
    ]
    assert [b["o"] for found in answer for b in found.proof["bindings"]] == ['"y"@en']


@pytest.mark.parametrize("cell", ['"x"^^rdf:langString', f'"x"^^<{_LANG_STRING}>'])
def test_a_cell_without_its_language_is_refused(cell: str) -> None:
    with pytest.raises(TermError, match=r"without a language.*write .text.@en"):
        parse_cell(cell)


def test_numbers_are_canonical_also_as_text() -> None:
    engine = Filter()
    engine.subscribe("one", "ASK { ?x :p 1 }")
    engine.subscribe("text", 'ASK { ?x :p ?v FILTER(STR(?v) = "1") }')
    engine.subscribe("zeros", 'ASK { ?x :p ?v FILTER(STR(?v) = "001") }')
    assert [found.subscription_id for found in engine.publish("d", [("x", "p", "001")])] == ["one", "text"]
