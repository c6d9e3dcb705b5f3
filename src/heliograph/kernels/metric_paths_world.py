"""The arrays of shortest paths between terminals as kernels take them: two tables of addresses, `reach` and `scratch`.

What is taken from them by name is an array again, at the cost of loading its address. Handed over as tuples, these 26
arrays took 51 seconds to compile instead of 40, and runs about a tenth longer (see decision 17). A test compares types
and columns with the arrays.
"""

from __future__ import annotations

from typing import Any

from numba import float64, int32, int64

from heliograph.kernels.addresses import array_at
from heliograph.kernels.evolution_types import INT32_ROWS, NEW_FLOATS, NEW_INT64S
from heliograph.kernels.metric_paths_layout import (
    BALL_COLUMNS,
    ENTRY_COLUMNS,
    GROUP_COLUMNS,
    NOTE_COLUMNS,
    PAIR_COLUMNS,
    Reach,
    Scratch,
    Telling,
)
from heliograph.kernels.simple_graph_types import ASKED
from heliograph.kernels.types import named

REACH = SCRATCH = NEW_INT64S
TELLING: Any = named(Telling, ASKED, INT32_ROWS, NEW_FLOATS)


TYPES: dict[str, tuple[Any, int]] = {}  # of each array: its numbers, and how many are in a row; 0: no rows


def _reach(name: str, dtype: Any, columns: int = 0) -> Any:
    TYPES[name] = dtype, columns
    return array_at(2 * Reach._fields.index(name), dtype, columns)


def _scratch(name: str, dtype: Any, columns: int = 0) -> Any:
    TYPES[name] = dtype, columns
    return array_at(2 * Scratch._fields.index(name), dtype, columns)


slots_of = _reach("slots", int32)
entries_of = _reach("entries", int32, ENTRY_COLUMNS)
sums_of = _reach("sums", float64, 2)
heap_of = _reach("heap", int32)
stack_of = _reach("stack", int32)
first_of = _reach("first", int32)
touching_of = _reach("touching", int32)
centred_of = _reach("centred", int32)
balls_of = _reach("balls", int32, BALL_COLUMNS)
radii_of = _reach("radii", float64)
pairs_of = _reach("pairs", int32, PAIR_COLUMNS)
meets_of = _reach("meets", float64, 2)
groups_of = _reach("groups", int32, GROUP_COLUMNS)
bounds_of = _reach("bounds", float64)
told_of = _reach("told", float64)
queue_of = _reach("queue", int32)
limits_of = _reach("limits", float64)
counters_of = _reach("counters", int64)

hops_of = _scratch("hops", int32, 2)
totals_of = _scratch("totals", float64, 4)
places_of = _scratch("places", int32, 2)
heaps_of = _scratch("heaps", int32, 2)
seen_of = _scratch("seen", int32, 2)
sizes_of = _scratch("sizes", int64)
tree_of = _scratch("tree", int32, 2)
notes_of = _scratch("notes", float64, NOTE_COLUMNS)
