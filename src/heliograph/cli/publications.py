"""Publications from files and pipes, in batches: tables, RDF documents and feeds, mixed as they come.

The laws: over all files of a call the rows with one publication_id are one publication, so tables are grouped as a
whole before the first is published; on a pipe a change of id ends a publication. Publications come in the order of
their first row, files in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from heliograph.cli.batches import MOST, Batch, Pace, cut
from heliograph.cli.run import Run, unreadable
from heliograph.filter.encoding import encode
from heliograph.publications import Publications, Triples
from heliograph.tables.grouping import complete_publications
from heliograph.tables.reader import Whole, read_all, read_table
from heliograph.tables.reads import Read
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, TABLE_SUFFIXES, Source, find_sources
from heliograph.vocabulary import Vocabulary

_SUFFIXES = TABLE_SUFFIXES + DOCUMENT_SUFFIXES + FEED_SUFFIXES


def read_publications(spec: str, vocabulary: Vocabulary, prefixes: Mapping[str, str], run: Run) -> Iterator[Batch]:
    """The publications of `--publications`, in order, so many at a time."""
    sources = find_sources(spec, _SUFFIXES)
    if sources[0].is_pipe:
        reads = run.checked("--publications", read_table("publications", sources))
        for read in complete_publications(reads):
            yield from cut(read, _starts(read), run.pace)
        return
    count, unread = 0, False
    for batch in _in_order(sources, vocabulary, prefixes, run.pace):
        count += batch.size
        unread = unread or any(entry.item is None for entry in batch.rejected)
        yield batch
    if unread and not count:
        raise unreadable("--publications")


def _starts(read: Read) -> list[int]:
    """The first row of each publication; each is one run of rows."""
    ids = read.table["publication_id"].to_pylist()
    return [row for row, id in enumerate(ids) if row == 0 or id != ids[row - 1]]


def _in_order(
    sources: list[Source], vocabulary: Vocabulary, prefixes: Mapping[str, str], pace: Pace
) -> Iterator[Batch]:
    """Tables are read first, because a later file may add to a publication; they are published in their turn."""
    tables = [source for source in sources if source.suffix in TABLE_SUFFIXES]
    whole = read_all("publications", tables)
    publications, rejected = encode(whole, vocabulary, prefixes)
    if rejected:
        yield Batch(some(publications, 0, 0), 0, rejected)
    ends = _ends(tables, whole, publications)
    done = 0
    for source in sources:
        if source.suffix in TABLE_SUFFIXES:
            yield from _slices(publications, done, ends[source.name], pace)
            done = ends[source.name]
        else:
            yield from _documents(source, vocabulary, pace)


def _ends(tables: list[Source], whole: Whole, publications: Publications) -> dict[str, int]:
    """For each table, how many publications begin in it or before it."""
    first: dict[str | None, int] = {}
    places = {source.name: number for number, source in enumerate(tables)}
    for part in whole.parts:
        for publication_id in part.table["publication_id"].unique().to_pylist():
            first.setdefault(publication_id, places[str(part.source)])
    begins = np.maximum.accumulate(np.array([first[id] for id in publications.ids], np.int64))
    return {source.name: int(np.searchsorted(begins, number, "right")) for number, source in enumerate(tables)}


def _documents(source: Source, vocabulary: Vocabulary, pace: Pace) -> Iterator[Batch]:
    from heliograph.feeds import read_documents

    for documents in read_documents([source], vocabulary.overlay(), batch=MOST):
        if documents.rejected:
            yield Batch(some(documents.publications, 0, 0), 0, documents.rejected)
        yield from _slices(documents.publications, 0, len(documents.publications.ids), pace)


def _slices(publications: Publications, start: int, end: int, pace: Pace) -> Iterator[Batch]:
    while start < end:
        last = min(start + pace.size, end)
        yield Batch(some(publications, start, last), last - start)
        start = last


def some(publications: Publications, first: int, last: int) -> Publications:
    """The publications from number `first` up to `last`."""
    offsets = publications.offsets[first : last + 1]
    triples = Triples(*(column[offsets[0] : offsets[-1]] for column in publications.triples))
    return Publications(publications.vocabulary, publications.ids[first:last], offsets - offsets[0], triples)
