"""What commands read: interests, taxonomies, graphs, publications and rows, from files and pipes, in batches.

The laws: over all files of a call what has one publication id is one publication, so everything is read and grouped
before the first is published; on a pipe a change of id ends a publication. Publications come in the order of their
first row, files in the order of their names. A bad subscription is rejected with its file and loses no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from heliograph.cli.options import InterestOptions, read_prefixes
from heliograph.cli.run import CommandRun, InputBatch, InputCheck, Pace, cut
from heliograph.errors import Place, PublicationError, UsageError
from heliograph.filter.encode import SUFFIXES, encode_sources
from heliograph.io.publications import Publications, complete_publications, run_starts
from heliograph.io.sources import (
    DOCUMENT_SUFFIXES,
    PIPE,
    QUERY_SUFFIXES,
    TABLE_SUFFIXES,
    find_sources,
)
from heliograph.io.tables import TableRows, read_all, read_table
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    pass


# --- rows that need no grouping: updates and events ---


def read_rows(option: str, table: str, spec: str, run: CommandRun) -> Iterator[InputBatch]:
    """The rows of a table that needs no grouping (updates, events), some at a time; from a pipe as they arrive.

    A read with refused rows stays whole, so that they are counted where they stood.
    """
    for read in run.checked(option, read_table(table, find_sources(spec))):
        yield from cut(read, [0] if read.rejected else range(read.table.num_rows), run.pace)


def read_events(spec: str, run: CommandRun) -> Iterator[InputBatch]:
    """The events of `--events`. In files an id stands for one event; on a pipe a later one is a new event."""
    batches = read_rows("--events", "events", spec, run)
    if find_sources(spec)[0].is_pipe:
        for batch in batches:
            yield from cut(batch.items, _repeats(batch.items), Pace(1))
        return
    seen: set[str | None] = set()
    for batch in batches:
        yield _first_of_each(batch.items, seen)


def _repeats(read: TableRows) -> list[int]:
    """Where to cut so that no id comes twice in a piece."""
    starts, seen = [0], set[str | None]()
    for row, id in enumerate(read.table["event_id"].to_pylist()):
        if id is not None and id in seen:
            starts.append(row)
            seen.clear()
        seen.add(id)
    return starts


def _first_of_each(read: TableRows, seen: set[str | None]) -> InputBatch:
    """The events whose ids were not met before; those within one read are the engine's to refuse."""
    ids = read.table["event_id"].to_pylist()
    fresh = np.array([id is None or id not in seen for id in ids], bool)
    seen.update(ids)
    fix = "give each event its own event_id"
    repeated = [
        Rejected.of(PublicationError("HG-641", f"the event {id!r} comes twice in one call", place=place, fix=fix))
        for id, place in ((ids[row], Place(read.source, ids[row])) for row in np.flatnonzero(~fresh).tolist())
    ]
    kept = read if fresh.all() else read._replace(table=read.table.filter(pa.array(fresh)), rows=read.rows[fresh])
    return InputBatch(kept, kept.table.num_rows, repeated)


# --- what a watch starts from: triples out of tables, RDF documents, or both ---


def read_graph(spec: str, vocabulary: Vocabulary | None = None) -> Iterator[InputBatch]:
    """The triples of `--graph`, file by file; without a vocabulary, each document has one of its own."""
    intake = InputCheck("--graph")
    sources = find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES)
    documents = [source for source in sources if source.suffix in DOCUMENT_SUFFIXES]
    if documents:
        from heliograph.io.documents import read_graph as read_documents

        found = read_documents(documents, Vocabulary() if vocabulary is None else vocabulary)
        triples = len(found.publications.triples.subject)
        yield from intake.noted([InputBatch(found.publications, triples, found.rejected)])
    tables = (source for source in sources if source not in documents)
    yield from intake.noted(
        InputBatch(read._replace(rejected=Rejections()), read.table.num_rows, read.rejected)
        for read in read_table("graph", tables)
    )
    intake.check()


# --- publications: tables, RDF documents and feeds, mixed as they come ---


def read_publications(
    spec: str,
    vocabulary: Vocabulary,
    prefixes: Mapping[str, str],
    run: CommandRun,
    option: str = "--publications",
    texts: bool = False,
) -> Iterator[InputBatch]:
    """The publications of an option, in order, so many at a time."""
    sources = find_sources(spec, SUFFIXES)
    if sources[0].is_pipe:
        reads = run.checked(option, read_table("publications", sources))
        for read in complete_publications(reads):
            starts = run_starts(read.table["publication_id"])
            yield from cut(read, starts.tolist(), run.pace)
        return
    intake = InputCheck(option)
    publications, rejected = encode_sources(sources, vocabulary, prefixes, texts)
    batches = chain(
        [InputBatch(publications.some(0, 0), 0, rejected)] if rejected else [], _slices(publications, run.pace)
    )
    yield from intake.noted(batches)
    intake.check()


def _slices(publications: Publications, pace: Pace) -> Iterator[InputBatch]:
    start, end = 0, len(publications.ids)
    while start < end:
        last = min(start + pace.size, end)
        yield InputBatch(publications.some(start, last), last - start)
        start = last


# --- interests: SPARQL tables and `.rq` files, or pattern tables, and the taxonomy they rely on ---


class Subscriber(Protocol):
    """An engine that takes SPARQL subscriptions."""

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt: ...


def read_context(interests: InterestOptions, run: CommandRun) -> tuple[dict[str, str], Taxonomy | None]:
    """The prefixes, and the taxonomy if there is one."""
    prefixes = read_prefixes(interests.prefix)
    return prefixes, None if interests.taxonomy is None else _read_taxonomy(interests.taxonomy, prefixes, run)


def subscribe(engine: Subscriber, interests: InterestOptions, run: CommandRun) -> None:
    """Subscribes to everything that the options name."""
    if interests.subscriptions is None and interests.patterns is None:
        raise UsageError("HG-032", "no interests", fix="give --subscriptions S, or --patterns P [--constraints C]")
    if interests.constraints is not None and interests.patterns is None:
        raise UsageError("HG-032", "--constraints without --patterns", fix="give --patterns P as well")
    if interests.patterns is not None:
        patterns = run.whole("--patterns", "patterns", interests.patterns)
        limits = interests.constraints and run.whole("--constraints", "constraints", interests.constraints)
        run.reject(engine.subscribe(patterns=patterns, constraints=limits).rejected, interests.patterns)
    if interests.subscriptions is None:
        return
    sources = find_sources(interests.subscriptions, TABLE_SUFFIXES + QUERY_SUFFIXES)
    queries = [source for source in sources if source.suffix in QUERY_SUFFIXES]
    tables = (source for source in sources if source not in queries)
    reads = chain(read_table("subscriptions", tables), [read_all("subscriptions", queries)] if queries else [])
    for read in run.checked("--subscriptions", reads):
        run.reject(engine.subscribe(read).rejected, read.source)


def once(*inputs: InterestOptions | str | None) -> None:
    """Refuses to read standard input for two things."""
    specs: list[str | None] = []
    for given in inputs:
        if isinstance(given, InterestOptions):
            specs += [given.subscriptions, given.patterns, given.constraints, given.taxonomy]
        else:
            specs.append(given)
    if specs.count(PIPE) > 1:
        raise UsageError("HG-033", "two inputs are -", fix="give one of them as a file")


# --- taxonomy ---


def _read_taxonomy(spec: str, prefixes: Mapping[str, str], run: CommandRun) -> Taxonomy:
    taxonomy = Taxonomy.read(spec, prefixes)
    cycles = len(taxonomy.rejected) - len(taxonomy.cycles)
    run.reject(taxonomy.rejected[:cycles])
    intake = InputCheck("--taxonomy")
    intake.note(len(taxonomy), taxonomy.rejected[:cycles])
    intake.check()
    run.reject([replace(entry, source=spec) for entry in taxonomy.rejected[cycles:]])  # which lie in no one file
    return taxonomy
