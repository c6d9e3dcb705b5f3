"""Filter: which graph-pattern subscriptions does this document graph match?"""

from heliograph.filter.engine import Filter

__all__ = ["Filter"]
