"""Peers of the filter: each is given subscriptions once and then says which of them one publication matches.

Stores are filled and queries are ready before the clock starts. The join of DuckDB is one statement for all
subscriptions: edges are joined with the patterns, bindings of up to two variables are gathered for each subscription,
and those stay for which every edge of the pattern is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.filter_opponent import ask
from benchmarks.filter_workloads import Tables, WrongAnswer, loaded, queries
from heliograph.terms import PLAIN

_JOIN = """
WITH m AS (
  SELECT p.subscription, p.edge,
    CASE WHEN p.sv = 1 THEN t.s WHEN p.ov = 1 THEN t.o END AS b1,
    CASE WHEN p.sv = 2 THEN t.s WHEN p.ov = 2 THEN t.o END AS b2
  FROM patterns p JOIN triples t ON p.p = t.p
  WHERE (p.sv > 0 OR p.s = t.s) AND (p.ov > 0 OR p.o = t.o) AND (p.sv = 0 OR p.sv <> p.ov OR t.s = t.o)
), near AS (
  SELECT m.subscription FROM m JOIN sizes USING (subscription)
  GROUP BY m.subscription, edges HAVING count(DISTINCT edge) = edges
), few AS (SELECT m.* FROM m JOIN near USING (subscription)
), bound AS (
  SELECT DISTINCT near.subscription, x.b1, y.b2 FROM near
  LEFT JOIN (SELECT DISTINCT subscription, b1 FROM few WHERE b1 IS NOT NULL) x USING (subscription)
  LEFT JOIN (SELECT DISTINCT subscription, b2 FROM few WHERE b2 IS NOT NULL) y USING (subscription)
)
SELECT DISTINCT bound.subscription FROM bound
JOIN few ON few.subscription = bound.subscription
  AND (few.b1 IS NULL OR few.b1 = bound.b1) AND (few.b2 IS NULL OR few.b2 = bound.b2)
JOIN sizes ON sizes.subscription = bound.subscription
GROUP BY bound.subscription, bound.b1, bound.b2, edges HAVING count(DISTINCT edge) = edges
"""


def heliograph(tables: Tables, publications: Iterable[str], algorithm: str = "indexed") -> Callable[[str], Any]:
    engine = loaded(tables, algorithm)
    parts = {id: _rows(tables, id) for id in publications}
    engine.publish(next(iter(parts.values())))  # nothing is put off
    return lambda id: _timed(
        lambda: {str(name) for name in engine.publish(parts[id]).table["subscription_id"].to_pylist()}
    )


def pyoxigraph(tables: Tables, publications: Iterable[str]) -> Callable[[str], Any]:
    ids = [str(id) for id in pc.unique(tables["patterns"]["subscription_id"]).to_pylist()]
    wanted = list(publications)
    asking = ask(tables, len(ids), len(wanted))

    def answer(id: str) -> set[str]:
        store = asking.stores[id]
        return {name for name, text in asking.queries.items() if bool(store.query(text))}

    return lambda id: _timed(lambda: answer(id))


def rdflib(tables: Tables, publications: Iterable[str]) -> Callable[[str], Any]:
    from rdflib import Graph, URIRef
    from rdflib.plugins.sparql import prepareQuery

    ids = [str(id) for id in pc.unique(tables["patterns"]["subscription_id"]).to_pylist()]
    prepared = {id: prepareQuery(text) for id, text in queries(tables, ids).items()}
    graphs = {}
    for id in publications:
        graphs[id] = Graph()
        for triple in zip(*(_rows(tables, id)[name].to_pylist() for name in _TRIPLE), strict=True):
            s, p, o = (URIRef(f"{PLAIN}{cell}") for cell in triple)
            graphs[id].add((s, p, o))

    def answer(id: str) -> set[str]:
        return {str(name) for name, query in prepared.items() if graphs[id].query(query).askAnswer}

    return lambda id: _timed(lambda: answer(id))


def duckdb(tables: Tables, publications: Iterable[str]) -> Callable[[str], Any]:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.register("given", _coded(tables["patterns"]))
    connection.execute("CREATE TABLE patterns AS SELECT * FROM given")
    connection.execute("CREATE TABLE sizes AS SELECT subscription, count(*) AS edges FROM patterns GROUP BY ALL")
    parts = {id: _rows(tables, id).select(list(_TRIPLE)).rename_columns(["s", "p", "o"]) for id in publications}

    def answer(id: str) -> set[str]:
        connection.register("triples", parts[id])
        return {row[0] for row in connection.execute(_JOIN).fetchall()}

    return lambda id: _timed(lambda: answer(id))


_TRIPLE = ("subject", "property", "object")


def _timed(call: Callable[[], set[str]]) -> tuple[float, set[str]]:
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def _rows(tables: Tables, id: str) -> pa.Table:
    publications = tables["publications"]
    return publications.filter(pc.equal(publications["publication_id"], pa.scalar(id)))


def _coded(patterns: pa.Table) -> pa.Table:
    """Edges numbered, and which variable of its subscription each end is: 0 for none, else 1 or 2."""
    rows, variables = [], dict[str, dict[str, int]]()
    for number, (id, s, p, o) in enumerate(zip(*(column.to_pylist() for column in patterns.columns), strict=True)):
        own = variables.setdefault(str(id), {})
        ends = [own.setdefault(str(cell), len(own) + 1) if str(cell)[0] == "?" else 0 for cell in (s, o)]
        if len(own) > 2:
            raise WrongAnswer(f"{id} has more than two variables")
        rows.append({"subscription": id, "edge": number, "s": s, "p": p, "o": o, "sv": ends[0], "ov": ends[1]})
    return pa.Table.from_pylist(rows)
