"""Numbers for the nodes of an exchange: which id has which number, and in which order nodes are numbered.

Ids, targeting and labels are Arrow arrays, not objects. The law of `NumberedValues` and `Ids`: nothing that was added
is ever changed, except that an id may come to mean a later number. So readers need no lock. What comes in bulk lies
in Arrow arrays and a flat hash table; what comes later, one by one, in dictionaries.

The law of the order: every edge leads to a higher number, except inside a strongly connected component, whose nodes
are consecutive. The kernel does it for large exchanges, the plain twin here for small ones; both give the same order.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.compiled.background import ready
from heliograph.compiled.growing import fixed
from heliograph.io.coerce import Array
from heliograph.predicate.layout import Int32s, Int64s
from heliograph.vocabulary.mapped import Table, Texts, find_text, find_texts, make_table

_SEGMENT = 64  # values that come together are kept as an array of their own from so many on
_COLD, _WARM = 20_000, 2_000


def pays(count: int) -> bool:
    """Whether so many nodes are worth the kernels: one costs some microseconds in Python, importing Numba a second."""
    return count >= (_WARM if "numba" in sys.modules else _COLD)


def strings(ids: Array) -> list[str]:
    """Ids as Python strings; none of them is null."""
    several: Any = ids.to_pylist()
    return several  # type: ignore[no-any-return]


# --- texts by number --------------------------------------------------------------------------------------------------


class NumberedValues:
    """Values of one Arrow type by number; what was never added is null."""

    def __init__(self, type: pa.DataType) -> None:
        self._type = type
        self._starts: list[int] = []
        self._arrays: list[Array] = []
        self._later: dict[int, Any] = {}
        self._whole: Array | None = None

    def extend(self, first: int, values: Array | None) -> None:
        """Adds values for consecutive numbers above all earlier ones; None stands for nulls only."""
        if values is None or not len(values):
            return
        if len(values) >= _SEGMENT:
            self._arrays.append(values)
            self._starts.append(first)  # last, because readers look here first
        else:
            self._later.update((n, value) for n, value in enumerate(values.to_pylist(), first) if value is not None)

    def get(self, number: int) -> Any:
        """The value of a number as a Python object, or None."""
        segment = bisect_right(self._starts, number) - 1
        if segment >= 0 and number - self._starts[segment] < len(self._arrays[segment]):
            return self._arrays[segment][number - self._starts[segment]].as_py()
        return self._later.get(number)

    def few(self, numbers: Int32s) -> list[Any]:
        """The values of few numbers as Python objects."""
        if self._starts[:1] != [0]:
            return [self.get(number) for number in numbers.tolist()]
        first, size = self._arrays[0], len(self._arrays[0])
        return [first[number].as_py() if number < size else self.get(number) for number in numbers.tolist()]

    def take(self, numbers: Int32s) -> Array:
        """The values of many numbers."""
        parts: list[Array] = []
        places: list[Int64s] = []
        rest = np.ones(len(numbers), np.bool_)
        segments = np.searchsorted(np.array(self._starts, np.int64), numbers, "right") - 1
        for segment in np.unique(segments[segments >= 0]).tolist():
            first, values = self._starts[segment], self._arrays[segment]
            inside = np.flatnonzero((segments == segment) & (numbers < first + len(values)))
            if len(inside):
                parts.append(values.take(numbers[inside] - first))
                places.append(inside)
                rest[inside] = False
        others = np.flatnonzero(rest)
        if len(others) or not parts:
            parts.append(pa.array([self._later.get(number) for number in numbers[others].tolist()], self._type))
            places.append(others)
        if len(parts) == 1:
            return parts[0]
        return pa.concat_arrays(parts).take(np.argsort(np.concatenate(places), kind="stable"))

    def whole(self, count: int) -> Array:
        """The values of the numbers from 0 to before `count`; the last such array is kept."""
        held = self._arrays[0] if self._starts[:1] == [0] and len(self._arrays[0]) >= count else self._whole
        if held is None or len(held) < count:
            held = self._whole = self.take(np.arange(count, dtype=np.int32))
        return held if len(held) == count else held.slice(0, count)

    def is_empty(self) -> bool:
        return not self._arrays and not self._later

    @property
    def nbytes(self) -> int:
        """The memory beside the texts themselves, and without the values that came one by one."""
        return sum(buffer.size for array in self._arrays for buffer in array.buffers()[:2] if buffer is not None)


# --- numbers by text --------------------------------------------------------------------------------------------------


_MOST_ASKED = 4096


class Ids:
    """The number that each id means. An id may be added again with another number, which is then meant."""

    def __init__(self) -> None:
        self.later: dict[str, int] = {}
        self.table: Table | None = None
        """The hash table of those that came first and in bulk."""
        self._stored: Texts | None = None
        self._numbers: Int32s = np.zeros(0, np.int32)
        self._asked: dict[str, int] = {}  # what was last found there: publishers come again

    def extend(self, ids: Array, numbers: Int32s, table: Table | None = None) -> None:
        """Adds ids, all different; the first ones may come with a hash table made before, which may be mapped."""
        if table is not None or (
            self.table is None and not self.later and pays(len(ids)) and ready("vocabulary", overdue=True)
        ):
            self._stored, self._numbers = _flat(ids), numbers
            self.table = make_table(self._stored) if table is None else table
        else:
            self.later.update(zip(strings(ids), numbers.tolist(), strict=True))

    def find(self, id: str) -> int:
        """The number of an id, or -1."""
        number = self.later.get(id, -1)
        if number >= 0 or self._stored is None or self.table is None:
            return number
        asked = self._asked
        if id not in asked:
            place = find_text(0, id.encode("utf-8", "surrogatepass"), self._stored, self.table)
            if len(asked) >= _MOST_ASKED:
                asked = self._asked = {}
            asked[id] = int(self._numbers[place]) if place >= 0 else -1
        return asked[id]

    def find_many(self, ids: Array) -> Int32s:
        """The number of each id, or -1."""
        if self._stored is None or self.table is None or len(ids) < 8:
            return np.array([self.find(id) for id in strings(ids)], np.int32)
        places = find_texts(_flat(ids), self._stored, self.table)
        found: Int32s = np.where(places >= 0, self._numbers[places], np.int32(-1))
        if self.later:
            get = self.later.get
            for row, id in enumerate(strings(ids)):
                if (number := get(id)) is not None:
                    found[row] = number
        return found

    @property
    def nbytes(self) -> int:
        """The hash table and what it refers to, without the texts."""
        if self._stored is None or self.table is None:
            return 0
        parts = self._stored.heads, self._stored.offsets, self.table.slots, self.table.marks, self._numbers
        return sum(part.nbytes for part in parts)


def _flat(ids: Array) -> Texts:
    """The ids end to end. Arrow's own bytes are used where they lie."""
    large = ids.cast(pa.large_string())
    buffers: Any = large.buffers()
    _, offsets, data = buffers
    ends = np.frombuffer(memoryview(offsets), np.int64)[large.offset : large.offset + len(large) + 1]
    text = np.frombuffer(memoryview(data), np.uint8) if data is not None else np.zeros(0, np.uint8)
    return Texts(np.zeros(len(large), np.int32), ends, text)


# --- the order of nodes -----------------------------------------------------------------------------------------------


class Numbering(NamedTuple):
    components: Int32s  # of each node, in topological order
    order: Int32s  # the nodes in theirs


def number_nodes(count: int, sources: Int32s, targets: Int32s) -> Numbering:
    """The components and the order of so many nodes with these edges."""
    offsets, ends = rows_by(sources, targets, count)
    roots = np.argsort(np.bincount(targets, minlength=count) > 0, kind="stable").astype(np.int32)
    if not (pays(count) and ready("route", overdue=True)):
        return _number_plainly(offsets.tolist(), ends.tolist(), roots.tolist())
    from heliograph.route import kernels

    found = Numbering(np.empty(count, np.int32), np.empty(count, np.int32))
    kernels.number_nodes(fixed(offsets), fixed(ends), fixed(roots), found.components, found.order)
    return found


def rows_by(keys: Int32s, values: Int32s, count: int) -> tuple[Int64s, Int32s]:
    """The values of each key end to end, in their order, and where those of each key begin."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=offsets[1:])
    return offsets, values[np.argsort(keys, kind="stable")]


def inverse(order: Int32s | Int64s) -> Int32s:
    """Where each number stands in an order of all of them."""
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


def _number_plainly(offsets: list[int], targets: list[int], roots: list[int]) -> Numbering:
    """Tarjan's algorithm with a stack of its own, then each component from its first node by breadth."""
    count = len(offsets) - 1
    index, low, components = [-1] * count, [0] * count, [-1] * count
    finished: list[int] = []  # component after component; of each the first node met is the last
    path: list[tuple[int, int]] = []
    open_nodes: list[int] = []
    met = total = 0
    for root in roots:
        if index[root] < 0:
            path.append((root, offsets[root]))
        while path:
            node, cursor = path.pop()
            if index[node] < 0:
                index[node] = low[node] = met
                met += 1
                open_nodes.append(node)
            while cursor < offsets[node + 1]:
                target = targets[cursor]
                if index[target] < 0:  # the edge is looked at again, when its target is finished
                    path += (node, cursor), (target, offsets[target])
                    break
                cursor += 1
                if components[target] < 0:
                    low[node] = min(low[node], low[target])
            else:
                if low[node] == index[node]:
                    place = len(finished)
                    while len(finished) == place or finished[-1] != node:
                        finished.append(open_nodes.pop())
                        components[finished[-1]] = total
                    total += 1
    seen = [False] * count
    order: list[int] = []
    for start in reversed(finished):
        head = len(order)
        order += [] if seen[start] else [start]
        seen[start] = True
        while head < len(order):
            node = order[head]
            head += 1
            for target in targets[offsets[node] : offsets[node + 1]]:
                if components[target] == components[node] and not seen[target]:
                    seen[target] = True
                    order.append(target)
    return Numbering(total - 1 - np.array(components, np.int32), np.array(order, np.int32))
