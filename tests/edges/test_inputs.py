"""Python takes what the command line takes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from heliograph import Filter, Route, Watch

NT = "<urn:heliograph:a> <urn:heliograph:p> <urn:heliograph:b> .\n"
RSS = '<rss version="2.0"><channel><title>C</title><link>http://c/</link><item><guid>http://c/1</guid><title>T</title></item></channel></rss>'
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><id>http://c/</id><title>C</title><entry><id>http://c/1</id><title>T</title></entry></feed>'
JSONLD = '{"@id": "urn:heliograph:a", "urn:heliograph:p": {"@id": "urn:heliograph:b"}}'
RDFXML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="urn:heliograph:">'
    '<rdf:Description rdf:about="urn:heliograph:a"><p rdf:resource="urn:heliograph:b"/></rdf:Description></rdf:RDF>'
)


def _filter() -> Filter:
    engine = Filter()
    engine.subscribe({"p": "ASK { :a :p :b }", "t": 'ASK { ?i rss:title "T" }'})
    return engine


@pytest.mark.parametrize(
    ("document", "format", "expected"),
    [
        (NT, "nt", "p"),
        (NT, "turtle", "p"),
        (NT, "nquads", "p"),
        (NT, "trig", "p"),
        (JSONLD, "jsonld", "p"),
        (RDFXML, "rdfxml", "p"),
        (RDFXML, "xml", "p"),
        (RSS, "rss", "t"),
        (RSS, "xml", "t"),
        (ATOM, "atom", "t"),
    ],
)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_documents_in_memory(document: str, format: str, expected: str, as_bytes: bool) -> None:
    found = _filter().publish(document.encode() if as_bytes else document, format=format, id="doc")
    assert [n.subscription_id for n in found] == [expected]
    assert not found.rejected
    assert found[0].publication_id == ("doc" if expected == "p" else "http://c/1")


def test_a_document_in_memory_with_an_unknown_format() -> None:
    with pytest.raises(Exception, match="turtle"):
        _filter().publish(NT, format="word")


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(NT)
    (tmp_path / "b.rss").write_text(RSS)
    (tmp_path / "c.csv").write_text("publication_id,subject,property,object\nc,a,p,b\n")
    given: Any
    for given in (tmp_path, str(tmp_path)):
        found = _filter().publish(given)
        assert [(n.subscription_id, n.publication_id) for n in found] == [
            ("p", "a.nt"),
            ("t", "http://c/1"),
            ("p", "c"),
        ]
    for given in (str(tmp_path / "*"), [str(tmp_path / "a.nt"), tmp_path / "b.rss", tmp_path / "c.csv"]):
        found = _filter().publish(given)
        assert [n.publication_id for n in found] == [str(tmp_path / "a.nt"), "http://c/1", "c"]


def test_queries_from_files(tmp_path: Path) -> None:
    (tmp_path / "one.rq").write_text("ASK { :a :p :b }")
    (tmp_path / "two.rq").write_text("ASK { :a :p :c }")
    for given in (tmp_path, str(tmp_path / "*.rq"), [tmp_path / "one.rq", tmp_path / "two.rq"]):
        engine = Filter()
        assert engine.subscribe(given).accepted == 2
        assert [n.subscription_id for n in engine.publish("d", [("a", "p", "b")])] == ["one"]


def test_pairs_and_mappings() -> None:
    engine = Filter()
    engine.subscribe("one", "ASK { :a :p :b }")
    engine.subscribe({"two": "ASK { :a :p ?x }", "three": "ASK { :a :q ?x }"})
    engine.subscribe([("four", "ASK { ?x :p :b }")])
    assert [n.subscription_id for n in engine.publish("d", [("a", "p", "b")])] == ["one", "two", "four"]
    watch = Watch()
    watch.subscribe("one", "ASK { :a :p :b }")
    watch.subscribe({"two": "ASK { :a :p ?x }"})
    assert len(watch.publish([("+", "a", "p", "b")])) == 2


def _frames() -> list[Any]:
    columns = {"publication_id": ["d"], "subject": ["a"], "property": ["p"], "object": ["b"]}
    return [pa.table(columns), pd.DataFrame(columns), pa.table(columns).to_batches()[0]]


def test_frames() -> None:
    for frame in _frames():
        assert [n.subscription_id for n in _filter().publish(frame)] == ["p"]


def test_rdflib_graphs() -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph()
    graph.parse(data=NT, format="nt")
    found = _filter().publish(graph, id="mine")
    assert [(n.subscription_id, n.publication_id) for n in found] == [("p", "mine")]
    watch = Watch()
    watch.subscribe("p", "ASK { :a :p :b }")
    assert watch.load_graph(graph).accepted == 1


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".ndjson.gz", ".csv.gz", ".nt.gz", ".nt.zst", ".csv.zst"])
def test_suffixes(tmp_path: Path, suffix: str) -> None:
    row = {"publication_id": "d", "subject": "a", "property": "p", "object": "b"}
    if ".nt" in suffix:
        text = NT
    elif ".csv" in suffix:
        text = ",".join(row) + "\n" + ",".join(row.values()) + "\n"
    else:
        text = json.dumps(row) + "\n"
    path = tmp_path / f"x{suffix}"
    if suffix.endswith(".zst"):
        with pa.output_stream(path, compression="zstd") as out:
            out.write(text.encode())
    else:
        path.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
    for given in (path, tmp_path):
        assert [n.subscription_id for n in _filter().publish(given)] == ["p"]


def test_rdf_files_as_updates(tmp_path: Path) -> None:
    (tmp_path / "u.nt").write_text(NT)
    watch = Watch()
    watch.subscribe("p", "ASK { :a :p :b }")
    assert [(n.change, n.publication_id) for n in watch.publish(tmp_path / "u.nt")] == [("+", "1")]


def test_a_taxonomy_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("child,parent\nDog,Animal\n")
    for given in (tmp_path / "t.csv", str(tmp_path / "t.csv"), tmp_path):
        engine = Filter(given)
        engine.subscribe("q", "ASK { ?x a/rdfs:subClassOf* :Animal }")
        assert len(engine.publish("d", [("rex", "a", "Dog")])) == 1


def test_a_route_from_frames_and_files(tmp_path: Path) -> None:
    nodes, edges = pd.DataFrame({"node_id": ["P", "A"]}), pd.DataFrame({"source": ["P"], "target": ["A"]})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    for given in (nodes, tmp_path / "nodes.csv", [tmp_path / "nodes.csv"]):
        route = Route(given, edges)
        events = tmp_path / "events.json"
        events.write_text('{"event_id": "e", "publisher": "P", "attributes": {}}\n')
        assert [n.subscription_id for n in route.publish(events)] == ["A"]
