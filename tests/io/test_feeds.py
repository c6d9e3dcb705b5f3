"""Feeds that are in order: each file in `data` against what is expected of it, and the variants that occur."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.io.document_reading import Graph, read, read_files, triples

DATA = Path(__file__).parent / "data"


def expected(name: str) -> dict[str, Graph]:
    blocks = (DATA / f"{name}.expected").read_text().split("== ")[1:]
    return {id: triples(*rows) for id, *rows in (block.strip().split("\n") for block in blocks)}


@pytest.mark.parametrize("name", ["news.rss", "blog.atom", "site.rdf"])
def test_feeds_say_what_is_expected(name: str) -> None:
    outcome = read((DATA / name).read_bytes(), name)
    assert outcome.rejected == []
    assert outcome.publications == expected(name)
    assert outcome.ids == list(expected(name))


@pytest.mark.parametrize("name", ["news.rss", "blog.atom", "site.rdf"])
@pytest.mark.parametrize("suffix", [".xml", ".rss", ".atom", ".rdf"])
def test_the_root_decides_and_not_the_suffix(name: str, suffix: str) -> None:
    outcome = read((DATA / name).read_bytes(), "x" + suffix)
    assert len(outcome.publications) == len(expected(name))
    assert outcome.rejected == []


def titles(data: str, name: str = "x.xml") -> list[str]:
    outcome = read(data, name)
    assert outcome.rejected == []
    return [
        value.value
        for graph in outcome.publications.values()
        for subject, predicate, value in graph
        if predicate.value == "http://purl.org/rss/1.0/title" and value.value.startswith("item")
    ]


VARIANTS = [
    '<rss version="0.91"><channel><title>c</title><item><title>item 1</title></item></channel></rss>',
    '<rss version="2.0" xmlns="http://backend.userland.com/rss2"><channel><item><title>item 1</title></item></channel></rss>',
    '<r:rss xmlns:r="http://x/"><r:channel><r:item><r:title>item 1</r:title></r:item></r:channel></r:rss>',
    "<rss><item><title>item 1</title></item></rss>",
    '<feed xmlns="http://purl.org/atom/ns#" version="0.3"><entry><title>item 1</title><issued>2026</issued></entry></feed>',
    '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:title>item 1</a:title></a:entry></a:feed>',
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:a="http://www.w3.org/2005/Atom"><a:entry><title>item 1</title></a:entry></feed>',
    "<feed><entry><title>item 1</title></entry></feed>",
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://my.netscape.com/rdf/simple/0.9/">'
    "<channel><title>c</title></channel><item><title>item 1</title></item></rdf:RDF>",
    '<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://purl.org/rss/1.0/">'
    '<s:item xmlns:x="y"><s:title>item 1</s:title></s:item></RDF>',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<item xmlns="http://purl.org/rss/1.0/"><title>item 1</title></item></rdf:RDF>',
]


@pytest.mark.parametrize("data", VARIANTS)
def test_variants_that_occur(data: str) -> None:
    assert titles(data) == ["item 1"]


def test_rdf_without_items_is_a_document() -> None:
    data = (DATA / "site.rdf").read_text()
    without = data[: data.index("<item ")] + data[data.index("<foaf:Person") :]
    assert read(without, "x.rdf").ids == ["x.rdf"]
    assert read(without, "x.xml").ids == ["x.xml"]


def test_a_root_of_another_name_is_rdf_in_a_file_of_rdf() -> None:
    data = '<x:T xmlns:x="http://x/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" rdf:about="a:s"/>'
    for name in ("x.rdf", "x.xml"):
        assert read(data, name).only == triples("<a:s> | a | <http://x/T>")


@pytest.mark.parametrize(
    "data",
    [
        "",
        "  ",
        "<html><body/></html>",
        "<!DOCTYPE html><html>",
        "plain text",
        '{"json": 1}',
        "<",
        "<rss",
        "<rss a='&x;'>",
        "<a:rss/>",
    ],
)
def test_what_is_no_feed(data: str) -> None:
    outcome = read_files({"x.xml": data, "y.xml": VARIANTS[0]})
    assert outcome.ids == ["y.xml#1"]
    assert outcome.codes == ["HG-309"]


def test_a_feed_without_items_is_no_publication() -> None:
    assert read("<rss><channel><title>c</title></channel></rss>") == ({}, [])


def test_text_before_the_root_is_skipped() -> None:
    assert titles("\nWarning: something\n" + VARIANTS[0]) == ["item 1"]


def test_channels_whose_title_comes_last() -> None:
    data = "<rss><channel><item><guid>1</guid></item><title>late</title><item><guid>2</guid></item></channel></rss>"
    outcome = read(data)
    assert outcome.ids == ["feed.xml#1", "feed.xml#2"]
    assert all(any(value.value == "late" for _, _, value in graph) for graph in outcome.publications.values())


def test_namespaces_may_be_declared_in_the_channel() -> None:
    data = '<rss><channel xmlns:d="http://purl.org/dc/elements/1.1/"><item><guid>1</guid><d:creator>Ann</d:creator></item></channel></rss>'
    assert triples('<urn:heliograph:feed.xml%231> | dc:creator | "Ann"') <= read(data).only


def test_names_that_are_no_iris_say_nothing() -> None:
    data = '<rss xmlns:x="not an iri"><channel><item><guid>1</guid><x:y>z</x:y></item></channel></rss>'
    assert len(read(data).only) == 2 + 4


@pytest.mark.parametrize("link", ["http://[broken", "http://a b/ c", "//x", "mailto:a@b", "a\\b", "{x}", "http://é/"])
def test_links_of_all_kinds(link: str) -> None:
    outcome = read(f"<rss><channel><link>http://[bad</link><item><link>{link}</link></item></channel></rss>")
    assert len(outcome.publications) == 1
    assert outcome.rejected == []
