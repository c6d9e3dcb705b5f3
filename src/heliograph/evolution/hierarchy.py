"""The sub-class relation of graph and taxonomy together, and how its closure shifts when rows come and go.

`above(x)` is exactly what `rdfs:subClassOf+` reaches from x, so x is above itself only on a cycle; it is kept once it
was asked for. The law of `change`: a closure can differ only for classes from which, before the change, the lower end
of a changed row is reached (or which are one): a new path leads to its first new row by old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from heliograph.evolution.pairs import BITS, END, Difference, as_keys, key_of

Classes = frozenset[int]
Chosen = Callable[[Iterable[int]], Iterable[int]]

_NOTHING: Classes = frozenset()


class Shift(NamedTuple):
    """What stood above a class before a change, and what does after it."""

    before: Classes
    after: Classes


class Hierarchy:
    """Rows (child, parent) with their closure."""

    def __init__(self, rows: Iterable[int] = ()) -> None:
        self._parents: dict[int, set[int]] = {}
        self._children: dict[int, set[int]] = {}
        self._above: dict[int, Classes] = {}
        for row in rows:
            self._add(row)

    def pairs(self) -> Iterator[int]:
        """Every class with each that is above it."""
        return (key_of(child, parent) for child in self._parents for parent in self.above(child))

    def above(self, child: int) -> Classes:
        """Everything one or more rows above a class."""
        if child not in self._parents:
            return _NOTHING
        known = self._above.get(child)
        if known is None:
            known = self._above[child] = self._closure(child)
        return known

    def upwards(self, child: int) -> Classes:
        """A class and everything above it."""
        return self.above(child) | {child}

    def below(self, parents: Iterable[int]) -> Iterable[int]:
        """Everything one or more rows below any of some classes, from above down: closures then build on closures."""
        reached: dict[int, None] = {}
        todo = [child for parent in parents for child in self._children.get(parent, ())]
        while todo:
            child = todo.pop()
            if child not in reached:
                reached[child] = None
                todo.extend(self._children.get(child, ()))
        return reached

    def change(self, added: Iterable[int], removed: Iterable[int], among: Chosen = iter) -> dict[int, Shift]:
        """Adds and removes rows; those `among` the classes concerned whose closure that changed."""
        coming = set(added)
        gained = [row for row in coming if not self._holds(row)]
        lost = [row for row in set(removed) - coming if self._holds(row)]
        ends = {row >> BITS for row in (*gained, *lost)}
        if not ends:
            return {}
        concerned = list(dict.fromkeys((*ends, *self.below(ends))))
        before = {child: self.above(child) for child in among(concerned)}
        for row in gained:
            self._add(row)
        for row in lost:
            self._remove(row)
        for child in concerned:
            self._above.pop(child, None)
        shifts = ((child, Shift(old, self.above(child))) for child, old in before.items())
        return {child: shift for child, shift in shifts if shift.before != shift.after}

    def _holds(self, row: int) -> bool:
        return row & END in self._parents.get(row >> BITS, ())

    def _add(self, row: int) -> None:
        self._parents.setdefault(row >> BITS, set()).add(row & END)
        self._children.setdefault(row & END, set()).add(row >> BITS)

    def _remove(self, row: int) -> None:
        for links, start, end in ((self._parents, row >> BITS, row & END), (self._children, row & END, row >> BITS)):
            links[start].remove(end)
            if not links[start]:
                del links[start]

    def _closure(self, child: int) -> Classes:
        reached: set[int] = set()
        todo = list(self._parents[child])
        while todo:
            parent = todo.pop()
            if parent in reached:
                continue
            reached.add(parent)
            known = self._above.get(parent)
            if known is None:
                todo.extend(self._parents.get(parent, ()))
            else:
                reached |= known
        return frozenset(reached)


def moved(shifts: Mapping[int, Shift]) -> Difference:
    """The pairs of the closure that shifts brought and took."""
    gained = (key_of(child, parent) for child, (before, after) in shifts.items() for parent in after - before)
    lost = (key_of(child, parent) for child, (before, after) in shifts.items() for parent in before - after)
    return Difference(as_keys(gained), as_keys(lost))
