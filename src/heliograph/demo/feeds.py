"""Feed alerts with a class taxonomy, after [G] figures 5 and 6: who hears of which paper, and why."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.demo import DATA
from heliograph.demo.stage import Column, Stage
from heliograph.feeds import read_documents
from heliograph.filter import Filter
from heliograph.model import Notification, Notifications
from heliograph.publications import Publications, Triples
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, find_sources

FOLDER = DATA / "feeds"

TAXONOMY = """
Publication
├── Journal ── TKDE
├── Conference Proceedings ── SIGMOD · VLDB · WWW
│                              └── Arno's Paper #17
└── Technical Report    (a Department Publication as well)
"""

PAPER = """
Arno's Paper #17 ── author ──▶ "Arno Jacobsen"
   ├── title ──▶ "Very Fast…"
   └── conference ──▶ SIGMOD ── year ──▶ 2001
                         └── location ──▶ "Some Location"
"""

CODE = """
heliograph filter --subscriptions queries --publications documents \\
    --taxonomy taxonomy.csv --bindings 1
"""


def tell(stage: Stage) -> None:
    """The story; everything shown is computed from the shipped files."""
    stage.title(1, "filter", "Which standing queries does each arriving document match?")
    stage.say("Four readers left a query each. Two papers (TriG) and a library's RSS feed arrive. One of the papers:")
    stage.picture(PAPER)
    stage.say("Classes stand in a taxonomy, so a query for a Publication finds it through SIGMOD:")
    stage.picture(TAXONOMY)
    engine = Filter(taxonomy=FOLDER / "taxonomy.csv")
    engine.subscribe([(path.stem, path.read_text()) for path in sorted((FOLDER / "queries").glob("*.rq"))])
    stage.table("The queries", [Column("subscription", "cyan", True), Column("asks for")], list(_queries()))
    stage.code("sh", CODE)
    batches = list(_documents(engine))
    found = [engine.publish(batch, bindings=1) for batch in batches]
    stage.table("What each document set off", _COLUMNS, list(_rows(batches, found)))
    _explain(stage, engine, batches)


_COLUMNS = [Column("publication", "magenta"), Column("notifies", "cyan", True), Column("because")]


def _queries() -> Iterator[tuple[str, str]]:
    """Each query by the comment that opens its file."""
    for path in sorted((FOLDER / "queries").glob("*.rq")):
        yield path.stem, path.read_text().splitlines()[0].removeprefix("# ")


def _documents(engine: Filter) -> Iterator[Publications]:
    sources = find_sources(FOLDER / "documents", DOCUMENT_SUFFIXES + FEED_SUFFIXES)
    for documents in read_documents(sources, engine.vocabulary.overlay()):
        yield documents.publications


def _rows(batches: list[Publications], found: list[Notifications]) -> Iterator[tuple[str, str, str]]:
    for batch, notifications in zip(batches, found, strict=True):
        for publication_id in batch.ids:
            hits = [hit for hit in notifications if hit.publication_id == publication_id]
            for number, hit in enumerate(hits):
                yield "" if number else publication_id, hit.subscription_id, _because(hit)
            if not hits:
                yield publication_id, "nobody", ""


def _because(hit: Notification) -> str:
    return ", ".join(f"{name} = {value}" for name, value in hit.proof["bindings"][0].items())


def _explain(stage: Stage, engine: Filter, batches: list[Publications]) -> None:
    for batch in batches:
        for number, publication_id in enumerate(batch.ids):
            if publication_id.endswith("paper-18"):
                explanation = engine.explain("by-arno", _only(batch, number))
                stage.why_not(f"by-arno did not hear of {publication_id}", explanation)


def _only(batch: Publications, number: int) -> Publications:
    start, end = batch.offsets[number], batch.offsets[number + 1]
    triples = Triples(*(column[start:end] for column in batch.triples))
    return batch._replace(ids=(batch.ids[number],), offsets=batch.offsets[number : number + 2] - start, triples=triples)
