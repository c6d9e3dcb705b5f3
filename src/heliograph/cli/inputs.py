"""What commands read: interests, taxonomies, graphs, publications and rows, from files and pipes, in batches.

The laws: over all files of a call what has one publication id is one publication, so everything is read and grouped
before the first is published; on a pipe a change of id ends a publication. Publications come in the order of their
first row, files in the order of their names. A bad subscription is rejected with its file and loses no other.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from heliograph.cli.options import InterestOptions, read_prefixes
from heliograph.cli.run import MOST, CommandRun, InputBatch, InputCheck, Pace, cut
from heliograph.errors import HeliographError, Place, PublicationError, TableError, UsageError
from heliograph.filter.encode import encode
from heliograph.io.publications import Publications, complete_publications, run_starts
from heliograph.io.sources import (
    DOCUMENT_SUFFIXES,
    FEED_SUFFIXES,
    PIPE,
    QUERY_SUFFIXES,
    TABLE_SUFFIXES,
    Source,
    collector_paused,
    find_sources,
)
from heliograph.io.tables import TableRows, read_all, read_table
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.taxonomy import Row, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.io.rdf import DocumentTriples


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
    batches: Iterable[InputBatch]
    for source in find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES):
        if source.suffix in DOCUMENT_SUFFIXES:
            from heliograph.io.documents import read_triples

            found = read_triples(source, Vocabulary() if vocabulary is None else vocabulary)
            batches = [InputBatch(found.publications, len(found.publications.triples.subject), found.rejected)]
        else:
            batches = (
                InputBatch(read._replace(rejected=Rejections()), read.table.num_rows, read.rejected)
                for read in read_table("graph", [source])
            )
        yield from intake.noted(batches)
    intake.check()


# --- publications: tables, RDF documents and feeds, mixed as they come ---

_SUFFIXES = TABLE_SUFFIXES + DOCUMENT_SUFFIXES + FEED_SUFFIXES


def read_publications(
    spec: str, vocabulary: Vocabulary, prefixes: Mapping[str, str], run: CommandRun, option: str = "--publications"
) -> Iterator[InputBatch]:
    """The publications of an option, in order, so many at a time."""
    sources = find_sources(spec, _SUFFIXES)
    if sources[0].is_pipe:
        reads = run.checked(option, read_table("publications", sources))
        for read in complete_publications(reads):
            starts = run_starts(read.table["publication_id"])
            yield from cut(read, starts.tolist(), run.pace)
        return
    intake = InputCheck(option)
    yield from intake.noted(_in_order(sources, vocabulary, prefixes, run.pace))
    intake.check()


def _in_order(
    sources: list[Source], vocabulary: Vocabulary, prefixes: Mapping[str, str], pace: Pace
) -> Iterator[InputBatch]:
    """Everything is read before the first is published, because a later file may add to a publication."""
    tables = [source for source in sources if source.suffix in TABLE_SUFFIXES]
    whole = read_all("publications", tables)
    publications, rejected = encode(whole, vocabulary, prefixes)
    if rejected:
        yield InputBatch(publications.some(0, 0), 0, rejected)
    if len(tables) == len(sources):
        yield from _slices(publications, pace)
    else:
        yield from _with_documents(sources, publications, _ends(tables, whole, publications), pace)


def _with_documents(
    sources: list[Source], publications: Publications, ends: Mapping[str, int], pace: Pace
) -> Iterator[InputBatch]:
    """Tables and documents joined by id, in the order of the files; `ends` says how many begin up to each table."""
    from heliograph.io.documents import join_documents, read_sources
    from heliograph.io.rdf import DocumentTriples, Interner

    interner = Interner(publications.vocabulary)
    contents: list[DocumentTriples] = []
    done = 0
    with collector_paused():
        for is_table, run in groupby(sources, key=lambda source: source.name in ends):
            if not is_table:
                contents += read_sources(run, interner)
                continue
            for source in run:
                part = publications.some(done, ends[source.name])
                numbers = np.repeat(np.arange(len(part.ids)), np.diff(part.offsets))
                contents.append(DocumentTriples(list(part.ids), numbers, np.stack(part.triples, axis=1), []))
                done = ends[source.name]
    for documents in join_documents(contents, interner, MOST):
        if documents.rejected:
            yield InputBatch(documents.publications.some(0, 0), 0, documents.rejected)
        yield from _slices(documents.publications, pace)


def _ends(tables: list[Source], whole: TableRows, publications: Publications) -> dict[str, int]:
    """For each table, how many publications begin in it or before it."""
    first: dict[str | None, int] = {}
    places = {source.name: number for number, source in enumerate(tables)}
    for part in whole.parts:
        for publication_id in part.table["publication_id"].unique().to_pylist():
            first.setdefault(publication_id, places[str(part.source)])
    begins = np.maximum.accumulate(np.array([first[id] for id in publications.ids], np.int64))
    return {source.name: int(np.searchsorted(begins, number, "right")) for number, source in enumerate(tables)}


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
    tables = [source for source in sources if source.suffix not in QUERY_SUFFIXES]
    for read in run.checked("--subscriptions", read_table("subscriptions", tables)):
        run.reject(engine.subscribe(read).rejected, read.source)
    names: dict[str, str] = {}
    items: list[tuple[str, str]] = []
    for source in (source for source in sources if source.suffix in QUERY_SUFFIXES):
        id = query_id(interests.subscriptions, source)
        try:
            items.append((id, read_text(source)))
            names[id] = source.name
        except HeliographError as error:
            run.reject([Rejected.of(error, source.name, id)])
    if items:
        rejected = engine.subscribe(items).rejected
        run.reject(replace(entry, source=names.get(entry.item or "", entry.source)) for entry in rejected)


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


def query_id(spec: str, source: Source) -> str:
    """The id of a `.rq` file: its path below the folder (or the fixed part of the glob) given, without the suffix."""
    path = Path(source.name)
    if glob.has_magic(spec):
        fixed = Path(*takewhile(lambda part: not glob.has_magic(part), Path(spec).parts[:-1]))
        path = path.relative_to(fixed) if path.is_relative_to(fixed) else path
    elif not os.path.isdir(spec):
        path = Path(path.name)
    return path.with_suffix("").as_posix()


def read_text(source: Source) -> str:
    """The text of a `.rq` file."""
    assert source.path is not None
    try:
        return source.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("HG-207", f"bytes that are not UTF-8: {error.reason}", fix="save it as UTF-8") from error
    except OSError as error:
        reason = f"cannot read it: {error.strerror or type(error).__name__}"
        raise TableError("HG-201", reason, place=Place(source.name), fix="check the file") from error


# --- taxonomy ---


def _read_taxonomy(spec: str, prefixes: Mapping[str, str], run: CommandRun) -> Taxonomy:
    rows: list[Row] = []
    intake = InputCheck("--taxonomy")

    def note(found: Iterable[Row], rejected: Iterable[Rejected], source: str) -> None:
        """A taxonomy does not know which file its rows came from."""
        placed = [entry if entry.source != "taxonomy" else replace(entry, source=source) for entry in rejected]
        before = len(rows)
        rows.extend(found)
        run.reject(placed)
        intake.note(len(rows) - before, placed)

    for source in find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES):
        if source.suffix in DOCUMENT_SUFFIXES:  # what it says with rdfs:subClassOf and rdf:type
            from heliograph.io.documents import read_triples

            document = read_triples(source, Vocabulary())
            triples = (triple for _, graph in document.publications.graphs() for triple in sorted(graph))
            classes = [(child, parent) for child, kind, parent in triples if kind in (RDFS_SUBCLASS_OF, RDF_TYPE)]
            note(classes, document.rejected, source.name)
            continue
        for read in read_table("taxonomy", [source]):
            part = Taxonomy.read(read, prefixes)
            # Cycles are reported for the whole.
            note(part.rows, part.rejected[: len(part.rejected) - len(part.cycles)], source.name)
    intake.check()
    taxonomy = Taxonomy(rows)
    note((), taxonomy.rejected, spec)  # its cycles, by name
    return taxonomy
