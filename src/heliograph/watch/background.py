"""What an evolving graph may start from: triples in any shape, made into updates without a seq of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.errors import HeliographError
from heliograph.model import Rejected
from heliograph.publications import Publications
from heliograph.tables.items import as_table, is_single
from heliograph.tables.reads import Read
from heliograph.tables.schemas import TABLES
from heliograph.vocabulary import Vocabulary
from heliograph.watch.reading import read_rows
from heliograph.watch.updates import ADD, Update


class Background(NamedTuple):
    updates: list[Update]
    rejected: list[Rejected]


def background(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Background:
    """The updates that add these triples; an updates table is applied as it stands, row by row."""
    if isinstance(items, Publications):
        return Background([Update(0, ADD, *triple) for _, graph in items.graphs() for triple in sorted(graph)], [])
    read = _read(items)
    loaded = Background([], list(read.rejected))
    for row in read_rows(read, vocabulary, prefixes):
        if isinstance(row.outcome, HeliographError):
            loaded.rejected.append(Rejected.of(row.outcome))
        else:
            loaded.updates.append(row.outcome)
    return loaded


def _read(items: Any) -> Read:
    if isinstance(items, Read) or hasattr(items, "__arrow_c_stream__"):
        read = as_table("graph", items)
        return read._replace(table=_as_updates(read.table))
    return as_table("updates", [_as_update(item) for item in _each(items)])


def _as_updates(table: pa.Table) -> pa.Table:
    """The columns of an updates table; a row without an op adds its triple."""
    columns = {field.name: pa.nulls(len(table), field.type) for field in TABLES["updates"].arrow}
    columns |= {name: table[name] for name in columns if name in table.column_names}
    columns["op"] = pa.array([op or ADD for op in columns["op"].to_pylist()], pa.string())
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
