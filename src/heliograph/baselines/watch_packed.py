"""BF and INV over numbers: the yardsticks of the speed table, as quick as plain Python makes them.

A vertex is a number below 2^31 and an edge one integer, `subject << 32 | object`, which spares a tuple for each update.
There is one property, as in the paper. The graph is a set of such integers, so duplicates and deletions are seen; a
query is a number, its row of table T the count of its edges that are missing. Updates are taken one by one, in order;
a batch is only a way to hand them over. Measured, filling the graph's set in bulk is no quicker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Found = list[tuple[int, int]]  # (row of the batch, query)


def packed(subject: npt.ArrayLike, object: npt.ArrayLike) -> list[int]:
    """Edges as integers."""
    codes: list[int] = (np.asarray(subject, np.int64) << 32 | np.asarray(object, np.int64)).tolist()
    return codes


class PackedInv:
    """INV with every mend; the second of its loops is for batches without deletions."""

    def __init__(self) -> None:
        self._graph: set[int] = set()
        self._index: dict[int, list[int]] = {}
        self._missing: list[int] = []
        self._edges: list[list[int]] = []

    def subscribe(self, queries: Iterable[Sequence[int]]) -> None:
        """Queries of packed edges; they are numbered as they come, from 0."""
        for edges in queries:
            distinct = list(dict.fromkeys(edges))
            for code in distinct:
                self._index.setdefault(code, []).append(len(self._edges))
            self._missing.append(sum(code not in self._graph for code in distinct))
            self._edges.append(distinct)

    def unsubscribe(self, query: int) -> None:
        for code in self._edges[query]:
            self._index[code].remove(query)
            if not self._index[code]:
                del self._index[code]
        self._edges[query] = []

    def publish(self, subject: Ints, object: Ints, added: Flags) -> tuple[Found, Found]:
        """The queries that a batch of updates makes true and false, each with the row of the update."""
        codes = packed(subject, object)
        return (self._add(codes), []) if added.all() else self._change(codes, added.tolist())

    def _add(self, codes: list[int]) -> Found:
        graph, missing, waiting = self._graph, self._missing, self._index.get
        put, gained = graph.add, []
        for row, code in enumerate(codes):
            queries = waiting(code)
            if queries is not None and code not in graph:
                for query in queries:
                    left = missing[query] = missing[query] - 1
                    if not left:
                        gained.append((row, query))
            put(code)
        return gained

    def _change(self, codes: list[int], added: list[bool]) -> tuple[Found, Found]:
        graph, missing, waiting = self._graph, self._missing, self._index.get
        put, take, gained, lost = graph.add, graph.discard, [], []
        for row, (code, adding) in enumerate(zip(codes, added, strict=True)):
            queries = waiting(code)
            if adding:
                if queries is not None and code not in graph:
                    for query in queries:
                        left = missing[query] = missing[query] - 1
                        if not left:
                            gained.append((row, query))
                put(code)
            else:
                if queries is not None and code in graph:
                    for query in queries:
                        if not missing[query]:
                            lost.append((row, query))
                        missing[query] += 1
                take(code)
        return gained, lost


class PackedBruteForce:
    """BF: a scan of all queries at every update, each of them a comparison of two sets."""

    def __init__(self) -> None:
        self._graph: set[int] = set()
        self._queries: list[frozenset[int]] = []
        self._true: list[bool] = []

    def subscribe(self, queries: Iterable[Sequence[int]]) -> None:
        self._queries += map(frozenset, queries)
        self._true = [query <= self._graph for query in self._queries]

    def publish(self, subject: Ints, object: Ints, added: Flags) -> tuple[Found, Found]:
        gained: Found = []
        lost: Found = []
        for row, (code, adding) in enumerate(zip(packed(subject, object), added.tolist(), strict=True)):
            (self._graph.add if adding else self._graph.discard)(code)
            graph = self._graph
            now = [query <= graph for query in self._queries]
            if now != self._true:
                changed = [query for query, (old, new) in enumerate(zip(self._true, now, strict=True)) if old != new]
                (gained if adding else lost).extend((row, query) for query in changed)
                self._true = now
        return gained, lost
