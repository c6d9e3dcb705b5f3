"""The watch workload of [Z] section 3.2, seeded, of any size, with the answer it must give.

A graph grows by additions over vertices with power-law degrees. Queries are chains, stars and arbitrary graphs in equal
parts, cut out of the whole graph; most have one edge bent to a vertex it never reaches, so they stay silent although
all their other edges arrive. `expected` holds the exact notifications of concrete queries.

With `variables` the queries are patterns instead: a few structures, each instantiated many times with classes for two
of its vertices, half of them with one concrete vertex. What they match is not known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.workloads.watch_graph import Edges, Ints, Random, Shapes, Size, draw_edges
from heliograph.workloads.watch_queries import Filling, bend, concrete_text, draw_parts, pattern_text, structure_of
from heliograph.workloads.watch_stream import Moments, Stream, draw_stream, moments


@dataclass(frozen=True, slots=True)
class WatchWorkload:
    """The parameters, with the defaults of the paper on evolving graphs. `edges` is the average of a query, `matching`
    the share of the queries that becomes true.

    `deletions` and `duplicates` are shares of the updates: removals of an edge that is there, and additions of one that
    came before. `variables` asks for patterns, over `properties` and `classes`, of at most `structures` kinds;
    `degree_cap` bounds a vertex's edges, 0 does not.
    """

    vertices: int = 1_200_000
    updates: int = 1_000_000
    queries: int = 50_000
    edges: int = 5
    matching: float = 0.05
    deletions: float = 0.0
    duplicates: float = 0.0
    variables: bool = False
    properties: int = 10
    classes: int = 30
    structures: int = 200
    degree_cap: int = 1000

    @property
    def removals(self) -> int:
        return round(self.updates * self.deletions)

    @property
    def repeats(self) -> int:
        return round(self.updates * self.duplicates)

    @property
    def size(self) -> Size:
        added = self.updates - self.removals - self.repeats
        if self.variables:
            return Size(self.vertices, added, self.properties, self.degree_cap)
        return Size(self.vertices, added)


def generate_watch(seed: int = 0, **options: Any) -> dict[str, pa.Table]:
    """The tables subscriptions and updates, with expected or (for variables) graph; see `WatchWorkload`."""
    workload = _checked(options)
    rng = np.random.default_rng(seed)
    edges = draw_edges(rng, workload.size)
    if len(edges.source) < workload.size.edges:
        raise _refused("so many distinct edges do not fit", "give more vertices, fewer updates or a higher degree_cap")
    stream = draw_stream(rng, len(edges.source), workload.removals, workload.repeats)
    make = _with_variables if workload.variables else _concrete
    return {**make(rng, workload, edges, stream), "updates": _updates(workload, edges, stream)}


def _checked(options: dict[str, Any]) -> WatchWorkload:
    names = [field.name for field in fields(WatchWorkload)]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise _refused(f"no option {unknown[0]!r}", f"the options are {', '.join(names)}")
    workload = WatchWorkload(**options)
    wrong = [name for name, (low, high) in _BOUNDS.items() if not low <= getattr(workload, name) <= high]
    if wrong:
        low, high = _BOUNDS[wrong[0]]
        raise _refused(f"{wrong[0]} is {getattr(workload, wrong[0])!r}", f"give a number from {low} to {high}")
    if workload.size.edges < max(1, workload.removals):
        raise _refused("too few additions for the deletions and duplicates", "deletions are at most half of the rest")
    return workload


_BOUNDS = {
    "vertices": (3, 2**31 - 1),
    "updates": (1, 2**31 - 1),
    "queries": (0, 10**8),
    "edges": (1, 100),
    "matching": (0, 1),
    "deletions": (0, 0.5),
    "duplicates": (0, 0.9),
    "properties": (1, 10**6),
    "classes": (1, 10**6),
    "structures": (1, 10**6),
    "degree_cap": (0, 2**31 - 1),
}


def _refused(message: str, fix: str) -> UsageError:
    return UsageError("HG-075", f"a watch workload: {message}", fix=fix)


# --- concrete queries -------------------------------------------------------------------------------------------


def _concrete(rng: Random, workload: WatchWorkload, edges: Edges, stream: Stream) -> dict[str, pa.Table]:
    parts = draw_parts(rng, Shapes(rng, edges, workload.vertices), workload.queries, workload.edges)
    matching = rng.permutation(workload.queries) < round(workload.queries * workload.matching)
    silent = np.flatnonzero(~matching).tolist()
    ends = bend(rng, edges, workload.size, [parts[row] for row in silent])
    bent = dict(zip(silent, zip(ends.source.tolist(), ends.target.tolist(), strict=True), strict=True))
    texts = [concrete_text(edges, part, bent.get(row)) for row, part in enumerate(parts)]
    true = np.flatnonzero(matching)
    found = moments(stream, [parts[row] for row in true.tolist()])
    return {"subscriptions": _subscriptions(texts), "expected": _expected(found._replace(part=true[found.part]))}


def _expected(found: Moments) -> pa.Table:
    """The notifications, in order and without evidence."""
    total = len(found.part)
    columns = {
        "subscription_id": _named("q", found.part),
        "subscriber": pa.nulls(total, pa.string()),
        "publication_id": _named("", found.seq),
        "verb": pa.array(["watch"] * total, pa.string()),
        "change": pa.array(np.where(found.gained, "+", "-"), pa.string()),
        "at": pa.nulls(total, pa.timestamp("us", tz="UTC")),
        "evidence": pa.nulls(total, pa.string()),
    }
    return pa.table(columns, schema=NOTIFICATIONS_SCHEMA)


# --- queries with variables -------------------------------------------------------------------------------------


def _with_variables(rng: Random, workload: WatchWorkload, edges: Edges, stream: Stream) -> dict[str, pa.Table]:
    """Structures cut out of the graph; the concrete vertices are ends of its edges, so the busy ones come often."""
    count = workload.queries
    parts = draw_parts(rng, Shapes(rng, edges, workload.vertices), min(count, workload.structures), workload.edges)
    structures = [structure_of(edges, part) for part in parts]
    chosen = rng.integers(0, max(len(structures), 1), count).tolist()
    classes = rng.integers(0, workload.classes, (count, 2)).tolist()
    vertices = edges.source[rng.integers(0, len(edges.source), count)].tolist()
    slots = rng.integers(0, 1 << 30, count).tolist()
    concrete = (rng.permutation(count) < count // 2).tolist()
    texts = [
        pattern_text(
            structures[chosen[row]], Filling(classes[row], vertices[row] if concrete[row] else None, slots[row])
        )
        for row in range(count)
    ]
    kinds = rng.integers(0, workload.classes, workload.vertices)
    return {"subscriptions": _subscriptions(texts), "graph": _graph(kinds)}


def _graph(kinds: Ints) -> pa.Table:
    """A class for every vertex."""
    return pa.table(
        {
            "subject": _named("v", np.arange(len(kinds))),
            "property": pa.array(["a"], pa.string()).take(np.zeros(len(kinds), np.int64)),
            "object": _named("C", kinds),
        }
    )


# --- tables -----------------------------------------------------------------------------------------------------


def _subscriptions(texts: list[str]) -> pa.Table:
    return pa.table({"subscription_id": _named("q", np.arange(len(texts))), "query": pa.array(texts, pa.string())})


def _updates(workload: WatchWorkload, edges: Edges, stream: Stream) -> pa.Table:
    drawn = edges.take(stream.edge)
    labels = _named("p", np.arange(workload.properties)) if workload.variables else pa.array(["links"], pa.string())
    return pa.table(
        {
            "seq": pa.array(np.arange(1, len(stream.edge) + 1)),
            "op": pa.array(["-", "+"], pa.string()).take(stream.added.astype(np.int64)),
            "subject": _named("v", drawn.source),
            "property": labels.take(drawn.property),
            "object": _named("v", drawn.target),
        }
    )


def _named(prefix: str, numbers: Ints) -> pa.StringArray:
    text: Any = pa.array(numbers, pa.int64()).cast(pa.string())
    joined: pa.StringArray = pc.binary_join_element_wise(prefix, text, "")
    return joined
