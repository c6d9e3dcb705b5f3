"""What a vertex hears, and what a node says there: masks of tags, or counts modulo 2^64.

The law: a node's mask at a vertex is the AND of what its parts hear, each translated into the node's tags; its count is
their product. A sum or product that wraps around is right modulo 2^64, so a count is exact as long as the whole of it
is below 2^63, whatever lies between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.network_layout import (
    AMONG_NODE,
    ANY_NODE,
    COUNT,
    FILLED,
    FLAT,
    IS_NODE,
    M_KIND,
    M_NODE,
    M_REF,
    N_FIRST,
    N_PARTS,
    P_KIND,
    P_MAP,
    P_REF,
    PART_FILLS,
    PART_HEARS,
    PART_TEST,
    SAME,
    TOO_MANY,
)
from heliograph.kernels.network_tests import banked, passes
from heliograph.kernels.network_world import (
    anchors,
    constant_slots,
    entries,
    maps,
    marks,
    messages,
    nodes,
    ones,
    parts,
    report_state,
    state_counts,
)

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_32 = np.uint64(32)
_0, _1 = np.uint64(0), np.uint64(1)
MOST = 2.0**62  # half of what a count may be: sums of what is below it are noticed in time


@kernel(inline=True)
def pair_key(first: Any, second: Any) -> Any:
    """What stands for a pair of small numbers in a table where 0 is free."""
    return ((np.int64(first) << 32) | np.int64(second)) + 1


@kernel(inline=True)
def pair_slot(key: Any) -> Any:
    """A hash of a pair's key, every bit of it spread."""
    hashed = np.uint64(key) * _ODD
    return (hashed ^ (hashed >> _32)) * _ODD >> np.uint64(20)


@kernel(inline=True)
def find_pair(table: Any, key: Any) -> Any:
    """What a table of rows (key, value) holds for a key, or -1."""
    mask = np.uint64(len(table) - 1)
    slot = pair_slot(key) & mask
    while table[slot, 0] != 0:
        if table[slot, 0] == key:
            return table[slot, 1]
        slot = (slot + _1) & mask
    return np.int64(-1)


# --- messages ---------------------------------------------------------------------------------------------------


@kernel(inline=True)
def state_slot(world: Any, message: Any, vertex: Any) -> Any:
    """Where a message to a vertex stands, or the free place where it would."""
    key = np.uint64(pair_key(message, vertex))
    table = entries(world)
    mask = np.uint64(len(table) - 1)
    slot = pair_slot(key) & mask
    while table[slot, 0] != _0 and table[slot, 0] != key:
        slot = (slot + _1) & mask
    return slot


@kernel(inline=True)
def heard(world: Any, message: Any, vertex: Any) -> Any:
    """The value of a message at a vertex."""
    if not marks(world)[vertex] >> np.uint64(message & 63) & _1:
        return _0
    return entries(world)[state_slot(world, message, vertex), 1]


@kernel(inline=True)
def tell(world: Any, message: Any, vertex: Any, value: Any) -> None:
    """Sets the value of a message at a vertex; there is room for one more."""
    slot = state_slot(world, message, vertex)
    if entries(world)[slot, 0] == _0:
        entries(world)[slot, 0] = np.uint64(pair_key(message, vertex))
        state_counts(world)[0] += 1
        marks(world)[vertex] |= _1 << np.uint64(message & 63)
    entries(world)[slot, 1] = value


# --- nodes ------------------------------------------------------------------------------------------------------


@kernel()
def part_mask(world: Any, part: Any, vertex: Any) -> Any:
    """What a part hears at a vertex, in tags of its own; a test has the one tag 0."""
    kind, ref = parts(world)[part, P_KIND], np.int64(parts(world)[part, P_REF])
    if kind == PART_HEARS:
        return heard(world, ref, vertex)
    if kind == PART_TEST:
        return _1 if passes(world, ref, vertex) else _0
    if kind == PART_FILLS:
        found = find_pair(constant_slots(world), pair_key(np.int64(FILLED) + ref, vertex))
        return _1 if found >= 0 else _0
    return banked(world, ref, vertex)


@kernel()
def mapped(world: Any, part: Any, mask: Any, tags: Any) -> Any:
    """What a part hears, in the tags of its node."""
    how = parts(world)[part, P_MAP]
    if how == SAME:
        return mask & tags
    if how == FLAT:
        return tags if mask else _0
    answer, bit = _0, _1
    for tag in range(64):
        if tags & bit and (mask >> np.uint64(maps(world)[how + tag])) & _1:
            answer |= bit
        bit <<= _1
    return answer


@kernel()
def node_bits(world: Any, node: Any, vertex: Any, skipped: Any, bits: Any) -> Any:
    """What a node says at a vertex; of the part `skipped` (or -1) only these bits are taken."""
    tags = ones(world)[node]
    answer = tags if skipped < 0 else mapped(world, skipped, bits, tags)
    first = np.int64(nodes(world)[node, N_FIRST])
    for part in range(first, first + nodes(world)[node, N_PARTS]):
        if answer == _0:
            break
        if part != skipped:
            answer &= mapped(world, part, part_mask(world, part, vertex), tags)
    return answer


@kernel(inline=True)
def note_size(world: Any, size: Any) -> None:
    """Remembers that a product was too large to be told."""
    if size >= MOST or size <= -MOST:
        report_state(world)[TOO_MANY] = 1


@kernel()
def node_count(world: Any, node: Any, vertex: Any, skipped: Any, count: Any) -> Any:
    """How often a node can be completed at a vertex; in place of the part `skipped` (or -1) stands `count`."""
    answer = _1 if skipped < 0 else count
    first, size = np.int64(nodes(world)[node, N_FIRST]), np.float64(np.int64(answer))
    for part in range(first, first + nodes(world)[node, N_PARTS]):
        if answer == _0 and size == 0.0:
            break
        if part != skipped:
            factor = part_mask(world, part, vertex)
            answer, size = answer * factor, size * np.float64(np.int64(factor))
    note_size(world, size)
    return answer


@kernel()
def node_value(world: Any, message: Any, vertex: Any, skipped: Any, value: Any) -> Any:
    """What the node of a message says, by the message's kind."""
    node = np.int64(messages(world)[message, M_NODE])
    if messages(world)[message, M_KIND] == COUNT:
        return node_count(world, node, vertex, skipped, value)
    return node_bits(world, node, vertex, skipped, value)


@kernel()
def spoken(world: Any, message: Any, hearer: Any, speaker: Any) -> Any:
    """What one edge, from the vertex that hears to the one that speaks, adds to a message."""
    node = messages(world)[message, M_NODE]
    if node >= 0:
        return node_value(world, message, speaker, np.int64(-1), _0)
    if node == ANY_NODE:
        return _1
    ref = messages(world)[message, M_REF]
    if node == IS_NODE:
        return _1 if speaker == ref else _0
    if node == AMONG_NODE:
        bit = find_pair(anchors(world), pair_key(ref, speaker))
        return _0 if bit < 0 else _1 << np.uint64(bit)
    return _1 if speaker == hearer else _0
