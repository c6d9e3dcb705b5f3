"""Quick code asked about a board. `quick_layout` says what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64

from heliograph.kernels import board_layout as at
from heliograph.kernels import quick_layout as of
from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.cache import kernel
from heliograph.kernels.learning import FACTS, QUICK, SORTED, learn
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.targeting_types import BOARD, EVENTS
from heliograph.kernels.truth import holds
from heliograph.kernels.types import named

JOB: Any = named(Job, EVENTS, QUICK, SORTED, FACTS, BOARD)

_NONE = np.uint64(0)
# To learn a bound takes 3 ns, and to decide an expression without facts some 200 ns longer than with them.
_BOUNDS_A_TEST = 64


@kernel(inline=True)
def accepted(job: Job, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    events, quick, facts, board = job.events, job.quick, job.facts, job.board
    start = quick.starts[expression]
    if start < 0 or board.head[at.ALL_PLAIN] == 0 or not _has_learnt(job):
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
            place = end
        return found
    for group in range(groups):
        found = _NONE
        end = place + quick.code[start + 2 + group]
        while place < end:
            found |= facts.known[quick.code[place]] & ~facts.known[quick.code[place + 1]]
            place += 2
        asked &= found
    return asked


@kernel(inline=True)
def _has_learnt(job: Job) -> Any:
    """Whether the facts of the board are known; they are learnt when as much was asked as that is worth."""
    facts, stamp = job.facts, job.board.head[at.STAMP]
    if facts.head[of.LEARNT] == stamp:
        return True
    if facts.head[of.ASKED_ABOUT] != stamp:
        facts.head[of.ASKED_ABOUT], facts.head[of.ASKED] = stamp, 0
    facts.head[of.ASKED] += 1
    if facts.head[of.ASKED] * _BOUNDS_A_TEST < len(job.quick.bounds):
        return False
    learn(job.events, job.quick, job.order, facts, job.board)
    facts.head[of.LEARNT] = stamp
    return True


@kernel()
def _slowly(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    return holds(events, board, expression, asked)


@kernel((JOB, int64, uint64))
def ask(job: Job, expression: Any, asked: Any) -> Any:
    """`accepted`, for Python."""
    return accepted(job, expression, asked)
