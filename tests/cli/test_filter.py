"""`heliograph filter` on every file kind, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heliograph.io.sources import find_sources
from heliograph.io.tables import read_all
from heliograph.model import STATS_KEYS
from tests.cli.conftest import Run, write
from tests.cli.files import (
    CONSTRAINTS,
    DOCUMENTS,
    FEED_QUERY,
    FEEDS,
    GRAPH_ID,
    MATCHES,
    PATTERNS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    TABLE_KINDS,
    ndjson,
    save,
)


@pytest.fixture
def subscriptions() -> str:
    return save(SUBSCRIPTIONS, "subscriptions.csv")


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_tables(run: Run, kind: str) -> None:
    subscriptions = save(SUBSCRIPTIONS, f"s.{kind}")
    found = run("filter", "--subscriptions", subscriptions, "--publications", save(PUBLICATIONS, f"p.{kind}"))
    assert (found.code, found.err, found.pairs) == (0, "", MATCHES)
    assert found.rows[0] == {
        "subscription_id": "friends",
        "subscriber": None,
        "publication_id": "p1",
        "verb": "filter",
        "change": "+",
        "at": None,
        "evidence": None,
    }


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_patterns_and_constraints(run: Run, kind: str) -> None:
    patterns, constraints = save(PATTERNS, f"patterns.{kind}"), save(CONSTRAINTS, f"constraints.{kind}")
    publications = save(PUBLICATIONS, f"p.{kind}")
    found = run("filter", "--patterns", patterns, "--constraints", constraints, "--publications", publications)
    assert (found.code, found.pairs) == (0, MATCHES)
    loose = run("filter", "--patterns", patterns, "--publications", publications)
    assert loose.pairs == [("friends", "p1"), ("adults", "p1"), ("adults", "p2"), ("adults", "p3")]


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents(run: Run, subscriptions: str, kind: str) -> None:
    name = write(f"doc.{kind}", DOCUMENTS[kind])
    found = run("filter", "--subscriptions", subscriptions, "--publications", name)
    expected = GRAPH_ID if kind in ("nq", "trig") else name
    assert (found.code, found.err, found.pairs) == (0, "", [("friends", expected), ("adults", expected)])


@pytest.mark.parametrize("kind", FEEDS)
def test_feeds(run: Run, kind: str) -> None:
    write("graphs.rq", FEED_QUERY)
    found = run("filter", "--subscriptions", "graphs.rq", "--publications", write(f"feed.{kind}", FEEDS[kind]))
    assert (found.code, found.err, found.pairs) == (0, "", [("graphs", "http://example.org/1")])


def test_a_publication_may_lie_in_documents_and_tables(run: Run) -> None:
    """Its place is that of its first triple, and blank nodes of two documents are two."""
    write("in/a.nq", "<urn:heliograph:A> <urn:heliograph:p> _:b <urn:g> .")
    write("in/b.nt", "<urn:heliograph:A> <urn:heliograph:p> <urn:heliograph:B> .")
    save([{"publication_id": "urn:g", "subject": "C", "property": "p", "object": "D"}], "in/c.csv")
    write("in/d.trig", "@prefix : <urn:heliograph:> . <urn:g> { :D :p :E , _:b }")
    path = save([{"subscription_id": "s", "query": "SELECT ?x ?y { ?x :p ?y }"}], "s.csv")
    found = run("filter", "-s", path, "-p", "in", "--bindings", "9")
    assert (found.code, found.pairs) == (0, [("s", "urn:g"), ("s", "b.nt")])
    bindings = found.rows[0]["evidence"]["bindings"]
    assert [row["x"] for row in bindings] == ["A", "C", "D", "D"]
    assert len({row["y"] for row in bindings}) == 4


def test_a_mixed_folder_is_read_in_the_order_of_its_names(run: Run, subscriptions: str) -> None:
    save(PUBLICATIONS[:2], "in/a.csv")
    write("in/b/doc.ttl", DOCUMENTS["ttl"])
    save(PUBLICATIONS[2:], "in/c.ndjson")
    found = run("filter", "--subscriptions", subscriptions, "--publications", "in")
    assert found.code == 0
    assert found.pairs == [*MATCHES[:2], ("friends", "b/doc.ttl"), ("adults", "b/doc.ttl"), MATCHES[2]]


def test_many_publications_are_published_in_batches(run: Run) -> None:
    rows = [{**PUBLICATIONS[0], "publication_id": f"p{number}"} for number in range(2500)]
    found = run("filter", "--subscriptions", save(SUBSCRIPTIONS, "s.csv"), "--publications", save(rows, "p.parquet"))
    assert found.pairs == [("friends", f"p{number}") for number in range(2500)]


def test_a_folder_of_query_files(run: Run) -> None:
    write("q/friends.rq", SUBSCRIPTIONS[0]["query"])
    write("q/deep/er/adults.rq", "# adults\n" + SUBSCRIPTIONS[1]["query"])
    publications = save(PUBLICATIONS, "p.csv")
    for spec, names in (("q", ("friends", "deep/er/adults")), ("q/**/*.rq", ("friends", "deep/er/adults"))):
        found = run("filter", "--subscriptions", spec, "--publications", publications)
        assert {pair[0] for pair in found.pairs} == set(names)
    alone = run("filter", "--subscriptions", "q/deep/er/adults.rq", "--publications", publications)
    assert {pair[0] for pair in alone.pairs} == {"adults"}


def test_queries_as_text_and_in_tables_together(run: Run) -> None:
    write("q/friends.rq", SUBSCRIPTIONS[0]["query"])
    save(SUBSCRIPTIONS[1:], "q/more.csv")
    found = run("filter", "--subscriptions", "q", "--publications", save(PUBLICATIONS, "p.csv"))
    assert set(found.pairs) == set(MATCHES)


def test_a_change_of_id_ends_a_publication_on_a_pipe(run: Run) -> None:
    query = write("both.rq", "ASK { ?x :knows ?y ; :age ?a }")
    apart = ndjson([PUBLICATIONS[0], PUBLICATIONS[1], PUBLICATIONS[2]])
    together = ndjson([PUBLICATIONS[0], PUBLICATIONS[2], PUBLICATIONS[1]])
    assert run("filter", "--subscriptions", query, "--publications", "-", input=apart).pairs == []
    assert run("filter", "--subscriptions", query, "--publications", "-", input=together).pairs == [("both", "p1")]


def test_subscriptions_on_a_pipe(run: Run) -> None:
    found = run("filter", "-s", "-", "-p", save(PUBLICATIONS, "p.csv"), input=ndjson(SUBSCRIPTIONS))
    assert found.pairs == MATCHES


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_out(run: Run, subscriptions: str, kind: str) -> None:
    publications = save(PUBLICATIONS, "p.csv")
    found = run("filter", "-s", subscriptions, "-p", publications, "--out", f"n.{kind}", "--bindings", "1")
    assert (found.code, found.out) == (0, "")
    table = read_all("notifications", find_sources(f"n.{kind}")).table
    assert list(zip(table["subscription_id"].to_pylist(), table["publication_id"].to_pylist(), strict=True)) == MATCHES


def test_stats_begin_with_the_keys_of_the_contract(run: Run, subscriptions: str) -> None:
    run("filter", "-s", subscriptions, "-p", save(PUBLICATIONS, "p.csv"), "--stats", "s.json", "--bindings", "0")
    stats = json.loads(Path("s.json").read_text())
    contract = "subscriptions publications notifications candidates verified rejected complete truncated"
    assert tuple(stats) == (*STATS_KEYS, "slow")
    assert list(stats)[:11] == [*contract.split(), "load_ns", "parse_ns", "match_ns"]
    counts = {key: stats[key] for key in ("subscriptions", "publications", "notifications", "rejected")}
    assert counts == {"subscriptions": 2, "publications": 3, "notifications": 3, "rejected": 0}
    assert stats["complete"] is True
    assert stats["candidates"] >= stats["notifications"]
    assert min(stats["load_ns"], stats["parse_ns"], stats["match_ns"]) > 0


def test_stats_without_publications_still_count_subscriptions(run: Run, subscriptions: str) -> None:
    run("filter", "-s", subscriptions, "-p", "-", "--stats", "s.json", input="")
    assert json.loads(Path("s.json").read_text())["subscriptions"] == 2


def test_taxonomy_as_a_table(run: Run) -> None:
    query = write("any.rq", "ASK { ?x a/rdfs:subClassOf* :Publication ; :year ?y }")
    save([{"child": "Journal", "parent": "Publication"}, {"child": "P17", "parent": "Journal"}], "t.csv")
    publications = save([{"publication_id": "p", "subject": "P17", "property": "year", "object": "2001"}], "p.csv")
    assert run("filter", "-s", query, "-p", publications).pairs == []
    assert run("filter", "-s", query, "-p", publications, "--taxonomy", "t.csv").pairs == [("any", "p")]


def test_taxonomy_as_a_document(run: Run) -> None:
    query = write("any.rq", "ASK { ?x a/rdfs:subClassOf* :Publication ; :year ?y }")
    write(
        "t.ttl",
        "@prefix : <urn:heliograph:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        ":Journal rdfs:subClassOf :Publication ; rdfs:label 'Journal' . :P17 a :Journal .",
    )
    publications = save([{"publication_id": "p", "subject": "P17", "property": "year", "object": "2001"}], "p.csv")
    assert run("filter", "-s", query, "-p", publications, "--taxonomy", "t.ttl").pairs == [("any", "p")]


def test_a_cycle_in_the_taxonomy_is_reported_by_name_and_once(run: Run, subscriptions: str) -> None:
    save([{"child": "A", "parent": "B"}, {"child": "B", "parent": "A"}], "t.csv")
    found = run("filter", "-s", subscriptions, "-p", save(PUBLICATIONS, "p.csv"), "-t", "t.csv")
    assert (found.code, found.pairs) == (3, MATCHES)
    assert len(found.refused) == 1
    assert found.refused[0]["source"] == "t.csv"


def test_prefixes(run: Run) -> None:
    rows = [{"publication_id": "p", "subject": "ex:Ann", "property": "ex:knows", "object": "ex:Bob"}]
    query, publications = write("q.rq", "ASK { ex:Ann ex:knows ?x }"), save(rows, "p.csv")
    assert run("filter", "-s", query, "-p", publications).code == 1  # no subscription was accepted
    found = run("filter", "-s", query, "-p", publications, "--prefix", "ex=http://example.org/")
    assert (found.code, found.pairs) == (0, [("q", "p")])


def test_algorithms_agree(run: Run, subscriptions: str) -> None:
    publications = save(PUBLICATIONS, "p.csv")
    assert run("filter", "-s", subscriptions, "-p", publications, "--algorithm", "naive").pairs == MATCHES
    assert run("filter", "-s", subscriptions, "-p", publications, "--algorithm", "guess").code == 2
