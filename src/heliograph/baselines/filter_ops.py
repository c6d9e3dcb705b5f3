"""OPS-style subgraph matching ([G] section 2 and figure 9(g)): subscriptions that overlap share their subgraphs.

What the paper prints of OPS, its opponent: "a very general subgraph isomorphism algorithm for matching over overlapping
graphs", which assumes "that every node in a subscription is a variable", so that "any node of a publication can match
with any other node in the subscription graph"; slower than G-ToPSS and "far better than a naive approach which
sequentially checks all subscriptions". No pseudo-code is given. This is the classic algorithm of that description, a
network of subgraphs: each subscription is taken apart edge by edge, equal beginnings are kept once, and a publication
is led through the network from the root, each subgraph's instances being extended by one edge. Names come last.

The law: an instance of a subgraph extends an instance of the subgraph without its last edge, so where one has no
instance nothing beyond it has; and a subscription matches exactly if one of its structure's instances has the
subscription's constants in their places and values there that satisfy the constraints.

The mends: instances are homomorphisms (SEED_NOTES, filter 1). All nodes being variables, the instances of a
subgraph may be exponentially many (SEED_NOTES, filter 2): beyond `MOST_INSTANCES` it is given up, and the subscriptions
that go through it are decided one by one, by joining what the publication holds for each of their edges.

Candidates are the subscriptions whose last edge was tried, and those behind a subgraph that was given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from heliograph.baselines.binding_tables import BindingTable, joins, star_table
from heliograph.baselines.filter_entries import Entries, Entry, IndexVersion, in_order
from heliograph.baselines.gm_constraints import check_constraints
from heliograph.baselines.gm_subscription import Edge, Vertex
from heliograph.baselines.graph import Triple
from heliograph.baselines.steps import World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Classes
from heliograph.terms import Term

MOST_INSTANCES = 10_000

Instance = tuple[Term, ...]  # the publication's node in the place of each vertex


class Step(NamedTuple):
    """An edge between vertices by number; a number that the vertices so far do not reach is a new vertex."""

    label: Term
    source: int
    target: int


class Subgraph:
    """A node of the network: the subgraph of its parent and one more edge."""

    __slots__ = ("_by_step", "children", "endings", "step")

    def __init__(self, step: Step | None = None) -> None:
        self.step = step
        self.children: list[Subgraph] = []  # these two are only appended to: readers may be in them
        self.endings: list[Entry] = []
        self._by_step: dict[Step, Subgraph] = {}

    def child(self, step: Step) -> Subgraph:
        known = self._by_step.get(step)
        if known is None:
            known = self._by_step[step] = Subgraph(step)
            self.children.append(known)
        return known

    def below(self) -> Iterator[Subgraph]:
        """This subgraph and all that go through it."""
        stack = [self]
        while stack:
            subgraph = stack.pop()
            yield subgraph
            stack.extend(subgraph.children)


class Network:
    """All subscriptions as paths from the root, the subgraph without an edge."""

    def __init__(self) -> None:
        self.root = Subgraph()
        self._placed: dict[Entry, tuple[Subgraph, tuple[Vertex, ...]]] = {}

    def insert(self, entry: Entry) -> None:
        steps, vertices = take_apart(entry.graph.edges)
        subgraph = self.root
        for step in steps:
            subgraph = subgraph.child(step)
        self._placed[entry] = subgraph, vertices
        subgraph.endings.append(entry)

    def search(self, world: World, stamp: int) -> Descent:
        return Descent(self, world, stamp)

    def placed(self, entry: Entry) -> tuple[Subgraph, tuple[Vertex, ...]]:
        """Where a subscription ends, and what stands at each of its vertices."""
        return self._placed[entry]


def take_apart(edges: Sequence[Edge]) -> tuple[list[Step], tuple[Vertex, ...]]:
    """The edges in an order in which equal graphs tend to begin equally and each edge meets the ones before it."""
    numbers: dict[Vertex, int] = {}
    steps = []
    waiting = sorted(edges, key=lambda edge: edge.label)
    while waiting:
        edge = min(waiting, key=lambda each: _rank(each, numbers))  # of equals the first
        waiting.remove(edge)
        ends = [numbers.setdefault(vertex, len(numbers)) for vertex in (edge.source, edge.target)]
        steps.append(Step(edge.label, *ends))
    return steps, tuple(numbers)


def _rank(edge: Edge, numbers: dict[Vertex, int]) -> tuple[int, Term]:
    return sum(vertex not in numbers for vertex in {edge.source, edge.target}), edge.label


class Descent:
    """One publication led through the network."""

    def __init__(self, network: Network, world: World, stamp: int) -> None:
        self.world = world
        self._network = network
        self.instances: dict[Subgraph, list[Instance]] = {network.root: [()]}
        self.given_up: set[Subgraph] = set()
        self._descend(network.root)
        self._stamp = stamp

    def _descend(self, root: Subgraph) -> None:
        labels = {predicate for _, predicate, _ in self.world.graph}
        stack = [root]
        while stack:
            parent = stack.pop()
            for child in parent.children:
                assert child.step is not None
                if child.step.label in labels:
                    extended = self.instances[child] = self._extend(self.instances[parent], child.step)
                    if len(extended) > MOST_INSTANCES:
                        self.given_up.update(child.below())
                    elif extended:
                        stack.append(child)

    def _extend(self, instances: list[Instance], step: Step) -> list[Instance]:
        """The instances with one more edge; if there are too many, one more than are borne."""
        extended: list[Instance] = []
        for instance in instances:
            extended += _extensions(instance, step, self.world)
            if len(extended) > MOST_INSTANCES:
                return extended[: MOST_INSTANCES + 1]
        return extended

    @cached_property
    def candidates(self) -> dict[int, Entry]:
        tried = self.instances.keys() | self.given_up
        return in_order(entry for subgraph in tried for entry in subgraph.endings if entry.lives(self._stamp))

    def matches(self, entry: Entry) -> bool:
        plan = entry.graph.plan
        return self._embeds(entry) and (plan is None or plan.matches(self.world))

    def _embeds(self, entry: Entry) -> bool:
        """Whether the subscription's edges and constraints can be met."""
        subgraph, vertices = self._network.placed(entry)
        if subgraph in self.given_up:
            return joins(entry.graph, map(self._star_table, entry.graph.edges), self.world.classes)
        return any(_fits(entry, vertices, found, self.world.classes) for found in self.instances[subgraph])

    def _star_table(self, edge: Edge) -> BindingTable:
        source, target = (vertex if isinstance(vertex, Term) else None for vertex in (edge.source, edge.target))
        return star_table(edge, [(s, o) for s, _, o in self.world.graph.match(source, edge.label, target)])


def _extensions(instance: Instance, step: Step, world: World) -> Iterator[Instance]:
    known = len(instance)
    source = instance[step.source] if step.source < known else None
    target = instance[step.target] if step.target < known else None
    for triple in world.graph.match(source, step.label, target):
        if step.source != step.target or triple[0] == triple[2]:
            yield instance + _new_vertices(triple, step, known)


def _new_vertices(triple: Triple, step: Step, known: int) -> Instance:
    new = {number: node for number, node in ((step.source, triple[0]), (step.target, triple[2])) if number >= known}
    return tuple(new.values())  # the source is numbered before the target


def _fits(entry: Entry, vertices: tuple[Vertex, ...], instance: Instance, classes: Classes) -> bool:
    """Whether an instance of the structure has the subscription's constants and satisfies its constraints."""
    return all(
        node == vertex
        if isinstance(vertex, Term)
        else check_constraints(entry.graph.constraints_of(vertex), node, classes)
        for vertex, node in zip(vertices, instance, strict=True)
    )


class OpsMatcher:
    """Candidates by their structure alone, verified on the structure's instances."""

    def __init__(self) -> None:
        self._entries = Entries(Network)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        self._entries.insert(subscriptions)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        self._entries.remove(subscriptions)

    def version(self) -> IndexVersion:
        return self._entries.version
