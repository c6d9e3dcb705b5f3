"""Watch: which continuous queries over an evolving graph did this update make true, or false?

The engine is loaded when first used: the modules below it import from this package too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.watch.engine import Watch
    from heliograph.watch.updates import Updates

__all__ = ["Updates", "Watch"]

_HOME = {"Updates": "updates", "Watch": "engine"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
