"""Route: which nodes can a publisher's event reach along a path whose every node and edge accepts it?

The engine is loaded when first used: the modules below it import from this package too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.route.engine import Route

__all__ = ["Route"]

_HOME = {"Route": "engine"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
