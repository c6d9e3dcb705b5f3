"""What the arrays of a network say of a graph, by the letter of watch.layout and without any state.

Messages are worked out anew at every question, cores by trying all vertices: slow and obvious. Kernels that keep
messages must come to the same values, and the values must be those of the queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from heliograph.compiled.growing import pair_key, pair_slot
from heliograph.watch.layout import (
    AMONG_NODE,
    ANY_NODE,
    COUNT,
    FLAT,
    IN,
    IS_NODE,
    PART_FILLS,
    PART_HEARS,
    PART_TEST,
    ROWS,
    SAME,
)
from heliograph.watch.network import NO_BIT, QueryNetwork

Triple = tuple[int, int, int]


class Evaluator:
    """A network over a set of triples of term ids; `passes` tells whether a term passes a test."""

    def __init__(self, network: QueryNetwork, triples: Iterable[Triple], passes: Callable[[int, int], bool]) -> None:
        self.network, self.used = network.world, network.groups.rows.used
        self.triples = set(triples)
        self.terms = sorted({term for triple in self.triples for term in triple})
        self.passes = passes

    # --- messages -----------------------------------------------------------------------------------------------

    def neighbours(self, vertex: int, key: int) -> list[int]:
        if key & 1 == IN:
            return [s for s, p, o in self.triples if (p, o) == (key >> 1, vertex)]
        return [o for s, p, o in self.triples if (s, p) == (vertex, key >> 1)]

    def message(self, message: int, vertex: int) -> int:
        """A mask, or a count."""
        said = [self._said(message, vertex, other) for other in self.neighbours(vertex, self._of(message, "key"))]
        if self._of(message, "kind") == COUNT:
            return sum(said)
        mask = 0
        for each in said:
            mask |= each
        return mask

    def _said(self, message: int, hearer: int, speaker: int) -> int:
        node, ref = self._of(message, "node"), self._of(message, "ref")
        if node >= 0:
            return self.node(node, speaker, self._of(message, "kind"))
        if node == ANY_NODE:
            return 1
        if node == IS_NODE:
            return int(speaker == ref)
        if node == AMONG_NODE:
            bit = find_pair(self.network.anchors, ref, speaker)
            return 0 if bit < 0 else 1 << bit
        return int(hearer == speaker)

    def _of(self, message: int, column: str) -> int:
        return int(self.network.messages[column][message])

    def node(self, node: int, vertex: int, kind: int) -> int:
        first, count = self.network.nodes[["first", "parts"]][node].tolist()
        if kind == COUNT:
            product = 1
            for part in range(first, first + count):
                product *= self.part(part, vertex)
            return product
        mask = ones = int(self.network.ones[node])
        for part in range(first, first + count):
            mask &= self._mapped(part, self.part(part, vertex), ones)
        return mask

    def part(self, part: int, vertex: int) -> int:
        """What a part hears, in its own tags."""
        kind, ref = int(self.network.parts["kind"][part]), int(self.network.parts["ref"][part])
        if kind == PART_HEARS:
            return self.message(ref, vertex)
        if kind == PART_TEST:
            return int(self.passes(ref, vertex))
        if kind == PART_FILLS:
            return int(vertex in self.fillings(ref))
        tests = enumerate(self.network.banks[ref].tolist())
        return sum(1 << place for place, test in tests if test >= 0 and self.passes(test, vertex))

    def _mapped(self, part: int, mask: int, ones: int) -> int:
        how = int(self.network.parts["map"][part])
        if how == SAME:
            return mask & ones
        if how == FLAT:
            return ones if mask else 0
        tags = [tag for tag in range(64) if ones >> tag & 1]
        return sum(1 << tag for tag in tags if mask >> int(self.network.maps[how + tag]) & 1)

    # --- groups -------------------------------------------------------------------------------------------------

    def solutions(self, group: int) -> Iterator[tuple[int, ...]]:
        """The terms of the slots of a core, one after the other, by its edges alone."""
        row = self.network.groups[group]
        first, count = int(row["first_edge"]), int(row["edges"])
        edges = self.network.core_edges[first : first + count].tolist()
        free = [slot for slot in range(int(row["slots"])) if not any(~slot in edge for edge in edges)]
        assert not free or row["slots"] == 1
        paths: list[dict[int, int]] = [{}]
        for edge in edges:
            unified = [_unified(edge, triple, path) for path in paths for triple in self.triples]
            paths = [path for path in unified if path is not None]
        for slot in free:
            paths = [{**path, slot: term} for path in paths for term in self.terms]
        yield from {tuple(path[slot] for slot in range(int(row["slots"]))) for path in paths}

    def rows(self, component: int) -> set[tuple[int, ...]]:
        """What is listed for a component: solutions of its core that name it, without what fills the holes."""
        return {
            path[: len(path) - int(self.network.groups["holes"][group])]
            for group in self.groups()
            for path in self.solutions(group)
            if (component, 1) in set(self._listed(group, path))
        }

    def _listed(self, group: int, path: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        heard, holes = self._heard(group, path), int(self.network.groups["holes"][group])
        row = group
        for term in path[len(path) - holes :]:
            row = find_pair(self.network.constant_slots, row, term)
            if row < 0:
                return
        for component in self.components(row if holes else int(self.network.groups["first_constant"][group])):
            yield component, int(self._holds(component, heard))

    def fillings(self, hole: int) -> list[int]:
        """The terms that fill a hole somewhere, by its chain."""
        found, row = [], int(self.network.holes["first"][hole])
        while row >= 0:
            found.append(int(self.network.fillings["term"][row]))
            row = int(self.network.fillings["next"][row])
        return found

    def _heard(self, group: int, path: tuple[int, ...]) -> list[int]:
        first, count = self.network.groups[["first_part", "parts"]][group].tolist()
        return [self.part(part, path[self.network.parts["slot"][part]]) for part in range(first, first + count)]

    def values(self) -> dict[int, int]:
        """By component under a group: in how many places it holds, or its count."""
        found: dict[int, int] = {}
        for group in self.groups():
            for path in self.solutions(group) if self.network.groups["kind"][group] != ROWS else ():
                for component, value in self._settled(group, path):
                    found[component] = found.get(component, 0) + value
        return found

    def groups(self) -> set[int]:
        """Groups that have constants, and so components."""
        return {group for group in range(self.used) if self.network.groups["first_constant"][group] >= 0}

    def _settled(self, group: int, path: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        heard, counts = self._heard(group, path), self.network.groups["kind"][group] == COUNT
        row = int(self.network.groups["first_constant"][group])
        while row >= 0:
            if self._drives(group, path, int(self.network.constants["constant"][row])):
                for component in self.components(row):
                    yield component, _product(heard) if counts else int(self._holds(component, heard))
            row = int(self.network.constants["next"][row])

    def components(self, row: int) -> Iterator[int]:
        component = int(self.network.constants["first"][row])
        while component >= 0:
            yield component
            component = int(self.network.components["next"][component])

    def _drives(self, group: int, path: tuple[int, ...], constant: int) -> bool:
        slot, key = self.network.groups[["driver_slot", "driver_key"]][group].tolist()
        return constant < 0 or constant in self.neighbours(path[slot], key)

    def _holds(self, component: int, heard: list[int]) -> bool:
        first = int(self.network.components["bits"][component])
        bits = self.network.bits[first : first + len(heard)].tolist()
        return all(mask if bit == NO_BIT else mask >> bit & 1 for mask, bit in zip(heard, bits, strict=True))


def _unified(edge: tuple[int, ...], triple: Triple, path: dict[int, int]) -> dict[int, int] | None:
    """The path with what a triple adds to it, if they agree."""
    found = dict(path)
    for node, term in zip(edge, triple, strict=True):
        if node >= 0 and node != term:
            return None
        if node < 0 and found.setdefault(~node, term) != term:
            return None
    return found


def _product(counts: list[int]) -> int:
    product = 1
    for count in counts:
        product *= count
    return product


def find_pair(table: object, first: int, second: int) -> int:
    """What a table of pairs holds, by probing it as kernels do."""
    rows = table.tolist()  # type: ignore[attr-defined]
    key, mask = pair_key(first, second), len(rows) - 1
    slot = pair_slot(key) & mask
    while rows[slot][0]:
        if rows[slot][0] == key:
            return int(rows[slot][1])
        slot = (slot + 1) & mask
    return -1
