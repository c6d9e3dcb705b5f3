"""Publication ids of feeds and named graphs: items of different files are never merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from heliograph import Filter

BOTH = 'ASK { ?i dc:subject "Sport" ; dc:creator "X" }'


def _rss(link: str | None, *items: str) -> str:
    channel = f"<title>Feed</title>{f'<link>{link}</link>' if link else ''}{''.join(items)}"
    return f'<rss version="2.0"><channel>{channel}</channel></rss>'


def _item(guid: str, title: str = "t", more: str = "") -> str:
    return f"<item><guid>{guid}</guid><title>{title}</title>{more}</item>"


def _published(
    paths: Sequence[Path] | Path, query: str = "SELECT ?t { ?i a rss:item ; rss:title ?t }"
) -> dict[str | None, list[str]]:
    engine = Filter()
    engine.subscribe(("q", query))
    given = [str(path) for path in paths] if isinstance(paths, Sequence) else str(paths)
    found = engine.publish(given, bindings=10)
    assert not found.rejected, found.rejected
    return {n.publication_id: [row["t"] for row in n.proof["bindings"]] for n in found}


def test_a_guid_that_is_no_iri_is_unique_within_its_feed_only(tmp_path: Path) -> None:
    (tmp_path / "a.rss").write_text(_rss("http://a.example/", _item("1001", "x", "<category>Sport</category>")))
    (tmp_path / "b.rss").write_text(_rss("http://b.example/", _item("1001", "y", "<author>X</author>")))
    assert _published(tmp_path) == {"http://a.example/#1001": ['"x"'], "http://b.example/#1001": ['"y"']}
    engine = Filter()
    engine.subscribe(("both", BOTH))
    assert len(engine.publish(tmp_path)) == 0


def test_a_feed_without_a_link_gives_its_path(tmp_path: Path) -> None:
    (tmp_path / "a.rss").write_text(_rss(None, _item("7", "x")))
    assert _published(tmp_path) == {"a.rss#7": ['"x"']}


@pytest.mark.parametrize("guid", ["http://example.org/1", "tag:example.org,2026:1", "urn:uuid:1"])
def test_a_guid_that_is_an_iri_is_the_id(tmp_path: Path, guid: str) -> None:
    (tmp_path / "a.rss").write_text(_rss("http://a.example/", _item(guid)))
    assert list(_published(tmp_path)) == [guid]


def test_snapshots_of_one_feed_are_publications_of_their_own(tmp_path: Path) -> None:
    same = _item("http://e.org/2", "same")
    for name, title in (("1.rss", "old"), ("2.rss", "new"), ("3.rss", "newer")):
        (tmp_path / name).write_text(_rss("http://a.example/", _item("http://e.org/1", title), same))
    assert _published(tmp_path) == {
        "http://e.org/1": ['"old"'],
        "http://e.org/2": ['"same"'],
        "http://e.org/1#2": ['"new"'],
        "http://e.org/1#3": ['"newer"'],
    }


def test_equal_items_with_blank_nodes_are_one(tmp_path: Path) -> None:
    rdf = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
      xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="http://e.org/"><title>c</title></channel>
      <item rdf:about="http://e.org/1"><title>t</title><dc:creator><rdf:Description><dc:title>A</dc:title></rdf:Description></dc:creator></item>
      </rdf:RDF>"""
    (tmp_path / "1.rdf").write_text(rdf)
    (tmp_path / "2.rdf").write_text(rdf)
    assert list(_published(tmp_path)) == ["http://e.org/1"]


def test_a_second_item_with_one_id_in_one_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.rss").write_text(_rss("http://a.example/", _item("1", "x"), _item("1", "y")))
    engine = Filter()
    engine.subscribe(("q", "ASK { ?i rss:title ?t }"))
    found = engine.publish(tmp_path)
    assert [n.publication_id for n in found] == ["http://a.example/#1"]
    assert len(found.rejected) == 1


def test_graphs_named_by_blank_nodes_belong_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.trig").write_text('_:g { <http://x/a> <http://x/p> "1" }')
    (tmp_path / "b.trig").write_text('_:g { <http://x/b> <http://x/p> "2" }')
    assert _published(tmp_path, "SELECT ?t { ?i <http://x/p> ?t }") == {
        "a.trig#_:g": ['"1"'],
        "b.trig#_:g": ['"2"'],
    }
    (tmp_path / "b.trig").unlink()
    (tmp_path / "c.nq").write_text('<http://x/b> <http://x/p> "2" _:g .\n')
    assert list(_published(tmp_path, "SELECT ?t { ?i <http://x/p> ?t }")) == ["a.trig#_:g", "c.nq#_:g"]


def test_graphs_with_one_iri_are_one_publication(tmp_path: Path) -> None:
    (tmp_path / "a.trig").write_text('<http://g> { <http://x/a> <http://x/p> "1" }')
    (tmp_path / "b.trig").write_text('<http://g> { <http://x/b> <http://x/p> "2" }')
    assert _published(tmp_path, "SELECT ?t { ?i <http://x/p> ?t }") == {"http://g": ['"1"', '"2"']}
