"""The watch workload of [Z] section 3.2, seeded, of any size, with the answer it must give.

A graph grows by additions over vertices with power-law degrees. Queries are chains, stars and arbitrary graphs in equal
parts, cut out of the whole graph; most have one edge bent to a vertex it never reaches, so they stay silent although
all their other edges arrive. `expected` holds the exact notifications of concrete queries.

With `variables` the queries are patterns instead: a few structures, each instantiated many times with classes for two
of its variables, half of them with one concrete vertex. What they match is not known beforehand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.workloads import Flags, Ints, Random, expected_notifications, named, parameters, texts_of

# --- edges with power-law degrees ---
#
# Vertices are drawn by rank r with a chance proportional to r^-0.75, for either end: degrees then follow a power law
# with exponent 2.3, and a vertex with many edges coming in has many going out, so that chains go on.

_SKEW = 0.75
PATIENCE = 30  # skewed rounds before the rest is drawn uniformly: small graphs run out of unused pairs of hubs


class GraphSize(NamedTuple):
    vertices: int
    edges: int
    properties: int = 1
    cap: int = 0  # the largest degree, both ways together; 0 is none


class DrawnEdges(NamedTuple):
    """Distinct edges in the order in which they are added."""

    source: Ints
    property: Ints
    target: Ints

    def take(self, rows: Ints) -> DrawnEdges:
        return DrawnEdges(self.source[rows], self.property[rows], self.target[rows])

    def codes(self, size: GraphSize) -> Ints:
        """One number for each edge; equal edges have equal numbers."""
        return (self.source * size.vertices + self.target) * size.properties + self.property


def draw_edges(rng: Random, size: GraphSize) -> DrawnEdges:
    """So many distinct edges without loops."""
    labels = rng.permutation(size.vertices)  # a vertex's number says nothing of its degree
    drawn = DrawnEdges(*(np.empty(0, np.int64) for _ in DrawnEdges._fields))
    for patience in range(PATIENCE, -10 * PATIENCE, -1):
        missing = size.edges - len(drawn.source)
        if missing <= 0:
            break
        more = _draw(rng, size, missing + missing // 2 + 16, _SKEW if patience > 0 else 0.0)
        both = DrawnEdges(*(np.concatenate(pair) for pair in zip(drawn, more, strict=True)))
        first = np.sort(np.unique(both.codes(size), return_index=True)[1])
        drawn = _within(both.take(first), size)
    kept = drawn.take(np.arange(min(size.edges, len(drawn.source))))
    return DrawnEdges(labels[kept.source], kept.property, labels[kept.target])


def _draw(rng: Random, size: GraphSize, count: int, skew: float) -> DrawnEdges:
    ranks = ((size.vertices * rng.random(count) ** (1 / (1 - skew))).astype(np.int64) for _ in range(2))
    source, target = (np.minimum(rank, size.vertices - 1) for rank in ranks)
    apart = np.flatnonzero(source != target)
    return DrawnEdges(source, rng.integers(0, size.properties, count), target).take(apart)


def _within(edges: DrawnEdges, size: GraphSize) -> DrawnEdges:
    """The edges that come before either end is full."""
    if not size.cap:
        return edges
    ends = np.column_stack([edges.source, edges.target]).ravel()
    return edges.take(np.flatnonzero((_occurrence(ends).reshape(-1, 2) < size.cap).all(axis=1)))


def _occurrence(values: Ints) -> Ints:
    """How often each value came before."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else np.empty(0, np.int64)
    lengths = np.diff(np.r_[starts, len(ranked)])
    counted = np.empty(len(values), np.int64)
    counted[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return counted


# --- the shapes that queries cut out of a graph: connected parts of it, drawn at random ---
#
# A chain or a star has distinct vertices. A graph is anything connected, hence mostly a tree: in a sparse graph
# hardly any of its parts is closed by chance. `cyclic` are those that have a cycle of three or more vertices.

KINDS = ("chain", "star", "graph", "cyclic")
_LEAST_CYCLE = 3


class Adjacency(NamedTuple):
    """The edges by one of their ends: those of vertex v are rows[offsets[v]:offsets[v + 1]]."""

    offsets: Ints
    rows: Ints

    @classmethod
    def of(cls, ends: Ints, vertices: int) -> Adjacency:
        rows = np.argsort(ends, kind="stable")
        return cls(np.searchsorted(ends[rows], np.arange(vertices + 1)), rows)

    def degree(self, vertex: Ints) -> Ints:
        return self.offsets[vertex + 1] - self.offsets[vertex]

    def pick(self, rng: Random, vertex: Ints) -> Ints:
        """A random edge of each vertex, -1 where it has none."""
        degree = self.degree(vertex)
        chosen = self.offsets[vertex] + (rng.random(len(vertex)) * degree).astype(np.int64)
        return np.where(degree > 0, self.rows[np.minimum(chosen, len(self.rows) - 1)], -1)


class EdgePairs(NamedTuple):
    """The edges by both of their ends."""

    codes: Ints  # ascending
    rows: Ints
    vertices: int

    @classmethod
    def of(cls, edges: DrawnEdges, vertices: int) -> EdgePairs:
        codes = edges.source * vertices + edges.target
        rows = np.argsort(codes, kind="stable")
        return cls(codes[rows], rows, vertices)

    def find(self, source: Ints, target: Ints) -> Ints:
        """An edge from each source to its target, -1 where there is none."""
        wanted = source * self.vertices + target
        place = np.minimum(np.searchsorted(self.codes, wanted), len(self.codes) - 1)
        return np.where(self.codes[place] == wanted, self.rows[place], -1)


class PartShapes:
    """Draws connected parts of a graph, as rows of edges: one row of edge numbers for each part."""

    def __init__(self, rng: Random, edges: DrawnEdges, vertices: int) -> None:
        self._rng = rng
        self._edges = edges
        self._leaving = Adjacency.of(edges.source, vertices)
        self._entering = Adjacency.of(edges.target, vertices)
        self._pairs = EdgePairs.of(edges, vertices)

    def draw(self, kind: str, count: int, length: int) -> list[Ints]:
        """So many parts of a kind; shorter ones where the graph has hardly any so long."""
        found: list[Ints] = []
        for _ in range(PATIENCE):
            if len(found) >= count:
                return found[:count]
            parts = getattr(self, f"_{kind}")(max(64, 2 * (count - len(found))), length)
            found += list(parts[_distinct(parts)])
        return found[:count] + self.draw(kind, max(0, count - len(found)), length - 1)

    def _starts(self, count: int) -> Ints:
        return self._rng.integers(0, len(self._edges.source), count)

    def _chain(self, count: int, length: int) -> Ints:
        """Each edge begins where the one before ended."""
        parts = [self._starts(count)]
        while len(parts) < length:
            parts.append(self._leaving.pick(self._rng, self._edges.target[parts[-1]]))
        return self._trees(np.column_stack(parts))

    def _star(self, count: int, length: int) -> Ints:
        """Edges that leave one vertex: neighbours in its list, from a random one on."""
        centre = self._edges.source[self._starts(count)]
        degree, first = self._leaving.degree(centre), self._leaving.offsets[centre]
        begin = (self._rng.random(count) * degree).astype(np.int64)
        places = first[:, None] + (begin[:, None] + np.arange(length)) % degree[:, None]
        return self._trees(self._leaving.rows[places])

    def _cyclic(self, count: int, length: int) -> Ints:
        """Too short for a cycle, it is a graph like others."""
        if length < _LEAST_CYCLE:
            return self._graph(count, length)
        parts = self._graph(count, length - 1)
        return np.column_stack([parts, self._closing(parts)])

    def _graph(self, count: int, length: int) -> Ints:
        """Grown edge by edge from any vertex so far, in either direction."""
        parts = [self._starts(count)]
        while len(parts) < length:
            drawn = np.column_stack(parts)
            edge = drawn[np.arange(count), self._rng.integers(0, len(parts), count)]
            coins = self._rng.random((2, count)) < 0.5
            vertex = np.where(coins[0], self._edges.source[edge], self._edges.target[edge])
            leaving, entering = (side.pick(self._rng, vertex) for side in (self._leaving, self._entering))
            parts.append(np.where(coins[1], leaving, entering))
        return np.column_stack(parts)

    def _trees(self, parts: Ints) -> Ints:
        """The parts as they are, but none (-1) where a vertex comes again."""
        ends = np.sort(np.column_stack([self._edges.source[parts], self._edges.target[parts]]), axis=1)
        vertices = 1 + (ends[:, 1:] != ends[:, :-1]).sum(axis=1)
        return np.where((vertices == parts.shape[1] + 1)[:, None], parts, -1)

    def _closing(self, parts: Ints) -> Ints:
        """For each part an edge between two of its vertices that no edge of it joins, -1 where there is none."""
        source, target = self._edges.source[parts], self._edges.target[parts]
        ends = np.column_stack([source, target])
        pairs = [(ends[:, one], ends[:, other]) for one in range(ends.shape[1]) for other in range(ends.shape[1])]
        found = np.full(len(parts), -1)
        for place in self._rng.permutation(len(pairs)).tolist():
            one, other = pairs[place]
            joined = (source == one[:, None]) & (target == other[:, None])
            joined |= (source == other[:, None]) & (target == one[:, None])
            edge = self._pairs.find(one, other)
            found = np.where((found < 0) & (edge >= 0) & ~joined.any(axis=1), edge, found)
        return found


def _distinct(parts: Ints) -> Flags:
    """The parts in which every edge was found and none comes twice."""
    ranked = np.sort(parts, axis=1)
    apart: Flags = (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
    return apart & (ranked[:, 0] >= 0)


# --- queries: parts of a graph as they are, with one edge bent, or with variables for vertices ---

# What `any` shape is: chains, stars and arbitrary graphs in equal parts. For concrete edges it is all the same whether
# they form a cycle; for patterns it is not, and half of the arbitrary graphs have one.
_ANY_EDGES = ("chain", "star", "graph")
_ANY_PATTERN = ("chain", "chain", "star", "star", "graph", "cyclic")
SHAPES = ("any", *KINDS)


def draw_parts(rng: Random, workload: WatchWorkload, edges: DrawnEdges, count: int) -> list[Ints]:
    """Rows of edges, one for each query: shapes equiprobably, lengths around their average."""
    shapes = PartShapes(rng, edges, workload.vertices)
    any_shape = _ANY_PATTERN if workload.variables else _ANY_EDGES
    names = any_shape if workload.shape == "any" else (workload.shape,)
    spread = min(workload.spread, workload.edges - 1)
    sizes = range(workload.edges - spread, workload.edges + spread + 1)
    lengths = rng.integers(sizes.start, sizes.stop, count)
    kinds = rng.integers(0, len(names), count)
    rows: list[Ints] = [np.empty(0, np.int64)] * count
    for kind, name in enumerate(names):
        for length in sizes:
            wanted = np.flatnonzero((kinds == kind) & (lengths == length)).tolist()
            for place, part in zip(wanted, shapes.draw(name, len(wanted), length), strict=True):
                rows[place] = part
    return rows


# --- concrete queries ---


def bend(rng: Random, edges: DrawnEdges, size: GraphSize, rows: list[Ints]) -> tuple[Ints, Ints]:
    """The last edge of each row, led to (or from) a vertex such that there never is such an edge.

    The end that the other edges hold stays, so a bent query is as connected as it was.
    """
    last = edges.take(np.array([row[-1] for row in rows], np.int64))
    held = np.array([_is_held(edges, row) for row in rows], bool)
    taken = np.sort(edges.codes(size))
    source, target, wrong = last.source, last.target, np.arange(len(rows))
    while len(wrong):
        drawn = rng.integers(0, size.vertices + 1, len(rows))  # there is always one vertex more, which has no edges
        bent = np.isin(np.arange(len(rows)), wrong)
        source, target = np.where(bent & ~held, drawn, source), np.where(bent & held, drawn, target)
        codes = DrawnEdges(source, last.property, target).codes(size)
        outside = (source == size.vertices) | (target == size.vertices)
        wrong = np.flatnonzero(~outside & (np.isin(codes, taken) | (source == target)))
    return source, target


def _is_held(edges: DrawnEdges, row: Ints) -> bool:
    """Whether the other edges meet the last one at its source."""
    others, source = row[:-1], edges.source[row[-1]]
    return len(row) == 1 or bool((edges.source[others] == source).any() or (edges.target[others] == source).any())


def concrete_text(edges: DrawnEdges, row: Ints, last: tuple[int, int] | None) -> str:
    """An ASK for all edges of a row; `last` stands in for the last of them where it is given."""
    pairs = list(zip(edges.source[row].tolist(), edges.target[row].tolist(), strict=True))
    if last is not None:
        pairs[-1] = last
    return f"ASK {{ {' . '.join(f':v{source} :links :v{target}' for source, target in pairs)} }}"


# --- queries with variables ---


Structure = list[tuple[int, int, int]]
"""Edges between numbered slots: (source, property, target)."""

FORMS = ("ask", "select", "count")


def structure_of(edges: DrawnEdges, row: Ints) -> Structure:
    """The structure of a part: its vertices become slots in order of appearance."""
    slots: dict[int, int] = {}
    triples = zip(edges.source[row].tolist(), edges.property[row].tolist(), edges.target[row].tolist(), strict=True)
    return [
        (slots.setdefault(source, len(slots)), label, slots.setdefault(target, len(slots)))
        for source, label, target in triples
    ]


def pattern_body(structure: Structure, classes: list[int], vertex: int | None, slot: int) -> str:
    """A structure with classes for its first and its last variable, and a concrete vertex for one of its slots or none.

    A class for a concrete vertex would only say whether the query can ever be true, so variables have them.
    """
    names = [f"?v{slot}" for slot in range(1 + max(max(source, target) for source, _, target in structure))]
    if vertex is not None:
        names[slot % len(names)] = f":v{vertex}"
    body = [f"{names[source]} :p{label} {names[target]}" for source, label, target in structure]
    variables = [name for name in names if name.startswith("?")]
    typed = dict(zip((variables[0], variables[-1]), classes)) if classes else {}
    return " . ".join([*body, *(f"{name} a :C{kind}" for name, kind in typed.items())])


# --- the parameters, and which values of them make sense ---

_MODES = ("", "each", "change")


@dataclass(frozen=True, slots=True)
class WatchWorkload:
    """The parameters, with the defaults of the paper on evolving graphs. `edges` is the average of a query, give or
    take `spread`, `matching` the share of the queries whose edges all come; `shape` is one of any, chain, star, graph
    and cyclic.

    `deletions` and `duplicates` are shares of the updates: removals of an edge that is there, and additions of one that
    came before. `variables` asks for patterns, over `properties` and `classes` (0: none), of at most `structures`
    kinds, a share of them (`concrete`) with one concrete vertex; `degree_cap` bounds a vertex's edges, 0 does not.
    `form` is what patterns ask: ask, select or count (of at least `threshold`); `mode` goes into their options.
    """

    vertices: int = 1_200_000
    updates: int = 1_000_000
    queries: int = 50_000
    edges: int = 5
    spread: int = 2
    shape: str = "any"
    matching: float = 0.05
    deletions: float = 0.0
    duplicates: float = 0.0
    variables: bool = False
    properties: int = 10
    classes: int = 30
    structures: int = 200
    concrete: float = 0.5
    degree_cap: int = 1000
    form: str = "ask"
    threshold: int = 1
    mode: str = ""

    @property
    def removals(self) -> int:
        return round(self.updates * self.deletions)

    @property
    def repeats(self) -> int:
        return round(self.updates * self.duplicates)

    @property
    def size(self) -> GraphSize:
        added = self.updates - self.removals - self.repeats
        if self.variables:
            return GraphSize(self.vertices, added, self.properties, self.degree_cap)
        return GraphSize(self.vertices, added)

    def query(self, body: str) -> str:
        """A query that asks for a pattern in this form."""
        if self.form == "count":
            return f"SELECT (COUNT(*) AS ?n) {{ {body} }} HAVING (COUNT(*) >= {self.threshold})"
        return f"{'ASK' if self.form == 'ask' else 'SELECT *'} {{ {body} }}"


def checked(options: dict[str, Any]) -> WatchWorkload:
    workload = parameters(WatchWorkload, options, "HG-075", "a watch workload: ")
    for name, (low, high) in _BOUNDS.items():
        if not low <= getattr(workload, name) <= high:
            raise refused(f"{name} is {getattr(workload, name)!r}", f"give a number from {low} to {high}")
    for name, choices in _CHOICES.items():
        if getattr(workload, name) not in choices:
            raise refused(f"{name} is {getattr(workload, name)!r}", f"write one of {', '.join(filter(None, choices))}")
    if workload.size.edges < max(1, workload.removals):
        raise refused("too few additions for the deletions and duplicates", "deletions are at most half of the rest")
    if not workload.variables and (workload.form, workload.mode) != ("ask", ""):
        raise refused("concrete queries are ASK, in no mode", "ask for variables, or leave out form and mode")
    return workload


_CHOICES = {"shape": SHAPES, "form": FORMS, "mode": _MODES}
_BOUNDS = {
    "vertices": (3, 2**31 - 1),
    "updates": (1, 2**31 - 1),
    "queries": (0, 10**8),
    "edges": (1, 100),
    "spread": (0, 100),
    "matching": (0, 1),
    "deletions": (0, 0.5),
    "duplicates": (0, 0.9),
    "properties": (1, 10**6),
    "classes": (0, 10**6),
    "structures": (1, 10**6),
    "concrete": (0, 1),
    "degree_cap": (0, 2**31 - 1),
    "threshold": (1, 2**63 - 1),
}


def refused(message: str, fix: str) -> UsageError:
    return UsageError("HG-075", f"a watch workload: {message}", fix=fix)


# --- the stream of updates, and when a set of concrete edges is there as a whole ---
#
# Why `moments` is exact: an update is effective when it changes whether its edge is there; a query is true while as
# many of its distinct edges are there as it has. Both are counted over the events themselves, without any graph.


class Stream(NamedTuple):
    """Updates in order: the edge of each, and whether it is added or removed. The seq is the place, from 1."""

    edge: Ints
    added: Flags


class Moments(NamedTuple):
    """When which part becomes true (gained) or false, in the order of notifications."""

    part: Ints
    seq: Ints
    gained: Flags


def draw_stream(rng: Random, edges: int, removals: int, repeats: int) -> Stream:
    """Every edge once, some of them removed later, some added again later."""
    first = np.sort(rng.random(edges))
    gone, again = rng.permutation(edges)[:removals], rng.integers(0, max(edges, 1), repeats)
    later = [first[chosen] + (1 - first[chosen]) * rng.random(len(chosen)) for chosen in (gone, again)]
    order = np.argsort(np.concatenate([first, *later]), kind="stable")
    edge = np.concatenate([np.arange(edges), gone, again])[order]
    added = np.concatenate([np.ones(edges, bool), np.zeros(removals, bool), np.ones(repeats, bool)])[order]
    return Stream(edge, added)


def moments(stream: Stream, parts: list[Ints]) -> Moments:
    """When each part, a row of distinct edges, is there as a whole and when no longer."""
    sizes = np.array([len(part) for part in parts], np.int64)
    owner = np.repeat(np.arange(len(parts)), sizes)
    edge = np.concatenate([*parts, np.empty(0, np.int64)])
    part, seq, added = _events(stream, owner, edge)
    order = np.lexsort((seq, part))
    part, seq, added = part[order], seq[order], added[order]
    there = _running(np.where(added, 1, -1), part)
    full = np.where(added, there, there + 1) == sizes[part] if len(part) else np.empty(0, bool)
    found = Moments(part[full], seq[full], added[full])
    ranked = np.lexsort((found.part, found.gained, found.seq))
    return Moments(*(column[ranked] for column in found))  # type: ignore[arg-type]


def _events(stream: Stream, owner: Ints, edge: Ints) -> tuple[Ints, Ints, Flags]:
    """The effective updates of each part's edges: (part, seq, added)."""
    seq = np.arange(1, len(stream.edge) + 1)
    order = np.lexsort((seq, stream.edge))
    edges, added = stream.edge[order], stream.added[order]
    fresh = np.r_[True, edges[1:] != edges[:-1]] if len(edges) else np.empty(0, bool)
    effective = order[fresh | np.r_[True, added[1:] != added[:-1]]] if len(edges) else order
    edges = stream.edge[effective]
    begin, end = np.searchsorted(edges, edge), np.searchsorted(edges, edge, side="right")
    counts = end - begin
    rows = np.repeat(begin - np.r_[0, np.cumsum(counts)[:-1]], counts) + np.arange(counts.sum())
    chosen = effective[rows]
    return np.repeat(owner, counts), seq[chosen], stream.added[chosen]


def _running(steps: Ints, group: Ints) -> Ints:
    """Sums of the steps so far within each group of neighbours."""
    total = np.cumsum(steps)
    if not len(group):
        return total
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    before = np.r_[0, total[starts[1:] - 1]]
    inner: Ints = total - np.repeat(before, np.diff(np.r_[starts, len(group)]))
    return inner


# --- the workload ---


def generate_watch(seed: int = 0, **options: Any) -> dict[str, pa.Table]:
    """The tables subscriptions and updates, with expected or (for variables) graph; see `WatchWorkload`."""
    workload = checked(options)
    rng = np.random.default_rng(seed)
    edges = draw_edges(rng, workload.size)
    if len(edges.source) < workload.size.edges:
        raise refused("so many distinct edges do not fit", "give more vertices, fewer updates or a higher degree_cap")
    stream = draw_stream(rng, len(edges.source), workload.removals, workload.repeats)
    make = _with_variables if workload.variables else _concrete
    return {**make(rng, workload, edges, stream), "updates": _updates(workload, edges, stream)}


def _concrete(rng: Random, workload: WatchWorkload, edges: DrawnEdges, stream: Stream) -> dict[str, pa.Table]:
    parts = draw_parts(rng, workload, edges, workload.queries)
    matching = rng.permutation(workload.queries) < round(workload.queries * workload.matching)
    silent = np.flatnonzero(~matching).tolist()
    source, target = bend(rng, edges, workload.size, [parts[row] for row in silent])
    bent = dict(zip(silent, zip(source.tolist(), target.tolist(), strict=True), strict=True))
    texts = [concrete_text(edges, part, bent.get(row)) for row, part in enumerate(parts)]
    true = np.flatnonzero(matching)
    found = moments(stream, [parts[row] for row in true.tolist()])
    changes = texts_of(np.where(found.gained, "+", "-").tolist())
    expected = expected_notifications("watch", named("q", true[found.part]), named("", found.seq), changes)
    return {"subscriptions": _subscriptions(texts), "expected": expected}


def _with_variables(rng: Random, workload: WatchWorkload, edges: DrawnEdges, stream: Stream) -> dict[str, pa.Table]:
    """Structures cut out of the graph; the concrete vertices are ends of its edges, so the busy ones come often."""
    count = workload.queries
    parts = draw_parts(rng, workload, edges, min(count, workload.structures))
    structures = [structure_of(edges, part) for part in parts]
    chosen = rng.integers(0, max(len(structures), 1), count).tolist()
    classes = rng.integers(0, max(workload.classes, 1), (count, 2 if workload.classes else 0)).tolist()
    vertices = edges.source[rng.integers(0, len(edges.source), count)].tolist()
    slots = rng.integers(0, 1 << 30, count).tolist()
    concrete = (rng.permutation(count) < int(count * workload.concrete)).tolist()
    texts = [
        workload.query(
            pattern_body(structures[chosen[row]], classes[row], vertices[row] if concrete[row] else None, slots[row])
        )
        for row in range(count)
    ]
    kinds = rng.integers(0, max(workload.classes, 1), workload.vertices if workload.classes else 0)
    graph = {  # a class for every vertex
        "subject": named("v", np.arange(len(kinds))),
        "property": texts_of(["a"] * len(kinds)),
        "object": named("C", kinds),
    }
    return {"subscriptions": _subscriptions(texts, workload.mode), "graph": pa.table(graph)}


def _subscriptions(texts: list[str], mode: str = "") -> pa.Table:
    columns = {"subscription_id": named("q", np.arange(len(texts))), "query": pa.array(texts, pa.string())}
    if mode:
        columns["options"] = pa.array([json.dumps({"mode": mode})] * len(texts), pa.string())
    return pa.table(columns)


def _updates(workload: WatchWorkload, edges: DrawnEdges, stream: Stream) -> pa.Table:
    drawn = edges.take(stream.edge)
    labels = named("p", np.arange(workload.properties)) if workload.variables else pa.array(["links"], pa.string())
    return pa.table(
        {
            "seq": pa.array(np.arange(1, len(stream.edge) + 1)),
            "op": pa.array(["-", "+"], pa.string()).take(stream.added.astype(np.int64)),
            "subject": named("v", drawn.source),
            "property": labels.take(drawn.property),
            "object": named("v", drawn.target),
        }
    )
