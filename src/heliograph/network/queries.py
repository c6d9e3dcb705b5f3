"""Queries, and the links between them and what they wait for: edges of the graph, and components.

Whoever an edge concerns stands in a chain of links that begins in the edge's LINK; whoever a component concerns, in one
that begins in its K_POSTINGS. A query lists its components in a chain of its own. All links of a query lie one behind
the other: first those of its edges, then those in the chains of its components, then its own list.

The law: Q_MISSING is the number of edges that a query waits for and that are absent, and for truth also of components
that hold nowhere. It is 1 for ever where nothing can satisfy the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import LINK, PRESENT, Graph
from heliograph.kernels.network_layout import (
    K_POSTINGS,
    L_ITEM,
    L_NEXT,
    LIMIT_COLUMNS,
    LINK_COLUMNS,
    NONE,
    Q_FACTORS,
    Q_KIND,
    Q_MISSING,
    Q_TRUTH,
    Q_WATCH,
    QUERY_COLUMNS,
)
from heliograph.network.groups import Groups
from heliograph.network.tables import Rows

Ints: TypeAlias = "npt.NDArray[Any]"

_FIRST, _EDGES, _COMPONENTS = range(3)  # of spans: the first link of a query, and how many of each there are
_SPAN_COLUMNS = 3


class Waited(Protocol):
    """A graph whose edges can be waited for; see `evolution.graph.FlatGraph`."""

    @property
    def arrays(self) -> Graph: ...

    def enter_edges(self, subject: Ints, predicate: Ints, object: Ints) -> Ints: ...

    def leave_edges(self, edges: Ints) -> None: ...


class Limits(NamedTuple):
    """A count holds from `enter_low` to `enter_high`, and if it held already from `stay_low` to `stay_high`."""

    enter_low: int
    enter_high: int
    stay_low: int
    stay_high: int


class Queries:
    """All queries, by row."""

    def __init__(self, graph: Waited, groups: Groups) -> None:
        self.rows = Rows(QUERY_COLUMNS)
        self.limits = Rows(LIMIT_COLUMNS, np.int64)
        self.links = Rows(LINK_COLUMNS)
        self.numbers = Rows(0, np.int64)
        self.dead_links = 0
        self.alive = 0
        self._graph, self._groups = graph, groups
        self._previous = Rows(0)  # by link: the one before it in its chain, or ~edge, or ~component
        self._spans = Rows(_SPAN_COLUMNS)

    # --- coming -------------------------------------------------------------------------------------------------

    def add(self, number: int, kind: int, edges: Sequence[tuple[int, int, int]], components: Sequence[int]) -> int:
        """One query that waits for edges and for components; its row."""
        row, waited = self.rows.used, self._enter(edges)
        present = [int(self._graph.arrays.edges[edge, LINK]) & PRESENT for edge in waited]
        missing = len(waited) - sum(present)
        if kind == Q_TRUTH:
            missing += sum(1 for component in components if not self._groups.values.array[component])
        self._spans.append((self.links.used, len(waited), len(components)))
        for edge in waited:
            self._wait_for(edge, row)
        self._post(row, components)
        first = self._list(components)
        self.rows.append((missing, kind, 0, 0, first, 0))
        self.limits.append((0,) * LIMIT_COLUMNS)
        self.numbers.append(number)
        self.alive += 1
        return row

    def _enter(self, edges: Sequence[tuple[int, int, int]]) -> list[int]:
        """The numbers of edges, which differ."""
        if not edges:
            return []
        numbers: list[int] = self._graph.enter_edges(*np.array(edges, np.int32).T).tolist()
        return numbers

    def _wait_for(self, edge: int, row: int) -> None:
        known = self._graph.arrays.edges[edge]
        following = (int(known[LINK]) >> 1) - 1
        link = self.links.append((row, following))
        self._previous.append(~edge)
        if following >= 0:
            self._previous.array[following] = link
        known[LINK] = int(known[LINK]) & PRESENT | (link + 1) << 1

    def add_many(self, numbers: Ints, kind: int, edges: Ints, owner: Ints) -> int:
        """Queries that wait for edges alone; the row of the first. `owner` says by place whose edge a row of `edges`
        is, ascending."""
        numbered, owner = self._entered(edges, owner)
        counts = np.bincount(owner, minlength=len(numbers))
        absent = (self._graph.arrays.edges[numbered, LINK] & PRESENT) == 0
        missing = np.bincount(owner[absent], minlength=len(numbers))
        first = self.rows.used
        rows = np.zeros((len(numbers), QUERY_COLUMNS), np.int32)
        rows[:, Q_MISSING], rows[:, Q_KIND], rows[:, Q_FACTORS] = missing, kind, NONE
        self.rows.extend(rows)
        self.limits.extend(np.zeros((len(numbers), LIMIT_COLUMNS), np.int64))
        self.numbers.extend(numbers)
        spans = np.zeros((len(numbers), _SPAN_COLUMNS), np.int32)
        spans[:, _FIRST] = self.links.used + np.concatenate(([0], np.cumsum(counts)[:-1]))
        spans[:, _EDGES] = counts
        self._spans.extend(spans)
        self._wait(numbered, first + owner)
        self.alive += len(numbers)
        return first

    def _entered(self, edges: Ints, owner: Ints) -> tuple[Ints, Ints]:
        """The numbers of edges, each once for each owner."""
        if not len(edges):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        numbered = np.asarray(self._graph.enter_edges(*edges.T), np.int64)
        pairs = np.sort(np.asarray(owner, np.int64) << 32 | numbered)  # np.unique would hash: slower by far
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
        return pairs & 0xFFFFFFFF, pairs >> 32

    def _wait(self, edges: Ints, rows: Ints) -> None:
        """Puts a link for each edge, in order, before those who wait for it already."""
        first = self.links.extend(np.stack((rows, np.full(len(rows), NONE)), 1))
        self._previous.extend(np.zeros(len(rows), np.int32))
        if not len(edges):
            return
        order = np.argsort(edges, kind="stable")
        sorted_edges, links = edges[order], first + order
        begins = np.concatenate(([True], sorted_edges[1:] != sorted_edges[:-1]))
        ends = np.concatenate((begins[1:], [True]))
        following, before = np.roll(links, -1), np.roll(links, 1)
        waiting = self._graph.arrays.edges
        following[ends] = (waiting[sorted_edges[ends], LINK] >> 1) - 1
        before[begins] = ~sorted_edges[begins]
        self.links.array[links, L_NEXT], self._previous.array[links] = following, before
        known = following[ends] >= 0
        self._previous.array[following[ends][known]] = links[ends][known]
        waiting[sorted_edges[begins], LINK] = waiting[sorted_edges[begins], LINK] & PRESENT | (links[begins] + 1) << 1

    def _post(self, row: int, components: Sequence[int]) -> None:
        chains = self._groups.components.array
        for component in components:
            following = int(chains[component, K_POSTINGS])
            link = self.links.append((row, following))
            self._previous.append(~component)
            chains[component, K_POSTINGS] = link
            if following >= 0:
                self._previous.array[following] = link

    def _list(self, components: Sequence[int]) -> int:
        """The components of a query, as a chain; its first link."""
        first = self.links.used
        for place, component in enumerate(components, 1):
            self.links.append((component, first + place if place < len(components) else NONE))
            self._previous.append(NONE)
        return first if components else NONE

    # --- going --------------------------------------------------------------------------------------------------

    def remove(self, row: int) -> None:
        """Takes a query out of all chains; components that nobody waits for any more leave the network."""
        first, edges, components = (int(each) for each in self._spans.array[row])
        left = [edge for edge in map(self._unwait, range(first, first + edges)) if edge >= 0]
        if left:
            self._graph.leave_edges(np.array(left, np.int64))
        for link in range(first + edges, first + edges + components):
            component = int(self.links.array[link + components, L_ITEM])
            self._unpost(link, component)
            if self._groups.components.array[component, K_POSTINGS] < 0:
                self._groups.leave(component)
        self.dead_links += edges + 2 * components
        self._spans.array[row] = 0
        self.alive -= 1

    def _unwait(self, link: int) -> int:
        """Takes a link out of the chain of its edge; the edge, if nobody is left there, or -1."""
        before, following = int(self._previous.array[link]), int(self.links.array[link, L_NEXT])
        if following >= 0:
            self._previous.array[following] = before
        if before >= 0:
            self.links.array[before, L_NEXT] = following
            return NONE
        row = self._graph.arrays.edges[~before]
        row[LINK] = row[LINK] & PRESENT | (following + 1) << 1
        return ~before if following < 0 else NONE

    def _unpost(self, link: int, component: int) -> None:
        before, following = int(self._previous.array[link]), int(self.links.array[link, L_NEXT])
        if following >= 0:
            self._previous.array[following] = before
        if before >= 0:
            self.links.array[before, L_NEXT] = following
        else:
            self._groups.components.array[component, K_POSTINGS] = following

    # --- asking -------------------------------------------------------------------------------------------------

    def components(self, row: int) -> list[int]:
        """The components that a query waits for."""
        first, edges, components = (int(each) for each in self._spans.array[row])
        listed: list[int] = self.links.array[
            first + edges + components : first + edges + 2 * components, L_ITEM
        ].tolist()
        return listed

    def set_limits(self, row: int, limits: Limits | None) -> None:
        """When a count holds; None asks to be told of every change of it."""
        self.rows.array[row, Q_WATCH] = limits is None
        if limits is not None:
            self.limits.array[row, :4] = limits
