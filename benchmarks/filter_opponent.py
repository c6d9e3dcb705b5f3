"""The opponent of the filter's table: pyoxigraph, asked one subscription after another about one publication.

The store is filled and the text of the queries is ready before the clock starts. A sample of the subscriptions, spread
evenly over all of them, is asked, and the time is scaled up to all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import Literal, NamedNode, Quad, Store

from benchmarks.filter_workloads import Tables, WrongAnswer, numbers, queries
from heliograph.terms import PLAIN


class Asking(NamedTuple):
    """Stores of some publications, sampled queries, and which pairs of their ids match."""

    stores: Mapping[str, Store]
    queries: Mapping[str, str]
    expected: frozenset[tuple[str, str]]
    subscriptions: int

    def seconds(self, publication: str) -> float:
        """How long all subscriptions would take for this publication."""
        store = self.stores[publication]
        started = time.process_time()
        answers = [bool(store.query(text)) for text in self.queries.values()]
        took = time.process_time() - started
        self._check(publication, answers)
        return took * self.subscriptions / len(self.queries)

    def _check(self, publication: str, answers: Iterable[bool]) -> None:
        for subscription, answer in zip(self.queries, answers, strict=True):
            if answer != ((subscription, publication) in self.expected):
                raise WrongAnswer(f"pyoxigraph says {answer} to {self.queries[subscription]} of {publication}")


def ask(tables: Tables, asked: int, publications: int) -> Asking:
    """Ready to ask `asked` of the subscriptions about the first few publications."""
    count = int(numbers(tables["patterns"]["subscription_id"]).max()) + 1
    sampled = np.unique(np.linspace(0, count - 1, asked).astype(np.int64)).tolist()
    stores = {f"d{number}": _store(tables["publications"], f"d{number}") for number in range(publications)}
    pairs = zip(*(column.to_pylist() for column in tables["expected"].columns), strict=True)
    return Asking(stores, queries(tables, [f"s{number}" for number in sampled]), frozenset(pairs), count)


def _store(publications: pa.Table, id: str) -> Store:
    """One publication in memory."""
    rows = publications.filter(pc.equal(publications["publication_id"], pa.scalar(id)))
    triples = zip(*(rows[name].to_pylist() for name in ("subject", "property", "object")), strict=True)
    store = Store()
    store.extend(Quad(NamedNode(f"{PLAIN}{s}"), NamedNode(f"{PLAIN}{p}"), _object(str(o))) for s, p, o in triples)
    return store


def _object(cell: str) -> NamedNode | Literal:
    return Literal(int(cell)) if cell.isdigit() else NamedNode(f"{PLAIN}{cell}")
