"""route: which nodes can a publisher's event reach along a path whose every node and edge accepts it?

`Route` is loaded when first used, because the plain walk that it stands on (in `baselines`) reads this package's graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.route.engine import Route

__all__ = ["Route"]


def __getattr__(name: str) -> Any:
    if name != "Route":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from heliograph.route.engine import Route

    return Route
