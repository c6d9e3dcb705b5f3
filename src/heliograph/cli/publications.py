"""Publications from files and pipes, in batches: tables, RDF documents and feeds, mixed as they come.

The laws: over all files of a call what has one publication id is one publication, so everything is read and grouped
before the first is published; on a pipe a change of id ends a publication. Publications come in the order of
their first row, files in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from heliograph.cli.batches import MOST, Batch, Pace, cut
from heliograph.cli.run import Intake, Run
from heliograph.filter.encoding import encode
from heliograph.publications import Publications, Triples
from heliograph.syntax.bulk import collector_paused
from heliograph.tables.grouping import complete_publications, run_starts
from heliograph.tables.reader import Whole, read_all, read_table
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, TABLE_SUFFIXES, Source, find_sources
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.feeds.assembly import Reading

_SUFFIXES = TABLE_SUFFIXES + DOCUMENT_SUFFIXES + FEED_SUFFIXES


def read_publications(
    spec: str, vocabulary: Vocabulary, prefixes: Mapping[str, str], run: Run, option: str = "--publications"
) -> Iterator[Batch]:
    """The publications of an option, in order, so many at a time."""
    sources = find_sources(spec, _SUFFIXES)
    if sources[0].is_pipe:
        reads = run.checked(option, read_table("publications", sources))
        for read in complete_publications(reads):
            starts = run_starts(read.table, "publication_id")
            yield from cut(read, starts.tolist(), run.pace)
        return
    intake = Intake(option)
    for batch in _in_order(sources, vocabulary, prefixes, run.pace):
        intake.note(batch.size, batch.rejected)
        yield batch
    intake.check()


def _in_order(
    sources: list[Source], vocabulary: Vocabulary, prefixes: Mapping[str, str], pace: Pace
) -> Iterator[Batch]:
    """Everything is read before the first is published, because a later file may add to a publication."""
    tables = [source for source in sources if source.suffix in TABLE_SUFFIXES]
    whole = read_all("publications", tables)
    publications, rejected = encode(whole, vocabulary, prefixes)
    if rejected:
        yield Batch(some(publications, 0, 0), 0, rejected)
    if len(tables) == len(sources):
        yield from _slices(publications, pace)
    else:
        yield from _with_documents(sources, publications, _ends(tables, whole, publications), pace)


def _with_documents(
    sources: list[Source], publications: Publications, ends: Mapping[str, int], pace: Pace
) -> Iterator[Batch]:
    """Tables and documents joined by id, in the order of the files; `ends` says how many begin up to each table."""
    from heliograph.feeds.assembly import publish
    from heliograph.feeds.bundles import read_sources
    from heliograph.feeds.interning import Interner

    interner = Interner(publications.vocabulary)
    readings: list[Reading] = []
    done = 0
    with collector_paused():
        for is_table, run in groupby(sources, key=lambda source: source.name in ends):
            if not is_table:
                readings += read_sources(run, interner)
                continue
            for source in run:
                readings.append(_reading(some(publications, done, ends[source.name])))
                done = ends[source.name]
    for documents in publish(readings, interner, MOST):
        if documents.rejected:
            yield Batch(some(documents.publications, 0, 0), 0, documents.rejected)
        yield from _slices(documents.publications, pace)


def _reading(publications: Publications) -> Reading:
    """Publications of a table in the form in which documents are read."""
    from heliograph.feeds.assembly import Reading

    numbers = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
    return Reading(list(publications.ids), numbers, np.stack(publications.triples, axis=1), [])


def _ends(tables: list[Source], whole: Whole, publications: Publications) -> dict[str, int]:
    """For each table, how many publications begin in it or before it."""
    first: dict[str | None, int] = {}
    places = {source.name: number for number, source in enumerate(tables)}
    for part in whole.parts:
        for publication_id in part.table["publication_id"].unique().to_pylist():
            first.setdefault(publication_id, places[str(part.source)])
    begins = np.maximum.accumulate(np.array([first[id] for id in publications.ids], np.int64))
    return {source.name: int(np.searchsorted(begins, number, "right")) for number, source in enumerate(tables)}


def _slices(publications: Publications, pace: Pace) -> Iterator[Batch]:
    start, end = 0, len(publications.ids)
    while start < end:
        last = min(start + pace.size, end)
        yield Batch(some(publications, start, last), last - start)
        start = last


def some(publications: Publications, first: int, last: int) -> Publications:
    """The publications from number `first` up to `last`."""
    offsets = publications.offsets[first : last + 1]
    triples = Triples(*(column[offsets[0] : offsets[-1]] for column in publications.triples))
    return Publications(publications.vocabulary, publications.ids[first:last], offsets - offsets[0], triples)
