"""Encode: whatever was published becomes one batch of interned publications, and what is wrong is set aside.

The law: each row becomes a triple of its publication or a rejection, by itself. All rows with one id in one call are
one publication, wherever they lie; publications come in the order of their first row, and one of which nothing is left
is not published.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.baselines.solve import Graph, world
from heliograph.errors import HeliographError, PublicationError
from heliograph.filter.matcher import Publication
from heliograph.model import Rejected
from heliograph.publications import Publications, Triples
from heliograph.tables.grouping import group_rows
from heliograph.tables.items import as_table
from heliograph.tables.reader import Whole
from heliograph.tables.reads import Read
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, find_sources
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position
from heliograph.vocabulary import CellIds, Vocabulary

_DOCUMENTS = DOCUMENT_SUFFIXES + FEED_SUFFIXES
_COLUMNS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}


class Batch(NamedTuple):
    """Publications in order of arrival, and what was refused of them."""

    publications: Publications
    rejected: tuple[Rejected, ...] = ()


def encode(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    """Items, a table or already interned publications as one batch; the vocabulary does not grow."""
    if isinstance(items, Publications):
        return Batch(items)
    if isinstance(items, (str, Path)) and str(items).endswith(_DOCUMENTS):
        return _encode_documents(str(items), vocabulary)
    read = items if isinstance(items, (Read, Whole)) else as_table("publications", items)
    overlay = vocabulary.overlay()
    cells = {name: overlay.intern_cells(read.table[name], at, prefixes) for name, at in _COLUMNS.items()}
    problems = _problems(read.table["publication_id"], cells)
    rejected = (_reject(read, index, *problems[index]) for index in sorted(problems))
    return Batch(_group(read.table, overlay, cells, problems), (*read.rejected, *rejected))


def _encode_documents(spec: str, vocabulary: Vocabulary) -> Batch:
    """The publications of RDF documents or feeds, by path or glob."""
    from heliograph.feeds import read_documents

    overlay = vocabulary.overlay()
    batches = list(read_documents(find_sources(spec, _DOCUMENTS), overlay, batch=sys.maxsize))
    publications = batches[0].publications if batches else Publications.none(overlay)
    return Batch(publications, tuple(batches[0].rejected) if batches else ())


def decode(batch: Batch, taxonomy: Taxonomy) -> Iterator[Publication]:
    """Each publication as a graph of terms, its triples in their order."""
    publications = batch.publications
    term = publications.vocabulary.term
    rows = zip(*(column.tolist() for column in publications.triples), strict=True)
    triples = [(term(s), term(p), term(o)) for s, p, o in rows]
    bounds = publications.offsets.tolist()
    for number, publication_id in enumerate(publications.ids):
        graph = Graph(triples[bounds[number] : bounds[number + 1]])
        yield Publication(publication_id, world(graph, taxonomy))


def _problems(
    ids: pa.ChunkedArray[pa.StringScalar], cells: Mapping[str, CellIds]
) -> dict[int, tuple[str, HeliographError]]:
    """The first thing wrong with each bad row: the column, and the error."""
    nameless = np.flatnonzero(pc.equal(ids.fill_null(pa.scalar("")), pa.scalar("")).to_numpy(zero_copy_only=False))
    unnamed = PublicationError("HG-601", "no publication_id", fix="name the publication that the triple is of")
    problems: dict[int, tuple[str, HeliographError]] = {}
    problems |= dict.fromkeys(nameless.tolist(), ("publication_id", unnamed))
    for name, column in cells.items():
        for index, refused in column.errors:
            problems.setdefault(index, (name, refused))
    return problems


def _reject(read: Read | Whole, index: int, column: str, error: HeliographError) -> Rejected:
    place, id = read.place(index), read.table["publication_id"][index].as_py()
    placed = type(error)(error.code, f"{error.message} in row {place.item}, column {column}", fix=error.fix)
    return Rejected.of(placed, place.source or "publications", id or place.item)


def _group(
    table: pa.Table, vocabulary: Vocabulary, cells: Mapping[str, CellIds], problems: Mapping[int, Any]
) -> Publications:
    good = np.ones(table.num_rows, bool)
    good[list(problems)] = False
    groups = group_rows(table, "publication_id")
    kept = good[groups.permutation]
    sizes = np.diff(np.concatenate(([0], np.cumsum(kept)))[groups.offsets])
    ids = tuple(str(id) for id, size in zip(groups.ids, sizes.tolist(), strict=True) if size)
    offsets = np.concatenate(([0], np.cumsum(sizes[sizes > 0]))).astype(np.int64)
    columns = (cells[name].ids[groups.permutation[kept]] for name in _COLUMNS)
    return Publications(vocabulary, ids, offsets, Triples(*columns))
