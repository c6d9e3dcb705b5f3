"""The tree that is shown for a Steiner value: a function of the graph alone, whatever happened before.

The shortest paths of the spanning tree may cross, so together they may hold cycles. Of their edges a minimum spanning
tree is taken, edges ordered by weight and then by their ends, smaller one first, of which paths join no two by more
than one edge; then leaves that are no terminals go, until
there are none. It weighs no more than the value. Source: Kou, Markowsky and Berman (1981), steps 3 to 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

Edge = tuple[int, int, int]


def shown_tree(
    edges: Iterable[Edge],
    terminals: Collection[int],
    weight: Callable[[Edge], float],
    order: Callable[[int], Any] = int,
) -> list[Edge]:
    """The tree over the edges of some paths that join the terminals, in order of their ends."""
    known = sorted(set(edges), key=lambda edge: sorted((order(edge[0]), order(edge[2]))))
    left = _pruned(_spanning(sorted(known, key=weight)), terminals)
    return [edge for edge in known if edge in left]


def inner_vertices(tree: Iterable[Edge], terminals: Collection[int]) -> frozenset[int]:
    """The vertices of a tree that are no terminals."""
    return frozenset(end for s, _, o in tree for end in (s, o)) - frozenset(terminals)


def _spanning(edges: Iterable[Edge]) -> list[Edge]:
    """Those of the edges, in their order, that join what was not joined before."""
    above: dict[int, int] = {}

    def top(vertex: int) -> int:
        while (higher := above.get(vertex, vertex)) != vertex:
            above[vertex] = above.get(higher, higher)
            vertex = higher
        return vertex

    chosen = []
    for edge in edges:
        one, other = top(edge[0]), top(edge[2])
        if one != other:
            above[one] = other
            chosen.append(edge)
    return chosen


def _pruned(tree: list[Edge], terminals: Collection[int]) -> set[Edge]:
    """The tree without branches that lead to no terminal."""
    at: dict[int, set[Edge]] = {}
    for edge in tree:
        for end in (edge[0], edge[2]):
            at.setdefault(end, set()).add(edge)
    leaves = [vertex for vertex, edges in at.items() if len(edges) == 1 and vertex not in terminals]
    while leaves:
        (edge,) = at.pop(leaves.pop())
        other = edge[0] if edge[0] in at else edge[2]
        at[other].discard(edge)
        if len(at[other]) == 1 and other not in terminals:
            leaves.append(other)
    return {edge for edges in at.values() for edge in edges}
