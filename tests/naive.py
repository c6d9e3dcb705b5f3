"""Slow, obvious twins of the kernels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations

PRIME = 2**61 - 1


def polynomial_hash(head: int, text: bytes, key: int) -> int:
    """The words as coefficients, the head first and the length last, evaluated power by power."""
    words = [text[start : start + 7] for start in range(0, len(text), 7)]
    coefficients = [head, *(sum(byte * 256**place for place, byte in enumerate(word)) for word in words), len(text)]
    powers = [pow(key, exponent, PRIME) for exponent in reversed(range(len(coefficients)))]
    total: int = sum(coefficient * power for coefficient, power in zip(coefficients, powers, strict=True))
    return total % PRIME


def find(wanted: Sequence[tuple[int, bytes]], stored: Sequence[tuple[int, bytes]]) -> list[int]:
    """The place of each wanted (head, text) among the stored ones, or -1."""
    return [next((number for number, other in enumerate(stored) if other == one), -1) for one in wanted]


# --- the filter's index ---
# A node is a term id, or ~v for the variable number v.

Edge = tuple[int, int, int]
Interval = tuple[float, float]


def agrees(pattern: Edge, edge: Edge) -> bool:
    """Whether an edge has every constant of a pattern's edge."""
    return all(node < 0 or node == term for node, term in zip(pattern, edge, strict=True))


def look_up(accesses: Sequence[Edge | None], graphs: Sequence[Sequence[Edge]]) -> set[tuple[int, int]]:
    """Pairs of publication and structure of which the publication holds the access edge, or which has none."""
    return {
        (row, structure)
        for row, graph in enumerate(graphs)
        for structure, access in enumerate(accesses)
        if access is None or any(agrees(access, edge) for edge in graph)
    }


def solutions(edges: Sequence[Edge], graph: Iterable[Edge]) -> set[tuple[int, ...]]:
    """Every homomorphism, as the values of the variables in their order."""
    held, found = set(graph), [dict[int, int]()]
    for pattern in edges:
        found = [
            {**known, **new} for known in found for edge in held if (new := _bound(pattern, edge, known)) is not None
        ]
    return {tuple(known[name] for name in sorted(known)) for known in found}


def _bound(pattern: Edge, edge: Edge, known: Mapping[int, int]) -> dict[int, int] | None:
    """What an edge binds if it is taken for a pattern's edge."""
    new: dict[int, int] = {}
    for node, term in zip(pattern, edge, strict=True):
        expected = node if node >= 0 else {**known, **new}.get(~node, term)
        if expected != term:
            return None
        if node < 0:
            new[~node] = term
    return new


def isomorphic(left: Iterable[Edge], right: Iterable[Edge]) -> bool:
    """Whether a renaming of variables, tried one by one, turns one set of edges into the other."""
    one, other = set(left), set(right)
    mine, theirs = ({~node for edge in edges for node in edge if node < 0} for edges in (one, other))
    if len(one) != len(other) or len(mine) != len(theirs):
        return False
    renamings = (dict(zip(sorted(mine), order, strict=True)) for order in permutations(sorted(theirs)))
    return any(set(renamed(one, names)) == other for names in renamings)


def renamed(edges: Iterable[Edge], names: Mapping[int, int]) -> list[Edge]:
    """The edges with other numbers for variables."""
    parts = [[node if node >= 0 else ~names[~node] for node in edge] for edge in edges]
    return [(s, p, o) for s, p, o in parts]


def known_parts(edge: Edge, bound: Collection[int]) -> int:
    """Which parts are known when these variables are: bit 1 subject, 2 predicate, 4 object."""
    return sum(1 << place for place, node in enumerate(edge) if node >= 0 or ~node in bound)


def order_steps(edges: Sequence[Edge], costs: Sequence[int]) -> list[tuple[int, int]]:
    """For each step the known parts of the edge taken, and the least cost of those that were left."""
    left, bound, taken = list(edges), set[int](), []
    for edge in edges:
        cheapest = min(costs[known_parts(other, bound)] for other in left)
        taken.append((known_parts(edge, bound), cheapest))
        left.remove(edge)
        bound |= {~node for node in edge if node < 0}
    return taken


def open_edge(edge: Edge) -> Edge:
    """An edge as a key: variables are unknown parts."""
    subject, predicate, object = (max(node, -1) for node in edge)
    return subject, predicate, object


def choose_access(structures: Sequence[Sequence[Edge]], graphs: Sequence[Sequence[Edge]]) -> list[set[Edge]]:
    """The keys each structure may be looked up by: the edges that publications hold least often."""
    held = [edge for graph in graphs for edge in graph]
    counts = [{open_edge(edge): sum(agrees(edge, other) for other in held) for edge in edges} for edges in structures]
    return [{key for key, count in each.items() if count == min(each.values())} for each in counts]


def reach_of(highs: Sequence[float], first: int, last: int) -> dict[int, float]:
    """For each entry the largest high end of the part it is the middle of."""
    if first >= last:
        return {}
    middle = (first + last) // 2
    return {middle: max(highs[first:last]), **reach_of(highs, first, middle), **reach_of(highs, middle + 1, last)}
