"""Small inputs in every file kind, all of which say the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

Rows = list[dict[str, Any]]

SUBSCRIPTIONS: Rows = [
    {"subscription_id": "friends", "query": "SELECT ?x ?y { ?x :knows ?y }"},
    {"subscription_id": "adults", "query": "ASK { ?x :age ?a FILTER(?a >= 18) }"},
]
PUBLICATIONS: Rows = [
    {"publication_id": "p1", "subject": "Ann", "property": "knows", "object": "Bob"},
    {"publication_id": "p2", "subject": "Cid", "property": "age", "object": "17"},
    {"publication_id": "p1", "subject": "Ann", "property": "age", "object": "30"},
    {"publication_id": "p3", "subject": "Dee", "property": "age", "object": "18"},
]
MATCHES = [("friends", "p1"), ("adults", "p1"), ("adults", "p3")]

PATTERNS: Rows = [
    {"subscription_id": "friends", "subject": "?x", "property": "knows", "object": "?y"},
    {"subscription_id": "adults", "subject": "?x", "property": "age", "object": "?a"},
]
CONSTRAINTS: Rows = [{"subscription_id": "adults", "variable": "?a", "operator": ">=", "value": "18"}]

UPDATES: Rows = [
    {"op": "+", "subject": "Ann", "property": "knows", "object": "Bob"},
    {"op": "+", "subject": "Ann", "property": "age", "object": "30"},
    {"op": "-", "subject": "Ann", "property": "knows", "object": "Bob"},
]
NODES: Rows = [
    {"node_id": "Pub", "targeting": None},
    {"node_id": "Net", "targeting": "age > 30"},
    {"node_id": "Adv", "targeting": "topic = 'Sports'"},
    {"node_id": "Ad2", "targeting": None},
]
EDGES: Rows = [
    {"source": "Pub", "target": "Net", "cost": 1.0},
    {"source": "Net", "target": "Adv", "cost": 2.0},
    {"source": "Pub", "target": "Ad2", "cost": 0.5},
]
EVENTS: Rows = [
    {"event_id": "e1", "publisher": "Pub", "attributes": '{"topic": "Sports", "age": 35}'},
    {"event_id": "e2", "publisher": "Pub", "attributes": '{"topic": "Sports", "age": 20}'},
]

TABLE_KINDS = ("parquet", "csv", "ndjson", "jsonl")

DOCUMENTS = {
    "ttl": "@prefix : <urn:heliograph:> . :Ann :knows :Bob ; :age 30 .",
    "nt": (
        "<urn:heliograph:Ann> <urn:heliograph:knows> <urn:heliograph:Bob> .\n"
        '<urn:heliograph:Ann> <urn:heliograph:age> "30"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    ),
    "nq": (
        "<urn:heliograph:Ann> <urn:heliograph:knows> <urn:heliograph:Bob> <http://example.org/g> .\n"
        '<urn:heliograph:Ann> <urn:heliograph:age> "30"^^<http://www.w3.org/2001/XMLSchema#integer> '
        "<http://example.org/g> .\n"
    ),
    "trig": "@prefix : <urn:heliograph:> . <http://example.org/g> { :Ann :knows :Bob ; :age 30 . }",
    "rdf": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:p="urn:heliograph:">'
        '<rdf:Description rdf:about="urn:heliograph:Ann"><p:knows rdf:resource="urn:heliograph:Bob"/>'
        '<p:age rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">30</p:age></rdf:Description></rdf:RDF>'
    ),
    "jsonld": json.dumps(
        {
            "@id": "urn:heliograph:Ann",
            "urn:heliograph:knows": {"@id": "urn:heliograph:Bob"},
            "urn:heliograph:age": 30,
        }
    ),
}
GRAPH_ID = "http://example.org/g"

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://example.org/</link>
<item><title>All about graphs</title><guid>http://example.org/1</guid></item>
<item><title>Weather</title><guid>http://example.org/2</guid></item></channel></rss>"""
ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>http://example.org/</id>
<updated>2026-01-01T00:00:00Z</updated>
<entry><title>All about graphs</title><id>http://example.org/1</id><updated>2026-01-01T00:00:00Z</updated></entry>
<entry><title>Weather</title><id>http://example.org/2</id><updated>2026-01-01T00:00:00Z</updated></entry></feed>"""
FEEDS = {"rss": RSS, "xml": RSS, "atom": ATOM}
FEED_QUERY = 'SELECT ?item { ?item rss:title ?t FILTER(CONTAINS(?t, "graph")) }'


def save(rows: Sequence[dict[str, Any]], name: str) -> str:
    """Writes a table; the suffix decides how."""
    table = pa.Table.from_pylist(list(rows))
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".parquet":
            parquet.write_table(table, name)
        case ".csv":
            csv.write_csv(table, name)
        case _:
            path.write_text(ndjson(rows))
    return name


def ndjson(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
