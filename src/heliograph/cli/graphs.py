"""What a watch starts from: triples out of tables, RDF documents, or both."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.cli.batches import Batch
from heliograph.cli.run import Intake
from heliograph.model import Rejections
from heliograph.tables.reader import read_table
from heliograph.tables.sources import DOCUMENT_SUFFIXES, TABLE_SUFFIXES, Source, find_sources
from heliograph.vocabulary import Vocabulary


def read_graph(spec: str, vocabulary: Vocabulary | None = None) -> Iterator[Batch]:
    """The triples of `--graph`, file by file; without a vocabulary, each document has one of its own."""
    intake = Intake("--graph")
    for source in find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES):
        batches = (
            _document(source, Vocabulary() if vocabulary is None else vocabulary)
            if source.suffix in DOCUMENT_SUFFIXES
            else _table(source)
        )
        for batch in batches:
            intake.note(batch.size, batch.rejected)
            yield batch
    intake.check()


def _table(source: Source) -> Iterator[Batch]:
    for read in read_table("graph", [source]):
        yield Batch(read._replace(rejected=Rejections()), read.table.num_rows, read.rejected)


def _document(source: Source, vocabulary: Vocabulary) -> Iterator[Batch]:
    from heliograph.feeds import read_triples

    found = read_triples(source, vocabulary)
    yield Batch(found.publications, len(found.publications.triples.subject), found.rejected)
