"""DuckDB agrees on a fixed exchange: it evaluates the targeting itself and walks by a recursive query."""

from __future__ import annotations

import json
import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.route.worlds import SHAPES, World, answer, build, ways_of

COLUMNS = {"x": "DOUBLE", "y": "DOUBLE", "s": "VARCHAR", "t": "VARCHAR"}
WORDS = ("a", "ab", "b", "ba", "it's")


def draw_atom(chance: random.Random) -> str:
    name = chance.choice(list(COLUMNS))
    if COLUMNS[name] == "DOUBLE":
        low, high = sorted((chance.randrange(10), chance.randrange(10)))
        spelled = (
            f"= {low}",
            f"<> {low}",
            f"< {high}",
            f">= {low}.5",
            f"BETWEEN {low} AND {high}",
            f"IN ({low}, {high})",
        )
        return f"{name} {chance.choice((*spelled, 'IS NULL', 'IS NOT NULL', f'NOT IN ({low})'))}"
    one, other = (word.replace("'", "''") for word in chance.sample(WORDS, 2))
    likes = f"LIKE '{one[0]}%'", "LIKE '%b%'", "NOT LIKE 'a_'"
    tests = f"= '{one}'", f"<> '{other}'", f"IN ('{one}', '{other}')", "IS NULL", f"> '{one}'", *likes
    return f"{name} {chance.choice(tests)}"


def draw_text(chance: random.Random, depth: int = 0) -> str:
    choice = chance.random()
    if depth == 3 or choice < 0.4:
        return draw_atom(chance)
    if choice < 0.5:
        return f"NOT ({draw_text(chance, depth + 1)})"
    parts = [draw_text(chance, depth + 1) for _ in range(chance.randrange(2, 4))]
    return "(" + (" AND " if choice < 0.65 else " OR ").join(parts) + ")"


def draw_tree(chance: random.Random) -> dict[str, Any]:
    drawn: dict[str, Any] = {name: float(chance.randrange(20)) / 2 for name in "xy"}
    drawn |= {name: chance.choice(WORDS) for name in "st"}
    return {name: value for name, value in drawn.items() if chance.random() < 0.85}


def theirs(world: World, events: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """The pairs of event and node that DuckDB delivers."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    trees = [json.loads(row["attributes"]) for row in events]
    columns: dict[str, Any] = {name: [tree.get(name) for tree in trees] for name in COLUMNS}
    ids = {name: pa.array([row[name] for row in events]) for name in ("event_id", "publisher")}
    connection.register("drawn", pa.table({**ids, **columns}))
    connection.execute("CREATE TABLE events AS FROM drawn")
    connection.execute("CREATE TABLE steps (event_id VARCHAR, edge INTEGER, source VARCHAR, target VARCHAR)")
    targeting = {node["node_id"]: node["targeting"] for node in world.nodes}
    for number, edge in enumerate(world.edges):
        texts = [text for text in (edge["targeting"], targeting.get(edge["target"])) if text]
        condition = " AND ".join(f"({text})" for text in texts) or "TRUE"
        values = [number, edge["source"], edge["target"]]
        connection.execute(f"INSERT INTO steps SELECT event_id, ?, ?, ? FROM events WHERE {condition}", values)
    query = """
        WITH RECURSIVE reached(event_id, node) AS (
            SELECT event_id, target FROM steps JOIN events USING (event_id) WHERE source = publisher
            UNION
            SELECT event_id, target FROM reached JOIN steps USING (event_id) WHERE source = node
        ) SELECT * FROM reached"""
    found: set[tuple[str, str]] = set(connection.execute(query).fetchall())
    connection.close()
    return found


@pytest.mark.parametrize("shape", [SHAPES[1], SHAPES[3]], ids=["dag", "nested"])
def test_duckdb_delivers_the_same(shape: Any) -> None:
    chance = random.Random(17)
    texts = [*[None] * 90, *(draw_text(chance) for _ in range(60))]
    world = build(shape, 250, texts, [draw_tree(chance) for _ in range(80)], seed=9)
    events = [row for row in world.batch(160, seed=2) if row["publisher"] in world.names]
    expected, engine = theirs(world, events), world.engine()
    assert len(expected) > 500
    for way in ways_of(world):
        found = answer(engine, way, events)
        assert len(found) == len(expected), way
        assert {(item.publication_id, item.subscription_id) for item in found} == expected, way
