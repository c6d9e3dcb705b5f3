"""RDF documents, RSS and Atom feeds as publications.

A document becomes a publication for each named graph and one for the default graph; a feed becomes one for each item.
What cannot be read is rejected with its place, and takes nothing else with it. Nothing is ever fetched or expanded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from heliograph.feeds.assembly import Documents, publish
from heliograph.feeds.bundles import read_sources
from heliograph.feeds.documents import read_source
from heliograph.feeds.interning import Interner
from heliograph.syntax.bulk import collector_paused
from heliograph.tables.sources import Source

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

__all__ = ["Documents", "read_documents", "read_triples"]


def read_documents(sources: Sequence[Source], vocabulary: Vocabulary, *, batch: int = 1000) -> Iterator[Documents]:
    """The publications of all sources, in batches; rejections come with the first batch.

    All triples with one id are one publication, in whatever files they lie, so everything is read first.
    """
    interner = Interner(vocabulary)
    with collector_paused():
        readings = list(read_sources(sources, interner))
    yield from publish(readings, interner, batch)


def read_triples(source: Source, vocabulary: Vocabulary) -> Documents:
    """All triples of one source, of whatever graphs, as one publication with the source's name."""
    interner = Interner(vocabulary)
    with collector_paused():
        reading = read_source(source, interner)
    numbers = reading.numbers * 0
    return next(publish([reading._replace(ids=[source.name], numbers=numbers)], interner, 1))
