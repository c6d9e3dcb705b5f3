"""Laws of reading feeds: damage stays in its item, garbage is refused and never crashes, nothing is fetched."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Any

import pytest
from benchmarks import document_speed as workloads
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.io import feeds
from heliograph.io.feeds import ItemFinder, Span, mend, unmended
from tests.io.document_reading import read, read_files
from tests.io.test_rdf import DOCUMENTS

DATA = Path(__file__).parent / "data"
SAMPLES = {name: (DATA / name).read_bytes() for name in ("news.rss", "blog.atom", "site.rdf")} | {
    "document" + suffix: text.encode() for suffix, text in DOCUMENTS.items()
}

TOKENS = [
    b"<", b">", b'"', b"'", b"&", b";", b"\\", b"\n", b"\0", b"\xff", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<item>",
    b"</item>", b"<entry>", b"</entry>", b"<?", b"?>", b"&nbsp;", b"&x;", b"[", b"]", b"{", b"}", b"<<(", b")>>", b"@",
    b"^^", b"_:", b" ", b".", b"#", b"\xef\xbb\xbf", b'xmlns="', b'xmlns:x=""', b"<!DOCTYPE x [", b"]>", b"\xed\xa0\x80",
    b"\\ud800", b"</channel>", b"</rss>", b"</feed>", b"</rdf:RDF>", b'"@context":"http://x"', b"1e999", b"<title>",
]  # fmt: skip

edits = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "replace", "double"]), st.integers(0, 10**6), st.sampled_from(TOKENS)
    ),
    min_size=1,
    max_size=6,
)


def edited(data: bytes, changes: list[tuple[str, int, bytes]], start: int = 0, end: int | None = None) -> bytes:
    """Data with changes between two positions."""
    piece = data[start:end]
    for kind, number, token in changes:
        at = number % (len(piece) + 1)
        cut = at + 1 + number % 7
        middle = {"insert": token + piece[at:cut], "delete": b"", "replace": token, "double": piece[at:cut] * 2}[kind]
        piece = piece[:at] + middle + piece[cut:]
    return data[:start] + piece + (b"" if end is None else data[end:])


# --- damage stays in its item ---

# The other items either hold no section, comment or instruction, or each of them: else what damage opens might be
# closed elsewhere, and the feed would be well-formed again, with another meaning.
BODIES = ["<title>Title {0}</title>", "<!-- c --><title><![CDATA[Title {0}]]></title><?pi?>"]

KINDS = {
    "rss": ("<rss><channel><title>C</title>\n", "<item>{1}<guid>g{0}</guid></item>\n", "</channel></rss>"),
    "atom": (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>C</title>\n',
        "<entry>{1}<id>g{0}</id></entry>\n",
        "</feed>",
    ),
    "rss1": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        "<channel><title>C</title></channel>\n",
        "<item rdf:about='g:{0}'>{1}</item>\n",
        "</rdf:RDF>",
    ),
}


@settings(max_examples=150)
@given(st.sampled_from(sorted(KINDS)), st.sampled_from(BODIES), st.integers(0, 3), edits)
def test_damage_in_one_item_never_loses_another(kind: str, body: str, damaged: int, changes: Any) -> None:
    head, item, tail = KINDS[kind]
    items = [item.format(number, body.format(number)).encode() for number in range(4)]
    whole = read(head.encode() + b"".join(items) + tail.encode())
    others = [id for number, id in enumerate(whole.ids) if number != damaged]
    inside = (len("<item>"), len(items[damaged]) - len("</item>\n"))
    items[damaged] = edited(items[damaged], changes, *inside)
    outcome = read(head.encode() + b"".join(items) + tail.encode())
    assert [id for id in outcome.ids if id in others] == others
    for id in others:
        assert outcome.publications[id] >= {triple for triple in whole.publications[id] if triple[0].value in id}


@settings(max_examples=60)
@given(st.integers(0, 60), st.integers(1, 7), st.integers(1, 400))
def test_how_items_are_grouped_does_not_matter(count: int, run_items: int, run_bytes: int) -> None:
    body = "".join(
        f"<item><guid>{n}</guid>{'<b>' if n % 11 == 7 else ''}</item>{'<x/>' if n % 5 == 3 else ''}"
        for n in range(count)
    )
    data = f"<rss><channel>{body}</channel></rss>"
    usual = read(data)
    before = feeds.RUN_ITEMS, feeds.RUN_BYTES
    feeds.RUN_ITEMS, feeds.RUN_BYTES = run_items, run_bytes
    try:
        assert read(data) == usual
    finally:
        feeds.RUN_ITEMS, feeds.RUN_BYTES = before
    assert len(usual.publications) == sum(n % 11 != 7 for n in range(count))


# --- garbage ---


@settings(max_examples=250)
@given(st.sampled_from(sorted(SAMPLES)), edits)
def test_documents_with_damage_are_read_or_refused(name: str, changes: Any) -> None:
    outcome = read_files({name: edited(SAMPLES[name], changes), "good.nt": "<a:s> <a:p> <a:o> .\n"})
    assert "good.nt" in outcome.ids
    assert all(refused.code.startswith("HG-3") and refused.source == name for refused in outcome.rejected)
    assert all(refused.message for refused in outcome.rejected)


@settings(max_examples=150)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 10**6), st.sampled_from(["utf-8", "utf-16", "utf-32-be"]))
def test_documents_that_end_too_soon(name: str, number: int, encoding: str) -> None:
    data = SAMPLES[name].decode().encode(encoding)
    outcome = read(data[: number % (len(data) + 1)], name)
    assert outcome.publications or outcome.rejected


@settings(max_examples=150)
@given(
    st.sampled_from([".nt", ".nq", ".ttl", ".trig", ".jsonld", ".rdf", ".xml", ".rss", ".atom"]),
    st.binary(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=20).map(b"".join),
)
def test_garbage_is_refused(suffix: str, data: bytes) -> None:
    outcome = read_files({"x" + suffix: data, "good.nt": "<a:s> <a:p> <a:o> .\n"})
    assert "good.nt" in outcome.ids
    assert outcome.rejected or len(outcome.ids) > 1


def test_nothing_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    document = (
        '<!DOCTYPE rdf:RDF SYSTEM "http://example.org/x.dtd" [<!ENTITY % p SYSTEM "http://example.org/"> %p;'
        '<!ENTITY e SYSTEM "http://example.org/e">]>'
    )
    files = {
        "x.xml": document + "<rss><channel><item><title>&e;</title></item></channel></rss>",
        "x.rdf": document + '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
        "x.jsonld": '{"@context": "http://example.org/context", "@id": "a:b"}',
        "x.ttl": "@base <http://example.org/> . <a> <b> <c> .",
    }
    outcome = read_files(files)
    assert sorted(outcome.codes) == ["HG-305", "HG-306", "HG-314"]


# --- parts ---


@given(
    st.lists(
        st.sampled_from(
            [b"a", b"&", b"&amp;", b"&nbsp;", b"&x;", b"&#65;", b"<![CDATA[&]]>", b"<!--&-->", "é".encode()]
        )
    )
)
def test_mending_keeps_its_places(pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    mended = mend(text)
    assert mend(mended) == mended
    assert unmended(text, len(mended)) == len(text)
    places = [unmended(text, number) for number in range(len(mended))]
    assert places == sorted(places)
    for number, place in enumerate(places):  # the byte itself, or the ampersand whose replacement it is in
        assert text[place] == mended[number] or text[place] == ord("&")


SPANS = [
    (b"<item>a</item><item>b</item>", [(0, 14), (14, 28)]),
    (b"<item/> <item x='>'/><item >", [(0, 7), (8, 21), (21, 28)]),
    (b"<item><item>b</item>", [(0, 6), (6, 20)]),
    (b"<item>a</channel><item>b</item >", [(0, 7), (17, 32)]),
    (b"<!-- <item> --><item><![CDATA[</item>]]></item>", [(15, 47)]),
    (b"<item><![CDATA[</item><item><![CDATA[]]></item>", [(0, 22), (22, 47)]),
    (b"<item><!-- </item><item>", [(0, 18), (18, 24)]),
    (b"<items/><itemx><item", []),
]


@pytest.mark.parametrize(("data", "expected"), SPANS)
def test_careful_runs(data: bytes, expected: list[tuple[int, int]]) -> None:
    items = ItemFinder(data, [b"item"], [b"channel"])
    start = items.next_start(0)
    assert list(items.careful_run(start, len(data))) == [Span(*pair) for pair in expected]


# --- workloads ---


def test_the_workloads_are_what_they_say() -> None:
    feed = read(workloads.rss(random.Random(1), 50), "x.rss")
    assert len(feed.publications) == 50
    assert {len(graph) for graph in feed.publications.values()} <= {1 + 8 + 6, 1 + 7 + 6}
    document = read(workloads.ntriples(random.Random(1), 600), "x.nt")
    assert 590 < len(document.only) <= 600
    assert feed.rejected == document.rejected == []
