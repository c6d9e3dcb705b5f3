"""Candidates: the structures whose access edge a publication holds. Nothing else about a structure is looked at here.

The law: a structure is found once for a publication if and only if some edge of the publication agrees with its access
edge in every part that is a constant, or if it has no edge at all; hashes that happen to agree add some, seldom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.edges import edge_hash
from heliograph.kernels.filter_layout import Edges, Int32s, Int64s, Keys, Left
from heliograph.kernels.types import EDGES, KEYS, LEFT, NEW_COUNTS, NEW_INT32S, NEW_INT64S

_ONE, _FULL = np.uint64(1), np.uint32((1 << 32) - 1)


@kernel()
def _find(slots: Int64s, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of a key, or -1. Some 48 bits of the hash decide: a mistake, once in 2^48, costs a candidate."""
    mask = np.uint64(len(slots) - 1)
    hashed = edge_hash(subject, predicate, object)
    mark, slot = np.int64(hashed >> np.uint64(33)), hashed & mask
    while slots[slot]:
        if slots[slot] >> 32 == mark:
            return (slots[slot] & 0xFFFFFFFF) - 1
        slot = (slot + _ONE) & mask
    return -1


@kernel()
def _offer(structure: int, emptied: Int64s, stamp: int, found: Int32s, count: int) -> Any:
    """Writes a structure of which somebody is left, if there is room; returns how many there are now."""
    if emptied[structure] <= stamp:
        return count
    if count < len(found):
        found[count] = structure
    return count + 1


@kernel()
def _post(keys: Keys, edges: Edges, publication: int, met: Any, left: Left, found: Int32s) -> Any:
    """Writes the structures that one publication's edges lead to; returns how many, room or not."""
    count, emptied, stamp, slots = 0, left.emptied, left.stamp, keys.slots
    for structure in keys.always:
        count = _offer(structure, emptied, stamp, found, count)
    for mask in keys.masks:
        for edge in range(edges.offsets[publication], edges.offsets[publication + 1]):
            key = _find(
                slots,
                edges.subject[edge] if mask & 1 else np.int32(-1),
                edges.predicate[edge] if mask & 2 else np.int32(-1),
                edges.object[edge] if mask & 4 else np.int32(-1),
            )
            if key >= 0 and met[key] != publication + 1:
                met[key] = publication + 1
                for place in range(keys.offsets[key], keys.offsets[key + 1]):
                    count = _offer(keys.postings[place], emptied, stamp, found, count)
    return count


@kernel((KEYS, EDGES, LEFT, int64, NEW_INT32S, NEW_INT32S, NEW_INT64S))
def look_up(
    keys: Keys, edges: Edges, left: Left, begin: int, publications: Int32s, structures: Int32s, state: Int64s
) -> None:
    """Candidates of the publications from `begin` on, as far as there is room.

    state[0] becomes the first publication that is not done, state[1] how many candidates were written, state[2] how
    many the publication that did not fit has.
    """
    last = len(edges.offsets) - 1
    met = np.zeros(len(keys.subject), np.int32)
    count = 0
    state[2] = 0
    for publication in range(begin, last):
        more = _post(keys, edges, publication, met, left, structures[count:])
        if count + more > len(structures):
            state[0], state[1], state[2] = publication, count, more
            return
        publications[count : count + more] = publication
        count += more
    state[0], state[1] = last, count


@kernel()
def _count(sketch: Any, cell: Any) -> None:
    """One more, up to the most that a cell holds: what is common must not look rare after 2^32 edges."""
    if sketch[cell] < _FULL:
        sketch[cell] += np.uint32(1)


@kernel((EDGES, int64, int64, NEW_COUNTS))
def sketch_edges(edges: Edges, begin: int, every: int, sketch: Any) -> None:
    """Counts the edges of every so-many-th publication, with every combination of known parts."""
    half = np.uint64(len(sketch) // 2)
    for publication in range(begin, len(edges.offsets) - 1, every):
        for edge in range(edges.offsets[publication], edges.offsets[publication + 1]):
            for mask in range(8):
                hashed = edge_hash(
                    edges.subject[edge] if mask & 1 else np.int32(-1),
                    edges.predicate[edge] if mask & 2 else np.int32(-1),
                    edges.object[edge] if mask & 4 else np.int32(-1),
                )
                _count(sketch, hashed & (half - _ONE))
                _count(sketch, half + ((hashed >> np.uint64(32)) & (half - _ONE)))
