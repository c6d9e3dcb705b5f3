"""Encode: whatever was published becomes one batch of interned publications, and what is wrong is set aside.

The law: each row becomes a triple of its publication or a rejection, by itself. All rows with one id in one call are
one publication, wherever they lie; publications come in the order of their first row, and one of which nothing is left
is not published.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.baselines.solve import Graph, world
from heliograph.errors import HeliographError, PublicationError, UsageError
from heliograph.filter.matcher import Publication
from heliograph.index.arrays import ragged
from heliograph.kernels import filter_layout
from heliograph.model import Brief, Rejected, Rejections
from heliograph.publications import Publications, Triples, rebase
from heliograph.tables.grouping import Groups, group_rows
from heliograph.tables.items import as_table
from heliograph.tables.reader import Whole
from heliograph.tables.reads import Read, numbered
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, find_sources
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position
from heliograph.vocabulary import CellIds, Vocabulary

_DOCUMENTS = DOCUMENT_SUFFIXES + FEED_SUFFIXES
_COLUMNS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_NAMES = ["publication_id", *_COLUMNS]


class Batch(NamedTuple):
    """Publications in order of arrival, and what was refused of them."""

    publications: Publications
    rejected: tuple[Rejected, ...] = ()


def encode(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    """Items, a table or already interned publications as one batch; the vocabulary does not grow."""
    return _within_limits(_encode(items, vocabulary, prefixes))


def _encode(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    if isinstance(items, Publications):
        return Batch(rebase(items, vocabulary))
    if isinstance(items, (str, Path)) and str(items).endswith(_DOCUMENTS):
        return _encode_documents(str(items), vocabulary)
    if isinstance(items, (Read, Whole)):
        return _encode_rows(items, vocabulary, prefixes)
    return _encode_rows(_texts(items) or as_table("publications", items), vocabulary, prefixes)


def _within_limits(batch: Batch) -> Batch:
    """The batch without publications that are larger than a search can hold; too many of them are refused together."""
    publications = batch.publications
    if len(publications.ids) > filter_layout.MOST_PUBLICATIONS:
        raise UsageError(
            "HG-646",
            f"{len(publications.ids)} publications in one call",
            fix=f"publish at most {filter_layout.MOST_PUBLICATIONS} at a time",
        )
    if publications.offsets[-1] <= filter_layout.MOST_EDGES:
        return batch
    sizes = np.diff(publications.offsets)
    fits = sizes <= filter_layout.MOST_EDGES
    kept = np.flatnonzero(fits)
    rows, offsets = ragged(publications.offsets, kept)
    triples = Triples(*(column[rows] for column in publications.triples))
    rejected = (_too_large(publications.ids[row], int(sizes[row])) for row in np.flatnonzero(~fits).tolist())
    ids = tuple(publications.ids[row] for row in kept.tolist())
    return Batch(publications._replace(ids=ids, offsets=offsets, triples=triples), (*batch.rejected, *rejected))


def _too_large(id: str, size: int) -> Rejected:
    fix = f"publish at most {filter_layout.MOST_EDGES} triples under one id"
    return Rejected.of(PublicationError("HG-645", f"a publication of {size} triples", fix=fix), "publications", id)


def _texts(items: Any) -> Read | None:
    """An Arrow table whose columns are texts, plain or encoded: only their distinct cells need a look."""
    table = pa.Table.from_batches([items]) if isinstance(items, pa.RecordBatch) else items
    if not isinstance(table, pa.Table) or any(table.column_names.count(name) != 1 for name in _NAMES):
        return None
    ids, *terms = (table[name] for name in _NAMES)
    if not all(_is_text(column.type) for column in (ids, *terms)):
        return None
    columns = [ids, *(column.dictionary_encode() for column in terms)]
    try:
        for column in columns:
            column.validate(full=True)
    except pa.ArrowInvalid:  # which rows to reject for that is `as_table`'s to say
        return None
    return Read(None, pa.table(columns, names=_NAMES), 1, Rejections(), numbered(1, table.num_rows))


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _encode_rows(read: Read | Whole, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    overlay = vocabulary.overlay()
    cells = {name: overlay.intern_cells(read.table[name], at, prefixes) for name, at in _COLUMNS.items()}
    groups = group_rows(read.table, "publication_id")
    problems = _problems(groups, cells)
    briefs: dict[str | None, Brief] = defaultdict(Brief)
    rejected = (_reject(read, index, *problems[index], briefs) for index in sorted(problems))
    columns = Triples(*(cells[name].ids for name in _COLUMNS))
    return Batch(_publications(groups, columns, overlay, list(problems)), (*read.rejected, *rejected))


def _encode_documents(spec: str, vocabulary: Vocabulary) -> Batch:
    """The publications of RDF documents or feeds, by path or glob."""
    from heliograph.feeds import read_documents

    overlay = vocabulary.overlay()
    batches = list(read_documents(find_sources(spec, _DOCUMENTS), overlay, batch=sys.maxsize))
    publications = batches[0].publications if batches else Publications.none(overlay)
    return Batch(publications, tuple(batches[0].rejected) if batches else ())


def decode(publications: Publications, taxonomy: Taxonomy) -> Iterator[Publication]:
    """Each publication as a graph of terms, its triples in their order."""
    term = publications.vocabulary.term
    rows = zip(*(column.tolist() for column in publications.triples), strict=True)
    triples = [(term(s), term(p), term(o)) for s, p, o in rows]
    bounds = publications.offsets.tolist()
    for number, publication_id in enumerate(publications.ids):
        graph = Graph(triples[bounds[number] : bounds[number + 1]])
        yield Publication(publication_id, world(graph, taxonomy))


def _problems(groups: Groups, cells: Mapping[str, CellIds]) -> dict[int, tuple[str, HeliographError]]:
    """The first thing wrong with each bad row: the column, and the error."""
    unnamed = PublicationError("HG-601", "no publication_id", fix="name the publication that the triple is of")
    problems: dict[int, tuple[str, HeliographError]] = {}
    for number in [number for number, id in enumerate(groups.ids) if not id]:
        rows = groups.permutation[groups.offsets[number] : groups.offsets[number + 1]]
        problems |= dict.fromkeys(rows.tolist(), ("publication_id", unnamed))
    for name, column in cells.items():
        for index, refused in column.errors:
            problems.setdefault(index, (name, refused))
    return problems


def _reject(
    read: Read | Whole, index: int, column: str, error: HeliographError, briefs: Mapping[str | None, Brief]
) -> Rejected:
    place, id = read.place(index), read.table["publication_id"][index].as_py()
    if not briefs[place.source].wants(error.code):
        return Rejected(place.source or "publications", id or place.item, error.code, "")
    placed = type(error)(error.code, f"{error.message} in row {place.item}, column {column}", fix=error.fix)
    return Rejected.of(placed, place.source or "publications", id or place.item)


def _publications(groups: Groups, columns: Triples, vocabulary: Vocabulary, bad: list[int]) -> Publications:
    """The rows by publication without the bad ones; a publication of which nothing is left is none."""
    good = np.ones(len(groups.permutation), np.bool_)
    good[bad] = False
    kept = good[groups.permutation]
    sizes = np.diff(np.concatenate(([0], np.cumsum(kept)))[groups.offsets])
    ids = tuple(str(id) for id, size in zip(groups.ids, sizes.tolist(), strict=True) if size)
    offsets = np.concatenate(([0], np.cumsum(sizes[sizes > 0]))).astype(np.int64)
    rows = groups.permutation[kept]
    return Publications(vocabulary, ids, offsets, Triples(*(column[rows] for column in columns)))
