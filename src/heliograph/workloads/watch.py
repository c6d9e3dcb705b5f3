"""The watch workload of [Z] section 3.2, seeded, of any size, with the answer it must give.

A graph grows by additions over vertices with power-law degrees. Queries are chains, stars and arbitrary graphs in equal
parts, cut out of the whole graph; most have one edge bent to a vertex it never reaches, so they stay silent although
all their other edges arrive. `expected` holds the exact notifications of concrete queries.

With `variables` the queries are patterns instead: a few structures, each instantiated many times with classes for two
of its variables, half of them with one concrete vertex. What they match is not known beforehand.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.workloads.watch_graph import Edges, Ints, Random, draw_edges
from heliograph.workloads.watch_options import WatchWorkload, checked, refused
from heliograph.workloads.watch_queries import Filling, bend, concrete_text, draw_parts, pattern_text, structure_of
from heliograph.workloads.watch_shapes import Shapes
from heliograph.workloads.watch_stream import Moments, Stream, draw_stream, moments


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


# --- concrete queries -------------------------------------------------------------------------------------------


def _concrete(rng: Random, workload: WatchWorkload, edges: Edges, stream: Stream) -> dict[str, pa.Table]:
    parts = draw_parts(rng, Shapes(rng, edges, workload.vertices), workload.queries, workload.cut)
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
    parts = draw_parts(rng, Shapes(rng, edges, workload.vertices), min(count, workload.structures), workload.cut)
    structures = [structure_of(edges, part) for part in parts]
    chosen = rng.integers(0, max(len(structures), 1), count).tolist()
    classes = rng.integers(0, max(workload.classes, 1), (count, 2 if workload.classes else 0)).tolist()
    vertices = edges.source[rng.integers(0, len(edges.source), count)].tolist()
    slots = rng.integers(0, 1 << 30, count).tolist()
    concrete = (rng.permutation(count) < int(count * workload.concrete)).tolist()
    texts = [
        pattern_text(
            structures[chosen[row]],
            Filling(classes[row], vertices[row] if concrete[row] else None, slots[row]),
            workload.asking,
        )
        for row in range(count)
    ]
    kinds = rng.integers(0, max(workload.classes, 1), workload.vertices if workload.classes else 0)
    return {"subscriptions": _subscriptions(texts, workload.mode), "graph": _graph(kinds)}


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


def _subscriptions(texts: list[str], mode: str = "") -> pa.Table:
    columns = {"subscription_id": _named("q", np.arange(len(texts))), "query": pa.array(texts, pa.string())}
    if mode:
        columns["options"] = pa.array([json.dumps({"mode": mode})] * len(texts), pa.string())
    return pa.table(columns)


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
