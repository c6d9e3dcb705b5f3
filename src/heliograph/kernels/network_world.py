"""Everything that the network's kernels work on, as one table of addresses: `world`.

What is taken from it by name is an array again, at the cost of loading its address.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64, uint8, uint64

from heliograph.kernels import evolution, evolution_access, evolution_window
from heliograph.kernels.addresses import array_at
from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import HEAP, LENGTH, QUEUE, Graph, Stamp, Window
from heliograph.kernels.network_layout import (
    COMPONENT_COLUMNS,
    CONSTANT_COLUMNS,
    CURSOR_COLUMNS,
    EDGE_COLUMNS,
    EVENT_COLUMNS,
    FILLING_COLUMNS,
    GROUP_COLUMNS,
    HEAD_COLUMNS,
    HOLE_COLUMNS,
    LIMIT_COLUMNS,
    LINK_COLUMNS,
    MESSAGE_COLUMNS,
    NODE_COLUMNS,
    PART_COLUMNS,
    PARTS_OF_WORLD,
    QUERY_COLUMNS,
    SITE_COLUMNS,
    START_COLUMNS,
    STEP_COLUMNS,
    USER_COLUMNS,
)
from heliograph.kernels.types import array

WORLD = array(int64)

_PLACES = {
    f"{part.__name__}.{name}": 2 * number
    for number, (part, name) in enumerate((part, name) for part in PARTS_OF_WORLD for name in part._fields)
}


def _line(name: str, dtype: Any) -> Any:
    """A function that gives an array of numbers by its name."""
    return array_at(_PLACES[name], dtype)


def _rows(name: str, columns: int, dtype: Any = int32) -> Any:
    """A function that gives an array of rows by its name."""
    return array_at(_PLACES[name], dtype, columns)


# --- the network ------------------------------------------------------------------------------------------------

messages = _rows("Network.messages", MESSAGE_COLUMNS)
nodes = _rows("Network.nodes", NODE_COLUMNS)
ones = _line("Network.ones", uint64)
parts = _rows("Network.parts", PART_COLUMNS)
maps = _line("Network.maps", uint8)
users = _rows("Network.users", USER_COLUMNS)
sites = _rows("Network.sites", SITE_COLUMNS)
site_slots = _line("Network.site_slots", int32)
site_heads = _rows("Network.site_heads", HEAD_COLUMNS)
anchors = _rows("Network.anchors", 2, int64)
groups = _rows("Network.groups", GROUP_COLUMNS)
core_edges = _rows("Network.edges", EDGE_COLUMNS)
steps = _rows("Network.steps", STEP_COLUMNS)
starts = _rows("Network.starts", START_COLUMNS)
constants = _rows("Network.constants", CONSTANT_COLUMNS)
constant_slots = _rows("Network.constant_slots", 2, int64)
holes = _rows("Network.holes", HOLE_COLUMNS)
fillings = _rows("Network.fillings", FILLING_COLUMNS)
components = _rows("Network.components", COMPONENT_COLUMNS)
tag_bits = _line("Network.bits", uint8)
values = _line("Network.values", int64)
queries = _rows("Network.queries", QUERY_COLUMNS)
links = _rows("Network.links", LINK_COLUMNS)
limits = _rows("Network.limits", LIMIT_COLUMNS, int64)
tests = _line("Network.tests", int32)
atoms = _rows("Network.atoms", 4, float64)
banks = _rows("Network.banks", 64)
domains = _rows("Network.domains", 2, float64)
verdicts = _rows("Network.verdicts", 2, int64)

entries = _rows("States.entries", 2, uint64)
marks = _line("States.marks", uint64)
state_counts = _line("States.counts", int64)

items = _rows("Work.items", 3)
payloads = _line("Work.payloads", uint64)
levels = _line("Work.levels", int32)
plans = _rows("Work.plans", 2, int64)
sayings = _line("Work.sayings", uint64)
work_state = _line("Work.state", int64)

events = _rows("Reports.events", EVENT_COLUMNS, int64)
solutions = _line("Reports.rows", int32)
touched = _line("Reports.touched", int32)
report_state = _line("Reports.state", int64)

path = _line("Scratch.path", int32)
masks = _line("Scratch.masks", uint64)
cursors = _rows("Scratch.cursors", CURSOR_COLUMNS, int64)

batch_seq = _line("Batch.seq", int64)
batch_op = _line("Batch.op", uint8)
batch_subject = _line("Batch.subject", int32)
batch_predicate = _line("Batch.predicate", int32)
batch_object = _line("Batch.object", int32)
batch_weight = _line("Batch.weight", float64)
batch_at = _line("Batch.at", int64)
deriving = _line("Batch.deriving", int32)

run_progress = _line("Run.progress", int64)
run_changes = _line("Run.changes", int32)

# --- the graph --------------------------------------------------------------------------------------------------

_slots = _line("Graph.slots", int64)
edges = _rows("Graph.edges", 4)
_places = _rows("Graph.places", 2)
_heads = _line("Graph.heads", int32)
runs = _rows("Graph.runs", 5)
first_runs = _line("Graph.first", int32)
_pool = _rows("Graph.pool", 2)
_free = _line("Graph.free", int64)
_weights = _line("Graph.weights", float64)
_times = _rows("Graph.times", 3, int64)
counters = _line("Graph.counters", int64)

_heap = _rows("Window.heap", 3, int64)
_queue = _rows("Window.queue", 2, int64)
clocks = _line("Window.clocks", int64)


@kernel(inline=True)
def graph_of(world: Any) -> Any:
    """Only what its user looks at is loaded."""
    return Graph(
        _slots(world),
        edges(world),
        _places(world),
        _heads(world),
        runs(world),
        first_runs(world),
        _pool(world),
        _free(world),
        _weights(world),
        _times(world),
        counters(world),
    )


@kernel(inline=True)
def _window(world: Any) -> Any:
    return Window(_heap(world), _queue(world), clocks(world))


@kernel()
def find_edge(world: Any, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge that is there or waited for, or -1."""
    graph, tag = graph_of(world), evolution_access.edge_tag(subject, predicate, object)
    place = evolution_access.slot_of(graph, tag, subject, predicate, object)
    return (graph.slots[place] & evolution_access.NUMBER) - 1


@kernel(inline=True)
def is_present(world: Any, edge: Any) -> Any:
    return evolution_access.is_present(graph_of(world), edge)


@kernel()
def find_run(world: Any, vertex: Any, key: Any) -> Any:
    """The run of a vertex's edges of one property in one direction, or -1 if there are none."""
    graph = graph_of(world)
    run = evolution_access.run_in(graph, evolution_access.head_of(graph, vertex, key))
    return run if run < 0 or graph.runs[run, LENGTH] else np.int64(-1)


@kernel(inline=True)
def run_length(world: Any, run: Any) -> Any:
    return evolution_access.run_length(graph_of(world), run)


@kernel(inline=True)
def neighbour(world: Any, run: Any, place: Any) -> Any:
    return evolution_access.neighbour(graph_of(world), run, place)


@kernel(inline=True)
def edge_at(world: Any, run: Any, place: Any) -> Any:
    return evolution_access.edge_at(graph_of(world), run, place)


@kernel(inline=True)
def first_run(world: Any, vertex: Any) -> Any:
    return evolution_access.first_run(graph_of(world), vertex)


@kernel(inline=True)
def next_run(world: Any, run: Any) -> Any:
    return evolution_access.next_run(graph_of(world), run)


@kernel(inline=True)
def prefetch_first(world: Any, row: Any) -> None:
    """Asks for the memory that an update to come begins with."""
    subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
    evolution_access.prefetch_edge(graph_of(world), subject, predicate, object)
    if len(_heads(world)):
        evolution_access.prefetch_ends(graph_of(world), subject, predicate, object)


@kernel(inline=True)
def prefetch_second(world: Any, row: Any) -> None:
    """Asks for what that leads to."""
    subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
    evolution_access.prefetch_row(graph_of(world), subject, predicate, object)
    if len(_heads(world)):
        evolution_access.prefetch_runs(graph_of(world), subject, predicate, object)


@kernel()
def put(world: Any, subject: Any, predicate: Any, object: Any) -> Any:
    """Adds an edge that is not there; its number."""
    return evolution.put(graph_of(world), subject, predicate, object)


@kernel()
def drop(world: Any, edge: Any) -> None:
    """Takes an edge away."""
    evolution.drop(graph_of(world), edge)


@kernel(inline=True)
def has_room(world: Any) -> Any:
    """Whether another edge can be added, and noted in the window."""
    return evolution.has_room(graph_of(world)) and evolution_window.window_has_room(_window(world))


@kernel(inline=True)
def tick(world: Any, at: Any) -> None:
    evolution_window.tick(_window(world), at)


@kernel()
def next_due(world: Any) -> Any:
    """The next edge that is too old, or -1."""
    if clocks(world)[HEAP] == 0 and clocks(world)[QUEUE] == 0:
        return np.int64(-1)
    return evolution_window.next_due(_window(world), graph_of(world))


@kernel()
def settle_new(world: Any, edge: Any, stamp: Stamp) -> None:
    """A fresh edge takes the weight and the times it is given."""
    if len(_weights(world)) or len(_times(world)):
        evolution_window.settle_new(graph_of(world), _window(world), edge, stamp)


@kernel()
def renew(world: Any, edge: Any, stamp: Stamp) -> None:
    """A present edge takes the weight and the times it is given."""
    if len(_weights(world)) or len(_times(world)):
        evolution_window.renew(graph_of(world), _window(world), edge, stamp)
