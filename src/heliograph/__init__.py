"""Publish/subscribe for graph-shaped data: filter documents, watch evolving graphs, route events.

Names are loaded when first used, so `import heliograph` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"


if TYPE_CHECKING:
    from heliograph.errors import (
        DocumentError,
        HeliographError,
        InterestError,
        PredicateError,
        PublicationError,
        SetupError,
        SparqlError,
        StorageError,
        SubscriptionError,
        TableError,
        TermError,
        UsageError,
    )
    from heliograph.filter import Filter
    from heliograph.model import Explanation, Notification, Notifications, Receipt, Rejected, Rejections, Stats
    from heliograph.predicate.index import PredicateIndex
    from heliograph.route import Route
    from heliograph.terms import Term
    from heliograph.watch import Updates, Watch


__all__ = [
    "DocumentError",
    "Explanation",
    "Filter",
    "HeliographError",
    "InterestError",
    "Notification",
    "Notifications",
    "PredicateError",
    "PredicateIndex",
    "PublicationError",
    "Receipt",
    "Rejected",
    "Rejections",
    "Route",
    "SetupError",
    "SparqlError",
    "Stats",
    "StorageError",
    "SubscriptionError",
    "TableError",
    "Term",
    "TermError",
    "Updates",
    "UsageError",
    "Watch",
    "__version__",
]

_HOMES = {
    "heliograph.filter": ("Filter",),
    "heliograph.watch": ("Updates", "Watch"),
    "heliograph.route": ("Route",),
    "heliograph.predicate.index": ("PredicateIndex",),
    "heliograph.terms": ("Term",),
    "heliograph.model": (
        "Explanation",
        "Notification",
        "Notifications",
        "Receipt",
        "Rejected",
        "Rejections",
        "Stats",
    ),
    "heliograph.errors": tuple(name for name in __all__ if name.endswith("Error")),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'heliograph' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
