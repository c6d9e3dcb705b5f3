"""How many matches a query with variables has, by DuckDB: what the engine's answers are held against.

The law: a vertex of the pattern with one edge left is summed out, its neighbour weighted by the sum; so no match is
listed that hangs from the rest by one edge. What has cycles is joined as it stands.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa

_BODY = re.compile(r"\{ (.*) \}")
_PLACES = ("s", "o")  # the columns of an edge's ends

Weights = dict[str, str]  # by vertex of the pattern: a SELECT of (v, n), what it may be and how often


class Link(NamedTuple):
    """An edge of a pattern; its ends are variables or constants."""

    subject: str
    label: int
    object: str

    @property
    def ends(self) -> tuple[str, str]:
        return self.subject, self.object


class Oracle:
    """A graph in DuckDB."""

    def __init__(self, edges: pa.Table, graph: pa.Table) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._load("e", edges, "s, p, o", ("subject", "property", "object"))
        self._load("k", graph, "s, c", ("subject", "object"))

    def _load(self, name: str, table: pa.Table, columns: str, sources: tuple[str, ...]) -> None:
        numbers = ", ".join(f"CAST(substr({source}, 2) AS INT)" for source in sources)
        self._connection.register("given", table)
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM (SELECT {numbers} FROM given) AS t({columns})")
        self._connection.unregister("given")

    def count(self, text: str) -> int:
        """The matches of a query of the watch workload."""
        links, weights = _read(text)
        found = self._connection.execute(_total(*_folded(links, weights))).fetchone()
        return int((found or [0])[0] or 0)


def _read(text: str) -> tuple[list[Link], Weights]:
    """The edges of a query; classes and constants as weights."""
    links, weights = [], Weights()
    body = _BODY.search(text)
    for triple in body[1].split(" . ") if body else ():
        subject, label, object = triple.split()
        if label == "a":
            _weigh(weights, subject, f"SELECT s AS v, 1 AS n FROM k WHERE c = {object[2:]}")
            continue
        links.append(Link(subject, int(label[2:]), object))
        for end in {subject, object}:
            if end[0] == ":":
                weights[end] = f"SELECT {end[2:]} AS v, 1 AS n"
    return links, weights


def _weigh(weights: Weights, end: str, select: str) -> None:
    other = weights.get(end)
    both = f"SELECT a.v, a.n * b.n AS n FROM ({select}) a JOIN ({other}) b ON a.v = b.v"
    weights[end] = select if other is None else both


def _folded(links: list[Link], weights: Weights) -> tuple[list[Link], Weights]:
    """What remains when everything that hangs from the rest by one edge is summed out."""
    left, weights = list(links), dict(weights)
    while leaves := [end for end, edges in Counter(end for link in left for end in link.ends).items() if edges == 1]:
        leaf = leaves[0]
        link = next(each for each in left if leaf in each.ends)
        left.remove(link)
        below, above = _PLACES if link.subject == leaf else _PLACES[::-1]
        source = f"e JOIN ({weights[leaf]}) w ON w.v = e.{below}" if leaf in weights else "(SELECT *, 1 AS n FROM e) e"
        heard = f"SELECT e.{above} AS v, sum(n) AS n FROM {source} WHERE p = {link.label} GROUP BY e.{above}"
        other = link.ends[_PLACES.index(above)]
        _weigh(weights, other, heard)
        if not left:
            return [], {other: weights[other]}
    ends = {end for link in left for end in link.ends}
    return left, {end: select for end, select in weights.items() if end in ends}


def _total(links: list[Link], weights: Weights) -> str:
    tables = [f"e t{number}" for number in range(len(links))]
    tables += [f"({select}) w{number}" for number, select in enumerate(weights.values())]
    factors = [f"CAST(w{number}.n AS HUGEINT)" for number in range(len(weights))] or ["1"]
    places: dict[str, Any] = {end: [f"w{number}.v"] for number, end in enumerate(weights)}
    for number, link in enumerate(links):
        for end, place in zip(link.ends, _PLACES, strict=True):
            places.setdefault(end, []).append(f"t{number}.{place}")
    equal = [f"{one[0]} = {other}" for one in places.values() for other in one[1:]]
    labels = [f"t{number}.p = {link.label}" for number, link in enumerate(links)]
    return f"SELECT sum({' * '.join(factors)}) FROM {', '.join(tables)} WHERE {' AND '.join([*equal, *labels, 'true'])}"
