"""Bulk loads: the collector of cyclic garbage rests while a million objects are made that are all kept.

Measured on 100,000 queries whose constants all differ: a third of the time goes to collections that find nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_LARGE = 50_000  # objects


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the cyclic collector, and leaves it as it was.

    What a large load made moves to the oldest generation without being looked at: the next collection of the youngest
    would visit all of it, which took an eighth of the time. After small ones nothing is moved, or thousands of them
    would carry everybody's garbage to where it is collected last, and all at once.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if gc.get_count()[0] > _LARGE and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
