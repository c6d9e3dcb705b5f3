"""Numba's types for the arrays of the query network, and everything that its kernels work on together."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import float64, int32, int64, uint8, uint64

from heliograph.kernels.evolution_types import GRAPH
from heliograph.kernels.network_layout import Batch, Network, Reports, Scratch, States, Work
from heliograph.kernels.types import array, named, rows

INT8S, INT32S, INT64S, MASKS, FLOATS = (
    array(dtype, writable=True) for dtype in (uint8, int32, int64, uint64, float64)
)
INT32_ROWS, INT64_ROWS, FLOAT_ROWS = (rows(dtype, writable=True) for dtype in (int32, int64, float64))

NETWORK = named(
    Network,
    INT32_ROWS,  # messages
    INT32_ROWS,  # nodes
    MASKS,  # ones
    INT32_ROWS,  # parts
    INT8S,  # maps
    INT32_ROWS,  # users
    INT32_ROWS,  # sites
    INT32S,  # site_slots
    INT32_ROWS,  # site_heads
    INT64_ROWS,  # anchors
    INT32_ROWS,  # groups
    INT32_ROWS,  # edges
    INT32_ROWS,  # steps
    INT32_ROWS,  # starts
    INT32_ROWS,  # constants
    INT64_ROWS,  # constant_slots
    INT32_ROWS,  # components
    INT8S,  # bits
    INT64S,  # values
    INT32_ROWS,  # queries
    INT32_ROWS,  # links
    INT64_ROWS,  # limits
    INT32S,  # waiting
    INT32S,  # tests
    FLOAT_ROWS,  # atoms
    INT32_ROWS,  # banks
    FLOAT_ROWS,  # domains
    INT64_ROWS,  # verdicts
)
STATES = named(States, INT64S, MASKS, INT64S)
WORK = named(Work, INT32_ROWS, MASKS, INT32S, INT64S)
REPORTS = named(Reports, INT64_ROWS, INT32S, INT32S, INT64S)
SCRATCH = named(Scratch, INT32S, MASKS, INT64_ROWS)
BATCH = named(
    Batch, *(array(dtype) for dtype in (int64, uint8, int32, int32, int32, float64, int64, int32))
)


class World(NamedTuple):
    """The evolving graph, the queries over it, what their parts hear, and room to work."""

    graph: Any
    network: Any
    states: Any
    work: Any
    reports: Any
    scratch: Any


WORLD = named(World, GRAPH, NETWORK, STATES, WORK, REPORTS, SCRATCH)
