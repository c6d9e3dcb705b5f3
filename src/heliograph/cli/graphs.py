"""What a watch starts from: triples out of tables, RDF documents, or both."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from heliograph.cli.batches import Batch
from heliograph.cli.run import Run
from heliograph.tables.reader import read_table
from heliograph.tables.reads import Read
from heliograph.tables.sources import DOCUMENT_SUFFIXES, TABLE_SUFFIXES, Source, find_sources
from heliograph.vocabulary import Vocabulary


def read_graph(spec: str, vocabulary: Vocabulary, run: Run) -> Iterator[Batch]:
    """The triples of `--graph`: tables first, then documents."""
    sources = find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES)
    documents = [source for source in sources if source.suffix in DOCUMENT_SUFFIXES]
    tables = [source for source in sources if source.suffix not in DOCUMENT_SUFFIXES]
    for read in run.checked("--graph", read_table("graph", tables)):
        yield Batch(_with_op(read), read.table.num_rows)
    for source in documents:
        yield from _document(source, vocabulary)


def _with_op(read: Read) -> Read:
    """Rows without an op add their triple."""
    ops = [op or "+" for op in read.table["op"].to_pylist()]
    return read._replace(table=read.table.drop_columns(["op"]).append_column("op", pa.array(ops, pa.string())))


def _document(source: Source, vocabulary: Vocabulary) -> Iterator[Batch]:
    from heliograph.feeds import read_triples

    found = read_triples(source, vocabulary)
    yield Batch(found.publications, len(found.publications.ids), found.rejected)
