"""Compiled targeting: names, encoded events and expressions, usable without a graph."""
