"""What holds of the arrays of a network at any time."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.watch.layout import (
    AMONG_NODE,
    C_CONSTANT,
    C_FIRST,
    C_GROUP,
    C_NEXT,
    F_NEXT,
    F_TERM,
    FILLED,
    FLAT,
    G_CONSTANTS,
    G_DRIVER_KEY,
    G_EDGES,
    G_FIRST_CONSTANT,
    G_FIRST_EDGE,
    G_FIRST_HOLE,
    G_FIRST_PART,
    G_HOLES,
    G_PARTS,
    G_SLOTS,
    H_FIRST,
    H_KEY,
    H_VERTEX,
    IS_NODE,
    M_KEY,
    M_LEVEL,
    M_NEXT,
    M_NODE,
    M_REF,
    M_USERS,
    MOST_LEVELS,
    N_FIRST,
    N_MESSAGES,
    N_PARTS,
    O_COUNT,
    O_FIRST,
    P_KIND,
    P_MAP,
    P_REF,
    PART_HEARS,
    S_KIND,
    S_LEVEL,
    S_NEXT,
    S_PLACE,
    S_REF,
    SITE_CORE,
    SITE_DRIVER,
    SITE_MESSAGE,
    U_KIND,
    U_NEXT,
    U_PART,
    U_REF,
    USER_GROUP,
    USER_NODE,
)
from heliograph.watch.network import QueryNetwork
from tests.watch.network_evaluator import find_pair

Site = tuple[int, int, int]  # kind, ref, place


def chain(rows, first: int, following: int) -> list[int]:  # type: ignore[no-untyped-def]
    found = []
    while first >= 0:
        found.append(first)
        first = int(rows[first, following])
    return found


class Reached:
    """Everything that can be reached from the groups of a network."""

    def __init__(self, network: QueryNetwork) -> None:
        self.arrays = network.arrays
        rows = range(network.groups.rows.used)
        self.groups = [group for group in rows if self.arrays.groups[group, G_FIRST_CONSTANT] >= 0]
        self.messages: set[int] = set()
        self.nodes: set[int] = set()
        for group in self.groups:
            self._follow(self.parts_of_group(group))

    def parts_of_group(self, group: int) -> range:
        first, count = (int(self.arrays.groups[group, column]) for column in (G_FIRST_PART, G_PARTS))
        return range(first, first + count)

    def parts_of_node(self, node: int) -> range:
        first, count = (int(self.arrays.nodes[node, column]) for column in (N_FIRST, N_PARTS))
        return range(first, first + count)

    def heard(self, parts: range) -> list[int]:
        rows = self.arrays.parts
        return [int(rows[part, P_REF]) for part in parts if rows[part, P_KIND] == PART_HEARS]

    def _follow(self, parts: range) -> None:
        for message in self.heard(parts):
            self.messages.add(message)
            node = int(self.arrays.messages[message, M_NODE])
            if node >= 0 and node not in self.nodes:
                self.nodes.add(node)
                self._follow(self.parts_of_node(node))

    def sites(self, network: QueryNetwork) -> Iterator[tuple[tuple[int, int], Site]]:
        """All sites in chains, with the vertex and the key they stand under."""
        for head in range(network.sites.heads.used):
            row = self.arrays.site_heads[head]
            found = chain(self.arrays.sites, int(row[H_FIRST]), S_NEXT)
            levels = [int(self.arrays.sites[site, S_LEVEL]) for site in found]
            assert levels == sorted(levels, reverse=True)
            for site in found:
                kind, ref, place = (int(self.arrays.sites[site, column]) for column in (S_KIND, S_REF, S_PLACE))
                yield (int(row[H_VERTEX]), int(row[H_KEY])), (kind, ref, place)


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
        node = int(rows[message, M_NODE])
        below = reached.heard(reached.parts_of_node(node)) if node >= 0 else []
        assert rows[message, M_LEVEL] == 1 + max((int(rows[each, M_LEVEL]) for each in below), default=-1)
        assert rows[message, M_LEVEL] < MOST_LEVELS
        if node >= 0:
            assert message in chain(rows, int(reached.arrays.nodes[node, N_MESSAGES]), M_NEXT)
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
            if reached.arrays.parts[part, P_KIND] == PART_HEARS:
                expected[int(reached.arrays.parts[part, P_REF])].add((kind, owner, part))
    for message, users in expected.items():
        found = chain(reached.arrays.users, int(reached.arrays.messages[message, M_USERS]), U_NEXT)
        rows = [tuple(int(reached.arrays.users[user, each]) for each in (U_KIND, U_REF, U_PART)) for user in found]
        assert len(rows) == len(users)
        assert set(rows) == users


def places_of(network: QueryNetwork, message: int) -> Iterator[tuple[tuple[int, int], Site]]:
    """Where the edges of a message are asked for: at its constants if it has some, else anywhere."""
    key, node, ref = (int(network.arrays.messages[message, column]) for column in (M_KEY, M_NODE, M_REF))
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
        first, count = (int(arrays.groups[group, column]) for column in (G_FIRST_EDGE, G_EDGES))
        edges = arrays.edges[first : first + count].tolist()
        expected += [
            (asked_by(*filled), (SITE_CORE, group, place))
            for place, edge in enumerate(edges)
            for filled in filled_edges(network, group, edge)
        ]
        key = int(arrays.groups[group, G_DRIVER_KEY])
        if key >= 0:
            constants = chain(arrays.constants, int(arrays.groups[group, G_FIRST_CONSTANT]), C_NEXT)
            expected += [
                ((int(arrays.constants[row, C_CONSTANT]), key ^ 1), (SITE_DRIVER, row, -1)) for row in constants
            ]
    assert sorted(reached.sites(network)) == sorted(expected)
    for (vertex, key), _ in expected:
        assert arrays.site_heads[network.sites.find(vertex, key), :2].tolist() == [vertex, key]


def filled_edges(network: QueryNetwork, group: int, edge: list[int]) -> set[tuple[int, int, int]]:
    """A core edge with a term in the first of its holes, for each that fills it; or as it is."""
    row = network.arrays.groups[group]
    first = int(row[G_SLOTS] - row[G_HOLES])
    found = next((node for node in edge[::2] if ~node >= first), None)
    if found is None:
        return {(edge[0], edge[1], edge[2])}
    terms = {filled[~found - first] for filled in fillings_of(network, group)}
    return {(edge[0] if edge[0] != found else term, edge[1], edge[2] if edge[2] != found else term) for term in terms}


def fillings_of(network: QueryNetwork, group: int) -> list[tuple[int, ...]]:
    """What fills the holes of a group's components."""
    rows = chain(network.arrays.constants, int(network.arrays.groups[group, G_FIRST_CONSTANT]), C_NEXT)
    components = [int(network.arrays.constants[row, C_FIRST]) for row in rows]
    return [network.groups.filled(component) for component in components]


def check_holes(network: QueryNetwork, reached: Reached) -> None:
    """Each choice of terms leads to its row, and a hole's chain holds just what fills it."""
    arrays = reached.arrays
    for group in reached.groups:
        row, filled = arrays.groups[group], fillings_of(network, group)
        rows = chain(arrays.constants, int(row[G_FIRST_CONSTANT]), C_NEXT)
        for number, terms in zip(rows, filled, strict=True):
            assert len(terms) == row[G_HOLES]
            found = group
            for term in terms:
                found = find_pair(arrays.constant_slots, found, term)
            assert found == (number if terms else group)
        for hole in range(row[G_HOLES]):
            number = int(row[G_FIRST_HOLE]) + hole
            listed = [
                int(arrays.fillings[each, F_TERM])
                for each in chain(arrays.fillings, int(arrays.holes[number, O_FIRST]), F_NEXT)
            ]
            assert sorted(listed) == sorted({terms[hole] for terms in filled})
            assert arrays.holes[number, O_COUNT] == len(listed)
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
        rows = chain(arrays.constants, int(arrays.groups[group, G_FIRST_CONSTANT]), C_NEXT)
        assert len(rows) == arrays.groups[group, G_CONSTANTS]
        for row in rows:
            constant = int(arrays.constants[row, C_CONSTANT])
            assert arrays.constants[row, C_GROUP] == group
            assert constant < 0 or find_pair(arrays.constant_slots, group, constant) == row
        for part in reached.parts_of_group(group):
            assert arrays.parts[part, P_MAP] == FLAT
