"""The filter on Spark tells what the embedded filter tells: every semantics case at once, however it is divided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heliograph import Filter
from heliograph.errors import HeliographError, UsageError
from heliograph.io.documents import read_documents
from heliograph.io.sources import Source
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.vocabulary import Vocabulary
from tests.cli.files import ATOM, DOCUMENTS, FEED_QUERY, RSS
from tests.filter.schemes import SCHEMES
from tests.spark.compare import expected, frame, table, told
from tests.sparql.cases import read_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = read_cases()
SUBSCRIPTIONS = [(str(number), case.subscription) for number, case in enumerate(CASES)]
TAXONOMY = [("Cat", "Animal"), ("Dog", "Animal"), ("Animal", "Thing")]
PUBLICATIONS = [
    *((f"p{number}", *row) for number, case in enumerate(CASES) for row in case.triples),
    ("p1", "A", "knows", "unheard:of"),
    ("bad", "A", "5", "B"),
    (None, "A", "knows", "B"),
]


@pytest.mark.parametrize("scheme", [None, *SCHEMES])
def test_the_notifications_are_the_embedded_ones(spark: SparkSession, scheme: str | None) -> None:
    from heliograph.spark import filter

    division: dict[str, Any] = {} if scheme is None else SCHEMES[scheme]
    engine = Filter(TAXONOMY)
    receipt = engine.subscribe(SUBSCRIPTIONS)
    wanted, refused = expected(engine.publish(table("publications", PUBLICATIONS), bindings=2), receipt.rejected)
    found = filter(frame(spark, "publications", PUBLICATIONS), SUBSCRIPTIONS, taxonomy=TAXONOMY, bindings=2, **division)
    assert found.columns == [*NOTIFICATIONS_SCHEMA.names, "rejected"]
    notified, rejected = told(found)
    assert notified == wanted
    assert {(code, message) for _, code, message in rejected} == {(code, message) for _, code, message in refused}
    assert rejected.total() == refused.total()


def test_documents_and_feeds_are_parsed_by_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import filter

    texts = {f"{name}.{name}": text for name, text in DOCUMENTS.items()} | {"f.rss": RSS, "g.atom": ATOM, "x.ttl": "<"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    subscriptions = [("friends", "SELECT ?x ?y { ?x :knows ?y }"), ("graphs", FEED_QUERY)]
    engine = Filter()
    engine.subscribe(subscriptions)
    sources = [Source(tmp_path / name, f"{tmp_path}/{name}") for name in texts]
    documents = next(read_documents(sources, Vocabulary()))
    wanted, refused = expected(engine.publish(documents.publications), documents.rejected)
    rows = [(f"{tmp_path}/{name}", text.encode()) for name, text in texts.items()]
    given = spark.createDataFrame(rows, "path string, content binary")
    notified, rejected = told(filter(given, subscriptions))
    assert notified == wanted
    assert rejected == refused


def test_blank_nodes_of_two_documents_stay_apart(spark: SparkSession) -> None:
    from heliograph.spark import filter

    quads = [("a.nq", b"_:b <urn:heliograph:p> <urn:heliograph:x> <http://g> .")]
    quads += [("b.nq", b"_:b <urn:heliograph:q> <urn:heliograph:y> <http://g> .")]
    documents = spark.createDataFrame(quads, "path string, content binary")
    queries = [("one", "ASK { ?b :p :x ; :q :y }"), ("two", "ASK { ?b :p :x . ?c :q :y }")]
    notified, _ = told(filter(documents, queries))
    assert [row[0] for row in notified] == ["two"]


def test_interests_come_as_dataframes_and_as_pattern_tables(spark: SparkSession) -> None:
    from heliograph.spark import filter

    publications = frame(spark, "publications", [("p", "A", "knows", "B"), ("q", "A", "age", "20")])
    queries = spark.createDataFrame([("friends", "ASK { ?x :knows ?y }")], "subscription_id string, query string")
    patterns = [{"subscription_id": "adult", "subject": "?x", "property": "age", "object": "?a"}]
    limits = [{"subscription_id": "adult", "variable": "?a", "operator": ">=", "value": "18"}]
    assert [row[0] for row in told(filter(publications, queries))[0]] == ["friends"]
    found, _ = told(filter(publications, patterns=patterns, constraints=limits, shards=2))
    assert [row[0] for row in found] == ["adult"]


def test_wrong_calls_are_told_at_once(spark: SparkSession) -> None:
    from heliograph.spark import filter

    nothing = spark.createDataFrame([("p",)], "publication_id string")
    with pytest.raises(HeliographError, match="without 'subject'"):
        filter(nothing, [("s", "ASK { ?x ?y ?z }")])
    rows = frame(spark, "publications", [("p", "A", "knows", "B")])
    with pytest.raises(UsageError, match="bindings"):
        filter(rows, [("s", "ASK { ?x ?y ?z }")], bindings=-1)
    with pytest.raises(UsageError, match="partitioning"):
        filter(rows, [("s", "ASK { ?x ?y ?z }")], partition="luck")
