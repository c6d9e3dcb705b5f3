"""The workload of [R] section 5, with subscriptions that are contained in others, and the answer that it must give.

[R] counts as overlap what is contained. The generator's own overlap repeats the edges of another subscription with
other variables, which contains it only now and then; so here a share of the subscriptions repeats another one and asks
for one edge more. Why the answer is exact: whoever asks for more matches nothing else than the one it repeats, and the
further edge is one of the publication that that one matches, if it matches any.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.experiments.filter_options import Options
from benchmarks.filter_workloads import Tables, numbers
from heliograph.workloads.filter import generate_filter

SECTION_5: Mapping[str, Any] = {
    "publication_nodes": 30,
    "publication_edges": 90,
    "subscription_nodes": 5,
    "subscription_edges": 10,
    "variables": 2,
    "variable_share": 0.9,
}
OVERLAP = 0.5
MERGE_PERCENTAGE = 0.7  # as in [R] figure 9(i)
NOTES = "Overlap is the share of subscriptions that repeat another one and ask for one edge more."

Edge = tuple[str, str, str]


@lru_cache(maxsize=2)
def drawn(seed: int, given: Options, overlap: float) -> Tables:
    """The tables of the filter workload, with so many contained subscriptions."""
    return contained(generate_filter(seed, **{**dict(given), "overlap": 0.0}), overlap, seed)


def contained(tables: Tables, share: float, seed: int) -> Tables:
    """The same number of subscriptions, of which a share is contained in one of the others."""
    random = Random(seed)
    edges, owners = _edges(tables["patterns"], "subscription_id"), _owners(tables["expected"])
    documents = _edges(tables["publications"], "publication_id")
    later = sorted(random.sample(range(len(edges)), round(len(edges) * share)))
    first = sorted(set(range(len(edges))).difference(later))
    for number in later:
        base = random.choice(first)
        owner = owners[number] = owners.get(base, -1)
        further = random.choice(documents[owner]) if owner >= 0 else _unknown(random, edges[base])
        edges[number] = [*edges[base], further]
    return {**tables, "patterns": _patterns(edges), "expected": _expected(owners)}


def _edges(table: pa.Table, id: str) -> list[list[Edge]]:
    """The edges of each graph, by number."""
    number = numbers(table[id])
    found: list[list[Edge]] = [[] for _ in range(int(number.max()) + 1)]
    columns = (table[name].to_pylist() for name in ("subject", "property", "object"))
    for at, *edge in zip(number.tolist(), *columns, strict=True):
        found[at].append(tuple(edge))
    return found


def _owners(expected: pa.Table) -> dict[int, int]:
    """The publication that each subscription matches."""
    return dict(zip(*(numbers(expected[name]).tolist() for name in expected.column_names), strict=True))


def _unknown(random: Random, edges: list[Edge]) -> Edge:
    """An edge from a node of these to one that is in no document."""
    return (random.choice(edges)[0], random.choice(edges)[1], f"m{random.randrange(1_000_000)}")


def _patterns(edges: list[list[Edge]]) -> pa.Table:
    rows = [(f"s{number}", *edge) for number, own in enumerate(edges) for edge in dict.fromkeys(own)]
    names = ["subscription_id", "subject", "property", "object"]
    return pa.table(dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True)))


def _expected(owners: dict[int, int]) -> pa.Table:
    """In the order of notifications: by publication, then by subscription."""
    pairs = np.array([pair for pair in owners.items() if pair[1] >= 0], np.int64).reshape(-1, 2)
    pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    subscriptions, publications = ([f"{letter}{number}" for number in column] for letter, column in zip("sd", pairs.T))
    return pa.table(
        {
            "subscription_id": pa.array(subscriptions, pa.string()),
            "publication_id": pa.array(publications, pa.string()),
        }
    )
