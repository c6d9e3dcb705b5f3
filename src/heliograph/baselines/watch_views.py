"""Tries of generic edges, and at each of their nodes the walks through the graph that fit the path from the root.

A walk is a tuple `subject, property, object, property, object, …`. The law: a node's view holds exactly the walks that
fit its path, so the walks an edge takes part in are those that reach it from the view above, extended downwards; they
are the same whether the edge is about to go or has just come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from heliograph.baselines.graph import Graph
from heliograph.baselines.watch_algorithm import Edge, Values

Places = tuple[int, ...]
Walks = dict[Values, None]  # a set that keeps its order

_NONE: Walks = {}
_MASKS = tuple(product((True, False), repeat=3))


class View:
    """Walks that can be asked by the values at any of their places; an index is built when it is first needed."""

    def __init__(self) -> None:
        self.walks: Walks = {}
        self._indexes: dict[Places, dict[Values, Walks]] = {}

    def add(self, walks: Iterable[Values]) -> None:
        for walk in walks:
            self.walks[walk] = None
            for places, index in self._indexes.items():
                index.setdefault(tuple(walk[place] for place in places), {})[walk] = None

    def discard(self, walks: Iterable[Values]) -> None:
        for walk in walks:
            del self.walks[walk]
            for places, index in self._indexes.items():
                key = tuple(walk[place] for place in places)
                del index[key][walk]
                if not index[key]:
                    del index[key]

    def at(self, places: Places, values: Values) -> Collection[Values]:
        """The walks with these values at these places."""
        if not places:
            return self.walks
        index = self._indexes.get(places)
        if index is None:
            index = self._indexes[places] = {}
            for walk in self.walks:
                index.setdefault(tuple(walk[place] for place in places), {})[walk] = None
        return index.get(values, _NONE)


@dataclass(eq=False, slots=True)
class Node:
    """A generic edge below the generic edges that lead to it."""

    form: Edge
    parent: Node | None
    children: dict[Edge, Node] = field(default_factory=dict)
    view: View = field(default_factory=View)
    users: dict[tuple[str, int], None] = field(default_factory=dict)  # queries and which of their paths ends here
    end: Places = field(init=False)  # the place at which walks end

    def __post_init__(self) -> None:
        self.end = (2,) if self.parent is None else (self.parent.end[0] + 2,)

    def reaching(self, edge: Edge) -> Iterator[Values]:
        """The walks that fit the node and end with an edge, which fits its form."""
        if self.parent is None:
            yield edge
        else:
            for walk in self.parent.view.at(self.parent.end, edge[:1]):
                yield (*walk, *edge[1:])

    def extended(self, walks: Iterable[Values], graph: Graph) -> Iterator[Values]:
        """Walks of the parent, each followed by every edge that fits."""
        _, predicate, object = self.form
        for walk in walks:
            for edge in graph.match(walk[-1], predicate, object):
                yield (*walk, *edge[1:])


class Forest:
    """The tries of all paths, over one graph."""

    def __init__(self) -> None:
        self.graph = Graph()
        self._roots: dict[Edge, Node] = {}
        self._by_form: dict[Edge, dict[Node, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_form.values()))

    def use(self, forms: Iterable[Edge], user: tuple[str, int]) -> Node:
        """The node at the end of a path, made and filled if nobody used it before."""
        node: Node | None = None
        for form in forms:
            level = self._roots if node is None else node.children
            node = level.get(form) or self._grow(level, form, node)
        assert node is not None
        node.users[user] = None
        return node

    def _grow(self, level: dict[Edge, Node], form: Edge, parent: Node | None) -> Node:
        node = level[form] = Node(form, parent)
        self._by_form.setdefault(form, {})[node] = None
        if parent is None:
            node.view.add(tuple(self.graph.match(*form)))
        else:
            node.view.add(node.extended(parent.view.walks, self.graph))
        return node

    def leave(self, node: Node, user: tuple[str, int]) -> None:
        """Forgets a user, and the nodes that nobody needs any more."""
        del node.users[user]
        last: Node | None = node
        while last is not None and not last.users and not last.children:
            level = self._roots if last.parent is None else last.parent.children
            del level[last.form], self._by_form[last.form][last]
            if not self._by_form[last.form]:
                del self._by_form[last.form]
            last = last.parent

    def touched(self, edge: Edge) -> dict[Node, Walks]:
        """The walks that an edge of the graph takes part in, by their node; read only.

        A walk that passes the edge twice is found twice, and counted once.
        """
        found: dict[Node, Walks] = {}
        for mask in _MASKS:
            subject, predicate, object = (part if kept else None for part, kept in zip(edge, mask, strict=True))
            for node in self._by_form.get((subject, predicate, object), ()):
                self._spread(node, dict.fromkeys(node.reaching(edge)), found)
        return found

    def _spread(self, node: Node, walks: Walks, found: dict[Node, Walks]) -> None:
        """Notes walks of a node, and what they grow to below it."""
        waiting = [(node, walks)]
        while waiting:
            node, walks = waiting.pop()
            if walks:
                found.setdefault(node, {}).update(walks)
                waiting += [(each, dict.fromkeys(each.extended(walks, self.graph))) for each in node.children.values()]
