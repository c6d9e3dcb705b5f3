"""An exchange under the seed's ids, as its figures want it: read off one version's arrays, once.

The law ([B] 3.2.1, invariant 2): an edge leads to a higher component or stays within one, and the nodes of a component
have consecutive ids. Within a component the order is free; 3.2.2 shows that it decides how early the first result
comes. `numbered` keeps the exchange's own order; `breadth-first` searches the component from the node that most edges
enter, since no order is best for every event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.errors import UsageError
from heliograph.exchange.numbering import components as components_of
from heliograph.exchange.version import visible
from heliograph.kernels import exchange_layout as layout
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.seed_layout import SeedGraph
from heliograph.kernels.targeting_layout import NEVER, Int32s, Int64s

ORDERS = ("numbered", "breadth-first")


class Numbered(NamedTuple):
    """`numbers` leads from ids to the exchange's numbers, `ids` back; `entered` are the nodes that edges lead to."""

    graph: SeedGraph
    numbers: Int64s
    ids: Int64s
    entered: npt.NDArray[np.bool_]

    @property
    def same(self) -> bool:
        """Whether ids are the exchange's own numbers."""
        return bool((self.numbers[1:] > self.numbers[:-1]).all())

    @property
    def cyclic(self) -> bool:
        graph = self.graph
        loops = graph.targets == np.repeat(np.arange(len(graph.expressions)), np.diff(graph.offsets))
        return len(graph.begins) - 1 < len(graph.expressions) or bool(loops.any())


class _Edges(NamedTuple):
    source: Int64s
    target: Int64s
    expression: Int32s


def number_nodes(graph: Graph, order: str = ORDERS[0]) -> Numbered:
    """The visible part of one version under the seed's ids."""
    if order not in ORDERS:
        raise UsageError("HG-031", f"the order within components is {order!r}", fix=f"write one of {', '.join(ORDERS)}")
    edges, count = _edges(graph), graph.node_count
    components = _as_numbered(components_of(graph), edges)
    rank = np.arange(count) if order == ORDERS[0] else _breadth_first(count, edges, components)
    numbers = np.lexsort((rank, components))
    ids = np.empty(count, np.int64)
    ids[numbers] = np.arange(count)
    source, target = ids[edges.source], ids[edges.target]
    by_source = np.argsort(source, kind="stable")
    component = np.unique(components[numbers], return_inverse=True)[1]
    seed = SeedGraph(
        np.searchsorted(source[by_source], np.arange(count + 1)).astype(np.int64),
        target[by_source].astype(np.int32),
        edges.expression[by_source],
        _expressions(graph)[numbers],
        component.astype(np.int32),
        np.searchsorted(component, np.arange(component.max(initial=-1) + 2)).astype(np.int32),
    )
    return Numbered(seed, numbers, ids, np.bincount(target, minlength=count) > 0)


def _as_numbered(components: Int32s, edges: _Edges) -> Int32s:
    """The components in the order of the exchange's own numbers where that is topological, as it is after a build."""
    here = np.flatnonzero(np.diff(components, prepend=-1))  # where one ends and the next begins
    if len(np.unique(components)) < len(here):
        return components
    own = np.empty(len(here), np.int32)
    own[components[here]] = np.arange(len(here))
    mine: Int32s = own[components]
    return mine if (mine[edges.source] <= mine[edges.target]).all() else components


def _edges(graph: Graph) -> _Edges:
    seen = visible(graph)
    chosen = graph.edges[seen]
    source, target = graph.sources[seen].astype(np.int64), chosen[:, layout.TARGET].astype(np.int64)
    return _Edges(source, target, chosen[:, layout.EDGE_EXPRESSION])


def _expressions(graph: Graph) -> Int32s:
    """What each node accepts in this version; one that is not there, or whose row was refused, accepts nothing."""
    record = graph.nodes[: graph.node_count, layout.RECORD].copy()
    while len(old := np.flatnonzero(graph.records[record, layout.DIED] <= graph.version)):
        record[old] = graph.records[record[old], layout.NEWER]
    flags = graph.records[record, layout.FLAGS]
    there = (flags & layout.PRESENT != 0) & (flags & layout.REFUSED == 0)
    return np.where(there, graph.records[record, layout.EXPRESSION], np.int32(NEVER)).astype(np.int32)


def _breadth_first(count: int, edges: _Edges, components: Int32s) -> Int64s:
    """Ranks of nodes; within a component from the node that most edges enter from outside."""
    inner = components[edges.source] == components[edges.target]
    entries = np.bincount(edges.target[~inner], minlength=count)
    members = np.flatnonzero(np.bincount(np.concatenate([edges.source[inner], edges.target[inner]]), minlength=count))
    order = np.argsort(edges.source[inner], kind="stable")
    targets = edges.target[inner][order].tolist()
    offsets = np.searchsorted(edges.source[inner][order], np.arange(count + 1)).tolist()
    rank = np.zeros(count, np.int64)
    met: set[int] = set()
    for first in members[np.argsort(-entries[members], kind="stable")].tolist():
        if first not in met:
            queue = [first]
            met.add(first)
            for place, node in enumerate(queue):
                rank[node] = place
                fresh = dict.fromkeys(child for child in targets[offsets[node] : offsets[node + 1]] if child not in met)
                queue += fresh
                met.update(fresh)
    return rank
