"""A program: two watches and a filter as streams of one session, in micro-batches of one file each.

    python -m tests.spark.three_streams FOLDER MASTER STREAM…

It takes the files of FOLDER/updates and FOLDER/publications as they come, until there is a file FOLDER/end, and leaves
what each stream gave in a folder of its name. Its processes may be killed; see `test_kills`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from heliograph.io.tables import as_table

WINDOWS: dict[str, dict[str, Any]] = {"time": {"window": "60s"}, "last": {"window_updates": 50, "mode": "change"}}
STREAMS = (*WINDOWS, "filter")
ROWS = {
    "updates": "seq bigint, op string, subject string, property string, object string, weight double, at timestamp",
    "publications": "publication_id string, subject string, property string, object string",
}
HISTORY = 6000  # bytes: some engines are replayed from updates alone, others from a save and updates
PEOPLE, THINGS = tuple(f"v{number}" for number in range(12)), ("t0", "t1", "t2")
GRAPH = [("v1", "knows", "v2"), ("v2", "knows", "v3"), ("v3", "knows", "v1"), ("v1", "age", "40")]
_TESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "triangles": ("SELECT * { ?x :knows ?y . ?y :knows ?z . ?z :knows ?x }", {"mode": "each"}),
    "pairs": ("SELECT * { ?x :knows ?y . ?y :knows ?x }", {"max_matches_per_update": 3}),
    "returned": ("ASK { :v1 :knows ?y . ?y :knows :v1 }", {"mode": "change"}),
    "old": ("ASK { ?x :age ?a FILTER(?a > 50) }", {}),
    "fans": ("SELECT DISTINCT ?x { ?x :knows ?y . ?y :likes ?z }", {"mode": "each"}),
    "many": ("SELECT (COUNT(*) AS ?n) { ?x :knows ?y } HAVING (COUNT(*) >= 18)", {"hysteresis": 3}),
    "busy": ("SELECT ?x (COUNT(*) AS ?n) { ?x :knows ?y } GROUP BY ?x HAVING (COUNT(*) >= 3)", {"hysteresis": 1}),
    "liked": ("SELECT ?z (COUNT(*) AS ?n) { ?x :likes ?z } GROUP BY ?z HAVING (COUNT(*) > 2)", {"mode": "each"}),
    "at first": ("SELECT ?x { ?x :knows ?y }", {"initial": True, "mode": "each"}),
    "known": ("SELECT ?x { ?x :knows ?y FILTER(hg:indegree(?x, :knows) >= 3) }", {"mode": "each"}),
    "degree": ("ASK { FILTER(hg:degree(:v1) >= 5) }", {"hysteresis": 2}),
    "clustered": ("ASK { FILTER(hg:clustering(:v2) >= 0.3) }", {"hysteresis": 0.1}),
    "together": ("SELECT ?y { :v3 :knows ?y FILTER(hg:clustering(?y) > 0.2) }", {"mode": "each"}),
    "near": ("ASK { FILTER(hg:distance(:v0, :v5, :knows) <= 3) }", {}),
    "light": ('ASK { FILTER(hg:distance(:v1, :v4, "weight", :knows) < 2.5) }', {"hysteresis": 1}),
    "reached": ("SELECT ?y { ?y :likes :t1 FILTER(hg:distance(:v2, ?y) <= 2) }", {"mode": "each"}),
    **{
        f"top {who}": (f"SELECT ?y {{ :{who} :knows ?y }}", {"top_k_of": {"set": "busiest", "k": 2}})
        for who in PEOPLE[:6]
    },
}
QUERIES = [
    {"subscription_id": id, "query": query, "options": json.dumps(options)} for id, (query, options) in _TESTS.items()
]
FILTERED = [
    ("friends", "SELECT ?x ?y { ?x :knows ?y }"),
    ("a friend's", "ASK { ?x :knows ?y . ?y :knows ?z }"),
    ("v1", "ASK { :v1 :knows ?y }"),
    ("old", "SELECT ?x { ?x :age ?a FILTER(?a > 50) }"),
    ("old friends", "ASK { ?x :knows ?y . ?y :age ?a FILTER(?a > 30) }"),
    ("named", 'ASK { ?x :likes ?t FILTER(CONTAINS(STR(?t), "1")) }'),
]


def tables(files: int, seed: int) -> dict[str, list[pa.Table]]:
    """The content of so many files of updates and of publications; in each some rows are wrong."""
    r, time = Random(seed), 0
    updates, publications = list[list[dict[str, Any]]](), list[list[dict[str, Any]]]()
    for number in range(files):
        updates.append([])
        for place in range(r.randint(8, 16)):
            time += r.choice((0, 0, 1, 1, 3))
            updates[-1].append({"seq": number * 20 + place + 1, **_update(r, time)})
        late = {"seq": r.randint(1, number * 20 + 1), **_update(r, time)}
        updates[-1] += r.choice(([], [], [late], [{**updates[-1][-1], "seq": number * 20 + 20, "at": None}]))
        r.shuffle(updates[-1])
        publications.append([])
        for place in range(r.randint(3, 8)):
            id = f"{number} {place}"
            publications[-1] += [{"publication_id": id, **_triple(r)} for _ in range(r.randint(1, 6))]
        if number % 5 == 0:
            publications[-1].append({"publication_id": f"{number} bad", **_triple(r), "property": "5"})
    return {
        "updates": [as_table("updates", rows).table for rows in updates],
        "publications": [as_table("publications", rows).table for rows in publications],
    }


def _update(r: Random, time: int) -> dict[str, Any]:
    row: dict[str, Any] = {"op": r.choice("++++-"), **_triple(r), "weight": r.choice((None, None, 0.5, 2.0))}
    if row["property"] == "age":
        row |= {"op": "=", "weight": None}
    elif row["op"] == "-" and r.random() < 0.1:
        row |= {"property": None, "object": None, "weight": None}  # a person leaves, with all edges
    return {**row, "at": f"2026-01-01T{time // 3600:02d}:{time // 60 % 60:02d}:{time % 60:02d}Z"}


def _triple(r: Random) -> dict[str, Any]:
    who, kind = r.choice(PEOPLE), r.choice(("knows",) * 5 + ("likes", "likes", "age"))
    whom = {"knows": r.choice(PEOPLE), "likes": r.choice(THINGS), "age": str(r.randrange(70))}[kind]
    return {"subject": who, "property": kind, "object": whom}


def main(folder: str, master: str, *streams: str) -> None:
    from heliograph.spark import filter, session, watch, write

    spark = session(
        master,
        {
            "spark.sql.shuffle.partitions": 2,
            "spark.executor.memory": "512m",
            "spark.task.maxFailures": 50,  # a task that is hit again and again is no failure here
            "spark.stage.maxConsecutiveAttempts": 50,
            "spark.shuffle.io.retryWait": "200ms",  # an executor that is gone does not come back
        },
    )
    given: dict[str, Any] = {"shards": 2, "folder": f"{folder}/engines"}
    files = {
        name: spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/{name}")
        for name, schema in ROWS.items()
    }
    queries: list[Any] = []
    for name in streams:
        if name in WINDOWS:
            found = watch(files["updates"], QUERIES, graph=GRAPH, history=HISTORY, **given, **WINDOWS[name])
        else:
            found = filter(files["publications"], FILTERED, partition="containment", **given)
        queries.append(write(found, notifications=f"{folder}/{name}"))
        queries[-1].processAllAvailable()  # Spark gives a driver's worker 10 s to start: one after the other
    while not Path(folder, "end").exists():
        time.sleep(0.1)
        for query in queries:
            assert query.exception() is None, query.exception()
    for query in queries:
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
