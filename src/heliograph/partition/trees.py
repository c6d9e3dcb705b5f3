"""Nodes in trees, and what became different of them: the bookkeeping of merging trees.

The law: between two calls of `settle`, whatever was grown, joined and cut, `settle` tells exactly the difference: of
each node that stands now, its root if that is another than before, and of each that stood before, whether it is gone.
Every change costs the nodes below the place where it happens, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heliograph.partition.arrangement import Change

_NEW = -1  # the root before, of a node that was not there


class Trees:
    """A forest whose nodes are numbers that are never used again."""

    def __init__(self) -> None:
        self._next = 0
        self._parent: dict[int, int] = {}
        self._children: dict[int, dict[int, None]] = {}  # of nodes with children only
        self._roots: dict[int, None] = {}
        self._before: dict[int, int] = {}  # of the nodes touched since the last settlement, their roots then

    # --- asking -------------------------------------------------------------------------------------------------

    def __contains__(self, node: int) -> bool:
        return node in self._parent or node in self._roots

    def roots(self) -> Iterator[int]:
        return iter(tuple(self._roots))

    @property
    def width(self) -> int:
        """How many roots there are."""
        return len(self._roots)

    def is_root(self, node: int) -> bool:
        return node in self._roots

    def root_of(self, node: int) -> int:
        parent = self._parent.get(node)
        while parent is not None:
            node, parent = parent, self._parent.get(parent)
        return node

    def parent_of(self, node: int) -> int | None:
        return self._parent.get(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return tuple(self._children.get(node, ()))

    def below(self, node: int) -> Iterator[int]:
        """The node and everything below it, parents first."""
        todo = [node]
        while todo:
            each = todo.pop()
            yield each
            todo.extend(self._children.get(each, ()))

    # --- changing -----------------------------------------------------------------------------------------------

    def grow(self) -> int:
        """A new root."""
        node = self._next
        self._next += 1
        self._before[node] = _NEW
        self._roots[node] = None
        return node

    def join(self, roots: Sequence[int]) -> int:
        """A new root above some roots."""
        for root in roots:
            self._touch(root, root)
        parent = self.grow()
        for root in roots:
            self._put(root, parent)
        return parent

    def cut(self, node: int) -> None:
        """Takes a node away; its children go to its parent, or become roots."""
        self._touch(node, self.root_of(node))
        parent = self._parent.get(node)
        for child in self._children.pop(node, ()):
            self._detach(child)
            self._put(child, parent)
        if parent is None:
            del self._roots[node]
        else:
            self._detach(node)
            siblings = self._children[parent]
            del siblings[node]
            if not siblings:
                del self._children[parent]

    def _put(self, node: int, parent: int | None) -> None:
        if parent is None:
            self._roots[node] = None
            return
        self._roots.pop(node, None)
        self._parent[node] = parent
        self._children.setdefault(parent, {})[node] = None

    def _detach(self, node: int) -> None:
        del self._parent[node]

    # --- what became different ----------------------------------------------------------------------------------

    def _touch(self, top: int, root: int) -> None:
        for node in self.below(top):
            self._before.setdefault(node, root)

    def settle(self) -> Change:
        """The difference since the last time."""
        touched, self._before = sorted(self._before.items()), {}
        now = [(node, before, self.root_of(node)) for node, before in touched if node in self]
        return Change(
            entered=tuple(node for node, before, root in now if root == node != before),
            left=tuple(node for node, before, root in now if before == node != root),
            placed=tuple((node, root) for node, before, root in now if root not in (node, before)),
            gone=tuple(node for node, before in touched if before != _NEW and node not in self),
        )
