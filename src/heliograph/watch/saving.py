"""A watch engine on disk: its graph, its subscriptions, and where in the stream it stands.

The law: an engine that is saved and loaded in mid-stream gives the notifications that it would have given. What stands
is answered again from the graph, so only what the graph does not tell is kept: conditions held by hysteresis, places in
a top-k set, and the initial matches that are still to be reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position, Term, parse_cell, spell
from heliograph.watch.board import Memory
from heliograph.watch.evolving import EvolvingGraph
from heliograph.watch.modes import Key
from heliograph.watch.window import Edge

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


def graph_table(graph: EvolvingGraph) -> pa.Table:
    """The edges in the order in which they were added, terms spelled as in any table."""
    triples: Iterable[tuple[Term, ...]] = zip(*graph.edges, strict=True) if graph.edges else ((), (), ())
    known: Iterable[tuple[Any, ...]] = zip(*graph.edges.values(), strict=True) if graph.edges else ((), (), (), ())
    columns = [
        [spell(term, position) for term in column]
        for column, position in zip(triples, _POSITIONS.values(), strict=True)
    ]
    arrays = zip(_EDGES, chain(columns, map(list, known)), strict=True)
    return pa.Table.from_arrays([pa.array(column, field.type) for field, column in arrays], schema=_EDGES)


def restore_graph(graph: EvolvingGraph, table: pa.Table) -> None:
    cells = [[parse_cell(cell, position) for cell in table[name].to_pylist()] for name, position in _POSITIONS.items()]
    known = [table[name].to_pylist() for name in Edge._fields]
    for triple, edge in zip(zip(*cells, strict=True), zip(*known, strict=True), strict=True):
        graph.restore(triple, Edge(*edge))


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
