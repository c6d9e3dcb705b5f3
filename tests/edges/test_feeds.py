"""Odd feeds: bases, Atom 0.3, encodings, elements with attributes only, dates; feedparser reads the same."""

from __future__ import annotations

import calendar
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from heliograph import Filter
from heliograph.io.feeds import as_datetime

ATOM = 'xmlns="http://www.w3.org/2005/Atom"'
ATOM_03 = 'version="0.3" xmlns="http://purl.org/atom/ns#"'
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'


def _rss(item: str, head: str = "", attributes: str = "", tail: str = "") -> str:
    return f'<rss version="2.0" {attributes}><channel>{head}<item>{item}</item>{tail}</channel></rss>'


def _values(feed: str | bytes, property: str) -> list[str]:
    """What the items of a feed say by a property, sorted."""
    engine = Filter()
    engine.subscribe("q", f"SELECT ?v {{ ?i a rss:item ; {property} ?v }}")
    found = engine.publish(feed, format="xml", id="feed.xml", bindings=100)
    assert not found.rejected, list(found.rejected)
    return sorted(str(row["v"]) for n in found for row in n.proof["bindings"])


def _ids(*feeds: str) -> list[str | None]:
    engine = Filter()
    engine.subscribe("q", "ASK { ?i a rss:item }")
    return [n.publication_id for feed in feeds for n in engine.publish(feed, format="xml", id="feed.xml")]


# --- addresses ---

BASES = {
    "outer": (_rss("<link>1</link>", attributes='xml:base="http://e.org/a/"'), "http://e.org/a/1"),
    "channel": ('<rss><channel xml:base="http://e.org/a/"><item><link>1</link></item></channel></rss>', "http://e.org/a/1"),
    "nested": (
        f'<feed {ATOM} xml:base="http://e.org/a/"><entry xml:base="b/"><link xml:base="c/" href="1"/></entry></feed>',
        "http://e.org/a/b/c/1",
    ),
    "on the link": (_rss('<link xml:base="http://e.org/x/">1</link>'), "http://e.org/x/1"),
    "relative to the feed's link": (
        f'<feed {ATOM} xml:base="b/"><link href="http://e.org/a/"/><entry><link href="1"/></entry></feed>',
        "http://e.org/a/b/1",
    ),
    "relative to the feed itself": (
        f'<feed {ATOM}><link rel="self" href="http://e.org/a/feed"/><link href="/"/><entry><link href="1"/></entry></feed>',
        "http://e.org/1",
    ),
    "absolute inside": (
        f'<feed {ATOM} xml:base="http://e.org/"><entry xml:base="http://f.org/x/"><link href="../1"/></entry></feed>',
        "http://f.org/1",
    ),
    "link after the items": (_rss("<link>1</link>", tail="<link>http://e.org/</link>"), "http://e.org/1"),
    "a base that is none": (_rss("<link>1</link>", attributes='xml:base="http://[x"'), "1"),
    "no base": (_rss("<link>1</link>"), "1"),
    "written in full": (
        f'<feed {ATOM}><entry><link rel="http://www.iana.org/assignments/relation/alternate" href="http://e.org/1"/></entry></feed>',
        "http://e.org/1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BASES)
def test_links_are_relative_to_the_bases_around_them(name: str) -> None:
    feed, link = BASES[name]
    assert _values(feed, "rss:link") == [f'"{link}"']


# --- Atom 0.3 ---


def _atom_03(entry: str) -> str:
    return f"<feed {ATOM_03}><title>F</title><entry><id>tag:e.org,2026:1</id>{entry}</entry></feed>"


BINARY = b64encode(b"\xff\xd8\0x").decode()

CONTENTS = {
    f'<content mode="base64" type="text/html">{b64encode("<b>Café</b>".encode()).decode()}</content>': "<b>Café</b>",
    f'<content mode="base64">\n {b64encode(b"a" * 50).decode()[:30]}\n {b64encode(b"a" * 50).decode()[30:]} </content>': "a" * 50,
    f'<content mode="base64" type="image/jpeg">{BINARY}</content>': BINARY,
    '<content mode="base64">not base64!</content>': "not base64!",
    '<content mode="escaped" type="text/html">&lt;b&gt;x&lt;/b&gt;</content>': "<b>x</b>",
    '<content type="text/html" mode="escaped"><![CDATA[<b>x</b>]]></content>': "<b>x</b>",
    '<content mode="xml" type="application/xhtml+xml"><div xmlns="http://www.w3.org/1999/xhtml"><b>x</b> y</div></content>': "<b>x</b> y",
    '<content type="application/xhtml+xml"><p xmlns="http://www.w3.org/1999/xhtml">x</p></content>': "<p>x</p>",
    "<content>plain</content>": "plain",
}  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS)
def test_contents_of_atom_03(content: str) -> None:
    found = _values(_atom_03(content), "content:encoded")
    assert found == ['"' + CONTENTS[content].replace('"', '\\"') + '"']


def test_titles_and_dates_of_atom_03() -> None:
    title = f'<title mode="base64">{b64encode(b"Title").decode()}</title>'
    feed = _atom_03(f"{title}<issued>2026-11-15T10:00Z</issued><copyright>me</copyright>")
    assert _values(feed, "rss:title") == ['"Title"']
    assert _values(feed, "dc:date") == ['"2026-11-15T10:00:00Z"^^xsd:dateTime']
    assert _values(feed, "dc:rights") == ['"me"']


# --- encodings ---


@pytest.mark.parametrize("declared", ["ISO-8859-1", "iso-8859-1", "latin1", "windows-1252"])
def test_latin_1_is_read_as_windows_1252(declared: str) -> None:
    text = "“It’s 5 €”… – é"
    head = f'<?xml version="1.0" encoding="{declared}"?>'
    assert _values((head + _rss(f"<title>{text}</title>")).encode("cp1252"), "rss:title") == [f'"{text}"']


def test_bytes_that_windows_1252_lacks_stay_what_latin_1_says() -> None:
    feed = b'<?xml version="1.0" encoding="ISO-8859-1"?>' + _rss("<title>a?\x80</title>").encode("latin-1")
    assert _values(feed.replace(b"?\x80", b"\x81\x80"), "rss:title") == ['"a\x81€"']


# --- elements with attributes only ---

ATTRIBUTES = {
    '<media:thumbnail url="http://e.org/t.jpg" width="5"/>': ("media:thumbnail", ['"http://e.org/t.jpg"']),
    '<media:content url="t.jpg" xml:base="http://e.org/"/>': ("media:content", ['"http://e.org/t.jpg"']),
    '<enclosure url="http://e.org/a.mp3" length="1" type="audio/mpeg"/>': ("rss:enclosure", ['"http://e.org/a.mp3"']),
    '<category domain="http://e.org/c">x</category>': ("dc:subject", ['"x"']),
    '<itunes:image href="http://e.org/i.png"/>': ("itunes:image", ['"http://e.org/i.png"']),
    '<itunes:category text="Arts"/>': ("itunes:category", ['"Arts"']),
    '<media:credit role="author">Ann</media:credit>': ("media:credit", ['"Ann"']),
    '<media:license href="http://e.org/l">CC</media:license>': ("media:license", ['"CC"']),
    '<media:statistics views="5"/>': ("media:statistics", []),
    '<media:group><media:title>T</media:title><media:content url="u:1"><media:thumbnail url="u:2"/></media:content>'
    '<media:content url="u:3"/></media:group>': ("media:content", ['"u:1"', '"u:3"']),
    '<media:group><media:content url="u:1"><media:thumbnail url="u:2"/><media:title>T</media:title></media:content>'
    "</media:group>": ("media:thumbnail", ['"u:2"']),
    '<media:content url="u:1"><media:description>D</media:description></media:content>': ("media:description", ['"D"']),
}  # fmt: skip
PREFIXES = "media=http://search.yahoo.com/mrss/", "itunes=http://www.itunes.com/dtds/podcast-1.0.dtd"


@pytest.mark.parametrize("element", ATTRIBUTES)
def test_elements_with_attributes_only(element: str) -> None:
    name, expected = ATTRIBUTES[element]
    declared = dict(prefix.split("=") for prefix in PREFIXES)
    prefix, _, local = name.partition(":")
    property = f"<{declared[prefix]}{local}>" if prefix in declared else name
    attributes = " ".join(f'xmlns:{key}="{value}"' for key, value in declared.items())
    assert _values(_rss(element, attributes=attributes), property) == expected


def test_enclosures_of_atom_are_those_of_rss() -> None:
    feed = f'<feed {ATOM}><entry><link href="u:1"/><link rel="enclosure" href="u:2"/><link rel="edit" href="u:3"/></entry></feed>'
    assert _values(feed, "rss:enclosure") == ['"u:2"']
    assert _values(feed, "rss:link") == ['"u:1"']


def test_elements_of_atom_in_rss_mean_what_they_mean_in_atom() -> None:
    item = (
        "<title>t</title><a:updated>2026-11-15T10:00:00Z</a:updated><a:link href='u:1'/><a:link rel='self' href='u:2'/>"
    )
    feed = _rss(item, attributes=ATOM.replace("xmlns", "xmlns:a"))
    assert _values(feed, "dc:date") == ['"2026-11-15T10:00:00Z"^^xsd:dateTime']
    assert _values(feed, "rss:link") == ['"u:1"']


# --- dates ---

DATES = {
    "20261115": "2026-11-15T00:00:00Z",
    "20261115T101112Z": "2026-11-15T10:11:12Z",
    "20261115T101112.5+0100": "2026-11-15T10:11:12.5+01:00",
    "20261115T10:11:12Z": "2026-11-15T10:11:12Z",
    "20261115101112": "2026-11-15T10:11:12Z",
    "20261115T1011": "2026-11-15T10:11:00Z",
    "2026-319": "2026-11-15T00:00:00Z",
    "2026319": "2026-11-15T00:00:00Z",
    "2026-319T10:00:00Z": "2026-11-15T10:00:00Z",
    "2026-W46-7": "2026-11-15T00:00:00Z",
    "2026W467": "2026-11-15T00:00:00Z",
    "2026-W46": "2026-11-09T00:00:00Z",
    "2026-11-15T24:00:00Z": "2026-11-16T00:00:00Z",
    "2026-11-15T10Z": "2026-11-15T10:00:00Z",
    "2026-11-15T9:15+01:00": "2026-11-15T09:15:00+01:00",
    "2026-1-5": "2026-01-05T00:00:00Z",
    "2026-11-15 10:00:00 EST": "2026-11-15T10:00:00-05:00",
    "2026/11/15 08:19:53 EDT": "2026-11-15T08:19:53-04:00",
    "Fri, 2006/09/15 08:19:53 EDT": "2006-09-15T08:19:53-04:00",
    "Sun Nov 15 10:00:00 2026": "2026-11-15T10:00:00Z",
    "Sun Nov  5 10:00:00 +0100 2026": "2026-11-05T10:00:00+01:00",
    "Sun Nov 15 10:00:00 EST 2026": "2026-11-15T10:00:00-05:00",
    "Sun, Nov 15 2026 10:00:00 GMT": "2026-11-15T10:00:00Z",
    "November 15, 2026 10:00 EST": "2026-11-15T10:00:00-05:00",
    "Thu, 01 Jan 2004 19:48:21 Etc/GMT": "2004-01-01T19:48:21Z",
    "Thu, 01 Jan 2004 19:48:21 MET": "2004-01-01T19:48:21+01:00",
    "2004-július-13T9:15-05:00": "2004-07-13T09:15:00-05:00",
    "2026-november-3T09:15+01:00": "2026-11-03T09:15:00+01:00",
    "Κυρ, 11 Ιούλ 2004 12:00:00 EST": "2004-07-11T12:00:00-05:00",
    "Δευ, 12 Μαϊ 2004 12:00:00 GMT": "2004-05-12T12:00:00Z",
    "2004년 05월 28일  01:31:15": "2004-05-28T01:31:15+09:00",
    "2004-05-25 오후 11:23:17": "2004-05-25T23:23:17+09:00",
    "2004-05-25 오전 12:23:17": "2004-05-25T00:23:17+09:00",
}
NO_DATES = [
    "2026-366", "2026-000", "2026-W54-1", "2026-W00-1", "20261315", "20260230", "11/10/2026", "26-11-10", "202611151011",
    "Foo 15, 2026", "2026-foo-15T10:00Z", "Sun Nov 31 10:00:00 2026", "2026-11-15T24:00:01Z", "2004-05-25 오후 11:63:17",
    "Thu, 01 Jan 2004 19:48:21 Etc/GMT+3", "12345678901", "2026-11-15 10:00:00 XYZ",
]  # fmt: skip


@pytest.mark.parametrize("written", DATES)
def test_dates_of_other_forms(written: str) -> None:
    assert _values(_rss(f"<pubDate>{written}</pubDate>"), "dc:date") == [f'"{DATES[written]}"^^xsd:dateTime']


@pytest.mark.parametrize("written", NO_DATES)
def test_what_may_mean_two_days_or_none_stays_text(written: str) -> None:
    assert _values(_rss(f"<pubDate>{written}</pubDate>"), "dc:date") == [f'"{written}"']


# --- ids ---


def test_ids_where_the_link_comes_after_the_items() -> None:
    assert _ids(_rss("<guid>7</guid>", tail="<link>http://e.org/</link>")) == ["http://e.org/#7"]


def test_ids_of_atom_that_are_relative_belong_to_the_feed() -> None:
    entry = "<entry><id>posts/7</id></entry>"
    assert _ids(f'<feed {ATOM}><link href="http://e.org/"/>{entry}</feed>') == ["http://e.org/#posts/7"]
    assert _ids(f"<feed {ATOM}>{entry}</feed>") == ["feed.xml#posts/7"]


def test_ids_of_rss_1_without_about() -> None:
    channel = '<channel rdf:about="http://e.org/"><title>c</title><link>http://e.org/</link></channel>'
    items = "<item><link>http://e.org/1</link></item><item><link>2</link></item><item><title>t</title></item>"
    assert _ids(f"<rdf:RDF {RDF}>{channel}{items}</rdf:RDF>") == ["http://e.org/1", "http://e.org/#2", "feed.xml#3"]
    assert _ids(f"<rdf:RDF {RDF}>{items}</rdf:RDF>") == ["http://e.org/1", "feed.xml#2", "feed.xml#3"]


def test_of_two_channels_the_first_gives_the_ids() -> None:
    one = "<channel><link>http://a.org/</link><item><guid>1</guid></item></channel>"
    two = "<channel><link>http://b.org/</link><item><guid>2</guid></item></channel>"
    assert _ids(f"<rss>{one}{two}</rss>") == ["http://a.org/#1", "http://a.org/#2"]


# --- the oracle ---

BOTH = '<title>A &amp; B</title><link>http://e.org/1</link><guid isPermaLink="false">1</guid>'
ODD: Mapping[str, str | bytes] = {
    **{f"base: {name}": feed for name, (feed, _) in BASES.items() if name in ("outer", "nested", "absolute inside", "no base")},
    "RSS 2.0": _rss(BOTH + "<pubDate>Sun, 15 Nov 2026 10:00:00 +0100</pubDate><description>d</description>"),
    "RSS 0.91": _rss(BOTH + "<description>d &lt;b&gt;e&lt;/b&gt;</description>").replace("2.0", "0.91"),
    "RSS 1.0": f'<rdf:RDF {RDF} xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="http://e.org/"><title>c</title>'
    "<link>http://e.org/</link></channel><item rdf:about='http://e.org/1'><title>t</title><link>http://e.org/1</link>"
    "<description>d</description><dc:date>2026-11-15T10:00:00Z</dc:date></item></rdf:RDF>",
    "Atom": f'<feed {ATOM}><entry><id>u:1</id><title>t</title><link href="http://e.org/1"/><updated>2026-11-15T10:00:00Z</updated>'
    '<summary type="html">&lt;b&gt;d&lt;/b&gt;</summary></entry></feed>',
    "Atom 0.3": _atom_03('<title>t</title><link rel="alternate" type="text/html" href="http://e.org/1"/>'
    '<modified>2026-11-15T10:00:00-08:00</modified><summary mode="base64">' + b64encode(b"some text").decode() + "</summary>"),
    "XHTML": f'<feed {ATOM}><entry><summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b></div></summary></entry></feed>',
    "Windows-1252": ('<?xml version="1.0" encoding="ISO-8859-1"?>' + _rss("<title>It’s “odd” – €</title>")).encode("cp1252"),
    "names of HTML": _rss("<title>Caf&eacute;&nbsp;&mdash; x</title>").replace("<rss", "<!DOCTYPE rss><rss"),
    "Atom in RSS": _rss("<title>t</title><a:link href='http://e.org/1'/>", attributes=ATOM.replace("xmlns", "xmlns:a")),
    "link as guid": _rss("<title>t</title><guid>http://e.org/1</guid>"),
    **{f"date: {date}": _rss(f"<title>t</title><pubDate>{date}</pubDate>") for date in (
        "20261115", "20261115T10:11:12Z", "2026-319", "2026-1-5", "Fri, 2006/09/15 08:19:53 EDT", "Sun Nov 15 10:00:00 2026",
        "Sun, Nov 15 2026 10:00:00 GMT", "Κυρ, 11 Ιούλ 2004 12:00:00 EST", "2026-11-15T24:00:00Z", "15 Nov 26 10:00 PDT",
        "Thu, 01 Jan 2004 19:48:21 Etc/GMT", "2004-07-08 23:56:58.0", "2026-11", "2026",
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_feedparser_reads_the_same(name: str) -> None:
    feedparser: Any = pytest.importorskip("feedparser")
    feed = ODD[name]
    data = feed if isinstance(feed, bytes) else feed.encode()
    (entry,) = feedparser.parse(data, sanitize_html=False).entries

    def first(property: str) -> str:
        return next(iter(_values(feed, property)), "")

    def said(property: str) -> str:
        return first(property).strip('"')

    assert said("rss:title") == entry.get("title", "")
    assert said("rss:link") == entry.get("link", "")
    assert said("rss:description") == entry.get("summary", "")
    at = entry.get("published_parsed") or entry.get("updated_parsed")
    date = first("dc:date").removesuffix("^^xsd:dateTime").strip('"')
    assert (int(datetime.fromisoformat(date).timestamp()) if date else None) == (at and calendar.timegm(at))
    assert not date or as_datetime(date) == date
