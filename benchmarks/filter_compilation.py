"""How long 100,000 interests of ten triples take to compile, on one core: as SPARQL text and as pattern tables.

Every place of a triple is a variable or a constant at random, so the texts differ in all but their frame; each has one
constraint. `measure_sparql_apart` is the hardest case for sharing: hardly two texts are built alike.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pyarrow as pa

from heliograph.sparql.query import Query
from heliograph.sparql.tables import compile_patterns
from heliograph.sparql.templates import compile_sparql

COUNT = 100_000
TRIPLES = 10
VARIABLES = 5
NAMES = 20_000
PROPERTIES = 100

Edge = tuple[str, str, str]


def measure_sparql(seed: int, count: int = COUNT) -> float:
    """Seconds for `count` SPARQL texts."""
    return _seconds_sparql([_text(edges, "." * TRIPLES, "*") for edges in _interests(seed, count)])


def measure_sparql_apart(seed: int, count: int = COUNT) -> float:
    """Seconds for `count` SPARQL texts whose triples are joined at random by . ; or , under any selection."""
    chance = random.Random(seed)
    selections = ["*", *(" ".join(f"?v{each}" for each in range(number)) for number in range(1, VARIABLES + 2))]
    return _seconds_sparql(
        [
            _text(edges, "".join(chance.choices(".;,", k=TRIPLES)), chance.choice(selections))
            for edges in _interests(seed, count)
        ]
    )


def measure_patterns(seed: int, count: int = COUNT) -> float:
    """Seconds for pattern and constraint tables of `count` subscriptions."""
    patterns, constraints = _tables(_interests(seed, count))
    start = time.perf_counter()
    compiled = compile_patterns(patterns, constraints)
    took = time.perf_counter() - start
    assert sum(isinstance(query, Query) for query in compiled.values()) == count
    return took


def _seconds_sparql(texts: Sequence[str]) -> float:
    start = time.perf_counter()
    compiled = compile_sparql(texts)
    took = time.perf_counter() - start
    assert all(isinstance(query, Query) for query in compiled)
    return took


def _interests(seed: int, count: int) -> list[list[Edge]]:
    """Interests as edges; ?v0 is in all of them, for the constraint."""
    chance = random.Random(seed)
    return [[("?v0", "p0", f"?v{VARIABLES}"), *(_edge(chance) for _ in range(TRIPLES - 1))] for _ in range(count)]


def _edge(chance: random.Random) -> Edge:
    return _end(chance), f"p{chance.randrange(PROPERTIES)}", _end(chance)


def _end(chance: random.Random) -> str:
    return f"?v{chance.randrange(VARIABLES)}" if chance.random() < 0.6 else f"n{chance.randrange(NAMES)}"


def _text(edges: list[Edge], joints: str, selection: str) -> str:
    """SPARQL text of the edges, each joined to the next by . or by ; (same subject) or by , (same property too)."""
    parts = [f"SELECT {selection} WHERE {{\n "]
    shared = 0
    for edge, joint in zip(edges, joints):
        parts += [end if end[0] == "?" else ":" + end for end in edge[shared:]]
        parts.append(joint + "\n ")
        shared = ".;,".index(joint)
    parts[-1] = ".\n "
    return " ".join(parts) + f"FILTER(?v0 != {len(parts)})\n}}"


def _tables(interests: list[list[Edge]]) -> tuple[pa.Table, pa.Table]:
    ids = [f"s{number}" for number in range(len(interests))]
    subjects, properties, objects = zip(*(edge for edges in interests for edge in edges))
    patterns = {
        "subscription_id": [id for id, edges in zip(ids, interests) for _ in edges],
        "subject": list(subjects),
        "property": list(properties),
        "object": list(objects),
    }
    constraints = {
        "subscription_id": ids,
        "variable": ["?v0"] * len(ids),
        "operator": ["!="] * len(ids),
        "value": [str(len(id)) for id in ids],
    }
    return pa.table(patterns), pa.table(constraints)
