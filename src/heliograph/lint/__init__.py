"""lint: what is odd about subscriptions, before anything is published."""

from heliograph.lint.lint import lint_subscriptions

__all__ = ["lint_subscriptions"]
