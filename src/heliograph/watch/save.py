"""A watch engine on disk: its graph, its subscriptions, and where in the stream it stands.

The law: an engine that is saved and loaded in mid-stream gives the notifications that it would have given. What stands
is answered again from the graph, so only what the graph does not say is kept: conditions held by hysteresis, places in
a top-k set, and the initial matches that are still to be reported.

An engine that measures is saved with the solutions that a hysteresis holds beyond a threshold, and with what measures
keep beside the edges, as its own version. Nothing depends on the ids of terms, which are others after a restore.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.storage import Saved
from heliograph.terms import Position, parse_cell, spell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import Key
from heliograph.watch.layout import NO_TIME, EdgeColumns
from heliograph.watch.metrics import calls
from heliograph.watch.strategy import WatchMemory
from heliograph.watch.updates import WindowExtent

KIND, VERSION, MEASURED = "watch", 1, 2
READ = {VERSION, MEASURED}  # 2 is a save of an engine that measures
_MEASURES = "measures."

Arrays: TypeAlias = dict[str, "np.ndarray[Any, Any]"]


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


def graph_table(edges: EdgeColumns, vocabulary: Vocabulary) -> pa.Table:
    """The edges in the order in which they were added, terms spelled as in any table."""
    ends = (edges.subject, edges.predicate, edges.object)
    texts = [vocabulary.spell(ids, position) for ids, position in zip(ends, _POSITIONS.values(), strict=True)]
    weights = pa.array(edges.weight, from_pandas=True)  # which takes NaN for null
    known = [pa.array(column, mask=column == NO_TIME) for column in (edges.at, edges.seq, edges.number)]
    return pa.Table.from_arrays([*texts, weights, *known], schema=_EDGES)


def read_edges(table: pa.Table, vocabulary: Vocabulary) -> EdgeColumns:
    cells = [vocabulary.intern_cells(table[name], position) for name, position in _POSITIONS.items()]
    for _, errors in cells:
        for _, error in errors:
            raise error
    subject, predicate, object = (ids for ids, _ in cells)
    absent = pa.scalar(NO_TIME, pa.int64())
    filled: list[Any] = [pc.fill_null(table[name], absent) for name in ("at", "seq", "number")]
    at, seq, number = (column.to_numpy() for column in filled)
    return EdgeColumns(subject, predicate, object, table["weight"].to_numpy(), at, seq, number)


def window_settings(extent: Sequence[int | None]) -> dict[str, Any]:
    """What an engine with a window of this extent is made with."""
    span, updates = WindowExtent(*extent)
    return {"window": None if span is None else timedelta(microseconds=span), "window_updates": updates}


# --- memory -----------------------------------------------------------------------------------------------------


def memory_meta(memory: WatchMemory) -> dict[str, Any]:
    return {
        "greeting": list(memory.initial_pending),
        "stirred": sorted(memory.rank_dirty),
        "held": _rows(memory.held),
    }


def metrics_meta(memory: WatchMemory, vocabulary: Vocabulary) -> dict[str, Any]:
    """What an engine that measures adds to its meta; `metric_arrays` are the arrays of its measures, by their place."""
    measures = [
        [key.name, key.options, [spell(vocabulary.term(id)) for id in key.properties]] for key in memory.measures
    ]
    return {"satisfied": _rows(memory.satisfied), "measures": measures}


def metric_arrays(memory: WatchMemory) -> Arrays:
    kept = enumerate(memory.measures.values())
    return {f"{_MEASURES}{number}.{name}": array for number, arrays in kept for name, array in arrays.items()}


def restore_memory(saved: Saved, vocabulary: Vocabulary) -> WatchMemory:
    meta = saved.meta["board"]
    memory = WatchMemory(tuple(meta["greeting"]), frozenset(meta["stirred"]), _keys(meta["held"]))
    if saved.version != MEASURED:
        return memory
    metrics, measures = saved.meta["metrics"], dict[calls.Key, Arrays]()
    for number, (name, options, cells) in enumerate(metrics["measures"]):
        properties = sorted(vocabulary.intern(parse_cell(cell)) for cell in cells)  # in the order that calls have them
        prefix = f"{_MEASURES}{number}."
        measures[calls.Key(name, tuple(options), tuple(properties))] = {
            name.removeprefix(prefix): array for name, array in saved.arrays.items() if name.startswith(prefix)
        }
    return memory._replace(satisfied=_keys(metrics["satisfied"]), measures=measures)


def _rows(held: Mapping[str, tuple[Key, ...]]) -> list[Any]:
    return [
        [id, [[None if term is None else spell(term) for term in key] for key in keys]] for id, keys in held.items()
    ]


def _keys(rows: Iterable[Any]) -> dict[str, tuple[Key, ...]]:
    return {
        id: tuple(tuple(None if cell is None else parse_cell(cell) for cell in cells) for cells in keys)
        for id, keys in rows
    }
