"""Each verb on Spark reports what the embedded engine reports, wherever the rows lie and however they are divided."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from heliograph import Filter, Route
from heliograph.errors import HeliographError
from heliograph.io.documents import read_documents
from heliograph.io.sources import Source
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.spark.frames import parted, spell_rows
from heliograph.spark.route_job import Exchanges
from heliograph.vocabulary import Vocabulary
from heliograph.workloads.filter import generate_filter
from heliograph.workloads.route import generate_route
from heliograph.workloads.watch import generate_watch
from tests.cli.files import ATOM, DOCUMENTS, EDGES, FEED_QUERY, NODES, RSS
from tests.filter.schemes import SCHEMES
from tests.spark.compare import embedded, expected, frame, on_spark, table, told
from tests.sparql.cases import read_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# --- what is published, and to whom -------------------------------------------------------------------------------

CASES = read_cases()
SUBSCRIPTIONS = [(str(number), case.subscription) for number, case in enumerate(CASES)]
TAXONOMY = [("Cat", "Animal"), ("Dog", "Animal"), ("Animal", "Thing")]
PUBLICATIONS = [
    *((f"p{number}", *row) for number, case in enumerate(CASES) for row in case.triples),
    ("p1", "A", "knows", "unheard:of"),
    ("bad", "A", "5", "B"),
    (None, "A", "knows", "B"),
]
EVENTS = [
    *((f"e{age}", "Pub", f'{{"topic": "{topic}", "age": {age}}}') for age, topic in enumerate(["Sports", "Arts"] * 30)),
    ("unknown", "Nobody", "{}"),
    ("no publisher", None, "{}"),
    ("no object", "Pub", "[1]"),
]
QUERIES: list[dict[str, Any]] = [
    {"subscription_id": "triangle", "query": "SELECT * { ?x :knows ?y . ?y :knows ?z . ?z :knows ?x }"},
    {"subscription_id": "old", "query": "ASK { ?x :age ?a FILTER(?a > 50) }"},
    {"subscription_id": "many", "query": "SELECT (COUNT(*) AS ?n) WHERE { ?x :knows ?y } HAVING (COUNT(*) >= 20)"},
    {"subscription_id": "now", "query": "SELECT ?x { ?x :age ?a }", "options": '{"initial": true}'},
    *(
        {
            "subscription_id": f"top {who}",
            "query": f"SELECT ?y {{ :v{who} :knows ?y }}",
            "options": '{"top_k_of": {"set": "busy", "k": 2}}',
        }
        for who in range(5)
    ),
]
GRAPH = [("v1", "age", "40"), ("v2", "knows", "v3")]
ODD_CELLS: tuple[str | None, ...] = (
    *(None, "", "   ", "\x00", "a\x00b", "\n", "\ufeff", "\u202e", "\U0010ffff", "e\u0301", "é", "😀"),
    *("_:", "_:b", "_:b c", "<", "<>", "<urn:x>", "<urn:x y>", "a:b", "http://example.org/y", "%zz", "?x", "{}"),
    *('"', '"a', '"a"@', '"a"@en', '"a"^^', '"5"^^xsd:integer', '"x"^^xsd:integer', '"\\u0041"', '"\\ud800"'),
    *("1e400", "-0", "0x10", "NaN", "INF", "true", "9" * 400, "z" * 20_000),
)
"""Cells of triples: blanks and control signs, halves of terms, numbers at the limits, and what is very long."""

ODD_EVENTS: tuple[tuple[str | None, str | None, str | None], ...] = (
    *((id, "Pub", '{"age": 31}') for id in (None, "", " ", "\x00", "😀", "e" * 20_000)),
    *((f"from {who!r}", who, "{}") for who in (None, "", " Pub", "pub", "Nobody", "Adv")),
    *(
        (f"{number} with attributes", "Pub", text)
        for number, text in enumerate(
            (
                *(None, "", " ", "null", "[]", "1", '"x"', "{", "{}", '{"age": 31', "{'age': 31}", '{"age": NaN}'),
                *('{"age": 1e400}', '{"age": 31, "age": 1}', '{"age": "31"}', '{"age": [1, 31]}', '{"age": {"x": 1}}'),
                *(
                    '{"age": 31, "topic": "Sports"}',
                    '{"topic": "\\ud800"}',
                    '{"": 1}',
                    '{"age": true}',
                    '{"age": null}',
                ),
                *('{"age": ' + "9" * 400 + "}", '{"a": ' * 200 + "1" + "}" * 200, '{"age":31}\x00'),
            )
        )
    ),
)
"""Events without id, publisher or attributes, and with attributes that are no JSON, or odd JSON."""
MANY: dict[str, Any] = {"shards": 40, "partition": "hash"}  # more shards than subscriptions


def drawn(count: int, seed: int = 1) -> list[tuple[Any, ...]]:
    """So many updates among nine vertices, in order."""
    draw = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for seq in range(1, count + 1):
        who, whom = (f"v{draw.randrange(9)}" for _ in "ab")
        if seq % 7 == 0:
            rows.append((seq, "=", who, "age", str(draw.randrange(70))))
        else:
            rows.append((seq, draw.choice("++-"), who, "knows", whom))
    return rows


MOMENT = datetime(2026, 1, 2, 3, 4, 5, 600_000)
CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "doubles": (pa.float64(), [5.0, 1e300, float("nan"), float("inf"), -0.0, 0.1, 1e7, None]),
    "floats": (pa.float32(), [0.1, 5.5, None]),
    "whole numbers": (pa.int8(), [5, -3, None]),
    "decimals": (pa.decimal128(10, 2), [Decimal("1.50"), None]),
    "truth values": (pa.bool_(), [True, False, None]),
    "dates": (pa.date32(), [date(2026, 1, 2), date(1, 1, 1), None]),
    "times": (pa.timestamp("us", tz="UTC"), [MOMENT.replace(tzinfo=UTC), None]),
    "times without zone": (pa.timestamp("us"), [MOMENT, None]),  # to which Spark gives the zone of its session
    "lists": (pa.list_(pa.string()), [["a"], [], None]),
    "structs": (pa.struct([("a", pa.string())]), [{"a": "x"}, None]),
}
AGES = [("all", "SELECT ?z { ?x :age ?z }"), ("more", "ASK { ?x :age ?a FILTER(?a > 5) }")]


def odd(usual: tuple[str, ...]) -> Iterator[tuple[str | None, ...]]:
    """Rows with an odd cell in each place."""
    for cell in ODD_CELLS:
        yield from ((*usual[:place], cell, *usual[place + 1 :]) for place in range(len(usual)))


# --- one body -----------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """What both are given, in the order in which the embedded engine takes it; Spark gets `sharding` as well."""

    verb: str
    items: pa.Table
    interests: Any
    options: dict[str, Any]
    sharding: dict[str, Any]


def semantics(scheme: str | None) -> Case:
    options = {"taxonomy": TAXONOMY, "bindings": 2}
    return Case("filter", table("publications", PUBLICATIONS), SUBSCRIPTIONS, options, SCHEMES.get(scheme or "", {}))


def routed(shards: int | None, **options: Any) -> Case:
    return Case("route", table("events", EVENTS), (NODES, EDGES), options, {"shards": shards})


def watched(shards: int, **options: Any) -> Case:
    rows = sorted([*drawn(300), (301, "?", "a", "knows", "b"), (300, "+", "a", "knows", "b")])
    queries = [*QUERIES, ("bad", "SELECT")]
    return Case("watch", table("updates", rows), queries, {"graph": GRAPH, **options}, {"shards": shards})


def filter_workload(seed: int, scheme: str | None) -> Case:
    tables = generate_filter(seed, subscriptions=300, publications=60)
    interests = {name: tables[name] for name in ("patterns", "constraints")}
    return Case("filter", tables["publications"], interests, {"bindings": 3}, SCHEMES.get(scheme or "", {}))


def route_workload(seed: int) -> Case:
    tables = generate_route(seed, scale=0.01, events=60)
    return Case("route", tables["events"], (tables["nodes"], tables["edges"]), {"paths": True}, {})


def watch_workload(seed: int) -> Case:
    tables = generate_watch(seed, queries=60, updates=400)
    return Case("watch", tables["updates"], tables["subscriptions"], {}, {"shards": 3})


def odd_publications(**sharding: Any) -> Case:
    queries = [("all", "SELECT * { ?x ?y ?z }"), ("known", "ASK { ?x :knows :o }"), ("bad", "ASK")]
    rows = [(str(number), *row) for number, row in enumerate(odd(("s", "knows", "o")))]
    return Case("filter", table("publications", rows), queries, {"bindings": 1}, sharding)


def odd_events() -> Case:
    return Case("route", table("events", ODD_EVENTS), (NODES, EDGES), {}, {})


def odd_updates(shards: int) -> Case:
    queries = [("all", "SELECT * { ?x :knows ?y }"), ("one", "ASK { :s :knows :o }"), ("bad", "ASK")]
    rows = [(seq, *row) for seq, row in enumerate(odd(("+", "s", "knows", "o")), 1)]
    return Case("watch", table("updates", rows), queries, {}, {"shards": shards})


def typed_objects(kind: str) -> Case:
    """A publication for each cell of a kind."""
    type, cells = CELLS[kind]
    rows = {"publication_id": [f"p{number}" for number in range(len(cells))], "object": pa.array(cells, type)}
    items = pa.table({**rows, "subject": ["s"] * len(cells), "property": ["age"] * len(cells)})
    return Case("filter", items, AGES, {"bindings": 1}, {})


def typed_events() -> Case:
    type = pa.struct([("topic", pa.string()), ("age", pa.float64())])
    attributes = pa.array([{"topic": "Sports", "age": 35.0}, {"topic": "Sports", "age": 20.0}, None], type)
    items = pa.table({"event_id": ["a", "b", "c"], "publisher": ["Pub"] * 3, "attributes": attributes})
    return Case("route", items, (NODES, EDGES), {}, {})


def typed_updates() -> Case:
    """Seqs that are doubles, and times that are dates."""
    whole = {"op": ["+"] * 3, "subject": ["a"] * 3, "property": ["age"] * 3, "object": pa.array([5.0, 6.0, 7.0])}
    items = pa.table({"seq": [1.0, 2.0, 3.0], **whole, "at": pa.array([date(2026, 1, day) for day in (1, 2, 3)])})
    return Case("watch", items, AGES, {}, {})


SHORT: dict[str, Callable[[], Case]] = {
    **{f"filter {scheme}": partial(semantics, scheme) for scheme in (None, *SCHEMES)},
    "route": partial(routed, None),
    "route ranked": partial(routed, None, rank="cost", limit=2),
    "route paths in shards": partial(routed, 3, paths=True),
    "route subscribers in shards": partial(routed, 2, subscribers_only=True),
    "watch": partial(watched, 1),
    "watch a window in shards": partial(watched, 3, window_updates=50, mode="change"),
    "events with structs": typed_events,
}
LONG: dict[str, Callable[[], Case]] = {
    **{
        f"filter workload {seed} {scheme}": partial(filter_workload, seed, scheme)
        for seed in (2, 7)
        for scheme in (None, *SCHEMES)
    },
    **{f"route workload {seed}": partial(route_workload, seed) for seed in (2, 7)},
    **{f"watch workload {seed}": partial(watch_workload, seed) for seed in (2, 7)},
    "odd publications": odd_publications,
    "odd publications in many shards": partial(odd_publications, **MANY),
    "odd events": odd_events,
    "odd updates": partial(odd_updates, 1),
    "odd updates in shards": partial(odd_updates, 3),
    "updates with doubles and dates": typed_updates,
    **{f"objects {kind}": partial(typed_objects, kind) for kind in CELLS if kind != "times without zone"},
}


@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(make, id=name) for name, make in SHORT.items()),
        *(pytest.param(make, id=name, marks=pytest.mark.long) for name, make in LONG.items()),
    ],
)
def test_it_reports_what_the_embedded_engine_reports(spark: SparkSession, make: Callable[[], Case]) -> None:
    verb, items, interests, options, sharding = make()
    places = random.Random(1).sample(range(len(items)), len(items))
    scattered = spark.createDataFrame(items.take(pa.array(places, pa.int64()))).repartition(3)
    notified, refused = on_spark(verb, scattered, interests, {**options, **sharding})
    wanted, unwanted = embedded(verb, items, interests, options)
    assert notified == wanted
    assert refused == unwanted


@pytest.mark.parametrize("kind", CELLS)
def test_rows_are_read_or_refused_as_the_embedded_reader_does(kind: str) -> None:
    """In the worker alone, so that it needs no Java."""
    table = typed_objects(kind).items
    rows, refused = parted(pa.Table.from_batches(list(spell_rows("publications", table.to_batches()))))
    engine = Filter()
    engine.subscribe(AGES)
    direct, read = engine.publish(table, bindings=1), engine.publish(rows, bindings=1)
    assert list(read) == list(direct)
    assert len(read.rejected) + len(refused) == len(direct.rejected)


# --- filter -------------------------------------------------------------------------------------------------------


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
    wanted = expected(engine.publish(documents.publications), documents.rejected)
    rows = [(f"{tmp_path}/{name}", text.encode()) for name, text in texts.items()]
    found = filter(spark.createDataFrame(rows, "path string, content binary"), subscriptions)
    assert found.columns == [*NOTIFICATIONS_SCHEMA.names, "rejected"]
    assert told(found) == wanted


def test_blank_nodes_of_two_documents_stay_apart(spark: SparkSession) -> None:
    from heliograph.spark import filter

    quads = [("a.nq", b"_:b <urn:heliograph:p> <urn:heliograph:x> <http://g> .")]
    quads += [("b.nq", b"_:b <urn:heliograph:q> <urn:heliograph:y> <http://g> .")]
    documents = spark.createDataFrame(quads, "path string, content binary")
    queries = [("one", "ASK { ?b :p :x ; :q :y }"), ("two", "ASK { ?b :p :x . ?c :q :y }")]
    notified, _ = told(filter(documents, queries))
    assert [row[0] for row in notified] == ["two"]


def test_items_of_different_files_are_never_merged(spark: SparkSession, tmp_path: Path) -> None:
    from heliograph.spark import filter, read

    def rss(link: str, *items: tuple[str, str]) -> str:
        written = "".join(f"<item><guid>{guid}</guid><title>{title}</title></item>" for guid, title in items)
        return f"<rss><channel><link>{link}</link>{written}</channel></rss>"

    one, two = ("http://e.org/1", "old"), ("http://e.org/1", "new")
    texts = {
        "a.rss": rss("http://a.org/", one, ("7", "x"), ("http://e.org/2", "same")),
        "b.rss": rss("http://a.org/", two, ("http://e.org/2", "same")),
        "c.rss": rss("http://c.org/", ("7", "y"), ("http://e.org/1", "newer"), ("http://e.org/1#2", "taken")),
        "d.trig": '<http://e.org/3> { <http://e.org/3> rss:title "graph" }'.replace(
            "rss:title", "<http://purl.org/rss/1.0/title>"
        ),
        "e.trig": '<http://e.org/3> { <http://e.org/4> <http://purl.org/rss/1.0/title> "more" }',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    queries = [("titles", "SELECT ?t { ?i rss:title ?t }")]
    engine = Filter()
    engine.subscribe(queries)

    def titles(rows: Any) -> list[list[str]]:
        return sorted(sorted(binding["t"] for binding in json.loads(row)["bindings"]) for row in rows)

    direct = engine.publish(str(tmp_path), bindings=10)
    wanted = titles(n.evidence for n in direct)
    assert wanted.count(['"same"']) == 1
    found = filter(read(spark, "publications", str(tmp_path)), queries, bindings=10).collect()
    assert titles(row.evidence for row in found) == wanted
    named = {row.publication_id: titles([row.evidence])[0] for row in found}
    assert (named["http://e.org/1"], named["http://c.org/#7"]) == (['"old"'], ['"y"'])
    assert {"http://e.org/1#2", "http://e.org/1#3"} <= set(named)  # an own id `id#2` may be met in another task
    rows = [(f"{tmp_path}/{name}", text.encode()) for name, text in texts.items()]
    parsed = filter(spark.createDataFrame(rows, "path string, content binary"), queries, bindings=10).collect()
    assert titles(row.evidence for row in parsed) == wanted


def test_interests_come_as_dataframes_and_as_pattern_tables(spark: SparkSession) -> None:
    from heliograph.spark import filter

    publications = frame(spark, "publications", [("p", "A", "knows", "B"), ("q", "A", "age", "20")])
    queries = spark.createDataFrame([("friends", "ASK { ?x :knows ?y }")], "subscription_id string, query string")
    patterns = [{"subscription_id": "adult", "subject": "?x", "property": "age", "object": "?a"}]
    limits = [{"subscription_id": "adult", "variable": "?a", "operator": ">=", "value": "18"}]
    assert [row[0] for row in told(filter(publications, queries))[0]] == ["friends"]
    found, _ = told(filter(publications, patterns=patterns, constraints=limits, shards=2))
    assert [row[0] for row in found] == ["adult"]


# --- route --------------------------------------------------------------------------------------------------------


def test_an_event_that_comes_twice_is_refused_once(spark: SparkSession) -> None:
    """However many others there are: they are all routed."""
    from heliograph.spark import route

    rows = [("e", "Pub", "{}"), ("e", "Pub", "{}"), *((f"f{number}", "Pub", "{}") for number in range(9000))]
    notified, rejected = told(route(frame(spark, "events", rows), NODES, EDGES))
    assert {row[2] for row in notified} == {id for id, *_ in rows}
    assert [(item, code) for item, code, _ in rejected] == [("e", "HG-641")]


def test_the_exchange_comes_as_dataframes_and_what_is_refused_of_it_is_reported(spark: SparkSession) -> None:
    from heliograph.spark import route

    nodes = spark.createDataFrame([("Pub", None), ("Bad", "age >")], "node_id string, targeting string")
    edges = spark.createDataFrame([("Pub", "Ad2")], "source string, target string")
    notified, rejected = told(route(frame(spark, "events", [("e", "Pub", "{}")]), nodes, edges))
    assert [row[0] for row in notified] == ["Ad2"]
    assert [(item, code[:4]) for item, code, _ in rejected] == [("Bad", "HG-4")]


def test_a_folder_of_versions_is_divided_when_that_is_wanted(tmp_path: Path) -> None:
    first = Exchanges(tmp_path, NODES, EDGES)
    assert first.versions.numbers() == [1]
    for _ in range(2):
        assert Exchanges(tmp_path, shards=2).versions.numbers() == [1, 2]
    shares = [f"version-00000002-share-{number}-of-2" for number in range(2)]
    assert sorted(path.name for path in tmp_path.glob("*-share-*")) == shares
    with first.together():
        first.change(nodes=[("Ad9", None)])
        first.change(edges=[("Pub", "Ad9")])
    assert first.versions.numbers() == [1, 2, 3]
    assert Route.load(first.versions.path(3)).stats().subscriptions == first.size


# --- watch --------------------------------------------------------------------------------------------------------


def test_what_holds_at_the_start_is_reported_without_any_update(spark: SparkSession) -> None:
    from heliograph.spark import watch

    updates = frame(spark, "updates", []).drop("seq")
    notified, _ = told(watch(updates, QUERIES[3:4], graph=GRAPH))
    assert [row[:3] for row in notified] == [("now", None, None)]


def test_updates_without_seq_are_taken_in_their_order(spark: SparkSession) -> None:
    from heliograph.spark import watch

    rows = [("+", "a", "knows", "b"), ("-", "a", "knows", "b"), ("+", "c", "age", "60")]
    updates = spark.createDataFrame(rows, "op string, subject string, property string, object string")
    notified, _ = told(watch(updates, [("pair", "SELECT * { ?x :knows ?y }"), ("old", QUERIES[1]["query"])]))
    assert sorted(row[2] + row[4] + row[0] for row in notified) == ["1+pair", "2-pair", "3+old"]


# --- wrong calls --------------------------------------------------------------------------------------------------

WRONG: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("filter", ["subject"], {}, "without 'subject'"),
    ("filter", [], {"bindings": -1}, "bindings"),
    ("filter", [], {"partition": "luck"}, "partitioning"),
    ("route", [], {"limit": -1}, "limit"),
    ("route", [], {"shards": 0}, "shards is 0"),
    ("route", [], {"shards": 2, "limit": 1}, "a limit with shards"),
    ("watch", [], {"shards": 0}, "shards is 0"),
]


def test_wrong_calls_are_reported_at_once(spark: SparkSession) -> None:
    names = {"filter": "publications", "route": "events", "watch": "updates"}
    rows: dict[str, list[Any]] = {"publications": PUBLICATIONS[:1], "events": EVENTS[:1], "updates": drawn(3)}
    for verb, lacking, options, message in WRONG:
        items = frame(spark, names[verb], rows[names[verb]]).drop(*lacking)
        with pytest.raises(HeliographError, match=message):
            on_spark(verb, items, (NODES, EDGES) if verb == "route" else [("s", "ASK { ?x ?y ?z }")], options)
