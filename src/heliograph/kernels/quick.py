"""Quick code asked about a board. `quick_layout` says what it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels import board_layout as at
from heliograph.kernels import quick_layout as of
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.quick_layout import Facts, Quick
from heliograph.kernels.truth import holds

_NONE = np.uint64(0)


@kernel(inline=True)
def accepted(events: Events, quick: Quick, facts: Facts, board: Board, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true; `facts` have been learnt from the board."""
    start = quick.starts[expression]
    if start < 0 or board.head[at.ALL_PLAIN] == 0:
        return _slowly(events, board, expression, asked)
    groups = np.int64(quick.code[start + 1])
    place = start + 2 + groups
    found = _NONE
    if quick.code[start] == of.OR_OF_ANDS:
        for group in range(groups):
            lanes = asked
            end = place + quick.code[start + 2 + group]
            while place < end:
                lanes &= facts.known[quick.code[place]] & ~facts.known[quick.code[place + 1]]
                place += 2
            found |= lanes
        return found
    for group in range(groups):
        found = _NONE
        end = place + quick.code[start + 2 + group]
        while place < end:
            found |= facts.known[quick.code[place]] & ~facts.known[quick.code[place + 1]]
            place += 2
        asked &= found
    return asked


@kernel()
def _slowly(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    return holds(events, board, expression, asked)
