"""Room for asking expressions about events, used again from call to call: a board and the facts learnt from it.

The law: what an earlier call left in a room is out of date by its stamps, or emptied; a room belongs to one store of
expressions at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels.board_layout import Board, Events, board_sizes, make_board
from heliograph.kernels.quick_layout import Facts, Job, make_facts
from heliograph.kernels.targeting_layout import Cells
from heliograph.targeting.growing import fixed
from heliograph.targeting.store import Compiled, Targeting

NOTHING_SLOW: npt.NDArray[np.int8] = np.zeros((0, 0), np.int8)
NOTHING_SLOW.flags.writeable = False


class Room:
    """A board and its facts, for one call at a time."""

    def __init__(self) -> None:
        self._owner: Targeting | None = None
        self._board: Board | None = None
        self._facts: Facts | None = None

    def job(self, targeting: Targeting, compiled: Compiled, cells: Cells, slow: npt.NDArray[np.int8]) -> Job:
        """Everything that is needed to ask the compiled expressions about the events."""
        if self._owner is not targeting:
            self._owner, self._board, self._facts = targeting, None, None
        if self._board is None or not _fits(self._board, compiled, cells):
            self._board, self._facts = make_board(compiled.names, cells), None
        quick, order, facts = compiled.quick
        attributes = len(quick.attribute_facts)
        if self._facts is None or len(self._facts.known) <= facts or len(self._facts.dirty) <= attributes:
            self._facts = make_facts(facts + facts // 4, attributes + 64)
        events = Events(compiled.programs, fixed(cells), slow)
        return Job(events, quick, order, self._facts, self._board)


def _fits(board: Board, compiled: Compiled, cells: Cells) -> bool:
    parts: tuple[Any, ...] = board.slots, board.rows, board.cells, board.words
    return all(len(part) >= size for part, size in zip(parts, board_sizes(compiled.names, cells), strict=True))
