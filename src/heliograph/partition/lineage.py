"""Who stands below whom, and what became different: the trees of a forest, by the numbers of their nodes.

The laws: `root_of` is what it was when last settled; `settle` tells exactly the difference since the last time, however
often a node moved in between. It costs the nodes that moved and those below them, each once, and no recursion.
"""

from __future__ import annotations

from heliograph.partition.arrangement import Change


class Lineage:
    """Parents and children of nodes."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._children: dict[int, dict[int, None]] = {}  # of nodes that have any
        self._settled: dict[int, int] = {}  # the root of every node, when it was last settled
        self._moved: dict[int, None] = {}  # nodes that were put or cut loose since then
        self._fallen: dict[int, None] = {}

    def root_of(self, node: int) -> int:
        return self._settled[node]

    def parent_of(self, node: int) -> int | None:
        return self._parent.get(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return tuple(self._children.get(node, ()))

    # --- changing -----------------------------------------------------------------------------------------------

    def plant(self, node: int) -> None:
        """Makes a node a root, if it is not below another."""
        self._moved[node] = None

    def hang(self, node: int, parent: int) -> None:
        """Puts a root below another node."""
        self._parent[node] = parent
        self._children.setdefault(parent, {})[node] = None
        self._moved[node] = None

    def fell(self, node: int) -> tuple[int, ...]:
        """Takes a node away. Its children go to its parent; where it has none they stand alone, and are returned."""
        children = tuple(self._children.pop(node, ()))
        parent = self._parent.pop(node, None)
        if parent is not None:
            self._leave(node, parent)
        for child in children:
            if parent is None:
                del self._parent[child]
                self._moved[child] = None
            else:
                self.hang(child, parent)
        self._moved.pop(node, None)
        self._fallen[node] = None
        return children if parent is None else ()

    def _leave(self, node: int, parent: int) -> None:
        siblings = self._children[parent]
        del siblings[node]
        if not siblings:
            del self._children[parent]

    # --- what became different ----------------------------------------------------------------------------------

    def settle(self) -> Change:
        """The difference since the last time."""
        gone = tuple(sorted(node for node in self._fallen if self._settled.pop(node, None) is not None))
        entered: list[int] = []
        left: list[int] = []
        placed: list[tuple[int, int]] = []
        for node, root in sorted(self._roots_of_moved().items()):
            before = self._settled.get(node)
            if root == before:
                continue
            self._settled[node] = root
            if root == node:
                entered.append(node)
            else:
                placed.append((node, root))
                if before == node:
                    left.append(node)
        self._moved, self._fallen = {}, {}
        return Change(tuple(entered), tuple(left), tuple(placed), gone)

    def _roots_of_moved(self) -> dict[int, int]:
        """The present root of every node that moved, or that stands below one."""
        known: dict[int, int] = {}
        walked: dict[int, int] = {}
        for top in self._moved:
            root = self._climb(top, known)
            todo = [top]
            while todo:
                node = todo.pop()
                if node not in walked:
                    walked[node] = root
                    todo.extend(self._children.get(node, ()))
        return walked

    def _climb(self, node: int, known: dict[int, int]) -> int:
        """The root above a node; it is noted for all on the way."""
        path: list[int] = []
        while node not in known and node in self._parent:
            path.append(node)
            node = self._parent[node]
        root = known.setdefault(node, node)
        known.update(dict.fromkeys(path, root))
        return root
