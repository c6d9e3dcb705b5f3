"""Feeds are hostile: whatever is done to one item, the others come through, and nothing is expanded or fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.io.documents import read_documents
from heliograph.io.sources import Source
from heliograph.model import Rejected
from heliograph.vocabulary import Vocabulary

ITEMS = 6
HEADS = {
    ".rss": '<?xml version="1.0"?><rss version="2.0"><channel><title>C</title><link>http://e.org/</link>\n',
    ".atom": '<feed xmlns="http://www.w3.org/2005/Atom"><title>C</title><id>urn:feed</id>\n',
    ".xml": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    '<channel rdf:about="http://e.org/"><title>C</title><link>http://e.org/</link></channel>\n',
}
TAILS = {".rss": "</channel></rss>", ".atom": "</feed>", ".xml": "</rdf:RDF>"}
BODIES = {
    ".rss": "<item><guid>urn:{0}</guid><title>A &amp; B {0}</title><description><![CDATA[<p>{0}</p>]]></description>"
    "<pubDate>Sun, 15 Nov 2026 10:00:00 GMT</pubDate></item>\n",
    ".atom": "<entry><id>urn:{0}</id><title>T {0}</title><link href='http://e.org/{0}'/>"
    "<updated>2026-11-15T10:00:00Z</updated></entry>\n",
    ".xml": '<item rdf:about="urn:{0}"><title>T {0}</title><link>http://e.org/{0}</link></item>\n',
}
# What is dropped into an item. A section or comment that is opened here may lawfully close in a later item, so those
# are tested apart, where nothing later closes them.
JUNK = [b"<", b"</item>", b"</entry>", b"-->", b"&lol;", b"&", b"\xff", b"\0", b"<b>", b"</b>", b"<title>", b"</title>"]
JUNK += [b"'", b'"', b"<x:y/>", b"<item", b"&#0;", b"&#xD800;", b"]]>"]


def read(folder: Path, data: bytes, suffix: str = ".rss") -> tuple[list[str], list[Rejected]]:
    path = folder / f"feed{suffix}"
    path.write_bytes(data)
    read = list(read_documents([Source(path, path.name)], Vocabulary()))
    ids = [id for documents in read for id in documents.publications.ids]
    return ids, [refused for documents in read for refused in documents.rejected]


def feed(*items: str, doctype: str = "") -> bytes:
    return (doctype + HEADS[".rss"].partition("?>")[2] + "".join(items) + TAILS[".rss"]).encode()


def item(number: int, title: str) -> str:
    return f"<item><guid>urn:{number}</guid><title>{title}</title></item>"


@settings(max_examples=150)
@given(st.sampled_from(sorted(HEADS)), st.integers(0, ITEMS - 1), st.floats(0, 1), st.sampled_from(JUNK), st.booleans())
def test_what_is_done_to_one_item_loses_no_other(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, broken: int, where: float, junk: bytes, cut: bool
) -> None:
    items = [BODIES[suffix].format(number).encode() for number in range(ITEMS)]
    at = 6 + int(where * (len(items[broken]) - 20))
    items[broken] = items[broken][:at] + (b"" if cut else junk) + items[broken][at + 3 * cut :]
    ids, _ = read(
        tmp_path_factory.getbasetemp(), HEADS[suffix].encode() + b"".join(items) + TAILS[suffix].encode(), suffix
    )
    assert {f"urn:{number}" for number in range(ITEMS) if number != broken} <= set(ids)


@settings(max_examples=100)
@given(
    st.sampled_from([".rss", ".atom", ".xml", ".rdf", ".ttl", ".nt", ".nq", ".trig", ".jsonld"]),
    st.binary(max_size=200),
)
def test_garbage_is_refused_or_read(tmp_path_factory: pytest.TempPathFactory, suffix: str, data: bytes) -> None:
    ids, rejected = read(tmp_path_factory.getbasetemp(), data, suffix)
    assert ids or rejected


LAUGHS = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
DOCTYPE = f'<!DOCTYPE rss [<!ENTITY l0 "ha">{LAUGHS}<!ENTITY outside SYSTEM "file:///etc/hostname">]>'
HOSTILE = {
    "expanding entity": "&l9;",
    "external entity": "&outside;",
    "long title": "x" * 20_000_000,
    "deep nesting": "<b>" * 60_000 + "</b>" * 60_000,
    "unclosed section": "<![CDATA[ x",
    "unclosed comment": "<!-- x",
    "unclosed tag": "<b",
}


@pytest.mark.parametrize("title", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_item_is_refused_with_its_place(tmp_path: Path, title: str) -> None:
    ids, rejected = read(tmp_path, feed(item(1, "a"), item(2, title), item(3, "b"), doctype=DOCTYPE))
    assert ids == ["urn:1", "urn:3"]
    assert [refused.source for refused in rejected] == ["feed.rss"]
    assert "line 2, column " in rejected[0].message


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (feed(item(1, "caf\u00e9")).decode().encode("utf-16"), ["urn:1"]),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?>' + feed(item(1, "e")).replace(b">e<", b">\xe9<"), ["urn:1"]),
        (feed(item(1, "e"), item(2, "f")).replace(b">e<", b">\xe9<"), ["urn:2"]),
        (b"\xef\xbb\xbf" + feed(item(1, "a")), ["urn:1"]),
        (feed(item(1, "a"), item(2, "b"))[:-40], ["urn:1"]),
        (feed(item(1, "a"), item(1, "b"), item(2, "c")), ["urn:1", "urn:2"]),
    ],
    ids=["utf-16", "latin-1", "latin-1 called utf-8", "mark", "cut off", "same id twice"],
)
def test_encodings_and_ends(tmp_path: Path, data: bytes, ids: list[str]) -> None:
    assert read(tmp_path, data)[0] == ids


def test_an_item_without_any_id_has_its_number(tmp_path: Path) -> None:
    items = ["<item><title>t</title></item>", "<item><title>u</title><link>http://e.org/u</link></item>"]
    assert read(tmp_path, feed(*items))[0] == ["feed.rss#1", "http://e.org/u"]
