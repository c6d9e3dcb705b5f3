"""lint: what is odd about subscriptions, before anything is published."""

from heliograph.lint.linting import lint_subscriptions

__all__ = ["lint_subscriptions"]
