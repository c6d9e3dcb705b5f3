"""Hostile feeds: each piece stands between two good items, which must come through whatever it does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from heliograph.io import feeds
from tests.io.document_reading import Outcome, read

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>C</title><link>http://c/</link>\n'
TAIL = "\n</channel></rss>"


def item(number: int) -> str:
    return f"<item><title>Good {number}</title><guid>urn:g{number}</guid></item>\n"


def between(piece: str, head: str = HEAD, tail: str = TAIL) -> str:
    return head + item(1) + piece + "\n" + item(2) + tail


# name: the piece, the code with which it is refused (none: it is read), the column of the fault in line 4
PIECES: dict[str, tuple[str, str, int]] = {
    "unclosed tag": ("<item><title>x</item>", "HG-311", 17),
    "unclosed item": ("<item><title>x</title><guid>bad</guid>", "HG-311", 0),
    "crossed tags": ("<item><a><b></a></b></item>", "HG-311", 15),
    "stray end tag": ("<item></title></item>", "HG-311", 9),
    "no end of tag": ("<item><title</item>", "HG-311", 13),
    "unclosed quote": ('<item><title a="x>y</title></item>', "HG-311", 20),
    "attribute twice": ('<item><title a="1" a="2">x</title></item>', "HG-311", 20),
    "attribute without quotes": ("<item a=b><title>x</title></item>", "HG-311", 9),
    "unclosed section": ("<item><title><![CDATA[x</title></item>", "HG-311", 39),
    "unclosed comment": ("<item><title><!-- x</title></item>", "HG-311", 14),
    "unclosed instruction": ("<item><title><?x </title></item>", "HG-311", 14),
    "two hyphens in a comment": ("<item><!-- a -- b --></item>", "HG-311", 16),
    "end of section in text": ("<item><title>a ]]> b</title></item>", "HG-311", 18),
    "NUL": ("<item><title>a\0b</title></item>", "HG-311", 15),
    "control character": ("<item><title>a\x08b</title></item>", "HG-311", 15),
    "no character": ("<item><title>&#0;</title></item>", "HG-311", 14),
    "character of two": ("<item><title>&#xD800;</title></item>", "HG-311", 14),
    "unbound prefix": ("<item><media:x>y</media:x></item>", "HG-311", 7),
    "unknown entity": ("<item><title>ä &unknown;</title></item>", "HG-314", 16),
    "mended, then broken": ("<item><title>A & B &nbsp;&eacute; <b></title></item>", "HG-311", 40),
    "DOCTYPE inside": ("<item><!DOCTYPE x [<!ENTITY e 'v'>]><title>&e;</title></item>", "HG-311", 9),
    "declaration inside": ('<item><?xml version="1.0"?></item>', "HG-311", 7),
    "too many elements": ("<item>" + "<a/>" * 50_001 + "</item>", "HG-313", 1),
    "nested a hundred thousand deep": ("<item>" + "<a>" * 100_000 + "</a>" * 100_000 + "</item>", "HG-313", 1),
    "nested without end": ("<item>" + "<a>" * 60_000, "HG-313", 1),
    "another namespace": ('<item xmlns="http://other/"><title>x</title></item>', "HG-311", 1),
    "the id of another": (item(1).strip(), "HG-312", 1),
    "nested ten thousand deep": ("<item><guid>urn:ok</guid><title>" + "<a>" * 10_000 + "</a>" * 10_000 + "</title></item>", "", 0),
    "twenty thousand attributes": (
        "<item><guid>urn:ok</guid><title " + " ".join(f'a{n}=""' for n in range(20_000)) + ">x</title></item>", "", 0
    ),
    "a million tags in a section": ("<item><guid>urn:ok</guid><title><![CDATA[" + "<b>" * 1_000_000 + "]]></title></item>", "", 0),
    "bare ampersands": ("<item><guid>urn:ok</guid><title>Tom & Jerry &; &x &#; AT&T</title></item>", "", 0),
    "named characters": ("<item><guid>urn:ok</guid><title>&nbsp;&eacute;&NotEqualTilde;</title></item>", "", 0),
    "an item in a section": ("<item><guid>urn:ok</guid><title><![CDATA[<item><guid>no</guid></item>]]></title></item>", "", 0),
    "an item in a comment": ("<!-- <item><guid>no</guid></item> --><item><guid>urn:ok</guid></item>", "", 0),
    "an item in an instruction": ("<?x <item><guid>no</guid></item> ?><item><guid>urn:ok</guid></item>", "", 0),
    "a section in a section": ("<item><guid>urn:ok</guid><title><![CDATA[ <![CDATA[ ]]></title></item>", "", 0),
    "an item's name in another": ("<item><guid>urn:ok</guid><items/><item.x/></item>", "", 0),
    "text between items": ("text <x>y</x><item><guid>urn:ok</guid></item> more", "", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
def test_what_is_broken_is_refused_with_its_place(name: str) -> None:
    piece, code, column = PIECES[name]
    outcome = read(between(piece))
    assert outcome.ids == (["urn:g1", "urn:g2"] if code else ["urn:g1", "urn:ok", "urn:g2"])
    assert outcome.codes == [code][: bool(code)]
    if code:
        (refused,) = outcome.rejected
        place = f"line 4, column {column}" if column else "line 5, column 1"
        assert f"({refused.source}, item {refused.item}, {place})" in refused.message
        assert refused.item == ("urn:g1" if code == "HG-312" else "feed.xml#2")


@pytest.mark.parametrize("name", [name for name in PIECES if name != "another namespace"])
@pytest.mark.parametrize("kind", ["rss1", "atom"])
def test_other_kinds_of_feeds_are_as_robust(name: str, kind: str) -> None:
    piece, code, _ = PIECES[name]
    outcome = read(as_atom(between(piece)) if kind == "atom" else as_rss1(between(piece)))
    assert [id for id in outcome.ids if id in ("urn:g1", "urn:g2")] == ["urn:g1", "urn:g2"]
    if code:
        assert code in outcome.codes
        assert len(outcome.publications) == 2


def as_atom(feed: str) -> str:
    feed = feed.replace('<rss version="2.0"><channel>', '<feed xmlns="http://www.w3.org/2005/Atom">')
    return feed.replace("</channel></rss>", "</feed>").replace("item", "entry").replace("guid>", "id>")


def as_rss1(feed: str) -> str:
    """Ids become links; what blank nodes are called does not matter here."""
    root = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel>'
    feed = feed.replace('<rss version="2.0"><channel>', root).replace("</channel></rss>", "</rdf:RDF>")
    return feed.replace("<link>http://c/</link>\n", "</channel>\n").replace("guid>", "link>")


# --- what stands around the items ---


def laughs() -> str:
    declared = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE rss [<!ENTITY a0 "ha">{declared}<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY % p SYSTEM "http://x/"> %p;]>'


@pytest.mark.parametrize("entity", ["a11", "x", "a0"])
def test_entities_of_a_dtd_are_never_expanded(entity: str) -> None:
    head = HEAD.replace("<rss", laughs() + "<rss")
    outcome = read(
        between(
            f"<item><title>&{entity};</title></item><item><guid>urn:g3</guid><title a='x'>&amp;</title></item>", head
        )
    )
    assert outcome.ids == ["urn:g1", "urn:g3", "urn:g2"]
    assert outcome.codes == ["HG-314"]
    attribute = read(between(f"<item><title a='&{entity};'>x</title></item>", head))
    assert (attribute.ids, attribute.codes) == (["urn:g1", "urn:g2"], ["HG-314"])
    around = read(between("", head.replace("<title>C", f"<title>&{entity};")))
    assert (around.ids, around.codes) == (["urn:g1", "urn:g2"], ["HG-315"])


@pytest.mark.parametrize(
    "dtd", ["<!DOCTYPE rss [", "<!DOCTYPE rss [<!ENTITY a 'x>]>", "<!DOCTYPE rss [<!-- ]>", "<!DOCTYPE rss"]
)
def test_a_dtd_that_never_ends_hides_no_items(dtd: str) -> None:
    assert read(between("", dtd + "\n" + HEAD.partition("\n")[2])).ids == ["urn:g1", "urn:g2"]


HEADS = [
    "<rss><channel><title>A & B &nbsp;</title>",
    "<rss><channel><title>never closed",
    "<rss><channel><title>wrong</titel>",
    "<rss><channel><x:y>unbound</x:y>",
    "<rss><channel><title>\0</title>",
    "<rss><channel><title><![CDATA[open</title>",
    "<rss><channel><title><!-- open</title>",
    "<rss></rss><channel>",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_broken_head_hides_no_items(head: str) -> None:
    outcome = read(between("", head))
    assert outcome.ids == ["urn:g1", "urn:g2"]
    assert outcome.codes == ([] if "&nbsp;" in head else ["HG-315"])


def test_a_channel_is_known_up_to_where_it_breaks() -> None:
    outcome = read(between("", "<rss><channel><title>T</title><link>http://c/</link><bad></channel>"))
    assert any(value.value == "T" for _, _, value in outcome.publications["urn:g2"])


TAILS = ["", "</channel>", "</channel></rss", "</rss></channel>", "</channel></rss></rss>", "</item></channel></rss>"]


@pytest.mark.parametrize("tail", TAILS)
def test_a_broken_tail_is_reported(tail: str) -> None:
    outcome = read(between("", tail=tail))
    assert outcome.ids == ["urn:g1", "urn:g2"]
    assert outcome.codes == ["HG-315"]


def test_a_file_that_ends_inside_an_item_is_reported_once() -> None:
    whole = between(item(3))
    for end in range(whole.index("<item>") + 1, whole.rindex("</item>")):
        outcome = read(whole[:end])
        complete = [
            id
            for number, id in ((1, "urn:g1"), (3, "urn:g3"), (2, "urn:g2"))
            if whole.index(item(number)) + len(item(number)) - 1 <= end
        ]
        assert outcome.ids == complete
        assert len(outcome.rejected) == 1


def test_large_items_and_channels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_ITEM", 1000)
    monkeypatch.setattr(feeds, "MAX_CHANNEL", 1000)
    piece = "<item><title>" + "x" * 2000 + "</title></item>" + "y" * 2000
    outcome = read(between(piece))
    assert outcome.ids == ["urn:g1", "urn:g2"]
    assert outcome.codes == ["HG-313", "HG-315"]
    head = read(between("", HEAD.replace("<title>C", "<title>" + "C" * 2000)))
    assert (head.ids, head.codes) == (["urn:g1", "urn:g2"], ["HG-315"])


def test_a_title_of_a_hundred_megabytes_costs_no_memory() -> None:
    """In a process of its own, whose memory is then its own too."""
    code = """
import resource, tempfile
from pathlib import Path
from heliograph.io.documents import read_documents
from heliograph.io.sources import Source
from heliograph.vocabulary import Vocabulary
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "feed.xml")
    with open(path, "wb") as file:
        file.write(b"<rss><channel><item><guid>1</guid></item><item><title>")
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"</title></item><item><guid>2</guid></item></channel></rss>")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (documents,) = read_documents([Source(path, "feed.xml")], Vocabulary())
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert documents.publications.ids == ("feed.xml#1", "feed.xml#2")
    assert [refused.code for refused in documents.rejected] == ["HG-313"]
    assert grown < 250_000, grown  # the pages of the mapped file, which the system may take back at any time
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- time ---


@pytest.mark.parametrize("opening", ["", "<![CDATA[", "<!--", "<?x ", "<a b='"])
def test_a_thousand_broken_items_are_refused_one_by_one(opening: str) -> None:
    data = HEAD + f"<item>{opening}" * 1000 + "]]> --> ?> '>" + item(1) + TAIL
    outcome = read(data)
    assert outcome.ids == ["urn:g1"]
    assert len(outcome.rejected) >= 999


MANY = 20_000  # with any step that looks at the rest of the file for each of them, these would take minutes

LONG = {
    "gaps": HEAD + "<!-- x --><item/>" * MANY + TAIL,
    "openings in one item": HEAD + "<item>&" + "<!--" * MANY + "<![CDATA[" * MANY + "</item>" + item(1) + TAIL,
    "ampersands": HEAD.replace("<title>C", "<title>" + "& " * MANY) + "<item>" + "&x " * MANY + "</item>" + TAIL,
    "comments in a DTD": "<!DOCTYPE r [" + "x" * (1 << 20) + "<!--" * MANY + "-->]>" + between(""),
    "entities": "<!DOCTYPE r [" + "<!ENTITY a 'x'>" * MANY + "]>" + between(""),
    "end tags": HEAD + "</item>" * MANY + item(1) + TAIL,
    "instructions": HEAD + "<?a" * MANY + item(1) + TAIL,
    "items of one id": HEAD + item(1) * MANY + TAIL,
}


@pytest.mark.parametrize("name", LONG)
def test_time_is_linear(name: str) -> None:
    outcome = read(LONG[name])
    assert len(outcome.publications) + len(outcome.rejected) > 0
    assert all(len(refused.message) < 1000 for refused in outcome.rejected)


# --- RSS 1.0 ---


def rdf(*items: str, head: str = "<channel rdf:about='http://c/'><title>C</title></channel>") -> Outcome:
    root = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:x="http://x/">'
    return read(root + head + "\n".join(items) + "</rdf:RDF>", "x.rdf")


GOOD = "<item rdf:about='http://c/1'/>"


@pytest.mark.parametrize(
    ("piece", "code"),
    [
        ("<item rdf:about='http://a b/'/>", "HG-316"),
        ("<item rdf:about='http://c/2' rdf:ID='x'/>", "HG-316"),
        ("<item rdf:about='http://c/2'><title>text<b/></title></item>", "HG-316"),
        ("<item rdf:about='http://c/1'><title>again</title></item>", "HG-312"),
        ("<item>" + "<x:a><x:b>" * 300 + "</x:b></x:a>" * 300 + "</item>", "HG-304"),
    ],
)
def test_items_that_are_no_rdf_are_refused_alone(piece: str, code: str) -> None:
    outcome = rdf(GOOD, piece, "<item rdf:about='http://c/3'/>")
    assert outcome.ids == ["http://c/1", "http://c/3"]
    assert outcome.codes == [code]
    assert "line 2, column 1)" in outcome.rejected[0].message


@pytest.mark.parametrize("head", ["<channel rdf:about='http://a b/'/>", "<x:a><x:b>" * 300 + "</x:b></x:a>" * 300])
def test_a_channel_that_is_no_rdf_hides_no_items(head: str) -> None:
    outcome = rdf(GOOD, head=head)
    assert outcome.ids == ["http://c/1"]
    assert outcome.codes == ["HG-315"]


def test_items_that_do_not_fall_apart_are_read_one_by_one() -> None:
    twice = "<item rdf:about='http://c/2'><rdf:type rdf:resource='http://purl.org/rss/1.0/item'/></item>"
    assert rdf(GOOD, twice, "<item rdf:about='http://c/3'><x:p><x:T/></x:p></item>").ids == [
        f"http://c/{n}" for n in (1, 2, 3)
    ]


def test_many_items_that_share_a_large_blank_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SPARE", 500)
    shared = "<x:T rdf:nodeID='n'>" + "".join(f"<x:p>{n}</x:p>" for n in range(200)) + "</x:T>"
    items = [f"<item rdf:about='http://c/{n}'><x:q rdf:nodeID='n'/></item>" for n in range(30)]
    outcome = rdf(*items, shared)
    assert len(outcome.publications) + len(outcome.rejected) == 30
    assert 5 < len(outcome.publications) < 25
    assert set(outcome.codes) == {"HG-313"}


def test_terms_of_rdf_1_2_in_items() -> None:
    outcome = rdf(
        "<item rdf:about='http://c/1' rdf:version='1.2'><x:p xmlns:its='http://www.w3.org/2005/11/its' its:version='2.0' its:dir='ltr' xml:lang='en'>x</x:p><title>T</title></item>"
    )
    assert outcome.ids == ["http://c/1"]
    assert any(value.value == "T" for _, _, value in outcome.only)
