"""Under which tests each expression is listed in the seed's index, and where ranges are listed.

The law of a necessary set: an expression that is true has one of its chosen tests true. An AND is listed under the
tests of its cheapest member, an OR under those of all members: no disjunctive normal form is made, nothing explodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import AND, OR, Bytes, Floats, Int32s, Int64s, Programs
from heliograph.kernels.targeting_types import FLOATS, INT64S, NEW_BYTES, NEW_FLOATS, NEW_INT32S, PROGRAMS

_OP = np.int32(0x7F)


@kernel((PROGRAMS, FLOATS, NEW_FLOATS, NEW_BYTES, NEW_FLOATS))
def choose(programs: Programs, weights: Floats, costs: Floats, chosen: Bytes, totals: Floats) -> None:
    """chosen[i] tells whether instruction i, whose test has weights[i], is in its expression's necessary set.

    costs[i] becomes what listing under instruction i costs, from the last to the first; then each group hands its
    choice down. totals[e] is the cost of expression e: infinite where some test of the set cannot be listed.
    """
    starts, code = programs.starts, programs.code
    for place in range(len(weights) - 1, -1, -1):
        op, size = code[2 * place] & _OP, code[2 * place + 1] >> 1
        costs[place] = _cost(code, costs, op, place + 1, place + 1 + size) if op <= OR else weights[place]
    for expression in range(len(starts) - 1):
        begin, end = starts[expression] >> 1, starts[expression + 1] >> 1
        totals[expression] = _cost(code, costs, AND, begin, end)
        _hand_down(code, costs, AND, begin, end, chosen)
        for place in range(begin, end):
            op, size = code[2 * place] & _OP, code[2 * place + 1] >> 1
            if chosen[place] and op <= OR:
                chosen[place] = 0
                _hand_down(code, costs, op, place + 1, place + 1 + size, chosen)


@kernel()
def _member_size(code: Int32s, place: Any) -> Any:
    """How many instructions a member has, its own members included."""
    return 1 + (code[2 * place + 1] >> 1) if code[2 * place] & _OP <= OR else 1


@kernel()
def _cost(code: Int32s, costs: Floats, op: Any, place: Any, end: Any) -> Any:
    """Of the members from `place` to `end`: all of an OR's, the least of an AND's."""
    total, least = 0.0, np.inf
    while place < end:
        total += costs[place]
        least = min(least, costs[place])
        place += _member_size(code, place)
    return total if op == OR else least


@kernel()
def _hand_down(code: Int32s, costs: Floats, op: Any, place: Any, end: Any, chosen: Bytes) -> None:
    best = place
    while place < end:
        if op == OR:
            chosen[place] = 1
        elif costs[place] < costs[best]:
            best = place
        place += _member_size(code, place)
    if op == AND and best < end:
        chosen[best] = 1


@kernel((INT64S, INT64S, INT64S, NEW_INT32S, NEW_INT32S))
def cover(first: Int64s, last: Int64s, size: Int64s, nodes: Int32s, ranges: Int32s) -> Any:
    """The nodes of a tree over `size` leaves, numbered as a heap, that cover the leaves from `first` to `last`.

    Writes a node and its range for each, as far as there is room; returns how many there are.
    """
    count = 0
    for entry in range(len(first)):
        left, right = size[entry] + first[entry], size[entry] + last[entry] + 1
        while left < right:
            if left & 1:
                count = _write(nodes, ranges, count, left, entry)
                left += 1
            if right & 1:
                right -= 1
                count = _write(nodes, ranges, count, right, entry)
            left >>= 1
            right >>= 1
    return count


@kernel()
def _write(nodes: Int32s, ranges: Int32s, count: Any, node: Any, entry: Any) -> Any:
    if count < len(nodes):
        nodes[count], ranges[count] = node, entry
    return count + 1
