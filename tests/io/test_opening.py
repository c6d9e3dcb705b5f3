"""Encodings: what a file says it is in, what it is in, and what cannot be told."""

from __future__ import annotations

import pytest

from heliograph.io import xml as opening
from heliograph.terms import TermKind
from tests.io.document_reading import read, triples

FEED = """<?xml version="1.0" encoding="%s"?>
<rss version="2.0"><channel><title>Café</title>
<item><guid>1</guid><title>%s</title></item>
<item><guid>2</guid><title>plain</title></item></channel></rss>"""

RDF_XML = """<?xml version="1.0" encoding="%s"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">
<x:T rdf:about="a:s"><x:p>Café</x:p></x:T></rdf:RDF>"""


def title(data: bytes) -> str:
    """The title of the first item; the channel, which has no link, is a blank node."""
    graph = next(iter(read(data).publications.values()))
    return next(o.value for s, p, o in graph if s.kind is TermKind.IRI and p.value.endswith("title"))


ENCODINGS = [
    ("UTF-8", "utf-8"),
    ("utf8", "utf-8"),
    ("UTF-8", "utf-8-sig"),
    ("ISO-8859-1", "utf-8-sig"),  # the mark tells, not the declaration
    ("UTF-16", "utf-16"),
    ("UTF-16", "utf-16-le"),
    ("UTF-16", "utf-16-be"),
    ("UTF-8", "utf-16"),
    ("UTF-32", "utf-32"),
    ("UTF-32", "utf-32-le"),
    ("utf-16", "utf-8"),  # that it can be read at all shows that it is not UTF-16
    ("ISO-8859-1", "latin-1"),
    ("windows-1252", "cp1252"),
    ("x-unknown", "utf-8"),
    ("unicode_escape", "utf-8"),
    ("rot13", "utf-8"),
]


@pytest.mark.parametrize(("declared", "actual"), ENCODINGS)
def test_feeds_in_many_encodings(declared: str, actual: str) -> None:
    assert title((FEED % (declared, "Grüße")).encode(actual)) == "Grüße"


@pytest.mark.parametrize(
    ("declared", "actual"), [("shift_jis", "shift_jis"), ("EUC-JP", "euc_jp"), ("gb2312", "gb2312")]
)
def test_feeds_from_far_away(declared: str, actual: str) -> None:
    assert title((FEED.replace("Café", "日") % (declared, "日本")).encode(actual)) == "日本"


@pytest.mark.parametrize("declared", ["UTF-8", "x-unknown"])
def test_bytes_that_are_not_utf8_are_refused_with_their_item(declared: str) -> None:
    data = (FEED.replace("é", "e") % (declared, "Grüße")).encode("latin-1")
    outcome = read(data)
    assert [id.rpartition("#")[2] for id in outcome.ids] == ["2"]
    (refused,) = outcome.rejected
    assert (refused.item, refused.code) == ("feed.xml#1", "HG-311")
    assert "line 3, column 30)" in refused.message
    assert "encoding" in refused.message


@pytest.mark.parametrize(("declared", "actual"), [("shift_jis", "shift_jis"), ("UTF-16", "utf-16-le")])
def test_undecodable_bytes_are_refused_with_their_item(declared: str, actual: str) -> None:
    text = FEED.replace("é", "e") % (declared, "BAD")
    outcome = read(
        text.encode(actual).replace("BAD".encode(actual), b"\x00\xd8" if actual != "shift_jis" else b"\xff\xff")
    )
    assert [id.rpartition("#")[2] for id in outcome.ids] == ["2"]
    assert outcome.codes == ["HG-311"]


@pytest.mark.parametrize(("declared", "actual"), ENCODINGS)
def test_rdf_xml_in_many_encodings(declared: str, actual: str) -> None:
    assert triples('<a:s> | <http://x/p> | "Café"') <= read((RDF_XML % declared).encode(actual), "x.rdf").only


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["x.nt", "x.nq", "x.ttl", "x.trig"])
def test_text_in_utf8_or_with_a_mark(encoding: str, name: str) -> None:
    assert read('<a:s> <a:p> "é" .\n'.encode(encoding), name).only == triples('<a:s> | <a:p> | "é"')


def test_text_that_is_not_what_its_mark_says() -> None:
    outcome = read(b"\xff\xfe<\x00\x00\xd8", "x.ttl")
    assert outcome.codes == ["HG-303"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_large_files_are_mapped_and_read_the_same(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "x.xml": FEED % ("utf-8", "Grüße"),
        "x.ttl": '<a:s> <a:p> "é", <<( <a:s> <a:p> 1 )>> .',
        "x.nq": '<a:s> <a:p> "é" <a:g> .\nbroken\n',
        "x.rdf": '<!DOCTYPE r [<!ENTITY e "x">]>' + RDF_XML.partition("\n")[2],
        "y.rdf": RDF_XML % "utf-8",
        "x.jsonld": '{"@id": "a:s", "a:p": "é"}',
    }
    if encoding != "utf-8":
        del files["x.jsonld"]
    small = [read(text.encode(encoding), name) for name, text in files.items()]
    monkeypatch.setattr(opening, "IN_MEMORY", 10)
    assert [read(text.encode(encoding), name) for name, text in files.items()] == small


def test_other_encodings_are_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_TRANSCODED", 10)
    for data, name in ((FEED % ("latin-1", "x"), "x.xml"), ("<a:s> <a:p> <a:o> .", "x.ttl")):
        outcome = read(data.encode("latin-1" if name == "x.xml" else "utf-16"), name)
        assert outcome.codes == ["HG-303"]
        assert "save it as UTF-8" in outcome.rejected[0].message
