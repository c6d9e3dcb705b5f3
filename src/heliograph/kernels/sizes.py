"""How much room there is in arrays that kernels fill. Does not import Numba.

A kernel that lacks room stops, its caller makes more, and it goes on from there. The law: where a kernel stops changes
no answer. To test it, set the environment variable HELIOGRAPH_LEAST_ROOM to 1 (or LEAST here): then every array begins
with room for one item and grows by no more than is lacking, so that every stop is taken again and again. It is slow,
and of no other use.
"""

from __future__ import annotations

import os

LEAST = os.environ.get("HELIOGRAPH_LEAST_ROOM", "0") not in ("", "0")


def room(usual: int, least: int = 1) -> int:
    """How many items an array gets room for: the usual number, or the least that will do."""
    return least if LEAST else usual
