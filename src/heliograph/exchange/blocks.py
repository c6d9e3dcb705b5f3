"""Blocks: where the edges that a node gets later lie, and the entries that say which edges lead to it.

The laws: a node's edges lie in the order of adding, first those from its beginning to its end, then those of its
blocks; a block is at least twice as large as the one before, so a node of degree d has about log d of them. New places
are reserved first, filled in, and only then attached: nobody comes upon them before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.exchange.growing import ROOM, Arrays
from heliograph.kernels.exchange_layout import (
    BEGIN,
    END,
    IN_BEGIN,
    IN_END,
    IN_MORE,
    MORE,
    OUT_BEGIN,
    OUT_END,
    OUT_MORE,
)
from heliograph.kernels.targeting_layout import Int32s, Int64s

_BULK = 1024  # places that are reserved together without room to grow: they are settled soon


class Side(NamedTuple):
    """The columns of `nodes` that lead to a node's edges, or to its entries."""

    begin: int
    end: int
    more: int


OUT, INTO = Side(OUT_BEGIN, OUT_END, OUT_MORE), Side(IN_BEGIN, IN_END, IN_MORE)


class Reserved(NamedTuple):
    """Places for new edges, or entries. The other columns have a row for each node that gets some."""

    places: Int64s
    side: Side
    nodes: Int32s
    counts: Int64s
    tails: Int32s  # the last block so far, or -1
    begins: Int64s
    rooms: Int64s  # where its new block ends, or -1 if the last one has enough room


def reserve(arrays: Arrays, nodes: Int32s, side: Side) -> Reserved:
    """A place for each row, behind what its node has; rows of one node keep their order."""
    several, rows, counts = _grouped(nodes)
    tails = _tails(arrays, several, side)
    last = arrays.blocks[tails]  # where there is none, another one that is not looked at
    spare = np.where(tails >= 0, last[:, ROOM] - last[:, END], 0)
    doubled = 0 if len(nodes) >= _BULK else np.where(tails >= 0, 2 * (last[:, ROOM] - last[:, BEGIN]), counts + 1)
    sizes = np.where(spare >= counts, 0, np.maximum(counts, doubled))
    total = int(sizes.sum())
    fresh = arrays.take("edges" if side is OUT else "entries", total) + np.cumsum(sizes) - sizes
    begins = np.where(spare >= counts, last[:, END], fresh)
    rooms = np.where(spare >= counts, -1, fresh + sizes)
    return Reserved(begins[rows] + _ranks(rows, counts), side, several, counts, tails, begins, rooms)


def attach(arrays: Arrays, reserved: Reserved) -> None:
    """Shows the places, now that they are filled in."""
    new = np.flatnonzero(reserved.rooms >= 0)
    old = np.flatnonzero(reserved.rooms < 0)
    first = arrays.take("blocks", len(new))
    blocks = np.arange(first, first + len(new), dtype=np.int32)
    begins, counts, tails = reserved.begins[new], reserved.counts[new], reserved.tails[new]
    arrays.blocks[blocks, BEGIN], arrays.blocks[blocks, END] = begins, begins + counts
    arrays.blocks[blocks, ROOM], arrays.blocks[blocks, MORE] = reserved.rooms[new], -1
    arrays.blocks[tails[tails >= 0], MORE] = blocks[tails >= 0]
    arrays.nodes[reserved.nodes[new][tails < 0], reserved.side.more] = blocks[tails < 0]
    arrays.blocks[reserved.tails[old], END] = reserved.begins[old] + reserved.counts[old]


def spanned(arrays: Arrays, number: int, side: Side) -> Int64s:
    """The places of a node's edges or entries, block after block."""
    first, last, more = arrays.nodes[number, list(side)].tolist()
    spans = [np.arange(first, last)]
    while more >= 0:
        first, last, more = arrays.blocks[more, [BEGIN, END, MORE]].tolist()
        spans.append(np.arange(first, last))
    return np.concatenate(spans)


def _tails(arrays: Arrays, nodes: Int32s, side: Side) -> Int32s:
    """The last block of each node, or -1."""
    tails: Int32s = arrays.nodes[nodes, side.more]
    while True:
        following = np.where(tails >= 0, arrays.blocks[tails, MORE], np.int32(-1))
        if not (following >= 0).any():
            return tails
        tails = np.where(following >= 0, following, tails)


def _grouped(nodes: Int32s) -> tuple[Int32s, Int64s, Int64s]:
    """The different nodes, which of them each row has, and how many rows each has."""
    if len(nodes) == 1:
        return nodes, np.zeros(1, np.int64), np.ones(1, np.int64)
    return np.unique(nodes, return_inverse=True, return_counts=True)


def _ranks(rows: Int64s, counts: Int64s) -> Int64s:
    """The how-manieth of its node each row is."""
    if len(rows) == 1:
        return np.zeros(1, np.int64)
    order = np.argsort(rows, kind="stable")
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks
