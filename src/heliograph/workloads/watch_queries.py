"""The queries of a watch workload: parts of a graph as they are, with one edge bent, or with variables for vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.workloads.watch_graph import Edges, Ints, Random, Shapes, Size

KINDS = ("chain", "star", "graph")
_SPREAD = 2  # a query has as many edges as the average, give or take so many


def draw_parts(rng: Random, shapes: Shapes, count: int, average: int) -> list[Ints]:
    """Chains, stars and arbitrary graphs in equal parts, with so many edges on average."""
    spread = min(_SPREAD, average - 1)
    lengths = rng.integers(average - spread, average + spread + 1, count)
    kinds = rng.integers(0, len(KINDS), count)
    rows: list[Ints] = [np.empty(0, np.int64)] * count
    for kind, name in enumerate(KINDS):
        for length in range(average - spread, average + spread + 1):
            wanted = np.flatnonzero((kinds == kind) & (lengths == length)).tolist()
            for place, part in zip(wanted, shapes.draw(name, len(wanted), length), strict=True):
                rows[place] = part
    return rows


# --- concrete queries -------------------------------------------------------------------------------------------


class Ends(NamedTuple):
    source: Ints
    target: Ints


def bend(rng: Random, edges: Edges, size: Size, rows: list[Ints]) -> Ends:
    """The last edge of each row, led to (or from) a vertex such that there never is such an edge.

    The end that the other edges hold stays, so a bent query is as connected as it was.
    """
    last = edges.take(np.array([row[-1] for row in rows], np.int64))
    held = np.array([_is_held(edges, row) for row in rows], bool)
    taken = np.sort(edges.codes(size))
    ends, wrong = Ends(last.source, last.target), np.arange(len(rows))
    while len(wrong):
        drawn = rng.integers(0, size.vertices + 1, len(rows))  # there is always one vertex more, which has no edges
        bent = np.isin(np.arange(len(rows)), wrong)
        ends = Ends(
            np.where(bent & ~held, drawn, ends.source),
            np.where(bent & held, drawn, ends.target),
        )
        codes = Edges(ends.source, last.property, ends.target).codes(size)
        outside = (ends.source == size.vertices) | (ends.target == size.vertices)
        wrong = np.flatnonzero(~outside & (np.isin(codes, taken) | (ends.source == ends.target)))
    return ends


def _is_held(edges: Edges, row: Ints) -> bool:
    """Whether the other edges meet the last one at its source."""
    others, source = row[:-1], edges.source[row[-1]]
    return len(row) == 1 or bool((edges.source[others] == source).any() or (edges.target[others] == source).any())


def concrete_text(edges: Edges, row: Ints, last: tuple[int, int] | None) -> str:
    """An ASK for all edges of a row; `last` stands in for the last of them where it is given."""
    pairs = list(zip(edges.source[row].tolist(), edges.target[row].tolist(), strict=True))
    if last is not None:
        pairs[-1] = last
    return f"ASK {{ {' . '.join(f':v{source} :links :v{target}' for source, target in pairs)} }}"


# --- queries with variables -------------------------------------------------------------------------------------


class Structure(NamedTuple):
    """Edges between numbered slots: (source, property, target)."""

    edges: tuple[tuple[int, int, int], ...]
    slots: int


def structure_of(edges: Edges, row: Ints) -> Structure:
    """The structure of a part: its vertices become slots in order of appearance."""
    slots: dict[int, int] = {}
    triples = zip(edges.source[row].tolist(), edges.property[row].tolist(), edges.target[row].tolist(), strict=True)
    numbered = [
        (slots.setdefault(source, len(slots)), label, slots.setdefault(target, len(slots)))
        for source, label, target in triples
    ]
    return Structure(tuple(numbered), len(slots))


class Filling(NamedTuple):
    """What makes a query of a structure: a class for its first and its last slot, a vertex for one of them or none."""

    classes: list[int]
    vertex: int | None
    slot: int


def pattern_text(structure: Structure, filling: Filling) -> str:
    names = [f"?v{slot}" for slot in range(structure.slots)]
    if filling.vertex is not None:
        names[filling.slot % structure.slots] = f":v{filling.vertex}"
    body = [f"{names[source]} :p{label} {names[target]}" for source, label, target in structure.edges]
    body += [f"{name} a :C{kind}" for name, kind in zip((names[0], names[-1]), filling.classes, strict=True)]
    return f"ASK {{ {' . '.join(body)} }}"
