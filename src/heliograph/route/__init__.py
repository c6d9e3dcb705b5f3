"""route: which nodes can a publisher's event reach along a path whose every node and edge accepts it?"""

from heliograph.route.engine import Route

__all__ = ["Route"]
