"""Random queries that ask metrics, with their options, and random updates of a small graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

VERTICES, PROPERTIES = ("a", "b", "c", "d", "e"), ("p", "q")
EXACT = (
    "hg:degree({x})",
    "hg:indegree({x}, :p)",
    "hg:outdegree({x})",
    "hg:clustering({x})",
    "hg:distance({x}, :b)",
    'hg:distance({x}, {y}, "undirected", "weight")',
    "hg:distance({x}, {y}, :p)",
    "hg:cliques(1)",
    "hg:cliques(2)",
    "hg:cliques(3)",
    "hg:density({x}, 1)",
    "hg:density({x}, 2)",
    "hg:density()",
    "hg:steiner({x}, :c, :d)",
    "hg:steiner({x}, :a, :e)",
    "hg:transitivity()",
    "hg:averageClustering()",
    "hg:betweenness({x})",
)
CHOSEN = (  # what several answers would satisfy, of which one is fixed
    "hg:dense({x})",
    "hg:steinerPoint({x}, :a, :e)",
    "hg:steinerPoint({x}, :b, {y})",
)
FUNCTIONS = (*EXACT, *CHOSEN, "hg:steiner({x}, {y}, hg:via(:p))")
LIMITS = {
    **dict.fromkeys(("density", "clustering", "transitivity", "averageClustering"), ("0.3", "0.5", "1")),
    "betweenness": ("0.05", "0.2"),
    "cliques": ("1", "4"),
    "dense": ("0.5", "0.75", "1"),
    "steinerPoint": ("1",),
}
PATTERNS = (
    ("", ("?x", ":a")),
    ("", (":a", ":b")),
    ("?x :p ?y .", ("?x", "?y", ":a")),
    ("?x :p ?y . ?y :q ?z .", ("?x", "?z")),
    ("VALUES ?x { :a :c }", ("?x",)),
    (":a :p ?y .", ("?y", ":b")),
)


def condition(r: Random, names: tuple[str, ...], functions: tuple[str, ...]) -> str:
    function = r.choice(functions).format(x=r.choice(names), y=r.choice(names))
    limit = r.choice(LIMITS.get(function[3:].split("(")[0], ("1", "2", "3")))
    operator = r.choice((">=", ">", "<", "<=", "=", "!="))
    text = f"{function} {operator} {limit}"
    if r.random() < 0.2:
        text = f"{limit} {operator} {function}"
    if r.random() < 0.15:
        text = f"!({text})"
    if r.random() < 0.15:
        text = f"{function} + 1 > hg:degree({r.choice(names)})"
    return text


def query(r: Random, functions: tuple[str, ...] = FUNCTIONS) -> str:
    pattern, names = r.choice(PATTERNS)
    tests = [condition(r, names, functions) for _ in range(r.choice((1, 1, 2)))]
    joint = r.choice((" && ", " || ")) if r.random() < 0.6 else None
    filters = f"FILTER({joint.join(tests)})" if joint else " ".join(f"FILTER({each})" for each in tests)
    form = r.choice(("SELECT *", "SELECT *", "ASK", "SELECT (COUNT(*) AS ?n)"))
    having = f" HAVING (COUNT(*) >= {r.randint(1, 2)})" if "COUNT" in form else ""
    return f"{form} {{ {pattern} {filters} }}{having}"


def grouped(r: Random, text: str) -> str:
    """A query as it is, or by ?x: distinct, or with a count for each."""
    if "?x" not in text or r.random() < 0.6:
        return text
    counting = text.replace("SELECT (COUNT(*) AS ?n)", "SELECT ?x (COUNT(*) AS ?n)").replace(
        "HAVING", "GROUP BY ?x HAVING"
    )
    return counting.replace("SELECT *", "SELECT DISTINCT ?x")


def options(r: Random, text: str) -> str | None:
    """What a subscription may ask of its notifications."""
    given: dict[str, Any] = {}
    if r.random() < 0.3:
        given["mode"] = r.choice(("each", "change"))
    if r.random() < 0.3:
        given["hysteresis"] = r.choice((0.1, 0.5, 1))
    if r.random() < 0.3:
        given["initial"] = True
    if r.random() < 0.1:
        given["max_matches_per_update"] = 2
    if text.startswith("SELECT *") and r.random() < 0.1:
        given["top_k_of"] = {"set": "s", "k": 1}
    return json.dumps(given) if given else None


def updates(r: Random, count: int, vertices: tuple[str, ...] = VERTICES) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        op = r.choice("+++++--=")
        row: dict[str, Any] = {"op": op, "subject": r.choice(vertices), "property": r.choice((*PROPERTIES * 3, "a"))}
        row["object"] = r.choice((*vertices * 3, "7"))
        if op == "-" and r.random() < 0.3:
            row["property"] = row["object"] = None
        row["weight"] = r.choice((0.5, 2.0)) if op == "+" and r.random() < 0.2 else None
        yield row


def timed(r: Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Updates with times, some minutes apart."""
    minutes = 0
    for row in rows:
        minutes += r.choice((0, 0, 10, 20, 50))
        row["at"] = f"2026-11-{1 + minutes // 1440:02d}T{minutes // 60 % 24:02d}:{minutes % 60:02d}:00Z"
    return rows
