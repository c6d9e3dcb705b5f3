"""The index of graph patterns: interests as flat columns, immutable segments of them, and what is looked up there."""
