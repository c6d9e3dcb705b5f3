"""The watch engine: continuous queries over an evolving graph."""

from heliograph.watch.engine import Watch

__all__ = ["Watch"]
