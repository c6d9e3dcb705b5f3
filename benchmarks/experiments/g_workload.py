"""The workload of [G] table 1, and what its figures vary.

A subscription has 5 nodes and 10 edges, as in [R]: table 1's 35 edges do not fit 5 nodes of a publication with 90.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALL = ("naive", "OPS", "G-ToPSS", "heliograph")

TABLE_1: Mapping[str, Any] = {
    "publication_nodes": 35,
    "publication_edges": 90,
    "subscription_nodes": 5,
    "subscription_edges": 10,
    "variables": 2,
    "variable_share": 0.9,
    "overlap": 0.5,
    "match_share": 0.001,
}
SMALL: Mapping[str, Any] = {"subscriptions": 3_000, **TABLE_1}
PAPER: Mapping[str, Any] = {"subscriptions": 30_000, **TABLE_1}
NUMBERS = [1_000, 2_000, 4_000, 6_000]
PAPER_NUMBERS = [10_000, 20_000, 30_000, 40_000, 50_000]
SIZES = [[5, 4], [5, 8], [9, 8], [9, 16]]  # nodes and edges: each step doubles the edges, or changes only the nodes
TIMED: Mapping[str, Any] = {"publications": 5, "copies": 100, "repeats": 3}

NOTES = (
    "Subscriptions have 10 edges where nothing else is said, as in [R]: the 35 of [G]'s table 1 do not fit on 5 nodes "
    "of a publication of 90."
)
TIMED_NOTES = (
    f"{NOTES} Processor time of the matching, publications interned before; heliograph takes each of them `copies` "
    "times in a call, in other orders, the others once, since what a call costs by itself would hide its matching."
)


def sized(size: list[int]) -> dict[str, int]:
    """Nodes and edges of a subscription as the generator knows them."""
    return {"subscription_nodes": size[0], "subscription_edges": size[1]}


def named(size: list[int]) -> str:
    """Nodes and edges as they stand under the axis."""
    return f"({size[0]}, {size[1]})"
