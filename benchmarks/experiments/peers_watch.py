"""Peers of the watch: after every update of a window each says which concrete queries became true or false by it.

The graph before the window is loaded, and queries are ready, before the clock starts. Who knows no continuous queries
asks them all again after each update and compares with what was true before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.filter_workloads import Tables
from benchmarks.watch_opponents import Numbers, Told
from benchmarks.watch_workloads import accepted, seconds, settled, subscribed
from heliograph.papers.watch import Inv, pattern
from heliograph.terms import PLAIN

_LINKS = f"{PLAIN}links"


class Window(NamedTuple):
    """Updates from `begin` to `end` of a stream, in the middle of what is told of it."""

    tables: Tables
    numbers: Numbers
    begin: int
    end: int

    @classmethod
    def of(cls, tables: Tables, count: int) -> Window:
        numbers = Numbers.of(tables)
        middle = numbers.expected[len(numbers.expected) // 2][0]
        begin = max(0, min(middle - count // 2, len(numbers.subject) - count))
        return cls(tables, numbers, begin, begin + count)

    @property
    def updates(self) -> list[tuple[int, int, bool]]:
        """(subject, object, whether it is added) of each."""
        return list(zip(*(column.tolist() for column in self.numbers.updates(self.begin, self.end)), strict=True))

    @property
    def before(self) -> list[tuple[int, int]]:
        """The edges that are there; a stream of additions only."""
        subject, object, _ = self.numbers.updates(0, self.begin)
        return list(zip(subject.tolist(), object.tolist(), strict=True))

    def timed(self, call: Callable[[], Iterable[tuple[int, bool, int]]]) -> float:
        """Seconds an update; raises unless what is told is right. Rows count from the window's first."""
        told = Told()
        took = seconds(lambda: told.extend(call()))
        self.numbers.check(((self.begin + row, rose, query) for row, rose, query in told), self.begin, self.end)
        return took / (self.end - self.begin)


def heliograph(window: Window) -> float:
    """All updates of the window in one call, interned before, as INV is given numbers."""
    engine = settled(subscribed(window.tables["subscriptions"]))
    updates = window.tables["updates"]
    accepted(engine.publish(updates.slice(0, window.begin)))
    batch = engine.encode(updates.slice(window.begin, window.end - window.begin))
    first = window.begin + 1  # seqs begin at 1

    def told() -> Iterable[tuple[int, bool, int]]:
        for each in engine.publish(batch):
            yield int(str(each.publication_id)) - first, each.change == "+", int(each.subscription_id[1:])

    return window.timed(told)


def inv(window: Window) -> float:
    """INV of [Z], mended, in plain Python."""
    algorithm = Inv()
    for query, pairs in enumerate(window.numbers.queries):
        algorithm.subscribe(str(query), pattern((subject, _LINKS, object) for subject, object in pairs))
    for subject, object in window.before:
        algorithm.update("+", (subject, _LINKS, object))

    def told() -> Iterable[tuple[int, bool, int]]:
        for row, (subject, object, added) in enumerate(window.updates):
            changes = algorithm.update("+" if added else "-", (subject, _LINKS, object))
            yield from ((row, True, int(id)) for id in changes.rose)
            yield from ((row, False, int(id)) for id in changes.fell)

    return window.timed(told)


def pyoxigraph(window: Window) -> float:
    """An ASK for each query."""
    from pyoxigraph import NamedNode, Quad, Store

    def quad(subject: int, object: int) -> Any:
        return Quad(NamedNode(f"{PLAIN}v{subject}"), NamedNode(_LINKS), NamedNode(f"{PLAIN}v{object}"))

    store = Store()
    store.bulk_extend(quad(*pair) for pair in window.before)
    texts = [_text(pairs) for pairs in window.numbers.queries]
    return _asked_again(
        window, lambda pair: store.add(quad(*pair)), lambda: {q for q, t in enumerate(texts) if store.query(t)}
    )


def rdflib(window: Window) -> float:
    """The same by rdflib."""
    from rdflib import Graph, URIRef
    from rdflib.plugins.sparql import prepareQuery

    def triple(subject: int, object: int) -> tuple[URIRef, URIRef, URIRef]:
        return URIRef(f"{PLAIN}v{subject}"), URIRef(_LINKS), URIRef(f"{PLAIN}v{object}")

    graph = Graph()
    for pair in window.before:
        graph.add(triple(*pair))
    prepared = [prepareQuery(_text(pairs)) for pairs in window.numbers.queries]
    return _asked_again(
        window,
        lambda pair: graph.add(triple(*pair)),
        lambda: {number for number, query in enumerate(prepared) if graph.query(query).askAnswer},
    )


def duckdb(window: Window) -> float:
    """One join of all queries' edges with the graph's."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    pairs = [(query, *pair) for query, edges in enumerate(window.numbers.queries) for pair in dict.fromkeys(edges)]
    for name, rows, columns in (("wanted", pairs, ["query", "s", "o"]), ("edges", window.before, ["s", "o"])):
        connection.register("given", pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows]))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    join = """SELECT query FROM wanted LEFT JOIN edges USING (s, o)
              GROUP BY query HAVING count(*) = count(edges.s)"""
    return _asked_again(
        window,
        lambda pair: connection.execute("INSERT INTO edges VALUES (?, ?)", pair),
        lambda: {row[0] for row in connection.execute(join.replace("edges.s", "edges.rowid")).fetchall()},
    )


def _asked_again(window: Window, add: Callable[[tuple[int, int]], Any], true: Callable[[], set[int]]) -> float:
    """Which queries are true, asked after each update."""
    known = true()

    def told() -> Iterable[tuple[int, bool, int]]:
        before = known
        for row, (subject, object, _) in enumerate(window.updates):
            add((subject, object))
            after = true()
            yield from ((row, True, query) for query in sorted(after - before))
            yield from ((row, False, query) for query in sorted(before - after))
            before = after

    return window.timed(told)


def _text(pairs: Iterable[tuple[int, int]]) -> str:
    edges = " . ".join(f"<{PLAIN}v{subject}> <{_LINKS}> <{PLAIN}v{object}>" for subject, object in pairs)
    return f"ASK {{ {edges} }}"
