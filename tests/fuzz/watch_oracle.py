"""Whether a query holds of the last graph of a scene, by those who wrote none of this: pyoxigraph and networkx.

The graph is that of `tests/watch/naive.py`. Queries that the oracles answer otherwise by name (see the contract), that
have a memory (hysteresis) or that need more than the graph (sets of top k) are left out: the answer is None.
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from typing import Any

import pyoxigraph as ox

from heliograph.terms import parse_cell
from heliograph.watch.metrics.calls import Key
from tests.watch.metrics.oracle import metric_value
from tests.watch.naive import NaiveGraph, Step
from tests.watch.oracle import PREFIX, store_of

_SPANS = {"5s": 5, "12s": 12, "60s": 60}
_NOT_THEIRS = ("!=", "NOT IN", "!(", "rdfs:member", "xsd:", "1.0000", "STR(", "LANG", '<= "')
_METRIC = re.compile(r"ASK \{ +FILTER\(hg:(\w+)\(([^()]*)\) (>=|>|<|<=) ([\d.]+)\) \}")
_COMPARED = {">=": lambda a, b: a >= b, ">": lambda a, b: a > b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}


def last_graph(settings: dict[str, Any], rows: list[dict[str, Any]]) -> NaiveGraph:
    graph = NaiveGraph(_SPANS.get(settings.get("window", "")), settings.get("window_updates"))
    for row in rows:
        at = None if row["at"] is None else int(datetime.fromisoformat(row["at"]).timestamp())
        step = Step(row["op"], row["subject"], row["property"], row["object"], at)
        graph.expire(step)
        graph.apply(step)
    return graph


def from_scratch(settings: dict[str, Any], rows: list[dict[str, Any]], asked: dict[str, Any]) -> bool | None:
    """Whether the query holds of the graph that these updates leave."""
    text, options = asked["query"], json.loads(asked["options"] or "{}")
    if options.get("hysteresis") or options.get("top_k_of") or any(word in text for word in _NOT_THEIRS):
        return None
    if "hg:" in text:
        return _metric(settings, rows, text)
    if "taxonomy" in settings or "VALUES" in text:
        return None
    graph = last_graph(settings, rows)
    if any('"' in cell or "." in cell for triple in graph.edges for cell in triple):
        return None  # typed literals, of which some are compared otherwise
    query = PREFIX + (text if "HAVING" not in text else _distinct(text))
    found = store_of((s, "rdf:type" if p == "a" else p, o) for s, p, o in graph.edges).query(query)
    return bool(found) if isinstance(found, ox.QueryBoolean) else any(True for _ in found)


def _distinct(text: str) -> str:
    """A query that counts, for an oracle that knows HAVING in SELECT alone."""
    return re.sub(r"^ASK", "SELECT (COUNT(*) AS ?n)", text)


def _metric(settings: dict[str, Any], rows: list[dict[str, Any]], text: str) -> bool | None:
    found = _METRIC.fullmatch(text)
    if found is None or any(row["weight"] is not None for row in rows):
        return None
    name, given, operator, limit = found.groups()
    vertices = [cell.strip().removeprefix(":") for cell in given.split(",") if cell.strip().startswith(":")]
    if name not in ("degree", "indegree", "outdegree", "clustering", "transitivity", "averageClustering", "cliques"):
        return None
    if len(vertices) > 1 or "?" in given:
        return None  # a property, or a variable
    graph = last_graph(settings, rows)
    edges = {
        t: math.nan for t in graph.edges if not parse_cell(t[2]).is_literal and t[1] not in ("a", "rdfs:subClassOf")
    }
    existing = {t[0] for t in graph.edges} | {t[2] for t in graph.edges if not parse_cell(t[2]).is_literal}
    options = tuple(int(cell) for cell in given.split(",")) if name == "cliques" else ()
    value = metric_value(Key(name, options), vertices, edges, len(existing))
    return bool(_COMPARED[operator](round(value, 9), float(limit)))
