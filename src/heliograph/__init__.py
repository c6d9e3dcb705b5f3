"""Publish/subscribe for graph-shaped data."""
