"""Encode: whatever was published becomes interned publications, and what is wrong with it is rejected.

The law: each row becomes a triple of its publication or a rejection, by itself. All rows with one id in one call are
one publication, wherever they lie; publications come in the order of their first row, and one of which nothing is left
is not published. The vocabulary does not grow: terms of publications live in an overlay of it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.compiled.growing import ragged
from heliograph.errors import HeliographError, PublicationError, UsageError
from heliograph.filter import layout
from heliograph.io.publications import Publications, Triples, group_rows, rebase
from heliograph.io.sources import (
    DOCUMENT_SUFFIXES,
    FEED_SUFFIXES,
    TABLE_SUFFIXES,
    Source,
    collector_paused,
    given_sources,
)
from heliograph.io.tables import (
    TableRows,
    as_table,
    is_single,
    numbered,
    read_all,
    warn_of_mixed_table,
    warn_of_mixture,
    with_texts,
)
from heliograph.model import MessageLimit, Rejected, Rejections
from heliograph.sparql.solve import Graph, World, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position, text_cell
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.columns import FEW

SUFFIXES = TABLE_SUFFIXES + DOCUMENT_SUFFIXES + FEED_SUFFIXES
_COLUMNS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_NAMES = ["publication_id", *_COLUMNS]
_LISTS = (list, tuple)


class Arrivals(NamedTuple):
    """Publications in order of arrival, and what was refused of them."""

    publications: Publications
    rejected: tuple[Rejected, ...] = ()


def encode(
    items: Any,
    vocabulary: Vocabulary,
    prefixes: Mapping[str, str],
    *,
    format: str | None = None,
    id: str | None = None,
    texts: bool = False,
) -> Arrivals:
    """Items, a table, files, a document or already interned publications over an overlay of the vocabulary.

    With `texts` a bare word in the object column of rows is a string, not a name.
    """
    if isinstance(items, Publications):
        return _within_limits(Arrivals(rebase(items, vocabulary)))
    few = _encode_few(items, vocabulary, prefixes, texts)
    if few is not None:
        return _within_limits(few)
    sources = None if is_single(items) and format is None else given_sources(items, SUFFIXES, format=format, id=id)
    if sources is not None:
        return _within_limits(encode_sources(sources, vocabulary, prefixes, texts))
    read = items if isinstance(items, TableRows) else _texts(items) or as_table("publications", items)
    return _within_limits(_encode_rows(read, vocabulary, prefixes, texts))


def _within_limits(arrivals: Arrivals) -> Arrivals:
    """All but publications that are larger than a search can hold; too many of them are refused together."""
    publications = arrivals.publications
    if len(publications.ids) > layout.MOST_PUBLICATIONS:
        raise UsageError(
            "HG-646",
            f"{len(publications.ids)} publications in one call",
            fix=f"publish at most {layout.MOST_PUBLICATIONS} at a time",
        )
    if publications.offsets[-1] <= layout.MOST_EDGES:
        return arrivals
    sizes = np.diff(publications.offsets)
    fits = sizes <= layout.MOST_EDGES
    rejected = list(arrivals.rejected)
    for row in np.flatnonzero(~fits).tolist():
        fix = f"publish at most {layout.MOST_EDGES} triples under one id"
        error = PublicationError("HG-645", f"a publication of {sizes[row]} triples", fix=fix)
        rejected.append(Rejected.of(error, "publications", publications.ids[row]))
    kept = np.flatnonzero(fits)
    rows, offsets = ragged(publications.offsets, kept)
    triples = Triples(*(column[rows] for column in publications.triples))
    ids = tuple(publications.ids[row] for row in kept.tolist())
    return Arrivals(publications._replace(ids=ids, offsets=offsets, triples=triples), tuple(rejected))


# --- a few publications as tuples ---------------------------------------------------------------------------------


def _encode_few(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str], texts: bool) -> Arrivals | None:
    """Publications (id, [(s, p, o), …]) of texts, without a table between; None where anything about them is unusual
    or wrong: the general way then says what."""
    if items.__class__ is tuple and len(items) == 2 and items[0].__class__ is str:
        items = (items,)
    if items.__class__ not in _LISTS:
        return None
    graphs: dict[str, list[Any]] = {}
    for item in items:
        if item.__class__ not in _LISTS or len(item) != 2:
            return None
        id, triples = item
        if id.__class__ is not str or not id.isascii() or not id or triples.__class__ not in _LISTS:
            return None
        if triples:
            graphs.setdefault(id, []).extend(triples)
    rows = list(chain.from_iterable(graphs.values()))
    if not 0 < len(rows) < FEW or not {*map(type, rows)} <= {*_LISTS} or {*map(len, rows)} != {3}:
        return None
    cells = list(chain.from_iterable(rows))
    if {*map(type, cells)} != {str}:
        return None
    if texts:
        cells[2::3] = [text_cell(cell, prefixes) for cell in cells[2::3]]
    else:
        warn_of_mixture(cells[1::3], cells[2::3])
    overlay = vocabulary.overlay()
    columns = [overlay.intern_texts(cells[at::3], position, prefixes) for at, position in enumerate(Position)]
    if columns[0].errors or columns[1].errors or columns[2].errors:
        return None
    offsets = np.cumsum([0, *map(len, graphs.values())])
    return Arrivals(Publications(overlay, tuple(graphs), offsets, Triples(*[column.ids for column in columns])))


# --- rows of a table ----------------------------------------------------------------------------------------------


def _texts(items: Any) -> TableRows | None:
    """An Arrow table whose columns are texts, plain or encoded: only their distinct cells need a look."""
    table = pa.Table.from_batches([items]) if isinstance(items, pa.RecordBatch) else items
    if not isinstance(table, pa.Table) or any(table.column_names.count(name) != 1 for name in _NAMES):
        return None
    ids, *terms = (table[name] for name in _NAMES)
    for column in (ids, *terms):
        kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return None
    columns = [ids, *(column.dictionary_encode() for column in terms)]
    try:
        for column in columns:
            column.validate(full=True)
    except pa.ArrowInvalid:  # which rows to reject for that is `as_table`'s to say
        return None
    return TableRows(None, pa.table(columns, names=_NAMES), Rejections(), numbered(1, table.num_rows))


def _encode_rows(read: TableRows, vocabulary: Vocabulary, prefixes: Mapping[str, str], texts: bool) -> Arrivals:
    """The rows by publication, without the bad ones: of each the first thing that is wrong with it is reported."""
    if texts:
        read = read._replace(table=with_texts(read.table, prefixes))
    else:
        warn_of_mixed_table(read.table)
    overlay = vocabulary.overlay()
    cells = {name: overlay.intern_cells(read.table[name], at, prefixes) for name, at in _COLUMNS.items()}
    groups = group_rows(read.table, "publication_id")
    bad: dict[int, tuple[str, HeliographError]] = {}
    unnamed = PublicationError("HG-601", "no publication_id", fix="name the publication that the triple is of")
    for number in [number for number, id in enumerate(groups.ids) if not id]:
        rows = groups.permutation[groups.offsets[number] : groups.offsets[number + 1]]
        bad |= dict.fromkeys(rows.tolist(), ("publication_id", unnamed))
    for name, column in cells.items():
        for row, refused in column.errors:
            bad.setdefault(row, (name, refused))
    limits: dict[str | None, MessageLimit] = defaultdict(MessageLimit)
    rejected = [_reject(read, row, *bad[row], limits) for row in sorted(bad)]
    good = np.ones(len(groups.permutation), np.bool_)
    good[list(bad)] = False
    kept = good[groups.permutation]
    sizes = np.diff(np.concatenate(([0], np.cumsum(kept)))[groups.offsets])
    ids = tuple(str(id) for id, size in zip(groups.ids, sizes.tolist(), strict=True) if size)
    offsets = np.concatenate(([0], np.cumsum(sizes[sizes > 0]))).astype(np.int64)
    triples = Triples(*(column.ids[groups.permutation[kept]] for column in cells.values()))
    return Arrivals(Publications(overlay, ids, offsets, triples), (*read.rejected, *rejected))


def _reject(
    read: TableRows, row: int, column: str, error: HeliographError, limits: Mapping[str | None, MessageLimit]
) -> Rejected:
    place, id = read.place(row), read.table["publication_id"][row].as_py()
    if not limits[place.source].allows(error.code):
        return Rejected(place.source or "publications", id or place.item, error.code, "")
    placed = type(error)(error.code, f"{error.message} in row {place.item}, column {column}", fix=error.fix)
    return Rejected.of(placed, place.source or "publications", id or place.item)


# --- files: tables, RDF documents and feeds, mixed as they come -------------------------------------------------------


def encode_sources(
    sources: list[Source], vocabulary: Vocabulary, prefixes: Mapping[str, str], texts: bool = False
) -> Arrivals:
    """The publications of files, in the order of the files; everything is read first, as a later file may add to a
    publication."""
    tables = [source for source in sources if source.suffix in TABLE_SUFFIXES]
    whole = read_all("publications", tables)
    publications, rejected = _encode_rows(whole, vocabulary, prefixes, texts)
    if len(tables) == len(sources):
        return Arrivals(publications, rejected)
    from heliograph.io.documents import join_documents, read_sources
    from heliograph.io.rdf import DocumentTriples, Interner

    ends = _ends(tables, whole, publications)
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
    for documents in join_documents(contents, interner, sys.maxsize):
        return Arrivals(documents.publications, (*rejected, *documents.rejected))  # all of them are in the first
    return Arrivals(Publications.none(publications.vocabulary), rejected)


def _ends(tables: list[Source], whole: TableRows, publications: Publications) -> dict[str, int]:
    """For each table, how many publications begin in it or before it."""
    first: dict[str | None, int] = {}
    places = {source.name: number for number, source in enumerate(tables)}
    for part in whole.parts:
        for publication_id in part.table["publication_id"].unique().to_pylist():
            first.setdefault(publication_id, places[str(part.source)])
    begins = np.maximum.accumulate(np.array([first[id] for id in publications.ids], np.int64))
    return {source.name: int(np.searchsorted(begins, number, "right")) for number, source in enumerate(tables)}


# --- back to terms ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Publication:
    """A document graph that was published, as terms, ready to be asked."""

    id: str
    world: World


def decode_one(publications: Publications, row: int, taxonomy: Taxonomy) -> Publication:
    """One publication as a graph of terms, its triples in their order."""
    first, last = publications.offsets[row : row + 2].tolist()
    columns = [map(publications.vocabulary.term, column[first:last].tolist()) for column in publications.triples]
    return Publication(publications.ids[row], world(Graph(zip(*columns, strict=True)), taxonomy))


def decode(publications: Publications, taxonomy: Taxonomy) -> Iterator[Publication]:
    """Each publication as a graph of terms."""
    return (decode_one(publications, row, taxonomy) for row in range(len(publications.ids)))
