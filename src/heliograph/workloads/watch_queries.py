"""The queries of a watch workload: parts of a graph as they are, with one edge bent, or with variables for vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.workloads.watch_graph import Edges, Ints, Random, Size
from heliograph.workloads.watch_shapes import KINDS, Shapes

# What `any` shape is: chains, stars and arbitrary graphs in equal parts. For concrete edges it is all the same whether
# they form a cycle; for patterns it is not, and half of the arbitrary graphs have one.
_ANY_EDGES = ("chain", "star", "graph")
_ANY_PATTERN = ("chain", "chain", "star", "star", "graph", "cyclic")
SHAPES = ("any", *KINDS)


class Cut(NamedTuple):
    """How queries are cut out of a graph: in which shapes, equiprobably, with how many edges on average, give or take
    how many."""

    shapes: tuple[str, ...]
    average: int
    spread: int

    @classmethod
    def of(cls, shape: str, variables: bool, average: int, spread: int) -> Cut:
        any_shape = _ANY_PATTERN if variables else _ANY_EDGES
        return cls(any_shape if shape == "any" else (shape,), average, min(spread, average - 1))

    @property
    def lengths(self) -> range:
        return range(self.average - self.spread, self.average + self.spread + 1)


def draw_parts(rng: Random, shapes: Shapes, count: int, cut: Cut) -> list[Ints]:
    """Rows of edges, one for each query."""
    lengths = rng.integers(cut.lengths.start, cut.lengths.stop, count)
    kinds = rng.integers(0, len(cut.shapes), count)
    rows: list[Ints] = [np.empty(0, np.int64)] * count
    for kind, name in enumerate(cut.shapes):
        for length in cut.lengths:
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
    """What makes a query of a structure: classes for its first and its last variable, a vertex for one of its slots or
    none."""

    classes: list[int]
    vertex: int | None
    slot: int


class Form(NamedTuple):
    """What a query asks: `ask`, `select` or `count`, the last with the least count that it waits for."""

    name: str = "ask"
    threshold: int = 1

    def text(self, body: str) -> str:
        if self.name == "count":
            return f"SELECT (COUNT(*) AS ?n) {{ {body} }} HAVING (COUNT(*) >= {self.threshold})"
        return f"{'ASK' if self.name == 'ask' else 'SELECT *'} {{ {body} }}"


FORMS = ("ask", "select", "count")


def pattern_text(structure: Structure, filling: Filling, form: Form) -> str:
    """A class for a concrete vertex would only say whether the query can ever be true, so variables have them."""
    names = [f"?v{slot}" for slot in range(structure.slots)]
    if filling.vertex is not None:
        names[filling.slot % structure.slots] = f":v{filling.vertex}"
    body = [f"{names[source]} :p{label} {names[target]}" for source, label, target in structure.edges]
    variables = [name for name in names if name.startswith("?")]
    typed = dict(zip((variables[0], variables[-1]), filling.classes)) if filling.classes else {}
    body += [f"{name} a :C{kind}" for name, kind in typed.items()]
    return form.text(" . ".join(body))
