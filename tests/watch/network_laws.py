"""What holds of the arrays of a network at any time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from heliograph.watch.layout import (
    AMONG_NODE,
    FILLED,
    FLAT,
    IS_NODE,
    MOST_LEVELS,
    PART_HEARS,
    SITE_CORE,
    SITE_DRIVER,
    SITE_MESSAGE,
    USER_GROUP,
    USER_NODE,
)
from heliograph.watch.network import QueryNetwork
from tests.watch.network_evaluator import find_pair

Site = tuple[int, int, int]  # kind, ref, place


def chain(rows: Any, first: int) -> list[int]:
    found = []
    while first >= 0:
        found.append(int(first))
        first = rows["next"][first]
    return found


class Reached:
    """Everything that can be reached from the groups of a network."""

    def __init__(self, network: QueryNetwork) -> None:
        self.arrays = network.world
        rows = range(network.groups.rows.used)
        self.groups = [group for group in rows if self.arrays.groups["first_constant"][group] >= 0]
        self.messages: set[int] = set()
        self.nodes: set[int] = set()
        for group in self.groups:
            self._follow(self.parts_of_group(group))

    def parts_of_group(self, group: int) -> range:
        first, count = self.arrays.groups[["first_part", "parts"]][group].tolist()
        return range(first, first + count)

    def parts_of_node(self, node: int) -> range:
        first, count = self.arrays.nodes[["first", "parts"]][node].tolist()
        return range(first, first + count)

    def heard(self, parts: range) -> list[int]:
        rows = self.arrays.parts
        return [int(rows["ref"][part]) for part in parts if rows["kind"][part] == PART_HEARS]

    def _follow(self, parts: range) -> None:
        for message in self.heard(parts):
            self.messages.add(message)
            node = int(self.arrays.messages["node"][message])
            if node >= 0 and node not in self.nodes:
                self.nodes.add(node)
                self._follow(self.parts_of_node(node))

    def sites(self, network: QueryNetwork) -> Iterator[tuple[tuple[int, int], Site]]:
        """All sites in chains, with the vertex and the key they stand under."""
        for head in range(network.sites.heads.used):
            row = self.arrays.site_heads[head]
            found = chain(self.arrays.sites, int(row["first"]))
            levels = [int(self.arrays.sites["level"][site]) for site in found]
            assert levels == sorted(levels, reverse=True)
            for site in found:
                yield (int(row["vertex"]), int(row["key"])), self.arrays.sites[site].tolist()[:3]


def check_network(network: QueryNetwork) -> None:
    reached = Reached(network)
    check_levels(reached)
    check_twins(reached)
    check_users(reached)
    check_sites(network, reached)
    check_constants(reached)
    check_holes(network, reached)
    assert (len(network.groups), len(network.messages), len(network.nodes)) == (
        len(reached.groups),
        len(reached.messages),
        len(reached.nodes),
    )


def check_levels(reached: Reached) -> None:
    """A message stands above everything that its node hears, and is in its node's chain."""
    rows = reached.arrays.messages
    for message in reached.messages:
        node = int(rows["node"][message])
        below = reached.heard(reached.parts_of_node(node)) if node >= 0 else []
        assert rows["level"][message] == 1 + max((int(rows["level"][each]) for each in below), default=-1)
        assert rows["level"][message] < MOST_LEVELS
        if node >= 0:
            assert message in chain(rows, int(reached.arrays.nodes["messages"][node]))
            assert reached.arrays.ones[node]


def check_twins(reached: Reached) -> None:
    """Nobody hears a message twice."""
    for parts in (*map(reached.parts_of_group, reached.groups), *map(reached.parts_of_node, reached.nodes)):
        heard = reached.heard(parts)
        assert len(set(heard)) == len(heard)


def check_users(reached: Reached) -> None:
    """Whoever hears a message is in its chain of users, and nobody else."""
    expected: dict[int, set[tuple[int, int, int]]] = {message: set() for message in reached.messages}
    owners = [(USER_GROUP, group, reached.parts_of_group(group)) for group in reached.groups]
    owners += [(USER_NODE, node, reached.parts_of_node(node)) for node in reached.nodes]
    for kind, owner, parts in owners:
        for part in parts:
            if reached.arrays.parts["kind"][part] == PART_HEARS:
                expected[int(reached.arrays.parts["ref"][part])].add((kind, owner, part))
    for message, users in expected.items():
        found = chain(reached.arrays.users, int(reached.arrays.messages["users"][message]))
        rows = [reached.arrays.users[user].tolist()[:3] for user in found]
        assert len(rows) == len(users)
        assert set(rows) == users


def places_of(network: QueryNetwork, message: int) -> Iterator[tuple[tuple[int, int], Site]]:
    """Where the edges of a message are asked for: at its constants if it has some, else anywhere."""
    key, node, ref, *_ = network.world.messages[message].tolist()
    vertices, asked = [-1], key
    if node in (IS_NODE, AMONG_NODE):
        anchors = [constant for set, constant, _ in network.messages.anchors.items() if set == ref]
        vertices, asked = [ref] if node == IS_NODE else anchors, key ^ 1
    for vertex in vertices:
        yield (vertex, asked), (SITE_MESSAGE, message, -1)


def check_sites(network: QueryNetwork, reached: Reached) -> None:
    """Every message, core edge and driving constant is asked for where an edge would look, and nothing else is."""
    arrays = reached.arrays
    expected = [place for each in reached.messages for place in places_of(network, each)]
    for group in reached.groups:
        first, count = arrays.groups[["first_edge", "edges"]][group].tolist()
        edges = arrays.core_edges[first : first + count].tolist()
        expected += [
            (asked_by(*filled), (SITE_CORE, group, place))
            for place, edge in enumerate(edges)
            for filled in filled_edges(network, group, edge)
        ]
        key = int(arrays.groups["driver_key"][group])
        if key >= 0:
            constants = chain(arrays.constants, int(arrays.groups["first_constant"][group]))
            expected += [
                ((int(arrays.constants["constant"][row]), key ^ 1), (SITE_DRIVER, row, -1)) for row in constants
            ]
    assert sorted(reached.sites(network)) == sorted(expected)
    for (vertex, key), _ in expected:
        assert arrays.site_heads[network.sites.find(vertex, key)].tolist()[:2] == (vertex, key)


def filled_edges(network: QueryNetwork, group: int, edge: tuple[int, ...]) -> set[tuple[int, int, int]]:
    """A core edge with a term in the first of its holes, for each that fills it; or as it is."""
    row = network.world.groups[group]
    first = int(row["slots"] - row["holes"])
    found = next((node for node in edge[::2] if ~node >= first), None)
    if found is None:
        return {(edge[0], edge[1], edge[2])}
    terms = {filled[~found - first] for filled in fillings_of(network, group)}
    return {(edge[0] if edge[0] != found else term, edge[1], edge[2] if edge[2] != found else term) for term in terms}


def fillings_of(network: QueryNetwork, group: int) -> list[tuple[int, ...]]:
    """What fills the holes of a group's components."""
    rows = chain(network.world.constants, int(network.world.groups["first_constant"][group]))
    components = [int(network.world.constants["first"][row]) for row in rows]
    return [network.groups.filled(component) for component in components]


def check_holes(network: QueryNetwork, reached: Reached) -> None:
    """Each choice of terms leads to its row, and a hole's chain holds just what fills it."""
    arrays = reached.arrays
    for group in reached.groups:
        row, filled = arrays.groups[group], fillings_of(network, group)
        rows = chain(arrays.constants, int(row["first_constant"]))
        for number, terms in zip(rows, filled, strict=True):
            assert len(terms) == row["holes"]
            found = group
            for term in terms:
                found = find_pair(arrays.constant_slots, found, term)
            assert found == (number if terms else group)
        for hole in range(row["holes"]):
            number = int(row["first_hole"]) + hole
            listed = [
                int(arrays.fillings["term"][each])
                for each in chain(arrays.fillings, int(arrays.holes["first"][number]))
            ]
            assert sorted(listed) == sorted({terms[hole] for terms in filled})
            assert arrays.holes["count"][number] == len(listed)
            assert all(find_pair(arrays.constant_slots, FILLED + number, term) >= 0 for term in listed)


def asked_by(subject: int, predicate: int, object: int) -> tuple[int, int]:
    if predicate < 0:
        return (subject, -2) if subject >= 0 else (object, -3) if object >= 0 else (-1, -1)
    if subject >= 0:
        return subject, 2 * predicate
    return (object, 2 * predicate + 1) if object >= 0 else (-1, 2 * predicate)


def check_constants(reached: Reached) -> None:
    arrays = reached.arrays
    for group in reached.groups:
        rows = chain(arrays.constants, int(arrays.groups["first_constant"][group]))
        assert len(rows) == arrays.groups["constants"][group]
        for row in rows:
            constant = int(arrays.constants["constant"][row])
            assert arrays.constants["group"][row] == group
            assert constant < 0 or find_pair(arrays.constant_slots, group, constant) == row
        for part in reached.parts_of_group(group):
            assert arrays.parts["map"][part] == FLAT
