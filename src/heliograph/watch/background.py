"""What an evolving graph may start from: triples in any shape, as updates that are applied silently.

They have no seq but the one that they bring, and no window asks for their time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.kernels.evolution_layout import NO_TIME
from heliograph.publications import Publications
from heliograph.tables.items import as_table, is_single
from heliograph.tables.reads import Read
from heliograph.tables.schemas import TABLES
from heliograph.vocabulary import Vocabulary
from heliograph.watch import encoding
from heliograph.watch.encoding import Encoded, Encoding
from heliograph.watch.interned import Updates, translated
from heliograph.watch.reading import read_updates
from heliograph.watch.updates import ADD


def background(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Encoding:
    """The updates that add these triples; an updates table is applied as it stands, row by row."""
    if isinstance(items, Publications):
        return Encoding(_published(items, vocabulary), [])
    if isinstance(items, Updates):
        return Encoding(_good(items.over(vocabulary)), [])
    updates = read_updates(_read(items), vocabulary, prefixes)
    return Encoding(_good(updates), list(updates.rejected))


def _good(updates: Updates) -> Encoded:
    return updates.encoded if updates.good.all() else updates.encoded.take(updates.good)


def _published(publications: Publications, vocabulary: Vocabulary) -> Encoded:
    """The triples of publications, each of which is a set of them."""
    number = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
    columns = dict(zip("nspo", (number, *publications.triples), strict=True))
    sets = pa.table({**columns, "row": np.arange(len(number))}).group_by([*columns]).aggregate([("row", "min")])
    rows = np.sort(sets["row_min"].to_numpy())
    ids = [column[rows] for column in publications.triples]
    if publications.vocabulary is not vocabulary:
        ids = translated(ids, publications.vocabulary, vocabulary)
    subject, predicate, object = ids
    seq, op = np.zeros(len(rows), np.int64), np.full(len(rows), encoding.ADD, np.uint8)
    return Encoded(seq, op, subject, predicate, object, np.full(len(rows), np.nan), np.full(len(rows), NO_TIME))


def _read(items: Any) -> Read:
    if isinstance(items, Read) or hasattr(items, "__arrow_c_stream__"):
        read = as_table("graph", items)
        return read._replace(table=_as_updates(read.table))
    return as_table("updates", [_as_update(item) for item in _each(items)])


def _as_updates(table: pa.Table) -> pa.Table:
    """The columns of an updates table; a row without an op adds its triple."""
    columns: dict[str, Any] = {field.name: pa.nulls(len(table), field.type) for field in TABLES["updates"].arrow}
    columns |= {name: table[name] for name in columns if name in table.column_names}
    op = columns["op"].fill_null("")
    columns["op"] = pc.call_function("if_else", [pc.equal(op, pa.scalar("")), pa.scalar(ADD), op])
    return pa.table(columns)


def _each(items: Any) -> Iterator[Any]:
    """The single triples among items; a publication `(id, [(s, p, o), …])` gives all of its own."""
    for item in [items] if is_single(items) or not isinstance(items, Iterable) else items:
        if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], (tuple, list, set, frozenset)):
            yield from item[1]
        else:
            yield item


def _as_update(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {"op": ADD, **item}
    return (ADD, *item) if isinstance(item, (tuple, list)) and len(item) == 3 else item
