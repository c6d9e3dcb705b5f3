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
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.compiled.growing import ragged
from heliograph.errors import HeliographError, PublicationError, UsageError
from heliograph.filter import layout
from heliograph.io.publications import Publications, Triples, group_rows, rebase
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, find_sources
from heliograph.io.tables import TableRows, as_table, numbered
from heliograph.model import MessageLimit, Rejected, Rejections
from heliograph.sparql.solve import Graph, World, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.columns import FEW

_DOCUMENTS = DOCUMENT_SUFFIXES + FEED_SUFFIXES
_COLUMNS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_NAMES = ["publication_id", *_COLUMNS]
_LISTS = (list, tuple)


class Arrivals(NamedTuple):
    """Publications in order of arrival, and what was refused of them."""

    publications: Publications
    rejected: tuple[Rejected, ...] = ()


def encode(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Arrivals:
    """Items, a table, documents or already interned publications over an overlay of the vocabulary."""
    if isinstance(items, Publications):
        return _within_limits(Arrivals(rebase(items, vocabulary)))
    few = _encode_few(items, vocabulary, prefixes)
    if few is not None:
        return _within_limits(few)
    if isinstance(items, (str, Path)) and str(items).endswith(_DOCUMENTS):
        return _within_limits(_encode_documents(str(items), vocabulary))
    read = items if isinstance(items, TableRows) else _texts(items) or as_table("publications", items)
    return _within_limits(_encode_rows(read, vocabulary, prefixes))


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


def _encode_few(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Arrivals | None:
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


def _encode_rows(read: TableRows, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Arrivals:
    """The rows by publication, without the bad ones: of each the first thing that is wrong with it is reported."""
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


def _encode_documents(spec: str, vocabulary: Vocabulary) -> Arrivals:
    """The publications of RDF documents or feeds, by path or glob."""
    from heliograph.io.documents import read_documents

    overlay = vocabulary.overlay()
    for batch in read_documents(find_sources(spec, _DOCUMENTS), overlay, batch=sys.maxsize):
        return Arrivals(batch.publications, tuple(batch.rejected))  # all of them are in the first
    return Arrivals(Publications.none(overlay))


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
