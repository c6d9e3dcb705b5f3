"""What a Python worker keeps from one task to the next: opened versions, by their paths.

Spark's workers live on between tasks, and keep the globals of modules that can be imported. The law: whatever is kept
here can be opened again from storage, so nothing depends on which worker a task is given to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Opened = TypeVar("Opened")

MOST = 32  # shards of the present version and of the one before, as far as a worker meets them

_OPENED: OrderedDict[Hashable, Any] = OrderedDict()


def opened(key: Hashable, open: Callable[[], Opened]) -> Opened:
    """What is kept under a key, opened when it is first wanted; what was not wanted for longest is let go."""
    if key not in _OPENED:
        made = open()
        while len(_OPENED) >= MOST:
            _OPENED.popitem(last=False)
        _OPENED[key] = made
    _OPENED.move_to_end(key)
    found: Opened = _OPENED[key]
    return found
