"""The watch engine: continuous queries over an evolving graph."""

from heliograph.watch.engine import Watch
from heliograph.watch.interned import Updates

__all__ = ["Updates", "Watch"]
