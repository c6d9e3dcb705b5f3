"""A watch engine on disk: its graph, its subscriptions, and where in the stream it stands.

The law: an engine that is saved and loaded in mid-stream gives the notifications that it would have given. What stands
is answered again from the graph, so only what the graph does not tell is kept: conditions held by hysteresis, places in
a top-k set, and the initial matches that are still to be reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.kernels.evolution_layout import NO_TIME, Int64s
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position, parse_cell, spell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.modes import Key
from heliograph.watch.snapshots import Edges, Memory
from heliograph.watch.window import Extent

KIND = "watch"
VERSION = 1

_POSITIONS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_TYPES: Mapping[str, pa.DataType] = {
    **dict.fromkeys(_POSITIONS, pa.string()),
    "weight": pa.float64(),
    **dict.fromkeys(("at", "seq", "number"), pa.int64()),
}
_EDGES = pa.schema(_TYPES)


@contextmanager
def damaged(path: str | Path) -> Iterator[None]:
    """Whatever a save lacks, or has that it should not, is the save's fault."""
    try:
        yield
    except (HeliographError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(
            "HG-810", f"a damaged save of a watch: {error}", place=Place(str(path)), fix="save it again"
        ) from error


def graph_table(edges: Edges, vocabulary: Vocabulary) -> pa.Table:
    """The edges in the order in which they were added, terms spelled as in any table."""
    ends = (edges.subject, edges.predicate, edges.object)
    texts = [vocabulary.spell(ids, position) for ids, position in zip(ends, _POSITIONS.values(), strict=True)]
    weights = pa.array(edges.weight, from_pandas=True)  # which takes NaN for null
    known = [pa.array(column, mask=column == NO_TIME) for column in (edges.at, edges.seq, edges.number)]
    return pa.Table.from_arrays([*texts, weights, *known], schema=_EDGES)


def read_edges(table: pa.Table, vocabulary: Vocabulary) -> Edges:
    cells = [vocabulary.intern_cells(table[name], position) for name, position in _POSITIONS.items()]
    for _, errors in cells:
        for _, error in errors:
            raise error
    subject, predicate, object = (ids for ids, _ in cells)
    at, seq, number = (_integers(table[name]) for name in ("at", "seq", "number"))
    return Edges(subject, predicate, object, table["weight"].to_numpy(), at, seq, number)


def _integers(column: Any) -> Int64s:
    filled: Int64s = pc.fill_null(column, pa.scalar(NO_TIME, pa.int64())).to_numpy()
    return filled


def window_settings(extent: Sequence[int | None]) -> dict[str, Any]:
    """What an engine with a window of this extent is made with."""
    span, updates = Extent(*extent)
    return {"window": None if span is None else timedelta(microseconds=span), "window_updates": updates}


def taxonomy_table(taxonomy: Taxonomy) -> pa.Table:
    return pa.table(
        {
            "child": pa.array([spell(child) for child, _ in taxonomy.rows], pa.string()),
            "parent": pa.array([spell(parent) for _, parent in taxonomy.rows], pa.string()),
        }
    )


def restore_taxonomy(table: pa.Table) -> Taxonomy:
    rows = zip(table["child"].to_pylist(), table["parent"].to_pylist(), strict=True)
    return Taxonomy((parse_cell(child), parse_cell(parent)) for child, parent in rows)


def memory_meta(memory: Memory) -> dict[str, Any]:
    return {
        "greeting": list(memory.greeting),
        "stirred": sorted(memory.stirred),
        "held": [[id, [_cell(key) for key in keys]] for id, keys in memory.held.items()],
    }


def restore_memory(meta: Mapping[str, Any]) -> Memory:
    held = {id: tuple(_key(cells) for cells in keys) for id, keys in meta["held"]}
    return Memory(tuple(meta["greeting"]), frozenset(meta["stirred"]), held)


def _cell(key: Key) -> list[str | None]:
    return [None if term is None else spell(term) for term in key]


def _key(cells: list[str | None]) -> Key:
    return tuple(None if cell is None else parse_cell(cell) for cell in cells)
