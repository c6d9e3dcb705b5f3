"""What commands read: interests, taxonomies, graphs, publications and rows, from files and pipes, in batches."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from heliograph.cli.options import Interests, read_prefixes
from heliograph.cli.run import MOST, Batch, Intake, Pace, Run, cut
from heliograph.errors import HeliographError, Place, PublicationError, TableError, UsageError
from heliograph.filter.encode import encode
from heliograph.io.publications import Publications, Triples, complete_publications, run_starts
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


# ----------------------------------------------------------------------------------------------------------------------
# Rows from files and pipes, in batches, for what needs no grouping: updates and events.
# ----------------------------------------------------------------------------------------------------------------------


def read_rows(option: str, table: str, spec: str, run: Run) -> Iterator[Batch]:
    """The rows of a table that needs no grouping (updates, events), some at a time; from a pipe as they arrive.

    A read with refused rows stays whole, so that they are counted where they stood.
    """
    for read in run.checked(option, read_table(table, find_sources(spec))):
        yield from cut(read, [0] if read.rejected else range(read.table.num_rows), run.pace)


def read_events(spec: str, run: Run) -> Iterator[Batch]:
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


def _first_of_each(read: TableRows, seen: set[str | None]) -> Batch:
    """The events whose ids were not met before; those within one read are the engine's to refuse."""
    ids = read.table["event_id"].to_pylist()
    fresh = np.array([id is None or id not in seen for id in ids], bool)
    seen.update(ids)
    repeated = [Rejected.of(_repeated(ids[row], read.place(row))) for row in np.flatnonzero(~fresh).tolist()]
    kept = read if fresh.all() else read._replace(table=read.table.filter(pa.array(fresh)), rows=read.rows[fresh])
    return Batch(kept, kept.table.num_rows, repeated)


def _repeated(id: str | None, place: Place) -> PublicationError:
    message = f"the event {id!r} comes twice in one call"
    return PublicationError("HG-641", message, place=Place(place.source, id), fix="give each event its own event_id")


# ----------------------------------------------------------------------------------------------------------------------
# What a watch starts from: triples out of tables, RDF documents, or both.
# ----------------------------------------------------------------------------------------------------------------------


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
    from heliograph.io.documents import read_triples

    found = read_triples(source, vocabulary)
    yield Batch(found.publications, len(found.publications.triples.subject), found.rejected)


# ----------------------------------------------------------------------------------------------------------------------
# Publications from files and pipes, in batches: tables, RDF documents and feeds, mixed as they come.
#
# The laws: over all files of a call what has one publication id is one publication, so everything is read and grouped
# before the first is published; on a pipe a change of id ends a publication. Publications come in the order of
# their first row, files in the order of their names.
# ----------------------------------------------------------------------------------------------------------------------

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
    from heliograph.io.documents import join_documents, read_sources
    from heliograph.io.rdf import Interner

    interner = Interner(publications.vocabulary)
    contents: list[DocumentTriples] = []
    done = 0
    with collector_paused():
        for is_table, run in groupby(sources, key=lambda source: source.name in ends):
            if not is_table:
                contents += read_sources(run, interner)
                continue
            for source in run:
                contents.append(_reading(some(publications, done, ends[source.name])))
                done = ends[source.name]
    for documents in join_documents(contents, interner, MOST):
        if documents.rejected:
            yield Batch(some(documents.publications, 0, 0), 0, documents.rejected)
        yield from _slices(documents.publications, pace)


def _reading(publications: Publications) -> DocumentTriples:
    """Publications of a table in the form in which documents are read."""
    from heliograph.io.rdf import DocumentTriples

    numbers = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
    return DocumentTriples(list(publications.ids), numbers, np.stack(publications.triples, axis=1), [])


def _ends(tables: list[Source], whole: TableRows, publications: Publications) -> dict[str, int]:
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


# ----------------------------------------------------------------------------------------------------------------------
# Interests from files: SPARQL tables and `.rq` files, or pattern tables, and the taxonomy they rely on.
#
# The law: a bad subscription is rejected with its file and loses no other.
# ----------------------------------------------------------------------------------------------------------------------


class Subscriber(Protocol):
    """An engine that takes SPARQL subscriptions."""

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt: ...


class Context(NamedTuple):
    """What an engine is made with."""

    prefixes: Mapping[str, str]
    taxonomy: Taxonomy | None


def read_context(interests: Interests, run: Run) -> Context:
    """The prefixes, and the taxonomy if there is one."""
    prefixes = read_prefixes(interests.prefix)
    taxonomy = None if interests.taxonomy is None else _read_taxonomy(interests.taxonomy, prefixes, run)
    return Context(prefixes, taxonomy)


def subscribe(engine: Subscriber, interests: Interests, run: Run) -> None:
    """Subscribes to everything that the options name."""
    _check(interests)
    if interests.patterns is not None:
        _subscribe_patterns(engine, interests, run)
    if interests.subscriptions is not None:
        _subscribe_queries(engine, interests.subscriptions, run)


def _check(interests: Interests) -> None:
    if interests.subscriptions is None and interests.patterns is None:
        raise UsageError("HG-032", "no interests", fix="give --subscriptions S, or --patterns P [--constraints C]")
    if interests.constraints is not None and interests.patterns is None:
        raise UsageError("HG-032", "--constraints without --patterns", fix="give --patterns P as well")


def once(*inputs: Interests | str | None) -> None:
    """Refuses to read standard input for two things."""
    if [spec for given in inputs for spec in _specs(given) if spec == PIPE][1:]:
        raise UsageError("HG-033", "two inputs are -", fix="give one of them as a file")


def _specs(given: Interests | str | None) -> tuple[str | None, ...]:
    if not isinstance(given, Interests):
        return (given,)
    return given.subscriptions, given.patterns, given.constraints, given.taxonomy


# --- subscriptions ----------------------------------------------------------------------------------------------


def _subscribe_patterns(engine: Subscriber, interests: Interests, run: Run) -> None:
    patterns = run.whole("--patterns", "patterns", str(interests.patterns))
    limits = interests.constraints and run.whole("--constraints", "constraints", interests.constraints)
    receipt = engine.subscribe(patterns=patterns, constraints=limits)
    run.reject(receipt.rejected, interests.patterns)


def _subscribe_queries(engine: Subscriber, spec: str, run: Run) -> None:
    sources = find_sources(spec, TABLE_SUFFIXES + QUERY_SUFFIXES)
    texts = [source for source in sources if source.suffix in QUERY_SUFFIXES]
    tables = [source for source in sources if source.suffix not in QUERY_SUFFIXES]
    for read in run.checked("--subscriptions", read_table("subscriptions", tables)):
        run.reject(engine.subscribe(read).rejected, read.source)
    if texts:
        _subscribe_texts(engine, spec, texts, run)


def _subscribe_texts(engine: Subscriber, spec: str, sources: list[Source], run: Run) -> None:
    names: dict[str, str] = {}
    items: list[tuple[str, str]] = []
    for source in sources:
        try:
            items.append((query_id(spec, source), read_text(source)))
            names[items[-1][0]] = source.name
        except HeliographError as error:
            run.reject([Rejected.of(error, source.name, query_id(spec, source))])
    rejected = engine.subscribe(items).rejected
    run.reject(replace(entry, source=names.get(entry.item or "", entry.source)) for entry in rejected)


def query_id(spec: str, source: Source) -> str:
    """The id of a `.rq` file: its path below the folder (or the fixed part of the glob) given, without the suffix."""
    path = Path(source.name)
    if glob.has_magic(spec):
        fixed = Path(*_fixed_part(spec))
        path = path.relative_to(fixed) if path.is_relative_to(fixed) else path
    elif not os.path.isdir(spec):
        path = Path(path.name)
    return path.with_suffix("").as_posix()


def _fixed_part(pattern: str) -> Iterator[str]:
    for part in Path(pattern).parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def read_text(source: Source) -> str:
    """The text of a `.rq` file."""
    assert source.path is not None
    try:
        return source.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("HG-207", f"bytes that are not UTF-8: {error.reason}", fix="save it as UTF-8") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(
            "HG-201", f"cannot read it: {reason}", place=Place(source.name), fix="check the file"
        ) from error


# --- taxonomy ---------------------------------------------------------------------------------------------------


def _read_taxonomy(spec: str, prefixes: Mapping[str, str], run: Run) -> Taxonomy:
    rows: list[Row] = []
    intake = Intake("--taxonomy")
    for source in find_sources(spec, TABLE_SUFFIXES + DOCUMENT_SUFFIXES):
        read = _from_document(source) if source.suffix in DOCUMENT_SUFFIXES else _from_table(source, prefixes)
        run.reject(_placed(read.rejected, source.name))
        intake.note(len(read.rows), read.rejected)
        rows += read.rows
    intake.check()
    taxonomy = Taxonomy(rows)
    run.reject(_placed(taxonomy.rejected, spec))  # its cycles, by name
    return taxonomy


def _placed(rejected: Iterable[Rejected], source: str | None) -> list[Rejected]:
    """A taxonomy does not know which file its rows came from."""
    return [entry if entry.source != "taxonomy" else replace(entry, source=source) for entry in rejected]


class _Classes(NamedTuple):
    rows: list[Row]
    rejected: list[Rejected]


def _from_table(source: Source, prefixes: Mapping[str, str]) -> _Classes:
    found = _Classes([], [])
    for read in read_table("taxonomy", [source]):
        part = Taxonomy.read(read, prefixes)
        found.rows.extend(part.rows)
        found.rejected.extend(part.rejected[: len(part.rejected) - len(part.cycles)])  # cycles are told of the whole
    return found


def _from_document(source: Source) -> _Classes:
    """The classes of an RDF document: what it says with rdfs:subClassOf and rdf:type."""
    from heliograph.io.documents import read_triples
    from heliograph.vocabulary import Vocabulary

    found = read_triples(source, Vocabulary())
    triples = (triple for _, graph in found.publications.graphs() for triple in sorted(graph))
    rows = [(child, parent) for child, kind, parent in triples if kind in (RDFS_SUBCLASS_OF, RDF_TYPE)]
    return _Classes(rows, list(found.rejected))
